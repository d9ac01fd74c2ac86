/**
 * The bootstrap of a client: its servers, node and authorities. The JSON form is gRPC's, so one file serves a gRPC
 * application and this client.
 *
 * @see https://github.com/grpc/proposal/blob/master/A27-xds-global-load-balancing.md
 * @see https://github.com/grpc/proposal/blob/master/A47-xds-federation.md
 * @see https://github.com/grpc/proposal/blob/master/A65-xds-mtls-creds-in-bootstrap.md
 * @since 0.1.0
 */
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf"
import { create, fromJson } from "@bufbuild/protobuf"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { readText } from "./internal/FileSystem.js"

/**
 * A server of a bootstrap, with its server features.
 *
 * @since 0.1.0
 */
export interface Server extends ClientTransport.Server {
  /** `fail_on_data_errors` (A88): a resource that was rejected, deleted or refused is no longer used. */
  readonly failOnDataErrors: boolean
  /**
   * `resource_timer_is_transient_error` (A88): when the resource timer fires, the error is UNAVAILABLE, not "does not
   * exist".
   */
  readonly resourceTimerIsTransientError: boolean
}

/**
 * Certificate files that are read again while the client runs; see {@link CertificateProvider}.
 *
 * @since 0.1.0
 */
export interface FileWatcher {
  readonly certificateFile: string | undefined
  readonly privateKeyFile: string | undefined
  readonly caCertificateFile: string | undefined
  readonly refreshInterval: Duration.DurationInput
}

/**
 * The servers of an authority (A47).
 *
 * @since 0.1.0
 */
export interface Authority {
  /** In the order in which they are tried. Empty: the servers of the bootstrap. */
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
 * A mistake in a bootstrap: the field, and the reason. Values are not repeated: one may be a misplaced password.
 *
 * @since 0.1.0
 */
export interface Mistake {
  /** `xds_servers[0].server_uri`; empty: the whole text. */
  readonly field: string
  readonly reason: string
}

const wordsOf = ({ field, reason }: Mistake): string => (field === "" ? reason : `field ${field}: ${reason}`)

/**
 * A bootstrap that cannot be used, with all of its mistakes.
 *
 * @since 0.1.0
 */
export class BootstrapError extends Data.TaggedError("BootstrapError")<{
  /** `GRPC_XDS_BOOTSTRAP (/etc/xds.json)`, `the given text`. */
  readonly source: string
  /** In the order of the text; at least one. */
  readonly mistakes: ReadonlyArray<Mistake>
}> {
  override get message(): string {
    const [first, ...more] = this.mistakes
    const from = `xDS bootstrap from ${this.source}`
    if (first === undefined || more.length === 0) {
      return first === undefined ? from : `${from}${first.field === "" ? ": " : ", "}${wordsOf(first)}`
    }
    return [`${from}: ${this.mistakes.length} mistakes`, ...this.mistakes.map(wordsOf)].join("\n  ")
  }
}

/**
 * Input of {@link make} for one server.
 *
 * @since 0.1.0
 */
export interface ServerInput extends ClientTransport.Server {
  /** See {@link Server}. Default: false. */
  readonly failOnDataErrors?: boolean | undefined
  /** See {@link Server}. Default: false. */
  readonly resourceTimerIsTransientError?: boolean | undefined
}

/**
 * A bootstrap from values, for programs without a bootstrap file.
 *
 * @example
 * import { Bootstrap } from "@effect-xds/client"
 *
 * const bootstrap = Bootstrap.make({ servers: ["127.0.0.1:18000"], node: { id: "app-1", cluster: "edge" } })
 *
 * @since 0.1.0
 */
export const make = (options: {
  /** Addresses (without TLS), or servers with their options. */
  readonly servers: ReadonlyArray<string | ServerInput>
  readonly node?: MessageInitShape<typeof NodeSchema> | undefined
  readonly authorities?: ReadonlyMap<string, Authority> | undefined
}): Bootstrap => ({
  servers: options.servers.map((server) =>
    typeof server === "string"
      ? { address: server, credentials: ClientTransport.insecure, ...noFeatures }
      : {
          ...server,
          failOnDataErrors: server.failOnDataErrors ?? false,
          resourceTimerIsTransientError: server.resourceTimerIsTransientError ?? false
        }
  ),
  node: withAgent(create(NodeSchema, options.node)),
  authorities: options.authorities ?? new Map(),
  certificateProviders: new Map(),
  clientDefaultListenerResourceNameTemplate: undefined,
  serverListenerResourceNameTemplate: undefined
})

const noFeatures = { failOnDataErrors: false, resourceTimerIsTransientError: false }

const agentName = "effect-xds"

/** Adds the user agent and the client features. TTLs in state of the world need `Resource` wrappers. */
const withAgent = (node: Node): Node => ({
  ...node,
  userAgentName: node.userAgentName === "" ? agentName : node.userAgentName,
  clientFeatures: Array.from(
    new Set([...node.clientFeatures, "xds.config.supports-resource-ttl", "xds.config.supports-resource-in-sotw"])
  )
})

// The JSON form. Unknown fields are ignored, as gRFC A27 says.

const serverFeature = {
  failOnDataErrors: "fail_on_data_errors",
  resourceTimerIsTransientError: "resource_timer_is_transient_error"
}

const kindOf = (value: unknown): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "a list"
      : typeof value === "object"
        ? "an object"
        : `a ${typeof value}`

/** An object from `JSON.parse` holds only JSON. */
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const reasonOf = (cause: unknown): string => Redaction.ofParser(Reason.of(cause))

/** A value and its path in the text. A missing member has the value `undefined`. */
interface Place {
  readonly value: unknown
  readonly field: string
}

/** Collects all mistakes, and reads on after each. */
class Reader {
  readonly mistakes: Array<Mistake> = []

