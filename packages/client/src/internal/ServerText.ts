/** What a server says, without what is sensitive in the resources. */
import type { ResourceStatus } from "@effect-xds/core/client/Client"
import type { ErrorDetail } from "@effect-xds/core/wire/Request"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as SensitiveFields from "@effect-xds/proto/SensitiveFields"

/** Texts that are searched for sensitive values: each takes a millisecond, some if there are many. Of further ones only plain words are left. */
const maxSearched = 8

/** The texts of one response. */
export class ServerText {
  #secrets: ReadonlyArray<Uint8Array> | undefined
  #searched = 0

  /** @param resources whose sensitive values are taken out; they are looked through once, if there is a text at all */
  constructor(private readonly resources: () => ReadonlyArray<ResourceStatus>) {}

  of({ code, message }: ErrorDetail): ErrorDetail {
    this.#secrets ??= this.resources().flatMap(({ held, typeUrl }) =>
      held === undefined ? [] : SensitiveFields.values(typeUrl, held.bytes)
    )
    const isSearched = this.#secrets.length === 0 || ++this.#searched <= maxSearched
    return { code, message: isSearched ? Redaction.values(message, this.#secrets) : Redaction.strict(message) }
  }
}
