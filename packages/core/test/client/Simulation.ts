/**
 * A client against three servers of this package, which have resources of their own: one for old names, one for those of an
 * authority, and one that it falls back to from either. Each has resources of both kinds, whoever asks.
 * Messages go through their bytes and are delivered in order, but when is the script's choice. While it runs, every
 * watcher must have been told what the client holds, and no response is answered, nor the next one read, before its
 * watchers took it or their time was over; at its end, when all is quiet, watchers know what the first server has.
 */
import * as ClientState from "@effect-xds/core/client/ClientState"
import * as FlowControl from "@effect-xds/core/client/FlowControl"
import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import * as Request from "@effect-xds/core/wire/Request"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Response from "@effect-xds/core/wire/Response"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import { fieldOf, fields, utf8 } from "@effect-xds/core/wire/Wire"
import { Cluster, ClusterLoadAssignment, Listener, RouteConfiguration } from "@effect-xds/proto/ResourceType"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import { step as takeStep } from "../Step.js"
import * as ClientStep from "./ClientStep.js"

export type Operation =
  | { readonly _tag: "Watch"; readonly typeUrl: string; readonly name: string }
  /** One of those that watch. */
  | { readonly _tag: "Unwatch"; readonly index: number }
  | { readonly _tag: "Put"; readonly on: Id; readonly typeUrl: string; readonly name: string; readonly content: string }
  | { readonly _tag: "Remove"; readonly on: Id; readonly typeUrl: string; readonly name: string }
  /** A server cannot give a resource any more, or with `*` the type, and says so with its next response. */
  | { readonly _tag: "Fail"; readonly on: Id; readonly typeUrl: string; readonly name: string; readonly code: number }
  /** One of those that watch does not come back any more for what it is told, until `Take`. */
  | { readonly _tag: "Slow"; readonly index: number }
  /** All come back. */
  | { readonly _tag: "Take" }
  /** The client is printed, and goes on as what is restored from that. */
  | { readonly _tag: "Restore" }
  /** Messages of one direction arrive. */
  | { readonly _tag: "Deliver"; readonly to: "client" | "server"; readonly count: number }
  | { readonly _tag: "Wait"; readonly milliseconds: number }
  | { readonly _tag: "Disconnect" }
  /** A server that is asked first cannot be reached, or can again. */
  | { readonly _tag: "Outage"; readonly on: "p" | "q"; readonly isOver: boolean }

/** The server for old names, that of the authority, and the one that is asked when those cannot be reached. */
type Id = "p" | "q" | "f"

const types = [Cluster, ClusterLoadAssignment, Listener, RouteConfiguration]

const typeUrl = fc.constantFrom(...types.map((type) => type.typeUrl))
const allNames = ["a", "b", "c", "d"]
/** In place of the names of the authority, which have the type in them. */
const federated = ["one a", "one b"]
const name = fc.constantFrom(...allNames, ...federated)
const on = fc.constantFrom<Id>("p", "p", "q", "f")

const isFederated = (name: string): boolean => name.startsWith("xdstp:")

/** The name in messages. */
const fullName = (typeUrl: string, name: string): string =>
  name.startsWith("one ") ? `xdstp://one/${typeUrl.replace(/.*\//, "")}/${name.slice(4)}` : name

export const script: fc.Arbitrary<ReadonlyArray<Operation>> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ _tag: fc.constant("Watch" as const), typeUrl, name }) },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Watch" as const), typeUrl, name: fc.constant("*") }) },
    { weight: 3, arbitrary: fc.record({ _tag: fc.constant("Unwatch" as const), index: fc.nat(50) }) },
    {
      weight: 5,
      arbitrary: fc.record({
        _tag: fc.constant("Put" as const),
        on,
        typeUrl,
        name,
        content: fc.constantFrom("1", "2", "3", "bad")
      })
    },
    { weight: 3, arbitrary: fc.record({ _tag: fc.constant("Remove" as const), on, typeUrl, name }) },
    {
      weight: 2,
      arbitrary: fc.record({
        _tag: fc.constant("Fail" as const),
        on,
        typeUrl,
        name: fc.constantFrom(...allNames, ...federated, "*"),
        code: fc.constantFrom(5, 7, 14)
      })
    },
    {
      weight: 10,
      arbitrary: fc.record({
        _tag: fc.constant("Deliver" as const),
        to: fc.constantFrom("client" as const, "server" as const),
        count: fc.integer({ min: 1, max: 4 })
      })
    },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Slow" as const), index: fc.nat(50) }) },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Take" as const) }) },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Restore" as const) }) },
    { weight: 2, arbitrary: fc.record({ _tag: fc.constant("Wait" as const), milliseconds: fc.nat(20_000) }) },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Disconnect" as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        _tag: fc.constant("Outage" as const),
        on: fc.constantFrom("p" as const, "q" as const),
        isOver: fc.boolean()
      })
    }
  ),
  { minLength: 30, maxLength: 120 }
)

