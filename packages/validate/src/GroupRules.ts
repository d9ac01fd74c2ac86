/**
 * Checks the resources of a group together, against the rules of {@link GroupRule}: what refers to what, what may be there only
 * once, and what a peer refuses in a resource although every field is as its `.proto` file wants it. For the fields themselves
 * there is {@link Rules}.
 *
 * A resource is read once; what it says is compared by name. So the steps are in proportion to the size of the resources, and
 * clusters that refer to each other in a circle are nothing special.
 *
 * @since 0.1.0
 */
import type { Registry } from "@bufbuild/protobuf"
import * as Effect from "effect/Effect"
import type { GroupFault } from "./GroupFault.js"
import * as GroupFaults from "./GroupFault.js"
import * as MostFaults from "./internal/MostFaults.js"
import { breathe, Pace, toEnd } from "./internal/Turns.js"
import { type Cache, cache, GroupIndex, isLarge, loadTypes, type Resource } from "./GroupIndex.js"

export { type Cache, cache, type GroupFault, type Resource }

/**
 * @since 0.1.0
 */
export interface Options {
  /** Names of rules that are not asked for. A name that no rule has counts for nothing. */
  readonly off?: Iterable<string> | undefined
  /** Resources that are there without being in the group: those that the peer was started with. */
  readonly present?: Iterable<{ readonly typeUrl: string; readonly name: string }> | undefined
  /** Most faults that are told. 100 by default. */
  readonly maxFaults?: number | undefined
  /** Types in an `Any` that are not Envoy's; they are asked first. */
  readonly registry?: Registry | undefined
  /** What was read of resources before; see {@link cache}. */
  readonly cache?: Cache | undefined
}

/**
 * What a check found.
 *
 * @since 0.1.0
 */
export interface Result {
  /** Empty: no rule is broken. In the order of the resources. */
  readonly faults: ReadonlyArray<GroupFault>
  /** Whether there are more than `maxFaults`. */
  readonly more: boolean
  /** How many messages were read, for what a check costs; those of resources in the cache were not. */
  readonly messages: number
}

/**
 * In words: `clusters "web": eds_cluster_config.eds_config must say where the endpoints come from`.
 *
 * @since 0.1.0
 */
export const toText = GroupFaults.toText

/**
 * The faults of all resources of a group. Never fails, but dies of a `maxFaults` that is NaN: what cannot be read, or is of a type that is not known, is passed over.
 *
 * @example
 * import { GroupRules } from "@effect-xds/validate"
 * import { Console, Effect } from "effect"
 *
 * const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
 *
 * const program = Effect.gen(function* () {
 *   const { faults } = yield* GroupRules.check([{ typeUrl, name: "web", value: new Uint8Array() }], {
 *     off: ["endpoints-reference"]
 *   })
 *   for (const fault of faults) yield* Console.log(`${fault.rule}: ${GroupRules.toText(fault)}`)
 * })
 *
 * @since 0.1.0
 */
export const check = (resources: Iterable<Resource>, options?: Options): Effect.Effect<Result> =>
  Effect.gen(function* () {
    const maxFaults = MostFaults.of(options?.maxFaults)
    const present = new Set(Array.from(options?.present ?? [], ({ name, typeUrl }) => `${typeUrl} ${name}`))
    const isElsewhere = ({ name, typeUrl }: Pick<Resource, "typeUrl" | "name">) => present.has(`${typeUrl} ${name}`)
    const index = new GroupIndex({ ...options, isElsewhere })
    const pace = new Pace()
    let messages = 0
    for (const resource of resources) {
      if (isLarge(resource)) {
        let read = yield* toEnd(index.readInSteps(resource), pace, perStep)
        while (!("messages" in read)) {
          yield* loadTypes(read)
          read = yield* toEnd(index.readInSteps(resource), pace, perStep)
        }
        messages += read.messages
        index.put(resource)
        continue
      }
      let read = index.read(resource)
      while (typeof read !== "number") {
        yield* loadTypes(read)
        read = index.read(resource)
      }
      messages += read
      index.put(resource)
      if (pace.isTurnOver(read + 1)) yield* breathe
    }
    yield* toEnd(index.settling(0), pace, perStep)
    const { faults, omitted } = yield* toEnd(index.listing(maxFaults), pace, perStep)
    return { faults, more: omitted > 0, messages }
  })

/** Resources between two yields of an index. */
const perStep = 64
