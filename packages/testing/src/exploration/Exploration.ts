/**
 * Exhaustive exploration: every state that a small world can reach is visited, not sampled.
 *
 * Reducers are pure values, so a world of them can be kept in a state and continued in several ways. From the initial state all
 * moves are made, from their results all moves again, and so on, breadth first. So the first path to a fault is a shortest one.
 * States that are equal by value are visited once.
 *
 * @since 0.1.0
 */

/**
 * A possible event in a state.
 *
 * @since 0.1.0
 */
export interface Move<State> {
  /** A few words for the path to a fault. */
  readonly label: string
  /** The state after the move. Pure: called once, but the state before it is used for other moves, too. */
  readonly take: () => State
}

/**
 * A world to explore.
 *
 * @since 0.1.0
 */
export interface World<State> {
  readonly name: string
  readonly initial: State
  /** All possible moves; the same for equal states. */
  readonly moves: (state: State) => Iterable<Move<State>>
  /**
   * The value of a state, in parts. Two states may have equal parts only if every sequence of moves has the same outcome for
   * both. So nonces, versions and times appear by meaning: how many responses ago, which content, how long from now. Fields
   * that are never read again are left out.
   */
  readonly key: (state: State) => ReadonlyArray<string>
  /** Problems of the step that led to the state, in words. Checked after every move. */
  readonly problems: (state: State) => ReadonlyArray<string>
  /** Problems that remain if from here on only necessary moves are made, in words. Checked once per state. */
  readonly unfinished: (state: State) => ReadonlyArray<string>
}

/**
 * The limits of an exploration.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Most moves from the initial state. */
  readonly depth: number
  /**
   * Most states in memory, a few kilobytes each. At the limit the exploration ends with {@link Explored.isCut}. Default: 500
   * 000.
   */
  readonly maxStates?: number
  /** Called after each depth. */
  readonly onDepth?: (progress: Progress) => void
}

/**
 * The progress up to a depth.
 *
 * @since 0.1.0
 */
export interface Progress {
  readonly name: string
  /** All states within this number of moves were visited. */
  readonly depth: number
  /** Number of different states. */
  readonly states: number
  /** Number of moves made. */
  readonly transitions: number
}

/**
 * The outcome of an exploration.
 *
 * @since 0.1.0
 */
export interface Explored extends Progress {
  /** Whether no further states exist at any depth. */
  readonly isComplete: boolean
  /** Whether it ended because of {@link Options.maxStates}. */
  readonly isCut: boolean
  readonly violation: Violation | undefined
}

/**
 * A fault and a shortest path to it.
 *
 * @since 0.1.0
 */
export interface Violation {
  readonly path: ReadonlyArray<string>
  readonly problems: ReadonlyArray<string>
}

/** Numbers equal texts alike, so that long parts of keys are stored once. */
const numbering = (): ((text: string) => number) => {
  const numbers = new Map<string, number>()
  return (text) => {
    const known = numbers.get(text)
    if (known !== undefined) return known
    numbers.set(text, numbers.size)
    return numbers.size - 1
  }
}

/**
 * Visits every state up to a depth, or until there is a problem.
 *
 * @since 0.1.0
 */
