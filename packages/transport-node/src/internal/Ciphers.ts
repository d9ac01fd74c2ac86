/**
 * The default TLS versions and cipher suites: TLS 1.3, and of TLS 1.2 the suites with ephemeral key exchange (forward
 * secrecy) and authenticated encryption (AEAD), as RFC 9325, section 4.2 recommends.
 */
export const minVersion = "TLSv1.2"

export const suites = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305"
].join(":")
