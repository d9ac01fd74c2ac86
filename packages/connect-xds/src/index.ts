export * as XdsChannels from "./XdsChannels.js"
export * as XdsTransport from "./XdsTransport.js"
