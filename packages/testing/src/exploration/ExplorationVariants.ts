/**
 * The small worlds to explore: server and client, alone and joined, in both protocol variants. State of the world has a
 * full-state and a by-name type; incremental has a type with a wildcard, and virtual hosts, which have none.
 *
 * @since 0.1.0
 */
import type { Protocol } from "@effect-xds/core/wire/Request"
import { Cluster, ClusterLoadAssignment, RouteConfiguration, VirtualHost } from "@effect-xds/proto/ResourceType"
import type { ResourceSpec } from "../simulation/ResourceSpec.js"
import type { Explored, Options, World } from "./Exploration.js"
import { confused, explore } from "./Exploration.js"
import * as ExplorationClient from "./ExplorationClient.js"
import * as ExplorationServer from "./ExplorationServer.js"

/**
 * A world and its depth for a short run.
 *
 * @since 0.1.0
 */
export interface Variant {
  readonly name: string
  /** Number of moves for a second or two. Each further move takes three times as long. */
  readonly depth: number
  readonly explore: (options: Options) => Explored
  readonly confused: (options: Options) => string | undefined
}

const variant = <State>(world: World<State>, depth: number): Variant => ({
  name: world.name,
  depth,
  explore: (options) => explore(world, options),
  confused: (options) => confused(world, options)
})

/** A type of each kind: in state of the world by the meaning of absence, in incremental by the form of the answer. */
const types = {
  StateOfTheWorld: [Cluster.typeUrl, ClusterLoadAssignment.typeUrl],
  Incremental: [Cluster.typeUrl, VirtualHost.typeUrl]
} as const

const protocols: ReadonlyArray<Protocol> = ["StateOfTheWorld", "Incremental"]

const host = (name: string, ...aliases: ReadonlyArray<string>) => ({
  typeUrl: VirtualHost.typeUrl,
  name,
  content: 1,
  aliases
})

/** A host that matches a domain, a name, and a wildcard domain of another virtual host. */
const hosts = ExplorationServer.make({
  protocol: "Incremental",
  typeUrls: [VirtualHost.typeUrl],
  names: ["r/a", "r/x"],
  stores: [
    [host("r/a", "r/x"), host("r/b")],
    [host("r/a"), host("r/b", "r/x")],
    [host("r/b", "r/a")],
    [host("r/b", "r/*")],
    [host("r/a"), host("r/b", "r/*")],
    []
  ]
})

/** A collection, one of its two members, and the wildcard. Members come and go, and the client is moved to other groups. */
const collections = protocols.flatMap((protocol) => [
  ExplorationServer.make({
    protocol,
    typeUrls: [types[protocol][0]],
    names: ["xdstp://x/t/1", "xdstp://x/t/2"],
    asked: ["xdstp://x/t/*", "xdstp://x/t/1"]
  }),
  ExplorationServer.make({
    protocol,
    typeUrls: [types[protocol][0]],
    names: ["xdstp://x/t/1", "xdstp://x/t/2"],
    asked: ["xdstp://x/t/*"],
    isWarm: true,
    isMoved: true
  })
])

const member = (typeUrl: string, id: string) => `xdstp://x/${typeUrl.slice(typeUrl.lastIndexOf("/") + 1)}/${id}`

/** A client that watches a collection and one of its members, beside a store and beside a script. */
const members = protocols.flatMap((protocol) =>
  (protocol === "StateOfTheWorld" ? types[protocol] : [Cluster.typeUrl]).flatMap((typeUrl) =>
    (["script", "store"] as const).map((server) =>
      ExplorationClient.make({
        protocol,
        typeUrl,
        server,
        contents: [
          [member(typeUrl, "1"), "1"],
          [member(typeUrl, "1"), "bad"],
          [member(typeUrl, "2"), "1"]
        ],
        watched: [member(typeUrl, "*"), member(typeUrl, "1")]
      })
    )
  )
)

const expiring = (content: number, ttl: number | undefined, version?: string) => ({
  typeUrl: ClusterLoadAssignment.typeUrl,
  name: "a",
  content,
  ttl,
  version
})

const renewals = protocols.map((protocol) =>
  ExplorationServer.make({
    protocol,
    typeUrls: [ClusterLoadAssignment.typeUrl],
    names: ["a"],
    stores: [
      [expiring(1, 10_000)],
      [expiring(2, 10_000)],
      [expiring(1, 10_000, "labelled")],
      [expiring(1, undefined)],
      []
    ],
    ttl: true
  })
)

