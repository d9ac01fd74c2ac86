/** Imported into every process of the demo: ends it when the one that started it is gone, however that ended. */
const exit = () => process.exit()

process.stdin.on("end", exit).on("error", exit).resume()
process.stdin.unref()
