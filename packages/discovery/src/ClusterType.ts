/**
 * Types of clusters: the shape that all of them have, ours and anybody's own, and where they are registered.
 *
 * A type is a reducer with the inputs and outputs of `Discovery`. It resolves nothing and keeps no clock. What is somebody
 * else's code may throw, or give what is no answer: then that cluster keeps what it has, and its `fault` says why.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery#custom-cluster
 * @since 0.1.0
 */
import type { Cluster as ClusterMessage } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as Reason from "@effect-xds/proto/Reason"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import type { Assignment } from "./Assignment.js"
import { maxPriority } from "./Assignment.js"
import type { ClusterError } from "./ClusterError.js"
import type { Context, Input, Output } from "./Discovery.js"
import type { Member } from "./HostSet.js"

/**
 * What a type reads its config from.
 *
 * @since 0.1.0
 */
export interface Given {
  readonly cluster: ClusterMessage
  /** `cluster_type.typed_config`; empty if the field `type` names the type. */
  readonly config: Uint8Array
}

/**
 * The assignment that a type wants: it comes as `Assigned`, `Missing` or `Failed`.
 *
 * @since 0.1.0
 */
export interface AssignmentSource {
  /** The name of the ClusterLoadAssignment. */
  readonly name: string
  /** Where from, as `eds_config` says it. */
  readonly source: EndpointSource
}

/**
 * Where endpoints come from: the client that brought the cluster (`ads`, `self`), a file, or servers of their own.
 *
 * @since 0.1.0
 */
export type EndpointSource =
  | { readonly _tag: "Client"; readonly as: "ads" | "self" }
  /** `path_config_source`, and the older `path`. */
  | { readonly _tag: "File"; readonly path: string }
  /** `api_config_source`. */
  | {
      readonly _tag: "Api"
      readonly kind: "REST" | "GRPC" | "DELTA_GRPC"
      /** Names of the clusters whose servers are asked; of gRPC without a cluster the target. */
      readonly servers: ReadonlyArray<string>
      /** Of REST: milliseconds from one poll to the next. */
      readonly refreshDelay: number | undefined
      /** Milliseconds for an answer. */
      readonly requestTimeout: number | undefined
    }

/**
 * A call that wants a host, as far as a type that picks itself looks at it.
 *
 * @since 0.1.0
 */
export interface Call {
  /** A header's first value; names are in lower case. */
  readonly header: (name: string) => string | undefined
  /** The address that was asked for in filter state. */
  readonly filterState: string | undefined
  /** Metadata of the request, and of its connection: what is under a key and a path. */
  readonly requestMetadata: (key: string, path: ReadonlyArray<string>) => unknown
  readonly connectionMetadata: (key: string, path: ReadonlyArray<string>) => unknown
  /** Where the connection went before it was redirected. */
  readonly restored: string | undefined
  /** The n-th number of the call, in [0, 1). */
  readonly draw: (n: number) => number
}

/**
 * What a type that picks itself says: the address of a host, `10.0.0.1:80`; `undefined`: no connection is made.
 *
 * @since 0.1.0
 */
export interface Pick {
  readonly address: string | undefined
  /** Overrides that were no addresses, and were passed over. */
  readonly ignored: number
  /** The address that was picked, where there is none: the cluster has as many hosts as it may have. */
  readonly refused?: string | undefined
}

/**
 * A type of clusters with the types of its config and its state, which is plain data.
 *
 * @since 0.1.0
 */
export interface ClusterType<Config, State> {
  /** The type URL of `cluster_type.typed_config`; for what the field `type` says, its value: `EDS`. */
  readonly typeUrl: string
  /** Left: all mistakes, with paths from the cluster on. */
  readonly decode: (given: Given) => Either.Either<Config, ReadonlyArray<ClusterError>>
  readonly make: (config: Config) => State
  /** Total. ★ It says `Initialized` once: nothing else ends the warming of the cluster. */
  readonly step: (self: State, input: Input, context: Context) => readonly [State, ReadonlyArray<Output>]
  /** When it wants a `Deadline`, in milliseconds; Infinity if never. */
  readonly deadline: (self: State) => number
  /** The assignment that it wants. Default: none. */
  readonly assignment?: ((config: Config) => AssignmentSource | undefined) | undefined
  /** Of an aggregate: the clusters whose hosts it has, the best first. Default: it has hosts of its own. */
  readonly clusters?: ((config: Config) => ReadonlyArray<string>) | undefined
  /** It picks the hosts itself, and `lb_policy` has to be CLUSTER_PROVIDED. */
  readonly pick?: ((config: Config, members: ReadonlyArray<Member>, call: Call) => Pick) | undefined
  /** Whether picks look at the members. If not, they are given none, which need not be put in order then. Default: true. */
  readonly looksAtMembers?: boolean | undefined
}

/**
 * A cluster's discovery that runs: a value, of which each step makes another.
 *
 * @since 0.1.0
 */
