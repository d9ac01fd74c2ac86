/** Starts our server. With `--as-serve` of the harness as `effect-xds serve` starts: see there. */
import * as Engine from "@effect-xds/transport-node/Engine"
import * as HeapGrowth from "@effect-xds/transport-node/HeapGrowth"

if (process.env.XDS_AS_SERVE !== undefined) HeapGrowth.raise(Engine.ofProcess)
await import("./OurServer.js")
