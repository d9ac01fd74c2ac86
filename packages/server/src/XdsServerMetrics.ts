/**
 * The metrics of a server. They are Effect metrics: read them with `Metric.snapshot` or export them with
 * `@effect/opentelemetry`. The tag `type` is the short name of a type: `type=CDS`. Types outside the table have
 * `type=other`, so that clients cannot invent tags.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"
import { GroupTags } from "./internal/GroupTags.js"

/**
 * Open streams.
 *
 * @since 0.1.0
 */
export const streams = Metric.gauge("xds_server_streams", { description: "Open streams" })

/**
 * Streams with a deadline: a TTL to renew, a phase that waits for ACKs, a first request to arrive.
 *
 * @since 0.1.0
 */
export const deadlines = Metric.gauge("xds_server_deadlines", { description: "Streams that wait for a point in time" })

/**
 * Streams that ended, for any reason.
 *
 * @since 0.1.0
 */
export const streamsEnded = Metric.counter("xds_server_streams_ended_total", {
  description: "Streams that ended",
  incremental: true
})

/**
 * Streams that the server ended because the client broke the protocol, exceeded a limit, or was refused.
 *
 * @since 0.1.0
 */
export const violations = Metric.counter("xds_server_violations_total", {
  description: "Streams ended because of what the client sent",
  incremental: true
})

/**
 * Sent responses, tagged with their type.
 *
 * @since 0.1.0
 */
export const responses = Metric.counter("xds_server_responses_total", {
  description: "Responses sent",
  incremental: true
})

/**
 * Bytes of sent responses, before compression and framing, tagged with their type.
 *
 * @since 0.1.0
 */
export const bytes = Metric.counter("xds_server_response_bytes_total", {
  description: "Bytes of the responses sent",
  incremental: true
})

/**
 * Responses larger than `maxResponseBytes`, which gRPC clients may refuse, tagged with their type.
 *
 * @since 0.1.0
 */
export const oversized = Metric.counter("xds_server_oversized_responses_total", {
  description: "Responses larger than clients of gRPC take by default",
  incremental: true
})

/**
 * ACKs, tagged with the type.
 *
 * @since 0.1.0
 */
export const acks = Metric.counter("xds_server_acks_total", { description: "ACKs received", incremental: true })

/**
 * NACKs, tagged with the type; those of older responses included.
 *
 * @since 0.1.0
 */
export const nacks = Metric.counter("xds_server_nacks_total", { description: "NACKs received", incremental: true })

/**
 * Seconds from a change in the store to its ACK by one client, tagged with the type. It includes the time that a phase
 * of an update waits for another one. First responses, and deletions that go out after their replacements, are not
 * measured.
 *
 * @since 0.1.0
 */
export const changeToAck = Metric.histogram(
  "xds_server_change_to_ack_seconds",
  // From a millisecond to half a minute: a slower client counts as not answering.
  MetricBoundaries.fromIterable([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]),
  "Seconds from a change in the store to its ACK by a client"
)

/**
 * Requests whose nonce is not the last one sent, tagged with their type.
 *
 * @since 0.1.0
 */
export const stale = Metric.counter("xds_server_stale_requests_total", {
  description: "Requests that were ignored because they do not answer the last response",
  incremental: true
})

/**
 * Changes that reached a stream while an earlier one was unsent: both go out as one response.
 *
 * @since 0.1.0
 */
export const conflations = Metric.counter("xds_server_conflations_total", {
  description: "Changes that were merged into one that still waited for a slow client",
  incremental: true
})

/**
 * Streams that wait for a group that is not set, tagged with the group. `XdsServer.status` names the clients. After the
 * first hundred groups, and for names of more than 200 characters, the tag is `other`.
 *
 * @since 0.1.0
 */
export const waiting = Metric.gauge("xds_server_waiting_streams", {
  description: "Streams that wait for a group that is not set"
})

/**
 * Names for which `onMissing` runs or will run.
 *
 * @since 0.1.0
 */
export const missingNames = Metric.gauge("xds_server_missing_names", {
  description: "Names that the hook for missing resources is called for, or waits to be"
})

/**
 * Bytes of those names, as `maxMissingBytes` counts them.
 *
 * @since 0.1.0
 */
export const missingBytes = Metric.gauge("xds_server_missing_bytes", {
  description: "Bytes of the names that the hook for missing resources is called for, or waits to be"
})

/**
 * Names for which `onMissing` was not called because of a limit, tagged with the group as {@link waiting} is.
 *
 * @since 0.1.0
 */
export const missingRefused = Metric.counter("xds_server_missing_refused_total", {
  description: "Names that the hook for missing resources was not called for because there was no room",
  incremental: true
})

/**
 * Resources that broke rules of Envoy's API when they entered a store, tagged with their type and the outcome:
 * `outcome=refused` or `outcome=served`.
 *
 * @since 0.1.0
 */
export const invalidResources = Metric.counter("xds_server_invalid_resources_total", {
  description: "Resources put into a store that break rules of Envoy's API",
  incremental: true
})

/**
 * Group rules that were broken by a change and were not before, tagged with the rule and the outcome: `outcome=refused` or
 * `outcome=served`.
 *
 * @since 0.1.0
 */
export const brokenRules = Metric.counter("xds_server_broken_rules_total", {
  description: "Rules over the resources of a group that a change broke",
  incremental: true
})

/**
 * Group rules that are broken now, tagged with the group as {@link waiting} is.
 *
 * @since 0.1.0
 */
export const brokenRulesInForce = Metric.gauge("xds_server_broken_rules", {
  description: "Rules over the resources of a group that are broken"
})

/**
 * Events that a subscriber of `XdsServer.events` missed because it was too slow.
 *
 * @since 0.1.0
 */
export const eventsLost = Metric.counter("xds_server_events_lost_total", {
  description: "Events dropped for slow subscribers",
  incremental: true
})

// One array per tag: Effect then finds the metric by identity, without comparing content.
const known: ReadonlyMap<string, ReadonlyArray<MetricLabel.MetricLabel>> = new Map(
  ResourceType.ofAllApis.map((type) => [type.typeUrl, [MetricLabel.make("type", type.shortName)]])
)
const otherType = [MetricLabel.make("type", "other")]

/**
 * The tags of a resource type's metrics.
 *
 * @since 0.1.0
 */
export const typeTags = (typeUrl: string): ReadonlyArray<MetricLabel.MetricLabel> => known.get(typeUrl) ?? otherType

const groups = new GroupTags(100)

/**
 * The tags of a group's metrics.
 *
 * @since 0.1.0
 */
export const groupTags = (group: string): ReadonlyArray<MetricLabel.MetricLabel> => groups.of(group)
