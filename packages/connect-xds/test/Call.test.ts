import { Code } from "@connectrpc/connect"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import * as RouteTable from "@effect-xds/routing/RouteTable"
import { expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { Call } from "../src/internal/Call.js"
import { DrivenChannel } from "./DrivenChannel.js"
import * as Mesh from "./Mesh.js"

it("★ after a pause that the server said, pauses begin with the first again (A6)", async () => {
  const channel = new DrivenChannel(({ events }) => events.ready()).routes("a").cluster("a").endpoints("a", 1).wait(1)
  const routes = RouteTable.make(Mesh.routes("shop", ["*"], Mesh.retried("a")))
  const known = { _tag: "Value" as const, value: Either.getOrThrow(routes) }
  channel.driver.news({ _tag: "RouteConfiguration", name: "shop", known })
  const pauses: Array<number> = []
  const environment = {
    now: () => 0,
    random: () => 0.5,
    after: (milliseconds: number, task: () => void) => {
      pauses.push(milliseconds)
      queueMicrotask(task)
      return () => undefined
    }
  }
  const asked = { path: "/a/M", headers: CallHeaders.empty, waitForReady: false, timeout: undefined, signal: undefined }
  const call = new Call(channel.driver, environment, asked, () => [])
  const failure = { code: Code.Unavailable, isCommitted: false, isUnsent: false, isRefused: false }
  for (const pushback of [undefined, "70", undefined]) {
    await call.place()
    expect(await call.again({ ...failure, pushback })).toBe(true)
  }
  expect(pauses).toEqual([1, 70, 1])
  expect(await call.again({ ...failure, pushback: undefined })).toBe(false)
  call.over("Failed")
})
