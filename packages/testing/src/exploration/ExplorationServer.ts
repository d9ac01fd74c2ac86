/**
 * A server's stream and a naive client, for exhaustive exploration. The client subscribes and unsubscribes, ACKs and NACKs
 * responses, uses old nonces, leaves and returns. The store changes, and credit comes and goes.
 *
 * Every response is compared with that of the reference server, where that is defined. Every step satisfies the invariants.
 * From every state, if nothing else happens, the client ends with the content of the store.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import * as ServerStreams from "@effect-xds/core/server/ServerStream"
import { shortNameOf } from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import type { ResourceSpec } from "../simulation/ResourceSpec.js"
import { toResource } from "../simulation/ResourceSpec.js"
import type { Move, World } from "./Exploration.js"
import * as Keys from "./ExplorationKey.js"
import { isCompared, newStream, type Options, ServerRun, type State } from "../internal/ServerRun.js"

export { type Options, type State } from "../internal/ServerRun.js"

/** A group that never held anything else. */
const holding = (upsert: ReadonlyArray<Resource>): ResourceGroup =>
  Either.getOrElse(ResourceGroups.update(ResourceGroups.empty, { upsert }), () => ResourceGroups.empty)

const labelOf = (store: ReadonlyArray<ResourceSpec>, index: number): string =>
  `${index + 1}, ${store
    .map(({ aliases = [], content, error, name, variants, version = "" }) => {
      const text = error === undefined ? JSON.stringify(variants ?? content) : `error ${error}`
      return `${name}=${text}${version}(${aliases.join(" ")})`
    })
    .join(" ")}`

/**
 * Makes the world.
 *
 * @since 0.1.0
 */
