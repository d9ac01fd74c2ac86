/**
 * Letters without their case, where a protocol knows ASCII only.
 *
 * @since 0.1.0
 */

/**
 * A string with A to Z in lower case and everything else as it is: `toLowerCase` would change other letters, too.
 *
 * @since 0.1.0
 */
export const fold = (text: string): string =>
  /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text
