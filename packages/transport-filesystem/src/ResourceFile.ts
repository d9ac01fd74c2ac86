/**
 * The resources in a file: a DiscoveryResponse as Envoy reads it, or a list of resources in the forms that people write
 * by hand. The parse functions do not read from disk; their only side effect is loading message types.
 *
 * @since 0.1.0
 */
import type { DescMessage, JsonObject, JsonValue, Message, Registry } from "@bufbuild/protobuf"
import { create, fromBinary, fromJson, isMessage } from "@bufbuild/protobuf"
import { WireType } from "@bufbuild/protobuf/wire"
import type { Any } from "@bufbuild/protobuf/wkt"
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt"
import { minimumTtl } from "@effect-xds/core/resource/Resource"
import * as VirtualHostDiscovery from "@effect-xds/core/resource/VirtualHostDiscovery"
import { FieldScan } from "@effect-xds/proto/FieldScan"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as Reason from "@effect-xds/proto/Reason"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { DiscoveryResponse, Resource } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { DiscoveryResponseSchema, ResourceSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Buffer, isAscii } from "node:buffer"
import * as FileFormat from "./FileFormat.js"
import * as FileContent from "./internal/FileContent.js"
import * as JsonProblem from "./internal/JsonProblem.js"
import * as JsonText from "./internal/JsonText.js"
import { type Encoded, MessageEncoder } from "./internal/MessageEncoder.js"
import { Pause } from "./internal/Pause.js"
import * as PlainProtobufText from "./internal/PlainProtobufText.js"
import * as Placeholders from "./internal/Placeholders.js"
import { type ReadOptions, withDefaults } from "./internal/ReadOptions.js"
import * as ProtobufText from "./internal/ProtobufText.js"
import * as ResponseFields from "./internal/ResponseFields.js"
import type { OffsetOf, Part, Path, SyntaxProblem } from "./internal/SourceDocument.js"
import { formatPath, isObject, positionAt } from "./internal/SourceDocument.js"
import * as ValueBounds from "./internal/ValueBounds.js"
import * as YamlText from "./internal/YamlText.js"

/**
 * An encoded resource of a file. `@effect-xds/server` takes it unchanged: `store.set(group, { resources })`. Version,
 * TTL and aliases are options of `Snapshot.resource`.
 *
 * @since 0.1.0
 */
export interface FileResource {
  /** `type.googleapis.com/<full message name>`. */
  readonly typeUrl: string
  /** For a VirtualHost: `<route configuration>/<name>`, which is also the name in the message. */
  readonly name: string
  /** The encoded message. */
  readonly value: Uint8Array
  /** The version in an `envoy.service.discovery.v3.Resource` around it. */
  readonly version: string | undefined
  /** The TTL of the same, in milliseconds. */
  readonly ttl: number | undefined
  /** The aliases of the same; for a VirtualHost also one per domain. */
  readonly aliases: ReadonlyArray<string>
  /** The path of its file. */
  readonly file: string
  /** The line where it begins, from 1; `undefined` if the format has no lines. */
  readonly line: number | undefined
}

/**
 * The content of a file with one DiscoveryResponse.
 *
 * @since 0.1.0
 */
export interface Response {
  /** The type URL of all its resources, beginning with `type.googleapis.com/`. */
  readonly typeUrl: string
  /** `version_info`; empty if the file has none. */
  readonly version: string
  readonly resources: ReadonlyArray<FileResource>
  /** The whole message. */
  readonly message: DiscoveryResponse
}

/**
 * Why a file is rejected.
 *
 * - `Unreadable`: it is not a regular file, or cannot be read
 * - `TooLarge`: over the limit of bytes
 * - `UnknownFormat`: the extension of its name has no format
 * - `Empty`: it has no content, which counts as a mistake and never as an empty response
 * - `Syntax`: it is malformed
 * - `Schema`: a message has no such field, or the field has another type
 * - `UnknownType`: a type that is not in the Envoy v3 API, or no resource type
 * - `WrongType`: a resource of another type than its response
 * - `BadName`: a resource without a name, or with one that clients could not subscribe to
 * - `DuplicateName`: another resource of the type has the same name
 * - `Refused`: the client rejected the content
 *
 * @since 0.1.0
 */
export class ResourceFileError extends Data.TaggedError("ResourceFileError")<{
  readonly reason:
    | "Unreadable"
    | "TooLarge"
    | "UnknownFormat"
    | "Empty"
    | "Syntax"
    | "Schema"
    | "UnknownType"
    | "WrongType"
    | "BadName"
    | "DuplicateName"
    | "Refused"
  readonly file: string
  /** From 1; `undefined` if the format has no lines. */
  readonly line: number | undefined
  /** From 1, in UTF-16 units. */
  readonly column: number | undefined
  /** The path inside the document: `resources[2].load_assignment`. Empty: the whole document, or unknown. */
  readonly path: string
  /** What is wrong and what to do. It never contains a string value, which may be a secret. */
  readonly detail: string
  /** Further mistakes in the file, in order. If the list is incomplete, the last one says so. */
  readonly others?: ReadonlyArray<ResourceFileError> | undefined
}> {
  override get message(): string {
    const place = this.line === undefined ? this.file : `${this.file}:${this.line}:${this.column ?? 1}`
    return `${place}: ${this.path === "" ? "" : `${this.path}: `}${this.detail}`
  }

  /** This error and the others. */
  get all(): ReadonlyArray<ResourceFileError> {
    return [this, ...(this.others ?? [])]
  }
}

