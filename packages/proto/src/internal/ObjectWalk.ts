/**
 * What is wrong with a message object before it is encoded. Programs make message objects: they may share parts, or hold
 * themselves, so that protobuf-es would take more time and memory than there is, or all of the stack.
 */
import type { Message } from "@bufbuild/protobuf"
import * as Reason from "../Reason.js"
import { maxContent, maxDepth, maxObjects } from "./MessageLimits.js"
import * as PathText from "./PathText.js"

/** Levels of objects after which the bytes are looked at, too: a Struct is two messages for each of its levels. */
const sureDepth = 45

class Wrong extends Error {
  readonly path: Array<PathText.Segment> = []
  isCycle = false

  constructor(
    message: string,
    /** Where it was too deep. */
    readonly deepest?: object
  ) {
    super(message)
  }
}

type Properties = Readonly<Record<string, unknown>>

const isProperties = (value: unknown): value is Properties => typeof value === "object" && value !== null

const isWithType = (value: Properties): boolean => typeof value["$typeName"] === "string"

/** As the `.proto` file has it. */
const fieldName = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** With the flag `u` a pair of surrogates is one character. */
const halfPair = /\p{Surrogate}/u

const isOneof = (value: unknown): value is { readonly case: string | undefined; readonly value?: unknown } =>
  isProperties(value) &&
  !isWithType(value) &&
  (typeof value["case"] === "string" || (value["case"] === undefined && "case" in value))

/** Counts what is in a message object, as often as it is there: that is what is written. */
class Walk {
  private objects = 0
  private content = 0
  /** Whether what is written is sure to be a message. */
  isSure = true

  /** @param isJson whether it is a map or in a Struct, where null is a value */
  object(object: Properties, depth: number, isJson: boolean): void {
    if (++this.objects > maxObjects) throw new Wrong(`is behind the first ${maxObjects} messages, the most in one`)
    if (depth > maxDepth) throw new Wrong(`is nested more than ${maxDepth} messages deep`, object)
    if (depth > sureDepth) this.isSure = false
    const isMessage = isWithType(object)
    let at: string | number = 0
    try {
      if (Array.isArray(object)) {
        this.count(object.length)
        for (let index = 0; index < object.length; index++) {
          at = index
          const item: unknown = object[index]
          if (item === undefined) throw new Wrong("is not set")
          this.value(item, depth, isJson)
        }
        return
      }
      for (const key in object) {
        at = key
        const value = object[key]
        if (!isMessage) {
          this.text(key)
          this.value(value, depth, true)
          continue
        }
        // What nobody set, which is most.
        if (value === "" || value === undefined || typeof value === "number" || typeof value === "boolean") continue
        if (key === "$typeName" || (Array.isArray(value) && value.length === 0)) continue
        if (key === "$unknown") {
          // Nobody says that it is right.
          this.isSure = false
        } else if (isOneof(value)) {
          // No level, and not in the path.
          if (value.case === undefined) continue
          at = value.case
          this.value(value.value, depth, false)
        } else {
          this.value(value, depth, false)
        }
      }
    } catch (cause) {
      const wrong = cause instanceof Wrong ? cause : new Wrong(`cannot be read: ${Reason.of(cause)}`)
      if (wrong.deepest === object) wrong.isCycle = true
      wrong.path.push(typeof at === "number" ? at : isMessage ? fieldName(at) : PathText.key(at))
      throw wrong
    }
  }

  private value(value: unknown, depth: number, isJson: boolean): void {
    switch (typeof value) {
      case "string":
        return this.text(value)
      case "object":
        if (value instanceof Uint8Array) this.count(value.byteLength)
        else if (isProperties(value)) this.object(value, depth + 1, isJson)
        else if (!isJson) throw new Wrong("is null")
        return
      case "function":
      case "symbol":
        throw new Wrong(`is a ${typeof value}`)
      default:
        return
    }
  }

  private text(text: string): void {
    this.count(text.length)
    if (text !== "" && halfPair.test(text))
      throw new Wrong("holds half of a surrogate pair, for which UTF-8 has no bytes")
  }

  private count(size: number): void {
    this.content += size
    if (this.content > maxContent) throw new Wrong(`is behind the first ${maxContent} bytes, the most in one message`)
  }
}

/**
 * The first fault in words that begin with its path; else whether what is written is sure to be a message. Takes time in
 * proportion to what is written, or to the limits.
 */
export const look = (message: Message): string | { readonly isSure: boolean } => {
  const walk = new Walk()
  try {
    walk.object(message, 1, false)
    return walk
  } catch (cause) {
    if (!(cause instanceof Wrong)) throw cause
    const path = PathText.of(cause.path.reverse())
    return `${path === "" ? "the message" : path} ${cause.isCycle ? "holds itself" : cause.message}`
  }
}