export interface Running {
  /** For people and tests: the state of the type. */
  readonly state: unknown
  readonly deadline: number
  /** What its code did wrong last, for people; `undefined`: nothing. */
  readonly fault: string | undefined
  readonly step: (input: Input, context: Context) => readonly [Running, ReadonlyArray<Output>]
}

/**
 * A type and its config.
 *
 * @since 0.1.0
 */
export interface Configured {
  readonly typeUrl: string
  /** For people and tests. */
  readonly config: unknown
  readonly assignment: AssignmentSource | undefined
  /** `undefined`: it is no aggregate. */
  readonly clusters: ReadonlyArray<string> | undefined
  /** `undefined`: a load-balancing policy picks. */
  readonly pick: ((members: ReadonlyArray<Member>, call: Call) => Pick) | undefined
  readonly looksAtMembers: boolean
  /** Its discovery, not started. */
  readonly run: () => Running
}

/**
 * A type without the types of its config and its state: what is registered.
 *
 * @since 0.1.0
 */
export interface Definition {
  readonly typeUrl: string
  /** Whether hosts are picked by it. */
  readonly picks: boolean
  /** Whether its hosts are those of other clusters. */
  readonly isAggregate: boolean
  readonly decode: (given: Given) => Either.Either<Configured, ReadonlyArray<ClusterError>>
}

/** What somebody's code gives, or why it gives nothing. */
const attempt = <A>(what: string, code: () => A): Either.Either<A, string> => {
  try {
    return Either.right(code())
  } catch (cause) {
    return Either.left(`${what} threw: ${Reason.of(cause)}`)
  }
}

const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

const holds = (value: unknown, key: string, is: (part: unknown) => boolean): boolean =>
  Predicate.hasProperty(value, key) && is(value[key])

const isHost = (host: unknown): boolean =>
  holds(host, "id", Predicate.isString) &&
  holds(host, "address", Predicate.isString) &&
  holds(host, "addresses", isList) &&
  holds(host, "weight", (weight) => Predicate.isNumber(weight) && weight > 0) &&
  holds(host, "priority", (at) => Number.isInteger(at) && Predicate.isNumber(at) && at >= 0 && at <= maxPriority)

const isMistake = (mistake: unknown): boolean =>
  (["path", "reason", "message"] as const).every((key) => holds(mistake, key, Predicate.isString))

const isNames = (names: unknown): boolean => isList(names) && names.every(Predicate.isString)

const isSource = (source: unknown): boolean => {
  switch (Predicate.hasProperty(source, "_tag") ? source._tag : undefined) {
    case "Client":
      return holds(source, "as", Predicate.isString)
    case "File":
      return holds(source, "path", Predicate.isString)
    case "Api":
      return holds(source, "kind", Predicate.isString) && holds(source, "servers", isNames)
    default:
      return false
  }
}

const isAssignment = (assignment: unknown): boolean =>
  holds(assignment, "name", Predicate.isString) && holds(assignment, "source", isSource)

const isPick = (pick: unknown): boolean =>
  holds(pick, "address", (address) => address === undefined || Predicate.isString(address)) &&
  holds(pick, "ignored", Predicate.isNumber)

const noHost = `what is no host: id, address, addresses, a weight and a priority of 0 to ${maxPriority} are needed`

/** What is wrong with an output; `undefined`: nothing. */
const wrong = (output: unknown): string | undefined => {
  const tag = Predicate.hasProperty(output, "_tag") ? output._tag : undefined
  switch (tag) {
    case "Initialized":
      return undefined
    case "Resolve":
      return holds(output, "name", Predicate.isString) ? undefined : "step asked for no name"
    case "Refused":
      return holds(output, "address", Predicate.isString) ? undefined : "step refused no address"
    case "Found":
      return holds(output, "host", isHost) ? undefined : `step found ${noHost}`
    case "Lost":
      return holds(output, "host", Predicate.isString) ? undefined : "step lost no host"
    case "Listed":
      if (holds(output, "hosts", (hosts) => isList(hosts) && hosts.every(isHost))) return undefined
      return `step listed ${noHost}`
    default:
      return `step gave an output that there is not: ${Reason.of(tag)}`
  }
}

/** ★ Types are no promise where code is somebody else's. */
const wrongAmong = (outputs: unknown): string | undefined => {
  if (!isList(outputs)) return "step gave no list of outputs"
  for (const output of outputs) {
    const problem = wrong(output)
    if (problem !== undefined) return problem
  }
  return undefined
}

/**
 * Makes a type fit for a registry.
 *
 * @since 0.1.0
 */
