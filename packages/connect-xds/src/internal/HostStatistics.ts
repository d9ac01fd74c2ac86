/**
 * Statistics of virtual hosts that are fetched on demand, by route configuration as in Envoy. An update counts once, however
 * many channels are told of it.
 */
import { split } from "@effect-xds/core/resource/VirtualHostDiscovery"
import * as XdsClientMetrics from "@effect-xds/client/XdsClientMetrics"
import * as MetricLabel from "effect/MetricLabel"

interface Counts {
  reloads: number
  empties: number
}

export class HostStatistics {
  private readonly counts = new Map<string, Counts>()
  /** What was told last of a name, `undefined`: that there is none; and how many watch it. */
  private readonly last = new Map<string, { watchers: number; told: unknown }>()

  watched(name: string): void {
    const known = this.last.get(name)
    if (known === undefined) this.last.set(name, { watchers: 1, told: nothing })
    else known.watchers++
  }

  unwatched(name: string): void {
    const known = this.last.get(name)
    if (known !== undefined && --known.watchers === 0) this.last.delete(name)
  }

  /** @param told a virtual host; `undefined`: there is none */
  tell(name: string, told: unknown): void {
    const known = this.last.get(name)
    if (known === undefined || known.told === told) return
    known.told = told
    const routes = split(name)?.routeConfiguration ?? ""
    const counts = this.counts.get(routes) ?? { reloads: 0, empties: 0 }
    this.counts.set(routes, counts)
    const labels = [MetricLabel.make("route_configuration", routes)]
    if (told === undefined) {
      counts.empties++
      return XdsClientMetrics.vhdsEmptyUpdate.unsafeUpdate(1, labels)
    }
    counts.reloads++
    XdsClientMetrics.vhdsConfigReload.unsafeUpdate(1, labels)
  }

  statistics(prefix: string): Readonly<Record<string, number>> {
    const found: Record<string, number> = {}
    for (const [routes, { empties, reloads }] of this.counts) {
      const path = `http.${prefix}.vhds.${routes}`.replaceAll(":", "_")
      found[`${path}.config_reload`] = reloads
      found[`${path}.empty_update`] = empties
    }
    return found
  }
}

/** Nothing was told yet. */
const nothing = Symbol()
