import { create, type JsonObject, toBinary, toJson, toJsonString } from "@bufbuild/protobuf"
import { type Any, anyPack, AnySchema } from "@bufbuild/protobuf/wkt"
import { toText } from "@bufbuild/protobuf/txtpb"
import { describe, expect, it } from "@effect/vitest"
import { Redaction, SensitiveFields, TypeRegistry } from "@effect-xds/proto"
import * as MessageRedaction from "@effect-xds/proto/MessageRedaction"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import { UpstreamTlsContextSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/tls"
import { TypedStructSchema as OldTypedStructSchema } from "@effect-xds/proto/udpa/type/v1/typed_struct"
import { TypedStructSchema } from "@effect-xds/proto/xds/type/v3/typed_struct"
import { generateKeyPairSync, randomBytes } from "node:crypto"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 1024,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" }
})

const secret = (inline: string) =>
  create(SecretSchema, {
    name: "edge-certificate",
    type: {
      case: "tlsCertificate",
      value: {
        certificateChain: { specifier: { case: "filename", value: "/etc/tls/chain.pem" } },
        privateKey: { specifier: { case: "inlineString", value: inline } }
      }
    }
  })

const clusterOf = (typedConfig: Any) =>
  create(ClusterSchema, {
    name: "backend",
    transportSocket: { name: "tls", configType: { case: "typedConfig", value: typedConfig } }
  })

const valuesIn = (cluster: Cluster): ReadonlyArray<string> =>
  SensitiveFields.values(ClusterSchema.typeName, toBinary(ClusterSchema, cluster)).map(textOf)

/** An `UpstreamTlsContext` as JSON. */
const typedTls: JsonObject = {
  sni: "backend.example",
  common_tls_context: {
    tls_certificates: [
      {
        certificate_chain: { filename: "/etc/tls/chain.pem" },
        private_key: { filename: "/etc/tls/key.pem", watched_directory: { path: "/etc/tls" } },
        password: { inline_string: "short" }
      },
      { privateKey: { inlineBytes: "c2Vzc2lvbiBrZXk=" } },
      {
        private_key_provider: {
          provider_name: "p",
          typed_config: { "@type": "example.Provider", login: "of a provider" }
        }
      }
    ]
  }
}

/** An `Any` as JSON: with another in it, and with a `TypedStruct`. */
const inJson: JsonObject = {
  "@type": `type.googleapis.com/${UpstreamTlsContextSchema.typeName}`,
  password: "in an Any",
  own: { "@type": "example.Rule", login: "unknown", of: "tiny" },
  any: {
    "@type": "type.googleapis.com/google.protobuf.Any",
    value: {
      "@type": `type.googleapis.com/${TypedStructSchema.typeName}`,
      typeUrl: UpstreamTlsContextSchema.typeName,
      value: { password: "in an Any", sni: "backend.example" }
    }
  },
  address: { "@type": "type.googleapis.com/envoy.config.core.v3.Address", password: "no secret" }
}

