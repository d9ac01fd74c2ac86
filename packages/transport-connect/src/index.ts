/**
 * xDS over gRPC, gRPC-Web and Connect on one port.
 *
 * @since 0.1.0
 */
export * as ConnectApp from "./ConnectApp.js"
export * as ConnectClient from "./ConnectClient.js"
export * as ConnectServer from "./ConnectServer.js"
export * as ConnectServerMetrics from "./ConnectServerMetrics.js"
export * as Interceptor from "./Interceptor.js"