/**
 * Whether two errors have the same content.
 *
 * @since 0.1.0
 */
export const isSame = (one: ResourceFileError | undefined, other: ResourceFileError | undefined): boolean => {
  const [all = [], rest = []] = [one?.all, other?.all]
  return all.length === rest.length && all.every(({ message }, index) => message === rest[index]?.message)
}

/**
 * A file's name and content.
 *
 * @since 0.1.0
 */
export interface Input {
  /** The path: it decides the format, and appears in messages. */
  readonly file: string
  readonly bytes: Uint8Array
}

interface Problem {
  readonly reason: ResourceFileError["reason"]
  readonly path: Path
  /** The offset in the text, if the format has one. */
  readonly offset: number | undefined
  readonly detail: string
}

/** A resource before it is checked. */
interface Element {
  /** The `Any`, or its content. */
  readonly any: Encoded
  /** Whether the bytes were encoded here, from a parsed message. */
  readonly isMessage: boolean
  readonly path: Path
  readonly offset: number | undefined
}

/** The result, or all mistakes. */
type Result<A> = Either.Either<A, ReadonlyArray<Problem>>

const problem = (reason: Problem["reason"], detail: string, path: Path = [], offset?: number): Result<never> =>
  Either.left([{ reason, path, offset, detail }])

const syntax = (text: string, problems: ReadonlyArray<SyntaxProblem>): ReadonlyArray<Problem> =>
  Placeholders.explain(text, problems).map(({ detail, offset }) => ({ reason: "Syntax", path: [], offset, detail }))

/** The most mistakes reported per file. */
const maxProblems = 100

/** Collects the mistakes of a file, up to `maxProblems`. */
class Problems {
  readonly found: Array<Problem> = []

  get isFull(): boolean {
    return this.found.length > maxProblems
  }

  /** The value, if there is one. */
  take<A>(result: Result<A>): A | undefined {
    if (Either.isRight(result)) return result.right
    for (const each of result.left) {
      const isKnown = this.found.some(({ detail, offset }) => detail === each.detail && offset === each.offset)
      if (!this.isFull && (!isKnown || each.offset === undefined)) this.found.push(each)
    }
    return undefined
  }

  /** Keeps only the first `count` mistakes. */
  keep(count: number): void {
    this.found.length = Math.min(this.found.length, count)
  }

  /** In order of their offsets; those without one last. */
  inOrder(): ReadonlyArray<Problem> {
    const placeOf = ({ offset }: Problem): number => offset ?? Number.MAX_SAFE_INTEGER
    return this.found.sort((one, other) => placeOf(one) - placeOf(other))
  }
}

const DISCOVERY_RESPONSE = DiscoveryResponseSchema.typeName
const WRAPPER = ResourceSchema.typeName

const urlOf = (typeNameOrUrl: string): string => `type.googleapis.com/${TypeRegistry.typeName(typeNameOrUrl)}`

// ---------------------------------------------------------------------------------------------------------------------
// Text