describe("values of sensitive fields", () => {
  it("are found in secrets, in extensions inside of other messages, and in unknown types", () => {
    const bytes = toBinary(SecretSchema, secret(privateKey))
    expect(SensitiveFields.values(SecretSchema.typeName, bytes).map(textOf)).toEqual([privateKey])

    const context = create(UpstreamTlsContextSchema, {
      sni: "backend.example",
      commonTlsContext: {
        tlsCertificates: [{ password: { specifier: { case: "inlineBytes", value: utf8("open sesame") } } }]
      }
    })
    const cluster = create(ClusterSchema, {
      name: "backend",
      transportSocket: {
        name: "tls",
        configType: { case: "typedConfig", value: anyPack(UpstreamTlsContextSchema, context) }
      }
    })
    const inCluster = SensitiveFields.values(
      `type.googleapis.com/${ClusterSchema.typeName}`,
      toBinary(ClusterSchema, cluster)
    )
    expect(inCluster.map(textOf)).toEqual(["open sesame"])

    const unknown = SensitiveFields.values("example.Config", toBinary(SecretSchema, secret("a password")))
    expect(unknown.map(textOf)).toContain("a password")
    expect(SensitiveFields.values(SecretSchema.typeName, utf8("no message")).map(textOf)).toEqual(["no message"])
  })

  it("are not the names of files and variables that hold secrets", () => {
    const named = create(SecretSchema, {
      type: { case: "genericSecret", value: { secret: { specifier: { case: "filename", value: "/run/secret" } } } }
    })
    expect(SensitiveFields.values(SecretSchema.typeName, toBinary(SecretSchema, named))).toEqual([])
  })

  it("are found in an Any in an Any", () => {
    const outer = anyPack(AnySchema, anyPack(SecretSchema, secret("a password")))
    expect(valuesIn(clusterOf(outer))).toEqual(["a password"])
    expect(SensitiveFields.canHold(AnySchema.typeName)).toBe(true)
    const broken = anyPack(AnySchema, create(AnySchema))
    broken.value = utf8("no message")
    expect(valuesIn(clusterOf(broken))).toEqual(["no message"])
  })

  for (const schema of [TypedStructSchema, OldTypedStructSchema]) {
    const packed = (typeName: string, value: JsonObject): Any =>
      anyPack(schema, create(schema, { typeUrl: `type.googleapis.com/${typeName}`, value }))

    it(`are found by the names of fields in a ${schema.typeName} of a known type, and not beside them`, () => {
      expect(SensitiveFields.canHold(schema.typeName)).toBe(true)
      expect(valuesIn(clusterOf(packed(UpstreamTlsContextSchema.typeName, typedTls)))).toEqual([
        "short",
        "c2Vzc2lvbiBrZXk=",
        "session key",
        "of a provider"
      ])
      expect(
        valuesIn(clusterOf(packed(ClusterSchema.typeName, { transport_socket: { typed_config: inJson } })))
      ).toEqual(["in an Any", "unknown", "in an Any"])
      // One that can hold nothing sensitive.
      expect(valuesIn(clusterOf(packed("envoy.config.core.v3.Address", { password: "a password" })))).toEqual([])
    })

    it(`are all texts in a ${schema.typeName} of a type that is not known, and what is no such message`, () => {
      const own = { rules: [{ login: "a password", of: "tiny", "@type": "example.Rule" }], "a long name": 1 }
      expect(valuesIn(clusterOf(packed("example.Config", own)))).toEqual(["a password"])
      expect(valuesIn(clusterOf(packed("", own)))).toEqual(["a password"])
      const broken = packed("example.Config", {})
      broken.value = utf8("no message")
      expect(valuesIn(clusterOf(broken))).toEqual(["no message"])
    })

    it(`are not shown in a ${schema.typeName}`, async () => {
      const shown = async (any: Any): Promise<unknown> => {
        const cluster = clusterOf(any)
        await MessageRedaction.redact(ClusterSchema, cluster)
        const registry = await TypeRegistry.forMessage(ClusterSchema, cluster)
        return toJson(ClusterSchema, cluster, { registry })
      }
      const known = JSON.stringify(await shown(packed(UpstreamTlsContextSchema.typeName, typedTls)))
      for (const gone of ["short", "c2Vzc2lvbiBrZXk=", "of a provider"]) expect(known).not.toContain(gone)
      for (const kept of ["backend.example", "/etc/tls/chain.pem", "common_tls_context"]) expect(known).toContain(kept)
      expect(await shown(packed("example.Config", { login: "a password", limit: 5 }))).toMatchObject({
        transportSocket: {
          typedConfig: { typeUrl: "type.googleapis.com/example.Config", value: { login: "[redacted]", limit: 5 } }
        }
      })
    })
  }

  it("are those that the descriptors mark: the table fits them", async () => {
    const script = fileURLToPath(new URL("../scripts/sensitive.mjs", import.meta.url))
    const checked = promisify(execFile)(process.execPath, [script, "--check"], { timeout: 120_000 })
    await expect(checked, "run packages/proto/scripts/sensitive.mjs").resolves.toBeDefined()
  })
})

/** No run of eight characters of the secret, whatever their case. */
const expectGone = (shown: string, secret: string): void => {
  const low = shown.toLowerCase()
  // The first and last lines of PEM are no secret.
  const planted = secret.replace(/-----(BEGIN|END)[^-]*-----/g, " ")
  for (let at = 0; at + 8 <= planted.length; at++) {
    const piece = planted.slice(at, at + 8).toLowerCase()
    if (/\s/.test(piece)) continue
    expect(low.includes(piece), `${piece} in ${shown}`).toBe(false)
  }
}

const password = 'Tr0ub4dor&3 "quoted" \\back\\ über\tTab/%2F, and correct horse battery staple'

