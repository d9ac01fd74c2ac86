/**
 * xDS over REST.
 *
 * @since 0.1.0
 */
export * as RestServer from "./RestServer.js"
export * as RestServerMetrics from "./RestServerMetrics.js"
