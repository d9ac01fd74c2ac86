import { StatusTable } from "@effect-xds/admin"
import { describe, expect, it } from "@effect/vitest"

const at = "2026-01-01T12:00:00.000Z"
const version = (version: string, nonce: string, seconds: number) => ({
  version,
  nonce,
  at: new Date(Date.parse(at) - seconds * 1_000).toISOString()
})
const client = (id: string, types: StatusTable.ShownClient["types"], group = "edge"): StatusTable.ShownClient => ({
  node: { id },
  group,
  address: "10.0.0.1:4000",
  connected_at: version("", "", 100_000).at,
  types
})
const acked = (type: string, seconds = 1) => {
  const sent = version("v1", "1", seconds)
  return { type, state: "acked" as const, sent, acked: sent, nacked: null, oversized_bytes: null }
}
const cellsOf = (lines: ReadonlyArray<string>) => lines.map((line) => line.split(/ {2,}/))

describe("StatusTable", () => {
  it("is made in steps of a few clients each, in the same order", () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `${(index * 7) % 2_000}`)
    const report = { at, not_ready: [], clients: names.map((name) => client(name, [acked("CDS")])) }
    let made = 0
    const clients = function* () {
      for (const each of report.clients) {
        made++
        yield each
      }
    }
    const work = StatusTable.linesInSteps({ ...report, clients: clients() })
    const most: Array<number> = []
    for (;;) {
      made = 0
      const { done, value } = work.next()
      most.push(made)
      if (done !== true) continue
      expect(value).toEqual(StatusTable.lines(report))
      break
    }
    expect(Math.max(...most)).toBeLessThanOrEqual(16)
    // The two passes over the rows, too.
    expect(most.filter((each) => each === 0).length).toBeGreaterThan(60)
  })

  it("tells one line for each client and type, problems first, the worst of them before", () => {
    const lines = StatusTable.lines({
      at,
      not_ready: ["no files\nwere read"],
      clients: [
        client("b", [acked("CDS", 3_700), acked("EDS")]),
        client("a", [
          acked("CDS", 90),
          {
            type: "LDS",
            state: "nacked",
            sent: version("v2", "3", 20),
            acked: version("v1", "1", 50),
            nacked: { ...version("v2", "3", 19), error: { code: 13, message: "no such\nfield" } },
            oversized_bytes: 5_000_000
          }
        ]),
        client(
          "c",
          [{ type: "CDS", state: "waiting", sent: null, acked: null, nacked: null, oversized_bytes: null }],
          "late"
        ),
        client("d", [
          { type: "RDS", state: "sent", sent: version("v3", "4", 7), acked: null, nacked: null, oversized_bytes: null }
        ]),
        { ...client("", []), node: null, group: null }
      ]
    })
    expect(lines.slice(0, 3)).toEqual([
      "not ready: no files were read",
      "5 clients: 1 nacked, 1 waiting, 1 sent, 1 asked, 3 acked",
      ""
    ])
    expect(cellsOf(lines.slice(3))).toEqual([
      ["STATE", "SINCE", "NODE", "GROUP", "ADDRESS", "TYPE", "VERSION", "DETAIL"],
      [
        "nacked",
        "19s",
        "a",
        "edge",
        "10.0.0.1:4000",
        "LDS",
        "v2",
        "no such field; accepted is v1; 5000000 bytes, more than clients may take"
      ],
      ["waiting", "1d", "c", "late", "10.0.0.1:4000", "CDS", "-", "its group is not set"],
      ["sent", "7s", "d", "edge", "10.0.0.1:4000", "RDS", "v3", "not answered yet"],
      ["asked", "1d", "?", "?", "10.0.0.1:4000", "-", "-", "nothing asked for yet"],
      ["acked", "1m", "a", "edge", "10.0.0.1:4000", "CDS", "v1"],
      ["acked", "1h", "b", "edge", "10.0.0.1:4000", "CDS", "v1"],
      ["acked", "1s", "b", "edge", "10.0.0.1:4000", "EDS", "v1"]
    ])
  })

  it("leaves out those that are well, and says how many, when there are too many", () => {
    const many = Array.from({ length: 1_000 }, (_, index) => client(`${index}`, [acked("CDS")]))
    const bad = { ...acked("CDS"), state: "sent" as const, acked: null }
    const lines = StatusTable.lines({ at, not_ready: [], clients: [...many, client("bad", [bad])] }, 10)
    expect(lines[0]).toBe("1001 clients: 1 sent, 1000 acked")
    expect(lines).toHaveLength(2 + 1 + 10 + 1)
    expect(lines[3]).toContain("bad")
    expect(lines.at(-1)).toBe("and 991 more")
  })

  it("says that there are no clients", () => {
    expect(StatusTable.lines({ at, not_ready: [], clients: [] })).toEqual(["no clients"])
  })
})
