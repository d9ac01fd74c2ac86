/** Server reflection: the services of a server, and every message of Envoy's API, since an Any may hold it. */
import type { DescFile, DescService } from "@bufbuild/protobuf"
import { toBinary } from "@bufbuild/protobuf"
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt"
import { TypeRegistry } from "@effect-xds/proto"
import { Status } from "@effect-xds/transport"

/** A request of either version of the reflection service. */
export interface Request {
  readonly host: string
  readonly messageRequest:
    | {
        readonly case: "fileByFilename" | "fileContainingSymbol" | "allExtensionNumbersOfType" | "listServices"
        readonly value: string
      }
    | { readonly case: "fileContainingExtension"; readonly value: { readonly containingType: string } }
    | { readonly case: undefined; readonly value?: undefined }
}

interface ErrorResponse {
  readonly case: "errorResponse"
  readonly value: { readonly errorCode: number; readonly errorMessage: string }
}

type Response =
  | { readonly case: "fileDescriptorResponse"; readonly value: { readonly fileDescriptorProto: Array<Uint8Array> } }
  | { readonly case: "listServicesResponse"; readonly value: { readonly service: Array<{ readonly name: string }> } }
  | ErrorResponse

const refuse = (code: Status.Code, errorMessage: string): ErrorResponse => ({
  case: "errorResponse",
  value: { errorCode: Status.codes[code], errorMessage }
})

/** Characters of a name that an error repeats. */
const longest = 200

const notFound = (what: string, name: string): ErrorResponse =>
  refuse("NOT_FOUND", `this server knows no ${what} ${JSON.stringify(name.slice(0, longest))}`)

export class Index {
  readonly #services: ReadonlyArray<DescService>
  /**
   * By name (`envoy/config/core/v3/base.proto`): all files sent so far and their imports, which a client may ask for
   * next.
   */
  readonly #files = new Map<string, DescFile>()

  constructor(services: ReadonlyArray<DescService>) {
    this.#services = services
    for (const { file } of services) this.#add(file)
  }

  /** Answers the requests of one stream. An imported file is sent once per stream. */
  stream(): (request: Request["messageRequest"]) => Promise<Response> {
    const told = new Set<string>()
    const withImports = (file: DescFile): Response => {
      const fresh: Array<Uint8Array> = []
      const pending = [file]
      for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
        // The requested file is sent even if it was sent before.
        if (told.has(next.proto.name) && next !== file) continue
        told.add(next.proto.name)
        fresh.push(toBinary(FileDescriptorProtoSchema, next.proto))
        for (const dependency of next.dependencies) pending.push(dependency)
      }
      return { case: "fileDescriptorResponse", value: { fileDescriptorProto: fresh } }
    }
    return async (request) => {
      switch (request.case) {
        case "listServices":
          return {
            case: "listServicesResponse",
            value: { service: this.#services.map(({ typeName }) => ({ name: typeName })) }
          }
        case "fileByFilename": {
          const file = this.#files.get(request.value)
          return file === undefined ? notFound("file", request.value) : withImports(file)
        }
        case "fileContainingSymbol": {
          const file = await this.#fileOf(request.value)
          return file === undefined ? notFound("symbol", request.value) : withImports(file)
        }
        case "allExtensionNumbersOfType":
        case "fileContainingExtension":
          return refuse("UNIMPLEMENTED", "extensions are not looked up here; ask for the file that has them")
        case undefined:
          return refuse("INVALID_ARGUMENT", "the request asks for nothing")
      }
    }
  }

  #add(file: DescFile): void {
    if (this.#files.has(file.proto.name)) return
    this.#files.set(file.proto.name, file)
    for (const dependency of file.dependencies) this.#add(dependency)
  }

  /** The file of a type or service, or of the parent of a field, value or method. */
  async #fileOf(symbol: string): Promise<DescFile | undefined> {
    const service = (name: string) => this.#services.find(({ typeName }) => typeName === name)?.file
    const parent = symbol.slice(0, Math.max(0, symbol.lastIndexOf(".")))
    const file =
      service(symbol) ??
      service(parent) ??
      (await TypeRegistry.loadFile(symbol)) ??
      (await TypeRegistry.loadFile(parent))
    if (file !== undefined) this.#add(file)
    return file
  }
}
