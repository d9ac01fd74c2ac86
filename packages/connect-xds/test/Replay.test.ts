import { expect, it } from "@effect/vitest"
import { Replay } from "../src/internal/Replay.js"
import * as Mesh from "./Mesh.js"

it("messages are read from the first on by each reader, and once from where they come from", async () => {
  let reads = 0
  const replay = new Replay(
    (async function* () {
      for (const message of ["a", "b"]) {
        reads++
        yield await Promise.resolve(message)
      }
    })()
  )
  expect(await Mesh.all(replay)).toEqual(["a", "b"])
  expect(await Mesh.all(replay)).toEqual(["a", "b"])
  expect(reads).toBe(2)
})

it("★ one that comes while another waits for the same message gets it, too", async () => {
  let give = (): void => undefined
  const given = new Promise<void>((resolve) => (give = resolve))
  const replay = new Replay(
    (async function* () {
      await given
      yield "a"
    })()
  )
  const readers = [Mesh.all(replay), Mesh.all(replay)]
  give()
  expect(await Promise.all(readers)).toEqual([["a"], ["a"]])
})

it("messages that fail do so for each reader", async () => {
  const replay = new Replay(
    (async function* () {
      yield "a"
      await Promise.reject(new Error("none"))
    })()
  )
  for (let reader = 0; reader < 2; reader++) await expect(Mesh.all(replay)).rejects.toThrow("none")
})
