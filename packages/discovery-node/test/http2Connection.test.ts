/** One connection over HTTP/2, bytes in and bytes out: whole, and byte by byte. */
import { encode, type Field } from "../src/internal/Hpack.js"
import { Http2Connection } from "../src/internal/Http2Connection.js"
import { flags, FrameReader, types, uint32, write } from "../src/internal/Http2Frame.js"
import { describe, expect, it } from "@effect/vitest"

const { ack, endHeaders, endStream, padded, priority } = flags
const none = Buffer.alloc(0)

const settings = (...pairs: ReadonlyArray<readonly [id: number, value: number]>): Buffer => {
  const payload = Buffer.alloc(6 * pairs.length)
  for (const [index, [id, value]] of pairs.entries()) {
    payload.writeUInt16BE(id, 6 * index)
    payload.writeUInt32BE(value, 6 * index + 2)
  }
  return write(types.settings, 0, 0, payload)
}
const hello = settings()
const settled = write(types.settings, ack, 0, none)
const block = (...fields: ReadonlyArray<Field>): Buffer => encode(fields)
const ok = block([":status", "200"])
const headers = (payload = ok, flag = 0, stream = 1): Buffer => write(types.headers, endHeaders | flag, stream, payload)
const data = (text: string | Buffer, flag = 0, stream = 1): Buffer => write(types.data, flag, stream, Buffer.from(text))
const goAway = (last: number, error: number): Buffer =>
  write(types.goAway, 0, 0, Buffer.concat([uint32(last), uint32(error)]))
const windowUpdate = (stream: number, more: number): Buffer => write(types.windowUpdate, 0, stream, uint32(more))

interface Heard {
  status: number
  headers: Record<string, string>
  body: string
  trailers: Record<string, string>
  /** `yes`, or `lost`. */
  over: string | undefined
  why?: string
}

interface Sent {
  readonly type: number
  readonly flag: number
  readonly stream: number
  readonly payload: Buffer
}

/** A connection whose bytes are kept. */
class Played {
  readonly sent: Array<Sent> = []
  readonly heard: Array<Heard> = []
  unsent = 0
  /** More than so many bytes of a body are not wanted. */
  wanted = Number.POSITIVE_INFINITY
  private rest = 24
  private readonly reader = new FrameReader((type, flag, stream, payload) => {
    this.sent.push({ type, flag, stream, payload: Buffer.from(payload) })
    return true
  })
  readonly connection = new Http2Connection(
    (bytes) => {
      this.reader.push(bytes.subarray(this.rest))
      this.rest = 0
    },
    () => this.unsent
  )

  ask(body: Uint8Array = none, head = block([":method", "GET"]), isHead = false): this {
    const heard: Heard = { status: 0, headers: {}, body: "", trailers: {}, over: undefined }
    this.heard.push(heard)
    this.connection.ask(
      { headers: head, body, isHead },
      {
        begin: (status, given) => {
          heard.status = status
          heard.headers = Object.fromEntries(given)
          return this.wanted < 0
        },
        push: (bytes) => {
          heard.body += bytes.toString("latin1")
          return heard.body.length > this.wanted
        },
        trailers: (given) => {
          heard.trailers = Object.fromEntries(given)
        },
        over: () => {
          heard.over = heard.over === undefined ? "yes" : "twice"
        },
        lost: (why) => {
          heard.over = heard.over === undefined ? "lost" : "twice"
          heard.why = why
        }
      }
    )
    return this
  }

  take(...frames: ReadonlyArray<Buffer>): this {
    for (const frame of frames) this.connection.push(frame)
    return this
  }

  of(type: number): ReadonlyArray<Sent> {
    return this.sent.filter((each) => each.type === type)
  }
}

/** What comes of frames, however they come. */
const read = (...frames: ReadonlyArray<Buffer>) => {
  const bytes = Buffer.concat(frames)
  const seen = [[bytes], Array.from(bytes, (byte) => Buffer.of(byte))].map((pieces) => {
    const played = new Played().ask().take(...pieces)
    const { fault, isClosing } = played.connection
    return { ...played.heard[0], fault, isClosing, sent: played.sent }
  })
  expect(seen[1]).toEqual(seen[0])
  return { ...seen[0] }
}

