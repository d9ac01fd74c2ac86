import { Bootstrap, CertificateProvider, XdsClient } from "@effect-xds/client"
import { ScriptedServer } from "@effect-xds/testing"
import { ClientTransport } from "@effect-xds/transport"
import { Error as PlatformError, FileSystem } from "@effect/platform"
import { NodeFileSystem } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Config, ConfigProvider, Duration, Effect, Either, Fiber, Layer, Logger, Ref, Stream, TestClock } from "effect"

const full = {
  xds_servers: [
    {
      server_uri: "xds.example:443",
      channel_creds: [
        { type: "google_default" },
        {
          type: "tls",
          config: { ca_certificate_file: "/ca.pem", certificate_file: "/tls.crt", private_key_file: "/tls.key" }
        },
        { type: "insecure" }
      ],
      server_features: ["xds_v3", "fail_on_data_errors", 7]
    },
    {
      server_uri: "fallback:18000",
      channel_creds: [{ type: "insecure" }],
      server_features: ["resource_timer_is_transient_error"]
    }
  ],
  node: { id: "n1", cluster: "edge", locality: { zone: "a" }, metadata: { app: "x" }, not_a_field: 1 },
  authorities: {
    "xds.example": {
      client_listener_resource_name_template: "xdstp://xds.example/envoy.config.listener.v3.Listener/%s"
    },
    other: { xds_servers: [{ server_uri: "other:1", channel_creds: [{ type: "insecure" }] }] }
  },
  certificate_providers: {
    default: {
      plugin_name: "file_watcher",
      config: { certificate_file: "c", private_key_file: "k", refresh_interval: "1.5s" }
    }
  },
  client_default_listener_resource_name_template: "%s",
  something_new: true
}

const read = (json: unknown) => Bootstrap.fromText(JSON.stringify(json))
const why = (json: unknown): string =>
  Either.match(read(json), { onLeft: (error) => error.message, onRight: () => "fine" })

