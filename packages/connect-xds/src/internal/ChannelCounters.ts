/**
 * The counters of a channel: those of circuit breakers are the process's, by cluster and assignment (A32); those of
 * `least_request` are the channel's own.
 */
import { CallCounters } from "@effect-xds/routing/CallCounters"

const shared = new CallCounters()

/** Counters of circuit breakers are named by a JSON list, those of policies by a path. */
const isShared = (name: string): boolean => name.startsWith("[")

export class ChannelCounters extends CallCounters {
  private readonly own = new CallCounters()

  override readonly calls = (name: string) => this.of(name).calls(name)
  override readonly count = (name: string) => this.of(name).count(name)

  override readonly hold = (names: ReadonlyArray<string>): void => {
    for (const name of names) this.of(name).hold([name])
  }

  override readonly release = (names: ReadonlyArray<string>): void => {
    for (const name of names) this.of(name).release([name])
  }

  /** Names that calls of this channel, or circuit breakers of the process, hold now. */
  override get held(): number {
    return this.own.held + shared.held
  }

  private of(name: string): CallCounters {
    return isShared(name) ? shared : this.own
  }
}
