/**
 * How many instructions RE2 compiles an expression of bytes to. What its program is depends on each step of its compiler, so the
 * steps are the same here: runs of one character are put together, repeats are written out, instructions are put in the same
 * order, and are made lists (`Prog::Flatten`).
 */
import * as Syntax from "./Syntax.js"

/** Bounds of a part: instructions that stay, and all that are made. */
interface Bounds {
  readonly least: number
  readonly all: number
  /** Nothing matches it, so nothing of it stays. */
  readonly isNever: boolean
  /** Only assertions are in it: where it is repeated it may be there once, when the repeats in it are written out. */
  readonly isWidthless: boolean
}

/** Parts that are looked at in one step. */
const atOnce = 256

/** Whether a part has no more than one part in it, which has none. */
const isSmall = ({ height, op }: Syntax.Node): boolean => height === 1 || (height === 2 && op <= Syntax.repeat)

const boundsOfText = (least: number, all = least): Bounds => ({ least, all, isNever: false, isWidthless: false })

const boundsOfNothing = boundsOfText(0, 1)

const isEmptyWidth = ({ op }: Syntax.Node): boolean => op === Syntax.assertion

/** ★ Assertions that are repeated are there once: RE2 says so of one, and of several next to each other. */
const isOnce = (node: Syntax.Node): boolean =>
  isEmptyWidth(node) ||
  ((node.op === Syntax.sequence || node.op === Syntax.alternatives) && node.subs.every(isEmptyWidth))

const isRepeated = ({ op }: Syntax.Node): boolean => op === Syntax.repeat

/** Ranges of a class that have an instruction: none for `A-Z` if they are the same as `a-z`. */
const rangesOf = ({ set }: Syntax.Node): number => {
  let upper = 0
  let lower = 0
  let ofUpper = 0
  for (let at = 0; at < set.length; at += 2) {
    const [first = 0, last = 0] = [set[at], set[at + 1]]
    for (let letter = Math.max(first, 0x41); letter <= Math.min(last, 0x5a); letter++) upper |= 1 << (letter - 0x41)
    for (let letter = Math.max(first, 0x61); letter <= Math.min(last, 0x7a); letter++) lower |= 1 << (letter - 0x61)
    if (first >= 0x41 && last <= 0x5a) ofUpper++
  }
  return set.length / 2 - (upper === lower ? ofUpper : 0)
}

/** Of a part without others in it. */
const boundsOfLeaf = (node: Syntax.Node): Bounds => {
  switch (node.op) {
    case Syntax.literal:
      return boundsOfText(node.text.length, Math.max(1, node.text.length))
    case Syntax.characters: {
      const count = rangesOf(node)
      return { ...boundsOfText(count, Math.max(0, 2 * count - 1)), isNever: count === 0 }
    }
    case Syntax.never:
      return { ...boundsOfText(0), isNever: true }
    case Syntax.empty:
      return boundsOfNothing
    case Syntax.assertion:
      return { ...boundsOfText(1), isWidthless: true }
    default:
      return boundsOfText(1)
  }
}

const boundsInSteps = function* (node: Syntax.Node): Syntax.Steps<Bounds> {
  if (node.subs.length === 0) return boundsOfLeaf(node)
  const subs: Array<Bounds> = []
  for (const sub of node.subs) {
    const [inner] = sub.subs
    if (!isSmall(sub)) subs.push(yield* boundsInSteps(sub))
    else subs.push(inner === undefined ? boundsOfLeaf(sub) : boundsOfAll(sub, [boundsOfLeaf(inner)]))
    if (subs.length % atOnce === 0) yield
  }
  return boundsOfAll(node, subs)
}

