/**
 * What was thrown, in words.
 *
 * @since 0.1.0
 */

/**
 * The message of an error; anything else as a text. It never throws, whatever was thrown: to ask for the words may throw
 * again, and there may be none.
 *
 * @since 0.1.0
 */
export const of = (cause: unknown): string => {
  try {
    return String(cause instanceof Error ? cause.message : cause)
  } catch {
    return "something that cannot be put into words"
  }
}
