/**
 * The state of a client as text, and back: for logs, comparison and replay. Functions are not printed: the caller passes the
 * decoders again, and held resources are decoded again.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as NameTrie from "../resource/NameTrie.js"
import * as PlainData from "../PlainData.js"
import * as Digest from "../resource/Digest.js"
import type { ClientCache, Entry } from "./ClientCache.js"
import type { FlowControl } from "./FlowControl.js"
import type { ResourceDecoder } from "./ResourceDecoder.js"

/**
 * Error: a text that is not the state of a client, or needs other decoders.
 *
 * @since 0.1.0
 */
export class RestoreError extends Data.TaggedError("RestoreError")<{
  /** Empty if the error concerns no resource. */
  readonly typeUrl: string
  readonly name: string
  readonly reason: string
}> {
  override get message(): string {
    const what = this.typeUrl === "" ? "" : ` of ${this.typeUrl} ${JSON.stringify(this.name)}`
    return `the state of a client${what} cannot be restored: ${this.reason}`
  }
}

/** Version of the format. Increase it when the fields of the state change. */
const format = 6

const digestOf = (text: string): string => Digest.toHex(Digest.ofParts([String(format), text]))

/** The cache with other decoded values. */
const withValues = (cache: ClientCache, valueOf: (typeUrl: string, entry: Entry) => unknown): ClientCache => ({
  types: new Map(
    Array.from(cache.types, ([typeUrl, type]) => [
      typeUrl,
      {
        ...type,
        entries: NameTrie.fromIterable(
          Array.from(type.entries, ([name, entry]) => [
            name,
            entry.held === undefined ? entry : { ...entry, held: { ...entry.held, value: valueOf(typeUrl, entry) } }
          ])
        )
      }
    ])
  )
})

/**
 * The state as text. Equal states give equal texts.
 *
 * @since 0.1.0
 */
export const print = (self: FlowControl): string => {
  const { client } = self
  const text = PlainData.print({
    ...self,
    client: {
      ...client,
      options: { ...client.options, decoders: [] },
      cache: withValues(client.cache, () => undefined)
    }
  })
  return `${digestOf(text)} ${text}`
}

/** The digest proves that {@link print} made the text. */
const isState = (value: unknown): value is FlowControl => typeof value === "object" && value !== null

/**
 * The state of a text from {@link print}. Fails with {@link RestoreError}.
 *
 * @param decoders decoders of the watched types
 * @since 0.1.0
 */
export const restore = (
  text: string,
  decoders: ReadonlyArray<ResourceDecoder>
): Either.Either<FlowControl, RestoreError> => {
  const space = text.indexOf(" ")
  const printed = text.slice(space + 1)
  const refuse = (reason: string, typeUrl = "", name = "") => Either.left(new RestoreError({ typeUrl, name, reason }))
  if (text.slice(0, space) !== digestOf(printed)) {
    return refuse("the text was changed, or printed by another version of this package")
  }
  const state = PlainData.read(printed)
  if (!isState(state)) return refuse("it is none")
  const problems: Array<Either.Either<never, RestoreError>> = []
  const cache = withValues(state.client.cache, (typeUrl, { held }) => {
    const decoder = decoders.find((each) => each.typeUrl === typeUrl)
    if (held === undefined || decoder === undefined) {
      problems.push(refuse("there is no decoder for it", typeUrl, held?.ownName))
      return undefined
    }
    const value = decode(decoder, held.bytes, held.ownName)
    if (Either.isRight(value)) return value.right
    problems.push(refuse(value.left, typeUrl, held.ownName))
    return undefined
  })
  const options = { ...state.client.options, decoders }
  return problems[0] ?? Either.right({ ...state, client: { ...state.client, options, cache } })
}

const decode = (decoder: ResourceDecoder, bytes: Uint8Array, name: string): Either.Either<unknown, string> => {
  try {
    const decoded = decoder.decode(bytes, name)
    return Either.mapLeft(decoded, String)
  } catch (cause) {
    return Either.left(Reason.of(cause))
  }
}
