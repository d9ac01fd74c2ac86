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

/** The longest delay of a Node timer: with a longer one it fires at once. */
const longest = 2 ** 31 - 1

/** The least that numbers may be. */
export const least = { quietPeriod: 0, maxDelay: 0, pollInterval: 1, maxFileBytes: 0 } as const

export const withDefaults = (options: ReadOptions) => ({
  quietPeriod: options.quietPeriod ?? 50,
  maxDelay: options.maxDelay ?? 1_000,
  pollInterval: Math.min(options.pollInterval ?? 5_000, longest),
  maxFileBytes: options.maxFileBytes ?? 67_108_864
})