/** Decodes UTF-8. The decoder drops the byte order mark that some editors write. */
const decodeText = (bytes: Uint8Array): Result<string> => {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return problem("Syntax", "it is written in UTF-16; save it as UTF-8", [], 0)
  }
  try {
    // ASCII decodes to the same text in a third of the time.
    if (isAscii(bytes))
      return Either.right(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1"))
    return Either.right(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  } catch {
    const offset = Math.max(0, new TextDecoder().decode(bytes).indexOf("\ufffd"))
    return problem("Syntax", "these bytes are not UTF-8; save the file as UTF-8", [], offset)
  }
}

const nothing = (text: string): Result<never> =>
  problem(
    "Empty",
    text === ""
      ? "the file is empty; write what it should hold, or remove it"
      : "the file holds no document, only space and comments; write what it should hold, or remove it"
  )

/** The parts of a text. At each `undefined` others may run. */
const partsOf = (format: "json" | "yaml", text: string): Iterable<Part | undefined> =>
  format === "json" ? JsonText.parts(text) : YamlText.parts(text)

/** Reads a part of a document as a message. */
const readJson = async <Desc extends DescMessage>(schema: Desc, json: JsonValue, offsetOf: OffsetOf, path: Path) => {
  const registry = await TypeRegistry.forJson(json)
  const placed = (found: ReadonlyArray<JsonProblem.Problem>): Result<never> =>
    Either.left(
      // To find the line of one takes as long as the text is.
      found.slice(0, maxProblems + 1).map(({ at, detail, isKeyHidden, path, reason }) => {
        const shown = isKeyHidden === true ? path.slice(0, -1) : path
        return { reason, detail, path: shown, offset: offsetOf(path, at) }
      })
    )
  try {
    const message = fromJson(schema, json, { registry })
    const found = ValueBounds.find(schema, json, registry, path)
    return found.length === 0 ? Either.right(message) : placed(found)
  } catch (cause) {
    const found = JsonProblem.find(schema, json, registry, path)
    return found.length === 0
      ? problem("Schema", JsonProblem.reasonIn(Reason.of(cause)), path, offsetOf(path, "value"))
      : placed([...found, ...ValueBounds.find(schema, json, registry, path)])
  }
}

const typeOf = (json: JsonValue | undefined): string | undefined => {
  const type = isObject(json) ? json["@type"] : undefined
  return typeof type === "string" ? TypeRegistry.typeName(type) : undefined
}

const looksLikeResponse = (json: JsonValue): json is JsonObject =>
  typeOf(json) === DISCOVERY_RESPONSE ||
  (isObject(json) && !("@type" in json) && ("resources" in json || "type_url" in json || "typeUrl" in json))

/** A value in a document, with a function for its offset. */
interface Placed {
  readonly value: JsonValue
  readonly path: Path
  readonly offsetOf: OffsetOf
}

/**
 * Adds a resource of a response or list. Usually it is added at once and the result is `undefined`: a promise per
 * resource would be expensive.
 */
const readElement = (element: Placed, reading: Reading): Promise<void> | undefined => {
  const any = reading.encoder?.any(element.value)
  if (any === undefined) return readAnyElement(element, reading)
  const { offsetOf, path } = element
  return reading.add({ any, isMessage: true, path, offset: offsetOf(path, "value") })
}

const readAnyElement = async ({ offsetOf, path, value }: Placed, reading: Reading): Promise<void> => {
  const offset = offsetOf(path, "value")
  if (path[0] !== "resources" && (!isObject(value) || !("@type" in value))) {
    const detail =
      `expected a resource, an object with "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster" or the ` +
      `like${path.length > 0 ? "" : ", a list of them, or a DiscoveryResponse"}`
    reading.problems.take(problem("Schema", detail, path, offset))
    return
  }
  const encoder = (reading.encoder ??= new MessageEncoder("json", await TypeRegistry.forJson({})))
  const any = encoder.any(value) ?? reading.problems.take(await readJson(AnySchema, value, offsetOf, path))
  if (any !== undefined) await reading.add({ any, isMessage: true, path, offset })
}

/** Adds the elements of a list that was parsed as a whole. */
const readElements = async (
  list: ReadonlyArray<JsonValue>,
  path: Path,
  offsetOf: OffsetOf,
  reading: Reading
): Promise<void> => {
  for (const [index, value] of list.entries()) {
    if (reading.problems.isFull) return
    if (reading.pause.isDue) await reading.pause.turn()
    const isOpen = readElement({ value, path: [...path, index], offsetOf }, reading)
    if (isOpen !== undefined) await isOpen
  }
}

/** A response without its resources: these are added one by one, so that others can run in between. */
const responseFromJson = async (
  json: JsonObject,
  offsetOf: OffsetOf,
  reading: Reading
): Promise<DiscoveryResponse | undefined> => {
  const { resources, ...others } = json
  const isList = Array.isArray(resources)
  const rest = JsonProblem.withoutType(isList ? others : json)
  const message = reading.problems.take(await readJson(DiscoveryResponseSchema, rest, offsetOf, []))
  if (isList) await readElements(resources, ["resources"], offsetOf, reading)
  return message
}

/** Reads the parts of a JSON or YAML text. */
const readParts = async (
  text: string,
  parts: Iterable<Part | undefined>,
  reading: Reading,
  onDocument: (document: Placed) => Promise<void>
): Promise<void> => {
  const { pause, problems } = reading
  if (text.trim() === "") {
    problems.take(nothing(text))
    return
  }
  let isEmpty = true
  for (const part of parts) {
    if (pause.isDue) await pause.turn()
    if (problems.isFull) return
    switch (part?._tag) {
      case undefined:
        continue
      case "Again":
        reading.takeBack()
        continue
      case "Element": {
        const isOpen = readElement(part, reading)
        if (isOpen !== undefined) await isOpen
        continue
      }
      case "Wrong":
        problems.take(Either.left(syntax(text, part.problems)))
        break
      case "Document":
        await onDocument({ value: part.document.value, path: [], offsetOf: part.document.offsetOf })
    }
    isEmpty = false
    reading.settle()
  }
  if (isEmpty) problems.take(nothing(text))
}

// ---------------------------------------------------------------------------------------------------------------------
// Protobuf text format

const readText = async (schema: DescMessage, text: string) =>
  Either.mapLeft(ProtobufText.parse(schema, text, await ProtobufText.registryFor(text)), (wrong) =>
    syntax(text, [wrong])
  )

/** A response without its resources, which are added one by one as in JSON. */
const responseFromText = async (text: string, reading: Reading): Promise<DiscoveryResponse | undefined> => {
  const { pause, problems } = reading
  if (ProtobufText.isEmpty(text)) return problems.take<never>(nothing(text))
  const encoder = new MessageEncoder("text", await TypeRegistry.forJson({}))
  const typeNamed = (name: string) => encoder.registry.getMessage(name)
  const rest = new ProtobufText.Rest(text)
  const plainReader = new PlainProtobufText.Reader(text, typeNamed)
  for (const field of ProtobufText.fields(text, (begin) => plainReader.resourceAt(begin))) {
    if (pause.isDue) await pause.turn()
    if (problems.isFull) return undefined
    if (field.isResource) {
      const path = ["resources", reading.count]
      const plain = field.plain === undefined ? undefined : encoder.any(field.plain)
      if (plain !== undefined) {
        const isOpen = reading.add({ any: plain, isMessage: true, path, offset: field.begin })
        if (isOpen !== undefined) await isOpen
        continue
      }
      const alone = text.slice(field.begin, field.end)
      const registry = await ProtobufText.registryFor(alone)
      const message = takeText(DiscoveryResponseSchema, alone, registry, field.begin, reading)
      for (const any of message?.resources ?? []) {
        await reading.add({ any, isMessage: field.isExpanded, path, offset: field.begin })
      }
    } else {
      rest.add(field)
    }
  }
  const registry = await ProtobufText.registryFor(rest.text)
  const parsed = ProtobufText.parse(DiscoveryResponseSchema, rest.text, registry)
  if (Either.isLeft(parsed)) {
    const { detail, offset } = parsed.left
    problems.take(Either.left(syntax(text, [{ detail, offset: rest.offsetOf(offset) }])))
    return undefined
  }
  if (!isMessage(parsed.right, DiscoveryResponseSchema)) return undefined
  const message = parsed.right
  await addAll(message.resources.splice(0), reading)
  return message
}

const takeText = <Desc extends DescMessage>(
  schema: Desc,
  text: string,
  registry: Registry,
  begin: number,
  { problems }: Reading
) => {
  const parsed = ProtobufText.parse(schema, text, registry)
  if (Either.isRight(parsed)) return isMessage(parsed.right, schema) ? parsed.right : undefined
  const { detail, offset } = parsed.left
  return problems.take<never>(Either.left([{ reason: "Syntax", path: [], offset: begin + offset, detail }]))
}

/** Adds resources that were parsed together. */
const addAll = async (resources: ReadonlyArray<Any>, reading: Reading): Promise<void> => {
  for (const any of resources) {
    if (reading.problems.isFull) return
    if (reading.pause.isDue) await reading.pause.turn()
    const isOpen = addUnread(any, reading)
    if (isOpen !== undefined) await isOpen
  }
}

const addUnread = (any: Encoded, reading: Reading): Promise<void> | undefined =>
  reading.add({ any, isMessage: false, path: ["resources", reading.count], offset: undefined })

const readTextResources = async (text: string, reading: Reading): Promise<void> => {
  const { problems } = reading
  const named = ProtobufText.headerType(text)
  if (named === undefined || named === DISCOVERY_RESPONSE) {
    if (!ProtobufText.isAny(text)) {
      await responseFromText(text, reading)
      return
    }
    const any = problems.take(await readText(AnySchema, text))
    if (isMessage(any, AnySchema)) await reading.add({ any, isMessage: false, path: [], offset: 0 })
    return
  }
  if (ProtobufText.isEmpty(text)) {
    problems.take(nothing(text))
    return
  }
  const schema = await TypeRegistry.load(named)
  if (schema === undefined) {
    problems.take(problem("UnknownType", JsonProblem.unknownType(named), [], text.indexOf(named)))
    return
  }
  const message = problems.take(await readText(schema, text))
  if (message === undefined) return
  const any = anyPack(schema, message)
  await reading.add({ any, isMessage: true, path: [], offset: text.indexOf("proto-message:") })
}

// ---------------------------------------------------------------------------------------------------------------------
// Binary

const noBytes: Uint8Array = new Uint8Array(0)

const delimited: number = WireType.LengthDelimited

/** Decodes an `Any`, whose type is probably that of the one before; `undefined`: protobuf-es must decode it. */
const anyOf = (bytes: Uint8Array, probable: string): Encoded | undefined => {
  const scan = new FieldScan(bytes)
  let typeUrl: string | undefined = ""
  let value = noBytes
  while (scan.next()) {
    if (scan.wireType !== delimited) return undefined
    if (scan.number === 1) typeUrl = scan.text(probable)
    else if (scan.number === 2) value = bytes.subarray(scan.begin, scan.end)
    else return undefined
  }
  return scan.isSure && typeUrl !== undefined ? { typeUrl, value } : undefined
}

/**
 * Garbage seldom parses, but the start of a response does, and so does an empty file. `type_url` follows the resources:
 * if it is missing, the end of the file is missing.
 */
const responseFromBinary = async (bytes: Uint8Array, reading: Reading): Promise<DiscoveryResponse | undefined> => {
  const { problems } = reading
  if (bytes.byteLength === 0) return problems.take<never>(nothing(""))
  const others: Array<Uint8Array> = []
  let typeUrl = ""
  try {
    // Views of a Buffer are several times slower to create.
    for (const field of ResponseFields.of(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength))) {
      if (problems.isFull) return undefined
      if (!field.isResource) {
        others.push(field.bytes)
        continue
      }
      if (reading.pause.isDue) await reading.pause.turn()
      const any: Encoded = anyOf(field.bytes, typeUrl) ?? fromBinary(AnySchema, field.bytes)
      typeUrl = any.typeUrl
      const isOpen = addUnread(any, reading)
      if (isOpen !== undefined) await isOpen
    }
    const message = fromBinary(DiscoveryResponseSchema, Buffer.concat(others))
    if (message.typeUrl !== "") return message
  } catch (cause) {
    const what = `its ${bytes.byteLength} bytes are not a DiscoveryResponse in binary`
    return problems.take<never>(problem("Syntax", `${what}: ${Reason.of(cause)}; write the file again`))
  }
  const detail = "it has no type_url, so its end is missing or it is no DiscoveryResponse; write the file again"
  return problems.take<never>(problem("Syntax", detail))
}