const boundsOfAll = (node: Syntax.Node, subs: ReadonlyArray<Bounds>): Bounds => {
  const [sub] = subs
  if (node.op === Syntax.repeat) {
    return sub === undefined || node.subs[0]?.op === Syntax.empty ? boundsOfNothing : boundsOfRepeated(node, sub)
  }
  const isAny = node.op === Syntax.alternatives
  const own = node.op === Syntax.group ? 2 : 0
  let least = own
  let all = own
  let isNever = isAny
  let isWidthless = own === 0
  for (const bounds of subs) {
    least += bounds.least
    all += bounds.all + (isAny ? 1 : 0)
    isNever = isAny ? isNever && bounds.isNever : isNever || bounds.isNever
    isWidthless &&= bounds.isWidthless
  }
  return { least: isNever ? 0 : least, all, isNever, isWidthless }
}

const boundsOfRepeated = ({ least, most }: Syntax.Node, sub: Bounds): Bounds => {
  const times = most < 0 ? Math.max(1, least) : most
  return {
    least: (sub.isWidthless ? Math.min(times, 1) : times) * sub.least,
    all: times * sub.all + (most < 0 ? 2 : Math.max(1, most - least)),
    isNever: sub.isNever && least > 0,
    isWidthless: sub.isWidthless
  }
}

/** The same parts, unless one is another one. */
const withSubs = (node: Syntax.Node, subs: ReadonlyArray<Syntax.Node>): Syntax.Node => {
  if (subs.every((sub, at) => sub === node.subs[at])) return node
  const [sub] = subs
  if (node.op === Syntax.repeat && sub !== undefined) return asRepeat(node, sub, node.least, node.most, node.isCounted)
  const made = Syntax.nodeOf(node.op, subs)
  made.arg = node.arg
  return made
}

const asRepeat = (
  node: Syntax.Node,
  sub: Syntax.Node,
  least: number,
  most: number,
  isCounted: boolean
): Syntax.Node => {
  const made = Syntax.repeatOf(sub, least, most, node.flags)
  made.isCounted = isCounted
  return made
}

/** Puts a repeated character together with what is next to it, if that is the same: `a*a` is `a+`. */
const coalescedInSteps = function* (node: Syntax.Node): Syntax.Steps<Syntax.Node> {
  const subs: Array<Syntax.Node> = []
  for (const sub of node.subs) {
    subs.push(isSmall(sub) ? sub : yield* coalescedInSteps(sub))
    if (subs.length % atOnce === 0) yield
  }
  if (node.op !== Syntax.sequence) return withSubs(node, subs)
  let isChanged = false
  for (let at = 0; at + 1 < subs.length; at++) {
    if (at % atOnce === 0) yield
    const [one, other] = [subs[at], subs[at + 1]]
    const pair = one === undefined || other === undefined ? undefined : together(one, other)
    if (pair === undefined) continue
    subs[at] = pair[0]
    subs[at + 1] = pair[1]
    isChanged = true
  }
  // ★ As in RE2 the empty ones are left out only where something was put together.
  return withSubs(node, isChanged ? subs.filter(({ op }) => op !== Syntax.empty) : subs)
}

const together = (one: Syntax.Node, other: Syntax.Node): readonly [Syntax.Node, Syntax.Node] | undefined => {
  const [sub] = one.subs
  if (!isRepeated(one) || sub === undefined || !Syntax.isOneCharacter(sub)) return undefined
  const [subOfOther] = other.subs
  if (isRepeated(other)) {
    if (subOfOther === undefined || !Syntax.isOneCharacter(subOfOther) || !Syntax.areEqual(sub, subOfOther)) {
      return undefined
    }
    if (one.isLazy !== other.isLazy) return undefined
    const most = one.most < 0 || other.most < 0 ? -1 : one.most + other.most
    return [new Syntax.Node(Syntax.empty), asRepeat(one, sub, one.least + other.least, most, true)]
  }
  if (Syntax.isOneCharacter(other)) return Syntax.areEqual(sub, other) ? more(one, sub, 1, undefined) : undefined
  if (sub.op !== Syntax.literal || other.op !== Syntax.literal || sub.fold !== other.fold) return undefined
  const { text } = other
  let count = 0
  while (count < text.length && text[count] === sub.text[0]) count++
  if (count === 0) return undefined
  return more(one, sub, count, count === text.length ? undefined : Syntax.literalOf(text.slice(count), other.fold))
}