describe("Bootstrap", () => {
  it("is read in the form of gRPC, and unknown fields are passed over", () => {
    const bootstrap = Either.getOrThrow(read(full))
    expect(bootstrap.servers).toEqual([
      {
        address: "xds.example:443",
        credentials: { _tag: "Tls", ca: "/ca.pem", cert: "/tls.crt", key: "/tls.key" },
        failOnDataErrors: true,
        resourceTimerIsTransientError: false
      },
      {
        address: "fallback:18000",
        credentials: ClientTransport.insecure,
        failOnDataErrors: false,
        resourceTimerIsTransientError: true
      }
    ])
    expect(bootstrap.node).toMatchObject({
      id: "n1",
      cluster: "edge",
      locality: { zone: "a" },
      metadata: { app: "x" },
      userAgentName: "effect-xds"
    })
    expect(bootstrap.node.clientFeatures).toContain("xds.config.supports-resource-ttl")
    expect(bootstrap.authorities.get("other")?.servers.map(({ address }) => address)).toEqual(["other:1"])
    expect(bootstrap.authorities.get("xds.example")?.servers).toEqual([])
    expect(bootstrap.certificateProviders.get("default")).toEqual({
      certificateFile: "c",
      privateKeyFile: "k",
      caCertificateFile: undefined,
      refreshInterval: Duration.millis(1500)
    })
    expect(bootstrap.clientDefaultListenerResourceNameTemplate).toBe("%s")
  })

  it("says which field is wrong, and why", () => {
    const [server] = full.xds_servers
    const from = "xDS bootstrap from the given text"
    const words = (json: unknown) => why(json).replace(`${from}, field `, "")
    expect(Either.getOrThrow(Either.flip(Bootstrap.fromText("{"))).message).toContain(`${from}: not JSON: `)
    expect(words({})).toBe("xds_servers: is missing")
    expect(words({ xds_servers: [] })).toBe("xds_servers: names no server; give one at least")
    expect(words([])).toBe(`${from}: is a list, not an object`)
    expect(words({ ...full, node: null })).toBe("node: is null, not an object")
    expect(words({ xds_servers: [{ ...server, server_uri: 7 }] })).toBe(
      "xds_servers[0].server_uri: is a number, not a string"
    )
    expect(words({ xds_servers: [{ ...server, channel_creds: [{ type: "google_default" }, { type: "alts" }] }] })).toBe(
      "xds_servers[0].channel_creds: none of google_default, alts is supported; insecure and tls are"
    )
    expect(
      words({ xds_servers: [{ ...server, channel_creds: [{ type: "tls", config: { certificate_file: "c" } }] }] })
    ).toBe(
      "xds_servers[0].channel_creds[0].config: certificate_file and private_key_file go together: give both or none"
    )
    expect(words({ ...full, node: { id: 7 } })).toMatch(/^node: .*id/)
    expect(words({ ...full, node: "n1" })).toMatch(/^node: /)
    expect(words({ ...full, authorities: { a: { client_listener_resource_name_template: "xdstp://b/x" } } })).toBe(
      "authorities.a.client_listener_resource_name_template: must begin with xdstp://a/"
    )
    expect(words({ ...full, certificate_providers: { p: { plugin_name: "vault" } } })).toBe(
      "certificate_providers.p.plugin_name: vault is not supported; file_watcher is"
    )
    expect(
      words({
        ...full,
        certificate_providers: { p: { plugin_name: "file_watcher", config: { refresh_interval: "1h" } } }
      })
    ).toBe('certificate_providers.p.config.refresh_interval: "1h" is not a duration such as "600s"')
  })

  it("tells all mistakes, each with its field, and repeats no value", () => {
    const [server] = full.xds_servers
    const error = Either.getOrThrow(
      Either.flip(
        read({
          xds_servers: [
            { ...server, server_uri: "" },
            "hunter2",
            { server_uri: "a:1", channel_creds: [{ type: 7 }, "hunter2"], server_features: "hunter2" },
            { server_uri: "a:1", channel_creds: [] },
            { server_uri: "a:1" }
          ],
          node: { metadata: "hunter2" },
          authorities: { a: 7, b: { xds_servers: {}, client_listener_resource_name_template: false } },
          certificate_providers: {
            p: { plugin_name: "file_watcher", config: { private_key_file: ["hunter2"], refresh_interval: 7 } },
            q: {}
          },
          server_listener_resource_name_template: { hunter2: 1 }
        })
      )
    )
    expect(error.mistakes.map(({ field, reason }) => `${field} ${reason}`.replace(/(?<=^node ).*/, "…"))).toEqual([
      "xds_servers[0].server_uri is empty; give host:port",
      "xds_servers[1] is a string, not an object",
      "xds_servers[2].channel_creds[0].type is a number, not a string",
      "xds_servers[2].channel_creds[1] is a string, not an object",
      "xds_servers[2].server_features is a string, not a list",
      "xds_servers[3].channel_creds names none; insecure and tls are",
      "xds_servers[4].channel_creds is missing",
      "node …",
      "authorities.a is a number, not an object",
      "authorities.b.xds_servers is an object, not a list",
      "authorities.b.client_listener_resource_name_template is a boolean, not a string",
      "certificate_providers.p.config.private_key_file is a list, not a string",
      "certificate_providers.p.config certificate_file and private_key_file go together: give both or none",
      "certificate_providers.p.config.refresh_interval is a number, not a string",
      "certificate_providers.q.plugin_name is missing",
      "server_listener_resource_name_template is an object, not a string"
    ])
    expect(error.message).toMatch(
      /^xDS bootstrap from the given text: 16 mistakes\n {2}field xds_servers\[0\].server_uri: /
    )
    expect(error.message).not.toContain("hunter2")
    expect(why("hunter2")).not.toContain("hunter2")
  })

  it.scoped("is found where gRPC looks for it, and a bad file is an error and not passed over", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const path = yield* files.makeTempFileScoped()
      const text = JSON.stringify(full)
      const from = (entries: ReadonlyArray<readonly [string, string]>) =>
        Effect.either(Effect.withConfigProvider(Bootstrap.fromEnvironment, ConfigProvider.fromMap(new Map(entries))))
      const words = (found: Either.Either<Bootstrap.Bootstrap, Bootstrap.BootstrapError>) =>
        Either.match(found, { onLeft: ({ message }) => message, onRight: ({ node }) => node.id })

      expect(words(yield* from([]))).toContain(
        "neither GRPC_XDS_BOOTSTRAP (a path) nor GRPC_XDS_BOOTSTRAP_CONFIG (JSON) is set"
      )
      expect(words(yield* from([["GRPC_XDS_BOOTSTRAP_CONFIG", text]]))).toBe("n1")
      expect(
        words(
          yield* from([
            ["GRPC_XDS_BOOTSTRAP", path],
            ["GRPC_XDS_BOOTSTRAP_CONFIG", text]
          ])
        )
      ).toContain(`GRPC_XDS_BOOTSTRAP (${path}): not JSON`)
      expect(
        words(
          yield* from([
            ["GRPC_XDS_BOOTSTRAP", "/no/such/file"],
            ["GRPC_XDS_BOOTSTRAP_CONFIG", text]
          ])
        )
      ).toContain("the file cannot be read")
      yield* files.writeFileString(path, text)
      expect(words(yield* from([["GRPC_XDS_BOOTSTRAP", path]]))).toBe("n1")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})

it.effect("a certificate provider gives what the files hold, and keeps it while they cannot be read", () =>
  Effect.gen(function* () {
    const content = yield* Ref.make<Readonly<Record<string, string>>>({ c: "cert 1", k: "key 1" })
    const files = FileSystem.layerNoop({
      readFileString: (path) =>
        Effect.flatMap(Ref.get(content), (texts) =>
          texts[path] === undefined ? Effect.fail(notFound(path)) : Effect.succeed(texts[path])
        )
    })
    const watcher = {
      certificateFile: "c",
      privateKeyFile: "k",
      caCertificateFile: undefined,
      refreshInterval: Duration.minutes(10)
    }
    const seen: Array<string | undefined> = []
    const fiber = yield* CertificateProvider.watch(watcher).pipe(
      Stream.runForEach(({ certificate }) => Effect.sync(() => seen.push(certificate))),
      Effect.provide(files),
      Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none)),
      Effect.fork
    )
    yield* TestClock.adjust("25 minutes")
    expect(seen).toEqual(["cert 1"])
    yield* Ref.set(content, { c: "cert 2" })
    yield* TestClock.adjust("10 minutes")
    expect(seen).toEqual(["cert 1"])
    yield* Ref.set(content, { c: "cert 2", k: "key 2" })
    yield* TestClock.adjust("10 minutes")
    expect(seen).toEqual(["cert 1", "cert 2"])
    yield* Fiber.interrupt(fiber)
    const error = yield* CertificateProvider.watch({ ...watcher, certificateFile: "none" }).pipe(
      Stream.runDrain,
      Effect.flip,
      Effect.provide(files)
    )
    expect(error.message).toContain("certificate file none cannot be read")
  })
)

