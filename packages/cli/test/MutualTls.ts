/** An authority, and a server and a client that it signed, as files. */
import * as Certificates from "@effect-xds/testing/Certificates"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
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
  const names = { ip: ["127.0.0.1"] }
  const { authority, client, server } = await Effect.runPromise(
    Effect.gen(function* () {
      const signing = yield* Certificates.authority("authority")
      return {
        authority: signing,
        server: yield* signing.sign("server", names),
        client: yield* signing.sign("client", names)
      }
    })
  )
  const directory = temporaryDirectory()
  const write = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const ca = write("ca.pem", authority.cert)
  const pair = (name: string, { cert, key }: Certificates.Certificate) => [
    ...["--tls-cert", write(`${name}.pem`, cert)],
    ...["--tls-key", write(`${name}.key`, key)]
  ]
  return {
    server: [...pair("server", server), "--tls-client-ca", ca, "--allow", "CN:client=*"],
    client: ["--tls-ca", ca, ...pair("client", client)],
    ca,
    pem: { ca: authority.cert, ...client }
  }
}
