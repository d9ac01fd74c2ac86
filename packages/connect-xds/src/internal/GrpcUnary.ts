/**
 * Unary calls of gRPC. Connect's codec makes async iterables, `Headers` and abort controllers for each, which cost twice what
 * the rest of the call does. Here bytes go out and come in; an answer that is not the usual one is judged by Connect's functions.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import type { ContextValues, Interceptor, Transport, UnaryResponse } from "@connectrpc/connect"
import { Code, ConnectError } from "@connectrpc/connect"
import type { CommonTransportOptions } from "@connectrpc/connect/protocol"
import * as Protocol from "@connectrpc/connect/protocol"
import * as Grpc from "@connectrpc/connect/protocol-grpc"
import { waitForReady } from "./Calls.js"
import * as Calls from "./Calls.js"
import * as ConnectErrors from "./ConnectErrors.js"
import * as Fields from "./Fields.js"
import * as Timeout from "./Timeout.js"
import * as UnaryExchange from "./UnaryExchange.js"

export interface Options extends Omit<CommonTransportOptions, "interceptors"> {
  readonly interceptors: ReadonlyArray<Interceptor>
  readonly calls: Calls.Calls
  /** Milliseconds of a call that has no other; `undefined`: there is no deadline. */
  readonly defaultTimeout: number | undefined
}

/** Makes the unary calls of a transport. Its interceptors do not hold the one of `calls`. */
export const make = (options: Options): Transport["unary"] => {
  const { acceptCompression, calls, defaultTimeout, interceptors, sendCompression, useBinaryFormat } = options
  const headersOf = (header: Parameters<Transport["unary"]>[3]): Headers =>
    Grpc.requestHeaderWithCompression(useBinaryFormat, undefined, header, acceptCompression, sendCompression)
  const plain = headersOf(undefined)
  const plainFields = Fields.fromHeaders(plain)

  const frameOf = async (data: Uint8Array): Promise<Uint8Array> => {
    const { compressMinBytes, writeMaxBytes } = options
    if (data.byteLength > writeMaxBytes) {
      const words = `message size ${data.byteLength} is larger than configured writeMaxBytes ${writeMaxBytes}`
      throw new ConnectError(words, Code.ResourceExhausted)
    }
    const envelope = await Protocol.envelopeCompress({ flags: 0, data }, sendCompression, compressMinBytes)
    return Protocol.encodeEnvelope(envelope.flags, envelope.data)
  }

  const send = async <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    header: Headers,
    input: MessageInitShape<I>,
    asked: Pick<Calls.Asked, "deadline" | "signal" | "timeout" | "waitForReady">
  ): Promise<UnaryResponse<I, O>> => {
    const path = Calls.pathOf(method)
    const { binaryOptions, jsonOptions, readMaxBytes } = options
    const { parse, serialize } = Protocol.createClientMethodSerializers(
      method,
      useBinaryFormat,
      jsonOptions,
      binaryOptions
    )
    let frame: Uint8Array
    try {
      frame = await frameOf(serialize(create(method.input, input)))
    } catch (cause) {
      throw ConnectErrors.of(cause)
    }
    const reading = { acceptCompression, readMaxBytes, parse }
    const whole = { path, headers: header, isUnary: true, isDuplex: false, isSentAgain: true, ...asked }
    return calls.run(whole, async (attempt, call) => {
      const fields = header === plain ? Fields.copy(plainFields) : Fields.fromHeaders(header)
      calls.tell(call, (name, value) => {
        fields[name] = value
      })
      return answerOf(method, await UnaryExchange.send(attempt, call, { path, fields, frame }, reading))
    })
  }

  return (method, signal, timeoutMs, header, input, values) => {
    const timeout = Timeout.of(timeoutMs, defaultTimeout)
    const waits = (of: ContextValues | undefined): boolean => of?.get(waitForReady) ?? false
    if (interceptors.length === 0) {
      const fields = header === undefined ? plain : headersOf(header)
      return send(method, fields, input, { signal, timeout, waitForReady: waits(values) })
    }
    return Protocol.runUnaryCall({
      interceptors: [calls.first, ...interceptors],
      ...(signal === undefined ? {} : { signal }),
      req: {
        stream: false,
        service: method.parent,
        method,
        requestMethod: "POST",
        url: Protocol.createMethodUrl(options.baseUrl, method),
        header: headersOf(header),
        contextValues: Calls.withTimeout(values, timeout),
        message: input
      },
      next: ({ contextValues, header: fields, message, signal: given }) => {
        const { deadline, timeout: left = timeout } = Calls.timeOf(contextValues)
        return send(method, fields, message, {
          signal: given,
          deadline,
          timeout: left,
          waitForReady: waits(contextValues)
        })
      }
    })
  }
}

/** Headers are made when somebody looks at them. */
const answerOf = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  { headers, message, trailers }: UnaryExchange.Answer<UnaryResponse<I, O>["message"]>
): UnaryResponse<I, O> => {
  let header: Headers | undefined
  let trailer: Headers | undefined
  return {
    stream: false,
    service: method.parent,
    method,
    message,
    get header() {
      return (header ??= Fields.toHeaders(headers))
    },
    get trailer() {
      return (trailer ??= Fields.toHeaders(trailers))
    }
  }
}
