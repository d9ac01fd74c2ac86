/**
 * One rule that a message breaks.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 */
export interface Fault {
  /**
   * The field or oneof, from the message that was checked: `load_assignment.endpoints[0].priority`, with the names of the
   * `.proto` files; a map's entry is `labels["a"]`, what an `Any` holds is behind the name of its type:
   * `typed_config[envoy.extensions.filters.http.router.v3.Router].dynamic_stats`. Empty: the message itself.
   */
  readonly path: string
  /** The option of `validate.proto` that is broken: `duration.gt`, `message.required`, `oneof.required`. */
  readonly rule: string
  /** What the rule asks for: `must be greater than 0s`. */
  readonly problem: string
  /**
   * What is there instead, for people: `-5s`. Long values are cut; of sensitive fields it is `[redacted]`. `undefined` where
   * nothing is there, or the problem says it.
   */
  readonly value: string | undefined
}

/**
 * In words: `connect_timeout must be greater than 0s, is -5s`.
 *
 * @since 0.1.0
 */
export const toText = ({ path, problem, value }: Fault): string =>
  `${path === "" ? "" : `${path} `}${problem}${value === undefined ? "" : `, is ${value}`}`
