/**
 * One file's content as resources: a DiscoveryResponse as Envoy reads it, or a list of resources in the forms that
 * people write by hand. Nothing is read from disk here; all that happens beside computing is that message types are
 * loaded when they are first named.
 *
 * @since 0.1.0
 */
import type { DescMessage, JsonValue, Message } from "@bufbuild/protobuf"
import { fromBinary, fromJson, isMessage } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt"
import { minimumTtl } from "@effect-xds/core/Resource"
import * as VirtualHostDiscovery from "@effect-xds/core/VirtualHostDiscovery"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { DiscoveryResponse, Resource } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { DiscoveryResponseSchema, ResourceSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FileFormat from "./FileFormat.js"
import * as JsonProblem from "./internal/JsonProblem.js"
import * as JsonText from "./internal/JsonText.js"
import * as ProtobufText from "./internal/ProtobufText.js"
import type { Path, SourceDocument, SyntaxProblem } from "./internal/SourceDocument.js"
import { formatPath, positionAt } from "./internal/SourceDocument.js"
import * as YamlText from "./internal/YamlText.js"

/**
 * A resource of a file, encoded. `@effect-xds/server` takes it as it is: `Snapshot.make({ resources })`; the version,
 * TTL and aliases go into the options of `Snapshot.resource`.
 *
 * @since 0.1.0
 */
export interface FileResource {
  /** `type.googleapis.com/<full name of the message>`. */
  readonly typeUrl: string
  /** For a VirtualHost `<route configuration>/<name>`, which is also the name inside the message. */
  readonly name: string
  /** The encoded message. */
  readonly value: Uint8Array
  /** From an `envoy.service.discovery.v3.Resource` around it. */
  readonly version: string | undefined
  /** Milliseconds, from the same. */
  readonly ttl: number | undefined
  /** From the same; for a VirtualHost also one for each of its domains. */
  readonly aliases: ReadonlyArray<string>
  /** The file it stands in. */
  readonly file: string
  /** Where it begins, from 1, where the format tells. */
  readonly line: number | undefined
}

/**
 * The content of a file that holds one DiscoveryResponse.
 *
 * @since 0.1.0
 */
export interface Response {
  /** The type of all its resources, with `type.googleapis.com/`. */
  readonly typeUrl: string
  /** `version_info`; empty if the file has none. */
  readonly version: string
  readonly resources: ReadonlyArray<FileResource>
  /** The message itself. */
  readonly message: DiscoveryResponse
}

/**
 * Why a file is rejected.
 *
 * - `Unreadable`: it is not a regular file, may not be read, or cannot be
 * - `TooLarge`: over the limit of bytes
 * - `UnknownFormat`: the ending of its name has no format
 * - `Empty`: it holds nothing, which is taken for a mistake and never for an empty response
 * - `Syntax`: it is not in its format
 * - `Schema`: a message has no such field, or a field another type
 * - `UnknownType`: a type that is not part of the Envoy v3 API, or not a resource type
 * - `WrongType`: a resource of another type than its response
 * - `BadName`: a resource without a name, or with one that clients could not ask for
 * - `DuplicateName`: a name that another resource of the type has
 * - `Refused`: the client that reads it has no use for what it holds
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
  /** From 1; `undefined` where the format does not tell. */
  readonly line: number | undefined
  /** From 1, in UTF-16 units. */
  readonly column: number | undefined
  /** The way to the place inside the document: `resources[2].load_assignment`. Empty: the document, or not known. */
  readonly path: string
  /** What is wrong and what to do. Never holds the value of a string, which may be a secret. */
  readonly detail: string
}> {
  override get message(): string {
    const place = this.line === undefined ? this.file : `${this.file}:${this.line}:${this.column ?? 1}`
    return `${place}: ${this.path === "" ? "" : `${this.path}: `}${this.detail}`
  }
}

/**
 * A file's name and content.
 *
 * @since 0.1.0
 */
export interface Input {
  /** Its path: for the format, and for people. */
  readonly file: string
  readonly bytes: Uint8Array
}

interface Problem {
  readonly reason: ResourceFileError["reason"]
  readonly path: Path
  /** In the text, if the format tells. */
  readonly offset: number | undefined
  readonly detail: string
}

/** A resource before it was looked at. */
interface Element {
  readonly any: Any
  /** Whether its bytes were made here, from a message that was read. */
  readonly isMessage: boolean
  readonly path: Path
  readonly offset: number | undefined
}

type Elements = Either.Either<ReadonlyArray<Element>, Problem>

