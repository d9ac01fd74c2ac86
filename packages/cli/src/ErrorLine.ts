/**
 * What the program says on the standard error.
 *
 * @since 0.1.0
 */

/** ★ The password before a host: who takes one URL for another has given it where the text is repeated. */
const passwordOfUrl = /([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:)[^\s/]*@/gi

/** ★ A terminal obeys them: what others say, and names of files, may have them. */
const control = /(?!\n)[\p{Cc}\u2028\u2029]+/gu

/**
 * A text of somebody else as a part of one line.
 *
 * @since 0.1.0
 */
export const within = (text: string): string => text.trim().replace(/[\p{Cc}\u2028\u2029]+/gu, " ")

/**
 * Says a line on the standard error, without the passwords of URLs.
 *
 * @since 0.1.0
 */
export const say = (line: string): void =>
  void process.stderr.write(`${line.replaceAll(passwordOfUrl, "$1[redacted]@").replaceAll(control, " ")}\n`)
