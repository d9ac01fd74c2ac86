/** The interop test server: its answers say who it is, and it does what `rpc-behavior` asks. */
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect"
import { Code, ConnectError } from "@connectrpc/connect"
import { Health, HealthCheckResponse_ServingStatus } from "@effect-xds/proto/grpc/health/v1/health"
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import type { Behaviour } from "./Behaviour.js"
import * as Behaviours from "./Behaviour.js"
import type { CannotListen } from "./Listening.js"
import { listen } from "./Listening.js"
import { TestService } from "./Testing.js"

export interface Options {
  /** 0: any. */
  readonly port: number
  readonly host?: string
  readonly hostname: string
  readonly serverId: string
}

const isCode = (status: number): status is Code => Code[status] !== undefined

const attemptOf = ({ requestHeader }: HandlerContext): number =>
  Number(requestHeader.get("grpc-previous-rpc-attempts") ?? "0")

/** Waits so long, or until the call ends: by its deadline, or for its client is gone. */
const wait = (milliseconds: number, { signal }: HandlerContext): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(ConnectError.from(signal.reason, Code.Canceled))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end)
      resolve()
    }, milliseconds)
    if (signal.aborted) end()
    else signal.addEventListener("abort", end, { once: true })
  })

/** The longest that a timer of Node's may take, which is 24 days. */
const forGood = 2 ** 31 - 1

/** Gives whether the call is answered now, whatever else is asked. */
const act = async (behaviour: Behaviour, context: HandlerContext): Promise<boolean> => {
  switch (behaviour._tag) {
    case "Sleep":
      await wait(behaviour.seconds * 1_000, context)
      return false
    case "KeepOpen":
      await wait(forGood, context)
      return false
    case "Fail":
      throw new ConnectError("as rpc-behavior asks", isCode(behaviour.status) ? behaviour.status : Code.Unknown)
    case "SucceedOnAttempt":
      if (attemptOf(context) === behaviour.attempt) return true
      throw new ConnectError("as rpc-behavior asks: this is another attempt", Code.Unavailable)
  }
}

const routes =
  ({ hostname, serverId }: Options) =>
  (router: ConnectRouter): void => {
    const behave = async (context: HandlerContext): Promise<void> => {
      context.responseHeader.set("hostname", hostname)
      const asked = Behaviours.parse(context.requestHeader.get("rpc-behavior") ?? "", hostname)
      if (Either.isLeft(asked)) throw new ConnectError(asked.left, Code.InvalidArgument)
      for (const each of asked.right) if (await act(each, context)) return
    }
    router.service(TestService, {
      emptyCall: async (_, context) => {
        await behave(context)
        return {}
      },
      unaryCall: async ({ responseSize }, context) => {
        await behave(context)
        return { hostname, serverId, payload: { body: new Uint8Array(responseSize) } }
      }
    })
    router.service(Health, { check: () => ({ status: HealthCheckResponse_ServingStatus.SERVING }) })
  }

/** Serves until the scope closes, which cuts all connections; gives the port. */
export const serve = (options: Options): Effect.Effect<number, CannotListen, Scope.Scope> =>
  listen({ port: options.port, ...(options.host === undefined ? {} : { host: options.host }), routes: routes(options) })
