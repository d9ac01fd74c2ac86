/**
 * Where Envoy is otherwise on purpose of ours: each difference by its name, with our rule, and with the hosts of which it
 * speaks, and no others.
 */
import type { Assignment, Script, Settings, Step } from "./ClusterScript.js"
import type { ClusterView, HostView } from "./EnvoyClusters.js"
import { lines } from "./EnvoyClusters.js"
import type { Answers } from "./NameServer.js"

export interface Looked {
  readonly script: Script
  readonly settings: Settings
  readonly revision: number
  readonly assignment: Assignment | null
  /** What DNS says of each name. */
  readonly names: ReadonlyMap<string, Answers>
  /** Whether the probes of a host have come to a stop. */
  readonly isHeld: (host: string) => boolean
  readonly ours: ClusterView
  readonly envoy: ClusterView
}

export interface Difference {
  /** What Envoy does. */
  readonly name: string
  /** What is to be instead. */
  readonly rule: string
  /** "counts": of its statistics alone; its admin interface lists the same hosts with the same flags. */
  readonly isIn: "hosts" | "counts"
  /** What Envoy would show if it were as we are; `undefined`: the difference is not met. */
  readonly undo: (looked: Looked) => ClusterView | undefined
}

const has = ({ flags }: HostView, ...any: ReadonlyArray<string>): boolean => any.some((flag) => flags.includes(flag))

const isUnhealthy = (host: HostView): boolean =>
  has(host, "FAILED_ACTIVE_HC", "FAILED_OUTLIER", "FAILED_EDS_HEALTH", "EDS_STATUS_DRAINING")

/** All of a host but its flags. */
const identity = (host: HostView): string => JSON.stringify({ ...host, flags: [] })

const excluded = "EXCLUDED_VIA_IMMEDIATE_HC_FAIL"
/** What a checker says of a host. */
const ofChecker = ["FAILED_ACTIVE_HC", "DEGRADED_ACTIVE_HC", "ACTIVE_HC_TIMEOUT", "PENDING_ACTIVE_HC", excluded]

/** Whether a script ever says otherwise of a host what makes it another one for Envoy. */
const isChanged = ({ script }: Looked, { address }: HostView): boolean => {
  const said = script.steps
    .flatMap(({ assignment }) => assignment?.entries ?? [])
    .filter(({ host }) => host === address)
  return (
    new Set(said.map(({ hostname, isUnchecked, zone }) => `${zone ?? ""} ${hostname ?? ""} ${isUnchecked ?? false}`))
      .size > 1
  )
}

/** Without some of Envoy's hosts; `undefined`: there are none of them. */
const without = (view: ClusterView, isGone: (host: HostView) => boolean): ClusterView | undefined => {
  const gone = view.hosts.filter(isGone)
  if (gone.length === 0) return undefined
  const hosts = view.hosts.filter((host) => !gone.includes(host))
  const { counts } = view
  const of = (is: (host: HostView) => boolean): number => gone.filter(is).length
  const isDegraded = (host: HostView): boolean =>
    !isUnhealthy(host) && has(host, "DEGRADED_ACTIVE_HC", "DEGRADED_EDS_HEALTH")
  return {
    hosts,
    counts: {
      total: counts.total - gone.length,
      healthy: counts.healthy - of((host) => !isUnhealthy(host) && !isDegraded(host)),
      degraded: counts.degraded - of(isDegraded),
      excluded:
        counts.excluded -
        of((host) => has(host, "EDS_STATUS_DRAINING", "PENDING_ACTIVE_HC", "EXCLUDED_VIA_IMMEDIATE_HC_FAIL"))
    }
  }
}

/** With the flags that a host would have if it were not another one; `undefined`: there is none that lost any. */
const kept = (
  looked: Looked,
  flagsOf: (mine: HostView, theirs: HostView) => ReadonlyArray<string>
): ClusterView | undefined => {
  const { envoy, ours } = looked
  const left = ours.hosts.map((host) => ({ host, text: identity(host) }))
  const hosts = envoy.hosts.map((host) => {
    const at = left.findIndex(({ text }) => text === identity(host))
    const mine = left.splice(at, at < 0 ? 0 : 1)[0]?.host
    if (mine === undefined || !isChanged(looked, host)) return host
    const flags = Array.from(new Set(flagsOf(mine, host))).sort()
    return flags.join() === host.flags.join() ? host : { ...host, flags }
  })
  const healthy = (all: ReadonlyArray<HostView>) => all.filter((host) => !isUnhealthy(host)).length
  if (hosts.every((host, index) => host === envoy.hosts[index])) return undefined
  return { hosts, counts: healthy(hosts) === healthy(envoy.hosts) ? envoy.counts : ours.counts }
}

