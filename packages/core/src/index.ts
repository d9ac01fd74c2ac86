/**
 * The xDS protocol as pure step functions: no I/O, no clock, no randomness.
 *
 * @since 0.1.0
 */
export * as Digest from "./Digest.js"
export * as EdsCluster from "./EdsCluster.js"
export * as Heartbeat from "./Heartbeat.js"
export * as Incremental from "./Incremental.js"
export * as Request from "./Request.js"
export * as Resource from "./Resource.js"
export * as ResourceGroup from "./ResourceGroup.js"
export * as ResourceSet from "./ResourceSet.js"
export * as Response from "./Response.js"
export * as ServerStream from "./ServerStream.js"
export * as StateOfTheWorld from "./StateOfTheWorld.js"
export * as Subscription from "./Subscription.js"
export * as VirtualHostDiscovery from "./VirtualHostDiscovery.js"
export * as Wire from "./Wire.js"