// ---------------------------------------------------------------------------------------------------------------------
// Resources

const milliseconds = ({ ttl }: Resource): number | undefined =>
  ttl === undefined ? undefined : Number(ttl.seconds) * 1_000 + ttl.nanos / 1e6

/** A resource, with the fields of a `Resource` around it. */
interface Unwrapped {
  readonly any: Encoded
  readonly wrapper: Resource | undefined
}

const unwrap = (element: Element): Result<Unwrapped> => {
  const { any, offset, path } = element
  if (TypeRegistry.typeName(any.typeUrl) !== WRAPPER) return Either.right({ any, wrapper: undefined })
  try {
    const wrapper = fromBinary(ResourceSchema, any.value)
    const ttl = milliseconds(wrapper)
    if (wrapper.resource === undefined) {
      return problem("Schema", "this Resource holds no resource; put the message into its field resource", path, offset)
    }
    if (ttl !== undefined && ttl < minimumTtl) {
      return problem(
        "Schema",
        `the ttl is under ${minimumTtl} ms; leave it out for a resource that stays`,
        path,
        offset
      )
    }
    return Either.right({ any: wrapper.resource, wrapper })
  } catch (cause) {
    return problem("Syntax", `its bytes are not an ${WRAPPER}: ${Reason.of(cause)}`, path, offset)
  }
}

