/**
 * Completions of commands and options for shells.
 *
 * @since 0.1.0
 */
import type { Command } from "./CommandLine.js"

/** What may follow each path of commands. */
const wordsOf = (
  command: Command,
  path: ReadonlyArray<string>
): ReadonlyArray<readonly [path: string, words: string]> => {
  const options = [...Array.from(command.options.keys(), (name) => `--${name}`), "--help"]
  const words = [...command.commands.map(({ name }) => name), ...options]
  return [[path.join(" "), words.join(" ")], ...command.commands.flatMap((each) => wordsOf(each, [...path, each.name]))]
}

const bash = (root: Command): string => `_effect_xds() {
  local path= word words
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; ${namesOf(root).join("|")}) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${wordsOf(root, [])
  .map(([path, words]) => `    "${path}") words="${words}" ;;`)
  .join("\n")}
    *) words="" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _effect_xds ${root.name}`

const namesOf = (command: Command): ReadonlyArray<string> =>
  Array.from(new Set(command.commands.flatMap((each) => [each.name, ...namesOf(each)])))

const fish = (root: Command): string => {
  const line = (path: ReadonlyArray<string>, what: string, description: string): string => {
    const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`).join("; and ")
    const when = path.length === 0 ? "__fish_use_subcommand" : seen
    return `complete -c ${root.name} -n '${when}' ${what} -d '${description.replaceAll("'", "\\'")}'`
  }
  const lines = (command: Command, path: ReadonlyArray<string>): ReadonlyArray<string> => [
    ...command.commands.map(({ name, summary }) => line(path, `-f -a ${name}`, summary)),
    ...Array.from(command.options, ([name, { description, value }]) =>
      line(path, `-l ${name}${value === undefined ? "" : " -r"}`, description)
    ),
    ...command.commands.flatMap((each) => lines(each, [...path, each.name]))
  ]
  return lines(root, []).join("\n")
}

/**
 * A script for the shell to source.
 *
 * @since 0.1.0
 */
export const script = (root: Command, shell: string): string =>
  shell === "fish"
    ? fish(root)
    : shell === "zsh"
      ? `autoload -U +X bashcompinit && bashcompinit\n${bash(root)}`
      : bash(root)
