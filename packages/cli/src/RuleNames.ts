/**
 * The rules that `--off` and `--no-references` leave out.
 *
 * @since 0.1.0
 */
import * as GroupRule from "@effect-xds/validate/GroupRule"
import * as Effect from "effect/Effect"
import { CommandFailure } from "./CommandFailure.js"
import * as Spelling from "./Spelling.js"

/**
 * The names of the rules that are left out; a name that no rule has is a mistake of who calls.
 *
 * @since 0.1.0
 */
export const leftOut = (
  command: string,
  /** Words about where all names are. */
  listed: string,
  names: ReadonlyArray<string>,
  noReferences: boolean
): Effect.Effect<ReadonlyArray<string>, CommandFailure> => {
  for (const name of names) {
    if (GroupRule.find(name) !== undefined) continue
    const near = Spelling.nearest(
      name,
      GroupRule.all.map((rule) => rule.name)
    )
    const meant = near === undefined ? "" : `: did you mean ${near}?`
    const message = `${command}: --off: there is no rule of that name${meant} (${listed})`
    return Effect.fail(new CommandFailure({ kind: "usage", message }))
  }
  return Effect.succeed(noReferences ? [...names, ...GroupRule.references] : names)
}
