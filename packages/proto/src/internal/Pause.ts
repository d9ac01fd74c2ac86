/** Long work that waits for promises, in parts: who has it done says when others have their turn. */
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