describe("an answer", () => {
  it("headers alone; with a body; with trailers", () => {
    expect(read(hello, headers(ok, endStream))).toMatchObject({ status: 200, over: "yes", fault: undefined })
    expect(read(hello, headers(), data("all "), data("is"), data(" well", endStream))).toMatchObject({
      body: "all is well",
      over: "yes"
    })
    const trailers = headers(block(["grpc-status", "0"]), endStream)
    expect(read(hello, headers(), data("well"), trailers)).toMatchObject({
      body: "well",
      trailers: { "grpc-status": "0" },
      over: "yes"
    })
    expect(read(hello, headers(), data("well"))).toMatchObject({ body: "well", over: undefined, fault: undefined })
  })

  it("headers in pieces, padded, with a priority; several of a name are one; 1xx are none", () => {
    const fields = block([":status", "200"], ["x-a", "1"], ["x-a", "2"])
    const first = Buffer.concat([
      Buffer.of(3),
      uint32(0x80000000),
      Buffer.of(9),
      fields.subarray(0, 2),
      Buffer.alloc(3)
    ])
    const pieces = [
      write(types.headers, padded | priority, 1, first),
      write(types.continuation, 0, 1, fields.subarray(2, 5)),
      write(types.continuation, 0, 1, none),
      write(types.continuation, endHeaders, 1, fields.subarray(5))
    ]
    const hints = headers(block([":status", "103"], ["x-a", "early"]))
    const body = data(Buffer.concat([Buffer.of(2), Buffer.from("well"), Buffer.alloc(2)]), padded | endStream)
    expect(read(hello, hints, ...pieces, body)).toMatchObject({
      status: 200,
      headers: { "x-a": "1, 2" },
      body: "well",
      over: "yes"
    })
  })

  it("what is not known, or no matter, is not there", () => {
    const noise = [
      write(99, 255, 7, Buffer.from("what?")),
      write(types.priority, 0, 77, Buffer.alloc(5)),
      write(types.ping, ack, 0, Buffer.alloc(8)),
      settings([77, 1], [3, 0]),
      settled
    ]
    const whole = read(hello, ...noise, headers(), ...noise, data("well", endStream), ...noise)
    expect(whole).toMatchObject({ body: "well", over: "yes", fault: undefined })
  })

  it("a content-length is that of the body, but for HEAD and 304", () => {
    const long = (status = "200") => headers(block([":status", status], ["content-length", "4"]))
    expect(read(hello, long(), data("well", endStream))).toMatchObject({ over: "yes" })
    expect(read(hello, long(), data("wel", endStream)).fault).toMatch(/shorter/)
    expect(read(hello, long(), data("well.")).fault).toMatch(/longer/)
    const alone = (status: string) => headers(block([":status", status], ["content-length", "4"]), endStream)
    expect(read(hello, alone("200")).fault).toMatch(/shorter/)
    expect(read(hello, alone("304"))).toMatchObject({ over: "yes" })
    const head = new Played().ask(none, ok, true).take(hello, alone("200"))
    expect(head.heard[0]?.over).toBe("yes")
  })

  it("is lost: a reset; GOAWAY that leaves it out, or has an error", () => {
    expect(read(hello, headers(), write(types.reset, 0, 1, uint32(0)))).toMatchObject({
      over: "lost",
      fault: undefined
    })
    expect(read(hello, goAway(0, 0))).toMatchObject({ over: "lost", isClosing: true, fault: undefined })
    expect(read(hello, goAway(1, 11))).toMatchObject({ over: "lost", fault: "GOAWAY with the error 11" })
    const graceful = [goAway(0x7fffffff, 0), goAway(1, 0)]
    expect(read(hello, ...graceful, headers(ok, endStream))).toMatchObject({ over: "yes", isClosing: true })
  })

  it("fields that were sent before are known until our settings are, and not then", () => {
    const kept = Buffer.concat([ok, Buffer.from("40017801" + "79", "hex")])
    const known = headers(Buffer.concat([ok, Buffer.of(0xbe)]), endStream, 3)
    const first = new Played().ask().take(hello, headers(kept, endStream)).ask().take(known)
    expect(first.heard.map((each) => each.headers)).toEqual([{ x: "y" }, { x: "y" }])
    const second = new Played().ask().take(hello, headers(kept, endStream), settled).ask().take(known)
    expect(second.connection.fault).toBe("no field has the index 62")
    // Of one that was given up, too.
    const third = new Played().ask()
    third.wanted = -1
    third.take(hello, headers(), headers(kept.subarray(ok.length), endStream))
    third.wanted = 0
    expect(third.ask().take(known).heard[1]).toMatchObject({ headers: { x: "y" }, over: "yes" })
  })
})

