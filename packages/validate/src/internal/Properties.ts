/** What a message, a list or a map is read as, whatever its type: its properties. */
export type Properties = Readonly<Record<string, unknown>>

export const isProperties = (value: unknown): value is Properties => typeof value === "object" && value !== null
