/** Keeps the secrets out of a stream's error texts, before anything else sees them. */
import type * as Steps from "@effect-xds/core/Steps"
import type * as Request from "@effect-xds/core/wire/Request"
import type { Environment } from "./Environment.js"
import type { Quoted, Redacted, Secrets } from "./Secrets.js"

/** A request whose error text is being searched, or that came after one. */
interface Waiting {
  readonly request: Request.Request
  readonly redacted: Steps.Once<Redacted> | undefined
}

/** What takes requests. */
interface Taker {
  readonly request: (request: Request.Request) => void
}

const withText = (request: Request.Request, message: string): Request.Request =>
  request.errorDetail === undefined ? request : { ...request, errorDetail: { code: request.errorDetail.code, message } }

/** The error texts of one stream: one that may quote thousands of secrets takes turns, and the requests behind it wait. */
export class ErrorTexts {
  /** Oldest first. None: most streams have no errors. */
  private waiting: Array<Waiting> | undefined

  constructor(private readonly secrets: Secrets) {}

  /** Whether a text is being searched: {@link pass} goes on. */
  get isSearching(): boolean {
    return this.waiting !== undefined
  }

  add(request: Request.Request, quoted: Quoted): void {
    const { message = "" } = request.errorDetail ?? {}
    const redacted = message === "" ? undefined : this.secrets.redacted(message, quoted)
    this.waiting ??= []
    this.waiting.push({ request, redacted })
  }

  /** Searches one text, or a part of it, and passes on what need not wait any more. */
  pass(to: Taker, { some }: Pick<Environment<never>, "some">): void {
    const { waiting } = this
    const search = waiting?.[0]?.redacted
    if (waiting === undefined || (search !== undefined && (search.value ?? some(search.steps())) === undefined)) return
    let passed = 0
    for (const { redacted, request } of waiting) {
      if (redacted !== undefined && redacted.value === undefined) break
      to.request(redacted?.value === undefined ? request : withText(request, redacted.value.text))
      passed++
    }
    this.waiting = passed === waiting.length ? undefined : waiting.slice(passed)
  }

  /** The stream has ended. */
  stop(): void {
    this.waiting = undefined
  }
}
