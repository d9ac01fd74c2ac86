/**
 * The difference between two states of a group: what a row of the log holds. A checkpoint is the difference to a group
 * without resources.
 *
 * A digest of each type's content goes with it. Whoever applies a difference compares it, so that a replica is never
 * unnoticed in another state than the writer was.
 */
import * as DynamicParameters from "@effect-xds/core/protocol/DynamicParameters"
import * as Digest from "@effect-xds/core/resource/Digest"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Variants from "@effect-xds/core/resource/Variants"
import * as Steps from "@effect-xds/core/Steps"
import * as Either from "effect/Either"
import type { Buffer } from "node:buffer"
import { hash } from "node:crypto"
import { ByteReader } from "./ByteReader.js"
import { ByteWriter } from "./ByteWriter.js"

/** A group that is set: its own resources, and the group below. */
export interface State {
  readonly own: ResourceGroup.ResourceGroup
  readonly over: string | undefined
}

/** The changes of one type. */
interface TypeDifference {
  readonly typeUrl: string
  /** Digest of the type's content after the change. */
  readonly digest: string
  /** The version that clients see. */
  readonly version: string
  readonly upsert: ReadonlyArray<Resource.Resource>
  readonly remove: ReadonlyArray<string>
}

export interface GroupDifference {
  readonly over: string | undefined
  readonly types: ReadonlyArray<TypeDifference>
}

/** Names by type URL. */
export type Names = ReadonlyMap<string, ReadonlySet<string>>

const hasher = new Digest.Hasher((bytes) => hash("sha256", bytes))

const betweenSets = function* (
  before: ResourceSet.ResourceSet,
  after: ResourceSet.ResourceSet,
  names: Iterable<string> | undefined
): Steps.Steps<TypeDifference> {
  const upsert: Array<Resource.Resource> = []
  const remove: Array<string> = []
  let looked = 0
  // A resource that is equal is the same object. Labels of versions differ only here.
  for (const name of names ?? after.resources.keys()) {
    if (++looked % Steps.atOnce === 0) yield
    const resource = ResourceSet.get(after, name)
    if (resource === undefined) {
      if (ResourceSet.get(before, name) !== undefined) remove.push(name)
    } else if (resource !== ResourceSet.get(before, name)) upsert.push(resource)
  }
  if (names === undefined) {
    for (const name of before.resources.keys()) {
      if (++looked % Steps.atOnce === 0) yield
      if (ResourceSet.get(after, name) === undefined) remove.push(name)
    }
  }
  const { typeUrl, version } = after
  return { typeUrl, version, digest: Digest.toHex(after.digest), upsert, remove }
}

/** The difference between two states. `names`: all that may differ; without them everything is compared. */
export const between = function* (
  before: ResourceGroup.ResourceGroup,
  { over, own }: State,
  names?: Names
): Steps.Steps<GroupDifference> {
  const types: Array<TypeDifference> = []
  for (const [typeUrl, set] of own.sets) {
    const old = ResourceGroup.set(before, typeUrl)
    if (set !== old) types.push(yield* betweenSets(old, set, names && (names.get(typeUrl) ?? [])))
  }
  return { over, types }
}

const format = 1

/** Bytes of a resource that is a step of its own: to copy it and to make its digest takes as long as others do together. */
const large = 65_536

/** What is there beside the content of a resource. */
const flags = { version: 1, ttl: 2, aliases: 4, variants: 8, error: 16 } as const

const writeResource = (to: ByteWriter, resource: Resource.Resource): void => {
  to.text(resource.name)
  const { error, variants } = resource
  if (error !== undefined) {
    to.number(flags.error)
    to.number(error.code)
    return to.text(error.message)
  }
  if (variants === undefined) return writeContent(to, resource)
  to.number(flags.variants)
  to.number(variants.length)
  for (const { constraints, plain } of variants) {
    to.bytes(DynamicParameters.encode(constraints))
    writeContent(to, plain)
  }
}

const writeContent = (to: ByteWriter, { aliases, fingerprint, ttl, value, version }: Resource.Resource): void => {
  const isLabelled = version !== fingerprint
  to.number(
    (isLabelled ? flags.version : 0) | (ttl === undefined ? 0 : flags.ttl) | (aliases.length === 0 ? 0 : flags.aliases)
  )
  if (isLabelled) to.text(version)
  if (ttl !== undefined) to.text(String(ttl))
  if (aliases.length > 0) {
    to.number(aliases.length)
    for (const alias of aliases) to.text(alias)
  }
  to.bytes(value)
}

/** The bytes of a difference; left: a text in it that is not well-formed Unicode. */
export const encode = function* ({ over, types }: GroupDifference): Steps.Steps<Either.Either<Buffer, string>> {
  const to = new ByteWriter()
  to.number(format)
  to.number(over === undefined ? 0 : 1)
  if (over !== undefined) to.text(over)
  to.number(types.length)
  let written = 0
  for (const { digest, remove, typeUrl, upsert, version } of types) {
    to.text(typeUrl)
    to.text(digest)
    to.text(version)
    to.number(upsert.length)
    for (const resource of upsert) {
      writeResource(to, resource)
      if (++written % Steps.atOnce === 0 || resource.value.length > large) yield
    }
    to.number(remove.length)
    for (const name of remove) {
      to.text(name)
      if (++written % Steps.atOnce === 0) yield
    }
  }
  return to.illFormed === undefined ? Either.right(yield* to.finish()) : Either.left(to.illFormed)
}

