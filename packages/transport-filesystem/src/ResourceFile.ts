/**
 * The resources in a file: a DiscoveryResponse as Envoy reads it, or a list of resources in the forms that people write
 * by hand. The parse functions do not read from disk; their only side effect is loading message types.
 *
 * @since 0.1.0
 */
import { create } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import type { DiscoveryResponse } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Buffer, isAscii } from "node:buffer"
import * as FileFormat from "./FileFormat.js"
import type { FileResource } from "./FileResource.js"
import * as BinaryFile from "./internal/BinaryFile.js"
import * as FileContent from "./internal/FileContent.js"
import * as FileElement from "./internal/FileElement.js"
import * as JsonFile from "./internal/JsonFile.js"
import * as JsonProblem from "./internal/JsonProblem.js"
import { errorsOf, problem, type Result } from "./internal/Problems.js"
import { Reading } from "./internal/Reading.js"
import { type ReadOptions, withDefaults } from "./internal/ReadOptions.js"
import * as TextFile from "./internal/TextFile.js"
import { ResourceFileError } from "./ResourceFileError.js"

export type { FileResource } from "./FileResource.js"
export { isSame, ResourceFileError } from "./ResourceFileError.js"

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
 * A file's name and content.
 *
 * @since 0.1.0
 */
export interface Input {
  /** The path: it decides the format, and appears in messages. */
  readonly file: string
  readonly bytes: Uint8Array
}

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

/** Reads the bytes of a file in its format. */
const read = async <A>(
  { bytes, file }: Input,
  reading: Reading,
  readers: {
    readonly binary: (bytes: Uint8Array) => Promise<A>
    readonly text: (text: string) => Promise<A>
    readonly documents: (format: JsonFile.Format, text: string) => Promise<A>
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
  return format === "text" ? readers.text(text) : readers.documents(format, text)
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
        binary: (bytes) => BinaryFile.response(bytes, reading),
        text: (text) => TextFile.response(text, reading),
        documents: (format, text) => JsonFile.response(format, text, reading)
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
  const wanted = options.typeUrl === undefined ? undefined : FileElement.urlOf(options.typeUrl)
  const typeUrl = message.typeUrl === "" ? (resources[0]?.typeUrl ?? wanted) : FileElement.urlOf(message.typeUrl)
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
        binary: (bytes) => BinaryFile.response(bytes, reading),
        text: (text) => TextFile.resources(text, reading),
        documents: (format, text) => JsonFile.resources(format, text, reading)
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
    Effect.zipRight(
      BadOption.check(options, { maxFileBytes: 0 }),
      Effect.promise(() => FileContent.read(file, withDefaults(options).maxFileBytes))
    ),
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
