import * as Certificates from "@effect-xds/transport-node/Certificates"
import * as TestCertificates from "@effect-xds/testing/Certificates"
import { ConnectServer } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Metric, TestClock } from "effect"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Tls from "node:tls"
import { vi } from "vitest"
import { serve } from "./RecordingServer.js"

const day = 86_400_000
const start = Date.parse("2030-01-01T00:00:00Z")

const validFor = (days: number) =>
  TestCertificates.selfSigned("edge", { notBefore: new Date(start), notAfter: new Date(start + days * day) })

const { authority, client, server } = await Effect.runPromise(TestCertificates.mutual)

const captured = () => {
  const lines: Array<string> = []
  const layer = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ logLevel, message }) => void lines.push(`${logLevel.label} ${String(message)}`))
  )
  return { lines, layer }
}

describe("certificates", () => {
  it.scoped("are told of when they soon expire and when they have, with the days left as a metric", () =>
    Effect.gen(function* () {
      const { cert } = yield* validFor(365)
      const { layer, lines } = captured()
      const left = Certificates.daysLeft.pipe(Metric.tagged("use", "cert"), Metric.tagged("file", "edge.pem"))
      const watch = Effect.provide(
        Certificates.watch(() => [{ use: "cert", file: "edge.pem", pem: cert }]),
        layer
      )
      yield* TestClock.setTime(start + 10 * day)
      yield* Effect.scoped(watch)
      expect(lines).toEqual([])
      expect((yield* Metric.value(left)).value).toBe(355)

      yield* TestClock.setTime(start + 335 * day - 3_600_000)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* watch
          expect(lines).toEqual([])
          yield* TestClock.adjust("1 hour")
          expect(lines).toEqual([
            "WARN tls.cert edge.pem: the certificate of CN=edge expires in 30 days, at 2031-01-01T00:00:00.000Z; replace it"
          ])
          // Not again within the day.
          yield* TestClock.adjust("23 hours")
          expect(lines).toHaveLength(1)
          yield* TestClock.adjust("2 hours")
          expect(lines).toHaveLength(2)
        })
      )
      expect((yield* Metric.value(left)).value).toBeLessThan(29)

      yield* TestClock.setTime(start + 365 * day - 3_600_000)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* watch
          expect(lines.at(-1)).toContain("expires in 1 h")
          yield* TestClock.adjust("2 hours")
          expect(lines.at(-1)).toBe(
            "ERROR tls.cert edge.pem: the certificate of CN=edge expired at 2031-01-01T00:00:00.000Z; peers refuse it, replace it"
          )
        })
      )
      expect((yield* Metric.value(left)).value).toBeLessThan(0)
    })
  )

  it.scoped("are read again only when their text changed, and others run meanwhile", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* validFor(10), yield* validFor(20)]
      yield* TestClock.setTime(start)
      const reads = vi.spyOn(String.prototype, "matchAll")
      let now = 0
      vi.spyOn(EventLoop.process, "elapsed").mockImplementation(() => now++)
      const turns = vi.spyOn(EventLoop.process, "later")
      const left = Certificates.daysLeft.pipe(Metric.tagged("use", "ca"), Metric.tagged("file", "ca.pem"))
      const is = (days: number) => Effect.repeat(Metric.value(left), { until: ({ value }) => value === days })
      let pem = Array.from({ length: 100 }, () => one.cert).join("")
      yield* Certificates.watch(() => [
        { use: "ca", file: "ca.pem", pem },
        { use: "cert", file: undefined, pem: other.cert },
        { use: "cert", file: undefined, pem: "none" }
      ])
      yield* is(10)
      expect(turns.mock.calls.length).toBeGreaterThan(20)
      reads.mockClear()
      yield* TestClock.adjust("15 minutes")
      expect((yield* Metric.value(left)).value).toBe(9.98)
      expect(reads.mock.contexts.filter((text) => String(text) === pem)).toEqual([])
      pem = other.cert
      yield* TestClock.adjust("1 minute")
      yield* is(19.98)
      vi.restoreAllMocks()
    })
  )

  it.effect("that live for days only are told of in the last fifth of their life", () =>
    Effect.gen(function* () {
      const { cert } = yield* validFor(10)
      const at = (days: number) =>
        Certificates.check({ use: "ca", file: undefined, pem: cert }, start + days * day).findings.map(
          ({ level }) => level
        )
      expect([at(-1), at(1), at(7), at(8.5), at(10)]).toEqual([["Early"], [], [], ["Soon"], ["Expired"]])
    })
  )

  it.effect("that are none are told of at the start: an empty file, a key, junk", () =>
    Effect.gen(function* () {
      const directory = mkdtempSync(join(tmpdir(), "tls-"))
      const ca = join(directory, "ca.pem")
      const refusal = (text: string) =>
        Effect.gen(function* () {
          writeFileSync(ca, text)
          const tls = { ...server, ca, requireClientCertificate: true }
          const error = yield* Effect.flip(Effect.scoped(ConnectServer.make({ tls }).serve(() => expect.unreachable())))
          return error.reason
        })
      const form = "a PEM file begins with -----BEGIN CERTIFICATE-----"
      expect(yield* refusal("")).toBe(`tls.ca ${ca}: it is empty; ${form}`)
      expect(yield* refusal("  \n")).toBe(`tls.ca ${ca}: it is empty; ${form}`)
      expect(yield* refusal("hunter2 hunter2")).toBe(`tls.ca ${ca}: there is no certificate in it; ${form}`)
      expect(yield* refusal(client.key)).toBe(`tls.ca ${ca}: there is no certificate in it; ${form}`)
      const broken = authority.cert.replace(/\n[^-\n]{20}/, "\nhunter2hunter2hunter")
      expect(yield* refusal(`${client.cert}\n${broken}`)).toBe(`tls.ca ${ca}: its certificate 2 of 2 cannot be read`)
      rmSync(directory, { recursive: true })
    })
  )
})

describe("TLS 1.2", () => {
  it.scopedLive("is spoken with forward secrecy and authenticated encryption only, TLS 1.1 not at all", () =>
    Effect.gen(function* () {
      const { address } = yield* serve({ tls: server })
      const [host = "", port = ""] = address.split(":")
      const speak = (options: Tls.ConnectionOptions) =>
        Effect.promise(
          () =>
            new Promise<string>((resolve) => {
              const socket = Tls.connect({
                host,
                port: Number(port),
                ca: authority.cert,
                ALPNProtocols: ["h2"],
                ...options
              })
              socket.on("error", () => resolve("refused"))
              socket.on("secureConnect", () => {
                resolve(`${socket.getProtocol() ?? ""} ${socket.getCipher().name}`)
                socket.destroy()
              })
            })
        )
      const old = { maxVersion: "TLSv1.2" } as const
      expect(yield* speak({})).toMatch(/^TLSv1\.3 TLS_/)
      expect(yield* speak({ ...old, ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" })).toBe(
        "TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256"
      )
      for (const ciphers of ["ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA", "AES128-GCM-SHA256"]) {
        expect(yield* speak({ ...old, ciphers: `${ciphers}:@SECLEVEL=0` }), ciphers).toBe("refused")
      }
      expect(yield* speak({ minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" })).toBe("refused")
    })
  )
})
