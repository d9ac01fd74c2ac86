/** Answers over HTTP/1, whole and byte by byte. */
import { Http1Response } from "../src/internal/Http1Response.js"
import { describe, expect, it } from "@effect/vitest"

interface Read {
  readonly end: "done" | "broken" | "open"
  readonly status: number
  readonly body: string
  readonly closes: boolean
}

/** What is read of pieces; `ends`: and then of the end of the connection. */
const read = (pieces: ReadonlyArray<string>, ends: boolean, isHead = false): Read & { readonly of: Http1Response } => {
  let body = ""
  const of = new Http1Response(isHead, (bytes) => {
    body += bytes.toString("latin1")
  })
  for (const piece of pieces) of.push(Buffer.from(piece, "latin1"))
  if (ends) of.end()
  const { closes, fault, isDone, status } = of
  return { end: fault !== undefined ? "broken" : isDone ? "done" : "open", status, body, closes, of }
}

/** The same, however it comes. */
const both = (text: string, { ends = false, isHead = false } = {}): Read => {
  const { of, ...whole } = read([text], ends, isHead)
  const { of: other, ...inPieces } = read(Array.from(text), ends, isHead)
  expect(inPieces).toEqual(whole)
  expect([other.header("x"), other.header("connection")]).toEqual([of.header("x"), of.header("connection")])
  return whole
}

const ok = "HTTP/1.1 200 OK\r\n"

describe("a body ends", () => {
  it("where its length says, at once if there is none", () => {
    expect(both(`${ok}Content-Length: 4\r\n\r\nwell`)).toEqual({
      end: "done",
      status: 200,
      body: "well",
      closes: false
    })
    expect(both(`${ok}content-length: 0\r\n\r\n`)).toMatchObject({ end: "done", body: "" })
    expect(both(`${ok}content-length: 4\r\n\r\nwel`)).toMatchObject({ end: "open", body: "wel" })
    expect(both(`${ok}content-length: 4\r\n\r\nwel`, { ends: true })).toMatchObject({ end: "broken" })
    // Said twice, and the same.
    expect(both(`${ok}content-length: 4\r\ncontent-length: 4\r\n\r\nwell`)).toMatchObject({ end: "done", body: "well" })
  })

  it("behind the last chunk and its trailers", () => {
    const head = `${ok}Transfer-Encoding: Chunked\r\n\r\n`
    const chunks = "3\r\nall\r\n00A; a=b\r\n is well..\r\n"
    const whole = { end: "done", body: "all is well..", closes: false }
    expect(both(`${head}${chunks}0\r\n\r\n`)).toMatchObject(whole)
    expect(both(`${head}${chunks}0\r\nx: y\r\n\r\n`)).toMatchObject(whole)
    expect(both(`${head}${chunks}0\r\n`)).toMatchObject({ end: "open" })
    expect(both(`${head}${chunks}`, { ends: true })).toMatchObject({ end: "broken" })
    for (const wrong of [
      "g\r\n",
      "\r\n",
      "-1\r\n",
      "3\r\nalll\r\n",
      "3\r\nall3\r\n",
      `${"f".repeat(14)}\r\n`,
      "0x3\r\n"
    ]) {
      expect(both(head + wrong)).toMatchObject({ end: "broken" })
    }
  })

  it("with the connection where nothing else is said", () => {
    expect(both(`${ok}\r\nwell`)).toMatchObject({ end: "open", body: "well" })
    expect(both(`${ok}\r\nwell`, { ends: true })).toMatchObject({ end: "done", body: "well", closes: true })
    expect(both(`${ok}transfer-encoding: gzip\r\n\r\nwell`, { ends: true })).toMatchObject({
      end: "done",
      body: "well"
    })
  })

  it("before it begins: HEAD, 204, 304, 101", () => {
    expect(both(`${ok}content-length: 4\r\n\r\n`, { isHead: true })).toMatchObject({ end: "done", closes: false })
    expect(both(`${ok}transfer-encoding: chunked\r\n\r\n`, { isHead: true })).toMatchObject({ end: "done" })
    for (const status of [204, 304]) {
      expect(both(`HTTP/1.1 ${status} x\r\ncontent-length: 4\r\n\r\n`)).toMatchObject({ end: "done", status, body: "" })
    }
    expect(both("HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\nnoise")).toMatchObject({
      end: "done",
      status: 101,
      closes: true
    })
  })
})

