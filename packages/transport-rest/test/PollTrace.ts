/**
 * Golden traces of a client's polls: a script of what the client and the server do, and what leaves, as text.
 *
 *     0 send [a b] version=v1 nonce=n1 error="words" node   at 0 ms the client sends a request
 *     0 next                                                it gives credit
 *     5 < v1 nonce=n1 random=0.5                            the server answers (own: the nonce is one of the transport's)
 *     5 < 304 random=0
 *     5 failed UNAVAILABLE
 *     > [a b] version=v1 nonce=n1 error="words" node fresh  a poll
 *     ! abort | ! deliver n1 | ! end UNAVAILABLE
 *
 * The time of an input is when it comes. Polls that are due before the next one leave then, with their time in front
 * (`@1000`) if it is another one; what comes at the moment of a poll comes before it.
 */
import { Request } from "@effect-xds/core"
import type * as Status from "@effect-xds/transport/Status"
import { isDeepStrictEqual } from "node:util"
import * as PollLoop from "../src/internal/PollLoop.js"

const option = (line: string, key: string): string | undefined => {
  const match = new RegExp(`\\b${key}=(?:"([^"]*)"|(\\S+))`).exec(line)
  return match?.[1] ?? match?.[2]
}

const has = (line: string, word: string): boolean => line.split(" ").includes(word)

const node = new Uint8Array([1])

const inputOf = (line: string): PollLoop.Input => {
  const random = Number(option(line, "random") ?? 0)
  if (line.startsWith("send")) {
    const error = option(line, "error")
    return {
      _tag: "Send",
      request: Request.stateOfTheWorld({
        typeUrl: "T",
        resourceNames: (/\[([^\]]*)\]/.exec(line)?.[1] ?? "").split(" ").filter((name) => name !== ""),
        versionInfo: option(line, "version") ?? "",
        responseNonce: option(line, "nonce") ?? "",
        errorDetail: error === undefined ? undefined : { code: 3, message: error },
        node: has(line, "node") ? node : undefined
      })
    }
  }
  if (line === "next") return { _tag: "Next" }
  if (line.startsWith("< 304")) return { _tag: "Unchanged", random }
  if (line.startsWith("< ")) {
    const nonce = option(line, "nonce") ?? ""
    const response = { nonce, isNonceGiven: !has(line, "own"), message: new TextEncoder().encode(nonce) }
    return { _tag: "Changed", response, random }
  }
  const code = /^failed (UNAVAILABLE|INTERNAL)$/.exec(line)?.[1]
  if (code === "UNAVAILABLE" || code === "INTERNAL") {
    const status: Status.Status = { code, message: "" }
    return { _tag: "Failed", status }
  }
  throw new Error(`not an input: ${line}`)
}

const textOf = (output: PollLoop.Output): string => {
  switch (output._tag) {
    case "Abort":
      return "! abort"
    case "Deliver":
      return `! deliver ${Buffer.from(output.message).toString()}`
    case "End":
      return `! end ${output.status.code}`
    case "Poll": {
      const { errorDetail, resourceNames, responseNonce, versionInfo } = output.request
      return [
        `> [${resourceNames.join(" ")}]`,
        ...(versionInfo === "" ? [] : [`version=${versionInfo}`]),
        ...(responseNonce === "" ? [] : [`nonce=${responseNonce}`]),
        ...(errorDetail === undefined ? [] : [`error="${errorDetail.message}"`]),
        ...(output.request.node === undefined ? [] : ["node"]),
        ...(output.fresh ? ["fresh"] : [])
      ].join(" ")
    }
  }
}

/** Plays a script; gives it back with what really left. */
export const play = (options: PollLoop.Options, script: string): { readonly given: string; readonly found: string } => {
  const lines = script
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
  const found: Array<string> = []
  let loop = PollLoop.make(options)
  const step = (input: PollLoop.Input, now: number, prefix = ""): void => {
    const before = structuredClone(loop)
    const [next, outputs] = PollLoop.step(loop, input, now)
    if (!isDeepStrictEqual(loop, before)) throw new Error("a step changed the state it was given")
    loop = next
    for (const output of outputs) found.push(`${prefix}${textOf(output)}`)
  }
  const inputs = lines.filter((line) => /^\d/.test(line))
  for (const [index, line] of inputs.entries()) {
    const [, time = "", rest = ""] = /^(\d+) (.*)$/.exec(line) ?? []
    found.push(line)
    if (rest !== "passes") step(inputOf(rest), Number(time))
    const until = Number(/^\d+/.exec(inputs[index + 1] ?? "")?.[0] ?? time)
    for (let at = PollLoop.deadline(loop); at <= until; at = PollLoop.deadline(loop)) {
      const due = Math.max(at, Number(time))
      if (due === until && index + 1 < inputs.length) break
      step({ _tag: "Deadline" }, due, due === Number(time) ? "" : `@${due} `)
    }
  }
  return { given: lines.join("\n"), found: found.join("\n") }
}
