/** Headers of HTTP/2: the examples of RFC 7541, Appendix C, blocks that are none, and what Node's own server writes. */
import { encode, type Field, HpackDecoder } from "../src/internal/Hpack.js"
import { codeLengths } from "../src/internal/HpackTables.js"
import { Http2Connection } from "../src/internal/Http2Connection.js"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Net from "node:net"
import * as Servers from "./Servers.js"

const room = 4_096
const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex")
const decode = (hex: string, of = new HpackDecoder()): ReadonlyArray<Field> | string => of.decode(bytes(hex), room)

const inOrder = (limit: number, ...blocks: ReadonlyArray<string>) => {
  const of = new HpackDecoder()
  of.setLimit(limit)
  return blocks.map((block) => decode(block, of))
}

const request = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/"],
  [":authority", "www.example.com"]
]
const requests = [
  request,
  [...request, ["cache-control", "no-cache"]],
  [
    [":method", "GET"],
    [":scheme", "https"],
    [":path", "/index.html"],
    [":authority", "www.example.com"],
    ["custom-key", "custom-value"]
  ]
]
const responseAt = (status: string, second: string) => [
  [":status", status],
  ["cache-control", "private"],
  ["date", `Mon, 21 Oct 2013 20:13:${second} GMT`],
  ["location", "https://www.example.com"]
]
const cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"
const responses = [
  responseAt("302", "21"),
  responseAt("307", "21"),
  [...responseAt("200", "22"), ["content-encoding", "gzip"], ["set-cookie", cookie]]
]

describe("the examples of RFC 7541", () => {
  it("C.1: numbers", () => {
    // As sizes of the table, which have five bits.
    expect([decode("2a"), decode("3f 9a 0a"), decode("3f e1 1f")]).toEqual([[], [], []])
    expect(decode("3f e2 1f")).toMatch(/4097 bytes is larger than the 4096/)
  })

  it("C.2: single fields", () => {
    const custom = "40 0a 6375 7374 6f6d 2d6b 6579 0d 6375 7374 6f6d 2d68 6561 6465 72"
    expect(inOrder(4_096, custom, "be")).toEqual(Array.from({ length: 2 }, () => [["custom-key", "custom-header"]]))
    // Those are not kept.
    const path = inOrder(4_096, "04 0c 2f73 616d 706c 652f 7061 7468", "be")
    expect(path).toEqual([[[":path", "/sample/path"]], "no field has the index 62"])
    const secret = inOrder(4_096, "10 08 7061 7373 776f 7264 06 7365 6372 6574", "be")
    expect(secret).toEqual([[["password", "secret"]], "no field has the index 62"])
    expect(decode("82")).toEqual([[":method", "GET"]])
  })

  it("C.3 and C.4: requests, plain and in Huffman's code", () => {
    const plain = inOrder(
      4_096,
      "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
      "8286 84be 5808 6e6f 2d63 6163 6865",
      "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65"
    )
    const packed = inOrder(
      4_096,
      "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
      "8286 84be 5886 a8eb 1064 9cbf",
      "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"
    )
    expect([plain, packed]).toEqual([requests, requests])
  })

  it("C.5 and C.6: responses, with a table of 256 bytes, which drops fields", () => {
    const plain = inOrder(
      256,
      "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120" +
        "474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
      "4803 3330 37c1 c0bf",
      "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738" +
        "666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33" +
        "3630 303b 2076 6572 7369 6f6e 3d31"
    )
    const packed = inOrder(
      256,
      "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718" +
        "63c7 8f0b 97c8 e9ae 82ae 43d3",
      "4883 640e ffc1 c0bf",
      "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7" +
        "b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07"
    )
    expect([plain, packed]).toEqual([responses, responses])
  })
})

