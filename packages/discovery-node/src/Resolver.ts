/**
 * Names to addresses with `node:dns`: a service that can be exchanged.
 *
 * @since 0.1.0
 */
import type * as DnsTarget from "@effect-xds/discovery/DnsTarget"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Dns from "node:dns/promises"

/**
 * A query that failed; that a name has no address is none.
 *
 * @since 0.1.0
 */
export class ResolveError extends Data.TaggedError("ResolveError")<{
  readonly name: string
  readonly family: DnsTarget.Family
  /** As `node:dns` tells it: `ETIMEOUT`, `ESERVFAIL`. */
  readonly code: string
  readonly message: string
}> {}

/**
 * Resolves names.
 *
 * @since 0.1.0
 */
export interface Resolver {
  /** The addresses of one family, in the order of the answer; none if there are none. */
  readonly resolve: (
    name: string,
    family: DnsTarget.Family
  ) => Effect.Effect<ReadonlyArray<DnsTarget.Answer>, ResolveError>
}

/**
 * The service.
 *
 * @since 0.1.0
 */
export const Resolver = Context.GenericTag<Resolver>("@effect-xds/discovery-node/Resolver")

/**
 * How it resolves.
 *
 * @since 0.1.0
 */
export interface Options {
  /** How long a server may be silent, at the first try. Default: 5 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** How often each server is asked. Default: 4. */
  readonly tries?: number | undefined
  /** Addresses, with a port if it is not 53: `127.0.0.1:5353`. Default: those of the system. */
  readonly servers?: ReadonlyArray<string> | undefined
  /**
   * Whether names that DNS has no address for, of neither family, are looked for as the system does: hosts file, search list.
   * Default: true.
   */
  readonly usesSystem?: boolean | undefined
}

type Answered = Effect.Effect<ReadonlyArray<DnsTarget.Answer>, string>

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : "EUNKNOWN"

/** The name has no address: an answer. */
const none: ReadonlySet<string> = new Set(["ENODATA", "ENOTFOUND"])

/**
 * A resolver; when its scope closes its queries are cancelled.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): Effect.Effect<Resolver, never, Scope.Scope> =>
  Effect.zipRight(BadOption.check(options, { timeout: 0, tries: 1 }), made(options))

const made = ({
  servers,
  timeout,
  tries = 4,
  usesSystem = true
}: Options): Effect.Effect<Resolver, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const resolver = new Dns.Resolver({ timeout: Milliseconds.of(timeout, "5 seconds"), tries })
        if (servers !== undefined) resolver.setServers(servers)
        return resolver
      }),
      (resolver) => Effect.sync(() => resolver.cancel())
    ),
    (resolver): Resolver => ({
      resolve: (name, family) => {
        const ask = (of: DnsTarget.Family): Answered =>
          Effect.tryPromise({
            try: async () =>
              of === 4 ? await resolver.resolve4(name, { ttl: true }) : await resolver.resolve6(name, { ttl: true }),
            catch: codeOf
          })
        // ★ DNS alone knows neither hosts file nor search list.
        const system: Answered = Effect.tryPromise({
          try: async () =>
            (await Dns.lookup(name, { all: true, family })).map(({ address }) => ({ address, ttl: undefined })),
          catch: codeOf
        })
        const empty: Answered = Effect.succeed([])
        const orNone = (answered: Answered, then: (code: string) => Answered): Answered =>
          Effect.catchAll(answered, (code) => (none.has(code) ? then(code) : Effect.fail(code)))
        const bySystem = (): Answered => orNone(system, () => empty)
        const found = orNone(ask(family), (code) => {
          if (!usesSystem) return empty
          // ★ A name that has addresses of the other family is one that DNS knows: the system has nothing to add.
          return code === "ENODATA" ? orNone(Effect.zipRight(ask(family === 4 ? 6 : 4), empty), bySystem) : bySystem()
        })
        return Effect.catchAll(found, (code) =>
          // ★ Who stops is told nothing.
          code === "ECANCELLED"
            ? Effect.interrupt
            : Effect.fail(
                new ResolveError({ name, family, code, message: `cannot resolve ${JSON.stringify(name)}: ${code}` })
              )
        )
      }
    })
  )

/**
 * The service with `node:dns`.
 *
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<Resolver> => Layer.scoped(Resolver, make(options))
