import * as ScopeKey from "@effect-xds/core/resource/ScopeKey"
import { assert, describe, it } from "@effect/vitest"

const index = (index: number, elementSeparator = ""): ScopeKey.Fragment => ({
  header: "X-Tenant",
  elementSeparator,
  extract: { _tag: "Index", index }
})
const element = (key: string, elementSeparator: string, separator: string): ScopeKey.Fragment => ({
  header: "x-tenant",
  elementSeparator,
  extract: { _tag: "Element", key, separator }
})
const key = (builder: ScopeKey.Builder, headers: Readonly<Record<string, string>>): string | undefined =>
  ScopeKey.ofHeaders(builder, (name) => headers[name])

describe("the key of a request", () => {
  it("is the whole value where there is no separator, also an empty one", () => {
    assert.strictEqual(key([index(0)], { "x-tenant": "a,b" }), '["a,b"]')
    assert.strictEqual(key([index(0)], { "x-tenant": "" }), '[""]')
  })
  it("is the element at a place", () => {
    assert.strictEqual(key([index(1, ",")], { "x-tenant": "a,b,c" }), '["b"]')
    assert.strictEqual(key([index(3, ",")], { "x-tenant": "a,b,c" }), undefined)
    assert.strictEqual(key([index(1, ";;")], { "x-tenant": "a;;" }), '[""]')
  })
  it("is what follows the separator in the first element with the key", () => {
    assert.strictEqual(key([element("k", ";", "=")], { "x-tenant": "o=1;k=2=3;k=4" }), '["2=3"]')
    assert.strictEqual(key([element("k", ";", "=")], { "x-tenant": "kk=1;ok=2;;" }), undefined)
  })
  it("★ an element without a separator is a key with an empty value", () => {
    assert.strictEqual(key([element("k", ";", "=")], { "x-tenant": "o=1;k" }), '[""]')
  })
  it("★ has all fragments or none", () => {
    const other: ScopeKey.Fragment = { ...index(0), header: "x-region" }
    assert.strictEqual(key([index(0), other], { "x-tenant": "a", "x-region": "eu" }), '["a","eu"]')
    assert.strictEqual(key([index(0), other], { "x-tenant": "a" }), undefined)
  })
})
