import { describe, expect, it } from "vitest"
import * as LengthPrefixedMessage from "../src/grpc/LengthPrefixedMessage.js"
import { frame } from "./RecordingServer.js"

const reader = (maxBytes = 1024) => {
  const messages: Array<string> = []
  const self = new LengthPrefixedMessage.Reader(maxBytes, (message, compressed) => {
    messages.push(`${compressed ? "z:" : ""}${Buffer.from(message).toString()}`)
    return "go on"
  })
  return { self, messages }
}

describe("LengthPrefixedMessage", () => {
  const bytes = Buffer.concat([frame(Buffer.from("first")), frame(Buffer.from("")), frame(Buffer.from("third"), 1)])
  const expected = ["first", "", "z:third"]

  it("reads messages cut in three anywhere", () => {
    for (let one = 0; one <= bytes.length; one++) {
      for (let two = one; two <= bytes.length; two++) {
        const { messages, self } = reader()
        for (const part of [bytes.subarray(0, one), bytes.subarray(one, two), bytes.subarray(two)])
          expect(self.read(part)).toBe(undefined)
        expect(messages).toEqual(expected)
        expect(self.incomplete).toBe(false)
      }
    }
  })

  it("reads messages byte by byte", () => {
    const { messages, self } = reader()
    for (const byte of bytes) self.read(Buffer.from([byte]))
    expect(messages).toEqual(expected)
  })

  it("gives a message within a chunk as a view", () => {
    const chunk = frame(Buffer.from("view"))
    const views: Array<Uint8Array> = []
    new LengthPrefixedMessage.Reader(10, (message) => {
      views.push(message)
      return "go on"
    }).read(chunk)
    expect(views[0]?.buffer).toBe(chunk.buffer)
  })

  it("refuses a length over the limit before the message has come", () => {
    const { messages, self } = reader(4)
    expect(self.read(frame(Buffer.from("four")).subarray(0, 5))).toBe(undefined)
    expect(self.read(Buffer.from("four"))).toBe(undefined)
    expect(self.read(Buffer.from([0, 0, 0, 0, 5]))).toEqual({ _tag: "TooLarge", bytes: 5 })
    expect(messages).toEqual(["four"])
    expect(reader(4).self.read(Buffer.from([0, 255, 255, 255, 255]))).toEqual({ _tag: "TooLarge", bytes: 4294967295 })
  })

  it("refuses a first byte that is no flag", () => {
    expect(reader().self.read(Buffer.from("{}"))).toEqual({ _tag: "BadFlag", flag: 123 })
  })

  it("drops the rest of a chunk when told to", () => {
    let count = 0
    const self = new LengthPrefixedMessage.Reader(10, () => {
      count++
      return "stop"
    })
    self.read(bytes)
    expect(count).toBe(1)
  })

  it("gives what comes in parts to a reader of parts, and then what that has left", () => {
    const given: Array<string> = []
    const text = (part: Uint8Array): string => Buffer.from(part).toString()
    class Vowels implements LengthPrefixedMessage.PartReader {
      taken = ""
      constructor(private readonly keep: LengthPrefixedMessage.Keep) {}
      readonly push = (chunk: Uint8Array, start: number, end: number): void => {
        for (let at = start; at < end; at++) {
          const letter = text(chunk.subarray(at, at + 1))
          if ("aeiou".includes(letter)) this.taken += letter
          else this.keep(chunk, at, at + 1)
        }
      }
      readonly end = (): void => this.keep(Buffer.from("."), 0, 1)
    }
    const self = new LengthPrefixedMessage.Reader<Vowels>(
      100,
      (message, compressed, parts) => {
        given.push(`${compressed ? "z:" : ""}${text(message)} ${parts?.taken ?? "-"}`)
        return "go on"
      },
      (keep) => new Vowels(keep)
    )
    const framed = Buffer.concat([
      frame(Buffer.from("aerated ones")),
      frame(Buffer.from("none")),
      frame(Buffer.from("bound"), 1)
    ])
    self.read(framed.subarray(0, 8))
    self.read(framed.subarray(8, framed.length - 2))
    self.read(framed.subarray(framed.length - 2))
    expect(given).toEqual(["rtd ns. aeaeoe", "none -", "z:bound -"])
    expect(self.incomplete).toBe(false)
  })

  it("encodes body and suffix as one message", () => {
    const body = Buffer.from("body")
    const suffix = Buffer.from("suffix")
    const { messages, self } = reader()
    self.read(LengthPrefixedMessage.encode(body, suffix))
    self.read(Buffer.concat([LengthPrefixedMessage.encodeHead(body.length, suffix), body]))
    expect(messages).toEqual(["bodysuffix", "suffixbody"])
  })
})
