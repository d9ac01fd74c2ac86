/**
 * What a client is told before it knows anything: its servers, its node, its authorities. The form is gRPC's, so one file
 * serves a gRPC application and this client.
 *
 * @see https://github.com/grpc/proposal/blob/master/A27-xds-global-load-balancing.md
 * @see https://github.com/grpc/proposal/blob/master/A47-xds-federation.md
 * @see https://github.com/grpc/proposal/blob/master/A65-xds-mtls-creds-in-bootstrap.md
 * @since 0.1.0
 */
import type { JsonValue, MessageInitShape } from "@bufbuild/protobuf"
import { create, fromJson } from "@bufbuild/protobuf"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Config from "effect/Config"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"

/**
 * A server and what is known of it.
 *
 * @since 0.1.0
 */
export interface Server extends ClientTransport.Server {
  /** `fail_on_data_errors` (A88): a resource that was rejected, deleted or refused is not used any more. */
  readonly failOnDataErrors: boolean
  /** `resource_timer_is_transient_error` (A88): silence of the server means that it is slow, not that there is nothing. */
  readonly resourceTimerIsTransientError: boolean
}

/**
 * Files with a certificate that are read again while the client runs; see {@link CertificateProvider}.
 *
 * @since 0.1.0
 */
export interface FileWatcher {
  readonly certificateFile: string | undefined
  readonly privateKeyFile: string | undefined
  readonly caCertificateFile: string | undefined
  readonly refreshInterval: Duration.Duration
}

/**
 * Whom to ask for the resources of an authority.
 *
 * @since 0.1.0
 */
export interface Authority {
  /** In the order in which they are tried; empty: those of the bootstrap. */
  readonly servers: ReadonlyArray<Server>
  /** `client_listener_resource_name_template`. */
  readonly clientListenerResourceNameTemplate: string | undefined
}

/**
 * A bootstrap.
 *
 * @since 0.1.0
 */
export interface Bootstrap {
  /** In the order in which they are tried (A71); at least one. */
  readonly servers: ReadonlyArray<Server>
  readonly node: Node
  readonly authorities: ReadonlyMap<string, Authority>
  readonly certificateProviders: ReadonlyMap<string, FileWatcher>
  /** `client_default_listener_resource_name_template`. */
  readonly clientDefaultListenerResourceNameTemplate: string | undefined
  /** `server_listener_resource_name_template`. */
  readonly serverListenerResourceNameTemplate: string | undefined
}

/**
 * A bootstrap that cannot be used: which field of which source, and why.
 *
 * @since 0.1.0
 */
export class BootstrapError extends Data.TaggedError("BootstrapError")<{
  /** `GRPC_XDS_BOOTSTRAP (/etc/xds.json)`, `the given text`. */
  readonly source: string
  /** `xds_servers[0].server_uri`; empty: the whole. */
  readonly field: string
  readonly reason: string
}> {
  override get message(): string {
    return `xDS bootstrap from ${this.source}${this.field === "" ? "" : `, field ${this.field}`}: ${this.reason}`
  }
}

/**
 * A bootstrap from values, for programs that have no file.
 *
 * @example
 * import { Bootstrap } from "@effect-xds/client"
 *
 * const bootstrap = Bootstrap.make({ servers: ["127.0.0.1:18000"], node: { id: "app-1", cluster: "edge" } })
 *
 * @since 0.1.0
 */
export const make = (options: {
  /** Addresses, in the clear, or whole servers. */
  readonly servers: ReadonlyArray<string | (ClientTransport.Server & Partial<Server>)>
  readonly node?: MessageInitShape<typeof NodeSchema> | undefined
  readonly authorities?: ReadonlyMap<string, Authority> | undefined
}): Bootstrap => ({
  servers: options.servers.map((server) =>
    typeof server === "string"
      ? { address: server, credentials: ClientTransport.insecure, ...noFeatures }
      : { ...noFeatures, ...server }
  ),
  node: withAgent(create(NodeSchema, options.node)),
  authorities: options.authorities ?? new Map(),
  certificateProviders: new Map(),
  clientDefaultListenerResourceNameTemplate: undefined,
  serverListenerResourceNameTemplate: undefined
})

const noFeatures = { failOnDataErrors: false, resourceTimerIsTransientError: false }

const agentName = "effect-xds"

/** Says who asks, and what it can do: a TTL in state of the world needs a wrapper around the resource. */
const withAgent = (node: Node): Node => ({
  ...node,
  userAgentName: node.userAgentName === "" ? agentName : node.userAgentName,
  clientFeatures: Array.from(
    new Set([...node.clientFeatures, "xds.config.supports-resource-ttl", "xds.config.supports-resource-in-sotw"])
  )
})