const problem = (
  reason: Problem["reason"],
  detail: string,
  path: Path = [],
  offset?: number
): Either.Either<never, Problem> => Either.left({ reason, path, offset, detail })

const syntax = ({ detail, offset }: SyntaxProblem): Either.Either<never, Problem> =>
  problem("Syntax", detail, [], offset)

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

const DISCOVERY_RESPONSE = DiscoveryResponseSchema.typeName
const WRAPPER = ResourceSchema.typeName

const urlOf = (typeNameOrUrl: string): string => `type.googleapis.com/${TypeRegistry.typeName(typeNameOrUrl)}`

// ---------------------------------------------------------------------------------------------------------------------
// Text

/** Text in UTF-8. The decoder leaves out the byte order mark that some editors put at its start. */
const decodeText = (bytes: Uint8Array): Either.Either<string, Problem> => {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return problem("Syntax", "it is written in UTF-16; save it as UTF-8", [], 0)
  }
  try {
    return Either.right(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  } catch {
    const offset = Math.max(0, new TextDecoder().decode(bytes).indexOf("\ufffd"))
    return problem("Syntax", "these bytes are not UTF-8; save the file as UTF-8", [], offset)
  }
}

const nothing = (text: string): Either.Either<never, Problem> =>
  problem(
    "Empty",
    text === ""
      ? "the file is empty; write what it should hold, or remove it"
      : "the file holds no document, only space and comments; write what it should hold, or remove it"
  )

const documentsOf = (format: "json" | "yaml", text: string): Either.Either<ReadonlyArray<SourceDocument>, Problem> => {
  if (text.trim() === "") return nothing(text)
  if (format === "json") {
    const parsed = JsonText.parse(text)
    return Either.isLeft(parsed) ? syntax(parsed.left) : Either.right([parsed.right])
  }
  const parsed = YamlText.parse(text)
  if (Either.isLeft(parsed)) return syntax(parsed.left)
  return parsed.right.length === 0 ? nothing(text) : Either.right(parsed.right)
}

type JsonObject = Extract<JsonValue, Readonly<Record<string, unknown>>>

const isObject = (json: JsonValue | undefined): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/** The part of a document at a path, as a message. */
const readJson = async <Desc extends DescMessage>(
  schema: Desc,
  json: JsonValue,
  document: SourceDocument,
  path: Path
) => {
  const registry = await TypeRegistry.forJson(json)
  try {
    return Either.right(fromJson(schema, json, { registry }))
  } catch (cause) {
    const found = JsonProblem.find(schema, json, registry, path)
    if (found === undefined) {
      return problem("Schema", JsonProblem.reasonIn(reasonOf(cause)), path, document.offsetOf(path, "value"))
    }
    const shown = found.isKeyHidden === true ? found.path.slice(0, -1) : found.path
    return problem(found.reason, found.detail, shown, document.offsetOf(found.path, found.at))
  }
}

const responseFromJson = async (
  document: SourceDocument
): Promise<Either.Either<{ message: DiscoveryResponse; elements: ReadonlyArray<Element> }, Problem>> => {
  const json = document.value
  if (!isObject(json)) {
    return problem("Schema", "expected a DiscoveryResponse: an object with resources and type_url", [], document.start)
  }
  const read = await readJson(DiscoveryResponseSchema, JsonProblem.withoutType(json), document, [])
  if (Either.isLeft(read)) return Either.left(read.left)
  const message = read.right
  const elements = message.resources.map((any, index): Element => {
    const path = ["resources", index]
    return { any, isMessage: true, path, offset: document.offsetOf(path, "value") }
  })
  return Either.right({ message, elements })
}

const typeOf = (json: JsonValue | undefined): string | undefined => {
  const type = isObject(json) ? json["@type"] : undefined
  return typeof type === "string" ? TypeRegistry.typeName(type) : undefined
}

const looksLikeResponse = (json: JsonValue): boolean =>
  typeOf(json) === DISCOVERY_RESPONSE ||
  (isObject(json) && !("@type" in json) && ("resources" in json || "type_url" in json || "typeUrl" in json))

const elementsOfJson = async (document: SourceDocument): Promise<Elements> => {
  if (looksLikeResponse(document.value)) {
    return Either.map(await responseFromJson(document), ({ elements }) => elements)
  }
  const elements: Array<Element> = []
  const isList = Array.isArray(document.value)
  for (const [index, json] of (Array.isArray(document.value) ? document.value : [document.value]).entries()) {
    const path = isList ? [index] : []
    const offset = document.offsetOf(path, "value")
    if (!isObject(json) || !("@type" in json)) {
      const detail =
        `expected a resource, an object with "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster" or the ` +
        `like${isList ? "" : ", a list of them, or a DiscoveryResponse"}`
      return problem("Schema", detail, path, offset)
    }
    const any = await readJson(AnySchema, json, document, path)
    if (Either.isLeft(any)) return Either.left(any.left)
    elements.push({ any: any.right, isMessage: true, path, offset })
  }
  return Either.right(elements)
}

