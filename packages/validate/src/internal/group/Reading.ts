/**
 * The way through a resource to the messages that some rule is about, wherever they are, also in `Any`s. What of a type leads to
 * one is found from its descriptor, once.
 */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { maxDepth, type TypeOf } from "../Report.js"
import type { Segment, Site } from "./Facts.js"
import { isProperties, type Properties } from "../Properties.js"
import * as Unopened from "../Unopened.js"

/** What is read from the messages of one type. */
export interface Reading {
  readonly typeName: string
  readonly read: (message: Message, site: Site) => void
  /** The same in steps, where it may be long. */
  readonly inSteps?: (message: Message, site: Site) => MessageSteps.Steps<void>
}

/** A reading of messages of a type. */
export const of = <M extends Message>(typeName: M["$typeName"], read: (message: M, site: Site) => void): Reading => {
  const is = (message: Message): message is M => message.$typeName === typeName
  return {
    typeName,
    read: (message, site) => {
      if (is(message)) read(message, site)
    }
  }
}

/** A reading that may be long, in steps. */
export const inSteps = <M extends Message>(
  typeName: M["$typeName"],
  steps: (message: M, site: Site) => MessageSteps.Steps<void>
): Reading => {
  const is = (message: Message): message is M => message.$typeName === typeName
  return {
    typeName,
    read: (message, site) => {
      if (is(message)) for (const work = steps(message, site); work.next().done !== true;);
    },
    *inSteps(message, site) {
      if (is(message)) yield* steps(message, site)
    }
  }
}

const isMessage = (value: unknown): value is Message => isProperties(value) && typeof value["$typeName"] === "string"

const anyName = "google.protobuf.Any"

/** Goes to one field. */
type Step = (message: Properties, site: Site, typeOf: TypeOf) => void

/** The fields of a oneof that lead to something, by their names in a message. */
interface Oneof {
  readonly localName: string
  readonly entries: ReadonlyMap<string, readonly [string, DescMessage]>
}

interface Plan {
  readonly reading: Reading | undefined
  readonly unopened: ReturnType<typeof Unopened.finderOf>
  readonly steps: ReadonlyArray<Step>
  /** The fields and oneofs that they go to. */
  readonly fields: ReadonlyArray<DescField>
  readonly oneofs: ReadonlyArray<Oneof>
}

/** No reading looks into a Struct: what is in one means something to who put it there. */
export const options: MessageBytes.DecodeOptions = { structs: "any" }

/** Messages of one step; of these none is large. */
const atOnce = 16

/** Reads messages with some readings. Owns the plans of the types that it has met. */
export class Reader {
  private readonly readings: ReadonlyMap<string, Reading>
  private readonly plans = new WeakMap<DescMessage, Plan>()
  private readonly needed = new WeakMap<DescMessage, boolean>()

  constructor(readings: ReadonlyArray<Reading>) {
    this.readings = new Map(readings.map((reading) => [reading.typeName, reading]))
  }

  /** Reads a message and all that is in it. What is nested too deep is not entered: the rules of the message tell it. */
  read(type: DescMessage, message: Message, site: Site, typeOf: TypeOf): void {
    site.messages++
    if (site.depth >= maxDepth) return
    const { reading, steps, unopened } = this.planOf(type)
    site.depth++
    if (unopened !== undefined) Unopened.note(message, unopened, site)
    if (reading !== undefined) {
      site.around.push(message)
      reading.read(message, site)
    }
    if (isProperties(message)) for (const step of steps) step(message, site, typeOf)
    if (reading !== undefined) site.around.pop()
    site.depth--
  }

  /** The same in steps, of a message that is large. */
  *readInSteps(
    type: DescMessage,
    message: Message,
    site: Site,
    typeOf: TypeOf,
    large: MessageSteps.Large
  ): MessageSteps.Steps<void> {
    site.messages++
    if (site.depth >= maxDepth) return
    const { fields, oneofs, reading, unopened } = this.planOf(type)
    site.depth++
    if (unopened !== undefined) Unopened.note(message, unopened, site)
    if (reading !== undefined) {
      site.around.push(message)
      if (reading.inSteps === undefined) reading.read(message, site)
      else yield* reading.inSteps(message, site)
    }
    yield
    const properties: Properties = isProperties(message) ? message : {}
    if (type.typeName === anyName) yield* this.intoAnyInSteps(properties, site, typeOf)
    let count = 0
    const enter = (type: DescMessage, value: unknown, segments: ReadonlyArray<Segment>) =>
      this.enterInSteps(type, value, site, typeOf, segments, large)
    for (const field of fields) {
      for (const [value, segments] of valuesOf(field, properties[field.localName])) {
        if (field.message !== undefined) yield* enter(field.message, value, segments)
        if (++count % atOnce === 0) yield
      }
    }
    for (const oneof of oneofs) {
      const [entry, value] = setIn(oneof, properties)
      if (entry !== undefined) yield* enter(entry[1], value, [entry[0]])
    }
    if (reading !== undefined) site.around.pop()
    site.depth--
  }

  private *enterInSteps(
    type: DescMessage,
    value: unknown,
    site: Site,
    typeOf: TypeOf,
    segments: ReadonlyArray<Segment>,
    large: MessageSteps.Large
  ): MessageSteps.Steps<void> {
    if (!isMessage(value)) return
    const [name = "", inside] = segments
    if (!large.has(value)) return this.enter(type, value, site, typeOf, name, inside)
    for (const segment of segments) site.path.push(segment)
    yield* this.readInSteps(type, value, site, typeOf, large)
    site.path.length -= segments.length
  }

