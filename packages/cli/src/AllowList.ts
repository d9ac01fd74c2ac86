/**
 * Who may read which group: the identities in clients' certificates, and the groups of each.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import { Refusal } from "@effect-xds/server/Refusal"
import type { ServerTransport } from "@effect-xds/transport"
import * as RegularFile from "@effect-xds/transport-node/RegularFile"
import * as TimeSlices from "@effect-xds/transport-node/TimeSlices"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberId from "effect/FiberId"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { Stats } from "node:fs"
import { stat } from "node:fs/promises"
import type * as YamlModule from "yaml"
import type { CST, Document } from "yaml"
import { CommandFailure } from "./CommandFailure.js"

/**
 * One line of the mapping.
 *
 * @since 0.1.0
 */
export interface Rule {
  /** `spiffe://…`, `URI:…`, `DNS:…`, `IP:…`, `email:…`, `CN:…`, or `*`: whoever has a certificate of the authority. */
  readonly identity: string
  /** `*`: every group. */
  readonly groups: ReadonlyArray<string>
}

const forms = "spiffe://…, URI:…, DNS:…, IP:…, email:…, CN:… or *"

const kinds: Readonly<Record<string, string>> = {
  uri: "URI",
  dns: "DNS",
  ip: "IP Address",
  "ip address": "IP Address",
  email: "email",
  cn: "CN"
}

/** With its kind as Node writes it; `undefined` for what has none of the forms. */
const canonical = (identity: string): string | undefined => {
  if (identity === "*") return identity
  if (identity.startsWith("spiffe://")) return `URI:${identity}`
  const colon = identity.indexOf(":")
  const kind = colon < 0 ? undefined : kinds[identity.slice(0, colon).toLowerCase()]
  const value = identity.slice(colon + 1)
  if (kind === undefined || value === "") return undefined
  // Names of hosts are the same in any case of letters (RFC 4343).
  return `${kind}:${kind === "DNS" ? value.toLowerCase() : value}`
}

/** A star is understood at the end of a URI's path, for one or more parts of it, and as the first label of a DNS name. */
const isWellPlaced = (name: string): boolean => {
  if (!name.includes("*") || name === "*") return true
  const star = name.indexOf("*")
  if (star !== name.lastIndexOf("*")) return false
  if (name.startsWith("URI:")) return name.endsWith("/*") && !name.endsWith("//*")
  return name.startsWith("DNS:*.") && name.length > "DNS:*.".length
}

/**
 * A rule from its two sides; a text says what is wrong with it.
 *
 * @since 0.1.0
 */
export const ruleOf = (identity: string, groups: ReadonlyArray<string>): Rule | string => {
  const name = canonical(identity.trim())
  if (name === undefined) return `${JSON.stringify(identity)} is no identity; write ${forms}`
  if (!isWellPlaced(name)) {
    const where = 'a star stands for the rest of a URI, as in "spiffe://corp/edge/*", or for one label of "DNS:*.corp"'
    return `${JSON.stringify(identity)}: ${where}, or alone`
  }
  const named = groups.map((group) => group.trim()).filter((group) => group !== "")
  if (named.length === 0) return `${JSON.stringify(identity)} has no group; write one, or "*" for every group`
  return { identity: name, groups: named }
}

/**
 * A flag: `IDENTITY=GROUP` or `IDENTITY=GROUP,GROUP`. The last `=` divides it.
 *
 * @since 0.1.0
 */
export const parseFlag = (text: string): Rule | string => {
  const at = text.lastIndexOf("=")
  if (at <= 0) return `${JSON.stringify(text)} is not IDENTITY=GROUP, such as spiffe://corp/edge=edge`
  return ruleOf(text.slice(0, at), text.slice(at + 1).split(","))
}

type Yaml = Pick<typeof YamlModule, "Composer" | "Lexer" | "Parser" | "isMap" | "isScalar">

/** Words of a text, and entries of a map, that are read before others may run. */
const [words, entries] = [1_000, 100]

const notYaml = "it is not YAML"

/** Some entries of a map in braces, as if there were no others; `undefined`: what is between them is wrong, or may be. */
const inBraces = (
  value: CST.FlowCollection,
  from: number,
  items: ReadonlyArray<CST.CollectionItem>
): CST.FlowCollection | undefined => {
  const isRight = items.every(({ key, sep, start, value: of }, at) => {
    const isEmpty = key == null && sep === undefined && of === undefined
    const isLast = from + at === value.items.length - 1
    return (!isEmpty || isLast) && start.some(({ type }) => type === "comma") === from + at > 0
  })
  if (!isRight) return undefined
  const [first, ...others] = items
  if (first === undefined) return undefined
  const comma = first.start.findIndex(({ type }) => type === "comma")
  const bare = comma < 0 ? first : { ...first, start: first.start.toSpliced(comma, 1) }
  return { ...value, items: [bare, ...others] }
}

