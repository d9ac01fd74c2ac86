/** Milliseconds that a caller gives a call, as in Connect: 0 and less are no limit, also where there is another by default. */
export const of = (asked: number | undefined, otherwise: number | undefined): number | undefined => {
  const timeout = asked ?? otherwise
  return timeout === undefined || timeout <= 0 ? undefined : timeout
}

/** A gRPC timeout has eight digits; of seconds they are three years. */
const most = 99_999_999

/** `grpc-timeout` for so many milliseconds, a whole number of at least 1. */
export const ofGrpc = (milliseconds: number): string =>
  milliseconds <= most ? `${milliseconds}m` : `${Math.min(most, Math.floor(milliseconds / 1_000))}S`
