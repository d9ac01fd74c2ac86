/**
 * Takes private keys, passwords and the like out of a message before people see it: the fields that Envoy's API marks
 * with `udpa.annotations.sensitive`, as Envoy's own config dump does. Of a `TypedStruct` also what only has the name of such a
 * field, and every text if its type is not known.
 *
 * @since 0.1.0
 */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf"
import { getOption, isMessage, ScalarType, toBinary } from "@bufbuild/protobuf"
import type { ReflectMessage } from "@bufbuild/protobuf/reflect"
import { isReflectMessage, reflect } from "@bufbuild/protobuf/reflect"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import { sensitive } from "@effect-xds/proto/udpa/annotations/sensitive"
import { TypedStructSchema as OldTypedStructSchema } from "@effect-xds/proto/udpa/type/v1/typed_struct"
import { TypedStructSchema } from "@effect-xds/proto/xds/type/v3/typed_struct"
import * as MessageSteps from "./MessageSteps.js"
import { redacted } from "./Redaction.js"
import * as TypeRegistry from "./TypeRegistry.js"
import * as Pause from "./internal/Pause.js"
import * as TypedStruct from "./internal/TypedStruct.js"

const bytes = new TextEncoder().encode(redacted)

/** An `Any` in an `Any` in an `Any`…: nobody writes that to be read. */
const maxDepth = 100

// Descriptors never change, and reading an option of one makes a message each time.
const known = new WeakMap<DescField, boolean>()

/**
 * Whether Envoy's API marks a field as sensitive.
 *
 * @since 0.1.0
 */
export const isSensitive = (field: DescField): boolean => {
  const found = known.get(field)
  if (found !== undefined) return found
  const isMarked = getOption(field, sensitive)
  known.set(field, isMarked)
  return isMarked
}

/** What stands for a value of a scalar type; `undefined`: the value says nothing. */
const replacement = (scalar: ScalarType): string | Uint8Array | undefined =>
  scalar === ScalarType.STRING ? redacted : scalar === ScalarType.BYTES ? bytes : undefined

const redactAny = async (
  message: ReflectMessage,
  hidden: boolean,
  depth: number,
  pause: Pause.Pause
): Promise<void> => {
  if (!isMessage(message.message, AnySchema)) return
  const { typeUrl, value } = message.message
  const schema = await TypeRegistry.load(typeUrl)
  // What is inside cannot be looked at, so nobody else may either.
  if (schema === undefined) throw new Error(`the type ${typeUrl} is not known`)
  const inner = await Pause.decoded(schema, value, pause)
  await redactFields(reflect(schema, inner), hidden, depth + 1, pause)
  message.message.value =
    value.byteLength < MessageSteps.least
      ? toBinary(schema, inner)
      : (await Pause.between(MessageSteps.encode(schema, inner), pause)).bytes
}

const redactField = async (
  message: ReflectMessage,
  field: DescField,
  hidden: boolean,
  depth: number,
  pause: Pause.Pause
): Promise<void> => {
  switch (field.fieldKind) {
    case "scalar": {
      if (!hidden) return
      const value = replacement(field.scalar)
      if (value === undefined) message.clear(field)
      else message.set(field, value)
      return
    }
    case "enum":
      if (hidden) message.clear(field)
      return
    case "message": {
      const inner = message.get(field)
      await redactFields(inner, hidden, depth + 1, pause)
      // Wrappers and structs are given as copies.
      message.set(field, inner)
      return
    }
    case "list": {
      const list = message.get(field)
      if (field.listKind !== "message") {
        if (hidden) list.clear()
        return
      }
      for (const [index, item] of Array.from(list).entries()) {
        if (!isReflectMessage(item)) continue
        const wait = pause()
        if (wait !== undefined) await wait
        await redactFields(item, hidden, depth + 1, pause)
        list.set(index, item)
      }
      return
    }
    case "map": {
      const map = message.get(field)
      if (field.mapKind !== "message") {
        if (hidden) map.clear()
        return
      }
      for (const [key, item] of Array.from(map)) {
        if (!isReflectMessage(item)) continue
        const wait = pause()
        if (wait !== undefined) await wait
        await redactFields(item, hidden, depth + 1, pause)
        map.set(key, item)
      }
    }
  }
}

const redactFields = async (
  message: ReflectMessage,
  hidden: boolean,
  depth: number,
  pause: Pause.Pause
): Promise<void> => {
  if (depth > maxDepth) throw new Error(`its messages are nested more than ${maxDepth} levels deep`)
  const self = message.message
  if (isMessage(self, AnySchema)) return redactAny(message, hidden, depth, pause)
  if (isMessage(self, TypedStructSchema) || isMessage(self, OldTypedStructSchema)) {
    const { typeUrl, value } = self
    // Of no type nothing is known.
    if (value !== undefined) self.value = TypedStruct.replaceTexts(hidden ? "" : typeUrl, value, () => redacted)
    return
  }
  for (const field of message.fields) {
    if (message.isSet(field)) await redactField(message, field, hidden || isSensitive(field), depth, pause)
  }
}

/**
 * Changes the message, which is to be nobody else's. Rejects if something in it cannot be looked into.
 *
 * @param pause asked between two elements of a list or map: a promise to wait for, if others are to have their turn
 * @since 0.1.0
 */
export const redact = (schema: DescMessage, message: Message, pause: Pause.Pause = Pause.none): Promise<void> =>
  redactFields(reflect(schema, message), false, 0, pause)
