/**
 * The file system that a program provides. Told by its key: the module of `@effect/platform` loads schemas, and with them
 * a library for tests.
 */
import type { FileSystem } from "@effect/platform/FileSystem"
import * as Context from "effect/Context"

export const fileSystem = Context.GenericTag<FileSystem>("@effect/platform/FileSystem")
