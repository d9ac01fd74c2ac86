import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { TransportSocketSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import {
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema
} from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/tls"
import { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import { HttpProtocolOptionsSchema } from "@effect-xds/proto/envoy/extensions/upstreams/http/v3/http_protocol_options"
import { Waiting } from "@effect-xds/testing"
import * as Certificates from "@effect-xds/testing/Certificates"
import { Effect } from "effect"
import { X509Certificate } from "node:crypto"
import { performance } from "node:perf_hooks"
import { describe, expect } from "vitest"
import type * as Bootstrap from "../src/Bootstrap.js"
import * as Edge from "../src/Edge.js"
import * as Http from "../src/Http.js"
import * as Resources from "../src/Resources.js"
import * as ControlPlane from "./ControlPlane.js"
import { aggregated, startEnvoy, test } from "./EnvoyTest.js"
import * as SecureTraffic from "./SecureTraffic.js"
import { answered, is, more } from "./Traffic.js"

const inline = (value: string) => ({ specifier: { case: "inlineString", value } }) as const

const certificate = ({ cert, key }: Certificates.Certificate) =>
  create(SecretSchema, {
    name: "server",
    type: { case: "tlsCertificate", value: { certificateChain: inline(cert), privateKey: inline(key) } }
  })

const authorities = (...trusted: ReadonlyArray<Certificates.Authority>) =>
  create(SecretSchema, {
    name: "authorities",
    type: {
      case: "validationContext",
      value: { trustedCa: inline(trusted.map(({ cert }) => cert).join("\n")) }
    }
  })

const tls = <Desc extends DescMessage>(schema: Desc, context: MessageInitShape<Desc>) =>
  create(TransportSocketSchema, {
    name: "tls",
    configType: { case: "typedConfig", value: anyPack(schema, create(schema, context)) }
  })

/** The listener's certificate is the secret `server`. */
const downstream = (variant: Bootstrap.Variant) =>
  tls(DownstreamTlsContextSchema, {
    commonTlsContext: {
      tlsCertificateSdsSecretConfigs: [{ name: "server", sdsConfig: Resources.source(variant) }]
    }
  })

const bySecret = (name: string, variant: Bootstrap.Variant) =>
  ({ case: "validationContextSdsSecretConfig", value: { name, sdsConfig: Resources.source(variant) } }) as const

/** A cluster whose endpoints prove by the secret `authorities` who they are. */
const verified = (variant: Bootstrap.Variant, name: string) =>
  create(ClusterSchema, {
    ...Resources.cluster(variant, name),
    transportSocket: tls(UpstreamTlsContextSchema, {
      commonTlsContext: {
        validationContextType: bySecret("authorities", variant)
      }
    }),
    // Each request has a connection of its own, so that each endpoint is asked for its certificate again and again.
    typedExtensionProtocolOptions: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": anyPack(
        HttpProtocolOptionsSchema,
        create(HttpProtocolOptionsSchema, {
          commonHttpProtocolOptions: { maxRequestsPerConnection: 1 },
          upstreamProtocolOptions: {
            case: "explicitHttpConfig",
            value: { protocolConfig: { case: "httpProtocolOptions", value: {} } }
          }
        })
      )
    }
  })

const fingerprint = ({ cert }: Certificates.Certificate) => new X509Certificate(cert).fingerprint256

const rotations = 5

