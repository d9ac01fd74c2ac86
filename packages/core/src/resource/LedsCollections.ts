/**
 * The collections of endpoints (LEDS) that a ClusterLoadAssignment names: one for each locality that has no endpoints of its own.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/endpoint/v3/endpoint_components.proto "LedsClusterLocalityConfig"
 * @since 0.1.0
 */
import { WireType } from "@bufbuild/protobuf/wire"
import { canonical } from "../protocol/Collection.js"
import { fields } from "../wire/Wire.js"

/** envoy.config.endpoint.v3.ClusterLoadAssignment */
const ENDPOINTS = 2
/** envoy.config.endpoint.v3.LocalityLbEndpoints: both members of the oneof `lb_config`. */
const LOAD_BALANCER_ENDPOINTS = 7
const LEDS_CLUSTER_LOCALITY_CONFIG = 8
/** envoy.config.endpoint.v3.LedsClusterLocalityConfig */
const LEDS_COLLECTION_NAME = 2

/**
 * The names of the collections in canonical form; none for bytes that are not a ClusterLoadAssignment.
 *
 * @since 0.1.0
 */
export const namedIn = (assignment: Uint8Array): ReadonlyArray<string> => {
  const names: Array<string> = []
  try {
    fields(assignment, (reader, field, type) => {
      if (field !== ENDPOINTS || type !== WireType.LengthDelimited) return false
      const name = ofLocality(reader.bytes())
      if (name !== "") names.push(canonical(name))
      return true
    })
  } catch {
    return []
  }
  return names
}

const ofLocality = (locality: Uint8Array): string => {
  let name = ""
  fields(locality, (reader, field, type) => {
    // The last member of the oneof on the wire counts.
    if (field === LOAD_BALANCER_ENDPOINTS) name = ""
    if (field !== LEDS_CLUSTER_LOCALITY_CONFIG || type !== WireType.LengthDelimited) return false
    fields(reader.bytes(), (inner, innerField, innerType) => {
      if (innerField !== LEDS_COLLECTION_NAME || innerType !== WireType.LengthDelimited) return false
      name = inner.string(true)
      return true
    })
    return true
  })
  return name
}
