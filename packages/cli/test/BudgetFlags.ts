/** The flags of V8 that raise its compiler's budget and restore it, by the versions of V8 where it is raised. */

export const node20: ReadonlyArray<string> = ["--interrupt-budget=500000", "--interrupt-budget=67584"]

const node22 = ["--invocation-count-for-turbofan=10000", "--invocation-count-for-turbofan=3000"]

export const measured: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ["11.3.244.8-node.38", node20],
  ["12.4.254.21-node.57", node22]
]
