/**
 * What holds of the members of clusters at any time, whatever discovery and health do. It judges by a book of its own: what
 * was listed, what probes were told, who came and went.
 */
import { HealthFlags } from "@effect-xds/discovery"
import type { ClusterEvent } from "@effect-xds/discovery-node/ClusterEvent"
import type { Members } from "@effect-xds/discovery-node/Members"

/** A member, as the book has it. */
interface Entry {
  readonly address: string
  /** Passes its checks: two results in a row turn it, an answer that says no at once, and so does a first success. */
  passes: boolean
  hasResult: boolean
  /** Results in a row that are not what it is. */
  against: number
  /** When it was probed last. */
  probed: number
}

interface Book {
  readonly isChecked: boolean
  /** The addresses that each source listed last, until that is over. */
  readonly listings: Map<string, { readonly addresses: ReadonlyArray<string>; readonly until: number }>
  /** Those that discovery says fail. */
  readonly said: Set<string>
  readonly members: Map<string, Entry>
  /** Ids of those who were listed once, by their address; of one that moves there is one. */
  readonly ids: Map<string, string>
}

/** The one host of a LOGICAL_DNS cluster, wherever it is. */
const moves = (cluster: string): boolean => cluster === "logical"

export class Ledger {
  private readonly books = new Map<string, Book>()
  readonly problems: Array<string> = []
  /** What happened, to see that enough does. */
  readonly counts = { added: 0, removed: 0, probes: 0, failures: 0, ejected: 0, absent: 0, expired: 0 }

  constructor(
    private readonly seed: number,
    private readonly now: () => number,
    /** When a host that is checked has to have been probed again, in milliseconds. */
    private readonly patience: number
  ) {}

  private book(cluster: string): Book {
    const known = this.books.get(cluster)
    if (known !== undefined) return known
    const isChecked = cluster !== "plain"
    const book = { isChecked, listings: new Map(), said: new Set<string>(), members: new Map(), ids: new Map() }
    this.books.set(cluster, book)
    return book
  }

  private wrong(text: string): void {
    if (this.problems.length < 20) this.problems.push(`seed ${this.seed}, ${this.now() / 1000} s: ${text}`)
  }

  private entry(cluster: string, address: string): Entry | undefined {
    const book = this.book(cluster)
    return book.members.get(book.ids.get(moves(cluster) ? "" : address) ?? "")
  }

  /** A source of discovery has answered. `until`: when its TTL is over, in milliseconds. */
  listed(
    cluster: string,
    source: string,
    addresses: ReadonlyArray<string>,
    failing: ReadonlySet<string> = new Set(),
    until = Number.POSITIVE_INFINITY
  ): void {
    const book = this.book(cluster)
    book.listings.set(source, { addresses, until })
    for (const address of addresses) {
      if (failing.has(address)) book.said.add(address)
      else book.said.delete(address)
    }
  }

  probed(cluster: string, address: string): void {
    this.counts.probes++
    const entry = this.entry(cluster, address)
    if (entry !== undefined) entry.probed = this.now()
  }

  /** A probe has ended. */
  result(cluster: string, address: string, result: "success" | "immediate" | "network"): void {
    const entry = this.entry(cluster, address)
    if (entry === undefined) return
    const isSuccess = result === "success"
    if (!isSuccess) this.counts.failures++
    if (isSuccess === entry.passes) entry.against = 0
    else {
      entry.against++
      const isEnough = isSuccess ? !entry.hasResult : result === "immediate"
      if (isEnough || entry.against === 2) {
        entry.passes = isSuccess
        entry.against = 0
      }
    }
    entry.hasResult = true
  }

  /** All that are listed now. */
  private listedNow(book: Book): ReadonlyArray<string> {
    for (const [source, { addresses, until }] of book.listings) {
      if (until > this.now() || addresses.length === 0) continue
      // ★ What nobody renewed does not exist (TTL): it lists nobody.
      this.counts.expired++
      book.listings.set(source, { addresses: [], until })
    }
    return Array.from(book.listings.values()).flatMap(({ addresses }) => addresses)
  }

