/** A whole server on a real port: store, protocol and transport, with all that it says. */
import { create, toJson } from "@bufbuild/protobuf"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { type ServerEvent, SnapshotStore, XdsServer } from "@effect-xds/server"
import { eventually } from "@effect-xds/testing/Waiting"
import type { ServerTransport } from "@effect-xds/transport"
import { RestServer, RestServerMetrics } from "@effect-xds/transport-rest"
import { Context, Effect, Layer, Logger, Metric, Stream } from "effect"
import * as Http from "node:http"
import { expect } from "vitest"

export const CDS = ResourceType.Cluster.typeUrl

/** Waits until so many polls are held. */
export const held = (count: number) =>
  eventually(async () => expect((await Effect.runPromise(Metric.value(RestServerMetrics.held))).value).toBe(count))

/** Serves a store over a transport until the scope closes. */
export const serveOn = <R = never, RIn = never>(
  transport: Layer.Layer<ServerTransport.ServerTransport, never, RIn>,
  options: Partial<XdsServer.Options<R>> = {}
) =>
  Effect.gen(function* () {
    const logs: Array<string> = []
    const logger = Logger.make(({ message }) => {
      logs.push(String(Array.isArray(message) ? message[0] : message))
    })
    const context = yield* Layer.build(
      XdsServer.layer<R>({ group: (node) => node.cluster, ...options }).pipe(
        Layer.provideMerge(SnapshotStore.layerMemory()),
        Layer.provide(transport),
        Layer.provide(Logger.replace(Logger.defaultLogger, logger))
      )
    )
    const server = Context.get(context, XdsServer.XdsServer)
    const store = Context.get(context, SnapshotStore.SnapshotStore)
    const events: Array<ServerEvent.ServerEvent> = []
    yield* server.events.pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(event))),
      Effect.forkScoped
    )
    // The subscription begins when its fiber runs.
    yield* Effect.yieldNow()
    return {
      ...server,
      store,
      events,
      logs,
      port: Number(server.address.split(":").at(-1)),
      /** What is known of the only client. */
      only: Effect.map(server.status, (status) => {
        const [client, ...others] = status
        const [type] = client?.types ?? []
        if (client === undefined || type === undefined || others.length > 0) {
          throw new Error(`there are ${status.length} clients`)
        }
        return { ...client, type }
      })
    }
  })

export const serve = <R = never>(
  transport: RestServer.ListenOptions = {},
  options: Partial<XdsServer.Options<R>> = {}
) => serveOn(RestServer.layer(transport), options)

/** A cluster with something in it that may change. */
export const cluster = (name: string, content = "") => create(ClusterSchema, { name, altStatName: content })

export const clusters = (...names: ReadonlyArray<string>) => ({ clusters: names.map((name) => cluster(name)) })

export const assignment = (clusterName: string, content = 140) =>
  create(ClusterLoadAssignmentSchema, { clusterName, policy: { overprovisioningFactor: content } })

export const node = (id = "n1") => toJson(NodeSchema, create(NodeSchema, { id, cluster: "edge" }))

export interface Reply {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly body: Buffer
  /** The body, parsed; `undefined` if it is none. */
  readonly json: unknown
  /** Milliseconds until it was there. */
  readonly took: number
}

export interface Call {
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** As it is; else `json` is sent. */
  readonly body?: string | Uint8Array
  readonly json?: unknown
  readonly agent?: Http.Agent
  readonly signal?: AbortSignal
}

/** One request; fails with what went wrong on the connection. */
export const request = (port: number, call: Call): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const start = performance.now()
    const sent = Http.request(
      {
        port,
        host: "127.0.0.1",
        path: call.path ?? "/v3/discovery:clusters",
        method: call.method ?? "POST",
        headers: { "content-type": "application/json", ...call.headers },
        agent: call.agent,
        signal: call.signal
      },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("error", reject)
        response.on("end", () => {
          const body = Buffer.concat(chunks)
          let json: unknown
          try {
            json = JSON.parse(body.toString())
          } catch {
            json = undefined
          }
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body,
            json,
            took: performance.now() - start
          })
        })
      }
    )
    sent.on("error", reject)
    sent.end(call.body ?? JSON.stringify("json" in call ? call.json : {}))
  })

/** A client that polls as Envoy does: it quotes the version it was given last. */
export const client = (
  port: number,
  options: { readonly path?: string; readonly names?: ReadonlyArray<string>; readonly id?: string } = {}
) => {
  let version = ""
  return {
    version: () => version,
    /** Polls, and takes what it is given. */
    poll: (extra: Readonly<Record<string, unknown>> = {}, call: Call = {}) =>
      Effect.promise(async () => {
        const reply = await request(port, {
          ...(options.path !== undefined && { path: options.path }),
          ...call,
          json: {
            node: node(options.id),
            ...(version !== "" && { version_info: version }),
            ...(options.names !== undefined && { resource_names: options.names }),
            ...extra
          }
        })
        if (reply.status === 200) version = contentOf(reply).version
        return reply
      })
  }
}

const stringIn = (json: unknown, key: string): string => {
  const value: unknown = typeof json === "object" && json !== null ? Reflect.get(json, key) : undefined
  return typeof value === "string" ? value : ""
}

/** What a JSON response holds. */
export const contentOf = ({ json }: Reply) => {
  const resources: unknown = typeof json === "object" && json !== null ? Reflect.get(json, "resources") : undefined
  const list: ReadonlyArray<unknown> = Array.isArray(resources) ? resources : []
  return {
    version: stringIn(json, "versionInfo"),
    nonce: stringIn(json, "nonce"),
    names: list.map((resource) => stringIn(resource, "name") || stringIn(resource, "clusterName")).sort()
  }
}

/** Why a request was refused. */
export const reasonOf = ({ json }: Reply): string => stringIn(json, "message")
