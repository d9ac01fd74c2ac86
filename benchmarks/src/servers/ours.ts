/** Starts our server. With `--as-serve` of the harness as `effect-xds serve` starts: the rest is loaded after that. */
import * as HeapGrowth from "@effect-xds/transport-node/HeapGrowth"

if (process.env.XDS_AS_SERVE !== undefined) HeapGrowth.raise()
await import("./OurServer.js")