/** With another number of those that are excluded, if nothing else is otherwise. */
const recounted = ({ envoy, ours }: Looked, most: number): ClusterView | undefined => {
  const counts = { ...envoy.counts, excluded: ours.counts.excluded }
  const more = ours.counts.excluded - envoy.counts.excluded
  const isMore = most > 0 ? more > 0 && more <= most : more < 0 && more >= most
  return isMore && JSON.stringify(counts) === JSON.stringify(ours.counts) ? { ...envoy, counts } : undefined
}

/** Ours, if each of them is Envoy's but for being absent, and Envoy's others were nothing to keep. */
const absent = (envoy: ClusterView, ours: ClusterView): ReadonlyArray<HostView> => {
  const kept = envoy.hosts.filter((host) => !has(host, "FAILED_ACTIVE_HC", "FAILED_EDS_HEALTH", "EDS_STATUS_DRAINING"))
  const isKept = ours.hosts.length > 0
  return (isKept ? kept : []).map((host) => ({ ...host, flags: [...host.flags, "PENDING_DYNAMIC_REMOVAL"].sort() }))
}

/** ★ In the words of the rules, and each explains no more than it says. */
export const differences: ReadonlyArray<Difference> = [
  {
    // A draining host that is listed no longer is kept for as long as it passes. For us DRAINING is a reason to go.
    name: "DRAINING is forgotten when a host is listed no longer",
    rule: "a host that is listed no longer and is DRAINING is removed",
    isIn: "hosts",
    undo: ({ envoy }) =>
      without(envoy, (host) => has(host, "EDS_STATUS_DRAINING") && has(host, "PENDING_DYNAMIC_REMOVAL"))
  },
  {
    // Later both may have the hostname of the new one, or both be absent.
    name: "a changed hostname keeps the old host beside the new one",
    rule: "a hostname is no part of what a host is told by",
    isIn: "hosts",
    undo: ({ envoy, ours, script, settings }) => {
      const isNamed = script.steps.some(({ assignment }) =>
        assignment?.entries.some(({ hostname }) => hostname !== undefined)
      )
      if (settings.type !== "EDS" || !isNamed) return undefined
      const left = ours.hosts.map((host) => JSON.stringify(host))
      return without(envoy, (host) => {
        const at = left.indexOf(JSON.stringify(host))
        if (at >= 0) left.splice(at, 1)
        const isBeside = envoy.hosts.some((other) => other !== host && other.address === host.address)
        return at < 0 && isBeside && has(host, "PENDING_DYNAMIC_REMOVAL")
      })
    }
  },
  {
    // And at a new address it is another host. Seen where the checks stop before they have failed often enough.
    name: "LOGICAL_DNS hosts begin healthy despite a checker",
    rule: "each new host with a checker begins with FAILED_ACTIVE_HC",
    isIn: "hosts",
    undo: ({ envoy, isHeld, ours, settings }) => {
      const [mine] = ours.hosts
      const [theirs] = envoy.hosts
      if (settings.type !== "LOGICAL_DNS" || mine === undefined || theirs === undefined || !isHeld(mine.address))
        return undefined
      const isLess = theirs.flags.every((flag) => mine.flags.includes(flag)) && theirs.flags.length < mine.flags.length
      return isLess ? { hosts: [{ ...theirs, flags: mine.flags }], counts: ours.counts } : undefined
    }
  },
  {
    name: "ALL: a family that fails has no addresses",
    rule: "ALL: a family that failed contributes what it gave last",
    isIn: "hosts",
    undo: ({ envoy, names, ours, settings }) => {
      if (settings.family !== "ALL") return undefined
      const fails = (name: string, family: 4 | 6): boolean =>
        ["SERVFAIL", "silence"].includes(String(names.get(name)?.[family]))
      const isThere = (host: HostView): boolean =>
        envoy.hosts.some(({ address, hostname }) => address === host.address && hostname === host.hostname)
      const more = ours.hosts.filter(
        (host) => !isThere(host) && [...names.keys()].some((name) => fails(name, host.address.startsWith("[") ? 6 : 4))
      )
      return more.length === 0 ? undefined : { hosts: [...envoy.hosts, ...more], counts: ours.counts }
    }
  },
  {
    name: "ALL: the order of families is that of arrival",
    rule: "ALL: the union, in turn from IPv6",
    isIn: "hosts",
    undo: ({ envoy, names, ours, settings }) => {
      const [mine] = ours.hosts
      const [theirs] = envoy.hosts
      if (settings.type !== "LOGICAL_DNS" || settings.family !== "ALL" || mine === undefined || theirs === undefined)
        return undefined
      const is = (host: HostView, family: 4 | 6): boolean =>
        [...names.values()].some((answers) =>
          family === 6 ? host.address === `[${answers[6][0]}]` : !host.address.startsWith("[")
        )
      return is(mine, 6) && is(theirs, 4) ? { ...envoy, hosts: [{ ...theirs, address: mine.address }] } : undefined
    }
  },
  {
    // ★ What is not listed by a successful answer is absent. Envoy does not hear of it.
    name: "an assignment that does not exist changes nothing",
    rule: "DoesNotExist lists nothing; who passes is kept",
    isIn: "hosts",
    undo: ({ assignment, envoy, ours }) => (assignment === null ? { ...ours, hosts: absent(envoy, ours) } : undefined)
  },
  {
    name: "a changed locality, hostname or check switch makes another host, which is not ejected",
    rule: "a host that is listed before and after is updated in place, its locality, too: its ejection stays",
    isIn: "hosts",
    undo: (looked) =>
      kept(looked, (mine, { flags }) => (has(mine, "FAILED_OUTLIER") ? [...flags, "FAILED_OUTLIER"] : flags))
  },
  {
    // What was excluded is not, and results are counted from the first, which is seen where checks stop.
    name: "a changed locality, hostname or check switch makes another host, of which the checker knows nothing",
    rule:
      "a host that is listed before and after is updated in place, its locality, too: its health stays; " +
      "it is excluded until it is healthy",
    isIn: "hosts",
    undo: (looked) =>
      kept(looked, (mine, { address, flags }) => {
        if (!looked.isHeld(address)) return has(mine, excluded) ? [...flags, excluded] : flags
        const isOfChecker = (flag: string): boolean => ofChecker.includes(flag)
        return [...flags.filter((flag) => !isOfChecker(flag)), ...mine.flags.filter(isOfChecker)]
      })
  },
  {
    // Only what changes whether a host is healthy is counted at once.
    name: "a host that is unhealthy already and becomes excluded or DRAINING is counted with the next change",
    rule: "who is excluded, or DRAINING, is in no ratio",
    isIn: "counts",
    undo: (looked) =>
      recounted(
        looked,
        looked.ours.hosts.filter((host) => has(host, "EDS_STATUS_DRAINING", "EXCLUDED_VIA_IMMEDIATE_HC_FAIL")).length
      )
  },
  {
    name: "a host that is DRAINING no longer and stays unhealthy is counted with the next change",
    rule: "who is DRAINING no longer is in all ratios",
    isIn: "counts",
    undo: (looked) => recounted(looked, -looked.ours.hosts.filter(isUnhealthy).length)
  },
  {
    name: "a changed cluster without hosts has the counts of the one before",
    rule: "a changed cluster is a new set of hosts: nothing is carried over",
    isIn: "counts",
    undo: ({ envoy, revision }) =>
      envoy.hosts.length > 0 || envoy.counts.total === 0 || revision < 2
        ? undefined
        : { ...envoy, counts: { total: 0, healthy: 0, degraded: 0, excluded: 0 } }
  }
]

