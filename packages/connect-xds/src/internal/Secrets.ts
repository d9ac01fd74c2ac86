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
import type { ConnectionOptions } from "node:tls"
import * as Tls from "node:tls"
import type { Source, UpstreamTls } from "./UpstreamTls.js"
import * as Upstream from "./UpstreamTls.js"

interface Held {
  readonly ready: Effect.Latch
  /** What it has last, as PEM. */
  certificates: CertificateProvider.Certificates | undefined
  problem: string
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
      const take = (certificates: CertificateProvider.Certificates): void => {
        held.certificates = certificates
        held.ready.unsafeOpen()
      }
      const [kind, name] = [source.slice(0, source.indexOf(" ")), source.slice(source.indexOf(" ") + 1)]
      const fail = (problem: string): void => {
        held.problem = problem
        // ★ What is held stays in use.
        held.ready.unsafeOpen()
      }
      if (kind === "sds") {
        return Stream.runForEach(client.watch(SecretSchema, name), (event) =>
          Effect.sync(() => {
            if (event._tag === "Updated") take(ofSecret(event.value))
            else if (event._tag === "DoesNotExist" || event._tag === "Error") {
              fail(`secret ${JSON.stringify(name)}: ${event.error.message}`)
            }
          })
        ).pipe(Effect.catchAll(({ message }) => Effect.sync(() => fail(message))))
      }
      const watcher = providers.get(name)
      if (watcher === undefined) return Effect.sync(() => fail(`the bootstrap has no certificate provider ${name}`))
      if (Option.isNone(files)) return Effect.sync(() => fail("there is no FileSystem; provide NodeContext.layer"))
      return Stream.runForEach(CertificateProvider.watch(watcher), (each) => Effect.sync(() => take(each))).pipe(
        Effect.provideService(fileSystem, files.value),
        Effect.catchAll(({ message }) =>
          Effect.zipRight(
            Effect.sync(() => fail(message)),
            Effect.sleep("5 seconds")
          )
        ),
        Effect.forever
      )
    }
    const sources = yield* RcMap.make({
      lookup: (source: Source) =>
        Effect.gen(function* () {
          const held: Held = { ready: Effect.unsafeMakeLatch(false), certificates: undefined, problem: "" }
          yield* Effect.forkScoped(watch(source, held))
          return held
        }),
      idleTimeToLive: "5 minutes"
    })
    const get = (source: Source) =>
      Effect.gen(function* () {
        const held = yield* RcMap.get(sources, source)
        yield* held.ready.await
        return held.certificates ?? (yield* Effect.fail(held.problem))
      })
    return {
      options: (tls, name) =>
        Effect.gen(function* () {
          const { caCertificate } = yield* get(tls.roots)
          if (caCertificate === undefined) return yield* Effect.fail(`${tls.roots} has no certificate of an authority`)
          const identity = tls.identity === undefined ? undefined : yield* get(tls.identity)
          const { certificate: cert, privateKey: key } = identity ?? {}
          if (identity !== undefined && (cert === undefined || key === undefined)) {
            return yield* Effect.fail(`${tls.identity} has no certificate with a key`)
          }
          const secureContext = yield* Effect.try({
            try: () =>
              Tls.createSecureContext({
                ca: caCertificate,
                minVersion: "TLSv1.2",
                ...(cert === undefined || key === undefined ? {} : { cert, key })
              }),
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
