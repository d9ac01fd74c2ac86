/**
 * Reads one answer over HTTP/1 as it comes, byte by byte if it has to: what probes need of it, and nothing else.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112
 */
import * as ProbeHeaders from "@effect-xds/discovery/ProbeHeaders"

/** Bytes of the lines before a body, of those behind it, and of the line before a chunk: as Envoy bounds heads. */
const maxLines = 61_440

type State =
  | "status"
  | "header"
  /** A body of known length. */
  | "length"
  /** One that ends with the connection. */
  | "close"
  | "size"
  | "chunk"
  | "chunkEnd"
  | "trailer"
  | "done"

export class Http1Response {
  status = 0
  /** Why it is no answer. */
  fault: string | undefined
  private state: State = "status"
  private isOld = false
  private readonly headers = new Map<string, string>()
  private last = ""
  /** The beginning of a line whose end has not come. */
  private partial = ""
  /** Bytes that lines may still have. */
  private room = maxLines
  /** Bytes that are left of the body, or of a chunk. */
  private left = 0
  /** The connection has ended, or more came than the answer. */
  private isSpoilt = false

  constructor(
    /** It answers HEAD: it has no body, whatever it says. */
    private readonly isHead: boolean,
    private readonly onBody: (bytes: Buffer) => void
  ) {}

  /** It is whole. */
  get isDone(): boolean {
    return this.state === "done"
  }

  /** The connection is for no other request. */
  get closes(): boolean {
    if (this.isSpoilt || this.status === 101) return true
    const options = this.listOf("connection")
    return options.includes("close") || (this.isOld && !options.includes("keep-alive"))
  }

  /** RFC 9110, section 5.3: several lines of a name are one. */
  header(name: string): string | undefined {
    return this.headers.get(name)
  }

  push(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length && this.fault === undefined) {
      switch (this.state) {
        case "done":
          // ★ What nobody asked for is not for the next probe.
          this.isSpoilt = true
          return
        case "close":
          this.onBody(bytes.subarray(at))
          return
        case "length":
        case "chunk": {
          const end = Math.min(bytes.length, at + this.left)
          this.onBody(bytes.subarray(at, end))
          this.left -= end - at
          at = end
          if (this.left === 0) this.state = this.state === "length" ? "done" : "chunkEnd"
          break
        }
        default:
          at = this.pushLine(bytes, at)
      }
    }
  }

  /** The connection has ended. */
  end(): void {
    if (this.state === "close") this.state = "done"
    if (this.state !== "done") this.fault ??= "the connection ended before the answer"
    this.isSpoilt = true
  }

  private pushLine(bytes: Buffer, at: number): number {
    const found = bytes.indexOf(10, at)
    const end = found < 0 ? bytes.length : found + 1
    this.room -= end - at
    const text = this.partial + bytes.toString("latin1", at, end)
    if (this.room < 0) this.fault = "its lines are longer than 60 KiB"
    else if (found < 0) this.partial = text
    else {
      this.partial = ""
      if (text.endsWith("\r\n")) this.takeLine(text.slice(0, -2))
      else this.fault = "a line does not end as lines of HTTP/1 do"
    }
    return end
  }

  private takeLine(line: string): void {
    switch (this.state) {
      case "status":
        this.takeStatus(line)
        break
      case "header":
        if (line === "") this.beginBody()
        else this.takeHeader(line)
        break
      case "size":
        this.takeSize(line)
        break
      case "chunkEnd":
        if (line !== "") this.fault = "a chunk is longer than it says"
        this.state = "size"
        this.room = maxLines
        break
      case "trailer":
        if (line === "") this.state = "done"
        break
      default:
    }
  }

  private takeStatus(line: string): void {
    const [, minor, status] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/.exec(line) ?? []
    this.status = Number(status)
    this.isOld = minor === "0"
    if (status === undefined) this.fault = "it does not begin as HTTP/1 does"
    this.state = "header"
  }

  private takeHeader(line: string): void {
    const colon = line.indexOf(":")
    const isFolded = line.startsWith(" ") || line.startsWith("\t")
    // RFC 9112, section 5.2: a line that goes on is the line before.
    const name = isFolded ? this.last : line.slice(0, Math.max(0, colon)).toLowerCase()
    const said = (isFolded ? line : line.slice(colon + 1)).replace(/^[\t ]+|[\t ]+$/g, "")
    if (!ProbeHeaders.isName(name) || !ProbeHeaders.isValue(said)) {
      this.fault = "a header is malformed"
      return
    }
    const known = this.headers.get(name)
    this.headers.set(name, known === undefined ? said : `${known}${isFolded ? " " : ", "}${said}`)
    this.last = name
  }

  private listOf(name: string): ReadonlyArray<string> {
    const list = this.headers.get(name)
    return list === undefined ? [] : list.split(",").map((each) => each.trim().toLowerCase())
  }

  /** RFC 9112, section 6.3. */
  private beginBody(): void {
    const { status } = this
    if (status < 200 && status !== 101) {
      // Another one follows.
      this.headers.clear()
      this.last = ""
      this.state = "status"
      return
    }
    const codings = this.listOf("transfer-encoding")
    const lengths = new Set(this.listOf("content-length"))
    const [length = "0"] = lengths
    const isLength = lengths.size <= 1 && /^\d{1,15}$/.test(length)
    // ★ Who says both, or one that cannot be, wants it to be read in two ways.
    if (!isLength) this.fault = "its content-length is none"
    else if (codings.length > 0 && (lengths.size > 0 || this.isOld)) this.fault = "its length is said in two ways"
    else if (this.isHead || status === 101 || status === 204 || status === 304) this.state = "done"
    else if (codings.length > 0) this.state = codings.at(-1) === "chunked" ? "size" : "close"
    else if (lengths.size === 0) this.state = "close"
    else {
      this.left = Number(length)
      this.state = this.left === 0 ? "done" : "length"
    }
    this.room = maxLines
  }

  private takeSize(line: string): void {
    // What is said of a chunk beside its size is for nobody here.
    const [, digits] = /^([\da-f]{1,13})[\t ]*(?:;.*)?$/i.exec(line) ?? []
    this.left = parseInt(digits ?? "", 16)
    this.room = maxLines
    if (digits === undefined) this.fault = "the size of a chunk is malformed"
    this.state = this.left === 0 ? "trailer" : "chunk"
  }
}
