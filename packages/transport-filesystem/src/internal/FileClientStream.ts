/**
 * A client's stream from files. A request decides which files are read. Each accepted file is a response, and each
 * change of it another one. Files are opened on subscription and closed on unsubscription.
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

/** The state of a file. */
interface Reading {
  readonly status: FileStatus
  /** The response in force. */
  readonly response: Response | undefined
}

/** What a stream uses of its channel. */
export interface Environment {
  readonly source: ResponsePlan.Source
  readonly maxFiles: number
  /** Reads a file, and calls back with its state now and after each change, until the result is called. */
  readonly read: (path: string, typeUrl: string, onChange: (reading: Reading) => void) => () => void
  /** Calls back with the files of a folder, now and after each change. */
  readonly list: (folder: string, onChange: (paths: ReadonlyArray<string>) => void) => () => void
  /** The client rejected the content of a file. */
  readonly onRefused: (error: ResourceFileError) => void
  readonly onDefect: (defect: unknown) => void
  readonly onDone: (stream: FileClientStream) => void
}

/** A file that is read. */
interface OpenFile {
  readonly path: string
  /** The resource that it is read for; `undefined`: all subscribed ones. */
  readonly name: string | undefined
  readonly close: () => void
  reading: Reading | undefined
  /** Why the client rejected its content. */
  refused: ResourceFileError | undefined
}

/** The subscription to one type. */
interface Subscription {
  readonly typeUrl: string
  names: ReadonlyArray<string>
  /** Whether resources were ever named: until then no names are a wildcard. */
  named: boolean
  readonly files: Map<string, OpenFile>
  /** Files that were found for a wildcard. */
  found: ReadonlyArray<string>
  stopListing: (() => void) | undefined
  /** The files of responses without an answer, by nonce. Responses of other types may come before the answer. */
  readonly unanswered: Map<string, OpenFile>
}

/** The most responses of a type that an answer may be behind: a client answers its last one, and with it the others. */
const maxUnanswered = 1_000

const isSame = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((name, index) => name === other[index])

export class FileClientStream implements ClientTransport.ClientStream {
  readonly #subscriptions = new Map<string, Subscription>()
  /** Files with an unsent change, in order. */
  readonly #pending = new Map<OpenFile, Subscription>()
  #open = false
  #done = false
  #credit = 1
  #nonces = 0
  #delivering = false

  constructor(
    /** The type of a separate service; `undefined` for every type. */
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
    // An XdsClient sends what its method needs; anything else is a bug of the client.
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

  /** The status of its files. */
  status(): ReadonlyArray<FileStatus> {
    return Array.from(this.#subscriptions.values()).flatMap(({ files }) =>
      Array.from(files.values()).flatMap(({ reading, refused }) => {
        if (reading === undefined) return []
        const { status } = reading
        return [refused === undefined || status.error !== undefined ? status : { ...status, ...rejectedBy(refused) }]
      })
    )
  }

  /** Calls the client's handler, whose defects must not end the process. */
  #tell(run: () => void): void {
    try {
      run()
    } catch (defect) {
      this.environment.onDefect(defect)
      this.end()
    }
  }

  // Subscriptions.

  #take(request: Request.StateOfTheWorldRequest): void {
    const typeUrl = request.typeUrl === "" ? (this.typeUrl ?? "") : request.typeUrl
    const names = request.resourceNames
    const known = this.#subscriptions.get(typeUrl)
    if (known !== undefined && this.#answers(known, request) && isSame(known.names, names)) return
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
      stopListing: undefined,
      unanswered: new Map()
    }
    this.#subscriptions.set(typeUrl, subscription)
    const before = new Set(subscription.names)
    const isAgain = known !== undefined && isSame(known.names, names)
    subscription.names = names
    subscription.named ||= names.length > 0
    this.#list(subscription)
    this.#arrange(subscription)
    // A file with all resources must answer for the new names, too.
    for (const file of subscription.files.values()) {
      const isNew = file.name === undefined ? names.some((name) => !before.has(name)) : false
      if (isAgain || isNew) this.#ready(subscription, file)
    }
  }

  /** Whether a request answers a response; if so, that is answered now, with those of its type before it. */
  #answers({ unanswered }: Subscription, { errorDetail, responseNonce }: Request.StateOfTheWorldRequest): boolean {
    const file = unanswered.get(responseNonce)
    if (file === undefined) return false
    for (const nonce of unanswered.keys()) {
      unanswered.delete(nonce)
      if (nonce === responseNonce) break
    }
    const isKnown = file.refused?.detail === errorDetail?.message
    file.refused = errorDetail && refusal(file.path, errorDetail.message)
    if (file.refused !== undefined && !isKnown) this.environment.onRefused(file.refused)
    return true
  }

  #isWildcard({ named, names }: Subscription): boolean {
    return names.length === 0 ? !named : names.includes("*")
  }

  /** Lists the files of a type with one file per resource, for a wildcard. */
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
      // A removed file is kept: its resources stay in force.
      subscription.found = Array.from(new Set([...subscription.found, ...paths]))
      this.#arrange(subscription)
    })
  }

  /** Opens and closes files according to the subscription. */
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
        // A file that is missing, or back without a change, causes no response.
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

  // Responses.

  #ready(subscription: Subscription, file: OpenFile): void {
    this.#pending.set(file, subscription)
    this.#later(() => this.#deliver())
  }

  /** The handler must not be called from within `send`. */
  #later(run: () => void): void {
    setImmediate(() => {
      if (!this.#done) run()
    })
  }

  #deliver(): void {
    // Credit given from within a delivery is used by the loop below.
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
      const { unanswered } = subscription
      unanswered.set(nonce, file)
      const [oldest] = unanswered.keys()
      if (unanswered.size > maxUnanswered && oldest !== undefined) unanswered.delete(oldest)
      this.#tell(() => this.handler.onMessage(message))
    }
    this.#delivering = false
  }
}

const refusal = (file: string, detail: string): ResourceFileError =>
  new ResourceFileError({ reason: "Refused", file, line: undefined, column: undefined, path: "", detail })

const rejectedBy = (error: ResourceFileError): Pick<FileStatus, "state" | "error"> => ({ state: "Rejected", error })

/** The response or resource error for a file; `undefined` if there is nothing to send. */
const messageFor = (
  { names, typeUrl }: Subscription,
  { name, reading }: OpenFile,
  nonce: string
): Uint8Array | undefined => {
  if (reading === undefined) return undefined
  const { response, status } = reading
  const { error } = status
  if (error === undefined) return response && ResponseBytes.ofResponse(response, nonce)
  // For a full-state wildcard, a response without resources would delete everything.
  const isFullState = ResourceType.byTypeUrl(typeUrl)?.family === "full-state"
  if (isFullState && names.includes("*")) return undefined
  const wanted = (name === undefined ? names : [name]).filter((each) => each !== "*")
  return wanted.length === 0 ? undefined : ResponseBytes.ofErrors(typeUrl, wanted, error.message, nonce)
}
