/** Files of certificates that are none. */
import * as Certificates from "@effect-xds/transport-node/Certificates"
import * as ClientTls from "@effect-xds/transport-node/ClientTls"
import * as ServerTls from "@effect-xds/transport-node/ServerTls"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"

it("a pipe, which nobody may ever write to, is refused and not waited for", async () => {
  const directory = mkdtempSync(join(tmpdir(), "xds-pipe-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const pipe = join(directory, "pipe")
  execFileSync("sh", ["-c", 'mkfifo "$0"', pipe])
  const words = `${pipe} is not a regular file; a pipe or a device cannot be read again when it changes`
  const { reason } = await Effect.runPromise(Effect.flip(ServerTls.load({ cert: pipe, key: pipe })))
  expect(reason).toMatch(/^tls\.(cert|key) cannot be read: /)
  expect(reason).toContain(words)
  expect(() => ClientTls.load({ _tag: "Tls", ca: pipe })).toThrow(words)
  expect(() => ClientTls.load({ _tag: "Tls", ca: "/dev/zero" })).toThrow("/dev/zero is not a regular file")
})

it("★ a file that is far too large for certificates is not read", async () => {
  const directory = mkdtempSync(join(tmpdir(), "xds-large-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const file = join(directory, "ca.pem")
  writeFileSync(file, "")
  // No text could hold it; it takes no place on the disk.
  truncateSync(file, 2 ** 32)
  const words = `${file} has 4294967296 bytes, the limit is 1000000`
  const { reason } = await Effect.runPromise(Effect.flip(ServerTls.load({ cert: file, key: file })))
  expect(reason).toContain(words)
  expect(() => ClientTls.load({ _tag: "Tls", ca: file })).toThrow(words)
})

it("★ a file of nothing but beginnings of certificates is looked through once", () => {
  const pem = "-----BEGIN CERTIFICATE-----\n".repeat(35_000)
  const { user } = process.cpuUsage()
  expect(() => Certificates.read({ use: "ca", file: "ca.pem", pem })).toThrow("there is no certificate in it")
  // From each beginning to the end of the text it is seconds.
  expect(process.cpuUsage().user - user).toBeLessThan(1_000_000)
  const end = "-----END CERTIFICATE-----\n"
  expect(() => Certificates.read({ use: "ca", file: "ca.pem", pem: `${end}${pem}${end}${pem}${end}` })).toThrow(
    "its certificate 1 of 2 cannot be read"
  )
})
