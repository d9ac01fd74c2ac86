/**
 * Golden traces of warming: what updates bring, what is asked for and what becomes active. Files as those of
 * `ClientTrace`; lines of a section:
 *
 *     warming noCache timeout=5s          the start; both options may be left out
 *     clusters a=1>x b=1>b~5s c=1 -d      an update: content, what is needed, how long it waits; `-` is removed
 *     listeners l=1>r,s                   listeners likewise
 *     assignments +a !b -c                arrived, rejected, missing
 *     routes +r                           likewise
 *     wait 15s                            time passes
 *     status Cluster a | deadline
 *     > Pause EDS                         what is to be done
 *     ! Active Cluster a=1 Complete       what became of a cluster or listener
 *     = …                                 what was asked for
 *     (silent)                            an input that puts out nothing
 */
import * as Warming from "@effect-xds/core/client/Warming"
import * as ResourceType from "@effect-xds/proto/ResourceType"

const milliseconds = (text: string): number => {
  const match = /^(\d+)(ms|s)$/.exec(text)
  if (match?.[1] === undefined) throw new Error(`not a duration: ${text}`)
  return Number(match[1]) * (match[2] === "s" ? 1_000 : 1)
}

const isOutput = (line: string): boolean => /^(>|!|=|\(silent\))/.test(line)

const targetOf = (word: string): Warming.Target => {
  const match = /^([^=]+)=([^>~]+)(?:>([^~]+))?(?:~(.+))?$/.exec(word)
  if (match === null) throw new Error(`not a cluster or listener: ${word}`)
  const [, name = "", fingerprint = "", needs, timeout] = match
  return {
    name,
    fingerprint,
    needs: needs?.split(",") ?? [],
    ...(timeout === undefined ? {} : { fetchTimeout: milliseconds(timeout) })
  }
}

export const play = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const out: Array<string> = []
  let now = 0
  let self = Warming.make({}, now)

  const step = (input: Warming.Input) => {
    const [next, outputs] = Warming.step(self, input, now)
    self = next
    for (const output of outputs) {
      switch (output._tag) {
        case "Pause":
        case "Resume":
          out.push(`> ${output._tag} ${ResourceType.shortNameOf(output.typeUrl)}`)
          break
        case "Watch":
        case "Unwatch":
        case "Refresh":
          out.push(`> ${output._tag} ${ResourceType.shortNameOf(output.typeUrl)} ${output.name}`)
          break
        case "Active":
          out.push(`! Active ${output.kind} ${output.name}=${output.fingerprint} ${output.reason}`)
          break
        case "Warming":
          out.push(`! Warming ${output.kind} ${output.name}=${output.fingerprint}`)
          break
        case "Removed":
          out.push(`! Removed ${output.kind} ${output.name}`)
          break
        case "Initialized":
          out.push("! Initialized")
      }
    }
    if (outputs.length === 0 && input._tag !== "Deadline") out.push("(silent)")
  }
  const arrival = (words: ReadonlyArray<string>): Warming.Arrival => {
    const of = (sign: string) => words.filter((word) => word.startsWith(sign)).map((word) => word.slice(1))
    return { arrived: of("+"), rejected: of("!"), missing: of("-") }
  }

  for (const raw of lines) {
    const line = raw.trim()
    if (isOutput(line)) continue
    out.push(raw)
    if (line === "" || line.startsWith("#")) continue
    const [command = "", ...words] = line.split(/\s+/)
    switch (command) {
      case "warming": {
        const timeout = words.find((word) => word.startsWith("timeout="))?.slice(8)
        self = Warming.make(
          {
            useEdsCacheForAds: !words.includes("noCache"),
            ...(timeout === undefined ? {} : { fetchTimeout: milliseconds(timeout) })
          },
          now
        )
        break
      }
      case "clusters":
      case "listeners":
        step({
          _tag: command === "clusters" ? "Clusters" : "Listeners",
          changed: words.filter((word) => !word.startsWith("-")).map(targetOf),
          removed: words.filter((word) => word.startsWith("-")).map((word) => word.slice(1))
        })
        break
      case "assignments":
        step({ _tag: "Assignments", ...arrival(words) })
        break
      case "routes":
        step({ _tag: "Routes", ...arrival(words) })
        break
      case "wait": {
        const end = now + milliseconds(words[0] ?? "")
        for (let turns = 0; Warming.deadline(self) <= end; turns++) {
          if (turns > 1_000) throw new Error(`the deadline stays at ${Warming.deadline(self)}`)
          now = Math.max(now, Warming.deadline(self))
          step({ _tag: "Deadline" })
        }
        now = end
        break
      }
      case "status": {
        const [kind, name = ""] = words
        const { active, warming } = Warming.status(self, kind === "Cluster" ? "Cluster" : "Listener", name)
        out.push(`= active=${active ?? "none"} warming=${warming ?? "none"}`)
        break
      }
      case "deadline":
        out.push(`= ${Warming.deadline(self) === Infinity ? "never" : `${Warming.deadline(self) / 1000}s`}`)
        break
      default:
        throw new Error(`not understood: ${line}`)
    }
  }
  return out
}