describe("what is asked", () => {
  it("begins with our settings; later questions have numbers of their own", () => {
    const played = new Played().ask().take(hello, headers(ok, endStream)).ask(Buffer.from("?"))
    expect(played.sent.map(({ flag, stream, type }) => [type, flag, stream])).toEqual([
      [types.settings, 0, 0],
      [types.headers, endHeaders | endStream, 1],
      [types.settings, ack, 0],
      [types.headers, endHeaders, 3],
      [types.data, endStream, 3]
    ])
    const [ours, first] = played.sent
    expect([ours?.payload.toString("hex"), first?.payload[0]]).toEqual(["00010000000000020000000000060000f000", 0x20])
  })

  it("goes in frames of 16 KiB", () => {
    const long = block(["x", "y".repeat(40_000)])
    const { sent } = new Played().ask(none, long)
    expect(sent.slice(1).map(({ flag, payload, type }) => [type, flag, payload.length])).toEqual([
      [types.headers, endStream, 16_384],
      [types.continuation, 0, 16_384],
      [types.continuation, endHeaders, long.length + 1 - 2 * 16_384]
    ])
  })

  it("waits for windows, of the stream and of the connection", () => {
    const body = Buffer.alloc(200_000)
    const played = new Played().ask(body)
    const sent = () => played.of(types.data).reduce((sum, { payload }) => sum + payload.length, 0)
    expect(sent()).toBe(65_535)
    played.take(hello, windowUpdate(1, 100_000))
    expect(sent()).toBe(65_535)
    played.take(windowUpdate(0, 10_000))
    expect(sent()).toBe(75_535)
    // ★ Smaller than what was sent: the window is below 0.
    played.take(settings([4, 0]), windowUpdate(0, 1_000_000))
    expect(sent()).toBe(100_000)
    played.take(settings([4, 10]))
    expect(sent()).toBe(100_010)
    played.take(settings([4, 1_000_000]))
    expect([sent(), played.of(types.data).at(-1)?.flag]).toEqual([200_000, endStream])
    // The next one begins with that window.
    played.take(headers(ok, endStream)).ask(body)
    expect([sent(), played.heard[0]?.over]).toEqual([400_000, "yes"])
  })

  it("is given up by who answered without it, and by us when we know enough", () => {
    const unread = new Played().ask(Buffer.alloc(100_000)).take(hello, headers(ok, endStream))
    expect([unread.heard[0]?.over, unread.of(types.reset).length]).toEqual(["yes", 1])
    const enough = new Played().ask()
    enough.wanted = 3
    enough.take(hello, headers(), data("well"), data("done", endStream)).ask()
    expect(enough.of(types.reset)).toMatchObject([{ stream: 1, payload: uint32(8) }])
    expect(enough.heard[0]).toMatchObject({ body: "well", over: "yes" })
    // What is late is not for the next one.
    enough.take(headers(ok, endStream), data("late", endStream), write(types.reset, 0, 1, uint32(0)))
    enough.take(headers(ok, 0, 3), data("all", endStream, 3))
    expect(enough.heard[1]).toMatchObject({ status: 200, body: "all", over: "yes" })
    const ended = new Played().ask()
    ended.wanted = -1
    ended.take(hello, headers(ok, endStream))
    expect([ended.heard[0]?.over, ended.of(types.reset)]).toEqual(["yes", []])
  })
})

describe("windows of ours", () => {
  const chunk = data(Buffer.alloc(16_384))
  it("open as they are read, padding and all, and that of a stream does while it is open", () => {
    const played = new Played().ask().take(hello, headers(), chunk)
    expect(played.of(types.windowUpdate)).toEqual([])
    const filled = Buffer.alloc(16_384)
    filled[0] = 255
    played.take(data(filled, padded))
    const both = [0, 1].map((stream) => ({ stream, payload: uint32(32_768) }))
    expect(played.of(types.windowUpdate)).toMatchObject(both)
    for (let n = 0; n < 100; n++) played.take(chunk)
    expect([played.connection.fault, played.of(types.windowUpdate).length]).toEqual([undefined, 102])
  })

  it("open for streams that were given up, too", () => {
    const played = new Played().ask()
    played.wanted = 0
    played.take(hello, headers(), data("."))
    for (let n = 0; n < 100; n++) played.take(chunk)
    expect(played.connection.fault).toBe(undefined)
    expect(played.of(types.windowUpdate).map(({ stream }) => stream)).toEqual(Array.from({ length: 50 }, () => 0))
  })
})

