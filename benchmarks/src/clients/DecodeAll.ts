/**
 * The client one writes first: decodes every resource it is sent and keeps it under its name. It compares nothing, so
 * it does not even know what changed; and it answers nothing.
 */
import { fromBinary } from "@bufbuild/protobuf"
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as Responses from "./Responses.js"

export interface Cluster {
  readonly name: string
  /** Its `alt_stat_name`. */
  readonly mark: string
}

/** `read` looks at what `decode` gives. */
export const serve = <A>(options: {
  readonly decode: (value: Uint8Array) => A
  readonly read: (cluster: A) => Cluster
}): void =>
  Responses.serve(({ incremental }) => {
    const held = new Map<string, A>()
    let decoded = 0
    const take = (value: Uint8Array | undefined): void => {
      if (value === undefined) throw new Error("a resource without a body")
      const cluster = options.decode(value)
      held.set(options.read(cluster).name, cluster)
      decoded++
    }
    return {
      receive: (bytes) => {
        decoded = 0
        if (incremental) {
          for (const { resource } of fromBinary(DeltaDiscoveryResponseSchema, bytes).resources) take(resource?.value)
        } else {
          for (const { value } of fromBinary(DiscoveryResponseSchema, bytes).resources) take(value)
        }
      },
      check: (changed, sent) => {
        if (decoded !== sent) throw new Error(`${decoded} of ${sent} resources were decoded`)
        for (const { mark, name } of changed) {
          const cluster = held.get(name)
          if (cluster === undefined || options.read(cluster).mark !== mark) throw new Error(`${name} is not ${mark}`)
        }
      }
    }
  })
