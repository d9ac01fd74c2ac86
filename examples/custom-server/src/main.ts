/** Serves one cluster and moves it between two addresses every second: `node dist/main.js [port]`. */
import { create, toBinary } from "@bufbuild/protobuf"
import { Resource } from "@effect-xds/core"
import { ResourceType } from "@effect-xds/proto"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { Either } from "effect"
import { ControlPlane } from "./controlPlane.js"

const cluster = (name: string, address: string): Resource.Resource => {
  const message = create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
    loadAssignment: {
      clusterName: name,
      endpoints: [
        {
          lbEndpoints: [
            {
              hostIdentifier: {
                case: "endpoint",
                value: {
                  address: {
                    address: {
                      case: "socketAddress",
                      value: { address, portSpecifier: { case: "portValue", value: 8080 } }
                    }
                  }
                }
              }
            }
          ]
        }
      ]
    }
  })
  const value = toBinary(ClusterSchema, message)
  return Either.getOrThrow(Resource.make({ typeUrl: ResourceType.Cluster.typeUrl, name, value }))
}

const plane = new ControlPlane(console.log)
const addresses = ["10.0.0.1", "10.0.0.2"] as const
let turn = 0
const move = () => plane.update([cluster("backend", addresses[turn++ % 2] ?? addresses[0])])
move()
const port = await plane.listen(Number(process.argv[2] ?? 0))
console.log(`serving ADS on 127.0.0.1:${port}`)
setInterval(move, 1000)