export const make = (options: Options): World<State> => {
  const {
    asked,
    isAggregated = false,
    isMoved = false,
    isWarm = false,
    maxBehind = 0,
    maxInFlight = 2,
    names,
    namesPerStep,
    protocol,
    said = [],
    stores,
    ttl = false,
    typeUrls
  } = options
  const isIncremental = protocol === "Incremental"
  const hasErrors = stores?.flat().some(({ error }) => error !== undefined) === true
  const resources = typeUrls.flatMap((typeUrl) =>
    names.flatMap((name, index) =>
      (index === 0 ? [1, 2] : [1]).map((content) => ({
        label: `${shortNameOf(typeUrl)} ${name}=${content}`,
        isFirst: content === 1,
        // A cluster is warmed on the assignment of its own name.
        resource: toResource({
          typeUrl,
          name,
          content,
          assignment: isAggregated && shortNameOf(typeUrl) === "CDS" ? name : undefined
        })
      }))
    )
  )

  const moves = (state: State): ReadonlyArray<Move<State>> => {
    const found: Array<Move<State>> = []
    const move = (label: string, make: (run: ServerRun) => void) =>
      found.push({
        label,
        take: () => {
          const run = new ServerRun(options, state)
          make(run)
          return run.end()
        }
      })
    const { answered, client, group, missed, server, wire } = state
    for (const typeUrl of typeUrls) {
      const type = shortNameOf(typeUrl)
      const interest = client.interests.get(typeUrl)
      if (interest === undefined) move(`${type}: the client asks without names`, (run) => run.ask(typeUrl, [], []))
      // A client does not request again what it just quoted, before it gets an answer.
      const isQuoted = (name: string) => interest?.nonce === "" && (interest.names.has(name) || name === "*")
      for (const name of [...(asked ?? names), "*"]) {
        // A client cannot know that a response on its way is older than a `*` that it requested again, or older than a request
        // by another name.
        const isAnother = name === "*" || stores !== undefined || asked !== undefined
        if (isIncremental && isAnother && wire.length > 0) continue
        if (!isQuoted(name)) move(`${type}: the client subscribes to ${name}`, (run) => run.ask(typeUrl, [name], []))
        const isAsked = name === "*" ? interest?.wildcard !== "none" : interest?.names.has(name) === true
        // If every request with a name crossed a response, the server takes an empty list for the legacy wildcard.
        const isLast = interest !== undefined && interest.names.size + (interest.wildcard === "explicit" ? 1 : 0) === 1
        if (!isIncremental && isLast && wire.some((send) => send.typeUrl === typeUrl)) continue
        if (interest !== undefined && isAsked) {
          move(`${type}: the client unsubscribes from ${name}`, (run) => run.ask(typeUrl, [], [name]))
        }
      }
      if (answered.has(typeUrl)) move(`${type}: a request with a stale nonce`, (run) => run.stale(typeUrl))
    }
    if (wire.length > 0) {
      move("the client ACKs", (run) => run.receive(false))
      move("the client NACKs", (run) => run.receive(true))
    }
    const change = (label: string, change: Parameters<typeof ResourceGroups.update>[1]) =>
      move(label, (run) =>
        run.set(
          Either.getOrElse(ResourceGroups.update(group ?? ResourceGroups.empty, change), () => ResourceGroups.empty)
        )
      )
    if (group === undefined) move("the store is set, and empty", (run) => run.set(ResourceGroups.empty))
    for (const [index, store] of (stores ?? []).entries()) {
      const upsert = store.map(toResource)
      const isIn = ({ name, typeUrl }: ResourceGroups.ResourceKey) =>
        upsert.some((each) => each.typeUrl === typeUrl && each.name === name)
      const remove = ResourceGroups.all(group ?? ResourceGroups.empty).filter((each) => !isIn(each))
      const isSame = upsert.every((each) => {
        const held = ResourceGroups.get(group ?? ResourceGroups.empty, each)
        return held?.fingerprint === each.fingerprint && held.version === each.version
      })
      if (!isSame || remove.length > 0) change(`store: ${labelOf(store, index)}`, { upsert, remove })
    }
    if (stores === undefined) {
      for (const { label, resource } of resources) {
        const held = ResourceGroups.get(group ?? ResourceGroups.empty, resource)
        if (held?.fingerprint !== resource.fingerprint) change(`store: ${label}`, { upsert: [resource] })
      }
      for (const { name, typeUrl } of ResourceGroups.all(group ?? ResourceGroups.empty)) {
        change(`store: ${shortNameOf(typeUrl)} ${name} is removed`, { remove: [{ typeUrl, name }] })
      }
    }
    if (isMoved) {
      const [, second] = resources
      const other = second === undefined ? [] : [second.resource]
      if (group !== undefined) {
        move("the client is moved to a group that holds the same", (run) =>
          run.move(holding(ResourceGroups.all(group)))
        )
        move("the client is moved to a group that is not set", (run) => run.move(undefined))
      }
      move("the client is moved to another group", (run) => run.move(holding(other)))
    }
    for (const env of said) {
      if (env !== state.said) move(`the client says env=${env} from now on`, (run) => run.say(env))
    }
    if (missed.length > 0) move("the stream has its turn", (run) => run.turn())
    if (ServerStreams.isWorking(server)) move("the stream goes on", (run) => run.goOn(1))
    if (!server.credit && wire.length < maxInFlight) move("the stream is writable", (run) => run.credit())
    if (ServerStreams.deadline(server) < Number.POSITIVE_INFINITY) move("the deadline comes", (run) => run.deadline())
    if (client.interests.size > 0) {
      move("the stream ends; the client returns with what it has", (run) => run.reconnect(true))
      move("the stream ends; the client returns with nothing", (run) => run.reconnect(false))
      if (!isIncremental) {
        move("the stream ends; the client returns with an old nonce", (run) => run.reconnect(true, "old"))
      }
    }
    return found
  }

  const warm = (): State => {
    const run = new ServerRun(options, newStream(options))
    run.set(holding(resources.filter(({ isFirst }) => isFirst).map(({ resource }) => resource)))
    for (const typeUrl of typeUrls) run.ask(typeUrl, asked ?? [], [])
    run.comeToRest()
    return run.end()
  }

  return {
    name: [
      "server",
      protocol === "Incremental" ? "incremental" : "state of the world",
      `${isAggregated ? "aggregated " : ""}${typeUrls.map(shortNameOf).join(" and ")}`,
      ...(said.length > 0 ? ["variants"] : []),
      ...(hasErrors ? ["errors"] : []),
      ...(stores === undefined || said.length > 0 || hasErrors ? [] : ["names that move"]),
      ...(asked === undefined ? [] : ["collections"]),
      ...(namesPerStep === undefined ? [] : [`${namesPerStep} at a time`]),
      ...(ttl ? ["TTLs"] : []),
      ...(maxBehind > 0 ? [`${maxBehind} changes behind`] : []),
      ...(isMoved ? ["moved"] : []),
      ...(isWarm ? ["warm"] : [])
    ].join(", "),
    initial: isWarm ? warm() : newStream(options),
    moves,
    key: ({ answered, client, errors, group, missed, model, now, said, server, wire }) => [
      said ?? "",
      Array.from(errors, ([key, { code }]) => `${key} ${code}`)
        .sort()
        .join(","),
      Keys.ofGroup(group),
      missed.map((each) => Keys.ofState(server, each)).join("|"),
      Keys.ofServer(server, now),
      isCompared(options) ? Keys.ofModel(model) : "",
      Keys.ofReferenceClient(client, server.nonces),
      wire
        .map(({ nonce, response }) => [Keys.age(nonce, server.nonces), Keys.ofResponse(response)].join(";"))
        .join("|"),
      Array.from(answered).sort().join(",")
    ],
    problems: ({ problems }) => problems,
    unfinished: (state) => new ServerRun(options, state).rest()
  }
}
