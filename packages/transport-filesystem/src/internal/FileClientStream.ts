/**
 * A client's stream from files. A request says which files are read; each that is good is a response, and each that is
 * replaced another one. Files are opened when their names are first asked for and closed when they are no longer.
 */
import * as Request from "@effect-xds/core/wire/Request"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as Status from "@effect-xds/transport/Status"
import * as Either from "effect/Either"
import type { FileStatus } from "../FileStatus.js"
import { ResourceFileError, type Response } from "../ResourceFile.js"
import * as ResponseBytes from "./ResponseBytes.js"
import * as ResponsePlan from "./ResponsePlan.js"

/** How a file stands. */
interface Reading {
  readonly status: FileStatus
  /** What is in force. */
  readonly response: Response | undefined
}

/** What a stream needs of its channel. */
export interface Environment {
  readonly source: ResponsePlan.Source
  readonly maxFiles: number
  /** Reads a file and tells how it stands, then after each change, until the function that this gives is called. */
  readonly read: (path: string, typeUrl: string, onChange: (reading: Reading) => void) => () => void
  /** Tells which files are in a folder, then whenever that changes. */
  readonly list: (folder: string, onChange: (paths: ReadonlyArray<string>) => void) => () => void
  /** A client has no use for what a file holds. */
  readonly onRefused: (error: ResourceFileError) => void
  readonly onDefect: (defect: unknown) => void
  readonly onDone: (stream: FileClientStream) => void
}

/** A file that is read. */
interface OpenFile {
  readonly path: string
  /** Of the resource that it is read for; `undefined`: for all that are asked for. */
  readonly name: string | undefined
  readonly close: () => void
  reading: Reading | undefined
  /** Why the client did not take what it holds. */
  refused: ResourceFileError | undefined
}

/** What is asked for of one type. */
interface Subscription {
  readonly typeUrl: string
  names: ReadonlyArray<string>
  /** Whether there ever were names: no names are everything, but not after that. */
  named: boolean
  readonly files: Map<string, OpenFile>
  /** Files that a wildcard found. */
  found: ReadonlyArray<string>
  stopListing: (() => void) | undefined
}

/** What the client has not answered yet. */
interface Unanswered {
  readonly nonce: string
  readonly file: OpenFile
}

const isSame = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((name, index) => name === other[index])

export class FileClientStream implements ClientTransport.ClientStream {
  readonly #subscriptions = new Map<string, Subscription>()
  /** Files that have something to say, in order. */
  readonly #pending = new Map<OpenFile, Subscription>()
  #unanswered: Unanswered | undefined
  #open = false
  #done = false
  #credit = 1
  #nonces = 0
  #delivering = false

  constructor(
    /** Of a separate service; `undefined`: every type. */
    private readonly typeUrl: string | undefined,
    private readonly handler: ClientTransport.StreamHandler,
    private readonly environment: Environment
  ) {}

