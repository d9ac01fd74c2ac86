/**
 * What servers, clients and transports share on Node, independent of the protocol.
 *
 * @since 0.1.0
 */
export * as Certificates from "./Certificates.js"
export * as CompilerBudget from "./CompilerBudget.js"
export * as Engine from "./Engine.js"
export * as ListenAddress from "./ListenAddress.js"
export * as LogThrottle from "./LogThrottle.js"
export * as TimerTable from "./TimerTable.js"
