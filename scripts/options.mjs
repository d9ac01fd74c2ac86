// The options of a script, whose help is the comment that it begins with.
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

/** What `--help` says: the comment at the head of the file. */
const help = (url) => {
  const lines = readFileSync(fileURLToPath(url), "utf8").split("\n")
  const end = lines.findIndex((line) => !line.startsWith("//"))
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^\/\/ ?/, ""))
    .join("\n")
}

/** The values of the options, as `parseArgs` wants them described. Ends the process after `--help`, and after a mistake, with words. */
export const parse = (url, options) => {
  const fail = (reason) => {
    console.error(`${reason}\n\n${help(url)}`)
    process.exit(1)
  }
  let values
  try {
    values = parseArgs({ options: { ...options, help: { type: "boolean", default: false } } }).values
  } catch (cause) {
    return fail(cause.message.split(". ")[0])
  }
  if (values.help) {
    console.log(help(url))
    process.exit()
  }
  return {
    ...values,
    /** An option that is a whole number, of at least so much. */
    numberOf: (name, least, otherwise) => {
      const text = values[name]
      if (text === undefined) return otherwise
      const number = Number(text)
      return Number.isInteger(number) && number >= least
        ? number
        : fail(`--${name} ${text}: give a whole number from ${least} on`)
    }
  }
}
