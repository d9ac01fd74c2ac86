import { ResourceType } from "@effect-xds/proto"
import { GroupFault, GroupIndex, GroupRules } from "@effect-xds/validate"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Config from "./Config.js"
import { resources } from "./ConfigResources.js"

type Resource = GroupIndex.Resource

const keyOf = ({ name, typeUrl }: GroupIndex.Key): string => `${typeUrl} ${name}`

const encoded = (config: Config.Config) => Effect.promise(() => resources(config))

const read = (index: GroupIndex.GroupIndex, all: Iterable<Resource>) =>
  Effect.forEach(
    all,
    (resource) =>
      Effect.gen(function* () {
        for (let read = index.read(resource); typeof read !== "number"; read = index.read(resource)) {
          yield* GroupIndex.loadTypes(read)
        }
      }),
    { discard: true }
  )

const put = (index: GroupIndex.GroupIndex, all: ReadonlyArray<Resource>) =>
  Effect.map(read(index, all), () => all.forEach((each) => index.put(each)))

/** The result, and how often others could run. */
const toEnd = <A>(work: Generator<undefined, A>): { readonly value: A; readonly yields: number } => {
  for (let yields = 0; ; yields++) {
    const next = work.next()
    if (next.done === true) return { value: next.value, yields }
  }
}

const textsOf = ({ faults }: Pick<GroupIndex.Faults, "faults">) =>
  faults.map((fault) => `${fault.rule} ${GroupFault.toText(fault)}`)

const placeless = (text: string): string => text.replace(/\[\d+\]/g, "[]")

const toClusters = (name: string, ...clusters: ReadonlyArray<string>): Config.Json =>
  Config.routes({
    name,
    virtual_hosts: clusters.map((cluster, index) =>
      Config.virtualHost({ name: `v${index}`, domains: [`d${index}`], routes: [Config.route({ route: { cluster } })] })
    )
  })

const locality = (zone: string): Config.Json => ({
  locality: { zone },
  load_balancing_weight: 1,
  lb_endpoints: [Config.endpoint()]
})

/** Every resource in the forms that it takes: broken alone, together with others, or not. */
const forms = Effect.map(
  Effect.forEach(
    [
      ...["a", "b"].map((name) => [
        { clusters: [Config.cluster(name)] },
        { clusters: [Config.edsCluster(name)] },
        { clusters: [Config.edsCluster(name, { alt_stat_name: "s" })] },
        { clusters: [Config.edsCluster(name, { eds_cluster_config: undefined })] }
      ]),
      ...["a", "b"].map((name) => [
        { endpoints: [Config.assignment(name)] },
        { endpoints: [{ cluster_name: name, endpoints: [locality("x"), locality("x")] }] }
      ]),
      ...["main", "other"].map((name) => [
        { routes: [toClusters(name, "a")] },
        { routes: [toClusters(name, "b", "a", "nope")] }
      ]),
      ...["l", "m", "n"].map((name, port) => [
        { listeners: [Config.listener({ name, filter_chains: [Config.chain(Config.rdsManager())] })] },
        { listeners: [Config.listener({ name, address: Config.address(80 + port) })] },
        { listeners: [Config.listener({ name, address: Config.address(80) })] },
        { listeners: [{ name, api_listener: { api_listener: Config.rdsManager("other")["typed_config"] } }] }
      ])
    ],
    (each) => Effect.map(Effect.forEach(each, encoded), (found) => found.flat())
  ),
  (all) => all.filter((each) => each.length > 0)
)

/** The same numbers every time. */
const numbers = (seed: number) => {
  let state = seed
  return (most: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >>> 8) % most
  }
}

