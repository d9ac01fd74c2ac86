/** A publisher of one's own: it takes configurations as they come, and publishes those that make sense. */
import { create } from "@bufbuild/protobuf"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { Snapshot, SnapshotStore } from "@effect-xds/server"
import { Effect, Stream } from "effect"

/** What somebody wrote: clusters, and the one that everything is routed to. */
export interface Config {
  readonly clusters: ReadonlyArray<string>
  readonly routeTo: string
}

const snapshotOf = ({ clusters, routeTo }: Config): Snapshot.Snapshot => ({
  clusters: clusters.map((name) => create(ClusterSchema, { name })),
  routes: [
    create(RouteConfigurationSchema, {
      name: "main",
      virtualHosts: [
        {
          name: "all",
          domains: ["*"],
          routes: [
            {
              match: { pathSpecifier: { case: "prefix", value: "/" } },
              action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: routeTo } } }
            }
          ]
        }
      ]
    })
  ]
})

/** Publishes one configuration after another. One that refers to what it does not have is refused, and the last stays. */
export const publish = (group: string, configs: Stream.Stream<Config>) =>
  Stream.runForEach(configs, (config) =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const snapshot = snapshotOf(config)
      const [dangling] = yield* Snapshot.check(snapshot)
      if (dangling === undefined) yield* store.set(group, snapshot)
      else yield* Effect.logWarning(`refused: ${dangling.message}`)
    })
  )
