/**
 * `effect-xds serve DIR`: a control plane whose resources are the files of a directory.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as GroupBy from "../GroupBy.js"

const port = (name: string, description: string) =>
  Options.integer(name).pipe(
    Options.filterMap(
      (value) => (value >= 0 && value <= 65_535 ? Option.some(value) : Option.none()),
      `--${name} is a number from 0 (any free port) to 65535`
    ),
    Options.withDescription(description)
  )

const file = (name: string, description: string) =>
  Options.text(name).pipe(Options.withPseudoName("FILE"), Options.withDescription(description), Options.optional)

const options = {
  directory: Args.text({ name: "DIR" }).pipe(
    Args.withDescription("Files with resources: .yaml, .json, .txtpb, .pb; each subdirectory is a group")
  ),
  host: Options.text("host").pipe(
    Options.withDescription("Address to serve gRPC and REST on; 0.0.0.0 for every interface. Default: 127.0.0.1"),
    Options.withDefault("127.0.0.1")
  ),
  port: port("port", "Port of gRPC, gRPC-Web and Connect; 0 for any free one. Default: 18000").pipe(
    Options.withDefault(18_000)
  ),
  restPort: port("rest-port", "Serves REST, polling and long polling, on this port").pipe(Options.optional),
  adminHost: Options.text("admin-host").pipe(
    Options.withDescription("Address of the admin port; who reaches it can read what is served. Default: 127.0.0.1"),
    Options.withDefault("127.0.0.1")
  ),
  adminPort: port("admin-port", "Port of /healthz, /readyz, /metrics, /status and /config_dump. Default: 18090").pipe(
    Options.withDefault(18_090)
  ),
  adminAllowHost: Options.text("admin-allow-host").pipe(
    Options.withPseudoName("NAME"),
    Options.withDescription(
      "A name by which the admin port may be asked for, beside localhost and its address; repeatable"
    ),
    Options.repeated
  ),
  noAdmin: Options.boolean("no-admin").pipe(Options.withDescription("No admin port")),
  filesOut: Options.text("files-out").pipe(
    Options.withPseudoName("DIR"),
    Options.withDescription("Also writes each group as files for Envoy's path_config_source"),
    Options.optional
  ),
  groupBy: Options.text("group-by").pipe(
    Options.filterMap(
      (text) => Option.map(Option.fromNullable(GroupBy.parse(text)), (by) => ({ text, by })),
      "--group-by is cluster, id or metadata.KEY"
    ),
    Options.withPseudoName("cluster|id|metadata.KEY"),
    Options.withDescription(
      "Which property of a node names its group, that is its subdirectory. Default: cluster; and without subdirectories every node is served the files there are"
    ),
    Options.optional
  ),
  tlsCert: file("tls-cert", "Serves with TLS: the certificate and its chain, as PEM"),
  tlsKey: file("tls-key", "The private key, as PEM"),
  tlsClientCa: file("tls-client-ca", "Mutual TLS: clients must have a certificate that this authority signed"),
  allow: Options.text("allow").pipe(
    Options.withPseudoName("IDENTITY=GROUP"),
    Options.withDescription(
      "With --tls-client-ca: who has this name in its certificate may read the group; repeatable. IDENTITY: spiffe://…, URI:…, DNS:…, IP:…, email:…, CN:… or *"
    ),
    Options.repeated
  ),
  allowFile: file(
    "allow-file",
    "The same as a file, YAML: identity to group or list of groups; read again when it changes"
  ),
  logFormat: Options.choice("log-format", ["pretty", "json"]).pipe(
    Options.withDescription("Of the log, which goes to the standard error. Default: pretty"),
    Options.withDefault("pretty")
  )
}

const details = HelpDoc.blocks([
  HelpDoc.p("Serves the resources in the files of a directory to Envoy and gRPC, and goes on as the files change."),
  HelpDoc.p(
    "A file that is wrong leaves what it held in force; the log says where and what is wrong. Ctrl-C ends it orderly."
  ),
  HelpDoc.p("effect-xds serve ./config"),
  HelpDoc.p("effect-xds serve ./config --host 0.0.0.0 --rest-port 18001 --group-by id"),
  HelpDoc.p(
    "effect-xds serve ./config --tls-cert cert.pem --tls-key key.pem --tls-client-ca clients-ca.pem --allow 'spiffe://corp/edge=edge'"
  )
])

/**
 * The command.
 *
 * @since 0.1.0
 */
export const serve = Command.make("serve", options, (config) =>
  Effect.gen(function* () {
    const { run } = yield* Effect.promise(() => import("../Serving.js"))
    yield* run({
      ...config,
      restPort: Option.getOrUndefined(config.restPort),
      filesOut: Option.getOrUndefined(config.filesOut),
      groupBy: Option.getOrUndefined(config.groupBy),
      tlsCert: Option.getOrUndefined(config.tlsCert),
      tlsKey: Option.getOrUndefined(config.tlsKey),
      tlsClientCa: Option.getOrUndefined(config.tlsClientCa),
      allowFile: Option.getOrUndefined(config.allowFile)
    })
  })
).pipe(Command.withDescription(details))
