/**
 * By what clients are told apart: which property of a node names its group.
 *
 * @since 0.1.0
 */
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"

/**
 * Gives the name of a node's group; empty if the node does not say.
 *
 * @since 0.1.0
 */
export type GroupBy = (node: Node) => string

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : typeof value === "number" || typeof value === "boolean" ? String(value) : ""

/**
 * `cluster`, `id` or `metadata.KEY`. A key with dots is looked up as it is; its value is a string, number or boolean.
 * `undefined` for anything else.
 *
 * @since 0.1.0
 */
export const parse = (text: string): GroupBy | undefined => {
  if (text === "cluster") return ({ cluster }) => cluster
  if (text === "id") return ({ id }) => id
  const key = /^metadata\.(.+)$/.exec(text)?.[1]
  if (key === undefined) return undefined
  return ({ metadata }) => textOf(metadata === undefined || !Object.hasOwn(metadata, key) ? undefined : metadata[key])
}
