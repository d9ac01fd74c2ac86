/**
 * What the commands of a client talk to: a server over gRPC or REST, or files. The form of the address says which.
 *
 * @since 0.1.0
 */
import * as Bootstrap from "@effect-xds/client/Bootstrap"
import * as XdsClient from "@effect-xds/client/XdsClient"
import type { Api, ResourceType } from "@effect-xds/proto/ResourceType"
import * as Reason from "@effect-xds/proto/Reason"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import type { FileStatus } from "@effect-xds/transport-filesystem"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"
import { CommandFailure } from "./CommandFailure.js"
import * as ErrorLine from "./ErrorLine.js"
import * as PathOnDisk from "./PathOnDisk.js"
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

/** Of an address of files. */
const pathOf = (address: string): string | undefined => /^path:(?:\/\/(?=\/))?(.+)$/s.exec(address)?.[1]

interface Transport {
  readonly service: ClientTransport.Service
  /** Of files. */
  readonly status?: Effect.Effect<ReadonlyArray<FileStatus>>
}

/** Of the transports only the one that is needed is loaded. */
const transportOf = async (address: string, { api, timeout }: Config): Promise<Transport> => {
  switch (kindOf(address)) {
    case "rest": {
      const RestClient = await import("@effect-xds/transport-rest/RestClient")
      // Held polls, so that a change is seen at once where the server does that.
      const requestTimeout = Math.max(timeout * 1000, 10_000)
      return { service: RestClient.make({ refreshDelay: 500, wait: 30_000, requestTimeout }) }
    }
    case "files": {
      const FileClient = await import("@effect-xds/transport-filesystem/FileClient")
      const service = FileClient.make()
      return { service, status: service.status }
    }
    case "grpc": {
      const ConnectClient = await import("@effect-xds/transport-connect/ConnectClient")
      // A little less than a command waits, so that it is told why.
      return { service: ConnectClient.make({ api, connectTimeout: timeout * 900 }) }
    }
  }
}

const credentialsOf = (address: string, config: Config): ClientTransport.Credentials => {
  const [ca, cert, key, serverName] = [config.tlsCa, config.tlsCert, config.tlsKey, config.tlsServerName]
  const isTls =
    config.tls || address.startsWith("https://") || [ca, cert, key, serverName].some((each) => each !== undefined)
  return isTls ? { _tag: "Tls", ca, cert, key, serverName } : ClientTransport.insecure
}

/** A file that is not there is no wrong usage. */
const readable = (credentials: Extract<ClientTransport.Credentials, { readonly _tag: "Tls" }>) =>
  Effect.gen(function* () {
    const { ca, cert, key } = credentials
    if ((cert === undefined) !== (key === undefined)) {
      const message = "--tls-cert and --tls-key go together: give both or none"
      return yield* new CommandFailure({ kind: "usage", message })
    }
    const ClientTls = yield* Effect.promise(() => import("@effect-xds/transport-node/ClientTls"))
    const RegularFile = yield* Effect.promise(() => import("@effect-xds/transport-node/RegularFile"))
    for (const [option, file] of [
      ["ca", ca],
      ["cert", cert],
      ["key", key]
    ] as const) {
      if (file === undefined) continue
      yield* Effect.tryPromise({
        try: () => RegularFile.read(file),
        catch: (cause) => failed(`--tls-${option} ${file} cannot be read: ${Reason.of(cause)}`)
      })
    }
    yield* Effect.try({
      try: () => ClientTls.load(credentials),
      catch: (cause) => failed(`TLS cannot be used: ${Reason.of(cause)}`)
    })
  })

/** One line each, on the standard error. */
const toStderr = (line: string): void => ErrorLine.say(`effect-xds: ${ErrorLine.within(line)}`)

/** What the client has to say on its own, line by line. */
const loggerTo = (say: (line: string) => void): Logger.Logger<unknown, void> =>
  Logger.make(({ message }) => {
    const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
    say(parts.map(String).join(" "))
  })

/** Whether a line of the client tells of resources that it does not take. */
const isRejection = (line: string): boolean => line.includes(" is rejected: ")

/** Who asks, in words: what a server chooses by. */
const whoAsks = ({ metadata, nodeCluster, nodeId }: Config): string => {
  const isNamed = nodeCluster !== "" || Object.keys(metadata).length > 0
  const missing = isNamed ? "" : "; if it chooses by the node, name one: --node-cluster, --node-id or --metadata"
  const cluster = nodeCluster === "" ? "no cluster" : `cluster ${JSON.stringify(nodeCluster)}`
  return `node id ${JSON.stringify(nodeId)}, ${cluster}${missing}`
}

