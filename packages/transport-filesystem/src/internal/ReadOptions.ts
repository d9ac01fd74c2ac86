/** Options for reading and watching files. */

export interface ReadOptions {
  /** Milliseconds without a further change before changed files are read. Default 50. */
  readonly quietPeriod?: number | undefined
  /** Milliseconds after which they are read even if changes continue. Default 1000. */
  readonly maxDelay?: number | undefined
  /**
   * Milliseconds between checks of directories that cannot be watched: some file systems report no changes, and systems
   * limit the number of watches. Other directories are never polled. Default 5000.
   */
  readonly pollInterval?: number | undefined
  /** The largest file in bytes. Default 67 108 864. */
  readonly maxFileBytes?: number | undefined
}

export const withDefaults = (options: ReadOptions) => ({
  quietPeriod: options.quietPeriod ?? 50,
  maxDelay: options.maxDelay ?? 1_000,
  pollInterval: options.pollInterval ?? 5_000,
  maxFileBytes: options.maxFileBytes ?? 67_108_864
})
