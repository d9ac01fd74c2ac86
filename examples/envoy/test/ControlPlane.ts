/** A control plane in this process, on any free port, with all that it says. */
import { ResourceType } from "@effect-xds/proto"
import { SnapshotStore, XdsServer, type ServerEvent } from "@effect-xds/server"
import { ConnectServer } from "@effect-xds/transport-connect"
import { Context, Effect, Layer, Stream } from "effect"
import * as Wait from "../src/Wait.js"

/** Serves until the scope closes; on any free port, if none is given. */
export const serve = ({ port, ...options }: Partial<XdsServer.Options> & { readonly port?: number } = {}) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      XdsServer.layer({ group: (node) => node.cluster, ...options }).pipe(
        Layer.provideMerge(SnapshotStore.layerMemory()),
        Layer.provide(ConnectServer.layer(port === undefined ? {} : { port }))
      )
    )
    const server = Context.get(context, XdsServer.XdsServer)
    const store = Context.get(context, SnapshotStore.SnapshotStore)
    const events: Array<ServerEvent.ServerEvent> = []
    /** Of each event, in the time of `performance.now()`. */
    const times: Array<number> = []
    yield* server.events.pipe(
      Stream.runForEach((event) =>
        Effect.sync(() => {
          events.push(event)
          times.push(performance.now())
        })
      ),
      Effect.forkScoped
    )
    // The subscription begins when its fiber runs.
    yield* Effect.yieldNow()
    return { ...server, store, events, times }
  })

type Events = ReadonlyArray<ServerEvent.ServerEvent>

export const show = (events: Events) =>
  Effect.sync(() =>
    events
      .slice(-20)
      .map((event) =>
        [
          event._tag,
          "typeUrl" in event ? ResourceType.shortNameOf(event.typeUrl) : "",
          "nonce" in event ? event.nonce : ""
        ].join(" ")
      )
      .join("; ")
  )

/** Waits for an event from a position on, and gives it. */
export const heard = <T extends ServerEvent.ServerEvent["_tag"]>(
  events: Events,
  tag: T,
  type: ResourceType.ResourceType,
  from = 0
) =>
  Wait.until({
    what: `${tag} of ${type.shortName}`,
    check: Effect.sync(() =>
      events
        .slice(from)
        .find(
          (event): event is Extract<ServerEvent.ServerEvent, { readonly _tag: T }> =>
            event._tag === tag && "typeUrl" in event && event.typeUrl === type.typeUrl
        )
    ),
    seen: show(events)
  })