export const define = <Config, State>(type: ClusterType<Config, State>): Definition => {
  const { typeUrl } = type

  const deadlineOf = (state: State, least: number): Either.Either<number, string> =>
    Either.flatMap(
      attempt("deadline", () => type.deadline(state)),
      (at) =>
        typeof at !== "number" || Number.isNaN(at)
          ? Either.left("deadline gave no number")
          : // ★ Who wants to be woken at once, again and again, would stop everything else.
            Either.right(Math.max(at, least))
    )

  const running = (state: State, deadline: number, fault: string | undefined): Running => {
    const self: Running = {
      state,
      deadline,
      fault,
      step: (input, context) => {
        const { now } = context
        const failed = (text: string): readonly [Running, ReadonlyArray<Output>] => {
          // It is asked again when something else happens; what it wanted at this time is over.
          const next = deadline <= now ? Number.POSITIVE_INFINITY : deadline
          return [running(state, next, `${typeUrl}: ${text}`), []]
        }
        const stepped = attempt("step", () => type.step(state, input, context))
        if (Either.isLeft(stepped)) return failed(stepped.left)
        if (!isList(stepped.right)) return failed("step gave no state and outputs")
        const [next, outputs] = stepped.right
        const problem = attempt("step", () => wrongAmong(outputs)).pipe(Either.merge)
        if (problem !== undefined) return failed(problem)
        const at = deadlineOf(next, input._tag === "Deadline" ? now + 1 : Number.NEGATIVE_INFINITY)
        if (Either.isLeft(at)) return failed(at.left)
        if (next === state && at.right === deadline && fault === undefined) return [self, outputs]
        return [running(next, at.right, undefined), outputs]
      }
    }
    return self
  }

  const configure = (config: Config): Either.Either<Configured, string> =>
    Either.gen(function* () {
      const assignment = yield* attempt("assignment", () => type.assignment?.(config))
      if (assignment !== undefined && !isAssignment(assignment)) {
        return yield* Either.left("assignment gave no name and source")
      }
      const clusters = yield* attempt("clusters", () => type.clusters?.(config))
      if (clusters !== undefined && !isNames(clusters)) return yield* Either.left("clusters gave no list of names")
      return configured(config, assignment, clusters)
    })

  const configured = (
    config: Config,
    assignment: AssignmentSource | undefined,
    clusters: ReadonlyArray<string> | undefined
  ): Configured => {
    const { looksAtMembers = true, pick } = type
    return {
      typeUrl,
      config,
      assignment,
      clusters,
      pick:
        pick === undefined
          ? undefined
          : (members, call) =>
              attempt("pick", () => pick(config, members, call)).pipe(
                Either.filterOrLeft(isPick, () => "pick gave no address"),
                Either.getOrElse(() => ({ address: undefined, ignored: 0 }))
              ),
      looksAtMembers,
      run: () =>
        Either.match(
          attempt("make", () => type.make(config)),
          {
            onLeft: (text) => broken(`${typeUrl}: ${text}`),
            onRight: (state) => {
              const at = deadlineOf(state, Number.NEGATIVE_INFINITY)
              return Either.isLeft(at) ? broken(`${typeUrl}: ${at.left}`) : running(state, at.right, undefined)
            }
          }
        )
    }
  }

  const rejected = (message: string): ReadonlyArray<ClusterError> => [
    { path: "cluster_type", reason: "ClusterType", message: `${typeUrl}: ${message}` }
  ]

  return {
    typeUrl,
    picks: type.pick !== undefined,
    isAggregate: type.clusters !== undefined,
    decode: (given) =>
      Either.flatMap(
        Either.mapLeft(
          attempt("decode", () => type.decode(given)),
          rejected
        ),
        (decoded) => {
          if (!Either.isEither(decoded)) return Either.left(rejected("decode gave no Either"))
          if (Either.isRight(decoded)) return Either.mapLeft(configure(decoded.right), rejected)
          const { left } = decoded
          return Either.left(isList(left) && left.every(isMistake) ? left : rejected("decode gave no list of mistakes"))
        }
      )
  }
}

/** A discovery that could not begin: it has no hosts. */
const broken = (fault: string): Running => {
  const self: Running = {
    state: undefined,
    deadline: Number.POSITIVE_INFINITY,
    fault,
    step: (input) => [self, input._tag === "Start" ? [{ _tag: "Initialized" }] : []]
  }
  return self
}

/**
 * The types that clusters may have, by type URL.
 *
 * @since 0.1.0
 */
export type Registry = ReadonlyMap<string, Definition>

/**
 * A registry of these types; of those with one type URL the last counts.
 *
 * @since 0.1.0
 */
export const registry = (types: ReadonlyArray<Definition>): Registry =>
  new Map(types.map((type) => [type.typeUrl, type]))

/**
 * An input of an assignment.
 *
 * @param age how many milliseconds ago it came; default: it comes now
 * @since 0.1.0
 */
export const assigned = ({ endpoints, staleAfter }: Assignment, age = 0): Input => {
  if (staleAfter === undefined) return { _tag: "Assigned", endpoints, staleAfter }
  // ★ Of one that is stale already nothing is left to be armed.
  return staleAfter <= age
    ? { _tag: "Assigned", endpoints: [], staleAfter: undefined }
    : { _tag: "Assigned", endpoints, staleAfter: staleAfter - age }
}
