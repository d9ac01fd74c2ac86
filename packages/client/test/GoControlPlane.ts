/** go-control-plane's server as a process that can be killed and started again on its port. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import { toBinary } from "@bufbuild/protobuf"
import { base64Encode } from "@bufbuild/protobuf/wire"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { type Listener, ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { found } from "@effect-xds/testing/Waiting"
import { Effect, Schema, type Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"

const list = Schema.optionalWith(Schema.Array(Schema.String), { default: () => [], nullable: true })
const text = Schema.optionalWith(Schema.String, { default: () => "" })

/** A request that it heard or a response that it sent; in incremental `names` are those that are new. */
const Message = Schema.Struct({
  stream: Schema.Number,
  type: Schema.String,
  version: text,
  names: list,
  removed: list,
  held: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), { default: () => ({}) }),
  nonce: text,
  error: text
})

type Message = typeof Message.Type

const Line = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ address: Schema.String }),
    Schema.Struct({ set: Schema.String }),
    Schema.Struct({ request: Message }),
    Schema.Struct({ response: Message })
  )
)

export interface Resources {
  readonly clusters?: ReadonlyArray<Cluster>
  readonly listeners?: ReadonlyArray<Listener>
}

const encode = <Desc extends DescMessage>(
  schema: Desc,
  resources: ReadonlyArray<MessageShape<Desc> & { readonly name: string }> = []
): readonly [typeUrl: string, Readonly<Record<string, string>>] => [
  `type.googleapis.com/${schema.typeName}`,
  Object.fromEntries(resources.map((each) => [each.name, base64Encode(toBinary(schema, each))]))
]

const lineOf = (version: string, { clusters, listeners }: Resources): string =>
  `${JSON.stringify({
    version,
    set: Object.fromEntries([encode(ClusterSchema, clusters), encode(ListenerSchema, listeners)])
  })}\n`

export interface GoControlPlane {
  readonly port: number
  readonly requests: ReadonlyArray<Message>
  readonly responses: ReadonlyArray<Message>
  /** All that it serves from now on; returns when it serves it. */
  readonly set: (version: string, resources: Resources) => Effect.Effect<void>
  /** SIGKILL: it can tell nobody. Returns when it is gone. */
  readonly kill: Effect.Effect<void>
}

/**
 * Starts it; it is killed when the scope closes. It ends with its standard input too, so also when this process is
 * killed.
 */
export const start = ({
  path,
  port = 0,
  resources,
  version
}: {
  readonly path: string
  /** Default: any. */
  readonly port?: number
  readonly version: string
  readonly resources: Resources
}): Effect.Effect<GoControlPlane, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests: Array<Message> = []
    const responses: Array<Message> = []
    const sets = new Set<string>()
    let address: string | undefined
    let words = ""
    const child = spawn(path, [String(port)], { stdio: ["pipe", "pipe", "pipe"] })
    const gone = once(child, "close").catch((cause: unknown) => (words += String(cause)))
    const kill = Effect.promise(() => {
      child.kill("SIGKILL")
      return gone
    })
    yield* Effect.addFinalizer(() => kill)
    // Written to when it is gone already.
    child.stdin.on("error", () => undefined)
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (words += chunk))
    createInterface(child.stdout).on("line", (printed) => {
      const line = Schema.decodeSync(Line)(printed)
      if ("address" in line) address = line.address
      else if ("set" in line) sets.add(line.set)
      else if ("request" in line) requests.push(line.request)
      else responses.push(line.response)
    })

    const wait = <A>(what: string, look: () => A | undefined) =>
      found(`the words of go-control-plane ${what}`, look, { seen: () => words })
    const set = (next: string, set: Resources) =>
      Effect.suspend(() => {
        child.stdin.write(lineOf(next, set))
        return wait(`that it serves version ${next}`, () => sets.has(next))
      })

    yield* set(version, resources)
    const serving = yield* wait("where it serves", () => address)
    return {
      port: Number(serving.split(":").at(-1)),
      requests,
      responses,
      set: (next, resources) => Effect.asVoid(set(next, resources)),
      kill: Effect.asVoid(kill)
    }
  })
