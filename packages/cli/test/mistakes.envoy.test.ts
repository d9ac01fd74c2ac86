/** What a real Envoy says of configurations with mistakes. */
import { it } from "@effect/vitest"
import { PeerProgram } from "@effect-xds/testing"
import { ResourceFile } from "@effect-xds/transport-filesystem"
import { Effect, Either } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it as test } from "vitest"
import { cluster, type Config } from "../../validate/test/Config.js"
import { resources } from "../../validate/test/ConfigResources.js"
import { mistakes } from "../../validate/test/mistakes/index.js"
import type { Mistake } from "../../validate/test/mistakes/Mistake.js"
import * as EnvoyCheck from "../src/EnvoyCheck.js"
import * as StaticBootstrap from "../src/StaticBootstrap.js"
import { deadline, effectXds, temporaryDirectory } from "./ServeProcess.js"

const envoy = PeerProgram.forTest("envoy")
const path = envoy._tag === "Present" ? envoy.path : ""

/** Nothing that Envoy refuses, and nothing that two listeners cannot have: one Envoy is asked about all of them. */
const mayStandTogether = ({ config, envoy }: Mistake): boolean =>
  envoy === "accepts" &&
  Object.keys(config).every((kind) => kind === "listeners" || kind === "clusters") &&
  JSON.stringify(config.clusters) === JSON.stringify([cluster()]) &&
  !JSON.stringify(config.listeners).includes("10000")

describe.skipIf(envoy._tag === "Missing")(PeerProgram.title("A real Envoy", envoy), () => {
  it.scopedLive(
    "refuses what the table of mistakes says, with words of the same matter",
    () =>
      Effect.gen(function* () {
        const check = yield* EnvoyCheck.make(path)
        const verdict = (config: Config) =>
          Effect.gen(function* () {
            const all = yield* Effect.promise(() => resources(config))
            const items = yield* StaticBootstrap.items(all)
            return yield* check.verdict(StaticBootstrap.make(items, []))
          })
        const together = mistakes.filter(mayStandTogether)
        expect(together.length).toBeGreaterThan(50)
        const listeners = together
          .flatMap(({ config }) => config.listeners ?? [])
          .map((each, index) => ({ ...each, name: `l${index}` }))
        // Where it refuses them, each is asked about alone, so that it is seen which one it is.
        const areTaken = (yield* verdict({ listeners, clusters: [cluster()] })) === undefined
        const apart = areTaken ? mistakes.filter((mistake) => !mayStandTogether(mistake)) : mistakes
        const seen = yield* Effect.forEach(apart, ({ config }) => verdict(config), { concurrency: 3 })
        const differences = apart.flatMap(({ envoy, says = "", title }, index) => {
          const words = seen[index]
          const isAsSaid = envoy === "accepts" ? words === undefined : words?.includes(says) === true
          return isAsSaid ? [] : [`${title}: ${words ?? "accepts"}`]
        })
        expect(differences).toEqual([])
        expect(areTaken).toBe(true)
        const refused = mistakes.filter(({ differs, envoy }) => envoy === "refuses" && differs === undefined)
        expect(refused.length).toBeGreaterThanOrEqual(150)
        expect(new Set(refused.flatMap(({ rules }) => rules)).size).toBeGreaterThanOrEqual(50)
      }),
    2 * deadline
  )

  it.scopedLive(
    "reads one value where the API has a list, as files are read here",
    () =>
      Effect.gen(function* () {
        const check = yield* EnvoyCheck.make(path)
        const address = { socket_address: { address: "127.0.0.1", port_value: 80 } }
        const fine = {
          name: "a",
          connect_timeout: "1s",
          type: "static",
          common_lb_config: { override_host_status: { statuses: "healthy" } },
          health_checks: {
            timeout: "1s",
            interval: "1s",
            unhealthy_threshold: 1,
            healthy_threshold: 1,
            http_health_check: {
              path: "/",
              request_headers_to_remove: "x-a",
              expected_statuses: { start: 200, end: 300 }
            }
          },
          load_assignment: { cluster_name: "a", endpoints: { lb_endpoints: { endpoint: { address } } } }
        }
        const seen = (cluster: Readonly<Record<string, unknown>>) =>
          Effect.gen(function* () {
            const verdict = yield* check.verdict({ static_resources: { clusters: cluster } })
            const text = JSON.stringify({ "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", ...cluster })
            const file = { file: "a.json", bytes: new TextEncoder().encode(text) }
            const read = yield* Effect.either(ResourceFile.parseResources(file))
            return [verdict === undefined, Either.isRight(read)]
          })
        expect(yield* seen(fine)).toEqual([true, true])
        // Neither reads what is no element as a list, nor a list as a message.
        expect(yield* seen({ ...fine, health_checks: "x" })).toEqual([false, false])
        expect(yield* seen({ ...fine, load_assignment: [fine.load_assignment] })).toEqual([false, false])
      }),
    deadline
  )

  it.scopedLive(
    "is asked about equal bootstraps once, also at the same time",
    () =>
      Effect.gen(function* () {
        const check = yield* EnvoyCheck.make(path)
        const items = yield* StaticBootstrap.items(yield* Effect.promise(() => resources({ clusters: [cluster()] })))
        const bootstrap = StaticBootstrap.make(items, [])
        const verdicts = yield* Effect.replicateEffect(check.verdict(bootstrap), 12, { concurrency: "unbounded" })
        expect(new Set(verdicts)).toEqual(new Set([undefined]))
      }),
    deadline
  )

  test("is asked by validate, and its words are told with the resource, as long as there is one", async () => {
    const directory = temporaryDirectory()
    const write = (name: string, ...documents: ReadonlyArray<object>): void => {
      mkdirSync(join(directory, name), { recursive: true })
      writeFileSync(join(directory, name, "all.yaml"), documents.map((each) => JSON.stringify(each)).join("\n---\n"))
    }
    const type = (name: string) => ({ "@type": `type.googleapis.com/envoy.config.${name}` })
    const secret = "hunter2Tr0ub4dor"
    const fine = { ...type("cluster.v3.Cluster"), name: "fine" }
    const dns = { ...type("cluster.v3.Cluster"), name: "dns", type: "LOGICAL_DNS" }
    const headers = [{ header: { key: "authorization", value: `${secret}%` } }]
    const table = { ...type("route.v3.RouteConfiguration"), name: "main", request_headers_to_add: headers }
    const route = { match: { prefix: "/" }, route: { cluster: "dns" } }
    const hosts = [{ name: "all", domains: ["*"], routes: [route] }]
    write("good", fine, { ...table, request_headers_to_add: [], virtual_hosts: hosts, validate_clusters: false })
    write("bad", fine, dns, { ...table, virtual_hosts: hosts })
    const run = effectXds("validate", "--no-references", "--envoy", path, directory)
    const code = await run.exit
    const lines = run
      .stdout()
      .trim()
      .split("\n")
      .map((line) => line.slice(directory.length + 1))
    expect([code, lines]).toEqual([
      1,
      [
        expect.stringMatching(
          /^bad\/all\.yaml:3: clusters "dns": load_assignment\.endpoints must .*\(logical-dns-endpoint\)$/
        ),
        expect.stringMatching(/^bad\/all\.yaml:5: routes "main": .*\(header-format\)$/),
        'bad/all.yaml:3: clusters "dns": Envoy: LOGICAL_DNS clusters must have a single host',
        expect.stringMatching(/^bad\/all\.yaml:5: routes "main": Envoy: Incorrect configuration: /)
      ]
    ])
    expect(run.stdout() + run.stderr()).not.toContain(secret)
  })
})