/** A virtual host of v2 has its name and domains in the same fields. */
const isVirtualHost = (message: Message | undefined): message is VirtualHost =>
  message !== undefined && ResourceType.isOf(urlOf(message.$typeName), ResourceType.VirtualHost)

/** One shared array: most resources have no aliases. */
const noAliases: ReadonlyArray<string> = []

/** A resource type, as a file names it. */
interface NamedType {
  readonly typeUrl: string
  readonly type: ResourceType.ResourceType | undefined
  readonly schema: DescMessage
}

/** Checks a resource as far as a server does. */
const resourceOf = (
  file: string,
  element: Element,
  { any, wrapper }: Unwrapped,
  line: number | undefined,
  named: NamedType | undefined
): Result<FileResource> => {
  const { offset, path } = element
  const fail = (reason: Problem["reason"], detail: string) => problem(reason, detail, path, offset)

  if (named === undefined) return fail("UnknownType", JsonProblem.unknownType(any.typeUrl))
  const { schema, type, typeUrl } = named

  const isHost = ResourceType.isOf(typeUrl, ResourceType.VirtualHost)
  let message: Message | undefined
  if (!element.isMessage || isHost) {
    try {
      if (isHost) message = MessageBytes.decode(schema, any.value)
      else MessageBytes.check(schema, any.value)
    } catch (cause) {
      return fail("Syntax", `its bytes are not a message of type ${schema.typeName}: ${Reason.of(cause)}`)
    }
  }
  const inside =
    type?.nameNumber === undefined ? undefined : ResourceType.nameOfBytes(any.value, undefined, type.nameNumber)
  const beside = wrapper?.name ?? ""
  const name = beside === "" ? (inside ?? "") : beside
  if (name === "" && type === undefined) {
    return fail(
      "UnknownType",
      `${schema.typeName} is not a resource type of xDS; if clients ask for it, wrap it in an ${WRAPPER} with a name`
    )
  }
  if (name === "" && type?.nameNumber === undefined) {
    return fail("BadName", `a message of type ${schema.typeName} holds no name: wrap it in an ${WRAPPER} with a name`)
  }
  if (name === "") return fail("BadName", `the ${type?.nameField === "name" ? "name" : "cluster_name"} is empty`)

  const aliases = wrapper === undefined && !isHost ? undefined : new Set(wrapper?.aliases)
  if (isVirtualHost(message)) {
    const split = VirtualHostDiscovery.split(name)
    if (split === undefined) {
      return fail("BadName", "clients ask for a virtual host as <route configuration>/<host>: name it in that form")
    }
    for (const domain of message.domains) {
      aliases?.add(VirtualHostDiscovery.nameOf(split.routeConfiguration, domain.toLowerCase()))
    }
  } else if (inside !== undefined && inside !== name) {
    const detail = `the Resource around it is named ${JSON.stringify(name)}, but the name inside is ${JSON.stringify(inside)}`
    return fail("BadName", `${detail}; leave the outer one out`)
  }
  aliases?.delete(name)
  return Either.right({
    typeUrl,
    name,
    // Copied if it is a view into a larger buffer.
    value: any.value.byteLength === any.value.buffer.byteLength ? any.value : new Uint8Array(any.value),
    version: wrapper === undefined || wrapper.version === "" ? undefined : wrapper.version,
    ttl: wrapper === undefined ? undefined : milliseconds(wrapper),
    aliases: aliases === undefined ? noAliases : Array.from(aliases),
    file,
    line
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// Files

/** The resources and mistakes of a file while it is read. */
class Reading {
  readonly problems = new Problems()
  readonly pause = new Pause()
  /** Created with the first element. */
  encoder: MessageEncoder | undefined
  readonly resources: Array<FileResource> = []
  /** The elements behind `resources`, if a response is wanted. */
  readonly elements: Array<Element> = []
  /** Resources by type URL and name. */
  readonly #seen = new Map<string, Map<string, FileResource>>()
  readonly #types = new Map<string, NamedType>()
  /** The counts at the end of the last complete document. */
  #settled = { resources: 0, problems: 0, count: 0 }
  #lines = new Lines(undefined)
  /** The number of elements added. */
  count = 0

  constructor(
    readonly file: string,
    readonly isResponse: boolean
  ) {}

  /** The text that offsets refer to. */
  get text(): string | undefined {
    return this.#lines.text
  }

  readFrom(text: string): void {
    this.#lines = new Lines(text)
  }

  /** Adds an element. A promise only if its type is named for the first time. */
  add(element: Element): Promise<void> | undefined {
    this.count++
    const line = this.#lines.of(element.offset)
    const unwrapped = this.problems.take(unwrap(element))
    if (unwrapped === undefined) return undefined
    const { typeUrl } = unwrapped.any
    const named = this.#types.get(typeUrl)
    if (named === undefined) {
      return this.#typeNamed(typeUrl).then((found) => {
        this.#put(element, unwrapped, line, found)
      })
    }
    this.#put(element, unwrapped, line, named)
    return undefined
  }

  #put(element: Element, unwrapped: Unwrapped, line: number | undefined, named: NamedType | undefined): void {
    const resource = this.problems.take(resourceOf(this.file, element, unwrapped, line, named))
    if (resource === undefined) return
    const ofType = this.#seen.get(resource.typeUrl) ?? new Map<string, FileResource>()
    this.#seen.set(resource.typeUrl, ofType)
    const other = ofType.get(resource.name)
    if (other !== undefined) {
      const where = other.line === undefined ? "before" : `in line ${other.line}`
      const what = `${ResourceType.shortNameOf(resource.typeUrl)} resource ${JSON.stringify(resource.name)}`
      const detail = `the ${what} stands ${where} already; keep one`
      this.problems.take(problem("DuplicateName", detail, element.path, element.offset))
      return
    }
    ofType.set(resource.name, resource)
    this.resources.push(resource)
    if (this.isResponse) this.elements.push(element)
  }

  /** Called at the end of a document. */
  settle(): void {
    this.#settled = { resources: this.resources.length, problems: this.problems.found.length, count: this.count }
  }

  /** Removes what the unfinished document has added. */
  takeBack(): void {
    const { count, problems, resources } = this.#settled
    for (const { name, typeUrl } of this.resources.slice(resources)) this.#seen.get(typeUrl)?.delete(name)
    this.resources.length = resources
    this.elements.length = this.isResponse ? resources : 0
    this.problems.keep(problems)
    this.count = count
  }

  /** Shared by all resources of a type, of which there may be a hundred thousand. */
  async #typeNamed(typeNameOrUrl: string): Promise<NamedType | undefined> {
    const schema = await TypeRegistry.load(typeNameOrUrl)
    if (schema === undefined) return undefined
    const typeUrl = urlOf(typeNameOrUrl)
    const named = { typeUrl, type: ResourceType.byTypeUrl(typeUrl), schema }
    this.#types.set(typeNameOrUrl, named)
    return named
  }
}