  bootstrap(given: JsonObject): Bootstrap {
    const member = (name: string) => memberOf(given, { value: given, field: "" }, name)
    return {
      servers: this.servers(member("xds_servers"), true),
      node: this.node(member("node")),
      authorities: this.map(member("authorities"), (name, place) => this.authority(name, place)),
      certificateProviders: this.map(member("certificate_providers"), (_name, place) => this.provider(place)),
      clientDefaultListenerResourceNameTemplate: this.text(member("client_default_listener_resource_name_template")),
      serverListenerResourceNameTemplate: this.text(member("server_listener_resource_name_template"))
    }
  }

  tell({ field }: Place, reason: string): void {
    this.mistakes.push({ field, reason })
  }

  private wrongKind(place: Place, wanted: string): undefined {
    this.tell(place, place.value === undefined ? "is missing" : `is ${kindOf(place.value)}, not ${wanted}`)
    return undefined
  }

  private object(place: Place): JsonObject | undefined {
    return isObject(place.value) ? place.value : this.wrongKind(place, "an object")
  }

  /** The elements; empty if the value is no list. */
  private list(place: Place): ReadonlyArray<Place> {
    const { field, value } = place
    if (!Array.isArray(value)) {
      this.wrongKind(place, "a list")
      return []
    }
    return value.map((value: unknown, index) => ({ value, field: `${field}[${index}]` }))
  }

  private map<A>(place: Place, read: (name: string, place: Place) => A): ReadonlyMap<string, A> {
    const given = place.value === undefined ? {} : (this.object(place) ?? {})
    return new Map(Object.keys(given).map((name) => [name, read(name, memberOf(given, place, name))]))
  }

  private text(place: Place): string | undefined {
    return place.value === undefined || typeof place.value === "string"
      ? place.value
      : this.wrongKind(place, "a string")
  }

  private requiredText(place: Place): string {
    const { value } = place
    if (typeof value === "string") return value
    this.wrongKind(place, "a string")
    return ""
  }

  private node(place: Place): Node {
    const given = place.value === undefined ? {} : this.object(place)
    if (given === undefined) return create(NodeSchema)
    try {
      return fromJson(NodeSchema, given, { ignoreUnknownFields: true })
    } catch (cause) {
      this.tell(place, reasonOf(cause))
      return create(NodeSchema)
    }
  }

  private authority(name: string, place: Place): Authority {
    const given = this.object(place) ?? {}
    const list = memberOf(given, place, "xds_servers")
    const servers = list.value === undefined ? [] : this.servers(list, false)
    const at = memberOf(given, place, "client_listener_resource_name_template")
    const template = this.text(at)
    if (template !== undefined && !template.startsWith(`xdstp://${name}/`)) {
      this.tell(at, `must begin with xdstp://${name}/`)
    }
    return { servers, clientListenerResourceNameTemplate: template }
  }

  private servers(place: Place, isNeeded: boolean): ReadonlyArray<Server> {
    const given = this.list(place)
    if (isNeeded && Array.isArray(place.value) && given.length === 0)
      this.tell(place, "names no server; give one at least")
    return given.map((each) => this.server(each))
  }

  private server(place: Place): Server {
    const given = this.object(place)
    if (given === undefined) return { address: "", credentials: ClientTransport.insecure, ...noFeatures }
    const at = memberOf(given, place, "server_uri")
    const address = this.requiredText(at)
    if (at.value === "") this.tell(at, "is empty; give host:port")
    const credentials = this.credentials(memberOf(given, place, "channel_creds"))
    const features = memberOf(given, place, "server_features")
    const names = features.value === undefined ? [] : this.list(features).map(({ value }) => value)
    return {
      address,
      credentials,
      failOnDataErrors: names.includes(serverFeature.failOnDataErrors),
      resourceTimerIsTransientError: names.includes(serverFeature.resourceTimerIsTransientError)
    }
  }

