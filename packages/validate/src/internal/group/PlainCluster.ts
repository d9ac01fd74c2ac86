/**
 * Plain clusters: their endpoints come from the server that they came from, and of what else they have no rule over a group is
 * broken. That is seen from their bytes, without a message: such a cluster says one thing, the name of its endpoints.
 *
 * ★ What no rule is about is not looked into: a cluster that is malformed there may be plain. The rules of its fields tell it.
 */
import { FieldScan } from "@effect-xds/proto/FieldScan"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { type Facts, referring } from "./Facts.js"
import { delimited, tagOf, varint } from "./Tag.js"

/** The tags of fields that are numbers, and of others. */
const tags = (numbers: ReadonlyArray<number>, texts: ReadonlyArray<number>): ReadonlySet<number> =>
  new Set([...numbers.map((field) => tagOf(field, varint)), ...texts.map((field) => tagOf(field, delimited))])

/**
 * Fields that no rule is about, and that hold no message that one is about. In a cluster: `alt_stat_name`, booleans, enums and
 * wrappers (`per_connection_buffer_limit_bytes`, `max_requests_per_connection`, `wait_for_warm_on_init`).
 */
const silentInCluster = tags([17, 26, 31, 32, 39, 45, 47, 51], [5, 9, 28, 54])

/** In its circuit breakers: a priority, wrappers and a boolean; not `retry_budget`. */
const silentInThresholds = tags([1, 6], [2, 3, 4, 5, 7])

/** In its outlier detection: wrappers and a boolean; not `max_ejection_time`, which is compared, nor `monitors`. */
const silentInOutliers = tags([12], [1, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 23, 25, 26])

const maxNanos = 999_999_999

/** A `google.protobuf.Duration` that is not negative. */
const isDuration = (field: FieldScan): boolean =>
  field.every((part) => {
    if (part.tag !== tagOf(1, varint) && part.tag !== tagOf(2, varint)) return false
    const { value } = part
    return value !== undefined && (part.number === 1 || value <= maxNanos)
  })

/** Whether it says that resources come from the server that the cluster came from. */
const isHere = (source: FieldScan): boolean => {
  let saysIt = false
  const isPlain = source.every((field) => {
    const { tag } = field
    if (tag === tagOf(3, delimited) || tag === tagOf(5, delimited)) return (saysIt = true)
    return tag === tagOf(6, varint) || (tag === tagOf(4, delimited) && isDuration(field))
  })
  return isPlain && saysIt
}

/** The `service_name` of an `eds_cluster_config`; `undefined`: it is not plain. */
const serviceOf = (config: FieldScan, probable: string): string | undefined => {
  let service: string | undefined = ""
  let sources = 0
  const isPlain = config.every((field) => {
    const { tag } = field
    if (tag === tagOf(2, delimited)) return (service = field.text(probable)) !== undefined
    // A source that comes again is merged.
    return tag === tagOf(1, delimited) && ++sources === 1 && isHere(field)
  })
  return isPlain && sources === 1 ? service : undefined
}

const isSilentThreshold = ({ tag }: FieldScan): boolean => silentInThresholds.has(tag)

const areBreakersPlain = (breakers: FieldScan): boolean =>
  breakers.every((thresholds) => {
    const { tag } = thresholds
    return (tag === tagOf(1, delimited) || tag === tagOf(2, delimited)) && thresholds.every(isSilentThreshold)
  })

const outlierDurations: ReadonlySet<number> = tags([], [2, 3, 22])

const areOutliersPlain = (outliers: FieldScan): boolean =>
  outliers.every((field) => (outlierDurations.has(field.tag) ? isDuration(field) : silentInOutliers.has(field.tag)))

/** Metadata with Structs alone, into which no rule over a group looks. */
const isStructs = ({ tag }: FieldScan): boolean => tag === tagOf(1, delimited)

/** `EDS` */
const eds = 3
/** `CLUSTER_PROVIDED` and `LOAD_BALANCING_POLICY_CONFIG`, which rules are about. */
const ruledPolicies: ReadonlyArray<number | undefined> = [undefined, 6, 7]

/** The names that lead to the endpoints. */
interface Names {
  name: string | undefined
  service: string | undefined
}

/** Looks at one field of a cluster. */
const isPlainField = (field: FieldScan, names: Names, probable: string): boolean => {
  switch (field.tag) {
    case tagOf(1, delimited):
      return (names.name = field.text(probable)) !== undefined
    case tagOf(2, varint):
      return field.value === eds
    case tagOf(3, delimited):
      // One that comes again is merged.
      return names.service === undefined && (names.service = serviceOf(field, probable)) !== undefined
    case tagOf(4, delimited):
    case tagOf(20, delimited):
    case tagOf(60, delimited):
      return isDuration(field)
    case tagOf(6, varint):
      return !ruledPolicies.includes(field.value)
    case tagOf(10, delimited):
      return areBreakersPlain(field)
    case tagOf(19, delimited):
      return areOutliersPlain(field)
    case tagOf(25, delimited):
      return field.every(isStructs)
    default:
      return silentInCluster.has(field.tag)
  }
}

const { typeUrl } = ResourceType.ClusterLoadAssignment

/**
 * What the bytes of an `envoy.config.cluster.v3.Cluster` say if it is plain; `undefined`: it has to be read.
 *
 * @param probable what its name probably is
 */
export const read = (probable: string, bytes: Uint8Array): Facts | undefined => {
  const names: Names = { name: "", service: undefined }
  const scan = new FieldScan(bytes)
  let isEds = false
  while (scan.next()) {
    if (!isPlainField(scan, names, probable)) return undefined
    isEds ||= scan.number === 2
  }
  const { name, service } = names
  if (!scan.isSure || !isEds || name === undefined || service === undefined) return undefined
  const to = service === "" ? name : service
  const path = service === "" ? "name" : "eds_cluster_config.service_name"
  return referring(to === "" ? undefined : { rule: "endpoints-reference", path, typeUrl, name: to })
}