/** Reads the bytes of a file in its format. */
const read = async <A>(
  { bytes, file }: Input,
  reading: Reading,
  readers: {
    readonly binary: (bytes: Uint8Array) => Promise<A>
    readonly text: (text: string) => Promise<A>
    readonly parts: (text: string, parts: Iterable<Part | undefined>) => Promise<A>
  }
): Promise<A | undefined> => {
  const format = FileFormat.ofPath(file)
  if (format === undefined) {
    const known = FileFormat.extensions.map((extension) => `.${extension}`).join(", ")
    return reading.problems.take<never>(problem("UnknownFormat", `its name must end in one of ${known}`))
  }
  if (format === "binary") return readers.binary(bytes)
  const text = reading.problems.take(decodeText(bytes))
  reading.readFrom(text ?? new TextDecoder().decode(bytes))
  if (text === undefined) return undefined
  return format === "text" ? readers.text(text) : readers.parts(text, partsOf(format, text))
}

const errorsOf = (file: string, text: string | undefined, problems: Problems): ResourceFileError | undefined => {
  const errorOf = (
    { detail, offset, path, reason }: Problem,
    others?: ReadonlyArray<ResourceFileError>
  ): ResourceFileError => {
    const position = text === undefined || offset === undefined ? undefined : positionAt(text, offset)
    return new ResourceFileError({
      reason,
      file,
      line: position?.line,
      column: position?.column,
      path: formatPath(path),
      detail: Redaction.text(detail),
      others
    })
  }
  const [first, ...others] = problems.inOrder()
  if (first === undefined) return undefined
  const told = others.slice(0, maxProblems - 1).map((each) => errorOf(each))
  const [next] = others.slice(maxProblems - 1)
  if (next === undefined) return errorOf(first, told)
  const more = { ...next, path: [], detail: `more mistakes; those before are the first ${maxProblems}` }
  return errorOf(first, [...told, errorOf(more)])
}

