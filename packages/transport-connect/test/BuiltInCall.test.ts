import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as V8 from "node:v8"
import * as Vm from "node:vm"
import * as BuiltInCall from "../src/grpc/BuiltInCall.js"

V8.setFlagsFromString("--expose_gc")
const collect = new Vm.Script("gc()")

const wait = <A>(promise: Promise<A>) => Effect.promise(() => promise)

const call = () => {
  const over = new AbortController()
  let error: Error | undefined
  return {
    open: { signal: over.signal, shutdown: () => error, close: () => undefined },
    abort: (reason?: Error) => {
      error = reason
      over.abort()
    }
  }
}

describe("the elements of a call", () => {
  it.live("★ are not kept while the call goes on", () =>
    Effect.gen(function* () {
      const { abort, open } = call()
      const passed: Array<WeakRef<object>> = []
      const elements = async function* () {
        for (let each = 0; each < 100; each++) {
          const element = { bytes: new Uint8Array(10) }
          passed.push(new WeakRef(element))
          yield element
        }
        await new Promise(() => undefined)
      }
      const read = async () => {
        let count = 0
        for await (const { bytes } of BuiltInCall.until(elements(), open)) count += bytes.length
        return count
      }
      const reading = read()
      yield* eventually(() => expect(passed.length).toBe(100))
      yield* eventually(() => {
        collect.runInNewContext()
        // The last ones may be on the stack.
        expect(passed.filter((element) => element.deref() !== undefined).length).toBeLessThan(10)
      })
      abort()
      expect(yield* wait(reading)).toBe(1000)
    })
  )

  it.effect("end with it: at once, with the error of a server that shuts down, or with their own", () =>
    Effect.gen(function* () {
      const first = async <A>(elements: AsyncIterable<A>, open: BuiltInCall.BuiltInCall) => {
        for await (const element of BuiltInCall.until(elements, open)) return element
        return "nothing"
      }
      const fails = async function* () {
        yield await Promise.reject<string>(new Error("an error of its own"))
      }
      const one = async function* () {
        yield await Promise.resolve("one")
      }
      expect(yield* wait(first(one(), call().open))).toBe("one")
      const gone = call()
      gone.abort()
      expect(yield* wait(first(one(), gone.open))).toBe("nothing")
      const shut = call()
      shut.abort(new Error("the server shuts down"))
      yield* wait(expect(first(one(), shut.open)).rejects.toThrow("the server shuts down"))
      yield* wait(expect(first(fails(), call().open)).rejects.toThrow("an error of its own"))
    })
  )
})
