/**
 * Golden traces: a script of what happens to one stream, and what the stream puts out, as text.
 *
 * A file has a heading, free text, and sections that begin with `## title`; each is a test. ★ in a title: a rule that
 * implementations get wrong, see docs/protocol.md. Lines of a section:
 *
 *     stream sotw ads                  opens a stream: sotw | delta, ads | a type; options below
 *     reconnect                        opens another one with the same options; the client keeps its versions
 *     store CDS a=1 b=2 -c; EDS a=1    changes the group in one step: contents are put in, `-` takes out
 *     store empty | store never        a group that was set and has nothing | that was never set
 *     move CDS b=2; EDS a=1            the client is moved to another group, which holds this; `move empty`, `move never`;
 *                                      `move phaseDeadline=1s CDS b=2`, `move noPhases CDS b=2`: with options of that group
 *     > CDS [a b]                      state of the world: a request with these names
 *     > CDS +a -b initial=[a=1]        incremental: subscribe, unsubscribe, initial_resource_versions; `x:a=1` is the
 *                                      version of a=1 by the name x, and `x:` none; `a={1:env=prod}` is that of a variant
 *     > CDS +a params=[env=prod]       what the client says of itself, in locators (TP2); `params=[]` nothing
 *     > CDS ack | > CDS nack "words"   answers the last response of the type
 *     made CDS a b                     what can be done about these names, which are missing, was done (option `missing=2s`)
 *     wait 5s                          time passes; deadlines fire on the way
 *     credit off | credit on | credit  none after the next response | after every response (the default) | for one
 *     status CDS                       shows what is known of the type
 *     show acked subscribed            shows these outputs too
 *     < CDS v1 nonce=1 [a=1] removed=[b] absent=[c] heartbeats=[d]
 *     ! Waiting CDS                    any other output
 *     = CDS ...                        the status asked for
 *     (silent)                         a request that puts out nothing
 *
 * Requests carry what a correct client would send: in state of the world the last nonce and the accepted version of the
 * type, and after `ack` and `nack` the names of the request before. `nonce=`, `version=` and `type=` say otherwise.
 *
 * A resource is `name=content`, then, in any order, `(alias other)`, `>assignment` for a cluster of type EDS, `>collection` for
 * an assignment with a locality of LEDS, `>key` for a scope, `~10s` for a TTL, `@label` for a version, `+vhds` for a route configuration with VHDS. `version=label` labels the type.
 *
 * `a={1:env=prod,2:!env}` has variants (TP2): each a content and its constraints, of which all hold: `1:env=prod&!version`. What a client
 * gets and loses of them is `a=1{env=prod}`.
 *
 * `a=!5:words` is an error in the place of a resource (TP3): its code and its message. A client is told `errors=[a=!5:words]`.
 *
 * Versions made from content are shown as v1, v2 … in the order in which they appear in the section; v0 is that of nothing.
 */
import * as Authority from "@effect-xds/core/protocol/Authority"
import * as DynamicParameters from "@effect-xds/core/protocol/DynamicParameters"
import * as Digest from "@effect-xds/core/resource/Digest"
import type * as Request from "@effect-xds/core/wire/Request"
import { incremental, stateOfTheWorld } from "@effect-xds/core/wire/Request"
import { fieldOf, utf8 } from "@effect-xds/core/wire/Wire"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as Resources from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Variants from "@effect-xds/core/resource/Variants"
import type { Response } from "@effect-xds/core/wire/Response"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { ResourceSpec } from "@effect-xds/testing/simulation/ResourceSpec"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import * as Either from "effect/Either"
import { overTheWire } from "./OverTheWire.js"
import { step as takeStep } from "./Step.js"

export interface Section {
  readonly title: string
  /** Number of its first line in the file, from 1. */
  readonly start: number
  readonly lines: ReadonlyArray<string>
}

/** The sections of a file, in order. */
export const sections = (text: string): ReadonlyArray<Section> => {
  const found: Array<{ title: string; start: number; lines: Array<string> }> = []
  text.split("\n").forEach((line, index) => {
    if (line.startsWith("## ")) found.push({ title: line.slice(3).trim(), start: index + 2, lines: [] })
    else found.at(-1)?.lines.push(line)
  })
  return found
}

