/**
 * xDS over REST.
 *
 * @since 0.1.0
 */
export * as RestClient from "./RestClient.js"
export * as RestClientMetrics from "./RestClientMetrics.js"
export * as RestServer from "./RestServer.js"
export * as RestServerMetrics from "./RestServerMetrics.js"
export * as RestType from "./RestType.js"
