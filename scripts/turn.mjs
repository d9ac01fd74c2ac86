// For every test file: the event loop has a turn after each test. Tests that do not wait for anything would else keep it
// for as long as all of them take, and vitest gives up a worker that it has not heard of for a minute.
import { afterEach } from "vitest"

// Kept before a test puts another in its place.
const { setImmediate } = globalThis

afterEach(() => new Promise((resolve) => setImmediate(resolve)))
