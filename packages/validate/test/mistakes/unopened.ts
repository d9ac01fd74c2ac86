/** `Any`s that Envoy never opens: what is in them may be as it likes. */
import {
  address,
  any,
  type Config,
  httpFilter,
  type Json,
  policy,
  policyEntry,
  route,
  router,
  virtualHost
} from "../Config.js"
import { withCluster, withFilters, withHosts, withListener } from "./Groups.js"
import type { Mistake } from "./Mistake.js"

/** It breaks a rule of its fields. */
const empty = any("envoy.config.core.v3.DataSource")

const typed = (...all: ReadonlyArray<Json>): Json => ({
  metadata: { typed_filter_metadata: Object.fromEntries(all.map((each, index) => [`acme.${index}`, each])) }
})

const cidr = any("envoy.config.core.v3.CidrRange", { address_prefix: "host" })
const duration = any("google.protobuf.Duration", { value: "-5s" })
const regex = any("envoy.type.matcher.v3.RegexMatcher", { regex: "a(?=b)" })
const badCluster = any("envoy.config.cluster.v3.Cluster", { name: "", type: "STATIC", eds_cluster_config: {} })

const policies = (...all: ReadonlyArray<Json>): Json => ({ load_balancing_policy: { policies: all } })
const roundRobin = policyEntry("round_robin", "RoundRobin")
const badMaglev = policyEntry("maglev", "Maglev", { table_size: 4 })
const badLeast = policyEntry("least_request", "LeastRequest", {
  choice_count: 1,
  slow_start_config: { slow_start_window: "-1s" }
})
const noPolicy = { typed_extension_config: { name: "other", typed_config: badCluster } }
const struct = any("xds.type.v3.TypedStruct", {
  type_url: "type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin",
  value: {}
})

const perFilter = (config: Json): Config =>
  withHosts(virtualHost({ typed_per_filter_config: { buffer: any("envoy.config.route.v3.FilterConfig", config) } }))

const badBuffer = httpFilter("buffer", "Buffer")
const badPerRoute = any("envoy.extensions.filters.http.buffer.v3.BufferPerRoute")

const taken: ReadonlyArray<readonly [string, Config]> = [
  ["metadata of a cluster", withCluster(typed(empty, cidr, duration, regex, badCluster))],
  [
    "metadata of an endpoint",
    withCluster({
      load_assignment: {
        cluster_name: "web",
        endpoints: [{ lb_endpoints: [{ endpoint: { address: address(80) }, ...typed(empty) }] }]
      }
    })
  ],
  ["metadata of a route", withHosts(virtualHost({ routes: [{ ...route(), ...typed(empty) }] }))],
  ["metadata of a listener", withListener(typed(empty, regex))],
  ["a policy behind the first", withCluster(policies(roundRobin, badMaglev, badLeast))],
  [
    "a policy behind one in a Struct",
    withCluster(policies({ typed_extension_config: { name: "struct", typed_config: struct } }, badMaglev))
  ],
  ["a policy that is none", withCluster(policies(noPolicy, roundRobin))],
  [
    "a policy in a policy",
    withCluster(policy("subset", "Subset", { subset_lb_policy: { policies: [roundRobin, badLeast] } }))
  ],
  [
    "an optional filter that is none",
    withFilters({ name: "other", is_optional: true, typed_config: badCluster }, router)
  ],
  ["an optional filter of a route that is none", perFilter({ is_optional: true, config: badCluster })],
  ["a filter that is off on a route", perFilter({ disabled: true, config: badPerRoute })]
]

export const ofUnopened: ReadonlyArray<Mistake> = [
  ...taken.map(([title, config]): Mistake => ({ title: `not opened: ${title}`, rules: [], envoy: "accepts", config })),
  {
    title: "opened: the first policy",
    rules: ["maglev-table-size"],
    envoy: "refuses",
    says: "The table size of maglev must be prime number",
    config: withCluster(policies(noPolicy, badMaglev, roundRobin))
  },
  {
    title: "opened: an optional filter",
    rules: ["field"],
    envoy: "refuses",
    says: "BufferValidationError.MaxRequestBytes",
    config: withFilters({ ...badBuffer, is_optional: true }, router)
  },
  {
    title: "opened: an optional filter of a route",
    rules: ["field"],
    envoy: "refuses",
    config: perFilter({ is_optional: true, config: badPerRoute })
  }
]