const named = ({ address, flags }: HostView): string => [address, ...flags].join(" ")

/** What is left when all differences that have a name are taken away. */
export const explain = (looked: Looked, step: Step, seen: (difference: Difference) => void): ReadonlyArray<string> => {
  let envoy: ClusterView = looked.envoy
  const met: Array<Difference> = []
  const isSame = (): boolean => lines(looked.ours).join() === lines(envoy).join()
  for (const difference of differences) {
    if (isSame()) break
    const undone = difference.undo({ ...looked, envoy })
    if (undone === undefined) continue
    envoy = difference.isIn === "counts" ? { ...envoy, counts: undone.counts } : undone
    met.push(difference)
  }
  const why = isSame()
    ? []
    : [
        ...lines(looked.ours).map((line) => `ours:  ${line}`),
        ...lines(envoy).map((line) => `Envoy: ${line}`),
        ...met.map(({ name, rule }) => `(without: ${name}; ours: ${rule})`)
      ]
  if (step.then !== undefined) {
    const hosts = looked.ours.hosts.map(named).sort()
    if (hosts.join() !== [...step.then].sort().join())
      why.push(`expected: ${step.then.join(", ")}`, `ours: ${hosts.join(", ")}`)
  }
  if (why.length === 0) for (const difference of met) seen(difference)
  return why
}
