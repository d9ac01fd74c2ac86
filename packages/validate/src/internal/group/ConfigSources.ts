/** Where resources are fetched from, as far as a group can tell. */
import type { ConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import * as Reading from "./Reading.js"

/**
 * Whether it is the server that the resource with the source came from; a file or another server is not. A source that does not
 * say it, which the rules of its fields refuse, names no other one.
 */
export const isHere = (source: ConfigSource | undefined): boolean => {
  if (source === undefined) return false
  const kind = source.configSourceSpecifier.case
  return kind === "ads" || kind === "self" || kind === undefined
}

/** It has no rules here, but what is in it is told apart from what is not. */
export const reading = Reading.of<ConfigSource>("envoy.config.core.v3.ConfigSource", () => undefined)
