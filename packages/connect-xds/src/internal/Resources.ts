/** The types of resources that a channel watches. A client has one decoder for each, which all channels share. */
import * as WatchableType from "@effect-xds/client/WatchableType"
import type * as XdsClient from "@effect-xds/client/XdsClient"
import type { Resolver } from "@effect-xds/discovery-node/Resolver"
import * as Decoder from "@effect-xds/routing/Decoder"
import * as XdsConfig from "@effect-xds/routing/XdsConfig"
import * as Either from "effect/Either"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Addresses from "./Addresses.js"
import * as UpstreamTls from "./UpstreamTls.js"

type News = Exclude<XdsConfig.Input, { readonly _tag: "Start" | "Subscribe" | "Unsubscribe" }>

export interface Resources {
  /** Tells what is known of a resource, and what becomes of it, until it is interrupted. */
  readonly watch: (
    kind: XdsConfig.Kind,
    name: string,
    again: Effect.Latch,
    tell: (news: News) => void
  ) => Effect.Effect<void>
}

/** @param providers names of certificate providers of the bootstrap */
export const make = (client: XdsClient.Service, resolver: Resolver, providers: ReadonlySet<string>): Resources => {
  const listeners = WatchableType.make(Decoder.listener())
  const routes = WatchableType.make(Decoder.routeConfiguration())
  const virtualHosts = WatchableType.make(Decoder.virtualHost())
  const decoder = Decoder.cluster()
  const clusters = WatchableType.make({
    ...decoder,
    decode: (bytes) =>
      Either.flatMap(decoder.decode(bytes), (cluster) =>
        Either.map(UpstreamTls.make(cluster, providers), () => cluster)
      )
  })
  const assignments = WatchableType.make(Decoder.assignment)
  const follow = <A>(
    type: WatchableType.WatchableType<A>,
    name: string,
    tell: (known: XdsConfig.Known<A>) => void
  ): Effect.Effect<void> =>
    Stream.runForEach(client.watch(type, name), (event) =>
      Effect.sync(() => {
        const known = XdsConfig.knownAfter(event)
        if (known !== undefined) tell(known)
      })
    ).pipe(Effect.catchAll(({ message }) => Effect.sync(() => tell({ _tag: "Failed", message }))))
  return {
    watch: (kind, name, again, tell) => {
      switch (kind) {
        case "Listener":
          return follow(listeners, name, (known) => tell({ _tag: kind, name, known }))
        case "RouteConfiguration":
          return follow(routes, name, (known) => tell({ _tag: kind, name, known }))
        case "VirtualHost":
          return follow(virtualHosts, name, (known) => tell({ _tag: kind, name, known }))
        case "Cluster":
          return follow(clusters, name, (known) => tell({ _tag: kind, name, known }))
        case "Assignment":
          return follow(assignments, name, (known) => tell({ _tag: kind, name, known }))
        case "Dns":
          return Addresses.watch(resolver, name, again, (known) => tell({ _tag: kind, name, known }))
      }
    }
  }
}