export const explore = <State>(world: World<State>, options: Options): Explored => {
  const { depth, maxStates = 500_000, onDepth } = options
  const numberOf = numbering()
  const keyOf = (state: State): string => world.key(state).map(numberOf).join(" ")
  /** How each state was first reached: index of the state before it, and label of the move. */
  const parents: Array<number> = [-1]
  const labels: Array<string> = [""]
  const pathTo = (at: number): ReadonlyArray<string> => {
    const path: Array<string> = []
    for (let each = at; each > 0; each = parents[each] ?? 0) path.unshift(labels[each] ?? "")
    return path
  }
  const seen = new Set([keyOf(world.initial)])
  let transitions = 0
  let frontier = [{ state: world.initial, at: 0 }]
  const outcome = (reached: number, rest: Partial<Explored>): Explored => ({
    name: world.name,
    depth: reached,
    states: seen.size,
    transitions,
    isComplete: false,
    isCut: false,
    violation: undefined,
    ...rest
  })
  const wrong = (path: ReadonlyArray<string>, problems: ReadonlyArray<string>) => ({ violation: { path, problems } })

  const atOnce = [...world.problems(world.initial), ...world.unfinished(world.initial)]
  if (atOnce.length > 0) return outcome(0, wrong([], atOnce))
  for (let reached = 0; reached < depth; reached++) {
    const next: typeof frontier = []
    for (const { at, state } of frontier) {
      for (const { label, take } of world.moves(state)) {
        const after = take()
        transitions++
        const problems = world.problems(after)
        if (problems.length > 0) return outcome(reached, wrong([...pathTo(at), label], problems))
        const key = keyOf(after)
        if (seen.has(key)) continue
        const unfinished = world.unfinished(after)
        if (unfinished.length > 0) return outcome(reached, wrong([...pathTo(at), label], unfinished))
        if (seen.size >= maxStates) return outcome(reached, { isCut: true })
        seen.add(key)
        parents.push(at)
        labels.push(label)
        next.push({ state: after, at: parents.length - 1 })
      }
    }
    if (next.length === 0) return outcome(reached, { isComplete: true })
    frontier = next
    onDepth?.(outcome(reached + 1, {}))
  }
  return outcome(depth, {})
}

/**
 * Finds states that are confused: equal by {@link World.key}, but a move leads to different states, or exists for only one of
 * them. Then states would be left out. Returns a description; `undefined` if there are none up to a depth.
 *
 * @since 0.1.0
 */
export const confused = <State>(world: World<State>, { depth }: Pick<Options, "depth">): string | undefined => {
  const keyOf = (state: State): string => world.key(state).join("\n")
  const movesOf = (state: State) =>
    Array.from(world.moves(state), ({ label, take }) => ({ state: take(), label })).map((move) => ({
      ...move,
      outcome: `${move.label}\n${keyOf(move.state)}`
    }))
  const seen = new Map<string, { readonly path: ReadonlyArray<string>; readonly outcomes: ReadonlySet<string> }>()
  let frontier: Array<{ readonly state: State; readonly path: ReadonlyArray<string> }> = [
    { state: world.initial, path: [] }
  ]
  for (let reached = 0; reached <= depth; reached++) {
    const next: typeof frontier = []
    for (const { path, state } of frontier) {
      const key = keyOf(state)
      const moves = movesOf(state)
      const outcomes = new Set(moves.map(({ outcome }) => outcome))
      const known = seen.get(key)
      if (known === undefined) {
        seen.set(key, { path, outcomes })
        for (const move of moves) next.push({ state: move.state, path: [...path, move.label] })
        continue
      }
      const here = Array.from(outcomes).filter((each) => !known.outcomes.has(each))
      const there = Array.from(known.outcomes).filter((each) => !outcomes.has(each))
      if (here.length + there.length > 0) {
        const show = (each: ReadonlyArray<string>, only: ReadonlyArray<string>) =>
          `  ${each.join("\n  ")}\nwith what only it leads to:\n${only.join("\n\n")}\n`
        return `Taken for one, but different:\n${show(path, here)}and\n${show(known.path, there)}`
      }
    }
    frontier = next
  }
  return undefined
}

/**
 * An outcome as text: one line and, for a fault, the path to it, one move per line.
 *
 * @since 0.1.0
 */
export const render = ({ depth, isComplete, isCut, name, states, transitions, violation }: Explored): string => {
  const reach = isComplete ? `all there are (depth ${depth})` : `depth ${depth}${isCut ? ", cut" : ""}`
  const line = `${name}: ${states} states, ${transitions} transitions, ${reach}`
  if (violation === undefined) return line
  const moves = violation.path.map((label, index) => `  ${index + 1}. ${label}`)
  return [line, "A shortest way to a fault:", ...moves, ...violation.problems.map((each) => `  ! ${each}`)].join("\n")
}