const readResource = (from: ByteReader, typeUrl: string): Resource.Resource | undefined => {
  const name = from.text()
  const has = from.number()
  const made =
    (has & flags.error) !== 0
      ? Resource.unavailable({ typeUrl, name }, { code: from.number(), message: from.text() }, hasher)
      : (has & flags.variants) !== 0
        ? Either.flatMap(readVariants(from), (variants) => Variants.make({ typeUrl, name }, variants, hasher))
        : readPlain(from, has, typeUrl, name)
  if (Either.isRight(made)) return made.right
  if (made.left !== undefined) from.fail(made.left.message)
  return undefined
}

/** Nearly all resources. Written out: to spread a record takes as long as the digest. */
const readPlain = (from: ByteReader, has: number, typeUrl: string, name: string) => {
  const { aliases, ttl, value, version } = readContent(from, has)
  return from.isGood() ? Resource.make({ typeUrl, name, aliases, ttl, value, version }, hasher) : Either.left(undefined)
}

type Content = Required<Resource.Options> & { readonly value: Uint8Array }

/** If the reader has a mistake then, it is no content. */
const readContent = (from: ByteReader, has: number): Content => {
  const version = (has & flags.version) === 0 ? undefined : from.text()
  const ttl = (has & flags.ttl) === 0 ? undefined : Number(from.text())
  let aliases: Array<string> | undefined
  if ((has & flags.aliases) !== 0) {
    aliases = []
    for (let count = from.number(); count > 0 && from.isGood(); count--) aliases.push(from.text())
  }
  return { aliases, ttl, value: from.bytes(), version }
}

const readVariants = (from: ByteReader): Either.Either<ReadonlyArray<Variants.Input>, undefined> => {
  const variants: Array<Variants.Input> = []
  for (let count = from.number(); count > 0; count--) {
    const constraints = from.bytes()
    const content = readContent(from, from.number())
    if (!from.isGood()) return Either.left(undefined)
    try {
      variants.push({ ...content, constraints: DynamicParameters.decode(constraints) })
    } catch {
      from.fail("constraints in it cannot be read")
      return Either.left(undefined)
    }
  }
  return Either.right(variants)
}

/** Reads a difference; left: what is wrong with the bytes. */
export const decode = function* (bytes: Buffer): Steps.Steps<Either.Either<GroupDifference, string>> {
  const from = new ByteReader(bytes)
  const is = from.number()
  if (from.isGood() && is !== format) from.fail(`it is of format ${is}, and this version reads ${format}`)
  const over = from.number() === 0 ? undefined : from.text()
  const types: Array<TypeDifference> = []
  let read = 0
  for (let left = from.number(); left > 0 && from.isGood(); left--) {
    const [typeUrl, digest, version] = [from.text(), from.text(), from.text()]
    const upsert: Array<Resource.Resource> = []
    for (let count = from.number(); count > 0 && from.isGood(); count--) {
      const resource = readResource(from, typeUrl)
      if (resource !== undefined) upsert.push(resource)
      if (++read % Steps.atOnce === 0 || (resource !== undefined && resource.value.length > large)) yield
    }
    const remove: Array<string> = []
    for (let count = from.number(); count > 0 && from.isGood(); count--) {
      remove.push(from.text())
      if (++read % Steps.atOnce === 0) yield
    }
    types.push({ typeUrl, digest, version, upsert, remove })
  }
  if (from.isGood() && !from.isAtEnd) from.fail("there are bytes after its end")
  return from.mistake === undefined ? Either.right({ over, types }) : Either.left(from.mistake)
}

/** Applies a difference; left: why it is not one of this state. */
export const apply = function* (
  before: ResourceGroup.ResourceGroup,
  { over, types }: GroupDifference
): Steps.Steps<Either.Either<State, string>> {
  const versions: Record<string, string> = {}
  for (const { typeUrl, version } of types) versions[typeUrl] = version
  const own = yield* ResourceGroup.updating(before, {
    upsert: types.flatMap(({ upsert }) => upsert),
    remove: types.flatMap(({ remove, typeUrl }) => remove.map((name) => ({ typeUrl, name }))),
    versions
  })
  if (Either.isLeft(own)) return Either.left(own.left.message)
  for (const { digest, typeUrl } of types) {
    if (Digest.toHex(ResourceGroup.set(own.right, typeUrl).digest) !== digest)
      return Either.left(`after it ${typeUrl} is not as its writer had it`)
  }
  return Either.right({ own: own.right, over })
}

/** The numbers of resources that were put in and removed. */
export const counts = ({ types }: GroupDifference): { readonly upserts: number; readonly removals: number } => ({
  upserts: types.reduce((sum, { upsert }) => sum + upsert.length, 0),
  removals: types.reduce((sum, { remove }) => sum + remove.length, 0)
})
