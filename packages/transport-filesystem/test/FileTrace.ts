/**
 * Golden traces of a client that reads files: a script of what happens to a directory and what the client says, and what
 * it hears, as text.
 *
 *     move cds.json 1 a b       a file with version 1 and these resources is moved into place
 *     write cds.json 1 a        it is written in place
 *     spoil cds.json            it is replaced by what cannot be read
 *     remove cds.json
 *     mount . cds.json 1 a      as Kubernetes mounts a ConfigMap: `..data` is exchanged
 *     send CDS [a b]            the client asks
 *     ack CDS [a] | nack CDS [a] words      it answers what it heard last, and gives credit
 *     < CDS 1 [a b]     it hears; the version `none`: why these cannot be had
 *     = cds.json Accepted 2     a file stands otherwise than before, with so many resources in force
 *
 * What is heard is waited for, line by line; what comes unexpectedly is found at the latest with the next line.
 */
import { fromBinary } from "@bufbuild/protobuf"
import { anyUnpack } from "@bufbuild/protobuf/wkt"
import { ClientRequest, Request } from "@effect-xds/core"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as Waiting from "@effect-xds/testing/Waiting"
import { ClientTransport } from "@effect-xds/transport"
import { FileClient } from "@effect-xds/transport-filesystem"
import { Effect, Logger } from "effect"
import { relative } from "node:path"
import * as Directories from "./Directory.js"

const typeOf = (word: string) =>
  /^(cds|CDS)/.test(word) ? ResourceType.Cluster.typeUrl : ResourceType.ClusterLoadAssignment.typeUrl

const contentOf = (file: string, version: string, names: ReadonlyArray<string>): string => {
  const type_url = typeOf(file)
  const key = type_url === ResourceType.Cluster.typeUrl ? "name" : "cluster_name"
  const resources = names.map((name) => ({ "@type": type_url, [key]: name }))
  return JSON.stringify({ version_info: version, type_url, resources })
}

const textOf = (bytes: Uint8Array): string => {
  const { resources, typeUrl, versionInfo } = fromBinary(DiscoveryResponseSchema, bytes)
  const names = resources.map(
    (any) => anyUnpack(any, ClusterSchema)?.name ?? anyUnpack(any, ClusterLoadAssignmentSchema)?.clusterName
  )
  return `< ${ResourceType.shortNameOf(typeUrl)} ${versionInfo} [${names.join(" ")}]`
}

/** Plays a script; gives it back with what was really heard. */
export const play = (script: string) =>
  Effect.gen(function* () {
    const directory = yield* Directories.temporary
    const client = FileClient.make({ quietPeriod: 5, format: "json" })
    const channel = yield* client.connect({
      address: `path://${directory.path}`,
      credentials: ClientTransport.insecure
    })
    let open = false
    let heard: Array<string> = []
    let last = { versionInfo: "", responseNonce: "" }
    const versions = new Map<string, string>()
    const stream = channel.open(
      { protocol: "StateOfTheWorld", typeUrl: undefined },
      {
        onOpen: () => void (open = true),
        onMessage: (bytes) => {
          const { nonce, versionInfo } = fromBinary(DiscoveryResponseSchema, bytes)
          last = { versionInfo, responseNonce: nonce }
          heard.push(textOf(bytes))
        },
        onEnd: ({ code }) => heard.push(`< end ${code}`)
      }
    )
    yield* Waiting.found("an open stream", () => open)

    const run = (line: string): void => {
      const [verb = "", file = "", ...rest] = line.split(" ")
      const [version = "", ...names] = rest
      const request = (more: Parameters<typeof Request.stateOfTheWorld>[0]) =>
        stream.send(ClientRequest.encode(Request.stateOfTheWorld(more)))
      const typeUrl = typeOf(file)
      const asked = /\[([^\]]*)\]/.exec(line)?.[1] ?? ""
      const resourceNames = asked === "" ? [] : asked.split(" ")
      switch (verb) {
        case "move":
          return directory.move(file, contentOf(file, version, names))
        case "write":
          return directory.write(file, contentOf(file, version, names))
        case "spoil":
          return directory.move(file, "{")
        case "remove":
          return directory.remove(file)
        case "mount": {
          const [mounted = "", number = "", ...inside] = rest
          return directory.mount(file, { [mounted]: contentOf(mounted, number, inside) })
        }
        case "send":
          return request({ typeUrl, resourceNames })
        case "ack":
          versions.set(typeUrl, last.versionInfo)
          request({ typeUrl, resourceNames, ...last })
          return stream.next()
        case "nack": {
          const errorDetail = { code: 3, message: line.slice(line.indexOf("]") + 2) }
          request({ typeUrl, resourceNames, ...last, versionInfo: versions.get(typeUrl) ?? "", errorDetail })
          return stream.next()
        }
        default:
          throw new Error(`not a line of a script: ${line}`)
      }
    }

    const stands = new Map<string, string>()
    const standsNow = () =>
      Effect.runSync(client.status).map(
        ({ path, resources, state }) => [relative(directory.path, path), `${state} ${resources}`] as const
      )
    const outcome = (): ReadonlyArray<string> => [
      ...heard,
      ...standsNow().flatMap(([file, state]) => (stands.get(file) === state ? [] : [`= ${file} ${state}`]))
    ]

    const given = script
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "")
    const found: Array<string> = []
    for (let index = 0; index < given.length;) {
      const line = given[index++] ?? ""
      const expected: Array<string> = []
      for (; /^[<=]/.test(given[index] ?? ""); index++) expected.push(given[index] ?? "")
      run(line)
      const isThere = () => JSON.stringify(outcome()) === JSON.stringify(expected)
      // What is there when the time is up is shown by the comparison.
      yield* Effect.exit(Waiting.found("what is expected", isThere, { limit: "20 seconds" }))
      found.push(line, ...outcome())
      heard = []
      for (const [file, state] of standsNow()) stands.set(file, state)
    }
    return { given: given.join("\n"), found: found.join("\n") }
  }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none)))
