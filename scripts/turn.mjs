// For every test file: the event loop has a turn after each test. Tests that do not wait for anything would else keep it
// for as long as all of them take, and vitest gives up a worker that it has not heard of for a minute.
import { afterEach, chai } from "vitest"

// Kept before a test puts another in its place.
const { setImmediate } = globalThis

// Without a proxy around each assertion, of which properties make several. All it does is to report a misspelled one, which is an
// error of types.
chai.config.useProxy = false

afterEach(() => new Promise((resolve) => setImmediate(resolve)))
