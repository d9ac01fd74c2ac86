/** What the errors of a stream are to the caller. */
import { Code, ConnectError } from "@connectrpc/connect"
import { constants } from "node:http2"
import type { CallStream } from "./Carrier.js"

/** @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#errors */
const resetCodes: ReadonlyMap<number, Code> = new Map([
  [constants.NGHTTP2_REFUSED_STREAM, Code.Unavailable],
  [constants.NGHTTP2_CANCEL, Code.Canceled],
  [constants.NGHTTP2_ENHANCE_YOUR_CALM, Code.ResourceExhausted],
  [constants.NGHTTP2_INADEQUATE_SECURITY, Code.PermissionDenied]
])

export const isReset = ({ rstCode = constants.NGHTTP2_NO_ERROR }: CallStream): boolean =>
  rstCode !== constants.NGHTTP2_NO_ERROR && rstCode !== constants.NGHTTP2_STREAM_CLOSED

/** Of a stream that is closed; `undefined`: it was not reset, and what came on it was read to its end. */
export const ofClosed = (stream: CallStream, hasEnded: boolean): ConnectError | undefined => {
  if (isReset(stream)) {
    const { rstCode = 0 } = stream
    const code = resetCodes.get(rstCode) ?? Code.Internal
    return new ConnectError(`the stream was reset with HTTP/2 error ${rstCode}`, code)
  }
  return hasEnded ? undefined : new ConnectError("the stream was closed without an answer", Code.Internal)
}

/** What a stream tells as an error. ★ Of a reset Node tells one before it closes the stream. */
export const ofStream = (stream: CallStream, error: Error): ConnectError =>
  (isReset(stream) ? ofClosed(stream, false) : undefined) ?? of(error)

/** ★ What is written after the server has ended the stream is Aborted: the codec then reads the server's own error. */
export const of = (error: Error): ConnectError =>
  ConnectError.from(error, codeOf(error) === "ERR_STREAM_WRITE_AFTER_END" ? Code.Aborted : Code.Internal)

/** To the server: the caller does not want the answer any more, or cannot read it. */
export const resetCode = ({ code }: ConnectError): number =>
  code === Code.Canceled ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_INTERNAL_ERROR

const codeOf = (error: Error): unknown => ("code" in error ? error.code : undefined)
