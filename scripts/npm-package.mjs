// Packages of npm that are no dependencies: fetched as they are, compared with a pinned digest, and unpacked. Nothing in them
// is run.
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"

/** Why something cannot be had: said in one line, never a stack trace. */
export class Missing extends Error {}

/** Runs a program to its end, or for so long: whether it went well, and what it said. */
export const run = (command, args, limitSeconds, options = {}) =>
  new Promise((resolve) => {
    const chunks = []
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] })
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.stderr.on("data", (chunk) => chunks.push(chunk))
    let timedOut = false
    const limit = setTimeout(() => {
      timedOut = true
      child.kill("SIGKILL")
    }, limitSeconds * 1000)
    const end = (ok, note) => {
      clearTimeout(limit)
      resolve({ ok, output: (Buffer.concat(chunks).toString() + note).trim() })
    }
    child.on("error", (error) => end(false, error.message))
    child.on("close", (code) => end(code === 0, timedOut ? `\nno end after ${limitSeconds} s` : ""))
  })

/** Puts a package, given as `name@version`, into `folder`. `digest`: npm's own, SHA-512 in Base64. */
export const unpack = async (name, digest, folder) => {
  mkdirSync(folder, { recursive: true })
  const dir = mkdtempSync(join(folder, ".packed-"))
  try {
    const packed = await run("npm", ["pack", name, "--silent", "--pack-destination", dir], 180, {
      env: { ...process.env, npm_config_fetch_retries: "1", npm_config_fetch_timeout: "30000" }
    })
    const archive = readdirSync(dir).find((each) => each.endsWith(".tgz"))
    if (!packed.ok || archive === undefined)
      throw new Missing(`npm could not download it: ${packed.output.split("\n").at(-1)}`)
    const found = createHash("sha512")
      .update(readFileSync(join(dir, archive)))
      .digest("base64")
    if (found !== digest) throw new Missing(`${name} is not the package that is pinned here`)
    const unpacked = await run("tar", ["-xzf", join(dir, archive), "-C", folder, "--strip-components=1"], 120)
    if (!unpacked.ok) throw new Missing(`its package cannot be unpacked: ${unpacked.output.split("\n")[0]}`)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
