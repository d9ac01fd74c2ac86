/**
 * The syntax of RE2: a pattern is read to a tree. What each part may be, what is refused, and how alternatives are put together
 * is that of RE2; reading takes time in proportion to the pattern, and the tree says how large the compiled program will be.
 *
 * @see https://github.com/google/re2/wiki/Syntax
 */
import * as CharacterSets from "./CharacterSets.js"

// What a part is. The first four are one character each.
export const literal = 1
export const characters = 2
export const any = 3
/** A byte, where characters are bytes. */
export const byte = 4
/** It matches nothing. */
export const never = 5
export const empty = 6
export const assertion = 7
export const group = 8
export const repeat = 9
export const sequence = 10
export const alternatives = 11
// Those only stand on the stack.
const leftParenthesis = 12
const verticalBar = 13

/** What an assertion asks for, as bits. */
export const beginLine = 1
export const endLine = 2
export const beginText = 4
export const endText = 8
export const wordBoundary = 16
export const noWordBoundary = 32

/** How deep parts are in one another at most; Go has the same bound. */
const maxHeight = 1_000
const maxRepeat = 1_000

/**
 * Most instructions of a compiled program: RE2 has no room for more in the 8 MB that it takes if nobody says another number. Here a
 * character is one instruction; RE2 needs as many or more.
 */
export const maxInstructions = 174_762

/** Why a pattern is none of RE2. */
export class SyntaxProblem extends Error {
  constructor(readonly reason: string) {
    super(reason)
  }
}

// Flags, as bits.
const foldFlag = 1
const dotFlag = 2
const lineFlag = 4
const lazyFlag = 8

const none: ReadonlyArray<Node> = []
const noCharacters: Array<number> = []

/** A part of an expression. While it is read, parts are put together and taken apart. */
export class Node {
  subs: ReadonlyArray<Node> = none
  /** Of a `literal`: its characters. */
  text: Array<number> = noCharacters
  /** Of a `literal`: whatever their case. */
  fold = false
  /** Of `characters`. */
  set: CharacterSets.Ranges = noCharacters
  /** Of a `repeat`. `most` is -1: without an end. `isCounted`: it is written with numbers. */
  least = 0
  most = 0
  isLazy = false
  isCounted = false
  /** Of a `repeat`: all flags where it stands. */
  flags = 0
  /** Of an `assertion`: what it asks for; of a `group`: its number. */
  arg = 0
  /** Of an `assertion`: whether it is written as `$`. */
  isDollar = false
  height = 1
  /** How often what repeats in here is repeated at most. */
  repeats = 1

  constructor(public op: number) {}
}

export const isOneCharacter = (node: Node): boolean =>
  node.op <= byte && (node.op !== literal || node.text.length === 1)

/** Whether a part is a literal of one character, or a class. */
const isInClass = (node: Node): boolean => node.op === characters || (node.op === literal && node.text.length === 1)

export const nodeOf = (op: number, subs: ReadonlyArray<Node>): Node => {
  const node = new Node(op)
  node.subs = subs
  for (const { height, repeats } of subs) {
    if (height >= node.height) node.height = height + 1
    if (repeats > node.repeats) node.repeats = repeats
  }
  return node
}

export const literalOf = (text: Array<number>, fold: boolean): Node => {
  const node = new Node(literal)
  node.text = text
  node.fold = fold
  return node
}

/** A part that is repeated. */
export const repeatOf = (sub: Node, least: number, most: number, flags: number): Node => {
  const node = nodeOf(repeat, [sub])
  node.least = least
  node.most = most
  node.flags = flags
  node.isLazy = (flags & lazyFlag) !== 0
  return node
}

/** A part that is repeated by an operator. ★ As in RE2 what two such operators repeat, one in the other, is repeated by one. */
export const repeatedAgain = (sub: Node, least: number, most: number, flags: number): Node => {
  const [inner] = sub.subs
  if (sub.op !== repeat || sub.isCounted || sub.flags !== flags || inner === undefined) {
    return repeatOf(sub, least, most, flags)
  }
  return sub.least === least && sub.most === most ? sub : repeatOf(inner, 0, -1, flags)
}

