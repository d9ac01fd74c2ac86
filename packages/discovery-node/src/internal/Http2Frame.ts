/**
 * Frames of HTTP/2, written, and read as they come, byte by byte if it has to be.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9113#section-4
 */

export const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9
} as const

export const flags = { ack: 0x1, endStream: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const

/** Bytes of a payload, ours and theirs: what everybody may send, and more is asked of nobody. */
export const maxPayload = 16_384

const headLength = 9

export const write = (type: number, flag: number, stream: number, payload: Uint8Array): Buffer => {
  const frame = Buffer.allocUnsafe(headLength + payload.length)
  frame.writeUIntBE(payload.length, 0, 3)
  frame[3] = type
  frame[4] = flag
  frame.writeUInt32BE(stream, 5)
  frame.set(payload, headLength)
  return frame
}

/** A payload of one number. */
export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Cuts what comes into frames. */
export class FrameReader {
  /** The beginning of a frame whose end has not come, and how much of it is there. */
  private pending: Buffer | undefined
  private filled = 0

  constructor(
    /** Whether more are wanted. What it is given is not its own to keep. */
    private readonly onFrame: (type: number, flag: number, stream: number, payload: Buffer) => boolean
  ) {}

  /** Whether all was taken that is there. If not, a frame is too long, or no more is wanted: what follows is not to be read. */
  push(bytes: Buffer): boolean {
    let at = 0
    while (at < bytes.length) {
      if (this.pending === undefined && bytes.length - at >= headLength) {
        const end = at + headLength + bytes.readUIntBE(at, 3)
        if (end - at > headLength + maxPayload) return false
        if (end <= bytes.length) {
          if (!this.take(bytes.subarray(at, end))) return false
          at = end
          continue
        }
      }
      const next = this.fill(bytes, at)
      if (next === undefined) return false
      at = next
    }
    return true
  }

  private take(frame: Buffer): boolean {
    // The first bit of a stream's number means nothing.
    return this.onFrame(frame[3] ?? 0, frame[4] ?? 0, frame.readUInt32BE(5) & 0x7fffffff, frame.subarray(headLength))
  }

  /** Where what it has put aside ends. */
  private fill(bytes: Buffer, at: number): number | undefined {
    let pending = (this.pending ??= Buffer.allocUnsafe(headLength))
    const copied = bytes.copy(pending, this.filled, at)
    this.filled += copied
    if (this.filled === headLength && pending.length === headLength) {
      const length = pending.readUIntBE(0, 3)
      if (length > maxPayload) return undefined
      if (length > 0) {
        const whole = Buffer.allocUnsafe(headLength + length)
        whole.set(pending)
        pending = this.pending = whole
      }
    }
    if (this.filled === pending.length && this.filled >= headLength) {
      this.pending = undefined
      this.filled = 0
      if (!this.take(pending)) return undefined
    }
    return at + copied
  }
}
