/**
 * `effect-xds serve DIR`: a control plane whose resources are the files of a directory.
 *
 * @since 0.1.0
 */
import * as CommandLine from "../CommandLine.js"
import * as GroupBy from "../GroupBy.js"
import { storeOption } from "./StoreOptions.js"
import { apiOption } from "./TargetOptions.js"

const parsePort = (text: string): number | undefined => {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  return port >= 0 && port <= 65_535 ? port : undefined
}

const parseBytes = (text: string): number | undefined => (/^[1-9]\d{3,9}$/.test(text) ? Number(text) : undefined)

const port = <A extends number | undefined>(description: string, initial: A) =>
  CommandLine.parsed("PORT", description, initial, parsePort, "a number from 0 (any free port) to 65535")

/** ★ Nothing is every interface to Node; who has left a variable unset does not mean that. */
const host = (description: string) =>
  CommandLine.parsed(
    "ADDRESS",
    description,
    "127.0.0.1",
    (text) => (text.trim() === "" ? undefined : text),
    "an address, such as 127.0.0.1; 0.0.0.0 is every interface"
  )

/** Of a Unix socket, in gRPC's syntax; the path is what comes behind `unix:` or `unix://`. */
const parseSocket = (text: string): string | undefined => /^unix:(?:\/\/(?=\/))?([^\0]+)$/.exec(text)?.[1]

const socket = (description: string) =>
  CommandLine.parsed("unix:PATH", description, undefined, parseSocket, "unix: and a path, as unix:/run/xds.sock")

/**
 * The command.
 *
 * @since 0.1.0
 */
export const serve = CommandLine.command({
  name: "serve",
  summary: "serves the resources in the files of a directory to Envoy and gRPC",
  details: [
    "It goes on as the files change. A file that is wrong leaves what it held in force; the log says where and what is " +
      "wrong. Ctrl-C ends it orderly."
  ],
  examples: [
    "effect-xds serve ./config",
    "effect-xds serve ./config --host 0.0.0.0 --rest-port 18001 --group-by id",
    "effect-xds serve ./config --listen unix:/run/xds.sock",
    "effect-xds serve ./config --group-rules refuse-errors --off endpoint-port",
    "effect-xds serve ./config --store sqlite:xds.db",
    "effect-xds serve ./config --tls-cert cert.pem --tls-key key.pem \\\n" +
      "      --tls-client-ca clients-ca.pem --allow 'spiffe://corp/edge=edge'"
  ],
  endsOrderly: true,
  isEndless: true,
  arguments: {
    directory: CommandLine.optionalArgument(
      "DIR",
      "Files with resources: .yaml, .json, .txtpb, .pb; each subdirectory is a group. With --store it may be left out",
      ""
    )
  },
  options: {
    api: apiOption,
    host: host("Address to serve gRPC and REST on; 0.0.0.0 for every interface. Default: 127.0.0.1"),
    port: port("Port of gRPC, gRPC-Web and Connect; 0 for any free one. Default: 18000", 18_000),
    listen: socket(
      "Serves gRPC, gRPC-Web and Connect on this Unix socket and on no port; who may write to it may read all"
    ),
    noHttp1: CommandLine.flag(
      "HTTP/2 only on the port of gRPC: no gRPC-Web and Connect over HTTP/1.1, as browsers without TLS speak it; new connections " +
        "cost a tenth less"
    ),
    restPort: port("Serves REST, polling and long polling, on this port", undefined),
    restListen: socket("The same on this Unix socket"),
    adminHost: host("Address of the admin port; who reaches it can read what is served. Default: 127.0.0.1"),
    adminPort: port("Port of /healthz, /readyz, /metrics, /status and /config_dump. Default: 18090", 18_090),
    adminListen: socket("The same on this Unix socket and on no port"),
    adminAllowHost: CommandLine.texts(
      "NAME",
      "A name by which the admin port may be asked for, beside localhost and its address; repeatable"
    ),
    maxResponseBytes: CommandLine.parsed(
      "BYTES",
      "Larger responses go out in parts where that may be; of others the log warns. Default: 4000000, what gRPC clients take",
      4_000_000,
      parseBytes,
      "a number of bytes from 1000 to 9999999999"
    ),
    validate: CommandLine.choice(
      ["refuse", "warn", "off"],
      "A resource that breaks a rule of Envoy's API: leaves its whole group as it was, is served with a warning, or is not " +
        "looked at. Default: refuse",
      "refuse"
    ),
    groupRules: CommandLine.choice(
      ["refuse", "refuse-errors", "warn", "off"],
      "A change that breaks a rule over the resources of a group together, such as a reference that leads nowhere: leaves the " +
        "group as it was, the same if clients would refuse it, is served with a warning, or is not looked at. " +
        "`validate --list-rules` lists them. Default: warn",
      "warn"
    ),
    off: CommandLine.texts("RULE", "Leaves one of those rules out, by its name; repeatable"),
    noReferences: CommandLine.flag("Does not ask for the resources that are referred to: they come from elsewhere"),
    noAdmin: CommandLine.flag("No admin port"),
    noCompilerBudget: CommandLine.flag(
      "V8 optimizes as it always does. By default it does so later in the first minute, on Node 20 and 22: many clients that " +
        "come at once then cost less"
    ),
    noHeapGrowth: CommandLine.flag(
      "V8 collects garbage as it always does. By default its heap may grow to some 150 MB at first until it goes through all of " +
        "it, on Node 20 and 22: many clients that come at once then cost less"
    ),
    filesOut: CommandLine.text("DIR", "Also writes each group as files for Envoy's path_config_source", undefined),
    store: storeOption(
      "Keeps the groups there, and serves what is there: the files of DIR are put into it, and other processes with " +
        "the same URL serve and change it, too"
    ),
    groupBy: CommandLine.parsed(
      "cluster|id|metadata.KEY",
      "Which property of a node names its group, that is its subdirectory. Default: cluster; and without " +
        "subdirectories every node is served the files there are",
      undefined,
      (text) => {
        const by = GroupBy.parse(text)
        return by === undefined ? undefined : { text, by }
      },
      "cluster, id or metadata.KEY"
    ),
    tlsCert: CommandLine.text("FILE", "Serves with TLS: the certificate and its chain, as PEM", undefined),
    tlsKey: CommandLine.text("FILE", "The private key, as PEM", undefined),
    tlsClientCa: CommandLine.text(
      "FILE",
      "Mutual TLS: clients must have a certificate that this authority signed",
      undefined
    ),
    allow: CommandLine.texts(
      "IDENTITY=GROUP",
      "With --tls-client-ca: who has this name in its certificate may read the group; repeatable. IDENTITY: spiffe://…, " +
        "URI:…, DNS:…, IP:…, email:…, CN:… or *"
    ),
    allowFile: CommandLine.text(
      "FILE",
      "The same as a file, YAML: identity to group or list of groups; read again when it changes",
      undefined
    ),
    logFormat: CommandLine.choice(
      ["pretty", "json"],
      "Of the log, which goes to the standard error. Default: pretty",
      "pretty"
    ),
    logLevel: CommandLine.choice(
      ["debug", "info", "warning", "error", "none"],
      "What is logged: this and what is worse. Default: info",
      "info"
    )
  },
  load: async (values) => {
    const serving = import("../Serving.js")
    // While the rest is loaded V8 goes through the heap for the first time, and it is to know before.
    if (!values.noHeapGrowth) (await import("@effect-xds/transport-node/HeapGrowth")).raise()
    return (await serving).run(values)
  }
})
