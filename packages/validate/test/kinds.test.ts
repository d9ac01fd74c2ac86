/** Every kind of rule, also those that no message of Envoy's API has: so no judge has them either. */
import { create } from "@bufbuild/protobuf"
import { AnySchema, DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt"
import { KnownRegex } from "@effect-xds/proto/validate/validate"
import { Fault, Rules } from "@effect-xds/validate"
import { describe, expect, it } from "@effect/vitest"
import { type Own, own, ownType } from "./ownType.js"

const faultsOf = (type: Own, value: unknown, now?: number): ReadonlyArray<Fault.Fault> => {
  const desc = ownType(type)
  return Rules.check(desc, own(desc, value), { now }).faults
}

const string = (value: object): Own => ({ kind: "STRING", rules: { type: { case: "string", value } } })
const bytes = (value: object): Own => ({ kind: "BYTES", rules: { type: { case: "bytes", value } } })
const wellKnown = (name: string, value: unknown = true) => string({ wellKnown: { case: name, value } })
const header = (value: KnownRegex, strict: boolean): Own =>
  string({ wellKnown: { case: "wellKnownRegex", value }, strict })
const int32 = (value: object): Own => ({ kind: "INT32", rules: { type: { case: "int32", value } } })
const int64 = (value: object): Own => ({ kind: "INT64", rules: { type: { case: "int64", value } } })
const double = (value: object): Own => ({ kind: "DOUBLE", rules: { type: { case: "double", value } } })
const repeated = (kind: Own["kind"], value: object): Own => ({
  kind,
  isRepeated: true,
  rules: { type: { case: "repeated", value } }
})
const duration = (value: object): Own => ({
  kind: "google.protobuf.Duration",
  rules: { type: { case: "duration", value } }
})
const timestamp = (value: object): Own => ({
  kind: "google.protobuf.Timestamp",
  rules: { type: { case: "timestamp", value } }
})
const any = (value: object): Own => ({ kind: "google.protobuf.Any", rules: { type: { case: "any", value } } })

const d = (seconds: bigint, nanos = 0) => create(DurationSchema, { seconds, nanos })
const t = (seconds: bigint, nanos = 0) => create(TimestampSchema, { seconds, nanos })
const b = (...values: ReadonlyArray<number>) => Uint8Array.from(values)
const a = (typeUrl: string) => create(AnySchema, { typeUrl })

interface Row {
  readonly rule: string
  readonly type: Own
  readonly good: ReadonlyArray<unknown>
  readonly bad: ReadonlyArray<unknown>
}

const rows: ReadonlyArray<Row> = [
  { rule: "int32.const", type: int32({ const: 5 }), good: [5], bad: [4, 0] },
  { rule: "int32.lt", type: int32({ lt: 5, gt: 1 }), good: [2, 4], bad: [5, 6] },
  { rule: "int32.gt", type: int32({ lt: 5, gt: 1 }), good: [2, 4], bad: [1, 0] },
  // ★ An upper bound that is not above the lower one means outside.
  { rule: "int32.lt", type: int32({ lt: 1, gt: 5 }), good: [0, 6], bad: [1, 3, 5] },
  { rule: "int32.lte", type: int32({ lte: 1, gte: 5 }), good: [1, 5, 0, 6], bad: [2, 4] },
  { rule: "int32.in", type: int32({ in: [1, 2] }), good: [1, 2], bad: [0, 3] },
  { rule: "int32.not_in", type: int32({ notIn: [1, 2] }), good: [0, 3], bad: [1, 2] },
  { rule: "int32.gt", type: int32({ gt: 0, ignoreEmpty: true }), good: [0, 1], bad: [-1] },
  { rule: "int32.gt", type: { ...int32({ gt: 0 }), isOptional: true }, good: [undefined, 1], bad: [0] },
  {
    rule: "int32.gt",
    type: { ...int32({ gt: 0 }), kind: "google.protobuf.Int32Value" },
    good: [undefined, 1],
    bad: [0]
  },
  // ★ 64 bits are compared exactly: as doubles these two are one.
  { rule: "int64.lte", type: int64({ lte: 2n ** 53n }), good: [2n ** 53n], bad: [2n ** 53n + 1n] },
  // ★ NaN passes every bound, but is in no list and equals nothing.
  { rule: "double.gte", type: double({ gte: 0, lte: 1 }), good: [Number.NaN, 0, 1], bad: [-0.1] },
  { rule: "double.in", type: double({ in: [1, Number.NaN] }), good: [1], bad: [Number.NaN] },
  { rule: "double.const", type: double({ const: 1 }), good: [1], bad: [Number.NaN] },
  {
    rule: "bool.const",
    type: { kind: "BOOL", rules: { type: { case: "bool", value: { const: true } } } },
    good: [true],
    bad: [false]
  },
  { rule: "string.const", type: string({ const: "a" }), good: ["a"], bad: ["", "b"] },
  // ★ Code points: the emoji is one, of two UTF-16 code units and four bytes.
  { rule: "string.len", type: string({ len: 2n }), good: ["ab", "\u{1f600}ä"], bad: ["\u{1f600}", "abc"] },
  { rule: "string.max_len", type: string({ maxLen: 1n }), good: ["", "\u{1f600}"], bad: ["ab"] },
  { rule: "string.min_len", type: string({ minLen: 2n, maxLen: 2n }), good: ["ab"], bad: ["\u{1f600}"] },
  { rule: "string.len_bytes", type: string({ lenBytes: 4n }), good: ["\u{1f600}", "abcd", "ää"], bad: ["ab"] },
  { rule: "string.max_bytes", type: string({ maxBytes: 3n }), good: ["abc", "€"], bad: ["\u{1f600}", "ää"] },
  { rule: "string.min_bytes", type: string({ minBytes: 2n }), good: ["ä"], bad: ["a"] },
  { rule: "string.prefix", type: string({ prefix: "ab" }), good: ["abc"], bad: ["ba", ""] },
  { rule: "string.suffix", type: string({ suffix: "ab" }), good: ["cab"], bad: ["abc"] },
  { rule: "string.contains", type: string({ contains: "ab" }), good: ["cabc"], bad: ["acb"] },
  { rule: "string.not_contains", type: string({ notContains: "ab" }), good: ["acb"], bad: ["cabc"] },
  { rule: "string.in", type: string({ in: ["a", "b"] }), good: ["a"], bad: ["c", ""] },
  { rule: "string.in", type: string({ in: ["a"], ignoreEmpty: true }), good: ["a", ""], bad: ["c"] },
  { rule: "string.not_in", type: string({ notIn: ["a"] }), good: ["c"], bad: ["a"] },
  // ★ RE2: `\s` has no vertical tab and no NBSP, `.` has all but LF; JavaScript's differ.
  {
    rule: "string.pattern",
    type: string({ pattern: "^[^\\s,]+$" }),
    good: ["a\u00a0b", "a\vb"],
    bad: ["a b", "a,b", ""]
  },
  {
    rule: "string.pattern",
    type: string({ pattern: "^a.b$" }),
    good: ["a\rb", "a\u2028b", "a\u{1f600}b"],
    bad: ["a\nb"]
  },
  { rule: "string.pattern", type: string({ pattern: "b" }), good: ["abc"], bad: ["ac"] },
  { rule: "string.pattern", type: string({ pattern: "(" }), good: [], bad: ["("] },
  {
    rule: "string.well_known_regex",
    type: header(KnownRegex.HTTP_HEADER_NAME, true),
    good: ["x-a", ":path", "a,b"],
    bad: ["", "a b", "::a", "a\n"]
  },
  {
    rule: "string.well_known_regex",
    type: header(KnownRegex.HTTP_HEADER_VALUE, true),
    good: ["", "a\tb", "ä"],
    bad: ["a\rb", "\x7f", "\x08"]
  },
  {
    rule: "string.well_known_regex",
    type: header(KnownRegex.HTTP_HEADER_NAME, false),
    good: ["", "a b", "ä\x7f"],
    bad: ["\0", "\r", "a\n"]
  },
  {
    rule: "string.well_known_regex",
    type: header(KnownRegex.HTTP_HEADER_VALUE, false),
    good: ["", "a\x08b"],
    bad: ["\0", "\r", "a\n"]
  },
  {
    rule: "string.email",
    type: wellKnown("email"),
    good: ["a@b.example", "A B <a.b@c.example>", '"a b"@c.example'],
    bad: ["", "a", "a@", "@b", "a@-b", "a b@c.example", "a..b@c.example", `${"a".repeat(65)}@b.example`]
  },
  {
    rule: "string.hostname",
    type: wellKnown("hostname"),
    good: ["a", "A-1.example.", "1.2"],
    bad: ["", ".", "-a", "a-", "a..b", "a_b", "ä", "a".repeat(64), `${"a.".repeat(127)}a`]
  },
  {
    rule: "string.ip",
    type: wellKnown("ip"),
    good: ["1.2.3.4", "::1", "::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4"],
    bad: [
      "",
      "1.2.3",
      "1.2.3.256",
      "01.2.3.4",
      "1::2::3",
      "1:2:3:4:5:6:7:8:9",
      "::1%eth0",
      "1:2:3:4:5:6:7",
      "12345::",
      ":1",
      "1:2:3:4:5:6:7::8"
    ]
  },
  {
    rule: "string.ipv4",
    type: wellKnown("ipv4"),
    good: ["1.2.3.4", "::ffff:1.2.3.4", "::FFFF:102:304"],
    bad: ["::1", "a"]
  },
  { rule: "string.ipv6", type: wellKnown("ipv6"), good: ["::1", "fe80::1"], bad: ["1.2.3.4", "::ffff:1.2.3.4", "a"] },
  {
    rule: "string.uri",
    type: wellKnown("uri"),
    good: ["http://a", "a:b", "http://u:p@[::1]:80/p?q#f"],
    bad: ["", "/a", "a", "http://a:b", "http://a%zz", ":a", "http://a\n", "http://[::1"]
  },
  {
    rule: "string.uri_ref",
    type: wellKnown("uriRef"),
    good: ["", "/a", "a", "?q", "#f", "//host/p", "a/b:c"],
    bad: ["1a:b", "%zz", "a\x7f", "//h:x", "/a#%z"]
  },
  {
    rule: "string.address",
    type: wellKnown("address"),
    good: ["a.example", "1.2.3.4", "::1"],
    bad: ["", "a_b", "::g"]
  },
  {
    rule: "string.uuid",
    type: wellKnown("uuid"),
    good: ["123e4567-E89B-12d3-a456-426614174000"],
    bad: ["", "123e4567e89b12d3a456426614174000"]
  },
  { rule: "bytes.const", type: bytes({ const: b(1, 2) }), good: [b(1, 2)], bad: [b(), b(1)] },
  { rule: "bytes.len", type: bytes({ len: 2n }), good: [b(1, 2)], bad: [b(1), b(1, 2, 3)] },
  { rule: "bytes.min_len", type: bytes({ minLen: 1n, maxLen: 2n }), good: [b(1), b(1, 2)], bad: [b()] },
  { rule: "bytes.max_len", type: bytes({ minLen: 1n, maxLen: 2n }), good: [b(1)], bad: [b(1, 2, 3)] },
  { rule: "bytes.prefix", type: bytes({ prefix: b(1, 2) }), good: [b(1, 2, 3)], bad: [b(1), b(2, 1)] },
  { rule: "bytes.suffix", type: bytes({ suffix: b(1, 2) }), good: [b(0, 1, 2)], bad: [b(2), b(1, 2, 3)] },
  { rule: "bytes.contains", type: bytes({ contains: b(1, 2) }), good: [b(1, 1, 2, 3)], bad: [b(1, 3, 2), b()] },
  { rule: "bytes.in", type: bytes({ in: [b(1), b(2)] }), good: [b(2)], bad: [b(3), b()] },
  { rule: "bytes.in", type: bytes({ in: [b(1)], ignoreEmpty: true }), good: [b(1), b()], bad: [b(3)] },
  { rule: "bytes.not_in", type: bytes({ notIn: [b(1)] }), good: [b(2)], bad: [b(1)] },
  { rule: "bytes.pattern", type: bytes({ pattern: "^ab$" }), good: [b(97, 98)], bad: [b(97)] },
  {
    rule: "bytes.ip",
    type: bytes({ wellKnown: { case: "ip", value: true } }),
    good: [b(1, 2, 3, 4), new Uint8Array(16)],
    bad: [b(), b(1)]
  },
  {
    rule: "bytes.ipv4",
    type: bytes({ wellKnown: { case: "ipv4", value: true } }),
    good: [b(1, 2, 3, 4), b(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4)],
    bad: [new Uint8Array(16)]
  },
  {
    rule: "bytes.ipv6",
    type: bytes({ wellKnown: { case: "ipv6", value: true } }),
    good: [new Uint8Array(16)],
    bad: [b(1, 2, 3, 4), b(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4)]
  },
  {
    rule: "repeated.min_items",
    type: repeated("INT32", { minItems: 1n, maxItems: 2n }),
    good: [[1], [1, 2]],
    bad: [[]]
  },
  {
    rule: "repeated.max_items",
    type: repeated("INT32", { minItems: 1n, maxItems: 2n }),
    good: [[1]],
    bad: [[1, 2, 3]]
  },
  {
    rule: "repeated.min_items",
    type: repeated("INT32", { minItems: 2n, ignoreEmpty: true }),
    good: [[], [1, 2]],
    bad: [[1]]
  },
  // ★ Two NaNs differ.
  {
    rule: "repeated.unique",
    type: repeated("DOUBLE", { unique: true }),
    good: [
      [1, 2],
      [Number.NaN, Number.NaN]
    ],
    bad: [
      [1, 1],
      [0, -0]
    ]
  },
  { rule: "repeated.unique", type: repeated("BYTES", { unique: true }), good: [[b(1), b(2)]], bad: [[b(1), b(1)]] },
  { rule: "duration.required", type: duration({ required: true }), good: [d(0n), d(1n, -1)], bad: [undefined] },
  { rule: "duration.const", type: duration({ const: d(1n) }), good: [undefined, d(1n)], bad: [d(1n, 1)] },
  {
    rule: "duration.gt",
    type: duration({ gt: d(0n) }),
    good: [undefined, d(0n, 1), d(1n)],
    bad: [d(0n), d(0n, -1), d(-1n)]
  },
  { rule: "duration.lt", type: duration({ lt: d(1n), gt: d(2n) }), good: [d(0n), d(2n, 1)], bad: [d(1n), d(2n)] },
  { rule: "duration.in", type: duration({ in: [d(1n), d(2n)] }), good: [d(2n)], bad: [d(2n, 1)] },
  { rule: "duration.not_in", type: duration({ notIn: [d(1n)] }), good: [d(2n)], bad: [d(1n)] },
  {
    rule: "duration",
    type: duration({ gt: d(0n) }),
    good: [d(1n)],
    bad: [d(1n, -1), d(-1n, 1), d(0n, 1_000_000_000), d(315_576_000_001n)]
  },
  { rule: "timestamp.required", type: timestamp({ required: true }), good: [t(0n), t(0n, -1)], bad: [undefined] },
  { rule: "timestamp.const", type: timestamp({ const: t(1n) }), good: [t(1n)], bad: [t(1n, 1)] },
  { rule: "timestamp.lte", type: timestamp({ lte: t(1n), gte: t(0n) }), good: [t(0n), t(1n)], bad: [t(1n, 1)] },
  {
    rule: "timestamp",
    type: timestamp({ gte: t(0n) }),
    good: [t(1n)],
    bad: [t(1n, -1), t(253_402_300_800n), t(-62_135_596_801n)]
  },
  // Now is second 100.
  { rule: "timestamp.lt_now", type: timestamp({ ltNow: true }), good: [t(99n, 999_999_999)], bad: [t(100n)] },
  {
    rule: "timestamp.lt_now",
    type: timestamp({ ltNow: true, within: d(10n) }),
    good: [t(90n)],
    bad: [t(89n, 999_999_999), t(101n)]
  },
  {
    rule: "timestamp.gt_now",
    type: timestamp({ gtNow: true, within: d(10n) }),
    good: [t(110n)],
    bad: [t(100n), t(110n, 1)]
  },
  {
    rule: "timestamp.within",
    type: timestamp({ within: d(0n, 500_000_000) }),
    good: [t(99n, 500_000_001), t(100n)],
    bad: [t(99n, 500_000_000), t(100n, 500_000_000)]
  },
  { rule: "any.required", type: any({ required: true }), good: [a("")], bad: [undefined] },
  { rule: "any.in", type: any({ in: ["x/a"] }), good: [undefined, a("x/a")], bad: [a("y/a"), a("")] },
  { rule: "any.not_in", type: any({ notIn: ["x/a"] }), good: [a("y/a")], bad: [a("x/a")] },
  {
    rule: "message.required",
    type: { kind: "google.protobuf.Int32Value", rules: { message: { required: true } } },
    good: [0],
    bad: [undefined]
  }
]

describe("a rule", () => {
  it.each(
    rows.map((row) => ({
      ...row,
      title: `${row.rule} of ${JSON.stringify(row.type.rules, (_, each: unknown) => (typeof each === "bigint" ? Number(each) : each))}`
    }))
  )("$title", ({ bad, good, rule, type }) => {
    for (const value of good) expect(faultsOf(type, value, 100_000), String(value)).toEqual([])
    for (const value of bad) {
      const faults = faultsOf(type, value, 100_000)
      expect(
        faults.map((fault) => fault.rule),
        String(value)
      ).toEqual([rule])
      expect(faults[0]?.path).toBe(rule === "repeated.unique" ? "f[1]" : "f")
    }
  })

  it("of a message that is disabled is none", () => {
    expect(faultsOf({ ...int32({ gt: 0 }), isDisabled: true }, 0)).toEqual([])
  })

  it("of a value of another type is said, not thrown", () => {
    for (const type of [
      int32({ gt: 0 }),
      string({ len: 1n }),
      bytes({ len: 1n }),
      duration({ gt: d(0n) }),
      timestamp({ gt: t(0n) }),
      repeated("INT32", { minItems: 1n })
    ]) {
      expect(faultsOf(type, true).map(Fault.toText)).toEqual([
        expect.stringMatching(/^f must be an? .*is boolean$|^f must be bytes, is boolean$/)
      ])
    }
  })

  it("tells relative rules from nothing without a clock", () => {
    expect(faultsOf(timestamp({ ltNow: true }), t(2n ** 33n))).toEqual([])
  })
})

describe("the words", () => {
  it.each([
    [int32({ lt: 5, gt: 1 }), 7, "f must be greater than 1 and less than 5, is 7"],
    [int32({ lte: 1, gte: 5 }), 3, "f must be at most 1 or at least 5, is 3"],
    [string({ minLen: 1n }), "", 'f must have at least 1 character, is ""'],
    [string({ minLen: 1n, maxLen: 2n }), "abc", 'f must have at least 1 and at most 2 characters, is "abc"'],
    [string({ minLen: 2n, maxLen: 2n }), "abc", 'f must have exactly 2 characters, is "abc"'],
    [
      string({ maxBytes: 3n }),
      "a".repeat(100),
      `f must have at most 3 bytes, is "${"a".repeat(64)}"… (100 UTF-16 code units)`
    ],
    [bytes({ minLen: 2n }), b(1), "f must have at least 2 bytes, is 1 byte"],
    [repeated("INT32", { maxItems: 1n }), [1, 2], "f must have at most 1 item, is 2 items"],
    [duration({ gte: d(0n, 1_000_000) }), d(-1n, -500_000_000), "f must be at least 0.001s, is -1.5s"],
    [timestamp({ lt: t(0n) }), t(0n, 5), "f must be less than 1970-01-01T00:00:00Z, is 1970-01-01T00:00:00.000000005Z"]
  ])("of %o", (type, value, words) => {
    expect(faultsOf(type, value).map(Fault.toText)).toEqual([words])
  })

  it("hide what is sensitive, and what looks like a secret", () => {
    const limited = string({ maxLen: 3n })
    expect(faultsOf({ ...limited, isSensitive: true }, "hunter22").map(Fault.toText)).toEqual([
      "f must have at most 3 characters, is [redacted]"
    ])
    const [fault] = faultsOf(limited, "Bearer abcdefghijklmnop")
    expect(fault?.value).not.toContain("abcdefgh")
  })
})
