/**
 * What the commands of a client talk to: a server over gRPC or REST, or files. The form of the address says which.
 *
 * @since 0.1.0
 */
import * as Options from "@effect/cli/Options"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { ClientTransport } from "@effect-xds/transport"
import { ConnectClient } from "@effect-xds/transport-connect"
import { FileClient } from "@effect-xds/transport-filesystem"
import { RestClient } from "@effect-xds/transport-rest"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { CommandFailure } from "./CommandFailure.js"

const optionalText = (name: string, description: string, pseudo = "TEXT") =>
  Options.text(name).pipe(Options.withPseudoName(pseudo), Options.withDescription(description), Options.optional)

/**
 * The options of every command that is a client.
 *
 * @since 0.1.0
 */
export const options = {
  protocol: Options.choice("protocol", ["sotw", "delta"]).pipe(
    Options.withDescription("Over gRPC: state of the world or incremental. Default: sotw"),
    Options.withDefault("sotw")
  ),
  separate: Options.boolean("separate").pipe(
    Options.withDescription("Over gRPC: a stream for each type instead of one for all (ADS)")
  ),
  nodeId: Options.text("node-id").pipe(
    Options.withDescription("Who asks; servers choose by it. Default: effect-xds"),
    Options.withDefault("effect-xds")
  ),
  nodeCluster: Options.text("node-cluster").pipe(
    Options.withDescription("The cluster of who asks; servers choose by it. Default: none"),
    Options.withDefault("")
  ),
  metadata: Options.keyValueMap("metadata").pipe(
    Options.withPseudoName("KEY=VALUE"),
    Options.withDescription("Metadata of who asks, once for each"),
    Options.optional
  ),
  timeout: Options.float("timeout").pipe(
    Options.withPseudoName("SECONDS"),
    Options.withDescription("How long a resource may take to come. Default: 5"),
    Options.filterMap(
      (seconds) => (seconds > 0 && seconds <= 86_400 ? Option.some(seconds) : Option.none()),
      "--timeout is a number of seconds above 0"
    ),
    Options.withDefault(5)
  ),
  tls: Options.boolean("tls").pipe(Options.withDescription("TLS, with the authorities of this system")),
  tlsCa: optionalText("tls-ca", "TLS, with the authorities in this PEM file", "FILE"),
  tlsCert: optionalText("tls-cert", "The client's certificate, a PEM file, for mTLS", "FILE"),
  tlsKey: optionalText("tls-key", "The key of the client's certificate, a PEM file", "FILE"),
  tlsServerName: optionalText("tls-server-name", "The name in the server's certificate. Default: the host", "NAME")
}

/**
 * What the options say.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly protocol: "sotw" | "delta"
  readonly separate: boolean
  readonly nodeId: string
  readonly nodeCluster: string
  readonly metadata: Option.Option<HashMap.HashMap<string, string>>
  /** Seconds. */
  readonly timeout: number
  readonly tls: boolean
  readonly tlsCa: Option.Option<string>
  readonly tlsCert: Option.Option<string>
  readonly tlsKey: Option.Option<string>
  readonly tlsServerName: Option.Option<string>
}

/**
 * What an address may be, for the help.
 *
 * @since 0.1.0
 */
export const addressHelp = "host:port for gRPC, http://host:port for REST, path:DIRECTORY or path:FILE for files"

const kindOf = (address: string): "grpc" | "rest" | "files" =>
  /^https?:\/\//.test(address) ? "rest" : address.startsWith("path:") ? "files" : "grpc"

const transportOf = (address: string): ClientTransport.Service => {
  switch (kindOf(address)) {
    case "rest":
      // Held polls, so that a change is seen at once where the server does that.
      return RestClient.make({ refreshDelay: 500, wait: 30_000 })
    case "files":
      return FileClient.make()
    case "grpc":
      return ConnectClient.make()
  }
}

const credentialsOf = (address: string, config: Config): ClientTransport.Credentials => {
  const [ca, cert, key, serverName] = [config.tlsCa, config.tlsCert, config.tlsKey, config.tlsServerName].map(
    Option.getOrUndefined
  )
  const isTls =
    config.tls || address.startsWith("https://") || [ca, cert, key, serverName].some((each) => each !== undefined)
  return isTls ? { _tag: "Tls", ca, cert, key, serverName } : ClientTransport.insecure
}

/** What the client has to say on its own: one line each, on the standard error. */
const stderrLogger = Logger.make<unknown, void>(({ message }) => {
  const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
  process.stderr.write(`effect-xds: ${parts.map(String).join(" ")}\n`)
})

/**
 * A client of a server, for as long as the scope is open.
 *
 * @param quiet whether the client says nothing on its own, since the command tells what went wrong
 * @since 0.1.0
 */
export const connect = (
  address: string,
  config: Config,
  quiet: boolean
): Effect.Effect<XdsClient.Service, CommandFailure, Scope.Scope> => {
  const isGrpc = kindOf(address) === "grpc"
  const metadata = Option.map(config.metadata, (pairs) => Object.fromEntries(HashMap.toEntries(pairs)))
  return XdsClient.make({
    bootstrap: Bootstrap.make({
      // Told is what the server says: what it deletes is gone.
      servers: [{ address, credentials: credentialsOf(address, config), failOnDataErrors: true }],
      node: {
        id: config.nodeId,
        cluster: config.nodeCluster,
        ...(Option.isSome(metadata) && { metadata: metadata.value })
      }
    }),
    protocol: isGrpc && config.protocol === "delta" ? "Incremental" : "StateOfTheWorld",
    aggregated: kindOf(address) === "files" || (isGrpc && !config.separate),
    resourceTimeout: config.timeout * 1000
  }).pipe(
    Effect.provideService(ClientTransport.ClientTransport, transportOf(address)),
    Effect.mapError(({ message }) => new CommandFailure({ kind: "usage", message })),
    Effect.provide(Logger.replace(Logger.defaultLogger, quiet ? Logger.none : stderrLogger))
  )
}

/**
 * Says on the standard error that a command waits, if it still does after a second. It is no news in a pipe.
 *
 * @since 0.1.0
 */
export const saying = <A, E, R>(what: string, waiting: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  if (!process.stderr.isTTY) return waiting
  const say = Effect.delay(
    Effect.sync(() => process.stderr.write(`${what} …\n`)),
    "1 second"
  )
  return Effect.raceFirst(waiting, Effect.zipRight(say, Effect.never))
}
