/**
 * Encoded resources that nobody should send: wrong, or so deep or large that careless code does not come to an end. For tests of
 * whatever reads resources.
 *
 * @since 0.1.0
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"

/**
 * How much of it there is.
 *
 * @since 0.1.0
 */
export interface Scale {
  /** Levels of what is nested. Default: 10 000. */
  readonly levels?: number | undefined
  /** Bytes of what is large. Default: 1 048 576. */
  readonly size?: number | undefined
}

/**
 * An encoded resource.
 *
 * @since 0.1.0
 */
export interface BadResource {
  /** What is the matter with it. */
  readonly what: string
  readonly typeUrl: string
  readonly name: string
  readonly value: Uint8Array
  /** Whether it is unusual and all the same valid: it is served and read, byte for byte. */
  readonly isValid: boolean
  /** Where the fault is, or with what its path begins; of the message as a whole `the message`; of its type nothing. `undefined` if it is valid. */
  readonly path: string | undefined
}

const encoder = new TextEncoder()

const utf8 = (text: string): Uint8Array => encoder.encode(text)

const bytes = (...values: ReadonlyArray<number>): Uint8Array => Uint8Array.from(values)

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const all = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.byteLength
  }
  return all
}

/** A field with a length. */
const field = (number: number, ...content: ReadonlyArray<Uint8Array>): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(concat(content)).finish()

const varintField = (number: number, value: number): Uint8Array =>
  new BinaryWriter().tag(number, WireType.Varint).uint32(value).finish()

const text = (number: number, value: string): Uint8Array => field(number, utf8(value))

/**
 * Content in `levels` of something that puts a head before what is in it. Every byte is copied once, however deep it is.
 *
 * @param head what stands before so many bytes
 */
const nested = (levels: number, head: (length: number) => Uint8Array, content: Uint8Array): Uint8Array => {
  const heads: Array<Uint8Array> = []
  let length = content.byteLength
  for (let level = 0; level < levels; level++) {
    const each = head(length)
    heads.push(each)
    length += each.byteLength
  }
  return concat([...heads.reverse(), content])
}

/** The head of fields in fields. */
const heads =
  (...numbers: ReadonlyArray<number>) =>
  (length: number): Uint8Array => {
    let all: Uint8Array = bytes()
    for (const number of numbers.toReversed()) {
      const head = new BinaryWriter()
        .tag(number, WireType.LengthDelimited)
        .uint32(length + all.byteLength)
        .finish()
      all = concat([head, all])
    }
    return all
  }

const anyUrl = "type.googleapis.com/google.protobuf.Any"
const clusterUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
const routeUrl = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

/** An `Any` around so many bytes of its value. */
const anyHead = (typeUrl: string) => {
  const url = text(1, typeUrl)
  return (length: number): Uint8Array => concat([url, heads(2)(length)])
}

/** Numbers of the fields of Cluster. */
const ofCluster = { name: 1, connectTimeout: 4, lbPolicy: 6, metadata: 25, commonLb: 27, options: 36 } as const

/** An entry of `typed_extension_protocol_options`. */
const option = (key: string, any: Uint8Array): Uint8Array => field(ofCluster.options, text(1, key), field(2, any))

/** `metadata.filter_metadata[key]`, a Struct. */
const metadata = (key: string, struct: Uint8Array): Uint8Array =>
  field(ofCluster.metadata, field(1, text(1, key), field(2, struct)))

/** A member of a Struct. */
const member = (key: string, value: Uint8Array): Uint8Array => field(1, text(1, key), field(2, value))

/** A Struct in a Value in a Struct. */
const structHead = (length: number): Uint8Array => {
  const inner = heads(5)(length)
  const key = text(1, "a")
  const value = heads(2)(length + inner.byteLength)
  const entry = concat([key, value, inner])
  return concat([heads(1)(length + entry.byteLength), entry])
}

/** Starts of groups, without or with their ends. */
const groups = (number: number, levels: number, isClosed: boolean): Uint8Array => {
  const start = new BinaryWriter().tag(number, WireType.StartGroup).finish()
  const end = new BinaryWriter().tag(number, WireType.EndGroup).finish()
  return concat([
    ...Array.from({ length: levels }, () => start),
    ...(isClosed ? Array.from({ length: levels }, () => end) : [])
  ])
}

