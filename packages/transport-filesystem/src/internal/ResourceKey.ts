/** What tells resources apart: type and name, and the constraints of a variant. */
import type { FileResource } from "../FileResource.js"

type Key = Pick<FileResource, "typeUrl" | "name">

/** The same for all variants of a name. */
export const nameKeyOf = ({ name, typeUrl }: Key): string => `${typeUrl} ${name}`

export const keyOf = (resource: Key & Pick<FileResource, "constraints">): string =>
  resource.constraints === undefined
    ? nameKeyOf(resource)
    : `${nameKeyOf(resource)} ${JSON.stringify(resource.constraints)}`
