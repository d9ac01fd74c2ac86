/** The cookie of a session, which an answer brings. */
import * as StatefulSession from "@effect-xds/routing/StatefulSession"
import type { Sent } from "./ChannelDriver.js"

/** Headers may be made when they are looked at. */
interface Answer {
  readonly header: Headers
}

/** Says in the headers of an answer where the call went, if it belongs to a session whose cookie does not say that yet. */
export const append = ({ address, endpoint, selected }: Omit<Sent<unknown>, "connection">, answer: Answer): void => {
  const { cluster, session } = selected
  if (session === undefined) return
  const cookie = StatefulSession.setCookie(session, cluster, endpoint, address)
  if (cookie !== undefined) answer.header.append("set-cookie", cookie)
}
