/**
 * What the generated types are made from.
 *
 * @since 0.1.0
 */

/**
 * The version of Envoy whose API the types are: that of the Go module `github.com/envoyproxy/go-control-plane/envoy`,
 * which has the number of the Envoy release.
 *
 * @since 0.1.0
 */
export const version = "1.40.0"
