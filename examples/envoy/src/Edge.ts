/** What an edge is to do, as people say it, and the resources that say it to an Envoy. */
import type { Snapshot } from "@effect-xds/server"
import * as Schema from "effect/Schema"
import type * as Bootstrap from "./Bootstrap.js"
import * as Resources from "./Resources.js"

const Edge = Schema.Struct({
  /** Cluster → its share of the requests. */
  weights: Schema.Record({ key: Schema.String, value: Schema.Int }),
  /** Cluster → its endpoints: `127.0.0.1:8080`. */
  clusters: Schema.Record({ key: Schema.String, value: Schema.Array(Schema.String) })
})

export type Edge = typeof Edge.Type

const FromText = Schema.parseJson(Edge, { space: 2 })

export const parse = Schema.decode(FromText)

export const format = Schema.encodeSync(FromText)

/** A listener `ingress` with the routes `main`. */
export const resources = (variant: Bootstrap.Variant, { clusters, weights }: Edge) => ({
  listeners: [Resources.listener("ingress", Resources.manager(variant, "main"))],
  routes: [Resources.route("main", weights)],
  clusters: Object.keys(clusters).map((name) => Resources.cluster(variant, name)),
  endpoints: Object.entries(clusters).map(([name, addresses]) => Resources.assignment(name, addresses))
})

export const toSnapshot = (variant: Bootstrap.Variant, edge: Edge): Snapshot.Snapshot => resources(variant, edge)
