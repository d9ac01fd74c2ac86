/** Reads a file in protobuf text format. */
import type { DescMessage, Registry } from "@bufbuild/protobuf"
import { isMessage } from "@bufbuild/protobuf"
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt"
import type { DiscoveryResponse } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Either from "effect/Either"
import * as JsonProblem from "./JsonProblem.js"
import { MessageEncoder } from "./MessageEncoder.js"
import * as PlainProtobufText from "./PlainProtobufText.js"
import { nothing, problem, syntax } from "./Problems.js"
import * as ProtobufText from "./ProtobufText.js"
import type { Reading } from "./Reading.js"

const readText = async (schema: DescMessage, text: string) =>
  Either.mapLeft(ProtobufText.parse(schema, text, await ProtobufText.registryFor(text)), (wrong) =>
    syntax(text, [wrong])
  )

/** A response without its resources, which are added one by one as in JSON. */
export const response = async (text: string, reading: Reading): Promise<DiscoveryResponse | undefined> => {
  const { pause, problems } = reading
  if (ProtobufText.isEmpty(text)) return problems.take<never>(nothing(text))
  const encoder = new MessageEncoder("text", await TypeRegistry.forJson({}))
  const typeNamed = (name: string) => encoder.registry.getMessage(name)
  const rest = new ProtobufText.Rest(text)
  const plainReader = new PlainProtobufText.Reader(text, typeNamed)
  for (const field of ProtobufText.fields(text, (begin) => plainReader.resourceAt(begin))) {
    const wait = pause()
    if (wait !== undefined) await wait
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
  for (const any of message.resources.splice(0)) {
    if (problems.isFull) break
    const wait = pause()
    if (wait !== undefined) await wait
    const isOpen = reading.addUnread(any)
    if (isOpen !== undefined) await isOpen
  }
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

/** Adds the resources of a text: those of a response, an `Any`, or one message of the type that a comment names. */
export const resources = async (text: string, reading: Reading): Promise<void> => {
  const { problems } = reading
  const named = ProtobufText.headerType(text)
  if (named === undefined || named === DiscoveryResponseSchema.typeName) {
    if (!ProtobufText.isAny(text)) {
      await response(text, reading)
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
