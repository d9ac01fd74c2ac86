export * as HealthChecker from "./HealthChecker.js"
export * as NodeProber from "./NodeProber.js"
export * as Prober from "./Prober.js"
export * as Resolver from "./Resolver.js"