// ---------------------------------------------------------------------------------------------------------------------
// Protobuf text format

const readText = async (schema: DescMessage, text: string) =>
  Either.mapLeft(
    ProtobufText.parse(schema, text, await ProtobufText.registryFor(text)),
    ({ detail, offset }): Problem => ({ reason: "Syntax", path: [], offset, detail })
  )

const responseOfMessage = (message: DiscoveryResponse) => ({
  message,
  elements: message.resources.map((any, index): Element => ({
    any,
    isMessage: false,
    path: ["resources", index],
    offset: undefined
  }))
})

const responseFromText = async (text: string) => {
  if (ProtobufText.isEmpty(text)) return nothing(text)
  return Either.flatMap(await readText(DiscoveryResponseSchema, text), (message) =>
    isMessage(message, DiscoveryResponseSchema)
      ? Either.right(responseOfMessage(message))
      : problem("Schema", "expected a DiscoveryResponse")
  )
}

const elementsOfText = async (text: string): Promise<Elements> => {
  const named = ProtobufText.headerType(text)
  if (named === undefined || named === DISCOVERY_RESPONSE) {
    if (!ProtobufText.isAny(text)) {
      return Either.map(await responseFromText(text), ({ elements }) => elements)
    }
    return Either.flatMap(await readText(AnySchema, text), (message) =>
      isMessage(message, AnySchema)
        ? Either.right([{ any: message, isMessage: false, path: [], offset: 0 }])
        : Either.right([])
    )
  }
  if (ProtobufText.isEmpty(text)) return nothing(text)
  const schema = await TypeRegistry.load(named)
  if (schema === undefined) {
    return problem("UnknownType", JsonProblem.unknownType(named), [], text.indexOf(named))
  }
  return Either.map(await readText(schema, text), (message) => [
    { any: anyPack(schema, message), isMessage: true, path: [], offset: text.indexOf("proto-message:") }
  ])
}

// ---------------------------------------------------------------------------------------------------------------------
// Binary

/**
 * Garbage seldom parses, but the beginning of a response does, and so does nothing at all. `type_url` follows the
 * resources: where it is missing, the end is missing.
 */
const responseFromBinary = (
  bytes: Uint8Array
): Either.Either<{ message: DiscoveryResponse; elements: ReadonlyArray<Element> }, Problem> => {
  if (bytes.byteLength === 0) return nothing("")
  let message: DiscoveryResponse
  try {
    message = fromBinary(DiscoveryResponseSchema, bytes)
  } catch (cause) {
    return problem(
      "Syntax",
      `its ${bytes.byteLength} bytes are not a DiscoveryResponse in binary: ${reasonOf(cause)}; write the file again`
    )
  }
  return message.typeUrl === ""
    ? problem("Syntax", "it has no type_url, so its end is missing or it is no DiscoveryResponse; write the file again")
    : Either.right(responseOfMessage(message))
}

// ---------------------------------------------------------------------------------------------------------------------
// Resources

const milliseconds = ({ ttl }: Resource): number | undefined =>
  ttl === undefined ? undefined : Number(ttl.seconds) * 1_000 + ttl.nanos / 1e6

const unwrap = (element: Element): Either.Either<{ any: Any; wrapper: Resource | undefined }, Problem> => {
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
    return problem("Syntax", `its bytes are not an ${WRAPPER}: ${reasonOf(cause)}`, path, offset)
  }
}

const isVirtualHost = (message: Message | undefined): message is VirtualHost =>
  message !== undefined && urlOf(message.$typeName) === ResourceType.VirtualHost.typeUrl

