import type { DescMessage, JsonValue } from "@bufbuild/protobuf"
import { fromJson } from "@bufbuild/protobuf"
import { fromText } from "@bufbuild/protobuf/txtpb"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { type Encoded, MessageEncoder } from "../src/internal/MessageEncoder.js"
import * as PlainProtobufText from "../src/internal/PlainProtobufText.js"
import * as ValueBounds from "../src/internal/ValueBounds.js"
import { fieldsOf, Random } from "./RandomJson.js"
import { resourceOf } from "./RandomText.js"

/** More of them by hand. */
const seeds = Number(process.env["SEEDS"] ?? 80)
const from = Number(process.env["FROM"] ?? 0)

/** Beside the resources: what stands in them as an `Any`, and types with what is rare elsewhere. */
const others = [
  "envoy.config.bootstrap.v3.Bootstrap",
  "envoy.extensions.filters.http.lua.v3.Lua",
  "envoy.extensions.filters.http.router.v3.Router",
  "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
  "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
  "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
  "envoy.service.discovery.v3.Resource",
  "envoy.service.status.v3.ClientConfig",
  "envoy.data.core.v3.HealthCheckEvent",
  "envoy.admin.v3.ServerInfo",
  "envoy.data.accesslog.v3.HTTPAccessLogEntry",
  "xds.type.v3.TypedStruct",
  "xds.type.matcher.v3.Matcher",
  "google.protobuf.Empty",
  "google.protobuf.StringValue"
]

const types: Array<DescMessage> = []

beforeAll(async () => {
  for (const name of [...ResourceType.all.map(({ typeName }) => typeName), ...others]) {
    const type = await TypeRegistry.load(name)
    if (type !== undefined) types.push(type)
  }
})

/** What is done without it. */
const otherwise = (json: JsonValue, registry: Awaited<ReturnType<typeof TypeRegistry.forJson>>): string | undefined => {
  try {
    const any = fromJson(AnySchema, json, { registry })
    return ValueBounds.find(AnySchema, json, registry, []).length > 0 ? undefined : hex(any)
  } catch {
    return undefined
  }
}

const hex = ({ typeUrl, value }: { readonly typeUrl: string; readonly value: Uint8Array }): string =>
  `${typeUrl} ${Buffer.from(value).toString("hex")}`

/** What became of random messages beside what protobuf-es makes of them: the same bytes, or nothing. */
class Seen {
  #written = 0
  #left = 0
  #refused = 0

  /** `wanted`: its bytes; `undefined`: it refuses the message. */
  note(what: string, written: Encoded | undefined, wanted: string | undefined): void {
    if (written !== undefined && hex(written) !== wanted) {
      expect.fail(`${what}\n${hex(written)}\n${wanted ?? "is refused"}`)
    }
    if (written !== undefined) this.#written++
    else if (wanted !== undefined) this.#left++
    else this.#refused++
  }

  judge(): void {
    if (seeds > 1_000) console.log({ written: this.#written, left: this.#left, refused: this.#refused })
    expect(this.#written).toBeGreaterThan(5 * seeds)
    expect(this.#refused).toBeGreaterThan(seeds)
    expect(this.#written).toBeGreaterThan(this.#left)
  }
}

describe("MessageEncoder", () => {
  it("writes the bytes that protobuf-es writes, or leaves it to that", async () => {
    const registry = await TypeRegistry.forJson({})
    const encoder = new MessageEncoder("json", registry)
    const seen = new Seen()
    for (let seed = from; seed < from + seeds; seed++) {
      for (const type of types) {
        const random = new Random(seed)
        const recipe = { random, odd: random.of([0, 0, 5, 30, 200], 0), registry, types }
        const json = { "@type": `type.googleapis.com/${type.typeName}`, ...fieldsOf(recipe, type) }
        const written = encoder.any(json)
        const wanted = otherwise(json, registry)
        seen.note(`seed ${seed}: ${JSON.stringify(json)}`, written, wanted)
      }
    }
    seen.judge()
  })

  it("writes the same of the protobuf text format", async () => {
    const registry = await TypeRegistry.forJson({})
    const encoder = new MessageEncoder("text", registry)
    const seen = new Seen()
    const wantedOf = (text: string): string | undefined => {
      try {
        const { resources, ...others } = fromText(DiscoveryResponseSchema, text, { registry })
        const [any] = resources
        return any === undefined || resources.length > 1 || others.typeUrl !== "" ? "another response" : hex(any)
      } catch {
        return undefined
      }
    }
    for (let seed = from; seed < from + seeds; seed++) {
      for (const type of types) {
        const random = new Random(seed)
        const text = resourceOf({ random, odd: random.of([0, 0, 5, 30, 200], 0), registry, types }, type)
        // As a part of a text.
        const whole = `# ${text}\n${text}\n${text}`
        const begin = text.length + 3
        const plain = new PlainProtobufText.Reader(whole, (name) => registry.getMessage(name)).resourceAt(begin)
        // What a part of it stands for may be all that was read.
        const written = plain?.end === begin + text.length ? encoder.any(plain.value) : undefined
        const wanted = wantedOf(text)
        seen.note(`seed ${seed}: ${text}`, written, wanted)
      }
    }
    seen.judge()
  })

  it("leaves text to protobuf-es that is not in its form", async () => {
    const registry = await TypeRegistry.forJson({})
    const read = (inside: string) => {
      const text = `resources { [type.googleapis.com/envoy.config.cluster.v3.Cluster] { ${inside} } }`
      return new PlainProtobufText.Reader(text, (name) => registry.getMessage(name)).resourceAt(0)?.value
    }
    expect(read('name: "a" type: 1 lb_policy: RANDOM')).toMatchObject({ name: "a", type: 1, lb_policy: "RANDOM" })
    for (const wrong of ['type: 1name: "a"', "type: 01", "type: 1.0", "name: a", 'name "a"', 'name: "a" "b"']) {
      expect(read(wrong), wrong).toBeUndefined()
    }
  })
})
