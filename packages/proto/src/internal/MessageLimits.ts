/** Limits of messages, whoever made them. */

/** Messages in messages: what Envoy (protobuf for C++) and protobuf-es read. */
export const maxDepth = 100

/**
 * Pieces of one Struct. A field may stand in a message again and again, and its pieces are one message; protobuf-es goes through
 * the whole Struct for each. Encoders write one piece.
 */
export const maxPieces = 16

/** Messages, lists and maps in one message object. Endpoints of 50 MB have three million. */
export const maxObjects = 4_194_304

/** Bytes and UTF-16 code units of texts in one message object. */
export const maxContent = 268_435_456
