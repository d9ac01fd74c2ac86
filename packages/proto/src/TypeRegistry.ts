/**
 * Descriptors of the generated types, loaded when they are first asked for. Loading all of them takes about a second
 * and tens of megabytes; one resource type with what it imports takes a tenth of that.
 *
 * @since 0.1.0
 */
import type { DescFile, DescMessage, JsonObject, JsonValue, Message, Registry } from "@bufbuild/protobuf"
import { createMutableRegistry, isMessage } from "@bufbuild/protobuf"
import type { ReflectMessage } from "@bufbuild/protobuf/reflect"
import { reflect } from "@bufbuild/protobuf/reflect"
import {
  AnySchema,
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers
} from "@bufbuild/protobuf/wkt"
import type { GeneratedTypes } from "./internal/GeneratedFiles.js"
import * as Pause from "./internal/Pause.js"
import * as GeneratedFiles from "./internal/GeneratedFiles.js"

export type { GeneratedTypes } from "./internal/GeneratedFiles.js"

// Descriptors never change, so one registry that only grows serves everyone.
const loaded = createMutableRegistry(
  file_google_protobuf_any,
  file_google_protobuf_duration,
  file_google_protobuf_empty,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers
)

const addFile = (file: DescFile): void => {
  for (const message of file.messages) addMessage(message)
  for (const value of file.enums) loaded.add(value)
  for (const extension of file.extensions) loaded.add(extension)
  for (const service of file.services) loaded.add(service)
}

const addMessage = (message: DescMessage): void => {
  loaded.add(message)
  for (const nested of message.nestedMessages) addMessage(nested)
  for (const value of message.nestedEnums) loaded.add(value)
  for (const extension of message.nestedExtensions) loaded.add(extension)
}

/**
 * Makes the types of one more package known, here and in `SensitiveFields`: those of `@effect-xds/proto-v2`. They are
 * loaded when they are first asked for, like the others. Stays for as long as the process; a second call with the same
 * types does nothing.
 *
 * @example
 * import { TypeRegistry } from "@effect-xds/proto"
 * import { GeneratedTypes } from "@effect-xds/proto-v2"
 *
 * TypeRegistry.add(GeneratedTypes.types)
 *
 * @since 0.1.0
 */
export const add = (types: GeneratedTypes): void => {
  if (!GeneratedFiles.packages.includes(types)) GeneratedFiles.packages.push(types)
}

/**
 * The type name in a type URL: what follows the last `/`. A type name is returned as it is.
 *
 * @since 0.1.0
 */
export const typeName = (typeNameOrUrl: string): string => typeNameOrUrl.slice(typeNameOrUrl.lastIndexOf("/") + 1)

/**
 * Whether the type is known, without loading it.
 *
 * @since 0.1.0
 */
export const has = (typeNameOrUrl: string): boolean => {
  const name = typeName(typeNameOrUrl)
  return GeneratedFiles.has(name) || loaded.get(name) !== undefined
}

/**
 * The descriptor of a message type given by name (`envoy.config.cluster.v3.Cluster`) or type URL
 * (`type.googleapis.com/envoy.config.cluster.v3.Cluster`). Its module is imported at the first call. `undefined` when
 * no generated or well-known message has that name.
 *
 * @since 0.1.0
 */
export const load = async (typeNameOrUrl: string): Promise<DescMessage | undefined> => {
  const name = typeName(typeNameOrUrl)
  const known = loaded.getMessage(name)
  if (known !== undefined) return known
  const file = await GeneratedFiles.load(name)
  if (file === undefined) return undefined
  addFile(file)
  return loaded.getMessage(name)
}

/**
 * The file that defines a message, enum, extension or service, given by its full name. Its module is imported at the
 * first call. `undefined` when there is none.
 *
 * @since 0.1.0
 */
export const loadFile = async (name: string): Promise<DescFile | undefined> => {
  const known = loaded.get(name)
  if (known !== undefined) return known.file
  const file = await GeneratedFiles.load(name)
  if (file !== undefined) addFile(file)
  return file
}