  start(): void {
    if (this.#done) return
    this.#open = true
    this.#tell(() => this.handler.onOpen())
  }

  readonly send = (message: Uint8Array): void => {
    if (!this.#open) return
    const decoded = Request.decode("StateOfTheWorld", message)
    // A client sends what its method says; anything else is its own bug.
    if (Either.isLeft(decoded)) return this.environment.onDefect(decoded.left)
    if (decoded.right._tag === "StateOfTheWorld") this.#take(decoded.right)
  }

  readonly next = (): void => {
    this.#credit++
    this.#deliver()
  }

  readonly end = (): void => {
    if (this.#done) return
    this.#done = true
    this.#open = false
    this.#pending.clear()
    for (const { files, stopListing } of this.#subscriptions.values()) {
      stopListing?.()
      for (const { close } of files.values()) close()
    }
    this.environment.onDone(this)
  }

  fail(status: Status.Status): void {
    if (this.#done) return
    this.end()
    this.#tell(() => this.handler.onEnd(status))
  }

  /** How its files stand. */
  status(): ReadonlyArray<FileStatus> {
    return Array.from(this.#subscriptions.values()).flatMap(({ files }) =>
      Array.from(files.values()).flatMap(({ reading, refused }) => {
        if (reading === undefined) return []
        const { status } = reading
        return [refused === undefined || status.error !== undefined ? status : { ...status, ...rejectedBy(refused) }]
      })
    )
  }

  /** Runs code of the client. */
  #tell(run: () => void): void {
    try {
      run()
    } catch (defect) {
      this.environment.onDefect(defect)
      this.end()
    }
  }

  // What is asked for.

  #take(request: Request.StateOfTheWorldRequest): void {
    const typeUrl = request.typeUrl === "" ? (this.typeUrl ?? "") : request.typeUrl
    const names = request.resourceNames
    const known = this.#subscriptions.get(typeUrl)
    if (this.#answers(request) && known !== undefined && isSame(known.names, names)) return
    if (ResponsePlan.filesFor(this.environment.source, typeUrl, []) === undefined) {
      const text = `${ResourceType.shortNameOf(typeUrl)} is not in files`
      return this.#later(() => this.fail(Status.make("UNIMPLEMENTED", text)))
    }
    const subscription: Subscription = known ?? {
      typeUrl,
      names: [],
      named: false,
      files: new Map(),
      found: [],
      stopListing: undefined
    }
    this.#subscriptions.set(typeUrl, subscription)
    const before = new Set(subscription.names)
    const isAgain = known !== undefined && isSame(known.names, names)
    subscription.names = names
    subscription.named ||= names.length > 0
    this.#list(subscription)
    this.#arrange(subscription)
    // A file with everything answers for the new names too.
    for (const file of subscription.files.values()) {
      const isNew = file.name === undefined ? names.some((name) => !before.has(name)) : false
      if (isAgain || isNew) this.#ready(subscription, file)
    }
  }

  /** Whether a request is the answer to what was delivered last, which it then is no more. */
  #answers({ errorDetail, responseNonce }: Request.StateOfTheWorldRequest): boolean {
    const unanswered = this.#unanswered
    if (unanswered === undefined || responseNonce !== unanswered.nonce) return false
    this.#unanswered = undefined
    const { file } = unanswered
    const isKnown = file.refused?.detail === errorDetail?.message
    file.refused = errorDetail && refusal(file.path, errorDetail.message)
    if (file.refused !== undefined && !isKnown) this.environment.onRefused(file.refused)
    return true
  }

  #isWildcard({ named, names }: Subscription): boolean {
    return names.length === 0 ? !named : names.includes("*")
  }

  /** Looks for files of a type whose resources have one each, while all of them are wanted. */
  #list(subscription: Subscription): void {
    const folder = ResponsePlan.folderOf(this.environment.source, subscription.typeUrl)
    if (folder === undefined) return
    if (!this.#isWildcard(subscription)) {
      subscription.stopListing?.()
      subscription.stopListing = undefined
      subscription.found = []
      return
    }
    subscription.stopListing ??= this.environment.list(folder, (paths) => {
      if (this.#done || subscription.stopListing === undefined) return
      // What is gone stays: a file that is removed leaves what it held.
      subscription.found = Array.from(new Set([...subscription.found, ...paths]))
      this.#arrange(subscription)
    })
  }

  /** Opens and closes files, so that those are read that are wanted. */
  #arrange(subscription: Subscription): void {
    const { files, found, names, typeUrl } = subscription
    const isWanted = names.length > 0 || this.#isWildcard(subscription)
    const planned = isWanted ? (ResponsePlan.filesFor(this.environment.source, typeUrl, names) ?? []) : []
    const wanted = new Map(planned.map(({ name, path }) => [path, name]))
    for (const path of found) if (!wanted.has(path)) wanted.set(path, undefined)
    for (const [path, { close }] of files) {
      if (wanted.has(path)) continue
      files.delete(path)
      close()
    }
    for (const [path, name] of wanted) {
      if (files.has(path)) continue
      if (files.size >= this.environment.maxFiles) {
        const text = `${ResourceType.shortNameOf(typeUrl)} would be more than ${this.environment.maxFiles} files, the limit`
        return this.#later(() => this.fail(Status.make("RESOURCE_EXHAUSTED", text)))
      }
      const close = this.environment.read(path, typeUrl, (reading) => {
        if (this.#done || files.get(path) !== file) return
        const before = file.reading
        file.reading = reading
        // That a file is gone, or is there again as it was, is nothing to tell.
        const isSame = before?.response === reading.response && before?.status.error === reading.status.error
        if (!isSame) this.#ready(subscription, file)
      })
      const file: OpenFile = { path, name, close, reading: undefined, refused: undefined }
      files.set(path, file)
    }
    for (const file of this.#pending.keys()) if (!files.has(file.path)) this.#forget(subscription, file)
  }

  #forget(subscription: Subscription, file: OpenFile): void {
    if (this.#pending.get(file) === subscription) this.#pending.delete(file)
  }

  // What there is to say.

  #ready(subscription: Subscription, file: OpenFile): void {
    this.#pending.set(file, subscription)
    this.#later(() => this.#deliver())
  }

  /** Nothing is told from within `send`. */
  #later(run: () => void): void {
    setImmediate(() => {
      if (!this.#done) run()
    })
  }

  #deliver(): void {
    // Credit that is given within a delivery is used by the loop below.
    if (this.#delivering) return
    this.#delivering = true
    while (this.#credit > 0 && !this.#done) {
      const [next] = this.#pending
      if (next === undefined) break
      const [file, subscription] = next
      this.#pending.delete(file)
      const nonce = String(++this.#nonces)
      const message = messageFor(subscription, file, nonce)
      if (message === undefined) continue
      this.#credit--
      this.#unanswered = { nonce, file }
      this.#tell(() => this.handler.onMessage(message))
    }
    this.#delivering = false
  }
}

const refusal = (file: string, detail: string): ResourceFileError =>
  new ResourceFileError({ reason: "Refused", file, line: undefined, column: undefined, path: "", detail })

const rejectedBy = (error: ResourceFileError): Pick<FileStatus, "state" | "error"> => ({ state: "Rejected", error })

/** What a client is to hear of a file; `undefined`: nothing. */
const messageFor = (
  { names, typeUrl }: Subscription,
  { name, reading }: OpenFile,
  nonce: string
): Uint8Array | undefined => {
  if (reading === undefined) return undefined
  const { response, status } = reading
  const { error } = status
  if (error === undefined) return response && ResponseBytes.ofResponse(response, nonce)
  // To who has everything of a full-state type a response without resources is that all are deleted.
  const isFullState = ResourceType.byTypeUrl(typeUrl)?.family === "full-state"
  if (isFullState && names.includes("*")) return undefined
  const wanted = (name === undefined ? names : [name]).filter((each) => each !== "*")
  return wanted.length === 0 ? undefined : ResponseBytes.ofErrors(typeUrl, wanted, error.message, nonce)
}