const repeated = (part: Uint8Array, size: number): Uint8Array => {
  const times = Math.max(1, Math.floor(size / part.byteLength))
  const all = new Uint8Array(times * part.byteLength)
  for (let at = 0; at < all.byteLength; at += part.byteLength) all.set(part, at)
  return all
}

/**
 * Encoded resources, each with one thing that is the matter with it.
 *
 * @since 0.1.0
 */
export const all = ({ levels = 10_000, size = 1_048_576 }: Scale = {}): ReadonlyArray<BadResource> => {
  const cluster = (what: string, path: string | undefined, ...rest: ReadonlyArray<Uint8Array>): BadResource => ({
    what,
    typeUrl: clusterUrl,
    name: "c",
    value: concat([text(ofCluster.name, "c"), ...rest]),
    isValid: path === undefined,
    path
  })
  const named = (what: string, name: string): BadResource => ({
    what,
    typeUrl: clusterUrl,
    name,
    value: text(ofCluster.name, name),
    isValid: true,
    path: undefined
  })
  const long = "n".repeat(size)
  return [
    // What a newer version of the API may hold.
    cluster(
      "unknown fields",
      undefined,
      varintField(9_999, 7),
      text(9_998, "new"),
      bytes(0xfd, 0xf0, 0x04, 1, 2, 3, 4)
    ),
    cluster("an unknown group", undefined, groups(9_999, 1, true)),
    cluster("a newer value of an enum", undefined, varintField(ofCluster.lbPolicy, 999)),
    cluster(
      "an Any of a type that is not known",
      undefined,
      option("x", concat([text(1, "a.com/not.Known"), text(2, "?")]))
    ),
    {
      what: "a type that is not known",
      typeUrl: "type.googleapis.com/not.Known",
      name: "c",
      value: text(1, "c"),
      isValid: false,
      path: ""
    },
    // Bytes that are no message.
    cluster("a varint without an end", "lb_policy", bytes(0x30, 0xff)),
    cluster(
      "a varint of eleven bytes",
      "lb_policy",
      bytes(0x30),
      bytes(...Array.from({ length: 10 }, () => 0xff)),
      bytes(1)
    ),
    cluster("a length without an end", "metadata", bytes(0xca, 0x01, 0x80)),
    cluster("a length behind the end", "metadata", bytes(0xca, 0x01, 0x7f)),
    cluster("a length of 10 GB", "metadata", bytes(0xca, 0x01, 0x80, 0x80, 0x80, 0x80, 0x28)),
    cluster("a length of 2 GB", "metadata", bytes(0xca, 0x01, 0xff, 0xff, 0xff, 0xff, 0x07)),
    cluster(
      "a length behind the end, inside",
      "metadata.filter_metadata",
      field(ofCluster.metadata, bytes(0x0a, 0x7f))
    ),
    cluster("field 0", "the message", bytes(0x00, 0x01)),
    cluster("wire type 6", "the message", bytes(0x36, 0x01)),
    cluster("the end of a group that did not begin", "field 9999", groups(9_999, 1, true).slice(3)),
    cluster("a group without an end", "field 9999", groups(9_999, 1, false)),
    cluster("a known field as a group", "metadata", groups(ofCluster.metadata, 1, true)),
    cluster("groups in groups", "field 9999", groups(9_999, levels, true)),
    cluster("groups in groups without an end", "field 9999", groups(9_999, levels, false)),
    {
      what: "a name that is not UTF-8",
      typeUrl: clusterUrl,
      name: "c",
      value: field(ofCluster.name, bytes(0x63, 0xff)),
      isValid: false,
      path: "name"
    },
    cluster(
      "a text that is not UTF-8",
      'typed_extension_protocol_options["x"].type_url',
      option("x", concat([field(1, bytes(0xc3, 0x28)), text(2, "")]))
    ),
    cluster(
      "a key that is not UTF-8",
      "metadata.filter_metadata",
      metadata("x", member("k", bytes())),
      field(25, field(1, field(1, bytes(0xed, 0xa0, 0x80))))
    ),
    // Names.
    named("NUL in the name", "a\0b"),
    named("a large name", long),
    named("__proto__ as a name", "__proto__"),
    // Values.
    cluster(
      "keys of a map that are there twice",
      undefined,
      metadata("x", member("k", text(3, "1"))),
      metadata("x", member("k", text(3, "2")))
    ),
    cluster(
      "__proto__ as a key",
      undefined,
      metadata("__proto__", member("__proto__", text(3, "1"))),
      option("__proto__", text(1, "a.com/x"))
    ),
    cluster(
      "a number that is none",
      undefined,
      field(ofCluster.commonLb, field(1, bytes(0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f)))
    ),
    cluster(
      "a Struct with a number that is none",
      undefined,
      metadata("x", member("k", bytes(0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f)))
    ),
    cluster(
      "a Struct with an infinite number",
      undefined,
      metadata("x", member("k", bytes(0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f)))
    ),
    cluster("a Value without a kind", undefined, metadata("x", member("k", bytes()))),
    // Depth.
    {
      what: "messages in messages",
      typeUrl: routeUrl,
      name: "c",
      value: concat([
        text(1, "c"),
        field(2, text(1, "v"), text(2, "*"), field(21, nested(levels, heads(3, 1), bytes())))
      ]),
      isValid: false,
      path: "virtual_hosts[0].matcher.on_no_match.matcher"
    },
    cluster(
      "a Struct in a Struct",
      'metadata.filter_metadata["x"].fields["a"].struct_value',
      metadata("x", nested(levels, structHead, bytes()))
    ),
    cluster("an Any in an Any", undefined, option("x", nested(levels, anyHead(anyUrl), bytes()))),
    cluster(
      "a cluster in an Any in a cluster",
      undefined,
      nested(
        levels,
        (length) => {
          const url = text(1, clusterUrl)
          const inner = heads(2)(length)
          const any = concat([url, inner])
          const key = text(1, "x")
          const value = heads(2)(length + any.byteLength)
          const entry = concat([key, value, any])
          return concat([heads(ofCluster.options)(length + entry.byteLength), entry])
        },
        text(ofCluster.name, "c")
      )
    ),
    // Size.
    cluster("a large unknown field", undefined, text(9_998, long)),
    cluster("many unknown fields", undefined, repeated(varintField(9_999, 1), size)),
    cluster("many entries of one key", undefined, repeated(metadata("x", member("k", text(3, "1"))), size)),
    cluster("a Struct in many pieces", 'metadata.filter_metadata["x"]', structInPieces(size)),
    cluster(
      "a Struct in many pieces of what it is in",
      "lb_subset_config.default_subset",
      inARow(size, (index) => field(22, field(2, member(`k${index}`, text(3, "v")))))
    ),
    cluster("a oneof that is set again and again", undefined, repeated(concat([varintField(2, 3), field(38)]), size)),
    cluster("a large Struct", undefined, metadata("x", manyMembers(size))),
    cluster("many options", undefined, manyOptions(size))
  ]
}

