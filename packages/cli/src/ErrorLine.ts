/**
 * What the program says on the standard error.
 *
 * @since 0.1.0
 */

/** ★ The password before a host: who takes one URL for another has given it where the text is repeated. */
const passwordOfUrl = /([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:)[^\s/]*@/gi

/**
 * Says a line on the standard error, without the passwords of URLs.
 *
 * @since 0.1.0
 */
export const say = (line: string): void =>
  void process.stderr.write(`${line.replaceAll(passwordOfUrl, "$1[redacted]@")}\n`)