const encodings: ReadonlyArray<readonly [string, (text: string) => string]> = [
  ["as it is", (text) => text],
  ["as JSON", (text) => JSON.stringify(text)],
  ["as JSON in JSON", (text) => JSON.stringify(JSON.stringify(text))],
  [
    "escaped as in C",
    (text) =>
      Array.from(Buffer.from(text), (byte) =>
        byte === 0x22 || byte === 0x5c
          ? `\\${String.fromCharCode(byte)}`
          : byte >= 0x20 && byte < 0x7f
            ? String.fromCharCode(byte)
            : `\\${byte.toString(8).padStart(3, "0")}`
      ).join("")
  ],
  ["in a URL", (text) => encodeURIComponent(text)],
  ["in base64", (text) => Buffer.from(text).toString("base64")],
  ["in base64url", (text) => Buffer.from(text).toString("base64url")],
  ["in base64 of something larger", (text) => Buffer.from(`x${text}y`).toString("base64")],
  ["in base64 of something larger still", (text) => Buffer.from(`xy${text}`).toString("base64")],
  ["in hexadecimal", (text) => Buffer.from(text).toString("hex")],
  ["in upper case", (text) => Buffer.from(text).toString("hex").toUpperCase()],
  ["line by line", (text) => text.split("\n").join("\n   | ")]
]

describe("a text that quotes a secret", () => {
  for (const planted of [privateKey, password]) {
    for (const [name, encode] of encodings) {
      it(`keeps none of ${planted === privateKey ? "a key" : "a password"} that stands there ${name}, also cut`, () => {
        const quote = encode(planted)
        const middle = quote.slice(Math.floor(quote.length / 3), Math.floor((quote.length * 2) / 3))
        for (const said of [`bad value ${quote}, sorry`, `bad value ${quote.slice(0, -9)}`, `…${middle}… is wrong`]) {
          const shown = Redaction.values(said, [utf8(planted)])
          expect(shown).toContain("[redacted]")
          expectGone(shown, planted)
          expectGone(shown, quote.replaceAll("\n   | ", " "))
        }
      })
    }
  }

  it("keeps none of it in the text format and in JSON of the whole message", async () => {
    const message = secret(privateKey)
    const registry = await TypeRegistry.forMessage(SecretSchema, message)
    for (const said of [
      toText(SecretSchema, message, { registry }),
      toJsonString(SecretSchema, message, { registry }),
      Buffer.from(toBinary(SecretSchema, message)).toString("base64")
    ]) {
      const shown = Redaction.values(
        said,
        SensitiveFields.values(SecretSchema.typeName, toBinary(SecretSchema, message))
      )
      expectGone(shown, privateKey)
    }
  })

  it("keeps none of a key of bytes", () => {
    const key = randomBytes(48)
    for (const said of [key.toString("base64"), key.toString("hex")]) {
      expect(Redaction.values(`ticket key ${said}`, [key])).toBe("ticket key [redacted]")
    }
  })

  it("keeps everything else, and says where something was", () => {
    const said = `Error adding/updating cluster(s) backend: Failed to load private key from <inline>: ${JSON.stringify(password)}; see line 17`
    expect(Redaction.values(said, [utf8(password), utf8(privateKey)])).toBe(
      'Error adding/updating cluster(s) backend: Failed to load private key from <inline>: "[redacted]"; see line 17'
    )
  })

  it("loses short secrets where they stand alone, and the beginnings of secrets at its end", () => {
    expect(Redaction.values("password ab is wrong, about", [utf8("ab")])).toBe("password [redacted] is wrong, about")
    expect(Redaction.values("the word is hunt…", [utf8("hunter2")])).toBe("the word is [redacted]…")
    expect(Redaction.values("er2 was it", [utf8("hunter2hunter2")])).toBe("er2 was it")
    expect(Redaction.values("nter2 was it", [utf8("hunter2hunter2")])).toBe("[redacted] was it")
  })

  it("loses the beginning of a secret where it is too long to be kept, and says how much is left out", () => {
    const end = "… (26 more characters are left out)"
    for (const kept of [4, 5, 6, 7, 8]) {
      const said = `${"x ".repeat(8_192).slice(0, 16_384 - kept)}${password.slice(0, kept)}${"y".repeat(26)}`
      const shown = Redaction.values(said, [utf8(password)])
      expect(shown.endsWith(`[redacted]${end}`), shown.slice(-99)).toBe(true)
      expect(shown).not.toContain("Tr0u")
    }
    const cutField = `${"x ".repeat(8_185)}password: "y${"z".repeat(28)}`
    for (const shown of [Redaction.text(cutField), Redaction.strict(cutField)]) {
      expect(shown.endsWith(`password: "[redacted]"${end}`), shown.slice(-99)).toBe(true)
    }
  })

  it("loses short secrets in other words too, and keeps what only begins or ends like one", () => {
    const short = ["hunt", "quick", "zephyr", "juniper"]
    for (const [said, shown] of [
      ["not xhuntx, nor is xquickx", "not x[redacted]x, nor is x[redacted]x"],
      ["not xzephyrx, nor is xjuniperx", "not x[redacted]x, nor is x[redacted]x"],
      ["not JUNIPER, and neither is it jun\\151per", "not [redacted], and neither is it [redacted]"]
    ] as const) {
      expect(Redaction.values(said, short.map(utf8))).toBe(shown)
    }
    const harmless = "huns, uick, zephyx, juniner, unipers are words"
    expect(Redaction.values(harmless, short.map(utf8))).toBe(harmless)
    for (const each of short) {
      // The last digit may be of what follows, too.
      const digits = Buffer.from(each)
        .toString("base64")
        .slice(0, Math.floor((each.length * 8) / 6))
      const said = `the bytes ${digits} and more of them`
      expect(Redaction.values(said, [utf8("another"), utf8(each)]), each).toBe("the bytes [redacted] and more of them")
    }
    expect(Redaction.values("a, ab, abc: ab-abc", ["ab", "abc", "b"].map(utf8))).toBe(
      "a, [redacted], [redacted]: [redacted]-[redacted]"
    )
  })

  /** Milliseconds. Other threads of the process are counted, too: what it takes is the least of several. */
  const taken = (work: () => void): number => {
    const once = (): number => {
      const before = process.cpuUsage()
      work()
      const { system, user } = process.cpuUsage(before)
      return (user + system) / 1_000
    }
    return Math.min(once(), once(), once())
  }

  it("takes little time, however the text is made", () => {
    const secrets = Array.from({ length: 60 }, () => utf8(randomBytes(700).toString("base64")))
    for (const said of ["A".repeat(20_000), '"a\\'.repeat(6_000), 'secret=\\"'.repeat(2_000), "\\u00".repeat(5_000)]) {
      const spent = taken(() => {
        Redaction.values(said, secrets)
        Redaction.strict(said)
      })
      expect(spent).toBeLessThan(400)
    }
  })

  it("takes little time, however many short secrets there are", () => {
    for (const length of [3, 4, 5, 6, 7]) {
      // They all begin like the words of the text, or they all end so.
      const numbered = Array.from({ length: 5_000 }, (_, index) => index.toString(36).padStart(3, "a"))
      const secrets = numbered.flatMap((number) =>
        [`aaaa${number}`.slice(-length), `${number}aaaa`.slice(0, length)].map(utf8)
      )
      for (const said of ["the resource is not valid; ".repeat(600), "a".repeat(16_000), ".aaa".repeat(4_000)]) {
        const spent = taken(() => Redaction.values(said, secrets))
        expect(spent, `${length} bytes, ${said.slice(0, 20)}`).toBeLessThan(150)
      }
    }
  })

  it("is reduced to words where there is more to look for than time", () => {
    const many = Array.from({ length: 40 }, () => randomBytes(4_096))
    const shown = Redaction.values('cluster backend rejects "x1y2z3w4v5" or x1y2z3w4v5 in 17 places', many)
    expect(shown).toBe("cluster backend rejects [redacted] or [redacted] in 17 places")
  })
})

