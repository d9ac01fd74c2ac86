import * as Sqlite from "@effect-xds/store-sql/Sqlite"
import * as SqlStore from "@effect-xds/store-sql/SqlStore"
import { describeStore } from "@effect-xds/testing/vitest"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { folder } from "./folder.js"
import { describeReplicas } from "./replicas.js"

const place = Effect.map(folder, (path) => Sqlite.make({ file: join(path, "store.db") }))

describeStore(
  "a store in SQLite",
  Effect.flatMap(Effect.flatten(place), (each) => SqlStore.make(each))
)

describeReplicas("replicas on SQLite", place)
