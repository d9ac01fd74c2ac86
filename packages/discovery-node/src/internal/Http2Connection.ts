/**
 * The client's side of one connection over HTTP/2, for one question at a time: bytes in, bytes out. ★ Not with
 * `node:http2`, whose sessions and streams alone cost nearly all that checks may: see the README.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9113
 */
import * as ProbeHeaders from "@effect-xds/discovery/ProbeHeaders"
import { type Field, HpackDecoder, keepsNothing } from "./Hpack.js"
import { flags, FrameReader, maxPayload, types, uint32, write } from "./Http2Frame.js"

export type Headers = ReadonlyMap<string, string>

export interface Question {
  /** As `Hpack.encode` gives it. */
  readonly headers: Buffer
  readonly body: Uint8Array
  /** It is HEAD: its answer has no body, whatever it says. */
  readonly isHead: boolean
}

/** Is told the answer to one question. `true`: no more of it is wanted. */
export interface Answer {
  readonly begin: (status: number, headers: Headers) => boolean
  readonly push: (bytes: Buffer) => boolean
  readonly trailers: (headers: Headers) => void
  /** Once, at last, unless it is lost: it is at its end, or no more was wanted. */
  readonly over: () => void
  /** Instead, if there is none. Why, in words. */
  readonly lost: (why: string) => void
}

interface Running {
  readonly question: Question
  readonly answer: Answer
  /** Whether it has its status, that is no 1xx. */
  hasBegun: boolean
  /** Whether the stream has its end, whatever is made of it. */
  hasEnded: boolean
  /** Bytes that its body has to have yet; `undefined`: that is not said. */
  missing: number | undefined
  /** Bytes of the body that are sent. */
  sent: number
  /** Bytes that they take, and that we take, before somebody says more. */
  theirs: number
  ours: number
}

/** What begins a connection: RFC 9113, section 3.4. */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1")

const settings = { headerTableSize: 1, enablePush: 2, initialWindowSize: 4, maxHeaderListSize: 6, maxFrameSize: 5 }

/** Bytes of the headers of an answer, as they are sent and with 32 for each: as much as over HTTP/1. */
const maxHeaders = 61_440
/** What a frame of headers counts beside its bytes, so that empty ones come to an end. */
const frameCost = 9

/** The window of whoever has said nothing. */
const beginningWindow = 65_535
const maxWindow = 0x7fffffff
const maxStream = 0x7fffffff

/** Bytes of ours that may lie unsent, for replies to be added. */
const maxUnsent = 65_536

const notHttp2 = "it does not begin as HTTP/2 does"

const cancel = uint32(8)
const nothing = Buffer.alloc(0)

/** ★ No push, and nothing of what is sent is kept: ten thousand connections would each have a table. */
const ourSettings = (() => {
  const payload = Buffer.alloc(18)
  const pairs = [
    [settings.headerTableSize, 0],
    [settings.enablePush, 0],
    [settings.maxHeaderListSize, maxHeaders]
  ] as const
  for (const [index, [id, value]] of pairs.entries()) {
    payload.writeUInt16BE(id, 6 * index)
    payload.writeUInt32BE(value, 6 * index + 2)
  }
  return write(types.settings, 0, 0, payload)
})()

/** RFC 9113, section 8.2.2: what an answer over HTTP/2 never has. */
const ofConnections: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade"
])

/** ★ A stranger chose it, and it is told. */
const quoted = (name: string): string => JSON.stringify(name.slice(0, 60))

/** Fields of an answer, or in words why they are none. Several of a name are one (RFC 9110, section 5.3). */
const headersOf = (fields: ReadonlyArray<Field>): { status: number | undefined; headers: Headers } | string => {
  let status: number | undefined
  const headers = new Map<string, string>()
  for (const [name, value] of fields) {
    if (name.startsWith(":")) {
      if (name !== ":status" || status !== undefined || headers.size > 0 || !/^[1-9]\d\d$/.test(value)) {
        return `${quoted(name)} is not where it may be, or what`
      }
      status = Number(value)
      continue
    }
    if (!ProbeHeaders.isName(name) || /[A-Z]/.test(name) || ofConnections.has(name)) {
      return `${quoted(name)} is no header of HTTP/2`
    }
    if (!ProbeHeaders.isValue(value)) return `the value of ${quoted(name)} is none`
    const known = headers.get(name)
    headers.set(name, known === undefined ? value : `${known}, ${value}`)
  }
  return { status, headers }
}

