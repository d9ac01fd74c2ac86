/** Header fields of `node:http2`, and those of the web. */
import type { IncomingHttpHeaders } from "node:http2"

/** Adds the fields, but for pseudo headers. */
export const append = (to: Headers, fields: IncomingHttpHeaders): void => {
  for (const name in fields) {
    const value = fields[name]
    if (value === undefined || name.startsWith(":")) continue
    if (typeof value === "string") to.append(name, value)
    else for (const each of value) to.append(name, each)
  }
}

export const toHeaders = (fields: IncomingHttpHeaders): Headers => {
  const headers = new Headers()
  append(headers, fields)
  return headers
}

/** A copy that others are added to, name by name: in Node 20 each of them would make a new shape of that of a spread object. */
export const copy = (fields: Readonly<Record<string, string>>): Record<string, string> => {
  const made: Record<string, string> = {}
  for (const name in fields) made[name] = fields[name] ?? ""
  return made
}

export const fromHeaders = (headers: Headers): Record<string, string> => {
  const fields: Record<string, string> = {}
  headers.forEach((value, name) => {
    fields[name] = value
  })
  return fields
}