/**
 * The document of a text, in parts if it is a map: each with some of the entries. `undefined`: there are several. ★ The
 * parser would compare each key with all before it, which takes seconds for ten thousand: who calls looks for those that are
 * there twice.
 */
const partsOf = function* (text: string, yaml: Yaml): TimeSlices.Parts<Iterable<Document.Parsed> | undefined> {
  const compose = (of: Iterable<CST.Token>) => new yaml.Composer({ uniqueKeys: false }).compose(of, true, text.length)
  const parser = new yaml.Parser()
  const tokens: Array<CST.Token> = []
  const take = (of: Iterable<CST.Token>): void => {
    for (const token of of) if (token.type !== "comment" && token.type !== "newline") tokens.push(token)
  }
  let count = 0
  let hasAliases = false
  for (const word of new yaml.Lexer().lex(text)) {
    take(parser.next(word))
    hasAliases ||= word.startsWith("*")
    if (++count % words === 0) yield
  }
  take(parser.end())
  const at = tokens.findIndex(({ type }) => type === "document")
  if (tokens.findLastIndex(({ type }) => type === "document") !== at) return undefined
  const document = tokens[at]
  // What an alias stands for may be in another part.
  if (hasAliases || document?.type !== "document") return compose(tokens)
  const { value } = document
  if (value?.type === "flow-collection" && value.start.source === "{") {
    const maps: Array<CST.FlowCollection> = []
    for (let from = 0; from < value.items.length; from += entries) {
      const map = inBraces(value, from, value.items.slice(from, from + entries))
      if (map === undefined) return compose(tokens)
      maps.push(map)
    }
    if (maps.length === 0) return compose(tokens)
    return (function* () {
      for (const map of maps) yield* compose(tokens.with(at, { ...document, value: map }))
    })()
  }
  if (value?.type !== "block-map") return compose(tokens)
  const partFrom = (from: number): ReadonlyArray<CST.Token> => {
    const items = value.items.slice(from, from + entries)
    const [first] = items
    // How long a key is counts from there.
    const offset = first?.start[0]?.offset ?? first?.key?.offset ?? value.offset
    return tokens.with(at, { ...document, value: { ...value, offset, items } })
  }
  return (function* () {
    for (let from = 0; from < value.items.length; from += entries) yield* compose(partFrom(from))
  })()
}

const rulesOf = function* (text: string, yaml: Yaml): TimeSlices.Parts<ReadonlyArray<Rule> | string> {
  const parts = yield* partsOf(text, yaml)
  if (parts === undefined) return notYaml
  const rules: Array<Rule> = []
  const known = new Set<string>()
  for (const part of parts) {
    if (part.errors.length > 0) return notYaml
    const value: unknown = part.toJS({ mapAsMap: true })
    if (value === null) continue
    if (!(value instanceof Map)) return "it is not a map of identities to groups"
    if (yaml.isMap(part.contents)) {
      for (const { key } of part.contents.items) {
        if (!yaml.isScalar(key)) continue
        const identity = String(key.value)
        if (known.has(identity)) return `${JSON.stringify(identity)} is there twice`
        known.add(identity)
      }
    }
    for (const [key, groups] of value) {
      const identity = String(key ?? "")
      const list: ReadonlyArray<unknown> = Array.isArray(groups) ? groups : [groups]
      const names = list.filter((group) => typeof group === "string")
      if (names.length !== list.length) return `${JSON.stringify(identity)}: its groups are not all names`
      const rule = ruleOf(identity, names)
      if (typeof rule === "string") return rule
      rules.push(rule)
    }
    yield
  }
  return rules
}

/**
 * A file: YAML, identity → group or list of groups.
 *
 * @since 0.1.0
 */
export const parseFile = async (text: string): Promise<ReadonlyArray<Rule> | string> => {
  // Only who gives a file needs it.
  const yaml = await import("yaml")
  try {
    return await TimeSlices.promise(new TimeSlices.TimeSlices(), rulesOf(text, yaml))
  } catch {
    // Such as an alias of nothing.
    return notYaml
  }
}

