/**
 * What an admin port answered, as far as the table shows it.
 *
 * @since 0.1.0
 */
import type { TypeState, Version } from "@effect-xds/admin/StatusReport"
import type { ShownClient, ShownReport, ShownType } from "@effect-xds/admin/StatusTable"

/** Not of the form that was expected. */
class Unexpected extends Error {}

const objectOf = (value: unknown): object => {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value
  throw new Unexpected()
}

const textOf = (value: unknown): string => {
  if (typeof value === "string") return value
  throw new Unexpected()
}

const listOf = <A>(value: unknown, read: (element: unknown) => A): ReadonlyArray<A> => {
  if (Array.isArray(value)) return value.map((element: unknown) => read(element))
  throw new Unexpected()
}

const nullOr = <A>(value: unknown, read: (value: unknown) => A): A | null => (value === null ? null : read(value))

/** A member; `undefined` where it is not there. */
const member = (value: unknown, name: string): unknown => Reflect.get(objectOf(value), name)

const states: ReadonlyArray<TypeState> = ["waiting", "asked", "sent", "acked", "nacked"]

const stateOf = (value: unknown): TypeState => {
  const state = states.find((state) => state === value)
  if (state === undefined) throw new Unexpected()
  return state
}

const versionOf = (value: unknown): Version => ({
  version: textOf(member(value, "version")),
  nonce: textOf(member(value, "nonce")),
  at: textOf(member(value, "at"))
})

const rejectionOf = (value: unknown) => {
  const error = member(value, "error")
  const code = member(error, "code")
  if (typeof code !== "number") throw new Unexpected()
  return { ...versionOf(value), error: { code, message: textOf(member(error, "message")) } }
}

const bytesOf = (value: unknown): number | null => {
  if (value === null) return null
  if (typeof value !== "number") throw new Unexpected()
  return value
}

const typeOf = (value: unknown): ShownType => ({
  type: textOf(member(value, "type")),
  state: stateOf(member(value, "state")),
  sent: nullOr(member(value, "sent"), versionOf),
  acked: nullOr(member(value, "acked"), versionOf),
  nacked: nullOr(member(value, "nacked"), rejectionOf),
  oversized_bytes: bytesOf(member(value, "oversized_bytes"))
})

const clientOf = (value: unknown): ShownClient => ({
  node: nullOr(member(value, "node"), (node) => ({ id: textOf(member(node, "id")) })),
  group: nullOr(member(value, "group"), textOf),
  address: textOf(member(value, "address")),
  connected_at: textOf(member(value, "connected_at")),
  types: listOf(member(value, "types"), typeOf)
})

/**
 * The report; `undefined` when the answer is none.
 *
 * @since 0.1.0
 */
export const read = (body: unknown): ShownReport | undefined => {
  try {
    return {
      at: textOf(member(body, "at")),
      not_ready: listOf(member(body, "not_ready"), textOf),
      clients: listOf(member(body, "clients"), clientOf)
    }
  } catch (error) {
    if (error instanceof Unexpected) return undefined
    throw error
  }
}