const areEqualNumbers = (one: CharacterSets.Ranges, other: CharacterSets.Ranges): boolean => {
  if (one === other) return true
  if (one.length !== other.length) return false
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false
  return true
}

/** Whether two parts of one character are the same. */
export const areEqual = (one: Node, other: Node): boolean =>
  one.op === other.op &&
  (one.op === literal
    ? one.fold === other.fold && areEqualNumbers(one.text, other.text)
    : one.op !== characters || areEqualNumbers(one.set, other.set))

/** What a part begins with. */
const leading = (node: Node): Node | undefined => {
  if (node.op === empty) return undefined
  const [first] = node.subs
  return node.op !== sequence ? node : first?.op === empty ? undefined : first
}

const isFixed = ({ least, most, op, subs: [sub] }: Node): boolean =>
  op === repeat && least === most && sub !== undefined && isOneCharacter(sub)

/** Whether two parts may be put before alternatives once, and are the same. */
const areEqualLeading = (one: Node, other: Node): boolean => {
  if (one.op === assertion) return other.op === assertion && one.arg === other.arg && one.isDollar === other.isDollar
  if (one.op !== literal && isOneCharacter(one)) return areEqual(one, other)
  const [sub] = one.subs
  const [subOfOther] = other.subs
  return (
    isFixed(one) &&
    isFixed(other) &&
    one.least === other.least &&
    one.isLazy === other.isLazy &&
    sub !== undefined &&
    subOfOther !== undefined &&
    areEqual(sub, subOfOther)
  )
}

/** Work in steps, of less than a millisecond mostly. */
export type Steps<A> = Generator<undefined, A>

/** The tree of a pattern, and how many groups it has. */
export interface Tree {
  readonly root: Node
  readonly groups: number
}

const isWordName = (name: string): boolean => /^[\p{L}\p{Mn}\p{Mc}\p{Nd}\p{Nl}\p{Pc}]+$/u.test(name)

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
const isOctal = (code: number): boolean => code >= 0x30 && code <= 0x37
const isAlphanumeric = (code: number): boolean =>
  isDigit(code) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a)

