import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import * as PostgresServer from "@effect-xds/testing/PostgresServer"
import { afterAll } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

/** One server for all tests of a file, from the first that needs it. */
export const onePostgres = () => {
  const peer = PeerProgram.forTest("postgres")
  const scope = Effect.runSync(Scope.make())
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const path = peer._tag === "Present" ? peer.path : ""
  return {
    peer,
    server: Effect.runSync(Effect.cached(Scope.extend(PostgresServer.make(path), scope).pipe(Effect.orDie)))
  }
}
