/**
 * Removes the values of sensitive fields from error texts of clients: Envoy quotes what it rejects in a NACK, private
 * keys included. All output about a client (log, status, events, metrics, spans) comes after this.
 */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { contentsOf, type Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
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

/** The most texts that are cached: after a bad change a thousand clients send the same. */
const maxTexts = 32

const none: Values = []

export class Secrets {
  // Keyed by a response or a set: both are shared by all clients and immutable.
  private readonly found = new WeakMap<object, Values>()
  private readonly texts: Array<{ readonly text: string; readonly quoted: Quoted; readonly result: string }> = []

  /** The text without the sensitive values of the resources. */
  redact(text: string, quoted: Quoted): string {
    if (text === "") return text
    const known = this.texts.find(
      (entry) =>
        entry.text === text &&
        entry.quoted.group === quoted.group &&
        entry.quoted.sent.length === quoted.sent.length &&
        entry.quoted.sent.every((resources, index) => resources === quoted.sent[index])
    )
    if (known !== undefined) return known.result
    const result = this.without(text, quoted)
    if (this.texts.length >= maxTexts) this.texts.shift()
    this.texts.push({ text, quoted, result })
    return result
  }

  private without(text: string, { group, sent, typeUrl }: Quoted): string {
    const set = group === undefined ? undefined : ResourceGroup.set(group, typeUrl)
    const isName = (name: string): boolean => set !== undefined && ResourceSet.find(set, name) !== undefined
    let room = maxResources
    const all = new Set<Uint8Array>()
    const add = (key: object, size: number, resources: () => ReadonlyArray<Resource>): void => {
      let values = this.found.get(key)
      if (values === undefined) {
        room -= size
        if (room < 0) return
        values = valuesOf(resources())
        this.found.set(key, values)
      }
      for (const value of values) all.add(value)
    }
    for (const resources of sent) add(resources, resources.length, () => resources)
    for (const each of group?.sets.values() ?? []) {
      if (SensitiveFields.canHold(each.typeUrl)) add(each, ResourceSet.size(each), () => ResourceSet.all(each))
    }
    return room < 0 ? Redaction.strict(text, isName) : Redaction.values(text, all, isName)
  }
}

const valuesOf = (resources: ReadonlyArray<Resource>): Values => {
  const values: Array<Uint8Array> = []
  for (const { typeUrl, value } of resources.flatMap(contentsOf)) {
    for (const each of SensitiveFields.values(typeUrl, value)) values.push(each)
  }
  return values.length === 0 ? none : values
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