/**
 * Clusters for one response: those that have a name that can be read, each with another one in place of `c`.
 *
 * @since 0.1.0
 */
export const inOneResponse = (resources: ReadonlyArray<BadResource>): ReadonlyArray<BadResource> => {
  const head = text(ofCluster.name, "c")
  const isHead = ({ name, typeUrl, value }: BadResource): boolean =>
    typeUrl === clusterUrl && name === "c" && head.every((byte, index) => value[index] === byte)
  return resources.filter(isHead).map((resource, index) => {
    const name = `c${index}`
    return { ...resource, name, value: concat([text(ofCluster.name, name), resource.value.subarray(head.byteLength)]) }
  })
}

/** Parts in a row, until there are so many bytes. */
const inARow = (size: number, part: (index: number) => Uint8Array): Uint8Array => {
  const all = new Uint8Array(size + 1_024)
  let at = 0
  for (let index = 0; at < size; index++) {
    const each = part(index)
    all.set(each, at)
    at += each.byteLength
  }
  return all.subarray(0, at)
}

/** A field that holds a message once may stand there often: its pieces are merged. Those of a Struct grow each time. */
const structInPieces = (size: number): Uint8Array => {
  const pieces = inARow(size, (index) => field(2, member(`k${index}`, text(3, "v"))))
  return field(ofCluster.metadata, field(1, text(1, "x"), pieces))
}

const manyMembers = (size: number): Uint8Array => inARow(size, (index) => member(`k${index}`, text(3, "v")))

const manyOptions = (size: number): Uint8Array =>
  inARow(size, (index) => option(`k${index}`, concat([text(1, anyUrl), field(2)])))
