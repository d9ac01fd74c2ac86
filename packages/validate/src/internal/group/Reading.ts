/**
 * The way through a resource to the messages that some rule is about, wherever they are, also in `Any`s. What of a type leads to
 * one is found from its descriptor, once.
 */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { maxDepth, type TypeOf } from "../Report.js"
import type { Segment, Site } from "./Facts.js"

/** What is read from the messages of one type. */
export interface Reading {
  readonly typeName: string
  readonly read: (message: Message, site: Site) => void
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

type Properties = Readonly<Record<string, unknown>>

const isProperties = (value: unknown): value is Properties => typeof value === "object" && value !== null

const isMessage = (value: unknown): value is Message => isProperties(value) && typeof value["$typeName"] === "string"

const anyName = "google.protobuf.Any"

/** Goes to one field. */
type Step = (message: Properties, site: Site, typeOf: TypeOf) => void

interface Plan {
  readonly reading: Reading | undefined
  readonly steps: ReadonlyArray<Step>
}

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
    const { reading, steps } = this.planOf(type)
    site.depth++
    if (reading !== undefined) {
      site.around.push(message)
      reading.read(message, site)
    }
    if (isProperties(message)) for (const step of steps) step(message, site, typeOf)
    if (reading !== undefined) site.around.pop()
    site.depth--
  }

  private planOf(type: DescMessage): Plan {
    const known = this.plans.get(type)
    if (known !== undefined) return known
    const plan = { reading: this.readings.get(type.typeName), steps: this.stepsOf(type) }
    this.plans.set(type, plan)
    return plan
  }

  private stepsOf(type: DescMessage): ReadonlyArray<Step> {
    if (type.typeName === anyName) return [this.intoAny]
    const plain = type.fields.filter((field) => field.oneof === undefined).map((field) => this.fieldStep(field))
    const oneofs = type.oneofs.map(({ fields, localName }): Step | undefined => {
      const entries = new Map<string, readonly [string, DescMessage]>()
      for (const { localName, message, name } of fields) {
        if (message !== undefined && this.isNeeded(message)) entries.set(localName, [name, message])
      }
      if (entries.size === 0) return undefined
      return (message, site, typeOf) => {
        const set = message[localName]
        const entry = isProperties(set) && typeof set["case"] === "string" ? entries.get(set["case"]) : undefined
        if (entry !== undefined && isProperties(set)) this.enter(entry[1], set["value"], site, typeOf, [entry[0]])
      }
    })
    return [...plain, ...oneofs].filter((step) => step !== undefined)
  }

  private fieldStep(field: DescField): Step | undefined {
    const { localName, message: type, name } = field
    if (type === undefined || !this.isNeeded(type)) return undefined
    switch (field.fieldKind) {
      case "list":
        return (message, site, typeOf) => {
          const list = message[localName]
          if (!Array.isArray(list)) return
          for (let index = 0; index < list.length; index++) this.enter(type, list[index], site, typeOf, [name, index])
        }
      case "map":
        return (message, site, typeOf) => {
          const map = message[localName]
          if (!isProperties(map)) return
          for (const key of Object.keys(map)) {
            this.enter(type, map[key], site, typeOf, [name, `[${JSON.stringify(key)}]`])
          }
        }
      default:
        return (message, site, typeOf) => this.enter(type, message[localName], site, typeOf, [name])
    }
  }

  private enter(type: DescMessage, value: unknown, site: Site, typeOf: TypeOf, segments: ReadonlyArray<Segment>): void {
    if (!isMessage(value)) return
    for (const segment of segments) site.path.push(segment)
    this.read(type, value, site, typeOf)
    site.path.length -= segments.length
  }

  private readonly intoAny: Step = ({ typeUrl, value }, site, typeOf) => {
    if (typeof typeUrl !== "string" || !(value instanceof Uint8Array)) return
    const type = typeOf(typeUrl)
    if (type === undefined) {
      if (typeUrl === "" || TypeRegistry.has(typeUrl)) return
      return site.fault("extension-known", `is a ${TypeRegistry.typeName(typeUrl)}, which Envoy's API does not have`)
    }
    let message: Message
    try {
      message = MessageBytes.decode(type, value)
    } catch {
      // The rules of the message tell it.
      return
    }
    this.enter(type, message, site, typeOf, [`[${type.typeName}]`])
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
