/**
 * What one resource says: what is wrong in it, what it refers to, and what no other may have. It does not depend on the other
 * resources, so it is found once for each content.
 */
import type { Message } from "@bufbuild/protobuf"
import type { Budget } from "@effect-xds/re2/ByteExpression"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { shownText } from "../Report.js"

/** A rule, and the place in the resource that it is about. */
interface Spot {
  readonly rule: string
  readonly path: string
}

export interface Found extends Spot {
  readonly problem: string
}

/** Something of another resource that must be there. */
export interface Reference extends Spot {
  readonly typeUrl: string
  readonly name: string
}

/** Something that only one resource may have; `problem` is told to the second. */
export interface Claim extends Found {
  readonly key: string
}

/** A reference to what is not there, or something else that is wrong. */
export type Wrong = Found | Reference

export interface Facts {
  readonly faults: ReadonlyArray<Found>
  readonly references: ReadonlyArray<Reference>
  readonly claims: ReadonlyArray<Claim>
  /** Whether gRPC begins with it. */
  readonly isForGrpc: boolean
  /** Messages that were looked at, for what a check costs. */
  readonly messages: number
}

const isSameSpot = (one: Spot, other: Spot): boolean => one.path === other.path && one.rule === other.rule

const isSameFound = (one: Found, other: Found): boolean => isSameSpot(one, other) && one.problem === other.problem

const isSameReference = (one: Reference, other: Reference): boolean =>
  one.name === other.name && one.typeUrl === other.typeUrl && isSameSpot(one, other)

const isSameClaim = (one: Claim, other: Claim): boolean => one.key === other.key && isSameFound(one, other)

const isSameList = <A>(
  one: ReadonlyArray<A>,
  other: ReadonlyArray<A>,
  isSame: (one: A, other: A) => boolean
): boolean => {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) {
    const [a, b] = [one[index], other[index]]
    if (a === undefined || b === undefined || !isSame(a, b)) return false
  }
  return true
}

/** Whether two resources say the same: most changes of a resource are about something else. */
export const isSame = (one: Facts, other: Facts): boolean =>
  one.isForGrpc === other.isForGrpc &&
  isSameList(one.references, other.references, isSameReference) &&
  isSameList(one.claims, other.claims, isSameClaim) &&
  isSameList(one.faults, other.faults, isSameFound)

const words: ReadonlyMap<string, string> = new Map([
  [ResourceType.Cluster.typeUrl, "cluster"],
  [ResourceType.ClusterLoadAssignment.typeUrl, "endpoints"],
  [ResourceType.RouteConfiguration.typeUrl, "route"],
  [ResourceType.Secret.typeUrl, "secret"],
  [ResourceType.TypedExtensionConfig.typeUrl, "extension"]
])

/** In words. That of a reference is not kept with it, since most are to what is there. */
export const problemOf = (wrong: Wrong): string => {
  if ("problem" in wrong) return wrong.problem
  const { name, typeUrl } = wrong
  return `names ${words.get(typeUrl) ?? ResourceType.shortNameOf(typeUrl)} ${JSON.stringify(name)}, which is not there`
}

/** Shared: a store keeps what each of its resources says, and most say one thing or nothing. */
const none: ReadonlyArray<never> = []

const orNone = <A>(found: ReadonlyArray<A>): ReadonlyArray<A> => (found.length === 0 ? none : found)

/** What a message says that refers to something, or to nothing, and says nothing else. */
export const referring = (reference: Reference | undefined): Facts => ({
  faults: none,
  references: reference === undefined ? none : [reference],
  claims: none,
  isForGrpc: false,
  messages: 1
})

/** More of one resource nobody mends at once; references and claims have no bound but the size of the resource. */
const maxFaults = 1000

/** UTF-16 code units of a name that a problem tells: it may be told with each of a thousand others. */
const mostQuoted = 256

/** A name as a problem tells it. */
export const quoted = (name: string): string =>
  JSON.stringify(name.length > mostQuoted ? `${name.slice(0, mostQuoted)}…` : name)

/** The key of a map. */
interface Key {
  readonly key: string
}

/** Names of fields, indexes of lists, keys of maps, and types in brackets. */
export type Segment = string | number | Key

/** A resource on the way through it: where the reader is, and what was found. */
export class Site {
  readonly faults: Array<Found> = []
  readonly references = new Map<string, Reference>()
  readonly claims: Array<Claim> = []
  isForGrpc = false
  messages = 0
  depth = 0
  readonly path: Array<Segment> = []
  /** Messages around that have a reader, and the one that is read. */
  readonly around: Array<Message> = []
  /**
   * Steps that are left to measure regular expressions. More than enough for what people write: of most it is seen at once whether
   * they are too large.
   */
  readonly measuring: Budget = { steps: 100_000 }
  /** `Any`s that Envoy never opens. */
  unopened: Set<unknown> | undefined

  /** Adds a fault of the message that is read, or of what is in it. */
  fault(rule: string, problem: string, inside: ReadonlyArray<Segment> = []): void {
    if (this.faults.length < maxFaults) this.faults.push({ rule, problem, path: this.pathTo(inside) })
  }

  /** Adds a reference; the first of those that are the same. */
  refer(rule: string, type: ResourceType.ResourceType, name: string, inside: ReadonlyArray<Segment> = []): void {
    const key = `${rule} ${type.typeUrl} ${name}`
    if (name === "" || this.references.has(key)) return
    this.references.set(key, { rule, typeUrl: type.typeUrl, name, path: this.pathTo(inside) })
  }

  claim(rule: string, key: string, problem: string, inside: ReadonlyArray<Segment> = []): void {
    this.claims.push({ rule, key: `${rule} ${key}`, problem, path: this.pathTo(inside) })
  }

  /** The nearest message of a type around the one that is read. */
  inside<M extends Message>(typeName: M["$typeName"]): M | undefined {
    const is = (message: Message): message is M => message.$typeName === typeName
    return this.around.findLast(is)
  }

  /** Whether the nearest message around of the two types is of the first. */
  isInside(typeName: string, other: string): boolean {
    const nearest = this.around.findLast(({ $typeName }) => $typeName === typeName || $typeName === other)
    return nearest?.$typeName === typeName
  }

  facts(): Facts {
    return {
      faults: orNone(this.faults),
      references: orNone(Array.from(this.references.values())),
      claims: orNone(this.claims),
      isForGrpc: this.isForGrpc,
      messages: this.messages
    }
  }

  private pathTo(inside: ReadonlyArray<Segment>): string {
    let path = ""
    for (const segment of [...this.path, ...inside]) {
      if (typeof segment === "number") path += `[${segment}]`
      // Only here: most that is read has no fault, and a key may be as long as its resource.
      else if (typeof segment === "object") path += `[${shownText(segment.key)}]`
      else path += path === "" || segment.startsWith("[") ? segment : `.${segment}`
    }
    return path
  }
}
