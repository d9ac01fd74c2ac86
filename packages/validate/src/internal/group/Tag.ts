/** Tags of fields in the bytes of a message, for who looks at these without the message. */

/** Wire types: of numbers, and of texts and messages. */
export const varint = 0
export const delimited = 2

export const tagOf = (field: number, wireType: number): number => field * 8 + wireType
