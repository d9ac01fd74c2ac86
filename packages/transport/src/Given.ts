/**
 * What a function of the application gave where it should have given something else.
 *
 * @since 0.1.0
 */

/**
 * What it is, in words, and nothing of what it holds. Node ends the process for a promise that is rejected and that nobody waits
 * for; so its rejection is taken here.
 *
 * @since 0.1.0
 */
export const kindOf = (given: unknown): string => {
  if (!(given instanceof Promise)) return given === null ? "null" : typeof given
  given.then(undefined, () => undefined)
  return "a promise"
}
