import { EventLoop } from "@effect-xds/transport"

/** A loop whose turns are done by hand. Each slice is over after `steps` steps of work. */
export class HandTurnedLoop implements EventLoop.Service {
  readonly waiting: Array<() => void> = []
  private readings = 0

  constructor(private readonly steps: number) {}

  readonly soon = EventLoop.process.soon
  readonly later = (work: () => void): (() => void) => {
    this.waiting.push(work)
    return () => undefined
  }
  readonly elapsed = (): number => this.readings++ * (4 / this.steps)

  /** Turns until nothing waits, or so many. */
  turn(most = Infinity): number {
    let turns = 0
    while (turns < most && this.waiting.length > 0) {
      for (const work of this.waiting.splice(0)) work()
      turns++
    }
    return turns
  }
}
