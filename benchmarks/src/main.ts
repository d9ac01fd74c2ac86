/** `npm run bench`: see README.md. */
import * as Option from "effect/Option"
import { existsSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { Bench } from "./Bench.js"
import * as Cases from "./Cases.js"
import * as GoPrograms from "./GoPrograms.js"
import * as Machine from "./Machine.js"
import type { Peer } from "./Peer.js"
import { peerTitles } from "./Peer.js"
import * as Profile from "./Profile.js"
import * as Report from "./Report.js"
import type { CaseResult } from "./Result.js"

const help = `npm run bench -- [CASE…] [options]

Measures the control plane beside go-control-plane. Without a CASE: every one. Linux, and Go to build the load generator.

  --list              the cases
  --quick             small sizes, one repeat: a few minutes for all; ratios are only an indication
  --repeats N         default 3
  --peers A,B         only these: ${Object.keys(peerTitles).join(", ")}
  --before FOLDER     another checkout of this repository, built there: its server, or client, takes part, in turn with
                      ours; what a change costs is the ratio of the two
  --rounds N          with --before: how often each of the two is started anew, default 3
  --as-serve          our server starts as effect-xds serve does: V8 optimizes later in the first minute, and its heap grows
                      further at first
  --json FILE         all figures, written after each case
  --continue          with --json: what the file has from the same machine, versions and sizes is kept and, unless it is
                      named, not measured again; this also makes the table of --markdown from it
  --markdown FILE     the table, between the markers of a page
  --profile CASE      a CPU profile of our server, or client, in that case, and where its time goes
  --help
`

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const stop = (reason: string): never => {
  process.stderr.write(`bench: ${reason}\n`)
  process.exit(2)
}

const isPeer = (name: string): name is Peer => name in peerTitles

const parse = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        help: { type: "boolean", default: false },
        list: { type: "boolean", default: false },
        quick: { type: "boolean", default: false },
        repeats: { type: "string" },
        peers: { type: "string" },
        before: { type: "string" },
        rounds: { type: "string" },
        "as-serve": { type: "boolean", default: false },
        json: { type: "string" },
        continue: { type: "boolean", default: false },
        markdown: { type: "string" },
        profile: { type: "string" }
      }
    })
  } catch (error) {
    return stop(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
}

const main = async (): Promise<void> => {
  const { positionals, values } = parse()
  if (values.help) return say(help)
  if (values.list) return say(Cases.all.map(({ name, title }) => `${name.padEnd(14)} ${title}`).join("\n"))

  const wanted = values.profile === undefined ? positionals : [values.profile]
  for (const name of wanted) {
    if (!Cases.all.some((entry) => entry.name === name)) {
      stop(`no such case: ${name}; there are ${Cases.all.map((entry) => entry.name).join(", ")}`)
    }
  }
  const peers = values.profile === undefined ? values.peers?.split(",") : ["ours"]
  const unknown = peers?.find((name) => !isPeer(name))
  if (unknown !== undefined) stop(`no such peer: ${unknown}; there are ${Object.keys(peerTitles).join(", ")}`)
  const repeats = Number(values.repeats ?? (values.quick ? 1 : 3))
  if (!Number.isInteger(repeats) || repeats < 1) stop(`--repeats ${values.repeats ?? ""} is not a whole number from 1`)
  if (values.profile !== undefined && (values.json ?? values.markdown) !== undefined) {
    stop("--profile is for looking, its figures are not for a table: leave --json and --markdown out")
  }
  if (values.rounds !== undefined && values.before === undefined)
    stop("--rounds needs the --before FOLDER to take turns with")
  const rounds = Number(values.rounds ?? (values.before === undefined ? 1 : 3))
  if (!Number.isInteger(rounds) || rounds < 1) stop(`--rounds ${values.rounds ?? ""} is not a whole number from 1`)
  // npm changes into the package's folder; what the user names is meant from where they are.
  const from = (path: string): string => resolve(process.env.INIT_CWD ?? ".", path)
  const before = values.before === undefined ? undefined : join(from(values.before), "benchmarks", "dist")
  if (before !== undefined && !existsSync(join(before, "servers", "ours.js"))) {
    stop(`--before ${values.before ?? ""} has no built benchmarks; in that folder, run node scripts/setup.mjs`)
  }
  if (process.platform !== "linux") stop("CPU time of processes is read from /proc: this runs on Linux only")

  // Servers have the environment of this process. One that is older, of --before, does without.
  if (values["as-serve"]) process.env.XDS_AS_SERVE = "1"

  const load = await GoPrograms.load(say)
  if ("missing" in load) return stop(`the load generator cannot be built: ${load.missing}`)
  const goControlPlane = await GoPrograms.goControlPlane(say)
  if ("missing" in goControlPlane) {
    say(`go-control-plane is left out: ${goControlPlane.missing}`)
    if (process.env.XDS_REQUIRE_PEERS === "1") stop("XDS_REQUIRE_PEERS=1, and go-control-plane is missing")
  }

  const profile =
    values.profile === undefined
      ? undefined
      : join(mkdtempSync(join(tmpdir(), "effect-xds-profile-")), `${values.profile}.cpuprofile`)
  const machine = Machine.machine()
  const bench = new Bench({
    quick: values.quick,
    repeats,
    peers: peers?.filter(isPeer),
    before,
    rounds,
    load: load.path,
    goControlPlane,
    profile,
    say
  })
  const results = new Map<string, CaseResult>()
  const report = (): Report.Report => ({
    date: new Date().toISOString(),
    quick: values.quick,
    repeats,
    machine,
    versions: { ...versions, ...bench.versions },
    // Always in the same order.
    cases: Cases.all.flatMap(({ name }) => results.get(name) ?? [])
  })
  let versions = Machine.versions(values.before === undefined ? undefined : from(values.before))
  if (values.continue) {
    const file = values.json === undefined ? stop("--continue needs the --json FILE to go on with") : from(values.json)
    const earlier = Option.getOrUndefined(Report.earlier(file, report()))
    if (earlier === undefined && existsSync(file)) stop(`${file} is of another machine, version or size`)
    for (const result of earlier?.cases ?? []) results.set(result.name, result)
    versions = { ...earlier?.versions, ...versions }
    if (results.size > 0) say(`kept: ${Array.from(results.keys()).join(", ")}`)
  }
  for (const { name, run, title } of Cases.all) {
    if (wanted.length > 0 ? !wanted.includes(name) : results.has(name)) continue
    const loadBefore = Machine.load()
    const busy = loadBefore > 0.5 ? ` (the machine is busy, load ${loadBefore.toFixed(2)}: provisional)` : ""
    say(`${name}: ${title}${busy}`)
    const start = Date.now()
    const rows = await run(bench)
    results.set(name, { name, title, loadBefore, seconds: (Date.now() - start) / 1000, rows })
    // After each: a long run that is broken off is not lost.
    if (values.json !== undefined) writeFileSync(from(values.json), `${JSON.stringify(report(), null, 2)}\n`)
  }
  // The profiler's own work is in the figures.
  if (profile === undefined) say(`\n${Report.plain(report())}`)
  if (profile !== undefined && existsSync(profile)) {
    say(`\n${Profile.summary(profile)}\n\nfor a browser's profiler: ${profile}`)
  }
  if (values.json !== undefined) say(`\nwritten: ${relative(".", from(values.json))}`)
  if (values.markdown !== undefined) {
    Report.writeMarkdown(from(values.markdown), report())
    say(`written: ${relative(".", from(values.markdown))}`)
  }
  const failed = Report.failures(report().cases)
  if (failed.length > 0) stop(`${failed.length} failed:\n  ${failed.join("\n  ")}`)
  process.exit()
}

await main()
