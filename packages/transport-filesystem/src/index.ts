/**
 * xDS from and to files.
 *
 * @since 0.1.0
 */
export * as FileClient from "./FileClient.js"
export type { FileEvent } from "./FileEvent.js"
export * as FileFormat from "./FileFormat.js"
export type { FileStatus } from "./FileStatus.js"
export * as FilesystemMetrics from "./FilesystemMetrics.js"
export * as ResourceDirectory from "./ResourceDirectory.js"
export * as ResourceFile from "./ResourceFile.js"
export * as ResponseDirectory from "./ResponseDirectory.js"
export * as ResponseFile from "./ResponseFile.js"
