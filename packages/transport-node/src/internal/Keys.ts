/** Private keys in PEM files, in words for people: those of OpenSSL name neither the file nor what to do. */
import * as Reason from "@effect-xds/proto/Reason"

const nameOf = (file: string | undefined): string => (file === undefined ? "tls.key" : `tls.key ${file}`)

/** What is wrong with the text of a key; `undefined`: it begins as one. Node takes an empty text for no key. */
export const problemOf = (pem: string, file: string | undefined): string | undefined => {
  if (!/-----BEGIN (?:[A-Z0-9]+ ){0,2}PRIVATE KEY-----/.test(pem)) {
    const what = pem.trim() === "" ? "it is empty" : "there is no private key in it"
    return `${nameOf(file)}: ${what}; a PEM file begins with -----BEGIN PRIVATE KEY-----`
  }
  if (!/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem)) return undefined
  return `${nameOf(file)}: it is encrypted, and there is no passphrase; decrypt it (openssl pkey -in FILE -out FILE)`
}

/** Why key and certificate cannot be used together. */
export const unusable = (cause: unknown, file: string | undefined): string => {
  const code: unknown = cause instanceof Error ? Reflect.get(cause, "code") : undefined
  if (code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH")
    return `${nameOf(file)}: it does not fit the certificate in tls.cert`
  if (code === "ERR_OSSL_UNSUPPORTED") return `${nameOf(file)}: it cannot be read as a private key`
  return Reason.of(cause)
}