// The JSON. Unknown fields are passed over, as the specification of the bootstrap wants it.

const Credentials = Schema.Struct({
  type: Schema.String,
  config: Schema.optional(Schema.Unknown)
})

const ServerJson = Schema.Struct({
  server_uri: Schema.NonEmptyString,
  channel_creds: Schema.NonEmptyArray(Credentials),
  server_features: Schema.optionalWith(Schema.Array(Schema.Unknown), { default: () => [] })
})

const Text = Schema.optional(Schema.String)

const BootstrapJson = Schema.Struct({
  xds_servers: Schema.NonEmptyArray(ServerJson),
  node: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  authorities: Schema.optionalWith(
    Schema.Record({
      key: Schema.String,
      value: Schema.Struct({
        xds_servers: Schema.optionalWith(Schema.Array(ServerJson), { default: () => [] }),
        client_listener_resource_name_template: Text
      })
    }),
    { default: () => ({}) }
  ),
  certificate_providers: Schema.optionalWith(
    Schema.Record({
      key: Schema.String,
      value: Schema.Struct({ plugin_name: Schema.String, config: Schema.optional(Schema.Unknown) })
    }),
    { default: () => ({}) }
  ),
  client_default_listener_resource_name_template: Text,
  server_listener_resource_name_template: Text
})

const Files = Schema.Struct({
  certificate_file: Text,
  private_key_file: Text,
  ca_certificate_file: Text,
  refresh_interval: Text
})

const ServerFeature = {
  failOnDataErrors: "fail_on_data_errors",
  resourceTimerIsTransientError: "resource_timer_is_transient_error"
}

type Path = ReadonlyArray<PropertyKey>

const fieldOf = (path: Path): string =>
  path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? String(key) : `${text}.${String(key)}`),
    ""
  )

type Decoded<A> = Either.Either<A, BootstrapError>

/** Reads one bootstrap; `source` is for the words of errors. */
class Reader {
  constructor(private readonly source: string) {}

  fail(path: Path, reason: string): Decoded<never> {
    return Either.left(new BootstrapError({ source: this.source, field: fieldOf(path), reason }))
  }

  decode<A, I>(schema: Schema.Schema<A, I>, value: unknown, path: Path): Decoded<A> {
    return Either.mapLeft(Schema.decodeUnknownEither(schema)(value), (error) => {
      const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
      const field = fieldOf([...path, ...(issue?.path ?? [])])
      return new BootstrapError({ source: this.source, field, reason: issue?.message ?? error.message })
    })
  }

  read(text: string): Decoded<Bootstrap> {
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch (cause) {
      return this.fail([], `not JSON: ${cause instanceof Error ? cause.message : String(cause)}`)
    }
    return Either.gen(this, function* () {
      const given = yield* this.decode(BootstrapJson, json, [])
      const authorities = new Map<string, Authority>()
      for (const [name, authority] of Object.entries(given.authorities)) {
        const template = authority.client_listener_resource_name_template
        if (template !== undefined && !template.startsWith(`xdstp://${name}/`)) {
          const path = ["authorities", name, "client_listener_resource_name_template"]
          return yield* this.fail(path, `must begin with xdstp://${name}/`)
        }
        authorities.set(name, {
          servers: yield* this.servers(authority.xds_servers, ["authorities", name, "xds_servers"]),
          clientListenerResourceNameTemplate: template
        })
      }
      const certificateProviders = new Map<string, FileWatcher>()
      for (const [name, { config, plugin_name }] of Object.entries(given.certificate_providers)) {
        const path = ["certificate_providers", name]
        if (plugin_name !== "file_watcher") {
          return yield* this.fail([...path, "plugin_name"], `${plugin_name} is not supported; file_watcher is`)
        }
        certificateProviders.set(name, yield* this.files(config, [...path, "config"]))
      }
      return {
        servers: yield* this.servers(given.xds_servers, ["xds_servers"]),
        node: yield* this.node(given.node ?? {}),
        authorities,
        certificateProviders,
        clientDefaultListenerResourceNameTemplate: given.client_default_listener_resource_name_template,
        serverListenerResourceNameTemplate: given.server_listener_resource_name_template
      }
    })
  }

  private node(json: Readonly<Record<string, unknown>>): Decoded<Node> {
    return Either.flatMap(this.decode(Json, json, ["node"]), (value) => {
      try {
        return Either.right(withAgent(fromJson(NodeSchema, value, { ignoreUnknownFields: true })))
      } catch (cause) {
        return this.fail(["node"], cause instanceof Error ? cause.message : String(cause))
      }
    })
  }

