/**
 * Rate-limited log lines about peers: one per subject and minute, and a bounded number in all, so that a misbehaving
 * peer cannot fill the log.
 *
 * @since 0.1.0
 */
import * as Digest from "@effect-xds/core/resource/Digest"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"

const window = 60_000
const maxLines = 100
/**
 * The longest subject that is kept as text, in characters. Peers choose their names, so a longer one is kept as a
 * digest. Nobody can forge the digest of another subject, which would suppress that one's lines.
 */
const maxSubject = 200

/**
 * Logs a line unless one with the same subject was logged within the last minute.
 *
 * @since 0.1.0
 */
export type LogThrottle = (
  level: LogLevel.LogLevel,
  subject: string,
  message: string,
  cause?: unknown,
  annotations?: Readonly<Record<string, unknown>>
) => void

/** Removes line breaks and control characters, so that peers cannot forge log lines. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ")

/**
 * A throttle with limits of its own. `now`: milliseconds of a monotonic clock.
 *
 * @since 0.1.0
 */
export const make = (runtime: Runtime.Runtime<never>, now: () => number): LogThrottle => {
  const subjects = new Set<string>()
  let began = Number.NEGATIVE_INFINITY
  let left = 0
  const log = (
    level: LogLevel.LogLevel,
    annotations: Readonly<Record<string, unknown>>,
    message: string,
    cause?: unknown
  ) => {
    const logged =
      cause === undefined ? Effect.logWithLevel(level, message) : Effect.logWithLevel(level, message, cause)
    Runtime.runFork(runtime)(Effect.annotateLogs(logged, annotations))
  }
  return (level, subject, message, cause, annotations = {}) => {
    const time = now()
    if (time - began >= window) {
      if (left > 0) log(LogLevel.Warning, {}, `${left} log lines about xDS peers were left out in the last minute`)
      began = time
      left = 0
      subjects.clear()
    }
    const key =
      subject.length <= maxSubject
        ? subject
        : `${subject.slice(0, maxSubject)} ${Digest.toHex(Digest.ofParts([subject]))}`
    if (subjects.has(key)) return
    if (subjects.size >= maxLines) {
      left++
      return
    }
    subjects.add(key)
    log(level, annotations, oneLine(message), cause)
  }
}
