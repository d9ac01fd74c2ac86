/**
 * Golden traces of a client: a script of what its application, its servers and the connection do, and what the client
 * puts out, as text. The arrows are those of the wire: `>` leaves the client, `<` comes to it.
 *
 * A file has a heading, free text, and sections that begin with `## title`; each is a test. ★ in a title: a rule that
 * implementations get wrong, see docs/protocol.md. Lines of a section:
 *
 *     client sotw ads                    a client: sotw | delta, ads | separate; options below
 *     watch 1 CDS a | watch 1 CDS *      watcher 1 begins
 *     unwatch 1
 *     connected                          the stream is open; writes go through at once
 *     writes off | writes on | written   requests stay on their way; all go through again; one went through
 *     < CDS v1 nonce=1 [a=1 b=2]         a response; also removed=[c] errors=[d:5:"words"]
 *     applied off | applied on           whether responses are applied at once (the default)
 *     applied CDS 1                      this one was
 *     end "words" random=0.5             the stream ends
 *     wait 5s                            time passes; deadlines fire on the way
 *     pause EDS | resume EDS | refresh EDS a
 *     own VHDS r r/a.x r/b.x             keys that belong to `r`
 *     show received                      shows these outputs too
 *     dump | deadline | decodes          shows the resources as CSDS has them | the deadline | decodings so far
 *     > CDS [a b] version=v1 nonce=1     state of the world: a request; also nack "words", node
 *     > CDS +a -b initial=[a=v1]         incremental
 *     ! 1 CDS a Updated 1                what watchers are told
 *     ! Connect s                        any other output
 *     = …                                what was asked for
 *     (silent)                           an input that puts out nothing
 *
 * Several servers are given as `servers=p,f`, and those of an authority as `one=q,f`; then `connected`, `end`, `<`,
 * `written` and `applied` take `on=q`, and outputs tell the stream if it is not the one of the first server.
 *
 * A resource is `name=content`, then, in any order, `(alias other)`, `~10s` for a TTL, `@version`, `:RDS` for another
 * type inside. `name=` has no body, `=content` no name. Content that begins with `bad` is rejected. `name=1{a.x,*.y}` is a
 * virtual host with domains, `name=1<acme/eu>` a scope with the fragments of its key. `name=1!` is a variant, named with constraints (TP2); `variants=[a]` in a response removes one.
 */
import * as Client from "@effect-xds/core/client/Client"
import * as ClientStep from "./ClientStep.js"
import * as DynamicParameters from "@effect-xds/core/protocol/DynamicParameters"
import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import * as Request from "@effect-xds/core/wire/Request"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import { fieldOf, fields, utf8 } from "@effect-xds/core/wire/Wire"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import { isDeepStrictEqual } from "node:util"

const typeUrls = new Map<string, string>(ResourceType.all.map((type) => [type.shortName, type.typeUrl]))
const typeUrlOf = (name: string): string => typeUrls.get(name) ?? name
const shortName = (typeUrl: string): string => ResourceType.shortNameOf(typeUrl)

