/**
 * The certificates in PEM files, and their validity. For servers and clients on Node; it needs Node and is not in the
 * index.
 *
 * @since 0.1.0
 */
import * as Steps from "@effect-xds/core/Steps"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"
import { X509Certificate } from "node:crypto"

/**
 * Days until the first certificate of a file expires; negative after that. Tagged with the file (`file`; `inline` for
 * PEM text) and its `use` (`cert`, `ca`).
 *
 * @since 0.1.0
 */
export const daysLeft = Metric.gauge("xds_tls_certificate_days_left", {
  description: "Days until the first certificate of a file expires"
})

/**
 * PEM text with certificates, and where it is from.
 *
 * @since 0.1.0
 */
export interface Source {
  readonly use: "cert" | "ca"
  /** The path; `undefined` if the text itself was given. */
  readonly file: string | undefined
  readonly pem: string
}

const edge = /-----(BEGIN|END) (?:X509 |TRUSTED )?CERTIFICATE-----/g

/** From the first beginning to the next end, and so on. ★ One look through the text, whatever is in it. */
const blocksOf = (pem: string): ReadonlyArray<string> => {
  const blocks: Array<string> = []
  let begin: number | undefined
  for (const { 0: line, 1: kind, index } of pem.matchAll(edge)) {
    if (kind === "BEGIN") begin ??= index
    else if (begin !== undefined) {
      blocks.push(pem.slice(begin, index + line.length))
      begin = undefined
    }
  }
  return blocks
}

const nameOf = ({ file, use }: Source): string => (file === undefined ? `tls.${use}` : `tls.${use} ${file}`)

/**
 * The certificates in a text. Throws, with a message for people, if there is none or one is malformed: Node would take
 * such a text for an empty list of authorities and refuse every client.
 *
 * @since 0.1.0
 */
export const read = (source: Source): ReadonlyArray<X509Certificate> => Array.from(certificatesOf(source))

/** The same, one after the other. */
const certificatesOf = function* (source: Source): Generator<X509Certificate, void> {
  const blocks = blocksOf(source.pem)
  if (blocks.length === 0) {
    const what = source.pem.trim() === "" ? "it is empty" : "there is no certificate in it"
    throw new Error(`${nameOf(source)}: ${what}; a PEM file begins with -----BEGIN CERTIFICATE-----`)
  }
  for (const [index, text] of blocks.entries()) {
    let certificate: X509Certificate
    try {
      certificate = new X509Certificate(text)
    } catch {
      // OpenSSL's message does not help, and the file must not be quoted.
      throw new Error(`${nameOf(source)}: its certificate ${index + 1} of ${blocks.length} cannot be read`)
    }
    yield certificate
  }
}

const day = 86_400_000

/** The warning comes this long before expiry; for short-lived certificates, in the last fifth of their life. */
const soon = 30 * day

/**
 * A problem with the validity of a certificate, now or soon.
 *
 * @since 0.1.0
 */
export interface Finding {
  readonly level: "Expired" | "Soon" | "Early"
  /** For logs: which certificate, its date, and what to do. */
  readonly message: string
}

/** Of a certificate: whose it is, and when it is good, in milliseconds since 1970. */
interface Validity {
  readonly subject: string
  readonly from: number
  readonly to: number
}

/** ★ In steps: a bundle of 150 authorities takes 40 ms to read. */
const validitiesOf = function* (source: Source): Steps.Steps<ReadonlyArray<Validity>> {
  const validities: Array<Validity> = []
  for (const { subject, validFrom, validTo } of certificatesOf(source)) {
    validities.push({
      subject: subject.replace(/[\p{Cc}\u2028\u2029]+/gu, ", "),
      from: Date.parse(validFrom),
      to: Date.parse(validTo)
    })
    yield
  }
  return validities
}

const findingOf = (source: Source, { from, subject, to }: Validity, now: number): Finding | undefined => {
  const which = `${nameOf(source)}: the certificate of ${subject === "" ? "no subject" : subject}`
  const at = (time: number): string => new Date(time).toISOString()
  if (now >= to) return { level: "Expired", message: `${which} expired at ${at(to)}; peers refuse it, replace it` }
  if (now < from) return { level: "Early", message: `${which} is not good before ${at(from)}; look at the clocks` }
  if (to - now > Math.min(soon, (to - from) / 5)) return undefined
  const left = to - now
  const time = left >= 2 * day ? `${Math.floor(left / day)} days` : `${Math.max(1, Math.floor(left / 3_600_000))} h`
  return { level: "Soon", message: `${which} expires in ${time}, at ${at(to)}; replace it` }
}

interface Checked {
  readonly findings: ReadonlyArray<Finding>
  readonly daysLeft: number
}

const checked = (source: Source, validities: ReadonlyArray<Validity>, now: number): Checked => {
  const findings = validities.flatMap((validity) => findingOf(source, validity, now) ?? [])
  let first = Number.POSITIVE_INFINITY
  for (const { to } of validities) first = Math.min(first, to)
  return { findings, daysLeft: (first - now) / day }
}

/**
 * The problems of the certificates in a text, and the days until the first one expires.
 *
 * @param now in milliseconds since 1970
 * @since 0.1.0
 */
export const check = (source: Source, now: number): Checked => checked(source, Steps.toEnd(validitiesOf(source)), now)

/** What was read of a text; `undefined`: it cannot be read. */
interface Known {
  readonly source: Source
  readonly validities: ReadonlyArray<Validity> | undefined
}

/** How often certificates are looked at. */
const interval = Duration.minutes(1)

/**
 * Checks certificates now and every minute until the scope closes: sets {@link daysLeft}, and logs each problem when it
 * begins and again every day.
 *
 * @param sources gives the files in use now
 * @since 0.1.0
 */
export const watch = (sources: () => ReadonlyArray<Source>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    /** When each problem was logged last, in milliseconds. The key is its message without the time that is left. */
    let told = new Map<string, number>()
    /** By the names of sources. Hardly ever a text changes. */
    let known = new Map<string, Known>()
    const knownOf = (source: Source): Effect.Effect<Known> => {
      const last = known.get(nameOf(source))
      if (last?.source.pem === source.pem) return Effect.succeed(last)
      const validities = Effect.suspend(() => Slices.steps(EventLoop.process, validitiesOf(source)))
      return Effect.catchAllDefect(
        Effect.map(validities, (validities): Known => ({ source, validities })),
        // Malformed certificates were reported when they were loaded.
        () => Effect.succeed({ source, validities: undefined })
      )
    }
    const gaugeOf = ({ file, use }: Source) =>
      daysLeft.pipe(Metric.tagged("use", use), Metric.tagged("file", file ?? "inline"))
    const look = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const still = new Map<string, number>()
      const current = yield* Effect.forEach(sources(), knownOf)
      known = new Map(current.map((each) => [nameOf(each.source), each]))
      for (const { source, validities } of current) {
        const { daysLeft, findings } =
          validities === undefined ? { findings: [], daysLeft: 0 } : checked(source, validities, now)
        yield* Metric.set(gaugeOf(source), Math.floor(daysLeft * 100) / 100)
        for (const { level, message } of findings) {
          const key = `${level} ${message.replace(/expires in [^,]*/, "expires")}`
          const last = told.get(key)
          const isDue = last === undefined || now - last >= day
          still.set(key, isDue ? now : last)
          if (isDue) yield* level === "Expired" ? Effect.logError(message) : Effect.logWarning(message)
        }
      }
      told = still
    })
    yield* look
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(interval), look)))
  })
