/**
 * Checked simulations: parts of a plan are drawn from a seed, and a failing plan is shrunk and shown.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import * as Trace from "../invariants/Trace.js"
import type { PlannedFault } from "../network/Fault.js"
import * as Fault from "../network/Fault.js"
import type { Step } from "./Script.js"
import * as Shrink from "./Shrink.js"
import type { Plan, Run, SimulationError } from "./Simulation.js"
import * as Simulation from "./Simulation.js"

/**
 * A plan, some parts of which may be random.
 *
 * @since 0.1.0
 */
export interface RandomPlan extends Omit<Plan, "seed" | "faults" | "script"> {
  /** Fixed, or drawn for each seed, for example by `Arbitraries.faults`. */
  readonly faults?: ReadonlyArray<PlannedFault> | fc.Arbitrary<ReadonlyArray<PlannedFault>> | undefined
  /** Fixed, or drawn for each seed, for example by `Arbitraries.simulationScript`. */
  readonly script?: ReadonlyArray<Step> | fc.Arbitrary<ReadonlyArray<Step>> | undefined
}

const drawn = <A>(given: ReadonlyArray<A> | fc.Arbitrary<ReadonlyArray<A>> | undefined, seed: number) => {
  if (!(given instanceof fc.Arbitrary)) return given
  return fc.sample(given, { seed, numRuns: 1 })[0]
}

/**
 * The plan of a seed: always the same.
 *
 * @since 0.1.0
 */
export const draw = (plan: RandomPlan, seed: number): Plan => ({
  ...plan,
  seed,
  faults: drawn(plan.faults, seed),
  script: drawn(plan.script, seed)
})

/**
 * Error: a simulation with problems. The message has the seed, the problems, the smallest plan found, and its trace as a
 * diagram.
 *
 * @since 0.1.0
 */
export class SimulationFailure extends Data.TaggedError("SimulationFailure")<{
  readonly seed: number
  /** The smallest failing plan found. */
  readonly plan: Plan
  readonly report: string
}> {
  override get message(): string {
    return this.report
  }
}

type Outcome = Either.Either<Run, SimulationError>

/** The kinds of problems of an outcome: the names of rules, and the words of a body or publisher; or the kind of the error. */
const kinds = (outcome: Outcome): ReadonlySet<string> =>
  Either.isLeft(outcome)
    ? new Set([outcome.left.reason])
    : new Set(
        outcome.right.verdict.map(({ problem, rule }) =>
          rule === "body" || rule === "publisher" ? `${rule} ${problem.split("\n", 1)[0] ?? ""}` : rule
        )
      )

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`

const sizeOf = ({ clients, faults = [], script = [] }: Plan): string =>
  `${count(clients.length, "client")}, ${count(faults.length, "fault")} and ${count(script.length, "step")}`

/** Most trace lines in a report. */
const maxLines = 200

const diagram = (trace: Trace.Trace): string => {
  const left = trace.length - maxLines
  return left > 0 ? `(${left} events before)\n${Trace.render(trace.slice(-maxLines))}` : Trace.render(trace)
}

const reportOf = (name: string, plan: Plan, first: Outcome, shrunk: Shrink.Shrunk, last: Outcome): string =>
  [
    `${name}: fails with seed ${plan.seed ?? 0}; again with XDS_SIM_SEED=${plan.seed ?? 0}`,
    Either.isLeft(first) ? first.left.detail : Simulation.formatVerdict(first.right.verdict),
    "",
    `${sizeOf(plan)}, made smaller in ${count(shrunk.runs, "run")}: ${sizeOf(shrunk.plan)}`,
    ...shrunk.plan.clients.map((client) => `  client ${JSON.stringify(client)}`),
    ...(shrunk.plan.script ?? []).map((step) => `  step ${JSON.stringify(step)}`),
    ...(shrunk.plan.faults ?? []).map((fault) => `  fault at ${fault.at} ms: ${Fault.format(fault)}`),
    "",
    ...(Either.isLeft(last)
      ? [last.left.message]
      : [diagram(last.right.trace), "", Simulation.formatVerdict(last.right.verdict)])
  ].join("\n")

/**
 * Runs a plan. Fails with a {@link SimulationFailure} if there are problems.
 *
 * @param name its name in reports
 * @since 0.1.0
 */
export const check = (
  name: string,
  plan: Plan,
  options: {
    /** Most runs for shrinking. Default: 200. */
    readonly maxShrinks?: number | undefined
  } = {}
): Effect.Effect<Run, SimulationFailure> =>
  Effect.gen(function* () {
    const attempt = (plan: Plan): Effect.Effect<Outcome> => Effect.either(Simulation.run(plan))
    const first = yield* attempt(plan)
    const wrong = kinds(first)
    if (Either.isRight(first) && wrong.size === 0) return first.right
    const fails = (smaller: Plan) =>
      Effect.map(attempt(smaller), (outcome) => Array.from(kinds(outcome)).some((kind) => wrong.has(kind)))
    const shrunk = yield* Shrink.shrink(plan, fails, { maxRuns: options.maxShrinks })
    const report = reportOf(name, plan, first, shrunk, yield* attempt(shrunk.plan))
    return yield* new SimulationFailure({ seed: plan.seed ?? 0, plan: shrunk.plan, report })
  })
