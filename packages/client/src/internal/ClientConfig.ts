/** The state of each resource, as CSDS shows it. */
import { create, toBinary } from "@bufbuild/protobuf"
import { AnySchema, timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { ResourceStatus } from "@effect-xds/core/client/Client"
import { ClientResourceStatus, UpdateFailureStateSchema } from "@effect-xds/proto/envoy/admin/v3/config_dump_shared"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { ClientConfig, ClientConfig_GenericXdsConfig } from "@effect-xds/proto/envoy/service/status/v3/csds"
import { ClientConfig_GenericXdsConfigSchema, ClientConfigSchema } from "@effect-xds/proto/envoy/service/status/v3/csds"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as MessageRedaction from "@effect-xds/proto/MessageRedaction"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as SensitiveFields from "@effect-xds/proto/SensitiveFields"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"

/** `ClientResourceStatus` has no value for a timeout or an error that the server sent. */
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

/** A resource without its sensitive values; left out if it cannot be parsed. */
const shown = async (typeUrl: string, bytes: Uint8Array, secrets: ReadonlyArray<Uint8Array>): Promise<Uint8Array> => {
  if (secrets.length === 0) return bytes
  try {
    const schema = await TypeRegistry.load(typeUrl)
    if (schema === undefined) return new Uint8Array()
    const message = MessageBytes.decode(schema, bytes)
    await MessageRedaction.redact(schema, message)
    return toBinary(schema, message)
  } catch {
    return new Uint8Array()
  }
}

const configOf = async (resource: ResourceStatus): Promise<ClientConfig_GenericXdsConfig> => {
  const { failure, held, name, typeUrl } = resource
  const secrets = held === undefined ? [] : SensitiveFields.values(typeUrl, held.bytes)
  return create(ClientConfig_GenericXdsConfigSchema, {
    typeUrl,
    name,
    clientStatus: statusOf(resource),
    ...(held === undefined
      ? {}
      : {
          versionInfo: held.version,
          xdsConfig: create(AnySchema, { typeUrl, value: await shown(typeUrl, held.bytes, secrets) }),
          lastUpdated: timestampFromMs(held.updatedAt)
        }),
    ...(failure === undefined
      ? {}
      : {
          errorState: create(UpdateFailureStateSchema, {
            details: Redaction.values(failure.error.message, secrets),
            versionInfo: failure.version,
            lastUpdateAttempt: timestampFromMs(failure.at)
          })
        })
  })
}

/** Sensitive values are redacted: a reader of CSDS may not be allowed to see keys. A long list takes several turns of the event loop. */
export const make = async (
  node: Node,
  scope: string,
  resources: ReadonlyArray<ResourceStatus>,
  loop: EventLoop.Service
): Promise<ClientConfig> => {
  const genericXdsConfigs: Array<ClientConfig_GenericXdsConfig> = []
  const pause = Slices.pauses(loop)
  for (const resource of resources) {
    genericXdsConfigs.push(await configOf(resource))
    const wait = pause()
    if (wait !== undefined) await wait
  }
  return create(ClientConfigSchema, { node, clientScope: scope, genericXdsConfigs })
}
