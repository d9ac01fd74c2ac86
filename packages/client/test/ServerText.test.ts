/** What a server says, without what is sensitive in the resources. */
import { create, toBinary } from "@bufbuild/protobuf"
import type { ResourceStatus } from "@effect-xds/core/client/Client"
import { ResourceType } from "@effect-xds/proto"
import { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import { describe, expect, it } from "@effect/vitest"
import { ServerText } from "../src/internal/ServerText.js"

const { typeUrl } = ResourceType.Secret

const secretOf = (name: string, inlineString: string): ResourceStatus => {
  const privateKey = { specifier: { case: "inlineString" as const, value: inlineString } }
  const value = create(SecretSchema, { name, type: { case: "tlsCertificate", value: { privateKey } } })
  const bytes = toBinary(SecretSchema, value)
  const held = {
    server: "s",
    ownName: name,
    version: "1",
    value,
    bytes,
    updatedAt: 0,
    expiresAt: Infinity,
    keys: [],
    isToldAgain: false
  }
  return { typeUrl, name, status: "Acked", held, failure: undefined }
}

describe("the texts of a response", () => {
  const key = "the-private-key-4f9a8b7c6d5e"

  it("★ have no secrets, and the resources are looked through once for all texts", () => {
    let looks = 0
    const texts = new ServerText(() => {
      looks++
      return [secretOf("a", key), secretOf("b", "another-key-of-the-edge")]
    })
    expect(looks).toBe(0)
    const shown = Array.from({ length: 1_000 }, (_, index) =>
      texts.of({ code: 14, message: `number ${index} has ${key}, which is broken` })
    )
    expect(looks).toBe(1)
    expect(shown.filter(({ message }) => message.includes("4f9a8b7c"))).toEqual([])
    expect(shown[0]).toEqual({ code: 14, message: "number 0 has [redacted], which is broken" })
  })

  it("stay as they are where nothing is sensitive, however many they are", () => {
    const texts = new ServerText(() => [])
    for (let index = 0; index < 100; index++) {
      const message = `cluster "web-${index}" is not in the registry`
      expect(texts.of({ code: 5, message })).toEqual({ code: 5, message })
    }
  })
})
