/** grpc-js with its xDS; the bootstrap is in the environment. */
import * as xds from "@grpc/grpc-js-xds"
import * as Caller from "./Caller.js"
import { calling } from "./GrpcJs.js"

xds.register()
Caller.serve(() => calling("xds:///shop"))
