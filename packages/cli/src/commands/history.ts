/**
 * `effect-xds history GROUP`: the changes of a group in a store.
 *
 * @since 0.1.0
 */
import * as CommandLine from "../CommandLine.js"
import { storeOption } from "./StoreOptions.js"
import { outputOption } from "./TargetOptions.js"

/**
 * The command.
 *
 * @since 0.1.0
 */
export const history = CommandLine.command({
  name: "history",
  summary: "prints the changes of a group in a store: when, by whom, and why",
  details: ["The latest comes first. `effect-xds rollback` takes the revisions that it prints."],
  examples: [
    "effect-xds history edge --store sqlite:xds.db",
    "effect-xds history edge --store env:DATABASE_URL -o json"
  ],
  arguments: { group: CommandLine.argument("GROUP", "The name of the group") },
  options: {
    store: storeOption("The store; it must be given"),
    limit: CommandLine.parsed(
      "NUMBER",
      "The most changes. Default: 20",
      20,
      (text) => (/^[1-9]\d{0,4}$/.test(text) ? Number(text) : undefined),
      "a number from 1 to 99999"
    ),
    output: outputOption("table: a line for each change; json, yaml: all that is known")
  },
  load: async (values) => (await import("../StoredHistory.js")).history(values)
})
