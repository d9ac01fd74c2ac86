/**
 * Calls that wait for a picker: each new one picks again for all of them.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/wait-for-ready.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import type { CallStatus } from "./CallStatus.js"
import type { Counters, PickCall, Picker } from "./Picker.js"
import * as CompiledPicker from "./CompiledPicker.js"
import * as Pickers from "./Picker.js"
import type { Address, Endpoint } from "./Endpoint.js"

/**
 * A call that waits.
 *
 * @since 0.1.0
 */
export interface Waiting {
  readonly call: PickCall
  /** A failure of the picker does not end it. */
  readonly waitForReady: boolean
}

/**
 * The state. Calls are known by numbers that their owner gives, each higher than the one before.
 *
 * @since 0.1.0
 */
export interface PickQueue {
  readonly picker: Picker
  readonly waiting: HashMap.HashMap<number, Waiting>
  /** Most calls that wait. */
  readonly maxWaiting: number
}

/**
 * What happens.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Picker"; readonly picker: Picker }
  | { readonly _tag: "Call"; readonly id: number; readonly call: PickCall; readonly waitForReady: boolean }
  /** The call was given up, or its deadline came. */
  | { readonly _tag: "Cancel"; readonly id: number }

/**
 * What becomes of calls.
 *
 * @since 0.1.0
 */
export type Output =
  | {
      readonly _tag: "Send"
      readonly id: number
      readonly address: string
      readonly endpoint: Endpoint
      /** Counters to hold until the stream ends. */
      readonly holds: ReadonlyArray<string>
      /** The policy that is to be told what becomes of the call. */
      readonly observer: string | undefined
      /** The policy that is to be told that the call of a session went there. */
      readonly session: string | undefined
    }
  | { readonly _tag: "End"; readonly id: number; readonly status: CallStatus }
  /** The policy at this node is to connect. */
  | { readonly _tag: "Wake"; readonly node: string }
  /** The policy at this node is to connect to an address that a session names. */
  | { readonly _tag: "Connect"; readonly node: string; readonly address: Address }

/**
 * Nobody waits, and there is no picker yet.
 *
 * @since 0.1.0
 */
export const make = (maxWaiting = 10_000): PickQueue => ({
  picker: Pickers.queue,
  waiting: HashMap.empty(),
  maxWaiting
})

/**
 * Takes one input. A pick that is complete counts at once: `counters` see it before the next call picks.
 *
 * @param hold counts one more call under these names
 * @since 0.1.0
 */
export const step = (
  self: PickQueue,
  input: Input,
  counters: Counters,
  hold: (names: ReadonlyArray<string>) => void
): readonly [PickQueue, ReadonlyArray<Output>] => {
  const outputs: Array<Output> = []
  const woken = new Set<string>()
  /** Whether the call waits on. */
  const waits = (picker: Picker, id: number, { call, waitForReady }: Waiting): boolean => {
    const pick = CompiledPicker.pick(picker, call, counters)
    switch (pick._tag) {
      case "Complete":
        hold(pick.holds)
        outputs.push({
          _tag: "Send",
          id,
          address: pick.address,
          endpoint: pick.endpoint,
          holds: pick.holds,
          observer: pick.observer,
          session: pick.session
        })
        return false
      case "Connect": {
        const { address, node } = pick
        const key = JSON.stringify([node, address])
        if (!woken.has(key)) {
          woken.add(key)
          outputs.push({ _tag: "Connect", node, address })
        }
        return true
      }
      case "Queue":
        if (pick.wake !== undefined && !woken.has(pick.wake)) {
          woken.add(pick.wake)
          outputs.push({ _tag: "Wake", node: pick.wake })
        }
        return true
      case "Fail":
        if (waitForReady) return true
        outputs.push({ _tag: "End", id, status: pick.status })
        return false
      case "Drop":
        outputs.push({ _tag: "End", id, status: pick.status })
        return false
    }
  }
  switch (input._tag) {
    case "Picker": {
      // In the order in which they came.
      const calls = Array.from(self.waiting).sort(([a], [b]) => a - b)
      let { waiting } = self
      for (const [id, each] of calls) if (!waits(input.picker, id, each)) waiting = HashMap.remove(waiting, id)
      return [{ ...self, picker: input.picker, waiting }, outputs]
    }
    case "Call": {
      const { call, id, waitForReady } = input
      if (!waits(self.picker, id, { call, waitForReady })) return [self, outputs]
      if (HashMap.size(self.waiting) >= self.maxWaiting) {
        const message = `${self.maxWaiting} calls wait for an endpoint already`
        outputs.push({ _tag: "End", id, status: { code: "UNAVAILABLE", reason: "NoEndpoint", message } })
        return [self, outputs]
      }
      return [{ ...self, waiting: HashMap.set(self.waiting, id, { call, waitForReady }) }, outputs]
    }
    case "Cancel": {
      if (!HashMap.has(self.waiting, input.id)) return [self, outputs]
      return [{ ...self, waiting: HashMap.remove(self.waiting, input.id) }, outputs]
    }
  }
}
