/** How files are watched and read. */

export interface ReadOptions {
  /** Milliseconds without a further change until what changed is read. Default 50. */
  readonly settle?: number | undefined
  /** Milliseconds after which changes that go on are read all the same. Default 1000. */
  readonly maxSettle?: number | undefined
  /**
   * Milliseconds between looks at directories that cannot be watched: some file systems tell of no changes, and systems
   * limit how many are watched. All others are never polled. Default 5000.
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
