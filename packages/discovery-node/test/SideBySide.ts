/** A real Envoy and `ClusterMembers` in one world with the same hosts, who are asked after each step. */
import * as ClusterMetrics from "@effect-xds/discovery-node/ClusterMetrics"
import { FreePort } from "@effect-xds/testing"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import {
  assignmentOf,
  clusterOf,
  firstFamily,
  long,
  type Named,
  type Places,
  type Script,
  type Settings
} from "./ClusterScript.js"
import type { Assignment, Step } from "./ClusterScript.js"
import { type Difference, explain } from "./EnvoyDifferences.js"
import type { ClusterView, EnvoyView } from "./EnvoyClusters.js"
import { lines } from "./EnvoyClusters.js"
import { start as startWorld } from "./EnvoyWorld.js"
import type { Answer, Answers } from "./NameServer.js"
import type { Asker } from "./ProbeTargets.js"
import { type Grpcio, ProbeTarget } from "./ProbeTargets.js"

const askers: ReadonlyArray<Asker> = ["ours", "envoy"]

/** Where both did not come to the same. */
export interface Failure {
  readonly script: Script
  readonly step: number
  /** What was still to happen, or who has what the other has not. */
  readonly why: ReadonlyArray<string>
}

/** What was played, and what was seen. */
export const describe = ({ script, step, why }: Failure): string =>
  [
    `${script.title}: a difference after step ${step} of`,
    ...script.steps.map((each, index) => `  ${index}: ${JSON.stringify(each)}`),
    ...why.map((line) => `    ${line}`)
  ].join("\n")

/** What one asker's looks at a cluster are. */
interface Views {
  readonly ours: (ClusterView & { readonly revision: number; readonly assignments: number }) | undefined
  readonly envoy: EnvoyView | undefined
}

export interface SideBySide {
  /**
   * Plays a script. `undefined`: both always came to the same. `seen` is told which differences were met; `patience`: how
   * long a step may take, in milliseconds.
   */
  readonly play: (
    script: Script,
    options?: { readonly seen?: (difference: Difference) => void; readonly patience?: number }
  ) => Promise<Failure | undefined>
}

const localityOf = (text: string): string => {
  const parts: unknown = text === "" ? ["", "", ""] : JSON.parse(text)
  return Array.isArray(parts) ? parts.join("/") : text
}

