/** The gRPC clients that tests run: those that are here. */
import { PeerProgram } from "@effect-xds/testing"
import * as GrpcClient from "../src/replacements/GrpcClient.js"

// With XDS_REQUIRE_PEERS=1 a missing one is an error.
const missing = GrpcClient.names
  .filter((name) => name !== "grpc-js")
  .map((name) => PeerProgram.forTest(name))
  .filter((peer) => peer._tag === "Missing")

/** grpc-js comes with our packages. */
export const present = GrpcClient.names.filter((name) => !missing.some((peer) => peer.name === name))

/** The title of a test that runs without those that are missing. */
export const title = (text: string): string =>
  [text, ...missing.map(({ name, reason }) => `without ${name}, which is missing: ${reason}`)].join("; ")