/** Line numbers for growing offsets: the text is scanned only once. */
class Lines {
  #line = 1
  #at = 0
  /** The end of the current line. It is kept since the file may be one line, with many offsets in it. */
  #end: number
  constructor(readonly text: string | undefined) {
    this.#end = this.#endAfter(0)
  }

  of(offset: number | undefined): number | undefined {
    if (this.text === undefined || offset === undefined) return undefined
    if (offset < this.#at) return positionAt(this.text, offset).line
    while (this.#end < offset) {
      this.#line++
      this.#at = this.#end + 1
      this.#end = this.#endAfter(this.#at)
    }
    return this.#line
  }

  #endAfter(at: number): number {
    const end = this.text?.indexOf("\n", at) ?? -1
    return end < 0 ? Number.POSITIVE_INFINITY : end
  }
}

/** The DiscoveryResponse of a text with one document. */
const oneResponse = async (
  text: string,
  parts: Iterable<Part | undefined>,
  reading: Reading
): Promise<DiscoveryResponse | undefined> => {
  let found: DiscoveryResponse | undefined
  let documents = 0
  await readParts(text, parts, reading, async ({ offsetOf, value }) => {
    documents++
    if (documents > 1) {
      const detail = "a file holds one DiscoveryResponse; put the second into a file of its own"
      if (documents === 2) reading.problems.take(problem("Schema", detail, [], offsetOf([], "value")))
    } else if (isObject(value)) {
      found = await responseFromJson(value, offsetOf, reading)
    } else {
      const detail = "expected a DiscoveryResponse: an object with resources and type_url"
      reading.problems.take(problem("Schema", detail, [], offsetOf([], "value")))
    }
  })
  return found
}

/** Adds the resources of a document. */
const readDocument = async ({ offsetOf, path, value }: Placed, reading: Reading): Promise<void> => {
  if (looksLikeResponse(value)) await responseFromJson(value, offsetOf, reading)
  else if (Array.isArray(value)) await readElements(value, path, offsetOf, reading)
  else await readElement({ value, path, offsetOf }, reading)
}

/**
 * Reads a file that holds one DiscoveryResponse, as Envoy's `path_config_source` does. All resources must be of one
 * type, the `type_url` of the response. It may be omitted if there is a resource, except in binary. If `typeUrl` is
 * given, it must be equal.
 *
 * A file without content is an error. An empty response has a `type_url` and no resources; it deletes the clients'
 * resources.
 *
 * @since 0.1.0
 */
export const parseResponse = (
  input: Input,
  options: { readonly typeUrl?: string | undefined } = {}
): Effect.Effect<Response, ResourceFileError> =>
  Effect.flatMap(
    Effect.promise(async () => {
      const reading = new Reading(input.file, true)
      const message = await read(input, reading, {
        binary: (bytes) => responseFromBinary(bytes, reading),
        text: (text) => responseFromText(text, reading),
        parts: (text, parts) => oneResponse(text, parts, reading)
      })
      const response = message === undefined ? undefined : checkResponse(message, options, reading)
      return resultOf(reading, response)
    }),
    (response) => response
  )

