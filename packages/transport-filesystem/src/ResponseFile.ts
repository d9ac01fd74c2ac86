/**
 * A file with one DiscoveryResponse, as Envoy's `path_config_source` reads it: read at the start, and again when it is
 * replaced.
 *
 * It watches the file's directory, and those of symbolic links on the path, not the file itself. So it sees a file
 * moved
 * into place, an editor's temporary file, and a replaced link (`..data`, as Kubernetes mounts a ConfigMap). Unchanged
 * content changes nothing.
 *
 * When the file is rejected or removed, its last accepted content stays in force. If it cannot be read for want of
 * descriptors, or for a fault of the disk, it is tried again, at least every 30 seconds.
 *
 * @since 0.1.0
 */
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { FileEvent } from "./FileEvent.js"
import type { FileStatus } from "./FileStatus.js"
import * as EntryWatch from "./internal/EntryWatch.js"
import type { ReadOptions } from "./internal/ReadOptions.js"
import { least, withDefaults } from "./internal/ReadOptions.js"
import * as WatchedFile from "./internal/WatchedFile.js"
import type * as ResourceFile from "./ResourceFile.js"

/**
 * Options for reading. Each has a default.
 *
 * @since 0.1.0
 */
export interface Options extends ReadOptions {
  /** The required type of the response. Default: any. */
  readonly typeUrl?: string | undefined
}

/**
 * A file that is read and watched.
 *
 * @since 0.1.0
 */
export interface ResponseFile {
  readonly path: string
  /** The response in force; `None` until the file is accepted for the first time. */
  readonly current: Effect.Effect<Option.Option<ResourceFile.Response>>
  /** The response in force, then every later one. A slow subscriber misses intermediate ones. */
  readonly changes: Stream.Stream<ResourceFile.Response>
  /** Later events of the file. A subscriber that is 1024 events behind loses the oldest. */
  readonly events: Stream.Stream<FileEvent>
  readonly status: Effect.Effect<FileStatus>
}

/**
 * Reads a file and watches it until the scope closes. It returns after the first read. A rejected or missing file is no
 * failure: it shows in the events and the status.
 *
 * @since 0.1.0
 */
export const make = (path: string, options: Options = {}): Effect.Effect<ResponseFile, never, Scope.Scope> =>
  BadOption.check(options, least).pipe(
    Effect.zipRight(EntryWatch.make(withDefaults(options).pollInterval)),
    Effect.flatMap((watch) => WatchedFile.make(path, options, watch))
  )