/** What a certificate says of its owner, each with its kind. */
const namesOf = ({ commonName, subjectAltNames }: ServerTransport.Identity): ReadonlyArray<string> => [
  ...subjectAltNames.map((name) => (name.startsWith("DNS:") ? name.toLowerCase().replace("dns:", "DNS:") : name)),
  ...(commonName === undefined ? [] : [`CN:${commonName}`])
]

/** The groups of each identity: a list may have ten thousand, and as many clients come at a time. */
interface Rules {
  readonly groups: ReadonlyMap<string, ReadonlySet<string>>
  /** Characters. */
  readonly longest: number
}

const indexOf = (rules: ReadonlyArray<Rule>): Rules => {
  const index = new Map<string, Set<string>>()
  let longest = 0
  for (const { groups, identity } of rules) {
    const all = index.get(identity) ?? new Set()
    for (const group of groups) all.add(group)
    index.set(identity, all)
    longest = Math.max(longest, identity.length)
  }
  return { groups: index, longest }
}

/** The identities that stand for a name in rules. ★ Those longer than any rule are left out: a name may have 100 000 characters. */
const identitiesOf = function* (name: string, longest: number): Generator<string> {
  if (name.length <= longest) yield name
  if (name.startsWith("URI:")) {
    for (let at = name.indexOf("/"); at >= 0 && at + 2 <= longest; at = name.indexOf("/", at + 1)) {
      if (at + 1 < name.length) yield `${name.slice(0, at + 1)}*`
    }
  }
  const dot = name.startsWith("DNS:") ? name.indexOf(".") : -1
  if (dot > "DNS:".length) yield `DNS:*${name.slice(dot)}`
}

const isAllowed = ({ groups, longest }: Rules, names: ReadonlyArray<string>, group: string): boolean => {
  const has = (identity: string): boolean => {
    const found = groups.get(identity)
    return found !== undefined && (found.has("*") || found.has(group))
  }
  if (has("*")) return true
  for (const name of names) for (const identity of identitiesOf(name, longest)) if (has(identity)) return true
  return false
}

/** As a flag is written. */
const shown = (name: string): string =>
  name.startsWith("URI:spiffe://") ? name.slice("URI:".length) : name.replace(/^IP Address:/, "IP:")

/** Whether a client may read a group; else the refusal that says who it is and what to do. */
const decide = (
  rules: Rules,
  identity: ServerTransport.Identity | undefined,
  group: string
): Either.Either<string, Refusal> => {
  const names = identity === undefined ? [] : namesOf(identity)
  if (identity !== undefined && isAllowed(rules, names, group)) return Either.right(group)
  const [first] = names
  const what = `may not read group ${JSON.stringify(group)}`
  if (identity === undefined) {
    return Either.left(new Refusal({ code: "UNAUTHENTICATED", reason: `a client without a certificate ${what}` }))
  }
  const who =
    first === undefined
      ? "a certificate without a name"
      : `the certificate of ${names.map(shown).join(", ").slice(0, 500)}`
  const how =
    first === undefined
      ? ""
      : `; where it should, the control plane is given --allow '${shown(first).slice(0, 200)}=${group}'`
  return Either.left(new Refusal({ reason: `${who} ${what}${how}` }))
}

/**
 * Decides over a stream: succeeds with the group if the client may read it.
 *
 * @since 0.1.0
 */
export type Allow = (peer: ServerTransport.Peer, group: string) => Effect.Effect<string, Refusal>

/**
 * An allow list in force.
 *
 * @since 0.1.0
 */
export interface AllowList {
  readonly allow: Allow
  /** Whenever the list changes: why a client may not go on; `undefined`: it may. */
  readonly revocations: Stream.Stream<(peer: ServerTransport.Peer, group: string) => Refusal | undefined>
}

const lookedAt = "1 second"

/** A file that has not changed for so long is whole, as with those of resources. */
const quiet = "50 millis"

const failed = (message: string): CommandFailure => new CommandFailure({ kind: "failed", message })

/** Bytes of a file, for some ten thousand identities. To read it as YAML takes half a second. */
const maxBytes = 1_000_000

interface Read {
  readonly signature: string
  /** Whether nothing is in it at all: as in one that is about to be written. */
  readonly isBlank: boolean
  /** A text says why there are none. */
  readonly rules: ReadonlyArray<Rule> | string
}

const signatureOf = async (path: string): Promise<string> => signature(await stat(path))

const signature = ({ ctimeMs, ino, mtimeMs, size }: Stats): string => [ino, size, mtimeMs, ctimeMs].join(" ")

