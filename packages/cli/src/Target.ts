/**
 * What the commands of a client talk to: a server over gRPC or REST, or files. The form of the address says which.
 *
 * @since 0.1.0
 */
import * as Bootstrap from "@effect-xds/client/Bootstrap"
import * as XdsClient from "@effect-xds/client/XdsClient"
import type { Api } from "@effect-xds/proto/ResourceType"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import { CommandFailure } from "./CommandFailure.js"
import * as ErrorLine from "./ErrorLine.js"
import type * as ResourceText from "./ResourceText.js"

/**
 * What the options say.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly api: Api
  readonly protocol: "sotw" | "delta"
  readonly separate: boolean
  readonly nodeId: string
  readonly nodeCluster: string
  readonly metadata: Readonly<Record<string, string>>
  /** Seconds. */
  readonly timeout: number
  readonly tls: boolean
  readonly tlsCa: string | undefined
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  readonly tlsServerName: string | undefined
}

/**
 * What the commands that ask for resources are asked.
 *
 * @since 0.1.0
 */
export interface Query extends Config {
  readonly address: string
  readonly type: string
  readonly names: ReadonlyArray<string>
  readonly output: ResourceText.Format
  readonly showSecrets: boolean
}

const kindOf = (address: string): "grpc" | "rest" | "files" =>
  /^https?:\/\//.test(address) ? "rest" : address.startsWith("path:") ? "files" : "grpc"

/** Of the transports only the one that is needed is loaded. */
const transportOf = async (address: string, api: Api): Promise<ClientTransport.Service> => {
  switch (kindOf(address)) {
    case "rest": {
      const RestClient = await import("@effect-xds/transport-rest/RestClient")
      // Held polls, so that a change is seen at once where the server does that.
      return RestClient.make({ refreshDelay: 500, wait: 30_000 })
    }
    case "files": {
      const FileClient = await import("@effect-xds/transport-filesystem/FileClient")
      return FileClient.make()
    }
    case "grpc": {
      const ConnectClient = await import("@effect-xds/transport-connect/ConnectClient")
      return ConnectClient.make({ api })
    }
  }
}

const credentialsOf = (address: string, config: Config): ClientTransport.Credentials => {
  const [ca, cert, key, serverName] = [config.tlsCa, config.tlsCert, config.tlsKey, config.tlsServerName]
  const isTls =
    config.tls || address.startsWith("https://") || [ca, cert, key, serverName].some((each) => each !== undefined)
  return isTls ? { _tag: "Tls", ca, cert, key, serverName } : ClientTransport.insecure
}

/** One line each, on the standard error. */
const toStderr = (line: string): void => ErrorLine.say(`effect-xds: ${line}`)

/** What the client has to say on its own, line by line. */
const loggerTo = (say: (line: string) => void): Logger.Logger<unknown, void> =>
  Logger.make(({ message }) => {
    const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
    say(parts.map(String).join(" "))
  })

/** Whether a line of the client tells of resources that it does not take. */
const isRejection = (line: string): boolean => line.includes(" is rejected: ")

/**
 * The resources that a client did not take, in its words: of a command that tells itself what else went wrong.
 *
 * @since 0.1.0
 */
export class Rejections {
  private readonly lines: Array<string> = []

  readonly say = (line: string): void => {
    if (isRejection(line)) this.lines.push(line)
  }

  /** Fails where what came is not all that the server has. */
  readonly check: Effect.Effect<void, CommandFailure> = Effect.suspend(() =>
    this.lines.length === 0
      ? Effect.void
      : Effect.fail(new CommandFailure({ kind: "failed", message: this.lines.join("\n") }))
  )
}

/**
 * A client of a server, for as long as the scope is open.
 *
 * @param say gets what the client says on its own. Default: it goes to the standard error
 * @since 0.1.0
 */
export const connect = (
  address: string,
  config: Config,
  say: (line: string) => void = toStderr
): Effect.Effect<XdsClient.Service, CommandFailure, Scope.Scope> => {
  const isGrpc = kindOf(address) === "grpc"
  return XdsClient.make({
    bootstrap: Bootstrap.make({
      // Told is what the server says: what it deletes is gone.
      servers: [{ address, credentials: credentialsOf(address, config), failOnDataErrors: true }],
      node: {
        id: config.nodeId,
        cluster: config.nodeCluster,
        ...(Object.keys(config.metadata).length > 0 && { metadata: config.metadata })
      }
    }),
    protocol: isGrpc && config.protocol === "delta" ? "Incremental" : "StateOfTheWorld",
    aggregated: kindOf(address) === "files" || (isGrpc && !config.separate),
    resourceTimeout: config.timeout * 1000
  }).pipe(
    Effect.provideServiceEffect(
      ClientTransport.ClientTransport,
      Effect.promise(() => transportOf(address, config.api))
    ),
    Effect.mapError(({ message }) => new CommandFailure({ kind: "usage", message })),
    Effect.provide(Logger.replace(Logger.defaultLogger, loggerTo(say)))
  )
}
