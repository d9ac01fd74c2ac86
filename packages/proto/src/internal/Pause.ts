/** Long work that waits for promises, in parts: who has it done says when others have their turn. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import * as MessageBytes from "../MessageBytes.js"
import * as MessageSteps from "../MessageSteps.js"
import type { Steps } from "./InSteps.js"

/** Asked between two parts: a promise to wait for, if others are to have their turn. */
export type Pause = () => Promise<void> | undefined

/** No others have their turn. */
export const none: Pause = () => undefined

/** The result of work in steps, with a pause wherever one is due. */
export const between = async <A>(work: Steps<A>, pause: Pause): Promise<A> => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    const wait = pause()
    if (wait !== undefined) await wait
  }
}

/** The message; throws what `MessageBytes.decode` throws. */
export const decoded = async <Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  pause: Pause
): Promise<MessageShape<Desc>> =>
  bytes.byteLength < MessageSteps.least
    ? MessageBytes.decode(schema, bytes)
    : (await between(MessageSteps.decode(schema, bytes), pause)).message
