/**
 * What virtual hosts on demand have to do, written for reading: every question is answered by looking at everything. Without
 * caps and idle timeouts. The reducer is compared with it step by step.
 */
import type * as VirtualHosts from "@effect-xds/core/client/VirtualHosts"

type Host = VirtualHosts.VirtualHost<string>

interface Name {
  status: "asked" | "overdue" | "present" | "absent" | "rejected"
  host: Host | undefined
  reason: string
}

/** How well a domain matches a host: higher is better, `undefined`: not at all. */
const rank = (domain: string, host: string): number | undefined => {
  if (domain === host) return 3_000
  if (domain === "*") return 0
  if (host.length < domain.length) return undefined
  if (domain.startsWith("*")) return host.endsWith(domain.slice(1)) ? 2_000 + domain.length : undefined
  if (domain.endsWith("*")) return host.startsWith(domain.slice(0, -1)) ? 1_000 + domain.length : undefined
  return undefined
}

/** An output as text; the reason of an `Unavailable` does not count. */
export const textOf = (output: VirtualHosts.Output<string>): string => {
  switch (output._tag) {
    case "Answer": {
      const { outcome } = output
      return `${output.request} ${outcome._tag}${outcome._tag === "Found" ? ` ${outcome.virtualHost.value}` : ""}`
    }
    case "Own":
      return `Own ${output.keys.join(" ")}`
    default:
      return `${output._tag} ${output.name}`
  }
}

export class Reference {
  private vhds: string | undefined = "waiting"
  private given: ReadonlyArray<Host> = []
  readonly names = new Map<string, Name>()
  readonly waiting = new Map<number, { readonly host: string; readonly until: number }>()
  private out: Array<string> = []

  constructor(
    private readonly routes: string,
    private readonly timeout: number
  ) {}

  step(input: VirtualHosts.Input<string>, now: number): ReadonlyArray<string> {
    this.out = []
    switch (input._tag) {
      case "RouteConfiguration": {
        const before = this.vhds === "waiting" ? undefined : this.vhds
        this.vhds = input.vhds
        this.given = input.virtualHosts
        const keys = new Set(this.given.flatMap(({ domains }) => domains.map((domain) => `${this.routes}/${domain}`)))
        if (before !== undefined || input.vhds !== undefined) {
          this.out.push(input.vhds === undefined ? "Own " : `Own ${Array.from(keys).sort().join(" ")}`)
        }
        if (before !== input.vhds) {
          for (const name of this.names.keys()) this.out.push(`Unwatch ${name}`)
          this.names.clear()
        }
        for (const [request, { host, until }] of Array.from(this.waiting)) this.route(request, host, until)
        break
      }
      case "Withdrawn":
        if (this.vhds === "waiting") break
        if (this.vhds !== undefined) this.out.push("Own ")
        for (const name of this.names.keys()) this.out.push(`Unwatch ${name}`)
        this.names.clear()
        this.given = []
        this.vhds = "waiting"
        break
      case "Request":
        if (!this.waiting.has(input.request)) {
          this.route(input.request, input.host, Math.min(input.until ?? Infinity, now + this.timeout))
        }
        break
      case "Cancel":
        this.waiting.delete(input.request)
        break
      case "Arrived":
        this.settle(input.name, "present", input.virtualHost, "")
        break
      case "Missing":
        this.settle(input.name, "absent", undefined, "")
        break
      case "Rejected":
        this.settle(input.name, "rejected", undefined, input.reason)
        break
      case "Unreachable": {
        // What was held is not used any more.
        const name = this.names.get(input.name)
        if (name?.status === "present") this.names.set(input.name, { status: "asked", host: undefined, reason: "" })
        break
      }
      case "Deadline":
        for (const [request, { host, until }] of Array.from(this.waiting)) {
          if (until > now) continue
          const name = this.names.get(`${this.routes}/${host}`)
          if (name !== undefined) name.status = "overdue"
          this.answer(request, "Unavailable")
        }
    }
    return this.out.sort()
  }

  /** Of equal domains that of RDS counts, then that of the name that came last. */
  private find(host: string): Host | undefined {
    let best: { readonly rank: number; readonly host: Host } | undefined
    const fetched = Array.from(this.names.values(), (name) => name.host).filter((each) => each !== undefined)
    for (const each of [...this.given, ...fetched]) {
      for (const domain of each.domains) {
        const found = rank(domain, host)
        if (found !== undefined && (best === undefined || found > best.rank)) best = { rank: found, host: each }
      }
    }
    return best?.host
  }

  private route(request: number, host: string, until: number): void {
    if (host === "" || host.includes("/")) return this.answer(request, "NotFound")
    if (this.vhds === "waiting") return void this.waiting.set(request, { host, until })
    const found = this.find(host)
    if (found !== undefined) return this.answer(request, `Found ${found.value}`)
    if (this.vhds === undefined) return this.answer(request, "NotFound")
    const key = `${this.routes}/${host}`
    const name = this.names.get(key)
    if (name?.status === "absent" || name?.status === "present") return this.answer(request, "NotFound")
    if (name?.status === "rejected") return this.answer(request, "Unavailable")
    if (name === undefined) this.out.push(`Watch ${key}`)
    if (name?.status === "overdue") this.out.push(`Refresh ${key}`)
    this.names.set(key, { status: "asked", host: undefined, reason: "" })
    this.waiting.set(request, { host, until })
  }

  private settle(key: string, status: Name["status"], host: Host | undefined, reason: string): void {
    if (!this.names.has(key)) return
    // A resource has one content: what comes under one of its names is what it is under the others.
    for (const each of this.names.values()) if (host !== undefined && each.host?.name === host.name) each.host = host
    this.names.set(key, { status, host, reason })
    for (const [request, waiter] of Array.from(this.waiting)) {
      if (`${this.routes}/${waiter.host}` !== key) continue
      const found = this.find(waiter.host)
      const otherwise = status === "rejected" ? "Unavailable" : "NotFound"
      this.answer(request, found === undefined ? otherwise : `Found ${found.value}`)
    }
  }

  private answer(request: number, outcome: string): void {
    this.waiting.delete(request)
    this.out.push(`${request} ${outcome}`)
  }
}
