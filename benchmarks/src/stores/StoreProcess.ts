/** A child process with a store, as its parent sees it. */
import type { ChildProcess } from "node:child_process"
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { Answer, Request } from "./StoreChild.js"

const program = fileURLToPath(new URL("StoreChild.js", import.meta.url))

const field = (message: unknown, name: string): unknown =>
  typeof message === "object" && message !== null ? Reflect.get(message, name) : undefined

const isAnswer = (value: unknown): value is Answer => typeof value === "object" && value !== null && "ended" in value

export class StoreProcess {
  readonly #child: ChildProcess
  #seen: ((at: number) => void) | undefined

  constructor() {
    this.#child = fork(program, { execArgv: ["--expose-gc"], serialization: "advanced" })
    this.#child.on("message", (message) => {
      const at = field(message, "seen")
      if (typeof at === "number") this.#seen?.(at)
    })
  }

  ask(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const end = (act: () => void): void => {
        this.#child.off("message", onMessage)
        this.#child.off("exit", onExit)
        act()
      }
      const onExit = (): void => end(() => reject(new Error(`the process of a store ended at "${request.ask}"`)))
      const onMessage = (message: unknown): void => {
        const answer = field(message, "answer")
        if (isAnswer(answer)) end(() => resolve(answer))
        const error = field(message, "error")
        if (error !== undefined) end(() => reject(new Error(typeof error === "string" ? error : "it failed")))
      }
      this.#child.on("message", onMessage)
      this.#child.on("exit", onExit)
      this.#child.send(request)
    })
  }

  /** When the next change of the group that is watched is seen. */
  nextSeen(): Promise<number> {
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error("a change was not seen within 60 s")), 60_000)
      this.#seen = (at) => {
        clearTimeout(limit)
        this.#seen = undefined
        resolve(at)
      }
    })
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    await new Promise<void>((resolve) => {
      this.#child.once("exit", () => resolve())
      this.#child.disconnect()
    })
  }
}
