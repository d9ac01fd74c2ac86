/**
 * `xds_routing_experimental` of A28: the first route that matches a call says which child picks, whatever its state.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md "Routing LB policy"
 * @since 0.1.0
 */
import * as Children from "../Children.js"
import * as Connectivities from "../Connectivity.js"
import type { Matcher, Matchers } from "../Matcher.js"
import * as Matching from "../Matcher.js"
import type { Configured } from "../Policy.js"
import { define } from "../Policy.js"
import * as ManyChildren from "./ManyChildren.js"

/**
 * Routes in order, and the actions they name.
 *
 * @since 0.1.0
 */
export interface Config {
  /** For messages. */
  readonly virtualHost: string
  readonly routes: ReadonlyArray<{ readonly matcher: Matcher; readonly action: string }>
  readonly actions: ReadonlyMap<string, Configured>
}

interface Setup {
  readonly virtualHost: string
  readonly matchers: Matchers
  /** The action of each route. */
  readonly actions: ReadonlyArray<string>
}

/**
 * The policy. Its state stands for the channel as a whole: a call depends on the child of its route alone.
 *
 * @since 0.1.0
 */
export const policy = define(
  ManyChildren.make<Config, Setup>({
    name: "xds_routing_experimental",
    configure: ({ actions, routes, virtualHost }, endpoints) => ({
      wanted: new Map(Array.from(actions, ([name, child]) => [name, { child, endpoints }])),
      setup: {
        virtualHost,
        matchers: Matching.all(routes.map(({ matcher }) => matcher)),
        actions: routes.map(({ action }) => action)
      }
    }),
    tell: ({ actions, matchers, virtualHost }, children) => ({
      state: Connectivities.aggregate(Array.from(Children.used(children), ([, child]) => child.state)),
      picker: {
        _tag: "Routed",
        virtualHost,
        matchers,
        children: actions.map((action) => children.get(action)?.picker)
      }
    }),
    wakes: false
  })
)
