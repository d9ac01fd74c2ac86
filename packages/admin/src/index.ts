/**
 * The admin port of an xDS control plane.
 *
 * @since 0.1.0
 */
export * as AdminServer from "./AdminServer.js"
export * as EventLoopDelay from "./EventLoopDelay.js"
export * as PrometheusText from "./PrometheusText.js"
export * as StatusReport from "./StatusReport.js"
export * as StatusTable from "./StatusTable.js"
