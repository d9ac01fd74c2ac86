import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import * as Http2 from "node:http2"
import * as Certificates from "@effect-xds/testing/Certificates"
import * as ListenAddress from "@effect-xds/transport-node/ListenAddress"
import { ReadPause } from "../src/server/ReadPause.js"

/** A server that notes the streams it hears of, and what its first session sends. */
const serving = (server: Http2.Http2Server, scheme: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sessions: Array<Http2.ServerHttp2Session> = []
      const streams: Array<Http2.ServerHttp2Stream> = []
      server.on("session", (session) => sessions.push(session))
      server.on("stream", (stream: Http2.ServerHttp2Stream) => streams.push(stream))
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      return { server, sessions, streams, url: `${scheme}://${ListenAddress.format("127.0.0.1", port)}` }
    }),
    ({ server, sessions }) =>
      Effect.sync(() => {
        for (const session of sessions) session.destroy()
        server.close()
      })
  )

/** A client whose connection is settled. */
const connect = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const session = Http2.connect(url, { rejectUnauthorized: false })
      session.on("error", () => undefined)
      await once(session, "remoteSettings")
      return session
    }),
    (session) => Effect.sync(() => session.destroy())
  )

const ping = (session: Http2.ClientHttp2Session) =>
  Effect.async<void>((resume) => void session.ping(() => resume(Effect.void)))

const kinds = {
  cleartext: () => serving(Http2.createServer(), "http"),
  TLS: () => Effect.flatMap(Certificates.selfSigned("xds"), (own) => serving(Http2.createSecureServer(own), "https"))
}

describe("ReadPause", () => {
  for (const [kind, start] of Object.entries(kinds))
    it.scopedLive(`what a connection sends waits in its socket until all have let go of it: ${kind}`, () =>
      Effect.gen(function* () {
        const { sessions, streams, url } = yield* start()
        const client = yield* connect(url)
        const other = yield* connect(url)
        const [session] = sessions
        if (session === undefined) return expect.fail("no session")
        yield* ping(client)
        const intake = new ReadPause(session, session.socket)
        intake.hold()
        intake.hold()
        let answered = false
        const request = client.request({ ":path": "/" })
        request.on("error", () => undefined)
        client.ping(() => {
          answered = true
        })
        // The server has read what others sent later.
        for (let round = 0; round < 5; round++) yield* ping(other)
        expect(streams).toEqual([])
        intake.release()
        for (let round = 0; round < 5; round++) yield* ping(other)
        expect(streams).toEqual([])
        expect(answered).toBe(false)
        intake.release()
        yield* ping(client)
        expect(streams.length).toBe(1)
        expect(answered).toBe(true)
        // Of a session that is gone there is nothing to hold.
        intake.hold()
        session.destroy()
        intake.release()
        intake.hold()
      })
    )
})
