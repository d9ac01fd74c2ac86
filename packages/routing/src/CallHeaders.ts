/**
 * The headers of a call, as matchers and hash policies see them.
 *
 * Of RPCs only custom metadata is seen: binary headers, pseudo headers and those that a transport makes are absent, and
 * `content-type` is always `application/grpc`, whatever the transport speaks. So one route configuration means the same
 * for gRPC, gRPC-Web and Connect. ★ Of a plain HTTP request all headers are seen, as they are sent.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md
 * @since 0.1.0
 */
import * as Ascii from "@effect-xds/discovery/Ascii"

/**
 * Headers by name in lower case. A {@link https://developer.mozilla.org/docs/Web/API/Headers | Headers} object is one.
 *
 * @since 0.1.0
 */
export interface CallHeaders {
  /** The value; several values are joined. `null` or `undefined`: there is none. */
  readonly get: (name: string) => string | null | undefined
  /** Whether they are those of a plain HTTP request. Default: false, they are those of an RPC. */
  readonly isPlain?: boolean | undefined
}

/**
 * No headers.
 *
 * @since 0.1.0
 */
export const empty: CallHeaders = { get: () => undefined }

/**
 * Headers from names and values in the order they are sent. ★ Values of one name are joined by a comma without a blank.
 *
 * @since 0.1.0
 */
export const fromEntries = (entries: Iterable<readonly [name: string, value: string]>): CallHeaders => {
  const values = new Map<string, string>()
  for (const [name, value] of entries) {
    const key = Ascii.fold(name)
    const before = values.get(key)
    values.set(key, before === undefined ? value : `${before},${value}`)
  }
  return { get: (name) => values.get(name) }
}

/**
 * The headers of a plain HTTP request, with its pseudo headers.
 *
 * @param path with the query
 * @since 0.1.0
 */
export const ofRequest = (
  { authority, method, path }: { readonly method: string; readonly authority: string; readonly path: string },
  headers: CallHeaders
): CallHeaders => {
  // `host` is another name of `:authority`, as for Envoy.
  const own = new Map([
    [":method", method],
    [":authority", authority],
    [":path", path],
    ["host", authority]
  ])
  return { isPlain: true, get: (name) => own.get(name) ?? headers.get(name) }
}

/**
 * Whether the call is one of gRPC: an RPC is, a plain HTTP request is if its `content-type` says so.
 *
 * @since 0.1.0
 */
export const isGrpc = (self: CallHeaders): boolean =>
  self.isPlain !== true || /^application\/grpc(\+|$)/.test(see(self, "content-type") ?? "")

/**
 * Whether a header of an RPC, its name in lower case, is hidden from matchers.
 *
 * @since 0.1.0
 */
export const isHidden = (name: string): boolean =>
  name.endsWith("-bin") ||
  name.startsWith(":") ||
  name.startsWith("grpc-") ||
  name.startsWith("connect-") ||
  name === "te" ||
  name === "user-agent"

/**
 * The value a matcher sees; `undefined` if the header is absent or hidden, or no header can have the name. ★ An empty value is
 * there.
 *
 * @param name in lower case
 * @since 0.1.0
 */
export const see = (self: CallHeaders, name: string): string | undefined => {
  if (self.isPlain !== true) {
    if (name === "content-type") return "application/grpc"
    if (isHidden(name)) return undefined
  }
  try {
    return self.get(name) ?? undefined
  } catch {
    // A `Headers` throws where a name is none that a header can have, as `x y`. Routes may ask for it; Envoy takes them.
    return undefined
  }
}
