import { describe, expect, it } from "@effect/vitest"
import * as Timeout from "../src/internal/Timeout.js"

describe("a timeout", () => {
  it.each([
    [undefined, undefined, undefined],
    [undefined, 5, 5],
    [7, 5, 7],
    [0, 5, undefined],
    [-1, 5, undefined],
    [undefined, 0, undefined]
  ])("%s, where the default is %s, is %s", (asked, otherwise, timeout) => {
    expect(Timeout.of(asked, otherwise)).toBe(timeout)
  })

  // A server cannot keep the longest: Node's timers end after 24 days, and then it answers at once.
  it.each([
    [1, "1m"],
    [99_999_999, "99999999m"],
    [100_000_000, "100000S"],
    [99_999_999_999, "99999999S"],
    [100_000_000_000, "99999999S"],
    [Number.MAX_SAFE_INTEGER, "99999999S"]
  ])("of %d ms is %s in gRPC, with eight digits at most", (milliseconds, text) => {
    expect(Timeout.ofGrpc(milliseconds)).toBe(text)
  })
})
