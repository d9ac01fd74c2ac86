/**
 * Removes the values of sensitive fields from error texts of clients: Envoy quotes what it rejects in a NACK, private
 * keys included. All output about a client (log, status, events, metrics, spans) comes after this.
 */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { contentsOf, type Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as SensitiveFields from "@effect-xds/proto/SensitiveFields"

type Values = ReadonlyArray<Uint8Array>

/** The resources that a client may quote. */
export interface Quoted {
  readonly typeUrl: string
  /** The resources of its unanswered responses. */
  readonly sent: ReadonlyArray<ReadonlyArray<Resource>>
  /** Its group. */
  readonly group: ResourceGroup.ResourceGroup | undefined
}

/** The most resources that are searched for one text; more would take too long. */
const maxResources = 10_000

/** Resources that are looked into in one step: some tenths of a millisecond. */
const atOnce = 16

/** The most texts that are cached: after a bad change a thousand clients send the same. */
const maxTexts = 32

const none: Values = []

/** More than a text can be searched for. */
const tooMuch = "TooMuch"

/** A text without the sensitive values that it quotes. */
export interface Redacted {
  readonly text: string
}

interface Search {
  readonly text: string
  readonly quoted: Quoted
  readonly redacted: Steps.Once<Redacted>
}

export class Secrets {
  // Keyed by a response or a set: both are shared by all clients and immutable.
  private readonly found = new WeakMap<object, Values | typeof tooMuch>()
  // Most resources of a set were in the one before, too: a change costs what it changes.
  private readonly ofResources = new WeakMap<Resource, Values>()
  private readonly searches: Array<Search> = []

  /** The text without the sensitive values of the resources: work that all who send the same text share. */
  redacted(text: string, quoted: Quoted): Steps.Once<Redacted> {
    const known = this.searches.find(
      (entry) =>
        entry.text === text &&
        entry.quoted.group === quoted.group &&
        entry.quoted.sent.length === quoted.sent.length &&
        entry.quoted.sent.every((resources, index) => resources === quoted.sent[index])
    )
    if (known !== undefined) return known.redacted
    const redacted = new Steps.Once(() => this.without(text, quoted))
    if (this.searches.length >= maxTexts) this.searches.shift()
    this.searches.push({ text, quoted, redacted })
    return redacted
  }

  private *without(text: string, { group, sent, typeUrl }: Quoted): Steps.Steps<Redacted> {
    const set = group === undefined ? undefined : ResourceGroup.set(group, typeUrl)
    const isName = (name: string): boolean => set !== undefined && ResourceSet.find(set, name) !== undefined
    const all = yield* this.ofAll(sent, group)
    return {
      text: all === tooMuch ? Redaction.strict(text, isName) : yield* Redaction.valuesInSteps(text, all, isName)
    }
  }

  private *ofAll(sent: Quoted["sent"], group: Quoted["group"]): Steps.Steps<ReadonlySet<Uint8Array> | typeof tooMuch> {
    let room = maxResources
    const all = new Set<Uint8Array>()
    const sets = Array.from(group?.sets.values() ?? []).filter((each) => SensitiveFields.canHold(each.typeUrl))
    for (const key of [...sent, ...sets]) {
      let values = this.found.get(key)
      if (values === undefined) {
        room -= "typeUrl" in key ? ResourceSet.size(key) : key.length
        if (room < 0) return tooMuch
        values = yield* this.valuesOf("typeUrl" in key ? yield* ResourceSet.listing(key) : key)
        this.found.set(key, values)
      }
      if (values === tooMuch) return tooMuch
      for (const value of values) all.add(value)
    }
    return all
  }

  /** Looks no further than a text can be searched: of a group with thousands of keys it looks at a hundred. */
  private *valuesOf(resources: ReadonlyArray<Resource>): Steps.Steps<Values | typeof tooMuch> {
    const values: Array<Uint8Array> = []
    let bytes = 0
    let count = 0
    for (const resource of resources) {
      for (const value of this.ofResource(resource)) {
        values.push(value)
        bytes += value.byteLength
      }
      if (bytes > Redaction.maxSecretBytes) return tooMuch
      if (++count % atOnce === 0) yield
    }
    return values.length === 0 ? none : values
  }

  private ofResource(resource: Resource): Values {
    const known = this.ofResources.get(resource)
    if (known !== undefined) return known
    const values = contentsOf(resource).flatMap(({ typeUrl, value }) => SensitiveFields.values(typeUrl, value))
    const made = values.length === 0 ? none : values
    this.ofResources.set(resource, made)
    return made
  }
}

const isCredential = /^(?:(?:proxy-)?authorization|cookie)$|auth|token|secret|key|password|credential/

/** Header values with credentials, whole and word by word: `Bearer …`, `session=…`. */
export const ofHeaders = (headers: Readonly<Record<string, string>>): Values => {
  const encoder = new TextEncoder()
  return Object.entries(headers)
    .filter(([name]) => isCredential.test(name))
    .flatMap(([, value]) => [value, ...value.split(/[\s;,=]+/).filter((word) => word.length >= 6)])
    .map((value) => encoder.encode(value))
}
