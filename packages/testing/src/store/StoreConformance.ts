/**
 * Store conformance: the promises of a store, as checks for any store. They cover `SnapshotStore` for programs and
 * `GroupSource` for servers. `describeStore` of `@effect-xds/testing/vitest` defines a test for each. Without vitest, run the
 * checks directly.
 *
 * @since 0.1.0
 */
import { layers } from "../internal/LayerPromises.js"
import { serving } from "../internal/ServingPromises.js"
import type { Check } from "../internal/StoreCheck.js"
import { writing } from "../internal/WritingPromises.js"

export { type Check } from "../internal/StoreCheck.js"
export { BrokenPromise } from "./BrokenPromise.js"

/**
 * All promises.
 *
 * @since 0.1.0
 */
export const checks: ReadonlyArray<Check> = [...writing, ...serving, ...layers]