export class Http2Connection {
  /** Why the connection is of no use any more. */
  fault: string | undefined
  /** It takes no more questions: GOAWAY has come, or there are no numbers left. */
  isClosing = false
  private running: Running | undefined
  /** The last one that was opened; -1: none. */
  private stream = -1
  private isPeerKnown = false
  private readonly reader = new FrameReader((type, flag, stream, payload) => {
    this.frame(type, flag, stream, payload)
    return this.fault === undefined
  })
  private readonly hpack = new HpackDecoder()
  /** The headers that are not at their end. */
  private block:
    { readonly stream: number; readonly isEnd: boolean; readonly parts: Array<Buffer>; room: number } | undefined
  private theirWindow = beginningWindow
  private theirStreamWindow = beginningWindow
  private ourWindow = beginningWindow
  private bodyLength = 0

  constructor(
    private readonly send: (bytes: Buffer) => void,
    /** Bytes that were given to `send` and have not gone. */
    private readonly unsent: () => number
  ) {}

  /** Only while no question is open, and it is neither closing nor at fault. */
  ask(question: Question, answer: Answer): void {
    const { body, headers } = question
    const isFirst = this.stream < 0
    this.stream += 2
    if (this.stream + 2 > maxStream) this.isClosing = true
    this.bodyLength = body.length
    this.running = {
      question,
      answer,
      hasBegun: false,
      hasEnded: false,
      missing: undefined,
      sent: 0,
      theirs: this.theirStreamWindow,
      ours: beginningWindow
    }
    const frames: Array<Buffer> = isFirst ? [preface, ourSettings] : []
    this.writeHeaders(frames, isFirst ? Buffer.concat([keepsNothing, headers]) : headers, body.length === 0)
    this.writeBody(frames, this.running)
    this.send(Buffer.concat(frames))
  }

  /** Bytes of the other side. */
  push(bytes: Buffer): void {
    if (this.fault !== undefined || this.reader.push(bytes)) return
    this.fail(this.isPeerKnown ? "a frame is longer than 16 KiB" : notHttp2)
  }

  private fail(fault: string): void {
    this.fault ??= fault
    this.lose(fault)
  }

  private lose(why: string): void {
    const { running } = this
    this.running = undefined
    running?.answer.lost(why)
  }

  private over(): void {
    const { running } = this
    this.running = undefined
    if (running === undefined) return
    // Who has answered may not have read all of the question.
    const isOpen = !running.hasEnded || running.sent < running.question.body.length
    if (isOpen) this.reply(write(types.reset, 0, this.stream, cancel))
    running.answer.over()
  }

  /** ★ Who asks for replies and takes none would have us keep them. */
  private reply(frame: Buffer): void {
    if (this.unsent() > maxUnsent + this.bodyLength) this.fail("it asks, and does not read")
    else this.send(frame)
  }

  private writeHeaders(frames: Array<Buffer>, block: Buffer, isEnd: boolean): void {
    for (let at = 0; at === 0 || at < block.length; at += maxPayload) {
      const isLast = at + maxPayload >= block.length
      const flag = (isLast ? flags.endHeaders : 0) | (at === 0 && isEnd ? flags.endStream : 0)
      const type = at === 0 ? types.headers : types.continuation
      frames.push(write(type, flag, this.stream, block.subarray(at, at + maxPayload)))
    }
  }

  /** As much as they take. */
  private writeBody(frames: Array<Buffer>, running: Running): void {
    const { body } = running.question
    for (;;) {
      const length = Math.min(body.length - running.sent, running.theirs, this.theirWindow, maxPayload)
      if (length <= 0) return
      const payload = body.subarray(running.sent, running.sent + length)
      running.sent += length
      running.theirs -= length
      this.theirWindow -= length
      frames.push(write(types.data, running.sent === body.length ? flags.endStream : 0, this.stream, payload))
    }
  }

  private goOn(): void {
    const { running } = this
    if (running === undefined || running.sent === running.question.body.length) return
    const frames: Array<Buffer> = []
    this.writeBody(frames, running)
    if (frames.length > 0) this.send(Buffer.concat(frames))
  }

