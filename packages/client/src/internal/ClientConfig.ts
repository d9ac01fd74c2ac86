/** What a client knows of each resource, as CSDS shows it. */
import { create } from "@bufbuild/protobuf"
import { AnySchema, timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { ResourceStatus } from "@effect-xds/core/Client"
import { ClientResourceStatus, UpdateFailureStateSchema } from "@effect-xds/proto/envoy/admin/v3/config_dump_shared"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { ClientConfig } from "@effect-xds/proto/envoy/service/status/v3/csds"
import { ClientConfig_GenericXdsConfigSchema, ClientConfigSchema } from "@effect-xds/proto/envoy/service/status/v3/csds"

/** The form of protobuf has no word for a timeout or an error that the server sent. */
const statusOf = ({ status }: ResourceStatus): ClientResourceStatus => {
  switch (status) {
    case "Requested":
    case "Timeout":
      return ClientResourceStatus.REQUESTED
    case "DoesNotExist":
      return ClientResourceStatus.DOES_NOT_EXIST
    case "Acked":
      return ClientResourceStatus.ACKED
    case "Nacked":
    case "ReceivedError":
      return ClientResourceStatus.NACKED
  }
}

export const make = (node: Node, scope: string, resources: ReadonlyArray<ResourceStatus>): ClientConfig =>
  create(ClientConfigSchema, {
    node,
    clientScope: scope,
    genericXdsConfigs: resources.map((resource) => {
      const { failure, held, name, typeUrl } = resource
      return create(ClientConfig_GenericXdsConfigSchema, {
        typeUrl,
        name,
        clientStatus: statusOf(resource),
        ...(held === undefined
          ? {}
          : {
              versionInfo: held.version,
              xdsConfig: create(AnySchema, { typeUrl, value: held.bytes }),
              lastUpdated: timestampFromMs(held.updatedAt)
            }),
        ...(failure === undefined
          ? {}
          : {
              errorState: create(UpdateFailureStateSchema, {
                details: failure.error.message,
                versionInfo: failure.version,
                lastUpdateAttempt: timestampFromMs(failure.at)
              })
            })
      })
    })
  })
