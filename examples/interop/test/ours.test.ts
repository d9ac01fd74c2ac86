/** Interop test clients on our control plane. */
import * as ControlPlanes from "./ControlPlanes.js"
import * as Judge from "./Judge.js"

Judge.tests("interop test clients on our control plane", ControlPlanes.ours)