const isOutput = (line: string): boolean => /^(<|!|=|\(silent\))/.test(line)

const tableOf = (api: ResourceType.Api) =>
  new Map<string, string>(ResourceType.all.map((type) => [type.shortName, ResourceType.typeUrlIn(api, type)]))
/** Of the section that is played. */
let typeUrls = tableOf("v3")
const typeUrlOf = (name: string): string => typeUrls.get(name) ?? name

const milliseconds = (text: string): number => {
  const match = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text)
  if (match?.[1] === undefined) throw new Error(`not a duration: ${text}`)
  return Number(match[1]) * (match[2] === "s" ? 1_000 : 1)
}

/** Words, where brackets, parentheses and quotes hold together. */
const words = (text: string): ReadonlyArray<string> =>
  text.match(/(?:\([^)]*\)|\[[^\]]*\]|"[^"]*"|[^\s([")\]])+/g) ?? []

const listOf = (word: string): ReadonlyArray<string> =>
  word
    .replace(/^[^[]*\[|\]$/g, "")
    .split(/\s+(?![^(]*\))/)
    .filter((each) => each !== "")

const parseResource = (typeUrl: string, word: string): ResourceSpec => {
  const match = /^([^=(]+)=([^(>~@+]+)(.*)$/.exec(word)
  if (match === null) throw new Error(`not a resource: ${word}`)
  const [, name = "", content = "", rest = ""] = match
  const part = (pattern: RegExp) => pattern.exec(rest)?.[1]
  const ttl = part(/~(\d+(?:\.\d+)?m?s)/)
  return {
    typeUrl,
    name,
    content,
    aliases: part(/\(([^)]*)\)/)?.split(" ") ?? [],
    assignment: part(/>([^(~@+]+)/),
    onDemandVirtualHosts: rest.includes("+vhds"),
    ttl: ttl === undefined ? undefined : milliseconds(ttl),
    version: part(/@([^(~>+]+)/)
  }
}

const constraintOf = (text: string): DynamicParameters.Constraints => {
  if (text.startsWith("!")) return { _tag: "Not", constraints: constraintOf(text.slice(1)) }
  const [key = "", value] = text.split("=")
  return value === undefined ? { _tag: "Exists", key } : { _tag: "Value", key, value }
}

const withVariants = (spec: ResourceSpec): Resource => {
  const texts = String(spec.content)
    .slice(1, -1)
    .split(",")
    .map((each) => each.split(":"))
  const inputs = texts.map(([content = "", text = ""]) => {
    const list = text === "" ? [] : text.split("&").map(constraintOf)
    const [only] = list
    return {
      value: toResource({ ...spec, content }).value,
      constraints: list.length === 1 && only !== undefined ? only : { _tag: "And" as const, constraints: list }
    }
  })
  const resource = Either.getOrThrow(Variants.make(spec, inputs))
  resource.variants?.forEach(({ plain }, index) => contents.set(plain.value, texts[index]?.[0] ?? ""))
  return resource
}

const withError = ({ content, name, typeUrl }: ResourceSpec): Resource => {
  const [, code = "", message = ""] = /^!(\d+):(.*)$/.exec(String(content)) ?? []
  return Either.getOrThrow(Resources.unavailable({ typeUrl, name }, { code: Number(code), message }))
}

const constraintsOf = (bytes: Uint8Array | undefined): string =>
  bytes === undefined ? "" : `{${DynamicParameters.toText(DynamicParameters.decode(bytes)).replaceAll(" ", "")}}`

/** With a locality whose endpoints are a collection, if it is an assignment; with a key, if it is a scope. */
const resourceOf = (spec: ResourceSpec): Resource => {
  const { assignment: collection, ...plain } = spec
  if (collection !== undefined && ResourceType.isOf(spec.typeUrl, ResourceType.ScopedRouteConfiguration)) {
    // key.fragments.string_key
    const key = fieldOf(3, fieldOf(1, fieldOf(1, utf8(collection))))
    const value = new Uint8Array([...toResource(plain).value, ...key])
    return Either.getOrThrow(Resources.make({ ...spec, value }))
  }
  if (collection === undefined || spec.typeUrl !== ResourceType.ClusterLoadAssignment.typeUrl) return toResource(spec)
  const resource = toResource(plain)
  // endpoints.leds_cluster_locality_config.leds_collection_name
  const locality = fieldOf(2, fieldOf(8, fieldOf(2, utf8(collection))))
  const value = new Uint8Array([...resource.value, ...locality])
  return Either.getOrThrow(Resources.make({ ...spec, value }))
}

const decoder = new TextDecoder()
/** The content that `toResource` put in: the text of the last field but those that follow it by name. */
const contents = new WeakMap<Uint8Array, string>()

interface ClientType {
  names: ReadonlyArray<string>
  version: string
  nonce: string
  lastVersion: string
}

/** Runs a section, with types of this API, and gives back its lines as they should be: the script with what the stream put out. */
export const play = (section: Section, api: ResourceType.Api = "v3"): ReadonlyArray<string> => {
  typeUrls = tableOf(api)
  const out: Array<string> = []
  const symbols = new Map<string, string>([[Digest.toHex(Digest.zero), "v0"]])
  const shown = new Set<string>()
  let now = 0
  let group: ResourceGroup.ResourceGroup | undefined
  let options: Parameters<typeof ServerStream.make>[0] | undefined
  let stream: ServerStream.ServerStream | undefined
  let isCreditGiven = true
  const client = new Map<string, ClientType>()
  let printed = 0

  const symbol = (version: string): string => {
    if (!/^[0-9a-f]{16}$/.test(version)) return version === "" ? '""' : version
    const known = symbols.get(version)
    if (known !== undefined) return known
    const made = `v${symbols.size}`
    symbols.set(version, made)
    return made
  }
  const versionOf = (text: string): string => {
    for (const [version, name] of symbols) if (name === text) return version
    return text.replace(/^"(.*)"$/, "$1")
  }
  const of = (typeUrl: string): ClientType => {
    const known = client.get(typeUrl)
    if (known !== undefined) return known
    const made = { names: [], version: "", nonce: "", lastVersion: "" }
    client.set(typeUrl, made)
    return made
  }
  const seconds = (ms: number) => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`)
  const nameWith = (resource: Resource, response: Response): string => {
    const aliases = response.aliases.get(resource.name)
    return (
      `${resource.name}=${contents.get(resource.value) ?? decoder.decode(resource.value)}` +
      constraintsOf(resource.constraints) +
      (aliases === undefined ? "" : `(${aliases.join(" ")})`) +
      (response.ttl && resource.ttl !== undefined ? `~${seconds(resource.ttl)}` : "")
    )
  }
  const list = (title: string, items: ReadonlyArray<string>) =>
    items.length === 0 ? "" : ` ${title}=[${[...items].sort().join(" ")}]`
  const print = (line: string) => {
    out.push(line)
    printed++
  }

  const show = (output: ServerStream.Output): void => {
    if (output._tag === "Violation") return print(`! Violation ${output.reason}: ${output.message}`)
    if (output._tag === "Named") return
    const { _tag, typeUrl } = output
    const type = ResourceType.shortNameOf(typeUrl)
    switch (_tag) {
      case "Send": {
        const { absent, errors, heartbeats, removed, removedVariants, resources, version } = output.response
        return print(
          `< ${type} ${symbol(version)} nonce=${output.nonce} [${resources
            .map((each) => nameWith(each, output.response))
            .sort()
            .join(" ")}]` +
            list("removed", [
              ...removed,
              ...removedVariants.map(({ constraints, name }) => name + constraintsOf(constraints))
            ]) +
            list(
              "errors",
              errors.map(({ error, name }) => `${name}=!${error.code}:${error.message}`)
            ) +
            list("absent", absent) +
            list(
              "heartbeats",
              heartbeats.map((each) => nameWith(each, output.response))
            )
        )
      }
      case "Nacked":
        return print(
          `! Nacked ${type} nonce=${output.nonce} ${symbol(output.version)} ${output.error.code} ${JSON.stringify(output.error.message)}`
        )
      case "Acked":
        return shown.has("acked") ? print(`! Acked ${type} nonce=${output.nonce} ${symbol(output.version)}`) : undefined
      case "Subscribed":
        return shown.has("subscribed")
          ? print(`! Subscribed ${type} ${output.wildcard ? "wildcard, " : ""}${output.names} names`)
          : undefined
      case "Ignored":
        return print(
          `! Ignored ${type} nonce=${output.nonce} ${output.reason}` +
            (output.error === undefined ? "" : ` ${output.error.code} ${JSON.stringify(output.error.message)}`)
        )
      case "Waiting":
        return print(`! Waiting ${type}`)
      case "Missing":
        return print(`! Missing ${type} [${output.names.join(" ")}]`)
    }
  }

  const step = (input: ServerStream.Input): void => {
    if (stream === undefined) throw new Error("no stream was opened")
    const [next, outputs] = takeStep(stream, input, now)
    stream = next
    let sent = false
    for (const output of outputs) {
      show(output)
      if (output._tag === "Send") {
        sent = true
        const state = of(output.typeUrl)
        state.nonce = output.nonce
        state.lastVersion = output.response.version
      }
    }
    if (sent && isCreditGiven) step({ _tag: "Writable" })
  }
  const open = () => {
    if (options === undefined) throw new Error("no stream was opened")
    stream = ServerStream.make(options)
    for (const state of client.values()) state.nonce = ""
    if (group !== undefined) step({ _tag: "Changed", group })
    if (isCreditGiven) step({ _tag: "Writable" })
  }
  const changed = (next: ResourceGroup.ResourceGroup | undefined) => {
    group = next
    if (stream !== undefined) step({ _tag: "Changed", group })
  }
  const move = (text: string) => {
    if (stream === undefined) throw new Error("no stream was opened")
    const option = /^(?:noPhases|phaseDeadline=\S+) /.exec(text)?.[0] ?? ""
    group = contentOf(text.slice(option.length), ResourceGroup.empty)
    const { makeBeforeBreak, phaseDeadline } = stream.options
    const phases = {
      makeBeforeBreak: makeBeforeBreak && option !== "noPhases ",
      phaseDeadline: option.startsWith("phaseDeadline=") ? milliseconds(option.slice(14).trim()) : phaseDeadline
    }
    step({ _tag: "Moved", group, phases })
  }

  const store = (text: string) => changed(contentOf(text, group ?? ResourceGroup.empty))
  /** What a group holds after what the text says, before which it held `from`. */
  const contentOf = (text: string, from: ResourceGroup.ResourceGroup): ResourceGroup.ResourceGroup | undefined => {
    if (text === "never") return undefined
    if (text === "empty") return ResourceGroup.empty
    const upsert: Array<Resource> = []
    const remove: Array<{ typeUrl: string; name: string }> = []
    const versions: Record<string, string> = {}
    for (const part of text.split(";")) {
      const [type = "", ...rest] = words(part)
      const typeUrl = typeUrlOf(type)
      for (const word of rest) {
        if (word.startsWith("version=")) versions[typeUrl] = word.slice(8)
        else if (word.startsWith("-")) remove.push({ typeUrl, name: word.slice(1) })
        else {
          const spec = parseResource(typeUrl, word)
          const resource = resourceOf(spec)
          const content = String(spec.content)
          contents.set(resource.value, content)
          upsert.push(
            content.startsWith("{") ? withVariants(spec) : content.startsWith("!") ? withError(spec) : resource
          )
        }
      }
    }
    return Either.getOrThrow(ResourceGroup.update(from, { upsert, remove, versions }))
  }

  const flood = (text: string) => {
    const [type = "", word = "", count = ""] = words(text)
    const typeUrl = typeUrlOf(type)
    let next = group ?? ResourceGroup.empty
    const before = parseResource(typeUrl, word)
    for (let n = 1; n <= Number(count); n++) {
      const resource = toResource({ ...before, content: n === Number(count) ? before.content : `flood ${n}` })
      contents.set(resource.value, String(n === Number(count) ? before.content : `flood ${n}`))
      next = Either.getOrThrow(ResourceGroup.update(next, { upsert: [resource] }))
    }
    changed(next)
  }

  const request = (text: string) => {
    const [type = "", ...rest] = words(text)
    const typeUrl = typeUrlOf(type === '""' ? "" : type)
    const state = of(typeUrl)
    const subscribe: Array<string> = []
    const unsubscribe: Array<string> = []
    let names: ReadonlyArray<string> | undefined
    let initial: ReadonlyMap<string, string> = new Map()
    let parameters: ReadonlyMap<string, string> | undefined
    let isReply = false
    let errorDetail: Request.ErrorDetail | undefined
    let nonce: string | undefined
    let version: string | undefined
    let protocol = options?.protocol
    for (const word of rest) {
      if (word === "ack") {
        isReply = true
      } else if (word === "nack") {
        isReply = true
        errorDetail = { code: 3, message: "" }
      } else if (word.startsWith('"')) errorDetail = { code: 3, message: word.slice(1, -1) }
      else if (word.startsWith("[")) names = listOf(word)
      else if (word.startsWith("params=")) {
        parameters = new Map(
          listOf(word).map((each) => [each.replace(/=.*/, ""), each.slice(each.indexOf("=") + 1)] as const)
        )
      } else if (word.startsWith("nonce=")) nonce = versionOf(word.slice(6))
      else if (word.startsWith("version=")) version = versionOf(word.slice(8))
      else if (word.startsWith("protocol=")) protocol = word === "protocol=delta" ? "Incremental" : "StateOfTheWorld"
      else if (word.startsWith("initial=")) {
        initial = new Map(
          listOf(word).map((each) => {
            const at = each.startsWith("xdstp:") ? -1 : (/^[^=:]*(?=:)/.exec(each)?.[0].length ?? -1)
            const spec = at < each.length - 1 ? parseResource(typeUrl, each.slice(at + 1)) : undefined
            const isVaried = String(spec?.content).startsWith("{")
            const resource = spec && (isVaried ? withVariants(spec) : resourceOf(spec))
            const held = resource?.variants?.[0]?.constrained ?? resource
            return [at < 0 ? (spec?.name ?? "") : each.slice(0, at), held?.version ?? ""]
          })
        )
      } else if (word.startsWith("+")) subscribe.push(word.slice(1))
      else if (word.startsWith("-")) unsubscribe.push(word.slice(1))
      else throw new Error(`not understood in a request: ${word}`)
    }
    const authorities = [...subscribe, ...(names ?? [])].map((name) => Authority.ofName(name) ?? "")
    const said = parameters
    const located = said && { parameters: new Map(authorities.map((authority) => [authority, said])) }
    if (isReply && errorDetail === undefined) state.version = state.lastVersion
    const before = printed
    if (protocol === "Incremental") {
      step({
        _tag: "Request",
        request: overTheWire(
          incremental({
            typeUrl,
            resourceNamesSubscribe: subscribe,
            resourceNamesUnsubscribe: unsubscribe,
            initialResourceVersions: initial,
            responseNonce: nonce ?? (isReply ? state.nonce : ""),
            errorDetail,
            ...located
          })
        )
      })
    } else {
      const resourceNames = names ?? (isReply ? state.names : [])
      state.names = resourceNames
      step({
        _tag: "Request",
        request: overTheWire(
          stateOfTheWorld({
            typeUrl,
            resourceNames,
            versionInfo: version ?? state.version,
            responseNonce: nonce ?? state.nonce,
            errorDetail,
            ...located
          })
        )
      })
    }
    if (printed === before) out.push("(silent)")
  }

  const waitFor = (duration: number) => {
    const end = now + duration
    for (let turns = 0; stream !== undefined && ServerStream.deadline(stream) <= end; turns++) {
      if (turns > 1_000) throw new Error(`the deadline stays at ${ServerStream.deadline(stream)}`)
      now = Math.max(now, ServerStream.deadline(stream))
      step({ _tag: "Deadline" })
    }
    now = end
  }

  const status = (type: string) => {
    if (stream === undefined) throw new Error("no stream was opened")
    const found = ServerStream.status(stream).find((each) => each.typeUrl === typeUrlOf(type))
    if (found === undefined) return print(`= ${type} unknown`)
    const { acked, nacked, names, sent, waiting, wildcard } = found
    const each = (title: string, what: { nonce: string; version: string; at: number } | undefined) =>
      what === undefined ? "" : ` ${title}=${what.nonce}/${symbol(what.version)}@${seconds(what.at)}`
    print(
      `= ${type} wildcard=${wildcard} names=${names}${each("sent", sent)}${each("acked", acked)}${each("nacked", nacked)}` +
        (waiting ? " waiting" : "")
    )
  }

  const streamWith = (text: string) => {
    const [protocol, type = "", ...rest] = words(text)
    const has = (word: string) => rest.includes(word)
    const value = (name: string) => rest.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
    const off = value("wildcardOff")
    const phaseDeadline = value("phaseDeadline")
    const maxNames = value("maxNames")
    const maxTypes = value("maxTypes")
    const maxResponseBytes = value("maxResponseBytes")
    const missing = value("missing")
    const namesPerStep = value("namesPerStep")
    const namesPerResponse = value("namesPerResponse")
    const known = ["ttl", "bodyless", "noPhases"]
    const valued =
      /^(wildcardOff|phaseDeadline|maxNames|maxTypes|maxResponseBytes|missing|namesPerStep|namesPerResponse)=/
    const unknown = rest.find((word) => !known.includes(word) && !valued.test(word))
    if (unknown !== undefined) throw new Error(`not an option of a stream: ${unknown}`)
    options = {
      protocol: protocol === "delta" ? "Incremental" : "StateOfTheWorld",
      typeUrl: type === "ads" ? undefined : typeUrlOf(type),
      ttl: has("ttl"),
      bodylessHeartbeats: has("bodyless"),
      makeBeforeBreak: !has("noPhases"),
      ...(off === undefined
        ? {}
        : {
            wildcardOff: new Set(
              off
                .split(",")
                .filter((each) => each !== "none")
                .map(typeUrlOf)
            )
          }),
      ...(phaseDeadline === undefined ? {} : { phaseDeadline: milliseconds(phaseDeadline) }),
      ...(maxNames === undefined ? {} : { maxNames: Number(maxNames) }),
      ...(maxTypes === undefined ? {} : { maxTypes: Number(maxTypes) }),
      ...(missing === undefined ? {} : { missingWait: milliseconds(missing) }),
      ...(namesPerStep === undefined ? {} : { namesPerStep: Number(namesPerStep) }),
      ...(namesPerResponse === undefined ? {} : { namesPerResponse: Number(namesPerResponse) }),
      ...(maxResponseBytes === undefined ? {} : { maxResponseBytes: Number(maxResponseBytes) })
    }
    open()
  }

  const perform = (line: string) => {
    const at = line.indexOf(" ")
    const [command, text] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).trim()]
    switch (command) {
      case "stream":
        return streamWith(text)
      case "reconnect":
        return open()
      case "store":
        return store(text)
      case "move":
        return move(text)
      case "flood":
        return flood(text)
      case "made": {
        const [type = "", ...names] = words(text)
        return step({ _tag: "MissingDone", typeUrl: typeUrlOf(type), names })
      }
      case ">":
        return request(text)
      case "wait":
        return waitFor(milliseconds(text))
      case "credit":
        isCreditGiven = text === "" ? isCreditGiven : text === "on"
        return text === "off" ? undefined : step({ _tag: "Writable" })
      case "status":
        return status(text)
      case "show":
        return text.split(" ").forEach((each) => shown.add(each))
      default:
        throw new Error(`not understood: ${line}`)
    }
  }

  for (const raw of section.lines) {
    const line = raw.trim()
    if (isOutput(line)) continue
    out.push(raw)
    if (line === "" || line.startsWith("#")) continue
    perform(line)
  }
  return out
}

/** The lines of a section that matter for the comparison: blank ones and comments do not. */
export const essence = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"))

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
