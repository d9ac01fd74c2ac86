/** What the client tells of its calls: one line of JSON at a time, with everything since its start. */
import * as Schema from "effect/Schema"

const Report = Schema.Struct({
  started: Schema.Number,
  /** `v1 127.0.0.1:50051` → calls that were answered from there. */
  answers: Schema.Record({ key: Schema.String, value: Schema.Number }),
  failed: Schema.Number,
  /** In the words of the first one. */
  failure: Schema.optional(Schema.String)
})

export type Report = typeof Report.Type

const FromText = Schema.parseJson(Report)

export const parse = Schema.decode(FromText)

export const format = Schema.encodeSync(FromText)