  private frame(type: number, flag: number, stream: number, payload: Buffer): void {
    if (!this.isPeerKnown) {
      if (type !== types.settings || (flag & flags.ack) !== 0) return this.fail(notHttp2)
      this.isPeerKnown = true
    }
    if (this.block !== undefined && (type !== types.continuation || stream !== this.block.stream)) {
      return this.fail("headers are interrupted")
    }
    switch (type) {
      case types.data:
        return this.takeData(flag, stream, payload)
      case types.headers:
        return this.takeHeaders(flag, stream, payload)
      case types.priority:
        // What we are to prefer is no matter where there is one stream.
        if (stream === 0 || payload.length !== 5) this.fail("PRIORITY is malformed")
        return
      case types.reset:
        return this.takeReset(stream, payload)
      case types.settings:
        return this.takeSettings(flag, stream, payload)
      case types.pushPromise:
        return this.fail("PUSH_PROMISE came, and nobody may push")
      case types.ping:
        if (stream !== 0 || payload.length !== 8) this.fail("PING is malformed")
        else if ((flag & flags.ack) === 0) this.reply(write(types.ping, flags.ack, 0, payload))
        return
      case types.goAway:
        return this.takeGoAway(stream, payload)
      case types.windowUpdate:
        return this.takeWindowUpdate(stream, payload)
      case types.continuation:
        return this.takeContinuation(flag, payload)
      default:
      // ★ RFC 9113, section 5.5: what is not known is not there.
    }
  }

  /** Whether it is a stream that we have opened; those that are over count, too. */
  private isOurs(stream: number): boolean {
    return stream % 2 === 1 && stream <= this.stream
  }

  /** Without its padding; `undefined`: there is more of that than there is. */
  private unpadded(flag: number, payload: Buffer): Buffer | undefined {
    if ((flag & flags.padded) === 0) return payload
    const padding = payload[0]
    if (padding === undefined || padding >= payload.length) return undefined
    return payload.subarray(1, payload.length - padding)
  }

  private takeData(flag: number, stream: number, payload: Buffer): void {
    const bytes = this.unpadded(flag, payload)
    if (!this.isOurs(stream) || bytes === undefined) return this.fail("DATA is malformed")
    this.ourWindow -= payload.length
    // What comes is read at once, so that a window never falls far below half.
    if (this.ourWindow <= beginningWindow / 2) {
      this.reply(write(types.windowUpdate, 0, 0, uint32(beginningWindow - this.ourWindow)))
      this.ourWindow = beginningWindow
    }
    const { running } = this
    // Of one that was given up more may be on its way.
    if (running === undefined || stream !== this.stream) return
    running.ours -= payload.length
    if (!running.hasBegun) return this.fail("DATA came before the headers")
    running.hasEnded = (flag & flags.endStream) !== 0
    if (running.missing !== undefined) running.missing -= bytes.length
    if (running.missing !== undefined && running.missing < 0) return this.fail("its body is longer than it says")
    if (bytes.length > 0 && running.answer.push(bytes)) return this.over()
    if (running.hasEnded) this.end(running)
    else if (running.ours <= beginningWindow / 2) {
      this.reply(write(types.windowUpdate, 0, stream, uint32(beginningWindow - running.ours)))
      running.ours = beginningWindow
    }
  }

  private end(running: Running): void {
    if (running.missing !== undefined && running.missing > 0) this.fail("its body is shorter than it says")
    else this.over()
  }

  private takeHeaders(flag: number, stream: number, payload: Buffer): void {
    const bytes = this.unpadded(flag, payload)
    const skipped = (flag & flags.priority) === 0 ? 0 : 5
    if (!this.isOurs(stream) || bytes === undefined || bytes.length < skipped) return this.fail("HEADERS is malformed")
    this.block = { stream, isEnd: (flag & flags.endStream) !== 0, parts: [], room: maxHeaders }
    this.takeContinuation(flag, bytes.subarray(skipped))
  }

