/** What is known of a listener and of everything behind it, and how it looks. Pure. */
import type { ResourceEvent } from "@effect-xds/client"
import type { Link, Part, Resource } from "./Part.js"

/** What was heard of a resource: how it is, and what is wrong with it. */
interface Known {
  readonly part: Part | undefined
  readonly trouble: string | undefined
}

export interface Picture {
  readonly root: Resource
  readonly known: ReadonlyMap<string, Known>
}

export interface Heard {
  readonly resource: Resource
  readonly event: ResourceEvent.ResourceEvent<Part>
}

const keyOf = ({ kind, name }: Resource): string => `${kind} ${name}`

export const make = (root: Resource): Picture => ({ root, known: new Map() })

/** Everything that has a place in the picture, known or not, from the root on: what is to be watched. */
export const resources = ({ known, root }: Picture): ReadonlyMap<string, Resource> => {
  const found = new Map<string, Resource>()
  const add = (resource: Resource): void => {
    const key = keyOf(resource)
    if (found.has(key)) return
    found.set(key, resource)
    known.get(key)?.part?.links.forEach(add)
  }
  add(root)
  return found
}

/** The picture after something was heard. What nothing leads to any more is forgotten. */
export const hear = ({ known, root }: Picture, { event, resource }: Heard): Picture => {
  const key = keyOf(resource)
  const next = new Map(known).set(key, after(known.get(key), event))
  const kept = resources({ root, known: next })
  return { root, known: new Map(Array.from(next).filter(([key]) => kept.has(key))) }
}

const after = (before: Known | undefined, event: Heard["event"]): Known => {
  switch (event._tag) {
    case "Updated":
      return { part: event.value, trouble: undefined }
    case "DoesNotExist":
      return { part: undefined, trouble: "does not exist" }
    case "Error":
      return { part: undefined, trouble: event.error.message }
    case "AmbientError":
      return { part: before?.part, trouble: event.error.message }
    case "Recovered":
      return { part: before?.part, trouble: undefined }
  }
}

/** The picture as lines of text: the tree, and below it what is wrong with resources that stay in use. */
export const draw = (picture: Picture): string => {
  const { root } = picture
  const troubles = new Map<string, Array<string>>()
  for (const [key, { part, trouble }] of picture.known) {
    if (part !== undefined && trouble !== undefined) troubles.set(trouble, [...(troubles.get(trouble) ?? []), key])
  }
  return [
    `${keyOf(root)} ${textOf(picture, root)}`.trimEnd(),
    ...branches(picture, root, ""),
    ...Array.from(troubles, ([trouble, keys]) => {
      const what = keys.length === picture.known.size ? "all of this" : keys.join(", ")
      return `! ${what}: ${trouble}`
    })
  ].join("\n")
}

const linksOf = (picture: Picture, resource: Resource): ReadonlyArray<Link> =>
  picture.known.get(keyOf(resource))?.part?.links ?? []

const branches = (picture: Picture, above: Resource, indent: string): ReadonlyArray<string> => {
  // Endpoints stand in the line of their cluster.
  const links = linksOf(picture, above).filter(({ kind }) => kind !== "endpoints")
  const labels = Math.max(...links.map(({ label }) => label.length))
  const names = Math.max(...links.map((link) => keyOf(link).length))
  return links.flatMap((link, index) => {
    const isLast = index === links.length - 1
    const label = labels === 0 ? "" : `${link.label.padStart(labels)} `
    return [
      `${indent}${isLast ? "└─" : "├─"} ${label}${keyOf(link).padEnd(names)}  ${textOf(picture, link)}`.trimEnd(),
      ...branches(picture, link, `${indent}${isLast ? "   " : "│  "}`)
    ]
  })
}

const textOf = (picture: Picture, resource: Resource): string => {
  const what = resource.kind === "endpoints" ? " for endpoints" : ""
  const known = picture.known.get(keyOf(resource))
  if (known === undefined) return `(waiting${what})`
  if (known.part === undefined) return `(${what === "" ? "" : "endpoints: "}${known.trouble ?? ""})`
  const endpoints = known.part.links.filter(({ kind }) => kind === "endpoints")
  return [known.part.text, ...endpoints.map((link) => textOf(picture, link))].join(" ").trim()
}
