/**
 * Keys and certificates of servers on Node, from PEM text or from files that are read again on a change. For the
 * transports; it needs Node and is not in the index.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import type { FSWatcher } from "node:fs"
import { watch as watchDirectory } from "node:fs"
import { dirname } from "node:path"
import type { SecureContextOptions, TlsOptions as NodeTlsOptions } from "node:tls"
import { createSecureContext } from "node:tls"
import * as Certificates from "./Certificates.js"
import * as Ciphers from "./internal/Ciphers.js"
import * as Keys from "./internal/Keys.js"
import * as Pem from "./internal/Pem.js"
import * as RegularFile from "./RegularFile.js"

/**
 * TLS options of a server.
 *
 * @since 0.1.0
 */
export interface TlsOptions {
  /**
   * The private key: PEM text, or the path of a PEM file. Files are read again when they change, also when a symbolic
   * link is replaced. New connections use the new files; open connections keep theirs. If a new file is unusable, the
   * old credentials stay in use and a warning is logged.
   */
  readonly key: string
  /** The certificate and its chain: PEM text or a path. */
  readonly cert: string
  /**
   * The authorities that sign client certificates: PEM text or a path. If set, clients are asked for a certificate, and
   * a verified one becomes `peer.identity`. There is no default: those of the system sign certificates for anyone.
   */
  readonly ca?: string | undefined
  /** Whether connections without a certificate that `ca` verifies are refused. Default `false`; not without `ca`. */
  readonly requireClientCertificate?: boolean | undefined
  /** The oldest version of TLS. Default `TLSv1.2`. */
  readonly minVersion?: "TLSv1.2" | "TLSv1.3" | undefined
  /**
   * Cipher suites, in OpenSSL's names with colons between. Default: those of TLS 1.3, and of TLS 1.2 only those with
   * forward secrecy and authenticated encryption (ECDHE with AES-GCM or ChaCha20-Poly1305).
   */
  readonly ciphers?: string | undefined
}

/**
 * Why credentials cannot be used, with the name of the option.
 *
 * @since 0.1.0
 */
export interface Unusable {
  readonly reason: string
}

const unusable =
  (what: string) =>
  (cause: unknown): Unusable => ({ reason: `${what}: ${Reason.of(cause)}` })

const pem = (name: string, value: string): Effect.Effect<string, Unusable> =>
  Pem.isText(value)
    ? Effect.succeed(value)
    : Effect.tryPromise({ try: () => RegularFile.read(value), catch: unusable(`tls.${name} cannot be read`) })

/** The certificates that were loaded, with their sources. */
const sourcesOf = (options: TlsOptions, { ca, cert }: SecureContextOptions): ReadonlyArray<Certificates.Source> => {
  const sourceOf = (use: "cert" | "ca", value: string | undefined, pem: unknown): ReadonlyArray<Certificates.Source> =>
    value === undefined || typeof pem !== "string" ? [] : [{ use, file: Pem.isText(value) ? undefined : value, pem }]
  return [...sourceOf("cert", options.cert, cert), ...sourceOf("ca", options.ca, ca)]
}

/**
 * The options of Node's TLS server. Reads the files; fails if one is no key or certificate, and if certificates are required of
 * clients and nobody may sign them.
 *
 * @since 0.1.0
 */
export const load = (options: TlsOptions): Effect.Effect<NodeTlsOptions, Unusable> =>
  Effect.gen(function* () {
    const { key, cert, ca, ciphers = Ciphers.suites, minVersion = Ciphers.minVersion } = options
    const { requireClientCertificate = false } = options
    // Node would take the authorities of the system, which sign a certificate for anyone who has a domain.
    if (requireClientCertificate && ca === undefined) {
      const reason = "tls.requireClientCertificate needs tls.ca, the authorities that sign the certificates of clients"
      return yield* Effect.fail<Unusable>({ reason })
    }
    const keyText = yield* pem("key", key)
    const keyFile = Pem.isText(key) ? undefined : key
    const context: SecureContextOptions = {
      key: keyText,
      cert: yield* pem("cert", cert),
      ...(ca === undefined ? {} : { ca: yield* pem("ca", ca) }),
      ciphers,
      minVersion
    }
    yield* Effect.try({
      try: () => sourcesOf(options, context).map(Certificates.read),
      catch: (cause): Unusable => ({ reason: Reason.of(cause) })
    })
    const problem = Keys.problemOf(keyText, keyFile)
    if (problem !== undefined) return yield* Effect.fail<Unusable>({ reason: problem })
    yield* Effect.try({
      try: () => createSecureContext(context),
      catch: (cause): Unusable => ({ reason: `tls cannot be used: ${Keys.unusable(cause, keyFile)}` })
    })
    return {
      ...context,
      requestCert: ca !== undefined,
      rejectUnauthorized: requireClientCertificate
    }
  })

/** How often files are compared without a change event, in milliseconds: some file systems send none. */
const pollInterval = 60_000

/** Milliseconds from the first change event until the files are read: key and certificate seldom change at once. */
const settling = 100

/**
 * Callbacks for changed files.
 *
 * @since 0.1.0
 */
export interface Reload {
  readonly onChange: (options: NodeTlsOptions) => void
  /** The new files cannot be used; the old credentials stay in use. */
  readonly onUnusable: (unusable: Unusable) => void
}

/**
 * Reads the files again when they change, until the scope closes. Warns of certificates that expired or soon will.
 *
 * @since 0.1.0
 */
export const watch = (
  options: TlsOptions,
  current: NodeTlsOptions,
  reload: Reload
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    let inUse = current
    const onChange = (changed: NodeTlsOptions): void => {
      inUse = changed
      reload.onChange(changed)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => begin(options, current, { ...reload, onChange })),
      (stop) => Effect.sync(stop)
    )
    yield* Certificates.watch(() => sourcesOf(options, inUse))
  })

/**
 * Watches until the result is called. It watches directories, because files are replaced by renaming, and mounted
 * secrets by a symbolic link beside them.
 */
const begin = (options: TlsOptions, current: NodeTlsOptions, reload: Reload): (() => void) => {
  const { ca, cert, key } = options
  const files = [key, cert, ...(ca === undefined ? [] : [ca])].filter((value) => !Pem.isText(value))
  if (files.length === 0) return () => undefined
  const textOf = ({ ca, cert, key }: NodeTlsOptions) => JSON.stringify([key, cert, ca])
  let known = textOf(current)
  let problem = ""
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  const look = async (): Promise<void> => {
    timer = undefined
    const read = await Effect.runPromise(Effect.either(load(options)))
    if (stopped) return
    if (Either.isLeft(read)) {
      // Logged once: the same files may be read many times.
      if (read.left.reason !== problem) reload.onUnusable(read.left)
      problem = read.left.reason
      return
    }
    problem = ""
    const text = textOf(read.right)
    if (text === known) return
    known = text
    reload.onChange(read.right)
  }
  const lookSoon = (): void => {
    timer ??= setTimeout(() => void look(), settling)
  }
  const watchers: Array<FSWatcher> = []
  for (const directory of new Set(files.map((file) => dirname(file)))) {
    try {
      const watcher = watchDirectory(directory, { persistent: false }, lookSoon)
      // A removed directory is no longer watched; the poll remains.
      watcher.on("error", lookSoon)
      watchers.push(watcher)
    } catch {
      // Not every file system can be watched; the poll remains.
    }
  }
  const poll = setInterval(lookSoon, pollInterval)
  poll.unref()
  return () => {
    stopped = true
    clearTimeout(timer)
    clearInterval(poll)
    for (const watcher of watchers) watcher.close()
  }
}
