/**
 * Reports the events of a stream: to subscribers, metrics, the log and its span.
 */
import * as NamesChange from "@effect-xds/core/server/NamesChange"
import type * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { LogThrottle } from "@effect-xds/transport-node/LogThrottle"
import type * as Status from "@effect-xds/transport/Status"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Exit from "effect/Exit"
import * as LogLevel from "effect/LogLevel"
import * as Client from "../ConnectedClient.js"
import type { ServerEvent } from "../ServerEvent.js"
import * as XdsServerMetrics from "../XdsServerMetrics.js"
import * as ResponseSize from "./ResponseSize.js"
import * as Secrets from "./Secrets.js"
import type * as StreamSpan from "./StreamSpan.js"

/** Where a server reports. */
export interface Report {
  readonly clock: Clock.Clock
  readonly publish: (make: () => ServerEvent) => void
  readonly log: LogThrottle
}

/** The stream that is reported. */
export interface Subject {
  readonly report: Report
  readonly span: StreamSpan.Span | undefined
  client(): Client.ConnectedClient
}

type Output<Tag extends ServerStream.Output["_tag"]> = Extract<ServerStream.Output, { readonly _tag: Tag }>

/** A NACK. The version is empty if it is unknown. */
type Rejection = Pick<Output<"Nacked">, "typeUrl" | "nonce" | "version" | "error">

export const connected = (self: Subject): void =>
  self.report.publish(() => ({ _tag: "Connected", client: self.client() }))

/** `from`: the group before. */
export const moved = (self: Subject, from: string): void =>
  self.report.publish(() => ({ _tag: "Moved", client: self.client(), from }))

export const subscribed = (self: Subject, output: Output<"Subscribed">): void =>
  self.report.publish(() => ({ client: self.client(), ...output }))

/** Names of a request that are visited for one event: some milliseconds of work. */
const namesLookedAt = 16_384

/** Characters of a name in an event: clients may send longer ones. */
const longestNamed = 256

/** A copy: a substring would keep the whole text in memory. */
const shownName = (name: string): string =>
  name.length <= longestNamed ? name : Buffer.from(name.slice(0, longestNamed), "utf16le").toString("utf16le")

export const named = (self: Subject, { change }: Output<"Named">, most: number): void => {
  // The client subscribed again to the same names.
  if (change.before === change.after) return
  self.report.publish(() => {
    let left = namesLookedAt
    let omitted = 0
    const listOf = (names: ReadonlyArray<string>, is: (change: NamesChange.NamesChange, name: string) => boolean) => {
      const found = new Set<string>()
      let at = 0
      for (; at < names.length && left > 0 && found.size < most; at++, left--) {
        const name = names[at]
        if (name !== undefined && is(change, name)) found.add(name)
      }
      omitted += names.length - at
      return Array.from(found, shownName)
    }
    const subscribed = listOf(change.listed, NamesChange.isSubscribed)
    const unsubscribed = listOf(change.dropped, NamesChange.isUnsubscribed)
    return { _tag: "Named", client: self.client(), typeUrl: change.typeUrl, subscribed, unsubscribed, omitted }
  })
}

/** `since`: the times of the changes that the client has ACKed, in milliseconds. */
export const acked = (
  self: Subject,
  output: Output<"Acked">,
  since: ReadonlyArray<{ readonly since: number }>,
  now: number
): void => {
  const tags = XdsServerMetrics.typeTags(output.typeUrl)
  for (const change of since) XdsServerMetrics.changeToAck.unsafeUpdate((now - change.since) / 1000, tags)
  XdsServerMetrics.acks.unsafeUpdate(1, tags)
  self.report.publish(() => ({ client: self.client(), ...output }))
}

/** `what`: the rejected response in words, since its version may be unknown. */
export const nacked = (
  self: Subject,
  { error, nonce, typeUrl, version }: Rejection,
  what = `version ${version}`
): void => {
  const type = ResourceType.shortNameOf(typeUrl)
  const connected = self.client()
  XdsServerMetrics.nacks.unsafeUpdate(1, XdsServerMetrics.typeTags(typeUrl))
  self.span?.event("xds.nack", self.report.clock.unsafeCurrentTimeNanos(), {
    "xds.type": type,
    "xds.version": version,
    "xds.nonce": nonce,
    "xds.error.code": error.code,
    "xds.error.message": error.message
  })
  self.report.publish(() => ({ _tag: "Nacked", client: connected, typeUrl, nonce, version, error }))
  self.report.log(
    LogLevel.Warning,
    `NACK ${type} ${connected.group ?? ""} ${connected.node?.id ?? ""}`,
    `${Client.format(connected)} rejected ${type} ${what}: ${error.message}`
  )
}

