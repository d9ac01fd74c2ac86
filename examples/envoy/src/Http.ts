/** HTTP requests, one server for them and a stream of them: the witnesses of what Envoy does. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as NodeHttp from "node:http"

export interface Answer {
  /** 0: there was no answer. */
  readonly status: number
  /** Of an answer; else the error's message. */
  readonly body: string
}

/** Connections that are used again and closed with the scope. */
export const agent: Effect.Effect<NodeHttp.Agent, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => new NodeHttp.Agent({ keepAlive: true })),
  (agent) => Effect.sync(() => agent.destroy())
)

const request = (
  agent: NodeHttp.Agent,
  options: { readonly url: string; readonly headers?: Readonly<Record<string, string>> },
  onAnswer: (answer: Answer) => void
): NodeHttp.ClientRequest =>
  NodeHttp.get(options.url, { agent, headers: { ...options.headers }, timeout: 5000 }, (response) => {
    let body = ""
    response.setEncoding("utf8")
    response.on("data", (chunk: string) => (body += chunk))
    response.on("end", () => onAnswer({ status: response.statusCode ?? 0, body }))
    response.on("error", (error) => onAnswer({ status: 0, body: error.message }))
  })
    .on("timeout", function (this: NodeHttp.ClientRequest) {
      this.destroy(new Error("no answer within 5 s"))
    })
    .on("error", (error) => onAnswer({ status: 0, body: error.message }))

/** One request. Never fails: that there was no answer is one too. */
export const get = (
  agent: NodeHttp.Agent,
  options: { readonly url: string; readonly headers?: Readonly<Record<string, string>> }
): Effect.Effect<Answer> =>
  Effect.async((resume) => {
    const sent = request(agent, options, (answer) => resume(Effect.succeed(answer)))
    return Effect.sync(() => sent.destroy())
  })

/** A server that answers everything with its name, and gives its address. */
export const upstream = (name: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<{ readonly server: NodeHttp.Server; readonly address: string }>((resume) => {
      const server = NodeHttp.createServer((_request, response) => response.end(name))
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ server, address: `127.0.0.1:${port}` }))
      })
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  ).pipe(Effect.map(({ address }) => address))

/** Requests all the time: what was answered, and what was not. */
export class Requests {
  /** Body of the answers with status 200 → their number. */
  readonly answers: Record<string, number> = {}
  total = 0
  failed = 0
  /** What the first failed one was answered. */
  failure: Answer | undefined

  readonly count = ({ body, status }: Answer): void => {
    this.total++
    if (status === 200) this.answers[body] = (this.answers[body] ?? 0) + 1
    else {
      this.failed++
      this.failure ??= { body, status }
    }
  }

  describe(): string {
    const answers = Object.entries(this.answers).map(([body, count]) => `${body}: ${count}`)
    const failure =
      this.failure === undefined ? "" : `; the first that failed: ${this.failure.status} ${this.failure.body}`
    return `${this.total} requests, answered by ${answers.join(", ") || "nobody"}, ${this.failed} failed${failure}`
  }
}

/** Most requests without an answer: when everything stands still, more of them would only fill the backlogs. */
const maxOpen = 16

/** Sends a request every few milliseconds until the scope closes. */
export const requests = (options: {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds between requests. */
  readonly interval?: number
}): Effect.Effect<Requests, never, Scope.Scope> =>
  Effect.gen(function* () {
    const connections = yield* agent
    const requests = new Requests()
    let open = 0
    const send = () => {
      if (open >= maxOpen) return
      open++
      request(connections, options, (answer) => {
        open--
        requests.count(answer)
      })
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => setInterval(send, options.interval ?? 3)),
      (timer) => Effect.sync(() => clearInterval(timer))
    )
    return requests
  })
