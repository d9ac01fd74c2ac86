/**
 * The path of a Unix socket.
 *
 * @since 0.1.0
 */
import { Buffer } from "node:buffer"

/** The bytes that the system's address of a socket has for it. Pipes of Windows have names without such a limit. */
const longest = process.platform === "linux" ? 107 : process.platform === "win32" ? Number.POSITIVE_INFINITY : 103

/**
 * Why no socket can have a path, in words; `undefined`: one can. Node 20 and 22 cut what is too long, and listen on, or connect to,
 * another path.
 *
 * @since 0.1.0
 */
export const problemOf = (path: string): string | undefined => {
  const bytes = Buffer.byteLength(path)
  return bytes > longest
    ? `the path ${path} has ${bytes} bytes, and that of a Unix socket at most ${longest}; choose a shorter one`
    : undefined
}
