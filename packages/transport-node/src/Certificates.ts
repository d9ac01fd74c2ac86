/**
 * The certificates in PEM files, and their validity. For servers and clients on Node; it needs Node and is not in the
 * index.
 *
 * @since 0.1.0
 */
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
export const read = (source: Source): ReadonlyArray<X509Certificate> => {
  const blocks = blocksOf(source.pem)
  if (blocks.length === 0) {
    const what = source.pem.trim() === "" ? "it is empty" : "there is no certificate in it"
    throw new Error(`${nameOf(source)}: ${what}; a PEM file begins with -----BEGIN CERTIFICATE-----`)
  }
  return blocks.map((text, index) => {
    try {
      return new X509Certificate(text)
    } catch {
      // OpenSSL's message does not help, and the file must not be quoted.
      throw new Error(`${nameOf(source)}: its certificate ${index + 1} of ${blocks.length} cannot be read`)
    }
  })
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

const findingOf = (source: Source, certificate: X509Certificate, now: number): Finding | undefined => {
  const from = Date.parse(certificate.validFrom)
  const to = Date.parse(certificate.validTo)
  const subject = certificate.subject.replace(/[\p{Cc}\u2028\u2029]+/gu, ", ")
  const which = `${nameOf(source)}: the certificate of ${subject === "" ? "no subject" : subject}`
  const at = (time: number): string => new Date(time).toISOString()
  if (now >= to) return { level: "Expired", message: `${which} expired at ${at(to)}; peers refuse it, replace it` }
  if (now < from) return { level: "Early", message: `${which} is not good before ${at(from)}; look at the clocks` }
  if (to - now > Math.min(soon, (to - from) / 5)) return undefined
  const left = to - now
  const time = left >= 2 * day ? `${Math.floor(left / day)} days` : `${Math.max(1, Math.floor(left / 3_600_000))} h`
  return { level: "Soon", message: `${which} expires in ${time}, at ${at(to)}; replace it` }
}

/**
 * The problems of the certificates in a text, and the days until the first one expires.
 *
 * @param now in milliseconds since 1970
 * @since 0.1.0
 */
export const check = (
  source: Source,
  now: number
): { readonly findings: ReadonlyArray<Finding>; readonly daysLeft: number } => {
  const certificates = read(source)
  const findings = certificates.flatMap((certificate) => findingOf(source, certificate, now) ?? [])
  let first = Number.POSITIVE_INFINITY
  for (const { validTo } of certificates) first = Math.min(first, Date.parse(validTo))
  return { findings, daysLeft: (first - now) / day }
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
    const gaugeOf = ({ file, use }: Source) =>
      daysLeft.pipe(Metric.tagged("use", use), Metric.tagged("file", file ?? "inline"))
    const look = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const still = new Map<string, number>()
      for (const source of sources()) {
        const { daysLeft, findings } = yield* Effect.orElseSucceed(
          Effect.try(() => check(source, now)),
          // Malformed certificates were reported when they were loaded.
          () => ({ findings: [], daysLeft: 0 })
        )
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
