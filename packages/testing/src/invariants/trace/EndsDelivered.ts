/**
 * Every subscription ends delivered or does-not-exist once faults have stopped.
 *
 * @since 0.1.0
 */
import * as ReferenceModel from "../../reference/ReferenceModel.js"
import { endOf } from "./End.js"
import { type TraceInvariant, inWords, isFullState, keyOf } from "./TraceInvariant.js"

/**
 * No watcher waits for ever.
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
      const sets = streams.map((stream) => stores.held(stream.server, stores.groupOf(stream)))
      // A server without the group sends nothing.
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
      // For `*` itself a watcher gets only connectivity errors.
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
        // A rejected resource, or one that only `*` covers, is not in use: its removal is not always reported.
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