  private planOf(type: DescMessage): Plan {
    const known = this.plans.get(type)
    if (known !== undefined) return known
    const plan = this.makePlan(type)
    this.plans.set(type, plan)
    return plan
  }

  private makePlan(type: DescMessage): Plan {
    const reading = this.readings.get(type.typeName)
    const unopened = Unopened.finderOf(type.typeName)
    if (type.typeName === anyName) return { reading, unopened, steps: [this.intoAny], fields: [], oneofs: [] }
    const fields = type.fields.filter(
      ({ message, oneof }) => oneof === undefined && message !== undefined && this.isNeeded(message)
    )
    const oneofs = type.oneofs
      .map(({ fields, localName }): Oneof => {
        const entries = new Map<string, readonly [string, DescMessage]>()
        for (const { localName, message, name } of fields) {
          if (message !== undefined && this.isNeeded(message)) entries.set(localName, [name, message])
        }
        return { localName, entries }
      })
      .filter(({ entries }) => entries.size > 0)
    const steps = [
      ...fields.map((field) => this.fieldStep(field)),
      ...oneofs.map((oneof): Step => {
        return (message, site, typeOf) => {
          const [entry, value] = setIn(oneof, message)
          if (entry !== undefined) this.enter(entry[1], value, site, typeOf, entry[0])
        }
      })
    ].filter((step) => step !== undefined)
    return { reading, unopened, steps, fields, oneofs }
  }

  private fieldStep(field: DescField): Step | undefined {
    const { localName, message: type, name } = field
    if (type === undefined) return undefined
    switch (field.fieldKind) {
      case "list":
        return (message, site, typeOf) => {
          const list = message[localName]
          if (!Array.isArray(list)) return
          for (let index = 0; index < list.length; index++) this.enter(type, list[index], site, typeOf, name, index)
        }
      case "map":
        return (message, site, typeOf) => {
          const map = message[localName]
          if (!isProperties(map)) return
          for (const key of Object.keys(map)) {
            this.enter(type, map[key], site, typeOf, name, { key })
          }
        }
      default:
        return (message, site, typeOf) => this.enter(type, message[localName], site, typeOf, name)
    }
  }

  /** @param inside in a list or a map: which one */
  private enter(type: DescMessage, value: unknown, site: Site, typeOf: TypeOf, name: Segment, inside?: Segment): void {
    if (!isMessage(value)) return
    const { path } = site
    path.push(name)
    if (inside !== undefined) path.push(inside)
    this.read(type, value, site, typeOf)
    if (inside !== undefined) path.pop()
    path.pop()
  }

  private readonly intoAny: Step = (any, site, typeOf) => {
    const packed = packedIn(any, site, typeOf)
    if (packed === undefined) return
    let message: Message
    try {
      message = MessageBytes.decode(packed.type, packed.value, options)
    } catch {
      // The rules of the message tell it.
      return
    }
    this.enter(packed.type, message, site, typeOf, `[${packed.type.typeName}]`)
  }

  private *intoAnyInSteps(any: Properties, site: Site, typeOf: TypeOf): MessageSteps.Steps<void> {
    const packed = packedIn(any, site, typeOf)
    if (packed === undefined) return
    let decoded: MessageSteps.Decoded
    try {
      decoded = yield* MessageSteps.decode(packed.type, packed.value)
    } catch {
      return
    }
    const { large, message } = decoded
    yield* this.enterInSteps(packed.type, message, site, typeOf, [`[${packed.type.typeName}]`], large)
  }

  /** Whether a message of the type can hold one that is read. */
  private isNeeded(type: DescMessage): boolean {
    const known = this.needed.get(type)
    if (known !== undefined) return known
    const seen = new Set([type])
    let isNeeded = false
    // A set may grow while it is gone through.
    for (const each of seen) {
      if (each.typeName === anyName || this.readings.has(each.typeName)) isNeeded = true
      if (isNeeded) break
      for (const { message } of each.fields) if (message !== undefined) seen.add(message)
    }
    this.needed.set(type, isNeeded)
    return isNeeded
  }
}

/** What is set of a oneof, if it leads to something. */
const setIn = (
  { entries, localName }: Oneof,
  message: Properties
): readonly [readonly [string, DescMessage] | undefined, unknown] => {
  const set = message[localName]
  const entry = isProperties(set) && typeof set["case"] === "string" ? entries.get(set["case"]) : undefined
  return [entry, isProperties(set) ? set["value"] : undefined]
}

/** The messages in a field, and the way to each. */
const valuesOf = function* (
  { fieldKind, name }: DescField,
  value: unknown
): Generator<readonly [unknown, ReadonlyArray<Segment>], void> {
  if (fieldKind === "list") {
    if (Array.isArray(value)) for (let index = 0; index < value.length; index++) yield [value[index], [name, index]]
  } else if (fieldKind === "map") {
    const map = isProperties(value) ? value : {}
    for (const key of Object.keys(map)) yield [map[key], [name, { key }]]
  } else yield [value, [name]]
}

/** What is in an `Any` of a known type; of one that Envoy does not know that is told. */
const packedIn = (
  any: Properties,
  site: Site,
  typeOf: TypeOf
): { readonly type: DescMessage; readonly value: Uint8Array } | undefined => {
  const { typeUrl, value } = any
  if (site.unopened?.has(any) === true) return undefined
  if (typeof typeUrl !== "string" || !(value instanceof Uint8Array)) return undefined
  const type = typeOf(typeUrl)
  if (type !== undefined) return { type, value }
  if (typeUrl !== "" && !TypeRegistry.has(typeUrl))
    site.fault("extension-known", `is a ${TypeRegistry.typeName(typeUrl)}, which Envoy's API does not have`)
  return undefined
}
