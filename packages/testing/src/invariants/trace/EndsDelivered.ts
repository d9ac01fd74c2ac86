/**
 * Every subscription ends delivered or does-not-exist once faults stop.
 *
 * @since 0.1.0
 */
import * as ReferenceModel from "../../reference/ReferenceModel.js"
import { endOf } from "./End.js"
import { type TraceInvariant, inWords, isFullState, keyOf } from "./TraceInvariant.js"

/**
 * Nobody waits for ever.
 *
 * @since 0.1.0
 */
export const endsDelivered: TraceInvariant = {
  sentence: "a subscription ends delivered or does-not-exist once faults stop",
  check: (trace) => {
    const { rejected, rejectedNames, stores, streamsOf, watches } = endOf(trace)
    const problems: Array<string> = []
    for (const { client, name, told, typeUrl } of watches.values()) {
      const streams = streamsOf(client, typeUrl)
      if (streams.length === 0) {
        problems.push(`${client} has no stream for ${inWords(typeUrl, name)}`)
        continue
      }
      const group = stores.groupOf(client)
      const sets = streams.map(({ server }) => stores.held(server, group))
      // A server that knows nothing of the group is silent.
      if (sets.some((held) => held === undefined)) continue
      const isTold = isFullState(typeUrl) || streams.every(({ protocol }) => protocol === "Incremental")
      const names = new Set(name === "*" ? told.keys() : [name])
      if (name === "*") {
        for (const held of sets) {
          for (const key of held?.keys() ?? []) {
            if (key.startsWith(`${typeUrl} `)) names.add(key.slice(typeUrl.length + 1))
          }
        }
      }
      // Of `*` itself a watcher hears only that no server can be reached.
      if (name === "*") names.delete("*")
      for (const each of names) {
        const last = told.get(each)
        const isByName = streams.some(({ protocol }) => protocol === "StateOfTheWorld")
        const led = sets.flatMap((held) => {
          const own = held?.get(keyOf(typeUrl, each))
          if (own !== undefined || held === undefined || isByName) return own ?? []
          return ReferenceModel.ledTo(Array.from(held.values()), typeUrl, each) ?? []
        })
        const prints = led.map(({ fingerprint }) => fingerprint)
        const isHeld = last?.state === "Updated" && prints.includes(last.fingerprint)
        const isRejected = prints.some((print) => rejected.has(`${client} ${keyOf(typeUrl, each)} ${print}`))
        if (isHeld || isRejected) continue
        const what = `${client}: ${inWords(typeUrl, each)}`
        if (prints.length > 0) {
          problems.push(
            `${what} is there, and was told ${last === undefined ? "nothing" : (last.state ?? last.last)}${
              last?.state === "Updated" ? ` with content ${last.fingerprint}, not ${prints.join(" or ")}` : ""
            }`
          )
          continue
        }
        const isKept = last?.state === "Updated" && (!isTold || last.last === "AmbientError")
        // What was rejected, or only `*` would bring, is not in use: that it is gone then is not always told.
        const isUnused = !isTold || name === "*" || rejectedNames.has(`${client} ${keyOf(typeUrl, each)}`)
        const isOver = last?.state === "DoesNotExist" || (last?.state === "Error" && isUnused)
        if (!isKept && !isOver && (name !== "*" || last !== undefined)) {
          problems.push(`${what} is not there, and was told ${last?.state ?? "nothing"}`)
        }
      }
    }
    return problems
  }
}
