/**
 * Golden traces of virtual hosts on demand: what requests ask for, and what becomes of them. Files as those of `ClientTrace`;
 * lines of a section:
 *
 *     vhds r timeout=5s max=2 waiting=9 idle=60s unknown=60s noPort     the start: the route configuration, options
 *     rds source=ads [rds=a.x,*.y]       the route configuration came: source of VHDS (`none`), virtual hosts with domains;
 *                                        `unusable=words`: why its source cannot be used
 *     withdrawn "words"                  it is not there, and none is held any more
 *     request 1 a.x until=3s             a request for a host; `until` is a time
 *     requests 1-20 a.x
 *     cancel 1
 *     arrived r/a.x r/w=*.x,a.x @2       the answer for a name: resource, its domains; `@` another content
 *     missing r/a.x | rejected r/a.x "words" | unreachable r/a.x "words"
 *     wait 15s                           time passes
 *     statistics ingress | deadline | names
 *     > Watch r/a.x                      what is to be done
 *     ! 1 Found r/w                      what became of a request, or of several
 *     = …                                what was asked for
 *     (silent)                           an input that puts out nothing
 */
import * as VirtualHosts from "@effect-xds/core/client/VirtualHosts"
import * as HashMap from "effect/HashMap"

const milliseconds = (text: string): number => {
  const match = /^(\d+)(ms|s)$/.exec(text)
  if (match?.[1] === undefined) throw new Error(`not a duration: ${text}`)
  return Number(match[1]) * (match[2] === "s" ? 1_000 : 1)
}

const isOutput = (line: string): boolean => /^(>|!|=|\(silent\))/.test(line)

const words = (text: string): ReadonlyArray<string> => text.match(/\[[^\]]*\]|"[^"]*"|[^\s[\]"]+/g) ?? []

export const play = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const out: Array<string> = []
  let now = 0
  let self = VirtualHosts.make<string>("r")
  /** Equal contents are one reference, as what a client holds. */
  const hostOf = (word: string, content = "1"): VirtualHosts.VirtualHost<string> => {
    const [name = "", domains = ""] = word.split("=")
    return { name, domains: domains.split(","), value: `${word}@${content}` }
  }

  const outcome = (outcome: VirtualHosts.Outcome<string>): string => {
    switch (outcome._tag) {
      case "Found":
        return `Found ${outcome.virtualHost.name}${outcome.virtualHost.value.endsWith("@1") ? "" : ` ${outcome.virtualHost.value.replace(/^.*@/, "@")}`}`
      case "NotFound":
        return "NotFound"
      case "Unavailable":
        return `Unavailable ${JSON.stringify(outcome.reason)}`
    }
  }

  const steps = (inputs: ReadonlyArray<VirtualHosts.Input<string>>) => {
    const before = out.length
    const answers = new Map<string, Array<number>>()
    for (const input of inputs) {
      const [next, outputs] = VirtualHosts.step(self, input, now)
      self = next
      for (const output of outputs) {
        switch (output._tag) {
          case "Answer": {
            const words = outcome(output.outcome)
            answers.set(words, [...(answers.get(words) ?? []), output.request])
            break
          }
          case "Own":
            out.push(`> Own ${output.owner} [${output.keys.join(" ")}]`)
            break
          default:
            out.push(`> ${output._tag} ${output.name}`)
        }
      }
    }
    for (const [words, requests] of answers) {
      const [first = 0, last = 0] = [requests[0], requests.at(-1)]
      const isRange = requests.length > 2 && last - first === requests.length - 1
      out.push(`! ${isRange ? `${first}-${last}` : requests.join(" ")} ${words}`)
    }
    if (out.length === before && inputs[0]?._tag !== "Deadline") out.push("(silent)")
  }
  const step = (input: VirtualHosts.Input<string>) => steps([input])

  for (const raw of lines) {
    const line = raw.trim()
    if (isOutput(line)) continue
    out.push(raw)
    if (line === "" || line.startsWith("#")) continue
    const [command = "", ...rest] = words(line)
    const [one = "", two = "", three] = rest
    const value = (name: string) => rest.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
    const reason = two.replaceAll('"', "")
    switch (command) {
      case "vhds": {
        const duration = (name: string, option: keyof VirtualHosts.Options) => {
          const given = value(name)
          return given === undefined ? {} : { [option]: given === "never" ? Infinity : milliseconds(given) }
        }
        const count = (name: string, option: keyof VirtualHosts.Options) =>
          value(name) === undefined ? {} : { [option]: Number(value(name)) }
        now = 0
        self = VirtualHosts.make(one, {
          ...duration("timeout", "timeout"),
          ...duration("idle", "idleTimeout"),
          ...duration("unknown", "unknownIdleTimeout"),
          ...count("max", "maxHosts"),
          ...count("waiting", "maxWaiting"),
          ...(rest.includes("noPort") ? { withPort: false } : {})
        })
        break
      }
      case "rds": {
        const source = value("source") ?? "none"
        const hosts = rest.find((word) => word.startsWith("[")) ?? "[]"
        step({
          _tag: "RouteConfiguration",
          vhds: source === "none" ? undefined : source,
          unusable: value("unusable"),
          virtualHosts: words(hosts.slice(1, -1)).map((word) => hostOf(word))
        })
        break
      }
      case "withdrawn":
        step({ _tag: "Withdrawn", reason: one.replaceAll('"', "") })
        break
      case "request": {
        const until = value("until")
        step({
          _tag: "Request",
          request: Number(one),
          host: two.replaceAll('"', ""),
          ...(until === undefined ? {} : { until: milliseconds(until) })
        })
        break
      }
      case "requests": {
        const [first = 0, last = 0] = one.split("-").map(Number)
        const all = Array.from({ length: last - first + 1 }, (_, index) => first + index)
        steps(all.map((request) => ({ _tag: "Request", request, host: two })))
        break
      }
      case "cancel":
        step({ _tag: "Cancel", request: Number(one) })
        break
      case "arrived":
        step({ _tag: "Arrived", name: one, virtualHost: hostOf(two, three?.slice(1)) })
        break
      case "missing":
        step({ _tag: "Missing", name: one })
        break
      case "rejected":
        step({ _tag: "Rejected", name: one, reason })
        break
      case "unreachable":
        step({ _tag: "Unreachable", name: one, reason })
        break
      case "wait": {
        const end = now + milliseconds(one)
        for (let turns = 0; VirtualHosts.deadline(self) <= end; turns++) {
          if (turns > 1_000) throw new Error(`the deadline stays at ${VirtualHosts.deadline(self)}`)
          now = Math.max(now, VirtualHosts.deadline(self))
          step({ _tag: "Deadline" })
        }
        now = end
        break
      }
      case "statistics":
        for (const [name, count] of Object.entries(VirtualHosts.statistics(self, one))) out.push(`= ${name} ${count}`)
        break
      case "names":
        out.push(`= [${Array.from(HashMap.keys(self.entries)).sort().join(" ")}]`)
        break
      case "waiting":
        out.push(`= ${HashMap.size(self.waiting)} waiting`)
        break
      case "deadline": {
        const at = VirtualHosts.deadline(self)
        out.push(`= ${at === Infinity ? "never" : `${at / 1000}s`}`)
        break
      }
      default:
        throw new Error(`not understood: ${line}`)
    }
  }
  return out
}
