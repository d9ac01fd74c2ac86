/** The resources and mistakes of a file while it is read. */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import type { FileResource } from "../FileResource.js"
import * as FileElement from "./FileElement.js"
import type { Encoded, MessageEncoder } from "./MessageEncoder.js"
import { problem, Problems } from "./Problems.js"
import { keyOf } from "./ResourceKey.js"
import { positionAt } from "./SourceDocument.js"

/** The resources and mistakes of a file while it is read. */
export class Reading {
  readonly problems = new Problems()
  readonly pause = Slices.pauses(EventLoop.process)
  /** Created with the first element. */
  encoder: MessageEncoder | undefined
  readonly resources: Array<FileResource> = []
  /** The elements behind `resources`, if a response is wanted. */
  readonly elements: Array<FileElement.Element> = []
  /** Resources by type URL and key. */
  readonly #seen = new Map<string, Map<string, FileResource>>()
  readonly #types = new Map<string, FileElement.NamedType>()
  /** The counts at the end of the last complete document. */
  #committed = { resources: 0, problems: 0, count: 0 }
  #lines = new Lines(undefined)
  /** The number of elements added. */
  count = 0

  constructor(
    readonly file: string,
    readonly isResponse: boolean
  ) {}

  /** The text that offsets refer to. */
  get text(): string | undefined {
    return this.#lines.text
  }

  readFrom(text: string): void {
    this.#lines = new Lines(text)
  }

  /** Adds an element. A promise only if its type is named for the first time. */
  add(element: FileElement.Element): Promise<void> | undefined {
    this.count++
    const line = this.#lines.of(element.offset)
    const unwrapped = this.problems.take(FileElement.unwrap(element))
    if (unwrapped === undefined) return undefined
    const { typeUrl } = unwrapped.any
    const named = this.#types.get(typeUrl)
    if (named === undefined) {
      return this.#typeNamed(typeUrl).then((found) => {
        this.#put(element, unwrapped, line, found)
      })
    }
    this.#put(element, unwrapped, line, named)
    return undefined
  }

  /** Adds a resource that was not looked into. */
  addUnread(any: Encoded): Promise<void> | undefined {
    return this.add({ any, isMessage: false, path: ["resources", this.count], offset: undefined })
  }

  #put(
    element: FileElement.Element,
    unwrapped: FileElement.Unwrapped,
    line: number | undefined,
    named: FileElement.NamedType | undefined
  ): void {
    const resource = this.problems.take(FileElement.resourceOf(this.file, element, unwrapped, line, named))
    if (resource === undefined) return
    const ofType = this.#seen.get(resource.typeUrl) ?? new Map<string, FileResource>()
    this.#seen.set(resource.typeUrl, ofType)
    const key = keyOf(resource)
    const other = ofType.get(key)
    if (other !== undefined) {
      const where = other.line === undefined ? "before" : `in line ${other.line}`
      const what = `${ResourceType.shortNameOf(resource.typeUrl)} resource ${JSON.stringify(resource.name)}`
      const detail = `the ${what} stands ${where} already; keep one`
      this.problems.take(problem("DuplicateName", detail, element.path, element.offset))
      return
    }
    ofType.set(key, resource)
    this.resources.push(resource)
    if (this.isResponse) this.elements.push(element)
  }

  /** Called at the end of a document. */
  commit(): void {
    this.#committed = { resources: this.resources.length, problems: this.problems.found.length, count: this.count }
  }

  /** Removes what the unfinished document has added. */
  takeBack(): void {
    const { count, problems, resources } = this.#committed
    for (const each of this.resources.slice(resources)) this.#seen.get(each.typeUrl)?.delete(keyOf(each))
    this.resources.length = resources
    this.elements.length = this.isResponse ? resources : 0
    this.problems.keep(problems)
    this.count = count
  }

  /** Shared by all resources of a type, of which there may be a hundred thousand. */
  async #typeNamed(typeNameOrUrl: string): Promise<FileElement.NamedType | undefined> {
    const schema = await TypeRegistry.load(typeNameOrUrl)
    if (schema === undefined) return undefined
    const typeUrl = FileElement.urlOf(typeNameOrUrl)
    const named = { typeUrl, type: ResourceType.byTypeUrl(typeUrl), schema }
    this.#types.set(typeNameOrUrl, named)
    return named
  }
}

/** Line numbers for growing offsets: the text is scanned only once. */
class Lines {
  #line = 1
  #at = 0
  /** The end of the current line. It is kept since the file may be one line, with many offsets in it. */
  #end: number
  constructor(readonly text: string | undefined) {
    this.#end = this.#endAfter(0)
  }

  of(offset: number | undefined): number | undefined {
    if (this.text === undefined || offset === undefined) return undefined
    if (offset < this.#at) return positionAt(this.text, offset).line
    while (this.#end < offset) {
      this.#line++
      this.#at = this.#end + 1
      this.#end = this.#endAfter(this.#at)
    }
    return this.#line
  }

  #endAfter(at: number): number {
    const end = this.text?.indexOf("\n", at) ?? -1
    return end < 0 ? Number.POSITIVE_INFINITY : end
  }
}
