/** Requests through an Envoy, and waiting for who answers them. */
import { Effect } from "effect"
import { performance } from "node:perf_hooks"
import * as Http from "../src/Http.js"
import * as Wait from "../src/Wait.js"

/** Milliseconds, below every deadline: 5 s of the server's phases, 15 s of Envoy's fetches. Nothing waited for one. */
export const soon = 4_500

/** Waits for an answer that is right and gives the milliseconds since the start of the wait. */
export const answered = (
  options: { readonly url: string; readonly headers?: Readonly<Record<string, string>> },
  isRight: (answer: Http.Answer) => boolean
) =>
  Effect.gen(function* () {
    const agent = yield* Http.agent
    const start = performance.now()
    let last: Http.Answer = { status: 0, body: "no request was sent" }
    yield* Wait.until({
      what: `the right answer from ${options.url}`,
      check: Effect.map(Http.get(agent, options), (answer) => {
        last = answer
        return isRight(answer) ? true : undefined
      }),
      seen: Effect.sync(() => `the last one was ${last.status} ${last.body}`)
    })
    return performance.now() - start
  })

export const is = (body: string) => (answer: Http.Answer) => answer.status === 200 && answer.body === body

/** Waits until so many more requests were sent. */
export const more = (requests: Http.Requests, count: number) =>
  Effect.suspend(() => {
    const goal = requests.total + count
    return Wait.until({
      what: `${count} more requests`,
      check: Effect.sync(() => (requests.total >= goal ? true : undefined)),
      seen: Effect.sync(() => requests.describe())
    })
  })

/** Waits until only these answer, for 50 requests in a row. */
export const onlyFrom = (requests: Http.Requests, names: ReadonlyArray<string>) =>
  Effect.suspend(() => {
    let from = { ...requests.answers }
    const news = () => Object.entries(requests.answers).filter(([name, count]) => count > (from[name] ?? 0))
    return Wait.until({
      what: `only ${names.join(" and ")} to answer`,
      check: Effect.sync(() => {
        const seen = news()
        if (seen.some(([name]) => !names.includes(name))) from = { ...requests.answers }
        return seen.reduce((sum, [name, count]) => sum + count - (from[name] ?? 0), 0) >= 50 ? true : undefined
      }),
      seen: Effect.sync(() => requests.describe())
    })
  })
