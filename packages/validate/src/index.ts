/**
 * The rules that Envoy's API has for its messages: the `(validate.rules)` options of protoc-gen-validate. Envoy refuses a
 * whole response for one resource that breaks one of them.
 *
 * @since 0.1.0
 */
export * as Fault from "./Fault.js"
export * as InvalidMessage from "./InvalidMessage.js"
export * as Rules from "./Rules.js"
export * as GroupFault from "./GroupFault.js"
export * as GroupIndex from "./GroupIndex.js"
export * as GroupRule from "./GroupRule.js"
export * as GroupRules from "./GroupRules.js"
