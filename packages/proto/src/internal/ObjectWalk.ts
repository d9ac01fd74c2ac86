/**
 * What is wrong with a message object before it is encoded. Programs make message objects: they may share parts, or hold
 * themselves, so that protobuf-es would take more time and memory than there is, or all of the stack.
 */
import type { Message } from "@bufbuild/protobuf"
import * as Reason from "../Reason.js"
import type { Steps } from "./InSteps.js"
import { maxContent, maxDepth, maxObjects } from "./MessageLimits.js"
import { isProperties, type Properties } from "./MessageProperties.js"
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

const isWithType = (value: Properties): boolean => typeof value["$typeName"] === "string"

/** As the `.proto` file has it. */
const fieldName = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** With the flag `u` a pair of surrogates is one character. */
const halfPair = /\p{Surrogate}/u

const isOneof = (value: unknown): value is { readonly case: string | undefined; readonly value?: unknown } =>
  isProperties(value) &&
  !isWithType(value) &&
  (typeof value["case"] === "string" || (value["case"] === undefined && "case" in value))

/** Says that there is more than is looked at in one step. */
const pause = new Error("pause")

/** Messages, lists and maps, and bytes of texts. */
interface Size {
  readonly objects: number
  readonly content: number
}

/** What one step looks at. */
const atOnce: Size = { objects: 256, content: 16_384 }

/** The same, of a message that is looked at in one step: up to it steps cost more than they are worth. */
const small: Size = { objects: 1_024, content: 32_768 }

const unlimited: Size = { objects: Infinity, content: Infinity }

/** Counts what is in a message object, as often as it is there: that is what is written. */
class Walk {
  private objects = 0
  private content = 0
  /** What was looked at when others ran last. */
  private looked = 0
  private lookedContent = 0
  /** Whether what is written is sure to be a message. */
  isSure = true

  /** Where this step ends. */
  private lastObject: number
  private lastContent: number

  /**
   * @param first where the first step ends; without it there is one step only
   * @param step what further ones look at
   */
  constructor(
    first: Size = unlimited,
    private readonly step: Size = atOnce
  ) {
    this.lastObject = first.objects
    this.lastContent = first.content
  }

  /** @param isJson whether it is a map or in a Struct, where null is a value */
  object(object: Properties, depth: number, isJson: boolean): void {
    this.enter(object, depth)
    const isMessage = isWithType(object)
    let at: string | number = 0
    try {
      if (Array.isArray(object)) {
        this.count(object.length)
        for (let index = 0; index < object.length; index++) {
          at = index
          this.value(itemOf(object, index), depth, isJson)
        }
        return
      }
      for (const key in object) {
        at = key
        const value = object[key]
        if (!isMessage) {
          this.text(key)
          this.value(value, depth, true)
        } else if (this.isLookedAt(key, value)) {
          // It is no level, and not in the path.
          const oneof = isOneof(value) ? value : undefined
          at = oneof?.case ?? key
          this.value(oneof === undefined ? value : oneof.value, depth, false)
        }
      }
    } catch (cause) {
      throw cause === pause ? pause : wrongIn(object, at, cause)
    }
  }

  /** The same in steps. */
  *steps(object: Properties, depth: number, isJson: boolean, large: WeakSet<object>): Steps<void> {
    large.add(object)
    this.enter(object, depth)
    const isMessage = isWithType(object)
    let at: string | number = 0
    try {
      if (Array.isArray(object)) {
        this.count(object.length)
        for (let index = 0; index < object.length; index++) {
          at = index
          yield* this.part(itemOf(object, index), depth, isJson, large)
        }
        return
      }
      for (const key in object) {
        at = key
        const value = object[key]
        if (!isMessage) {
          this.text(key)
          yield* this.part(value, depth, true, large)
        } else if (this.isLookedAt(key, value)) {
          const oneof = isOneof(value) ? value : undefined
          at = oneof?.case ?? key
          yield* this.part(oneof === undefined ? value : oneof.value, depth, false, large)
        }
      }
    } catch (cause) {
      throw wrongIn(object, at, cause)
    }
  }

