// The last line of `npm test`: "N passed, N failed, N skipped", for programs that read the result.
export default class SummaryReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 }
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        counts[state === "passed" || state === "failed" ? state : "skipped"]++
      }
      // A file that cannot be loaded, or a hook that fails, has errors but no failed test.
      for (const suite of [module, ...module.children.allSuites()]) counts.failed += suite.errors().length
    }
    const line = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`
    process.once("exit", () => process.stdout.write(line))
  }
}
