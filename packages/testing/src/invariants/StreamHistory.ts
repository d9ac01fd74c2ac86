/**
 * The streams of a trace as histories of their servers' inputs and outputs, so that invariants of streams apply to simulations.
 * A trace has no bytes and no credit: resources are compared by fingerprint, and every response counts as sent on credit.
 *
 * @since 0.1.0
 */
import * as Digest from "@effect-xds/core/resource/Digest"
import type { Request } from "@effect-xds/core/wire/Request"
import * as Requests from "@effect-xds/core/wire/Request"
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import * as Response from "@effect-xds/core/wire/Response"
import type { Input, Output } from "@effect-xds/core/server/ServerStream"
import * as ServerStreams from "@effect-xds/core/server/ServerStream"
import { ClusterLoadAssignment, VirtualHost } from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import type { History, Step } from "./Invariants.js"
import type { Message, StreamName, Trace, TracedResource } from "./Trace.js"

/**
 * One stream, from its opening to its end, on the server's side.
 *
 * @since 0.1.0
 */
export interface StreamHistory {
  readonly stream: StreamName
  readonly history: History
}

const { makeBeforeBreak, phaseDeadline } = ServerStreams.withDefaults({ protocol: "Incremental", typeUrl: undefined })
const phases: ServerStreams.PhaseOptions = { makeBeforeBreak, phaseDeadline }
const noBytes = new Uint8Array()
const assignments = `${ClusterLoadAssignment.typeUrl} `

const resourceOf = (typeUrl: string, resource: TracedResource): Resource => {
  const { aliases = [], fingerprint, name, refersTo, ttl, version } = resource
  return {
    typeUrl,
    name,
    aliases,
    version,
    digest: Digest.zero,
    fingerprint,
    ttl,
    value: noBytes,
    assignment: refersTo.find((to) => to.startsWith(assignments))?.slice(assignments.length),
    onDemandVirtualHosts: false
  }
}

/** A resource with other aliases or another TTL is different for clients. */
const storedOf = (typeUrl: string, stored: TracedResource): Resource => {
  const resource = resourceOf(typeUrl, stored)
  const { aliases, fingerprint, ttl } = resource
  if (ttl === undefined && aliases.length === 0) return resource
  return { ...resource, fingerprint: [fingerprint, ttl ?? "", ...aliases].join(" ") }
}

const requestOf = (stream: StreamName, message: Message & { readonly _tag: "Request" }): Request => {
  const { error, held, names, nonce: responseNonce, typeUrl, unsubscribe, version: versionInfo } = message
  const errorDetail = error === undefined ? undefined : { code: 0, message: error }
  return stream.protocol === "StateOfTheWorld"
    ? Requests.stateOfTheWorld({ typeUrl, versionInfo, responseNonce, resourceNames: names, errorDetail })
    : Requests.incremental({
        typeUrl,
        responseNonce,
        resourceNamesSubscribe: names,
        resourceNamesUnsubscribe: unsubscribe,
        initialResourceVersions: new Map(Object.entries(held)),
        errorDetail
      })
}

const sendOf = (
  stream: StreamName,
  message: Message & { readonly _tag: "Response" },
  group: ResourceGroup | undefined,
  /** Type, name and version → every resource that was ever stored. */
  ever: ReadonlyMap<string, Resource>
): Output => {
  const { nonce, removed, typeUrl, version } = message
  const bodies = message.resources.filter(({ fingerprint }) => fingerprint !== "")
  const empty = message.resources.filter(({ fingerprint }) => fingerprint === "")
  // A virtual host without body and version does not exist. Any other resource without a body is a heartbeat.
  const isAbsent = ({ version }: TracedResource) => typeUrl === VirtualHost.typeUrl && version === ""
  // Aliases and TTLs come from the store. In state of the world there are none, and no version.
  const known = (resource: TracedResource): Resource => {
    const { fingerprint, name, version } = resource
    const stored = ever.get(`${typeUrl} ${name} ${version}`)
    if (stored !== undefined) return stored
    const now = group === undefined ? undefined : ResourceGroups.get(group, { typeUrl, name })
    return now !== undefined && now.fingerprint === fingerprint ? now : resourceOf(typeUrl, resource)
  }
  const response = Response.make({
    protocol: stream.protocol,
    typeUrl,
    version,
    resources: bodies.map(known),
    removed,
    absent: empty.filter(isAbsent).map(({ name }) => name),
    heartbeats: empty.filter((each) => !isAbsent(each)).map(known),
    aliases: new Map(
      message.resources.flatMap(({ aliases = [], name }) => (aliases.length === 0 ? [] : [[name, aliases] as const]))
    )
  })
  return { _tag: "Send", typeUrl, nonce, response, from: undefined }
}

/**
 * The histories of all streams that a server accepted, in the order of their ends; then those that did not end.
 *
 * @since 0.1.0
 */