/** The options that belong to what a transport says. */
const hintOf = (reason: string, address: string): string => {
  const isRest = kindOf(address) === "rest"
  if (reason.endsWith("may want TLS")) return isRest ? ": https://" : ": --tls, or --tls-ca FILE with its authority"
  if (reason.endsWith("may be in the clear"))
    return isRest ? ": http://, and no --tls" : ": no --tls, nor --tls-ca and the like"
  if (reason.endsWith("give its authority")) return ": --tls-ca FILE"
  if (reason.includes("certificate is not for")) return "; another name is expected with --tls-server-name NAME"
  return /wants? a certificate of this client/.test(reason) ? ": --tls-cert FILE and --tls-key FILE" : ""
}

const failed = (message: string): CommandFailure => new CommandFailure({ kind: "failed", message })

/**
 * A client, and what it cannot tell itself.
 *
 * @since 0.1.0
 */
export interface Connected {
  readonly address: string
  readonly client: XdsClient.Service
  /** There is nobody who could say that there is nothing. */
  readonly isFiles: boolean
  /** That nothing can be had, as of a server that cannot be reached; with the options that may be missing. */
  readonly noAnswer: (reason: string) => CommandFailure
  /** Fails where nothing has come of any of these types. A server that has nothing says so. */
  readonly answered: (types: ReadonlyArray<ResourceType>) => Effect.Effect<void, CommandFailure>
  /** Why resources, and files that are being read, were not taken: a line each. */
  readonly notTaken: Effect.Effect<ReadonlyArray<string>>
}

/**
 * A client of a server, for as long as the scope is open.
 *
 * @param tells whether it says on its own what goes wrong, on the standard error. Otherwise the command does
 * @since 0.1.0
 */
export const connect = (
  address: string,
  config: Config,
  tells: boolean
): Effect.Effect<Connected, CommandFailure, Scope.Scope> =>
  Effect.gen(function* () {
    const kind = kindOf(address)
    const path = pathOf(address)
    // Who watches waits for it.
    if (path !== undefined && !tells) yield* PathOnDisk.look(path)
    const credentials = credentialsOf(address, config)
    if (kind !== "files" && credentials._tag === "Tls") yield* readable(credentials)
    const { service, status = Effect.succeed([]) } = yield* Effect.promise(() => transportOf(address, config))
    const rejections: Array<string> = []
    const noAnswer = (reason: string): CommandFailure =>
      failed(`${address} gives no answer: ${ErrorLine.within(reason)}${hintOf(reason, address)}`)
    const keep = (line: string): void => {
      if (isRejection(line)) rejections.push(line)
    }
    const client = yield* XdsClient.make({
      bootstrap: Bootstrap.make({
        // Told is what the server says: what it deletes is gone.
        servers: [{ address, credentials, failOnDataErrors: true }],
        node: {
          id: config.nodeId,
          cluster: config.nodeCluster,
          ...(Object.keys(config.metadata).length > 0 && { metadata: config.metadata })
        }
      }),
      protocol: kind === "grpc" && config.protocol === "delta" ? "Incremental" : "StateOfTheWorld",
      aggregated: kind === "files" || (kind === "grpc" && !config.separate),
      resourceTimeout: config.timeout * 1000
    }).pipe(
      Effect.provideService(ClientTransport.ClientTransport, service),
      Effect.mapError(({ message }) => new CommandFailure({ kind: "usage", message })),
      Effect.provide(Logger.replace(Logger.defaultLogger, loggerTo(tells ? toStderr : keep)))
    )
    return {
      address,
      client,
      noAnswer,
      isFiles: kind === "files",
      answered: Effect.fn(function* (types) {
        const answered = yield* client.answered
        if (types.some(({ typeUrl }) => answered.has(typeUrl))) return
        if (kind === "files") return yield* failed(`${address} has no file that could be read`)
        const [connection] = yield* client.connections
        const within = `within ${config.timeout} s`
        if (connection?.state === "Connecting")
          return yield* noAnswer(connection.lastError ?? `no connection ${within}`)
        // One of REST that has nothing may hold the request.
        const why = kind === "rest" ? ": it may be no REST server of xDS, or have nothing" : ""
        return yield* failed(`${address} did not answer ${within}${why} for ${whoAsks(config)}`)
      }),
      notTaken: Effect.map(status, (files) => {
        const errors = files.flatMap(({ error }) => (error === undefined ? [] : [error.message]))
        // Of a file the client says the same, without its path.
        return (errors.length > 0 ? errors : rejections).map(ErrorLine.within)
      })
    }
  })
