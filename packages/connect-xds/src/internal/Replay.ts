/** Messages that can be read again from the first on. For methods with one request: all of them are kept. */
export class Replay<A> implements AsyncIterable<A> {
  private readonly kept: Array<A> = []
  private readonly iterator: AsyncIterator<A>
  private isDone = false
  /** The message that is being read, for all who wait for it. One that failed stays. */
  private reading: Promise<void> | undefined

  constructor(messages: AsyncIterable<A>) {
    this.iterator = messages[Symbol.asyncIterator]()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<A> {
    for (let index = 0; ; index++) {
      // ★ The reader of the attempt before may wait still: two that asked would each get one message.
      if (index >= this.kept.length && !this.isDone) await (this.reading ??= this.read())
      const kept = this.kept[index]
      if (index >= this.kept.length || kept === undefined) return
      yield kept
    }
  }

  private async read(): Promise<void> {
    const next = await this.iterator.next()
    if (next.done === true) this.isDone = true
    else this.kept.push(next.value)
    this.reading = undefined
  }
}
