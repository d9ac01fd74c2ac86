/** Files of certificates that are none. */
import * as ClientTls from "@effect-xds/transport-node/ClientTls"
import * as ServerTls from "@effect-xds/transport-node/ServerTls"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
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