describe("a block that is none", () => {
  const cases: ReadonlyArray<readonly [why: string, hex: string]> = [
    ["no field has the index 0", "80"],
    ["no field has the index 62", "be"],
    ["no field has the index 70", "7f 07 01 61"],
    ["a number ends in its middle", "ff"],
    ["a number ends in its middle", "ff 80 80"],
    ["a number is too long", "ff 80 80 80 80 00"],
    ["a number is too long", "ff ff ff ff ff 0f"],
    ["a field ends in its middle", "04"],
    ["a field ends in its middle", "00 01 61"],
    ["a text ends in its middle", "04 02 61"],
    ["a text ends in its middle", "04 7f ff ff 7f 61"],
    ["a text ends in its middle", "00 02 61"],
    // EOS, eight bits that fill nothing, and bits that are not the beginning of EOS.
    ["a text is no code of Huffman's", "04 84 ff ff ff ff"],
    ["a text is no code of Huffman's", "04 82 1f ff"],
    ["a text is no code of Huffman's", "04 81 18"],
    ["a text is no code of Huffman's", "04 81 1e"],
    ["the size of the table changes behind a field", "82 20"],
    ["a table of 4128 bytes is larger than the 4096 that it may have", "3f 81 20"]
  ]

  it.each(cases)("%s: %s", (why, hex) => {
    const of = new HpackDecoder()
    expect(decode(hex, of)).toBe(why)
    // What follows would be read with another table than it was written with.
    expect(decode("82", of)).toBe(why)
  })

  it("has more than there is room for, by itself or by what it refers to", () => {
    const long: Field = ["a", "b".repeat(room)]
    const why = `its headers have more than ${room} bytes`
    expect(new HpackDecoder().decode(encode([long]), room)).toBe(why)
    const of = new HpackDecoder()
    expect(decode(`40 01 61 7f 81 06 ${"62".repeat(896)}`, of)).toHaveLength(1)
    expect(decode("be be be be", of)).toHaveLength(4)
    expect(decode("be be be be be", of)).toBe(why)
  })
})

it("a field that is larger than the table empties it, and so does a size of 0", () => {
  const none = "no field has the index 62"
  const kept = "40 01 61 01 62"
  expect(inOrder(64, kept, "be", `40 01 61 1f ${"62".repeat(31)}`, "be")).toMatchObject([
    [["a", "b"]],
    [["a", "b"]],
    [["a", "b".repeat(31)]],
    [["a", "b".repeat(31)]]
  ])
  expect(inOrder(64, kept, `40 01 61 20 ${"62".repeat(32)}`, "be").at(-1)).toBe(none)
  expect(inOrder(64, kept, "20 3f 21 be").at(-1)).toBe(none)
  expect(inOrder(0, kept, "be")).toEqual([[["a", "b"]], none])
})

it("what is written is read, whatever was read before", () => {
  const fields: ReadonlyArray<Field> = [
    [":method", "POST"],
    [":path", "/a".repeat(200)],
    ["te", "trailers"],
    ["x".repeat(127), "\xfc\xff"],
    ["user-agent", ""]
  ]
  const of = new HpackDecoder()
  for (let n = 0; n < 3; n++) expect(of.decode(encode(fields), room)).toEqual(fields)
})

it("Huffman's code is complete", () => {
  expect(codeLengths.length).toBe(257)
  expect(codeLengths.reduce((sum, length) => sum + 2 ** -length, 0)).toBe(1)
})

it.scopedLive("★ Node's own server says each byte that a header may have", () =>
  Effect.gen(function* () {
    const texts = Array.from({ length: 256 }, (_, byte) => byte)
      .filter((byte) => byte >= 0x20 && byte !== 0x7f)
      // So short are the others that all is packed.
      .map((byte) => `${"a".repeat(20)}${String.fromCharCode(byte)}${"0".repeat(20)}`)
    const server = yield* Servers.http2((stream) => {
      const headers = Object.fromEntries(texts.map((text, index) => [`x-${index}`, text]))
      stream.respond({ ":status": 200, ...headers }, { endStream: true })
    })
    const heard = yield* Effect.async<ReadonlyMap<string, string>>((resume) => {
      const [host, port] = server.address.split(":")
      const socket = Net.connect({ host, port: Number(port) })
      const connection = new Http2Connection(
        (written) => void socket.write(written),
        () => socket.writableLength
      )
      let headers: ReadonlyMap<string, string> = new Map()
      const question = {
        headers: encode([...(requests[0]?.map(([name = "", value = ""]): Field => [name, value]) ?? [])]),
        body: Buffer.alloc(0),
        isHead: false
      }
      connection.ask(question, {
        begin: (_status, given) => {
          headers = given
          return false
        },
        push: () => false,
        trailers: () => undefined,
        over: () => {
          socket.destroy()
          resume(Effect.succeed(headers))
        },
        lost: (why) => resume(Effect.die(why))
      })
      socket.on("data", (data) => connection.push(data))
    })
    expect(texts.map((_, index) => heard.get(`x-${index}`))).toEqual(texts)
  })
)
