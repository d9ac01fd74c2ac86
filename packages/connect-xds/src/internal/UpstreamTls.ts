/**
 * How connections to the endpoints of a cluster are secured: its `transport_socket`, read by the rules of gRPC clients
 * (A29). Certificates come from providers of the bootstrap, or from SDS over the client's own stream.
 */
import { fromBinary } from "@bufbuild/protobuf"
import * as IpAddress from "@effect-xds/discovery/IpAddress"
import * as StringMatcher from "@effect-xds/discovery/StringMatcher"
import type {
  CertificateProviderPluginInstance,
  CertificateValidationContext
} from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/common"
import { SubjectAltNameMatcher_SanType as SanType } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/common"
import type { SdsSecretConfig } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import type {
  CommonTlsContext,
  UpstreamTlsContext
} from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/tls"
import { UpstreamTlsContextSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/tls"
import * as Reason from "@effect-xds/proto/Reason"
import type { Cluster } from "@effect-xds/routing/Cluster"
import * as Either from "effect/Either"

/** Where certificates come from: `provider NAME` or `sds NAME`. */
export type Source = `${"provider" | "sds"} ${string}`

/** A name that the certificate of a server may have. */
interface NameMatcher {
  /** `undefined`: a name of any kind. */
  readonly kind: NameKind | undefined
  readonly matcher: StringMatcher.StringMatcher
}

type NameKind = "DNS" | "URI" | "IP Address" | "email"

export interface UpstreamTls {
  /** What tells equal ones from others. */
  readonly key: string
  /** Certificates of authorities. */
  readonly roots: Source
  /** Our certificate; `undefined`: we show none. */
  readonly identity: Source | undefined
  /** One of them must match; none: any name will do (A29). */
  readonly names: ReadonlyArray<NameMatcher>
  /** The server name that is asked for; empty: the one of the target. */
  readonly sni: string
}

const typeUrl = `type.googleapis.com/${UpstreamTlsContextSchema.typeName}`

/** `undefined`: not secured. Left: what is wrong, and where. */
export const make = (
  { transportSocket }: Pick<Cluster, "transportSocket">,
  providers: ReadonlySet<string>
): Either.Either<UpstreamTls | undefined, string> => {
  if (transportSocket === undefined) return Either.right(undefined)
  const { config } = transportSocket
  if (config?.typeUrl !== typeUrl) {
    return Either.left(`transport_socket: ${config?.typeUrl ?? "no typed_config"} is not supported; use ${typeUrl}`)
  }
  try {
    const message = fromBinary(UpstreamTlsContextSchema, config.value)
    return Either.mapLeft(read(message, providers), (what) => `transport_socket.${what}`)
  } catch (cause) {
    return Either.left(`transport_socket: not an UpstreamTlsContext: ${Reason.of(cause)}`)
  }
}

const read = (
  { autoHostSni, autoSniSanValidation, commonTlsContext: context, sni }: UpstreamTlsContext,
  providers: ReadonlySet<string>
): Either.Either<UpstreamTls, string> =>
  Either.gen(function* () {
    const path = "common_tls_context"
    if (context === undefined) return yield* Either.left(`${path} is missing; it is required`)
    if (context.tlsCertificates.length > 0) {
      return yield* Either.left(`${path}.tls_certificates is not supported; use a provider of the bootstrap, or SDS`)
    }
    if (context.tlsParams !== undefined) {
      return yield* Either.left(`${path}.tls_params is not supported; leave it out: TLS 1.2 and 1.3 are spoken`)
    }
    if (context.customHandshaker !== undefined) {
      return yield* Either.left(`${path}.custom_handshaker is not supported; leave it out`)
    }
    const { validation, roots } = yield* rootsOf(context, path, providers)
    const identity = yield* identityOf(context, path, providers)
    for (const [field, isSet] of Object.entries({
      verify_certificate_spki: validation !== undefined && validation.verifyCertificateSpki.length > 0,
      verify_certificate_hash: validation !== undefined && validation.verifyCertificateHash.length > 0,
      require_signed_certificate_timestamp: validation?.requireSignedCertificateTimestamp === true,
      crl: validation?.crl !== undefined,
      custom_validator_config: validation?.customValidatorConfig !== undefined
    })) {
      // ★ What would be checked and is not must not be passed over.
      if (isSet) return yield* Either.left(`${path} validation context: ${field} is not supported; leave it out`)
    }
    if (autoSniSanValidation && autoHostSni) {
      return yield* Either.left("auto_sni_san_validation is not supported beside auto_host_sni; use sni")
    }
    const listed = yield* namesOf(validation, path)
    // ★ The name that was asked for replaces those that are listed, if there is one (A101).
    const names = autoSniSanValidation && sni !== "" ? [ofSni(sni)] : listed
    const key = JSON.stringify([roots, identity, names, sni])
    return { key, roots, identity, names, sni }
  })

const ofSni = (sni: string): NameMatcher => ({ kind: "DNS", matcher: StringMatcher.literal("Exact", sni, false) })

const rootsOf = (
  { validationContextType: type }: CommonTlsContext,
  path: string,
  providers: ReadonlySet<string>
): Either.Either<{ readonly roots: Source; readonly validation: CertificateValidationContext | undefined }, string> =>
  Either.gen(function* () {
    switch (type.case) {
      case "validationContext": {
        const { caCertificateProviderInstance: instance } = type.value
        if (instance === undefined) break
        return { roots: yield* ofProvider(instance, providers), validation: type.value }
      }
      case "validationContextSdsSecretConfig":
        return { roots: yield* ofSds(type.value), validation: undefined }
      case "combinedValidationContext": {
        const { defaultValidationContext: validation, validationContextSdsSecretConfig: sds } = type.value
        const instance = validation?.caCertificateProviderInstance
        if (instance !== undefined) return { roots: yield* ofProvider(instance, providers), validation }
        if (sds !== undefined) return { roots: yield* ofSds(sds), validation }
        break
      }
      case "validationContextCertificateProvider":
      case "validationContextCertificateProviderInstance":
      case undefined:
    }
    return yield* Either.left(
      `${path} names no certificates of authorities; set ca_certificate_provider_instance or validation_context_sds_secret_config`
    )
  })

const identityOf = (
  context: CommonTlsContext,
  path: string,
  providers: ReadonlySet<string>
): Either.Either<Source | undefined, string> => {
  const [sds, ...others] = context.tlsCertificateSdsSecretConfigs
  if (others.length > 0) return Either.left(`${path}.tls_certificate_sds_secret_configs are several; name one`)
  if (context.tlsCertificateProviderInstance !== undefined) {
    return ofProvider(context.tlsCertificateProviderInstance, providers)
  }
  return sds === undefined ? Either.right(undefined) : ofSds(sds)
}

const ofProvider = (
  { instanceName }: CertificateProviderPluginInstance,
  providers: ReadonlySet<string>
): Either.Either<Source, string> =>
  providers.has(instanceName)
    ? Either.right<Source>(`provider ${instanceName}`)
    : Either.left(`common_tls_context: the bootstrap has no certificate provider ${JSON.stringify(instanceName)}`)

const ofSds = ({ name, sdsConfig }: SdsSecretConfig): Either.Either<Source, string> => {
  const source = sdsConfig?.configSourceSpecifier.case
  if (name === "") return Either.left("common_tls_context: a secret of SDS has no name; name it")
  return source === "ads" || source === "self"
    ? Either.right<Source>(`sds ${name}`)
    : Either.left(`common_tls_context: only ads and self are supported as the source of secret ${JSON.stringify(name)}`)
}

const kinds: ReadonlyMap<SanType, NameKind> = new Map([
  [SanType.DNS, "DNS"],
  [SanType.URI, "URI"],
  [SanType.IP_ADDRESS, "IP Address"],
  [SanType.EMAIL, "email"]
])

const kindNames: ReadonlySet<string | undefined> = new Set(kinds.values())

/** Other kinds, such as names of directories, are no names of a server. */
const isKind = (kind: string | undefined): kind is NameKind => kindNames.has(kind)

const namesOf = (
  validation: CertificateValidationContext | undefined,
  path: string
): Either.Either<ReadonlyArray<NameMatcher>, string> =>
  Either.gen(function* () {
    const names: Array<NameMatcher> = []
    for (const { matcher, sanType } of validation?.matchTypedSubjectAltNames ?? []) {
      const kind = kinds.get(sanType)
      const at = `${path}.match_typed_subject_alt_names`
      if (kind === undefined || matcher === undefined)
        return yield* Either.left(`${at}: ${SanType[sanType]} is not supported`)
      names.push({
        kind,
        matcher: yield* Either.mapLeft(StringMatcher.make(matcher), ({ message }) => `${at}: ${message}`)
      })
    }
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- deprecated in the proto, and what gRPC clients read (A29)
    for (const matcher of validation?.matchSubjectAltNames ?? []) {
      const at = `${path}.match_subject_alt_names`
      names.push({
        kind: undefined,
        matcher: yield* Either.mapLeft(StringMatcher.make(matcher), ({ message }) => `${at}: ${message}`)
      })
    }
    return names
  })

/**
 * Whether a certificate may be the server's, by its alternative names as Node tells them: `DNS:a.test, URI:spiffe://a`.
 * Node quotes as JSON what has a comma or a quote.
 */
export const accepts = (self: UpstreamTls, names: string): boolean => {
  if (self.names.length === 0) return true
  for (const [, kind, quoted, plain] of names.matchAll(/(?:^|, )([A-Za-z ]+):(?:("(?:[^"\\]|\\.)*")|([^,]*))/g)) {
    if (!isKind(kind)) continue
    const text = quoted === undefined ? (plain ?? "") : unquoted(quoted)
    const value = kind === "IP Address" ? shortAddress(text) : text
    if (
      self.names.some((name) => (name.kind === undefined || name.kind === kind) && holds(name.matcher, kind, value))
    ) {
      return true
    }
  }
  return false
}

const unquoted = (text: string): string => {
  const parsed: unknown = JSON.parse(text)
  return typeof parsed === "string" ? parsed : ""
}

/** Addresses are compared in their short form, `2001:db8::1`: Node gives `2001:DB8:0:0:0:0:0:1`, and people write the short one. */
const shortAddress = (text: string): string => IpAddress.normalize(text) ?? text

const hostName = (name: string): string => name.toLowerCase().replace(/\.$/, "")

/**
 * ★ An exact name of DNS is compared as names of hosts are: whatever the case, with or without a dot at the end, and with `*` for the
 * first label.
 */
const holds = (matcher: StringMatcher.StringMatcher, kind: NameKind, value: string): boolean => {
  if (StringMatcher.matches(matcher, value)) return true
  if (matcher._tag !== "Exact") return false
  if (kind === "IP Address") return shortAddress(matcher.pattern) === value
  if (kind !== "DNS") return false
  const wanted = hostName(matcher.pattern)
  const given = hostName(value)
  return given === wanted || (given.startsWith("*.") && wanted.slice(wanted.indexOf(".")) === given.slice(1))
}
