import { describe, expect, it } from "@effect/vitest"
import { play } from "./PollTrace.js"

const traces: Readonly<Record<string, string>> = {
  "the answer to a response is the next poll, after the pause, and says it to the server": `
    0 send [a] node
    > [a] node fresh
    5 < v1 nonce=n1
    ! deliver n1
    5 send [a] version=v1 nonce=n1
    5 next
    @1005 > [a] version=v1 nonce=n1 node
    1010 < 304
    @2010 > [a] version=v1 nonce=n1 node
    2020 < v2 nonce=n2
    ! deliver n2
  `,
  "the pause is longer by a part of it that is drawn": `
    0 send [a]
    > [a] fresh
    1 < v1 nonce=n1 random=0.5
    ! deliver n1
    1 send [a] version=v1 nonce=n1
    1 next
    @1101 > [a] version=v1 nonce=n1
    1102 < 304 random=0.99
    @2300 > [a] version=v1 nonce=n1
    3000 passes
  `,
  "a rejection is said once, with the version that is in use": `
    0 send [a]
    > [a] fresh
    1 < v1 nonce=n1
    ! deliver n1
    1 send [a] version=v1 nonce=n1
    1 next
    @1001 > [a] version=v1 nonce=n1
    1002 < v2 nonce=n2
    ! deliver n2
    1003 send [a] version=v1 nonce=n2 error="no good"
    1003 next
    @2002 > [a] version=v1 nonce=n2 error="no good"
    2003 < 304
    @3003 > [a] version=v1 nonce=n2
    3004 < 304
  `,
  "what is asked for anew is polled for at once, and without a version": `
    0 send [a] node
    > [a] node fresh
    1 < v1 nonce=n1
    ! deliver n1
    1 send [a] version=v1 nonce=n1
    1 next
    2 send [a b] version=v1 nonce=n1
    > [a b] node fresh
    3 < v1 nonce=n2
    ! deliver n2
  `,
  "a poll that is held is given up when something else is asked for": `
    0 send [a]
    > [a] fresh
    1 < v1 nonce=n1
    ! deliver n1
    1 send [a] version=v1 nonce=n1
    1 next
    @1001 > [a] version=v1 nonce=n1
    1500 send [b] version=v1 nonce=n1
    ! abort
    > [b] fresh
    1501 passes
  `,
  "a new stream begins without the version of an earlier one, for the server is to answer it": `
    0 send [a] version=v7 node
    > [a] node fresh
    1 passes
  `,
  "requests that follow one another are one poll: giving a wildcard up, and nothing is left to poll for": `
    0 send []
    > [] fresh
    1 < v1 nonce=n1
    ! deliver n1
    1 send [] version=v1 nonce=n1
    1 next
    2 send [*] version=v1 nonce=n1
    2 send [] version=v1 nonce=n1
    60000 passes
    60000 send [a] version=v1 nonce=n1
    > [a] fresh
    60001 passes
  `,
  "a poll that is held is given up when nothing is wanted any more": `
    0 send [a]
    > [a] fresh
    1 < v1 nonce=n1
    ! deliver n1
    1 send [a] version=v1 nonce=n1
    1 next
    @1001 > [a] version=v1 nonce=n1
    1500 send [] version=v1 nonce=n1
    ! abort
    90000 passes
  `,
  "nothing is polled while the client is busy, or has not answered": `
    0 send [a]
    > [a] fresh
    1 < v1 nonce=n1
    ! deliver n1
    1 send [a] version=v1 nonce=n1
    9000 next
    > [a] version=v1 nonce=n1
    9001 < v2 nonce=n2
    ! deliver n2
    9001 next
    20000 send [a] version=v1 nonce=n2 error="again"
    > [a] version=v1 nonce=n2 error="again"
    20001 passes
  `,
  "a nonce that the server did not give is not told to it": `
    0 send [a]
    > [a] fresh
    1 < v1 nonce=own-1 own
    ! deliver own-1
    1 send [a] version=v1 nonce=own-1
    1 next
    @1001 > [a] version=v1
    1002 < 304
  `,
  "304 to what was asked for without a version does not become a storm": `
    0 send [a]
    > [a] fresh
    1 < 304
    @1001 > [a]
    1002 < 304
  `,
  "a poll that fails ends the stream, and nothing follows": `
    0 send [a]
    > [a] fresh
    1 failed UNAVAILABLE
    ! end UNAVAILABLE
    60000 passes
  `
}

describe("Polls as a stream", () => {
  it.each(Object.entries(traces))("%s", (_, script) => {
    const { found, given } = play({ refreshDelay: 1000, jitter: 0.2 }, script)
    expect(found).toBe(given)
  })
})
