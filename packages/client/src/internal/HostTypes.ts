/**
 * The types of virtual hosts on demand by their schemas. Loaded when they are first used: a client that only watches does not
 * need the messages of routes.
 */
import { isMessage, type DescMessage, type Message } from "@bufbuild/protobuf"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { type VirtualHost, VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { Types } from "../VirtualHosts.js"
import type { WatchableType } from "../WatchableType.js"

/** The messages have the types of their schemas, which the guards here and in {@link isVirtualHost} tell the compiler. */
export const make = (typeOf: (schema: DescMessage) => WatchableType<Message>): Types<Message, Message> => ({
  routeConfiguration: typeOf(RouteConfigurationSchema),
  routesOf: (message) => {
    if (!isMessage(message, RouteConfigurationSchema)) return { vhds: undefined, virtualHosts: [] }
    const virtualHosts = message.virtualHosts.map((value) => ({ name: value.name, domains: value.domains, value }))
    return { vhds: message.vhds?.configSource, virtualHosts }
  },
  virtualHost: typeOf(VirtualHostSchema),
  domainsOf: (message) => (isVirtualHost(message) ? message.domains : [])
})

export const isVirtualHost = (message: Message): message is VirtualHost => isMessage(message, VirtualHostSchema)