it("PING is answered, unless nobody reads answers", () => {
  const ping = write(types.ping, 0, 0, Buffer.from("12345678"))
  const played = new Played().ask().take(hello, ping)
  expect(played.of(types.ping)).toMatchObject([{ flag: ack, payload: Buffer.from("12345678") }])
  played.unsent = 65_537
  played.take(ping)
  expect([played.connection.fault, played.of(types.ping).length]).toEqual(["it asks, and does not read", 1])
})

describe("★ what is no HTTP/2 is no answer, and why is said", () => {
  const wrong = (...fields: ReadonlyArray<Field>) => headers(block(...fields), endStream)
  const status: Field = [":status", "200"]
  const empty = (type: number, flag = 0, stream = 0) => write(type, flag, stream, none)
  const cases: ReadonlyArray<readonly [why: string, frames: ReadonlyArray<Buffer>]> = [
    ["it does not begin as HTTP/2 does", [Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")]],
    ["a frame is longer than 16 KiB", [hello, write(types.data, 0, 1, Buffer.alloc(16_385))]],
    ["it does not begin as HTTP/2 does", [Buffer.alloc(9)]],
    ["it does not begin as HTTP/2 does", [settled]],
    ["it does not begin as HTTP/2 does", [headers(ok, endStream)]],
    ["headers are interrupted", [hello, write(types.headers, 0, 1, ok), data("")]],
    ["headers are interrupted", [hello, write(types.headers, 0, 1, ok), empty(types.continuation, endHeaders, 3)]],
    ["CONTINUATION continues nothing", [hello, empty(types.continuation, endHeaders, 1)]],
    ["DATA is malformed", [hello, headers(), data("", 0, 0)]],
    ["DATA is malformed", [hello, headers(), data("", 0, 3)]],
    ["DATA is malformed", [hello, headers(), data("", 0, 2)]],
    ["DATA is malformed", [hello, headers(), data("", padded)]],
    ["DATA is malformed", [hello, headers(), data("\x02.", padded)]],
    ["DATA came before the headers", [hello, data("well")]],
    ["HEADERS is malformed", [hello, headers(ok, 0, 0)]],
    ["HEADERS is malformed", [hello, headers(ok, 0, 3)]],
    ["HEADERS is malformed", [hello, headers(ok, 0, 2)]],
    ["HEADERS is malformed", [hello, headers(Buffer.alloc(4), priority)]],
    ["HEADERS is malformed", [hello, headers(Buffer.of(1), padded)]],
    ["no field has the index 0", [hello, headers(Buffer.of(0x80))]],
    ["PRIORITY is malformed", [hello, empty(types.priority, 0, 1)]],
    ["RST_STREAM is malformed", [hello, empty(types.reset, 0, 1)]],
    ["RST_STREAM is malformed", [hello, write(types.reset, 0, 3, uint32(0))]],
    ["SETTINGS is malformed", [write(types.settings, 0, 1, none)]],
    ["SETTINGS is malformed", [write(types.settings, 0, 0, Buffer.alloc(5))]],
    ["SETTINGS is malformed", [hello, write(types.settings, ack, 0, Buffer.alloc(6))]],
    ["it wants us to push", [settings([2, 1])]],
    ["its window is too large", [settings([4, 0x80000000])]],
    ["its window is too large", [hello, windowUpdate(1, 0x7fffffff)]],
    ["its window is too large", [hello, windowUpdate(0, 0x7fffffff)]],
    ["its window is too large", [hello, windowUpdate(1, 1), settings([4, 0x7fffffff])]],
    ["its frames have no length that there is", [settings([5, 16_383])]],
    ["its frames have no length that there is", [settings([5, 0x1000000])]],
    ["PUSH_PROMISE came, and nobody may push", [hello, write(types.pushPromise, endHeaders, 1, uint32(2))]],
    ["PING is malformed", [hello, empty(types.ping)]],
    ["PING is malformed", [hello, write(types.ping, 0, 1, Buffer.alloc(8))]],
    ["GOAWAY is malformed", [hello, empty(types.goAway)]],
    ["GOAWAY is malformed", [hello, write(types.goAway, 0, 1, Buffer.alloc(8))]],
    ["WINDOW_UPDATE is malformed", [hello, empty(types.windowUpdate)]],
    ["WINDOW_UPDATE is malformed", [hello, windowUpdate(0, 0)]],
    ["WINDOW_UPDATE is malformed", [hello, windowUpdate(3, 1)]],
    ["its headers have no status of HTTP/2", [hello, wrong(["x", "y"])]],
    ["its headers have no status of HTTP/2", [hello, wrong([":status", "101"])]],
    ["it ends before its status", [hello, wrong([":status", "100"])]],
    ["its content-length is none", [hello, wrong(status, ["content-length", "-1"])]],
    ["its content-length is none", [hello, wrong(status, ["content-length", "0"], ["content-length", "0"])]],
    ['":status" is not where it may be, or what', [hello, wrong([":status", "20"])]],
    ['":status" is not where it may be, or what', [hello, wrong(status, status)]],
    ['":status" is not where it may be, or what', [hello, wrong(["x", "y"], status)]],
    ['":path" is not where it may be, or what', [hello, wrong(status, [":path", "/"])]],
    ['"X" is no header of HTTP/2', [hello, wrong(status, ["X", "y"])]],
    ['"" is no header of HTTP/2', [hello, wrong(status, ["", "y"])]],
    ['"a b" is no header of HTTP/2', [hello, wrong(status, ["a b", "y"])]],
    ['"connection" is no header of HTTP/2', [hello, wrong(status, ["connection", "close"])]],
    ['the value of "x" is none', [hello, wrong(status, ["x", "a\r\nb"])]],
    ["headers came where trailers do", [hello, headers(), headers()]],
    ["headers came where trailers do", [hello, headers(), headers(ok, endStream)]]
  ]

  it.each(cases)("%s", (why, frames) => {
    expect(read(...frames)).toMatchObject({ fault: why, why, over: "lost" })
  })

  it("headers without end, in bytes, in empty frames, by what they refer to", () => {
    const begin = write(types.headers, 0, 1, ok)
    const more = (length: number, times: number) =>
      Array.from({ length: times }, () => write(types.continuation, 0, 1, Buffer.alloc(length)))
    expect(new Played().ask().take(hello, begin, ...more(16_384, 4)).connection.fault).toMatch(/longer than 60 KiB/)
    expect(new Played().ask().take(hello, begin, ...more(0, 6_826)).connection.fault).toMatch(/longer than 60 KiB/)
    expect(new Played().ask().take(hello, begin, ...more(0, 6_825)).connection.fault).toBe(undefined)
    const kept = Buffer.concat([ok, Buffer.of(0x40, 1, 0x78, 0x7f, 0x81, 0x06), Buffer.alloc(896, 0x79)])
    const bomb = headers(Buffer.concat([ok, Buffer.alloc(1_000, 0xbe)]), 0, 3)
    const played = new Played().ask().take(hello, headers(kept, endStream)).ask().take(bomb)
    expect(played.connection.fault).toBe("its headers have more than 61440 bytes")
  })

  it("what comes after it is not read", () => {
    expect(read(hello, data("well"), headers(ok, endStream))).toMatchObject({ status: 0, over: "lost" })
    const played = new Played().ask().take(hello, data("")).take(headers(ok, endStream))
    expect(played.heard).toMatchObject([{ status: 0, over: "lost" }])
  })

  it("bytes drawn at random, and answers with one byte changed", () => {
    const whole = Buffer.concat([hello, headers(), data("well"), headers(block(["grpc-status", "0"]), endStream)])
    for (let n = 0; n < whole.length * 8; n++) {
      const bytes = Buffer.from(whole)
      bytes[n >> 3] = (bytes[n >> 3] ?? 0) ^ (1 << (n & 7))
      read(bytes)
    }
    let seed = 1
    const draw = (): number => (seed = (seed * 48_271) % 0x7fffffff)
    for (let n = 0; n < 2_000; n++) {
      const payload = Buffer.from(Array.from({ length: draw() % 40 }, () => draw() & 255))
      read(hello, write(draw() % 11, draw() & 255, draw() % 4, payload), headers(payload))
    }
  })
})