describe("a text of which nothing is known", () => {
  it("loses private keys and the values of fields that are named like secrets", () => {
    expectGone(Redaction.text(`no key:\n${privateKey.slice(0, 400)}`), privateKey.slice(0, 400))
    for (const said of [
      'private_key { inline_string: "hunter2hunter2" }',
      '{"privateKey":{"inlineString":"hunter2hunter2"}}',
      '"{\\"inline_bytes\\":\\"hunter2hunter2\\"}"',
      "inline_string: hunter2hunter2",
      'password: "hunter2hunter2',
      "authorization: Bearer hunter2hunter2",
      "got Basic hunter2hunter2=="
    ]) {
      expect(Redaction.text(said)).not.toContain("hunter2")
      expect(Redaction.text(said)).toContain("[redacted]")
    }
    expect(Redaction.text("the password is wrong; private key: not there")).toBe(
      "the password is wrong; private key: not there"
    )
  })
})

it("a message is shown without what its sensitive fields hold", async () => {
  const message = secret(privateKey)
  await MessageRedaction.redact(SecretSchema, message)
  const shown = toJsonString(SecretSchema, message)
  expect(shown).toContain("[redacted]")
  expect(shown).toContain("/etc/tls/chain.pem")
  expectGone(shown, privateKey)
})
