/**
 * `effect-xds rollback GROUP REVISION`: a group as it was.
 *
 * @since 0.1.0
 */
import * as CommandLine from "../CommandLine.js"
import { storeOption } from "./StoreOptions.js"

/**
 * The command.
 *
 * @since 0.1.0
 */
export const rollback = CommandLine.command({
  name: "rollback",
  summary: "sets a group in a store to what it was at a revision",
  details: [
    "That is a change of its own, which can be rolled back, too. The control planes of the store serve it at once."
  ],
  examples: ["effect-xds rollback edge 17 --store sqlite:xds.db --note 'the new routes gave 503'"],
  arguments: {
    group: CommandLine.argument("GROUP", "The name of the group"),
    revision: CommandLine.argument("REVISION", "A revision, as `effect-xds history` prints it")
  },
  options: {
    store: storeOption("The store; it must be given"),
    author: CommandLine.text("NAME", "Who does it, for the history. Default: this user and host", undefined),
    note: CommandLine.text("TEXT", "Why, for the history. Default: that it is a rollback", undefined)
  },
  load: async (values) => (await import("../StoredHistory.js")).rollback(values)
})
