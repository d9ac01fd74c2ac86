/**
 * The Envoy v2 API as protobuf-es types. The generated modules are subpath imports that mirror the proto path:
 * `@effect-xds/proto-v2/envoy/api/v2/cluster`. Nothing generated is loaded by this module.
 *
 * @since 0.1.0
 */
export * as GeneratedTypes from "./GeneratedTypes.js"
export * as ResourceType from "./ResourceType.js"
