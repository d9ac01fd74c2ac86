/** An authority, and a server and a client that it signed, as files. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { generate } from "selfsigned"
import { temporaryDirectory } from "./ServeProcess.js"

/** Arguments of both sides with which they know each other at 127.0.0.1. */
export interface MutualTls {
  readonly server: ReadonlyArray<string>
  readonly client: ReadonlyArray<string>
  /** The authority, with which the client knows the server. */
  readonly ca: string
  /** What the client has, as text. */
  readonly pem: { readonly ca: string; readonly cert: string; readonly key: string }
}

export const mutualTls = async (): Promise<MutualTls> => {
  const authority = await generate([{ name: "commonName", value: "authority" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, digitalSignature: true, critical: true }
    ]
  })
  const signed = (commonName: string) =>
    generate([{ name: "commonName", value: commonName }], {
      keyType: "ec",
      algorithm: "sha256",
      ca: { key: authority.private, cert: authority.cert },
      extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }]
    })
  const [server, client] = [await signed("server"), await signed("client")]
  const directory = temporaryDirectory()
  const write = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const ca = write("ca.pem", authority.cert)
  const pair = (name: string, { cert, private: key }: typeof server) => [
    ...["--tls-cert", write(`${name}.pem`, cert)],
    ...["--tls-key", write(`${name}.key`, key)]
  ]
  return {
    server: [...pair("server", server), "--tls-client-ca", ca, "--allow", "CN:client=*"],
    client: ["--tls-ca", ca, ...pair("client", client)],
    ca,
    pem: { ca: authority.cert, cert: client.cert, key: client.private }
  }
}
