/** The flags of the interop test client, as those of gRPC have them. */
import { Code } from "@connectrpc/connect"
import type { Metadata } from "./Calls.js"
import * as Flags from "./Flags.js"
import type { Method } from "./Testing.js"
import { RpcType } from "./Testing.js"

const isMethod = (name: string): name is Method => name in RpcType

/** `DEADLINE_EXCEEDED`. */
export const nameOf = (status: number): string =>
  status === 0 ? "OK" : (Code[status] ?? String(status)).replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()

const statuses = new Map(Array.from({ length: 17 }, (_, status) => [nameOf(status), status]))

const methodsOf = (text: string): ReadonlyArray<Method> | undefined => {
  const names = text.split(",")
  const methods = names.filter(isMethod)
  return methods.length === names.length ? methods : undefined
}

const metadataOf = (text: string): ReadonlyArray<Metadata> | undefined => {
  const entries = text.split(",").filter((entry) => entry !== "")
  const metadata = entries.flatMap((entry) => {
    const [, method = "", key = "", value = ""] = /^(\w+):([^:]+):(.*)$/.exec(entry) ?? []
    return isMethod(method) ? [{ method, key, value }] : []
  })
  return metadata.length === entries.length ? metadata : undefined
}

export const flags = {
  server: Flags.of({
    fallback: "",
    standard: "",
    value: "xds:///NAME",
    wanted: "a target of xDS, as xds:///shop",
    help: "what is called. It has to be given",
    read: (text) => (text.startsWith("xds:") ? text : undefined)
  }),
  stats_port: Flags.whole(8081, "where the statistics are served; 0 is any port", { most: 65_535 }),
  qps: Flags.whole(1, "calls of each method that a channel makes in a second", { least: 1, most: 100_000 }),
  num_channels: Flags.whole(1, "channels", { least: 1, most: 1_000 }),
  rpc: Flags.of<ReadonlyArray<Method>>({
    fallback: ["UnaryCall"],
    standard: "UnaryCall",
    value: "METHODS",
    wanted: "UnaryCall, EmptyCall or both, with a comma between them",
    help: "what is called at first: UnaryCall, EmptyCall or both, with a comma between them",
    read: methodsOf
  }),
  metadata: Flags.of<ReadonlyArray<Metadata>>({
    fallback: [],
    standard: "",
    value: "METADATA",
    wanted: "METHOD:KEY:VALUE, with commas between several",
    help: "headers of calls at first: METHOD:KEY:VALUE, with commas between several",
    read: metadataOf
  }),
  rpc_timeout_sec: Flags.whole(20, "how long a call may take at first", { least: 1 }),
  expect_status: Flags.of({
    fallback: 0,
    standard: "OK",
    value: "STATUS",
    wanted: "the name of a status, as OK or UNAVAILABLE",
    help: "the status of a call that succeeds, by its name",
    read: (text) => statuses.get(text)
  }),
  fail_on_failed_rpc: Flags.yesOrNo("ends with 1 when a call fails after one has succeeded"),
  print_response: Flags.yesOrNo("prints a line for each call"),
  request_payload_size: Flags.whole(0, "bytes that a UnaryCall sends"),
  response_payload_size: Flags.whole(0, "bytes that a UnaryCall asks for"),
  secure_mode: Flags.yesOrNo("makes no difference here: a cluster that says TLS is called over TLS")
}
