/**
 * The policies that the service config of A28 names, as a registry reads them: `xds_routing_experimental`,
 * `weighted_target_experimental` and `cds_experimental`. What {@link ServiceConfig.step} writes, these read, with the keys
 * of the appendix and with those of proto3.
 *
 * A config with a mistake is not valid as a whole: the old one stays.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md "LB policies"
 * @since 0.1.0
 */
import { create } from "@bufbuild/protobuf"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { type HeaderMatcherSchema, RouteMatchSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import * as Either from "effect/Either"
import * as Fraction from "@effect-xds/discovery/Fraction"
import * as HeaderMatcher from "./HeaderMatcher.js"
import type { Matcher } from "./Matcher.js"
import * as PathMatcher from "./PathMatcher.js"
import type { Configured } from "./Policy.js"
import type { Entry, PolicyRegistry } from "./PolicyRegistry.js"
import * as Registry from "./PolicyRegistry.js"
import { Collector, format } from "./RouteError.js"
import type { Json, JsonObject } from "./ServiceConfig.js"
import type { ClusterConfig } from "./XdsConfig.js"
import * as Cds from "./policy/Cds.js"
import * as WeightedTarget from "./policy/WeightedTarget.js"
import * as XdsRouting from "./policy/XdsRouting.js"

const isObject = (json: Json | undefined): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

const isList = (json: Json | undefined): json is ReadonlyArray<Json> => Array.isArray(json)

const maxWeight = 2 ** 32 - 1

/** The keys of an object among these that are set. */
const keysOf = (json: JsonObject, keys: ReadonlyArray<string>): ReadonlyArray<string> =>
  keys.filter((key) => json[key] !== undefined)

const headerOf = (json: JsonObject): MessageInitShape<typeof HeaderMatcherSchema> | undefined => {
  const name = json["name"]
  const invertMatch = json["invertMatch"] === true
  const common = { name: typeof name === "string" ? name : "", invertMatch }
  const found = keysOf(json, ["exactMatch", "prefixMatch", "suffixMatch", "regexMatch", "presentMatch", "rangeMatch"])
  const [key = ""] = found
  if (found.length !== 1) return undefined
  const value = json[key]
  if (key === "presentMatch") {
    return typeof value === "boolean" ? { ...common, headerMatchSpecifier: { case: key, value } } : undefined
  }
  if (key === "rangeMatch") {
    const [start, end] = isObject(value) ? [int64Of(value["start"]), int64Of(value["end"])] : []
    if (start === undefined || end === undefined) return undefined
    return { ...common, headerMatchSpecifier: { case: key, value: { start, end } } }
  }
  if (typeof value !== "string") return undefined
  switch (key) {
    case "exactMatch":
    case "prefixMatch":
    case "suffixMatch":
      return { ...common, headerMatchSpecifier: { case: key, value } }
    default:
      return { ...common, headerMatchSpecifier: { case: "safeRegexMatch", value: { regex: value } } }
  }
}

/** proto3 JSON writes them as text and reads both. */
const int64Of = (json: Json | undefined): bigint | undefined => {
  if (json === undefined) return 0n
  if (typeof json === "number" && Number.isSafeInteger(json)) return BigInt(json)
  return typeof json === "string" && /^-?\d{1,19}$/.test(json) ? BigInt.asIntN(64, BigInt(json)) : undefined
}

const pathOf = (json: JsonObject): MessageInitShape<typeof RouteMatchSchema>["pathSpecifier"] => {
  const found = keysOf(json, ["path", "prefix", "regex"])
  const [key = ""] = found
  const value = json[key]
  if (found.length !== 1 || typeof value !== "string") return undefined
  if (key === "regex") return { case: "safeRegex", value: { regex: value } }
  return { case: key === "path" ? "path" : "prefix", value }
}

const matcherOf = (json: JsonObject, at: string, errors: Collector): Matcher | undefined => {
  const pathSpecifier = pathOf(json)
  if (pathSpecifier === undefined) {
    errors.add(at, "PathSpecifier", "exactly one of path, prefix and regex is required")
    return undefined
  }
  const path = PathMatcher.make(create(RouteMatchSchema, { pathSpecifier }), at, "current", errors)
  const headers: Array<HeaderMatcher.HeaderMatcher> = []
  const list = json["headers"]
  if (list !== undefined && !isList(list)) errors.add(`${at}.headers`, "HeaderSpecifier", "not a list")
  for (const [index, each] of (isList(list) ? list : []).entries()) {
    const where = `${at}.headers[${index}]`
    const header = isObject(each) ? headerOf(each) : undefined
    if (header === undefined) {
      errors.add(where, "HeaderSpecifier", "a name and exactly one matcher are required")
      continue
    }
    const [message] = create(RouteMatchSchema, { headers: [header] }).headers
    const made = message === undefined ? undefined : HeaderMatcher.make(message, where, "current", errors)
    if (made !== undefined) headers.push(made)
  }
  const fraction = json["match_fraction"] ?? json["matchFraction"]
  if (fraction !== undefined && !(typeof fraction === "number" && Number.isInteger(fraction) && fraction >= 0)) {
    errors.add(`${at}.matchFraction`, "Fraction", "not a number of millionths")
    return undefined
  }
  if (path === undefined) return undefined
  return { path, headers, fraction: fraction === undefined ? undefined : Math.min(fraction, Fraction.million) }
}

/** ★ JSON may have half a character alone, `"\ud800"`, which no name of a node in a tree can have. */
const noText = (name: string): string | undefined =>
  /\p{Surrogate}/u.test(name) ? "the name has half a character alone; use another one" : undefined

const routingOf = (config: JsonObject, registry: PolicyRegistry, depth: number): Either.Either<Configured, string> => {
  const errors = new Collector()
  const actions = new Map<string, Configured>()
  const named = config["action"] ?? config["Action"]
  for (const [name, action] of isObject(named) ? Object.entries(named) : []) {
    const problem = noText(name)
    if (problem !== undefined) errors.add(`action[${JSON.stringify(name)}]`, "Action", problem)
    const child = Registry.fromJson(registry, isObject(action) ? action["childPolicy"] : undefined, depth)
    if (Either.isRight(child)) actions.set(name, child.right)
    else errors.add(`action[${JSON.stringify(name)}].childPolicy`, "Action", child.left)
  }
  const routes: Array<XdsRouting.Config["routes"][number]> = []
  const unused = new Set(actions.keys())
  const list = config["route"] ?? config["Route"]
  for (const [index, route] of (isList(list) ? list : []).entries()) {
    const at = `route[${index}]`
    if (!isObject(route)) {
      errors.add(at, "Action", "not an object")
      continue
    }
    const matcher = matcherOf(route, at, errors)
    const action = route["action"]
    if (typeof action !== "string" || !(isObject(named) && Object.hasOwn(named, action))) {
      errors.add(
        `${at}.action`,
        "Action",
        `no action has the name ${JSON.stringify(action ?? "")}; name one of the list`
      )
      continue
    }
    unused.delete(action)
    if (matcher !== undefined) routes.push({ matcher, action })
  }
  for (const name of unused) {
    errors.add(`action[${JSON.stringify(name)}]`, "Action", "no route uses it; remove it")
  }
  return errors.count > 0
    ? Either.left(format(errors.errors))
    : Either.right(XdsRouting.policy.with({ virtualHost: "", routes, actions }))
}

const targetsOf = (config: JsonObject, registry: PolicyRegistry, depth: number): Either.Either<Configured, string> => {
  const errors = new Collector()
  const targets = new Map<string, WeightedTarget.Config["targets"] extends ReadonlyMap<string, infer T> ? T : never>()
  let sum = 0
  for (const [name, target] of isObject(config["targets"]) ? Object.entries(config["targets"]) : []) {
    const at = `targets[${JSON.stringify(name)}]`
    const problem = noText(name)
    if (problem !== undefined) errors.add(at, "Action", problem)
    const weight = isObject(target) ? target["weight"] : undefined
    const child = Registry.fromJson(registry, isObject(target) ? target["childPolicy"] : undefined, depth)
    if (Either.isLeft(child)) errors.add(`${at}.childPolicy`, "Action", child.left)
    if (!(typeof weight === "number" && Number.isInteger(weight) && weight >= 1 && weight <= maxWeight)) {
      errors.add(`${at}.weight`, "WeightSum", `the weight is ${JSON.stringify(weight)}; it must be 1 to ${maxWeight}`)
      continue
    }
    sum += weight
    if (Either.isRight(child)) targets.set(name, { weight, child: child.right })
  }
  if (sum > maxWeight) errors.add("targets", "WeightSum", `the weights add up to ${sum}, which is over ${maxWeight}`)
  return errors.count > 0 ? Either.left(format(errors.errors)) : Either.right(WeightedTarget.policy.with({ targets }))
}

/**
 * The three policies, for {@link Registry.add}. They are for service configs: ★ in a cluster, `cds_experimental` could
 * name the cluster that it is in.
 *
 * @example
 * import { PolicyRegistry, ServiceConfigPolicies } from "@effect-xds/routing"
 *
 * const registry = PolicyRegistry.add(PolicyRegistry.standard, ...ServiceConfigPolicies.entries(new Map()))
 *
 * @param clusters what `cds_experimental` finds clusters in
 * @since 0.1.0
 */
export const entries = (clusters: ReadonlyMap<string, ClusterConfig>): ReadonlyArray<Entry> => {
  const noMessage = () => Either.left("is for service configs only")
  return [
    { name: XdsRouting.policy.name, typeUrl: undefined, fromJson: routingOf, fromBytes: noMessage },
    { name: WeightedTarget.policy.name, typeUrl: undefined, fromJson: targetsOf, fromBytes: noMessage },
    {
      name: Cds.policy.name,
      typeUrl: undefined,
      fromJson: ({ cluster }) =>
        typeof cluster === "string" && cluster !== ""
          ? Either.right(Cds.policy.with({ cluster, clusters }))
          : Either.left("the cluster is missing; name it"),
      fromBytes: noMessage
    }
  ]
}