/** The value, if there are no mistakes. */
const resultOf = <A>({ file, problems, text }: Reading, value: A | undefined): Either.Either<A, ResourceFileError> => {
  const error = errorsOf(file, text, problems)
  if (error !== undefined) return Either.left(error)
  if (value !== undefined) return Either.right(value)
  throw new Error("a file without content and without a mistake")
}

const checkResponse = (
  message: DiscoveryResponse,
  options: { readonly typeUrl?: string | undefined },
  { elements, problems, resources }: Reading
): Response | undefined => {
  if (problems.found.length > 0) return undefined
  const wanted = options.typeUrl === undefined ? undefined : urlOf(options.typeUrl)
  const typeUrl = message.typeUrl === "" ? (resources[0]?.typeUrl ?? wanted) : urlOf(message.typeUrl)
  if (typeUrl === undefined) {
    return problems.take(
      problem("Empty", "it has neither resources nor type_url; an empty response says the type that it is of")
    )
  }
  if (!TypeRegistry.has(typeUrl)) {
    return problems.take(problem("UnknownType", JsonProblem.unknownType(typeUrl), ["type_url"]))
  }
  if (wanted !== undefined && wanted !== typeUrl) {
    return problems.take(problem("WrongType", `it is of type ${typeUrl}, but ${wanted} is wanted here`))
  }
  for (const [index, resource] of resources.entries()) {
    if (resource.typeUrl === typeUrl) continue
    const element = elements[index]
    const detail = `it is of type ${resource.typeUrl}, the response of ${typeUrl}`
    problems.take(problem("WrongType", detail, element?.path, element?.offset))
  }
  for (const { any } of elements) {
    message.resources.push(create(AnySchema, { typeUrl: any.typeUrl, value: any.value }))
  }
  return { typeUrl, version: message.versionInfo, resources, message }
}

/**
 * Reads a file of resources of any types:
 *
 * - JSON and YAML: an object with `@type`, a list of such objects, or a DiscoveryResponse; in YAML any number of
 *   documents between `---`
 * - protobuf text: a DiscoveryResponse, one `[type.googleapis.com/…] { … }`, or one message of the type that a comment
 *   names before it: `# proto-message: envoy.config.cluster.v3.Cluster`
 * - binary: a DiscoveryResponse
 *
 * An `envoy.service.discovery.v3.Resource` around a resource gives it a version, TTL and aliases, and a name if its
 * message has none. A file without content is an error; an empty list is valid.
 *
 * @example
 * import { ResourceFile } from "@effect-xds/transport-filesystem"
 * import { Effect } from "effect"
 *
 * const text = `
 * "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
 * name: backend
 * `
 * const program = ResourceFile.parseResources({ file: "backend.yaml", bytes: new TextEncoder().encode(text) }).pipe(
 *   Effect.tap((resources) => Effect.log(resources.map(({ name }) => name))),
 *   Effect.catchTag("ResourceFileError", (error) => Effect.logError(error.message))
 * )
 *
 * @since 0.1.0
 */
export const parseResources = (input: Input): Effect.Effect<ReadonlyArray<FileResource>, ResourceFileError> =>
  Effect.flatMap(
    Effect.promise(async () => {
      const reading = new Reading(input.file, false)
      await read<unknown>(input, reading, {
        binary: (bytes) => responseFromBinary(bytes, reading),
        text: (text) => readTextResources(text, reading),
        parts: (text, parts) => readParts(text, parts, reading, (document) => readDocument(document, reading))
      })
      return resultOf(reading, reading.resources)
    }),
    (resources) => resources
  )

/**
 * Reads a file of resources from disk once; like {@link parseResources} for its content.
 *
 * @param options `maxFileBytes`: the largest file, in bytes. Default 67 108 864
 * @since 0.1.0
 */
export const readResources = (
  file: string,
  options: Pick<ReadOptions, "maxFileBytes"> = {}
): Effect.Effect<ReadonlyArray<FileResource>, ResourceFileError> => {
  const refuse = (reason: "Unreadable" | "TooLarge", detail: string) =>
    new ResourceFileError({ reason, file, line: undefined, column: undefined, path: "", detail })
  return Effect.flatMap(
    Effect.promise(() => FileContent.read(file, withDefaults(options).maxFileBytes)),
    (content) => {
      switch (content._tag) {
        case "Read":
          return parseResources({ file, bytes: content.bytes })
        case "Refused":
          return refuse(content.reason, content.detail)
        case "Missing":
          return refuse("Unreadable", "there is no such file")
        case "Changing":
        case "Unchanged":
          return refuse("Unreadable", "it is being written to; read it again")
      }
    }
  )
}
