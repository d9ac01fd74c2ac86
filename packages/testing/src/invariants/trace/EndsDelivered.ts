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
      const isMany = ReferenceModel.isMany(name)
      const names = new Set(isMany ? told.keys() : [name])
      if (isMany) {
        const stored = sets.flatMap((held) =>
          Array.from(held?.values() ?? []).filter((each) => each.typeUrl === typeUrl)
        )
        const covered = stored.filter((each) => ReferenceModel.covers(name, each.name))
        for (const each of covered) names.add(each.name)
        // A collection itself does not exist if it has no members; in use may be one that was removed.
        const isUsed = Array.from(told.values()).some(({ state }) => state === "Updated")
        const own = told.get(name)
        if (ReferenceModel.isCollection(name) && covered.length === 0 && !isUsed && own?.state !== "DoesNotExist") {
          problems.push(`${client}: ${inWords(typeUrl, name)} has no members, and was told ${own?.state ?? "nothing"}`)
        }
        // The server may say so of one whose last member is kept in use.
        const isSaid = own?.last === "Recovered" || (own?.last === "AmbientError" && covered.length === 0)
        if (ReferenceModel.isCollection(name) && isUsed && own !== undefined && !isSaid) {
          problems.push(`${client}: ${inWords(typeUrl, name)} has members, and was told ${own.last}`)
        }
        // For `*` itself a watcher gets only connectivity errors.
        names.delete(name)
      }
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
        // A rejected resource, or one that only `*` or a collection covers, is not in use: its removal is not always reported.
        const isUnused = !isTold || isMany || rejectedNames.has(`${client} ${keyOf(typeUrl, each)}`)
        const isOver = last?.state === "DoesNotExist" || (last?.state === "Error" && isUnused)
        if (!isKept && !isOver && (!isMany || last !== undefined)) {
          problems.push(`${what} is not there, and was told ${last?.state ?? "nothing"}`)
        }
      }
    }
    return problems
  }
}