const read = async (path: string): Promise<Read> => {
  // Before it is read: a change meanwhile is seen the next time.
  const stats = await stat(path)
  const { size } = stats
  if (size > maxBytes) {
    const how = "let a star stand for many identities: spiffe://corp/edge/*"
    return {
      signature: signature(stats),
      isBlank: false,
      rules: `it has ${size} bytes, the limit is ${maxBytes}; ${how}`
    }
  }
  const text = await RegularFile.read(path)
  return { signature: signature(stats), isBlank: text.trim() === "", rules: await parseFile(text) }
}

/**
 * The rules of flags and of a file, which is looked at whenever a stream begins and every second: one that cannot be used
 * leaves the last good one in force, and an error in the log; so does one that is empty, and one that is just written is waited
 * for. Fails for a file that cannot be used at the start.
 *
 * @since 0.1.0
 */
export const make = (flags: ReadonlyArray<Rule>, file: string | undefined): Effect.Effect<AllowList, CommandFailure> =>
  Effect.gen(function* () {
    if (file === undefined) {
      const rules = indexOf(flags)
      return { allow: ({ identity }, group) => decide(rules, identity, group), revocations: Stream.empty }
    }
    const unfit = (reason: string) => failed(`--allow-file ${file} cannot be used: ${reason}`)
    const first = yield* Effect.tryPromise({ try: () => read(file), catch: (cause) => unfit(Reason.of(cause)) })
    if (typeof first.rules === "string") return yield* unfit(first.rules)
    const inForce = (signature: string, read: ReadonlyArray<Rule>) => ({
      signature,
      count: read.length,
      rules: indexOf([...flags, ...read])
    })
    let current = inForce(first.signature, first.rules)
    let problem = ""
    /** ★ Of what was read and is of no use: it is not read again for every stream, which takes long for a long list. */
    let useless = ""
    const look = <A>(of: (path: string) => Promise<A>) => Effect.tryPromise({ try: () => of(file), catch: Reason.of })
    const isRead = (signature: string): boolean => signature === current.signature || signature === useless
    let reading: Deferred.Deferred<void> | undefined
    const update = Effect.gen(function* () {
      const signature = yield* look(signatureOf)
      if (isRead(signature)) return false
      yield* Effect.sleep(quiet)
      // ★ What is still written is looked at later: half of a file would throw out all that are in the other half.
      if ((yield* look(signatureOf)) !== signature) return false
      const next = yield* look(read)
      if ((yield* look(signatureOf)) !== signature) return false
      const isLost = next.isBlank && current.count > 0
      const rules = isLost ? "it is empty; {} lets nobody read anything" : next.rules
      if (typeof rules === "string") {
        useless = signature
        return yield* Effect.fail(rules)
      }
      current = inForce(next.signature, rules)
      return true
    })
    const told = (reason: string): Effect.Effect<void> => {
      // Said once: it is looked at for every stream.
      if (reason === problem) return Effect.void
      problem = reason
      return Effect.logError(`--allow-file ${file} cannot be used, its last good content stays in force: ${reason}`)
    }
    const updateAndTell = Effect.matchEffect(update, {
      onFailure: told,
      onSuccess: (changed) => {
        if (!changed) return Effect.void
        problem = ""
        return Effect.logInfo(`--allow-file ${file} changed and is in force: ${current.count} identities`)
      }
    })
    const readOnce = Effect.suspend(() => {
      // ★ Once for all who ask meanwhile: thousands may, and a long list takes long.
      if (reading !== undefined) return Deferred.await(reading)
      const done = Deferred.unsafeMake<void>(FiberId.none)
      reading = done
      const end = Effect.suspend(() => {
        reading = undefined
        return Deferred.succeed(done, undefined)
      })
      // The client that asked first may go away.
      return Effect.uninterruptible(Effect.ensuring(updateAndTell, end))
    })
    const refresh = Effect.matchEffect(look(signatureOf), {
      onFailure: told,
      onSuccess: (signature) => (isRead(signature) ? Effect.void : readOnce)
    })
    return {
      allow: ({ identity }, group) => Effect.flatMap(refresh, () => decide(current.rules, identity, group)),
      revocations: Stream.repeatEffectWithSchedule(refresh, Schedule.spaced(lookedAt)).pipe(
        Stream.map(() => current),
        Stream.changesWith((one, other) => one === other),
        // The list in force, whichever that is when it is asked: a stream that begins may know of a change first.
        Stream.map(
          () =>
            ({ identity }, group) =>
              Either.getOrUndefined(Either.flip(decide(current.rules, identity, group)))
        )
      )
    }
  })
