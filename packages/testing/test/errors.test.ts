/** Every error that a package exports can be sent to another process, or written to a log, as JSON. */
import { Schema } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const packages = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

const CDS = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
const resource = { typeUrl: CDS, name: "web" }
const malformed = { protocol: "Incremental", size: 7, reason: "it ends within a field" }
const fault = { path: "name", rule: "string.min_len", problem: "must not be empty", value: undefined }
const inFile = { file: "cds.yaml", line: 3, column: 7, path: "resources[0].name", detail: "must not be empty" }

/** What each is made with. `others` of a file's error are errors of the same class. */
const samples: Readonly<Record<string, (own: (fields: object) => unknown) => object>> = {
  AdminServerError: () => ({ address: "127.0.0.1:9090", reason: "the port is in use", cause: "EADDRINUSE" }),
  BootstrapError: () => ({ source: "the given text", mistakes: [{ field: "node.id", reason: "is missing" }] }),
  CertificateError: () => ({ path: "/tls.crt", reason: "there is no such file" }),
  ResourceDoesNotExist: () => ({ ...resource, reason: "the server does not have it" }),
  VirtualHostNotFound: () => ({ routeConfiguration: "main", host: "a.example" }),
  VirtualHostUnavailable: () => ({ routeConfiguration: "main", host: "a.example", reason: "no server answers" }),
  ScopedRoutesInvalid: () => ({ name: "tenants", path: "scope_key_builder", reason: "has no fragments; add one" }),
  ScopeNotFound: () => ({ scopedRoutes: "tenants", key: '["acme"]' }),
  ResourceUnavailable: () => ({ ...resource, reason: "no server answers" }),
  AliasConflict: () => ({ typeUrl: CDS, alias: "a", name: "web", other: "api" }),
  DecoderConflict: () => ({ typeUrl: CDS }),
  DuplicateName: () => resource,
  InvalidRecord: () => ({ reason: "it is no array" }),
  InvalidResources: () => ({
    group: "edge",
    resources: [{ ...resource, faults: [fault], more: false, message: 'clusters "web": name must not be empty' }],
    more: false
  }),
  BrokenRules: () => ({
    group: "edge",
    rules: [
      {
        ...resource,
        rule: "eds-config",
        severity: "error",
        path: "eds_cluster_config.eds_config",
        problem: "must say where the endpoints come from",
        place: "cds.yaml:3",
        message:
          'cds.yaml:3: clusters "web": eds_cluster_config.eds_config must say where the endpoints come from (eds-config)'
      }
    ],
    omitted: 0
  }),
  InvalidResource: () => ({ ...resource, reason: "the name is empty" }),
  MalformedRequest: () => malformed,
  MalformedResponse: () => malformed,
  MixedApis: () => ({ v2: "type.googleapis.com/envoy.api.v2.Cluster", v3: CDS }),
  RestoreError: () => ({ ...resource, reason: "it is of another version" }),
  ResolveError: () => ({ name: "a.test", family: "V4", code: "ETIMEOUT", message: "no answer" }),
  TargetError: () => ({ target: "dns:///shop", reason: "write it as xds:///service" }),
  Conflict: () => ({ group: "edge", expected: 1, actual: 2 }),
  Fenced: () => ({ group: "edge", detail: "another replica writes" }),
  GroupNotSet: () => ({ group: "edge" }),
  LayerCycle: () => ({ group: "edge", path: ["base", "edge"] }),
  LimitExceeded: () => ({ limit: "maxGroups", group: "edge", size: 11, maximum: 10 }),
  Refusal: () => ({ code: "PERMISSION_DENIED", reason: "not your group" }),
  SnapshotError: () => ({ ...resource, reason: "NameMismatch", detail: "its own name is another" }),
  StoreUnavailable: () => ({ group: "edge", detail: "the database does not answer" }),
  OpenError: () => ({ reason: "Unreachable", database: "postgres://db:5432/xds", detail: "no answer" }),
  RevisionNotFound: () => ({ group: "edge", revision: 3, latest: 9, oldest: 5 }),
  BrokenPromise: () => ({ promise: "a group that is set can be had", detail: "1, not 2" }),
  PostgresServerError: () => ({ detail: "initdb: no space is left" }),
  SimulationAborted: () => ({ reason: "Stuck", at: 1_000, limit: 10 }),
  SimulationError: () => ({ reason: "Stuck", seed: 7, detail: "nobody has anything to do", lastEvents: [] }),
  SimulationFailure: () => ({ seed: 7, plan: { servers: [], clients: [] }, report: "the body fails" }),
  WaitedInVain: () => ({ seconds: 30, what: "a word", seen: "last seen: nothing" }),
  BadOption: () => ({ option: "maxStreams", value: 0, least: 1 }),
  ClientTransportError: () => ({ address: "xds:1", reason: "no such scheme", cause: "bad URL" }),
  ServerTransportError: () => ({ address: "127.0.0.1:1", reason: "may not listen", cause: "EACCES" }),
  ResourceFileError: (own) => ({
    ...inFile,
    reason: "Schema",
    others: [own({ ...inFile, reason: "Schema", line: 9 })]
  }),
  ResponseDirectoryError: () => ({
    reason: "Write",
    path: "/out",
    detail: "no space is left",
    cause: "ENOSPC"
  }),
  Malformed: () => ({ at: 7, exact: true }),
  NotInflated: () => ({ reason: "TooLarge", maxBytes: 10, detail: "output is larger" }),
  InvalidMessage: () => ({ typeUrl: CDS, resourceName: "web", faults: [fault], more: false })
}