const milliseconds = (text: string): number => {
  const match = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text)
  if (match?.[1] === undefined) throw new Error(`not a duration: ${text}`)
  return Number(match[1]) * (match[2] === "s" ? 1_000 : 1)
}
const seconds = (ms: number) => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`)

/** Words, where brackets, parentheses and quotes hold together. */
const words = (text: string): ReadonlyArray<string> =>
  text.match(/(?:\([^)]*\)|\[(?:[^\]"]|"[^"]*")*\]|"[^"]*"|[^\s([")\]])+/g) ?? []

const listOf = (word: string): ReadonlyArray<string> => words(word.replace(/^[^[]*\[|\]$/g, ""))

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array => Buffer.concat(parts)

/** A field number no resource type uses. */
const CONTENT = 1000

/** `1{a.x,b.x}` is content with these domains of a virtual host, `1<acme/eu>` with these fragments of a scope's key. */
const bytesOf = (name: string, content: string): Uint8Array => {
  const domains = /\{(.*)\}$/.exec(content)?.[1]?.split(",") ?? []
  const fragments = /<(.*)>$/.exec(content)?.[1]?.split("/")
  return concat([
    name === "" ? new Uint8Array() : fieldOf(1, utf8(name)),
    ...domains.map((domain) => fieldOf(2, utf8(domain))),
    fragments === undefined
      ? new Uint8Array()
      : fieldOf(3, concat(fragments.map((fragment) => fieldOf(1, fieldOf(1, utf8(fragment)))))),
    fieldOf(CONTENT, utf8(content))
  ])
}

const contentOf = (bytes: Uint8Array): string => {
  let content = ""
  fields(bytes, (reader, field) => {
    if (field !== CONTENT) return false
    content = reader.string()
    return true
  })
  return content
}

const varint = (field: number, value: number): Uint8Array => {
  const bytes = [field * 8]
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Uint8Array.from([...bytes, rest])
    bytes.push((rest % 128) + 128)
  }
}

const text = (field: number, value: string): Uint8Array =>
  value === "" ? new Uint8Array() : fieldOf(field, utf8(value))

const anyOf = (typeUrl: string, value: Uint8Array): Uint8Array => concat([text(1, typeUrl), fieldOf(2, value)])

/** A `ResourceName` with constraints (TP2). */
const variantOf = (name: string): Uint8Array =>
  concat([text(1, name), fieldOf(2, DynamicParameters.encode({ _tag: "Exists", key: "env" }))])

/** The bytes of a resource in a response. */
const resourceOf = (typeUrl: string, word: string, isWrapped: boolean, form: Form | undefined): Uint8Array => {
  const match = /^([^=(]*)=([^(~@:]*)(.*)$/.exec(word)
  if (match === null) throw new Error(`not a resource: ${word}`)
  const [, name = "", content = "", rest = ""] = match
  const part = (pattern: RegExp) => pattern.exec(rest)?.[1]
  const ttl = part(/~(-?\d+)s/)
  const version = part(/@([^(~:!]+)/)
  const named = rest.includes("!") ? fieldOf(8, variantOf(name)) : text(3, name)
  const aliases = part(/\(([^)]*)\)/)?.split(" ") ?? []
  const other = part(/:([^(~@]+)/)
  const encode = form?.typeUrl === typeUrl ? form.encode : bytesOf
  // An endpoint (LEDS) holds no name: its first field is a message.
  const inside = typeUrl === ResourceType.LbEndpoint.typeUrl ? "" : name
  const any = anyOf(other === undefined ? typeUrl : typeUrlOf(other), encode(inside, content))
  if (!isWrapped && ttl === undefined && version === undefined && content !== "" && aliases.length === 0) return any
  const wrapper =
    content === "garbage"
      ? concat([text(3, name), Uint8Array.of(0xff, 0xff)])
      : concat([
          text(1, version ?? (isWrapped ? `v${content}` : "")),
          content === "" ? new Uint8Array() : fieldOf(2, any),
          named,
          ...aliases.map((alias) => text(4, alias)),
          ttl === undefined ? new Uint8Array() : fieldOf(6, varint(1, Number(ttl)))
        ])
  return isWrapped ? wrapper : anyOf("type.googleapis.com/envoy.service.discovery.v3.Resource", wrapper)
}

const errorOf = (word: string): Uint8Array => {
  const match = /^(.+?):(\d+):"([^"]*)"$/.exec(word)
  if (match === null) throw new Error(`not an error: ${word}`)
  const [, name = "", code = "", message = ""] = match
  return concat([fieldOf(1, text(1, name)), fieldOf(2, concat([varint(1, Number(code)), text(2, message)]))])
}

const plain = (request: Request.Request): unknown => ({
  ...request,
  // Of those only what goes with the names of the request is in it.
  parameters: undefined,
  ...(request._tag === "Incremental" && { initialResourceVersions: new Map(request.initialResourceVersions) }),
  node: request.node?.length
})

const isOutput = (line: string): boolean => /^(>|!|=|\(silent\))/.test(line)

/** What the resources of one type are made of, in place of the trace's own content. */
export interface Form {
  readonly typeUrl: string
  readonly encode: (name: string, content: string) => Uint8Array
  /** The content; left: why the resource is rejected. */
  readonly decode: (bytes: Uint8Array, name: string) => Either.Either<string, string>
}

/** Runs a section and gives back its lines as they should be: the script as it is, with what the client put out. */
export const play = (lines: ReadonlyArray<string>, form?: Form): ReadonlyArray<string> => {
  const out: Array<string> = []
  const claims: Array<string> = []
  const claimOf = (owner: string): number => (claims.includes(owner) ? claims.indexOf(owner) : claims.push(owner) - 1)
  const shown = new Set<string>()
  let client: Client.Client | undefined
  let now = 0
  let decodes = 0
  let first = ""
  let isWriting = true
  let isApplying = true

  const decoders = ResourceType.all.map(({ typeUrl }) =>
    ResourceDecoder.make({
      typeUrl,
      decode: (bytes, name) => {
        decodes++
        if (form?.typeUrl === typeUrl) return form.decode(bytes, name)
        const content = contentOf(bytes)
        if (content === "throw") throw new Error("the decoder threw")
        return content.startsWith("bad") ? Either.left(`its content is ${content}`) : Either.right(content)
      }
    })
  )

  const of = (): Client.Client => {
    if (client === undefined) throw new Error("there is no client")
    return client
  }
  const list = (title: string, items: Iterable<string>) => {
    const sorted = Array.from(items).sort()
    return sorted.length === 0 ? "" : ` ${title}=[${sorted.join(" ")}]`
  }
  const on = (stream: string) => (stream === first ? "" : ` on=${streamName(stream)}`)
  const streamName = (stream: string) => {
    const [server = "", typeUrl] = stream.split(" ")
    return typeUrl === undefined ? server : `${server}/${shortName(typeUrl)}`
  }
  const streamOf = (name: string) => {
    const [server = "", type] = name.split("/")
    return type === undefined ? server : `${server} ${typeUrlOf(type)}`
  }

  const request = (request: Request.Request): string => {
    const bytes = ClientRequest.encode(request)
    const read = Either.getOrThrow(Request.decode(request._tag, bytes))
    const same = isDeepStrictEqual(plain(read), plain(request))
    if (!same) throw new Error(`encoded and decoded it is another request: ${JSON.stringify(request)}`)
    const nack =
      request.errorDetail === undefined
        ? ""
        : ` nack ${request.errorDetail.code} ${JSON.stringify(request.errorDetail.message)}`
    const said = Array.from(read.parameters ?? [], ([authority, parameters]) => {
      const pairs = Array.from(parameters, ([key, text]) => `${key}=${text}`)
      return ` params${authority === "" ? "" : `@${authority}`}=[${pairs.join(" ")}]`
    }).join("")
    const nonce = (request.responseNonce === "" ? "" : ` nonce=${request.responseNonce}`) + said
    const node = request.node === undefined ? "" : " node"
    const type = shortName(request.typeUrl)
    if (request._tag === "StateOfTheWorld") {
      const version = request.versionInfo === "" ? "" : ` version=${request.versionInfo}`
      return `> ${type} [${[...request.resourceNames].sort().join(" ")}]${version}${nonce}${nack}${node}`
    }
    const subscribe = [...request.resourceNamesSubscribe].sort().map((name) => ` +${name}`)
    const unsubscribe = [...request.resourceNamesUnsubscribe].sort().map((name) => ` -${name}`)
    const initial = Array.from(request.initialResourceVersions, ([name, version]) => `${name}=${version}`)
    return `> ${type}${subscribe.join("")}${unsubscribe.join("")}${list("initial", initial)}${nonce}${nack}${node}`
  }

  const result = (result: Extract<Client.Output, { _tag: "Notify" }>["result"]): string => {
    switch (result._tag) {
      case "Updated":
        return `Updated ${String(result.value)}`
      case "Recovered":
        return "Recovered"
      default:
        return `${result._tag} ${result.error.code} ${JSON.stringify(result.error.message)}`
    }
  }

  const show = (output: Client.Output): void => {
    switch (output._tag) {
      case "Connect":
        return void out.push(`! Connect ${streamName(output.stream)}`)
      case "Close":
        return void out.push(`! Close ${streamName(output.stream)}`)
      case "Send":
        return void out.push(request(output.request) + on(output.stream))
      case "Notify":
        return void out.push(
          `! ${output.watchers.join(" ")} ${shortName(output.typeUrl)} ${output.name} ${result(output.result)}`
        )
      case "Failed":
        return void out.push(
          `! Failed ${streamName(output.stream)} ${JSON.stringify(output.error.message)} retry=${seconds(output.retryAt)}`
        )
      case "Responsive":
        return void out.push(`! Responsive ${streamName(output.stream)}`)
      case "Switched":
        return void out.push(
          `! Switched ${output.authority === undefined ? "" : `${output.authority} `}to ${output.server.id}`
        )
      case "Violation":
        return void out.push(`! Violation ${output.reason}: ${output.message}`)
      case "Received": {
        if (!shown.has("received")) return
        const { failed, rejected, removed, unchanged, updated } = output.validation
        const names = (each: ReadonlyArray<{ readonly name: string }>) => each.map(({ name }) => name)
        return void out.push(
          `! Received ${shortName(output.typeUrl)} ${output.version} nonce=${output.nonce}` +
            list("updated", names(updated)) +
            list("unchanged", names(unchanged)) +
            list("rejected", names(rejected)) +
            list("removed", removed) +
            list("failed", names(failed))
        )
      }
    }
  }

  const step = (input: Client.Input): void => {
    const before = out.length
    const follow = (each: Client.Input) => {
      const [next, outputs] = Client.step(of(), each, now)
      const counted = decodes
      ClientStep.check(of(), each, now, [next, outputs])
      decodes = counted
      client = next
      for (const output of outputs) show(output)
      for (const output of outputs) {
        if (output._tag === "Send" && isWriting) follow({ _tag: "Written", stream: output.stream })
        if (output._tag === "Received" && isApplying) follow({ ...output, _tag: "Processed" })
      }
    }
    follow(input)
    if (out.length === before && input._tag !== "Deadline") out.push("(silent)")
  }

  const make = (rest: ReadonlyArray<string>) => {
    const [variant, kind, ...options] = rest
    const server = (id: string): Client.Server => ({
      id,
      protocol: variant === "delta" ? "Incremental" : "StateOfTheWorld",
      isAggregated: kind === "ads",
      failOnDataErrors: options.includes("failOnDataErrors"),
      resourceTimerIsTransientError: options.includes("transientTimer"),
      ...(timeout === undefined ? {} : { resourceTimeout: milliseconds(timeout) })
    })
    const value = (name: string) => options.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
    const timeout = value("timeout")
    // `params=env:prod,one/env:test`: beside old names, and beside those of an authority.
    const said = value("params")
      ?.split(",")
      .map((each) => /^(?:(.*)\/)?(.*):(.*)$/.exec(each) ?? [])
    const dynamicParameters =
      said && new Map(said.map(([, authority = "", key = "", text = ""]) => [authority, new Map([[key, text]])]))
    const known = [
      "params",
      "failOnDataErrors",
      "transientTimer",
      "timeout",
      "servers",
      "maxResources",
      "maxErrorBytes"
    ]
    const servers = value("servers")?.split(",") ?? ["s"]
    const authorities = options.filter((word) => !known.includes(word.replace(/=.*$/, "")))
    const [maxResources, maxErrorBytes] = [value("maxResources"), value("maxErrorBytes")]
    client = Client.make({
      servers: servers.map(server),
      authorities: new Map(
        authorities.map((word) => {
          const [name = "", ids = ""] = word.split("=")
          return [name, ids === "" ? [] : ids.split(",").map(server)]
        })
      ),
      decoders,
      node: Uint8Array.of(1),
      dynamicParameters,
      ...(maxResources === undefined ? {} : { maxResources: Number(maxResources) }),
      ...(maxErrorBytes === undefined ? {} : { maxErrorBytes: Number(maxErrorBytes) })
    })
    first = servers[0] ?? ""
    now = 0
  }

  const response = (rest: ReadonlyArray<string>, stream: string) => {
    const [type = "", version = "", ...parts] = rest
    const typeUrl = type === '""' ? "" : typeUrlOf(type)
    const link = of().streams.get(stream)
    const protocol = link?.server.protocol ?? "StateOfTheWorld"
    const isWrapped = protocol === "Incremental"
    const value = (name: string) => parts.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) ?? ""
    const resources = listOf(parts.find((word) => word.startsWith("[")) ?? "[]")
    const bytes = concat([
      text(1, version === '""' ? "" : version),
      ...resources.map((word) => fieldOf(2, resourceOf(typeUrl, word, isWrapped, form))),
      text(4, typeUrl),
      text(5, value("nonce")),
      ...listOf(value("removed")).map((name) => fieldOf(6, utf8(name))),
      ...listOf(value("variants")).map((name) => fieldOf(8, variantOf(name))),
      ...listOf(value("errors")).map((word) => fieldOf(isWrapped ? 9 : 7, errorOf(word))),
      // A field of the future.
      fieldOf(99, utf8("unknown"))
    ])
    const decoded = ClientResponse.decode(protocol, bytes)
    step({ _tag: "Response", stream, response: Either.getOrThrow(decoded) })
  }

  const wait = (duration: number) => {
    const end = now + duration
    for (let turns = 0; Client.deadline(of()) <= end; turns++) {
      if (turns > 1_000) throw new Error(`the deadline stays at ${Client.deadline(of())}`)
      now = Math.max(now, Client.deadline(of()))
      step({ _tag: "Deadline" })
    }
    now = end
  }

  const dump = () => {
    const statuses = [...Client.dump(of())].sort((a, b) => (a.typeUrl + a.name < b.typeUrl + b.name ? -1 : 1))
    if (statuses.length === 0) out.push("= nothing")
    for (const { failure, held, name, status, typeUrl } of statuses) {
      const content =
        held === undefined ? "" : ` ${contentOf(held.bytes)} version=${held.version}@${seconds(held.updatedAt)}`
      const error =
        failure === undefined
          ? ""
          : ` failure=${failure.error.code} ${JSON.stringify(failure.error.message)}${failure.version === "" ? "" : ` of ${failure.version}`}@${seconds(failure.at)}`
      out.push(`= ${shortName(typeUrl)} ${name} ${status}${content}${error}`)
    }
  }

  const perform = (line: string) => {
    const all = words(line)
    const [command = "", ...given] = all
    const target = given.find((word) => word.startsWith("on="))
    const rest = given.filter((word) => word !== target)
    const stream = target === undefined ? first : streamOf(target.slice(3))
    const [one = "", two = "", three = ""] = rest
    switch (command) {
      case "client":
        return make(rest)
      case "watch":
        return step({ _tag: "Watch", watcher: Number(one), typeUrl: typeUrlOf(two), name: three.replaceAll('"', "") })
      case "unwatch":
        return step({ _tag: "Unwatch", watcher: Number(one) })
      case "connected":
        return step({ _tag: "Connected", stream })
      case "writes":
        isWriting = one === "on"
        return
      case "written":
        return step({ _tag: "Written", stream })
      case "<":
        return response(rest, stream)
      case "applied":
        if (one === "on" || one === "off") isApplying = one === "on"
        else step({ _tag: "Processed", stream, typeUrl: typeUrlOf(one), nonce: two })
        return
      case "end": {
        const message = one.replaceAll('"', "")
        const random = Number(rest.find((word) => word.startsWith("random="))?.slice(7) ?? "0.5")
        return step({ _tag: "Ended", stream, error: { code: 14, message }, random })
      }
      case "wait":
        return wait(milliseconds(one))
      case "pause":
        return step({ _tag: "Pause", typeUrl: typeUrlOf(one) })
      case "resume":
        return step({ _tag: "Resume", typeUrl: typeUrlOf(one) })
      case "refresh":
        return step({ _tag: "Refresh", typeUrl: typeUrlOf(one), names: rest.slice(1) })
      case "own":
        return step({ _tag: "Own", typeUrl: typeUrlOf(one), claim: claimOf(two), owner: two, keys: rest.slice(2) })
      case "show":
        return rest.forEach((each) => shown.add(each))
      case "dump":
        return dump()
      case "watches":
        return void out.push(`= ${HashMap.size(of().watches)} watches`)
      case "deadline":
        return void out.push(`= ${Client.deadline(of()) === Infinity ? "never" : seconds(Client.deadline(of()))}`)
      case "decodes":
        return void out.push(`= ${decodes} decodes`)
      default:
        throw new Error(`not understood: ${line}`)
    }
  }

  for (const raw of lines) {
    const line = raw.trim()
    if (isOutput(line)) continue
    out.push(raw)
    if (line === "" || line.startsWith("#")) continue
    perform(line)
  }
  return out
}

/** Puts outputs directly behind what caused them: blank lines at the end of a block stay at its end. */
export const tidy = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const result: Array<string> = []
  for (const line of lines) {
    let at = result.length
    if (isOutput(line)) while (at > 0 && (result[at - 1] ?? "").trim() === "") at--
    result.splice(at, 0, line)
  }
  return result
}
