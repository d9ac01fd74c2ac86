/**
 * The ports between the facades (server, client) and the transports.
 *
 * @since 0.1.0
 */
export * as BadOption from "./BadOption.js"
export * as ClientTransport from "./ClientTransport.js"
export * as EventLoop from "./EventLoop.js"
export * as Given from "./Given.js"
export * as ServerTransport from "./ServerTransport.js"
export * as Slices from "./Slices.js"
export * as Status from "./Status.js"
