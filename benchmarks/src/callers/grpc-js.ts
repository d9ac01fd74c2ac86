/** grpc-js without xDS, to one server. */
import * as Caller from "./Caller.js"
import { calling } from "./GrpcJs.js"

Caller.serve(({ server }) => calling(server))
