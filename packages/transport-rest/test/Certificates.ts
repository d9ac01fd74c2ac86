/**
 * An authority, a server and a client that it signed, and one that it did not.
 */
import { generate } from "selfsigned"

export const authority = await generate([{ name: "commonName", value: "test authority" }], {
  keyType: "ec",
  algorithm: "sha256",
  extensions: [
    { name: "basicConstraints", cA: true, critical: true },
    { name: "keyUsage", keyCertSign: true, digitalSignature: true, critical: true }
  ]
})
/** One that the authority signed. */
const certificate = (
  commonName: string,
  altNames: ReadonlyArray<{ readonly type: 1 | 2 | 6 | 7; readonly value?: string; readonly ip?: string }>
) =>
  generate([{ name: "commonName", value: commonName }], {
    keyType: "ec",
    algorithm: "sha256",
    ca: { key: authority.private, cert: authority.cert },
    extensions: [{ name: "subjectAltName", altNames: [...altNames] }]
  })
export const server = await certificate("xds", [
  { type: 2, value: "localhost" },
  { type: 7, ip: "127.0.0.1" }
])
export const client = await certificate("node one", [
  { type: 6, value: "spiffe://test/node-1" },
  { type: 2, value: "node-1.test" }
])
export const stranger = await generate([{ name: "commonName", value: "stranger" }], {
  keyType: "ec",
  algorithm: "sha256"
})
