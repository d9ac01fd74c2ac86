/**
 * Route tables beside a real Envoy: the same RouteConfigurations, the same requests, the same routes. Where gRPC wants it
 * otherwise the difference has a name here, and what it explains is exact: of two routes that were taken, the first is the
 * one in dispute, and it must have what the difference is about.
 *
 * `XDS_RUNS=300` for more configurations, `XDS_SEED` for others.
 */
import { toJson } from "@bufbuild/protobuf"
import {
  type HeaderMatcher,
  type RouteMatch,
  RouteSchema
} from "@effect-xds/proto/envoy/config/route/v3/route_components"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import * as RouteTable from "@effect-xds/routing/RouteTable"
import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { startEnvoy } from "./EnvoyRoutes.js"
import { Generator, type Request } from "./RouteGenerator.js"
import { random } from "./World.js"

const envoy = PeerProgram.forTest("envoy")
const runs = Number(process.env["XDS_RUNS"] ?? "60")
const seed = Number(process.env["XDS_SEED"] ?? "20260101")
const requestsOfEach = 20

interface Difference {
  readonly name: string
  /** Who takes the route that the other passes over. */
  readonly taken: "Envoy" | "routing" | "either"
  readonly isOf: (match: RouteMatch, action: string | undefined, request: Request) => boolean
}

const someHeader = (match: RouteMatch, is: (header: HeaderMatcher) => boolean) => match.headers.some(is)

/** Each is a rule of gRPC, which looks at fewer things of a call than Envoy does. */
const differences: ReadonlyArray<Difference> = [
  {
    // A28: a route with them is ignored.
    name: "query_parameters",
    taken: "Envoy",
    isOf: ({ queryParameters }) => queryParameters.length > 0
  },
  {
    // A28: a route with it is ignored.
    name: "cluster_header",
    taken: "Envoy",
    isOf: (_, action) => action === "clusterHeader"
  },
  {
    // A28: only custom metadata is seen by matchers.
    name: "headers that are no custom metadata",
    taken: "either",
    isOf: (match) => someHeader(match, ({ name }) => CallHeaders.isHidden(name))
  },
  {
    // A28: fields that it does not name are ignored.
    name: "treat_missing_header_as_empty",
    taken: "either",
    isOf: (match, _, { headers }) =>
      someHeader(
        match,
        ({ name, treatMissingHeaderAsEmpty }) =>
          treatMissingHeaderAsEmpty && !headers.some(([there]) => there === name.toLowerCase())
      )
  },
  {
    // Envoy takes it for a header that is there, whatever its value. gRPC compares.
    name: "empty exact_match",
    taken: "either",
    isOf: (match) =>
      someHeader(
        match,
        ({ headerMatchSpecifier }) => headerMatchSpecifier.case === "exactMatch" && headerMatchSpecifier.value === ""
      )
  },
  {
    // A28: the matcher is ignored, the others of the route count.
    name: "tls_context",
    taken: "routing",
    isOf: ({ tlsContext }) => tlsContext !== undefined
  },
  {
    // A28: the same.
    name: "dynamic_metadata",
    taken: "routing",
    isOf: ({ dynamicMetadata }) => dynamicMetadata.length > 0
  }
]

const before = (a: string | undefined, b: string | undefined): boolean =>
  b === undefined || (a !== undefined && Number(a.split(".")[1]) < Number(b.split(".")[1]))

describe.skipIf(envoy._tag === "Missing")(PeerProgram.title("routes beside a real Envoy", envoy), () => {
  it(`${runs} configurations × ${requestsOfEach} requests`, { timeout: 600_000 }, async () => {
    const generator = new Generator(random(seed))
    const configurations = Array.from({ length: runs }, (_, index) => generator.configuration(`configuration-${index}`))
    const tables = configurations.map((configuration) => Either.getOrThrow(RouteTable.make(configuration)))
    const { close, route } = await startEnvoy(envoy._tag === "Present" ? envoy.path : "", configurations)
    const seen = new Map<string, number>()
    const unexplained: Array<string> = []
    let taken = 0
    let answers = 0
    try {
      for (const [index, table] of tables.entries()) {
        const requests = Array.from({ length: requestsOfEach }, () => generator.request())
        const theirs = await Promise.all(requests.map((request) => route(table.name, request)))
        for (const [at, request] of requests.entries()) {
          const { authority, headers, path } = request
          const call = { path, headers: CallHeaders.fromEntries(headers), draw: () => 0.5 }
          const match = RouteTable.match(table, authority, call)
          const ours =
            match._tag === "Route" ? match.route.name : match._tag === "ActionNotRoute" ? match.route : undefined
          const their = theirs[at]
          answers++
          if (their !== undefined) taken++
          if (ours === their) continue
          const isOurs = before(ours, their)
          const disputed = isOurs ? ours : their
          const found = configurations[index]?.virtualHosts
            .flatMap(({ routes }) => routes)
            .find(({ name }) => name === disputed)
          const specifier = found?.action.case === "route" ? found.action.value.clusterSpecifier.case : undefined
          const difference = differences.find(
            ({ isOf, taken }) =>
              taken !== (isOurs ? "Envoy" : "routing") &&
              found?.match !== undefined &&
              isOf(found.match, specifier, request)
          )
          if (difference !== undefined) seen.set(difference.name, (seen.get(difference.name) ?? 0) + 1)
          else if (unexplained.length < 10) {
            unexplained.push(
              JSON.stringify({
                configuration: table.name,
                routing: ours,
                envoy: their,
                request,
                match: found && toJson(RouteSchema, found)
              })
            )
          }
        }
      }
    } finally {
      await close()
    }
    if (runs >= 300) console.log(`${answers} requests, ${taken} took a route; differences:`, Object.fromEntries(seen))
    expect(unexplained).toEqual([])
    // Most requests meet a route, else nothing is compared; and no difference is listed that is none.
    expect(taken).toBeGreaterThan(answers / 3)
    if (runs >= 300) expect([...seen.keys()].sort()).toEqual(differences.map(({ name }) => name).sort())
  })
})
