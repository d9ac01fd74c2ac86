// For every test file: the event loop has a turn after each test. Tests that do not wait for anything would else keep it
// for as long as all of them take, and vitest gives up a worker that it has not heard of for a minute.
import { afterEach } from "vitest"

afterEach(() => new Promise((resolve) => setImmediate(resolve)))
