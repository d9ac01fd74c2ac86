/** What an error text of a client costs: who quotes is a stranger, and all others wait meanwhile. */
import { create, toBinary } from "@bufbuild/protobuf"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { ResourceType } from "@effect-xds/proto"
import { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import { describe, expect, it } from "@effect/vitest"
import { Either } from "effect"
import { Secrets } from "../src/internal/Secrets.js"

const { typeUrl } = ResourceType.Secret

/** A group of so many keys, and the names of those that were looked into. */
const groupOf = (count: number, keyOf: (index: number) => string) => {
  const looked = new Set<string>()
  const secret = (name: string, key: string): Resource.Resource => {
    const privateKey = { specifier: { case: "inlineString" as const, value: key } }
    const message = create(SecretSchema, { name, type: { case: "tlsCertificate", value: { privateKey } } })
    const resource = Either.getOrThrow(Resource.make({ typeUrl, name, value: toBinary(SecretSchema, message) }))
    const { byteLength } = resource.value
    Object.defineProperty(resource.value, "byteLength", { get: () => (looked.add(name), byteLength) })
    return resource
  }
  const upsert = Array.from({ length: count }, (_, index) => secret(`s${index}`, keyOf(index)))
  const group = Either.getOrThrow(ResourceGroup.update(ResourceGroup.empty, { upsert }))
  looked.clear()
  return { group, looked, secret }
}

describe("an error text that may quote secrets", () => {
  it("after a change costs a look at what changed", () => {
    const { group, looked, secret } = groupOf(1_000, (index) => `key-number-${index}-`)
    const secrets = new Secrets()
    const said = (of: ResourceGroup.ResourceGroup) =>
      secrets.redact("cannot read key-number-7- and not even the-new-key-of-it", { typeUrl, sent: [], group: of })
    expect(said(group)).toBe("cannot read [redacted] and not even the-new-key-of-it")
    expect(looked.size).toBe(1_000)
    const changed = Either.getOrThrow(ResourceGroup.update(group, { upsert: [secret("s8", "the-new-key-of-it")] }))
    looked.clear()
    expect(said(changed)).toBe("cannot read [redacted] and not even [redacted]")
    expect(Array.from(looked)).toEqual(["s8"])
  })

  it("of more than can be looked for costs no more than a look at so many: only words are left of it", () => {
    const { group, looked } = groupOf(5_000, (index) => `key-${index}-`.padEnd(1_700, "x"))
    const secrets = new Secrets()
    const quoted = { typeUrl, sent: [ResourceGroup.all(group)], group }
    expect(secrets.redact("cannot read key-4999-xxxxx of it", quoted)).toBe("cannot read [redacted] of it")
    expect(looked.size).toBeLessThan(200)
    expect(secrets.redact("cannot read key-4998-xxxxx of it", quoted)).toBe("cannot read [redacted] of it")
    expect(looked.size).toBeLessThan(200)
  })
})
