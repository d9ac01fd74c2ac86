/** The rules of lists and maps: how many there are, and what each of them must be. */
import type { MapRules, RepeatedRules } from "@effect-xds/proto/validate/validate"
import { type Check, counted, given, notA, type Report, run, shownText, withSteps } from "./Report.js"
import { isProperties, type Properties } from "./Properties.js"

/** Items of one step; of these none is large. */
const atOnce = 16

interface Limits {
  readonly least: bigint | undefined
  readonly most: bigint | undefined
}

const unlimited: Limits = { least: undefined, most: undefined }

/** How many items a list may have. */
export const itemsOf = (rules: RepeatedRules | undefined): Limits =>
  rules === undefined ? unlimited : { least: given(rules, "minItems"), most: given(rules, "maxItems") }

/** How many pairs a map may have. */
export const pairsOf = (rules: MapRules | undefined): Limits =>
  rules === undefined ? unlimited : { least: given(rules, "minPairs"), most: given(rules, "maxPairs") }

export const lists = (rules: RepeatedRules | undefined, item: Check | undefined): Check | undefined => {
  const isUnique = rules?.unique ?? false
  const size = sizeCheck("repeated", "item", itemsOf(rules))
  if (size === undefined && !isUnique && item === undefined) return undefined
  /** The items that are checked one by one. */
  const checked = (value: unknown, report: Report): ReadonlyArray<unknown> => {
    if (!Array.isArray(value)) {
      notA(report, "a list", value)
      return []
    }
    if (value.length === 0 && rules?.ignoreEmpty === true) return []
    size?.(value.length, report)
    return isUnique || item !== undefined ? value : []
  }
  return withSteps(
    (value, report) => {
      const items = checked(value, report)
      const seen = isUnique ? new Set<unknown>() : undefined
      for (let index = 0; index < items.length && !report.isFull; index++) {
        const before = report.found.length
        if (seen !== undefined) unique(items[index], seen, report)
        item?.(items[index], report)
        if (report.found.length > before) report.inside(before, `[${index}]`)
      }
    },
    function* (value, report, large) {
      const items = checked(value, report)
      const seen = isUnique ? new Set<unknown>() : undefined
      for (let index = 0; index < items.length && !report.isFull; index++) {
        if (index % atOnce === atOnce - 1) yield
        const before = report.found.length
        if (seen !== undefined) unique(items[index], seen, report)
        yield* run(item, items[index], report, large)
        if (report.found.length > before) report.inside(before, `[${index}]`)
      }
    }
  )
}

const unique = (item: unknown, seen: Set<unknown>, report: Report): void => {
  // ★ No NaN is another one, as in Go; to a Set they all are one. Bytes are compared by what they hold.
  if (Number.isNaN(item)) return
  const key = item instanceof Uint8Array ? item.join() : item
  if (seen.has(key)) report.add("repeated.unique", "must not be in the list twice")
  seen.add(key)
}

const sizeCheck = (
  kind: "repeated" | "map",
  unit: "item" | "pair",
  { least, most }: Limits
): ((size: number, report: Report) => void) | undefined => {
  if (least === undefined && most === undefined) return undefined
  const problem =
    least !== undefined && least === most
      ? `must have exactly ${counted(least, unit)}`
      : [
          ...(least === undefined ? [] : [`at least ${counted(least, unit)}`]),
          ...(most === undefined ? [] : [`at most ${counted(most, unit)}`])
        ].join(" and ")
  const said = problem.startsWith("must") ? problem : `must have ${problem}`
  return (size, report) => {
    const isSmall = least !== undefined && size < least
    if (!isSmall && !(most !== undefined && size > most)) return
    report.add(`${kind}.${isSmall ? "min" : "max"}_${unit}s`, said, counted(size, unit))
  }
}

/** An entry of a map in a path. */
const segmentOf = (key: string): string => `[${shownText(key)}]`

export const maps = (
  rules: MapRules | undefined,
  key: Check | undefined,
  element: Check | undefined,
  isKeyText: boolean
): Check | undefined => {
  const size = sizeCheck("map", "pair", pairsOf(rules))
  const isDense = rules?.noSparse ?? false
  if (size === undefined && !isDense && key === undefined && element === undefined) return undefined
  /** The keys of the entries that are checked one by one. */
  const keysOf = (map: Properties, report: Report): ReadonlyArray<string> => {
    const keys = Object.keys(map)
    if (keys.length === 0 && rules?.ignoreEmpty === true) return []
    size?.(keys.length, report)
    if (!isDense && key === undefined && element === undefined) return []
    // Always the same order, whatever the order on the wire.
    return keys.length > 1 ? keys.sort(isKeyText ? undefined : (a, b) => Number(a) - Number(b)) : keys
  }
  const checkKey = (each: string, value: unknown, report: Report): void => {
    if (isDense && value === undefined) report.add("map.no_sparse", "must have a value")
    key?.(each, report)
  }
  return withSteps(
    (value, report) => {
      if (!isProperties(value)) return notA(report, "a map", value)
      for (const each of keysOf(value, report)) {
        if (report.isFull) return
        const before = report.found.length
        checkKey(each, value[each], report)
        element?.(value[each], report)
        if (report.found.length > before) report.inside(before, segmentOf(each))
      }
    },
    function* (value, report, large) {
      if (!isProperties(value)) return notA(report, "a map", value)
      let count = 0
      for (const each of keysOf(value, report)) {
        if (report.isFull) return
        if (++count % atOnce === 0) yield
        const before = report.found.length
        checkKey(each, value[each], report)
        yield* run(element, value[each], report, large)
        if (report.found.length > before) report.inside(before, segmentOf(each))
      }
    }
  )
}
