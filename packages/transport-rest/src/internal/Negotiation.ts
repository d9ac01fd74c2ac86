/** Reads what a request's headers ask for. */
import type { Format } from "./DiscoveryResponse.js"

const protobufTypes = ["application/x-protobuf", "application/protobuf"]

interface Choice {
  readonly value: string
  readonly weight: number
}

/** The choices in a header such as `gzip;q=0.5, *;q=0`. */
const choicesIn = (header: string): ReadonlyArray<Choice> =>
  header.split(",").map((text) => {
    const [value = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2)
    return { value, weight: weight === undefined ? 1 : Number(weight) }
  })

const weightOf = (choices: ReadonlyArray<Choice>, values: ReadonlyArray<string>): number =>
  choices.reduce((most, { value, weight }) => (values.includes(value) ? Math.max(most, weight) : most), 0)

/** The format of a body by its content type; `undefined` if it is not supported. Without a content type it is JSON. */
export const formatOf = (contentType: string | undefined): Format | undefined => {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  if (type === "" || type === "application/json") return "json"
  return protobufTypes.includes(type) ? "protobuf" : undefined
}

/** The content type of the answer: the accepted one, or the request's if both or neither are accepted. */
export const contentTypeFor = (
  accept: string | undefined,
  requested: Format
): { readonly format: Format; readonly contentType: string } => {
  const choices = choicesIn(accept ?? "")
  const json = weightOf(choices, ["application/json"])
  const protobuf = weightOf(choices, protobufTypes)
  const format = json === protobuf ? requested : json > protobuf ? "json" : "protobuf"
  if (format === "json") return { format, contentType: "application/json" }
  return {
    format,
    contentType: protobufTypes.find((type) => weightOf(choices, [type]) > 0) ?? "application/x-protobuf"
  }
}

/** Whether the answer may be compressed. */
export const acceptsGzip = (acceptEncoding: string | undefined): boolean => {
  const choices = choicesIn(acceptEncoding ?? "")
  const named = choices.some(({ value }) => value === "gzip" || value === "x-gzip")
  return weightOf(choices, named ? ["gzip", "x-gzip"] : ["*"]) > 0
}

/** The milliseconds of a preference such as `wait=30` (RFC 7240, in seconds), if there is one. */
export const waitPreferred = (prefer: string | undefined): number | undefined => {
  const seconds = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(prefer ?? "")?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

/** Milliseconds after which an Envoy abandons the request, if it says so. */
export const expectedTimeout = (header: string | undefined): number | undefined =>
  header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined
