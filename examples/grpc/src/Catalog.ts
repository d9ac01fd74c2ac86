/** The versions of a backend that are deployed: a JSON file, as a deployment tool might write it. */
import * as Schema from "effect/Schema"

/** What one version gets of the traffic and where it listens: `127.0.0.1:50051`. */
const Version = Schema.Struct({ weight: Schema.Int, endpoints: Schema.Array(Schema.String) })

const Catalog = Schema.Struct({ versions: Schema.Record({ key: Schema.String, value: Version }) })

export type Catalog = typeof Catalog.Type

const FromText = Schema.parseJson(Catalog, { space: 2 })

export const parse = Schema.decode(FromText)

export const format = Schema.encodeSync(FromText)
