/**
 * A control plane on a store, for a soak: `node Member.js NAME URL PORT WRITES`. It tells its parent what was acknowledged, and
 * each state that it serves. Every change raises a counter, in a cluster, and puts in two clusters that belong together.
 */
import { create } from "@bufbuild/protobuf"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { XdsServer } from "@effect-xds/server"
import { SqlStore, StoreUrl } from "@effect-xds/store-sql"
import { ConnectServer } from "@effect-xds/transport-connect"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { typeUrls } from "../Fixtures.js"

/** What a member says. */
export type Said =
  | { readonly said: "ready"; readonly port: number }
  /** A change that was acknowledged. */
  | { readonly said: "ack"; readonly group: string; readonly count: number; readonly names: ReadonlyArray<string> }
  | { readonly said: "refused"; readonly tag: string }
  /** A state that is served from now on. */
  | {
      readonly said: "seen"
      readonly group: string
      readonly revision: number
      readonly count: number
      readonly digest: string
    }

export const groups = ["g0", "g1", "g2", "g3"]

/** The name of the cluster that counts. */
export const counter = "counter"

const say = (said: Said): void => void process.send?.(said)

/** The number in a group's counter, which is the text of its only other field: `n12`. */
export const countOf = (own: ResourceGroup.ResourceGroup): number => {
  const found = ResourceSet.get(ResourceGroup.set(own, typeUrls.clusters), counter)
  return Number(/n(\d+)$/.exec(Buffer.from(found?.value ?? []).toString("latin1"))?.[1] ?? 0)
}

const cluster = (name: string, altStatName = "") => create(ClusterSchema, { name, altStatName })

const program = (name: string, writes: boolean) =>
  Effect.gen(function* () {
    const store = yield* SqlStore.SqlStore
    const { address } = yield* XdsServer.XdsServer
    yield* store.listen((group) => {
      const found = Option.getOrUndefined(Effect.runSync(store.get(group)))
      if (found === undefined) return
      const { version } = ResourceGroup.set(found.own, typeUrls.clusters)
      say({ said: "seen", group, revision: found.revision, count: countOf(found.own), digest: version })
    })
    say({ said: "ready", port: Number(address.slice(address.lastIndexOf(":") + 1)) })
    for (let turn = 0; writes; turn++) {
      const group = groups[turn % groups.length] ?? ""
      const before = Option.getOrUndefined(yield* store.get(group))
      if (before === undefined) {
        yield* Effect.sleep(20)
        continue
      }
      const count = countOf(before.own) + 1
      const names = ["x", "y"].map((end) => `${name}-${process.pid}-${turn}-${end}`)
      const upsert = { clusters: [cluster(counter, `n${count}`), ...names.map((each) => cluster(each))] }
      const tag = yield* Effect.match(store.update(group, { upsert }, { ifRevision: before.revision }), {
        onFailure: ({ _tag }) => _tag,
        onSuccess: () => undefined
      })
      if (tag === undefined) say({ said: "ack", group, count, names })
      else say({ said: "refused", tag })
      yield* Effect.sleep(tag === "StoreUnavailable" ? 100 : 5)
    }
    yield* Effect.never
  })

const [, file = "", name = "", url = "", port = "0", writes = ""] = process.argv

if (file.endsWith("Member.js")) {
  process.once("disconnect", () => process.exit())
  const layer = XdsServer.layer({ group: (node) => node.cluster, controlPlane: name }).pipe(
    Layer.provide(ConnectServer.layer({ port: Number(port) })),
    Layer.provideMerge(
      SqlStore.layer(StoreUrl.open(Redacted.make(url)), { process: name, openTimeout: "1 minute", history: 100 })
    ),
    Layer.provide(Logger.replace(Logger.defaultLogger, Logger.none))
  )
  Effect.runFork(Effect.scoped(Effect.provide(program(name, writes === "true"), layer)))
}
