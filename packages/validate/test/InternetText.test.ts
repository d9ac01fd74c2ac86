/** Texts that may be IP addresses. */
import { expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { isIPv4 } from "node:net"
import * as InternetText from "../src/internal/InternetText.js"

it("★ an IPv4 address is four numbers to 255 without zeros before them, as the platform has it", () => {
  for (const text of ["0.0.0.0", "255.255.255.255", "10.20.30.40"]) expect(InternetText.isIp(text)).toBe(true)
  const wrong = [
    "",
    ".",
    "...",
    "1.2.3",
    "1.2.3.",
    ".1.2.3",
    "1..2.3",
    "1.2.3.4.5",
    "01.2.3.4",
    "00.0.0.0",
    "256.1.1.1"
  ]
  for (const text of [...wrong, "1.2.3.1e1", "1.2.3.+4", "1.2.3. 4", "1.2.3.٤"])
    expect(InternetText.isIp(text)).toBe(false)
  const part = FastCheck.oneof(
    FastCheck.integer({ min: 0, max: 300 }).map(String),
    FastCheck.stringMatching(/^[0-9.]{0,4}$/)
  )
  FastCheck.assert(
    FastCheck.property(FastCheck.array(part, { minLength: 3, maxLength: 5 }), (parts) => {
      const text = parts.join(".")
      expect(InternetText.isIp(text), text).toBe(isIPv4(text))
    }),
    { numRuns: 2_000 }
  )
})
