/** The deadlines that clients send with their calls. Connect sets a timer for each, with whatever delay. */
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"

/** Milliseconds of the units of gRPC in which a deadline may be too far away for a timer. */
const units: ReadonlyMap<string | undefined, number> = new Map([
  ["H", 3_600_000],
  ["M", 60_000],
  ["S", 1_000]
])

/** Removes a deadline that is too far away for a timer. It is the client's, which ends the call by itself. */
export const dropDistant = (header: Headers): void => {
  const [, count, unit] = /^(\d{1,8})([HMS])$/.exec(header.get("grpc-timeout") ?? "") ?? []
  if (Number(count) * (units.get(unit) ?? 0) > Milliseconds.longest) header.delete("grpc-timeout")
  if (Number(header.get("connect-timeout-ms")) > Milliseconds.longest) header.delete("connect-timeout-ms")
}
