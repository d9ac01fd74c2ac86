/* eslint-disable @typescript-eslint/no-deprecated -- match_subject_alt_names is deprecated in the proto, and what gRPC clients read (A29) */
/** The names of a server's certificate, and those that a cluster lists. */
import type { MessageInitShape } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { SubjectAltNameMatcher_SanType as SanType } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/common"
import { UpstreamTlsContextSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/tls"
import { describe, expect, it } from "@effect/vitest"
import { Either } from "effect"
import * as UpstreamTls from "../src/internal/UpstreamTls.js"

type Init = MessageInitShape<typeof UpstreamTlsContextSchema>

const make = (context: Init) => {
  const config = anyPack(UpstreamTlsContextSchema, create(UpstreamTlsContextSchema, context))
  return UpstreamTls.make({ transportSocket: { name: "tls", config } }, new Set(["files"]))
}

/** Whether a certificate with these names, as Node tells them, is the server's. */
const isAccepted = (context: Init, names: string): boolean => {
  const made = Either.getOrThrow(make(context))
  return made !== undefined && UpstreamTls.accepts(made, names)
}

/** Whether a certificate with these names, as Node tells them, is the server's where the cluster lists one. */
const accepts = (names: string, wanted: string, sanType?: SanType): boolean => {
  const matcher = { matchPattern: { case: "exact" as const, value: wanted } }
  const context: Init = {
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
  }
  return isAccepted(context, names)
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

/** A certificate of the authorities in files, with a name that is listed. */
const common: Init["commonTlsContext"] = {
  validationContextType: {
    case: "validationContext",
    value: {
      caCertificateProviderInstance: { instanceName: "files" },
      matchSubjectAltNames: [{ matchPattern: { case: "exact", value: "listed.example" } }]
    }
  }
}

describe("auto_sni_san_validation (A101)", () => {
  it("★ the name that is asked for replaces those that are listed", () => {
    const context: Init = { commonTlsContext: common, sni: "shop.example", autoSniSanValidation: true }
    const names = ["DNS:shop.example", "DNS:listed.example", "URI:shop.example"]
    expect(names.map((name) => isAccepted(context, name))).toEqual([true, false, false])
  })

  it("without a name that is asked for those that are listed are the server's", () => {
    const context: Init = { commonTlsContext: common, autoSniSanValidation: true }
    expect(["DNS:listed.example", "DNS:shop"].map((name) => isAccepted(context, name))).toEqual([true, false])
  })

  it("★ is rejected where the name would be that of the endpoint", () => {
    const made = make({ commonTlsContext: common, sni: "a", autoHostSni: true, autoSniSanValidation: true })
    expect(Either.isLeft(made) && made.left).toContain("auto_sni_san_validation")
  })
})

it("★ a custom_handshaker, which would be passed over, is rejected (A29)", () => {
  const made = make({ commonTlsContext: { ...common, customHandshaker: { name: "alts" } } })
  expect(Either.isLeft(made) && made.left).toContain("common_tls_context.custom_handshaker")
})
