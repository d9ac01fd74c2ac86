/** Options for reading and watching files. */

export interface ReadOptions {
  /** Milliseconds without a further change before changed files are read. Default 50. */
  readonly settle?: number | undefined
  /** Milliseconds after which they are read even if changes continue. Default 1000. */
  readonly maxSettle?: number | undefined
  /**
   * Milliseconds between checks of directories that cannot be watched: some file systems report no changes, and systems
   * limit the number of watches. Other directories are never polled. Default 5000.
   */
  readonly pollInterval?: number | undefined
  /** The largest file in bytes. Default 67 108 864. */
  readonly maxFileBytes?: number | undefined
}

export const withDefaults = (options: ReadOptions) => ({
  settle: options.settle ?? 50,
  maxSettle: options.maxSettle ?? 1_000,
  pollInterval: options.pollInterval ?? 5_000,
  maxFileBytes: options.maxFileBytes ?? 67_108_864
})