  private servers(given: ReadonlyArray<typeof ServerJson.Type>, path: Path): Decoded<ReadonlyArray<Server>> {
    return Either.all(
      given.map(({ channel_creds, server_features, server_uri }, index) =>
        Either.map(this.credentials(channel_creds, [...path, index, "channel_creds"]), (credentials) => ({
          address: server_uri,
          credentials,
          failOnDataErrors: server_features.includes(ServerFeature.failOnDataErrors),
          resourceTimerIsTransientError: server_features.includes(ServerFeature.resourceTimerIsTransientError)
        }))
      )
    )
  }

  /** The first kind that is supported. */
  private credentials(given: ReadonlyArray<typeof Credentials.Type>, path: Path): Decoded<ClientTransport.Credentials> {
    for (const [index, { config, type }] of given.entries()) {
      if (type === "insecure") return Either.right(ClientTransport.insecure)
      if (type !== "tls") continue
      return Either.map(this.files(config, [...path, index, "config"]), (files) => ({
        _tag: "Tls" as const,
        ca: files.caCertificateFile,
        cert: files.certificateFile,
        key: files.privateKeyFile
      }))
    }
    const types = given.map(({ type }) => type).join(", ")
    return this.fail(path, `none of ${types} is supported; insecure and tls are`)
  }

  private files(config: unknown, path: Path): Decoded<FileWatcher> {
    return Either.flatMap(this.decode(Files, config ?? {}, path), (files) => {
      if ((files.certificate_file === undefined) !== (files.private_key_file === undefined)) {
        return this.fail(path, "certificate_file and private_key_file go together: give both or none")
      }
      const interval = files.refresh_interval ?? "600s"
      const seconds = /^(\d+(?:\.\d+)?)s$/.exec(interval)?.[1]
      if (seconds === undefined) {
        return this.fail([...path, "refresh_interval"], `${JSON.stringify(interval)} is not a duration such as "600s"`)
      }
      return Either.right({
        certificateFile: files.certificate_file,
        privateKeyFile: files.private_key_file,
        caCertificateFile: files.ca_certificate_file,
        refreshInterval: Duration.seconds(Number(seconds))
      })
    })
  }
}

const Json: Schema.Schema<JsonValue> = Schema.Union(
  Schema.Null,
  Schema.Boolean,
  Schema.Number,
  Schema.String,
  Schema.mutable(Schema.Array(Schema.suspend(() => Json))),
  Schema.mutable(Schema.Record({ key: Schema.String, value: Schema.suspend(() => Json) }))
)

/**
 * A bootstrap from JSON text.
 *
 * @since 0.1.0
 */
export const fromText = (text: string, source = "the given text"): Either.Either<Bootstrap, BootstrapError> =>
  new Reader(source).read(text)

/**
 * A bootstrap from a file.
 *
 * @since 0.1.0
 */
export const fromFile = (
  path: string,
  source = path
): Effect.Effect<Bootstrap, BootstrapError, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const text = yield* Effect.mapError(
      files.readFileString(path),
      (error) => new BootstrapError({ source, field: "", reason: `the file cannot be read: ${error.message}` })
    )
    return yield* fromText(text, source)
  })

/**
 * A bootstrap from where gRPC looks for it: the file that `GRPC_XDS_BOOTSTRAP` names, else the JSON in
 * `GRPC_XDS_BOOTSTRAP_CONFIG`. A file that cannot be used is an error and not a reason to look further.
 *
 * @since 0.1.0
 */
export const fromEnvironment: Effect.Effect<Bootstrap, BootstrapError, FileSystem.FileSystem> = Effect.gen(
  function* () {
    const variable = (name: string) =>
      Effect.orElseSucceed(
        Effect.map(
          Config.string(name),
          Option.liftPredicate((text) => text !== "")
        ),
        () => Option.none<string>()
      )
    const path = yield* variable("GRPC_XDS_BOOTSTRAP")
    if (Option.isSome(path)) return yield* fromFile(path.value, `GRPC_XDS_BOOTSTRAP (${path.value})`)
    const text = yield* variable("GRPC_XDS_BOOTSTRAP_CONFIG")
    if (Option.isSome(text)) return yield* fromText(text.value, "GRPC_XDS_BOOTSTRAP_CONFIG")
    return yield* new BootstrapError({
      source: "the environment",
      field: "",
      reason: "neither GRPC_XDS_BOOTSTRAP (a path) nor GRPC_XDS_BOOTSTRAP_CONFIG (JSON) is set"
    })
  }
)