/** Starts all of it, until the scope closes. */
export const start = (program: string, grpcio?: Grpcio): Effect.Effect<SideBySide, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { envoy, names, nextLook, of, update: tell } = yield* startWorld(program)
    let played = 0
    const play: SideBySide["play"] = async (script, { patience = 30_000, seen = () => undefined } = {}) => {
      const index = played++
      const name = `s${index}`
      const scope = Effect.runSync(Scope.make())
      const targets = new Map<string, ProbeTarget>()
      const net = `127.${1 + (index >> 8)}.${index & 255}`
      const isLetter = (host: string): boolean => /^[a-f]$/.test(host)
      const letterAddress = (host: string): string => `${net}.${host.charCodeAt(0) - 96}`
      const hostPort = await Effect.runPromise(FreePort.any(letterAddress("a")))
      const places: Places = {
        port: hostPort,
        address: (host) => (isLetter(host) ? letterAddress(host) : host.includes(".") ? host : `${host}.${name}.test`)
      }
      /** As scripts write it. */
      const short = (text: string): string =>
        text
          .replace(`:${hostPort}`, "")
          .replace(`.${name}.test`, "")
          .replace(new RegExp(`^${net.replaceAll(".", "\\.")}\\.(\\d)$`), (_, n: string) =>
            String.fromCharCode(96 + Number(n))
          )
      const shortView = <View extends ClusterView>(view: View): View => ({
        ...view,
        hosts: view.hosts.map((host) => ({ ...host, address: short(host.address), hostname: short(host.hostname) }))
      })

      let revision = 0
      let settings: Settings = script.steps[0].settings
      let assignment: Assignment | null = script.steps[0].assignment

      const update = async (isCluster: boolean): Promise<void> => {
        if (isCluster) revision++
        const held = assignment ?? { entries: [] }
        const isEds = settings.type === "EDS"
        await tell({
          ...(isCluster ? { clusters: [clusterOf(name, revision, settings, held, places)] } : {}),
          ...(isEds && assignment !== null ? { endpoints: [assignmentOf(name, held, places)] } : {}),
          remove: isEds && assignment === null ? { endpoints: [name] } : {}
        })
      }

      const answersOf = (named: Named): Answers => {
        const isOne = (given: Named): given is Answer => typeof given === "string" || Array.isArray(given)
        const both = isOne(named) ? { 4: named, 6: named } : named
        const of = (family: 4 | 6): Answers[4] => {
          const answer = both[family]
          if (typeof answer === "string") return answer
          return answer
            .map((host) => (isLetter(host) ? letterAddress(host) : host))
            .filter((address) => address.includes(":") === (family === 6))
        }
        return { 4: of(4), 6: of(6) }
      }

      const said = new Map<string, Answers>()
      const apply = async (step: Step): Promise<void> => {
        for (const [host, results] of Object.entries(step.probes ?? {})) {
          const kind = settings.checks?.kind
          if (kind === undefined) continue
          const target = targets.get(host) ?? (await ProbeTarget.open(kind, letterAddress(host), hostPort, grpcio))
          targets.set(host, target)
          target.set(results)
        }
        for (const [host, named] of Object.entries(step.names ?? {})) {
          said.set(host, answersOf(named))
          names.set(places.address(host), answersOf(named))
        }
        if (step.settings !== undefined) settings = step.settings
        if (step.assignment !== undefined) assignment = step.assignment
        const isCluster = step.settings !== undefined || (step.assignment !== undefined && settings.type !== "EDS")
        if (isCluster || step.assignment !== undefined) await update(isCluster)
      }

      const count = (metric: Metric.Metric.Gauge<number>): number =>
        Effect.runSync(Metric.value(Metric.tagged(metric, "envoy.cluster_name", name))).value

      try {
        await apply(script.steps[0])
        const service = await Effect.runPromise(Scope.extend(of(name), scope))

        const views = async (): Promise<Views> => {
          const theirs = (await nextLook()).get(name)
          const { inUse } = Effect.runSync(service.status)
          const { set } = Effect.runSync(service.current)
          const updates = Metric.tagged(ClusterMetrics.updateSuccess, "envoy.cluster_name", name)
          const ours =
            inUse === undefined || set === undefined
              ? undefined
              : shortView({
                  revision: set.cluster.load.panicThreshold,
                  assignments: Effect.runSync(Metric.value(updates)).count,
                  hosts: inUse.hosts.map(({ address, flags, hostname, locality, priority, weight }) => ({
                    address,
                    hostname,
                    weight,
                    priority,
                    locality: localityOf(locality),
                    flags: [...flags].sort()
                  })),
                  counts: {
                    total: count(ClusterMetrics.membershipTotal),
                    healthy: count(ClusterMetrics.membershipHealthy),
                    degraded: count(ClusterMetrics.membershipDegraded),
                    excluded: count(ClusterMetrics.membershipExcluded)
                  }
                })
          return { ours, envoy: theirs === undefined ? undefined : shortView(theirs) }
        }

        /** The calls go through Envoy; we are told what became of each of them. */
        const callAll = async (calls: NonNullable<Step["calls"]>): Promise<void> => {
          for (const [host, result] of Object.entries(calls)) targets.get(host)?.setCall(result)
          const waits = () => Object.keys(calls).some((host) => targets.get(host)?.awaitsCall)
          for (let left = 100; left > 0 && waits(); left--) {
            const { address, isExcluded, status } = await envoy.call(name)
            const hosts = Effect.runSync(service.status).inUse?.hosts ?? []
            const id = hosts.find((host) => host.address === `${address}:${hostPort}`)?.host ?? ""
            Effect.runSync(service.trafficSeen)
            Effect.runSync(service.report(id, { _tag: "Response", status }))
            if (isExcluded) Effect.runSync(service.passiveFailure(id))
          }
        }

        const asked = (): ReadonlyMap<string, number> => {
          const counts = new Map<string, number>()
          const family = firstFamily(settings)
          for (const asker of askers) {
            if (settings.type.endsWith("DNS")) {
              for (const { host } of assignment?.entries ?? []) {
                counts.set(`${asker} asks for ${host}`, names.asked(asker, places.address(host), family))
              }
            }
            for (const [host, target] of targets) counts.set(`${asker} probes ${host}`, target.asked(asker))
          }
          return counts
        }

        /** What is still to happen for a step to be over. */
        const settle = async (step: Step, before: Views): Promise<ReadonlyArray<string>> => {
          const deadline = Date.now() + patience
          const isNewAssignment = step.assignment !== undefined && settings.type === "EDS"
          const asks = asked()
          let base: ReadonlyMap<string, number> | undefined
          let why: ReadonlyArray<string>
          for (;;) {
            const { envoy: theirs, ours } = await views()
            const missing: Array<string> = []
            if (step.isWarming === true) {
              if (ours !== undefined) missing.push("we use the cluster")
              if (theirs !== undefined) missing.push("Envoy uses the cluster")
              for (const [what, times] of asked()) if (times === 0) missing.push(`${what} not at all`)
              if (missing.length === 0) return []
            } else {
              if (ours === undefined) missing.push("we have no set in use")
              if (theirs === undefined) missing.push("Envoy does not use the cluster")
            }
            if (ours !== undefined && theirs !== undefined) {
              if (ours.revision !== revision) missing.push("we use an older cluster")
              if (theirs.revision !== revision) missing.push("Envoy uses an older cluster")
              if (isNewAssignment && step.assignment !== null) {
                if (ours.assignments <= (before.ours?.assignments ?? 0)) missing.push("we have no new assignment")
                if (theirs.assignments <= (before.envoy?.assignments ?? 0)) missing.push("Envoy has no new assignment")
              }
              const now = asked()
              for (const [what, times] of now) {
                // The second question after a change comes after the first one's answer was taken.
                if (what.includes("asks for") && times < (asks.get(what) ?? 0) + 2)
                  missing.push(`${what} no second time`)
              }
              if (missing.length === 0) {
                base ??= now
                missing.push(...probesMissing(base, now, ours, theirs))
              }
            }
            why = missing
            if (missing.length === 0 && ours !== undefined && theirs !== undefined) {
              const isHeld = (host: string): boolean =>
                settings.checks?.timeout === long && targets.get(host)?.isSilent === true
              why = explain(
                { script, settings, revision, assignment, names: said, isHeld, ours, envoy: theirs },
                step,
                seen
              )
              if (why.length === 0) return why
            } else if (ours !== undefined && theirs !== undefined) {
              why = [
                ...missing,
                ...lines(ours).map((line) => `  ours:  ${line}`),
                ...lines(theirs).map((line) => `  Envoy: ${line}`)
              ]
            }
            if (Date.now() > deadline) return why
          }
        }

        /** Each host that both have is to be probed often enough to be what its probes make of it. */
        const probesMissing = (
          base: ReadonlyMap<string, number>,
          now: ReadonlyMap<string, number>,
          ours: ClusterView,
          theirs: ClusterView
        ): ReadonlyArray<string> => {
          const { checks } = settings
          if (checks === undefined) return []
          const isUnchecked = (address: string): boolean =>
            assignment?.entries.some(
              (entry) => entry.isUnchecked === true && [address, "n", "m"].includes(entry.host)
            ) === true
          const missing: Array<string> = []
          const often = 3 + Math.max(checks.healthy, checks.unhealthy, 3)
          for (const [host, target] of targets) {
            const times = Math.min(
              ...[ours, theirs].map(({ hosts }) => hosts.filter(({ address }) => address === host).length)
            )
            if (times === 0 || isUnchecked(host)) continue
            if (target.isSilent && checks.timeout === long) {
              for (const asker of askers) if (!target.isHolding(asker)) missing.push(`${asker} probes ${host} no more`)
              continue
            }
            for (const asker of askers) {
              const what = `${asker} probes ${host}`
              if ((now.get(what) ?? 0) < (base.get(what) ?? 0) + often * times) missing.push(`${what} not often enough`)
            }
          }
          return missing
        }

        let before: Views = { ours: undefined, envoy: undefined }
        for (const [at, step] of script.steps.entries()) {
          if (at > 0) {
            before = await views()
            await apply(step)
            await callAll(step.calls ?? {})
          }
          const why = await settle(step, before)
          if (why.length > 0) return { script, step: at, why }
        }
        return undefined
      } finally {
        await Effect.runPromise(Scope.close(scope, Exit.void))
        await tell({ remove: { clusters: [name], endpoints: [name] } })
        await Promise.all(Array.from(targets.values(), (target) => target.stop()))
      }
    }
    return { play }
  })
