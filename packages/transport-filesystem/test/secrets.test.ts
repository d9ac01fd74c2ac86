import { describe, expect, it } from "@effect/vitest"
import { ResourceFile } from "@effect-xds/transport-filesystem"
import { Effect } from "effect"

const secret = "hunter2Tr0ub4dor"
const word = "correcthorse"

const type = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

/** What people see of a file with a mistake. */
const said = (file: string, text: string) =>
  Effect.map(
    Effect.flip(ResourceFile.parseResources({ file, bytes: new TextEncoder().encode(text) })),
    (error) => `${error.message} ${JSON.stringify(error)}`
  )

const yaml = (password: string) =>
  `"@type": ${type}\nname: edge\ntls_certificate:\n  password:\n    inline_string: ${password}\n`
const json = (password: string) => `{"@type": "${type}", "name": "edge", "tls_certificate": {"password": ${password}}}`
const text = (password: string) =>
  `# proto-message: envoy.extensions.transport_sockets.tls.v3.Secret\nname: "edge"\ntls_certificate { password { inline_string: ${password} } }\n`

const mistakes: ReadonlyArray<readonly [name: string, file: string, text: (planted: string) => string]> = [
  ["YAML: a password that reads as a tag", "a.yaml", (planted) => yaml(`!${planted}`)],
  ["YAML: a password that reads as an alias", "a.yaml", (planted) => yaml(`*${planted}`)],
  ["YAML: an alias inside of its anchor", "a.yaml", (planted) => yaml(`&${planted}\n      a: *${planted}`)],
  ["YAML: a secret as a key, twice", "a.yaml", (planted) => yaml(`a\n    "${planted} ": a\n    "${planted} ": a`)],
  [
    "YAML: another mistake before it",
    "a.yaml",
    (planted) => yaml("a").replace("name: edge", "name: 17").replace("inline_string", planted)
  ],
  ["YAML: a password that reads as the head of a block", "a.yaml", (planted) => yaml(`|${planted}`)],
  ["YAML: a password with a colon", "a.yaml", (planted) => yaml(`${planted}: ${planted}`)],
  ["YAML: a quote in quotes", "a.yaml", (planted) => yaml(`"${planted}"${planted}"`)],
  ["YAML: an escape that is none", "a.yaml", (planted) => yaml(`"\\${planted}"`)],
  ["YAML: a bracket", "a.yaml", (planted) => yaml(`]${planted}`)],
  ["YAML: a directive", "a.yaml", (planted) => `%YAML ${planted}\n---\n${yaml("a")}`],
  ["YAML: a key without a value", "a.yaml", (planted) => yaml(`a\n    ${planted}`)],
  [
    "YAML: a value in the place of a message",
    "a.yaml",
    (planted) => yaml("a").replace(/password:[^]*/, `password: ${planted}\n`)
  ],
  ["YAML: a list", "a.yaml", (planted) => yaml(`[${planted}]`)],
  [
    "YAML: bytes that are not base64",
    "a.yaml",
    (planted) => yaml("a").replace("inline_string: a", `inline_bytes: "${planted}!"`)
  ],
  ["YAML: a secret as a key", "a.yaml", (planted) => yaml("a").replace("inline_string", planted)],
  [
    "YAML: a secret as a key of the certificate",
    "a.yaml",
    (planted) => yaml("a").replace("  password:", `  ${planted}9:`)
  ],
  ["YAML: a secret as the type", "a.yaml", (planted) => yaml("a").replace(type, planted)],
  ["JSON: a password without quotes", "a.json", (planted) => json(`{"inline_string": ${planted}}`)],
  ["JSON: a string that does not end", "a.json", (planted) => json(`{"inline_string": "${planted}\n"}`)],
  ["JSON: an escape that is none", "a.json", (planted) => json(`{"inline_string": "\\${planted}"}`)],
  [
    "JSON: another mistake before it",
    "a.json",
    (planted) => json(`{"${planted}9": 1, "filename": 17, "inline_bytes": "${planted}!"}`)
  ],
  ["JSON: a string in the place of a message", "a.json", (planted) => json(`"${planted}"`)],
  ["JSON: a secret as a key", "a.json", (planted) => json(`{"${planted}": "a"}`)],
  ["JSON: the same twice", "a.json", (planted) => json(`{"${planted} ": "a", "${planted} ": "a"}`)],
  ["JSON: a list", "a.json", (planted) => json(`["${planted}"]`)],
  ["text: a password without quotes", "a.txtpb", (planted) => text(planted)],
  ["text: a string that does not end", "a.txtpb", (planted) => text(`"${planted}`)],
  ["text: a quote in quotes", "a.txtpb", (planted) => text(`"a"${planted}"`)],
  ["text: an escape that is none", "a.txtpb", (planted) => text(`"\\q${planted}"`)],
  [
    "text: a value in the place of a message",
    "a.txtpb",
    (planted) => text("a").replace("{ inline_string: a }", `: "${planted}"`)
  ],
  ["text: a secret as a field", "a.txtpb", (planted) => text("a").replace("inline_string", planted)],
  ["text: a secret after its string", "a.txtpb", (planted) => text(`"a" ${planted}: "b"`)],
  ["text: a secret as an extension", "a.txtpb", (planted) => text(`"a" [${planted}]: "b"`)],
  ["binary: the beginning of a message", "a.pb", (planted) => `\x12\x7f${planted}`],
  ["binary: a text", "a.pb", (planted) => `inline_string: ${planted}`]
]

describe("what is said of a file", () => {
  for (const [name, file, write] of mistakes) {
    it.effect(`quotes no secret: ${name}`, () =>
      Effect.gen(function* () {
        for (const planted of [secret, word]) {
          const message = yield* said(file, write(planted))
          expect(message).not.toContain(planted.slice(1, 9))
          expect(message).toContain(file)
        }
      })
    )
  }

  for (const [name, file, write] of [
    ["YAML", "a.yaml", (number: string) => yaml(number)],
    ["JSON", "a.json", (number: string) => json(`{"inline_string": ${number}}`)],
    ["JSON, in the place of a message", "a.json", (number: string) => json(number)],
    ["text", "a.txtpb", (number: string) => text(number)]
  ] as const) {
    it.effect(`quotes no number where a secret should be: ${name}`, () =>
      Effect.gen(function* () {
        expect(yield* said(file, write("48151623"))).not.toContain("4815")
      })
    )
  }

  it.effect("still names what was misspelt", () =>
    Effect.gen(function* () {
      expect(yield* said("a.yaml", yaml("a").replace("inline_string", "inline_strin"))).toContain(
        'has no field "inline_strin"; did you mean "inline_string"?'
      )
      expect(yield* said("a.yaml", yaml("a").replace("password", "passwort"))).toContain(
        'has no field "passwort"; did you mean "password"?'
      )
    })
  )
})
