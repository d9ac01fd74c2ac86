/**
 * A driver of SQLite that fails as a disk does: before a statement takes place, or after it, when only the answer is lost.
 *
 * @since 0.1.0
 */

/** What of a driver is needed here. */
interface Driver {
  readonly name: string
  readonly open: (file: string) => {
    readonly all: (sql: string, params: ReadonlyArray<unknown>) => ReadonlyArray<object>
    readonly run: (sql: string) => void
    readonly close: () => void
  }
}

/**
 * What happens to a statement: nothing, or an error with this code of SQLite.
 *
 * @since 0.1.0
 */
export interface Fault {
  readonly code: string
  /** `before`: the statement does not take place; `after`: it does, and its answer is lost. */
  readonly when: "before" | "after"
}

/**
 * Wraps a driver.
 *
 * @param faultOf called for every statement
 * @since 0.1.0
 */
export const make = (driver: Driver, faultOf: (sql: string) => Fault | undefined): Driver => ({
  name: `${driver.name} with faults`,
  open: (file) => {
    const { all, close, run } = driver.open(file)
    const faulty = <A>(sql: string, work: () => A): A => {
      const fault = faultOf(sql)
      if (fault === undefined) return work()
      if (fault.when === "after") work()
      throw Object.assign(new Error(`${fault.code} on purpose`), { code: fault.code })
    }
    return {
      close,
      all: (sql, params) => faulty(sql, () => all(sql, params)),
      run: (sql) => faulty(sql, () => run(sql))
    }
  }
})