  /** A message with all that is in it. */
  whole(message: Message, large: WeakSet<object>): Steps<void> {
    return this.part(message, 0, false, large)
  }

  /** At once, if one step is enough; else in steps, from its beginning. */
  private *part(value: unknown, depth: number, isJson: boolean, large: WeakSet<object>): Steps<void> {
    const { content, objects } = this
    if (!isProperties(value) || value instanceof Uint8Array) return this.value(value, depth, isJson)
    const { step } = this
    if (objects >= this.looked + step.objects || content >= this.lookedContent + step.content) yield* this.rest()
    this.lastObject = objects + step.objects
    this.lastContent = content + step.content
    try {
      return this.value(value, depth, isJson)
    } catch (cause) {
      if (cause !== pause) throw cause
    } finally {
      this.lastObject = Infinity
      this.lastContent = Infinity
    }
    this.objects = objects
    this.content = content
    yield* this.rest()
    yield* this.steps(value, depth + 1, isJson, large)
  }

  private *rest(): Steps<void> {
    yield
    this.looked = this.objects
    this.lookedContent = this.content
  }

  private enter(object: Properties, depth: number): void {
    if (++this.objects > maxObjects) throw new Wrong(`is behind the first ${maxObjects} messages, the most in one`)
    if (depth > maxDepth) throw new Wrong(`is nested more than ${maxDepth} messages deep`, object)
    if (depth > sureDepth) this.isSure = false
    if (this.objects > this.lastObject) throw pause
  }

  /** Whether there is something in a property of a message; in most there is nothing. */
  private isLookedAt(key: string, value: unknown): boolean {
    if (value === "" || value === undefined || typeof value === "number" || typeof value === "boolean") return false
    if (key === "$typeName" || (Array.isArray(value) && value.length === 0)) return false
    if (key !== "$unknown") return true
    // Nobody says that it is right.
    this.isSure = false
    return false
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
    if (this.content > this.lastContent) throw pause
  }
}

const itemOf = (list: ReadonlyArray<unknown>, index: number): unknown => {
  const item = list[index]
  if (item === undefined) throw new Wrong("is not set")
  return item
}

/** What is wrong in a part of an object. */
const wrongIn = (object: Properties, at: string | number, cause: unknown): Wrong => {
  const wrong = cause instanceof Wrong ? cause : new Wrong(`cannot be read: ${Reason.of(cause)}`)
  if (wrong.deepest === object) wrong.isCycle = true
  wrong.path.push(typeof at === "number" ? at : isWithType(object) ? fieldName(at) : PathText.key(at))
  return wrong
}

/** The first fault in words; else whether what is written is sure to be a message. */
type Look = string | { readonly isSure: boolean }

const wordsOf = (cause: unknown): string => {
  if (!(cause instanceof Wrong)) throw cause
  const path = PathText.of(cause.path.reverse())
  return `${path === "" ? "the message" : path} ${cause.isCycle ? "holds itself" : cause.message}`
}

/**
 * The first fault in words that begin with its path; else whether what is written is sure to be a message. Takes time in
 * proportion to what is written, or to the limits.
 */
export const look = (message: Message): Look => {
  const walk = new Walk()
  try {
    walk.object(message, 1, false)
    return walk
  } catch (cause) {
    return wordsOf(cause)
  }
}

/** The same of a message for which one step is enough; `undefined`: it is not. */
export const lookAtSmall = (message: Message): Look | undefined => {
  const walk = new Walk(small)
  try {
    walk.object(message, 1, false)
    return walk
  } catch (cause) {
    return cause === pause ? undefined : wordsOf(cause)
  }
}

/**
 * The same in steps.
 *
 * @param large gets the messages, lists and maps that one step is not enough for
 */
export const inSteps = function* (message: Message, large: WeakSet<object>, step: Size = atOnce): Steps<Look> {
  const walk = new Walk(unlimited, step)
  try {
    yield* walk.whole(message, large)
    return walk
  } catch (cause) {
    return wordsOf(cause)
  }
}
