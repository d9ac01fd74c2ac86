// Which package may import which. The arrows of the design, one rule per layer; tests and benchmarks are free.
const src = (...names) => `^packages/(${names.join("|")})/src/`
const packages = (...names) => `^packages/(${names.join("|")})/`
const others = (...allowed) => ({ path: "^packages/", pathNot: packages(...allowed) })

const may = (name, ...allowed) => ({
  name: `arrows-of-${name.replace(/\W+/g, "-")}`,
  comment: `${name} may import only ${[name, ...allowed].join(", ")}`,
  severity: "error",
  from: { path: src(name) },
  to: others(name, ...allowed)
})

module.exports = {
  forbidden: [
    { name: "no-cycle", severity: "error", from: {}, to: { circular: true, dependencyTypesNot: ["type-only"] } },
    { name: "not-found", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "no-test-code",
      comment: "Nothing imports tests but tests",
      severity: "error",
      from: { pathNot: "/test/" },
      to: { path: "^(packages|examples)/[^/]+/test/" }
    },
    {
      name: "no-test-library-while-running",
      comment:
        "effect's index and its Schema load fast-check, and @effect/platform loads Schema: only what mounts in an HTTP " +
        "application of @effect/platform may, and it is in no index",
      severity: "error",
      from: {
        path: "^packages/[^/]+/src/",
        pathNot:
          "^packages/(testing/|transport-rest/src/RestApp[.]ts|connect-xds/src/XdsHttpClient[.]ts|admin/src/AdminApp[.]ts)"
      },
      to: {
        path: [
          "/effect/dist/.*/(index|Schema|Arbitrary|FastCheck)[.](d[.]ts|js)$",
          "/@effect/(platform|platform-node|vitest)/",
          "/(fast-check|vitest)/",
          "^packages/(transport-rest/src/RestApp|admin/src/AdminApp|connect-xds/src/XdsHttpClient)[.]ts"
        ],
        dependencyTypesNot: ["type-only"]
      }
    },
    may("proto"),
    may("proto-v2", "proto"),
    may("re2"),
    may("validate", "proto", "re2"),
    may("core", "proto"),
    may("discovery", "core", "proto", "re2"),
    may("discovery-node", "discovery", "routing", "client", "transport", "transport-node", "core", "proto"),
    may("connect-xds", "client", "core", "discovery", "discovery-node", "routing", "proto", "transport"),
    may("routing", "core", "proto", "discovery", "re2"),
    may("transport", "core"),
    {
      name: "ports-need-no-node",
      comment: "The ports run wherever Effect does: what needs Node is in transport-node",
      severity: "error",
      from: { path: src("transport") },
      to: { dependencyTypes: ["core"] }
    },
    may("transport-node", "transport", "core", "proto"),
    {
      name: "arrows-of-transports",
      comment: "A transport sees the ports, what Node needs, the core and proto, and no other transport",
      severity: "error",
      from: { path: "^packages/(transport-[^/]+)/src/", pathNot: "^packages/transport-node/" },
      to: { path: "^packages/", pathNot: "^packages/($1|transport|transport-node|core|proto)/" }
    },
    may("server", "transport", "transport-node", "core", "proto", "validate"),
    may("store-sql", "server", "transport", "core", "proto"),
    may("admin", "server", "transport", "transport-node", "core", "proto"),
    may("client", "transport", "transport-node", "core", "proto", "routing", "validate"),
    {
      name: "arrows-of-testing",
      comment: "testing may see all but the real transports, the command line and examples",
      severity: "error",
      from: { path: src("testing") },
      to: { path: "^(packages/(transport-(?!node/)[^/]+|cli)|examples)/" }
    },
    {
      name: "no-way-up",
      comment: "Packages do not import examples or benchmarks",
      severity: "error",
      from: { path: "^packages/" },
      to: { path: "^(examples|benchmarks)/" }
    }
  ],
  options: {
    doNotFollow: { path: ["node_modules", "^packages/proto(-v2)?/gen/"] },
    // Of the repository only: what a package in node_modules is made of is looked for by rules.
    exclude: { path: ["^((packages|examples)/[^/]+|benchmarks)/dist/"] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.base.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@effect-xds/source", "import", "node", "types", "default"]
    }
  }
}
