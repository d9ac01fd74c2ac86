/** Messages that can be read again from the first on. For methods with one request: all of them are kept. */
export class Replay<A> implements AsyncIterable<A> {
  private readonly kept: Array<A> = []
  private readonly iterator: AsyncIterator<A>
  private isDone = false

  constructor(messages: AsyncIterable<A>) {
    this.iterator = messages[Symbol.asyncIterator]()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<A> {
    for (let index = 0; ; index++) {
      const kept = this.kept[index]
      if (index < this.kept.length && kept !== undefined) {
        yield kept
        continue
      }
      if (this.isDone) return
      const next: IteratorResult<A, unknown> = await this.iterator.next()
      if (next.done === true) {
        this.isDone = true
        return
      }
      this.kept.push(next.value)
      yield next.value
    }
  }
}
