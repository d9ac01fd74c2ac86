/**
 * The Envoy v3 API as protobuf-es types. The generated modules are subpath imports that mirror the proto path:
 * `@effect-xds/proto/envoy/config/cluster/v3/cluster`. Nothing generated is loaded by this module.
 *
 * @since 0.1.0
 */
export * as EnvoyApi from "./EnvoyApi.js"
export * as FieldScan from "./FieldScan.js"
export * as Reason from "./Reason.js"
export * as Redaction from "./Redaction.js"
export * as ResourceType from "./ResourceType.js"
export * as SensitiveFields from "./SensitiveFields.js"
export * as TypeRegistry from "./TypeRegistry.js"