const hexadecimal = (code: number): number => {
  if (isDigit(code)) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** Characters that an escape of one letter is. */
const escapes: ReadonlyMap<string, number> = new Map([
  ["a", 0x07],
  ["f", 0x0c],
  ["n", 0x0a],
  ["r", 0x0d],
  ["t", 0x09],
  ["v", 0x0b]
])

/** Parts of a pattern that are read in one step. */
const atOnce = 64

/** Numbers and parts that are copied in one step. */
const maxWork = 8_192

/** How many were copied for a part without its beginning. */
const sizeOfCopy = ({ subs, text }: Node): number => 4 + text.length + subs.length + (subs[0]?.text.length ?? 0)

/** Parts, without a sequence in a sequence, or alternatives in alternatives. */
const flattened = (parts: ReadonlyArray<Node>, op: typeof sequence | typeof alternatives): ReadonlyArray<Node> =>
  parts.some((part) => part.op === op) ? parts.flatMap((part) => (part.op === op ? part.subs : [part])) : parts

const flagsByLetter: ReadonlyMap<string, number> = new Map([
  ["i", foldFlag],
  ["m", lineFlag],
  ["s", dotFlag],
  ["U", lazyFlag]
])

class Parser {
  /** Characters without a meaning. */
  readonly #plainText = /[^(|)^$.[*+?{\\]+/uy
  #at = 0
  #flags = 0
  /** Parts that are not put together yet. */
  readonly #stack: Array<Node> = []
  /** By parenthesis that is open: the flags before it. */
  readonly #flagsBefore: Array<number> = []
  #groups = 0
  #ranges = 0
  /** What was copied since the last step. */
  #work = 0
  /** Whether no class of POSIX is behind here: none ends. */
  #isPosixOver = false
  /** By its text: the set of a class, so that each is made once. */
  readonly #classes = new Map<string, CharacterSets.Ranges>()

  constructor(
    readonly pattern: string,
    readonly alphabet: CharacterSets.Alphabet
  ) {}

  *parse(): Steps<Tree> {
    const { pattern } = this
    let repeatBefore = -1
    for (let count = 1; this.#at < pattern.length; count++) {
      if (count % atOnce === 0) yield
      const start = this.#at
      let isRepeat = false
      switch (pattern.charAt(start)) {
        case "(":
          this.#openParenthesis()
          break
        case "|":
          this.#at++
          this.#endSequence()
          if (!this.#swapVerticalBar()) this.#stack.push(new Node(verticalBar))
          break
        case ")":
          this.#at++
          yield* this.#closeParenthesis()
          break
        case "^":
          this.#at++
          this.#assertion((this.#flags & lineFlag) !== 0 ? beginLine : beginText)
          break
        case "$":
          this.#at++
          this.#assertion((this.#flags & lineFlag) !== 0 ? endLine : endText, true)
          break
        case ".":
          this.#at++
          if ((this.#flags & dotFlag) !== 0) this.#push(new Node(any))
          else this.#pushSet(this.alphabet.anyButNewLine)
          break
        case "[":
          this.#pushSet(this.#class())
          break
        case "*":
        case "+":
        case "?":
          this.#at++
          this.#repeat(pattern[start] === "+" ? 1 : 0, pattern[start] === "?" ? 1 : -1, start, repeatBefore)
          isRepeat = true
          break
        case "{": {
          const counts = this.#counts()
          if (counts === undefined) {
            this.#at++
            this.#literal(0x7b)
          } else {
            this.#repeat(counts[0], counts[1], start, repeatBefore)
            isRepeat = true
          }
          break
        }
        case "\\":
          this.#escape()
          break
        default:
          this.#plain()
      }
      repeatBefore = isRepeat ? start : -1
    }
    yield* this.#endAlternatives()
    const [root] = this.#stack
    if (root === undefined || this.#stack.length !== 1) throw new SyntaxProblem("missing closing )")
    return { root, groups: this.#groups }
  }

  /** The next character, which there is. */
  #next(): number {
    const code = this.pattern.codePointAt(this.#at) ?? 0
    this.#at += code > 0xffff ? 2 : 1
    return code
  }

  #from(start: number): string {
    return this.pattern.slice(start, this.#at)
  }

  #count(ranges: number): void {
    const { maxRanges } = this.alphabet
    this.#ranges += ranges
    if (this.#ranges > maxRanges) throw new SyntaxProblem("expression too large: too many ranges of characters")
  }

  #push(node: Node): void {
    this.#joinLiterals()
    this.#stack.push(this.#checked(node))
  }

  #checked(node: Node): Node {
    if (node.height > maxHeight) throw new SyntaxProblem("expression nests too deeply")
    return node
  }

  /** Makes one of the last two parts if both are literals. */
  #joinLiterals(): boolean {
    const last = this.#stack.at(-1)
    const before = this.#stack.at(-2)
    if (last?.op !== literal || before?.op !== literal || last.fold !== before.fold) return false
    for (const code of last.text) before.text.push(code)
    this.#stack.pop()
    return true
  }

  get #fold(): boolean {
    return (this.#flags & foldFlag) !== 0
  }

  #literal(code: number, fold = this.#fold): void {
    const last = this.#stack.at(-1)
    const character = fold ? this.alphabet.foldedFirst(code) : code
    if (this.#joinLiterals() && last !== undefined) {
      last.text = [character]
      last.fold = fold
      this.#stack.push(last)
    } else {
      this.#stack.push(literalOf([character], fold))
    }
  }

  /** All characters up to one that means something else. */
  #plain(): void {
    const plain = this.#plainText
    plain.lastIndex = this.#at
    plain.test(this.pattern)
    const end = plain.lastIndex
    this.#literal(this.#next())
    const text = this.#stack.at(-1)?.text
    const fold = this.#fold
    while (this.#at < end) {
      const code = this.#next()
      // What comes behind the last one may repeat it.
      if (this.#at >= end) this.#literal(code)
      else text?.push(fold ? this.alphabet.foldedFirst(code) : code)
    }
  }

  #pushSet(set: CharacterSets.Ranges): void {
    const [first = -1, last = -1, second, end] = set
    if (set.length === 2 && first === last) return this.#literal(first)
    // A letter in both cases.
    const other = set.length === 2 ? last : second
    const isPair = set.length === 2 ? first + 1 === last : set.length === 4 && first === last && second === end
    if (isPair && other !== undefined && this.alphabet.isPairOfCases(first, other)) return this.#literal(first, true)
    const node = new Node(characters)
    node.set = set
    this.#push(node)
  }

  #assertion(what: number, isDollar = false): void {
    const node = new Node(assertion)
    node.arg = what
    node.isDollar = isDollar
    this.#push(node)
  }

  /** The counts of `{2}`, `{2,}` or `{2,3}`; `undefined`: it is nothing of this. ★ As in RE2 an endless number is none. */
  #counts(): readonly [least: number, most: number] | undefined {
    const start = this.#at
    this.#at++
    const least = this.#number()
    let most = least
    if (least !== undefined && this.pattern[this.#at] === ",") {
      this.#at++
      most = this.pattern[this.#at] === "}" ? -1 : this.#number()
    }
    if (least === undefined || most === undefined || this.pattern[this.#at] !== "}") {
      this.#at = start
      return undefined
    }
    this.#at++
    if (least > maxRepeat || most > maxRepeat || (most >= 0 && least > most)) {
      throw new SyntaxProblem(`invalid repeat count: ${this.#from(start)}`)
    }
    return [least, most]
  }

  #number(): number | undefined {
    const start = this.#at
    let number = 0
    for (; isDigit(this.pattern.charCodeAt(this.#at)); this.#at++) {
      if (number >= 100_000_000) return undefined
      number = number * 10 + this.pattern.charCodeAt(this.#at) - 0x30
    }
    const length = this.#at - start
    return length === 0 || (length > 1 && this.pattern[start] === "0") ? undefined : number
  }

  #repeat(least: number, most: number, start: number, before: number): void {
    let flags = this.#flags
    if (this.pattern[this.#at] === "?") {
      this.#at++
      flags ^= lazyFlag
    }
    if (before >= 0) throw new SyntaxProblem(`invalid nested repetition operator: ${this.#from(before)}`)
    const sub = this.#stack.pop()
    if (sub === undefined || sub.op >= leftParenthesis) {
      throw new SyntaxProblem(`missing argument to repetition operator: ${this.#from(start)}`)
    }
    const isCounted = this.pattern[start] === "{"
    const node = isCounted ? repeatOf(sub, least, most, flags) : repeatedAgain(sub, least, most, flags)
    if (isCounted) {
      node.isCounted = true
      node.repeats *= Math.max(1, most, least)
      if ((least > 1 || most > 1) && node.repeats > maxRepeat) {
        throw new SyntaxProblem(`invalid repeat count: ${this.#from(start)}`)
      }
    }
    this.#stack.push(this.#checked(node))
  }

  /** The parts since the last parenthesis or bar. */
  #popParts(): Array<Node> {
    let from = this.#stack.length
    while (from > 0 && (this.#stack[from - 1]?.op ?? leftParenthesis) < leftParenthesis) from--
    return this.#stack.splice(from)
  }

  #endSequence(): void {
    this.#joinLiterals()
    const top = this.#stack.at(-1)
    const before = this.#stack.at(-2)
    // Mostly it is one part already.
    if (top !== undefined && top.op < leftParenthesis && (before === undefined || before.op >= leftParenthesis)) return
    const parts = this.#popParts()
    if (parts.length === 0) return this.#push(new Node(empty))
    const flat = flattened(parts, sequence)
    const [only] = flat
    this.#push(flat.length === 1 && only !== undefined ? only : this.#checked(nodeOf(sequence, flat)))
  }

  *#endAlternatives(): Steps<void> {
    this.#endSequence()
    if (this.#swapVerticalBar()) this.#stack.pop()
    const parts = this.#popParts()
    const [only] = parts
    if (parts.length === 1 && only !== undefined) this.#push(only)
    else this.#push(yield* this.#alternated(flattened(parts, alternatives)))
  }

  /** Alternatives as one, with what they have in common put before them. */
  *#alternated(all: ReadonlyArray<Node>): Steps<Node> {
    const factored = this.#withSets(yield* this.#withLeading(yield* this.#withPrefixes(all)))
    const [single] = factored
    return factored.length === 1 && single !== undefined ? single : this.#checked(nodeOf(alternatives, factored))
  }

  /** Puts the last alternative before the bar; of any character and one of some it is the former. */
  #swapVerticalBar(): boolean {
    const { length } = this.#stack
    const last = this.#stack[length - 1]
    const bar = this.#stack[length - 2]
    const before = this.#stack[length - 3]
    if (last === undefined || bar?.op !== verticalBar) return false
    if (before?.op === any && (last.op === any || isInClass(last))) {
      this.#stack.pop()
    } else if (before !== undefined && last.op === any && isInClass(before)) {
      this.#stack[length - 3] = last
      this.#stack.pop()
    } else {
      this.#stack[length - 2] = last
      this.#stack[length - 1] = bar
    }
    return true
  }

  /** The set of one character, the same one for the same character. */
  #setOf(node: Node): CharacterSets.Ranges {
    if (node.op !== literal) return node.set
    const [character = 0] = node.text
    const key = `${node.fold ? "i" : ""} ${character}`
    const known = this.#classes.get(key)
    if (known !== undefined) return known
    const set = node.fold ? this.alphabet.foldedCharacter(character) : [character, character]
    this.#classes.set(key, set)
    return set
  }

  *#withPrefixes(all: ReadonlyArray<Node>): Steps<Array<Node>> {
    const out: Array<Node> = []
    let start = 0
    let prefix: ReadonlyArray<number> = noCharacters
    let length = 0
    let fold = false
    for (let at = 0; at <= all.length; at++) {
      const node = all[at]
      const first = node?.op === sequence ? node.subs[0] : node
      const text = first?.op === literal ? first.text : noCharacters
      const isFold = first?.op === literal && first.fold
      if (node !== undefined && isFold === fold) {
        let same = 0
        while (same < length && same < text.length && prefix[same] === text[same]) same++
        if (same > 0) {
          length = same
          continue
        }
      }
      const begin = all[start]
      if (at === start + 1 && begin !== undefined) out.push(begin)
      else if (at > start + 1) {
        const rests: Array<Node> = []
        for (const each of all.slice(start, at)) {
          const rest = withoutText(each, length)
          rests.push(rest)
          this.#work += sizeOfCopy(rest)
          if (this.#work > maxWork) {
            this.#work = 0
            yield
          }
        }
        const common = literalOf(prefix.slice(0, length), fold)
        out.push(this.#checked(nodeOf(sequence, [common, yield* this.#alternated(rests)])))
      }
      start = at
      prefix = text
      length = text.length
      fold = isFold
    }
    return out
  }

  *#withLeading(all: ReadonlyArray<Node>): Steps<Array<Node>> {
    const out: Array<Node> = []
    let start = 0
    let common: Node | undefined
    for (let at = 0; at <= all.length; at++) {
      const node = all[at]
      const first = node === undefined ? undefined : leading(node)
      if (first !== undefined && common !== undefined && areEqualLeading(common, first)) continue
      const begin = all[start]
      if (at === start + 1 && begin !== undefined) out.push(begin)
      else if (at > start + 1 && common !== undefined) {
        const rests: Array<Node> = []
        for (const each of all.slice(start, at)) {
          const rest = withoutFirst(each)
          rests.push(rest)
          this.#work += sizeOfCopy(rest)
          if (this.#work > maxWork) {
            this.#work = 0
            yield
          }
        }
        out.push(this.#checked(nodeOf(sequence, [common, yield* this.#alternated(rests)])))
      }
      start = at
      common = first
    }
    return out
  }

  /** Alternatives of one character each that are next to each other are one class. */
  #withSets(all: ReadonlyArray<Node>): Array<Node> {
    const out: Array<Node> = []
    for (let at = 0; at < all.length; at++) {
      const node = all[at]
      if (node === undefined) break
      const next = all[at + 1]
      if (next === undefined || !isInClass(node) || !isInClass(next)) {
        out.push(node)
        continue
      }
      const sets = new Set([this.#setOf(node)])
      for (let other = all[at + 1]; other !== undefined && isInClass(other); other = all[++at + 1]) {
        sets.add(this.#setOf(other))
      }
      const merged = new Node(characters)
      merged.set = this.#joined(sets, [])
      out.push(merged)
    }
    return out
  }

  /** One set of sets, and of ranges in any order. */
  #joined(sets: Iterable<CharacterSets.Ranges>, ranges: Array<number>): Int32Array {
    for (const set of sets) {
      this.#count(set.length / 2)
      for (const bound of set) ranges.push(bound)
    }
    return CharacterSets.normalized(ranges)
  }

  #openParenthesis(): void {
    const { pattern } = this
    const start = this.#at
    const node = new Node(leftParenthesis)
    if (pattern[start + 1] !== "?") {
      this.#at++
      node.arg = ++this.#groups
      return this.#open(node, this.#flags)
    }
    const isNamed = pattern.startsWith("P<", start + 2)
    if (isNamed || pattern[start + 2] === "<") {
      const begin = start + (isNamed ? 4 : 3)
      const end = pattern.indexOf(">", begin)
      if (end < 0) throw new SyntaxProblem(`invalid named capture: ${pattern.slice(start, start + 40)}`)
      this.#at = end + 1
      // ★ As in RE2, groups may have the same name.
      if (!isWordName(pattern.slice(begin, end))) throw new SyntaxProblem(`invalid named capture: ${this.#from(start)}`)
      node.arg = ++this.#groups
      return this.#open(node, this.#flags)
    }
    this.#at += 2
    let flags = this.#flags
    let isOn = true
    let isFlag = false
    for (;;) {
      const letter = pattern[this.#at++]
      const flag = letter === undefined ? undefined : flagsByLetter.get(letter)
      if (flag !== undefined) flags = isOn ? flags | flag : flags & ~flag
      else if (letter === "-" && isOn) {
        isOn = false
        isFlag = false
        continue
      } else if ((letter === ":" || letter === ")") && (isOn || isFlag)) {
        if (letter === ")") this.#flags = flags
        else this.#open(node, flags)
        return
      } else throw new SyntaxProblem(`invalid or unsupported Perl syntax: ${this.#from(start)}`)
      isFlag = true
    }
  }

  #open(node: Node, flags: number): void {
    this.#joinLiterals()
    this.#stack.push(node)
    this.#flagsBefore.push(this.#flags)
    this.#flags = flags
  }

  *#closeParenthesis(): Steps<void> {
    yield* this.#endAlternatives()
    const sub = this.#stack.pop()
    const open = this.#stack.pop()
    if (sub === undefined || open?.op !== leftParenthesis) throw new SyntaxProblem("unexpected )")
    this.#flags = this.#flagsBefore.pop() ?? this.#flags
    if (open.arg === 0) {
      this.#push(sub)
      return
    }
    const node = nodeOf(group, [sub])
    node.arg = open.arg
    this.#push(node)
  }

  #escape(): void {
    const { pattern } = this
    const start = this.#at
    const letter = pattern.charAt(start + 1)
    switch (letter) {
      case "A":
        this.#at += 2
        return this.#assertion(beginText)
      case "z":
        this.#at += 2
        return this.#assertion(endText)
      case "b":
        this.#at += 2
        return this.#assertion(wordBoundary)
      case "B":
        this.#at += 2
        return this.#assertion(noWordBoundary)
      case "C":
        if (this.alphabet.largest > 0xff) throw new SyntaxProblem("invalid escape sequence: \\C")
        this.#at += 2
        return this.#push(new Node(byte))
      case "Q": {
        this.#at += 2
        const found = pattern.indexOf("\\E", this.#at)
        const end = found < 0 ? pattern.length : found
        while (this.#at < end) this.#literal(this.#next())
        if (found >= 0) this.#at += 2
        return
      }
      default: {
        const set = this.#classEscape()
        if (set !== undefined) this.#pushSet(set)
        else this.#literal(this.#character())
      }
    }
  }

  /** The set of `\d`, `\pL` and the like, if it is one of those. */
  #classEscape(): CharacterSets.Ranges | undefined {
    const { pattern } = this
    const start = this.#at
    const letter = pattern.charAt(start + 1)
    const lower = letter.toLowerCase()
    if (lower === "p") return this.#unicodeClass()
    const set = CharacterSets.perl.get(lower)
    if (set === undefined) return undefined
    this.#at += 2
    return this.#cached(`\\${letter} ${this.#fold ? "i" : ""}`, () => {
      const all = this.#fold ? this.#folded(CharacterSets.normalized(set)) : set
      return letter === lower ? all : this.#negated(all)
    })
  }

  /** A set, with all that is equal to one of its characters but for its case. */
  #folded(set: Int32Array): Int32Array {
    return this.alphabet.folded(set, (ranges) => this.#count(ranges))
  }

  #negated(set: CharacterSets.Ranges): Int32Array {
    return CharacterSets.negated(set, this.alphabet.largest)
  }

  #cached(key: string, make: () => CharacterSets.Ranges): CharacterSets.Ranges {
    const known = this.#classes.get(key)
    if (known !== undefined) return known
    const set = make()
    this.#count(set.length / 2)
    this.#classes.set(key, set)
    return set
  }

  #unicodeClass(): CharacterSets.Ranges {
    const { pattern } = this
    const start = this.#at
    let isNegated = pattern[start + 1] === "P"
    this.#at += 2
    const wrong = () => new SyntaxProblem(`invalid character class range: ${this.#from(start)}`)
    if (this.#at >= pattern.length) throw wrong()
    let name: string
    if (pattern[this.#at] === "{") {
      const end = pattern.indexOf("}", this.#at)
      if (end < 0) throw wrong()
      name = pattern.slice(this.#at + 1, end)
      this.#at = end + 1
    } else {
      name = String.fromCodePoint(this.#next())
    }
    if (name.startsWith("^")) {
      isNegated = !isNegated
      name = name.slice(1)
    }
    const table = this.alphabet.unicode(name)
    if (table === undefined) throw wrong()
    const fold = this.#fold
    return this.#cached(`\\p ${name} ${fold ? "i" : ""} ${isNegated ? "^" : ""}`, () => {
      const all = fold ? this.#folded(table) : table
      return isNegated ? this.#negated(all) : all
    })
  }

  /** A character behind a backslash. */
  #character(): number {
    const { pattern } = this
    const start = this.#at
    this.#at++
    if (this.#at >= pattern.length) throw new SyntaxProblem("trailing backslash at end of expression")
    const code = this.#next()
    const letter = String.fromCodePoint(code)
    const wrong = () => new SyntaxProblem(`invalid escape sequence: ${this.#from(start)}`)
    if (isOctal(code)) {
      // One digit alone could be a group, but for 0.
      if (code !== 0x30 && !isOctal(pattern.charCodeAt(this.#at))) throw wrong()
      let character = code - 0x30
      for (let digits = 1; digits < 3 && isOctal(pattern.charCodeAt(this.#at)); digits++) {
        character = character * 8 + pattern.charCodeAt(this.#at++) - 0x30
      }
      if (character > this.alphabet.largest) throw wrong()
      return character
    }
    if (letter === "x") {
      if (pattern[this.#at] !== "{") {
        const high = hexadecimal(pattern.charCodeAt(this.#at++))
        const low = hexadecimal(pattern.charCodeAt(this.#at++))
        if (high < 0 || low < 0) throw wrong()
        return high * 16 + low
      }
      let character = 0
      const begin = ++this.#at
      for (; pattern[this.#at] !== "}"; this.#at++) {
        const digit = hexadecimal(pattern.charCodeAt(this.#at))
        character = character * 16 + digit
        if (digit < 0 || character > this.alphabet.largest) throw wrong()
      }
      if (this.#at++ === begin) throw wrong()
      return character
    }
    const escaped = escapes.get(letter)
    if (escaped !== undefined) return escaped
    if (code >= 0x80 || isAlphanumeric(code)) throw wrong()
    return code
  }

  /** A class in brackets. */
  #class(): CharacterSets.Ranges {
    const { pattern } = this
    const start = this.#at
    this.#at++
    const isNegated = pattern[this.#at] === "^"
    if (isNegated) this.#at++
    const ranges: Array<number> = []
    /** Whole sets, each once. */
    const sets = new Set<CharacterSets.Ranges>()
    for (let isFirst = true; isFirst || pattern[this.#at] !== "]"; isFirst = false) {
      if (this.#at >= pattern.length) {
        throw new SyntaxProblem(`missing closing ]: ${pattern.slice(start, start + 40)}`)
      }
      const set = this.#partOfClass()
      if (set !== undefined) {
        sets.add(set)
        continue
      }
      const begin = this.#at
      const first = this.#characterOfClass(start)
      let last = first
      if (pattern[this.#at] === "-" && this.#at + 1 < pattern.length && pattern[this.#at + 1] !== "]") {
        this.#at++
        last = this.#characterOfClass(start)
        if (last < first) throw new SyntaxProblem(`invalid character class range: ${this.#from(begin)}`)
      }
      ranges.push(first, last)
    }
    this.#at++
    const fold = this.#fold
    return this.#cached(`${fold ? "i" : ""}${this.#from(start)}`, () => {
      const set = this.#joined(sets, ranges)
      const all = fold ? this.#folded(set) : set
      return isNegated ? this.#negated(all) : all
    })
  }

  #characterOfClass(start: number): number {
    if (this.#at >= this.pattern.length) {
      throw new SyntaxProblem(`missing closing ]: ${this.pattern.slice(start, start + 40)}`)
    }
    return this.pattern[this.#at] === "\\" ? this.#character() : this.#next()
  }

  /** The set of `\d`, `\pL`, `[:alpha:]` and the like, in a class. */
  #partOfClass(): CharacterSets.Ranges | undefined {
    const { pattern } = this
    const start = this.#at
    if (pattern[start] === "\\") return this.#classEscape()
    if (this.#isPosixOver || !pattern.startsWith("[:", start)) return undefined
    const end = pattern.indexOf(":]", start + 2)
    this.#isPosixOver = end < 0
    if (end < 0) return undefined
    this.#at = end + 2
    const isNegated = pattern[start + 2] === "^"
    const set = CharacterSets.posix.get(pattern.slice(start + (isNegated ? 3 : 2), end))
    if (set === undefined) throw new SyntaxProblem(`invalid character class range: ${this.#from(start)}`)
    const fold = this.#fold
    return this.#cached(`${this.#from(start)} ${fold ? "i" : ""}`, () => {
      const all = fold ? this.#folded(CharacterSets.normalized(set)) : set
      return isNegated ? this.#negated(all) : all
    })
  }
}

/** A part without the first characters of the literal that it is, or begins with. */
const withoutText = (node: Node, length: number): Node => {
  if (node.op === literal) {
    return node.text.length === length ? new Node(empty) : literalOf(node.text.slice(length), node.fold)
  }
  const [first, ...rest] = node.subs
  if (node.op !== sequence || first === undefined) return node
  const left = withoutText(first, length)
  const [only] = rest
  if (left.op !== empty) return nodeOf(sequence, [left, ...rest])
  return rest.length === 1 && only !== undefined ? only : nodeOf(sequence, rest)
}

/** A part without the first one of its sequence. */
const withoutFirst = (node: Node): Node => {
  if (node.op !== sequence) return new Node(empty)
  const [, ...rest] = node.subs
  const [only] = rest
  return rest.length === 1 && only !== undefined ? only : nodeOf(sequence, rest)
}

/** A part with any text before it and behind it. */
export const inText = (node: Node): Node => {
  const others = repeatOf(new Node(any), 0, -1, 0)
  return nodeOf(sequence, [others, node, others])
}

/** Reads a pattern in steps; throws a {@link SyntaxProblem} if it is none of RE2. */
export const parseInSteps = (pattern: string, alphabet: CharacterSets.Alphabet): Steps<Tree> =>
  new Parser(pattern, alphabet).parse()

/** The result of work in steps, at once. */
export const toEnd = <A>(work: Steps<A>): A => {
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}

/** Reads a pattern; throws a {@link SyntaxProblem} if it is none of RE2. */
export const parse = (pattern: string): Tree => toEnd(parseInSteps(pattern, new CharacterSets.Unicode()))
