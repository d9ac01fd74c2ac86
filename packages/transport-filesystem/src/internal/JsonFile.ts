/** Reads the documents of a JSON or YAML file. */
import type { DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf"
import { fromJson } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import * as Reason from "@effect-xds/proto/Reason"
import type { DiscoveryResponse } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Either from "effect/Either"
import * as EnvoyJson from "./EnvoyJson.js"
import * as JsonProblem from "./JsonProblem.js"
import * as JsonText from "./JsonText.js"
import { MessageEncoder } from "./MessageEncoder.js"
import { maxProblems, nothing, problem, type Result, syntax } from "./Problems.js"
import type { Reading } from "./Reading.js"
import type { OffsetOf, Part, Path } from "./SourceDocument.js"
import { isObject } from "./SourceDocument.js"
import * as ValueBounds from "./ValueBounds.js"
import * as YamlText from "./YamlText.js"

/** The formats whose values are those of JSON. */
export type Format = "json" | "yaml"

/** The parts of a text. At each `undefined` others may run. */
const partsOf = (format: Format, text: string): Iterable<Part | undefined> =>
  format === "json" ? JsonText.parts(text) : YamlText.parts(text)

/** Reads a part of a document as a message. `written`: what it was before it had the canonical form. */
const readJson = async <Desc extends DescMessage>(
  schema: Desc,
  json: JsonValue,
  offsetOf: OffsetOf,
  path: Path,
  written?: JsonValue
): Promise<Result<MessageShape<Desc>>> => {
  const registry = await TypeRegistry.forJson(json)
  const placed = (found: ReadonlyArray<JsonProblem.Problem>): Result<never> =>
    Either.left(
      // To find the line of one takes as long as the text is.
      found.slice(0, maxProblems + 1).map(({ at, detail, isKeyHidden, path: place, reason }) => {
        const below = place.slice(path.length)
        const whole = written === undefined ? place : [...path, ...EnvoyJson.writtenPath(written, below)]
        const shown = isKeyHidden === true ? whole.slice(0, -1) : whole
        return { reason, detail, path: shown, offset: offsetOf(whole, at) }
      })
    )
  try {
    const message = fromJson(schema, json, { registry })
    const found = ValueBounds.find(schema, json, registry, path)
    return found.length === 0 ? Either.right(message) : placed(found)
  } catch (cause) {
    const canonical = EnvoyJson.canonical(schema, json, registry)
    if (canonical !== json) return readJson(schema, canonical, offsetOf, path, json)
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
  typeOf(json) === DiscoveryResponseSchema.typeName ||
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
    const wait = reading.pause()
    if (wait !== undefined) await wait
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
  const isOne = isObject(resources)
  const rest = JsonProblem.withoutType(isList || isOne ? others : json)
  const message = reading.problems.take(await readJson(DiscoveryResponseSchema, rest, offsetOf, []))
  if (isList) await readElements(resources, ["resources"], offsetOf, reading)
  if (isOne) await readElement({ value: resources, path: ["resources"], offsetOf }, reading)
  return message
}

/** Reads the parts of a JSON or YAML text. */
const readParts = async (
  format: Format,
  text: string,
  reading: Reading,
  onDocument: (document: Placed) => Promise<void>
): Promise<void> => {
  const { pause, problems } = reading
  if (text.trim() === "") {
    problems.take(nothing(text))
    return
  }
  let isEmpty = true
  for (const part of partsOf(format, text)) {
    const wait = pause()
    if (wait !== undefined) await wait
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
    reading.commit()
  }
  if (isEmpty) problems.take(nothing(text))
}

/** The DiscoveryResponse of a text with one document. */
export const response = async (
  format: Format,
  text: string,
  reading: Reading
): Promise<DiscoveryResponse | undefined> => {
  let found: DiscoveryResponse | undefined
  let documents = 0
  await readParts(format, text, reading, async ({ offsetOf, value }) => {
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

/** Adds the resources of all documents. */
export const resources = (format: Format, text: string, reading: Reading): Promise<void> =>
  readParts(format, text, reading, (document) => readDocument(document, reading))