  /** The first supported credentials type. */
  private credentials(place: Place): ClientTransport.Credentials {
    const before = this.mistakes.length
    const given = this.list(place).map((each) => {
      const fields = this.object(each)
      if (fields === undefined) return { type: "", config: each }
      return { type: this.requiredText(memberOf(fields, each, "type")), config: memberOf(fields, each, "config") }
    })
    // A list without a usable type is already reported.
    if (this.mistakes.length > before) return ClientTransport.insecure
    for (const { config, type } of given) {
      if (type === "insecure") return ClientTransport.insecure
      if (type !== "tls") continue
      const { caCertificateFile, certificateFile, privateKeyFile } = this.files(config)
      return { _tag: "Tls", ca: caCertificateFile, cert: certificateFile, key: privateKeyFile }
    }
    const types = given.length === 0 ? "names none" : `none of ${given.map(({ type }) => type).join(", ")} is supported`
    this.tell(place, `${types}; insecure and tls are`)
    return ClientTransport.insecure
  }

  private provider(place: Place): FileWatcher {
    const given = this.object(place) ?? {}
    const at = memberOf(given, place, "plugin_name")
    const plugin = isObject(place.value) ? this.requiredText(at) : ""
    if (plugin === "file_watcher") return this.files(memberOf(given, place, "config"))
    if (typeof at.value === "string") this.tell(at, `${plugin} is not supported; file_watcher is`)
    return noFiles
  }

  private files(place: Place): FileWatcher {
    const given = place.value === undefined || place.value === null ? {} : this.object(place)
    if (given === undefined) return noFiles
    const certificateFile = this.text(memberOf(given, place, "certificate_file"))
    const privateKeyFile = this.text(memberOf(given, place, "private_key_file"))
    if ((given["certificate_file"] === undefined) !== (given["private_key_file"] === undefined)) {
      this.tell(place, "certificate_file and private_key_file go together: give both or none")
    }
    const at = memberOf(given, place, "refresh_interval")
    const interval = this.text(at) ?? "600s"
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(interval)?.[1]
    if (seconds === undefined) this.tell(at, `${JSON.stringify(interval)} is not a duration such as "600s"`)
    return {
      certificateFile,
      privateKeyFile,
      caCertificateFile: this.text(memberOf(given, place, "ca_certificate_file")),
      refreshInterval: Duration.seconds(Number(seconds ?? 600))
    }
  }
}

const memberOf = (object: JsonObject, { field }: Place, name: string): Place => ({
  value: Object.hasOwn(object, name) ? object[name] : undefined,
  field: field === "" ? name : `${field}.${name}`
})

const noFiles: FileWatcher = {
  certificateFile: undefined,
  privateKeyFile: undefined,
  caCertificateFile: undefined,
  refreshInterval: Duration.seconds(600)
}

/** The bootstrap, or all mistakes of the text. */
const read = (text: string): Either.Either<Bootstrap, ReadonlyArray<Mistake>> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    return Either.left([{ field: "", reason: `not JSON: ${reasonOf(cause)}` }])
  }
  const reader = new Reader()
  // Missing members are not reported as well.
  if (!isObject(value)) return Either.left([{ field: "", reason: `is ${kindOf(value)}, not an object` }])
  const bootstrap = reader.bootstrap(value)
  return reader.mistakes.length === 0 ? Either.right(bootstrap) : Either.left(reader.mistakes)
}

/**
 * A bootstrap from JSON text.
 *
 * @since 0.1.0
 */
export const fromText = (text: string, source = "the given text"): Either.Either<Bootstrap, BootstrapError> =>
  Either.mapBoth(read(text), {
    onLeft: (mistakes) => new BootstrapError({ source, mistakes }),
    onRight: (bootstrap) => ({ ...bootstrap, node: withAgent(bootstrap.node) })
  })

/**
 * A bootstrap from JSON text in a `ConfigProvider`, by default in an environment variable.
 *
 * @since 0.1.0
 */
export const config = (name = "GRPC_XDS_BOOTSTRAP_CONFIG"): Config.Config<Bootstrap> =>
  Config.mapOrFail(Config.string(name), (text) =>
    Either.mapLeft(fromText(text, name), ({ message }) => ConfigError.InvalidData([name], message))
  )

/**
 * A bootstrap from a file.
 *
 * @since 0.1.0
 */
export const fromFile = (
  path: string,
  source = path
): Effect.Effect<Bootstrap, BootstrapError, FileSystem.FileSystem> =>
  readText(path).pipe(
    Effect.mapError(
      (message) =>
        new BootstrapError({ source, mistakes: [{ field: "", reason: `the file cannot be read: ${message}` }] })
    ),
    Effect.flatMap((text) => fromText(text, source))
  )

/**
 * The bootstrap from the environment, as gRPC reads it: the file that `GRPC_XDS_BOOTSTRAP` names, else the JSON in
 * `GRPC_XDS_BOOTSTRAP_CONFIG`. If the file cannot be used, this fails, and the second variable is not read.
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
      mistakes: [
        { field: "", reason: "neither GRPC_XDS_BOOTSTRAP (a path) nor GRPC_XDS_BOOTSTRAP_CONFIG (JSON) is set" }
      ]
    })
  }
)
