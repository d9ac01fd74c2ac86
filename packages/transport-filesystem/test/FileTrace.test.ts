import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { play } from "./FileTrace.js"

const traces: Readonly<Record<string, string>> = {
  "appears, changes, is bad, is corrected, goes away and returns": `
    send CDS []
    = cds.json Missing 0
    write cds.json 1 a
    < CDS 1 [a]
    = cds.json Accepted 1
    ack CDS []
    move cds.json 2 a b
    < CDS 2 [a b]
    = cds.json Accepted 2
    ack CDS []
    spoil cds.json
    = cds.json Rejected 2
    move cds.json 3 b
    < CDS 3 [b]
    = cds.json Accepted 1
    ack CDS []
    remove cds.json
    = cds.json Missing 1
    move cds.json 4 c
    < CDS 4 [c]
    = cds.json Accepted 1
  `,
  "is rejected by the client, and corrected": `
    move cds.json 1 a
    send CDS [a]
    < CDS 1 [a]
    = cds.json Accepted 1
    nack CDS [a] no good
    = cds.json Rejected 1
    move cds.json 2 a
    < CDS 2 [a]
    ack CDS [a]
    = cds.json Accepted 1
  `,
  "is bad, and who watches a resource by name is told": `
    move eds/e.json 1 e
    send EDS [e f]
    < EDS 1 [e]
    = eds/e.json Accepted 1
    = eds/f.json Missing 0
    ack EDS [e f]
    spoil eds/f.json
    < EDS none []
    = eds/f.json Rejected 0
    ack EDS [e f]
    move eds/f.json 1 f
    < EDS 1 [f]
    = eds/f.json Accepted 1
    ack EDS [e]
    move eds/f.json 2 f
    move eds/e.json 2 e
    < EDS 2 [e]
  `,
  "is mounted as a ConfigMap": `
    mount . cds.json 1 a
    send CDS []
    < CDS 1 [a]
    = cds.json Accepted 1
    ack CDS []
    mount . cds.json 2 a b
    < CDS 2 [a b]
    = cds.json Accepted 2
    ack CDS []
    mount . cds.json 3
    < CDS 3 []
    = cds.json Accepted 0
  `
}

describe("a file", () => {
  it.scopedLive.each(Object.entries(traces))("that %s", ([, script]) =>
    Effect.gen(function* () {
      const { found, given } = yield* play(script)
      expect(found).toBe(given)
    })
  )
})
