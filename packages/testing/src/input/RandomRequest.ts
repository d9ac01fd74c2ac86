/**
 * Random discovery requests of both variants.
 *
 * @since 0.1.0
 */
import {
  type ErrorDetail,
  type IncrementalRequest,
  type StateOfTheWorldRequest,
  incremental,
  stateOfTheWorld
} from "@effect-xds/core/wire/Request"
import * as fc from "fast-check"

const text = fc.string({ unit: "grapheme", maxLength: 12 })

const errorDetail: fc.Arbitrary<ErrorDetail | undefined> = fc.option(fc.record({ code: fc.integer(), message: text }), {
  nil: undefined
})

const node = fc.option(fc.uint8Array({ maxLength: 20 }), { nil: undefined })

/**
 * A random state-of-the-world request; the node is random bytes.
 *
 * @since 0.1.0
 */
export const stateOfTheWorldRequest: fc.Arbitrary<StateOfTheWorldRequest> = fc
  .record({ typeUrl: text, versionInfo: text, responseNonce: text, resourceNames: fc.array(text), errorDetail, node })
  .map((request) => stateOfTheWorld(request))

/**
 * A random incremental request; the node is random bytes.
 *
 * @since 0.1.0
 */
export const incrementalRequest: fc.Arbitrary<IncrementalRequest> = fc
  .record({
    typeUrl: text,
    responseNonce: text,
    resourceNamesSubscribe: fc.array(text),
    resourceNamesUnsubscribe: fc.array(text),
    initialResourceVersions: fc.array(fc.tuple(text, text)).map((entries) => new Map(entries)),
    errorDetail,
    node
  })
  .map((request) => incremental(request))
