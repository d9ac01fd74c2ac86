import { describe, expect, it } from "@effect/vitest"
import { PeerProgram } from "@effect-xds/testing"
import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll } from "vitest"

const home = mkdtempSync(join(tmpdir(), "peer-"))
afterAll(() => rmSync(home, { recursive: true }))

let folders = 0
const withRecord = (record: string): string => {
  const folder = join(home, String(folders++))
  mkdirSync(join(folder, ".peers"), { recursive: true })
  writeFileSync(join(folder, ".peers", "peers.json"), record)
  return folder
}

describe("find", () => {
  it("gives the reason for a record that is no file", () => {
    const folder = mkdtempSync(join(home, "folder-"))
    mkdirSync(join(folder, ".peers", "peers.json"), { recursive: true })
    const peer = PeerProgram.find("envoy", folder)
    expect(peer._tag === "Missing" ? peer.reason : "").toContain("cannot be read")
  })

  it("finds a peer from a folder below the record", () => {
    const folder = withRecord(JSON.stringify({ node: { path: process.execPath, version: "1" } }))
    const below = join(folder, "a", "b")
    mkdirSync(below, { recursive: true })
    expect(PeerProgram.find("node", below)).toEqual({
      _tag: "Present",
      name: "node",
      version: "1",
      path: process.execPath
    })
  })

  it.each([
    { title: "that could not be had", record: '{"envoy":{"missing":"no pip","version":"1","at":0}}', reason: "no pip" },
    {
      title: "whose program is gone",
      record: '{"envoy":{"path":"/no/such","version":"1"}}',
      reason: "/no/such is gone"
    },
    { title: "that is not in the record", record: "{}", reason: "does not name it" },
    { title: "in a broken record", record: "{", reason: "cannot be read" }
  ])("gives the reason for a peer $title", ({ reason, record }) => {
    const peer = PeerProgram.find("envoy", withRecord(record))
    if (peer._tag === "Present") throw new Error("it is there")
    expect(peer.reason).toContain(reason)
    expect(PeerProgram.title("works", peer)).toContain(reason)
  })
})

const envoy = PeerProgram.forTest("envoy")

it.skipIf(envoy._tag === "Missing")(PeerProgram.title("runs the Envoy of the pinned version", envoy), async () => {
  if (envoy._tag === "Missing") return
  const { stdout } = await promisify(execFile)(envoy.path, ["--version"], { timeout: 110_000 })
  expect(stdout).toContain(`/${envoy.version}/`)
})
