/**
 * Certificates from files that the bootstrap names and from SDS, as they are now. Each source is watched while a connection
 * uses it and five minutes more; a connection that is made gets the last ones, and those that are there stay.
 */
import type { FileSystem } from "@effect/platform/FileSystem"
import type { FileWatcher } from "@effect-xds/client/Bootstrap"
import * as CertificateProvider from "@effect-xds/client/CertificateProvider"
import type * as XdsClient from "@effect-xds/client/XdsClient"
import type { DataSource } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { Secret } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { X509Certificate } from "node:crypto"
import type { ConnectionOptions, SecureContext } from "node:tls"
import * as Tls from "node:tls"
import type { Source, UpstreamTls } from "./UpstreamTls.js"
import * as Upstream from "./UpstreamTls.js"

interface Held {
  readonly ready: Effect.Latch
  /** What it had last that can be used, as PEM. */
  certificates: CertificateProvider.Certificates | undefined
  problem: string
  /**
   * Of a source of authorities: the contexts with them, by what we show (`undefined`: nothing). A bundle of many authorities takes
   * milliseconds to read, and each new connection needs a context.
   */
  readonly contexts: Map<Source | undefined, MadeContext>
}

/** A context, for as long as our certificate is the same. */
interface MadeContext {
  readonly identity: CertificateProvider.Certificates | undefined
  readonly context: SecureContext
}

export interface Secrets {
  /** What a connection needs to be secured now. The secrets stay watched until the scope closes. */
  readonly options: (tls: UpstreamTls, name: string) => Effect.Effect<ConnectionOptions, string, Scope.Scope>
}

/** Made from its key: the module of `@effect/platform` loads a library for tests. */
const fileSystem = Context.GenericTag<FileSystem>("@effect/platform/FileSystem")