/** A resource, checked as far as a server checks it. */
const resourceOf = async (
  file: string,
  element: Element,
  line: number | undefined
): Promise<Either.Either<FileResource, Problem>> => {
  const { offset, path } = element
  const unwrapped = unwrap(element)
  if (Either.isLeft(unwrapped)) return Either.left(unwrapped.left)
  const { any, wrapper } = unwrapped.right
  const fail = (reason: Problem["reason"], detail: string) => problem(reason, detail, path, offset)

  const typeUrl = urlOf(any.typeUrl)
  const type = ResourceType.byTypeUrl(typeUrl)
  const schema = await TypeRegistry.load(typeUrl)
  if (schema === undefined) return fail("UnknownType", JsonProblem.unknownType(any.typeUrl))

  let message: Message | undefined
  if (!element.isMessage || type === ResourceType.VirtualHost) {
    try {
      message = fromBinary(schema, any.value)
    } catch (cause) {
      return fail("Syntax", `its bytes are not a message of type ${schema.typeName}: ${reasonOf(cause)}`)
    }
  }
  const inside = type === undefined ? undefined : ResourceType.nameOfBytes(any.value)
  const beside = wrapper?.name ?? ""
  const name = beside === "" ? (inside ?? "") : beside
  if (name === "" && type === undefined) {
    return fail(
      "UnknownType",
      `${schema.typeName} is not a resource type of xDS; if clients ask for it, wrap it in an ${WRAPPER} with a name`
    )
  }
  if (name === "") return fail("BadName", `the ${type?.nameField === "name" ? "name" : "cluster_name"} is empty`)

  const aliases = new Set(wrapper?.aliases ?? [])
  if (isVirtualHost(message)) {
    const split = VirtualHostDiscovery.split(name)
    if (split === undefined) {
      return fail("BadName", "clients ask for a virtual host as <route configuration>/<host>: name it in that form")
    }
    for (const domain of message.domains) {
      aliases.add(VirtualHostDiscovery.nameOf(split.routeConfiguration, domain.toLowerCase()))
    }
  } else if (inside !== undefined && inside !== name) {
    const detail = `the Resource around it is named ${JSON.stringify(name)}, but the name inside is ${JSON.stringify(inside)}`
    return fail("BadName", `${detail}; leave the outer one out`)
  }
  aliases.delete(name)
  return Either.right({
    typeUrl,
    name,
    // A copy: what was parsed may be a view into the whole file.
    value: any.value.slice(),
    version: wrapper === undefined || wrapper.version === "" ? undefined : wrapper.version,
    ttl: wrapper === undefined ? undefined : milliseconds(wrapper),
    aliases: Array.from(aliases),
    file,
    line
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// Files

interface Read<A> {
  /** The text that positions are in. */
  readonly text: string | undefined
  readonly content: Either.Either<A, Problem>
}

/** Reads a file's bytes by its format. */
const read = async <A>(
  { bytes, file }: Input,
  readers: {
    readonly binary: (bytes: Uint8Array) => Either.Either<A, Problem>
    readonly text: (text: string) => Promise<Either.Either<A, Problem>>
    readonly documents: (documents: ReadonlyArray<SourceDocument>) => Promise<Either.Either<A, Problem>>
  }
): Promise<Read<A>> => {
  const format = FileFormat.ofPath(file)
  if (format === undefined) {
    const known = FileFormat.extensions.map((extension) => `.${extension}`).join(", ")
    return { text: undefined, content: problem("UnknownFormat", `its name must end in one of ${known}`) }
  }
  if (format === "binary") return { text: undefined, content: readers.binary(bytes) }
  const decoded = decodeText(bytes)
  if (Either.isLeft(decoded)) {
    return { text: new TextDecoder().decode(bytes), content: Either.left(decoded.left) }
  }
  const text = decoded.right
  if (format === "text") return { text, content: await readers.text(text) }
  const documents = documentsOf(format, text)
  return {
    text,
    content: Either.isLeft(documents) ? Either.left(documents.left) : await readers.documents(documents.right)
  }
}

const errorOf = (file: string, text: string | undefined, { detail, offset, path, reason }: Problem) => {
  const position = text === undefined || offset === undefined ? undefined : positionAt(text, offset)
  return new ResourceFileError({
    reason,
    file,
    line: position?.line,
    column: position?.column,
    path: formatPath(path),
    detail: Redaction.text(detail)
  })
}

const resourcesOf = async (
  file: string,
  text: string | undefined,
  elements: ReadonlyArray<Element>
): Promise<Either.Either<ReadonlyArray<FileResource>, Problem>> => {
  const resources: Array<FileResource> = []
  const seen = new Map<string, FileResource>()
  const lines = new Lines(text)
  for (const element of elements) {
    const result = await resourceOf(file, element, lines.of(element.offset))
    if (Either.isLeft(result)) return Either.left(result.left)
    const resource = result.right
    const key = `${resource.typeUrl} ${resource.name}`
    const other = seen.get(key)
    if (other !== undefined) {
      const where = other.line === undefined ? "before" : `in line ${other.line}`
      const what = `${ResourceType.shortNameOf(resource.typeUrl)} resource ${JSON.stringify(resource.name)}`
      return problem("DuplicateName", `the ${what} stands ${where} already; keep one`, element.path, element.offset)
    }
    seen.set(key, resource)
    resources.push(resource)
  }
  return Either.right(resources)
}

/** Lines of growing offsets: every part of the text is looked at once. */
class Lines {
  #line = 1
  #at = 0
  constructor(readonly text: string | undefined) {}

  of(offset: number | undefined): number | undefined {
    if (this.text === undefined || offset === undefined) return undefined
    if (offset < this.#at) return positionAt(this.text, offset).line
    for (let next = this.text.indexOf("\n", this.#at); next >= 0 && next < offset;) {
      this.#line++
      this.#at = next + 1
      next = this.text.indexOf("\n", this.#at)
    }
    return this.#line
  }
}

const oneDocument = (documents: ReadonlyArray<SourceDocument>): Either.Either<SourceDocument, Problem> => {
  const [first, second] = documents
  if (first === undefined) return nothing("")
  return second === undefined
    ? Either.right(first)
    : problem("Schema", "a file holds one DiscoveryResponse; put the second into a file of its own", [], second.start)
}

/**
 * Reads a file that holds one DiscoveryResponse, as Envoy's `path_config_source` does. All resources must be of one type:
 * its `type_url`, which may be left out where there is a resource, but not in binary. With `typeUrl` it must be that one.
 *
 * A file that holds nothing is an error. An empty response has `type_url` and no resources; it deletes what clients hold.
 *
 * @since 0.1.0
 */
export const parseResponse = (
  input: Input,
  options: { readonly typeUrl?: string | undefined } = {}
): Effect.Effect<Response, ResourceFileError> =>
  Effect.flatMap(
    Effect.promise(async () => {
      const { content, text } = await read(input, {
        binary: responseFromBinary,
        text: responseFromText,
        documents: async (documents) => {
          const document = oneDocument(documents)
          return Either.isLeft(document) ? Either.left(document.left) : await responseFromJson(document.right)
        }
      })
      const response = Either.isLeft(content)
        ? Either.left(content.left)
        : await checkResponse(input.file, text, content.right, options)
      return Either.mapLeft(response, (found) => errorOf(input.file, text, found))
    }),
    (response) => response
  )

const checkResponse = async (
  file: string,
  text: string | undefined,
  { elements, message }: { readonly message: DiscoveryResponse; readonly elements: ReadonlyArray<Element> },
  options: { readonly typeUrl?: string | undefined }
): Promise<Either.Either<Response, Problem>> => {
  const result = await resourcesOf(file, text, elements)
  if (Either.isLeft(result)) return Either.left(result.left)
  const resources = result.right
  const wanted = options.typeUrl === undefined ? undefined : urlOf(options.typeUrl)
  const typeUrl = message.typeUrl === "" ? (resources[0]?.typeUrl ?? wanted) : urlOf(message.typeUrl)
  if (typeUrl === undefined) {
    return problem("Empty", "it has neither resources nor type_url; an empty response says the type that it is of")
  }
  if (!TypeRegistry.has(typeUrl)) return problem("UnknownType", JsonProblem.unknownType(typeUrl), ["type_url"])
  if (wanted !== undefined && wanted !== typeUrl) {
    return problem("WrongType", `it is of type ${typeUrl}, but ${wanted} is wanted here`)
  }
  for (const [index, resource] of resources.entries()) {
    if (resource.typeUrl === typeUrl) continue
    const element = elements[index]
    return problem(
      "WrongType",
      `it is of type ${resource.typeUrl}, the response of ${typeUrl}`,
      element?.path,
      element?.offset
    )
  }
  return Either.right({ typeUrl, version: message.versionInfo, resources, message })
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
 * An `envoy.service.discovery.v3.Resource` around a resource gives it a version, TTL, aliases, and a name where its
 * message has none. A file that holds nothing is an error; an empty list holds no resources and is none.
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
      const { content, text } = await read<ReadonlyArray<Element>>(input, {
        binary: (bytes) => Either.map(responseFromBinary(bytes), ({ elements }) => elements),
        text: elementsOfText,
        documents: async (documents) => {
          const elements: Array<Element> = []
          for (const document of documents) {
            const result = await elementsOfJson(document)
            if (Either.isLeft(result)) return result
            elements.push(...result.right)
          }
          return Either.right(elements)
        }
      })
      const resources = Either.isLeft(content)
        ? Either.left(content.left)
        : await resourcesOf(input.file, text, content.right)
      return Either.mapLeft(resources, (found) => errorOf(input.file, text, found))
    }),
    (resources) => resources
  )