  private takeContinuation(flag: number, payload: Buffer): void {
    const { block } = this
    if (block === undefined) return this.fail("CONTINUATION continues nothing")
    block.room -= payload.length + frameCost
    if (block.room < 0) return this.fail("its headers are longer than 60 KiB")
    if ((flag & flags.endHeaders) === 0) {
      // The payload may lie in a buffer that is used again.
      block.parts.push(Buffer.from(payload))
      return
    }
    this.block = undefined
    const whole = block.parts.length === 0 ? payload : Buffer.concat([...block.parts, payload])
    // ★ Of one that is over they are read, too: the next ones may refer to them.
    const fields = this.hpack.decode(whole, maxHeaders)
    if (typeof fields === "string") return this.fail(fields)
    const { running } = this
    if (running !== undefined && block.stream === this.stream) this.takeFields(running, fields, block.isEnd)
  }

  private takeFields(running: Running, fields: ReadonlyArray<Field>, isEnd: boolean): void {
    const read = headersOf(fields)
    if (typeof read === "string") return this.fail(read)
    const { headers, status } = read
    if (running.hasBegun) {
      if (status !== undefined || !isEnd) return this.fail("headers came where trailers do")
      running.hasEnded = true
      running.answer.trailers(headers)
      return this.end(running)
    }
    if (status === undefined || status === 101) return this.fail("its headers have no status of HTTP/2")
    if (status < 200) {
      // Others follow.
      if (isEnd) this.fail("it ends before its status")
      return
    }
    const length = headers.get("content-length")
    if (length !== undefined && !/^\d{1,15}$/.test(length)) return this.fail("its content-length is none")
    running.hasBegun = true
    running.hasEnded = isEnd
    if (length !== undefined && !running.question.isHead && status !== 304) running.missing = Number(length)
    if (running.answer.begin(status, headers)) this.over()
    else if (isEnd) this.end(running)
  }

  private takeReset(stream: number, payload: Buffer): void {
    if (!this.isOurs(stream) || payload.length !== 4) this.fail("RST_STREAM is malformed")
    else if (stream === this.stream) this.lose(`RST_STREAM with the error ${payload.readUInt32BE()}`)
  }

  private takeSettings(flag: number, stream: number, payload: Buffer): void {
    const isAck = (flag & flags.ack) !== 0
    if (stream !== 0 || (isAck ? payload.length > 0 : payload.length % 6 !== 0)) {
      return this.fail("SETTINGS is malformed")
    }
    if (isAck) {
      // ★ From here on whoever refers to what was sent is wrong (RFC 9113, section 4.3.1).
      this.hpack.setLimit(0)
      return
    }
    for (let at = 0; at < payload.length; at += 6) {
      this.takeSetting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2))
    }
    if (this.fault !== undefined) return
    this.reply(write(types.settings, flags.ack, 0, nothing))
    this.goOn()
  }

  private takeSetting(id: number, value: number): void {
    switch (id) {
      case settings.enablePush:
        if (value !== 0) this.fail("it wants us to push")
        return
      case settings.initialWindowSize: {
        if (value > maxWindow) return this.fail("its window is too large")
        const more = value - this.theirStreamWindow
        this.theirStreamWindow = value
        // ★ What was sent before counts: the window may be below 0 for a while.
        if (this.running !== undefined) this.running.theirs += more
        if ((this.running?.theirs ?? 0) > maxWindow) this.fail("its window is too large")
        return
      }
      case settings.maxFrameSize:
        // Ours are never longer than all may be.
        if (value < maxPayload || value > 0xffffff) this.fail("its frames have no length that there is")
        return
      default:
    }
  }

  private takeGoAway(stream: number, payload: Buffer): void {
    if (stream !== 0 || payload.length < 8) return this.fail("GOAWAY is malformed")
    const [last, error] = [payload.readUInt32BE(0) & maxStream, payload.readUInt32BE(4)]
    this.isClosing = true
    // ★ Without an error what runs may finish.
    if (error !== 0) this.fail(`GOAWAY with the error ${error}`)
    else if (last < this.stream) this.lose("GOAWAY came before the answer")
  }

  private takeWindowUpdate(stream: number, payload: Buffer): void {
    const more = payload.length === 4 ? payload.readUInt32BE(0) & maxWindow : 0
    if (more === 0 || (stream !== 0 && !this.isOurs(stream))) return this.fail("WINDOW_UPDATE is malformed")
    if (stream === 0) this.theirWindow += more
    else if (this.running !== undefined && stream === this.stream) this.running.theirs += more
    if (Math.max(this.theirWindow, this.running?.theirs ?? 0) > maxWindow) return this.fail("its window is too large")
    this.goOn()
  }
}