type ErrorClass = new (fields: object) => Error

const isError = (value: unknown): boolean => value instanceof Error

const isErrorClass = (value: unknown): value is ErrorClass =>
  typeof value === "function" && isError(Reflect.get(value, "prototype"))

const Manifest = Schema.parseJson(
  Schema.Struct({ exports: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })) })
)

const AsJson = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** The modules that a package exports: all but those of `internal`, as each package.json says. */
const modulesOf = (name: string): ReadonlyArray<string> => {
  const folder = join(packages, name)
  const { exports = {} } = Schema.decodeUnknownSync(Manifest)(readFileSync(join(folder, "package.json"), "utf8"))
  if (!("./*" in exports)) return []
  return readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !(exports["./internal/*"] === null && file.startsWith("internal/")))
    .map((file) => join(folder, "src", file))
}

const found = new Map<string, ErrorClass>()
const seen = new Set<unknown>()
for (const name of readdirSync(packages).filter((each) => existsSync(join(packages, each, "package.json")))) {
  for (const file of modulesOf(name).filter((each) => /Error/.test(readFileSync(each, "utf8")))) {
    const module: unknown = await import(file)
    const values: ReadonlyArray<unknown> = typeof module === "object" && module !== null ? Object.values(module) : []
    for (const value of values) {
      if (!isErrorClass(value) || seen.has(value)) continue
      seen.add(value)
      if (found.has(value.name)) throw new Error(`two errors are ${value.name}: one is in ${relative(packages, file)}`)
      found.set(value.name, value)
    }
  }
}

const isPlainObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** Where in a value there is something that JSON does not keep; other errors that are found are looked at as well. */
const notPlain = (value: unknown, path: string): ReadonlyArray<string> => {
  if (value === null || ["string", "boolean", "undefined"].includes(typeof value)) return []
  if (typeof value === "number") return Number.isFinite(value) ? [] : [path]
  if (Array.isArray(value)) return value.flatMap((each, at) => notPlain(each, `${path}[${at}]`))
  const isOneOfOurs = value instanceof Error && seen.has(value.constructor)
  if (!isOneOfOurs && !isPlainObject(value)) return [path]
  return Object.entries(value).flatMap(([key, each]) => notPlain(each, `${path}.${key}`))
}

/** What there is of it as JSON: what is `undefined` is not there. */
const asJson = (value: object) => Schema.decodeUnknownSync(AsJson)(JSON.stringify(value))

describe("errors", () => {
  it("are all found, and each has a sample here", () => {
    expect([...found.keys()].filter((key) => samples[key] === undefined)).toEqual([])
    expect(Object.keys(samples).filter((key) => !found.has(key))).toEqual([])
  })

  for (const [key, ErrorClass] of found) {
    it(`${key} has a tag, plain fields and words, and survives JSON`, () => {
      const fields = samples[key]?.((own) => new ErrorClass(own)) ?? {}
      const error = new ErrorClass(fields)
      expect(error).toHaveProperty("_tag")
      expect(error.message).not.toBe("")
      expect(error.message).not.toMatch(/undefined|\[object|NaN/)
      expect(notPlain(error, key)).toEqual([])
      const { _tag, ...kept } = asJson(error)
      expect(_tag).toBe(ErrorClass.name)
      expect(kept).toEqual(asJson(fields))
      expect(new ErrorClass(kept).message).toBe(error.message)
      // A cause is told in words: what was thrown may be anything.
      expect(["undefined", "string"]).toContain(typeof error.cause)
    })
  }
})
