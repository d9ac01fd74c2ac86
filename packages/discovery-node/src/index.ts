export * as Resolver from "./Resolver.js"
