#!/usr/bin/env node
/**
 * Starts the program `effect-xds`. In the package it is there a second time, as few files with everything in them: to read some
 * seven hundred modules takes Node as long as all else until it serves.
 */
import { existsSync } from "node:fs"

const bundle = new URL("./bundle/Process.js", import.meta.url)

/** Drivers of databases are binaries, which cannot be in there; so what works with a store is read as it was built. */
const isOnStore = process.argv.some((each) => /^(--store(=.*)?|history|rollback)$/s.test(each))

if (!isOnStore && existsSync(bundle)) await import(bundle.href)
else await import("./Process.js")
