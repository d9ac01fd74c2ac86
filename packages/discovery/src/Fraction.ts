/**
 * A share of calls, in millionths.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md "match_fraction"
 * @since 0.1.0
 */
import type { FractionalPercent } from "@effect-xds/proto/envoy/type/v3/percent"
import { FractionalPercent_DenominatorType as Denominator } from "@effect-xds/proto/envoy/type/v3/percent"

/**
 * The denominator of every fraction.
 *
 * @since 0.1.0
 */
export const million = 1_000_000

/**
 * The numerator of a million, at most a million; `undefined` if the denominator is not known. ★ Scaled without
 * overflow: in 32 bits the product wraps from 429 497 % on.
 *
 * @since 0.1.0
 */
export const make = ({ denominator, numerator }: FractionalPercent): number | undefined => {
  switch (denominator) {
    case Denominator.HUNDRED:
      return Math.min(numerator * 10_000, million)
    case Denominator.TEN_THOUSAND:
      return Math.min(numerator * 100, million)
    case Denominator.MILLION:
      return Math.min(numerator, million)
    default:
      return undefined
  }
}

/**
 * Whether a call is in the share. ★ A28 compares with `<=`, so that 0 % takes one call in a million.
 *
 * @param drawn in [0, 1)
 * @since 0.1.0
 */
export const includes = (numerator: number, drawn: number, rules: "current" | "A28"): boolean => {
  const r = Math.floor(drawn * million)
  return rules === "A28" ? r <= numerator : r < numerator
}
