import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Dial from "../src/internal/Dial.js"

const cases: ReadonlyArray<readonly [string, Pick<Dial.Options, "to" | "security">, string]> = [
  ["an address", { to: { host: "127.0.0.1", port: 65_536 }, security: undefined }, "Port should be"],
  [
    "★ a path that Node would cut",
    { to: { path: `/tmp/${"a".repeat(120)}` }, security: undefined },
    "has 125 bytes, and that of a Unix socket at most"
  ],
  [
    "a cipher",
    {
      to: { host: "127.0.0.1", port: 1 },
      security: (use) => {
        use({ ciphers: "none" })
        return () => undefined
      }
    },
    "no cipher match"
  ]
]

it.live.each(cases)("%s that Node does not take is said as a failure, after it returned", ([, given, words]) =>
  Effect.gen(function* () {
    const said: Array<string> = []
    const why = yield* Effect.async<string>((resume) => {
      Dial.dial(
        { ...given, protocols: [], timeout: 20_000 },
        (socket) => socket.destroy(),
        (reason) => {
          said.push("failed")
          resume(Effect.succeed(reason))
        }
      )
      said.push("returned")
    })
    expect(why).toContain(words)
    expect(said).toEqual(["returned", "failed"])
  })
)
