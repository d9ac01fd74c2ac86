// Writes to a store until it is killed, and says what was acknowledged: `node writer.mjs URL NAME`.
import { Postgres, Sqlite, SqlStore } from "@effect-xds/store-sql"
import { Effect, Redacted } from "effect"
import { writeSync } from "node:fs"

const [, , url = "", name = ""] = process.argv
const database = url.startsWith("sqlite:")
  ? Sqlite.make({ file: url.slice("sqlite:".length) })
  : Postgres.make({ url: Redacted.make(url) })

const cluster = (each) => ({
  typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  name: each,
  value: Uint8Array.of(10, each.length, ...Buffer.from(each))
})

await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const store = yield* SqlStore.make(yield* database, { validate: "off" })
      writeSync(1, "open\n")
      for (let count = 0; ; count++) {
        const names = [`${name}-${count}-x`, `${name}-${count}-y`]
        yield* store.update("g", { upsert: { resources: names.map(cluster) } })
        writeSync(1, `${names.join("\n")}\n`)
      }
    })
  )
)
