/**
 * The picker of grpc-js-xds for a cluster: its policies are given endpoints that are connected at once, and say their picker
 * of `xds_cluster_manager`, `xds_cluster_impl`, `weighted_target`, `round_robin` and a `pick_first` for each endpoint.
 */
import { connectivityState, type ChannelOptions, experimental } from "@grpc/grpc-js"
import { registerChannelzSubchannel } from "@grpc/grpc-js/build/src/channelz.js"
import * as xds from "@grpc/grpc-js-xds"
import { XDS_CLIENT_KEY, XDS_CONFIG_KEY } from "@grpc/grpc-js-xds/build/src/resolver-xds.js"

type ControlHelper = experimental.ChannelControlHelper
type Subchannel = experimental.SubchannelInterface

const notUsed = (): never => {
  throw new Error("a pick has no use for it")
}

/** A connection that is there. */
const connected = (address: experimental.SubchannelAddress): Subchannel => ({
  getConnectivityState: () => connectivityState.READY,
  addConnectivityStateListener: () => undefined,
  removeConnectivityStateListener: () => undefined,
  startConnecting: () => undefined,
  getAddress: () => experimental.subchannelAddressToString(address),
  throttleKeepalive: () => undefined,
  ref: () => undefined,
  unref: () => undefined,
  getChannelzRef: () => registerChannelzSubchannel("", notUsed, false),
  isHealthy: () => true,
  addHealthStateWatcher: () => undefined,
  removeHealthStateWatcher: () => undefined,
  addDataWatcher: () => undefined,
  getRealSubchannel: notUsed,
  realSubchannelEquals: notUsed,
  getCallCredentials: notUsed,
  getChannel: notUsed
})

/** The picker of a cluster whose localities, of these weights, have so many endpoints each. */
export const make = (cluster: string, weights: ReadonlyArray<number>, endpoints: number): experimental.Picker => {
  xds.register()
  let told: experimental.Picker | undefined
  const helper: ControlHelper = {
    createSubchannel: connected,
    updateState: (state, picker) => {
      told = state === connectivityState.READY ? picker : undefined
    },
    requestReresolution: () => undefined,
    addChannelzChild: () => undefined,
    removeChannelzChild: () => undefined
  }
  const targets = Object.fromEntries(
    weights.map((weight, at) => [`locality-${at}`, { weight, child_policy: [{ round_robin: {} }] }])
  )
  const config = experimental.parseLoadBalancingConfig({
    xds_cluster_manager: {
      children: {
        [cluster]: {
          child_policy: [{ xds_cluster_impl: { cluster, child_policy: [{ weighted_target: { targets } }] } }]
        }
      }
    }
  })
  const addresses = weights.flatMap((_, locality) =>
    Array.from({ length: endpoints }, (_, at) => ({
      addresses: [{ host: `10.0.${locality}.${at}`, port: 80 }],
      localityPath: [`locality-${locality}`],
      locality: { region: "", zone: `${locality}`, sub_zone: "" },
      localityWeight: 1,
      endpointWeight: 1
    }))
  )
  const known = {
    ok: true,
    value: {
      cluster: { edsServiceName: cluster, maxConcurrentRequests: 1_024 },
      children: { type: "endpoint", endpoints: { dropCategories: [] } }
    }
  }
  const options: ChannelOptions = {
    [XDS_CONFIG_KEY]: { clusters: new Map([[cluster, known]]) },
    [XDS_CLIENT_KEY]: {}
  }
  const policy = new experimental.ChildLoadBalancerHandler(helper)
  policy.updateAddressList(experimental.statusOrFromValue(addresses), config, options, "")
  if (told === undefined) throw new Error("grpc-js-xds' policies did not say that they are ready")
  return told
}
