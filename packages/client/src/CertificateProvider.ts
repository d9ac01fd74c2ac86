/**
 * Certificates from files that are replaced while the program runs (`file_watcher` of a bootstrap).
 *
 * @see https://github.com/grpc/proposal/blob/master/A29-xds-tls-security.md
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { FileWatcher } from "./Bootstrap.js"
import { readText } from "./internal/FileSystem.js"

/**
 * The content of the files, as PEM text.
 *
 * @since 0.1.0
 */
export interface Certificates {
  readonly certificate: string | undefined
  readonly privateKey: string | undefined
  readonly caCertificate: string | undefined
}

/**
 * Certificate files that cannot be read.
 *
 * @since 0.1.0
 */
export class CertificateError extends Data.TaggedError("CertificateError")<{
  readonly path: string
  readonly reason: string
}> {
  override get message(): string {
    return `certificate file ${this.path} cannot be read: ${this.reason}`
  }
}

const textOf = (
  path: string | undefined
): Effect.Effect<string | undefined, CertificateError, FileSystem.FileSystem> =>
  path === undefined
    ? Effect.succeed(undefined)
    : Effect.mapError(readText(path), (reason) => new CertificateError({ path, reason }))

const read = (watcher: FileWatcher): Effect.Effect<Certificates, CertificateError, FileSystem.FileSystem> =>
  Effect.all({
    certificate: textOf(watcher.certificateFile),
    privateKey: textOf(watcher.privateKeyFile),
    caCertificate: textOf(watcher.caCertificateFile)
  })

/** Files are not read more often: an interval of zero would take all of a processor. */
const shortestInterval = Duration.seconds(1)

/**
 * The certificates now, and again whenever a file changed; the files are read every refresh interval, and at most every second. The
 * stream fails if the first read fails. A later failure is logged as a warning, and the last certificates stay in use.
 *
 * @since 0.1.0
 */
export const watch = (watcher: FileWatcher): Stream.Stream<Certificates, CertificateError, FileSystem.FileSystem> => {
  const look = Effect.either(read(watcher)).pipe(
    Effect.tap((found) =>
      Either.isLeft(found) ? Effect.logWarning(`${found.left.message}; the last ones stay`) : Effect.void
    ),
    Effect.map(Either.getRight)
  )
  const later = Stream.repeatEffectWithSchedule(
    look,
    Schedule.spaced(Duration.max(watcher.refreshInterval, shortestInterval))
  ).pipe(
    Stream.drop(1),
    Stream.filterMap((found) => found)
  )
  return Stream.fromEffect(read(watcher)).pipe(
    Stream.concat(later),
    Stream.changesWith(
      (one, other) =>
        one.certificate === other.certificate &&
        one.privateKey === other.privateKey &&
        one.caCertificate === other.caCertificate
    )
  )
}
