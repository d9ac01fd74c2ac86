/* eslint-disable @typescript-eslint/no-deprecated -- match_subject_alt_names is deprecated in the proto, and what gRPC clients read (A29) */
/** The names of a server's certificate, and those that a cluster lists. */
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { SubjectAltNameMatcher_SanType as SanType } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/common"
import { UpstreamTlsContextSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/tls"
import { expect, it } from "@effect/vitest"
import { Either } from "effect"
import * as UpstreamTls from "../src/internal/UpstreamTls.js"

/** Whether a certificate with these names, as Node tells them, is the server's where the cluster lists one. */
const accepts = (names: string, wanted: string, sanType?: SanType): boolean => {
  const matcher = { matchPattern: { case: "exact" as const, value: wanted } }
  const context = create(UpstreamTlsContextSchema, {
    commonTlsContext: {
      validationContextType: {
        case: "validationContext",
        value: {
          caCertificateProviderInstance: { instanceName: "files" },
          ...(sanType === undefined
            ? { matchSubjectAltNames: [matcher] }
            : { matchTypedSubjectAltNames: [{ sanType, matcher }] })
        }
      }
    }
  })
  const transportSocket = { name: "tls", config: anyPack(UpstreamTlsContextSchema, context) }
  const made = Either.getOrThrow(UpstreamTls.make({ transportSocket }, new Set(["files"])))
  return made !== undefined && UpstreamTls.accepts(made, names)
}

it.each([
  ["IP Address:2001:DB8:0:0:0:0:0:1", "2001:db8::1", SanType.IP_ADDRESS, true],
  ["IP Address:2001:DB8:0:0:0:0:0:1", "2001:db8::1", undefined, true],
  ["IP Address:2001:DB8:0:0:0:0:0:1", "2001:DB8:0::1", SanType.IP_ADDRESS, true],
  ["IP Address:2001:DB8:0:0:0:0:0:1", "2001:db8::2", SanType.IP_ADDRESS, false],
  ["IP Address:10.0.0.1", "10.0.0.1", SanType.IP_ADDRESS, true],
  ["DNS:shop.example.", "shop.example", SanType.DNS, true],
  ["DNS:*.shop.example", "A.Shop.Example.", SanType.DNS, true],
  ["DNS:shop.example", "shop.example", SanType.URI, false],
  ["URI:spiffe://a", "spiffe://a", undefined, true],
  // A directory's name is none of a server, whatever stands in it.
  ["DirName:CN=shop", "CN=shop", undefined, false],
  ['DirName:"CN=a, b", DNS:shop.example', "shop.example", undefined, true]
])("%s, listed %s as %j: %j", (names, wanted, kind, isAccepted) => {
  expect(accepts(names, wanted, kind)).toBe(isAccepted)
})