describe.each(aggregated)("Envoy, SDS, $name", (variant) => {
  test(
    "the certificate of a listener is rotated under load: no request fails, no open connection is lost",
    Effect.gen(function* () {
      const authority = yield* Certificates.authority("edge authority")
      const sign = authority.sign("edge", { dns: ["localhost"], ip: ["127.0.0.1"] })
      const first = yield* sign
      const one = yield* Http.upstream("one")
      const plane = yield* ControlPlane.serve()
      yield* plane.store.set("edge", {
        ...Edge.resources(variant, { weights: { one: 1 }, clusters: { one: [one] } }),
        listeners: [Resources.listener("ingress", Resources.manager(variant, "main"), downstream(variant))],
        secrets: [certificate(first)]
      })
      const envoy = yield* startEnvoy(variant, plane.address)
      const port = yield* envoy.listenerPort("ingress")
      // A listener has an address before a worker takes connections for it.
      yield* Waiting.until(
        "a worker with the listener",
        envoy.stat("listener_manager.listener_create_success"),
        (count) => count > 0
      )
      const target = { url: `https://127.0.0.1:${port}/`, ca: authority.cert }
      const kept = yield* Effect.all(Array.from({ length: 6 }, () => SecureTraffic.kept(target)))
      const fresh = yield* Effect.all(Array.from({ length: 2 }, () => SecureTraffic.fresh(target)))
      const all = [...kept, ...fresh]
      const failures = () => all.flatMap((each) => each.failures)
      /** Until each has so many more answers. */
      const on = (count: number) =>
        Effect.suspend(() => {
          const goals = all.map(({ answered }) => answered + count)
          return Waiting.until(
            `${count} more answers on each`,
            () => all.map(({ answered }, at) => (goals[at] ?? 0) - answered),
            (left) => left.every((count) => count <= 0),
            { seen: failures }
          )
        })
      yield* on(5)

      const certificates = [fingerprint(first)]
      const took: Array<number> = []
      const rotate = Effect.gen(function* () {
        const next = yield* sign
        const start = performance.now()
        yield* plane.store.update("edge", { upsert: { secrets: [certificate(next)] } })
        certificates.push(fingerprint(next))
        yield* Waiting.until(
          "new connections to see the new certificate",
          () => fresh.map(({ certificates }) => certificates.at(-1)),
          (seen) => seen.every((each) => each === fingerprint(next)),
          { seen: failures }
        )
        took.push(performance.now() - start)
        yield* on(5)
      })
      for (let count = 0; count < rotations; count++) yield* rotate

      // A key that is another one's: no rule of the API is broken. The certificate before stays, and the key is in no words.
      const other = yield* sign
      const mixed = { cert: other.cert, key: first.key }
      yield* plane.store.update("edge", { upsert: { secrets: [certificate(mixed)] } })
      const { error } = yield* ControlPlane.heard(plane.events, "Nacked", ResourceType.Secret)
      expect(error.message).not.toContain("PRIVATE KEY")
      for (const line of first.key.split("\n")) if (line.length > 8) expect(error.message).not.toContain(line)
      yield* on(5)
      yield* rotate

      const open = kept.reduce((sum, { opened }) => sum + opened, 0)
      const lost = kept.reduce((sum, { lost }) => sum + lost, 0)
      const answers = (some: typeof all) => some.reduce((sum, { answered }) => sum + answered, 0)
      const made = fresh.reduce((sum, { opened }) => sum + opened, 0)
      console.log(
        `SDS, ${variant.name}: ${took.length} rotations and one refused; ${answers(kept)} requests on ${open} open ` +
          `connections, ${lost} lost; ${answers(fresh)} requests on ${made} new connections; ` +
          `${failures().length} failed; new connections saw a certificate after ` +
          `${took.map((each) => each.toFixed(0)).join(", ")} ms`
      )
      expect(failures()).toEqual([])
      expect(kept.map(({ lost, opened }) => ({ lost, opened }))).toEqual(kept.map(() => ({ lost: 0, opened: 1 })))
      // What is open stays as it is; what is new has never an older one after a newer one.
      expect(kept.map(({ certificates }) => certificates)).toEqual(kept.map(() => [fingerprint(first)]))
      expect(fresh.map(({ certificates }) => certificates)).toEqual(fresh.map(() => certificates))
      // No listener was made anew for any of this.
      expect(yield* envoy.stat("listener_manager.listener_create_success")).toBe(1)
      expect(yield* envoy.stat("listener_manager.total_listeners_draining")).toBe(0)
    })
  )

  test(
    "the authority of a cluster's endpoints is exchanged for another one, and no request fails",
    Effect.gen(function* () {
      const [old, young] = yield* Effect.all([Certificates.authority("old"), Certificates.authority("young")])
      const names = { dns: ["one.example"] }
      const one = yield* SecureTraffic.upstream("one", yield* old.sign("one", names))
      const plane = yield* ControlPlane.serve()
      yield* plane.store.set("edge", {
        ...Edge.resources(variant, { weights: { one: 1 }, clusters: { one: [one.address] } }),
        clusters: [verified(variant, "one")],
        secrets: [authorities(old)]
      })
      const envoy = yield* startEnvoy(variant, plane.address)
      const url = `http://127.0.0.1:${yield* envoy.listenerPort("ingress")}/`
      yield* answered({ url }, is("one"))
      const requests = yield* Http.requests({ url })

      const updates = envoy.stat("cluster.one.client_ssl_socket_factory.ssl_context_update_by_sds")
      /** Until Envoy has them. */
      const trust = (...trusted: ReadonlyArray<Certificates.Authority>) =>
        Effect.gen(function* () {
          const before = yield* updates
          yield* plane.store.update("edge", { upsert: { secrets: [authorities(...trusted)] } })
          yield* Waiting.until("the authorities to be exchanged", updates, (count) => count > before)
          yield* more(requests, 20)
        })
      yield* trust(old, young)
      yield* one.renew(yield* young.sign("one", names))
      yield* more(requests, 20)
      yield* trust(young)
      expect(requests.failed, requests.describe()).toBe(0)
      console.log(`SDS, ${variant.name}, authorities: ${requests.describe()}`)

      // They are what counts: an endpoint that none of them signed is not believed.
      yield* plane.store.update("edge", { upsert: { secrets: [authorities(old)] } })
      yield* answered({ url }, ({ status }) => status === 503)
      expect(yield* envoy.stat("cluster.one.ssl.fail_verify_error")).toBeGreaterThan(0)
      yield* plane.store.update("edge", { upsert: { secrets: [authorities(young)] } })
      yield* answered({ url }, is("one"))
    })
  )
})