export const make = (
  client: XdsClient.Service,
  providers: ReadonlyMap<string, FileWatcher>
): Effect.Effect<Secrets, never, Scope.Scope> =>
  Effect.gen(function* () {
    const files = yield* Effect.serviceOption(fileSystem)
    const watch = (source: Source, held: Held): Effect.Effect<void> => {
      /** ★ What cannot be used does not replace what can: files are written one after the other. */
      const take = (
        certificates: CertificateProvider.Certificates
      ): Effect.Effect<void, { readonly message: string }> =>
        Effect.suspend(() => {
          const fault = faultOf(certificates)
          if (fault !== undefined) return Effect.fail({ message: `${source}: ${fault}` })
          held.certificates = certificates
          held.problem = ""
          held.contexts.clear()
          held.ready.unsafeOpen()
          return Effect.void
        })
      const [kind, name] = [source.slice(0, source.indexOf(" ")), source.slice(source.indexOf(" ") + 1)]
      const fail = (problem: string): void => {
        held.problem = problem
        // ★ What is held stays in use.
        held.ready.unsafeOpen()
      }
      const refuse = ({ message }: { readonly message: string }) =>
        Effect.suspend(() => {
          const isKnown = held.problem === message
          fail(message)
          if (isKnown || held.certificates === undefined) return Effect.void
          return Effect.logWarning(`${message}; the last ones stay in use`)
        })
      if (kind === "sds") {
        return Stream.runForEach(client.watch(SecretSchema, name), (event) =>
          event._tag === "Updated"
            ? Effect.catchAll(take(ofSecret(event.value)), refuse)
            : Effect.sync(() => {
                if (event._tag === "DoesNotExist" || event._tag === "Error") {
                  fail(`secret ${JSON.stringify(name)}: ${event.error.message}`)
                }
              })
        ).pipe(Effect.catchAll(({ message }) => Effect.sync(() => fail(message))))
      }
      const watcher = providers.get(name)
      if (watcher === undefined) return Effect.sync(() => fail(`the bootstrap has no certificate provider ${name}`))
      if (Option.isNone(files)) return Effect.sync(() => fail("there is no FileSystem; provide NodeContext.layer"))
      // Files that cannot be used are read again soon: they may have been between two writes.
      return Stream.runForEach(CertificateProvider.watch(watcher), take).pipe(
        Effect.provideService(fileSystem, files.value),
        Effect.catchAll((error) => Effect.zipRight(refuse(error), Effect.sleep("5 seconds"))),
        Effect.forever
      )
    }
    const sources = yield* RcMap.make({
      lookup: (source: Source) =>
        Effect.gen(function* () {
          const ready = Effect.unsafeMakeLatch(false)
          const held: Held = { ready, certificates: undefined, problem: "", contexts: new Map() }
          yield* Effect.forkScoped(watch(source, held))
          return held
        }),
      idleTimeToLive: "5 minutes"
    })
    const get = (source: Source) =>
      Effect.gen(function* () {
        const held = yield* RcMap.get(sources, source)
        yield* held.ready.await
        return { contexts: held.contexts, certificates: held.certificates ?? (yield* Effect.fail(held.problem)) }
      })
    return {
      options: (tls, name) =>
        Effect.gen(function* () {
          const roots = yield* get(tls.roots)
          const { caCertificate } = roots.certificates
          if (caCertificate === undefined) return yield* Effect.fail(`${tls.roots} has no certificate of an authority`)
          const identity = tls.identity === undefined ? undefined : (yield* get(tls.identity)).certificates
          const { certificate: cert, privateKey: key } = identity ?? {}
          if (identity !== undefined && (cert === undefined || key === undefined)) {
            return yield* Effect.fail(`${tls.identity} has no certificate with a key`)
          }
          const secureContext = yield* Effect.try({
            try: () => {
              const made = roots.contexts.get(tls.identity)
              if (made !== undefined && made.identity === identity) return made.context
              const context = Tls.createSecureContext({
                ca: caCertificate,
                minVersion: "TLSv1.2",
                ...(cert === undefined || key === undefined ? {} : { cert, key })
              })
              roots.contexts.set(tls.identity, { identity, context })
              return context
            },
            catch: () => `the certificates of ${tls.roots} or ${tls.identity ?? "nobody"} cannot be used`
          })
          const sni = tls.sni === "" ? name : tls.sni
          return {
            secureContext,
            ...(/^[A-Za-z\d_-]+(\.[A-Za-z\d_-]+)*$/.test(sni) && !/^[\d.]+$/.test(sni) ? { servername: sni } : {}),
            // ★ Not the name of the host is compared, but those that the cluster lists (A29).
            checkServerIdentity: (_, certificate) =>
              Upstream.accepts(tls, certificate.subjectaltname ?? "")
                ? undefined
                : new Error(
                    `none of the server's names is one that the cluster lists: ${certificate.subjectaltname ?? ""}`
                  )
          }
        })
    }
  })

/** Why certificates cannot be used; nothing of them is in it. */
const faultOf = ({ caCertificate, certificate, privateKey }: CertificateProvider.Certificates): string | undefined => {
  try {
    if (caCertificate !== undefined) new X509Certificate(caCertificate)
  } catch {
    return "the certificates of authorities cannot be read"
  }
  try {
    if (certificate !== undefined && privateKey !== undefined) {
      Tls.createSecureContext({ cert: certificate, key: privateKey })
    }
  } catch {
    return "the certificate and the key cannot be read, or do not fit together"
  }
  return undefined
}

const textOf = (source: DataSource | undefined): string | undefined => {
  switch (source?.specifier.case) {
    case "inlineString":
      return source.specifier.value
    case "inlineBytes":
      return new TextDecoder().decode(source.specifier.value)
    default:
      return undefined
  }
}

/** Files that a secret names are those of the control plane's host, and not read. */
const ofSecret = ({ type }: Secret): CertificateProvider.Certificates => ({
  certificate: type.case === "tlsCertificate" ? textOf(type.value.certificateChain) : undefined,
  privateKey: type.case === "tlsCertificate" ? textOf(type.value.privateKey) : undefined,
  caCertificate: type.case === "validationContext" ? textOf(type.value.trustedCa) : undefined
})
