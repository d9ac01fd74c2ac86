/**
 * The options of commands that work on a store.
 *
 * @since 0.1.0
 */
import * as CommandLine from "../CommandLine.js"

/** A URL that is complete enough to be one; what else is wrong with it is said without repeating it. */
const parseUrl = (text: string): string | undefined =>
  /^(sqlite:.|postgres(ql)?:\/\/.|env:[A-Za-z_]\w*$)/.test(text) ? text : undefined

const wanted = "sqlite:FILE, postgres://USER@HOST/DATABASE or env:NAME"

const forms = "sqlite:FILE, postgres://…, or env:NAME, the variable that holds one: other users can read a command line"

/**
 * `--store`, where it may be left out.
 *
 * @since 0.1.0
 */
export const storeOption = (description: string) =>
  CommandLine.parsed<string, undefined>("URL", `${description}. ${forms}`, undefined, parseUrl, wanted)
