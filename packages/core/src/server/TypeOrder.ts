/**
 * The phase of a type: clusters and endpoints first, then what refers to them. See {@link Round}.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Subscription } from "./Subscription.js"

/**
 * Clusters, endpoints and what these need: everything that listeners and routes refer to. ★ Endpoints of localities (LEDS) belong
 * to it: a cluster is warm, and its ACK sent, only with them.
 *
 * @since 0.1.0
 */
export const isFirstPhase = (subscription: Subscription): boolean => subscription.order <= ResourceType.LbEndpoint.order

/**
 * Listeners, routes and all types after them.
 *
 * @since 0.1.0
 */
export const isLate = (subscription: Subscription): boolean => !isFirstPhase(subscription)
