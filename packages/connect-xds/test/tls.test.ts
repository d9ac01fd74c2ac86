/** TLS and mutual TLS to endpoints, with certificates from files and from SDS, exchanged while calls go on (A29). */
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Code } from "@connectrpc/connect"
import { Bootstrap } from "@effect-xds/client"
import { SubjectAltNameMatcher_SanType as SanType } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/common"
import { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import type { CommonTlsContextSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/tls"
import { UpstreamTlsContextSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/tls"
import * as Certificates from "@effect-xds/testing/Certificates"
import { Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import type { MessageInitShape } from "@bufbuild/protobuf"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import tlsOfNode from "node:tls"
import { vi } from "vitest"
import * as Mesh from "./Mesh.js"

const { checker, failure, portOf } = Mesh
const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

const tls = (commonTlsContext: MessageInitShape<typeof CommonTlsContextSchema>) => ({
  name: "tls",
  configType: {
    case: "typedConfig" as const,
    value: anyPack(UpstreamTlsContextSchema, create(UpstreamTlsContextSchema, { commonTlsContext }))
  }
})

const bySds = tls({
  tlsCertificateSdsSecretConfigs: [{ name: "identity", sdsConfig: ads }],
  validationContextType: { case: "validationContextSdsSecretConfig", value: { name: "roots", sdsConfig: ads } }
})

const byFiles = (name?: string) =>
  tls({
    tlsCertificateProviderInstance: { instanceName: "files" },
    validationContextType: {
      case: "validationContext",
      value: {
        caCertificateProviderInstance: { instanceName: "files" },
        ...(name === undefined
          ? {}
          : {
              matchTypedSubjectAltNames: [
                { sanType: SanType.DNS, matcher: { matchPattern: { case: "exact", value: name } } }
              ]
            })
      }
    }
  })

const text = (value: string) => ({ specifier: { case: "inlineString" as const, value } })

const secrets = (roots: string, { cert, key }: Certificates.Certificate) => [
  create(SecretSchema, { name: "roots", type: { case: "validationContext", value: { trustedCa: text(roots) } } }),
  create(SecretSchema, {
    name: "identity",
    type: { case: "tlsCertificate", value: { certificateChain: text(cert), privateKey: text(key) } }
  })
]

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "connect-xds-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

describe("TLS to endpoints", () => {
  it.scopedLive("mutual, with secrets of SDS, which are exchanged while calls go on", () =>
    Effect.gen(function* () {
      const before = yield* Certificates.mutual
      const after = yield* Certificates.mutual
      const [old, young] = yield* Effect.all(
        [before, after].map(({ authority, server }) => Mesh.backend({ tls: { ...server, ca: authority.cert } }))
      )
      if (old === undefined || young === undefined) throw new Error("there are two")
      const plane = yield* Mesh.ControlPlane
      const shop = (port: number, { authority, client }: Certificates.Mutual) => ({
        ...Mesh.service("shop", port),
        clusters: [Mesh.cluster("shop", { transportSocket: bySds })],
        secrets: secrets(authority.cert, client)
      })
      yield* plane.set(shop(old.port, before))
      const client = yield* checker()
      expect(yield* portOf(client)).toBe(old.port)
      expect(old.seen[0]?.peer).toBe("node one")
      const { end, load } = Mesh.calling(client)
      const rotate = Effect.gen(function* () {
        yield* Waiting.eventually(() => expect(old.seen.length).toBeGreaterThan(10))
        yield* plane.set(shop(old.port, after))
        const count = old.seen.length
        yield* Waiting.eventually(() => expect(old.seen.length).toBeGreaterThan(count + 10))
        yield* plane.set(shop(young.port, after))
        yield* Waiting.eventually(() => expect(young.seen.length).toBeGreaterThan(10))
        yield* end
      })
      const [calls] = yield* Effect.all([load, rotate], { concurrency: 2 })
      expect(calls).toBeGreaterThan(20)
      expect(old.seen.length + young.seen.length).toBe(calls + 1)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(
    "a key that is not the certificate's does not replace a pair that fits; connections share a context",
    () =>
      Effect.gen(function* () {
        const said: Array<string> = []
        const logger = Logger.make(({ message }) => said.push(String(message)))
        const program = Effect.gen(function* () {
          const mutual = yield* Certificates.mutual
          const other = yield* Certificates.mutual
          const backend = yield* Mesh.backend({ tls: { ...mutual.server, ca: mutual.authority.cert } })
          const plane = yield* Mesh.ControlPlane
          const shop = (client: Certificates.Certificate) => ({
            ...Mesh.service("shop", backend.port),
            clusters: [Mesh.cluster("shop", { transportSocket: bySds })],
            secrets: secrets(mutual.authority.cert, client)
          })
          const made = vi.spyOn(tlsOfNode, "createSecureContext")
          syncBuiltinESMExports()
          yield* Effect.addFinalizer(() =>
            Effect.sync(() => {
              made.mockRestore()
              syncBuiltinESMExports()
            })
          )
          yield* plane.set(shop(mutual.client))
          const client = yield* checker()
          expect(yield* portOf(client)).toBe(backend.port)
          // Of a socket of TLS the server hears no end: it counts all that there were.
          const another = (count: number) =>
            Effect.gen(function* () {
              backend.goAway()
              yield* Waiting.eventually(() => expect(backend.connections()).toBe(count))
              expect(yield* portOf(client)).toBe(backend.port)
            })
          yield* another(2)
          yield* another(3)
          expect(made.mock.calls.filter(([options]) => options?.ca !== undefined)).toHaveLength(1)
          yield* plane.set(shop({ cert: mutual.client.cert, key: other.client.key }))
          yield* Waiting.found("a warning", () => said.find((line) => line.startsWith("sds identity: ")))
          yield* another(4)
        })
        yield* Effect.provide(program, Mesh.loud().pipe(Layer.provide(Logger.replace(Logger.defaultLogger, logger))))
        expect(said.filter((line) => line.startsWith("sds identity: "))).toEqual([
          "sds identity: the certificate and the key cannot be read, or do not fit together; the last ones stay in use"
        ])
      })
  )

  it.scopedLive("HTTP/1.1 where the server chooses that, and h2 where it can, for the Connect protocol (ALPN)", () =>
    Effect.gen(function* () {
      const mutual = yield* Certificates.mutual
      const tls = { ...mutual.server, ca: mutual.authority.cert }
      const [old, young] = yield* Effect.all([Mesh.backend({ http1: true, tls }), Mesh.backend({ tls })])
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("shop", old.port, young.port),
        clusters: [Mesh.cluster("shop", { transportSocket: bySds })],
        secrets: secrets(mutual.authority.cert, mutual.client)
      })
      const client = yield* checker("xds:///shop", { protocol: "connect" })
      yield* Mesh.answeredBy(client, old.port, young.port)
      yield* Mesh.counts(client, 20)
      expect(young.connections()).toBe(1)
      expect(young.seen.at(-1)?.peer).toBe("node one")
      expect(old.connections()).toBeGreaterThan(0)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(
    "with files of the bootstrap; a wrong name, a stranger and an unknown provider are refused, with words",
    () =>
      Effect.gen(function* () {
        const { authority, client: identity, server } = yield* Certificates.mutual
        const path = yield* folder
        const write = (name: string, content: string) => {
          writeFileSync(join(path, name), content)
          return join(path, name)
        }
        const files: Bootstrap.FileWatcher = {
          certificateFile: write("tls.crt", identity.cert),
          privateKeyFile: write("tls.key", identity.key),
          caCertificateFile: write("ca.crt", authority.cert),
          refreshInterval: "1 minute"
        }
        const plain = yield* Mesh.ControlPlane
        const bootstrap = {
          ...Bootstrap.make({ servers: [plain.address], node: { id: "app-1", cluster: "edge" } }),
          certificateProviders: new Map([["files", files]])
        }
        const backend = yield* Mesh.backend({ tls: { ...server, ca: authority.cert } })
        const unencrypted = yield* Mesh.backend()
        const set = (transportSocket: ReturnType<typeof tls>, port = backend.port) =>
          plain.set({ ...Mesh.service("shop", port), clusters: [Mesh.cluster("shop", { transportSocket })] })
        const program = Effect.gen(function* () {
          const client = yield* checker()
          yield* set(byFiles("localhost"))
          expect(yield* portOf(client)).toBe(backend.port)
          expect(backend.seen[0]?.peer).toBe("node one")
          yield* set(byFiles("elsewhere.test"))
          const refused = yield* Waiting.until(
            "a refusal",
            failure(() => client.check({}, { timeoutMs: 5_000 })).pipe(Effect.timeout("5 seconds")),
            ({ rawMessage }) => rawMessage.includes("none of the server's names")
          )
          expect(refused.code).toBe(Code.Unavailable)
          expect(refused.rawMessage).toContain("DNS:localhost")
          // Never without TLS where there is to be TLS.
          yield* set(byFiles("localhost"), unencrypted.port)
          yield* Waiting.until(
            "a refusal",
            failure(() => client.check({})),
            ({ rawMessage }) => rawMessage.includes(String(unencrypted.port))
          )
          expect(unencrypted.seen).toHaveLength(0)
          yield* set(byFiles())
          yield* Waiting.eventually(Effect.tryPromise(() => client.check({})))
          // ★ What is rejected changes nothing.
          yield* set(tls({ tlsCertificateProviderInstance: { instanceName: "none" } }))
          yield* Effect.promise(() => client.check({}))
        })
        yield* Effect.provide(program, Mesh.channelsOf(plain.address, { bootstrap }))
      }).pipe(Effect.provide(Layer.merge(Mesh.controlPlane(), NodeFileSystem.layer)), Effect.provide(Mesh.quiet))
  )
})
