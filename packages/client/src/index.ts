/**
 * An xDS client as an Effect service.
 *
 * @since 0.1.0
 */
export * as Bootstrap from "./Bootstrap.js"
export * as CertificateProvider from "./CertificateProvider.js"
export type * as ResourceEvent from "./ResourceEvent.js"
export * as ScopedRoutes from "./ScopedRoutes.js"
export type * as ServerConnection from "./ServerConnection.js"
export * as VirtualHosts from "./VirtualHosts.js"
export * as WatchableType from "./WatchableType.js"
export * as XdsClient from "./XdsClient.js"
export * as XdsClientMetrics from "./XdsClientMetrics.js"