const more = (
  node: Syntax.Node,
  sub: Syntax.Node,
  count: number,
  rest: Syntax.Node | undefined
): readonly [Syntax.Node, Syntax.Node] => {
  const made = asRepeat(node, sub, node.least + count, node.most < 0 ? -1 : node.most + count, true)
  return rest === undefined ? [new Syntax.Node(Syntax.empty), made] : [made, rest]
}

/** Without counts. */
const simplified = (node: Syntax.Node): Syntax.Node => {
  if (node.op === Syntax.characters && node.set.length === 0) return new Syntax.Node(Syntax.never)
  if (node.subs.length === 0) return node
  const subs = node.subs.map(simplified)
  const [sub] = subs
  if (node.op !== Syntax.repeat || sub === undefined) return withSubs(node, subs)
  if (sub.op === Syntax.empty) return sub
  if (node.isCounted) return writtenOut(node, sub)
  if (sub === node.subs[0]) return node
  const isSame = isRepeated(sub) && sub.least === node.least && sub.most === node.most && sub.flags === node.flags
  return isSame ? sub : withSubs(node, subs)
}

const copiesOf = (sub: Syntax.Node, count: number, last: Syntax.Node): Syntax.Node => {
  const subs = new Array<Syntax.Node>(count).fill(sub)
  subs[count - 1] = last
  return count === 1 ? last : Syntax.nodeOf(Syntax.sequence, subs)
}

const writtenOut = (node: Syntax.Node, sub: Syntax.Node): Syntax.Node => {
  const { flags } = node
  const once = isOnce(sub)
  const least = once ? Math.min(node.least, 1) : node.least
  const most = once ? Math.min(node.most, 1) : node.most
  if (most < 0) {
    if (least === 0) return Syntax.repeatedAgain(sub, 0, -1, flags)
    return copiesOf(sub, least, Syntax.repeatedAgain(sub, 1, -1, flags))
  }
  if (most === 0) return new Syntax.Node(Syntax.empty)
  const first = least === 0 ? undefined : copiesOf(sub, least, sub)
  if (most === least && first !== undefined) return first
  let rest = Syntax.repeatedAgain(sub, 0, 1, flags)
  for (let at = least + 1; at < most; at++) {
    rest = Syntax.repeatedAgain(Syntax.nodeOf(Syntax.sequence, [sub, rest]), 0, 1, flags)
  }
  return first === undefined ? rest : Syntax.nodeOf(Syntax.sequence, [first, rest])
}

const isBegin = ({ arg, op }: Syntax.Node): boolean => op === Syntax.assertion && arg === Syntax.beginText
const isEnd = ({ arg, op }: Syntax.Node): boolean => op === Syntax.assertion && arg === Syntax.endText

const restOf = (subs: ReadonlyArray<Syntax.Node>): Syntax.Node => {
  const [only] = subs
  if (only === undefined) return new Syntax.Node(Syntax.empty)
  return subs.length === 1 ? only : Syntax.nodeOf(Syntax.sequence, subs)
}

/** What is compiled: the text behind a `^` is compared before. */
const withoutPrefix = (root: Syntax.Node): Syntax.Node => {
  if (root.op !== Syntax.sequence) return root
  const at = root.subs.findIndex((sub) => !isBegin(sub))
  return at > 0 && root.subs[at]?.op === Syntax.literal ? restOf(root.subs.slice(at + 1)) : root
}

/** How deep an anchor is looked for. */
const maxDepth = 4

/** Without an anchor at an end of it; `undefined`: there is none. */
const withoutAnchor = (
  node: Syntax.Node,
  isAnchor: (node: Syntax.Node) => boolean,
  isLast: boolean,
  depth = 0
): Syntax.Node | undefined => {
  if (depth >= maxDepth) return undefined
  if (isAnchor(node)) return Syntax.literalOf([], false)
  if (node.op !== Syntax.sequence && node.op !== Syntax.group) return undefined
  const at = isLast ? node.subs.length - 1 : 0
  const sub = node.subs[at]
  const made = sub === undefined ? undefined : withoutAnchor(sub, isAnchor, isLast, depth + 1)
  return made === undefined ? undefined : withSubs(node, node.subs.with(at, made))
}

