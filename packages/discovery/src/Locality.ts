/**
 * Where endpoints are.
 *
 * @since 0.1.0
 */
import type { Locality } from "@effect-xds/proto/envoy/config/core/v3/base"

/**
 * Region, zone and sub-zone as one text.
 *
 * @since 0.1.0
 */
export const nameOf = ({ region, subZone, zone }: Pick<Locality, "region" | "zone" | "subZone">): string =>
  JSON.stringify([region, zone, subZone])

/**
 * A name of {@link nameOf} for people: its parts that are not empty. Other text is as it is.
 *
 * @since 0.1.0
 */
export const wordsOf = (name: string): string =>
  name
    .replace(/^\["|"\]$/g, "")
    .split('","')
    .filter((part) => part !== "")
    .join("/")
