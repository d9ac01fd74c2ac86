/** The metrics of a client. */
import type { ResourceStatus } from "@effect-xds/core/client/Client"
import type { Validation } from "@effect-xds/core/client/Validation"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as MetricLabel from "effect/MetricLabel"
import * as XdsClientMetrics from "../XdsClientMetrics.js"

type Labels = ReadonlyArray<MetricLabel.MetricLabel>

const serverLabel = (address: string) => MetricLabel.make("grpc.xds.server", address)
const typeLabel = (typeUrl: string) =>
  MetricLabel.make("grpc.xds.resource_type", typeUrl.slice(typeUrl.lastIndexOf("/") + 1))

const cacheState = ({ held, status }: ResourceStatus): string => {
  switch (status) {
    case "Requested":
    case "Timeout":
      return "requested"
    case "DoesNotExist":
      return "does_not_exist"
    case "Acked":
      return "acked"
    case "Nacked":
    case "ReceivedError":
      return held === undefined ? "nacked" : "nacked_but_cached"
  }
}

/** The observations of one client. */
export class Observations {
  /** Servers by whether they work. The gauge is set only on a change. */
  readonly #working = new Map<string, boolean>()
  /** The gauges of the last count: those that have no resources now are set to 0. */
  #counted = new Map<string, readonly [Labels, number]>()

  /** A server answered. */
  answered(address: string): void {
    this.#set(address, true)
  }

  /** A stream failed without an answer. */
  failed(address: string): void {
    if (this.#set(address, false)) XdsClientMetrics.serverFailure.unsafeUpdate(1, [serverLabel(address)])
  }

  #set(address: string, works: boolean): boolean {
    if (this.#working.get(address) === works) return false
    this.#working.set(address, works)
    XdsClientMetrics.connected.unsafeUpdate(works ? 1 : 0, [serverLabel(address)])
    return true
  }

  received(address: string, typeUrl: string, { rejected, unchanged, updated }: Validation): void {
    const labels = [serverLabel(address), typeLabel(typeUrl)]
    const valid = updated.length + unchanged.length
    if (valid > 0) XdsClientMetrics.resourceUpdatesValid.unsafeUpdate(valid, labels)
    if (rejected.length > 0) XdsClientMetrics.resourceUpdatesInvalid.unsafeUpdate(rejected.length, labels)
  }

  stuck(typeUrl: string, watchers: number): void {
    XdsClientMetrics.stuckWatchers.unsafeUpdate(watchers, [
      MetricLabel.make("grpc.xds.resource_type", ResourceType.shortNameOf(typeUrl))
    ])
  }

  resources(all: ReadonlyArray<ResourceStatus>): void {
    const counted = new Map<string, readonly [Labels, number]>()
    for (const status of all) {
      const state = cacheState(status)
      const key = `${state} ${status.typeUrl}`
      const [labels, count] = counted.get(key) ?? [
        [MetricLabel.make("grpc.xds.cache_state", state), typeLabel(status.typeUrl)],
        0
      ]
      counted.set(key, [labels, count + 1])
    }
    for (const [key, [labels]] of this.#counted)
      if (!counted.has(key)) XdsClientMetrics.resources.unsafeUpdate(0, labels)
    for (const [labels, count] of counted.values()) XdsClientMetrics.resources.unsafeUpdate(count, labels)
    this.#counted = counted
  }
}
