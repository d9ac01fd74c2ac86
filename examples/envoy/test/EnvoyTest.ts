import { NodeContext } from "@effect/platform-node"
import { it } from "@effect/vitest"
import { PeerProgram } from "@effect-xds/testing"
import { Effect, Logger, LogLevel, type Scope } from "effect"
import * as Bootstrap from "../src/Bootstrap.js"
import * as Envoy from "../src/Envoy.js"

const peer = PeerProgram.forTest("envoy")

/** The program of Envoy; empty where there is none, and then no test runs. */
export const path = peer._tag === "Present" ? peer.path : ""

/** A test with a real Envoy, skipped where there is none. */
export const test = (name: string, run: Effect.Effect<void, unknown, NodeContext.NodeContext | Scope.Scope>) =>
  it.scopedLive.skipIf(peer._tag === "Missing")(PeerProgram.title(name, peer), () =>
    Logger.withMinimumLogLevel(Effect.provide(run, NodeContext.layer), LogLevel.Error)
  )

export const node = { id: "ingress-1", cluster: "edge" }

export const startEnvoy = (variant: Bootstrap.Variant, address: string, runtime?: Bootstrap.Runtime) =>
  Effect.suspend(() => Envoy.start({ path, variant, node, address, ...(runtime !== undefined && { runtime }) }))

/** All types on one stream. */
export const aggregated = [Bootstrap.stateOfTheWorld, Bootstrap.incremental]
