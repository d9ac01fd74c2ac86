/** An Envoy that runs for the life of a scope, and its admin interface. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { performance } from "node:perf_hooks"
import { join } from "node:path"
import * as Bootstrap from "./Bootstrap.js"
import * as ChildProcess from "./ChildProcess.js"
import * as Http from "./Http.js"
import * as Wait from "./Wait.js"

export interface Envoy {
  /** When it was started, in the time of `performance.now()`. */
  readonly startedAt: number
  /** Of the admin interface. */
  readonly adminAddress: string
  /** Fails when it ends. */
  readonly crash: Effect.Effect<never, ChildProcess.Crashed>
  /** What the admin interface answers, as parsed JSON or, if it is none, as text. */
  readonly admin: (path: string) => Effect.Effect<unknown>
  /** Waits until a listener is there and gives its port: it may not accept yet. */
  readonly listenerPort: (name: string) => Effect.Effect<number, Wait.TimedOut | ChildProcess.Crashed>
  /** The names of the listeners that are there. */
  readonly listeners: Effect.Effect<ReadonlyArray<string>>
  /** The names of a list in `/config_dump`, such as `dynamic_warming_clusters`. */
  readonly configured: (list: string) => Effect.Effect<ReadonlyArray<string>>
  /** A counter or gauge; 0 if there is none of that name. */
  readonly stat: (name: string) => Effect.Effect<number>
  /** For each key of the runtime its value in each layer, the lowest first and empty where it has none, and the one in force. */
  readonly runtime: Effect.Effect<typeof Runtime.Type.entries>
  /** For each cluster the addresses of its endpoints. */
  readonly endpoints: Effect.Effect<Readonly<Record<string, ReadonlyArray<string>>>>
}

const Address = Schema.Struct({
  socket_address: Schema.Struct({ address: Schema.String, port_value: Schema.Number })
})

const Listeners = Schema.Struct({
  listener_statuses: Schema.optionalWith(Schema.Array(Schema.Struct({ name: Schema.String, local_address: Address })), {
    default: () => []
  })
})

const Stats = Schema.Struct({
  stats: Schema.Array(Schema.Struct({ name: Schema.optional(Schema.String), value: Schema.optional(Schema.Unknown) }))
})

const Clusters = Schema.Struct({
  cluster_statuses: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      host_statuses: Schema.optionalWith(Schema.Array(Schema.Struct({ address: Address })), { default: () => [] })
    })
  )
})

const Runtime = Schema.Struct({
  entries: Schema.optionalWith(
    Schema.Record({
      key: Schema.String,
      value: Schema.Struct({ final_value: Schema.String, layer_values: Schema.Array(Schema.String) })
    }),
    { default: () => ({}) }
  )
})

const Named = Schema.Struct({ name: Schema.String })

const ConfigDump = Schema.Struct({
  configs: Schema.Array(Schema.Struct({ name: Schema.optional(Schema.String), cluster: Schema.optional(Named) }))
})

const orElse = <A, I>(schema: Schema.Schema<A, I>, otherwise: A) => {
  const decode = Schema.decodeUnknown(schema)
  return (input: unknown) => Effect.orElseSucceed(decode(input), () => otherwise)
}

/** Starts an Envoy that gets its configuration from a control plane. */
export const start = (options: {
  /** Its program. */
  readonly path: string
  readonly variant: Bootstrap.Variant
  readonly node: { readonly id: string; readonly cluster: string }
  /** Of the control plane. */
  readonly address: string
  readonly runtime?: Bootstrap.Runtime
}) => startWith({ path: options.path, bootstrap: Bootstrap.make(options) })

/** Starts an Envoy with any bootstrap. */
export const startWith = (options: {
  /** Its program. */
  readonly path: string
  readonly bootstrap: object
}) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const directory = yield* files.makeTempDirectoryScoped({ prefix: "xds-envoy-" })
    const bootstrap = join(directory, "bootstrap.json")
    const adminFile = join(directory, "admin")
    yield* files.writeFileString(bootstrap, JSON.stringify(options.bootstrap))

    const startedAt = performance.now()
    const flags = "--disable-hot-restart --concurrency 1 --drain-time-s 1 --drain-strategy immediate -l info"
    const { crash, output } = yield* ChildProcess.start({
      name: "Envoy",
      command: options.path,
      args: ["-c", bootstrap, "--admin-address-path", adminFile, ...flags.split(" ")]
    })
    const log = () => output().join("\n")

    const address = yield* Wait.until({
      what: "Envoy's admin interface",
      check: Effect.map(Effect.option(files.readFileString(adminFile)), (text) =>
        text._tag === "Some" && text.value !== "" ? text.value.trim() : undefined
      ),
      seen: Effect.sync(log)
    }).pipe(Effect.raceFirst(crash))
    const agent = yield* Http.agent

    const admin = (path: string) =>
      Effect.map(Http.get(agent, { url: `http://${address}${path}` }), ({ body }): unknown => {
        try {
          return JSON.parse(body)
        } catch {
          return body
        }
      })
    const listeners = Effect.flatMap(admin("/listeners?format=json"), orElse(Listeners, { listener_statuses: [] }))
    const configured = (list: string) =>
      admin(`/config_dump?resource=${list}`).pipe(
        Effect.flatMap(orElse(ConfigDump, { configs: [] })),
        Effect.map(({ configs }) => configs.map(({ cluster, name }) => name ?? cluster?.name ?? ""))
      )

    const envoy: Envoy = {
      startedAt,
      adminAddress: address,
      crash,
      admin,
      listenerPort: (name) =>
        Wait.until({
          what: `Envoy's listener ${name}`,
          check: Effect.map(
            listeners,
            (found) =>
              found.listener_statuses.find((status) => status.name === name)?.local_address.socket_address.port_value
          ),
          seen: Effect.map(
            Effect.all([listeners, configured("dynamic_warming_clusters")]),
            ([{ listener_statuses }, warming]) =>
              `listeners: ${listener_statuses.map((status) => status.name).join(", ") || "none"}; ` +
              `clusters that are warming: ${warming.join(", ") || "none"}; its log:\n${log()}`
          )
        }).pipe(Effect.raceFirst(crash)),
      listeners: Effect.map(listeners, (found) => found.listener_statuses.map(({ name }) => name)),
      configured,
      stat: (name) =>
        admin(`/stats?format=json&filter=${encodeURIComponent(`^${name.replaceAll(".", "\\.")}$`)}`).pipe(
          Effect.flatMap(orElse(Stats, { stats: [] })),
          Effect.map(({ stats }) => Number(stats.find((stat) => stat.name === name)?.value ?? 0))
        ),
      runtime: admin("/runtime").pipe(
        Effect.flatMap(orElse(Runtime, { entries: {} })),
        Effect.map(({ entries }) => entries)
      ),
      endpoints: admin("/clusters?format=json").pipe(
        Effect.flatMap(orElse(Clusters, { cluster_statuses: [] })),
        Effect.map(({ cluster_statuses }) =>
          Object.fromEntries(
            cluster_statuses
              .filter(({ name }) => name !== Bootstrap.controlPlane)
              .map(({ host_statuses, name }) => [
                name,
                host_statuses.map(
                  ({ address: { socket_address } }) => `${socket_address.address}:${socket_address.port_value}`
                )
              ])
          )
        )
      )
    }
    return envoy
  })
