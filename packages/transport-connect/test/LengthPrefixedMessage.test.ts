import { describe, expect, it, vi } from "vitest"
import * as LengthPrefixedMessage from "../src/internal/LengthPrefixedMessage.js"
import { MessageBuffers } from "../src/internal/MessageBuffers.js"
import { frame } from "./RecordingServer.js"

const reader = (maxBytes = 1024) => {
  const messages: Array<string> = []
  const self = new LengthPrefixedMessage.Reader(maxBytes, (message, compressed) => {
    messages.push(`${compressed ? "z:" : ""}${Buffer.from(message).toString()}`)
    return "kept"
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
      return "kept"
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

  describe("with memory that messages share", () => {
    const large = (fill: string): Buffer => Buffer.alloc(100_000, fill)
    const read = (
      buffers: MessageBuffers,
      taken: LengthPrefixedMessage.Taken,
      message: Buffer
    ): Uint8Array | undefined => {
      let read: Uint8Array | undefined
      const self = new LengthPrefixedMessage.Reader(
        1_000_000,
        (given) => {
          read = given
          // Compared while it is there.
          expect(Buffer.compare(given, message)).toBe(0)
          return taken
        },
        buffers
      )
      const framed = frame(message)
      for (let at = 0; at < framed.length; at += 16_384) self.read(framed.subarray(at, at + 16_384))
      return read
    }

    it("reads a message into that of one that is done with", () => {
      const buffers = new MessageBuffers(1_000_000)
      const first = read(buffers, "done", large("1"))
      const second = read(buffers, "done", large("2"))
      expect(second?.buffer).toBe(first?.buffer)
      expect(read(buffers, "done", large("3").subarray(1))?.buffer).toBe(first?.buffer)
      buffers.clear()
      expect(read(buffers, "done", large("4"))?.buffer).not.toBe(first?.buffer)
      buffers.clear()
    })

    it("reads no message into that of one that is kept", () => {
      const buffers = new MessageBuffers(1_000_000)
      const first = read(buffers, "kept", large("1"))
      const second = read(buffers, "stop", large("2"))
      const third = read(buffers, "done", large("3"))
      expect(new Set([first?.buffer, second?.buffer, third?.buffer]).size).toBe(3)
      expect(first).toEqual(large("1"))
      buffers.clear()
    })

    it("does not give a small message the memory of a large one", () => {
      const buffers = new MessageBuffers(1_000_000)
      const first = read(buffers, "done", large("1"))
      expect(read(buffers, "done", Buffer.alloc(20_000, "2"))?.buffer).toBe(first?.buffer)
      expect(buffers.take(10_000)).toBe(undefined)
      expect(buffers.take(20_000)?.buffer).toBe(first?.buffer)
      buffers.clear()
    })

    it("keeps no more than its bound, and nothing for long", () => {
      vi.useFakeTimers()
      try {
        const buffers = new MessageBuffers(250_000)
        for (const fill of [1, 2, 3]) buffers.give(Buffer.alloc(100_000, fill))
        expect([buffers.take(100_000)?.[0], buffers.take(100_000)?.[0], buffers.take(100_000)]).toEqual([
          2,
          1,
          undefined
        ])
        buffers.give(Buffer.alloc(100_000))
        vi.advanceTimersByTime(9_000)
        buffers.give(Buffer.alloc(100_000))
        vi.advanceTimersByTime(9_999)
        expect(vi.getTimerCount()).toBe(1)
        vi.advanceTimersByTime(1)
        expect(buffers.take(100_000)).toBe(undefined)
        expect(vi.getTimerCount()).toBe(0)
      } finally {
        vi.useRealTimers()
      }
    })
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
