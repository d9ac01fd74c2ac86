import { Bootstrap } from "@effect-xds/client"
import * as Target from "@effect-xds/connect-xds/Target"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"

describe("a target", () => {
  it.each([
    ["shop", "shop"],
    ["shop.example:443", "shop.example:443"],
    ["team/shop", "team%2Fshop"],
    ["[::1]:80", "[::1]:80"],
    ["me@shop?x=1#y", "me@shop%3Fx=1%23y"],
    ["a%2Fb", "a%252Fb"],
    ["ü", "%C3%BC"]
  ])("xds:///%s has the authority %s", (name, authority) => {
    expect(Target.make(`xds:///${name}`)).toEqual(Either.right({ listener: name, authority }))
  })

  it("an authority of the bootstrap names the listener; a slash stays in that", () => {
    const bootstrap = Bootstrap.make({
      servers: ["localhost:1"],
      node: { id: "app" },
      authorities: new Map([["edge", { servers: [], clientListenerResourceNameTemplate: undefined }]])
    })
    expect(Target.make("xds://edge/team/shop", bootstrap)).toEqual(
      Either.right({ listener: "xdstp://edge/envoy.config.listener.v3.Listener/team/shop", authority: "team%2Fshop" })
    )
  })

  it.each(["dns:///shop", "xds:///", "xds:////shop", "xds:///a\n", "xds://edge/shop", "xds:///\ud800"])(
    "%j is none",
    (target) => {
      expect(Either.isLeft(Target.make(target))).toBe(true)
    }
  )
})
