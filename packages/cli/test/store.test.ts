/** `serve --store`, `history` and `rollback`, as the program is published. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { deadline, eventually, program, replaceFile, start, temporaryDirectory } from "./ServeProcess.js"

const limit = 3 * deadline

const cluster = (name: string): string =>
  JSON.stringify({ "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", name })

const run = async (...args: ReadonlyArray<string>) => {
  const { exit, stderr, stdout } = start(process.execPath, [program, ...args])
  return { code: await exit, out: stdout().trim(), error: stderr().trim() }
}

const serve = async (...args: ReadonlyArray<string>) => {
  const running = start(process.execPath, [program, "serve", "--port", "0", "--admin-port", "0", ...args])
  await eventually(() => expect(running.stdout()).toMatch(/^admin:$/m))
  const admin = /^ +admin +(\S+)/m.exec(running.stdout())?.[1] ?? ""
  const get = async (path: string) => (await (await fetch(`${admin}${path}`)).text()).trim()
  const groups = async (): Promise<unknown> => {
    const body: unknown = JSON.parse(await get("/status"))
    return typeof body === "object" && body !== null && "groups" in body ? body.groups : undefined
  }
  return { ...running, get, groups }
}

describe("a store in a database", { timeout: limit }, () => {
  it("★ two processes serve one: what the files of one say the other has, killed and rolled back, too", async () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, "config", "edge"), { recursive: true })
    const file = (name: string): string => join(directory, "config", "edge", `${name}.json`)
    writeFileSync(file("a"), cluster("a"))
    const store = `sqlite:${join(directory, "xds.db")}`
    const writer = await serve(join(directory, "config"), "--store", store)
    const replica = await serve("--store", store)
    expect(replica.stdout()).toContain(`Serving ${store}: 1 resource in 1 group (edge)`)
    replaceFile(file("b"), cluster("b"))
    await eventually(async () => expect(await replica.groups()).toEqual([{ group: "edge", resources: { CDS: 2 } }]))
    writer.child.kill("SIGKILL")
    await writer.exit

    const { code, out } = await run("history", "edge", "--store", store)
    expect(code).toBe(0)
    const lines = out.split("\n")
    expect(lines[0]).toMatch(/^REVISION +TIME +RESOURCES +AUTHOR +NOTE$/)
    expect(lines.slice(1).map((line) => line.split(/ {2,}/)[2])).toEqual(["+1 -0", "+1 -0"])
    const first = lines[2]?.split(" ")[0] ?? ""
    const back = await run(
      "rollback",
      "edge",
      first,
      "--store",
      store,
      "--author",
      "ann",
      "--note",
      "b is\u001b[31m bad"
    )
    expect([back.code, back.out]).toEqual([0, `Group "edge" is as at revision ${first}; this is revision 3`])
    await eventually(async () => expect(await replica.groups()).toEqual([{ group: "edge", resources: { CDS: 1 } }]))
    const after = await run("history", "edge", "--store", store, "--limit", "1")
    expect(after.out.split("\n")[1]).toMatch(/^3 +\S+ +\+0 -1 +ann +b is \[31m bad$/)
    const json: unknown = JSON.parse((await run("history", "edge", "--store", store, "-o", "json")).out)
    expect(json).toMatchObject([{ revision: 3, author: "ann" }, { revision: 2 }, { revision: 1, kind: "put" }])
    expect(await replica.get("/readyz")).toBe("ready")
    expect(await replica.get("/metrics")).toMatch(/^xds_store_revision 3$/m)
    expect(await replica.get("/metrics")).toMatch(/^xds_store_away_since_seconds 0$/m)

    // Somebody damages the database: it is said, and what is there is served.
    const { Sqlite } = await import("@effect-xds/store-sql")
    const { Effect } = await import("effect")
    await Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(
          Sqlite.make({ file: store.slice("sqlite:".length) }),
          ({ sql }) => sql`UPDATE xds_head SET chain = 'x'`
        )
      )
    )
    await eventually(async () => expect(await replica.get("/readyz")).toMatch(/^not ready: since .* is not followed: /))
    expect(await replica.groups()).toEqual([{ group: "edge", resources: { CDS: 1 } }])
    expect(await replica.get("/metrics")).toMatch(/^xds_store_away_since_seconds \d{10}/m)
  })

  it.each([
    [["history", "edge"], 2, "--store URL is missing: say which store"],
    [
      ["history", "edge", "--store", "mysql://u:secret@h/d"],
      2,
      "--store is sqlite:FILE, postgres://USER@HOST/DATABASE or env:NAME"
    ],
    [["history", "edge", "--store", "env:NO_SUCH_NAME"], 2, "--store env:NO_SUCH_NAME: there is no such variable"],
    [["history", "edge", "--store", "sqlite:/no/such/file"], 3, "--store sqlite:/no/such/file: there is no such file"],
    [
      ["rollback", "edge", "last", "--store", "sqlite:/no/such/file"],
      2,
      "REVISION is a number, as effect-xds history prints it"
    ],
    [
      ["rollback", "edge", "1", "--store", "postgres://u:secret@127.0.0.1:1/d"],
      3,
      "postgres://127.0.0.1:1/d cannot be opened"
    ]
  ])("%j ends with %d and one line", { timeout: limit }, async (args, code, message) => {
    const { code: is, error, out } = await run(...args)
    expect([is, out]).toEqual([code, ""])
    expect(error.split("\n").at(-1)).toContain(message)
    expect(error).not.toMatch(/^ +at |secret/m)
    expect(existsSync("/no/such/file")).toBe(false)
  })

  it("★ one that cannot serve, as its port is in use, has written nothing", async () => {
    const directory = temporaryDirectory()
    const store = `sqlite:${join(directory, "xds.db")}`
    const filesOf = (name: string): string => {
      mkdirSync(join(directory, name))
      writeFileSync(join(directory, name, "a.json"), cluster(name))
      return join(directory, name)
    }
    const first = await serve(filesOf("first"), "--store", store)
    const port = /^ +gRPC +\S+:(\d+)/m.exec(first.stdout())?.[1] ?? ""
    const admin = /^ +admin +\S+:(\d+)/m.exec(first.stdout())?.[1] ?? ""
    const second = filesOf("second")
    for (const ports of [
      ["--port", port, "--no-admin"],
      ["--port", "0", "--admin-port", admin]
    ]) {
      const { code, error } = await run("serve", second, "--store", store, ...ports)
      expect([code, error]).toEqual([3, expect.stringContaining("the port is in use by another server")])
    }
    const { out } = await run("history", "default", "--store", store, "--output", "json")
    expect(JSON.parse(out)).toMatchObject([{ revision: 1 }])
  })

  it("rules over a group are those of files without a store", async () => {
    const directory = temporaryDirectory()
    const path = join(directory, "config")
    mkdirSync(path)
    writeFileSync(join(path, "a.json"), cluster("a"))
    const server = await serve(path, "--store", `sqlite:${join(directory, "xds.db")}`, "--group-rules", "refuse")
    const routes = {
      "@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
      name: "main",
      virtual_hosts: [{ name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "kart" } }] }]
    }
    replaceFile(join(path, "routes.json"), JSON.stringify(routes))
    await eventually(() =>
      expect(server.stderr()).toMatch(
        /routes\.json:1: routes "main": .* names cluster "kart", which is not there \(cluster-reference\); --group-rules warn serves it all the same/
      )
    )
    expect(await server.groups()).toEqual([{ group: "default", resources: { CDS: 1 } }])
  })

  it("a group without changes, and a revision from the future", { timeout: limit }, async () => {
    const directory = temporaryDirectory()
    const store = `sqlite:${join(directory, "xds.db")}`
    writeFileSync(join(directory, "a.json"), cluster("a"))
    const writer = await serve(directory, "--store", store)
    writer.child.kill()
    await writer.exit
    rmSync(join(directory, "a.json"))
    const none = await run("history", "nope", "--store", store)
    expect([none.code, none.error.includes('no changes of group "nope"')]).toEqual([3, true])
    const future = await run("rollback", "default", "99", "--store", store)
    expect([future.code, future.error.includes("no revision 99")]).toEqual([3, true])
  })
})
