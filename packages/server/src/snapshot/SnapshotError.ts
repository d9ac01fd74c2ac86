/**
 * Why a store refuses a resource.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Data from "effect/Data"

/**
 * A resource that cannot be served, and why.
 *
 * - `UnknownType`: the type is not part of the Envoy API
 * - `WrongType`: a resource of another type than its slot's
 * - `EmptyName`: no name, or for VHDS one without a route configuration
 * - `NameMismatch`: the given name differs from the one in the message, by which clients know the resource
 * - `Undecodable`: the bytes are not a message of their type
 * - `Unencodable`: a field of the message has a value that its type cannot hold
 * - `Invalid`: version, TTL or aliases cannot be served
 * - `Malformed`: a snapshot has a property that snapshots do not have, or one that is no list; this is about no single resource
 *
 * @since 0.1.0
 */
export class SnapshotError extends Data.TaggedError("SnapshotError")<{
  readonly reason:
    "UnknownType" | "WrongType" | "EmptyName" | "NameMismatch" | "Undecodable" | "Unencodable" | "Invalid" | "Malformed"
  /** Empty if it is unknown. */
  readonly typeUrl: string
  /** Empty if it is unknown. */
  readonly name: string
  /** What is wrong and what to do. */
  readonly detail: string
}> {
  override get message(): string {
    if (this.reason === "Malformed") return this.detail
    const name = this.name === "" ? "a resource" : `resource ${JSON.stringify(this.name)}`
    return `${ResourceType.shortNameOf(this.typeUrl)}: ${name}: ${this.detail}`
  }
}