const CONTENT = 1000

const watcherTimeout = 10_000

const contentOf = (bytes: Uint8Array): string => {
  let content = ""
  fields(bytes, (reader, field) => {
    if (field !== CONTENT) return false
    content = reader.string()
    return true
  })
  return content
}

const decoders = types.map(({ typeUrl }) =>
  ResourceDecoder.make({
    typeUrl,
    decode: (bytes) => {
      const content = contentOf(bytes)
      return content === "bad" ? Either.left("its content is bad") : Either.right(content)
    }
  })
)

interface Watcher {
  readonly typeUrl: string
  readonly name: string
  /** By name: what it was told to use. */
  readonly view: Map<string, unknown>
  /** Whether it leaves what it is told. */
  isSlow: boolean
}

/** Runs a script; the problems found. */
export const run = (
  protocol: Request.Protocol,
  isAggregated: boolean,
  operations: ReadonlyArray<Operation>
): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const watchers = new Map<number, Watcher>()
  const serverOf = (id: Id) => ({ id, protocol, isAggregated, failOnDataErrors: true })
  let client = FlowControl.make({
    servers: [serverOf("p"), serverOf("f")],
    authorities: new Map([["one", [serverOf("q"), serverOf("f")]]]),
    decoders,
    node: Uint8Array.of(1),
    watcherTimeout
  })
  const groups = { p: ResourceGroup.empty, q: ResourceGroup.empty, f: ResourceGroup.empty }
  /** What a server cannot give: code by type and name. */
  const errors: Record<Id, Map<string, Map<string, number>>> = { p: new Map(), q: new Map(), f: new Map() }
  const errorsOf = (on: Id, typeUrl: string): Map<string, number> => {
    const known = errors[on].get(typeUrl) ?? new Map<string, number>()
    errors[on].set(typeUrl, known)
    return known
  }
  const unreachable = new Set<Id>()
  let now = 0
  let sent = 0
  let nextWatcher = 1
  interface Connection {
    readonly id: Id
    /** The errors that were said on it. */
    readonly said: Set<string>
    server: ServerStream.ServerStream
    toServer: Array<Uint8Array>
    toClient: Array<Uint8Array>
    /** Whether the client reads. */
    isRead: boolean
    /** The response that was read last, and who is at work on it until when. */
    last: { readonly nonce: string; readonly watchers: Set<number>; readonly until: number } | undefined
  }
  const connections = new Map<string, Connection>()

  const serve = (connection: Connection, input: ServerStream.Input): void => {
    const [next, outputs] = takeStep(connection.server, input, now)
    connection.server = next
    let isSent = false
    for (const output of outputs) {
      if (output._tag === "Violation") problems.push(`violation: ${output.message}`)
      if (output._tag !== "Send") continue
      connection.toClient.push(withErrors(connection, output))
      isSent = true
      sent++
    }
    if (isSent) serve(connection, { _tag: "Writable" })
  }

  /** A response, and what the server cannot give and has not said yet on this stream. */
  const withErrors = (
    { id, said }: Connection,
    { nonce, response, typeUrl }: ServerStream.Output & { readonly _tag: "Send" }
  ): Uint8Array => {
    const parts = [Response.encode(response, nonce)]
    const given = new Set(response.resources.map((resource) => resource.name))
    for (const [name, code] of errorsOf(id, typeUrl)) {
      const key = `${typeUrl} ${name} ${code}`
      if (given.has(name) || said.has(key)) continue
      said.add(key)
      const status = Uint8Array.of(1 * 8, code)
      const error = Buffer.concat([fieldOf(1, fieldOf(1, utf8(name))), fieldOf(2, status)])
      parts.push(fieldOf(protocol === "Incremental" ? 9 : 7, error))
    }
    return Buffer.concat(parts)
  }

  const check = (): void => {
    const held = new Map<string, unknown>()
    for (const each of FlowControl.dump(client)) {
      if (each.held !== undefined) held.set(`${each.typeUrl} ${each.name}`, each.held.value)
    }
    for (const [id, watcher] of watchers) {
      const names = watcher.name === "*" ? [...allNames, "z"] : [watcher.name]
      for (const name of names) {
        const [told, has] = [watcher.view.get(name), held.get(`${watcher.typeUrl} ${name}`)]
        if (told !== has) problems.push(`watcher ${id} was told ${String(told)} of ${name}, held is ${String(has)}`)
      }
      for (const name of watcher.view.keys()) {
        if (!names.includes(name)) problems.push(`watcher ${id} of ${watcher.name} was told of ${name}`)
      }
    }
  }

  /** A watcher is done with what it was told. */
  const take = (watcher: number): void => {
    for (const { last } of connections.values()) last?.watchers.delete(watcher)
  }

  /** A response is not answered before it was taken. */
  const answered = (stream: string, nonce: string): void => {
    const last = connections.get(stream)?.last
    if (last === undefined || nonce !== last.nonce || now >= last.until || last.watchers.size === 0) return
    problems.push(`response ${nonce} is answered before watchers ${Array.from(last.watchers).join(" ")} took it`)
  }

  const step = (input: FlowControl.Input): void => {
    if (input._tag === "Taken" || input._tag === "Unwatch") take(input.watcher)
    const [next, outputs] = ClientStep.flow(client, input, now)
    client = next
    const told = new Set<number>()
    for (const output of outputs) {
      switch (output._tag) {
        case "Notify":
          for (const id of output.watchers) {
            told.add(id)
            const view = watchers.get(id)?.view
            if (view === undefined) problems.push(`watcher ${id} is told though it left`)
            if (output.result._tag === "Updated") view?.set(output.name, output.result.value)
            else if (output.result._tag === "DoesNotExist" || output.result._tag === "Error") view?.delete(output.name)
          }
          break
        case "Connect": {
          const { id: given } = output.server
          const id = given === "p" || given === "q" ? given : "f"
          if (unreachable.has(id)) {
            step({ _tag: "Ended", stream: output.stream, error: { code: 14, message: "refused" }, random: 0.5 })
            break
          }
          const server = ServerStream.make({ protocol, typeUrl: output.typeUrl, makeBeforeBreak: false })
          const connection: Connection = {
            id,
            said: new Set(),
            server,
            toServer: [],
            toClient: [],
            isRead: true,
            last: undefined
          }
          connections.set(output.stream, connection)
          serve(connection, { _tag: "Changed", group: groups[id] })
          serve(connection, { _tag: "Writable" })
          step({ _tag: "Connected", stream: output.stream })
          break
        }
        case "Close":
          connections.delete(output.stream)
          break
        case "Send":
          answered(output.stream, output.request.responseNonce)
          connections.get(output.stream)?.toServer.push(ClientRequest.encode(output.request))
          step({ _tag: "Written", stream: output.stream })
          break
        case "Received": {
          const connection = connections.get(output.stream)
          if (connection === undefined) break
          connection.last = { nonce: output.nonce, watchers: new Set(told), until: now + watcherTimeout }
          break
        }
        case "Read": {
          const connection = connections.get(output.stream)
          if (connection === undefined || connection.isRead) problems.push(`${output.stream} is read twice`)
          else if (connection.last !== undefined && connection.last.watchers.size > 0 && now < connection.last.until) {
            problems.push(`${output.stream} is read before watchers took the last response`)
          } else connection.isRead = true
          break
        }
        case "Violation":
          problems.push(`violation: ${output.message}`)
          break
        default:
      }
    }
    for (const id of told) if (watchers.get(id)?.isSlow === false) step({ _tag: "Taken", watcher: id })
  }

  const takeAll = (): void => {
    for (const [id, watcher] of watchers) {
      if (!watcher.isSlow) continue
      watcher.isSlow = false
      step({ _tag: "Taken", watcher: id })
    }
  }

  const deliver = (to: "client" | "server", count: number): boolean => {
    let isAny = false
    for (const [stream, connection] of connections) {
      for (let n = 0; n < count; n++) {
        if (to === "server") {
          const bytes = connection.toServer.shift()
          if (bytes === undefined) break
          serve(connection, { _tag: "Request", request: Either.getOrThrow(Request.decode(protocol, bytes)) })
        } else {
          if (!connection.isRead) break
          const bytes = connection.toClient.shift()
          if (bytes === undefined) break
          connection.isRead = false
          const response = Either.getOrThrow(ClientResponse.decode(protocol, bytes))
          step({ _tag: "Response", stream, response })
        }
        isAny = true
      }
    }
    return isAny
  }

  const wait = (milliseconds: number): void => {
    const end = now + milliseconds
    for (let turns = 0; turns < 1_000; turns++) {
      const at = Math.min(
        FlowControl.deadline(client),
        ...Array.from(connections.values(), ({ server }) => ServerStream.deadline(server))
      )
      if (at > end) break
      now = Math.max(now, at)
      step({ _tag: "Deadline" })
      for (const connection of connections.values()) serve(connection, { _tag: "Deadline" })
    }
    now = end
  }

  const set = (on: Id, next: ResourceGroup.ResourceGroup): void => {
    groups[on] = next
    for (const connection of connections.values()) {
      if (connection.id === on) serve(connection, { _tag: "Changed", group: next })
    }
  }

  const put = (on: Id, typeUrl: string, name: string, content: string): void => {
    errorsOf(on, typeUrl).delete(name)
    // What has a resource again has something to give, and the next error is another one.
    errorsOf(on, typeUrl).delete("*")
    for (const connection of connections.values()) {
      for (const each of [name, "*"]) {
        for (const code of [5, 7, 14]) connection.said.delete(`${typeUrl} ${each} ${code}`)
      }
    }
    const upsert = [toResource({ typeUrl, name, content })]
    set(on, Either.getOrThrow(ResourceGroup.update(groups[on], { upsert })))
  }

  const remove = (on: Id, typeUrl: string, gone: ReadonlyArray<string>): void =>
    set(on, Either.getOrThrow(ResourceGroup.update(groups[on], { remove: gone.map((name) => ({ typeUrl, name })) })))

  const lose = (isLost: (id: Id) => boolean): void => {
    const lost = Array.from(connections).filter(([, { id }]) => isLost(id))
    for (const [stream] of lost) connections.delete(stream)
    for (const [stream] of lost) {
      step({ _tag: "Ended", stream, error: { code: 14, message: "lost" }, random: 0.5 })
    }
  }

  const settle = () => {
    takeAll()
    for (let turns = 0; deliver("server", 1) || deliver("client", 1); turns++) {
      if (turns > 500) return void problems.push("it never becomes quiet")
    }
  }

  const perform = (operation: Operation): void => {
    switch (operation._tag) {
      case "Watch": {
        const { typeUrl } = operation
        const name = fullName(typeUrl, operation.name)
        // A response that was under way when the last `*` was given up cannot be told from one to the next `*`.
        if (protocol === "Incremental" && name === "*") settle()
        const watcher = nextWatcher++
        watchers.set(watcher, { typeUrl, name, view: new Map(), isSlow: false })
        return step({ _tag: "Watch", watcher, typeUrl, name })
      }
      case "Unwatch": {
        const watcher = Array.from(watchers.keys())[operation.index]
        if (watcher === undefined) return
        watchers.delete(watcher)
        return step({ _tag: "Unwatch", watcher })
      }
      case "Slow": {
        const watcher = Array.from(watchers.values())[operation.index]
        if (watcher !== undefined) watcher.isSlow = true
        return
      }
      case "Take":
        return takeAll()
      case "Restore": {
        const text = ClientState.print(client)
        const restored = ClientState.restore(text, decoders)
        if (Either.isLeft(restored)) return void problems.push(restored.left.message)
        client = restored.right
        if (ClientState.print(client) !== text) problems.push("what is restored is another state")
        return
      }
      case "Put":
        return put(operation.on, operation.typeUrl, fullName(operation.typeUrl, operation.name), operation.content)
      case "Remove": {
        const name = fullName(operation.typeUrl, operation.name)
        errorsOf(operation.on, operation.typeUrl).delete(name)
        return remove(operation.on, operation.typeUrl, [name])
      }
      case "Fail": {
        const { code, on, typeUrl } = operation
        const name = fullName(typeUrl, operation.name)
        errorsOf(on, typeUrl).set(name, code)
        // Only a server that cannot say what there is still has it.
        if (name !== "*") return remove(on, typeUrl, [name])
        if (code !== 14) return remove(on, typeUrl, allNames)
        return
      }
      case "Deliver":
        return void deliver(operation.to, operation.count)
      case "Wait":
        // No message is under way for long.
        if (operation.milliseconds > 2_000) settle()
        return wait(operation.milliseconds)
      case "Disconnect":
        return lose(() => true)
      case "Outage":
        if (operation.isOver) return void unreachable.delete(operation.on)
        unreachable.add(operation.on)
        return lose((id) => id === operation.on)
    }
  }

  for (const operation of operations) {
    if (problems.length > 0) return problems
    perform(operation)
    check()
  }
  settle()
  // The first servers are there again, give what they could not give, and something of each type: so the client goes back.
  unreachable.clear()
  wait(60_000)
  settle()
  const homeOf = (name: string): Id => (isFederated(name) ? "q" : "p")
  for (const { typeUrl } of types) {
    for (const id of ["p", "q"] as const) {
      for (const name of errorsOf(id, typeUrl).keys()) if (name !== "*") put(id, typeUrl, name, "4")
      errorsOf(id, typeUrl).clear()
    }
    const wanted = Array.from(watchers.values()).filter((each) => each.typeUrl === typeUrl)
    for (const { name } of wanted) put(homeOf(name), typeUrl, name === "*" ? "z" : name, "5")
  }
  settle()
  for (let turns = 0; turns < 4; turns++) {
    wait(20_000)
    settle()
  }
  check()
  const before = sent
  wait(60_000)
  settle()
  if (sent > before) problems.push(`${sent - before} responses though nothing happens`)

  for (const [id, { name, typeUrl, view }] of watchers) {
    const set = ResourceGroup.set(groups[homeOf(name)], typeUrl)
    const fullState = typeUrl === Cluster.typeUrl || typeUrl === Listener.typeUrl
    for (const each of name === "*" ? [...allNames, "z"] : [name]) {
      const resource = ResourceSet.get(set, each)
      const content = resource === undefined ? undefined : contentOf(resource.value)
      // In state of the world the deletion of a resource of other types is not told.
      if (content === undefined && protocol === "StateOfTheWorld" && !fullState) continue
      const expected = content === "bad" ? undefined : content
      if (view.get(each) !== expected) {
        problems.push(`watcher ${id} of ${typeUrl} ${each}: ${String(view.get(each))} instead of ${String(expected)}`)
      }
    }
  }
  const statuses = Array.from(connections.values()).flatMap(({ id, server }) =>
    ServerStream.status(server).map((status) => ({ ...status, id }))
  )
  for (const status of statuses) {
    const wanted = Array.from(watchers.values()).filter(
      (each) => each.typeUrl === status.typeUrl && homeOf(each.name) === status.id
    )
    const names = new Set(wanted.map((each) => each.name).filter((each) => each !== "*"))
    // In state of the world names beside a wildcard by silence are in no request.
    const size = protocol === "StateOfTheWorld" && status.wildcard === "legacy" ? 0 : names.size
    if (size !== status.names) problems.push(`${status.typeUrl}: ${status.names} names, not ${size}`)
    const wildcard = wanted.some((each) => each.name === "*")
    if (wildcard !== (status.wildcard !== "none")) problems.push(`${status.typeUrl}: wildcard ${status.wildcard}`)
  }
  return problems
}
