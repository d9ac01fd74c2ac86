/** A client that calls all the time, and how its calls went. */
import * as Effect from "effect/Effect"
import * as Child from "./Child.js"
import type { Version } from "./Mesh.js"
import { versions } from "./Mesh.js"
import * as Seen from "./Seen.js"

interface Report {
  readonly answers: Readonly<Partial<Record<Version, number>>>
  /** When the last call began that a version answered, in Unix time in milliseconds. */
  readonly last: Readonly<Partial<Record<Version, number>>>
  readonly failed: number
  readonly failure?: string
}

interface Traffic {
  readonly name: string
  readonly total: () => number
  readonly failed: () => number
  readonly failure: () => string | undefined
  /** Waits until so many calls in a row are answered by one version; gives when the last call to another one began. */
  readonly only: (version: Version, calls: number) => Effect.Effect<number, Seen.NotSeen>
}

const isReport = (value: unknown): value is Report => typeof value === "object" && value !== null && "answers" in value

/** Starts a client; `xds`: the addresses of the control planes, in the order in which it turns to them. */
export const start = (name: string, target: string, xds: ReadonlyArray<number> = []) =>
  Effect.gen(function* () {
    const config = {
      xds_servers: [
        {
          server_uri: `ipv4:${xds.map((port) => `127.0.0.1:${port}`).join(",")}`,
          channel_creds: [{ type: "insecure" }],
          server_features: ["xds_v3"]
        }
      ],
      node: { id: name, cluster: "mesh", locality: {} }
    }
    const child = yield* Child.start("Client", [target], { GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(config) })
    let report: Report = { answers: {}, last: {}, failed: 0 }
    child.process.on("message", (message) => {
      const found = Child.said(message, "report")
      if (isReport(found)) report = found
    })
    const count = (version: Version): number => report.answers[version] ?? 0
    const traffic: Traffic = {
      name,
      total: () => versions.reduce((sum, version) => sum + count(version), 0) + report.failed,
      failed: () => report.failed,
      failure: () => report.failure,
      only: (version, calls) => {
        const other = version === "v1" ? "v2" : "v1"
        let from = { own: count(version), other: count(other) }
        return Seen.until(
          `${calls} calls of ${name} in a row by ${version}`,
          () => {
            if (count(other) > from.other) from = { own: count(version), other: count(other) }
            return count(version) - from.own >= calls ? (report.last[other] ?? 0) : undefined
          },
          () => `v1: ${count("v1")}, v2: ${count("v2")}, failed: ${report.failed} ${report.failure ?? ""}`
        )
      }
    }
    return traffic
  })
