/**
 * The tag of the program's file system, made from its key: the module of `@effect/platform` loads Schema, and with it a
 * library for tests.
 */
import type { FileSystem } from "@effect/platform/FileSystem"
import * as Context from "effect/Context"

export const fileSystem = Context.GenericTag<FileSystem>("@effect/platform/FileSystem")
