/** The interop test clients on our control plane and on go-control-plane. */
import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import { it } from "@effect/vitest"
import * as ControlPlanes from "./ControlPlanes.js"
import * as Judge from "./Judge.js"

const peer = PeerProgram.forTest("go-control-plane")

if (peer._tag === "Present") {
  Judge.tests({ ours: ControlPlanes.ours, "go-control-plane": ControlPlanes.goControlPlane(peer.path) })
} else {
  it.skip(PeerProgram.title("interop test clients on go-control-plane", peer), () => undefined)
  Judge.tests({ ours: ControlPlanes.ours })
}