/** A returning client that holds two resources, which are compared one by one while the store changes. */
const slices = ExplorationServer.make({
  protocol: "Incremental",
  typeUrls: [Cluster.typeUrl],
  names: ["a", "b"],
  namesPerStep: 1,
  isWarm: true
})

/** The store changes several times before the stream has its turn: subscribed resources, others, and back. */
const behind = protocols.map((protocol) =>
  ExplorationServer.make({
    protocol,
    typeUrls: [types[protocol][0]],
    names: ["a", "b"],
    maxBehind: 2
  })
)

const seen = (protocol: Protocol, spec: Partial<ResourceSpec>): ResourceSpec => ({
  typeUrl: types[protocol][0],
  name: "a",
  content: 1,
  ...spec
})

/** A resource has variants, loses them, and has others; the client is one of two kinds, and then of the other. */
const variants = protocols.map((protocol) =>
  ExplorationServer.make({
    protocol,
    typeUrls: [types[protocol][0]],
    names: ["a"],
    said: ["x", "y"],
    stores: [
      [seen(protocol, { variants: { x: 1, y: 2 } })],
      [seen(protocol, { variants: { x: 1, y: 1 } })],
      [seen(protocol, { variants: { y: 2 } })],
      [seen(protocol, {})],
      []
    ]
  })
)

/**
 * A resource, and errors in its place: one that takes it away, and one that does not. In incremental, a client that has the resource may
 * ask for it again, or return with it.
 */
const errors = protocols.flatMap((protocol) =>
  (protocol === "StateOfTheWorld"
    ? types[protocol].map((typeUrl) => ({ typeUrl, isWarm: false }))
    : [false, true].map((isWarm) => ({ typeUrl: types[protocol][0], isWarm }))
  ).map(({ isWarm, typeUrl }) =>
    ExplorationServer.make({
      protocol,
      typeUrls: [typeUrl],
      names: ["a"],
      isWarm,
      stores: [
        [seen(protocol, { typeUrl })],
        [seen(protocol, { typeUrl, error: 5 })],
        [seen(protocol, { typeUrl, error: 14 })],
        [seen(protocol, { typeUrl, content: 2 })],
        []
      ]
    })
  )
)

/** The client is moved from group to group: alone in a type, and where the phases of two types are under way. */
const moved = protocols.flatMap((protocol) => [
  ExplorationServer.make({ protocol, typeUrls: [types[protocol][0]], names: ["a", "b"], isMoved: true }),
  ExplorationServer.make({
    protocol,
    typeUrls: [Cluster.typeUrl, RouteConfiguration.typeUrl],
    names: ["a"],
    isAggregated: true,
    isWarm: true,
    isMoved: true
  })
])

const small: ReadonlyArray<Variant> = protocols.flatMap((protocol) => [
  ...types[protocol].flatMap((typeUrl) => {
    // The name of a virtual host starts with its route configuration.
    const [a, b] = typeUrl === VirtualHost.typeUrl ? (["r/a", "r/b"] as const) : (["a", "b"] as const)
    const contents = [
      [a, "1"],
      [a, "bad"],
      [b, "1"]
    ] as const
    return [
      variant(ExplorationServer.make({ protocol, typeUrls: [typeUrl], names: [a, b] }), 5),
      variant(ExplorationClient.make({ protocol, typeUrl, server: "script", contents }), 5),
      variant(ExplorationClient.make({ protocol, typeUrl, server: "store", contents }), 5)
    ]
  }),
  // An aggregated stream differs only once the client has something of each type.
  ...[false, true].map((isWarm) =>
    variant(
      ExplorationServer.make({
        protocol,
        typeUrls: [Cluster.typeUrl, ClusterLoadAssignment.typeUrl],
        names: ["a"],
        isAggregated: true,
        isWarm
      }),
      isWarm ? 3 : 5
    )
  )
])

/**
 * All of them.
 *
 * @since 0.1.0
 */
export const all: ReadonlyArray<Variant> = [
  ...small,
  variant(hosts, 5),
  ...renewals.map((world) => variant(world, 6)),
  variant(slices, 4),
  ...members.map((world, index) => variant(world, index % 2 === 0 ? 5 : 6)),
  ...collections.map((world, index) => variant(world, index % 2 === 0 ? 5 : 4)),
  ...behind.map((world) => variant(world, 5)),
  ...variants.map((world) => variant(world, 5)),
  ...errors.map((world, index) => variant(world, index < errors.length - 1 ? 5 : 4)),
  ...moved.map((world, index) => variant(world, index % 2 === 0 ? 5 : 3))
]
