/** What the clients call: a method without messages, so that a client in any language needs no generated code. */

const fromText = (text: string): Buffer => Buffer.from(text)
const same = (bytes: Buffer): Buffer => bytes
const toText = (bytes: Buffer): string => bytes.toString()

export const greet = {
  path: "/example.Greeter/Greet",
  requestStream: false,
  responseStream: false,
  requestSerialize: fromText,
  requestDeserialize: same,
  responseSerialize: fromText,
  responseDeserialize: toText
} as const