// What instructions do. The first one of a program fails.
const fail = 0
const alternative = 1
const alternativeMatch = 2
const range = 3
/** A range of all bytes. */
const anything = 4
const capture = 5
const emptyWidth = 6
const match = 7
const nothing = 8

/** A part of a program: where it begins, and the list of the places that lead out of it. */
interface Part {
  readonly begin: number
  readonly head: number
  readonly tail: number
  readonly isNullable: boolean
}

/** It matches nothing. */
const noPart: Part = { begin: 0, head: 0, tail: 0, isNullable: false }

/**
 * Steps that may be taken to measure expressions: about ten for each instruction. Those that were taken are taken off.
 *
 * @since 0.1.0
 */
export interface Budget {
  steps: number
}

class Compiler {
  readonly #ops: Array<number> = [fail]
  readonly #outs: Array<number> = [0]
  readonly #others: Array<number> = [0]
  /** By instruction: the walk that came to it last. */
  #seen = new Int32Array(0)
  #walk = 0

  constructor(readonly budget: Budget) {}

  /** Instructions of the whole program; `undefined`: there were too few steps to count them. */
  sizeOf(root: Syntax.Node): number | undefined {
    const begun = withoutAnchor(root, isBegin, false)
    const ended = withoutAnchor(begun ?? root, isEnd, true)
    const part = this.#joined(this.#compile(ended ?? begun ?? root), this.#match())
    const start = part.begin
    const first = begun === undefined ? this.#joined(this.#star(this.#one(anything), true), part).begin : start
    if (start === 0 && first === 0) return 1
    this.#optimize(start)
    return this.#countFlat(start, first)
  }

