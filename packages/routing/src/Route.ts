/**
 * A route of a virtual host, and the outcome of a match.
 *
 * @since 0.1.0
 */
import type { Matcher } from "./Matcher.js"
import type * as RouteAction from "./RouteAction.js"
import type { Any } from "@bufbuild/protobuf/wkt"

/**
 * A route, in its place among the others.
 *
 * `NotRoute`: its action is not `route`: a call that matches fails. `Ignored`: it matches nothing, and is here to be seen.
 *
 * @since 0.1.0
 */
export type Route =
  | {
      readonly _tag: "Route"
      readonly name: string
      readonly matcher: Matcher
      readonly action: RouteAction.RouteAction
      /** Settings of HTTP filters, by the filter's name. */
      readonly filters: ReadonlyMap<string, Any>
    }
  | { readonly _tag: "NotRoute"; readonly name: string; readonly matcher: Matcher; readonly action: string }
  | { readonly _tag: "Ignored"; readonly name: string; readonly why: string }

/**
 * A route that a call can be sent by.
 *
 * @since 0.1.0
 */
export type ActiveRoute = Route & { readonly _tag: "Route" }

/**
 * The outcome of a match. `draws`: how many of the call's random numbers were used.
 *
 * @since 0.1.0
 */
export type Match =
  | { readonly _tag: "Route"; readonly route: ActiveRoute; readonly draws: number }
  | { readonly _tag: "ActionNotRoute"; readonly route: string; readonly action: string }
  | { readonly _tag: "NoRoute"; readonly virtualHost: string; readonly path: string }
