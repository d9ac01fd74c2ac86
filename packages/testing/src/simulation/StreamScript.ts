/**
 * Random scripts for one stream: what its client does and how the store changes.
 *
 * @since 0.1.0
 */
import { names, aliasOf, type Naming } from "./Naming.js"
import type { ResourceSpec } from "./ResourceSpec.js"
import { type StoreChange, storeChange } from "./StoreChange.js"
import * as fc from "fast-check"

/**
 * An operation of a script. Its details depend on the state of client and stream, so that every script is valid and any
 * operation can be left out.
 *
 * @since 0.1.0
 */
export type Operation =
  /** The client subscribes and unsubscribes. */
  | {
      readonly _tag: "Ask"
      readonly typeUrl: string
      readonly subscribe: ReadonlyArray<string>
      readonly unsubscribe: ReadonlyArray<string>
    }
  /** The client receives the oldest response on its way, and ACKs or NACKs it. */
  | { readonly _tag: "Receive"; readonly nack: boolean }
  /** A request with a nonce that is not the last one. */
  | { readonly _tag: "Stale"; readonly typeUrl: string; readonly names: ReadonlyArray<string> }
  /** The client's current list again, with the nonce of another stream or without one. */
  | { readonly _tag: "Repeat"; readonly typeUrl: string; readonly nonce: "" | "foreign" }
  | { readonly _tag: "Change"; readonly change: StoreChange }
  /** Two changes of the same state, one after the other. The second reverts the first. */
  | { readonly _tag: "Branch"; readonly one: StoreChange; readonly other: StoreChange }
  /** The store is cleared. The next change sets it again. */
  | { readonly _tag: "Clear" }
  /** So many changes that the log overflows. */
  | { readonly _tag: "Flood"; readonly typeUrl: string; readonly kind: "many changes" | "many names" }
  | { readonly _tag: "Credit"; readonly given: boolean }
  | { readonly _tag: "Wait"; readonly milliseconds: number }
  | { readonly _tag: "Reconnect"; readonly remembers: boolean }

/**
 * A resource with a TTL that a client is sent. It is removed together with a change of another type, so that its removal waits;
 * often while there is no credit, and often longer than its TTL. It comes back as it was, changed, without its TTL, or not. Any
 * of the operations may be missing.
 */
const returning = (
  typeUrls: ReadonlyArray<string>,
  change: fc.Arbitrary<StoreChange>
): fc.Arbitrary<ReadonlyArray<Operation>> => {
  const wait = fc
    .constantFrom(10, 1_250, 2_500, 5_000, 11_000)
    .map((milliseconds): Operation => ({ _tag: "Wait", milliseconds }))
  const receives = fc
    .nat(4)
    .map((length) => Array.from({ length }, (): Operation => ({ _tag: "Receive", nack: false })))
  const credit = (given: boolean): Operation => ({ _tag: "Credit", given })
  const ask = ({ name, typeUrl }: ResourceSpec): Operation => ({
    _tag: "Ask",
    typeUrl,
    subscribe: [name],
    unsubscribe: []
  })
  return fc
    .record({
      typeUrl: fc.constantFrom(...typeUrls),
      otherTypeUrl: fc.constantFrom(...typeUrls),
      name: fc.constantFrom(...names),
      content: fc.integer({ min: 1, max: 4 }),
      ttl: fc.constantFrom(2_500, 10_000),
      comesBack: fc.constantFrom("asItWas" as const, "asItWas" as const, "changed" as const, "withoutTtl" as const),
      isBack: fc.nat(4).map((n) => n > 0),
      changes: fc.tuple(change, change),
      waits: fc.tuple(wait, wait, wait),
      received: fc.tuple(receives, receives, receives)
    })
    .chain(({ changes, comesBack, content, isBack, name, otherTypeUrl, received, ttl, typeUrl, waits }) => {
      const alias = aliasOf(name)
      const spec = { typeUrl, name, content, ttl, aliases: alias === undefined ? [] : [alias] }
      const other = { ...spec, typeUrl: otherTypeUrl, ttl: undefined }
      const changed = { ...spec, content: content + 1 }
      const back = { asItWas: spec, changed, withoutTtl: { ...spec, ttl: undefined } }[comesBack]
      const put = (upsert: ReadonlyArray<ResourceSpec>, remove: StoreChange["remove"] = []): Operation => ({
        _tag: "Change",
        change: { upsert, remove, versions: {} }
      })
      const operations: Array<ReadonlyArray<Operation>> = [
        [credit(true)],
        [ask(spec), ask(other)],
        [put(otherTypeUrl === typeUrl ? [spec] : [spec, other])],
        received[0],
        [credit(false)],
        [put(otherTypeUrl === typeUrl ? [] : [{ ...other, content: content + 1 }], [{ typeUrl, name }])],
        [credit(true), credit(false)],
        [waits[0]],
        [{ _tag: "Change", change: changes[0] }],
        received[1],
        isBack ? [put([back])] : [],
        [waits[1]],
        [{ _tag: "Change", change: changes[1] }],
        received[2],
        [credit(true)],
        [waits[2]]
      ]
      return fc.subarray(operations, { minLength: operations.length - 3 }).map((parts) => parts.flat())
    })
}