describe("a head", () => {
  it("★ of 1xx is none: another one follows", () => {
    const hints = "HTTP/1.1 103 Early Hints\r\nx: early\r\ncontent-length: 9\r\n\r\nHTTP/1.1 100 \r\n\r\n"
    expect(both(`${hints}${ok}content-length: 4\r\n\r\nwell`)).toMatchObject({ end: "done", status: 200, body: "well" })
    expect(read([`${hints}${ok}content-length: 0\r\n\r\n`], false).of.header("x")).toBe(undefined)
  })

  it("may have no reason, lines that go on, a name several times, bytes that are no ASCII", () => {
    expect(both("HTTP/1.1 503\r\ncontent-length: 0\r\n\r\n")).toMatchObject({ end: "done", status: 503 })
    const { of } = read([`${ok}X:\t a \r\n  b\r\nx: c\r\nX-B: b\xfccher\r\ncontent-length: 0\r\n\r\n`], false)
    expect([of.isDone, of.header("x"), of.header("x-b")]).toEqual([true, "a b, c", "b\xfccher"])
  })

  it("that is none", () => {
    const wrong = [
      "no\r\n",
      "HTTP/2 200 OK\r\n",
      "HTTP/1.1 20 OK\r\n",
      "HTTP/1.1 099 OK\r\n",
      "HTTP/1.1  200 OK\r\n",
      "http/1.1 200 OK\r\n",
      "HTTP/1.1 200 OK\n",
      "\0\r\n",
      `${ok}no colon\r\n`,
      `${ok}a b: c\r\n`,
      `${ok}a : c\r\n`,
      `${ok}: c\r\n`,
      `${ok} folded: of nothing\r\n`,
      `${ok}a: \0\r\n`,
      `${ok}a: b\rc\r\n`,
      `${ok}content-length: -1\r\n\r\n`,
      `${ok}content-length: 1e3\r\n\r\n`,
      `${ok}content-length:\r\n\r\n`,
      `${ok}content-length: 4\r\ncontent-length: 5\r\n\r\n`,
      // ★ Two ways to read it: one of them is another's answer.
      `${ok}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n`,
      "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    ]
    for (const text of wrong) {
      const { end } = both(text)
      expect([text, end]).toEqual([text, "broken"])
    }
  })

  it("of any length is read up to 60 KiB, and chunks' lines are", () => {
    const long = "a".repeat(61_441)
    for (const text of [long, `${ok}x: ${long}`, `${ok}${`x: ${"a".repeat(1_000)}\r\n`.repeat(62)}`]) {
      expect(read([text], false).end).toBe("broken")
    }
    expect(read([`${ok}x: ${"a".repeat(61_000)}\r\ncontent-length: 0\r\n\r\n`], false).end).toBe("done")
    const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`
    expect(read([chunked, `1;${long}`], false).end).toBe("broken")
    expect(read([chunked, "0\r\n", `a: ${"b".repeat(1_000)}\r\n`.repeat(62)], false).end).toBe("broken")
    // Many chunks are no long line.
    expect(read([chunked, "1\r\na\r\n".repeat(20_000), "0\r\n\r\n"], false)).toMatchObject({ end: "done" })
  })
})

it("which connections are used again", () => {
  const closes = (head: string, body = ""): boolean => both(`${head}\r\ncontent-length: 0\r\n\r\n${body}`).closes
  expect(closes("HTTP/1.1 200 OK")).toBe(false)
  expect(closes("HTTP/1.1 200 OK\r\nConnection: Upgrade, CLOSE")).toBe(true)
  expect(closes("HTTP/1.1 200 OK\r\nconnection: x\r\nconnection: close")).toBe(true)
  expect(closes("HTTP/1.1 200 OK\r\nconnection: enclosed")).toBe(false)
  expect(closes("HTTP/1.0 200 OK")).toBe(true)
  expect(closes("HTTP/1.0 200 OK\r\nconnection: Keep-Alive")).toBe(false)
  // ★ What nobody asked for is not for the next probe.
  expect(closes("HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n")).toBe(true)
})