  /** @param address of the host, if it is there */
  happened(cluster: string, event: ClusterEvent, address: string | undefined): void {
    const book = this.book(cluster)
    if (event._tag === "Ejected") this.counts.ejected++
    if (event._tag === "Added") {
      if (address === undefined) return this.wrong(`${cluster} ${event.host} came and is not there`)
      this.counts.added++
      book.ids.set(moves(cluster) ? "" : address, event.host)
      book.members.set(event.host, { address, passes: false, hasResult: false, against: 0, probed: this.now() })
    }
    if (event._tag === "Removed") {
      const entry = book.members.get(event.host)
      book.members.delete(event.host)
      if (entry === undefined) return
      this.counts.removed++
      const { passes } = entry
      // ★ Every purge was absent and failing.
      if (moves(cluster)) this.wrong(`${cluster} lost its host`)
      else if (this.listedNow(book).includes(entry.address))
        this.wrong(`${cluster} ${entry.address} was purged, and is listed`)
      else if (book.isChecked && passes && !book.said.has(entry.address)) {
        this.wrong(`${cluster} ${entry.address} was purged, and passes its checks`)
      }
    }
  }

  /** Looks at a cluster. Nothing that happened is under way. */
  look(cluster: string, members: Members): void {
    if (members.set === undefined) return
    const book = this.book(cluster)
    const there = new Map(members.all.map((member) => [member.host.address.replace(/:80$/, ""), member]))
    const routed = new Set(
      members.assignment.priorities
        .flat()
        .flatMap(({ endpoints }) => endpoints.map(({ addresses }) => addresses[0]?.replace(/:80$/, "") ?? ""))
    )
    // ★ A host that is known is never lost by an outage of discovery: not one that is listed, nor one that passes.
    const listed = this.listedNow(book)
    for (const address of listed) if (!there.has(address)) this.wrong(`${cluster} ${address} is listed and not there`)
    let ejected = 0
    for (const { address, passes, probed } of book.members.values()) {
      const at = moves(cluster) ? (there.keys().next().value ?? "") : address
      const member = there.get(at)
      if (member === undefined) {
        this.wrong(`${cluster} ${at} was not removed and is not there`)
        continue
      }
      const isWell = (passes || !book.isChecked) && !book.said.has(at)
      const isEjected = HealthFlags.has(member.flags, "FAILED_OUTLIER")
      if (isEjected) ejected++
      if (HealthFlags.has(member.flags, "PENDING_DYNAMIC_REMOVAL")) this.counts.absent++
      // ★ Absent and failing is no state to be in, whatever took it from the list: an answer, or a TTL.
      if (!isWell && !moves(cluster) && !listed.includes(at)) {
        this.wrong(`${cluster} ${at} is neither listed nor well, and there`)
      }
      if (isWell && !isEjected && !routed.has(at)) this.wrong(`${cluster} ${at} is well and not routed to`)
      // ★ Nobody is routed to a host that fails its checks.
      if (routed.has(at) && (!isWell || isEjected)) this.wrong(`${cluster} ${at} is routed to and not well`)
      if (book.isChecked && this.now() - probed > this.patience) this.wrong(`${cluster} ${at} is probed no more`)
    }
    if (there.size > book.members.size) this.wrong(`${cluster} has ${there.size - book.members.size} that never came`)
    if (routed.size > there.size) this.wrong(`${cluster} is routed to who is not there`)
    if (ejected > 1 && ejected * 10 > there.size + 9) this.wrong(`${cluster} has ${ejected} ejected of ${there.size}`)
    if (!book.isChecked && !moves(cluster)) {
      if (there.size !== listed.length)
        this.wrong(`${cluster} has ${there.size} members, and ${listed.length} are listed`)
    }
  }

  /** ★ Timers and fibers do not pile up: beside those that wait for an answer there are a few, however many hosts. */
  bounded(what: string, there: number, busy: number, most: number): void {
    if (there - busy > most)
      this.wrong(`${there} ${what}, ${busy} of them wait for an answer; ${most} more may be there`)
  }

  /** All are well for long. */
  calm(cluster: string, members: Members): void {
    this.look(cluster, members)
    const failing = members.all.filter(({ flags }) => HealthFlags.healthOf(flags) !== "healthy")
    if (failing.length > 0) this.wrong(`${cluster} has ${failing.length} hosts that are not well, after all is calm`)
    if (members.all.length === 0) this.wrong(`${cluster} has no hosts`)
  }
}
