/** TLS: certificates, and secrets that come by SDS. */
import type { DataSource } from "@effect-xds/proto/envoy/config/core/v3/base"
import type {
  CertificateValidationContext,
  TlsCertificate
} from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/common"
import type { SdsSecretConfig } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import type {
  CommonTlsContext,
  DownstreamTlsContext,
  UpstreamTlsContext
} from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/tls"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as ConfigSources from "./ConfigSources.js"
import type { Site } from "./Facts.js"
import * as Reading from "./Reading.js"

const tls = "envoy.extensions.transport_sockets.tls.v3"

const common = "common_tls_context"

const ofDownstream = ({ commonTlsContext: self }: DownstreamTlsContext, site: Site): void => {
  const isElsewhere =
    self?.tlsCertificateProviderInstance !== undefined ||
    self?.customTlsCertificateSelector !== undefined ||
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- Envoy still reads it
    self?.tlsCertificateCertificateProvider !== undefined ||
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- Envoy still reads it
    self?.tlsCertificateCertificateProviderInstance !== undefined
  const inline = self?.tlsCertificates.length ?? 0
  const bySds = self?.tlsCertificateSdsSecretConfigs.length ?? 0
  if (inline > 0 && bySds > 0) {
    const problem = "must be empty where tls_certificate_sds_secret_configs are"
    site.fault("server-certificate", problem, [common, "tls_certificates"])
  } else if (inline === 0 && bySds === 0 && !isElsewhere) {
    const problem = "must have tls_certificates or tls_certificate_sds_secret_configs"
    site.fault("server-certificate", problem, [common])
  }
}

const ofUpstream = ({ commonTlsContext: self }: UpstreamTlsContext, site: Site): void => {
  const count = (self?.tlsCertificates.length ?? 0) + (self?.tlsCertificateSdsSecretConfigs.length ?? 0)
  if (count > 1) site.fault("client-certificate", "must have at most one certificate", [common])
}

const ofCommon = ({ validationContextType }: CommonTlsContext, site: Site): void => {
  // In a combined context, or one by SDS, the authority may come from the other part.
  if (validationContextType.case !== "validationContext") return
  const { value } = validationContextType
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- Envoy still reads it
  const names = value.matchTypedSubjectAltNames.length + value.matchSubjectAltNames.length
  // ★ system_root_certs are gRPC's; Envoy has no authority by them.
  const isTrusted =
    value.trustedCa !== undefined ||
    value.caCertificateProviderInstance !== undefined ||
    value.customValidatorConfig !== undefined
  if (names > 0 && !isTrusted) {
    const field =
      value.matchTypedSubjectAltNames.length > 0 ? "match_typed_subject_alt_names" : "match_subject_alt_names"
    site.fault("san-without-ca", "must have a trusted_ca beside it", ["validation_context", field])
  }
}

/** ★ What is there instead is not told: it may be a secret. */
const pem = (site: Site, source: DataSource | undefined, field: string): void => {
  const specifier = source?.specifier
  const text =
    specifier?.case === "inlineString"
      ? specifier.value
      : specifier?.case === "inlineBytes"
        ? new TextDecoder("latin1").decode(specifier.value)
        : undefined
  if (text !== undefined && !text.includes("-----BEGIN ")) site.fault("pem", "must be PEM", [field])
}

const ofCertificate = (self: TlsCertificate, site: Site): void => {
  pem(site, self.certificateChain, "certificate_chain")
  pem(site, self.privateKey, "private_key")
  const hasKey = self.privateKey !== undefined || self.privateKeyProvider !== undefined || self.pkcs12 !== undefined
  if (self.certificateChain !== undefined && !hasKey) site.fault("private-key", "must be set", ["private_key"])
}

const ofSds = ({ name, sdsConfig }: SdsSecretConfig, site: Site): void => {
  if (ConfigSources.isHere(sdsConfig)) site.refer("secret-reference", ResourceType.Secret, name, ["name"])
}

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.of<DownstreamTlsContext>(`${tls}.DownstreamTlsContext`, ofDownstream),
  Reading.of<UpstreamTlsContext>(`${tls}.UpstreamTlsContext`, ofUpstream),
  Reading.of<CommonTlsContext>(`${tls}.CommonTlsContext`, ofCommon),
  Reading.of<TlsCertificate>(`${tls}.TlsCertificate`, ofCertificate),
  Reading.of<CertificateValidationContext>(`${tls}.CertificateValidationContext`, (self, site) =>
    pem(site, self.trustedCa, "trusted_ca")
  ),
  Reading.of<SdsSecretConfig>(`${tls}.SdsSecretConfig`, ofSds)
]
