/**
 * Golden traces of scoped routes: which tables are opened, and what becomes of requests. Files as those of `ClientTrace`; lines of
 * a section:
 *
 *     srds timeout=5s waiting=9          the start: options
 *     scopes a=acme>main b=eu?>late c=x>{1} -d
 *                                        one input of changes: name, key, route configuration; `?`: on demand; `{1}`: content that
 *                                        the scope holds itself; `-d`: it is gone
 *     answered | unreachable "words"
 *     request 1 acme a.x until=3s        a request with the key and host; key `-`: its headers make none
 *     cancel 1
 *     outcome 1 found main               what the table of a route configuration answers: found | notfound | unavailable
 *     wait 15s                           time passes
 *     tables | deadline
 *     > Open rds main                    what is to be done
 *     ! 1 Found rds main                 what became of a request, and who answered
 *     = …                                what was asked for
 *     (silent)                           an input that puts out nothing
 */
import * as ScopedRoutes from "@effect-xds/core/client/ScopedRoutes"
import type * as VirtualHosts from "@effect-xds/core/client/VirtualHosts"
import * as HashMap from "effect/HashMap"

const milliseconds = (text: string): number => {
  const match = /^(\d+)(ms|s)$/.exec(text)
  if (match?.[1] === undefined) throw new Error(`not a duration: ${text}`)
  return Number(match[1]) * (match[2] === "s" ? 1_000 : 1)
}

const words = (text: string): ReadonlyArray<string> => text.match(/"[^"]*"|[^\s"]+/g) ?? []

export const scopeOf = (word: string): readonly [string, ScopedRoutes.Scope<string> | undefined] => {
  if (word.startsWith("-")) return [word.slice(1), undefined]
  const match = /^([^=]+)=([^?>]*)(\??)>(.+)$/.exec(word)
  if (match === null) throw new Error(`not a scope: ${word}`)
  const [, name = "", key = "", demand, to = ""] = match
  const given = /^\{(.*)\}$/.exec(to)?.[1]
  const routes = given === undefined ? { _tag: "Named" as const, name: to } : { _tag: "Given" as const, value: given }
  return [name, { key, onDemand: demand === "?", routes }]
}

export const hostOf = (name: string): VirtualHosts.VirtualHost<string> => ({ name, domains: ["*"], value: name })

export const textOf = (output: ScopedRoutes.Output<string, string>): string => {
  switch (output._tag) {
    case "Open":
      return `> Open ${output.table}${output.routes._tag === "Given" ? ` {${output.routes.value}}` : ""}`
    case "Give":
      return `> Give ${output.table} {${output.value}}`
    case "Close":
      return `> Close ${output.table}`
    case "Find":
      return `> Find ${output.table} ${output.request} ${output.host} until=${output.until / 1_000}s`
    case "Withdraw":
      return `> Withdraw ${output.table} ${output.request}`
    case "Answer": {
      const { outcome, request, table } = output
      const reason = outcome._tag === "Unavailable" ? ` ${JSON.stringify(outcome.reason)}` : ""
      return `! ${request} ${outcome._tag}${table === undefined ? "" : ` ${table}`}${reason}`
    }
  }
}

const outcomes: Record<string, VirtualHosts.Outcome<string>> = {
  found: { _tag: "Found", virtualHost: hostOf("h") },
  notfound: { _tag: "NotFound" },
  unavailable: { _tag: "Unavailable", reason: "words" }
}

export const play = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const out: Array<string> = []
  let now = 0
  let self = ScopedRoutes.make<string>()
  const step = (input: ScopedRoutes.Input<string, string>) => {
    const [next, outputs] = ScopedRoutes.step(self, input, now)
    self = next
    for (const output of outputs) out.push(textOf(output))
    if (outputs.length === 0 && input._tag !== "Deadline") out.push("(silent)")
  }
  for (const raw of lines) {
    const line = raw.trim()
    if (/^(>|!|=|\(silent\))/.test(line)) continue
    out.push(raw)
    if (line === "" || line.startsWith("#")) continue
    const [command = "", ...rest] = words(line)
    const [one = "", two = "", three = ""] = rest
    const value = (name: string) => rest.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
    switch (command) {
      case "srds": {
        const timeout = value("timeout")
        const waiting = value("waiting")
        now = 0
        self = ScopedRoutes.make({
          ...(timeout === undefined ? {} : { timeout: milliseconds(timeout) }),
          ...(waiting === undefined ? {} : { maxWaiting: Number(waiting) })
        })
        break
      }
      case "scopes":
        step({ _tag: "Scopes", changes: rest.map(scopeOf) })
        break
      case "answered":
        step({ _tag: "Answered" })
        break
      case "unreachable":
        step({ _tag: "Unreachable", reason: one.replaceAll('"', "") })
        break
      case "request": {
        const until = value("until")
        step({
          _tag: "Request",
          request: Number(one),
          key: two === "-" ? undefined : two,
          host: three,
          ...(until === undefined ? {} : { until: milliseconds(until) })
        })
        break
      }
      case "cancel":
        step({ _tag: "Cancel", request: Number(one) })
        break
      case "outcome": {
        const outcome = outcomes[two]
        if (outcome === undefined) throw new Error(`not an outcome: ${line}`)
        step({
          _tag: "Outcome",
          table: three.startsWith("scope-") ? three.replace("-", " ") : `rds ${three}`,
          request: Number(one),
          outcome
        })
        break
      }
      case "wait": {
        const end = now + milliseconds(one)
        for (let turns = 0; ScopedRoutes.deadline(self) <= end; turns++) {
          if (turns > 1_000) throw new Error(`the deadline stays at ${ScopedRoutes.deadline(self)}`)
          now = Math.max(now, ScopedRoutes.deadline(self))
          step({ _tag: "Deadline" })
        }
        now = end
        break
      }
      case "tables":
        out.push(
          `= [${Array.from(self.tables, ([id, { isOpen }]) => (isOpen ? id : `(${id})`))
            .sort()
            .join(", ")}]`
        )
        break
      case "waiting":
        out.push(`= ${HashMap.size(self.waiting)} waiting`)
        break
      case "deadline": {
        const at = ScopedRoutes.deadline(self)
        out.push(`= ${at === Infinity ? "never" : `${at / 1000}s`}`)
        break
      }
      default:
        throw new Error(`not understood: ${line}`)
    }
  }
  return out
}