  #emit(op: number, out = 0, other = 0): number {
    this.budget.steps--
    this.#outs.push(out)
    this.#others.push(other)
    return this.#ops.push(op) - 1
  }

  #patch(list: number, to: number): void {
    for (let place = list; place !== 0;) {
      const at = place >>> 1
      const list = (place & 1) === 0 ? this.#outs : this.#others
      place = list[at] ?? 0
      list[at] = to
    }
  }

  #append(one: Part, other: Part): Pick<Part, "head" | "tail"> {
    if (one.head === 0) return other
    if (other.head === 0) return one
    const list = (one.tail & 1) === 0 ? this.#outs : this.#others
    list[one.tail >>> 1] = other.head
    return { head: one.head, tail: other.tail }
  }

  #one(op: number, isNullable = false): Part {
    const begin = this.#emit(op)
    return { begin, head: begin << 1, tail: begin << 1, isNullable }
  }

  #match(): Part {
    return { begin: this.#emit(match), head: 0, tail: 0, isNullable: false }
  }

  #joined(one: Part, other: Part): Part {
    if (one.begin === 0 || other.begin === 0) return noPart
    const isNothing =
      this.#ops[one.begin] === nothing && one.head === one.begin << 1 && (this.#outs[one.begin] ?? 0) === 0
    this.#patch(one.head, other.begin)
    if (isNothing) return other
    return {
      begin: one.begin,
      head: other.head,
      tail: other.tail,
      isNullable: one.isNullable && other.isNullable
    }
  }

  #either(one: Part, other: Part): Part {
    if (one.begin === 0) return other
    if (other.begin === 0) return one
    const begin = this.#emit(alternative, one.begin, other.begin)
    return { begin, ...this.#append(one, other), isNullable: one.isNullable || other.isNullable }
  }

  /** An instruction that goes to a part or on, and where it goes on. */
  #fork(part: Part, isLazy: boolean): Part {
    const begin = isLazy ? this.#emit(alternative, 0, part.begin) : this.#emit(alternative, part.begin, 0)
    const place = (begin << 1) | (isLazy ? 0 : 1)
    return { begin, head: place, tail: place, isNullable: true }
  }

  #plus(part: Part, isLazy: boolean): Part {
    const fork = this.#fork(part, isLazy)
    this.#patch(part.head, fork.begin)
    return { ...fork, begin: part.begin, isNullable: part.isNullable }
  }

  #star(part: Part, isLazy: boolean): Part {
    if (part.isNullable) return this.#optional(this.#plus(part, isLazy), isLazy)
    const fork = this.#fork(part, isLazy)
    this.#patch(part.head, fork.begin)
    return fork
  }

  #optional(part: Part, isLazy: boolean): Part {
    if (part.begin === 0) return this.#one(nothing, true)
    const fork = this.#fork(part, isLazy)
    return { ...fork, ...this.#append(fork, part) }
  }

  #compile(node: Syntax.Node): Part {
    const [sub] = node.subs
    switch (node.op) {
      case Syntax.literal: {
        if (node.text.length === 0) return this.#one(nothing, true)
        let part = this.#one(range)
        for (let at = 1; at < node.text.length; at++) part = this.#joined(part, this.#one(range))
        return part
      }
      case Syntax.characters: {
        const isAll = node.set.length === 2 && node.set[0] === 0 && node.set[1] === 0xff
        let part = this.#one(isAll ? anything : range)
        for (let count = rangesOf(node); count > 1; count--) part = this.#either(part, this.#one(range))
        return { ...part, isNullable: false }
      }
      case Syntax.any:
      case Syntax.byte:
        return this.#one(anything)
      case Syntax.never:
        return noPart
      case Syntax.assertion:
        return this.#one(emptyWidth, true)
      case Syntax.group: {
        const part = sub === undefined ? noPart : this.#compile(sub)
        if (part.begin === 0) return noPart
        const begin = this.#emit(capture, part.begin)
        const end = this.#one(capture)
        this.#patch(part.head, end.begin)
        return { ...end, begin, isNullable: part.isNullable }
      }
      case Syntax.repeat: {
        const part = sub === undefined ? noPart : this.#compile(sub)
        if (node.most === 1) return this.#optional(part, node.isLazy)
        return node.least === 0 ? this.#star(part, node.isLazy) : this.#plus(part, node.isLazy)
      }
      case Syntax.sequence:
      case Syntax.alternatives: {
        let part = sub === undefined ? noPart : this.#compile(sub)
        for (let at = 1; at < node.subs.length; at++) {
          const next = node.subs[at]
          const other = next === undefined ? noPart : this.#compile(next)
          part = node.op === Syntax.sequence ? this.#joined(part, other) : this.#either(part, other)
        }
        return part
      }
      default:
        return this.#one(nothing, true)
    }
  }

  /** The instruction that does something, from one on. */
  #skipped(from: number): number {
    let at = from
    while (at !== 0 && this.#ops[at] === nothing) at = this.#outs[at] ?? 0
    return at
  }

  #isMatch(from: number): boolean {
    let at = from
    while (this.#ops[at] === capture || this.#ops[at] === nothing) at = this.#outs[at] ?? 0
    return this.#ops[at] === match
  }

  #isLoop(at: number, to: number): boolean {
    return this.#ops[at] === anything && this.#outs[at] === to
  }

  #optimize(start: number): void {
    const queue = new Set([start])
    // A set may grow while it is gone through.
    for (const id of queue) {
      this.budget.steps--
      const out = this.#skipped(this.#outs[id] ?? 0)
      this.#outs[id] = out
      if (out !== 0) queue.add(out)
      if (this.#ops[id] !== alternative) continue
      const other = this.#skipped(this.#others[id] ?? 0)
      this.#others[id] = other
      if (other !== 0) queue.add(other)
    }
    for (const id of queue) {
      if (this.#ops[id] !== alternative) continue
      const [out = 0, other = 0] = [this.#outs[id], this.#others[id]]
      const isLast = (this.#isLoop(out, id) && this.#isMatch(other)) || (this.#isMatch(out) && this.#isLoop(other, id))
      if (isLast) this.#ops[id] = alternativeMatch
    }
  }

  /** All that is reached without a character, from an instruction on, in any order; not behind what begins another list. */
  #reach(from: number, isRoot: Uint8Array): Array<number> {
    const ops = this.#ops
    const seen = this.#seen
    const walk = ++this.#walk
    const stack = [from]
    const found: Array<number> = []
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      for (let at = next; seen[at] !== walk;) {
        seen[at] = walk
        found.push(at)
        const op = ops[at]
        if ((at !== from && isRoot[at] === 1) || (op !== alternative && op !== alternativeMatch && op !== nothing))
          break
        if (op !== nothing) stack.push(this.#others[at] ?? 0)
        at = this.#outs[at] ?? 0
      }
    }
    this.budget.steps -= found.length
    return found
  }

  #countFlat(start: number, first: number): number | undefined {
    const { length } = this.#ops
    this.#seen = new Int32Array(length)
    const isRoot = new Uint8Array(length)
    const roots: Array<number> = []
    const begin = (root: number): void => {
      if (isRoot[root] === 1) return
      isRoot[root] = 1
      roots.push(root)
    }
    begin(0)
    begin(first)
    begin(start)
    const before = new Array<Array<number> | undefined>(length).fill(undefined)
    // Whatever reads, or does something, begins a list behind it. Roots are found while they are gone through.
    const isKnown = new Uint8Array(length)
    const stack = [first]
    for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
      if (isKnown[id] === 1) continue
      isKnown[id] = 1
      const op = this.#ops[id]
      if (op === match || op === fail) continue
      const out = this.#outs[id] ?? 0
      stack.push(out)
      if (op === alternative || op === alternativeMatch) {
        const other = this.#others[id] ?? 0
        stack.push(other)
        ;(before[out] ??= []).push(id)
        ;(before[other] ??= []).push(id)
      } else if (op !== nothing) begin(out)
    }
    this.budget.steps -= length
    // What can be reached from elsewhere, too, is a list of its own.
    for (const root of roots.slice().sort((one, other) => other - one)) {
      if (this.budget.steps < 0) return undefined
      if (root === 0 || root === start || root === first) continue
      const found = this.#reach(root, isRoot)
      const walk = this.#walk
      for (const id of found) if (before[id]?.some((each) => this.#seen[each] !== walk) === true) begin(id)
    }
    let size = 0
    for (const root of roots) {
      if (this.budget.steps < 0) return undefined
      for (const id of this.#reach(root, isRoot)) {
        const op = this.#ops[id]
        // A list of its own is one instruction of those that lead to it.
        if ((id !== root && isRoot[id] === 1) || (op !== alternative && op !== nothing)) size++
      }
    }
    return this.budget.steps < 0 ? undefined : size
  }
}

/** Programs that may have more instructions are not compiled. */
const maxMeasured = 4_096

/**
 * How many instructions an expression has: so many or more, and so many or less. Both are the same where it is known.
 *
 * @since 0.1.0
 */
export interface Size {
  readonly least: number
  readonly most: number
}

/**
 * An expression that was read.
 *
 * @since 0.1.0
 */
export interface ByteExpression {
  /** What is seen of the size without compiling the expression. */
  readonly bounds: Size
  /** The size, exactly if the steps are enough. */
  readonly measure: (budget: Budget) => Size
}

/** Puts the parts of an expression together as RE2 does, and finds the bounds of its size. */
export const inSteps = function* ({ root }: Syntax.Tree): Syntax.Steps<ByteExpression> {
  const made = yield* coalescedInSteps(withoutPrefix(root))
  yield
  const { all, isNever, least } = yield* boundsInSteps(made)
  // Beside those: the first one, which fails, the end, and what looks for the beginning of a match; the anchors at both ends go.
  const bounds = isNever ? { least: 1, most: 1 } : { least, most: least + 8 + 3 * (all - least) }
  return {
    bounds,
    measure: (budget) => {
      const { least, most } = bounds
      if (least === most || most > maxMeasured || budget.steps <= 0) return bounds
      const size = new Compiler(budget).sizeOf(simplified(made))
      return size === undefined ? bounds : { least: size, most: size }
    }
  }
}