/**
 * A registry that knows the type of every `google.protobuf.Any` inside the message, at any depth: what `toJson` needs.
 * A type that is not known, or whose bytes do not parse, is left out; `toJson` then names it in its error.
 *
 * @example
 * import { toJson } from "@bufbuild/protobuf"
 * import type { Listener } from "@effect-xds/proto/envoy/config/listener/v3/listener"
 * import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
 * import { TypeRegistry } from "@effect-xds/proto"
 *
 * const toText = async (listener: Listener) =>
 *   toJson(ListenerSchema, listener, { registry: await TypeRegistry.forMessage(ListenerSchema, listener) })
 *
 * @param own further types, which are asked first
 * @param pause asked between two of its messages: a promise to wait for, if others are to have their turn
 * @since 0.1.0
 */
export const forMessage = async (
  schema: DescMessage,
  message: Message,
  own?: Registry,
  pause: Pause.Pause = Pause.none
): Promise<Registry> => {
  // A list instead of recursion: an Any may nest as deep as its sender likes.
  const pending: Array<Iterator<ReflectMessage, void>> = [beginning(reflect(schema, message))]
  for (let last = pending.at(-1); last !== undefined; last = pending.at(-1)) {
    const { done, value } = last.next()
    if (done === true) {
      pending.pop()
      continue
    }
    const wait = pause()
    if (wait !== undefined) await wait
    if (!isMessage(value.message, AnySchema)) {
      pending.push(within(value))
      continue
    }
    const { typeUrl } = value.message
    const inner = own?.getMessage(typeName(typeUrl)) ?? (await load(typeUrl))
    const parsed = inner === undefined ? undefined : await parse(inner, value.message.value, pause)
    if (parsed !== undefined) pending.push(within(parsed))
  }
  return beside(own)
}

/** What is loaded, behind the types of somebody's own: they are asked first, and nothing is copied. */
const beside = (own: Registry | undefined): Registry => {
  if (own === undefined) return loaded
  return {
    kind: "registry",
    *[Symbol.iterator]() {
      yield* own
      for (const type of loaded) if (own.get(type.typeName) === undefined) yield type
    },
    get: (name) => own.get(name) ?? loaded.get(name),
    getMessage: (name) => own.getMessage(name) ?? loaded.getMessage(name),
    getEnum: (name) => own.getEnum(name) ?? loaded.getEnum(name),
    getExtension: (name) => own.getExtension(name) ?? loaded.getExtension(name),
    getExtensionFor: (extendee, number) =>
      own.getExtensionFor(extendee, number) ?? loaded.getExtensionFor(extendee, number),
    getService: (name) => own.getService(name) ?? loaded.getService(name)
  }
}

const parse = async (
  schema: DescMessage,
  bytes: Uint8Array,
  pause: Pause.Pause
): Promise<ReflectMessage | undefined> => {
  try {
    return reflect(schema, await Pause.decoded(schema, bytes, pause))
  } catch {
    return undefined
  }
}

/** Whether no `Any` is in messages of a type, as in a Struct. */
const isWithout = ({ typeName }: DescMessage): boolean =>
  typeName.startsWith("google.protobuf.") && typeName !== AnySchema.typeName

const beginning = function* (message: ReflectMessage): Generator<ReflectMessage, void> {
  yield message
}

/** The messages in the fields of a message. */
const within = function* (message: ReflectMessage): Generator<ReflectMessage, void> {
  for (const field of message.fields) {
    if (field.message === undefined || isWithout(field.message) || !message.isSet(field)) continue
    if (field.fieldKind === "message") {
      yield message.get(field)
    } else if (field.fieldKind === "list") {
      for (const item of message.get(field)) if (isReflectMessage(item)) yield item
    } else {
      for (const item of message.get(field).values()) if (isReflectMessage(item)) yield item
    }
  }
}

const isReflectMessage = (value: unknown): value is ReflectMessage =>
  typeof value === "object" && value !== null && "fields" in value && "desc" in value

/**
 * A registry that knows the type of every `@type` inside a JSON value, at any depth: what `fromJson` needs. Types that
 * are not known are left out; `fromJson` then names them in its error.
 *
 * @param own further types, which are asked first
 * @since 0.1.0
 */
export const forJson = async (json: JsonValue, own?: Registry): Promise<Registry> => {
  const pending: Array<JsonObject | ReadonlyArray<JsonValue>> = typeof json === "object" && json !== null ? [json] : []
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    for (const [key, value] of Object.entries<JsonValue>(current)) {
      if (typeof value === "object" && value !== null) pending.push(value)
      // Nearly always it is loaded.
      else if (key === "@type" && typeof value === "string" && loaded.getMessage(typeName(value)) === undefined) {
        await load(value)
      }
    }
  }
  return beside(own)
}
