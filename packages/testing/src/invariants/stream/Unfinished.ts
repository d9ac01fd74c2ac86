/**
 * The resources that a quiet stream has failed to send.
 *
 * @since 0.1.0
 */
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import { byTypeUrl, ClusterLoadAssignment, shortNameOf } from "@effect-xds/proto/ResourceType"
import * as ReferenceClients from "../../reference/ReferenceClient.js"
import type { ReferenceClient } from "../../reference/ReferenceClient.js"
import * as ReferenceModel from "../../reference/ReferenceModel.js"

/**
 * The problems of a client of a quiet stream: every name must be delivered or reported missing, nothing may be stale, and no
 * cluster may wait for an existing assignment.
 *
 * @since 0.1.0
 */
export const unfinished = (
  client: ReferenceClient,
  group: ResourceGroup,
  wildcardOff: ReadonlySet<string>
): ReadonlyArray<string> => {
  const problems: Array<string> = []
  for (const [typeUrl, interest] of client.interests) {
    const type = shortNameOf(typeUrl)
    const existing = ResourceGroups.all(group).filter((resource) => resource.typeUrl === typeUrl)
    const served = wildcardOff.has(typeUrl) ? { ...interest, wildcard: "none" as const } : interest
    const isIncremental = client.protocol === "Incremental"
    const led = (name: string) => (isIncremental ? ReferenceModel.ledTo(existing, typeUrl, name) : undefined)
    const asked = new Set(Array.from(interest.names, (name) => led(name)?.name ?? name))
    const expected = existing.filter(({ name }) => served.wildcard !== "none" || ReferenceModel.isNamed(asked, name))
    for (const resource of expected) {
      const held = interest.held.get(resource.name)
      if (held === undefined) problems.push(`${type} ${resource.name} was not delivered`)
      else if (held.fingerprint !== resource.fingerprint) problems.push(`${type} ${resource.name} is stale`)
      const isAsked = served.wildcard !== "none" || ReferenceModel.isNamed(interest.names, resource.name)
      if (typeUrl === ClusterLoadAssignment.typeUrl && isAsked && client.warming.has(resource.name)) {
        problems.push(`${type} ${resource.name} was not sent after its cluster`)
      }
    }
    const isTold = isIncremental || byTypeUrl(typeUrl)?.family === "full-state"
    for (const [name, resource] of interest.held) {
      if (!ReferenceClients.wants(served, resource)) continue
      const isStillThere = existing.some((resource) => resource.name === name)
      if (isTold && !isStillThere) problems.push(`${type} ${name} is held although it is gone`)
      else if (isIncremental && !expected.some((each) => each.name === name)) {
        problems.push(`${type} ${name} is held although what was asked for leads elsewhere`)
      }
    }
    if (client.protocol === "StateOfTheWorld") continue
    for (const name of interest.names) {
      const exists = led(name) !== undefined || existing.some((each) => ReferenceModel.collectionOf(each.name) === name)
      if (!exists && !interest.missing.has(name)) problems.push(`${type} ${name}: the client still waits for it`)
      if (exists && interest.missing.has(name)) problems.push(`${type} ${name} is taken for missing`)
    }
  }
  return problems
}