export const ignored = (self: Subject, { error, nonce, reason, typeUrl }: Output<"Ignored">): void => {
  if (reason === "StaleNonce") XdsServerMetrics.stale.unsafeUpdate(1, XdsServerMetrics.typeTags(typeUrl))
  if (error === undefined) return
  const what = nonce === "" ? "something, without the nonce of a response" : `an older response, nonce ${nonce}`
  nacked(self, { error, nonce, typeUrl, version: "" }, what)
}

export const waiting = (self: Subject, output: Output<"Waiting">, group: string): void => {
  self.report.publish(() => ({ group, client: self.client(), ...output }))
  self.report.log(
    LogLevel.Warning,
    `Waiting ${group}`,
    `${Client.format(self.client())} waits for group ${JSON.stringify(group)}, which is not set; ` +
      `SnapshotStore.set(${JSON.stringify(group)}, …) answers it`
  )
}

export const sent = (self: Subject, { nonce, response, typeUrl }: Output<"Send">, bytes: number): void => {
  const tags = XdsServerMetrics.typeTags(typeUrl)
  XdsServerMetrics.responses.unsafeUpdate(1, tags)
  XdsServerMetrics.bytes.unsafeUpdate(bytes, tags)
  self.report.publish(() => ({
    _tag: "Sent",
    client: self.client(),
    typeUrl,
    nonce,
    version: response.version,
    resources: response.resources.length,
    removed: response.removed.length,
    bytes
  }))
}

export const oversized = (self: Subject, { nonce, typeUrl }: Output<"Send">, bytes: number, maximum: number): void => {
  const connected = self.client()
  const group = connected.group ?? ""
  XdsServerMetrics.oversized.unsafeUpdate(1, XdsServerMetrics.typeTags(typeUrl))
  self.report.publish(() => ({ _tag: "Oversized", client: connected, typeUrl, nonce, bytes, maximum }))
  const subject = `Oversized ${ResourceType.shortNameOf(typeUrl)} ${group}`
  self.report.log(LogLevel.Warning, subject, ResponseSize.format(typeUrl, group, bytes, maximum))
}

/** The stream ends because of its client. */
export const refused = (self: Subject, { code, message }: Status.Status): void => {
  const connected = self.client()
  XdsServerMetrics.violations.unsafeUpdate(1, [])
  const subject = `${code} ${connected.node?.id ?? connected.peer.address}`
  self.report.log(LogLevel.Warning, subject, `${Client.format(connected)}: ${message}; stream ended`)
}

/**
 * The stream ends because of a defect: of the application, or of this server. Returns the cause in a redacted form: an
 * error of an application's function may quote its arguments, among them the client's headers.
 */
export const failed = (
  self: Subject,
  what: string,
  cause: unknown,
  headers: Readonly<Record<string, string>>
): Error => {
  const secrets = Secrets.ofHeaders(headers)
  const without = (text: string): string => Redaction.values(text, secrets)
  const reason = without(Reason.of(cause))
  const shown = new Error(reason)
  if (cause instanceof Error && cause.stack !== undefined) shown.stack = without(cause.stack)
  self.report.log(
    LogLevel.Error,
    what,
    `${what} failed for ${Client.format(self.client())}: ${reason}; stream ended`,
    Cause.die(shown)
  )
  return shown
}

export const ended = (
  self: Subject,
  client: Client.ConnectedClient,
  reason: string,
  exit: Exit.Exit<void, Status.Status>
): void => {
  XdsServerMetrics.streamsEnded.unsafeUpdate(1, [])
  self.span?.attribute("xds.end", reason)
  self.span?.end(self.report.clock.unsafeCurrentTimeNanos(), exit)
  self.report.publish(() => ({ _tag: "Ended", client, reason }))
}