const notFound = (path: string) =>
  new PlatformError.SystemError({
    reason: "NotFound",
    module: "FileSystem",
    method: "readFileString",
    pathOrDescriptor: path
  })

describe("★ a file system that throws or never answers is a failure that names the file", () => {
  const provide = (readFileString: FileSystem.FileSystem["readFileString"]) =>
    Effect.provide(FileSystem.layerNoop({ readFileString }))
  const watcher = {
    certificateFile: "/tls.crt",
    privateKeyFile: "/tls.key",
    caCertificateFile: undefined,
    refreshInterval: "1 minute"
  } as const
  const failures = (readFileString: FileSystem.FileSystem["readFileString"]) =>
    Effect.gen(function* () {
      const reads = yield* Effect.fork(
        Effect.all(
          [
            Effect.flip(Stream.runHead(CertificateProvider.watch(watcher))),
            Effect.flip(Bootstrap.fromFile("/etc/xds.json"))
          ],
          { concurrency: 2 }
        )
      )
      yield* TestClock.adjust("10 seconds")
      return (yield* Fiber.join(reads)).map(({ message }) => message)
    }).pipe(provide(readFileString))

  it.effect("throws", () =>
    Effect.gen(function* () {
      const said = yield* failures(() => {
        throw new Error("no disk")
      })
      expect(said).toEqual([
        "certificate file /tls.crt cannot be read: no disk",
        "xDS bootstrap from /etc/xds.json: the file cannot be read: no disk"
      ])
    })
  )

  for (const [title, never] of [
    ["never answers", Effect.never],
    ["never answers, and cannot be interrupted", Effect.uninterruptible(Effect.never)]
  ] as const) {
    it.effect(title, () =>
      Effect.gen(function* () {
        const said = yield* failures(() => never)
        expect(said).toEqual([
          "certificate file /tls.crt cannot be read: nothing came within 10 seconds",
          "xDS bootstrap from /etc/xds.json: the file cannot be read: nothing came within 10 seconds"
        ])
      })
    )
  }

  it.effect("is read once a second at most, whatever the interval", () =>
    Effect.gen(function* () {
      let reads = 0
      const always = { ...watcher, privateKeyFile: undefined, refreshInterval: Duration.zero }
      yield* Effect.fork(Stream.runDrain(CertificateProvider.watch(always))).pipe(
        provide(() => Effect.sync(() => `${++reads}`))
      )
      yield* TestClock.adjust("10 seconds")
      expect(reads).toBeGreaterThan(5)
      expect(reads).toBeLessThan(15)
    })
  )
})