export const ofTrace = (trace: Trace): ReadonlyArray<StreamHistory> => {
  const groupOf = new Map<string, string>()
  /** Host → milliseconds by which its clock is ahead. */
  const ahead = new Map<string, number>()
  /** Server → group → content. */
  const groups = new Map<string, Map<string, ResourceGroup>>()
  /** By stream, where clients are moved. */
  const joined = new Map<number, string>()
  /** By stream that joins its group later: requests that came before that. It has them then, one after the other. */
  const early = new Map<number, Array<Request>>()
  const joining = new Set(trace.flatMap((event) => (event._tag === "Joined" ? [event.stream.id] : [])))
  const open = new Map<number, { readonly stream: StreamName; readonly steps: Array<Step> }>()
  const ended: Array<StreamHistory> = []
  const ever = new Map<string, Resource>()

  const put = (id: number, at: number, input: Input, outputs: ReadonlyArray<Output> = []) => {
    const found = open.get(id)
    const now = at + (ahead.get(found?.stream.server ?? "") ?? 0)
    found?.steps.push({ now, input, outputs, status: [], deadline: Number.POSITIVE_INFINITY })
  }
  /** The stream takes requests that came early: up to one that a response may answer, or all of them. */
  const take = (id: number, at: number, typeUrl?: string) => {
    const waiting = joined.has(id) ? (early.get(id) ?? []) : []
    for (let request = waiting.shift(); request !== undefined; request = waiting.shift()) {
      put(id, at, { _tag: "Request", request })
      if (request.typeUrl === typeUrl) return
    }
  }
  const close = (id: number) => {
    const found = open.get(id)
    if (found === undefined) return
    open.delete(id)
    const { protocol, typeUrl } = found.stream
    ended.push({
      stream: found.stream,
      history: { options: ServerStreams.withDefaults({ protocol, typeUrl, ttl: true }), steps: found.steps }
    })
  }
  const nameFor = ({ client, id }: StreamName) => joined.get(id) ?? groupOf.get(client) ?? ""
  const groupFor = (stream: StreamName) => groups.get(stream.server)?.get(nameFor(stream))

  for (const event of trace) {
    const { at } = event
    if ("stream" in event && event._tag !== "Sent") take(event.stream.id, at)
    switch (event._tag) {
      case "Started":
        if (event.group === undefined) groups.set(event.host, new Map())
        else groupOf.set(event.host, event.group)
        break
      case "Stored": {
        const { cleared, group, removed, server, upserted } = event
        const held = groups.get(server) ?? new Map<string, ResourceGroup>()
        groups.set(server, held)
        const before = held.get(group) ?? ResourceGroups.empty
        const change = {
          upsert: Object.entries(upserted).flatMap(([typeUrl, all]) => all.map((each) => storedOf(typeUrl, each))),
          remove: Object.entries(removed).flatMap(([typeUrl, names]) => names.map((name) => ({ typeUrl, name })))
        }
        for (const each of change.upsert) ever.set(`${each.typeUrl} ${each.name} ${each.version}`, each)
        // The store accepted it, so this cannot fail.
        const after = Either.getOrElse(ResourceGroups.update(before, change), () => before)
        if (cleared) held.delete(group)
        else held.set(group, after)
        for (const { stream } of open.values()) {
          if (stream.server !== server || nameFor(stream) !== group) continue
          if (joining.has(stream.id) && !joined.has(stream.id)) continue
          put(stream.id, at, { _tag: "Changed", group: cleared ? undefined : after })
        }
        break
      }
      case "Opened":
        if (event.side === "client") break
        open.set(event.stream.id, { stream: event.stream, steps: [] })
        if (joining.has(event.stream.id)) early.set(event.stream.id, [])
        else put(event.stream.id, at, { _tag: "Changed", group: groupFor(event.stream) })
        break
      case "Joined": {
        const { group, stream } = event
        const isFirst = !joined.has(stream.id)
        joined.set(stream.id, group)
        const now = groupFor(stream)
        // Groups are taken to wait alike between phases.
        put(stream.id, at, isFirst ? { _tag: "Changed", group: now } : { _tag: "Moved", group: now, phases })
        break
      }
      case "Received": {
        if (event.message._tag !== "Request") break
        const request = requestOf(event.stream, event.message)
        const waiting = joined.has(event.stream.id) ? undefined : early.get(event.stream.id)
        if (waiting === undefined) put(event.stream.id, at, { _tag: "Request", request })
        else waiting.push(request)
        break
      }
      case "Sent":
        if (event.message._tag !== "Response") break
        take(event.stream.id, at, event.message.typeUrl)
        put(event.stream.id, at, { _tag: "Writable" }, [
          sendOf(event.stream, event.message, groupFor(event.stream), ever)
        ])
        break
      case "Ended":
        if (event.side === "server") close(event.stream.id)
        break
      case "Fault":
        // For deadlines, clocks never go back.
        if (event.fault._tag !== "ClockJump") break
        ahead.set(event.fault.host, (ahead.get(event.fault.host) ?? 0) + Math.max(0, event.fault.by))
        break
      case "Opening":
      case "Watched":
      case "Unwatched":
      case "Told":
      case "Stopped":
      case "Note":
        break
    }
  }
  for (const id of Array.from(open.keys())) close(id)
  return ended
}
