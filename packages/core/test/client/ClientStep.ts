/** A step of a client, taken both ways: what is made of a response at once is what the same in steps is. */
import * as Client from "@effect-xds/core/client/Client"
import { ClientDraft } from "@effect-xds/core/client/ClientDraft"
import * as Fallback from "@effect-xds/core/client/Fallback"
import * as FlowControl from "@effect-xds/core/client/FlowControl"
import * as ReceivedResponse from "@effect-xds/core/client/ReceivedResponse"
import * as Steps from "@effect-xds/core/Steps"
import { different } from "../Step.js"

type Step = ReturnType<typeof Client.step>

/** The step of a response in steps, however short it is. */
const stepInSteps = (client: Client.Client, input: Client.Input & { readonly _tag: "Response" }, now: number): Step => {
  const draft = new ClientDraft(client, now, Fallback.reports)
  Steps.toEnd(ReceivedResponse.receiveInSteps(draft, input.stream, input.response))
  return draft.end()
}

/** Fails if what a response led to is another in steps. */
export const check = (client: Client.Client, input: Client.Input, now: number, atOnce: Step): void => {
  const place = input._tag === "Response" ? different(atOnce, stepInSteps(client, input, now), "") : undefined
  if (place !== undefined) throw new Error(`a response at once is not what it is in steps: ${place}`)
}

export const step = (client: Client.Client, input: Client.Input, now: number): Step => {
  const atOnce = Client.step(client, input, now)
  check(client, input, now, atOnce)
  return atOnce
}

export const flow = (
  self: FlowControl.FlowControl,
  input: FlowControl.Input,
  now: number
): ReturnType<typeof FlowControl.step> => {
  if (input._tag === "Response") step(self.client, input, now)
  return FlowControl.step(self, input, now)
}