describe("An index", () => {
  it.effect("★ after any changes says what a check of all resources says, and tells what is new once", () =>
    Effect.gen(function* () {
      const kinds = yield* forms
      const next = numbers(7)
      const seen = new Set<string>()
      for (let run = 0; run < 20; run++) {
        const index = new GroupIndex.GroupIndex()
        const group = new Map<string, Resource>()
        /** What was told and is in force. */
        let told: ReadonlyArray<string> = []
        for (let step = 0; step < 30; step++) {
          const change: { readonly put: Array<Resource>; readonly remove: Array<Resource> } = { put: [], remove: [] }
          for (let count = 1 + next(3); count > 0; count--) {
            const kind = kinds[next(kinds.length)] ?? []
            const form = kind[next(kind.length)]
            if (form === undefined || [...change.put, ...change.remove].some((each) => keyOf(each) === keyOf(form)))
              continue
            if (next(3) === 0) change.remove.push(form)
            else change.put.push(form)
          }
          yield* read(index, change.put)
          const before = toEnd(index.listing(1_000)).value
          const tried = textsOf(toEnd(index.trying(change, 1_000)).value)
          // It was only tried.
          expect(textsOf(toEnd(index.listing(1_000)).value)).toEqual(textsOf(before))
          for (const each of change.remove) {
            group.delete(keyOf(each))
            index.remove(each)
          }
          for (const each of change.put) {
            group.set(keyOf(each), each)
            index.put(each)
          }
          const fresh = textsOf(toEnd(index.settling(1_000)).value)
          expect(fresh.toSorted()).toEqual(tried.toSorted())
          const now = textsOf(toEnd(index.listing(1_000)).value)
          const { faults } = yield* GroupRules.check(group.values(), { maxFaults: 1_000 })
          expect(now.toSorted()).toEqual(textsOf({ faults }).toSorted())
          expect(index.faults).toBe(faults.length)
          // Nothing is told twice while it is in force, and all that is in force was told.
          const [inForce, news] = [now.map(placeless), fresh.map(placeless)]
          expect(news.filter((text) => told.includes(text))).toEqual([])
          told = [...told.filter((text) => inForce.includes(text)), ...news]
          expect(told.toSorted()).toEqual(inForce.toSorted())
          for (const { rule } of faults) seen.add(rule)
          expect(index.size).toBe(group.size)
        }
      }
      // Otherwise nothing was shown.
      expect(Array.from(seen).sort()).toEqual([
        "cluster-reference",
        "eds-config",
        "endpoint-unique",
        "endpoints-reference",
        "listener-address-unique",
        "locality-unique",
        "route-cluster-reference",
        "route-reference"
      ])
    })
  )

  it.effect("★ a change of one resource of 10 000 costs what it changes", () =>
    Effect.gen(function* () {
      const [model] = yield* encoded({ clusters: [Config.edsCluster("model")] })
      const [changed] = yield* encoded({ clusters: [Config.edsCluster("changed")] })
      if (model === undefined || changed === undefined) return expect.unreachable()
      const many = Array.from({ length: 10_000 }, (_, at) => ({ ...model, name: `c${at}`, value: model.value.slice() }))
      const index = new GroupIndex.GroupIndex()
      yield* put(index, many)
      expect(toEnd(index.settling()).yields).toBeGreaterThan(100)
      const one = { ...model, name: "c7", value: changed.value }
      yield* put(index, [one])
      const { value, yields } = toEnd(index.settling())
      expect(yields).toBe(0)
      expect(value.faults).toMatchObject([{ name: "c7", rule: "endpoints-reference" }])
      const other = { ...model, name: "c8", value: model.value.slice() }
      expect(index.read(other)).toBeGreaterThan(0)
      expect(toEnd(index.trying({ put: [other], remove: [one] })).yields).toBe(0)
      // Of bytes that it knows it reads nothing.
      expect(index.read(one)).toBe(0)
    })
  )

  it.effect("★ others run while one large table is settled, however few resources change", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 2_000 }, (_, at) => `c${at}`)
      const index = new GroupIndex.GroupIndex()
      const [cluster] = yield* encoded({ clusters: [Config.cluster("c7")] })
      if (cluster === undefined) return expect.unreachable()
      yield* put(index, yield* encoded({ routes: [toClusters("main", ...names)] }))
      // Each is looked for, and told.
      expect(toEnd(index.settling()).yields).toBeGreaterThan((2 * names.length) / 100)
      // Each is looked for, and compared with those that were missing before.
      yield* put(index, [cluster])
      expect(toEnd(index.settling())).toMatchObject({ value: { faults: [] } })
      index.remove(cluster)
      const { value, yields } = toEnd(index.settling())
      expect(value.faults).toMatchObject([{ name: "main", to: { name: "c7" } }])
      expect(yields).toBeGreaterThan((3 * names.length) / 100)
    })
  )

  it.effect("★ others run while a large table or listener is read, which says the same as at once", () =>
    Effect.gen(function* () {
      const numbered = (text: string, from = 0) => Array.from({ length: 200 }, (_, at) => `${text}${from + at}`)
      const chain = (match: Config.Json) => ({ ...Config.chain(Config.manager()), filter_chain_match: match })
      const ranges = numbered("10.0.0.").map((address_prefix) => ({ address_prefix, prefix_len: 32 }))
      const domains = Array.from({ length: 50 }, (_, at) => numbered("d", 200 * at))
      const all = yield* encoded({
        listeners: [
          Config.listener({
            filter_chains: [
              chain({ server_names: numbered("n"), prefix_ranges: ranges }),
              chain({ server_names: ["other", "N7"], prefix_ranges: ranges.slice(0, 1) }),
              chain({ server_names: ["x", "X"], source_ports: [1, 2] }),
              chain({ server_names: ["x", "y"], source_ports: [3, 1] }),
              chain({ server_names: ["x", "y"], source_ports: [4] }),
              chain({ server_names: ["x", "y"], source_ports: [5, 6], destination_port: 1 }),
              chain({ server_names: ["x", "y"], source_ports: [5, 6], source_type: "EXTERNAL" }),
              chain({ server_names: ["x", "y"], source_ports: [5, 6] }),
              chain({ server_names: ["x", "y"], transport_protocol: "tls" }),
              chain({ server_names: ["x", "y"], transport_protocol: "raw_buffer" })
            ]
          })
        ],
        routes: [
          Config.routes({
            virtual_hosts: [...domains, ["one", "D9999"]].map((domains, at) =>
              Config.virtualHost({ name: `v${at}`, domains })
            )
          })
        ]
      })
      const [once, stepped] = [new GroupIndex.GroupIndex(), new GroupIndex.GroupIndex()]
      yield* put(once, all)
      toEnd(once.settling())
      for (const each of all) {
        const { yields } = toEnd(stepped.readInSteps(each))
        const count = each.typeUrl === ResourceType.Listener.typeUrl ? 200 * 200 : 200 * 50
        expect(yields).toBeGreaterThan(count / 100)
        stepped.put(each)
      }
      toEnd(stepped.settling())
      const { value } = toEnd(stepped.listing())
      expect(value).toEqual(toEnd(once.listing()).value)
      const unique = value.faults.filter(({ rule }) => rule.endsWith("-unique"))
      expect(unique.map(({ path, problem }) => `${path} ${problem}`)).toEqual([
        "filter_chains[1].filter_chain_match must not match what filter_chains[0] matches already",
        "filter_chains[2].filter_chain_match must not name one thing twice",
        "filter_chains[3].filter_chain_match must not match what filter_chains[2] matches already",
        'virtual_hosts[50].domains[1] must not be there twice: "D9999" belongs to virtual host "v49"'
      ])
    })
  )

  it.effect("★ a resource that goes while it is settled is not broken", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 200 }, (_, at) => `c${at}`)
      const index = new GroupIndex.GroupIndex()
      const tables = yield* encoded({ routes: [toClusters("main", ...names)] })
      yield* put(index, tables)
      const settling = index.settling()
      expect(settling.next().done).toBe(false)
      for (const each of tables) index.remove(each)
      expect(toEnd(settling).value).toEqual({ faults: [], omitted: 0 })
      expect(index.faults).toBe(0)
      expect(toEnd(index.listing()).value).toEqual({ faults: [], omitted: 0 })
    })
  )

  it.effect("★ a resource with other bytes that says the same is not asked again", () =>
    Effect.gen(function* () {
      const cache = GroupIndex.cache()
      const asked: Array<string> = []
      const isElsewhere = ({ name }: GroupIndex.Key) => {
        asked.push(name)
        return false
      }
      const index = new GroupIndex.GroupIndex({ isElsewhere, cache })
      const broken = () => toEnd(index.listing()).value.faults
      yield* put(index, yield* encoded({ clusters: [Config.edsCluster("a")] }))
      toEnd(index.settling())
      const before = broken()
      expect(before).toMatchObject([{ rule: "endpoints-reference", name: "a" }])
      expect(asked.splice(0)).toEqual(["a"])
      const [other] = yield* encoded({ clusters: [Config.edsCluster("a", { alt_stat_name: "other" })] })
      if (other === undefined) return expect.unreachable()
      yield* put(index, [other])
      expect(toEnd(index.settling()).value).toEqual({ faults: [], omitted: 0 })
      expect(asked).toEqual([])
      expect(broken()[0]).toBe(before[0])
      // It is tried, and goes and comes, as any other.
      const [third] = yield* encoded({ clusters: [Config.edsCluster("a", { alt_stat_name: "third" })] })
      if (third === undefined) return expect.unreachable()
      index.read(third)
      expect(toEnd(index.trying({ put: [third], remove: [] })).value).toEqual({ faults: [], omitted: 0 })
      expect(broken()[0]).toBe(before[0])
      yield* put(index, yield* encoded({ endpoints: [Config.assignment("a")] }))
      toEnd(index.settling())
      expect(broken()).toEqual([])
      index.remove(other)
      toEnd(index.settling())
      expect(index.size).toBe(1)
      // What is said otherwise is new.
      yield* put(index, yield* encoded({ clusters: [Config.edsCluster("a", { eds_cluster_config: undefined })] }))
      expect(toEnd(index.settling()).value.faults).toMatchObject([{ rule: "eds-config" }])
    })
  )

  it.effect("★ with a cache that is not for plain resources keeps what they say until it has settled", () =>
    Effect.gen(function* () {
      const index = new GroupIndex.GroupIndex({ cache: GroupIndex.cache({ plain: false }) })
      const [cluster] = yield* encoded({ clusters: [Config.edsCluster("web")] })
      const [listener] = yield* encoded({ listeners: [Config.listener()] })
      if (cluster === undefined || listener === undefined) return expect.unreachable()
      const both = [cluster, listener]
      yield* read(index, both)
      expect(both.map((each) => index.read(each))).toEqual([0, 0])
      // What is tried is not forgotten: it comes next.
      expect(toEnd(index.trying({ put: both, remove: [] })).value.faults).toMatchObject([
        { rule: "endpoints-reference" }
      ])
      expect(both.map((each) => index.read(each))).toEqual([0, 0])
      for (const each of both) index.put(each)
      expect(toEnd(index.settling()).value.faults).toMatchObject([{ rule: "endpoints-reference" }])
      expect(both.map((each) => index.read(each))).toEqual([1, 0])
      // In other bytes it says the same.
      const other = { ...cluster, value: cluster.value.slice() }
      expect(index.read(other)).toBe(1)
      index.put(other)
      expect(toEnd(index.settling()).value).toEqual({ faults: [], omitted: 0 })
      expect(toEnd(index.listing()).value.faults).toMatchObject([{ rule: "endpoints-reference" }])
    })
  )

  it.effect("★ a change that is only tried leaves everything, also where it has one resource twice", () =>
    Effect.gen(function* () {
      const index = new GroupIndex.GroupIndex()
      const [here, other, coming] = yield* encoded({
        clusters: [Config.edsCluster("a"), Config.edsCluster("a", { alt_stat_name: "x" }), Config.edsCluster("b")]
      })
      if (here === undefined || other === undefined || coming === undefined) return expect.unreachable()
      yield* put(index, [here])
      toEnd(index.settling())
      yield* read(index, [other, coming])
      const before = toEnd(index.listing()).value
      for (const change of [
        { remove: [here], put: [here] },
        { remove: [here, here], put: [] },
        { remove: [here], put: [other, here, other] },
        { remove: [coming], put: [coming, coming] }
      ]) {
        toEnd(index.trying(change))
        expect(index.size).toBe(1)
        expect(toEnd(index.listing()).value).toEqual(before)
        expect(toEnd(index.settling()).value).toEqual({ faults: [], omitted: 0 })
      }
    })
  )

  it.effect("a fault whose place in a list is another now is not new", () =>
    Effect.gen(function* () {
      const index = new GroupIndex.GroupIndex()
      yield* put(index, yield* encoded({ clusters: [Config.cluster("a")], routes: [toClusters("main", "nope")] }))
      expect(toEnd(index.settling()).value.faults).toHaveLength(1)
      yield* put(index, yield* encoded({ routes: [toClusters("main", "a", "nope")] }))
      expect(toEnd(index.settling()).value).toEqual({ faults: [], omitted: 0 })
      yield* put(index, yield* encoded({ routes: [toClusters("main", "a", "nope", "nowhere")] }))
      expect(textsOf(toEnd(index.settling()).value)).toEqual([expect.stringContaining('names cluster "nowhere"')])
    })
  )

  it.effect("of a resource with as many faults as references not every fault is a reference", () =>
    Effect.gen(function* () {
      const index = new GroupIndex.GroupIndex()
      const chains = ["main", "nope"].map((name, at) => ({
        ...Config.chain(Config.rdsManager(name)),
        filter_chain_match: { destination_port: 8080 + at }
      }))
      const listeners = [
        Config.listener({ name: "l", address: Config.address(80) }),
        Config.listener({ name: "m", address: Config.address(80), filter_chains: chains })
      ]
      yield* put(index, yield* encoded({ routes: [toClusters("main")], listeners }))
      const fresh = toEnd(index.settling()).value.faults.filter(({ name }) => name === "m")
      expect(fresh).toMatchObject([
        { rule: "route-reference", to: { name: "nope" } },
        { rule: "listener-address-unique", problem: "must not be that of another listener" }
      ])
      expect(toEnd(index.listing()).value.faults.filter(({ name }) => name === "m")).toEqual(fresh)
    })
  )

  it.effect("knows of what is elsewhere, and is told when that comes or goes", () =>
    Effect.gen(function* () {
      const elsewhere = new Set<string>()
      const index = new GroupIndex.GroupIndex({ isElsewhere: (key) => elsewhere.has(keyOf(key)) })
      const a = { typeUrl: ResourceType.Cluster.typeUrl, name: "a" }
      elsewhere.add(keyOf(a))
      yield* put(index, yield* encoded({ routes: [toClusters("main", "a")] }))
      expect(toEnd(index.settling()).value.faults).toEqual([])
      elsewhere.clear()
      index.touch(a)
      expect(toEnd(index.settling()).value.faults).toMatchObject([{ rule: "cluster-reference", name: "main" }])
      elsewhere.add(keyOf(a))
      index.touch(a)
      toEnd(index.settling())
      expect(toEnd(index.listing()).value.faults).toEqual([])
    })
  )

  it.effect("tells no more than it is asked for, and how many there are beside", () =>
    Effect.gen(function* () {
      const index = new GroupIndex.GroupIndex({ off: ["endpoints-reference"] })
      const names = ["a", "b", "c", "d"]
      yield* put(
        index,
        yield* encoded({
          routes: [toClusters("main", ...names)],
          clusters: names.map((each) => Config.edsCluster(each))
        })
      )
      expect(toEnd(index.settling()).value.faults).toEqual([])
      for (const name of names) index.remove({ typeUrl: ResourceType.Cluster.typeUrl, name })
      expect(toEnd(index.settling(1)).value).toMatchObject({ faults: [{ rule: "cluster-reference" }], omitted: 3 })
      expect(toEnd(index.listing(3)).value).toMatchObject({ faults: [{}, {}, {}], omitted: 1 })
    })
  )
})
