/**
 * An xDS control plane as an Effect service.
 *
 * @since 0.1.0
 */
export * as Client from "./ConnectedClient.js"
export * as FanOuts from "./FanOuts.js"
export * as GroupChecker from "./GroupChecker.js"
export * as GroupReport from "./GroupReport.js"
export * as GroupSource from "./GroupSource.js"
export * as HeldGroups from "./HeldGroups.js"
export * as InvalidInForce from "./InvalidInForce.js"
export * as ServerEvent from "./ServerEvent.js"
export * as OnDemandHosts from "./OnDemandHosts.js"
export * as Snapshot from "./Snapshot.js"
export * as SnapshotStore from "./SnapshotStore.js"
export * as StoreError from "./StoreError.js"
export * as Validator from "./Validator.js"
export * as XdsServer from "./XdsServer.js"
export * as XdsServerMetrics from "./XdsServerMetrics.js"