/**
 * Scripts of operations on these types.
 *
 * @since 0.1.0
 */
export const script = (options: {
  readonly typeUrls: ReadonlyArray<string>
  /** Further types that the store has and no client requests. */
  readonly stored?: ReadonlyArray<string> | undefined
  readonly minLength?: number
  readonly maxLength?: number
  /** Whether clients request by alias, too: incremental only. */
  readonly aliases?: boolean
  /** Names and moving aliases, all of which clients request: incremental only. */
  readonly naming?: Naming | undefined
  readonly ttl?: boolean
  readonly floods?: boolean
  /** Whether clients request the wildcard. Default: true. */
  readonly wildcard?: boolean
  /** Whether credit is missing at times. Default: true. */
  readonly credit?: boolean
  /** Whether the store is also cleared, or continued from an earlier state. Default: true. */
  readonly unrelated?: boolean
  /** Whether many resources are removed and come back, one such sequence for eight operations. Default: false. */
  readonly returns?: boolean
}): fc.Arbitrary<ReadonlyArray<Operation>> => {
  const {
    credit = true,
    floods = false,
    maxLength = 240,
    minLength = 200,
    stored = [],
    typeUrls,
    unrelated = true
  } = options
  const typeUrl = fc.constantFrom(...typeUrls)
  const aliases = names.flatMap((name) => aliasOf(name) ?? [])
  // By its name or by its alias, not by both: to unsubscribe from one of two names of a resource has no defined meaning.
  const either = options.naming?.asked
  const known =
    either ?? (options.aliases === true ? [...names.filter((each) => aliasOf(each) === undefined), ...aliases] : names)
  const name = fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...known) },
    { weight: 1, arbitrary: fc.constant("unknown") },
    { weight: options.wildcard === false ? 0 : 2, arbitrary: fc.constant("*") }
  )
  const change = storeChange([...typeUrls, ...stored], options)
  const ask = fc
    .record({
      typeUrl,
      // A first request without names would be a wildcard, too.
      subscribe: fc.uniqueArray(name, { minLength: options.wildcard === false ? 1 : 0, maxLength: 3 }),
      unsubscribe: fc.uniqueArray(name, { maxLength: 3 })
    })
    .map(({ subscribe, typeUrl, unsubscribe }): Operation => ({
      _tag: "Ask",
      typeUrl,
      subscribe,
      unsubscribe: unsubscribe.filter((each) => !subscribe.includes(each))
    }))
  const operation: fc.Arbitrary<Operation> = fc.oneof(
    { weight: 20, arbitrary: ask },
    {
      weight: 30,
      arbitrary: fc.record({ _tag: fc.constant("Receive" as const), nack: fc.nat(9).map((n) => n === 0) })
    },
    {
      weight: 2,
      arbitrary: fc.record({
        _tag: fc.constant("Stale" as const),
        typeUrl,
        names: fc.uniqueArray(name, { maxLength: 3 })
      })
    },
    {
      weight: 2,
      arbitrary: fc.record({
        _tag: fc.constant("Repeat" as const),
        typeUrl,
        nonce: fc.constantFrom("" as const, "foreign" as const)
      })
    },
    { weight: 30, arbitrary: fc.record({ _tag: fc.constant("Change" as const), change }) },
    {
      weight: unrelated ? 2 : 0,
      arbitrary: fc.record({ _tag: fc.constant("Branch" as const), one: change, other: change })
    },
    { weight: unrelated ? 1 : 0, arbitrary: fc.constant<Operation>({ _tag: "Clear" }) },
    {
      weight: floods ? 1 : 0,
      arbitrary: fc.record({
        _tag: fc.constant("Flood" as const),
        typeUrl,
        kind: fc.constantFrom("many changes" as const, "many names" as const)
      })
    },
    { weight: credit ? 10 : 0, arbitrary: fc.record({ _tag: fc.constant("Credit" as const), given: fc.boolean() }) },
    {
      weight: 5,
      arbitrary: fc.record({
        _tag: fc.constant("Wait" as const),
        milliseconds: fc.constantFrom(10, 1_000, 5_000, 11_000)
      })
    },
    { weight: 2, arbitrary: fc.record({ _tag: fc.constant("Reconnect" as const), remembers: fc.boolean() }) }
  )
  if (options.returns !== true) return fc.array(operation, { minLength, maxLength, size: "max" })
  const one = operation.map((each): ReadonlyArray<Operation> => [each])
  const part = fc.oneof({ weight: 8, arbitrary: one }, { weight: 1, arbitrary: returning(typeUrls, change) })
  return fc
    .array(part, { minLength: minLength >> 1, maxLength: maxLength >> 1, size: "max" })
    .map((parts) => parts.flat())
}
