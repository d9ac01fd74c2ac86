/**
 * Certificates for tests of TLS: an authority, and certificates that it signed. Each call makes new P-256 keys; nothing is
 * written to disk. The only module of this package that needs `selfsigned`; it is not in the index.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { generate } from "selfsigned"

/**
 * A certificate and its key, both PEM.
 *
 * @since 0.1.0
 */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/**
 * The subject alternative names of a certificate.
 *
 * @since 0.1.0
 */
export interface Names {
  /** Host names, as `localhost`. */
  readonly dns?: ReadonlyArray<string> | undefined
  /** Addresses, as `127.0.0.1`. */
  readonly ip?: ReadonlyArray<string> | undefined
  /** URIs, as SPIFFE IDs are. */
  readonly uri?: ReadonlyArray<string> | undefined
}

/**
 * The validity of a certificate. Default: from now on, for a year.
 *
 * @since 0.1.0
 */
export interface Validity {
  readonly notBefore: Date
  readonly notAfter: Date
}

/**
 * An authority: its own certificate, and the certificates that it signs.
 *
 * @since 0.1.0
 */
export interface Authority extends Certificate {
  /** Signs a certificate for a common name. */
  readonly sign: (commonName: string, names: Names) => Effect.Effect<Certificate>
}

const keys = { keyType: "ec", algorithm: "sha256" } as const

/**
 * A self-signed certificate.
 *
 * @since 0.1.0
 */
export const selfSigned = (commonName: string, validity?: Validity): Effect.Effect<Certificate> =>
  Effect.promise(async () => {
    const { cert, private: key } = await generate([{ name: "commonName", value: commonName }], {
      ...keys,
      ...(validity === undefined ? {} : { notBeforeDate: validity.notBefore, notAfterDate: validity.notAfter })
    })
    return { cert, key }
  })

const altNames = ({ dns = [], ip = [], uri = [] }: Names) => [
  ...uri.map((value) => ({ type: 6 as const, value })),
  ...dns.map((value) => ({ type: 2 as const, value })),
  ...ip.map((address) => ({ type: 7 as const, ip: address }))
]

/**
 * An authority with a key of its own.
 *
 * @since 0.1.0
 */
export const authority = (commonName: string): Effect.Effect<Authority> =>
  Effect.promise(async () => {
    const own = await generate([{ name: "commonName", value: commonName }], {
      ...keys,
      extensions: [
        { name: "basicConstraints", cA: true, critical: true },
        { name: "keyUsage", keyCertSign: true, digitalSignature: true, critical: true }
      ]
    })
    const sign = (name: string, names: Names) =>
      Effect.promise(async () => {
        const { cert, private: key } = await generate([{ name: "commonName", value: name }], {
          ...keys,
          ca: { key: own.private, cert: own.cert },
          extensions: [{ name: "subjectAltName", altNames: altNames(names) }]
        })
        return { cert, key }
      })
    return { cert: own.cert, key: own.private, sign }
  })

/**
 * The certificates for a test of mutual TLS.
 *
 * @since 0.1.0
 */
export interface Mutual {
  readonly authority: Authority
  /** Signed by the authority for `localhost` and `127.0.0.1`; its common name is `xds`. */
  readonly server: Certificate
  /** Signed by the authority for `spiffe://test/node-1` and `node-1.test`; its common name is `node one`. */
  readonly client: Certificate
  /** A self-signed client certificate, which the others do not trust. */
  readonly stranger: Certificate
}

/**
 * An authority, a server and a client that it signed, and a stranger.
 *
 * @example
 * import * as Certificates from "@effect-xds/testing/Certificates"
 * import { Effect } from "effect"
 * import { createSecureServer } from "node:http2"
 *
 * const program = Effect.gen(function* () {
 *   const { authority, server } = yield* Certificates.mutual
 *   return createSecureServer({ ...server, ca: authority.cert, requestCert: true })
 * })
 *
 * @since 0.1.0
 */
export const mutual: Effect.Effect<Mutual> = Effect.gen(function* () {
  const signing = yield* authority("test authority")
  return {
    authority: signing,
    server: yield* signing.sign("xds", { dns: ["localhost"], ip: ["127.0.0.1"] }),
    client: yield* signing.sign("node one", { uri: ["spiffe://test/node-1"], dns: ["node-1.test"] }),
    stranger: yield* selfSigned("stranger")
  }
})