describe("a bootstrap and options from a ConfigProvider", () => {
  const json = JSON.stringify({
    xds_servers: [{ server_uri: "xds:1", channel_creds: [{ type: "insecure" }] }],
    node: { id: "n1" }
  })
  const client = (variables: ReadonlyArray<readonly [string, string]>) =>
    Effect.gen(function* () {
      yield* XdsClient.XdsClient
      return (yield* ScriptedServer.ScriptedServer).streams.length
    }).pipe(
      Effect.provide(
        XdsClient.layerConfig({
          bootstrap: Bootstrap.config(),
          protocol: Config.literal("StateOfTheWorld", "Incremental")("XDS_PROTOCOL"),
          resourceTimeout: Config.duration("XDS_TIMEOUT")
        }).pipe(Layer.provideMerge(ScriptedServer.layer))
      ),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(variables)))
    )

  it.effect("makes a client", () =>
    Effect.gen(function* () {
      const streams = yield* client([
        ["GRPC_XDS_BOOTSTRAP_CONFIG", json],
        ["XDS_PROTOCOL", "Incremental"],
        ["XDS_TIMEOUT", "3 seconds"]
      ])
      expect(streams).toBe(0)
    })
  )

  it.effect("or says which variable is missing, and what is wrong in it", () =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip(
        client([
          ["GRPC_XDS_BOOTSTRAP_CONFIG", json],
          ["XDS_TIMEOUT", "3 seconds"]
        ])
      )
      expect(JSON.stringify(missing)).toContain("XDS_PROTOCOL")
      const wrong = yield* Effect.flip(
        client([
          ["GRPC_XDS_BOOTSTRAP_CONFIG", json.replace("xds:1", "")],
          ["XDS_PROTOCOL", "Incremental"],
          ["XDS_TIMEOUT", "3 seconds"]
        ])
      )
      expect(JSON.stringify(wrong)).toContain("field xds_servers[0].server_uri")
    })
  )
})

it("errors are data: as JSON they say what happened", () => {
  const fields = { typeUrl: "of.nobody", name: "a", reason: "it is gone" }
  for (const error of [
    new XdsClient.ResourceDoesNotExist(fields),
    new XdsClient.ResourceUnavailable(fields),
    new XdsClient.DecoderConflict({ typeUrl: "of.nobody" }),
    new Bootstrap.BootstrapError({ source: "a file", mistakes: [{ field: "node", reason: "is a number" }] }),
    new CertificateProvider.CertificateError({ path: "/tls.crt", reason: "no disk" })
  ]) {
    const data: unknown = JSON.parse(JSON.stringify(error))
    expect(data).toEqual({ ...Object.fromEntries(Object.entries(error)), _tag: error._tag })
  }
})
