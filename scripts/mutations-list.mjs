// Faults for `scripts/mutations.mjs`: each is one line made wrong, in the way that implementations of xDS get it wrong.
// `file` is one of packages/core/src, or a path that begins with `packages/`. `line` must be in the file exactly once;
// where the line itself is not unique, its neighbour is with it.

const server = [
  {
    fault: "a NACK advances the accepted version",
    file: "server/Acknowledgement.ts",
    line: "next.nacked = { nonce: answered, version, at: now, error }",
    becomes: "next.acked = next.nacked = { nonce: answered, version, at: now, error }"
  },
  {
    fault: "a NACK causes a resend",
    file: "server/Acknowledgement.ts",
    line: "next.nacked = { nonce: answered, version, at: now, error }",
    becomes: "next.nacked = { nonce: answered, version, at: now, error }; next.mustReply = true"
  },
  {
    fault: "what is asked for after the group was cleared waits without a word",
    file: "server/StreamRequest.ts",
    line: "if (self.group === undefined && Subscriptions.isUnanswered(asked) && (first || !Subscriptions.isUnanswered(known))) {",
    becomes: "if (first && self.group === undefined) {"
  },
  {
    fault: "the words of a NACK of an older response are lost",
    file: "server/StreamRequest.ts",
    line: "const noted = Acknowledgement.noteRejection(before, nonce, request.errorDetail, now)",
    becomes: "const noted = before"
  },
  {
    fault: "responses that are never answered are all remembered",
    file: "server/Acknowledgement.ts",
    line: "const maxOpen = 64",
    becomes: "const maxOpen = Number.POSITIVE_INFINITY"
  },
  {
    fault: "the caller's label gives way to another while deletions wait",
    file: "resource/ResourceSet.ts",
    line: "others.length === 0 || self.version !== Digest.toHex(self.digest)",
    becomes: "others.length === 0"
  },
  {
    fault: "a stale nonce is accepted",
    file: "server/StateOfTheWorldNames.ts",
    line: 'request.responseNonce !== "" && self.sent !== undefined && self.sent.nonce !== request.responseNonce',
    becomes: "false"
  },
  {
    fault: "a nonce of an earlier stream makes the first request stale",
    file: "server/StateOfTheWorldNames.ts",
    line: 'request.responseNonce !== "" && self.sent !== undefined && self.sent.nonce !== request.responseNonce',
    becomes: 'request.responseNonce !== "" && self.sent?.nonce !== request.responseNonce'
  },
  {
    fault: "a change that comes while a request is taken is passed over",
    file: "server/GroupStream.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "    if (ServerStreams.groupOf(state) === fanOut.group) return\n    this.changed = true\n    this.advanceTo = undefined\n",
    becomes: ""
  },
  {
    fault: "those of many resources that are such are found at once",
    file: "Steps.ts",
    line: "    if (is(item, place)) found.push(item)\n    if (++place % atOnce === 0) yield\n",
    becomes: "    if (is(item, place)) found.push(item)\n    place++\n",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "a subscription to a name that is held is not answered",
    file: "server/IncrementalNames.ts",
    line: "      added.push(name)\n",
    becomes: "      if (!Subscriptions.hasName(next, name)) added.push(name)\n"
  },
  {
    fault: "names added at an unchanged version are not answered",
    file: "server/RequestedNames.ts",
    line: "for (const name of names) next.setNew(name)\n  self.names = next.end()\n  self.requested = NameSet.addAll(self.requested, names)",
    becomes: "for (const name of names) next.setNew(name)\n  self.names = next.end()"
  },
  {
    fault: "the wildcard returns when the list of names is empty again",
    file: "server/StateOfTheWorldNames.ts",
    line: "if (first && resourceNames.length === 0) {",
    becomes: "if (resourceNames.length === 0) {"
  },
  {
    fault: "names do not end the wildcard of state of the world",
    file: "server/StateOfTheWorldNames.ts",
    line: "yield* RequestedNames.endWildcard(next)",
    becomes: ""
  },
  {
    fault: "the first name ends the wildcard of incremental",
    file: "server/IncrementalNames.ts",
    line: 'if (at >= subscribed && subscribed > 0 && next.wildcard === "legacy") next.wildcard = "explicit"',
    becomes: 'if (at >= subscribed && subscribed > 0 && next.wildcard === "legacy") next.wildcard = "none"'
  },
  {
    fault: "unsubscribing `*` ends a wildcard that was never named",
    file: "server/IncrementalNames.ts",
    line: 'if (next.wildcard !== "explicit") continue',
    becomes: ""
  },
  {
    fault: "a name given up under the wildcard is not answered",
    file: "server/IncrementalNames.ts",
    line: 'if (next.wildcard !== "none") next.requested = NameSet.add(next.requested, name)',
    becomes: ""
  },
  {
    fault: "names that remain after the wildcard forget what it brought",
    file: "server/RequestedNames.ts",
    line: "if (isWild(self) && held !== undefined) yield* keepHeld(self, held, self.names.keys())",
    becomes: ""
  },
  {
    fault: "`*` asked for again is not answered",
    file: "server/RequestedNames.ts",
    line: "  self.resendAll = true\n",
    becomes: "\n"
  },
  {
    fault: "removed_resources forgets what was deleted",
    file: "server/Incremental.ts",
    line: "else if (isRemoved(removals, name)) gone.push(name)",
    becomes: ""
  },
  {
    fault: "removed_resources forgets what never existed",
    file: "server/Incremental.ts",
    line: "if (!isVirtualHost || !Subscriptions.hasName(self, name)) gone.push(name)",
    becomes: ""
  },
  {
    fault: "an unknown virtual host is put into removed_resources",
    file: "server/Incremental.ts",
    line: "if (!isVirtualHost || !Subscriptions.hasName(self, name)) gone.push(name)",
    becomes: "gone.push(name)"
  },
  {
    fault: "initial_resource_versions is ignored",
    file: "server/IncrementalNames.ts",
    line: "next.initial = initialResourceVersions",
    becomes: ""
  },
  {
    fault: "what the client holds from an earlier stream and is gone is not taken away",
    file: "server/QuotedVersions.ts",
    line: "if (resource === undefined || (mayHaveOthers &&",
    becomes: "if (resource !== undefined && (mayHaveOthers &&"
  },
  {
    fault: "endpoints are not sent again after their cluster",
    file: "server/Sending.ts",
    line: "return sendAssignments(self, before, fresh)",
    becomes: "return Steps.of(undefined)"
  },
  {
    fault: "a reconnecting client does not get the endpoints of a changed cluster",
    file: "server/StreamRequest.ts",
    line: "      repeating.resendEvenIfHeld = yield* NameSet.addAllInSteps(repeating.resendEvenIfHeld, self.warming)\n",
    becomes: ""
  },
  {
    fault: "the listener of a route configuration that is sent again is not opened",
    file: "server/Sending.ts",
    line: "if (isAggregated && ResourceType.isOf(before.typeUrl, ResourceType.RouteConfiguration)) openAgain(self, before, fresh)",
    becomes: ""
  },
  {
    fault: "deletions go out first",
    file: "server/TypeTurn.ts",
    line: "if (selection !== undefined) {\n    const index",
    becomes: "if (selection !== undefined && last < 0) {\n    const index"
  },
  {
    fault: "deletions go out in the order of changes",
    file: "server/TypeTurn.ts",
    line: "const last = subscriptions.findLastIndex(",
    becomes: "const last = subscriptions.findIndex("
  },
  {
    fault: "deletions go out before the changes are acknowledged",
    file: "server/RoundPlan.ts",
    line: "const gates = gatesOf(self, now, () => true)",
    becomes: "const gates = gatesOf(self, now, () => false)"
  },
  {
    fault: "the first type that has something to send always wins",
    file: "server/TypeTurn.ts",
    line: "if (due === undefined || subscription.order <= round.place) return false",
    becomes: "if (due === undefined) return false"
  },
  {
    fault: "a round does not keep the state of the group that it is of",
    file: "server/RoundPlan.ts",
    line: "return isAgain ? group : newest",
    becomes: "return newest"
  },
  {
    fault: "a round keeps its state although nothing of it went out",
    file: "server/RoundPlan.ts",
    line: "(each) => each.order <= place && Due.isChanged(found, self.options.protocol, each, newest)",
    becomes: "(each) => Due.isChanged(found, self.options.protocol, each, newest)"
  },
  {
    fault: "what had its turn in a round goes before what refers to it there",
    file: "server/TypeTurn.ts",
    line: "return !isBehind && (",
    becomes: "return ("
  },
  {
    fault: "a phase waits for later responses, too",
    file: "server/Round.ts",
    line: "if (!outstanding.every(({ nonce }) => self.gates.some((gate) => gate.nonce === nonce))) return self",
    becomes:
      "if (outstanding.length > 0) return { ...self, group, gates: outstanding, changed: self.changed || changed }"
  },
  {
    fault: "a phase that waits does not take on what is taken back",
    file: "server/Round.ts",
    line: "return self.group === group && self.changed === (self.changed || changed)",
    becomes: "return true"
  },
  {
    fault: "a phase opens by the ACK of an older response",
    file: "server/Round.ts",
    line: "gate.typeUrl !== typeUrl || Number(gate.nonce) > Number(nonce)",
    becomes: "gate.typeUrl !== typeUrl"
  },
  {
    fault: "a phase waits for an ACK for ever",
    file: "server/RoundPlan.ts",
    line: "const until = unackedUpdate.at + phaseDeadline",
    becomes: "const until = never"
  },
  {
    fault: "each later change waits for a rejected response again",
    file: "server/RoundPlan.ts",
    line: "const until = unackedUpdate.at + phaseDeadline",
    becomes: "const until = now + phaseDeadline"
  },
  {
    fault: "heartbeats wait for changes that never stop",
    file: "server/Sending.ts",
    line: "if (renews || (ttl && subscription.cursor?.hasTtls !== true)) {",
    becomes: "if (ttl && subscription.cursor?.hasTtls !== true) {"
  },
  {
    fault: "what the stream names is deleted with the ACK of its routes",
    file: "server/RoundPlan.ts",
    line: "const isNeeded = makeBeforeBreak && phase.changed && !Subscriptions.isWild(each)",
    becomes: "const isNeeded = false"
  },
  {
    fault: "a deletion by itself waits because the stream names the resource",
    file: "server/RoundPlan.ts",
    line: "const isNeeded = makeBeforeBreak && phase.changed && !Subscriptions.isWild(each)",
    becomes: "const isNeeded = makeBeforeBreak && !Subscriptions.isWild(each)"
  },
  {
    fault: "under a wildcard deletions wait longer than the phases",
    file: "server/RoundPlan.ts",
    line: "const isNeeded = makeBeforeBreak && phase.changed && !Subscriptions.isWild(each)",
    becomes: "const isNeeded = makeBeforeBreak && phase.changed"
  },
  {
    fault: "a round whose phases are not over is forgotten when something is deleted",
    file: "server/RoundPlan.ts",
    line: "const changed = completed.changed || gatesOf(self, now, isLate).length > 0",
    becomes: "const changed = completed.changed"
  },
  {
    fault: "a name that is given up is deleted later",
    file: "server/IncrementalNames.ts",
    line: "if (!Subscriptions.isWild(next)) next.pendingRemovals = PendingRemovals.without(next.pendingRemovals, [name])",
    becomes: ""
  },
  {
    fault: "a deletion whose time has come is sent although the resource is back",
    file: "server/Due.ts",
    line: "if (waits && !Acknowledgement.wasNeverAccepted(self, name, each)) continue\n    if (isLost(name)) found.add(name)",
    becomes: "if (waits && !Acknowledgement.wasNeverAccepted(self, name, each)) continue\n    found.add(name)"
  },
  {
    fault: "what the client never accepted is deleted like everything else",
    file: "server/Acknowledgement.ts",
    line: "if (beforeRejection === undefined || !isRejected(self) || Number(since) < Number(beforeRejection.nonce)) return false",
    becomes: "if (beforeRejection !== null) return false"
  },
  {
    fault: "what the client accepted goes with a correction",
    file: "server/Acknowledgement.ts",
    line: 'return before === "" || (resource !== undefined && before !== resource.fingerprint)',
    becomes: "return true"
  },
  {
    fault: "a correction waits for its phase",
    file: "server/TypeTurn.ts",
    line: "isFirstPhase(subscription) || isOpen || now >= renewAt || Acknowledgement.isRejected(subscription)",
    becomes: "isFirstPhase(subscription) || isOpen || now >= renewAt"
  },
  {
    fault: "routes of clusters that were rejected and taken back are sent",
    file: "server/Sending.ts",
    line: "self.round = { ...self.round, changes: { ...phase, anew: true } }",
    becomes: "void phase"
  },
  {
    fault: "a correction makes routes wait anew",
    file: "server/Round.ts",
    line: "anew: false, limit: opensAt(self) }",
    becomes: "anew: false, limit: self.limit }"
  },
  {
    fault: "a large response is not split",
    file: "server/ResponseParts.ts",
    line: "if (last !== undefined && size <= maxBytes) return last",
    becomes: "if (last !== undefined) return last"
  },
  {
    fault: "the parts of a response do not go out before anything else",
    file: "server/Sending.ts",
    line: "if (part !== undefined) return part\n",
    becomes: "if (part !== undefined && isQuiet(self, group)) return part\n"
  },
  {
    fault: "a virtual host is deleted after one that takes its domain, in parts",
    file: "server/ResponseParts.ts",
    line: "if (compared.has(response.typeUrl)) yield* remove()",
    becomes: "if (compared.size === 0) yield* remove()"
  },
  {
    fault: "what is given up while parts go out is sent",
    file: "server/Sending.ts",
    line: "const isSame = subscription?.names === names && subscription.wildcard === wildcard",
    becomes: "const isSame = names !== undefined && wildcard !== undefined"
  },
  {
    fault: "what waits for an update waits for its first part only",
    file: "server/Sending.ts",
    line: "return emit(self, undefined, sent, part, update, now)",
    becomes: "return emit(self, undefined, sent, part, update && false, now)"
  },
  {
    fault: "what a deleted route refers to goes before the route that the client still names",
    file: "server/TypeTurn.ts",
    line: "const held = named - options.phaseDeadline",
    becomes: "const held = never; void named"
  },
  {
    fault: "deletions do not wait for the ACK of an answer that is newer than what the client has",
    file: "server/Sending.ts",
    line: "(yield* isAnyNewer(subscription, fresh))",
    becomes: "false"
  },
  {
    fault: "the names that are left of a long request are gone through for each of its answers",
    file: "server/RequestedNames.ts",
    line: "one.size < other.size ? NameSet.addAll(other, one) : NameSet.addAll(one, other)",
    becomes: "one.size < other.size ? NameSet.addAll(one, other) : NameSet.addAll(other, one)"
  },
  {
    fault: "what a client holds that comes back is looked at all at once",
    file: "server/ReturningClient.ts",
    line: "    if (++looked % Steps.atOnce === 0) yield\n    const isAsked",
    becomes: "    const isAsked",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "what changed among many resources is found at once",
    file: "packages/core/src/server/SubscriptionChanges.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: "const difference = yield* Difference.inSteps(set, cursor)\n  if (!isWild(self)) {",
    becomes: "const difference = Difference.of(set, cursor)\n  if (!isWild(self)) {"
  },
  {
    fault: "listeners that are gone are taken away after the new ones",
    file: "server/ResponseParts.ts",
    line: "const all = compared.has(response.typeUrl) ? [...removals, ...rest] : [...rest, ...removals]",
    becomes: "const all = [...rest, ...removals]"
  },
  {
    fault: "an answer takes along changes that are held",
    file: "server/Sending.ts",
    line: "const input: Flush.Flush = { set, changes, updates, removals, ttl, maxBytes: maxResponseBytes }",
    becomes:
      "const input: Flush.Flush = { set, changes, updates: updates || true, removals, ttl, maxBytes: maxResponseBytes }"
  },
  {
    fault: "what was rejected and went without a response holds routes back",
    file: "server/CursorAdvance.ts",
    line: "if (silent && isRejected(self) && !holdsRejected(self, names)) next.unackedUpdate = undefined",
    becomes: "void holdsRejected"
  },
  {
    fault: "what was rejected counts as corrected when only some of it went",
    file: "server/CursorAdvance.ts",
    line: "if (silent && isRejected(self) && !holdsRejected(self, names)) next.unackedUpdate = undefined",
    becomes: "if (silent && isRejected(self)) next.unackedUpdate = undefined; void holdsRejected"
  },
  {
    fault: "what a deleted route that comes back refers to goes before the new one",
    file: "server/RoundPlan.ts",
    line: "Due.isReturning(protocol, each, phase.group, newest)",
    becomes: "Due.isReturning(protocol, each, phase.group, phase.group)"
  },
  {
    fault: "what comes back delays deletions for as long as it likes",
    file: "server/Round.ts",
    line: "limit: Math.min(self.limit, until)",
    becomes: "limit: self.limit"
  },
  {
    fault: "what is not in the state of a phase yet is said not to exist",
    file: "server/Due.ts",
    line: 'const later = protocol === "Incremental" ? deferredOf(self, set, newestSet) : Subscriptions.noNameSet',
    becomes: "const later = Subscriptions.noNameSet; void deferredOf"
  },
  {
    fault: "listeners and routes do not wait for the ACK of clusters",
    file: "server/Acknowledgement.ts",
    line: "if (update) self.unackedUpdate = sent",
    becomes: ""
  },
  {
    fault: "the ACK of an older response counts for the latest",
    file: "server/Acknowledgement.ts",
    line: "if (self.unackedUpdate !== undefined && !open.some((later) => later.nonce === self.unackedUpdate?.nonce))\n    next.unackedUpdate = undefined",
    becomes: "next.unackedUpdate = undefined"
  },
  {
    fault: "credit is not used up",
    file: "server/Sending.ts",
    line: "  self.credit = false\n",
    becomes: "\n"
  },
  {
    fault: "a group that was never set is answered as an empty one",
    file: "server/Sending.ts",
    line: "if (!self.credit || group === undefined) return true\n",
    becomes:
      "if (!self.credit) return true\n  if (group === undefined) { self.group = ResourceGroups.empty; return false }\n"
  },
  {
    fault: "two responses have one nonce",
    file: "server/Sending.ts",
    line: "  self.nonces++\n",
    becomes: "  self.nonces = 1\n"
  },
  {
    fault: "a client may ask for one name more than the limit",
    file: "server/StreamRequest.ts",
    line: 'if (names > options.maxNames) return violate(self, "TooManyNames"',
    becomes: 'if (names > options.maxNames + 1) return violate(self, "TooManyNames"'
  },
  {
    fault: "the cursor skips one revision",
    file: "resource/ChangeLog.ts",
    line: "for (let ago = age; ago > 0; ago--)",
    becomes: "for (let ago = age - 1; ago > 0; ago--)"
  },
  {
    fault: "a log that does not lead from the client's revision is trusted",
    file: "resource/ChangeLog.ts",
    line: "first !== undefined && isFrom(first, since) ? ago",
    becomes: "first !== undefined ? ago"
  },
  {
    fault: "a change is lost when the log was cut",
    file: "resource/Difference.ts",
    line: "    for (const name of self.resources.keys()) {\n      see(name, since.fingerprints.get(name), undefined)\n",
    becomes: "    for (const name of self.resources.keys()) {\n"
  },
  {
    fault: "a deletion is lost when the log was cut",
    file: "resource/Difference.ts",
    line: "      if (!self.resources.has(name)) see(name, held, Cursors.resourceAt(since, name))\n",
    becomes: ""
  },
  {
    fault: "what changed back is sent",
    file: "resource/Difference.ts",
    line: "if (held === now.fingerprint) return",
    becomes: ""
  },
  {
    fault: "a change of content leaves the version as it was",
    file: "resource/ResourceSet.ts",
    line: "this.#digest = Digest.add(this.#digest, resource.digest)",
    becomes: ""
  },
  {
    fault: "a label that stays equal hides a change",
    file: "resource/ResourceSet.ts",
    line: "if (old !== undefined && old.fingerprint === resource.fingerprint) {",
    becomes: "if (old !== undefined && old.version === resource.version) {"
  },
  {
    fault: "the log of changes grows without end",
    file: "resource/ChangeLog.ts",
    line: "const kept = blocks.slice(first)",
    becomes: "const kept = [...blocks]"
  },
  {
    fault: "a stream that was behind already is passed over",
    file: "server/ServerStream.ts",
    line: "if (each?.cursor === undefined || !isSame(each.cursor, ResourceGroups.set(before, each.typeUrl).cursor)) continue",
    becomes: "if (each?.cursor === undefined) continue"
  },
  {
    fault: "a response for one client's names is given to another",
    file: "server/Incremental.ts",
    line: "const alike = wild && self.names.size === 0 && self.requested.size === 0",
    becomes: "const alike = wild"
  },
  {
    fault: "what was sent ahead of other changes is forgotten",
    file: "server/Incremental.ts",
    line: "next.cursor = advanced ? set.cursor : Cursor.ahead(self.cursor, resources, [...missing, ...gone], aliases)",
    becomes: "next.cursor = advanced ? set.cursor : self.cursor"
  },
  {
    fault: "a resource under a wildcard that is off is sent",
    file: "server/Subscription.ts",
    line: 'export const isWild = (self: Subscription): boolean => self.wildcardEnabled && self.wildcard !== "none"',
    becomes: 'export const isWild = (self: Subscription): boolean => self.wildcard !== "none"'
  },
  {
    fault: "a full state leaves out what waits to be deleted",
    file: "server/StateOfTheWorld.ts",
    line: "    kept.push(each.resource)\n",
    becomes: "\n"
  },
  {
    fault: "a TTL is renewed when it is over",
    file: "server/Heartbeat.ts",
    line: "(periodsAt(ttl / 2, at) + 1) * (ttl / 2)",
    becomes: "(periodsAt(ttl, at) + 1) * ttl"
  },
  {
    fault: "a heartbeat of state of the world holds only what is due",
    file: "server/StateOfTheWorld.ts",
    line: 'if (self.family === "by-name") return Response.make({ ...base, resources: due })',
    becomes: "return Response.make({ ...base, resources: due })"
  },
  {
    fault: "a request that crossed the first response is not answered",
    file: "server/StateOfTheWorldNames.ts",
    line: "if (isCrossing && isOther && !deletionsAreSilent(before)) next.mustReply = true",
    becomes: ""
  },
  {
    fault: "the deletions of one client are told to another",
    file: "server/Incremental.ts",
    line: "alike && everything && self.initial.size === 0 && removed.length === 0",
    becomes: "alike && everything && self.initial.size === 0"
  },
  {
    fault: "a name given up under the wildcard takes back that it was to be sent",
    file: "server/RequestedNames.ts",
    line: "  if (isWild(self)) return\n  self.requested",
    becomes: "  self.requested"
  },
  {
    fault: "a version that was replaced is taken for the present one",
    file: "packages/transport-connect/src/server/InternedVersions.ts",
    line: "place !== undefined && this.resources[place]?.version === version ? place : otherwise",
    becomes: "place !== undefined && version !== undefined ? place : otherwise",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "what a client holds is lost where its request is cut",
    file: "packages/transport-connect/src/server/HeldVersionsReader.ts",
    line: "this.#begunBytes = next === 0 ? length : 0",
    becomes: "this.#begunBytes = 0",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "a client is told what another one was told that holds something else",
    file: "packages/transport-connect/src/server/InternedVersions.ts",
    line: "if (known.last?.numbers.equals(numbers) === true) return known.last.comparison",
    becomes: "if (known.last !== undefined) return known.last.comparison",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "an alias moves, and the resource before stays with the client",
    file: "server/Incremental.ts",
    line: "if (advanced) for (const name of changes.superseded) gone.push(name)",
    becomes: ""
  },
  {
    fault: "a resource that lost the alias it was asked for by is not removed by its own name",
    file: "server/SubscriptionChanges.ts",
    line: "      this.gone.set(own, before)\n",
    becomes: ""
  },
  {
    fault: "an opener that was quoted is in removed_resources",
    file: "server/Incremental.ts",
    line: "for (const name of openers) removedNames.delete(name)",
    becomes: ""
  },
  {
    fault: "a host that was quoted without a version counts as held",
    file: "server/QuotedVersions.ts",
    line: 'if (isVirtualHost && version === "") continue',
    becomes: ""
  },
  {
    fault: "a name is taken away and given to another resource in one response",
    file: "server/Incremental.ts",
    line: "aliases.get(name)?.some((alias) => removedNames.has(alias)) === true",
    becomes: "name === undefined"
  },
  {
    fault: "a label quoted by an alias counts as held",
    file: "server/QuotedVersions.ts",
    line: "version === fingerprint && others.get(name) === version",
    becomes: "others.get(name) === version"
  },
  {
    fault: "a renewal has no body after a stall of more than the TTL",
    file: "server/Heartbeat.ts",
    line: " || now >= periodsAt(ttl / 2, self.renewedAt) * (ttl / 2) + ttl",
    becomes: ""
  },
  {
    fault: "a renewal has no body after the NACK of a heartbeat",
    file: "server/Acknowledgement.ts",
    line: "if (sent.heartbeats.length > 0) next.mayBeLost = NameSet.addAll(self.mayBeLost, sent.heartbeats)",
    becomes: ""
  },
  {
    fault: "what a client holds with a TTL is not renewed in the first answer",
    file: "server/Incremental.ts",
    line: "ttl && self.initial.size > 0\n",
    becomes: "ttl && self.initial.size < 0\n"
  },
  {
    fault: "a heartbeat names what was never sent",
    file: "server/Heartbeat.ts",
    line: "if ([name, ...others].some((by) => isBack(by) || isHeld(by))) found.push(resource)",
    becomes: "found.push(resource)"
  },
  {
    fault: "the shortest suffix matches a host",
    file: "resource/VirtualHostDiscovery.ts",
    line: ".sort(([one], [other]) => other - one)",
    becomes: ".sort(([one], [other]) => one - other)"
  },
  {
    fault: "the `*` of a suffix stands for nothing",
    file: "resource/VirtualHostDiscovery.ts",
    line: "if (length === 0 || length >= host.length) continue",
    becomes: "if (length === 0 || length > host.length) continue"
  },
  {
    fault: "a better match that appears elsewhere concerns nobody",
    file: "server/SubscriptionChanges.ts",
    line: "  difference.domains.length === 0 && difference.touched.size",
    becomes: "  difference.touched.size"
  },
  {
    fault: "a client that comes back by a name that another has now is not told that it is gone",
    file: "server/QuotedVersions.ts",
    line: "if (!Subscriptions.hasName(self, name) || !ChangeLog.hadAlias(set, resource.name, name, version)) gone.push(name)",
    becomes: "if (!Subscriptions.hasName(self, name)) gone.push(name)"
  },
  {
    fault: "what a client holds by an alias is always removed when it returns",
    file: "server/QuotedVersions.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (!Subscriptions.hasName(self, name) || !ChangeLog.hadAlias(set, resource.name, name, version)) gone.push(name)",
    becomes: "gone.push(name)"
  },
  {
    fault: "an own name at another version is taken for an alias",
    file: "resource/ChangeLog.ts",
    by: "packages/core/test/traces.test.ts",
    line: "return resource?.fingerprint === version && resource.version === version && resource.aliases.includes(alias)",
    becomes: "return resource?.aliases.includes(alias) === true"
  },
  {
    fault: "the label of an alias is taken for a version of its content",
    file: "resource/ChangeLog.ts",
    by: "packages/core/test/traces.test.ts",
    line: "return resource?.fingerprint === version && resource.version === version && resource.aliases.includes(alias)",
    becomes: "return resource?.version === version && resource.aliases.includes(alias)"
  },
  {
    fault: "no time is set to renew what is removed in the state of a held phase and back in the newest",
    file: "server/Due.ts",
    by: "packages/core/test/traces.test.ts",
    line: "Heartbeat.dueAt(self, set, returning)",
    becomes: "Heartbeat.dueAt(self, set, undefined)"
  },
  {
    fault: "what is removed in the state of a held phase and back in the newest is not renewed",
    file: "server/Sending.ts",
    by: "packages/core/test/traces.test.ts",
    line: "Heartbeat.due(subscription, set, due.returning, protocol, now)",
    becomes: "Heartbeat.due(subscription, set, undefined, protocol, now)"
  },
  {
    fault: "what a held phase removes and changes at once is not renewed though it is back",
    file: "server/Due.ts",
    by: "packages/core/test/traces.test.ts",
    line: "changes.gone.size > 0) || mayReturn) {",
    becomes: "changes.gone.size > 0)) {"
  },
  {
    fault: "what was renewed although its state lacks it is sent again",
    file: "server/Heartbeat.ts",
    by: "packages/core/test/traces.test.ts",
    line: "=== undefined && !renewed.has(own)) found.add(own)",
    becomes: "=== undefined) found.add(own)"
  },
  {
    fault: "what is back with other content is renewed before it is sent",
    file: "server/Heartbeat.ts",
    by: "packages/core/test/traces.test.ts",
    line: "now.fingerprint !== before?.fingerprint) return",
    becomes: "false) return"
  },
  {
    fault: "a name that leads to another resource now counts as that of the one before",
    file: "resource/Cursor.ts",
    by: "packages/core/test/regressions.test.ts",
    line: '      if (draft.has(alias)) draft.set(alias, "")\n',
    becomes: ""
  },
  {
    fault: "a resource whose name is another's alias stays where it was when that name is asked for",
    file: "server/IncrementalAnswers.ts",
    by: "packages/core/test/traces.test.ts",
    line: "(own === name || isOwnLost())",
    becomes: "own !== name && isOwnLost()"
  },
  {
    fault: "a resource whose name is another's alias stays where it was when that other one is asked for",
    file: "server/IncrementalAnswers.ts",
    by: "packages/core/test/traces.test.ts",
    line: ' || (held !== "" && now !== undefined && sent.has(now))',
    becomes: ""
  },
  {
    fault: "with the wildcard the removal of what is known by a subscribed alias is forgotten",
    file: "server/RequestedNames.ts",
    by: "packages/core/test/regressions.test.ts",
    line: " || known.has(name) || resource === undefined",
    becomes: ""
  },
  {
    fault: "digests: what an earlier resource left in the buffer counts",
    file: "resource/Digest.ts",
    by: "packages/core/test/properties.test.ts",
    line: "return this.#buffer.subarray(0, filled)",
    becomes: "return this.#buffer"
  },
  {
    fault: "a host that is back is renewed without the names by which it was asked for",
    file: "server/Incremental.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (returning === undefined) return yield* matchedAliases(self, asked, resources)",
    becomes: "return yield* matchedAliases(self, asked, resources)"
  },
  {
    fault: "an assignment that is back before its removal was sent is not sent after its cluster",
    file: "server/EdsAfterCds.ts",
    by: "packages/core/test/traces.test.ts",
    line: "    OnDemandNames.isHeld(endpoints, name)",
    becomes: "    false"
  },
  {
    fault: "an assignment that a returning client quotes, back before the first answer, is not sent after its cluster",
    file: "server/EdsAfterCds.ts",
    by: "packages/core/test/traces.test.ts",
    line: "isAsked(name) || Collections.isMember(endpoints, name)",
    becomes: "isAsked(name)"
  },
  {
    fault: "what is quoted by its own name counts as known by each alias",
    file: "server/QuotedVersions.ts",
    line: "if (many.has(resource)) return true",
    becomes: ""
  },
  {
    fault: "what is quoted counts as known by a host whose better match is gone",
    file: "server/QuotedVersions.ts",
    line: "return !resource.aliases.includes(name) && (isOther ??= holdsOthers(set, before))",
    becomes: "return false"
  },
  {
    fault: "a quoted name that was given up since counts as held by its alias",
    file: "server/QuotedVersions.ts",
    line: "if (self.resendEvenIfHeld.size > 0) return true",
    becomes: ""
  },
  {
    fault: "what was given up before the first answer is not told by the alias that is left",
    file: "server/QuotedVersions.ts",
    line: ": !wild && !mayHaveOthers",
    becomes: ": !wild"
  },
  {
    fault: "a deletion that waits is forgotten when the name is given to another",
    file: "server/Incremental.ts",
    line: "if (isOther && (advanced || sent.has(name))) gone.push(name)",
    becomes: ""
  },
  {
    fault: "what comes by a name that is taken away is renewed in the same response",
    file: "server/Incremental.ts",
    line: "yield* Steps.filter(yield* renewed(self, set, before, held, resources), isFree)",
    becomes: "yield* renewed(self, set, before, held, resources)"
  },
  {
    fault: "what is held back and then comes by no name is left with the client",
    file: "server/Incremental.ts",
    line: "if (held !== undefined) kept.set(name, held)",
    becomes: ""
  },
  {
    fault: "what is held back comes by the name that was taken away alone",
    file: "server/Incremental.ts",
    line: "if (wild || (Subscriptions.hasName(self, name) && !isTold(name)) || removedNames.has(name)) later.add(name)",
    becomes: "if (removedNames.has(name)) later.add(name)"
  },
  {
    fault: "what takes two responses lets types after it go between",
    file: "server/Sending.ts",
    line: "isHalf ? self.round.place : place",
    becomes: "place"
  },
  {
    fault: "a resource that came by an alias and is asked for by its name counts as not sent",
    file: "server/RequestedNames.ts",
    line: 'if (own !== alias && held !== "" && names.get(own) === "") {',
    becomes: "if (false) {"
  },
  {
    fault: "beside a wildcard a host that leads elsewhere is not told",
    file: "server/SubscriptionChanges.ts",
    line: "changed = [...changed, ...moved]",
    becomes: ""
  },
  {
    fault: "a lost resource is told by the name that was asked for alone",
    file: "server/SubscriptionChanges.ts",
    line: "if (own === name) return\n",
    becomes: "return\n"
  },
  {
    fault: "a resource is left with a client that asked for it by a name that is another resource's own now",
    file: "server/QuotedVersions.ts",
    line: "isSome(self.names.keys(), (name) => !isQuotedItself(name))",
    becomes: "isSome(self.names.keys(), (name) => !before.others.has(name) && ResourceSet.get(set, name) === undefined)"
  },
  {
    fault: "openers of route configurations that are gone are remembered",
    file: "server/VirtualHostOpeners.ts",
    line: "const sent = NameSet.filter(self.sentOpeners, (name) => names.has(name))",
    becomes: "const sent = self.sentOpeners"
  },
  {
    fault: "client: a NACK advances the version",
    file: "client/ClientSubscription.ts",
    line: "const version = error === undefined ? response.version : self.version",
    becomes: "const version = response.version"
  },
  {
    fault: "client: an ACK has no nonce",
    file: "client/NextRequest.ts",
    line: "responseNonce: self.nonce,",
    becomes: 'responseNonce: "",'
  },
  {
    fault: "client: an error is said again with the next request",
    file: "client/NextRequest.ts",
    line: "listed: isLegacy ? self.listed : listed",
    becomes: "listed: isLegacy ? self.listed : listed, answers: self.answers"
  },
  {
    fault: "client: a request without names is sent for a type that nobody wants",
    file: "client/NextRequest.ts",
    line: 'if (!self.hasRequested) return isWanted(self) ? "first" : "nothing"',
    becomes: 'if (!self.hasRequested) return "first"'
  },
  {
    fault: "client: a response is acknowledged before it was applied",
    file: "client/NextRequest.ts",
    line: 'return answer?.applied === true && self.heldBackUntil === never ? "answer" : "nothing"',
    becomes: 'return answer !== undefined && self.heldBackUntil === never ? "answer" : "nothing"'
  },
  {
    fault: "client: a timer is armed before there is a connection",
    file: "client/ClientStream.ts",
    line: "return flush(put(self, ClientSubscriptions.subscribe(before, input.names, input.cached)), none, now, held)",
    becomes:
      "return flush(put(self, ResourceTimer.arm(ClientSubscriptions.subscribe(before, input.names, input.cached), input.names, now + self.options.resourceTimeout)), none, now, held)"
  },
  {
    fault: "client: timers run on while there is no stream",
    file: "client/ClientSubscription.ts",
    line: "    waiting: HashMap.map(self.waiting, () => never),\n    dueAt: never,\n",
    becomes: "\n"
  },
  {
    fault: "client: a resource that is rejected counts as missing",
    file: "client/ReceivedResponse.ts",
    line: "const seen = [...brought, ...withCollections(unusable), ...gone]",
    becomes: "const seen = brought"
  },
  {
    fault: "client: the timer of a name that was given up goes on",
    file: "client/ClientSubscription.ts",
    line: "      HashMap.remove(waiting, name)\n      refreshing",
    becomes: "      refreshing"
  },
  {
    fault: "client: a name given up and asked for again is not asked for",
    file: "client/ClientSubscription.ts",
    line: "    HashSet.add(fresh, name)\n    if (self.hasRequested)",
    becomes: "    if (!HashSet.has(self.dropped, name)) HashSet.add(fresh, name)\n    if (self.hasRequested)"
  },
  {
    fault: "client: the answer leaves before the request that it caused",
    file: "client/ClientStream.ts",
    line: "return change ?? answer",
    becomes: "return answer ?? change"
  },
  {
    fault: "client: two requests are under way",
    file: "client/ClientStream.ts",
    line: 'if (self.connection !== "connected" || self.writing !== undefined) return [self, before]',
    becomes: 'if (self.connection !== "connected") return [self, before]'
  },
  {
    fault: "client: every request has the node",
    file: "client/ClientStream.ts",
    line: "{ ...put(self, after), nodeSent: true,",
    becomes: "{ ...put(self, after),"
  },
  {
    fault: "client: initial_resource_versions is left out",
    file: "client/NextRequest.ts",
    line: "initialResourceVersions: hasRequested ? noVersions : held(),",
    becomes: "initialResourceVersions: noVersions,"
  },
  {
    fault: "client: versions of one server are told to another",
    file: "client/CacheVersions.ts",
    line: 'if (held.server === server && held.version !== "" && isWell) found.set(held.ownName, held.version)',
    becomes: 'if (held.version !== "" && isWell) found.set(held.ownName, held.version)'
  },
  {
    fault: "client: what was never seen counts as deleted when it is absent",
    file: "client/CacheUpdate.ts",
    line: "const isKnown = entry.held?.server === server ? isServed(name) : isAnswered(name)",
    becomes: "const isKnown = true"
  },
  {
    fault: "client: a response of heartbeats alone deletes the rest",
    file: "client/Validation.ts",
    line: "(this.#bodies > 0 || response.resources.length === 0)",
    becomes: "true"
  },
  {
    fault: "client: absence deletes resources of every type",
    file: "client/Validation.ts",
    line: "    decoder.isFullState &&\n",
    becomes: "\n"
  },
  {
    fault: "client: a name that is there twice is accepted",
    file: "client/Validation.ts",
    line: "problems.push(`resource ${JSON.stringify(name)}: is there twice`)",
    becomes: ""
  },
  {
    fault: "client: a name both in resources and in removed_resources is accepted",
    file: "client/Validation.ts",
    line: '(isGone ? "is in resources and in removed_resources" : undefined) ??',
    becomes: ""
  },
  {
    fault: "client: a resource of another type is accepted",
    file: "client/Validation.ts",
    line: "(isOtherType ? otherType() : undefined) ??",
    becomes: ""
  },
  {
    fault: "client: a rejected resource is not used any more",
    file: "client/CacheUpdate.ts",
    line: 'changes.fail(name, known ?? requested, "Nacked", failure, failOnDataErrors)',
    becomes: 'changes.fail(name, known ?? requested, "Nacked", failure, true)'
  },
  {
    fault: "client: who watches late is told nothing",
    file: "client/CacheWatch.ts",
    line: "...(entry.held === undefined ? [] : [updatedOf(entry.held)]),",
    becomes: ""
  },
  {
    fault: "client: who watches late is not told what is wrong",
    file: "client/CacheWatch.ts",
    line: "...(entry.failure === undefined ? [] : [resultOf(entry, entry.failure.error)])",
    becomes: ""
  },
  {
    fault: "client: what is given up is forgotten before the server knows",
    file: "client/ClientWatch.ts",
    line: 'const isRetained = isRequested && list.servers[list.active]?.protocol === "StateOfTheWorld"',
    becomes: "const isRetained = false"
  },
  {
    fault: "client: a TTL that is over is not noticed",
    file: "client/ClientCache.ts",
    line: "if (now < type.expiresAt) continue",
    becomes: "continue"
  },
  {
    fault: "client: the end of a stream without a response is told to nobody",
    file: "client/ClientStream.ts",
    line: 'return [rest(next), responded ? none : [{ _tag: "Failed", error, retryAt }]]',
    becomes: "return [rest(next), none]"
  },
  {
    fault: "client: a response does not reset the backoff",
    file: "client/ClientStream.ts",
    line: "backoff: Backoff.reset(self.backoff), failure: undefined",
    becomes: "failure: undefined"
  },
  {
    fault: "client: streams follow one another without a pause",
    file: "client/Backoff.ts",
    line: "Math.max(now, self.startedAt + options.floor)\n",
    becomes: "now\n"
  },
  {
    fault: "client: what a server sends again and again is rejected as often",
    file: "client/ClientSubscription.ts",
    line: "heldBackUntil: heldUntil }",
    becomes: "heldBackUntil: never }"
  },
  {
    fault: "client: it falls back although nobody waits for a resource",
    file: "client/Fallback.ts",
    line: "if (ServerList.hasNext(list) && isNeeded(draft, list)) return fallBack(draft, listName, list)",
    becomes: "if (ServerList.hasNext(list)) return fallBack(draft, listName, list)"
  },
  {
    fault: "client: it never goes back to the server of higher rank",
    file: "client/Fallback.ts",
    line: "if (isGone || updated.some(isOfList) || unchanged.some(isOfList)) goBack(draft, name, list, rank)",
    becomes: ""
  },
  {
    fault: "client: errors of resources that a wildcard brings are passed over",
    file: "client/Validation.ts",
    line: "if (!isAsked(name, this.view)) return",
    becomes: 'if (name !== "*" && !this.view.isNamed(name) && !this.view.isMember(name)) return'
  },
  {
    fault: "client: an error of everything is passed over",
    file: "client/Validation.ts",
    line: "if (!isAsked(name, this.view)) return",
    becomes: 'if (name === "*" || !isAsked(name, this.view)) return'
  },
  {
    fault: "client: beside an error of everything, what a response lacks is gone",
    file: "client/Validation.ts",
    line: 'if (name === "*" && error.code !== NOT_FOUND) this.#isWhole = false',
    becomes: ""
  },
  {
    fault: "client: everything that is not found stays",
    file: "client/CacheUpdate.ts",
    line: "const isDropping = error.code === NOT_FOUND || (this.policy.failOnDataErrors && isDataError(error))",
    becomes: "const isDropping = this.policy.failOnDataErrors && isDataError(error)"
  },
  {
    fault: "client: a resource that is not found stays, though only the wildcard brought it",
    file: "client/CachedType.ts",
    line: '  status === "DoesNotExist" || (status === "ReceivedError" && error.code === NOT_FOUND)\n',
    becomes: '  status === "DoesNotExist"\n'
  },
  {
    fault: "client: an error of the server is forgotten with the next response",
    file: "client/CacheUpdate.ts",
    line: 'if (entry.status === "ReceivedError" && (entry.failure?.at ?? 0) >= since) return',
    becomes: ""
  },
  {
    fault: "client: what the server could not give stays for ever, whatever it says on the next stream",
    file: "client/CacheUpdate.ts",
    line: 'if (entry.status === "ReceivedError" && (entry.failure?.at ?? 0) >= since) return',
    becomes: 'if (entry.status === "ReceivedError") return'
  },
  {
    fault: "client: it names the version of what the server could not give",
    file: "client/CacheVersions.ts",
    line: 'const isWell = status !== "ReceivedError" && (type.failure === undefined || !isFree)',
    becomes: "const isWell = type.failure === undefined || !isFree"
  },
  {
    fault: "client: errors of ever new names are all remembered",
    file: "client/CacheUpdate.ts",
    line: "if (known === undefined && changes.size >= maxResources) return",
    becomes: ""
  },
  {
    fault: "client: a resource that is gone and the reason why are a contradiction",
    file: "client/Validation.ts",
    line: "for (const { name } of errors) this.gone.delete(name)",
    becomes: ""
  },
  {
    fault: "client: the end of one server's stream drops what is retained of another's",
    file: "client/ClientDraft.ts",
    line: "for (const { typeUrl } of types) this.cache = ClientCache.dropRetainedOf(this.cache, typeUrl, key)",
    becomes:
      "for (const { typeUrl } of types) for (const each of this.streams.keys()) this.cache = ClientCache.dropRetainedOf(this.cache, typeUrl, each)"
  },
  {
    fault: "client: what is retained of one server is dropped because another was written to",
    file: "client/Client.ts",
    line: "draft.cache = ClientCache.retain(draft.cache, writing.typeUrl, input.stream, draft.now + responseDelay)",
    becomes:
      "for (const each of draft.streams.keys()) draft.cache = ClientCache.retain(draft.cache, writing.typeUrl, each, draft.now + responseDelay)"
  },
  {
    fault: "client: that the server can be reached again is told beside what it sends",
    file: "client/ReceivedResponse.ts",
    line: "Fallback.serverAnswers(draft, key, notices)",
    becomes: "Fallback.serverAnswers(draft, key)"
  },
  {
    fault: "client: another server is not told what an incremental wildcard holds",
    file: "client/CacheVersions.ts",
    line: "else if (isFree && isUnnamed(type, name)) found.set(name, unknownVersion)",
    becomes: ""
  },
  {
    fault: "client: what another server brought since the first request is told to nobody",
    file: "client/ReceivedResponse.ts",
    line: "if (changed.some((name) => ClientSubscriptions.brings(subscription, name)))",
    becomes: "if (false)"
  },
  {
    fault: "client: a server that answers in several parts is asked anew",
    file: "client/ClientDraft.ts",
    line: "if (to === undefined || ClientStream.subscription(to.stream, typeUrl)?.undeclared !== true) return",
    becomes: "if (to === undefined) return"
  },
  {
    fault: "client: a wildcard that begins on a stream in use is not told what is held",
    file: "client/ClientDraft.ts",
    line: "if (isUndeclared && ClientCache.isHoldingOfOthers(this.cache, typeUrl, server.id)) {",
    becomes: "if (false) {"
  },
  {
    fault: "client: what a later request asked for is never missed in a response",
    file: "client/ClientSubscription.ts",
    line: "HashSet.has(self.late, asked) && self.lateAt > crossed",
    becomes: "HashSet.has(self.late, asked)"
  },
  {
    fault: "client: what a later request asked for is missed in every response",
    file: "client/ClientSubscription.ts",
    line: "HashSet.has(self.late, asked) && self.lateAt > crossed",
    becomes: "false"
  },
  {
    fault: "client: what was seen on one stream is waited for on no other",
    file: "client/ReceivedResponse.ts",
    line: "names: other === key ? seen : brought",
    becomes: "names: seen"
  },
  {
    fault: "client: servers that differ in fail_on_data_errors share a stream",
    file: "packages/client/src/XdsClient.ts",
    line: "JSON.stringify([address, credentials, failOnDataErrors, resourceTimerIsTransientError])",
    becomes: "JSON.stringify([address, credentials, resourceTimerIsTransientError])"
  },
  {
    fault: "client: servers that differ in resource_timer_is_transient_error share a stream",
    file: "packages/client/src/XdsClient.ts",
    line: "JSON.stringify([address, credentials, failOnDataErrors, resourceTimerIsTransientError])",
    becomes: "JSON.stringify([address, credentials, failOnDataErrors])"
  },
  {
    fault: "client: servers that differ in credentials share a stream",
    file: "packages/client/src/XdsClient.ts",
    line: "JSON.stringify([address, credentials, failOnDataErrors, resourceTimerIsTransientError])",
    becomes: "JSON.stringify([address, failOnDataErrors, resourceTimerIsTransientError])"
  },
  {
    fault: "client: a watcher that ended holds up the answer",
    file: "client/FlowControl.ts",
    line: "return then(take(self, input.watcher, now), (next) => pass(next, input, now))",
    becomes: "return pass(self, input, now)"
  },
  {
    fault: "client: that all is well again is told beside a state that was not taken yet",
    file: "packages/client/src/internal/Watcher.ts",
    line: 'before.ambient = bearing === "Recovered" && before.state !== undefined ? undefined : event',
    becomes: "before.ambient = event"
  },
  {
    fault: "client: every watch is a request of its own",
    file: "packages/client/src/internal/Driver.ts",
    line: "this.unwritten.set(key, open)",
    becomes: 'this.run({ _tag: "Written", stream: key })'
  },
  {
    fault: "client: an event loop that never calls back stops every stream",
    file: "packages/client/src/XdsClient.ts",
    by: "packages/client/test/defects.test.ts",
    line: "const loop = yield* EventLoop.guarded",
    becomes: "const loop = yield* EventLoop.EventLoop"
  },
  {
    fault: "server: an event loop that never calls back stops every stream",
    file: "packages/server/src/XdsServer.ts",
    by: "packages/server/test/eventLoop.test.ts",
    line: "const loop = yield* EventLoop.guarded",
    becomes: "const loop = yield* EventLoop.EventLoop"
  },
  {
    fault: "event loop: what is done in time is late",
    file: "packages/transport/src/EventLoop.ts",
    by: "packages/server/test/eventLoop.test.ts",
    line: "if (!before.some((task) => this.tasks.has(task))) return look",
    becomes: "if (before.length === 0) return look"
  },
  {
    fault: "event loop: what it does at once is not noticed",
    file: "packages/transport/src/EventLoop.ts",
    by: "packages/server/test/eventLoop.test.ts",
    line: "if (isGiving) this.distrust(",
    becomes: "if (isGiving && this.repeated < 0) this.distrust("
  },
  {
    fault: "event loop: what it does twice is done twice",
    file: "packages/transport/src/EventLoop.ts",
    by: "packages/server/test/eventLoop.test.ts",
    line: "if (this.done(task)) task.work()",
    becomes: "this.done(task), task.work()"
  },
  {
    fault: "event loop: what was given before its first mistake is lost",
    file: "packages/transport/src/EventLoop.ts",
    by: "packages/server/test/eventLoop.test.ts",
    line: "for (const task of this.tasks) task.cancel =",
    becomes: "for (const task of new Set<Task>()) task.cancel ="
  },
  {
    fault: "event loop: a clock that stands still is believed for ever",
    file: "packages/transport/src/EventLoop.ts",
    by: "packages/server/test/eventLoop.test.ts",
    line: "} else if (++this.repeated >= readings) this.distrust(",
    becomes: "} else if (++this.repeated >= 1e9) this.distrust("
  },
  {
    fault: "client: a random number that is none is believed",
    file: "packages/client/src/internal/Environment.ts",
    by: "packages/client/test/defects.test.ts",
    line: 'if (typeof random === "number" && random >= 0 && random < 1) return random',
    becomes: 'if (typeof random === "number") return random'
  },
  {
    fault: "client: a tracer that throws at the end of a span stops everything",
    file: "packages/client/src/internal/Environment.ts",
    by: "packages/client/test/defects.test.ts",
    line: "        end = (reason) =>\n          guarded(() => {",
    becomes: "        end = (reason) =>\n          [0].forEach(() => {"
  },
  {
    fault: "client: what a validator gives is taken for its words",
    file: "packages/client/src/WatchableType.ts",
    by: "packages/client/test/defects.test.ts",
    line: 'return Either.left(typeof problem === "string" ? problem : `validate gave no text: ${Given.kindOf(problem)}`)',
    becomes: 'return typeof problem === "string" ? Either.left(problem) : Either.right(value)'
  },
  {
    fault: "client: who watches without any server is told nothing",
    file: "client/ClientWatch.ts",
    by: "packages/client/test/defects.test.ts",
    line: "if (draft.serverLists.get(listName)?.servers.length === 0) {",
    becomes: "if (draft.serverLists.get(listName) === undefined) {"
  },
  {
    fault: "client: a response is answered while watchers are at work on it",
    file: "client/FlowControl.ts",
    line: "if (HashSet.size(delivery.watchers) > 0) continue",
    becomes: ""
  },
  {
    fault: "client: after a response that was not asked for no other one is read",
    file: "client/FlowControl.ts",
    line: 'return [next, [...outputs, { _tag: "Read", stream: input.stream }]]',
    becomes: "return [next, outputs]"
  },
  {
    fault: "client: a watcher that does not come back holds up its stream for ever",
    file: "client/FlowControl.ts",
    line: "for (const { until } of self.deliveries) at = Math.min(at, until)",
    becomes: ""
  },
  {
    fault: "client: a server that does not wait puts off the end of the watcher timeout",
    file: "client/FlowControl.ts",
    line: "const until = before?.until ?? now + self.watcherTimeout",
    becomes: "const until = now + self.watcherTimeout"
  },
  {
    fault: "client: what a stream that ended brought is waited for",
    file: "client/FlowControl.ts",
    line: "const deliveries = without(self.deliveries, input.stream)",
    becomes: "const { deliveries } = self"
  },
  {
    fault: "client: a stream that is closed is read",
    file: "client/FlowControl.ts",
    line: 'if (output._tag === "Close") deliveries = without(deliveries, output.stream)',
    becomes: ""
  },
  {
    fault: "client: watchers of a response before are forgotten with the next one of its type",
    file: "client/FlowControl.ts",
    line: "const watchers = before === undefined ? told : HashSet.union(told, before.watchers)",
    becomes: "const watchers = told"
  },
  {
    fault: "client: a printed state that was changed is restored",
    file: "client/ClientState.ts",
    by: "packages/core/test/client/ClientState.test.ts",
    line: "if (text.slice(0, space) !== digestOf(printed)) {",
    becomes: 'if (text === "") {'
  },
  {
    fault: "client: what is held is not decoded again when a state is restored",
    file: "client/ClientState.ts",
    by: "packages/core/test/client/ClientState.test.ts",
    line: "if (Either.isRight(value)) return value.right",
    becomes: "if (Either.isRight(value)) return undefined"
  },
  {
    fault: "client: the order that a response left is trusted after a change",
    file: "client/ClientCache.ts",
    line: "const isCurrent = order.server === server && order.revision === revision",
    becomes: "const isCurrent = order.server === server"
  },
  {
    fault: "client: a second decoder of a type takes the place of the first",
    file: "client/Client.ts",
    line: "if (known !== undefined) return Either.left(new DecoderConflict({ typeUrl: decoder.typeUrl }))",
    becomes: ""
  },
  {
    fault: "what is put off until others had their turn is done at once where nobody else has anything to do",
    file: "packages/server/src/XdsServer.ts",
    line: "worker.startLater()",
    becomes: "worker.start()"
  },
  {
    fault: "who left is still told of changes",
    file: "server/FanOut.ts",
    by: "packages/server/test",
    line: "    this.streams.delete(stream)\n    return this.interests.delete(stream)\n",
    becomes: "    this.streams.delete(stream)\n    return undefined\n"
  },
  {
    fault: "groups without streams are kept",
    file: "packages/server/src/XdsServer.ts",
    line: "groups.delete(group.name)",
    becomes: ""
  },
  {
    fault: "the interest in a type that is not asked for any more is kept",
    file: "server/InterestIndex.ts",
    line: "changes.push({ typeUrl: from.typeUrl, from, to: undefined })",
    becomes: "continue"
  },
  {
    fault: "a type that nobody asks for is kept",
    file: "server/InterestIndex.ts",
    line: "if (all.size === 0 && named.size === 0 && this.#types.get(typeUrl) === subscribers) this.#types.delete(typeUrl)",
    becomes: ""
  },
  {
    fault: "client: every delay is as long as the jitter makes it, never shorter",
    file: "client/Backoff.ts",
    line: "(2 * random - 1)",
    becomes: "random"
  },
  {
    fault: "client: a name of another type is asked for",
    file: "protocol/Authority.ts",
    line: "if (match[1] !== typeName)",
    becomes: "if (false)"
  },
  {
    fault: "an ended watch stays in the client's table",
    file: "client/ClientWatch.ts",
    line: "draft.watches = HashMap.remove(draft.watches, watcher)",
    becomes: "void watcher"
  },
  {
    fault: "what a cluster needed stays in the table when the cluster is gone",
    file: "client/Warming.ts",
    line: "HashMap.remove(this.needs, name)",
    becomes: "void name"
  },
  {
    fault: "a request's error_detail may have any number of fields",
    file: "wire/Request.ts",
    line: "const mostInside = 1_024",
    becomes: "const mostInside = Number.POSITIVE_INFINITY"
  },
  {
    fault: "client: the same error of another version is not told",
    file: "client/CachedType.ts",
    line: "      failure.version === entry.failure?.version &&\n",
    becomes: "      entry.failure !== undefined &&\n"
  },
  {
    fault: "client: a wildcard that is never answered counts as one that is up to date",
    file: "client/Fallback.ts",
    line: ': name === "*" || Collection.isGlob(name) || server.resourceTimerIsTransientError === true',
    becomes: ": server.resourceTimerIsTransientError === true"
  },
  {
    fault: "client: what was wrong with an earlier state is told beside the next",
    file: "packages/client/src/internal/Watcher.ts",
    line: 'isGone: bearing === "Gone", ambient: undefined })',
    becomes: 'isGone: bearing === "Gone", ambient: before?.ambient })'
  },
  {
    fault: "client: a watcher at work counts as idle",
    file: "packages/client/src/internal/Watcher.ts",
    line: "    this.#busy = true\n",
    becomes: ""
  },
  {
    fault: "two commas without anything in between are taken in a long text",
    file: "packages/transport-node/src/JsonParts.ts",
    line: "if (needed) throw new Malformed({ at: end, exact: true })",
    becomes: "",
    by: "packages/transport-node/test/JsonParts.test.ts"
  },
  {
    fault: "a name that is repeated in a long text keeps its first value",
    file: "packages/transport-node/src/JsonParts.ts",
    line: "  else members[key] = value",
    becomes: "  else members[key] ??= value",
    by: "packages/transport-node/test/JsonParts.test.ts"
  },
  {
    fault: "what is large in a message is left out of its bytes",
    file: "packages/transport-node/src/MessageParts.ts",
    line: "encoded.push(yield* encodeField(schema, of, key, member, options, depth))",
    becomes: "yield* encodeField(schema, of, key, member, options, depth)",
    by: "packages/transport-node/test/JsonParts.test.ts"
  },
  {
    fault: "a long text is parsed at once",
    file: "packages/transport-node/src/JsonParts.ts",
    line: "if (this.#comma(at)) yield",
    becomes: "this.#comma(at)",
    by: "packages/transport-node/test/JsonParts.test.ts"
  },
  {
    fault: "an answer that nobody reads to its end keeps its scope",
    file: "packages/transport-node/src/HttpListener.ts",
    line: '    response.once("close", () => resume(Effect.void))\n',
    becomes: '    response.once("close", () => undefined)\n',
    by: "packages/transport-node/test/HttpListener.test.ts"
  },
  {
    fault: "a request whose client is gone goes on",
    file: "packages/transport-node/src/HttpListener.ts",
    line: "if (!response.writableEnded) fiber.unsafeInterruptAsFork(fiber.id())",
    becomes: "",
    by: "packages/transport-node/test/HttpListener.test.ts"
  },
  {
    fault: "an answer that breaks off looks whole",
    file: "packages/transport-node/src/HttpListener.ts",
    line: "        response.destroy()\n",
    becomes: "        response.end()\n",
    by: "packages/transport-node/test/HttpListener.test.ts"
  },
  {
    fault: "requests are answered after the scope has closed",
    file: "packages/transport-node/src/HttpListener.ts",
    line: 'Effect.sync(() => void server.off("request", onRequest))',
    becomes: "Effect.void",
    by: "packages/transport-node/test/HttpListener.test.ts"
  },
  {
    fault: "a span has what stands behind the question mark",
    file: "packages/transport-node/src/HttpListener.ts",
    line: 'url.replace(/\\?.*$/s, "")',
    becomes: "url",
    by: "packages/transport-node/test/HttpListener.test.ts"
  },
  {
    fault: "a span is no child of the client's",
    file: "packages/transport-node/src/HttpListener.ts",
    line: "...(parent !== undefined && { parent })",
    becomes: "...(parent === undefined && { parent })",
    by: "packages/transport-node/test/HttpListener.test.ts"
  },
  {
    fault: "a star in a URI stands for a part of a name",
    file: "packages/cli/src/AllowList.ts",
    line: "${name.slice(0, at + 1)}*",
    becomes: "${name.slice(0, at - 1)}/*",
    by: "packages/cli/test/AllowList.test.ts"
  },
  {
    fault: "a star in a URI stands for nothing, too",
    file: "packages/cli/src/AllowList.ts",
    line: "if (at + 1 < name.length) yield",
    becomes: "yield",
    by: "packages/cli/test/AllowList.test.ts"
  },
  {
    fault: "a star stands for several labels of a host",
    file: "packages/cli/src/AllowList.ts",
    line: 'name.startsWith("DNS:") ? name.indexOf(".")',
    becomes: 'name.startsWith("DNS:") ? name.lastIndexOf(".")',
    by: "packages/cli/test/AllowList.test.ts"
  },
  {
    fault: "the name of a host is compared with its case",
    file: "packages/cli/src/AllowList.ts",
    line: 'kind === "DNS" ? value.toLowerCase() : value',
    becomes: "value",
    by: "packages/cli/test/AllowList.test.ts"
  },
  {
    fault: "a file that changed is not read again",
    file: "packages/cli/src/AllowList.ts",
    line: "(isRead(signature) ? Effect.void : readOnce)",
    becomes: "Effect.void",
    by: "packages/cli/test/AllowList.test.ts"
  },
  {
    fault: "a file that cannot be used is told at every look",
    file: "packages/cli/src/AllowList.ts",
    line: "      if (reason === problem) return Effect.void\n",
    becomes: "",
    by: "packages/cli/test/AllowList.test.ts"
  },
  {
    fault: "the table has what is well first",
    file: "packages/admin/src/StatusTable.ts",
    line: '["nacked", "waiting", "sent", "asked", "acked"]',
    becomes: '["acked", "nacked", "waiting", "sent", "asked"]',
    by: "packages/admin/test/StatusTable.test.ts"
  },
  {
    fault: "a line of a peer's is a line of the table",
    file: "packages/admin/src/StatusTable.ts",
    line: 'text.replace(/[\\p{Cc}\\u2028\\u2029]+/gu, " ")',
    becomes: "text",
    by: "packages/admin/test/StatusTable.test.ts"
  },
  {
    fault: "a table's rows that are left out are not told",
    file: "packages/admin/src/StatusTable.ts",
    line: "`and ${all - shown.length} more`",
    becomes: "`and more`",
    by: "packages/admin/test/StatusTable.test.ts"
  },
  {
    fault: "a histogram has its last bucket twice",
    file: "packages/admin/src/PrometheusText.ts",
    line: "      .filter(([boundary]) => boundary !== Number.POSITIVE_INFINITY)\n",
    becomes: "",
    by: "packages/admin/test/PrometheusText.test.ts"
  },
  {
    fault: "metrics of one name and two kinds are one family",
    file: "packages/admin/src/PrometheusText.ts",
    line: "} else if (family.kind === rendered.kind) {",
    becomes: "} else {",
    by: "packages/admin/test/PrometheusText.test.ts"
  },
  {
    fault: "the admin port answers under every name",
    file: "packages/admin/src/AdminServer.ts",
    line: "if (isLoopback(name) || names.has(name) ||",
    becomes: 'if (name !== "" || isLoopback(name) || names.has(name) ||',
    by: "packages/admin/test/AdminServer.test.ts"
  },
  {
    fault: "answers that are over count towards the limit",
    file: "packages/admin/src/internal/Answers.ts",
    line: "(hasBegun) => Effect.sync(() => (hasBegun ? requests-- : requests))",
    becomes: "() => Effect.void",
    by: "packages/admin/test/AdminServer.test.ts"
  },
  {
    fault: "client: the last kind of credentials that is supported is taken",
    file: "packages/client/src/Bootstrap.ts",
    line: '      if (type !== "tls") continue\n',
    becomes: '      if (type !== "tls" || given.length > 1) continue\n',
    by: "packages/client/test/Bootstrap.test.ts"
  },
  {
    fault: "client: a template of another authority is accepted",
    file: "packages/client/src/Bootstrap.ts",
    line: "!template.startsWith(`xdstp://${name}/`)",
    becomes: '!template.startsWith("xdstp://")',
    by: "packages/client/test/Bootstrap.test.ts"
  },
  {
    fault: "client: a certificate without its key is accepted",
    file: "packages/client/src/Bootstrap.ts",
    line: '(given["certificate_file"] === undefined) !== (given["private_key_file"] === undefined)',
    becomes: "false",
    by: "packages/client/test/Bootstrap.test.ts"
  },
  {
    fault: "client: only the first mistake of a bootstrap is told",
    file: "packages/client/src/Bootstrap.ts",
    line: "Either.left(reader.mistakes)",
    becomes: "Either.left(reader.mistakes.slice(0, 1))",
    by: "packages/client/test/Bootstrap.test.ts"
  },
  {
    fault: "client: what it shows of itself has secrets",
    file: "packages/client/src/internal/ClientConfig.ts",
    line: "    await MessageRedaction.redact(schema, message)\n",
    becomes: "",
    by: "packages/client/test/XdsClient.test.ts"
  },
  {
    fault: "only the first streams are asked whether they may go on",
    file: "packages/server/src/XdsServer.ts",
    line: "if (++count === recheckedAtATime) return enqueue(rest)",
    becomes: "if (++count === recheckedAtATime) return",
    by: "packages/server/test/revocations.test.ts"
  },
  {
    fault: "what is taken back counts only for streams that are open",
    file: "packages/server/src/XdsServer.ts",
    line: "        revocation = next\n",
    becomes: "        revocation ??= () => undefined\n",
    by: "packages/server/test/revocations.test.ts"
  },
  {
    fault: "a stream that was allowed before it was taken back is served",
    file: "packages/server/src/internal/Connection.ts",
    line: "    // The permission may have been revoked meanwhile.\n    this.endIfRevoked(name)\n",
    becomes: "",
    by: "packages/server/test/revocations.test.ts"
  },
  {
    fault: "a stream goes on where the function of revocations fails",
    file: "packages/server/src/internal/Connection.ts",
    line: "    } catch (cause) {\n      this.fail(what, cause)\n",
    becomes: "    } catch {\n",
    by: "packages/server/test/revocations.test.ts"
  },
  {
    fault: "plain YAML: a number that a double cannot have is one",
    file: "packages/transport-filesystem/src/internal/PlainYaml.ts",
    line: "[1-9]\\d{0,14}|",
    becomes: "[1-9]\\d{0,18}|",
    by: "packages/transport-filesystem/test/PlainYaml.test.ts"
  },
  {
    fault: "plain YAML: what follows the last key is not read",
    file: "packages/transport-filesystem/src/internal/YamlText.ts",
    line: 'if (value === undefined || reader.indent >= 0) return "NotPlain"',
    becomes: 'if (value === undefined) return "NotPlain"',
    by: "packages/transport-filesystem/test/PlainYaml.test.ts"
  },
  {
    fault: "plain YAML: two keys of one name are one",
    file: "packages/transport-filesystem/src/internal/PlainYaml.ts",
    line: 'if (Object.hasOwn(object, name) || name === "__proto__") throw notPlain',
    becomes: 'if (name === "__proto__") throw notPlain',
    by: "packages/transport-filesystem/test/PlainYaml.test.ts"
  },
  {
    fault: "plain YAML: an element's place is that of its dash",
    file: "packages/transport-filesystem/src/internal/YamlText.ts",
    line: "elements.offsets.push(reader.elementAt)",
    becomes: "elements.offsets.push(begin)",
    by: "packages/transport-filesystem/test/PlainYaml.test.ts"
  },
  {
    fault: "client: a watcher that is gone is kept",
    file: "packages/client/src/internal/Driver.ts",
    line: "if (this.watchers.delete(id)) this.run(",
    becomes: "if (this.watchers.has(id)) this.run(",
    by: "packages/client/test/growth.test.ts"
  },
  {
    fault: "files: one that is gone is remembered",
    file: "packages/transport-filesystem/src/ResourceDirectory.ts",
    line: "        seen.delete(file)\n",
    becomes: "",
    by: "packages/transport-filesystem/test/ResourceDirectory.test.ts"
  },
  {
    fault: "files: what was told of a document that is read again stays",
    file: "packages/transport-filesystem/src/internal/JsonFile.ts",
    line: "        reading.takeBack()\n",
    becomes: "",
    by: "packages/transport-filesystem/test/Parts.test.ts"
  },
  {
    fault: "files: the resources of every message are those of a response",
    file: "packages/transport-filesystem/src/internal/JsonText.ts",
    line: 'if (isTold && !isResponseType(object["@type"])) {',
    becomes: "if (false) {",
    by: "packages/transport-filesystem/test/Parts.test.ts"
  },
  {
    fault: "protobuf text: a bracket in a string closes a message",
    file: "packages/transport-filesystem/src/internal/ProtobufText.ts",
    line: "        at = endOf(string, text, at)\n        if (at < 0) return -1\n        continue",
    becomes: "        break",
    by: "packages/transport-filesystem/test/Parts.test.ts"
  },
  {
    fault: "binary: nobody runs while resources are read",
    file: "packages/transport-filesystem/src/internal/BinaryFile.ts",
    line: "      const wait = reading.pause()\n      if (wait !== undefined) await wait\n      const any: Encoded",
    becomes: "      const any: Encoded",
    by: "packages/transport-filesystem/test/Parts.test.ts"
  },
  {
    fault: "plain YAML: elements with anchors are read by themselves",
    file: "packages/transport-filesystem/src/internal/YamlText.ts",
    line: 'if (!this.#isWithoutAnchors && hasAnchors(this.#text)) return "NotPlain"',
    becomes: "",
    by: "packages/transport-filesystem/test/PlainYaml.test.ts"
  },
  {
    fault: "messages of text: a field by both of its names is written twice",
    file: "packages/transport-filesystem/src/internal/MessageEncoder.ts",
    line: "if (index > first && this.#fields[index - 1] === field) return false",
    becomes: "",
    by: "packages/transport-filesystem/test/MessageEncoder.test.ts"
  },
  {
    fault: "messages of text: two of a oneof are both written",
    file: "packages/transport-filesystem/src/internal/MessageEncoder.ts",
    line: "if (oneofs && !this.#hasOneOfEach(first, end)) return false",
    becomes: "",
    by: "packages/transport-filesystem/test/MessageEncoder.test.ts"
  },
  {
    fault: "messages of text: fields stand in the order of the text",
    file: "packages/transport-filesystem/src/internal/MessageEncoder.ts",
    line: "before.number <= field.number) break",
    becomes: "before.number > 0) break",
    by: "packages/transport-filesystem/test/MessageEncoder.test.ts"
  },
  {
    fault: "messages of text: a default is written",
    file: "packages/transport-filesystem/src/internal/MessageEncoder.ts",
    line: "if (this.#out.isZero(content)) this.#out.rewind(before)",
    becomes: "",
    by: "packages/transport-filesystem/test/MessageEncoder.test.ts"
  },
  {
    fault: "messages of text: half of a character is written",
    file: "packages/proto/src/ByteWriter.ts",
    line: "if (half.test(value)) return false",
    becomes: "",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "messages of text: a number out of its bounds is written",
    file: "packages/transport-filesystem/src/internal/MessageEncoder.ts",
    line: "if (field.bounds !== undefined && ValueBounds.isOutside(value, field.bounds)) return false",
    becomes: "",
    by: "packages/transport-filesystem/test/MessageEncoder.test.ts"
  },
  {
    fault: "plain protobuf text: what separates a resource from the next field is not read",
    file: "packages/transport-filesystem/src/internal/ProtobufText.ts",
    line: 'return next === "," || next === ";"',
    becomes: 'return next === "#"',
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "the store: a change begins while another is being applied",
    file: "packages/server/src/SnapshotStore.ts",
    line: "pendingWrites.get(group)?.[0] === pending",
    becomes: "pendingWrites.has(group)",
    by: "packages/server/test/SnapshotStore.test.ts"
  },
  {
    fault: "the store: a Buffer that is given is not copied",
    file: "packages/server/src/snapshot/Encoding.ts",
    line: "const keepBytes = options.keepBytes === true",
    becomes: "const keepBytes = true",
    by: "packages/server/test/Snapshot.test.ts"
  },
  {
    fault: "names: a field that is not known for sure is taken",
    file: "packages/proto/src/ResourceType.ts",
    line: "return scan.isSure ? name : nameByReader(bytes, number)",
    becomes: "return name",
    by: "packages/proto/test/FieldScan.test.ts"
  },
  {
    fault: "a large change is looked at in one turn",
    file: "resource/ResourceSet.ts",
    line: "    if (++looked % Steps.atOnce === 0) yield\n    draft.put(resource)",
    becomes: "    draft.put(resource)",
    by: "packages/core/test/Steps.test.ts"
  },
  {
    fault: "files: that one was rejected is remembered when it is gone",
    file: "packages/transport-filesystem/src/internal/FileLog.ts",
    line: '} else if (event._tag !== "Missing") {',
    becomes: '} else if (event._tag === "Accepted") {',
    by: "packages/transport-filesystem/test/FileLog.test.ts"
  },
  {
    fault: "plain protobuf text: of two values of a field one is read",
    file: "packages/transport-filesystem/src/internal/PlainProtobufText.ts",
    line: "if (before !== undefined) throw notPlain",
    becomes: "",
    by: "packages/transport-filesystem/test/MessageEncoder.test.ts"
  },
  {
    fault: "plain protobuf text: a number ends anywhere",
    file: "packages/transport-filesystem/src/internal/PlainProtobufText.ts",
    line: "const integer = /(?:0|-?[1-9]\\d{0,19})(?![\\w.+-])/y",
    becomes: "const integer = /(?:0|-?[1-9]\\d{0,19})/y",
    by: "packages/transport-filesystem/test/MessageEncoder.test.ts"
  },
  {
    fault: "files: nobody runs while what a group holds is compared",
    file: "packages/transport-filesystem/src/internal/ResourceIndex.ts",
    line: "      if (++looked % atOnce === 0) yield\n      const key = keyOf(resource)",
    becomes: "      const key = keyOf(resource)",
    by: "packages/transport-filesystem/test/ResourceIndex.test.ts"
  },
  {
    fault: "messages in binary: what is no text is one",
    file: "packages/proto/src/internal/MessageWalk.ts",
    line: "if (field.isText && !isText(this.#bytes, this.#at, last)) return false",
    becomes: "",
    by: "packages/proto/test/MessageBytes.test.ts"
  },
  {
    fault: "messages in binary: what is in a message ends behind it",
    file: "packages/proto/src/internal/MessageWalk.ts",
    line: "if (length < 0 || last > end) return false",
    becomes: "if (length < 0) return false",
    by: "packages/proto/test/MessageBytes.test.ts"
  },
  {
    fault: "what a client refuses is sent compressed",
    file: "packages/transport-rest/src/internal/Negotiation.ts",
    line: "> 0\n}",
    becomes: "> -1\n}",
    by: "packages/transport-rest/test/Http.test.ts"
  },
  {
    fault: "the star of a suffix may stand for nothing",
    file: "packages/routing/src/Domains.ts",
    line: "for (const { byText, length } of self.suffixes) {\n    if (length >= folded.length) continue",
    becomes: "for (const { byText, length } of self.suffixes) {\n    if (length > folded.length) continue",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "hosts are compared with their case",
    file: "packages/routing/src/Domains.ts",
    line: "const folded = Ascii.fold(host)",
    becomes: "const folded = host",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "of a domain that is there twice the last wins",
    file: "packages/routing/src/Domains.ts",
    line: "if (first === undefined) kind.set(text, index)",
    becomes: "if (first !== undefined) kind.set(text, index)\n      if (first === undefined) kind.set(text, index)",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "two stars are one domain",
    file: "packages/routing/src/Domains.ts",
    line: '(isWild && domain.includes("*", star + 1))',
    becomes: "false",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "what a policy says of a connection that is there comes before what it said when it asked for it",
    file: "packages/routing/src/Tree.ts",
    line: 'outputs.filter(({ _tag }) => _tag === "State"), ...outputs.filter(({ _tag }) => _tag !== "State")',
    becomes: 'outputs.filter(({ _tag }) => _tag !== "State"), ...outputs.filter(({ _tag }) => _tag === "State")',
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "a path is certain whatever headers the route before it asks for",
    file: "packages/routing/src/Matcher.ts",
    line: "matcher.headers.length === 0 &&",
    becomes: "matcher.headers.length >= 0 &&",
    by: "packages/routing/test/certain.test.ts"
  },
  {
    fault: "a path is certain although a regular expression may take it before",
    file: "packages/routing/src/Matcher.ts",
    line: 'matcher.path._tag !== "Regex" &&',
    becomes: "",
    by: "packages/routing/test/certain.test.ts"
  },
  {
    fault: "a path that ignores case is a prefix",
    file: "packages/routing/src/PathMatcher.ts",
    line: 'case "path":\n      return { _tag: "Path"',
    becomes: 'case "path":\n      return { _tag: fold ? "Prefix" : "Path"',
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "short prefixes are not looked for",
    file: "packages/routing/src/PathMatcher.ts",
    line: "sort((a, b) => a.length - b.length)",
    becomes: "sort((a, b) => b.length - a.length)",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "a regular expression matches a part",
    file: "packages/re2/src/internal/Automaton.ts",
    line: "if (next === dead) return false",
    becomes: "if (next === dead) return this.#accepts(state.words, state.kind)",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "an absent header is inverted, too",
    file: "packages/routing/src/HeaderMatcher.ts",
    line: "value !== undefined && holds(specifier, value) !== self.invert",
    becomes: "(value !== undefined && holds(specifier, value)) !== self.invert",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "an empty header is absent",
    file: "packages/routing/src/HeaderMatcher.ts",
    line: "((value !== undefined) === specifier.present)",
    becomes: '((value !== undefined && value !== "") === specifier.present)',
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "the end of a range belongs to it",
    file: "packages/routing/src/HeaderMatcher.ts",
    line: "number < specifier.end",
    becomes: "number <= specifier.end",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "values of a header are joined with a blank",
    file: "packages/routing/src/CallHeaders.ts",
    line: "`${before},${value}`",
    becomes: "`${before}, ${value}`",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "binary headers are seen",
    file: "packages/routing/src/CallHeaders.ts",
    line: 'name.endsWith("-bin") ||\n',
    becomes: "\n",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "the numerator of a fraction is scaled in 32 bits",
    file: "packages/discovery/src/Fraction.ts",
    line: "Math.min(numerator * 10_000, million)",
    becomes: "Math.min((numerator * 10_000) >>> 0, million)",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "0 % takes a call",
    file: "packages/discovery/src/Fraction.ts",
    line: 'rules === "A28" ? r <= numerator : r < numerator',
    becomes: "r <= numerator",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "a route with query_parameters is checked first",
    file: "packages/routing/src/VirtualHost.ts",
    line: "if (match.queryParameters.length > 0) return",
    becomes: "if (match.queryParameters.length > 9) return",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "the sum of weights has no bound",
    file: "packages/routing/src/RouteAction.ts",
    line: "else if (sum > maxSum)",
    becomes: "else if (sum > 2 * maxSum)",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "the duration of a stream goes before grpc_timeout_header_max",
    file: "packages/routing/src/RouteAction.ts",
    line: "return headerMax ?? max",
    becomes: "return max ?? headerMax",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "a route's 0 does not hide the listener's deadline",
    file: "packages/routing/src/RouteAction.ts",
    line: "self.timeout ?? listener ?? 0",
    becomes: "self.timeout || listener || 0",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "retries are counted without the first attempt",
    file: "packages/routing/src/RetryPolicy.ts",
    line: "Math.min(retries + 1, maxAttempts)",
    becomes: "Math.min(retries + 1, maxAttempts + 1)",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "two equal hashes are none",
    file: "packages/routing/src/HashPolicy.ts",
    line: "rotateLeft(found) ^ one",
    becomes: "found ^ one",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "a number that is none is drawn",
    file: "packages/routing/src/Draw.ts",
    line: "drawn > 0 ? drawn : 0",
    becomes: "drawn",
    by: "packages/routing/test/badInput.test.ts"
  },
  {
    fault: "a share begins one late",
    file: "packages/routing/src/Draw.ts",
    line: "> drawn) high = middle",
    becomes: ">= drawn) high = middle",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "a failure does not count until READY",
    file: "packages/routing/src/Connectivity.ts",
    line: 'counted === "TRANSIENT_FAILURE" && next !== "READY" ? counted : next',
    becomes: "next",
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "a child that is not wanted is kept longer with each update",
    file: "packages/routing/src/Children.ts",
    line: "wanted.has(name) ? undefined : (child.unusedSince ?? now)",
    becomes: "wanted.has(name) ? undefined : now",
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "a child comes back and is still not wanted",
    file: "packages/routing/src/Children.ts",
    line: "child.unusedSince === unusedSince ? child : { ...child, unusedSince }",
    becomes: "unusedSince === undefined ? child : { ...child, unusedSince }",
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "an idle child is not woken",
    file: "packages/routing/src/policy/ManyChildren.ts",
    line: 'wakes && input.state === "IDLE"',
    becomes: 'wakes && input.state === "READY"',
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "a state is told before all children were updated",
    file: "packages/routing/src/policy/ManyChildren.ts",
    line: "return [{ children, given, setup, updating: true, heard: List.nil() }, outputs]",
    becomes:
      'return [{ children, given, setup, updating: true, heard: List.nil() }, [...outputs, { _tag: "State", ...tell(setup, children) }]]',
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "calls go to children that are not READY, too",
    file: "packages/routing/src/policy/WeightedTarget.ts",
    line: ".filter(([, child]) => child.state === state)",
    becomes: "",
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "a priority is chosen in the middle of an update",
    file: "packages/routing/src/policy/Priority.ts",
    line: "if (self.updating) return",
    becomes: "",
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "a child that failed still has time to connect",
    file: "packages/routing/src/policy/Priority.ts",
    line: 'if (state !== "CONNECTING") failoverAt = undefined',
    becomes: 'if (state === "READY") failoverAt = undefined',
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "all priorities wait: the last one, not the one that connects",
    file: "packages/routing/src/policy/Priority.ts",
    line: "(connecting ?? priorities.at(-1))",
    becomes: "priorities.at(-1)",
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "two failures of a ring are not enough",
    file: "packages/routing/src/policy/RingHash.ts",
    line: "if (failed >= 2) return",
    becomes: "if (failed >= 3) return",
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "a ring that is not picked from connects to nobody",
    file: "packages/routing/src/policy/RingHash.ts",
    line: 'const isStuck = state === "CONNECTING" || state',
    becomes: "const isStuck = state",
    by: "packages/routing/test/exploration.test.ts"
  },
  {
    fault: "each search of a replacement counts as one through the whole text",
    file: "packages/re2/src/RegularExpression.ts",
    line: "steps += size * (text.length - end)",
    becomes: "steps += size * text.length",
    by: "packages/routing/test/badInput.test.ts"
  },
  {
    fault: "a cluster is drawn from nine tenths of the weights",
    file: "packages/routing/src/RouteAction.ts",
    line: "Draws.at(draw, 0) * sum)",
    becomes: "Draws.at(draw, 0) * sum * 0.9)",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "virtual hosts that were called have the outcomes of the first one with the same paths",
    file: "packages/routing/src/CalledHosts.ts",
    line: "(this.#indexes[2 * number + 1] ?? 0) + place",
    becomes: "place",
    by: "packages/routing/test/certain.test.ts"
  },
  {
    fault: "virtual hosts have the paths of the first one that has as many",
    file: "packages/routing/src/RouteIndex.ts",
    line: "const key = JSON.stringify(paths)",
    becomes: "const key = String(paths.length)",
    by: "packages/routing/test/certain.test.ts"
  },
  {
    fault: "a cluster with an endpoint that failed has failed, whatever the others are",
    file: "packages/routing/src/policy/PerEndpoint.ts",
    line: "    if (found.all.length > 0) {",
    becomes: "    if (found.all.length > 0 && found.all.length + connecting === HashMap.size(children)) {",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "a limit looks at a counter that was forgotten",
    file: "packages/routing/src/CompiledPicker.ts",
    line: "if (this.counter?.isForgotten !== false)",
    becomes: "if (this.counter === undefined)",
    by: "packages/routing/test/compiledPicker.test.ts"
  },
  {
    fault: "names that no call holds are kept for ever",
    file: "packages/routing/src/CallCounters.ts",
    line: "if (this.free <= maxFree) return",
    becomes: "if (this.free <= Infinity) return",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "a name that is held again counts as free",
    file: "packages/routing/src/CallCounters.ts",
    line: "else if (cell.value++ === 0) this.free--",
    becomes: "else cell.value++",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "rings of other sizes are taken for equal",
    file: "packages/routing/src/RingStore.ts",
    line: "JSON.stringify([minSize, maxSize, members",
    becomes: "JSON.stringify([maxSize, members",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "a policy makes a ring of its own, although there is an equal one",
    file: "packages/routing/src/policy/RingHash.ts",
    line: "self.ring : rings.make(",
    becomes: "self.ring : Rings.make(",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "a ring that is asked for again is the next to be forgotten",
    file: "packages/routing/src/RingStore.ts",
    line: "this.rings.delete(key)",
    becomes: "void key",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "an endpoint has one entry too many",
    file: "packages/routing/src/Ring.ts",
    line: "entries.length < target",
    becomes: "entries.length <= target",
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "a ring does not wrap",
    file: "packages/routing/src/CompiledPicker.ts",
    line: "return low === hashes.length ? 0 : low",
    becomes: "return Math.min(low, hashes.length - 1)",
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "the least request of equals is the last that was drawn",
    file: "packages/routing/src/CompiledPicker.ts",
    line: "if (count >= fewest) continue",
    becomes: "if (count > fewest) continue",
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "one call too many is in flight",
    file: "packages/routing/src/CompiledPicker.ts",
    line: "this.held.count() < this.maxRequests",
    becomes: "this.held.count() <= this.maxRequests",
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "drops happen while nobody is READY",
    file: "packages/routing/src/policy/ClusterImpl.ts",
    line: 'state === "READY"',
    becomes: 'state !== "IDLE"',
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "the weights of a priority have no bound",
    file: "packages/routing/src/Assignment.ts",
    line: "if (sum > maxWeight) {\n      const text",
    becomes: "if (sum > 2 * maxWeight) {\n      const text",
    by: "packages/routing/test/resources.vectors.test.ts"
  },
  {
    fault: "a locality without weight is checked",
    file: "packages/routing/src/Assignment.ts",
    line: "if (weight === 0) continue",
    becomes: "",
    by: "packages/routing/test/resources.vectors.test.ts"
  },
  {
    fault: "aggregates may not be nested",
    file: "packages/routing/src/XdsConfig.ts",
    line: "depth < maxDepth && level.length > 0",
    becomes: "depth < 1 && level.length > 0",
    by: "packages/routing/test/badInput.test.ts"
  },
  {
    fault: "a cycle of aggregates is too deep",
    file: "packages/routing/src/internal/ClusterGraph.ts",
    line: "if (seen.has(name)) return undefined",
    becomes: "",
    by: "packages/routing/test/badInput.test.ts"
  },
  {
    fault: "an ambient error takes the resource away",
    file: "packages/routing/src/XdsConfig.ts",
    line: 'case "Error":\n      return',
    becomes: 'case "Error":\n    case "AmbientError":\n      return',
    by: "packages/client/test/routing.test.ts"
  },
  {
    fault: "a NACK has no words",
    file: "packages/discovery/src/Decoder.ts",
    line: "Either.mapLeft(read(message), format)",
    becomes: 'Either.mapLeft(read(message), () => "invalid")',
    by: "packages/client/test/routing.test.ts"
  },
  {
    fault: "a route may have a path and a prefix",
    file: "packages/routing/src/ServiceConfigPolicies.ts",
    line: 'if (found.length !== 1 || typeof value !== "string") return undefined',
    becomes: 'if (typeof value !== "string") return undefined',
    by: "packages/routing/test/serviceConfigPolicies.vectors.test.ts"
  },
  {
    fault: "an action may be there for nothing",
    file: "packages/routing/src/ServiceConfigPolicies.ts",
    line: "for (const name of unused) {",
    becomes: "for (const name of Array<string>()) {",
    by: "packages/routing/test/serviceConfigPolicies.vectors.test.ts"
  },
  {
    fault: "a name that is in use is given again",
    file: "packages/routing/src/ServiceConfig.ts",
    line: "if (!taken.has(name)) return name",
    becomes: "return name",
    by: "packages/routing/test/serviceConfig.vectors.test.ts"
  },
  {
    fault: "a single route that does not match all stands alone",
    file: "packages/routing/src/ServiceConfig.ts",
    line: 'singleRoute === "catchAll" && matchesAll(route)',
    becomes: 'singleRoute === "catchAll"',
    by: "packages/routing/test/serviceConfig.vectors.test.ts"
  },
  {
    fault: "hosts: one that is gone is waited for",
    file: "packages/discovery/src/HostSet.ts",
    line: "if (!isChecked) awaitNoLonger(self, host)",
    becomes: "",
    by: "packages/discovery/test/membership.properties.test.ts"
  },
  {
    fault: "the set that is warmed outlives its cluster",
    file: "packages/discovery/src/Membership.ts",
    line: "end(draft, draft.next)\n      end(draft, draft.current)",
    becomes: "end(draft, draft.current)",
    by: "packages/discovery/test/membership.properties.test.ts"
  },
  {
    fault: "who is listed no longer goes, whatever its checks say",
    file: "packages/discovery/src/HealthMatrix.ts",
    line: "absent: {\n    ok: { isRouted: true, isPurged: false },",
    becomes: "absent: {\n    ok: { isRouted: true, isPurged: true },",
    by: "packages/discovery-node/test/clusterMembers.simulation.test.ts"
  },
  {
    fault: "who fails goes, though it is listed",
    file: "packages/discovery/src/HealthMatrix.ts",
    line: "failing: { isRouted: false, isPurged: false }",
    becomes: "failing: { isRouted: false, isPurged: true }",
    by: "packages/discovery-node/test/clusterMembers.simulation.test.ts"
  },
  {
    fault: "who turns failing is routed to until others come or go",
    file: "packages/discovery/src/Membership.ts",
    line: 'new Set(["Added", "Updated", "Removed", "Ejected", "Returned"])',
    becomes: 'new Set(["Added", "Removed", "Ejected", "Returned"])',
    by: "packages/discovery-node/test/clusterMembers.simulation.test.ts"
  },
  {
    fault: "a timer that is too late for the next probe runs on",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "sleeper?.unsafeInterruptAsFork(FiberId.none)\n      wakes = at",
    becomes: "wakes = at",
    by: "packages/discovery-node/test/clusterMembers.simulation.test.ts"
  },
  {
    fault: "probes that have taken too long run on",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "running?.unsafeInterruptAsFork(FiberId.none)",
    becomes: "void running",
    by: "packages/discovery-node/test/clusterMembers.simulation.test.ts"
  },
  {
    fault: "a changed cluster is used before it is ready",
    file: "packages/discovery/src/Membership.ts",
    line: 'if (outputs.some(({ _tag }) => _tag === "Ready") && place === "next") {',
    becomes: 'if (place === "next") {',
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "hosts of a set that is over are not drained",
    file: "packages/discovery/src/Membership.ts",
    line: "if (generation === self.current) {",
    becomes: "if (false) {",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a set that changes again before it is ready goes on",
    file: "packages/discovery/src/Membership.ts",
    line: "const begin = (self: Draft, cluster: Cluster): void => {\n  end(self, self.next)",
    becomes: "const begin = (self: Draft, cluster: Cluster): void => {",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "who is ejected is routed to",
    file: "packages/discovery/src/MemberSet.ts",
    line: 'if (output._tag !== "Spared") tellHosts',
    becomes: 'if (output._tag === "Returned") tellHosts',
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "the hosts of an assignment are shared by the cluster's load",
    file: "packages/discovery/src/MemberSet.ts",
    line: "weightedPriorityHealth } = assignment ?? cluster.load",
    becomes: "weightedPriorityHealth } = cluster.load",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "priorities get as many calls as each other",
    file: "packages/routing/src/policy/Cds.ts",
    line: "const weight = shares[index] ?? 0",
    becomes: "const weight = 1",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "a share within another is drawn with the same number",
    file: "packages/routing/src/CompiledPicker.ts",
    line: "this.place = way.shares === 0 ? DRAW_SHARE : DRAW_NESTED_SHARE + way.shares",
    becomes: "this.place = DRAW_SHARE",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "of many checks each that is due has a sleep of its own",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "deadlines.size > many ? shortest : 0",
    becomes: "0",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "timeouts of probes are no failures of the network",
    file: "packages/discovery-node/src/internal/CheckCounts.ts",
    line: 'if (result === "Network" || result === "Timeout") count',
    becomes: 'if (result === "Network") count',
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "a set that is warmed puts the gauge of hosts that pass to its own",
    file: "packages/discovery-node/src/internal/CheckCounts.ts",
    line: "this.healthy.unsafeModify(now.healthy - told.healthy, [])",
    becomes: "this.healthy.unsafeUpdate(now.healthy, [])",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "a host that one of its checkers passes counts as healthy",
    file: "packages/discovery-node/src/internal/CheckCounts.ts",
    line: "const flags = states.reduce((all, state) => all | state.flags, HealthFlags.none)",
    becomes: "const flags = states.reduce((all, state) => all & state.flags, states[0]?.flags ?? 0)",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "in panic localities weigh as if there were none",
    file: "packages/discovery-node/src/Members.ts",
    line: "? inPanic(priority, failTrafficOnPanic ? [] : all, rule, this.cluster)",
    becomes: "? localitiesOf(priority, health, factor, this.cluster)",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "localities weigh by the default of the factor",
    file: "packages/discovery-node/src/Members.ts",
    line: "sums[health], sums, factor)",
    becomes: "sums[health], sums)",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "degraded hosts of a locality count for its healthy ones",
    file: "packages/discovery-node/src/Members.ts",
    line: "PriorityLoad.localityWeight(givenOf(name), sums[health], ",
    becomes: "PriorityLoad.localityWeight(givenOf(name), sums.healthy + sums.degraded, ",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "in panic those that fail get no calls",
    file: "packages/discovery-node/src/Members.ts",
    line: "? inPanic(priority, failTrafficOnPanic ? [] : all, rule, this.cluster)",
    becomes: "? alike(failTrafficOnPanic ? [] : priority.healthy, this.cluster)",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "an assignment that does not exist any more stays in use",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: 'return { _tag: "Missing" }',
    becomes: 'return { _tag: event._tag === "Error" ? "Missing" : "Failed" }',
    by: "packages/discovery-node/test/clusterMembers.simulation.test.ts"
  },
  {
    fault: "an assignment that cannot be had any more stays in use",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: 'return { _tag: "Missing" }',
    becomes: 'return { _tag: event._tag === "Error" ? "Failed" : "Missing" }',
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "probes go where a host was",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: '      case "Updated": {\n',
    becomes: '      case "Ready": {\n',
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a failed query is an answer without hosts",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: 'input: { _tag: "Unresolved", ...of }',
    becomes: 'input: { _tag: "Resolved", addresses: [], ...of }',
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a probe that passes brings nobody back",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: 'this.give({ _tag: "Set", generation, input: { _tag: "CheckPassed", host } })',
    becomes: "",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a watch that dies is waited for",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: "if (!Cause.isInterruptedOnly(cause)) tell(firstLine(cause))",
    becomes: "",
    by: "packages/discovery-node/test/endpointSources.test.ts"
  },
  {
    fault: "leaves that are named no longer are watched",
    file: "packages/discovery-node/src/internal/ClusterView.ts",
    line: "if (wanted.has(name)) continue",
    becomes: "continue",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "drops are drawn once for all categories",
    file: "packages/discovery/src/DropOverload.ts",
    line: "draw(index) * million",
    becomes: "draw(0) * million",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "more than all that is dropped counts as all",
    file: "packages/discovery/src/Assignment.ts",
    line: "if (numerator > Fraction.million) {",
    becomes: "if (false) {",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "a health that is not known is healthy",
    file: "packages/discovery/src/Assignment.ts",
    line: "if (status !== undefined) return status\n",
    becomes: 'return status ?? "UNKNOWN"\n',
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "a check goes to the endpoint's port, not to that of its own address",
    file: "packages/discovery/src/Assignment.ts",
    line: "port === 0 ? (address?.port ?? 0) : port",
    becomes: "port",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "names of every object are named endpoints",
    file: "packages/discovery/src/Assignment.ts",
    line: "Object.hasOwn(named, identifier.value)",
    becomes: "identifier.value in named",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "a priority has no end",
    file: "packages/discovery/src/Assignment.ts",
    line: "if (priority > maxPriority) {",
    becomes: "if (false) {",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "families of DNS have the numbers of a cluster's",
    file: "packages/discovery/src/ClusterTypes.ts",
    line: "family: dnsFamilies.get(message.dnsLookupFamily),",
    becomes: "family: families.get(message.dnsLookupFamily),",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "the maximum of waits after failures is the base",
    file: "packages/discovery/src/ClusterTypes.ts",
    line: "max: max ?? 10 * base",
    becomes: "max: max ?? base",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "a header of ORIGINAL_DST is looked at though nobody said so",
    file: "packages/discovery/src/ClusterTypes.ts",
    line: "header: given?.useHttpHeader === true ? header : undefined",
    becomes: 'header: header ?? "x-envoy-original-dst-host"',
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "hosts that want TLS are checked without it",
    file: "packages/discovery/src/Cluster.ts",
    line: "if (transportSocket !== undefined && !isRaw)",
    becomes: "if (transportSocket !== undefined && !isRaw && message.name === message.altStatName)",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "a type that picks itself is balanced by others",
    file: "packages/discovery/src/Cluster.ts",
    line: "type.picks !== isLeft && !(isLeft && type.isAggregate)",
    becomes: "!type.picks && isLeft && !type.isAggregate",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "what was due is due again when its code has failed",
    file: "packages/discovery/src/ClusterType.ts",
    line: "deadline <= now ? Number.POSITIVE_INFINITY : deadline",
    becomes: "deadline",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "a type is woken again and again in one millisecond",
    file: "packages/discovery/src/ClusterType.ts",
    line: "? now + 1 : Number.NEGATIVE_INFINITY",
    becomes: "? now : Number.NEGATIVE_INFINITY",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "what a type lists is not looked at",
    file: "packages/discovery/src/ClusterType.ts",
    line: "isList(hosts) && hosts.every(isHost)",
    becomes: "isList(hosts)",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "a leaf is at its last place",
    file: "packages/discovery/src/AggregateLeaves.ts",
    line: "if (done.has(name)) return undefined",
    becomes: "if (done.has(name)) return leaves.delete(name) ? void leaves.add(name) : undefined",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "a cycle of aggregates is passed over",
    file: "packages/discovery/src/AggregateLeaves.ts",
    line: "if (way.includes(name)) {",
    becomes: "if (way.length > 99 && way.includes(name)) {",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "aggregates are nested without end",
    file: "packages/discovery/src/AggregateLeaves.ts",
    line: "if (way.length >= maxDepth)",
    becomes: "if (way.length > maxDepth)",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "an override that is no address ends the pick",
    file: "packages/discovery/src/OriginalDst.ts",
    line: "      ignored++\n      continue",
    becomes: "      ignored++\n      break",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "what was restored goes before what is asked for",
    file: "packages/discovery/src/OriginalDst.ts",
    line: "for (const say of said) {",
    becomes: "for (const say of [...said].reverse()) {",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "the first assignment is awaited for ever",
    file: "packages/discovery/src/Discovery.ts",
    line: "if (initialFetchTimeout > 0) self.fetchUntil = self.now + initialFetchTimeout",
    becomes: "",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "the wait for the first assignment goes on after it",
    file: "packages/discovery/src/Discovery.ts",
    line: "  self.isInitialized = true\n  self.fetchUntil = Number.POSITIVE_INFINITY",
    becomes: "  self.isInitialized = true",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "outliers: a row of 5xx that reached its limit goes on",
    file: "packages/discovery/src/Outlier.ts",
    line: "put(self, name, { ...host, inRow: { ...host.inRow, [kind]: 0 } })",
    becomes: "",
    by: "packages/discovery/test/outlier.vectors.test.ts"
  },
  {
    fault: "outliers: a 5xx that is not a gateway's does not end a row of gateway failures",
    file: "packages/discovery/src/Outlier.ts",
    line: "gateway: isGateway ? host.inRow.gateway + 1 : 0",
    becomes: "gateway: isGateway ? host.inRow.gateway + 1 : failed === 1 ? host.inRow.gateway : 0",
    by: "packages/discovery/test/outlier.vectors.test.ts"
  },
  {
    fault: "outliers: the deviation of success rates is that of a sample",
    file: "packages/discovery/src/Outlier.ts",
    line: "rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0) / rates.length",
    becomes: "rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0) / (rates.length - 1)",
    by: "packages/discovery/test/outlier.vectors.test.ts"
  },
  {
    fault: "outliers: a host that two detectors find is ejected twice",
    file: "packages/discovery/src/Outlier.ts",
    line: "if (host === undefined || host.ejected !== undefined) return",
    becomes: "if (host === undefined) return",
    by: "packages/discovery/test/outlier.vectors.test.ts"
  },
  {
    fault: "outliers: a host comes back with the failures that were counted meanwhile",
    file: "packages/discovery/src/Outlier.ts",
    line: "{ ...host, inRow: noneInRow, ejected: undefined,",
    becomes: "{ ...host, ejected: undefined,",
    by: "packages/discovery/test/outlier.vectors.test.ts"
  },
  {
    fault: "outliers: Envoy ejects one more host than its percentage",
    file: "packages/discovery/src/OutlierRules.ts",
    line: "100 * (ejected + 1) <= maxEjectionPercent * hosts",
    becomes: "100 * ejected < maxEjectionPercent * hosts",
    by: "packages/discovery/test/outlier.vectors.test.ts"
  },
  {
    fault: "outliers: A50: a percentage of failures that is just the threshold ejects",
    file: "packages/discovery/src/OutlierRules.ts",
    line: "percentage > threshold",
    becomes: "percentage >= threshold",
    by: "packages/discovery/test/outlier.vectors.test.ts"
  },
  {
    fault: "outliers: Envoy: a multiplier is less at once when its host came back",
    file: "packages/discovery/src/OutlierRules.ts",
    line: "sinceReturn !== undefined && sinceReturn >= interval",
    becomes: "sinceReturn !== undefined",
    by: "packages/discovery/test/outlier.vectors.test.ts"
  },
  {
    fault: "outliers: an ejected endpoint is told as READY",
    file: "packages/routing/src/policy/PickFirst.ts",
    line: 'state !== "READY" || !self.heedsEjection || endpoint?.isEjected !== true',
    becomes: 'state !== "READY" || !self.heedsEjection || endpoint !== undefined',
    by: "packages/routing/test/outlierDetection.test.ts"
  },
  {
    fault: "outliers: policies are not told what became of calls before they sweep",
    file: "packages/routing/src/Channel.ts",
    line: 'if (input._tag === "Config" || input._tag === "Deadline") {',
    becomes: 'if (input._tag === "Config") {',
    by: "packages/routing/test/outlierDetection.test.ts"
  },
  {
    fault: "outliers: an attempt that is followed by another counts as nothing",
    file: "packages/routing/src/Channel.ts",
    line: "note(draft, going, input.outcome)",
    becomes: "",
    by: "packages/routing/test/outlierDetection.test.ts"
  },
  {
    fault: "outliers: whoever comes back in a sweep is told with the next change",
    file: "packages/routing/src/policy/OutlierDetection.ts",
    line: 'outputs.some(({ _tag }) => _tag !== "Spared")',
    becomes: 'outputs.some(({ _tag }) => _tag === "Ejected")',
    by: "packages/routing/test/outlierDetection.test.ts"
  },
  {
    fault: "hosts: who is absent and passes is purged",
    file: "packages/discovery/src/HealthMatrix.ts",
    line: "absent: {\n    ok: { isRouted: true, isPurged: false }",
    becomes: "absent: {\n    ok: { isRouted: true, isPurged: true }",
    by: "packages/discovery/test/hostSet.matrix.test.ts"
  },
  {
    fault: "hosts: who is absent is not routed to, though it passes",
    file: "packages/discovery/src/HealthMatrix.ts",
    line: "absent: {\n    ok: { isRouted: true, isPurged: false }",
    becomes: "absent: {\n    ok: { isRouted: false, isPurged: false }",
    by: "packages/discovery/test/hostSet.matrix.test.ts"
  },
  {
    fault: "hosts: who is absent and fails is kept",
    file: "packages/discovery/src/HealthMatrix.ts",
    line: "failing: { isRouted: false, isPurged: true }",
    becomes: "failing: { isRouted: false, isPurged: false }",
    by: "packages/discovery/test/hostSet.matrix.test.ts"
  },
  {
    fault: "hosts: an ejection is a failure, and an ejected host is forgotten",
    file: "packages/discovery/src/HealthFlags.ts",
    line: 'FAILED_OUTLIER: properties(5, "outlier", "unhealthy")',
    becomes: 'FAILED_OUTLIER: properties(5, "outlier", "unhealthy", { fails: true })',
    by: "packages/discovery/test/hostSet.matrix.test.ts"
  },
  {
    fault: "hosts: who drains and is unlisted is kept",
    file: "packages/discovery/src/HealthFlags.ts",
    line: 'properties(7, "discovery", "unhealthy", { fails: true, isExcluded: true })',
    becomes: 'properties(7, "discovery", "unhealthy", { isExcluded: true })',
    by: "packages/discovery/test/hostSet.vectors.test.ts"
  },
  {
    fault: "hosts: who is listed again begins anew",
    file: "packages/discovery/src/HostSet.ts",
    line: "put(self, before, isSwitched ? withChecks(member, checks) : member)",
    becomes: "put(self, before, withChecks(member, checks))",
    by: "packages/discovery/test/hostSet.vectors.test.ts"
  },
  {
    fault: "hosts: without checks an absent host is kept",
    file: "packages/discovery/src/HostSet.ts",
    line: "!isAbsent || (checks.length > 0 && !settings.ignoreHealthOnHostRemoval)",
    becomes: "!isAbsent || !settings.ignoreHealthOnHostRemoval",
    by: "packages/discovery/test/hostSet.vectors.test.ts"
  },
  {
    fault: "hosts: ignore_health_on_host_removal is ignored",
    file: "packages/discovery/src/HostSet.ts",
    line: "!isAbsent || (checks.length > 0 && !settings.ignoreHealthOnHostRemoval)",
    becomes: "!isAbsent || checks.length > 0",
    by: "packages/discovery/test/hostSet.vectors.test.ts"
  },
  {
    fault: "hosts: an ejected host is routed to",
    file: "packages/discovery/src/HostSet.ts",
    line: 'cellOf(member, self.settings).isRouted && !HealthFlags.has(member.flags, "FAILED_OUTLIER")',
    becomes: "cellOf(member, self.settings).isRouted",
    by: "packages/discovery/test/hostSet.vectors.test.ts"
  },
  {
    fault: "hosts: whoever turns failing is not drained",
    file: "packages/discovery/src/HostSet.ts",
    line: "if (isPurged || turnsFailing || isEjected) {",
    becomes: "if (isPurged || isEjected) {",
    by: "packages/discovery/test/hostSet.matrix.test.ts"
  },
  {
    fault: "hosts: warming waits for who was removed",
    file: "packages/discovery/src/HostSet.ts",
    line: "if (!isChecked) awaitNoLonger(self, host)",
    becomes: "",
    by: "packages/discovery/test/hostSet.vectors.test.ts"
  },
  {
    fault: "hosts: one checker's result stands for all",
    file: "packages/discovery/src/HostSet.ts",
    line: "if (checks.every(({ hasResult }) => hasResult)) awaitNoLonger(self, host)",
    becomes: "awaitNoLonger(self, host)",
    by: "packages/discovery/test/hostSet.vectors.test.ts"
  },
  {
    fault: "loads: excluded hosts count among those that could be well",
    file: "packages/discovery/src/PriorityLoad.ts",
    line: "Math.min(100, Math.floor((factor * part) / (all - excluded)))",
    becomes: "Math.min(100, Math.floor((factor * part) / all))",
    by: "packages/discovery/test/priorityLoad.test.ts"
  },
  {
    fault: "loads: what there is too much of is shared, too",
    file: "packages/discovery/src/PriorityLoad.ts",
    line: "const total = Math.min(100, sum(healthy) + sum(degraded))",
    becomes: "const total = sum(healthy) + sum(degraded)",
    by: "packages/discovery/test/priorityLoad.test.ts"
  },
  {
    fault: "loads: percentages are rounded, not truncated",
    file: "packages/discovery/src/PriorityLoad.ts",
    line: "Math.min(remaining, Math.floor((each * 100) / total))",
    becomes: "Math.min(remaining, Math.round((each * 100) / total))",
    by: "packages/discovery/test/priorityLoad.test.ts"
  },
  {
    fault: "loads: the rounding rest is the last priority's",
    file: "packages/discovery/src/PriorityLoad.ts",
    line: "const firstHealthy = healthy.findIndex((each) => each > 0)",
    becomes: "const firstHealthy = healthy.findLastIndex((each) => each > 0)",
    by: "packages/discovery/test/priorityLoad.test.ts"
  },
  {
    fault: "loads: panic where other priorities have enough",
    file: "packages/discovery/src/PriorityLoad.ts",
    line: "total < 100 && isBelow(hosts, panicThreshold)",
    becomes: "isBelow(hosts, panicThreshold)",
    by: "packages/discovery/test/priorityLoad.test.ts"
  },
  {
    fault: "loads: panic at the threshold itself",
    file: "packages/discovery/src/PriorityLoad.ts",
    line: "100 * (healthy + degraded) < threshold * (all - excluded)",
    becomes: "100 * (healthy + degraded) <= threshold * (all - excluded)",
    by: "packages/discovery/test/priorityLoad.test.ts"
  },
  {
    fault: "loads: degraded hosts do not keep from panic",
    file: "packages/discovery/src/PriorityLoad.ts",
    line: "100 * (healthy + degraded) < threshold * (all - excluded)",
    becomes: "100 * healthy < threshold * (all - excluded)",
    by: "packages/discovery/test/priorityLoad.test.ts"
  },
  {
    fault: "loads: in panic of all priorities load goes by health",
    file: "packages/discovery/src/PriorityLoad.ts",
    line: "const isTotal = panics.every((isPanicking) => isPanicking)",
    becomes: "const isTotal = false",
    by: "packages/discovery/test/priorityLoad.test.ts"
  },
  {
    fault: "loads: panic by weights",
    file: "packages/discovery/src/PriorityLoad.ts",
    line: "tallies.map(({ hosts }) => total < 100",
    becomes: "sums.map((hosts) => total < 100",
    by: "packages/discovery/test/priorityLoad.test.ts"
  },
  {
    fault: "loads: degraded hosts are picked before healthy ones",
    file: "packages/discovery/src/PriorityLoad.ts",
    line: 'for (const hosts of ["healthy", "degraded"] as const) {',
    becomes: 'for (const hosts of ["degraded", "healthy"] as const) {',
    by: "packages/discovery/test/priorityLoad.test.ts"
  },
  {
    fault: "checks: a first success is not enough",
    file: "packages/discovery/src/HealthCheck.ts",
    line: "failed && (isFirst || self.inRow + 1 >= settings.healthyThreshold)",
    becomes: "failed && self.inRow + 1 >= settings.healthyThreshold",
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: a first failure keeps the fast path",
    file: "packages/discovery/src/HealthCheck.ts",
    line: "const isFirst = self.last === undefined\n  const failed = isFailing(self)",
    becomes: 'const isFirst = self.last?.result !== "Success" && self.inRow === 0\n  const failed = isFailing(self)',
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: a status that may be tried again fails at once",
    file: "packages/discovery/src/HealthCheck.ts",
    line: 'tag === "Immediate" || tag === "Passive"\n',
    becomes: 'tag === "Immediate" || tag === "Passive" || tag === "Retriable"\n',
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: what says no has to come again",
    file: "packages/discovery/src/HealthCheck.ts",
    line: 'const isImmediate = tag === "Immediate" || tag === "Passive"\n',
    becomes: 'const isImmediate = tag === "Passive"\n',
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: edge intervals follow a transition",
    file: "packages/discovery/src/HealthCheck.ts",
    line: "return intervalOf(self, false, isPending)",
    becomes: "return intervalOf(self, false, turns)",
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: a response that says to fail the host moves its timer",
    file: "packages/discovery/src/HealthCheck.ts",
    line: 'fail(draft, "Passive")',
    becomes: 'finish(draft, "Timeout")',
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: the result of an earlier attempt counts",
    file: "packages/discovery/src/HealthCheck.ts",
    line: 'phase._tag !== "Probing" || input.attempt !== self.attempt',
    becomes: 'phase._tag !== "Probing"',
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: the timeout flag stays after another failure",
    file: "packages/discovery/src/HealthCheck.ts",
    line: 'tag === "Timeout" && !isPending)',
    becomes: '(tag === "Timeout" || HealthFlags.has(flags, "ACTIVE_HC_TIMEOUT")) && !isPending)',
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: a percentage of jitter goes by the usual interval",
    file: "packages/discovery/src/HealthCheck.ts",
    line: "Math.floor((wait * intervalJitterPercent) / 100)",
    becomes: "Math.floor((self.settings.interval * intervalJitterPercent) / 100)",
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: without traffic, successes that are not yet enough are as good as others",
    file: "packages/discovery/src/HealthCheck.ts",
    line: "return isSuccess && !isPending ? settings.noTrafficHealthyInterval",
    becomes: "return isSuccess ? settings.noTrafficHealthyInterval",
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: somebody waits for a check that was stopped",
    file: "packages/discovery/src/HealthCheck.ts",
    line: 'if (self.last === undefined) draft.outputs.push({ _tag: "Checked" })',
    becomes: "",
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "checks: the connection of a probe that was reset is used again",
    file: "packages/discovery/src/HealthCheck.ts",
    line: 'result !== "Timeout" && result._tag !== "Network" && result.closes !== true',
    becomes: 'result !== "Timeout" && !("closes" in result && result.closes === true)',
    by: "packages/discovery/test/healthCheck.test.ts"
  },
  {
    fault: "names: one family without addresses is enough for none",
    file: "packages/discovery/src/DnsTarget.ts",
    line: 'results.every(({ _tag }) => _tag === "Resolved") && !isAny',
    becomes: "!isAny",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: of a logical cluster no address is an answer",
    file: "packages/discovery/src/DnsTarget.ts",
    line: '!(isNone && settings.uses === "all")',
    becomes: "!isNone",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: a TTL of 0 means at once",
    file: "packages/discovery/src/DnsTarget.ts",
    line: "return least > 0 && Number.isFinite(least) ?",
    becomes: "return Number.isFinite(least) ?",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: a logical cluster goes by the least TTL",
    file: "packages/discovery/src/DnsTarget.ts",
    line: 'uses === "all" ? answers : answers.slice(0, 1)',
    becomes: "answers",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: a failure waits for what is drawn, if that is nothing, too",
    file: "packages/discovery/src/DnsTarget.ts",
    line: "Math.max(Math.min(100, failureRefreshRate.base), Math.floor(random * self.failureWait))",
    becomes: "Math.floor(random * self.failureWait)",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: after a success failures wait as long as before",
    file: "packages/discovery/src/DnsTarget.ts",
    line: "failureWait: settings.failureRefreshRate?.base ?? 0,\n      phase",
    becomes: "failureWait: self.failureWait,\n      phase",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: a family that failed loses its addresses",
    file: "packages/discovery/src/DnsTarget.ts",
    line: 'ended._tag === "Resolved" ? { ...self.byFamily, [family]: ended.addresses } : self.byFamily',
    becomes: '{ ...self.byFamily, [family]: ended._tag === "Resolved" ? ended.addresses : [] }',
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: late answers count",
    file: "packages/discovery/src/DnsTarget.ts",
    line: 'phase._tag !== "Asking" || attempt !== self.attempt',
    becomes: 'phase._tag !== "Asking"',
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: initialized with the first of several",
    file: "packages/discovery/src/Discovery.ts",
    line: "targets.every(({ hasAnswered }) => hasAnswered)",
    becomes: "targets.some(({ hasAnswered }) => hasAnswered)",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: a logical host is another with another address",
    file: "packages/discovery/src/Discovery.ts",
    line: "id: `${name}:${endpoint.address.port}`, priority: 0",
    becomes: "priority: 0",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: an assignment that does not say when it is stale is stale when the last would be",
    file: "packages/discovery/src/Discovery.ts",
    line: "draft.staleAt = input.staleAfter === undefined ? Number.POSITIVE_INFINITY : now + input.staleAfter",
    becomes: "draft.staleAt = input.staleAfter === undefined ? self.staleAt : now + input.staleAfter",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: of an address that is there twice the last counts",
    file: "packages/discovery/src/Discovery.ts",
    line: "if (!found.has(host.address)) found.set(host.address, host)",
    becomes: "found.set(host.address, host)",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: a host with connections is cleaned up",
    file: "packages/discovery/src/Discovery.ts",
    line: "!isInUse && !isUsed",
    becomes: "!isUsed",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "names: the address of checks does not tell hosts apart",
    file: "packages/discovery/src/Endpoint.ts",
    line: "id: JSON.stringify([entry, text, checkAddress])",
    becomes: "id: JSON.stringify([entry, text])",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "resolver: a name without addresses is a failure",
    file: "packages/discovery-node/src/Resolver.ts",
    line: 'new Set(["ENODATA", "ENOTFOUND"])',
    becomes: 'new Set(["ENODATA"])',
    by: "packages/discovery-node/test/resolver.test.ts"
  },
  {
    fault: "resolver: every failure means that there are no addresses",
    file: "packages/discovery-node/src/Resolver.ts",
    line: "none.has(code) ? then(code) : Effect.fail(code)",
    becomes: 'code === "ECANCELLED" ? Effect.fail(code) : then(code)',
    by: "packages/discovery-node/test/resolver.test.ts"
  },
  {
    fault: "resolver: queries outlive their scope",
    file: "packages/discovery-node/src/Resolver.ts",
    line: "Effect.sync(() => resolver.cancel())",
    becomes: "Effect.void",
    by: "packages/discovery-node/test/resolver.test.ts"
  },
  {
    fault: "probes: the header that excludes counts on successes, too",
    file: "packages/discovery/src/ProbeAnswer.ts",
    line: "if (!isIn(probe.expected, status)) {",
    becomes: "if (!isIn(probe.expected, status) || isExcluded) {",
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "probes: what may be tried again goes before what is expected",
    file: "packages/discovery/src/ProbeAnswer.ts",
    line: "if (!isIn(probe.expected, status)) {",
    becomes: "if (!isIn(probe.expected, status) || isIn(probe.retriable, status)) {",
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "probes: ranges of statuses have their end in them",
    file: "packages/discovery/src/ProbeAnswer.ts",
    line: "start <= status && status < end",
    becomes: "start <= status && status <= end",
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "probes: the wrong body may be tried again",
    file: "packages/discovery/src/ProbeAnswer.ts",
    line: 'if (!isReceived) return { _tag: "Immediate", isExcluded, closes,',
    becomes: 'if (!isReceived) return { _tag: "Retriable", closes,',
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "probes: a service that says no name passes",
    file: "packages/discovery/src/ProbeAnswer.ts",
    line: "if (probe.serviceName !== undefined && !String",
    becomes: 'if (probe.serviceName !== undefined && name !== "" && !String',
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "probes: OK of gRPC is enough",
    file: "packages/discovery/src/ProbeAnswer.ts",
    line: "const status = statusOf(body)",
    becomes: "const status = ServingStatus.SERVING",
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "probes: gRPC-Web is gRPC",
    file: "packages/discovery/src/ProbeAnswer.ts",
    line: "/^application\\/grpc(?:[+;]|$)/i",
    becomes: "/^application\\/grpc/i",
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "probes: blocks are found in any order",
    file: "packages/discovery/src/Payload.ts",
    line: "block = self.blocks[++found]",
    becomes: "block = self.blocks[++found], at = -1",
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "probes: a block that almost was one is begun from nothing",
    file: "packages/discovery/src/Payload.ts",
    line: "matched = block.borders[matched] ?? 0",
    becomes: "matched = 0",
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "probes: more of the body is looked at than is said",
    file: "packages/discovery/src/Payload.ts",
    line: "const end = Math.min(bytes.length, self.left)",
    becomes: "const end = bytes.length",
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "probes: the checker's host goes before that of the endpoint",
    file: "packages/discovery/src/Probe.ts",
    line: 'hostname !== "" ? hostname : self.host !== "" ? self.host : cluster',
    becomes: 'self.host !== "" ? self.host : hostname !== "" ? hostname : cluster',
    by: "packages/discovery/test/probeAnswer.test.ts"
  },
  {
    fault: "checkers: of several one may be without a name",
    file: "packages/discovery/src/Checker.ts",
    line: 'messages.length > 1 && name === ""',
    becomes: 'messages.length > 1 && name === "" && index === 0',
    by: "packages/discovery/test/checker.test.ts"
  },
  {
    fault: "checkers: a buffer of 0 bytes is one",
    file: "packages/discovery/src/Checker.ts",
    line: "size === 0n ? Number.POSITIVE_INFINITY : Number(size)",
    becomes: "Number(size)",
    by: "packages/discovery/test/checker.test.ts"
  },
  {
    fault: "checkers: headers are removed after others were added",
    file: "packages/discovery/src/ProbeHeaders.ts",
    line: "return Array.from(headers)",
    becomes: "return Array.from(headers).filter(([name]) => !toRemove.includes(name))",
    by: "packages/discovery/test/checker.test.ts"
  },
  {
    fault: "checkers: an empty header is sent",
    file: "packages/discovery/src/ProbeHeaders.ts",
    line: '(value === "" && !keepEmptyValue)',
    becomes: "false",
    by: "packages/discovery/test/checker.test.ts"
  },
  {
    fault: "TCP: wrong bytes are an answer",
    file: "packages/discovery-node/src/internal/TcpAsker.ts",
    line: "if (Payload.isFound(running.payload)) finish(",
    becomes: "finish(",
    by: "packages/discovery-node/test/nodeProber.test.ts"
  },
  {
    fault: "GOAWAY without error is a failure",
    file: "packages/discovery-node/src/internal/Http2Connection.ts",
    line: "if (error !== 0) this.fail(",
    becomes: "if (error >= 0) this.fail(",
    by: "packages/discovery-node/test/nodeProber.test.ts"
  },
  {
    fault: "HTTP/2: a stream that is reset in its middle is an answer",
    file: "packages/discovery-node/src/internal/Http2Connection.ts",
    line: "else if (stream === this.stream) this.lose(",
    becomes: "else if (stream === this.stream) this.over(",
    by: "packages/discovery-node/test/nodeProber.test.ts"
  },
  {
    fault: "HTTP/2: a session that is closing is asked",
    file: "packages/discovery-node/src/internal/Http2Asker.ts",
    line: "read.end(on.isClosing || !target.reuseConnection)",
    becomes: "read.end(false)",
    by: "packages/discovery-node/test/nodeProber.test.ts"
  },
  {
    fault: "gRPC: nothing says that trailers are understood",
    file: "packages/discovery-node/src/internal/Http2Asker.ts",
    line: '      ["te", "trailers"],\n',
    becomes: "",
    by: "packages/discovery-node/test/nodeProber.test.ts"
  },
  {
    fault: "HTTP/1: connections are kept against the word of the server",
    file: "packages/discovery-node/src/internal/Http1Asker.ts",
    line: "closes: !reuseConnection || response.closes || on.writableLength > 0",
    becomes: "closes: false",
    by: "packages/discovery-node/test/nodeProber.test.ts"
  },
  {
    fault: "HTTP/1: a head of 1xx is the answer",
    file: "packages/discovery-node/src/internal/Http1Response.ts",
    line: "if (status < 200 && status !== 101) {",
    becomes: "if (false) {",
    by: "packages/discovery-node/test/http1Response.test.ts"
  },
  {
    fault: "HTTP/1: an answer with two lengths is read by one of them",
    file: "packages/discovery-node/src/internal/Http1Response.ts",
    line: "lengths.size <= 1 && ",
    becomes: "",
    by: "packages/discovery-node/test/http1Response.test.ts"
  },
  {
    fault: "HTTP/1: an answer with chunks and a length is read by its chunks",
    file: "packages/discovery-node/src/internal/Http1Response.ts",
    line: "(codings.length > 0 && (lengths.size > 0 || this.isOld))",
    becomes: "(codings.length > 0 && this.isOld)",
    by: "packages/discovery-node/test/http1Response.test.ts"
  },
  {
    fault: "HTTP/1: heads have no bound",
    file: "packages/discovery-node/src/internal/Http1Response.ts",
    line: 'if (this.room < 0) this.fault = "its lines are longer than 60 KiB"\n    else if',
    becomes: "if",
    by: "packages/discovery-node/test/http1Response.test.ts"
  },
  {
    fault: "HTTP/1: a body that ends with the connection is cut off when it ends",
    file: "packages/discovery-node/src/internal/Http1Response.ts",
    line: '    if (this.state === "close") this.state = "done"\n',
    becomes: "",
    by: "packages/discovery-node/test/http1Response.test.ts"
  },
  {
    fault: "HTTP/1: an answer that ends in its middle is whole",
    file: "packages/discovery-node/src/internal/Http1Response.ts",
    line: 'if (this.state !== "done") this.fault ??= "the connection ended before the answer"',
    becomes: 'this.state = "done"',
    by: "packages/discovery-node/test/http1Response.test.ts"
  },
  {
    fault: "HTTP/1: what comes behind an answer is the next one's",
    file: "packages/discovery-node/src/internal/Http1Response.ts",
    line: "          this.isSpoilt = true\n          return",
    becomes: "          return",
    by: "packages/discovery-node/test/http1Response.test.ts"
  },
  {
    fault: "HTTP/1: a host's name writes headers of its own",
    file: "packages/discovery-node/src/internal/Http1Asker.ts",
    line: "if (!isWritable || ",
    becomes: "if (",
    by: "packages/discovery-node/test/nodeProber.test.ts"
  },
  {
    fault: "HTTP/1: a fresh probe uses the old connection",
    file: "packages/discovery-node/src/internal/Http1Asker.ts",
    line: "if (isFresh) close()",
    becomes: "",
    by: "packages/discovery-node/test/nodeProber.test.ts"
  },
  {
    fault: "health checks: a timeout counts before answers are read",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "else late.push(check)",
    becomes: 'else step(check, { _tag: "Deadline" })',
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "health checks: any number of probes at once",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "if (probes >= Math.max(1, most)) return",
    becomes: "",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "health checks: one that is aborted counts among those that run for ever",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "const { running } = check\n      ended(check)",
    becomes: "const { running } = check\n      check.running = undefined",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "health checks: an earlier deadline does not wake",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "if (at >= wakes || isClosed) return",
    becomes: "if (wakes < Number.POSITIVE_INFINITY || isClosed) return",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "health checks: a host that moved is probed where it was",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "if (address !== checkAddress || hostname !== checkHostname) check.target",
    becomes: 'if (hostname !== checkHostname && address === "") check.target',
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "health checks: what is asked for in between is done at once",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "      if (isBusy) return\n",
    becomes: "",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "health checks: hosts that come later know of no traffic",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "HealthCheck.make(checker.settings, hasTraffic)",
    becomes: "HealthCheck.make(checker.settings)",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "health checks: a deadline that moves back is forgotten",
    file: "packages/discovery-node/src/internal/DeadlineHeap.ts",
    line: "else this.sink(item)",
    becomes: "",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "server: whatever a function says of a group is taken for what it should be",
    file: "packages/server/src/internal/Settings.ts",
    by: "packages/server/test/functions.test.ts",
    line: "if (is(value)) return value",
    becomes: "if (is(value) || value !== null) return value"
  },
  {
    fault: "server: a promise of wildcards is taken for wildcards",
    file: "packages/server/src/internal/Settings.ts",
    by: "packages/server/test/functions.test.ts",
    line: '!("then" in value) && ',
    becomes: ""
  },
  {
    fault: "a stream is brought past a change that concerns it",
    file: "server/GroupStream.ts",
    line: "const passed = this.changed ? this.advanceTo : group",
    becomes: "const passed = group"
  },
  {
    fault: "the first of two changes that concern a stream is passed over",
    file: "server/GroupStream.ts",
    line: "if (!this.changed) this.advanceTo = before",
    becomes: "this.advanceTo = before"
  },
  {
    fault: "a request is given to the reducer before the state of the group",
    file: "server/GroupStream.ts",
    line: "if (ServerStreams.groupOf(state) !== group) {",
    becomes: "if (ServerStreams.groupOf(state) !== group && this.inputs === undefined) {"
  },
  {
    fault: "a change that was given concerns the stream for ever",
    file: "server/GroupStream.ts",
    line: "      this.changed = false\n",
    becomes: ""
  },
  {
    fault: "a deadline that comes with something else is forgotten",
    file: "server/GroupStream.ts",
    line: "if (input !== undefined || !this.due) return input",
    becomes: "if (input !== undefined || !this.due) {\n      this.due = false\n      return input\n    }"
  },
  {
    fault: "a request that is taken in parts waits for the next one",
    file: "server/GroupStream.ts",
    line: "if (ServerStreams.isWorking(state)) return goOn",
    becomes: "if (ServerStreams.isWorking(state) && this.inputs !== undefined) return goOn"
  },
  {
    fault: "a stream that is over is given what comes",
    file: "server/GroupStream.ts",
    line: "    if (state.ended) return undefined\n",
    becomes: ""
  },
  {
    fault: "a change that waits for credit is not replaced by the next one",
    file: "server/GroupStream.ts",
    line: "const isConflated = this.changed || this.held",
    becomes: "const isConflated = this.changed"
  },
  {
    fault: "a change for which credit is on its way waits for credit",
    file: "server/GroupStream.ts",
    line: "return this.state.credit || this.inputs?.includes(writable) === true",
    becomes: "return this.state.credit"
  },
  {
    fault: "of many names only the first slice is indexed",
    file: "server/GroupStream.ts",
    line: "if (slices.next().done === true) this.indexing = undefined",
    becomes: "slices.next()\n    this.indexing = undefined"
  },
  {
    fault: "while a long step is not over, its stream has a deadline",
    file: "server/GroupStream.ts",
    line: "return this.unfinished === undefined ? ServerStreams.deadline(this.state) : Number.POSITIVE_INFINITY",
    becomes: "return this.unfinished === undefined ? ServerStreams.deadline(this.state) : 0"
  },
  {
    fault: "the first state of a group concerns nobody",
    file: "server/FanOut.ts",
    line: "if (before === undefined || group === undefined) this.streams.forEach(affect)",
    becomes: "if (before === undefined || group === undefined) return"
  },
  {
    fault: "a stream that no change concerns keeps the state of long ago",
    file: "server/FanOut.ts",
    line: "      this.interests.someInTurn((stream) => visit(stream, false))\n",
    becomes: ""
  },
  {
    fault: "a stream that goes on in the state in which it was is told of nothing",
    file: "server/FanOut.ts",
    line: "const slices = this.index(stream, ServerStreams.interests(state))",
    becomes: "const slices = undefined"
  },
  {
    fault: "validation: what breaks rules is served though it is to be refused",
    file: "packages/server/src/Validator.ts",
    by: "packages/server/test/validate.test.ts",
    line: 'if (mode === "refuse") return Effect.fail(',
    becomes: "if (mode === undefined) return Effect.fail("
  },
  {
    fault: "validation: what breaks rules is remembered as good",
    file: "packages/server/src/Validator.ts",
    by: "packages/server/test/validate.test.ts",
    line: "if (result.faults.length === 0 && !result.more) this.good.add",
    becomes: "if (result.faults.length >= 0) this.good.add"
  },
  {
    fault: "validation: a resource is looked at in each of its groups",
    file: "packages/server/src/Validator.ts",
    by: "packages/server/test/validate.test.ts",
    line: "if (this.good.has(resource.fingerprint)) return undefined",
    becomes: ""
  },
  {
    fault: "validation: a small resource is right whatever its bytes say",
    file: "packages/server/src/Validator.ts",
    by: "packages/server/test/validate.test.ts",
    line: "&& rules.breaksNone(type, resource.value, options)) return",
    becomes: ") return"
  },
  {
    fault: "rules: bytes break none though the type of an Any in them is not loaded",
    file: "packages/validate/src/Rules.ts",
    by: "packages/validate/test/Rules.test.ts",
    line: "options.isMessage) && !isMissing",
    becomes: "options.isMessage)"
  },
  {
    fault: "validation: rules that are off are asked",
    file: "packages/server/src/Validator.ts",
    by: "packages/server/test/validate.test.ts",
    line: "off: this.off, ",
    becomes: ""
  },
  {
    fault: "validation: faults take as much text as they like",
    file: "packages/server/src/Validator.ts",
    by: "packages/server/test/validate.test.ts",
    line: "if (this.text < 0 && (told.length > 0 || this.invalid.length > 0)) break",
    becomes: ""
  },
  {
    fault: "validation: a long name is told as a whole",
    file: "packages/server/src/Validator.ts",
    by: "packages/server/test/validate.test.ts",
    line: "resourceName: cutName(name)",
    becomes: "resourceName: name"
  },
  {
    fault: "validation: the place of a resource is not told",
    file: "packages/server/src/Validator.ts",
    by: "packages/server/test/validate.test.ts",
    line: "place === undefined ? text : `${place}: ${text}`",
    becomes: "text"
  },
  {
    fault: "validation: what waits for types to be loaded is passed over",
    file: "packages/server/src/snapshot/Encoding.ts",
    by: "packages/server/test/validate.test.ts",
    line: "if (wait !== undefined) return Effect.flatMap(wait, go)",
    becomes: ""
  },
  {
    fault: "validation: types are waited for once, not those in what they hold",
    file: "packages/server/src/Validator.ts",
    by: "packages/server/test/validate.test.ts",
    line: "Effect.flatMap(wait, () => this.inspect(inspected, loop) ?? Effect.void)",
    becomes: "Effect.map(wait, () => void this.inspect(inspected, loop))"
  },
  {
    fault: "validation: what is not in force any more is still said to be",
    file: "packages/server/src/InvalidInForce.ts",
    by: "packages/server/test/validate.test.ts",
    line: "if (ResourceGroup.get(own, resource) === resource) next.set(resource, invalid)",
    becomes: "next.set(resource, invalid)"
  },
  {
    fault: "validation: what is remembered has no bound",
    file: "packages/server/src/internal/Remembered.ts",
    by: "packages/server/test/validate.test.ts",
    line: "if (this.#young.size >= this.most / 2) {",
    becomes: "if (this.#young.size < 0) {"
  },
  {
    fault: "validation: a call cannot switch it off",
    file: "packages/server/src/SnapshotStore.ts",
    by: "packages/server/test/validate.test.ts",
    line: "validator.encodeAt(at, group, resources, held.stored(group)?.own, validate)",
    becomes: "validator.encodeAt(at, group, resources, held.stored(group)?.own)"
  },
  {
    fault: "validation: what is served though it breaks rules is not said of the group",
    file: "packages/server/src/SnapshotStore.ts",
    by: "packages/server/test/validate.test.ts",
    line: "invalidInForce.changed(group, own, invalid)",
    becomes: ""
  },
  {
    fault: "validation: types that have to be loaded count as checked",
    file: "packages/validate/src/Rules.ts",
    by: "packages/server/test/validate.test.ts",
    line: "missing.size > 0 ? missing : resultOf(report)",
    becomes: "resultOf(report)"
  },
  {
    fault: "rules: those that are off are broken all the same",
    file: "packages/validate/src/internal/Report.ts",
    by: "packages/validate/test/Rules.test.ts",
    line: "if (this.off?.has(rule) === true) return",
    becomes: ""
  },
  {
    fault: "rules: a long key of a map is told as a whole",
    file: "packages/validate/src/internal/CollectionRules.ts",
    by: "packages/validate/test/Rules.test.ts",
    line: "`[${shownText(key)}]`",
    becomes: "`[${JSON.stringify(key)}]`"
  },
  {
    fault: "client: rules of the type are not asked",
    file: "packages/client/src/WatchableType.ts",
    by: "packages/client/test/XdsClient.test.ts",
    line: "rules ? Rules.check(schema, value, { registry, maxFaults }) : undefined)",
    becomes: "undefined)"
  },
  {
    fault: "client: what a registered Any holds is not checked",
    file: "packages/client/src/WatchableType.ts",
    by: "packages/client/test/XdsClient.test.ts",
    line: "Rules.check(schema, value, { registry, maxFaults })",
    becomes: "Rules.check(schema, value, { maxFaults })"
  },
  {
    fault: "client: the rules cannot be switched off",
    file: "packages/client/src/XdsClient.ts",
    by: "packages/client/test/XdsClient.test.ts",
    line: "{ rules: options.rules }",
    becomes: "{}"
  },
  {
    fault: "rules: a range whose upper bound is below its lower one is taken for an empty one",
    file: "packages/validate/src/internal/Range.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "const isOutside = upper !== undefined && lower !== undefined && !(compare(upper.value, lower.value) > 0)",
    becomes: "const isOutside = false"
  },
  {
    fault: "rules: the bound itself is beyond an inclusive bound",
    file: "packages/validate/src/internal/Range.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "return upper.isInclusive ? order > 0 : order >= 0",
    becomes: "return order >= 0"
  },
  {
    fault: "rules: 64 bits are compared as doubles",
    file: "packages/validate/src/internal/NumberRules.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "const compare = (a: Numeric, b: Numeric): number => (a < b ? -1 : a > b ? 1 : a == b ? 0 : Number.NaN)",
    becomes: "const compare = (a: Numeric, b: Numeric): number => Number(a) - Number(b)"
  },
  {
    fault: "rules: NaN is beyond every bound",
    file: "packages/validate/src/internal/NumberRules.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "a == b ? 0 : Number.NaN)",
    becomes: "a == b ? 0 : -1)"
  },
  {
    fault: "rules: lengths count UTF-16 code units",
    file: "packages/validate/src/internal/TextRules.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "if (isLow && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) count--",
    becomes: "void isLow"
  },
  {
    fault: "rules: a header that need not be strict has to be",
    file: "packages/validate/src/internal/TextRules.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "if (!isStrict) {",
    becomes: "if (!isStrict && isStrict) {"
  },
  {
    fault: "rules: a pattern has to match the whole text",
    file: "packages/validate/src/internal/TextRules.ts",
    line: "compiled.right.isIn(",
    becomes: "compiled.right.matches(",
    by: "packages/validate/test/kinds.test.ts"
  },
  {
    fault: "rules: two NaNs in a list are one",
    file: "packages/validate/src/internal/CollectionRules.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "if (Number.isNaN(item)) return",
    becomes: ""
  },
  {
    fault: "rules: a duration whose parts have two signs is taken",
    file: "packages/validate/src/internal/TimeRules.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "!(seconds > 0n && nanos < 0) &&",
    becomes: ""
  },
  {
    fault: "rules: nanoseconds are not compared",
    file: "packages/validate/src/internal/TimeRules.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "a.seconds < b.seconds ? -1 : a.seconds > b.seconds ? 1 : a.nanos - b.nanos",
    becomes: "a.seconds < b.seconds ? -1 : a.seconds > b.seconds ? 1 : 0"
  },
  {
    fault: "rules: what is not set and optional is checked at its default",
    file: "packages/validate/src/internal/MessageRules.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "if (value !== undefined || !isSkipped) inField(value, report)",
    becomes: "inField(value ?? 0, report)"
  },
  {
    fault: "rules: a oneof that has to be set need not be",
    file: "packages/validate/src/internal/MessageRules.ts",
    by: "packages/validate/test/Rules.test.ts",
    line: "const isNeeded = getOption(oneof, required)",
    becomes: "const isNeeded = false"
  },
  {
    fault: "rules: what an Any holds is not checked",
    file: "packages/validate/src/internal/MessageRules.ts",
    by: "packages/validate/test/Rules.test.ts",
    line: "decoded(packed.type, packed.value, report)\n      if",
    becomes: "void decoded\n      if"
  },
  {
    fault: "rules: messages may be nested without end",
    file: "packages/validate/src/internal/Report.ts",
    by: "packages/validate/test/Rules.test.ts",
    line: "if (this.depth >= maxDepth) {",
    becomes: "if (this.depth < 0) {"
  },
  {
    fault: "rules: everything is looked at after there are enough faults",
    file: "packages/validate/src/internal/CollectionRules.ts",
    by: "packages/validate/test/Rules.test.ts",
    line: "index < items.length && !report.isFull; index++) {\n        const before",
    becomes:
      "index < items.length; index++, report.isFull = false) {\n        report.isFull = false\n        const before"
  },
  {
    fault: "rules: a fault says the value of a sensitive field",
    file: "packages/validate/src/internal/MessageRules.ts",
    by: "packages/validate/test/kinds.test.ts",
    line: "isSensitive(field) || isHeaderValue(field) ? 1 : 0",
    becomes: "isHeaderValue(field) ? 1 : 0"
  },
  {
    fault: "rules: a fault says the value of a header",
    file: "packages/validate/src/internal/MessageRules.ts",
    by: "packages/validate/test/Rules.test.ts",
    line: "isSensitive(field) || isHeaderValue(field) ? 1 : 0",
    becomes: "isSensitive(field) ? 1 : 0"
  },
  {
    fault: "rules: an Any that names an enum is looked up for ever",
    file: "packages/validate/src/Rules.ts",
    by: "packages/validate/test/Rules.test.ts",
    line: "if (type === undefined && !loaded.has(name) && TypeRegistry.has(name)) miss(name)",
    becomes: "if (type === undefined && TypeRegistry.has(name)) miss(name); if (loaded.has(name)) throw new Error()"
  },
  {
    fault: "on demand: a name that may be made is said not to exist at once",
    file: "server/Due.ts",
    by: "packages/core/test/traces.test.ts",
    line: "const deferred = waiting === undefined ? later : RequestedNames.joined(later, waiting.names)",
    becomes: "const deferred = later; void RequestedNames.joined"
  },
  {
    fault: "on demand: the first answer does not wait if it is empty",
    file: "server/Due.ts",
    by: "packages/core/test/traces.test.ts",
    line: 'const mustReply = self.mustReply && (waiting === undefined || self.wildcard !== "none" || !isAllLater)',
    becomes: "const mustReply = self.mustReply"
  },
  {
    fault: "on demand: a wildcard waits for a name beside it",
    file: "server/Due.ts",
    by: "packages/core/test/traces.test.ts",
    line: '(waiting === undefined || self.wildcard !== "none" || !isAllLater)',
    becomes: "(waiting === undefined || !isAllLater)"
  },
  {
    fault: "on demand: the stream does not wake when an answer has waited as long as it may",
    file: "server/RoundPlan.ts",
    by: "packages/core/test/traces.test.ts",
    line: "...dues.map((due) => Math.min(due.renewAt, due.answerAt))",
    becomes: "...dues.map((due) => due.renewAt)"
  },
  {
    fault: "on demand: an answer waits for ever",
    file: "server/Sending.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (self.options.missingWait !== undefined) OnDemandNames.expire(self, now)",
    becomes: ""
  },
  {
    fault: "on demand: an answer waits anew when it is asked for again",
    file: "server/OnDemandNames.ts",
    by: "packages/core/test/traces.test.ts",
    line: "HashMap.has(onDemand, name) || isHeld(self, name)",
    becomes: "isHeld(self, name)"
  },
  {
    fault: "on demand: who asks for what was taken from it waits",
    file: "server/OnDemandNames.ts",
    by: "packages/core/test/traces.test.ts",
    line: "HashMap.has(onDemand, name) || isHeld(self, name)",
    becomes: "HashMap.has(onDemand, name)"
  },
  {
    fault: "on demand: the answer waits though the resource is there",
    file: "server/OnDemandNames.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (!requested.has(name) || isIn(protocol, newest, name)) continue",
    becomes: "if (!requested.has(name)) continue"
  },
  {
    fault: "on demand: what a client holds from an earlier stream it is told to delete before the answer",
    file: "server/Incremental.ts",
    by: "packages/core/test/traces.test.ts",
    line: "...OnDemandNames.except(self, vain)",
    becomes: "...vain"
  },
  {
    fault: "on demand: the name that opens a listener is to be made",
    file: "server/OnDemandNames.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (!isHost || !VirtualHostDiscovery.isOpener(name)) found.add(name)",
    becomes: "found.add(name)"
  },
  {
    fault: "on demand: that what can be done was done is not heard",
    file: "server/OnDemandNames.ts",
    by: "packages/core/test/traces.test.ts",
    line: "const asked = HashMap.removeMany(known.onDemand, names)",
    becomes: "const asked = known.onDemand"
  },
  {
    fault: "on demand: given up beside a wildcard, it is not told whether that has it",
    file: "server/RequestedNames.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (HashMap.size(self.onDemand) > 0) self.onDemand = HashMap.removeMany(self.onDemand, names)",
    becomes: ""
  },
  {
    fault: "on demand: what the group lacks that a client is moved to is not told",
    file: "server/OnDemandNames.ts",
    by: "packages/core/test/traces.test.ts",
    line: 'if (names.length > 0) outputs.push({ _tag: "Missing", typeUrl: each.typeUrl, names })',
    becomes: ""
  },
  {
    fault: "on demand: after a move an answer waits as in the group before",
    file: "server/OnDemandNames.ts",
    by: "packages/core/test/traces.test.ts",
    line: "const left = isMoved ? withOnDemand(each, Subscriptions.noneOnDemand) : each",
    becomes: "const left = each"
  },
  {
    fault: "on demand: any number of answers of a stream wait",
    file: "server/OnDemandNames.ts",
    by: "packages/core/test/FanOut.test.ts",
    line: "if (HashMap.size(onDemand) >= mostOnDemand) break",
    becomes: ""
  },
  {
    fault: "on demand: a stream whose names are not indexed yet does not hear that its answer waits no longer",
    file: "server/InterestIndex.ts",
    by: "packages/core/test/FanOut.test.ts",
    line: "for (const item of this.#unfinished.keys()) if (those?.has(item) !== true) visit(item)",
    becomes: ""
  },
  {
    fault: "on demand: streams whose answers do not wait are told, too",
    file: "server/GroupStream.ts",
    by: "packages/core/test/FanOut.test.ts",
    line: "if (!OnDemandNames.isPending(this.state, typeUrl, name)) return false",
    becomes: ""
  },
  {
    fault: "on demand: what is gone is looked for among the names of wildcard domains in vain",
    file: "server/InterestIndex.ts",
    by: "packages/core/test/FanOut.test.ts",
    line: "for (const [name] of named) if (!difference.touched.has(name) && Difference.concerns(difference, name)) see(name)",
    becomes: ""
  },
  {
    fault: "on demand: many answers that waited for one thing go out one by one",
    file: "server/GroupStream.ts",
    by: "packages/server/test/onDemand.test.ts",
    line: 'const isMore = last?._tag === "MissingDone" && last.typeUrl === typeUrl',
    becomes: 'const isMore = last?._tag === "MissingDone" && last.typeUrl === ""'
  },
  {
    fault: "on demand: names of two groups are one",
    file: "packages/server/src/internal/MissingNames.ts",
    by: "packages/server/test/MissingNames.test.ts",
    line: "const key = JSON.stringify([group, typeUrl, name])",
    becomes: "const key = JSON.stringify([typeUrl, name])"
  },
  {
    fault: "on demand: bytes have no bound",
    file: "packages/server/src/internal/MissingNames.ts",
    by: "packages/server/test/MissingNames.test.ts",
    line: "while (this.#keys.size >= this.options.maxNames || this.#bytes + bytes > this.options.maxBytes) {",
    becomes: "while (this.#keys.size >= this.options.maxNames) {"
  },
  {
    fault: "on demand: a group that fills the queue keeps others out",
    file: "packages/server/src/internal/MissingNames.ts",
    by: "packages/server/test/MissingNames.test.ts",
    line: "if (most === undefined || last === undefined || most.bytes - last.bytes < other.bytes + bytes) return undefined",
    becomes: "if (most === undefined || last === undefined || other !== most) return undefined; void bytes"
  },
  {
    fault: "on demand: who comes last takes from who has no more",
    file: "packages/server/src/internal/MissingNames.ts",
    by: "packages/server/test/MissingNames.test.ts",
    line: "most.bytes - last.bytes < other.bytes + bytes",
    becomes: "most === other"
  },
  {
    fault: "on demand: one group has all calls",
    file: "packages/server/src/internal/MissingNames.ts",
    by: "packages/server/test/MissingNames.test.ts",
    line: "if (share.calls >= this.options.maxCallsPerGroup) continue",
    becomes: ""
  },
  {
    fault: "on demand: groups have no turns",
    file: "packages/server/src/internal/MissingNames.ts",
    by: "packages/server/test/MissingNames.test.ts",
    line: "this.#shares.delete(group)\n      this.#shares.set(group, share)",
    becomes: ""
  },
  {
    fault: "on demand: what calls are over for counts for ever",
    file: "packages/server/src/internal/MissingNames.ts",
    by: "packages/server/test/onDemand.test.ts",
    line: "this.#hold(name, share, -1)\n  }\n\n  /** Removes all",
    becomes: "}\n\n  /** Removes all"
  },
  {
    fault: "on demand: when the server ends its names are counted on",
    file: "packages/server/src/internal/MissingNames.ts",
    by: "packages/server/test/onDemand.test.ts",
    line: "this.options.onHeld(-this.#keys.size, -this.#bytes)",
    becomes: ""
  },
  {
    fault: "on demand: the clients are not told that the call is over",
    file: "packages/server/src/internal/MissingResources.ts",
    by: "packages/server/test/onDemand.test.ts",
    line: "          done(next)\n          start()",
    becomes: "          start()"
  },
  {
    fault: "on demand: those for whose names there is no room wait for nothing",
    file: "packages/server/src/internal/MissingResources.ts",
    by: "packages/server/test/onDemand.test.ts",
    line: "for (const each of refused) done(each)",
    becomes: ""
  },
  {
    fault: "on demand: what is no Effect is run",
    file: "packages/server/src/internal/MissingResources.ts",
    by: "packages/server/test/missing.test.ts",
    line: "return Effect.isEffect(given) ? given : Effect.die(new TypeError(`it gave no Effect: ${Given.kindOf(given)}`))",
    becomes: "return given"
  },
  {
    fault: "on demand: what cannot be interrupted holds its place for ever",
    file: "packages/server/src/internal/MissingResources.ts",
    by: "packages/server/test/missing.test.ts",
    line: "        Effect.disconnect,\n",
    becomes: ""
  },
  {
    fault: "on demand: what is there again is asked for again",
    file: "packages/server/src/internal/MissingResources.ts",
    by: "packages/server/test/onDemand.test.ts",
    line: "if (isThere(group, typeUrl, name)) {",
    becomes: 'if (name === "") {'
  },
  {
    fault: "on demand: what nobody subscribes to any more is asked for again",
    file: "packages/server/src/internal/MissingResources.ts",
    by: "packages/server/test/onDemand.test.ts",
    line: "const wanted = those.filter((each) => fanOut.isNamed(each.typeUrl, each.name))",
    becomes: "const wanted = those"
  },
  {
    fault: "on demand: a store that drops one resource for another is asked without end",
    file: "packages/server/src/internal/MissingResources.ts",
    by: "packages/server/test/onDemand.test.ts",
    line: "timers.set(group.name, now() + againAfter)",
    becomes: "timers.set(group.name, now())"
  },
  {
    fault: "on demand: a resource that is taken away is not asked for again",
    file: "packages/server/src/internal/MissingResources.ts",
    by: "packages/server/test/onDemand.test.ts",
    line: "const looking = before && group.fanOut.gone(before)",
    becomes: "const looking = before && group.fanOut.group === before ? group.fanOut.gone(before) : undefined"
  },
  {
    fault: "on demand: a group that was cleared is asked for",
    file: "packages/server/src/internal/MissingResources.ts",
    by: "packages/server/test/onDemand.test.ts",
    line: "if (fanOut.group === undefined) return\n",
    becomes: ""
  },
  {
    fault: "v2: a client of the other version is answered that there is nothing",
    file: "server/StreamRequest.ts",
    by: "packages/core/test/ApiVersion.test.ts",
    line: "const conflict = first ? ApiVersion.conflictOf(self.group, typeUrl) : undefined",
    becomes: "const conflict: string | undefined = undefined"
  },
  {
    fault: "v2: a group that becomes one of the other version takes away what its clients have",
    file: "server/ApiVersion.ts",
    by: "packages/core/test/ApiVersion.test.ts",
    line: "group.api === self.group?.api) return undefined",
    becomes: "self.group !== undefined) return undefined"
  },
  {
    fault: "v2: a short step passes over that a group is of the other version now",
    file: "server/ServerStream.ts",
    by: "packages/core/test/ApiVersion.test.ts",
    line: "if (ApiVersion.conflict(self, input.group) !== undefined) return undefined",
    becomes: ""
  },
  {
    fault: "v2: the type of any service is served",
    file: "server/ApiVersion.ts",
    by: "packages/core/test/ApiVersion.test.ts",
    line: "return type !== undefined && type.shortName === ResourceType.byTypeUrl(serviceTypeUrl)?.shortName",
    becomes: "return type !== undefined"
  },
  {
    fault: "v2: a group may have resources of both versions",
    file: "resource/ResourceGroup.ts",
    by: "packages/core/test/ApiVersion.test.ts",
    line: "return v2 === undefined || v3 === undefined",
    becomes: "return v2 === undefined || v3 !== undefined"
  },
  {
    fault: "v2: endpoints are not sent again after clusters",
    file: "server/EdsAfterCds.ts",
    by: "packages/core/test/traces.test.ts",
    line: "find(self, ResourceType.besides(clusters.typeUrl, ResourceType.ClusterLoadAssignment))",
    becomes: "find(self, ResourceType.ClusterLoadAssignment.typeUrl)"
  },
  {
    fault: "v2: no listener is opened for routes with virtual hosts on demand",
    file: "server/VirtualHostOpeners.ts",
    by: "packages/core/test/traces.test.ts",
    line: "ResourceGroups.set(group, ResourceType.besides(self.typeUrl, ResourceType.RouteConfiguration))",
    becomes: "ResourceGroups.set(group, ResourceType.RouteConfiguration.typeUrl)"
  },
  {
    fault: "v2: virtual hosts are not found by their domains",
    file: "resource/ResourceSet.ts",
    by: "packages/core/test/traces.test.ts",
    line: "this.#hasDomains = ResourceType.isOf(self.typeUrl, ResourceType.VirtualHost)",
    becomes: "this.#hasDomains = self.typeUrl === ResourceType.VirtualHost.typeUrl"
  },
  {
    fault: "v2: the client calls the aggregated service of v3",
    file: "packages/transport-connect/src/grpc/MethodTable.ts",
    by: "packages/transport-connect/test/v2.test.ts",
    line: "const type = typeUrl === undefined ? aggregated[api] : ResourceType.byTypeUrl(typeUrl)",
    becomes: "const type = typeUrl === undefined ? aggregated.v3 : ResourceType.byTypeUrl(typeUrl)"
  },
  {
    fault: "v2: REST has no paths",
    file: "packages/transport-rest/src/internal/ServedTypes.ts",
    by: "packages/transport-rest/test/v2.test.ts",
    line: "of ResourceType.ofAllApis) {",
    becomes: "of ResourceType.all) {"
  },
  {
    fault: "client, explored: a watcher that leaves is waited for",
    file: "client/FlowControl.ts",
    by: "packages/testing/test/ExplorationStateOfTheWorld.test.ts",
    line: "return then(take(self, input.watcher, now), (next) => pass(next, input, now))",
    becomes: "return pass(self, input, now)"
  },
  {
    fault: "client, explored: watchers have half of their time",
    file: "client/FlowControl.ts",
    by: "packages/testing/test/ExplorationStateOfTheWorld.test.ts",
    line: "const until = before?.until ?? now + self.watcherTimeout",
    becomes: "const until = before?.until ?? now + self.watcherTimeout / 2"
  },
  {
    fault: "client, explored: watchers that are at work on the response before are forgotten",
    file: "client/FlowControl.ts",
    by: "packages/testing/test/ExplorationStateOfTheWorld.test.ts",
    line: "const watchers = before === undefined ? told : HashSet.union(told, before.watchers)",
    becomes: "const watchers = told"
  },
  {
    fault: "client, explored: when the first watcher is done the others are not waited for",
    file: "client/FlowControl.ts",
    by: "packages/testing/test/ExplorationStateOfTheWorld.test.ts",
    line: "? { ...each, watchers: HashSet.remove(each.watchers, watcher) }",
    becomes: "? { ...each, watchers: HashSet.empty<number>() }"
  },
  {
    fault: "client, explored: after an answer no other response is read",
    file: "client/FlowControl.ts",
    by: "packages/testing/test/ExplorationStateOfTheWorld.test.ts",
    line: 'result = [result[0], [...result[1], { _tag: "Read", stream }]]',
    becomes: "result = [result[0], result[1]]"
  },
  {
    fault: "client, explored: a response that was answered is waited for",
    file: "client/FlowControl.ts",
    by: "packages/testing/test/ExplorationStateOfTheWorld.test.ts",
    line: "const left = next.deliveries.filter((each) => each !== delivery)",
    becomes: "const left = next.deliveries"
  },
  {
    fault: "client, explored: the first of the watchers that were told is not waited for",
    file: "client/FlowControl.ts",
    by: "packages/testing/test/ExplorationStateOfTheWorld.test.ts",
    line: 'if (output._tag === "Notify") for (const watcher of output.watchers) told.add(watcher)',
    becomes: 'if (output._tag === "Notify") for (const watcher of output.watchers.slice(1)) told.add(watcher)'
  },
  {
    fault: "domains are compared with their case",
    file: "packages/validate/src/internal/group/Routes.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "const key = AsciiText.lower(domain)",
    becomes: "const key = domain"
  },
  {
    fault: "the clusters of an inline table are not asked for at once",
    file: "packages/validate/src/internal/group/Routes.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "table.validateClusters ?? isInline",
    becomes: "table.validateClusters ?? false"
  },
  {
    fault: "weights may have any sum",
    file: "packages/validate/src/internal/group/Routes.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "if (sum > maxUint32)",
    becomes: "if (sum > 2 * maxUint32)"
  },
  {
    fault: "any percent sign in a header is a command",
    file: "packages/validate/src/internal/group/HeaderCommands.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "/%(?:%|([A-Z0-9_]+)(?:\\(.*?\\))?(?::\\d+)?%)/y",
    becomes: "/%/y"
  },
  {
    fault: "`Host` is a header like any other",
    file: "packages/validate/src/internal/group/Routes.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: 'name.toLowerCase() === "host"',
    becomes: 'name === "host"'
  },
  {
    fault: "server names are compared with their case",
    file: "packages/validate/src/internal/group/FilterChainMatches.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "textsOf(match.serverNames, AsciiText.lower)",
    becomes: "textsOf(match.serverNames, String)"
  },
  {
    fault: "ranges are compared as they are written",
    file: "packages/validate/src/internal/group/FilterChainMatches.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "  const bits = Addresses.bitsOf(addressPrefix)",
    becomes: "  const bits = addressPrefix"
  },
  {
    fault: "a listener may not name its own address twice",
    file: "packages/validate/src/internal/group/Listeners.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "if (key === undefined || own.has(key)) continue",
    becomes: "if (key === undefined) continue"
  },
  {
    fault: "addresses of listeners are compared as they are written",
    file: "packages/validate/src/internal/group/Addresses.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "isIp(host) ? ipKey(host) : host",
    becomes: "host"
  },
  {
    fault: "an optional filter must be configured, too",
    file: "packages/validate/src/internal/group/Extensions.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: 'if (!self.isOptional || self.configType.case === "configDiscovery")\n      configured',
    becomes: "configured"
  },
  {
    fault: "the router may be anywhere",
    file: "packages/validate/src/internal/group/HttpManagers.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: 'if (!isLast) fault("must be the last filter: it is the router")\n      else if',
    becomes: "if"
  },
  {
    fault: "settings for another policy are looked at",
    file: "packages/validate/src/internal/group/Clusters.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "if (lbPolicy === ringHash && lbConfig.case",
    becomes: "if (lbConfig.case"
  },
  {
    fault: "the default of the least ring size is forgotten",
    file: "packages/validate/src/internal/group/Clusters.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "minimumRingSize ?? 1024n",
    becomes: "minimumRingSize ?? 0n"
  },
  {
    fault: "a source by another server counts as this one",
    file: "packages/validate/src/internal/group/ConfigSources.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: 'kind === "ads" || kind === "self"',
    becomes: "kind !== undefined"
  },
  {
    fault: "what is in an EDS cluster is checked as if it were used",
    file: "packages/validate/src/internal/group/Endpoints.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: 'if ((cluster !== undefined && discovery === "EDS") || discovery === "other") return',
    becomes: 'if (discovery === "other") return'
  },
  {
    fault: "localities without weight count for gRPC",
    file: "packages/validate/src/internal/group/Endpoints.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "    if ((each.loadBalancingWeight ?? 0) === 0) continue\n",
    becomes: ""
  },
  {
    fault: "a certificate in a combined context needs its authority there",
    file: "packages/validate/src/internal/group/Tls.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "if (names > 0 && !isTrusted)",
    becomes: "if (names > 0)"
  },
  {
    fault: "the key that is no PEM is told",
    file: "packages/validate/src/internal/group/Tls.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: 'site.fault("pem", "must be PEM", [field])',
    becomes: 'site.fault("pem", `must be PEM, is ${text}`, [field])'
  },
  {
    fault: "`\\\\C` is no expression",
    file: "packages/re2/src/internal/Syntax.ts",
    line: "if (this.alphabet.largest > 0xff) throw",
    becomes: "if (this.alphabet.largest > 0) throw",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "what is nested too deep is entered",
    file: "packages/validate/src/internal/group/Reading.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "if (site.depth >= maxDepth) return\n    const { reading, steps, unopened }",
    becomes: "if (site.depth >= 10 * maxDepth) return\n    const { reading, steps, unopened }"
  },
  {
    fault: "rules of gRPC count for everyone",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "if (ofGrpcAlone.has(rule) && this.#reached?.has(entry) !== true) return",
    becomes: "if (ofGrpcAlone.size === 0) return"
  },
  {
    fault: "an array of bytes is read again",
    file: "packages/validate/src/internal/group/FactsReader.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "return this.passing.get(resource) ?? this.cache.get(resource)",
    becomes: "return this.passing.get(resource)"
  },
  {
    fault: "a group is checked in one turn of the event loop",
    file: "packages/validate/src/internal/Turns.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "if (this.done < perTurn) return false",
    becomes: "return false"
  },
  {
    fault: "what the peer was started with is not there",
    file: "packages/validate/src/GroupRules.ts",
    by: "packages/validate/test/GroupRules.test.ts",
    line: "=> present.has(`${typeUrl} ${name}`)",
    becomes: "=> present.has(name)"
  },
  {
    fault: "index: who refers to what is removed is not asked again",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "if (before === undefined || next === undefined) this.touch(key)",
    becomes: "if (before === undefined) this.touch(key)"
  },
  {
    fault: "index: a change that is tried stays",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "this.#place(resource, held)",
    becomes: "if (held === undefined) this.touch(resource)"
  },
  {
    fault: "index: a fault whose place in a list is another is new",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: 'path.replace(/\\[\\d+\\]/g, "[]")',
    becomes: "path"
  },
  {
    fault: "index: every fault is told after every change",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "const isAllNew = before.length === 0 || entry.wrong.length === 0",
    becomes: "const isAllNew = true"
  },
  {
    fault: "index: of those that claim the same the last one that came may have it",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "claimed.sort((one, other) => one.entry.order - other.entry.order)",
    becomes: "claimed.reverse()"
  },
  {
    fault: "index: what leads to gRPC is found once",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "if (this.#forGrpc !== undefined && this.#isMoved) {",
    becomes: "if (this.#forGrpc !== undefined && this.#reached === undefined) {"
  },
  {
    fault: "VHDS channel: the virtual host for other domains is used",
    file: "packages/routing/src/internal/FetchedHost.ts",
    by: "packages/routing/test/virtualHosts.test.ts",
    line: 'return known?._tag === "Value" && VirtualHosts.isFor(known.value, authority) ? known.value : undefined',
    becomes: 'return known?._tag === "Value" ? known.value : undefined'
  },
  {
    fault: "VHDS channel: a fetched virtual host that changed is told as the same",
    file: "packages/routing/src/XdsConfig.ts",
    by: "packages/routing/test/virtualHosts.test.ts",
    line: "if (a.listener !== b.listener || a.table !== b.table || a.virtualHost !== b.virtualHost) return false",
    becomes: "if (a.listener !== b.listener || a.table !== b.table) return false"
  },
  {
    fault: "VHDS client: a virtual host with a domain of the route configuration is used",
    file: "client/Ownership.ts",
    line: "for (const { keys, owner } of HashMap.values(self.claims)) if (HashSet.has(keys, key)) return owner",
    becomes:
      "for (const { keys, owner } of HashMap.values(self.claims)) if (HashSet.has(keys, key) && owner === key) return owner"
  },
  {
    fault: "VHDS client: a domain cannot move within a response",
    file: "client/Ownership.ts",
    line: "if (this.#changed.has(holder)) return this.rejected.has(holder) ? holder : undefined",
    becomes: "if (this.#changed.has(holder)) return holder"
  },
  {
    fault: "VHDS client: a virtual host that is rejected loses the domains that it keeps",
    file: "client/Ownership.ts",
    line: "if (claimant !== undefined) {",
    becomes: "if (claimant === undefined) {"
  },
  {
    fault: "VHDS client: a virtual host is removed only for who asked by its own name",
    file: "client/Validation.ts",
    line: "const aliases = Ownerships.aliasesOf(view.ownership, name).filter((alias) => !this.#seen.has(alias))",
    becomes: "const aliases = Ownerships.aliasesOf(view.ownership, name).filter(() => false)"
  },
  {
    fault: "VHDS client: a virtual host that is removed stays in use",
    file: "client/ReceivedResponse.ts",
    line: "dropRemoved: failOnDataErrors || isOf(typeUrl, VirtualHost),",
    becomes: "dropRemoved: failOnDataErrors,"
  },
  {
    fault: "VHDS client: after 15 seconds of silence a host does not exist",
    file: "client/ClientDraft.ts",
    line: "(server.resourceTimerIsTransientError ?? false) || isOf(output.typeUrl, VirtualHost),",
    becomes: "server.resourceTimerIsTransientError ?? false,"
  },
  {
    fault: "VHDS client: an equal `vhds` clears the table",
    file: "client/VirtualHosts.ts",
    line: "if (was !== vhds) {",
    becomes: "if (was !== undefined) {"
  },
  {
    fault: "VHDS client: a changed `vhds` keeps what the source before sent",
    file: "client/VirtualHosts.ts",
    line: "this.table = Table.withoutFetched(this.table)",
    becomes: ""
  },
  {
    fault: "VHDS client: silence counts as an unknown host",
    file: "client/VirtualHosts.ts",
    line: 'this.put(name, { ...entry, status: "overdue" })',
    becomes: 'this.put(name, { ...entry, status: "absent" })'
  },
  {
    fault: "VHDS client: after silence the next request does not subscribe again",
    file: "client/VirtualHosts.ts",
    line: 'this.tell("Refresh", name)',
    becomes: ""
  },
  {
    fault: "VHDS client: a removed name keeps its virtual host",
    file: "client/VirtualHosts.ts",
    line: 'if (status !== "present") return',
    becomes: 'if (status === "present") return'
  },
  {
    fault: "VHDS client: a virtual host goes with the first of its names",
    file: "client/VirtualHostTable.ts",
    line: "if (HashSet.size(aliases) > 0) {",
    becomes: "if (HashSet.size(aliases) > 1) {"
  },
  {
    fault: "VHDS client: a changed virtual host keeps its former domains",
    file: "client/VirtualHostTable.ts",
    line: "let { owners, wildcards } = before === undefined ? self : withoutDomains(self, before.virtualHost)",
    becomes: "let { owners, wildcards } = self"
  },
  {
    fault: "VHDS client: a virtual host that gives up a domain takes it from the next owner",
    file: "client/VirtualHostTable.ts",
    line: "if (Option.getOrUndefined(HashMap.get(owners, key)) === virtualHost.name) owners = HashMap.remove(owners, key)",
    becomes: "owners = HashMap.remove(owners, key)"
  },
  {
    fault: "VHDS client: a fetched virtual host precedes one from RDS",
    file: "client/VirtualHostTable.ts",
    line: 'if (given._tag === "Some") return { virtualHost: given.value, isGiven: true }',
    becomes:
      'if (given._tag === "Some" && !HashMap.has(self.owners, key)) return { virtualHost: given.value, isGiven: true }'
  },
  {
    fault: "VHDS client: hosts of strangers push out virtual hosts",
    file: "client/VirtualHosts.ts",
    line: "idle.sort(([, a], [, b]) => rank(a) - rank(b) || this.usedAt(a) - this.usedAt(b))",
    becomes: "idle.sort(([, a], [, b]) => this.usedAt(a) - this.usedAt(b) + rank(a) - rank(b))"
  },
  {
    fault: "VHDS client: a host that requests wait for is pushed out",
    file: "client/VirtualHosts.ts",
    line: "const idle = Array.from(this.entries).filter(([, { waiting }]) => HashSet.size(waiting) === 0)",
    becomes: "const idle = Array.from(this.entries)"
  },
  {
    fault: "VHDS client: a use does not keep an unknown host",
    file: "client/VirtualHosts.ts",
    line: "if (entry.usedAt !== this.now) this.put(name, { ...entry, usedAt: this.now })",
    becomes: ""
  },
  {
    fault: "VHDS client: a changed `vhds` begins the wait of requests anew",
    file: "client/VirtualHosts.ts",
    line: "for (const [request, { name, until }] of inOrder(this.waiting)) this.route(request, name, until)",
    becomes:
      "for (const [request, { name }] of inOrder(this.waiting)) this.route(request, name, this.now + this.self.options.timeout)"
  },
  {
    fault: "VHDS client: a rejected virtual host is an unknown host",
    file: "client/VirtualHosts.ts",
    line: 'return status === "rejected" ? { _tag: "Unavailable", reason } : { _tag: "NotFound" }',
    becomes: 'return { _tag: "NotFound" }'
  },
  {
    fault: "VHDS client: any number of requests waits",
    file: "client/VirtualHosts.ts",
    line: "return HashMap.size(this.waiting) >= this.self.options.maxWaiting && !HashMap.has(this.waiting, request)",
    becomes: "return false"
  },
  {
    fault: "VHDS client: a host is compared as it is written",
    file: "client/VirtualHosts.ts",
    line: ".toLowerCase()",
    becomes: ""
  },
  {
    fault: "TP2: parameters without a constraint matter",
    file: "protocol/DynamicParameters.ts",
    by: "packages/core/test/DynamicParameters.test.ts",
    line: "return self.constraints.some((each) => isMatch(each, parameters))",
    becomes: "return self.constraints.every((each) => isMatch(each, parameters))"
  },
  {
    fault: "TP2: variants that a client without a key gets are not compared",
    file: "protocol/DynamicParameters.ts",
    by: "packages/core/test/DynamicParameters.test.ts",
    line: "tried = tried.flatMap((each) => [each, ...choices.map((value) => new Map(each).set(key, value))])",
    becomes: "tried = tried.flatMap((each) => choices.map((value) => new Map(each).set(key, value)))"
  },
  {
    fault: "TP2: a request with locators only is one without names, which is a wildcard",
    file: "wire/Request.ts",
    by: "packages/core/test/DynamicParameters.test.ts",
    line: ";(subscribe ??= []).push(decodeLocator(reader, (parameters ??= new Map<string, Parameters>())))",
    becomes: "decodeLocator(reader, (parameters ??= new Map<string, Parameters>()))"
  },
  {
    fault: "TP2: what is said beside a name that is given up counts",
    file: "wire/Request.ts",
    by: "packages/core/test/DynamicParameters.test.ts",
    line: ";(unsubscribe ??= []).push(decodeLocator(reader, new Map()))",
    becomes: ";(unsubscribe ??= []).push(decodeLocator(reader, (parameters ??= new Map<string, Parameters>())))"
  },
  {
    fault: "TP2: other parameters later change nothing",
    file: "server/ServerStream.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (self.group !== undefined && view !== self.group) {",
    becomes: "if (self.group === undefined && view !== self.group) {"
  },
  {
    fault: "TP2: clients that know no constraints get them, and no name",
    file: "resource/ClientView.ts",
    by: "packages/core/test/traces.test.ts",
    line: "return parameters === undefined ? variant?.plain : variant?.constrained",
    becomes: "return variant?.constrained"
  },
  {
    fault: "TP2: a name without a variant for the client is there, without content",
    file: "resource/ClientView.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (given === undefined) remove.push(resource.name)",
    becomes: "if (given === undefined) return"
  },
  {
    fault: "TP2: strangers let the views of a group grow",
    file: "resource/ClientView.ts",
    by: "packages/core/test/DynamicParameters.test.ts",
    line: "if (group.views.size >= maxViews && oldest !== undefined) group.views.delete(oldest)",
    becomes: ""
  },
  {
    fault: "TP2: a changed group is seen as it was",
    file: "resource/ClientView.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (set === since) return seen",
    becomes: "if (since !== undefined) return seen"
  },
  {
    fault: "TP3: an error is told again and again",
    file: "server/SentErrors.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (isKnown && !requested.has(name)) continue",
    becomes: ""
  },
  {
    fault: "TP3: who asks again is not told again",
    file: "server/SentErrors.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (isKnown && !requested.has(name)) continue",
    becomes: "if (isKnown) continue"
  },
  {
    fault: "TP3: an error that takes a resource away comes before its removal",
    file: "server/SentErrors.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (errors.length === maxErrors || (isAway(resource) && isHeld(subscription, name))) isAnyWaiting = true",
    becomes: "if (errors.length === maxErrors) isAnyWaiting = true"
  },
  {
    fault: "TP3: what cannot be given for now is removed",
    file: "server/SentErrors.ts",
    by: "packages/core/test/traces.test.ts",
    line: "isKeepable(ResourceSet.get(set, ownOf(name))) &&",
    becomes: "false &&"
  },
  {
    fault: "TP3: what was kept in the place of an error is kept for good",
    file: "server/SentErrors.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (isAsked && isGone && !isElsewhere) lost.push(name)",
    becomes: "if (isAsked && isGone && !isElsewhere) continue"
  },
  {
    fault: "TP3: what a wildcard kept is kept for good",
    file: "server/SentErrors.ts",
    by: "packages/core/test/traces.test.ts",
    line: "const isAsked = Subscriptions.isWild(subscription) || isWanted(names, subscription, name)",
    becomes: "const isAsked = isWanted(names, subscription, name)"
  },
  {
    fault: "TP2: a stale request says what the client is",
    file: "server/ServerStream.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (!isHeard(heard)) return heard\n  const next = draft(self)\n  next.parameters = parameters",
    becomes: "const next = draft(self)\n  next.parameters = parameters"
  },
  {
    fault: "TP2: a variant has the version of its content",
    file: "resource/Variants.ts",
    by: "packages/core/test/traces.test.ts",
    line: "const quoted = version === undefined ? marked.right.version : plain.version",
    becomes: "const quoted = plain.version"
  },
  {
    fault: "TP3: an error of a member of a collection is told to nobody",
    file: "server/SentErrors.ts",
    by: "packages/core/test/traces.test.ts",
    line: "return collection !== undefined && collections !== undefined && collections.globs.has(collection)",
    becomes: "return false"
  },
  {
    fault: "store-sql: a variant of a resource has no constraints when it is read back",
    file: "packages/store-sql/src/internal/GroupDifference.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "to.bytes(DynamicParameters.encode(constraints))",
    becomes: 'to.bytes(DynamicParameters.encode({ _tag: "Any" }))'
  },
  {
    fault: "files: a variant that is gone takes the others with it",
    file: "packages/transport-filesystem/src/ResourceDirectory.ts",
    by: "packages/transport-filesystem/test/ResourceDirectory.test.ts",
    line: "      lost.delete(nameKeyOf(resource))\n",
    becomes: ""
  },
  {
    fault: "server: a slot takes nothing of v2",
    file: "packages/server/src/snapshot/Encoding.ts",
    by: "packages/transport-rest/test/v2Slots.test.ts",
    line: "if (expected !== undefined && !ResourceType.isOf(typeUrl, expected)) {",
    becomes: "if (expected !== undefined && expected.typeUrl !== typeUrl) {"
  },
  {
    fault: "TP2: a variant that another takes the place of is not removed",
    file: "server/SentVariants.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (known !== undefined && (constraints === undefined || !equals(known, constraints)))",
    becomes: "if (known !== undefined && constraints === undefined)"
  },
  {
    fault: "TP2: a variant is removed by its name alone",
    file: "server/SentVariants.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (known === undefined) plain.push(name)",
    becomes: "if (known === undefined || known !== undefined) plain.push(name)"
  },
  {
    fault: "TP2: the client takes a changed variant for a removed one",
    file: "wire/ClientResponse.ts",
    by: "packages/core/test/client/traces.test.ts",
    line: "for (const name of variants) if (!sent.has(name)) removed.push(name)",
    becomes: "for (const name of variants) removed.push(name)"
  },
  {
    fault: "TP2: a wildcard of the client says nothing of it",
    file: "client/NextRequest.ts",
    by: "packages/core/test/client/traces.test.ts",
    line: "const isSilent = !isLocated && !self.named && wildcard && !hasRequested",
    becomes: "const isSilent = !self.named && wildcard && !hasRequested"
  },
  {
    fault: "LEDS: with the assignment of a changed cluster its endpoints are not sent again",
    file: "server/Sending.ts",
    by: "packages/core/test/traces.test.ts",
    line: "return sendMembers(self, before, fresh)",
    becomes: "return undefined"
  },
  {
    fault: "LEDS: endpoints are sent again with any change of their assignment",
    file: "server/LedsAfterEds.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if (!same.includes(glob)) again.push(glob)",
    becomes: "again.push(glob)"
  },
  {
    fault: "LEDS: with an assignment that is sent again, those of others are, too",
    file: "server/LedsAfterEds.ts",
    by: "packages/core/test/traces.test.ts",
    line: ".filter((glob) => globs.has(glob))",
    becomes: ".filter((glob) => globs.has(glob)).concat(Array.from(globs))"
  },
  {
    fault: "LEDS: an endpoint that a returning client quotes is not sent with its assignment",
    file: "server/LedsAfterEds.ts",
    by: "packages/core/test/traces.test.ts",
    line: "RequestedNames.resendHeld(next, again)",
    becomes: ""
  },
  {
    fault: "LEDS: endpoints wait for the ACK of clusters, which waits for them",
    file: "server/TypeOrder.ts",
    by: "packages/core/test/traces.test.ts",
    line: "subscription.order <= ResourceType.LbEndpoint.order",
    becomes: "subscription.order <= ResourceType.ClusterLoadAssignment.order"
  },
  {
    fault: "LEDS: a locality with endpoints of its own is taken for one with a collection",
    file: "resource/LedsCollections.ts",
    by: "packages/core/test/Collection.test.ts",
    line: 'if (field === LOAD_BALANCER_ENDPOINTS) name = ""',
    becomes: ""
  },
  {
    fault: "LEDS: in state of the world an endpoint has no name",
    file: "wire/ResponseForm.ts",
    by: "packages/core/test/Response.test.ts",
    line: "const isNamed = ({ typeUrl }: Response): boolean => typeUrl !== ResourceType.LbEndpoint.typeUrl",
    becomes: "const isNamed = (_: Response): boolean => true"
  },
  {
    fault: "LEDS: the client takes two equal endpoints for one",
    file: "client/Validation.ts",
    by: "packages/core/test/client/traces.test.ts",
    line: "this.#isNamed = decoder.nameOf !== ResourceDecoders.unnamed",
    becomes: "this.#isNamed = true"
  },
  {
    fault: "LEDS: the client takes the address of an endpoint for its name",
    file: "client/ResourceDecoder.ts",
    by: "packages/core/test/client/wire.test.ts",
    line: "return nameNumber === undefined ? unnamed :",
    becomes: "return nameNumber === undefined ? ResourceType.nameOfBytes :"
  },
  {
    fault: "FCDS: the client looks for the name of a filter chain in its match",
    file: "client/ResourceDecoder.ts",
    by: "packages/core/test/client/wire.test.ts",
    line: "(bytes) => ResourceType.nameOfBytes(bytes, undefined, nameNumber)",
    becomes: "ResourceType.nameOfBytes"
  },
  {
    fault: "collections: `*` covers deeper paths, too",
    file: "protocol/Collection.ts",
    line: 'return parameters === "" ? `${path}*` : normalize(`${path}*${parameters}`)',
    becomes: 'return `${path.replace(/^(xdstp:\\/\\/[^/]*\\/[^/]*\\/[^/]*\\/).*/, "$1")}*${parameters}`'
  },
  {
    fault: "collections: context parameters do not matter",
    file: "protocol/Collection.ts",
    line: 'return parameters === "" ? `${path}*` : normalize(`${path}*${parameters}`)',
    becomes: 'return parameters === "" ? `${path}*` : `${path}*`'
  },
  {
    fault: "collections: the order of context parameters matters",
    file: "protocol/Collection.ts",
    line: 'return parameters === "" ? `${path}*` : normalize(`${path}*${parameters}`)',
    becomes: "return `${path}*${parameters}`"
  },
  {
    fault: "collections: one with members is reported missing",
    file: "server/IncrementalAnswers.ts",
    line: "if (yield* Collections.isAnsweredByMembers(self, set, name)) continue",
    becomes: ""
  },
  {
    fault: "collections: an empty one is not reported missing",
    file: "server/Collections.ts",
    line: "return HashSet.size(yield* CollectionIndex.membersOf(set, name)) > 0",
    becomes: "return true"
  },
  {
    fault: "collections: new members are not sent",
    file: "server/Collections.ts",
    line: "else members.push(name)\n",
    becomes: "else gone++\n"
  },
  {
    fault: "collections: members of a collection that is asked for again are not sent again",
    file: "server/Collections.ts",
    line: "if (requested.has(glob)) asked.push(name)",
    becomes: "if (requested.has(glob) && self.cursor === undefined) asked.push(name)"
  },
  {
    fault: "collections: a name given up that the collection covers gets no answer",
    file: "server/IncrementalNames.ts",
    line: "      RequestedNames.resendHeld(next, [name])\n      next.requested = NameSet.add(next.requested, name)\n    } else {",
    becomes: "    } else {"
  },
  {
    fault: "collections: a member listed by name goes with the collection",
    file: "server/Collections.ts",
    line: "!collections.asked.has(name) && Collection.of(name) === glob",
    becomes: "Collection.of(name) === glob"
  },
  {
    fault: "collections: what the wildcard sent of them is never removed",
    file: "server/IncrementalNames.ts",
    line: "yield* Collections.keepMembers(next)",
    becomes: ""
  },
  {
    fault: "collections: under a wildcard, members of one that is given up get no answer",
    file: "server/IncrementalNames.ts",
    line: 'if (next.wildcard !== "none") next.requested = yield* NameSet.addAllInSteps(next.requested, members)',
    becomes: ""
  },
  {
    fault: "collections: after a move the members of the other group are not looked up",
    file: "server/ServerStream.ts",
    line: "next.subscriptions = yield* Collections.follow(left, undefined, input.group)",
    becomes: "next.subscriptions = left"
  },
  {
    fault: "collections: in the order in which a client wrote the parameters",
    file: "server/StreamRequest.ts",
    line: "let request = Collections.canonical(given)",
    becomes: "let request = given"
  },
  {
    fault: "collections: removed members are remembered without end",
    file: "server/Collections.ts",
    by: "packages/core/test/Collection.test.ts",
    line: "if (gone > fewGone && 2 * gone > next.names.size) yield* free(next, set)",
    becomes: ""
  },
  {
    fault: "collections: a change of a member does not concern their streams",
    file: "server/InterestIndex.ts",
    by: "packages/core/test/InterestIndex.test.ts",
    line: "if (glob !== undefined) named.get(glob)?.forEach(see)",
    becomes: ""
  },
  {
    fault: "collections: the index of a set loses what a change brings",
    file: "resource/CollectionIndex.ts",
    by: "packages/core/test/Collection.test.ts",
    line: "const left = is ? HashSet.add(members, name) : HashSet.remove(members, name)",
    becomes: "const left = is ? members : HashSet.remove(members, name)"
  },
  {
    fault: "collections: what a client of an empty group asked for is kept up in all groups",
    file: "resource/ResourceSet.ts",
    by: "packages/core/test/Collection.test.ts",
    line: "if (before.#computed === undefined || before.resources.size === 0) return",
    becomes: "if (before.#computed === undefined) return"
  },
  {
    fault: "collections: on demand, an empty one is answered at once",
    file: "server/OnDemandNames.ts",
    line: "(Collection.isGlob(name) && CollectionIndex.isAny(set, name))",
    becomes: "Collection.isGlob(name)"
  },
  {
    fault: "group checks: an index that a call left in the middle is used on",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "(Cause.isInterrupted(exit.cause) || Cause.isDie(exit.cause))",
    becomes: "Cause.isDie(exit.cause)"
  },
  {
    fault: "group checks: the limit of resources is that of one group",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "return others + sizeOf(own) > this.#maxIndexed",
    becomes: "return sizeOf(own) > this.#maxIndexed"
  },
  {
    fault: "group checks: what the groups over one have does not count",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "isOpen: below === undefined || this.held.isBelow(group)",
    becomes: "isOpen: below === undefined"
  },
  {
    fault: "group checks: a group that no other is over any more is not asked again",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "if (isOpen !== state.isOpen) index.touchAll()",
    becomes: "if (isOpen && !state.isOpen) index.touchAll()"
  },
  {
    fault: "group checks: what the group below loses is not asked for again",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "for (const key of around.remove) index.touch(key)",
    becomes: ""
  },
  {
    fault: "group checks: only errors are refused",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: 'mode === "refuse" || severity === "error"',
    becomes: 'severity === "error"'
  },
  {
    fault: "group checks: they go on when the store is gone",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "this.#isStopped = true",
    becomes: "this.#isStopped = false"
  },
  {
    fault: "group checks: every broken rule is a line",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "fresh.rules.slice(0, maxLines)",
    becomes: "fresh.rules.slice(0)"
  },
  {
    fault: "group checks: the gauge of what is broken stands still",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "this.#count(group, state, state.index.faults)",
    becomes: "this.#count(group, state, state.counted)"
  },
  {
    fault: "group checks: a call cannot ask to be refused",
    file: "packages/server/src/GroupChecker.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: 'refusing: (group, mode = usual) =>\n        mode === "refuse"',
    becomes: 'refusing: (group, given, mode = usual) =>\n        mode === "refuse"'
  },
  {
    fault: "group checks: off is that of the rules of fields alone",
    file: "packages/server/src/Validator.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "{ rules: given, groupRules: given }",
    becomes: "{ rules: given }"
  },
  {
    fault: "group checks: places are forgotten",
    file: "packages/server/src/snapshot/Encoding.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "if (place !== undefined) (this.placed ??= new Map()).set(resource, place)",
    becomes: ""
  },
  {
    fault: "snapshot: a resource in the wrong property is taken",
    file: "packages/server/src/snapshot/Encoding.ts",
    by: "packages/server/test/Snapshot.test.ts",
    line: "if (expected !== undefined && !ResourceType.isOf(typeUrl, expected)) {",
    becomes: 'if (expected === undefined && typeUrl === "") {'
  },
  {
    fault: "snapshot: what is held is taken though its aliases changed",
    file: "packages/server/src/snapshot/Encoding.ts",
    by: "packages/server/test/Snapshot.test.ts",
    line: "      sameList(old.aliases, aliases) &&\n",
    becomes: ""
  },
  {
    fault: "snapshot: a name that is not the one inside is taken",
    file: "packages/server/src/internal/SourceName.ts",
    by: "packages/server/test/Snapshot.test.ts",
    line: "if (given !== undefined && read !== undefined && given !== read) {",
    becomes: "if (given !== undefined && read !== undefined && given === read.concat(given)) {"
  },
  {
    fault: "snapshot: labels of versions are those of properties alone",
    file: "packages/server/src/snapshot/Slots.ts",
    by: "packages/server/test/SnapshotStore.test.ts",
    line: "labels[isSlot(key) ? ResourceType.typeUrlIn(api, slotTypes[key]) : key] = label",
    becomes: "if (isSlot(key)) labels[ResourceType.typeUrlIn(api, slotTypes[key])] = label"
  },
  {
    fault: "group checks: the status does not show them",
    file: "packages/admin/src/internal/Answers.ts",
    by: "packages/admin/test/AdminServer.test.ts",
    line: "...(stored?.broken !== undefined && { broken: wordsOf(stored.broken) })",
    becomes: "...(stored?.broken === undefined && {})"
  },
  {
    fault: "requests: a name that is not UTF-8 is read as another one",
    file: "wire/Request.ts",
    by: "packages/transport-connect/test/server/malformed.test.ts",
    line: "(resourceNames ??= []).push(reader.string(true))",
    becomes: "(resourceNames ??= []).push(reader.string())"
  },
  {
    fault: "REST: JSON of a proxy says that there are no resources any more",
    file: "packages/transport-rest/src/internal/DiscoveryBody.ts",
    by: "packages/transport-rest/test/badInput.test.ts",
    line: "if (bytes.byteLength === 0 && Object.keys(json).length > 0)",
    becomes: "if (bytes.byteLength > 1e9)"
  },
  {
    fault: "get: resources that the client did not take are not told",
    file: "packages/cli/src/Getting.ts",
    by: "packages/cli/test/badInput.test.ts",
    line: "    yield* Collection.whole(collected)\n",
    becomes: ""
  },
  {
    fault: "diff: what could not be read is compared as if it were not there",
    file: "packages/cli/src/Comparing.ts",
    by: "packages/cli/test/badInput.test.ts",
    line: "    yield* Collection.whole(collected)\n",
    becomes: ""
  },
  {
    fault: "bytes: the path of what is nested too deep is not found",
    file: "packages/proto/src/internal/WireFault.ts",
    by: "packages/testing/test/BadInput.test.ts",
    line: "if (depth > maxDepth) throw new Wrong(`is nested",
    becomes: "if (depth < 0) throw new Wrong(`is nested"
  },
  {
    fault: "bytes: groups may be nested without end",
    file: "packages/proto/src/internal/WireFault.ts",
    by: "packages/testing/test/BadInput.test.ts",
    line: "if (depth + open.length > maxDepth)",
    becomes: "if (depth + open.length < 0)"
  },
  {
    fault: "bytes: a known field may have any wire type",
    file: "packages/proto/src/internal/WireFault.ts",
    by: "packages/testing/test/BadInput.test.ts",
    line: "if (wireType === wanted) return",
    becomes: "if (wanted >= 0) return"
  },
  {
    fault: "bytes: a field ends behind its message",
    file: "packages/proto/src/internal/WireFault.ts",
    by: "packages/testing/test/BadInput.test.ts",
    line: "if (length <= end - this.at) return this.at + length",
    becomes: "if (length <= 1_000) return this.at + length"
  },
  {
    fault: "bytes: a Struct may come in any number of pieces",
    file: "packages/proto/src/internal/MessageWalk.ts",
    by: "packages/testing/test/BadInput.test.ts",
    line: "if ((seen & field.costly) !== 0 && !this.#isMerged()) return false",
    becomes: ""
  },
  {
    fault: "message objects: one may be in itself",
    file: "packages/proto/src/internal/ObjectWalk.ts",
    by: "packages/testing/test/BadInput.test.ts",
    line: "if (depth > maxDepth) throw",
    becomes: "if (depth < 0) throw"
  },
  {
    fault: "message objects: half of a surrogate pair is written as another character",
    file: "packages/proto/src/internal/ObjectWalk.ts",
    by: "packages/server/test/badInput.test.ts",
    line: 'if (text !== "" && halfPair.test(text))',
    becomes: 'if (text === "?")'
  },
  {
    fault: "message objects: unknown fields that are none are written",
    file: "packages/proto/src/internal/ObjectWalk.ts",
    by: "packages/server/test/badInput.test.ts",
    line: "// Nobody says that it is right.\n    this.isSure = false",
    becomes: ""
  },
  {
    fault: "message objects: what is shared counts once for each list, not for each of its items",
    file: "packages/proto/src/internal/ObjectWalk.ts",
    by: "packages/testing/test/BadInput.test.ts",
    line: "if (++this.objects > maxObjects)",
    becomes: "if (++this.objects > maxObjects / 100)"
  },
  {
    fault: "rules: an Any in an Any in an Any has no end",
    file: "packages/validate/src/internal/MessageRules.ts",
    by: "packages/server/test/badInput.test.ts",
    line: "if (type.typeName === anyName && !report.enter()) return undefined",
    becomes: ""
  },
  {
    fault: "rules: a getter that throws ends the process",
    file: "packages/validate/src/Rules.ts",
    by: "packages/validate/test/badInput.test.ts",
    line: "const unreadable = (report: Report, cause: unknown): void =>\n  report.add",
    becomes:
      "const unreadable = (report: Report, cause: unknown): void => {\n  throw cause\n}\nexport const never = (report: Report, cause: unknown): void =>\n  report.add"
  },
  {
    fault: "a client does not say what is wrong with bytes in which it finds no name",
    file: "client/Decoding.ts",
    by: "packages/client/test/badInput.test.ts",
    line: "decoded !== undefined && Either.isLeft(decoded)",
    becomes: "decoded === undefined && Either.isLeft(decoded ?? Either.left(''))"
  },
  {
    fault: "a node is counted at any depth",
    file: "packages/server/src/internal/NodeFields.ts",
    by: "packages/server/test/badInput.test.ts",
    line: "if (depth > 2 * maxDepth) throw",
    becomes: "if (depth < 0) throw"
  },
  {
    fault: "files: every mistake of a hundred thousand is looked for",
    file: "packages/transport-filesystem/src/internal/JsonProblem.ts",
    by: "packages/transport-filesystem/test/badInput.test.ts",
    line: "if (found.length >= mostProblems) break",
    becomes: ""
  },
  {
    fault: "files: a Struct holds infinite numbers",
    file: "packages/transport-filesystem/src/internal/ValueBounds.ts",
    by: "packages/transport-filesystem/test/badInput.test.ts",
    line: '} else if (typeof value === "number" && !Number.isFinite(value)) {',
    becomes: '} else if (typeof value === "number" && value < -1e300) {'
  },
  {
    fault: "files: half of a surrogate pair in a Struct becomes another character",
    file: "packages/transport-filesystem/src/internal/ValueBounds.ts",
    by: "packages/transport-filesystem/test/badInput.test.ts",
    line: '} else if (typeof value === "string" && isNoText(value)) wrong(',
    becomes: '} else if (typeof value === "string" && value === "?") wrong('
  },
  {
    fault: "layers: a group may be over one of the other version of the API",
    file: "packages/server/src/HeldGroups.ts",
    by: "packages/server/test/layers.test.ts",
    line: "if (held.api === undefined && each.own !== undefined) held = each.own",
    becomes: ""
  },
  {
    fault: "layers: a group may be below one of the other version of the API",
    file: "packages/server/src/HeldGroups.ts",
    by: "packages/server/test/layers.test.ts",
    line: "const above = new Set(node?.above)",
    becomes: "const above = new Set<Node>()"
  },
  {
    fault: "on demand: a virtual host that is for other hosts is added",
    file: "packages/server/src/OnDemandHosts.ts",
    by: "packages/server/test/onDemandHosts.test.ts",
    line: "return answers(routeConfiguration, virtualHost, name)\n",
    becomes: "return true || answers(routeConfiguration, virtualHost, name)\n"
  },
  {
    fault: "on demand: the resolver is not told who asks",
    file: "packages/server/src/internal/Connection.ts",
    by: "packages/server/test/onDemandHosts.test.ts",
    line: "asked(group, output.typeUrl, output.names, this.node)",
    becomes: "asked(group, output.typeUrl, output.names, undefined)"
  },
  {
    fault: "calls: an update of a virtual host counts once for each channel",
    file: "packages/connect-xds/src/internal/HostStatistics.ts",
    by: "packages/connect-xds/test/HostStatistics.test.ts",
    line: "known.told = told",
    becomes: ""
  },
  {
    fault: "calls: a host without requests is held for ever",
    file: "packages/connect-xds/src/internal/Call.ts",
    by: "packages/connect-xds/test/virtualHosts.test.ts",
    line: "this.request.onOver?.()",
    becomes: ""
  },
  {
    fault: "calls: a request of HTTP/1.1 that was given up while it waited is sent",
    file: "packages/connect-xds/src/internal/Http1Stream.ts",
    by: "packages/connect-xds/test/http1.test.ts",
    line: "    this.onClosed(this)\n    setImmediate",
    becomes: "    setImmediate"
  },
  {
    fault: "calls: more connections of HTTP/1.1 than the bound says",
    file: "packages/connect-xds/src/internal/Http1Carrier.ts",
    by: "packages/connect-xds/test/http1.test.ts",
    line: "if (this.going.size < this.maxSockets) this.start(stream)",
    becomes: "if (this.maxSockets > 0) this.start(stream)"
  },
  {
    fault: "calls: idle connections of HTTP/1.1 stay when nothing more is sent there",
    file: "packages/connect-xds/src/internal/Http1Carrier.ts",
    by: "packages/connect-xds/test/http1.test.ts",
    line: "for (const socket of sockets ?? []) socket.destroy()",
    becomes: ""
  },
  {
    fault: "calls: a request that may have been done is sent again over HTTP/1.1",
    file: "packages/connect-xds/src/internal/Http1Stream.ts",
    by: "packages/connect-xds/test/http1.test.ts",
    line: "this.isReused && idempotent.has(this.method)",
    becomes: "this.isReused"
  },
  {
    fault: "calls: where a cluster says HTTP/2, HTTP/1.1 is tried",
    file: "packages/connect-xds/src/XdsChannels.ts",
    by: "packages/connect-xds/test/http1.test.ts",
    line: '(http1 ? (httpVersion ?? "Any") : "Http2")',
    becomes: '(http1 ? (httpVersion === "Http1" ? httpVersion : "Any") : "Http2")'
  },
  {
    fault: "calls: HTTP/1.1 is offered where TLS is spoken, and not taken",
    file: "packages/connect-xds/src/internal/EndpointConnection.ts",
    by: "packages/connect-xds/test/tls.test.ts",
    line: 'return versions === "Http2" ? undefined : "Http1"',
    becomes: "return undefined"
  },
  {
    fault: "calls: a connection that is not needed any more stays",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    by: "packages/connect-xds/test/transport.test.ts",
    line: "connection.drain()",
    becomes: ""
  },
  {
    fault: "calls: connections go on without TLS, or with the one before, when the cluster says otherwise",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    by: "packages/connect-xds/test/tls.test.ts",
    line: "if (owner !== undefined && this.options.wayOf(owner) === link.way) continue",
    becomes: "if (owner !== undefined) continue"
  },
  {
    fault: "calls: the route's limit of time is not kept",
    file: "packages/connect-xds/src/internal/Call.ts",
    by: "packages/connect-xds/test/transport.test.ts",
    line: "return this.sent?.selected.timeout ?? this.driver.selected(this.id)?.timeout ?? timeout",
    becomes: "return timeout"
  },
  {
    fault: "calls: who says that a call is not to be tried again is not heard",
    file: "packages/connect-xds/src/internal/Call.ts",
    by: "packages/connect-xds/test/policies.test.ts",
    line: 'if (this.attempts >= retry.maxAttempts || said === "stop") return false',
    becomes: "if (this.attempts >= retry.maxAttempts) return false"
  },
  {
    fault: "calls: one that is over holds its place",
    file: "packages/connect-xds/src/internal/Call.ts",
    by: "packages/connect-xds/test/calls.simulation.test.ts",
    line: "this.driver.over(this.id, outcome)",
    becomes: ""
  },
  {
    fault: "calls: a lost connection is what the codec makes of it",
    file: "packages/connect-xds/src/internal/Errors.ts",
    by: "packages/connect-xds/test/transport.test.ts",
    line: "if (!attempt.isLost || call.isGivenUp) return error",
    becomes: "if (attempt !== undefined) return error"
  },
  {
    fault: "calls: any server that the authority signed may be the one",
    file: "packages/connect-xds/src/internal/UpstreamTls.ts",
    by: "packages/connect-xds/test/tls.test.ts",
    line: "if (self.names.length === 0) return true",
    becomes: "return true"
  },
  {
    fault: "calls: by the rules of gRPC who fails the health check is called",
    file: "packages/connect-xds/src/internal/LookedAfter.ts",
    by: "packages/connect-xds/test/profiles.test.ts",
    line: 'if (HealthFlags.has(flags, "FAILED_ACTIVE_HC")) continue',
    becomes: ""
  },
  {
    fault: "calls: by the rules of gRPC what is not listed any more is called while it is well",
    file: "packages/connect-xds/src/internal/ClusterResource.ts",
    by: "packages/connect-xds/test/profiles.test.ts",
    line: "hosts: { ...cluster.hosts, ignoreHealthOnHostRemoval: true }",
    becomes: "hosts: cluster.hosts"
  },
  {
    fault: "calls: by the rules of Envoy what becomes of calls is told to nobody",
    file: "packages/connect-xds/src/internal/LookedAfter.ts",
    by: "packages/connect-xds/test/profiles.test.ts",
    line: "open.get(name)?.service.unsafeReport(id, outcome)",
    becomes: "undefined"
  },
  {
    fault: "calls: connections are not cut where a failed health check is to cut them",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    by: "packages/connect-xds/test/profiles.test.ts",
    line: "this.links.get(address)?.connection.close(reason)",
    becomes: ""
  },
  {
    fault: "calls: a cluster that loses its health checks stays as it was",
    file: "packages/connect-xds/src/internal/Resources.ts",
    by: "packages/connect-xds/test/profiles.test.ts",
    line: "FiberHandle.clear(looking).pipe(",
    becomes: "Effect.void.pipe("
  },
  {
    fault: "calls: a call that waits does not say that the control plane cannot be reached",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    by: "packages/connect-xds/test/transport.test.ts",
    line: 'return lost === "" ? this.channel.told.message',
    becomes: "return true ? this.channel.told.message"
  },
  {
    fault: "client: a server that ended its stream counts as connected",
    file: "packages/client/src/internal/Driver.ts",
    by: "packages/connect-xds/test/transport.test.ts",
    line: "this.links.ended(this.addressOf(key), error.message)",
    becomes: ""
  },
  {
    fault: "calls: who finds no endpoint is told the name of a policy",
    file: "packages/routing/src/policy/Cds.ts",
    by: "packages/connect-xds/test/policies.test.ts",
    line: 'picker._tag === "Fail" && picker.status.reason === "NoEndpoint"',
    becomes: 'picker._tag === "Fail" && picker.status.reason === "Ejected"'
  },
  {
    fault: "client: watchers of a collection are not told of its members",
    file: "client/CachedType.ts",
    line: "  const glob = collectionOf(type, name)\n  const others",
    becomes: "  const glob = name === type ? name : undefined\n  const others"
  },
  {
    fault: "client: members of a collection are not wanted",
    file: "client/Validation.ts",
    line: "Authority.isInWildcard(name)) || view.isNamed(name) || view.isMember(name)",
    becomes: "Authority.isInWildcard(name)) || view.isNamed(name)"
  },
  {
    fault: "client: a member does not end the timer of its collection",
    file: "client/ReceivedResponse.ts",
    by: "packages/core/test/client/Client.test.ts",
    line: "const brought = withCollections(came)",
    becomes: "const brought = came"
  },
  {
    fault: "client: a rejected member does not end the timer of its collection",
    file: "client/ReceivedResponse.ts",
    line: "...withCollections(unusable), ...gone]",
    becomes: "...unusable, ...gone]"
  },
  {
    fault: "client: members stay when the server says that there is no such collection",
    file: "client/CacheUpdate.ts",
    line: "    this.#empty(name)\n    const entry",
    becomes: "    const entry"
  },
  {
    fault: "client: watchers are not told that a collection has no members any more",
    file: "client/CacheUpdate.ts",
    line: "this.#changes.lessened(glob, this.now)",
    becomes: "void glob"
  },
  {
    fault: "client: a full state deletes no members",
    file: "client/ClientSubscription.ts",
    line: "(self.wildcard && Authority.isInWildcard(name)) || isMember(self, name)",
    becomes: "(self.wildcard && Authority.isInWildcard(name))"
  },
  {
    fault: "client: another server is not told what members are held",
    file: "client/CacheVersions.ts",
    line: "else if (isFree && isUnnamed(type, name)) found.set(name, unknownVersion)",
    becomes: "else if (isFree && Authority.isInWildcard(name)) found.set(name, unknownVersion)"
  },
  {
    fault: "client: a member that is watched by name no more is dropped from its collection",
    file: "client/CacheWatch.ts",
    line: "const isEverythingWatched = isBrought(type, name)",
    becomes: "const isEverythingWatched = HashSet.size(type.watchers) > 0 && Authority.isInWildcard(name)"
  },
  {
    fault: "client: a collection that was answered needs another server",
    file: "client/CachedType.ts",
    line: ' || entry.status === "Acked")',
    becomes: ")"
  },
  {
    fault: "client: an unreachable server means that a collection with members cannot be had",
    file: "client/ClientCache.ts",
    line: "const isOfOthers = type.collections && (used.has(name) || isOfMembers(name, entry))",
    becomes: "const isOfOthers = false"
  },
  {
    fault: "client: a member that was given up stays retained when its collection is watched",
    file: "client/Retention.ts",
    by: "packages/testing/test/ExplorationStateOfTheWorld.test.ts",
    line: 'const isMany = name === "*" || Collection.isGlob(name)',
    becomes: 'const isMany = name === "*"'
  },
  {
    fault: "a database that lost changes is followed",
    file: "packages/store-sql/src/internal/Replica.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "if (row.chain !== Log.chainOf(this.chain, row.digest))",
    becomes: "if (row.chain === '')"
  },
  {
    fault: "a row is applied whose bytes are not those that were written",
    file: "packages/store-sql/src/internal/States.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "if (digest !== row.digest)",
    becomes: "if (body.length < 0)"
  },
  {
    fault: "whoever took the right to write does not fence the others",
    file: "packages/store-sql/src/SqlStore.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "if (writer === undefined && head.epoch === epoch) return undefined",
    becomes: "return undefined"
  },
  {
    fault: "a change is made from a state that others have changed meanwhile",
    file: "packages/store-sql/src/internal/Writer.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "yield* replica.catchUp(head, true)",
    becomes: ""
  },
  {
    fault: "a store on SQL: groups in layers may be of different versions of the API",
    file: "packages/store-sql/src/internal/Writer.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "const mix = held.mixOf(group, state.over, state.own)",
    becomes: "const mix = undefined"
  },
  {
    fault: "a store on SQL: two changes of layers in one transaction do not see each other's version of the API",
    file: "packages/store-sql/src/internal/Writer.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "return hasLayers && state?.own.api !== before?.own.api",
    becomes: "return false"
  },
  {
    fault: "a store on SQL: a change that breaks rules over its group is not refused",
    file: "packages/store-sql/src/internal/Writer.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "const checked = state && prepared.check && (yield* Effect.either(prepared.check(state)))",
    becomes: "const checked = state && prepared.check && (yield* Effect.either(Effect.void))"
  },
  {
    fault: "a change whose answer was lost is written twice",
    file: "packages/store-sql/src/internal/Writer.ts",
    by: "packages/store-sql/test/faults.test.ts",
    line: "for (const { waiting } of atStake) waiting.isUncertain = true",
    becomes: ""
  },
  {
    fault: "a transaction whose BEGIN got no answer stays open",
    file: "packages/store-sql/src/internal/Transaction.ts",
    by: "packages/store-sql/test/faults.test.ts",
    line: "const begin = Effect.tapError(tell(begins[database.dialect][kind]), () => undo)",
    becomes: "const begin = tell(begins[database.dialect][kind])"
  },
  {
    fault: "a label of a resource without other content is in no row of the log",
    file: "packages/store-sql/src/internal/GroupDifference.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "} else if (resource !== ResourceSet.get(before, name)) upsert.push(resource)",
    becomes: "} else if (resource.fingerprint !== ResourceSet.get(before, name)?.fingerprint) upsert.push(resource)"
  },
  {
    fault: "the log is compacted, and nobody who is behind is told",
    file: "packages/store-sql/src/internal/Log.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "yield* sql`UPDATE xds_head SET floor = ${from} WHERE id = 1 AND floor < ${from}`",
    becomes: ""
  },
  {
    fault: "PostgreSQL: LISTEN does nothing, and only a look finds a change",
    file: "packages/store-sql/src/Postgres.ts",
    by: "packages/store-sql/test/network.test.ts",
    peers: true,
    line: 'client.on("notification", wake)',
    becomes: ""
  },
  {
    fault: "PostgreSQL: a connection that listens is not made again when it is lost",
    file: "packages/store-sql/src/Postgres.ts",
    by: "packages/store-sql/test/network.test.ts",
    peers: true,
    line: "return Effect.forever(Effect.zipRight(Effect.ignore(once), Effect.sleep(pause)))",
    becomes: "return Effect.zipRight(Effect.ignore(once), Effect.never)"
  },
  {
    fault: "a network that gives no answer is waited for without end",
    file: "packages/store-sql/src/internal/Transaction.ts",
    by: "packages/store-sql/test/network.test.ts",
    peers: true,
    line: "Effect.flatMap(Effect.fork(Effect.interruptible(Effect.delay(Effect.sync(database.hangUp), millis)))",
    becomes: "Effect.flatMap(Effect.fork(Effect.interruptible(Effect.delay(Effect.void, millis)))"
  },
  {
    fault: "a store on SQL: the database is looked at only when somebody tells of a change",
    file: "packages/store-sql/src/SqlStore.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "Effect.raceFirst(wake.await, Effect.sleep(interval))",
    becomes: "wake.await"
  },
  {
    fault: "SQLite: nobody is told of a change",
    file: "packages/store-sql/src/Sqlite.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "listen: (wake) => watching(file, () => hasChanged() && wake()),",
    becomes: "listen: () => watching(file, () => undefined),"
  },
  {
    fault: "a store on SQL: a clock that is set while a write waits ends it, or makes it wait for a day",
    file: "packages/store-sql/src/internal/Monotonic.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos) / 1e6)",
    becomes: "Clock.currentTimeMillis"
  },
  {
    fault: "a resource that comes back before its removal is renewed without its body after its TTL",
    file: "server/Heartbeat.ts",
    by: "packages/core/test/traces.test.ts",
    line: "if ([name, ...others].some((by) => isBack(by) || isHeld(by))) found.push(resource)",
    becomes: "if ([name, ...others].some(isHeld)) found.push(resource)"
  },
  {
    fault: "a resource that was removed when the others were renewed, and comes back, is renewed without its body",
    file: "server/Heartbeat.ts",
    by: "packages/core/test/traces.test.ts",
    line: "    if (ResourceSet.get(set, own) === undefined && !renewed.has(own)) found.add(own)\n",
    becomes: ""
  },
  {
    fault: "a resource that the client may have lost waits for its renewal when it comes back",
    file: "server/SubscriptionChanges.ts",
    by: "packages/core/test/traces.test.ts",
    line: " && !mayBeLost.has(resource.name)",
    becomes: ""
  },
  {
    fault: "a resource without a TTL that comes back before its removal is sent again",
    file: "server/Heartbeat.ts",
    by: "packages/core/test/traces.test.ts",
    line: "    if (resource !== undefined && resource.ttl === undefined) return\n",
    becomes: ""
  },
  {
    fault: "of two gRPC messages in an answer the first one counts",
    file: "wire/LengthPrefix.ts",
    by: "packages/core/test/LengthPrefix.test.ts",
    line: "return body.length === size + length ? body.subarray(size) : undefined",
    becomes: "return body.subarray(size, size + length)"
  },
  {
    fault: "a compressed gRPC message is taken as it is",
    file: "wire/LengthPrefix.ts",
    by: "packages/core/test/LengthPrefix.test.ts",
    line: "if (body.length < size || flag !== 0) return undefined",
    becomes: "if (body.length < size) return undefined"
  },
  {
    fault: "what a group that is set again lacks is not told",
    file: "server/ServerStream.ts",
    by: "packages/core/test/traces.test.ts",
    line: "} else if (self.group === undefined) missing = yield* OnDemandNames.ofGroup(next, false, now)",
    becomes: "}"
  },
  {
    fault: "a group that is set again calls for what waits already",
    file: "server/OnDemandNames.ts",
    by: "packages/core/test/traces.test.ts",
    line: "const names = yield* Steps.filter(lacking, (name) => !HashMap.has(left.onDemand, name))",
    becomes: "const names = lacking"
  },
  {
    fault: "a client that returns with many hosts loses those that may be made again",
    file: "server/Sending.ts",
    by: "packages/core/test/traces.test.ts",
    line: "!isOpener.has(name) && !deferred.has(name)",
    becomes: "!isOpener.has(name)"
  },
  {
    fault: "a wait that is over does not end with a short step",
    file: "server/Sending.ts",
    by: "packages/core/test/near.test.ts",
    line: "  if (parts !== undefined || options.ttl) return undefined\n  if (options.missingWait !== undefined) OnDemandNames.expire(self, now)\n",
    becomes: "  if (parts !== undefined || options.ttl) return undefined\n"
  },
  {
    fault: "incremental answers that wait are all kept",
    file: "client/ClientSubscription.ts",
    by: "packages/core/test/client/growth.test.ts",
    line: "const maxAnswers = 64",
    becomes: "const maxAnswers = 1_000_000"
  },
  {
    fault: "the reason of one resource hides the others",
    file: "client/Validation.ts",
    by: "packages/core/test/client/growth.test.ts",
    line: "const maxReason = 1_024",
    becomes: "const maxReason = 1_000_000"
  },
  {
    fault: "every name that is retained is kept",
    file: "client/Retention.ts",
    by: "packages/core/test/client/growth.test.ts",
    line: "const maxRetained = 10_000",
    becomes: "const maxRetained = 1_000_000"
  },
  {
    fault: "any number of warming assignments is remembered",
    file: "server/EdsAfterCds.ts",
    by: "packages/core/test/bounds.test.ts",
    line: "const maxWarming = 10_000",
    becomes: "const maxWarming = 1_000_000"
  },
  {
    fault: "a stream may have any number of types",
    file: "server/StreamRequest.ts",
    line: "if (first && self.subscriptions.length >= options.maxTypes) {",
    becomes: "if (first && self.subscriptions.length > options.maxTypes) {"
  },
  {
    fault: "a stream may list any number of names at once",
    file: "server/StreamRequest.ts",
    by: "packages/core/test/bounds.test.ts",
    line: "if (names.length > options.maxNames + 1)",
    becomes: "if (names.length > options.maxNames * 1_000_000)"
  },
  {
    fault: "a hundred thousand names of a request are put into one set",
    file: "server/StateOfTheWorldNames.ts",
    line: "const namesPerSet = 8_192",
    becomes: "const namesPerSet = 1_000_000",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "of the names of a long request only the last ones are still asked for",
    file: "server/StateOfTheWorldNames.ts",
    line: "if (isNew && at % namesPerSet === 0) wanted = [...wanted, new Set(resourceNames.slice(at, at + namesPerSet))]",
    becomes: "if (isNew && at % namesPerSet === 0) wanted = [new Set(resourceNames.slice(at, at + namesPerSet))]",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "a poll by many names is answered with some of them",
    file: "packages/server/src/internal/ResponseWriter.ts",
    line: "if (method.unary || whole === true) return undefined",
    becomes: "if (method.unary) return undefined",
    by: "packages/transport-rest/test/Polling.test.ts"
  },
  {
    fault: "a stream has the settings of the group of the one before it",
    file: "packages/server/src/internal/Settings.ts",
    line: "last?.own === own && last.maxBytes",
    becomes: "last?.own !== undefined && last.maxBytes",
    by: "packages/server/test/settings.test.ts"
  },
  {
    fault: "a stream may have responses as large as the one before it",
    file: "packages/server/src/internal/Settings.ts",
    line: "last.maxBytes === maxBytes ?",
    becomes: "last.maxBytes !== null ?",
    by: "packages/server/test/settings.test.ts"
  },
  {
    fault: "a stream is of the variant of the protocol that the one before it was of",
    file: "packages/server/src/internal/Settings.ts",
    line: "before?.protocol === protocol && ",
    becomes: "before !== undefined && ",
    by: "packages/server/test/settings.test.ts"
  },
  {
    fault: "a stream has TTLs if the one before it had them",
    file: "packages/server/src/internal/Settings.ts",
    line: " && before.ttl === ttl) return before",
    becomes: ") return before",
    by: "packages/server/test/settings.test.ts"
  },
  {
    fault: "a stream of one type is aggregated if the one before it was",
    file: "packages/server/src/internal/Settings.ts",
    line: "before.typeUrl === typeUrl && ",
    becomes: "",
    by: "packages/server/test/settings.test.ts"
  },
  {
    fault: "a large answer that must be whole is written in the turn in which it is made",
    file: "packages/server/src/internal/ResponseWriter.ts",
    line: "if (response.resources.length + response.heartbeats.length < manyResources)",
    becomes: "if (response.resources.length < manyResources || this.accepted.whole === true)",
    by: "packages/server/test/counts.test.ts"
  },
  {
    fault: "a poll is told that nothing changed while the server is at work",
    file: "packages/transport-rest/src/internal/Session.ts",
    line: "held.isSlow = !isDue && this.#working",
    becomes: "held.isSlow = false",
    by: "packages/transport-rest/test/Session.test.ts"
  },
  {
    fault: "a poll waits on when the server's work came to nothing",
    file: "packages/transport-rest/src/internal/Session.ts",
    line: "this.#working = !wanted\n    if (!wanted) return",
    becomes: "this.#working = !wanted\n    return",
    by: "packages/transport-rest/test/Session.test.ts"
  },
  {
    fault: "a poll by many names is told that nothing changed while the answer is made",
    file: "packages/transport-rest/src/internal/Session.ts",
    line: "for (const held of this.#held) held.asked = true",
    becomes: "",
    by: "packages/transport-rest/test/Session.test.ts"
  },
  {
    fault: "a part that says that a name is gone does not answer who asked for it meanwhile",
    file: "server/Sending.ts",
    line: "sent.requested = NameSet.removeAll(sent.requested, part.removed.filter(isGone))",
    becomes: "void isGone"
  },
  {
    fault: "any number of names may have one hash",
    file: "server/NameCollisions.ts",
    line: "else if (!others.has(name)) found.add(name)\n",
    becomes: "",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "names of one hash that come one by one are not counted",
    file: "server/StreamRequest.ts",
    line: 'const isCounted = isMore && options.protocol === "Incremental"',
    becomes: "const isCounted = false",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "what is gone is told a second time to a client that comes back",
    file: "resource/HeldVersions.ts",
    line: "return { ...all, others: new Map(yield* Steps.filter(all.others, isLeft)) }",
    becomes: "return all",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "what a client holds and did not ask for stays, where it holds a part of what it asked for",
    file: "server/ReturningClient.ts",
    line: "!wild && asked < names.size",
    becomes: "false",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "what one client holds alone hides what it holds as others do",
    file: "resource/HeldVersions.ts",
    line: "own.get(resource.name) === resource.version || one.isHeld(resource)",
    becomes: "own.get(resource.name) === resource.version",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "hosts that were told not to exist are taken away",
    file: "server/ReturningClient.ts",
    line: 'if (isHost && version === "") continue\n',
    becomes: "",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "what is new to a client that asks for everything again is looked for anew for each",
    file: "resource/Cursor.ts",
    line: "isSame(one, other) || (isNothing(one) && isNothing(other) && one.aliases === other.aliases)",
    becomes: "isSame(one, other)",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "what follows from many names is done in the step of the last of them",
    file: "server/StreamRequest.ts",
    line: "    if (names.at < StateOfTheWorldNames.sizeOf(names)) {\n      next.partialRequest = { names: yield* StateOfTheWorldNames.advance(names, count), known }\n      return [next, none]\n    }\n    next.partialRequest = undefined\n    const finished = Collections.renewed(yield* StateOfTheWorldNames.finish(names))\n    return yield* onSubscription(next, names.request, known, finished, [], now)",
    becomes:
      "    const taken = yield* StateOfTheWorldNames.advance(names, count)\n    if (taken.at < StateOfTheWorldNames.sizeOf(taken)) {\n      next.partialRequest = { names: taken, known }\n      return [next, none]\n    }\n    next.partialRequest = undefined\n    return yield* onSubscription(next, taken.request, known, yield* StateOfTheWorldNames.finish(taken), [], now)",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "a large response is written in the turn in which it was made",
    file: "packages/server/src/internal/ResponseWriter.ts",
    line: "if (response.resources.length + response.heartbeats.length < manyResources)",
    becomes: "if (response.resources.length >= 0)",
    by: "packages/server/test/XdsServer.test.ts"
  },
  {
    fault: "a name may have any length",
    file: "server/StreamRequest.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: "names.find((name) => name.length > options.maxNameLength)",
    becomes: "names.find((name) => name.length > options.maxNameLength * 1_000)"
  },
  {
    fault: "a client's cache may have any number of resources",
    file: "client/ClientWatch.ts",
    by: "packages/core/test/client/growth.test.ts",
    line: 'if (name !== "*" && before === undefined && ClientCache.size(draft.cache, typeUrl) >= maxResources) {',
    becomes: 'if (name !== "*" && before === undefined && ClientCache.size(draft.cache, typeUrl) > maxResources) {'
  },
  {
    fault: "a response may fill the cache without bound",
    file: "client/ReceivedResponse.ts",
    by: "packages/core/test/client/growth.test.ts",
    line: "room: maxResources - ClientCache.size(draft.cache, typeUrl)",
    becomes: "room: maxResources"
  },
  {
    fault: "the server may have any number of streams",
    file: "packages/server/src/XdsServer.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "if (connections.size >= maxStreams) {",
    becomes: "if (connections.size > maxStreams) {"
  },
  {
    fault: "a group may have any number of streams",
    file: "packages/server/src/internal/Connection.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "if (group.fanOut.size > own.maxStreams) {",
    becomes: "if (group.fanOut.size > own.maxStreams + 1) {"
  },
  {
    fault: "any number of requests wait until the group is known",
    file: "packages/server/src/internal/GroupSearch.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "this.requests.length >= this.environment.settings.maxEarlyRequests",
    becomes: "this.requests.length > this.environment.settings.maxEarlyRequests"
  },
  {
    fault: "a node may have any number of fields",
    file: "packages/server/src/internal/Admission.ts",
    by: "packages/server/test",
    line: "if (fields > maxNodeFields) {",
    becomes: "if (fields > maxNodeFields + 1) {"
  },
  {
    fault: "the name of a group may have any length",
    file: "packages/server/src/internal/Admission.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "if (given.length <= maxNameLength) return given",
    becomes: "if (given.length <= maxNameLength + 1) return given"
  },
  {
    fault: "the store may have any number of groups",
    file: "packages/server/src/SnapshotStore.ts",
    by: "packages/server/test/SnapshotStore.test.ts",
    line: "if (before === undefined && held.size() >= maxGroups) {",
    becomes: "if (before === undefined && held.size() > maxGroups) {"
  },
  {
    fault: "a group may have any number of resources",
    file: "packages/server/src/SnapshotStore.ts",
    by: "packages/server/test/SnapshotStore.test.ts",
    line: "if (size > maxResourcesPerGroup) {",
    becomes: "if (size > maxResourcesPerGroup + 1) {"
  },
  {
    fault: "every group has metrics of its own",
    file: "packages/server/src/internal/GroupTags.ts",
    by: "packages/server/test/GroupTags.test.ts",
    line: "if (this.#groups.size >= this.maxGroups || group.length > maxName) return other",
    becomes: "if (group.length > maxName) return other"
  },
  {
    fault: "a group's name of any length is a label",
    file: "packages/server/src/internal/GroupTags.ts",
    by: "packages/server/test/GroupTags.test.ts",
    line: "if (this.#groups.size >= this.maxGroups || group.length > maxName) return other",
    becomes: "if (this.#groups.size >= this.maxGroups) return other"
  },
  {
    fault: "an identity of any length is told",
    file: "packages/server/src/internal/Admission.ts",
    by: "packages/server/test",
    line: "const maxIdentity = 1024",
    becomes: "const maxIdentity = 1_000_000"
  },
  {
    fault: "a connection server may have any number of streams",
    file: "packages/transport-connect/src/server/OpenCalls.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "if (this.#open.size >= maxStreams) {",
    becomes: "if (this.#open.size > maxStreams) {"
  },
  {
    fault: "one address may have any number of streams",
    file: "packages/transport-connect/src/server/OpenCalls.ts",
    by: "packages/transport-connect/test/ConnectServer.test.ts",
    line: "(this.#perHost.get(host) ?? 0) >= maxStreamsPerPeer",
    becomes: "(this.#perHost.get(host) ?? 0) > maxStreamsPerPeer"
  },
  {
    fault: "an interceptor that hangs holds a call for ever",
    file: "packages/transport-connect/src/server/Interception.ts",
    by: "packages/transport-connect/test/FurtherServices.test.ts",
    line: "Effect.interruptible",
    becomes: "Effect.uninterruptible"
  },
  {
    fault: "a call that an interceptor refuses is served",
    file: "packages/transport-connect/src/server/ConnectStream.ts",
    by: "packages/transport-connect/test/FurtherServices.test.ts",
    line: "call.refusal === undefined",
    becomes: "call.refusal !== null"
  },
  {
    fault: "the scope of an interceptor stays open when its call has ended",
    file: "packages/transport-connect/src/server/Application.ts",
    by: "packages/transport-connect/test/FurtherServices.test.ts",
    line: "calls.delete(waiting)\n      end()",
    becomes: "calls.delete(waiting)"
  },
  {
    fault: "calls of a further service are in no count",
    file: "packages/transport-connect/src/server/FurtherServices.ts",
    by: "packages/transport-connect/test/FurtherServices.test.ts",
    line: "interceptors: [counted(shared)]",
    becomes: "interceptors: []"
  },
  {
    fault: "an HTTP server of one's own loses its handlers for good",
    file: "packages/transport-connect/src/server/Mounting.ts",
    by: "packages/transport-connect/test/FurtherServices.test.ts",
    line: "isMounted && taken(",
    becomes: "taken("
  },
  {
    fault: "a Unix socket that another server listens on is taken away",
    file: "packages/transport-node/src/ListenAddress.ts",
    by: "packages/transport-connect/test/FurtherServices.test.ts",
    line: "isLeft ? again : Effect.fail(cause)",
    becomes: "again"
  },
  {
    fault: "one address may have any number of connections",
    file: "packages/transport-connect/src/server/Connections.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "ofHost >= this.limits.maxConnectionsPerPeer",
    becomes: "ofHost > this.limits.maxConnectionsPerPeer"
  },
  {
    fault: "a server may have any number of connections",
    file: "packages/transport-connect/src/server/Connections.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "if (size < this.limits.maxConnections || this.#closeIdle(undefined)) return undefined",
    becomes: "if (size <= this.limits.maxConnections || this.#closeIdle(undefined)) return undefined"
  },
  {
    fault: "no idle connection gives way to a newcomer",
    file: "packages/transport-connect/src/server/Connections.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "if (size < this.limits.maxConnections || this.#closeIdle(undefined)) return undefined",
    becomes: "if (size < this.limits.maxConnections) return undefined"
  },
  {
    fault: "a gRPC request may have any size",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test",
    line: "new LengthPrefixedMessage.Reader(shared.maxRequestBytes, this.#onMessage, readHeld)",
    becomes: "new LengthPrefixedMessage.Reader(shared.maxRequestBytes * 1_000, this.#onMessage, readHeld)"
  },
  {
    fault: "a gRPC request may inflate to any size",
    file: "packages/transport-connect/src/server/Application.ts",
    by: "packages/transport-connect/test",
    line: "inflater: new Inflater(settings.maxRequestBytes)",
    becomes: "inflater: new Inflater(settings.maxRequestBytes * 1_000)"
  },
  {
    fault: "a Connect request may be as large as one of gRPC",
    file: "packages/transport-connect/src/server/ConnectRoutes.ts",
    by: "packages/transport-connect/test",
    line: "Math.min(maxRequestBytes, maxWholeRequestBytes)",
    becomes: "maxRequestBytes"
  },
  {
    fault: "a Connect request may have any number of JSON values",
    file: "packages/transport-node/src/JsonParts.ts",
    by: "packages/transport-connect/test/wrappedRequests.test.ts",
    line: "if (!(yield* JsonValues.isWithin(bytes, maxValues))) {",
    becomes: "if (!(yield* JsonValues.isWithin(bytes, Infinity))) {"
  },
  {
    fault: "a request in JSON that is too large is parsed as a whole",
    file: "packages/transport-connect/src/server/WrappedRequests.ts",
    by: "packages/transport-connect/test/wrappedRequests.test.ts",
    line: "if (isTooLarge && isJson && !isCompressed) throw tooLarge(maxBytes)",
    becomes: ""
  },
  {
    fault: "the index of who asks for which name is one map, however many names there are",
    file: "server/NameMap.ts",
    by: "packages/core/test/NameMap.test.ts",
    line: "const isFirst = this.#left === 0 && this.#first.size < mostInFirst",
    becomes: "const isFirst = true"
  },
  {
    fault: "a part of the index that is divided is put in the place of all of it",
    file: "server/NameMap.ts",
    by: "packages/core/test/NameMap.test.ts",
    line: "if (above === undefined) this.#others = divided",
    becomes: "if (at >= 0) this.#others = divided"
  },
  {
    fault: "Connect's JSON is read in one turn, however much there is",
    file: "packages/transport-node/src/TimeSlices.ts",
    by: "packages/transport-connect/test/wrappedRequests.test.ts",
    line: "if (slices.isOver()) await next(slices)\n    const part",
    becomes: "const part"
  },
  {
    fault: "a message of a stream in JSON that comes in pieces is wrapped with its last piece only",
    file: "packages/transport-connect/src/server/WrappedRequests.ts",
    by: "packages/transport-connect/test/wrappedRequests.test.ts",
    line: "else text.push(piece)",
    becomes: "else text = [piece]"
  },
  {
    fault: "the budget for what clients hold has no end",
    file: "packages/transport-node/src/ByteBudget.ts",
    by: "packages/transport-rest/test/strangers.test.ts",
    line: "while (this.#held > this.limit) {",
    becomes: "while (this.#held > this.limit * 1_000) {"
  },
  {
    fault: "REST may have any number of sessions",
    file: "packages/transport-rest/src/internal/Sessions.ts",
    by: "packages/transport-rest/test/strangers.test.ts",
    line: "if (this.#open.size >= this.limits.maxSessions && ",
    becomes: "if (this.#open.size > this.limits.maxSessions && "
  },
  {
    fault: "REST may hold any number of polls",
    file: "packages/transport-rest/src/internal/Sessions.ts",
    by: "packages/transport-rest/test",
    line: "const mayWait = this.#held < this.limits.maxHeld",
    becomes: "const mayWait = true"
  },
  {
    fault: "REST may answer any number of requests at once",
    file: "packages/transport-rest/src/internal/DiscoveryApp.ts",
    by: "packages/transport-rest/test",
    line: "if (requests < settings.maxRequests) return",
    becomes: "if (requests <= settings.maxRequests) return"
  },
  {
    fault: "a REST body may have any size",
    file: "packages/transport-rest/src/internal/RequestBody.ts",
    by: "packages/transport-rest/test/Http.test.ts",
    line: "if (size > limits.maxRequestBytes) finish",
    becomes: "if (size > Infinity) finish"
  },
  {
    fault: "a REST body that is a stream may have any size",
    file: "packages/transport-rest/src/internal/RequestBody.ts",
    by: "packages/transport-rest/test/RequestBody.test.ts",
    line: "if (more > limits.maxRequestBytes) return Effect.fail(tooLarge(limits))",
    becomes: ""
  },
  {
    fault: "a directory may have any number of files",
    file: "packages/transport-filesystem/src/internal/DirectoryListing.ts",
    by: "packages/transport-filesystem/test/ResourceDirectory.test.ts",
    line: "if (entries > maxFiles)",
    becomes: "if (entries > maxFiles + 1)"
  },
  {
    fault: "a file client may follow any number of files",
    file: "packages/transport-filesystem/src/internal/FileClientStream.ts",
    by: "packages/transport-filesystem/test/FileClient.test.ts",
    line: "if (files.size >= this.environment.maxFiles) {",
    becomes: "if (files.size > this.environment.maxFiles) {"
  },
  {
    fault: "changes that never end are never read",
    file: "packages/transport-filesystem/src/internal/ChangeSignal.ts",
    by: "packages/transport-filesystem/test/ChangeSignal",
    line: "if (count === seen || (yield* Clock.currentTimeMillis) - start >= maxDelay) break",
    becomes: "if (count === seen) break"
  },
  {
    fault: "a YAML file may be nested to any depth",
    file: "packages/transport-filesystem/src/internal/YamlText.ts",
    by: "packages/transport-filesystem/test/Mistakes.test.ts",
    line: "if (depth > maxDepth) return first?.offset ?? document.offset",
    becomes: ""
  },
  {
    fault: "YAML's aliases may nest to any depth",
    file: "packages/transport-filesystem/src/internal/YamlText.ts",
    by: "packages/transport-filesystem/test/Mistakes.test.ts",
    line: "if (this.#path.length + anchored.depth > maxDepth) throw this.#refuse(tooDeep)",
    becomes: ""
  },
  {
    fault: "a JSON file may be nested to any depth",
    file: "packages/transport-filesystem/src/internal/JsonText.ts",
    by: "packages/transport-filesystem/test/Mistakes.test.ts",
    line: "if (depth > maxDepth) this.#fail(tooDeep)",
    becomes: ""
  },
  {
    fault: "the admin server may answer any number of requests",
    file: "packages/admin/src/internal/Answers.ts",
    line: "if (requests >= maxRequests) return false",
    becomes: "if (requests > maxRequests) return false"
  },
  {
    fault: "client: a decoder whose nameOf throws ends the step",
    file: "client/Decoding.ts",
    line: "return Either.left(`the decoder of ${decoder.typeUrl} failed to find the name: ${Reason.of(cause)}`)",
    becomes: "throw cause"
  },
  {
    fault: "client: what a decoder makes is taken for an Either",
    file: "client/Decoding.ts",
    line: "if (!Either.isEither(decoded)) {",
    becomes: "if (decoded === 0) {"
  },
  {
    fault: "client: a transport that throws when it is asked for more stops everything",
    file: "packages/client/src/internal/Driver.ts",
    by: "packages/client/test/defects.test.ts",
    line: "for (const output of outputs) this.attempt(output)",
    becomes: "for (const output of outputs) this.handle(output)"
  },
  {
    fault: "server: whatever the Effect of a group fails with is taken for a refusal",
    file: "packages/server/src/internal/Admission.ts",
    by: "packages/server/test/functions.test.ts",
    line: "if (!(given instanceof Refusal)) {",
    becomes: "if (!(given instanceof Refusal) && given === 0) {"
  },
  {
    fault: "server: whatever a function gives is taken for the name of a group",
    file: "packages/server/src/internal/Admission.ts",
    by: "packages/server/test/functions.test.ts",
    line: 'if (typeof given !== "string") {',
    becomes: "if (given === 0) {"
  },
  {
    fault: "server: of names that come in one turn the first moves the client",
    file: "packages/server/src/internal/GroupSearch.ts",
    by: "packages/server/test/moves.test.ts",
    line: "        last = name\n",
    becomes: "        last ??= name\n"
  },
  {
    fault: "server: a search for a group goes on when its stream has ended",
    file: "packages/server/src/internal/GroupSearch.ts",
    by: "packages/server/test/moves.test.ts",
    line: "    this.stopSearch?.()\n",
    becomes: ""
  },
  {
    fault: "server: what a client without a group holds counts when it is gone",
    file: "packages/server/src/internal/GroupSearch.ts",
    by: "packages/server/test/strangers.test.ts",
    line: "    this.isStopped = true\n    this.environment.admitting.delete(this)\n",
    becomes: "    this.isStopped = true\n"
  },
  {
    fault: "server: clients are let in without room for what they hold",
    file: "packages/server/src/internal/GroupSearch.ts",
    by: "packages/server/test/strangers.test.ts",
    line: "admitting.size === 0 || admitting.hasRoom(bytes)",
    becomes: "bytes >= 0"
  },
  {
    fault: "server: the time to an ACK is not measured",
    file: "packages/server/src/internal/ResponseWriter.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "return AckLatency.answeredBy(unacked, output)",
    becomes: "return AckLatency.answeredBy(this.unacked, output)"
  },
  {
    fault: "server: a host that could not be given up counts no more",
    file: "packages/server/src/OnDemandHosts.ts",
    by: "packages/server/test/onDemandHosts.test.ts",
    line: "if (isThere) made.set(key, host)",
    becomes: "if (isThere) made.delete(key)"
  },
  {
    fault: "server: a host that was given up in another group counts again when the change fails",
    file: "packages/server/src/OnDemandHosts.ts",
    by: "packages/server/test/onDemandHosts.test.ts",
    line: "        else made.delete(key)",
    becomes: ""
  },
  {
    fault: "files: a name twice is taken twice",
    file: "packages/transport-filesystem/src/internal/Reading.ts",
    line: "if (other !== undefined) {",
    becomes: "if (other !== undefined && other.line === 0) {",
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "files: lines are counted from the start of each",
    file: "packages/transport-filesystem/src/internal/Reading.ts",
    line: "    while (this.#end < offset) {\n      this.#line++",
    becomes: "    while (this.#end < offset) {",
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "files: a TTL of any length is taken",
    file: "packages/transport-filesystem/src/internal/FileElement.ts",
    line: "ttl !== undefined && ttl < minimumTtl",
    becomes: "ttl !== undefined && ttl < 0",
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "files: a name outside that is not the one inside is taken",
    file: "packages/transport-filesystem/src/internal/FileElement.ts",
    line: "inside !== undefined && inside !== name",
    becomes: 'inside !== undefined && inside === ""',
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "files: the start of a binary response is taken for all of it",
    file: "packages/transport-filesystem/src/internal/BinaryFile.ts",
    line: 'if (message.typeUrl !== "") return message',
    becomes: "return message",
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "client: with what one stream retained goes what others did",
    file: "client/CacheRetention.ts",
    line: "  retained.delete(stream)\n",
    becomes: "  retained.clear()\n"
  },
  {
    fault: "server: an Effect that never finds the group is waited for",
    file: "packages/server/src/internal/Connection.ts",
    by: "packages/server/test/functions.test.ts",
    line: "this.giveUpAt = this.environment.now() + this.environment.settings.groupTimeout",
    becomes: "this.giveUpAt = Number.POSITIVE_INFINITY"
  },
  {
    fault: "what a moved client has of the group before is deleted at once",
    file: "resource/Difference.ts",
    line: "see(name, held, Cursors.resourceAt(since, name))",
    becomes: "see(name, held, undefined)"
  },
  {
    fault: "a stream that was moved counts in the group before",
    file: "server/FanOut.ts",
    line: "    this.streams.delete(stream)\n    to.streams.add(stream)\n",
    becomes: "    to.streams.add(stream)\n"
  },
  {
    fault: "a stream that was moved does not hear that its new group is cleared",
    file: "server/FanOut.ts",
    line: "    to.streams.add(stream)\n",
    becomes: ""
  },
  {
    fault: "changes of the group before concern a stream that was moved",
    file: "server/FanOut.ts",
    line: "    stream.movedTo(to, phases)\n    return this.interests.delete(stream)\n",
    becomes: "    stream.movedTo(to, phases)\n    return undefined\n"
  },
  {
    fault: "names of a stream that is moved go on into the index of the group before",
    file: "server/GroupStream.ts",
    line: "    this.moved = phases\n    this.indexing = undefined\n",
    becomes: "    this.moved = phases\n"
  },
  {
    fault: "changes of its new group do not concern a stream that was moved",
    file: "server/GroupStream.ts",
    line: '    this.indexing = this.fanOut.index(this, ServerStreams.interests(this.state))\n    return { _tag: "Moved", group, phases }',
    becomes: '    return { _tag: "Moved", group, phases }'
  },
  {
    fault: "a stream that is moved to the same content has nothing to do",
    file: "server/GroupStream.ts",
    line: "return this.isUnfinished() || this.moved !== undefined",
    becomes: "return this.isUnfinished()"
  },
  {
    fault: "what a move brings and waits for credit counts as told",
    file: "server/GroupStream.ts",
    line: "    if (!this.isCredited()) this.held = true\n    this.indexing",
    becomes: "    this.indexing"
  },
  {
    fault: "a client that was moved is served as its first group waits",
    file: "server/ServerStream.ts",
    line: "next.options = { ...self.options, ...input.phases }",
    becomes: "next.options = self.options"
  },
  {
    fault: "a move ends the update of the group before where it is",
    file: "server/ServerStream.ts",
    line: "next.round = input.group === undefined ? Round.idle : Round.departed(self.round)",
    becomes: "next.round = Round.idle"
  },
  {
    fault: "a group that is cleared forgets what its clients have",
    file: "server/ServerStream.ts",
    line: "      next.subscriptions = yield* leave(self.subscriptions, self.group ?? ResourceGroups.empty)\n    } else if",
    becomes: "    } else if"
  },
  {
    fault: "a client that is moved twice forgets what it has of the first group",
    file: "resource/Cursor.ts",
    line: "  self.revision < 0 ? self : { ...self, revision: -1, held }",
    becomes: "  ({ ...self, revision: -1, held })"
  },
  {
    fault: "a deletion whose time has come takes an answer of its type along",
    file: "server/TypeTurn.ts",
    line: "if (due.update || due.reply) return undefined",
    becomes: "if (due.update) return undefined"
  },
  {
    fault: "what was only asked for corrects what was rejected",
    file: "server/Sending.ts",
    line: "  if (phase !== undefined && isUpdate) {",
    becomes: "  if (phase !== undefined) {"
  },
  {
    fault: "server: a client that is moved is served as its first group waits",
    file: "packages/server/src/internal/Connection.ts",
    by: "packages/server/test/moves.test.ts",
    line: "environment.move(from, stream, group, { makeBeforeBreak, phaseDeadline })",
    becomes: "environment.move(from, stream, group, { makeBeforeBreak: true, phaseDeadline })"
  },
  {
    fault: "server: a client that is moved has the phase deadline of its first group",
    file: "packages/server/src/internal/Connection.ts",
    by: "packages/server/test/moves.test.ts",
    line: "environment.move(from, stream, group, { makeBeforeBreak, phaseDeadline })",
    becomes:
      "environment.move(from, stream, group, { makeBeforeBreak, phaseDeadline: environment.settings.ofGroup(from.name).phaseDeadline })"
  },
  {
    fault: "server: the name of the group that a client is in moves it",
    file: "packages/server/src/internal/Connection.ts",
    by: "packages/server/test/moves.test.ts",
    line: "    if (name === from.name) return\n",
    becomes: ""
  },
  {
    fault: "server: a client that is moved is not bound by the streams of its new group",
    file: "packages/server/src/internal/Connection.ts",
    by: "packages/server/test/moves.test.ts",
    line: "    if (group.fanOut.size > own.maxStreams) return this.refuse(tooManyStreams(name, own))\n    this.span",
    becomes: "    this.span"
  },
  {
    fault: "server: a client that was moved is shown in the group before",
    file: "packages/server/src/internal/Connection.ts",
    by: "packages/server/test/moves.test.ts",
    line: '    this.phase = { _tag: "Serving", group, stream }\n    if (group.fanOut.size > own.maxStreams) return this.refuse(tooManyStreams(name, own))\n    this.span',
    becomes: "    if (group.fanOut.size > own.maxStreams) return this.refuse(tooManyStreams(name, own))\n    this.span"
  },
  {
    fault: "a group that a client was moved away from forgets what it has of it",
    file: "server/Round.ts",
    line: "phase && { ...phase, group: ResourceGroups.departed(phase.group) }",
    becomes: "phase && { ...phase, group: phase.group }"
  },
  {
    fault: "server: a client stays in its first group, whatever names come later",
    file: "packages/server/src/internal/GroupSearch.ts",
    by: "packages/server/test/moves.test.ts",
    line: "if (requests === undefined) return this.environment.later(moving)",
    becomes: "if (requests === undefined) return"
  },
  {
    fault: "server: a group's own deadline of phases is passed over",
    file: "packages/server/src/internal/Settings.ts",
    by: "packages/server/test/settings.test.ts",
    line: 'phaseDeadline: millisOf(given, "phaseDeadline", all.phaseDeadline),',
    becomes: "phaseDeadline: all.phaseDeadline,"
  },
  {
    fault: "server: whatever the settings of a group say is taken",
    file: "packages/server/src/internal/Settings.ts",
    by: "packages/server/test/functions.test.ts",
    line: "  if (is(value)) return value\n",
    becomes: "  if (is(value) || value !== 0) return value\n"
  },
  {
    fault: "server: the end of the revocations is not told",
    file: "packages/server/src/XdsServer.ts",
    by: "packages/server/test/functions.test.ts",
    line: "Effect.catchAllCause((cause: Cause.Cause<unknown>) =>",
    becomes: "Effect.catchAllCause((cause: Cause.Cause<unknown>) => cause !== undefined ? Effect.void :"
  },
  {
    fault: "server: a listener of the store that throws keeps the others from being told",
    file: "packages/server/src/HeldGroups.ts",
    by: "packages/server/test/functions.test.ts",
    line: "const message = `a listener of the SnapshotStore failed",
    becomes: "throw cause; const message = `a listener of the SnapshotStore failed"
  },
  {
    fault: "what a client holds is known by its hash alone",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "if (this.#isFound(found, view, start, end)) return Math.abs(found) - 1",
    becomes: "return Math.abs(found) - 1",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "a table of names and versions that grows loses what lies in the way of another",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "while (slots[slot + 1] !== 0) slot = (slot + 2) & mask",
    becomes: "",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "the last bytes of a name and version are not compared",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "if (stored.getInt32(first + length - 4, true) !== view.getInt32(end - 4, true)) return false",
    becomes: "",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "the last eight bytes of a name and version of text are not compared",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "stored.getFloat64(first + 8, true) === view.getFloat64(last + 8, true)",
    becomes: "true",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "the bytes of a name and version before the last sixteen are not compared",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "for (; at < last; at += 16, first += 16)",
    becomes: "for (; at < last; at += 16, first += 16) if (at < 0)",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "names and versions of any bytes are compared as doubles",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "entry.every(isNumeric) ? this.#size : -this.#size",
    becomes: "this.#size",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "the two zeros are taken for one",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "byte !== 0 && (byte & 0x7f) !== 0x7f",
    becomes: "(byte & 0x7f) !== 0x7f",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "of pairs with one quick hash only the first is found",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "return this.#numberByAll(bytes, view, start, end)",
    becomes: "return -1",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "names and versions that were made to have one hash are all looked at for each other",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "const mostProbes = 64",
    becomes: "const mostProbes = Number.POSITIVE_INFINITY",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "the index of short names and versions grows beyond the bound",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "leastBytes * this.#size >= this.maxBytes",
    becomes: "false",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "a body that others began to write is begun again",
    file: "Steps.ts",
    by: "packages/core/test/Response.test.ts",
    line: "      shared.work = work\n",
    becomes: ""
  },
  {
    fault: "a body that was made while others waited for it is made again for them",
    file: "Steps.ts",
    by: "packages/core/test/Steps.test.ts",
    line: "const result = shared.made ?? known()",
    becomes: "const result = known()"
  },
  {
    fault: "a large body is written in one turn",
    file: "wire/Response.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "      if (at > start) yield\n",
    becomes: ""
  },
  {
    fault: "a response is thought to be smaller than it can be",
    file: "server/ResponseParts.ts",
    by: "packages/core/test/traces.test.ts",
    line: "return bytes + bytesPerUnit * units <= maxBytes",
    becomes: "return bytes <= maxBytes"
  },
  {
    fault: "the time of a turn is counted from its first question only",
    file: "packages/transport-node/src/TimeSlices.ts",
    line: "begin(): void {\n    if (!this.#begun) this.#begin(performance.now())",
    becomes: "begin(): void {",
    by: "packages/transport-node/test/TimeSlices.test.ts"
  },
  {
    fault: "work in parts begins in a turn that is over",
    file: "packages/transport-node/src/TimeSlices.ts",
    line: "if (slices.isOver()) slices.later(goOn, false)\n    else goOn()",
    becomes: "goOn()",
    by: "packages/transport-node/test/TimeSlices.test.ts"
  },
  {
    fault: "accepting a session takes none of a turn's time",
    file: "packages/transport-connect/src/server/Connections.ts",
    line: "this.application.beginTurn()\n    const socket",
    becomes: "const socket",
    by: "packages/transport-connect/test/wrappedRequests"
  },
  {
    fault: "what a wildcard leaves to the names beside it is noted in one turn",
    file: "server/RequestedNames.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: "if (++count % Steps.atOnce === 0) yield\n    next.set(name, held",
    becomes: "next.set(name, held"
  },
  {
    fault: "names become the state of a wildcard in one turn",
    file: "server/RequestedNames.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: 'if (++count % Steps.atOnce === 0) yield\n    if (fingerprint !== "")',
    becomes: 'if (fingerprint !== "")'
  },
  {
    fault: "what comes for a turn that is over is taken from the socket nevertheless",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "      this.readPause.hold()\n",
    becomes: ""
  },
  {
    fault: "a connection that is held goes on with the first stream that lets go",
    file: "packages/transport-connect/src/server/ReadPause.ts",
    by: "packages/transport-connect/test/ReadPause.test.ts",
    line: "if (this.#holders === 0 && !this.session.destroyed)",
    becomes: "if (!this.session.destroyed)"
  },
  {
    fault: "the window of a stream that is not read is not counted",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "const window = this.#paused ? streamWindow : 0",
    becomes: "const window = 0"
  },
  {
    fault: "which of many names a change concerns is found in one turn",
    file: "packages/core/src/server/Due.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: '        ofSets.set(set, yield* SubscriptionChanges.changesInSteps(subscription, set, protocol === "Incremental"))',
    becomes: "        continue"
  },
  {
    fault: "what was found to change on the way to another state is taken for this one",
    file: "packages/core/src/server/Due.ts",
    line: "found.get(subscription)?.get(set) ??",
    becomes: "found.get(subscription)?.values().next().value ??"
  },
  {
    fault: "HPACK: what fills the last byte of a text is not looked at",
    file: "packages/discovery-node/src/internal/Hpack.ts",
    line: "return depth < 8 && isOnes ? text : undefined",
    becomes: "return text",
    by: "packages/discovery-node/test/hpack.test.ts"
  },
  {
    fault: "HPACK: a field that does not fit leaves the others in the table",
    file: "packages/discovery-node/src/internal/Hpack.ts",
    line: "    while (this.table.length > 0 && this.tableSize + size > this.maxSize) this.drop()\n    if (size > this.maxSize) return\n",
    becomes:
      "    if (size > this.maxSize) return\n    while (this.table.length > 0 && this.tableSize + size > this.maxSize) this.drop()\n",
    by: "packages/discovery-node/test/hpack.test.ts"
  },
  {
    fault: "HPACK: a table may become larger than was agreed",
    file: "packages/discovery-node/src/internal/Hpack.ts",
    line: "if (size > this.limit) this.fails(",
    becomes: "if (size > 65_536) this.fails(",
    by: "packages/discovery-node/test/hpack.test.ts"
  },
  {
    fault: "HPACK: a small block may mean headers without end",
    file: "packages/discovery-node/src/internal/Hpack.ts",
    line: "left -= sizeOf(field)",
    becomes: "left -= 1",
    by: "packages/discovery-node/test/hpack.test.ts"
  },
  {
    fault: "HTTP/2: empty frames of headers go on without end",
    file: "packages/discovery-node/src/internal/Http2Connection.ts",
    line: "block.room -= payload.length + frameCost",
    becomes: "block.room -= payload.length",
    by: "packages/discovery-node/test/http2Connection.test.ts"
  },
  {
    fault: "HTTP/2: headers of a probe that was given up are not read, and the next ones are read wrongly",
    file: "packages/discovery-node/src/internal/Http2Connection.ts",
    line: "if ((flag & flags.endHeaders) === 0) {",
    becomes:
      "if (this.running === undefined) {\n      this.block = undefined\n      return\n    }\n    if ((flag & flags.endHeaders) === 0) {",
    by: "packages/discovery-node/test/http2Connection.test.ts"
  },
  {
    fault: "HTTP/2: padding does not count for windows",
    file: "packages/discovery-node/src/internal/Http2Connection.ts",
    line: "this.ourWindow -= payload.length",
    becomes: "this.ourWindow -= bytes.length",
    by: "packages/discovery-node/test/http2Connection.test.ts"
  },
  {
    fault: "HTTP/2: the window of the connection is not opened for a stream that was given up",
    file: "packages/discovery-node/src/internal/Http2Connection.ts",
    line: "if (this.ourWindow <= beginningWindow / 2) {",
    becomes: "if (this.running !== undefined && this.ourWindow <= beginningWindow / 2) {",
    by: "packages/discovery-node/test/http2Connection.test.ts"
  },
  {
    fault: "HTTP/2: a smaller window does not count for what was sent",
    file: "packages/discovery-node/src/internal/Http2Connection.ts",
    line: "if (this.running !== undefined) this.running.theirs += more",
    becomes: "if (this.running !== undefined) this.running.theirs = value",
    by: "packages/discovery-node/test/http2Connection.test.ts"
  },
  {
    fault: "HTTP/2: an answer that is shorter than it says is whole",
    file: "packages/discovery-node/src/internal/Http2Connection.ts",
    line: "if (running.missing !== undefined && running.missing > 0) this.fail(",
    becomes: "if (false) this.fail(",
    by: "packages/discovery-node/test/http2Connection.test.ts"
  },
  {
    fault: "HTTP/2: frames in pieces are read from their second piece on",
    file: "packages/discovery-node/src/internal/Http2Frame.ts",
    line: "const copied = bytes.copy(pending, this.filled, at)",
    becomes: "const copied = bytes.copy(pending, 0, at)",
    by: "packages/discovery-node/test/http2Connection.test.ts"
  },
  {
    fault: "a short change goes out before the parts that are left of a response",
    file: "server/Sending.ts",
    line: "if (parts !== undefined || options.ttl) return undefined",
    becomes: "if (options.ttl) return undefined"
  },
  {
    fault: "a short change of state of the world is an incremental response",
    file: "server/Sending.ts",
    line: 'const variant = options.protocol === "StateOfTheWorld" ? StateOfTheWorld : Incremental',
    becomes: "const variant = Incremental"
  },
  {
    fault: "a short change of a client with TTLs does not tell or renew them",
    file: "server/Sending.ts",
    line: "if (parts !== undefined || options.ttl) return undefined",
    becomes: "if (parts !== undefined) return undefined"
  },
  {
    fault: "what changed is found in one turn, however much it is",
    file: "server/Sending.ts",
    by: "packages/core/test/near.test.ts",
    line: "if (!Due.areNear(options, self.subscriptions, group, self.round)) return undefined\n",
    becomes: ""
  },
  {
    fault: "a short change leaves out what was asked for",
    file: "server/Sending.ts",
    line: "  if (due.reply) return undefined\n",
    becomes: ""
  },
  {
    fault: "a short change is of the newest state, whatever the round is of",
    file: "server/Sending.ts",
    line: "variant.flushFew(subscription, due.set,",
    becomes: "variant.flushFew(subscription, ResourceGroups.set(group, subscription.typeUrl),"
  },
  {
    fault: "what a short change makes due in another type is passed over",
    file: "server/Sending.ts",
    line: "const rest = follow(self, subscription, due.changes.changed)",
    becomes: "const rest = undefined"
  },
  {
    fault: "nothing waits for the ACK of a short change",
    file: "server/Sending.ts",
    line: "send(self, selection, told[0], told[1], true, false, now)",
    becomes: "send(self, selection, told[0], told[1], false, false, now)"
  },
  {
    fault: "the ACK of a client that is up to date opens no phase",
    file: "server/ServerStream.ts",
    line: "      next.round = heard.round\n",
    becomes: ""
  },
  {
    fault: "the ACK of a client that is up to date is not noted",
    file: "server/ServerStream.ts",
    line: "      if (replied !== known) next.subscriptions = put(self.subscriptions, replied)\n",
    becomes: ""
  },
  {
    fault: "the ACK of a client that is up to date is not told",
    file: "server/ServerStream.ts",
    line: "      outputs = heard.outputs\n",
    becomes: ""
  },
  {
    fault: "a request for other names is taken for an ACK",
    file: "server/ServerStream.ts",
    line: "if (known === undefined || !isRepeated(replied, input.request)) return undefined",
    becomes: "if (known === undefined) return undefined"
  },
  {
    fault: "an ACK that lets a change out is not told",
    file: "server/ServerStream.ts",
    line: "const told = outputs === none ? tell(next, group, now) : undefined",
    becomes: "const told = tell(next, group, now)"
  },
  {
    fault: "an ACK is heard before the names of the request before it",
    file: "server/ServerStream.ts",
    by: "packages/core/test/near.test.ts",
    line: "if (self.ended || self.partialRequest !== undefined) return undefined",
    becomes: "if (self.ended) return undefined"
  },
  {
    fault: "a stream that broke the protocol takes the next request",
    file: "server/ServerStream.ts",
    line: "if (self.ended || self.partialRequest !== undefined) return undefined",
    becomes: "if (self.partialRequest !== undefined) return undefined"
  },
  {
    fault: "a short change is of the state before it",
    file: "server/ServerStream.ts",
    line: "      next.group = input.group\n      break\n",
    becomes: "      break\n"
  },
  {
    fault: "credit for a client that is up to date is lost",
    file: "server/ServerStream.ts",
    line: "      next.credit = true\n      break\n",
    becomes: "      break\n"
  },
  {
    fault: "a state that comes twice sends what time made due",
    file: "server/ServerStream.ts",
    by: "packages/core/test/near.test.ts",
    line: "if (input.group === undefined || self.group === input.group) return undefined",
    becomes: "if (input.group === undefined) return undefined"
  },
  {
    fault: "a group that is cleared ends no round",
    file: "server/ServerStream.ts",
    line: "if (input.group === undefined || self.group === input.group) return undefined",
    becomes: "if (self.group === input.group) return undefined"
  },
  {
    fault: "a request that subscribes is taken for an ACK",
    file: "server/IncrementalNames.ts",
    line: "  resourceNamesSubscribe.length === 0 && resourceNamesUnsubscribe.length === 0\n",
    becomes: "  resourceNamesUnsubscribe.length === 0\n"
  },
  {
    fault: "a request that unsubscribes is taken for an ACK",
    file: "server/IncrementalNames.ts",
    line: "  resourceNamesSubscribe.length === 0 && resourceNamesUnsubscribe.length === 0\n",
    becomes: "  resourceNamesSubscribe.length === 0\n"
  },
  {
    fault: "a change of many resources is told in one turn",
    file: "server/Incremental.ts",
    by: "packages/core/test/near.test.ts",
    line: "if (cursor === undefined || changed.length > Steps.atOnce) return undefined",
    becomes: "if (cursor === undefined) return undefined"
  },
  {
    fault: "what is gone is left out of a short change",
    file: "server/Incremental.ts",
    line: "if (gone.size + superseded.size + initial.size + pendingRemovals.size > 0) return undefined",
    becomes: "if (superseded.size + initial.size + pendingRemovals.size > 0) return undefined"
  },
  {
    fault: "what left its name to another is left out of a short change",
    file: "server/Incremental.ts",
    line: "if (gone.size + superseded.size + initial.size + pendingRemovals.size > 0) return undefined",
    becomes: "if (gone.size + initial.size + pendingRemovals.size > 0) return undefined"
  },
  {
    fault: "a client that comes back has its versions for ever, with a short change",
    file: "server/Incremental.ts",
    by: "packages/core/test/near.test.ts",
    line: "if (gone.size + superseded.size + initial.size + pendingRemovals.size > 0) return undefined",
    becomes: "if (gone.size + superseded.size + pendingRemovals.size > 0) return undefined"
  },
  {
    fault: "a pending removal still goes out after a short change that brings it back",
    file: "server/Incremental.ts",
    line: "if (gone.size + superseded.size + initial.size + pendingRemovals.size > 0) return undefined",
    becomes: "if (gone.size + superseded.size + initial.size > 0) return undefined"
  },
  {
    fault: "a short change is sent again and again",
    file: "server/Incremental.ts",
    line: "  const next = Subscriptions.draft(self)\n  next.cursor = set.cursor\n  const wild",
    becomes: "  const next = Subscriptions.draft(self)\n  const wild"
  },
  {
    fault: "a client that asked for names beside the wildcard has the short response of those that did not",
    file: "server/Incremental.ts",
    by: "packages/core/test/near.test.ts",
    line: "const alike = wild && names.size === 0\n",
    becomes: "const alike = wild\n"
  },
  {
    fault: "a short response is shared with clients that take no message as large",
    file: "server/Incremental.ts",
    by: "packages/core/test/near.test.ts",
    line: "const variant = String(maxBytes)",
    becomes: 'const variant = "alike"'
  },
  {
    fault: "a short change does not name the aliases that were asked for",
    file: "server/Incremental.ts",
    line: "    if (changed.some((resource) => isOfManyHosts(self, resource) || asked.of(resource).length > 0)) return undefined\n",
    becomes: ""
  },
  {
    fault: "a short change is one response, however large",
    file: "server/Incremental.ts",
    line: "  if (!ResponseParts.isSmall(response, maxBytes)) return undefined\n",
    becomes: ""
  },
  {
    fault: "what a short change brought is not noted under its names",
    file: "server/Incremental.ts",
    line: "  if (!wild) next.names = HeldNames.holdFew(names, changed)\n",
    becomes: ""
  },
  {
    fault: "what a short change brought to a wildcard is noted as asked for by name",
    file: "server/Incremental.ts",
    line: "  if (!wild) next.names = HeldNames.holdFew(names, changed)\n",
    becomes: "  next.names = HeldNames.holdFew(names, changed)\n"
  },
  {
    fault: "a short response is thought small whatever its type and names",
    file: "server/ResponseParts.ts",
    by: "packages/core/test/ResponseParts.test.ts",
    line: "framing + bytesPerUnit * (units + name.length + version.length) + value.byteLength",
    becomes: "framing + value.byteLength"
  },
  {
    fault: "how far the newest state is, is not looked at",
    file: "server/Due.ts",
    by: "packages/core/test/near.test.ts",
    line: "      isNear(each, newest) &&\n",
    becomes: ""
  },
  {
    fault: "how far the state of the round is, is not looked at",
    file: "server/Due.ts",
    by: "packages/core/test/near.test.ts",
    line: "(round.group === newest || isNear(each, round.group)) &&",
    becomes: ""
  },
  {
    fault: "how far the state of a phase is, is not looked at",
    file: "server/Due.ts",
    by: "packages/core/test/near.test.ts",
    line: " &&\n      (changes === newest || isNear(each, changes))",
    becomes: ""
  },
  {
    fault: "many names are looked at in one turn where what changed is known",
    file: "server/SubscriptionChanges.ts",
    by: "packages/core/test/near.test.ts",
    line: "return Math.max(named, isMatched ? difference.changed.length : 0) <= most",
    becomes: "return true"
  },
  {
    fault: "as many names as others are to have their turn after are near",
    file: "resource/Difference.ts",
    by: "packages/core/test/near.test.ts",
    line: "?? Steps.atOnce) < Steps.atOnce ||",
    becomes: "?? Steps.atOnce + 1) <= Steps.atOnce ||"
  },
  {
    fault: "a change is near, however many names are in it",
    file: "resource/Difference.ts",
    by: "packages/core/test/near.test.ts",
    line: "?? Steps.atOnce) < Steps.atOnce ||",
    becomes: "?? Steps.atOnce) < Number.POSITIVE_INFINITY ||"
  },
  {
    fault: "the oldest of several changes does not count for how near they are",
    file: "resource/ChangeLog.ts",
    by: "packages/core/test/near.test.ts",
    line: "ago <= age && names < limit",
    becomes: "ago < age && names < limit"
  },
  {
    fault: "of another history what changed is thought near",
    file: "resource/ChangeLog.ts",
    by: "packages/core/test/near.test.ts",
    line: "if (age === undefined) return undefined\n  let names",
    becomes: "if (age === undefined) return 0\n  let names"
  },
  {
    fault: "what is known to have changed is not near",
    file: "resource/Difference.ts",
    by: "packages/core/test/near.test.ts",
    line: "self.computed.known(since)?.difference.value !== undefined\n",
    becomes: "false\n"
  },
  {
    fault: "what is beyond the log is near",
    file: "resource/Difference.ts",
    by: "packages/core/test/near.test.ts",
    line: "?? Steps.atOnce) < Steps.atOnce ||",
    becomes: "?? 0) < Steps.atOnce ||"
  },
  {
    fault: "two that are one object in the state of a stream are restored as two",
    file: "server/StreamRecord.ts",
    by: "packages/core/test/StreamRecord.test.ts",
    line: "    places.set(value, place)\n",
    becomes: ""
  },
  {
    fault: "what JSON has no number for is restored as nothing",
    file: "server/StreamRecord.ts",
    by: "packages/core/test/StreamRecord.test.ts",
    line: 'return of === "undefined" ? undefined : Number(of)',
    becomes: "return undefined"
  },
  {
    fault: "two histories with as many changes are thought to be one",
    file: "resource/Cursor.ts",
    by: "packages/core/test/Cursor.test.ts",
    line: "    Digest.equals(one.digest, other.digest))",
    becomes: "    true)"
  },
  {
    fault: "what changed is looked for anew for each cursor of one state",
    file: "resource/Cursor.ts",
    by: "packages/core/test/Cursor.test.ts",
    line: "  one === other ||\n  (one.revision",
    becomes: "  one === other ||\n  (one.revision < 0 && one.revision"
  },
  {
    fault: "a client that was sent something ahead is thought to be at a state of the set",
    file: "resource/Cursor.ts",
    by: "packages/core/test/Cursor.test.ts",
    line: "    : { ...self, digest: undefined, fingerprints, aliases }",
    becomes: "    : { ...self, fingerprints, aliases }"
  },
  {
    fault: "what changed since one cursor is told to a client that is at another",
    file: "resource/Computed.ts",
    by: "packages/core/test/Cursor.test.ts",
    line: "if (each !== undefined && isAlike(each.since, since)) return each",
    becomes: "if (each !== undefined) return each"
  },
  {
    fault: "what changed is kept for all cursors that there ever were",
    file: "resource/Computed.ts",
    by: "packages/core/test/Cursor.test.ts",
    line: "if (others >= (isOwn ? mostOwn : mostShared)) {",
    becomes: "if (others < 0) {"
  },
  {
    fault: "cursors of single streams crowd out what many streams share",
    file: "resource/Computed.ts",
    by: "packages/core/test/Cursor.test.ts",
    line: "        all.findIndex(({ since }) => (since.digest === undefined) === isOwn),",
    becomes: "        0,"
  },
  {
    fault: "what was found in steps is lost if others took its place",
    file: "resource/Difference.ts",
    by: "packages/core/test/Cursor.test.ts",
    line: "  self.computed.keep(found)\n",
    becomes: ""
  },
  {
    fault: "what comes back under a wildcard is sent again although it is as it was",
    file: "server/SubscriptionChanges.ts",
    line: "if (self.pendingRemovals.size > 0 || (incremental && names.size > 0)) {",
    becomes: "if (incremental && names.size > 0) {"
  },
  {
    fault: "a name beside a wildcard that leads nowhere is passed over",
    file: "server/SubscriptionChanges.ts",
    line: "if (self.pendingRemovals.size > 0 || (incremental && names.size > 0)) {",
    becomes: "if (self.pendingRemovals.size > 0) {"
  },
  {
    fault: "what is gone under a wildcard alone is kept",
    file: "server/SubscriptionChanges.ts",
    line: "return { changed, gone: removed, returned: noList, superseded:",
    becomes: "return { changed, gone: noChanges.gone, returned: noList, superseded:"
  },
  {
    fault: "what was asked for and never was is gone",
    file: "server/SubscriptionChanges.ts",
    line: '      if (held === "") return\n      // The client may know',
    becomes: "      // The client may know"
  },
  {
    fault: "an answer to an older response is one to those after it",
    file: "server/Acknowledgement.ts",
    line: "const open = index + 1 === self.outstanding.length ? noneOutstanding : self.outstanding.slice(index + 1)",
    becomes: "const open = noneOutstanding"
  },
  {
    fault: "a piece is taken for one that lacks its last resource",
    file: "wire/Response.ts",
    by: "packages/core/test/ResponsePieces.test.ts",
    line: "pieces.push({ resources: contentOf(start, end), bytes })",
    becomes: "pieces.push({ resources: contentOf(start, end - 1), bytes })"
  },
  {
    fault: "a response in steps lacks a resource between two of them",
    file: "wire/Response.ts",
    by: "packages/core/test/Response.test.ts",
    line: "write(encoder, at, Math.min(at + Steps.atOnce, end))",
    becomes: "write(encoder, at, Math.min(at + Steps.atOnce - 1, end))"
  },
  {
    fault: "a response in pieces lacks what comes after its resources",
    file: "wire/Response.ts",
    by: "packages/core/test/Response.test.ts",
    line: "put((to) => tail(to, response, typeUrl))",
    becomes: "void tail"
  },
  {
    fault: "a body lacks a byte of each of its pieces",
    file: "wire/Wire.ts",
    by: "packages/core/test/Response.test.ts",
    line: "at += piece.byteLength\n",
    becomes: "at += piece.byteLength - 1\n"
  },
  {
    fault: "a piece begins with the last resource of the one before it",
    file: "wire/Response.ts",
    by: "packages/core/test/ResponsePieces.test.ts",
    line: "    start = end\n",
    becomes: "    start = end < before ? end - 1 : end\n"
  },
  {
    fault: "the time of a change to the ACK begins with the change that the client has",
    file: "packages/server/src/internal/ChangeTimes.ts",
    by: "packages/server/test/ChangeTimes.test.ts",
    line: "change.revision <= revision) break",
    becomes: "change.revision < revision) break"
  },
  {
    fault: "the time of several changes to their ACK begins with the last of them",
    file: "packages/server/src/internal/ChangeTimes.ts",
    by: "packages/server/test/ChangeTimes.test.ts",
    line: "      at = change.at\n",
    becomes: "      at ??= change.at\n"
  },
  {
    fault: "an ACK of the first of several responses is that of all",
    file: "packages/server/src/internal/AckLatency.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "  self.length === 1 && self[0]?.nonce === nonce\n",
    becomes: "  self[0]?.nonce === nonce\n"
  },
  {
    fault: "an ACK that is measured is measured again",
    file: "packages/server/src/internal/AckLatency.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "if (self.length === 0 || isToOnly(self, answer)) return none",
    becomes: "if (self.length === 0 || isToOnly(self, answer)) return self"
  },
  {
    fault: "of several responses only the last one's time to its ACK is measured",
    file: "packages/server/src/internal/AckLatency.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "return [...(self.length < maxUnacked ? self : self.slice(1)), last]",
    becomes: "return [last]"
  },
  {
    fault: "a step that is not over is forgotten",
    file: "server/GroupStream.ts",
    by: "packages/server/test/counts.test.ts",
    line: "    this.unfinished = work\n",
    becomes: ""
  },
  {
    fault: "what a stream held stays in the budget when it holds nothing any more",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "if (held === 0 && !this.#isCounted) return",
    becomes: "if (held === 0) return"
  },
  {
    fault: "what a stream holds is thought to be in no budget",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "this.#isCounted = held > 0",
    becomes: "this.#isCounted = false"
  },
  {
    fault: "a large chunk is read beyond the turn like a short one",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "return isShort ? slices.isLate() : slices.isOver()",
    becomes: "return slices.isLate()"
  },
  {
    fault: "what comes in a large chunk is handed over beyond the turn",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "this.#isShort = chunk.length <= shortChunk",
    becomes: "this.#isShort = true"
  },
  {
    fault: "a short chunk waits for another turn like a large one",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test/strangers.test.ts",
    line: "return isShort ? slices.isLate() : slices.isOver()",
    becomes: "return slices.isOver()"
  },
  {
    fault: "what is short has all the time of a turn there is",
    file: "packages/transport-node/src/TimeSlices.ts",
    by: "packages/transport-node/test/TimeSlices.test.ts",
    line: "return this.#isBeyond(grace)",
    becomes: "return false"
  },
  {
    fault: "what is short begins no turn",
    file: "packages/transport-node/src/TimeSlices.ts",
    by: "packages/transport-node/test/TimeSlices.test.ts",
    line: "return this.#isBeyond(grace)",
    becomes: "return performance.now() >= this.#end + grace"
  },
  {
    fault: "which deletions have their time is found in one turn",
    file: "packages/core/src/server/Due.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: "  for (const [name, each] of self.pendingRemovals) {\n    if (++count % Steps.atOnce === 0) yield\n",
    becomes: "  for (const [name, each] of self.pendingRemovals) {\n"
  },
  {
    fault: "deletions are given their time in one turn",
    file: "packages/core/src/server/Due.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: "  for (const [name, each] of subscription.pendingRemovals) {\n    if (++count % Steps.atOnce === 0) yield\n",
    becomes: "  for (const [name, each] of subscription.pendingRemovals) {\n"
  },
  {
    fault: "pending removals are told in one turn",
    file: "server/Incremental.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: "      if (++count % Steps.atOnce === 0) yield\n      yield* asked.ready(ResourceSet.get(set, name))",
    becomes: "      yield* asked.ready(ResourceSet.get(set, name))"
  },
  {
    fault: "a short full state is sent to who asked by name",
    file: "server/StateOfTheWorld.ts",
    line: "const known = wild ? SharedResponse.known(",
    becomes: "const known = true ? SharedResponse.known("
  },
  {
    fault: "state of the world: what is gone is left out of a short change",
    file: "server/StateOfTheWorld.ts",
    line: "changed.length > Steps.atOnce || gone.size + pendingRemovals.size > 0) return undefined",
    becomes: "changed.length > Steps.atOnce) return undefined"
  },
  {
    fault: "state of the world: a short change is one response, however large",
    file: "server/StateOfTheWorld.ts",
    line: "if (wild || !ResponseParts.isSmall(response, maxBytes)) return undefined",
    becomes: "if (wild) return undefined"
  },
  {
    fault: "state of the world: what a short change brought is not noted under its names",
    file: "server/StateOfTheWorld.ts",
    line: "  next.names = HeldNames.holdFew(names, changed)\n",
    becomes: ""
  },
  {
    fault: "state of the world: a short change of a wildcard by name is noted as asked for by name",
    file: "server/StateOfTheWorld.ts",
    line: "if (wild || !ResponseParts.isSmall(response, maxBytes)) return undefined",
    becomes: "if (!ResponseParts.isSmall(response, maxBytes)) return undefined"
  },
  {
    fault: "state of the world: a short change is sent again and again",
    file: "server/StateOfTheWorld.ts",
    line: "  next.cursor = set.cursor\n  const wild = Subscriptions.isWild(self)\n",
    becomes: "  const wild = Subscriptions.isWild(self)\n"
  },
  {
    fault: "a cluster that nobody watches keeps its gauges",
    file: "packages/discovery-node/src/ClusterMembers.ts",
    line: "                actor.gaugeNobody()\n",
    becomes: "",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a source of endpoints that cannot be had is not told",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: 'set.discovery.fault ?? (known && unwatchedOf(known.id)) ?? ""',
    becomes: 'set.discovery.fault ?? ""',
    by: "packages/discovery-node/test/endpointSources.test.ts"
  },
  {
    fault: "endpoints from elsewhere are asked of the client",
    file: "packages/discovery-node/src/ClusterMembers.ts",
    line: 'if (source._tag === "Client") return orError(client.watch(assignments, name), name)',
    becomes: "if (source._tag !== undefined) return orError(client.watch(assignments, name), name)",
    by: "packages/discovery-node/test/endpointSources.test.ts"
  },
  {
    fault: "pending removals are compared with what is there again in one turn",
    file: "server/SubscriptionChanges.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: "    else others.push(resource)\n    if (++count % Steps.atOnce === 0) yield\n",
    becomes: "    else others.push(resource)\n"
  },
  {
    fault: "what is there again is noted in one turn",
    file: "server/HeldNames.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: "if (resource !== undefined) next.setKnown(name, resource.fingerprint)\n    if (++count % Steps.atOnce === 0) yield\n",
    becomes: "if (resource !== undefined) next.setKnown(name, resource.fingerprint)\n"
  },
  {
    fault: "many changes are compared with a few pending removals in one turn",
    file: "server/SubscriptionChanges.ts",
    by: "packages/core/test/LargeRequest.test.ts",
    line: "const isMatched = pendingRemovals.size > 0 && isWild(self)",
    becomes: "const isMatched = false"
  },
  {
    fault: "why a probe failed is not told",
    file: "packages/discovery/src/HealthCheck.ts",
    by: "packages/discovery/test/healthCheck.test.ts",
    line: 'return (result.why ?? "").slice(0, maxWhy)',
    becomes: 'return ""'
  },
  {
    fault: "all that a prober says of a failure is kept",
    file: "packages/discovery/src/HealthCheck.ts",
    by: "packages/discovery/test/healthCheck.test.ts",
    line: 'return (result.why ?? "").slice(0, maxWhy)',
    becomes: 'return result.why ?? ""'
  },
  {
    fault: "what a prober gives back is believed",
    file: "packages/discovery-node/src/HealthChecker.ts",
    by: "packages/discovery-node/test/healthChecker.test.ts",
    line: "HealthCheck.isResult(exit.value) ? exit.value",
    becomes: "exit.value !== undefined ? exit.value"
  },
  {
    fault: "gRPC: an answer that is longer than any of Health is read",
    file: "packages/discovery-node/src/internal/Http2Asker.ts",
    by: "packages/discovery-node/test/nodeProber.test.ts",
    line: "length > maxAnswer ? none : ",
    becomes: ""
  },
  {
    fault: "a status of gRPC that is no number is told as it is",
    file: "packages/discovery/src/ProbeAnswer.ts",
    by: "packages/discovery/test/probeAnswer.test.ts",
    line: 'if (grpcStatus !== "0")',
    becomes: 'if (grpcStatus !== "0") return `grpc-status ${grpcStatus}`\n  if (grpcStatus !== "0")'
  },
  {
    fault: "HTTP/2: why a question is lost is not told",
    file: "packages/discovery-node/src/internal/Http2Asker.ts",
    by: "packages/discovery-node/test/nodeProber.test.ts",
    line: "if (running === done && session === on) finish(network(why))",
    becomes: 'if (running === done && session === on) finish(network(""))'
  },
  {
    fault: "Connect: the last message of a stream that rests is counted for ever",
    file: "packages/transport-connect/src/server/WrappedRequests.ts",
    by: "packages/transport-connect/test/wrappedRequests.test.ts",
    line: "onHeld(left > 0 ? size : 0)",
    becomes: "onHeld(size)"
  },
  {
    fault: "Connect: what waits in a stream is in no count",
    file: "packages/transport-connect/src/server/ConnectStream.ts",
    by: "packages/transport-connect/test/wrappedRequests.test.ts",
    line: "this.shared.held.set(this, streamWindow)",
    becomes: ""
  },
  {
    fault: "layers: what has a name in common with an own resource is seen beside it",
    file: "resource/LayeredGroup.ts",
    by: "packages/core/test/LayeredGroup.test.ts",
    line: "return shared === undefined || isHidden(own, shared) ? undefined : shared",
    becomes: "return shared"
  },
  {
    fault: "layers: what an own resource hid is not seen again when it goes",
    file: "resource/LayeredGroup.ts",
    by: "packages/core/test/LayeredGroup.test.ts",
    line: "for (const hidden of ResourceSets.ownersOf(now.base, each)) names.add(hidden)",
    becomes: "void [now, each]"
  },
  {
    fault: "layers: a new label of the base moves the cursors of its groups",
    file: "resource/LayeredGroup.ts",
    by: "packages/core/test/LayeredGroup.test.ts",
    line: "const log = (yield* isAnyNew(different, content)) ? yield* sharedLog(different, before, now) : noChange",
    becomes: "const log = yield* sharedLog(different, before, now)"
  },
  {
    fault: "layers: a group's log tells what was in the base, not what its streams have",
    file: "resource/LayeredGroup.ts",
    by: "packages/core/test/LayeredGroup.test.ts",
    line: "if (!shared.has(name) || shared.get(name) !== resource) return different",
    becomes: "if (!shared.has(name)) return different"
  },
  {
    fault: "layers: a group that gives up its last own resource begins a log of its own",
    file: "resource/LayeredGroup.ts",
    by: "packages/core/test/LayeredGroup.test.ts",
    line: "if (seen === before.base && ResourceSets.size(now.own) === 0) return",
    becomes: "if (ResourceSets.size(now.own) === 0) return"
  },
  {
    fault: "layers: maps that are not shared any more grow with every change of the base",
    file: "resource/LayeredGroup.ts",
    by: "packages/core/test/LayeredGroup.test.ts",
    line: "drift < own",
    becomes: "true"
  },
  {
    fault: "layers: a new label beside a change of the base is lost",
    file: "resource/ResourceSet.ts",
    by: "packages/core/test/LayeredGroup.test.ts",
    line: "for (const name of labelled ?? []) before.set(name, get(self, name))",
    becomes: ""
  },
  {
    fault: "timer table: who is due again at once keeps the fiber from sleeping",
    file: "packages/transport-node/src/TimerTable.ts",
    by: "packages/transport-node/test/TimerTable.test.ts",
    line: "Math.ceil(Math.max(at, now() + 1) / tick)",
    becomes: "Math.ceil(at / tick)"
  },
  {
    fault: "timer table: a deadline that is moved leaves the earlier one",
    file: "packages/transport-node/src/TimerTable.ts",
    by: "packages/transport-node/test/TimerTable.test.ts",
    line: "else clear(item, before)",
    becomes: ""
  },
  {
    fault: "sessions: one that outlier detection ejected gets calls",
    file: "packages/routing/src/CompiledPicker.ts",
    line: "endpoint === undefined || endpoint.isEjected === true",
    becomes: "endpoint === undefined",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: an endpoint that is DRAINING gets calls of all",
    file: "packages/routing/src/Assignment.ts",
    line: 'endpoints: all.filter(({ health }) => health !== "DRAINING"), draining',
    becomes: "endpoints: all, draining",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: go on with an endpoint whatever its state is",
    file: "packages/routing/src/policy/OverrideHost.ts",
    line: 'if (!statuses.has(endpoint.health ?? "UNKNOWN")) continue',
    becomes: "if (statuses.size === 0) continue",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: an address is tried although another of the endpoint is connected",
    file: "packages/routing/src/policy/OverrideHost.ts",
    line: "free.find(isConnected) ?? free[0]",
    becomes: "free[0]",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: the connection to an endpoint that is gone is kept",
    file: "packages/routing/src/policy/OverrideHost.ts",
    line: "keep(self, (address) => usable.has(address))",
    becomes: "keep(self, () => true)",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: a connection that no session uses is kept for ever",
    file: "packages/routing/src/policy/OverrideHost.ts",
    line: "now < usedAt + self.idleTimeout",
    becomes: "now >= usedAt",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: an address that fails again is tried as soon as after the first time",
    file: "packages/routing/src/policy/OverrideHost.ts",
    line: "const failures = host.failures + 1",
    becomes: "const failures = 1",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: policies are not told where calls went",
    file: "packages/routing/src/Channel.ts",
    line: "if (session !== undefined) use(self, session, address)",
    becomes: 'if (session === undefined) use(self, "", address)',
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: go to a cluster that the route has no more",
    file: "packages/routing/src/ConfigSelector.ts",
    line: "session !== undefined && RouteAction.has(action.clusters, session.cluster)",
    becomes: "session !== undefined",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: what a route says of them is passed over",
    file: "packages/routing/src/ConfigSelector.ts",
    line: "overrides.get(name) ?? config",
    becomes: "config",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: a cookie counts for paths that only begin alike",
    file: "packages/routing/src/StatefulSession.ts",
    line: 'path.length === of.length || of.endsWith("/") || path[of.length] === "/"',
    becomes: "path.length >= of.length",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "sessions: end where the endpoint is DRAINING",
    file: "packages/routing/src/policy/Cds.ts",
    line: "[...weighed.flat(), ...draining].map(mark)",
    becomes: "weighed.flat().map(mark)",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "authorities that strangers make up are all remembered",
    file: "packages/routing/src/CalledHosts.ts",
    line: "this.#byAuthority.size < maxAuthorities && ",
    becomes: "",
    by: "packages/routing/test/certain.test.ts"
  },
  {
    fault: "virtual hosts that are called by another authority are the first one",
    file: "packages/routing/src/CalledHosts.ts",
    line: "let number = this.#byPlace[place] ?? -1",
    becomes: "let number = this.#called.length > 0 ? 0 : -1",
    by: "packages/routing/test/certain.test.ts"
  },
  {
    fault: "the store: compare and set does not compare",
    file: "packages/server/src/SnapshotStore.ts",
    by: "packages/testing/test/StoreConformance.test.ts",
    line: "if (ifRevision !== undefined && ifRevision !== actual) {",
    becomes: "if (actual < 0) {"
  },
  {
    fault: "the store: a set that changes nothing has a new revision",
    file: "packages/server/src/SnapshotStore.ts",
    by: "packages/testing/test/StoreConformance.test.ts",
    line: "if (before !== undefined && before.over === over && HeldGroups.isSame(before.own, own)) {",
    becomes: "if (before === undefined && HeldGroups.isSame(ResourceGroup.empty, own) && own === ResourceGroup.empty) {"
  },
  {
    fault: "layers: the error of a cycle names its first group alone",
    file: "packages/server/src/HeldGroups.ts",
    by: "packages/testing/test/StoreConformance.test.ts",
    line: "if (name === group) return new LayerCycle({ group, path })",
    becomes: "if (name === group) return new LayerCycle({ group, path: path.slice(0, 1) })"
  },
  {
    fault: "layers: those over those over a shared group are not told",
    file: "packages/server/src/HeldGroups.ts",
    by: "packages/testing/test/StoreConformance.test.ts",
    line: "for (const each of next.above) rest.push(each)",
    becomes: ""
  },
  {
    fault: "layers: a group over one that is not set is served without it",
    file: "packages/server/src/HeldGroups.ts",
    by: "packages/testing/test/StoreConformance.test.ts",
    line: "base === undefined ? ResourceGroup.empty : base.stored?.seen",
    becomes: "base?.stored?.seen ?? ResourceGroup.empty"
  },
  {
    fault: "layers: what was made of an older state of the base stays",
    file: "packages/server/src/HeldGroups.ts",
    by: "packages/server/test/layers.test.ts",
    line: "if (node.own !== own || node.base !== base || node.layers !== layers || visibleOf(base) !== below) continue",
    becomes: ""
  },
  {
    fault: "layers: when the shared group is cleared, those over it are served on",
    file: "packages/server/src/HeldGroups.ts",
    by: "packages/testing/test/StoreConformance.test.ts",
    line: "return show(node, undefined) && node.above.size > 0 ? seeAbove(node) : undefined",
    becomes: "show(node, undefined); return undefined"
  },
  {
    fault: "status: all names that a client subscribes to are shown, however many",
    file: "server/ServerStream.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "if (first.length === maxNamed) break",
    becomes: ""
  },
  {
    fault: "status: a name is shown at any length",
    file: "server/ServerStream.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "first.push(name.slice(0, longestNamed))",
    becomes: "first.push(name)"
  },
  {
    fault: "large messages: a small piece of a large Struct is read at once",
    file: "packages/proto/src/internal/DecodeSteps.ts",
    line: "place.end - at > this.atOnce || this.#isLarge(target, field)",
    becomes: "place.end - at > this.atOnce",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "large messages: what a oneof was before is merged with what it is now",
    file: "packages/proto/src/internal/MessageProperties.ts",
    line: 'return isProperties(set) && set["case"] === localName ? set["value"] : undefined',
    becomes: 'return isProperties(set) ? set["value"] : undefined',
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "large messages: the value of a map comes under the key of an empty one",
    file: "packages/proto/src/internal/DecodeSteps.ts",
    line: "this.bytes.subarray(key.begin, key.end)",
    becomes: "new Uint8Array()",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "large messages: a list of small items is checked at once",
    file: "packages/proto/src/internal/DecodeSteps.ts",
    line: "if (isProperties(items)) this.large.add(items)",
    becomes: "",
    by: "packages/validate/test/rulesInSteps.test.ts"
  },
  {
    fault: "large messages: bytes are read in one step",
    file: "packages/proto/src/internal/DecodeSteps.ts",
    line: "place.end - from >= this.atOnce",
    becomes: "place.end - from >= 1e9",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "large messages: bytes are checked in one step",
    file: "packages/proto/src/internal/MessageWalk.ts",
    line: "if (this.#at - from < bytesAtOnce) continue",
    becomes: "if (this.#at - from < 1e9) continue",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "large messages: a fault is looked for in one step",
    file: "packages/proto/src/internal/WireFault.ts",
    line: "const before = merged ?? new Merged()\n    while (this.at < end) {\n      if (this.at >= this.pause) yield* this.rest()",
    becomes: "const before = merged ?? new Merged()\n    while (this.at < end) {",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "bytes: a Struct in pieces of what it is in takes the square of its size",
    file: "packages/proto/src/internal/JsonFields.ts",
    line: "isJson(field) || reaches(field.message)",
    becomes: "isJson(field)",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "large messages: fields are written in the order in which they are declared",
    file: "packages/proto/src/internal/Carrier.ts",
    line: "schema.fields.toSorted((one, other) => one.number - other.number)",
    becomes: "schema.fields",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "large messages: numbers are written one list for each step",
    file: "packages/proto/src/internal/EncodeSteps.ts",
    line: "field.packed ? this.packed(schema, field, value) :",
    becomes: "false ? this.packed(schema, field, value) :",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "large messages: a list is written in one step",
    file: "packages/proto/src/internal/EncodeSteps.ts",
    line: "isLarge || some.length === atOnce",
    becomes: "isLarge",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "large messages: objects are looked at in one step",
    file: "packages/proto/src/internal/ObjectWalk.ts",
    line: "if (objects >= this.looked + step.objects || content",
    becomes: "if (content",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "large messages: what is large is encoded at once",
    file: "packages/proto/src/internal/ObjectWalk.ts",
    line: "new Walk(small)",
    becomes: "new Walk()",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "rules: a large list is checked in one step",
    file: "packages/validate/src/internal/CollectionRules.ts",
    line: "if (index % atOnce === atOnce - 1) yield",
    becomes: "",
    by: "packages/validate/test/rulesInSteps.test.ts"
  },
  {
    fault: "rules: what is in a list in a large message is not checked",
    file: "packages/validate/src/internal/CollectionRules.ts",
    line: "yield* run(item, items[index], report, large)",
    becomes: "yield",
    by: "packages/validate/test/rulesInSteps.test.ts"
  },
  {
    fault: "store: large bytes are checked at once",
    file: "packages/server/src/internal/SourceContent.ts",
    line: "      if (given.byteLength >= MessageSteps.least) return undefined\n",
    becomes: "",
    by: "packages/server/test/largeResources.test.ts"
  },
  {
    fault: "store: the rules of a large resource are checked at once",
    file: "packages/server/src/Validator.ts",
    line: "if (large === undefined) return this.take",
    becomes: "if (large !== null) return this.take",
    by: "packages/server/test/largeResources.test.ts"
  },
  {
    fault: "group rules: a large resource is read at once",
    file: "packages/server/src/internal/GroupChecks.ts",
    line: "isLarge(resource) ? yield*",
    becomes: 'resource.name === "" ? yield*',
    by: "packages/server/test/largeResources.test.ts"
  },
  {
    fault: "client: a large resource that comes again unchanged is decoded again",
    file: "client/LargeResources.ts",
    line: "isHeld ? each : yield* Decoding",
    becomes: 'isHeld && each.typeUrl === "" ? each : yield* Decoding',
    by: "packages/client/test/largeResources.test.ts"
  },
  {
    fault: "client: the rules of a large resource are not checked",
    file: "packages/client/src/WatchableType.ts",
    line: "rules ? yield* Rules.checkInSteps(schema, decoded, { registry, maxFaults }) : undefined",
    becomes: "undefined",
    by: "packages/client/test/largeResources.test.ts"
  },
  {
    fault: "client: what comes while a large resource is decoded goes before it",
    file: "packages/client/src/internal/Driver.ts",
    line: "if (!this.take(input)) return",
    becomes: "this.take(input)",
    by: "packages/client/test/largeResources.test.ts"
  },
  {
    fault: "client: a large resource is decoded after the end of the client",
    file: "packages/client/src/internal/Driver.ts",
    line: "if (!this.closed && work()) this.goOn()",
    becomes: "if (work()) this.goOn()",
    by: "packages/client/test/largeResources.test.ts"
  },
  {
    fault: "client: a large resource is decoded at once",
    file: "packages/client/src/internal/Driver.ts",
    line: "const done = Slices.some(this.environment.loop, work)",
    becomes: "const done = Steps.toEnd(work)",
    by: "packages/client/test/largeResources.test.ts"
  },
  {
    fault: "SQLite by libsql: a transaction that could not begin keeps the connection at what it saw then",
    file: "packages/store-sql/src/SqliteDriver.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "handle.exec(sql)",
    becomes: "run(prepared(sql), [])"
  },
  {
    fault: "SQLite by libsql: a read that was held up keeps the connection at what it saw then",
    file: "packages/store-sql/src/SqliteDriver.ts",
    by: "packages/store-sql/test/sqlite.test.ts",
    line: "if (isBusy(cause)) busy.push(() => statement.all(params))",
    becomes: "if (isBusy(cause)) busy.push(() => undefined)"
  },
  {
    fault: "a store on SQL: a defect ends the loop that follows the database",
    file: "packages/store-sql/src/SqlStore.ts",
    by: "packages/store-sql/test/faults.test.ts",
    line: "Effect.matchEffect(orDefect(look), {",
    becomes: "Effect.matchEffect(look, {"
  },
  {
    fault: "a store on SQL: a write that meets a defect is never answered",
    file: "packages/store-sql/src/internal/Writer.ts",
    by: "packages/store-sql/test/faults.test.ts",
    line: "Effect.either(orDefect(Effect.uninterruptible(this.alone(this.attempt(taken)))))",
    becomes: "Effect.either(Effect.uninterruptible(this.alone(this.attempt(taken))))"
  },
  {
    fault: "a store on SQL: a group is read in the middle of a compaction",
    file: "packages/store-sql/src/SqlStore.ts",
    by: "packages/store-sql/test/faults.test.ts",
    line: '(work) => Transaction.run(database, "read", work),',
    becomes: "(work) => Transaction.within(database, 30_000, work),"
  },
  {
    fault: "a store on SQL: a log that is compacted while it is read is called damaged",
    file: "packages/store-sql/src/internal/Log.ts",
    by: "packages/store-sql/test/faults.test.ts",
    line: 'if (rows.length === 0) return yield* Effect.fail(new Trouble({ kind: "Away", detail: gone }))',
    becomes: "if (rows.length < 0) return"
  },
  {
    fault: "rules on bytes: a field that must be there is not looked for",
    file: "packages/validate/src/internal/EncodedRules.ts",
    by: "packages/validate/test/encodedRules.test.ts",
    line: "return needed === 0\n",
    becomes: "return true\n"
  },
  {
    fault: "rules on bytes: pieces of one message are looked at one by one",
    file: "packages/validate/src/internal/EncodedRules.ts",
    by: "packages/validate/test/encodedRules.test.ts",
    line: "if (number <= last) return false",
    becomes: "if (number < 0) return false"
  },
  {
    fault: "rules on bytes: a list may be of any length",
    file: "packages/validate/src/internal/EncodedRules.ts",
    by: "packages/validate/test/encodedRules.test.ts",
    line: "return count >= least && count <= most",
    becomes: "return count > 0"
  },
  {
    fault: "rules on bytes: an Any without a value passes",
    file: "packages/validate/src/internal/EncodedRules.ts",
    by: "packages/validate/test/encodedRules.test.ts",
    line: "return type === undefined || this.#content(type, end, depth)",
    becomes: "return true"
  },
  {
    fault: "parts: a response that is seen to be too large is not divided",
    file: "server/ResponseParts.ts",
    line: "if (bytes > maxBytes) return false",
    becomes: "if (bytes > maxBytes) return true"
  },
  {
    fault: "server: spans are made that nobody reads",
    file: "packages/server/src/internal/StreamSpan.ts",
    by: "packages/server/test/StreamSpan.test.ts",
    line: "if (tracer === unread) return () => undefined",
    becomes: ""
  },
  {
    fault: "routing: a fetched virtual host takes a domain of the route configuration",
    file: "packages/routing/src/internal/FetchedHost.ts",
    by: "packages/routing/test/virtualHosts.test.ts",
    line: "if (taken === undefined) return known",
    becomes: "if (taken !== null) return known"
  },
  {
    fault: "routing: a virtual host that is rejected takes the one before away",
    file: "packages/routing/src/internal/FetchedHost.ts",
    by: "packages/routing/test/virtualHosts.test.ts",
    line: 'if (before?._tag === "Value") return before\n',
    becomes: ""
  },
  {
    fault: "routing: virtual hosts of another source are not asked for",
    file: "packages/routing/src/XdsConfig.ts",
    by: "packages/routing/test/virtualHosts.test.ts",
    line: "if (isOther) for (const host of resources.VirtualHost.keys()) refreshed.push(host)",
    becomes: ""
  },
  {
    fault: "VHDS client: a claim that ends takes the others of its owner along",
    file: "client/Ownership.ts",
    by: "packages/client/test/virtualHosts.test.ts",
    line: "? HashMap.remove(self.claims, claim)",
    becomes: "? HashMap.filter(self.claims, (each) => each.owner !== owner)"
  },
  {
    fault: "calls: the domains of a route configuration are not its own in the client",
    file: "packages/connect-xds/src/internal/Resources.ts",
    by: "packages/connect-xds/test/virtualHosts.test.ts",
    line: "const owned = domains.map((domain) => VirtualHostDiscovery.nameOf(name, domain.toLowerCase()))",
    becomes:
      "const owned = domains.slice(0, 0).map((domain) => VirtualHostDiscovery.nameOf(name, domain.toLowerCase()))"
  },
  {
    fault: "calls: a virtual host that is to be asked for again is not",
    file: "packages/connect-xds/src/internal/Resources.ts",
    by: "packages/connect-xds/test/virtualHosts.test.ts",
    line: 'kind === "VirtualHost" ? Effect.ignore(client.refresh(virtualHosts, [name])) : Effect.void',
    becomes: 'kind !== "VirtualHost" ? Effect.ignore(client.refresh(virtualHosts, [name])) : Effect.void'
  },
  {
    fault: "VHDS server: few hosts are looked at for one that nobody subscribes to",
    file: "packages/server/src/OnDemandHosts.ts",
    by: "packages/server/test/onDemandHosts.test.ts",
    line: "const longestLook = 16_384",
    becomes: "const longestLook = 256"
  },
  {
    fault: "SRDS client: requests before the scopes have come are of no scope",
    file: "client/ScopedRoutes.ts",
    by: "client/scopedRoutes.test.ts",
    line: "if (this.isAnswered) return this.route(request, waiter)",
    becomes: "return this.route(request, waiter)"
  },
  {
    fault: "SRDS client: on demand is at once",
    file: "client/ScopedRoutes.ts",
    by: "client/scopedRoutes.test.ts",
    line: "eager: eager + (scope.onDemand ? 0 : 1)",
    becomes: "eager: eager + 1"
  },
  {
    fault: "SRDS client: a key that moved is taken away with the scope that had it",
    file: "client/ScopedRoutes.ts",
    by: "client/scopedRoutes.test.ts",
    line: "if (this.nameOf(scope.key) === name) this.names",
    becomes: "this.names"
  },
  {
    fault: "SRDS client: a table that a request was withdrawn from answers it",
    file: "client/ScopedRoutes.ts",
    by: "client/scopedRoutes.test.ts",
    line: "if (this.waiter(request)?.table === table) this.answer",
    becomes: "if (this.waiter(request) !== undefined) this.answer"
  },
  {
    fault: "SRDS client: waiting requests stay in the table of their scope when it has another",
    file: "client/ScopedRoutes.ts",
    by: "client/scopedRoutes.test.ts",
    line: "if (id !== undefined && id === waiter.table) continue",
    becomes: "if (waiter.table !== undefined) continue"
  },
  {
    fault: "SRDS client: a table is left open when its last scope goes",
    file: "client/ScopedRoutes.ts",
    by: "client/scopedRoutes.test.ts",
    line: "if (table === undefined || table.scopes > 0) continue",
    becomes: "if (table === undefined || table.isOpen) continue"
  },
  {
    fault: "SRDS client: each part has a deadline of its own",
    file: "client/ScopedRoutes.ts",
    by: "client/scopedRoutes.test.ts",
    line: "host: waiter.host, until: waiter.until",
    becomes: "host: waiter.host, until: this.now + this.self.options.timeout"
  },
  {
    fault: "SRDS client: two scopes may have one key",
    file: "client/ResourceDecoder.ts",
    by: "client/traces.test.ts",
    line: "ResourceType.ScopedRouteConfiguration) ? ScopeKey.keysOf : undefined",
    becomes: "ResourceType.ScopedRouteConfiguration) ? undefined : undefined"
  },
  {
    fault: "SRDS client: an element without a separator is none",
    file: "resource/ScopeKey.ts",
    by: "ScopeKey.test.ts",
    line: "if ((at < 0 ? element : element.slice(0, at)) === extract.key)",
    becomes: "if (at >= 0 && element.slice(0, at) === extract.key)"
  },
  {
    fault: "SRDS client: a response of scopes that brings none is not heard",
    file: "packages/client/src/internal/Driver.ts",
    by: "packages/client/test/scopedRoutes.test.ts",
    line: "for (const each of this.onAnswers.values()) if (each.typeUrl === typeUrl) each.onAnswer()",
    becomes: ""
  },
  {
    fault: "SRDS client: the scopes of one response are passed on one by one",
    file: "packages/client/src/internal/ScopeDriver.ts",
    by: "packages/client/test/scopedRoutes.test.ts",
    line: "this.changes.set(name, scope)",
    becomes: 'this.run({ _tag: "Scopes", changes: [[name, scope]] })'
  },
  {
    fault: "server: what is not indexed yet is subscribed to by nobody",
    file: "server/InterestIndex.ts",
    by: "InterestIndex.test.ts",
    line: "for (const item of this.#unfinished.keys()) if (this.#names(item, typeUrl, name)) return true",
    becomes: ""
  },
  {
    fault: "server: what is unsubscribed and not indexed yet is subscribed to",
    file: "server/InterestIndex.ts",
    by: "InterestIndex.test.ts",
    line: "if (!this.#unfinished.has(item) || this.#names(item, typeUrl, name)) return true",
    becomes: "if (item !== undefined) return true"
  },
  {
    fault: "server: one more name beside ten thousand visits them all",
    file: "server/InterestIndex.ts",
    by: "InterestIndex.test.ts",
    line: "return difference === sizeOf(to) - sizeOf(from) ? names : undefined",
    becomes: "return difference > 0 ? undefined : undefined"
  },
  {
    fault: "server: a request that lists not all that it changes is taken for all",
    file: "server/InterestIndex.ts",
    by: "InterestIndex.test.ts",
    line: "return difference === sizeOf(to) - sizeOf(from) ? names : undefined",
    becomes: "return difference > Number.NEGATIVE_INFINITY ? names : undefined"
  },
  {
    fault: "server: names that are unsubscribed stay in the index",
    file: "server/InterestIndex.ts",
    by: "InterestIndex.test.ts",
    line: "const names = Array.from(new Set([...listed, ...dropped]))",
    becomes: "const names = Array.from(new Set(listed))"
  },
  {
    fault: "reconnect: what a returning client holds is all compared again after each change",
    file: "packages/transport-connect/src/server/InternedVersions.ts",
    by: "packages/transport-connect/test/VersionInterner.test.ts",
    line: "difference.touched.size * follows <= size",
    becomes: "difference.touched.size * follows < 0"
  },
  {
    fault: "reconnect: a resource that changed since an earlier comparison counts as held",
    file: "packages/transport-connect/src/server/InternedVersions.ts",
    by: "packages/transport-connect/test/VersionInterner.test.ts",
    line: "touched.has(resource.name) ? held.has(resource.name) : comparison.isHeld(resource)",
    becomes: "held.has(resource.name) || comparison.isHeld(resource)"
  },
  {
    fault: "reconnect: a resource that was removed since an earlier comparison is not to be removed at the client",
    file: "packages/transport-connect/src/server/InternedVersions.ts",
    by: "packages/transport-connect/test/VersionInterner.test.ts",
    line: "if (quoted !== undefined && quoted !== version) others.set(name, quoted)",
    becomes: ""
  },
  {
    fault: "reconnect: what changed and changed back is sent again",
    file: "packages/transport-connect/src/server/InternedVersions.ts",
    by: "packages/transport-connect/test/VersionInterner.test.ts",
    line: "(quoted === version || others.get(name) === version)",
    becomes: "quoted === version"
  },
  {
    fault: "reconnect: a comparison follows from that of another client",
    file: "packages/transport-connect/src/server/InternedVersions.ts",
    by: "packages/transport-connect/test/VersionInterner.test.ts",
    line: "this.#roots.find((each) => each.numbers.equals(numbers))",
    becomes: "this.#roots[0]"
  },
  {
    fault: "a piece of an earlier response is taken though a resource in it has changed",
    file: "wire/ResponsePieces.ts",
    by: "ResponsePieces.test.ts",
    line: "if (piece.resources[index] !== resources[at + index]) return false",
    becomes: "if (piece.resources[index]?.name !== resources[at + index]?.name) return false"
  },
  {
    fault: "pieces of earlier responses have the aliases that one client requested",
    file: "wire/Response.ts",
    by: "ResponsePieces.test.ts",
    line: "const isForAll = response.aliases.size === 0",
    becomes: "const isForAll = response.aliases.size >= 0"
  },
  {
    fault: "pieces of earlier responses are taken with TTLs or without",
    file: "wire/Response.ts",
    by: "ResponsePieces.test.ts",
    line: "`${protocol} ${String(ttl)} ${typeUrl}`",
    becomes: '`${protocol} ${typeUrl}${ttl ? "" : ""}`'
  },
  {
    fault: "the resources of a response are all encoded again after each change",
    file: "wire/ResponsePieces.ts",
    by: "ResponsePieces.test.ts",
    line: "if (byFirst.size === 0)",
    becomes: "if (byFirst.size >= 0)"
  },
  {
    fault: "a part of a response has the resources of those before it, too",
    file: "server/ResponseParts.ts",
    line: "from = at\n",
    becomes: "from = 0\n"
  },
  {
    fault: "a list of all resources goes on with what was there before",
    file: "resource/Computed.ts",
    by: "packages/core/test/Computed.test.ts",
    line: "list[place] = now",
    becomes: "list[place] = resource"
  },
  {
    fault: "a list of all resources goes on without a name that has come",
    file: "resource/Computed.ts",
    by: "packages/core/test/Computed.test.ts",
    line: "if (resource === undefined) return undefined",
    becomes: "if (resource === undefined) continue"
  },
  {
    fault: "a list of all resources goes on with changes that are not of the one before it",
    file: "resource/Computed.ts",
    by: "packages/core/test/Computed.test.ts",
    line: "changes: [...earlier.changes, before]",
    becomes: "changes: [before]"
  },
  {
    fault: "a pause of the process longer than the timeout of a ping ends every connection",
    file: "packages/transport-connect/src/grpc/Keepalive.ts",
    by: "packages/transport-connect/test/Keepalive.test.ts",
    line: "const parts = 10",
    becomes: "const parts = 1"
  },
  {
    fault: "a peer that sends, and whose answers to pings are late, is given up",
    file: "packages/transport-connect/src/grpc/Keepalive.ts",
    by: "packages/transport-connect/test/Keepalive.test.ts",
    line: "session.destroyed || (socket ?? session.socket).bytesRead !== read",
    becomes: "session.destroyed"
  },
  {
    fault: "a ping that is not sent counts as answered",
    file: "packages/transport-connect/src/grpc/Keepalive.ts",
    by: "packages/transport-connect/test/Keepalive.test.ts",
    line: "if (error === null) onAnswer()",
    becomes: "if (error !== undefined) onAnswer()"
  },
  {
    fault: "a deadline that passed while the process was paused is due before what came meanwhile is read",
    file: "packages/transport-node/src/Alarm.ts",
    by: "packages/transport-node/test/Alarm.test.ts",
    line: "now() > end + pause ? Effect.sleep(grace) : Effect.void",
    becomes: "now() < end ? Effect.sleep(grace) : Effect.void"
  },
  {
    fault: "calls: the end of a lost stream counts as an answer",
    file: "packages/connect-xds/src/internal/UnaryExchange.ts",
    by: "packages/connect-xds/test/unary.test.ts",
    line: "if (!this.hasHeaders || StreamErrors.isReset(stream)) return",
    becomes: "if (this.isOver) return"
  },
  {
    fault: "calls: a second message of a unary answer is taken",
    file: "packages/connect-xds/src/internal/UnaryExchange.ts",
    by: "packages/connect-xds/test/unary.test.ts",
    line: "if (this.size > this.promised) {",
    becomes: "if (this.size > this.promised + 1_000) {"
  },
  {
    fault: "calls: a message larger than the limit is read",
    file: "packages/connect-xds/src/internal/UnaryExchange.ts",
    by: "packages/connect-xds/test/unary.test.ts",
    line: "if (length > readMaxBytes) {",
    becomes: "if (length > readMaxBytes + 1_000) {"
  },
  {
    fault: "calls: an error behind a message is not seen",
    file: "packages/connect-xds/src/internal/UnaryExchange.ts",
    by: "packages/connect-xds/test/unary.test.ts",
    line: "const isPlain = bytes[0] === 0 && this.isUsual && isSuccess(this.trailers)",
    becomes: "const isPlain = bytes[0] === 0 && this.isUsual"
  },
  {
    fault: "calls: a status of HTTP is not seen",
    file: "packages/connect-xds/src/internal/UnaryExchange.ts",
    by: "packages/connect-xds/test/unary.test.ts",
    line: 'headers[":status"] === 200 &&',
    becomes: 'headers[":status"] !== undefined &&'
  },
  {
    fault: "calls: a unary call that is given up keeps its stream",
    file: "packages/connect-xds/src/internal/UnaryExchange.ts",
    by: "packages/connect-xds/test/unary.test.ts",
    line: "call.onGivenUp = (error) => exchange.fail(error)",
    becomes: "call.onGivenUp = () => undefined"
  },
  {
    fault: "calls: a request larger than the limit is sent",
    file: "packages/connect-xds/src/internal/GrpcUnary.ts",
    by: "packages/connect-xds/test/unary.test.ts",
    line: "if (data.byteLength > writeMaxBytes) {",
    becomes: "if (data.byteLength > writeMaxBytes + 1_000) {"
  },
  {
    fault: "calls: headers of a caller are left out",
    file: "packages/connect-xds/src/internal/GrpcUnary.ts",
    by: "packages/connect-xds/test/unary.test.ts",
    line: "const fields = header === plain ? Fields.copy(plainFields) : Fields.fromHeaders(header)",
    becomes: "const fields = { ...plainFields }"
  },
  {
    fault: "hosts on demand: one that a client subscribes to while it is given up is gone for a second",
    file: "packages/server/src/OnDemandHosts.ts",
    by: "packages/server/test/onDemandHosts.test.ts",
    line: "restore(again(old[1]))",
    becomes: "Effect.succeed(again)"
  },
  {
    fault: "hosts on demand: one whose change outlives its call does not count",
    file: "packages/server/src/OnDemandHosts.ts",
    by: "packages/server/test/onDemandHosts.test.ts",
    line: "return change.pipe(",
    becomes: "return restore(change).pipe("
  },
  {
    fault: "hosts on demand: one that is being given up is added before that",
    file: "packages/server/src/OnDemandHosts.ts",
    by: "packages/client/test/virtualHosts.simulation.test.ts",
    line: "if (before !== undefined) return restore(Effect.zipRight(before.await, add(group, routes, virtualHost)))",
    becomes: ""
  },
  {
    fault: "hosts on demand: what is taken out of a server's store stays with its count",
    file: "packages/server/src/OnDemandHosts.ts",
    by: "packages/client/test/virtualHosts.simulation.test.ts",
    line: "if (old !== undefined) made.delete(old[0])",
    becomes: ""
  },
  {
    fault: "scoped routes: each change of a response is a change of its own",
    file: "packages/client/src/internal/ScopeDriver.ts",
    by: "packages/client/test/virtualHosts.simulation.test.ts",
    line: "this.changes.set(name, scope)",
    becomes: "this.changes.set(name, scope); this.flush()"
  },
  {
    fault: "scoped routes: a table that is shut keeps its watch of the route configuration",
    file: "packages/client/src/internal/ScopeDriver.ts",
    by: "packages/client/test/virtualHosts.simulation.test.ts",
    line: "if (table?.watcher !== undefined) this.driver.unwatch(table.watcher)",
    becomes: ""
  },
  {
    fault: "VHDS: a returning client is told to delete a virtual host while a host of its domains may be made",
    file: "server/StreamRequest.ts",
    by: "traces.test.ts",
    line: "after = yield* OnDemandNames.waitQuoted(OnDemandNames.wait(after, missing, until), self, until)",
    becomes: "after = OnDemandNames.wait(after, missing, until)"
  },
  {
    fault: "VHDS: what a returning client only quotes waits longer than what it asks for",
    file: "server/OnDemandNames.ts",
    by: "traces.test.ts",
    line: "const left = HashMap.some(asked, (_, name) => Subscriptions.hasName(known, name)) ? asked : Subscriptions.noneOnDemand",
    becomes: "const left = asked"
  },
  {
    fault: "rules over a group: what is broken is listed in another order after a change",
    file: "packages/validate/src/internal/group/FirstInOrder.ts",
    by: "packages/validate/test/FirstInOrder.test.ts",
    line: "if (place === first.length && !this.#isAll) return",
    becomes: ""
  },
  {
    fault: "rules over a group: all that is broken is sorted after each change",
    file: "packages/validate/src/internal/group/FirstInOrder.ts",
    by: "packages/validate/test/FirstInOrder.test.ts",
    line: "if (!this.#isAll && this.#first.length < most) {",
    becomes: "if (!this.#isAll) {"
  },
  {
    fault: "messages written at once: fields are written in the order in which the file has them",
    file: "packages/proto/src/internal/MessageWriter.ts",
    line: "fields: schema.fields.toSorted((left, right) => left.number - right.number).map(fieldPlan)",
    becomes: "fields: schema.fields.map(fieldPlan)",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "messages written at once: -0 is not written",
    file: "packages/proto/src/internal/MessageWriter.ts",
    line: "if (Object.is(value, 0)) return",
    becomes: "if (value === 0) return",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "messages written at once: unknown fields are lost",
    file: "packages/proto/src/internal/MessageWriter.ts",
    line: 'if (message["$unknown"] !== undefined) throw unsure',
    becomes: "",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "messages written at once: one disturbs another that is not finished",
    file: "packages/proto/src/internal/MessageWriter.ts",
    line: "free = undefined",
    becomes: "",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "messages written at once: a number is written with fewer bits",
    file: "packages/proto/src/internal/MessageWriter.ts",
    line: "if ((isSigned ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) !== value) throw unsure",
    becomes: "",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "messages written at once: as many messages as there are",
    file: "packages/proto/src/internal/MessageWriter.ts",
    line: "if (depth > deepest || ++this.#messages > maxMessages) throw unsure",
    becomes: "if (depth > deepest) throw unsure",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "messages written at once: a message of another type is written",
    file: "packages/proto/src/internal/MessageWriter.ts",
    line: 'if (!isProperties(message) || message["$typeName"] !== plan.typeName) throw unsure',
    becomes: "if (!isProperties(message)) throw unsure",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "messages written at once: a oneof that says nothing known is skipped",
    file: "packages/proto/src/internal/MessageWriter.ts",
    line: "if (field.cases !== undefined && !isCase(value, field.cases)) throw unsure",
    becomes: "",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "bytes: a negative number has five of them",
    file: "packages/proto/src/ByteWriter.ts",
    line: "if (value < 0) this.long(BigInt(value))",
    becomes: "if (value < 0) this.number(value >>> 0)",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "messages written at once: a list of any length",
    file: "packages/proto/src/internal/MessageWriter.ts",
    line: "  #value(field: FieldPlan, value: unknown, depth: number): void {\n    if (this.#out.at > maxBytes) throw unsure",
    becomes: "  #value(field: FieldPlan, value: unknown, depth: number): void {",
    by: "packages/proto/test/MessageWriter.test.ts"
  },
  {
    fault: "messages read at once: a message that comes again replaces the one before",
    file: "packages/proto/src/internal/MessageReader.ts",
    line: "if (field.isMerged && message[field.property] !== undefined) throw unsure",
    becomes: "",
    by: "packages/proto/test/MessageReader.test.ts"
  },
  {
    fault: "messages read at once: a message of a oneof that comes again replaces the one before",
    file: "packages/proto/src/internal/MessageReader.ts",
    line: "if (field.isMerged && isSet(before, field.name)) throw unsure",
    becomes: "",
    by: "packages/proto/test/MessageReader.test.ts"
  },
  {
    fault: "messages read at once: what JSON does not have is null",
    file: "packages/proto/src/internal/EmptyMessage.ts",
    line: "properties.filter((property) => !isInJson(property))",
    becomes: "[]",
    by: "packages/proto/test/MessageReader.test.ts"
  },
  {
    fault: "messages read at once: of many fields they are tables",
    file: "packages/proto/src/internal/EmptyMessage.ts",
    line: "const few = 12",
    becomes: "const few = 1_000",
    by: "packages/proto/test/MessageReader.test.ts"
  },
  {
    fault: "messages read at once: a byte order mark is no part of a text",
    file: "packages/proto/src/internal/MessageReader.ts",
    line: ", { ignoreBOM: true }",
    becomes: "",
    by: "packages/proto/test/MessageReader.test.ts"
  },
  {
    fault: "messages read at once: numbers of 64 bits have 49",
    file: "packages/proto/src/internal/MessageReader.ts",
    line: "    this.#at = begin\n    let long = 0n",
    becomes: "    return value\n    let long = 0n",
    by: "packages/proto/test/MessageReader.test.ts"
  },
  {
    fault: "messages read at once: what is behind the value of an entry is skipped",
    file: "packages/proto/src/internal/MessageReader.ts",
    line: "if (this.#at !== end || !isRecord(record)) throw unsure",
    becomes: "if (!isRecord(record)) throw unsure\n    this.#at = end",
    by: "packages/proto/test/MessageReader.test.ts"
  },
  {
    fault: "messages read at once: a value of JSON may say two things",
    file: "packages/proto/src/internal/MessageReader.ts",
    line: "    // One that says two things.\n    if (this.#at !== end) throw unsure",
    becomes: "    this.#at = end",
    by: "packages/proto/test/MessageReader.test.ts"
  },
  {
    fault: "messages read at once: defaults of proto2 are lost",
    file: "packages/proto/src/internal/MessageReader.ts",
    line: "const plan = isPlain(schema) ? makePlan(schema) : undefined",
    becomes: "const plan = makePlan(schema)",
    by: "packages/proto/test/MessageReader.test.ts"
  },
  {
    fault: "rules over a group: what is broken keeps the place that it came from first",
    file: "packages/server/src/internal/GroupChecks.ts",
    line: "if (known !== undefined && known.place === place) return known",
    becomes: "if (known !== undefined) return known",
    by: "packages/server/test/groupRules.test.ts"
  },
  {
    fault: "JSON and YAML: names of enum values in another case are refused",
    file: "packages/transport-filesystem/src/internal/EnvoyJson.ts",
    line: "const name = json.toUpperCase()",
    becomes: "const name = json",
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "messages read without Structs: what comes after one is read as if it were in it",
    file: "packages/proto/src/internal/MessageReader.ts",
    line: "    this.#at = end\n    return {}",
    becomes: "    return {}",
    by: "packages/proto/test/MessageReader.test.ts"
  },
  {
    fault: "IP addresses: a number may begin with a zero",
    file: "packages/validate/src/internal/InternetText.ts",
    line: "if (digit < 0 || digit > 9 || (digits > 0 && value === 0)) return -1",
    becomes: "if (digit < 0 || digit > 9) return -1",
    by: "packages/validate/test/InternetText.test.ts"
  },
  {
    fault: "IP addresses: there may be five numbers",
    file: "packages/validate/src/internal/InternetText.ts",
    line: "return dots === 3 && digits > 0",
    becomes: "return dots >= 3 && digits > 0",
    by: "packages/validate/test/InternetText.test.ts"
  },
  {
    fault: "rules over a group: the way to an endpoint begins at the one before",
    file: "packages/validate/src/internal/group/Endpoints.ts",
    line: "      site.path.length = depth\n",
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "rules over a group: what was told is told again with the places of before",
    file: "packages/server/src/internal/GroupChecks.ts",
    line: "if (state.told?.placed === placed && areSame(state.told.faults, faults)) return state.told.broken",
    becomes: "if (state.told !== undefined && areSame(state.told.faults, faults)) return state.told.broken",
    by: "packages/server/test/groupRules.test.ts"
  },
  {
    fault: "rules over a group: what was told is told again though something else is broken",
    file: "packages/server/src/internal/GroupChecks.ts",
    line: "  one.faults.every((fault, index) => fault === other.faults[index])",
    becomes: "  one.faults.every((fault, index) => other.faults[index] !== undefined)",
    by: "packages/server/test/groupRules.test.ts"
  },
  {
    fault: "client: a member of a collection that was rejected is forgotten, and its removal is told to nobody",
    file: "client/CachedType.ts",
    line: '(entry.status === "Nacked" ? collectionOf(this.type, name) !== undefined : isBrought(this.type, name))',
    becomes: 'entry.status !== "Nacked" && isBrought(this.type, name)',
    by: "packages/testing/test/sim.test.ts"
  },
  {
    fault: "client: a collection that is not answered yet cannot be had, though a member is in use",
    file: "client/ClientCache.ts",
    line: "used.has(name) || ",
    becomes: "",
    by: "packages/testing/test/sim.test.ts"
  },
  {
    fault: "collections: members are no answer to the collection when it is asked for again",
    file: "server/Collections.ts",
    line: "if (requested.has(glob)) asked.push(name)",
    becomes: "",
    by: "packages/testing/test/sim.test.ts"
  },
  {
    fault: "client: the watchers of a collection do not hear that the member that a watcher of its own kept is gone",
    file: "client/CacheWatch.ts",
    line: "    for (const glob of changes.globsOf([name])) changes.lessened(glob, entry.failure.at)\n",
    becomes: ""
  },
  {
    fault: "client: an error NOT_FOUND of the last member does not empty its collection",
    file: "client/CacheUpdate.ts",
    line: "this.#note(error.code === NOT_FOUND ? this.gone : this.refused, name)",
    becomes: "this.#note(this.refused, name)"
  },
  {
    fault: "client: an error of the only member does not end the timer of its collection",
    file: "client/CacheUpdate.ts",
    line: "this.#note(error.code === NOT_FOUND ? this.gone : this.refused, name)",
    becomes: "if (error.code === NOT_FOUND) this.#note(this.gone, name)"
  },
  {
    fault: "client: silence of the server means that a collection with members is missing",
    file: "client/ClientCache.ts",
    line: "if (Collection.isGlob(name) && changes.hadMembers(name)) {",
    becomes: 'if (name === "") {'
  },
  {
    fault: "client: a collection that was missing while a member was kept is never told so",
    file: "client/CachedType.ts",
    line: "      this.tell(glob, entry, resultOf(entry, failure.error))\n",
    becomes: "      void resultOf\n"
  },
  {
    fault: "name table: what a draft of a table changes is changed in the table, too",
    file: "server/NameTable.ts",
    by: "packages/core/test/NameTable.test.ts",
    line: "const copy = new Map(this.#from.few)",
    becomes: "const copy = this.#from.few"
  },
  {
    fault: "name table: values that were noted beside a shared map are lost when it is copied",
    file: "server/NameTable.ts",
    by: "packages/core/test/NameTable.test.ts",
    line: "for (const [name, value] of this.#recent ?? this.#from.recent ?? noEntries) copy.set(name, value)",
    becomes: "void noEntries"
  },
  {
    fault: "name table: values are noted beside a shared map without end",
    file: "server/NameTable.ts",
    by: "packages/core/test/NameTable.test.ts",
    line: "if (few.size <= mostRecent || (!isNoted && noted !== undefined && noted.size >= mostRecent)) return false",
    becomes: "void mostRecent"
  },
  {
    fault: "name table: values that two tables noted are one and the same",
    file: "server/NameTable.ts",
    by: "packages/core/test/NameTable.test.ts",
    line: "return (this.#recent = new Map(this.#from.recent))",
    becomes: "return (this.#recent = this.#from.recent ?? new Map())"
  },
  {
    fault: "name table: with many names those that were there are lost",
    file: "server/NameTable.ts",
    by: "packages/core/test/NameTable.test.ts",
    line: "for (const [name, value] of few) many.set(name, value)",
    becomes: "void [few, many]"
  },
  {
    fault: "a set of more resources than are looked up has a map of them",
    file: "resource/Computed.ts",
    by: "packages/core/test/Computed.test.ts",
    line: "if (this.#byName !== undefined || ++this.#lookUps < resources.size) return this.#byName",
    becomes: "if (this.#byName !== undefined) return this.#byName"
  },
  {
    fault: "a set of any size has a map of its resources",
    file: "resource/Computed.ts",
    by: "packages/core/test/Computed.test.ts",
    line: "if (resources.size > mostMapped) return undefined",
    becomes: "void mostMapped"
  },
  {
    fault: "plain assignments: what is no IP address is plain",
    file: "packages/validate/src/internal/group/PlainAssignment.ts",
    by: "packages/validate/test/PlainAssignment.test.ts",
    line: "  if (!InternetText.isIp(text)) throw notPlain\n",
    becomes: ""
  },
  {
    fault: "plain assignments: an endpoint that is there twice is plain",
    file: "packages/validate/src/internal/group/PlainAssignment.ts",
    by: "packages/validate/test/PlainAssignment.test.ts",
    line: "if (this.#hosts.add(host).size === size) throw notPlain",
    becomes: "if (size === 0) this.#hosts.add(host)"
  },
  {
    fault: "plain assignments: a locality that is there twice is plain",
    file: "packages/validate/src/internal/group/PlainAssignment.ts",
    by: "packages/validate/test/PlainAssignment.test.ts",
    line: "if (all[at] === priority && this.#isSame(all[at + 1] ?? 0, all[at + 2] ?? 0, begin, end)) throw notPlain",
    becomes: "if (this.#isSame(0, 0, 1, 0)) throw notPlain"
  },
  {
    fault: "plain assignments: a priority may be missing",
    file: "packages/validate/src/internal/group/PlainAssignment.ts",
    by: "packages/validate/test/PlainAssignment.test.ts",
    line: "return seen.isComplete",
    becomes: "return seen.isComplete || true"
  },
  {
    fault: "plain assignments: numbers have more than 32 bits",
    file: "packages/validate/src/internal/group/PlainAssignment.ts",
    by: "packages/validate/test/PlainAssignment.test.ts",
    line: "if (byte < 128 && value < 2 ** 32) return value",
    becomes: "if (byte < 128) return value"
  },
  {
    fault: "plain clusters: one of any type is plain",
    file: "packages/validate/src/internal/group/PlainCluster.ts",
    by: "packages/validate/test/PlainCluster.test.ts",
    line: "return field.value === eds",
    becomes: "return true"
  },
  {
    fault: "plain clusters: a policy that rules are about is plain",
    file: "packages/validate/src/internal/group/PlainCluster.ts",
    by: "packages/validate/test/PlainCluster.test.ts",
    line: "return !ruledPolicies.includes(field.value)",
    becomes: "return true"
  },
  {
    fault: "plain clusters: endpoints come from anywhere",
    file: "packages/validate/src/internal/group/PlainCluster.ts",
    by: "packages/validate/test/PlainCluster.test.ts",
    line: "return isPlain && saysIt",
    becomes: "return isPlain"
  },
  {
    fault: "plain clusters: a duration may be too long",
    file: "packages/validate/src/internal/group/PlainCluster.ts",
    by: "packages/validate/test/PlainCluster.test.ts",
    line: "return value !== undefined && (part.number === 1 || value <= maxNanos)",
    becomes: "return value !== undefined"
  },
  {
    fault: "plain clusters: circuit breakers are not looked into",
    file: "packages/validate/src/internal/group/PlainCluster.ts",
    by: "packages/validate/test/PlainCluster.test.ts",
    line: "return areBreakersPlain(field)",
    becomes: "return true"
  },
  {
    fault: "plain clusters: metadata may be typed",
    file: "packages/validate/src/internal/group/PlainCluster.ts",
    by: "packages/validate/test/PlainCluster.test.ts",
    line: "return field.every(isStructs)",
    becomes: "return true"
  },
  {
    fault: "plain clusters: a configuration of endpoints that comes again is the last one",
    file: "packages/validate/src/internal/group/PlainCluster.ts",
    by: "packages/validate/test/PlainCluster.test.ts",
    line: "return names.service === undefined && (names.service = serviceOf(field, probable)) !== undefined",
    becomes: "return (names.service = serviceOf(field, probable)) !== undefined"
  },
  {
    fault: "plain clusters: the name is the one that it probably has",
    file: "packages/validate/src/internal/group/PlainCluster.ts",
    by: "packages/validate/test/PlainCluster.test.ts",
    line: "return (names.name = field.text(probable)) !== undefined",
    becomes: "return (names.name = probable) !== undefined"
  },
  {
    fault: "index: who says the same again is asked again",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "if (!ResourceFacts.isSame(known, facts))\n      return",
    becomes: "return"
  },
  {
    fault: "index: other references are the same",
    file: "packages/validate/src/internal/group/Facts.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "isSameList(one.references, other.references, isSameReference) &&",
    becomes: ""
  },
  {
    fault: "index: other faults are the same",
    file: "packages/validate/src/internal/group/Facts.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "isSameList(one.faults, other.faults, isSameFound)",
    becomes: "true"
  },
  {
    fault: "group checks: a resource that has no place any more keeps it",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "if (places.size > 0 || this.#placed > 0) this.#placed++",
    becomes: "if (places.size > 0) this.#placed++"
  },
  {
    fault: "a scan knows numbers of 2^31 and more",
    file: "packages/proto/src/FieldScan.ts",
    by: "packages/proto/test/FieldScan.test.ts",
    line: "return value < 2 ** 31 ? value : this.#unsure()",
    becomes: "return value"
  },
  {
    fault: "a small set forgets one when it grows",
    file: "server/SmallSet.ts",
    by: "packages/core/test/SmallSet.test.ts",
    line: "this.#many = new Set(this.#few)\n      this.#many.add(item)",
    becomes: "this.#many = new Set(this.#few)"
  },
  {
    fault: "a small set visits who has left",
    file: "server/SmallSet.ts",
    by: "packages/core/test/SmallSet.test.ts",
    line: "if (this.has(item)) visit(item)",
    becomes: "visit(item)"
  },
  {
    fault: "incremental: a resource that several names lead to is included for each",
    file: "server/IncrementalAnswers.ts",
    line: "included: ResourceSet.hasOtherNames(set) ? Array.from(new Set(included)) : included",
    becomes: "included"
  },
  {
    fault: "incremental: a first answer to all names is held by the resources' names, whatever was asked for",
    file: "server/IncrementalAnswers.ts",
    line: "included.length === names.size && !ResourceSet.hasOtherNames(set)",
    becomes: "included.length === names.size"
  },
  {
    fault: "incremental: a first answer to some names is held as one to all",
    file: "server/IncrementalAnswers.ts",
    line: "requested.table === names && included.length === names.size && !ResourceSet.hasOtherNames(set)",
    becomes: "requested.table === names && !ResourceSet.hasOtherNames(set)"
  },
  {
    fault: "group checks: what is read at once has no bound",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "if (bytes < bytesAtOnce) continue\n    bytes = 0\n    yield",
    becomes: "if (bytes < bytesAtOnce) continue\n    bytes = 0"
  },
  {
    fault: "the compiler's budget is never what V8 has by itself",
    file: "packages/transport-node/src/CompilerBudget.ts",
    by: "packages/transport-node/test/CompilerBudget.test.ts",
    line: "() => set(budget.initial)",
    becomes: "() => Effect.void"
  },
  {
    fault: "the compiler's budget stays raised as long as the server runs",
    file: "packages/transport-node/src/CompilerBudget.ts",
    by: "packages/transport-node/test/CompilerBudget.test.ts",
    line: "() => Effect.sleep(lasting),",
    becomes: "() => Effect.never,"
  },
  {
    fault: "a compiler's budget that was given is overruled",
    file: "packages/transport-node/src/CompilerBudget.ts",
    by: "packages/transport-node/test/CompilerBudget.test.ts",
    line: "if (budget === undefined || Engine.wasGiven(engine, [budget.flag])) return Effect.void",
    becomes: "if (budget === undefined) return Effect.void"
  },
  {
    fault: "name table: names beside the shared map are not among its names",
    file: "server/NameTable.ts",
    by: "packages/core/test/NameTable.test.ts",
    line: "return this.recent === undefined || this.added === 0 ? this.few.keys() : names(this.few, this.recent)",
    becomes: "return this.recent === undefined || this.added >= 0 ? this.few.keys() : names(this.few, this.recent)"
  },
  {
    fault: "name table: a name beside the shared map that was removed is counted",
    file: "server/NameTable.ts",
    by: "packages/core/test/NameTable.test.ts",
    line: "      this.#added--",
    becomes: "      void this.#added"
  },
  {
    fault: "long work goes before the short work of other streams",
    file: "packages/server/src/internal/Worker.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "add: (item, isLong) => (isLong ? long : short).add(item),",
    becomes: "add: (item) => long.add(item),"
  },
  {
    fault: "long work does not end as long as there is short work",
    file: "packages/server/src/internal/Worker.ts",
    by: "packages/server/test/XdsServer.test.ts",
    line: "    some(long)",
    becomes: "    if (!now.isOver()) some(long)"
  },
  {
    fault: "a stream hears of no more room after a body whose last piece is a few bytes",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test/ConnectServer.test.ts",
    line: "if (this.#rest.length > 0 || this.stream.writableNeedDrain) return",
    becomes: "return"
  },
  {
    fault: "a resource goes out without its TTL, as it was encoded when it was made",
    file: "wire/ResponseForm.ts",
    by: "packages/core/test/ResourceEntry.test.ts",
    line: "resource.ttl === undefined ? entryOf(resource) : undefined",
    becomes: "entryOf(resource)"
  },
  {
    fault: "a resource goes out without the aliases that were asked for, as it was encoded when it was made",
    file: "wire/ResponseForm.ts",
    by: "packages/core/test/ResourceEntry.test.ts",
    line: "if (aliasesOf(response, resource.name).length > 0) return undefined",
    becomes: ""
  },
  {
    fault: "an endpoint of LEDS goes out without its name, as it was encoded when it was made",
    file: "wire/ResponseForm.ts",
    by: "packages/core/test/ResourceEntry.test.ts",
    line: 'if (response.protocol === "StateOfTheWorld" && !isNamed(response)) return noEntry',
    becomes: ""
  },
  {
    fault: "clients wait for the warnings about a group",
    file: "packages/server/src/internal/UnhurriedLoop.ts",
    by: "packages/server/test/UnhurriedLoop.test.ts",
    line: "if (now - since <= little || ++passed > patience || isAwaited()) return work()",
    becomes: "if (now >= since) return work()"
  },
  {
    fault: "the warnings about a group do not come as long as clients do",
    file: "packages/server/src/internal/UnhurriedLoop.ts",
    by: "packages/server/test/UnhurriedLoop.test.ts",
    line: "if (now - since <= little || ++passed > patience || isAwaited()) return work()",
    becomes: "if (now - since <= little || isAwaited()) return work()"
  },
  {
    fault: "who asks for the warnings about a group waits for clients",
    file: "packages/server/src/internal/UnhurriedLoop.ts",
    by: "packages/server/test/UnhurriedLoop.test.ts",
    line: "if (now - since <= little || ++passed > patience || isAwaited()) return work()",
    becomes: "if (now - since <= little || ++passed > patience) return work()"
  },
  {
    fault: "for a client of few names everything that changed is found",
    file: "resource/Difference.ts",
    by: "packages/core/test/near.test.ts",
    line: "return names.size > Steps.atOnce && found.pays(",
    becomes: "return names.size > 0 || found.pays("
  },
  {
    fault: "clients far behind are each compared by their names, however many there are",
    file: "resource/Crossing.ts",
    by: "packages/core/test/near.test.ts",
    line: "return this.#compared > this.#all",
    becomes: "return false"
  },
  {
    fault: "a host that moved to another resource is none that changed, for a client far behind",
    file: "resource/Difference.ts",
    by: "packages/core/test/properties.test.ts",
    line: "if (this.#isOther(name, hash) || isNow || wasThen)",
    becomes: "if (this.#isOther(name, hash) || isNow)"
  },
  {
    fault: "a name that leads to another resource now is none that changed, for a client far behind",
    file: "resource/Difference.ts",
    by: "packages/core/test/properties.test.ts",
    line: "if (this.#isOther(name, hash) || isNow || wasThen)",
    becomes: "if (this.#isOther(name, hash) || wasThen)"
  },
  {
    fault: "of a resource that is gone the client's state is taken to be the last, for a client far behind",
    file: "resource/Difference.ts",
    by: "packages/core/test/properties.test.ts",
    line: "if (lost.has(name) && !found.has(name)) found.set(name, resource)",
    becomes: "if (lost.has(name)) found.set(name, resource)"
  },
  {
    fault: "what a moved client held before is not known, if it is far behind",
    file: "resource/Difference.ts",
    by: "packages/core/test/properties.test.ts",
    line: "for (const name of lost) found.set(name, Cursors.resourceAt(since, name))",
    becomes: "for (const name of lost) found.set(name, undefined)"
  },
  {
    fault: "a log of many resources is as short as one of few",
    file: "resource/ChangeLog.ts",
    by: "packages/core/test/properties.test.ts",
    line: "Math.max(fewLogEntries, Math.min(resources, maxLoggedNames))",
    becomes: "fewLogEntries"
  },
  {
    fault: "the map of the set before goes on without what changed",
    file: "resource/Computed.ts",
    by: "packages/core/test/Computed.test.ts",
    line: "else map.set(name, resource)",
    becomes: "else map.has(name)"
  },
  {
    fault: "two sets that come from one have one map",
    file: "resource/Computed.ts",
    by: "packages/core/test/Computed.test.ts",
    line: "    this.#byName = undefined\n",
    becomes: ""
  },
  {
    fault: "layers: a log is as long as for the resources of the base, in each group",
    file: "resource/LayeredGroup.ts",
    by: "packages/core/test/LayeredGroup.test.ts",
    line: "versionOf(now, content.digest), own)",
    becomes: "versionOf(now, content.digest))"
  },
  {
    fault: "layers: a group takes the map of names of the base",
    file: "resource/ResourceSet.ts",
    by: "packages/core/test/LayeredGroup.test.ts",
    line: "change.own, change.own === undefined)",
    becomes: "change.own, true)"
  },
  {
    fault: "the log of a view is as long as that of the group",
    file: "resource/ClientView.ts",
    by: "packages/core/test/DynamicParameters.test.ts",
    line: "updating(seen, { upsert, remove, version, own })",
    becomes: "updating(seen, { upsert, remove, version, own: undefined })"
  },
  {
    fault: "a resource that is not read is unchanged whatever its version",
    file: "client/ResponseOrder.ts",
    by: "packages/core/test/client/ResponseOrder.test.ts",
    line: "(Received.isNamed(resource, name) && Received.isVersion(resource, version))",
    becomes: '(Received.isNamed(resource, name) || version === "")'
  },
  {
    fault: "a resource that is not read is unchanged under any name",
    file: "client/ResponseOrder.ts",
    by: "packages/core/test/client/ResponseOrder.test.ts",
    line: "(Received.isNamed(resource, name) && Received.isVersion(resource, version))",
    becomes: '(Received.isVersion(resource, version) || name === "")'
  },
  {
    fault: "a resource with a TTL or an error of its own is unchanged at once",
    file: "client/ResponseOrder.ts",
    by: "packages/core/test/client/ResponseOrder.test.ts",
    line: "  isPlain &&\n",
    becomes: "  isPlain !== undefined &&\n"
  },
  {
    fault: "an index of names has no end of places for one",
    file: "client/ResponseOrder.ts",
    by: "packages/core/test/client/ResponseOrder.test.ts",
    line: "const mostTried = 16",
    becomes: "const mostTried = Number.MAX_SAFE_INTEGER"
  },
  {
    fault: "an index is made for a few of many",
    file: "client/ClientCache.ts",
    by: "packages/core/test/client/ResponseOrder.test.ts",
    line: "const isIndexed = isCurrent && ResponseOrders.isLarge(size, places)",
    becomes: "const isIndexed = isCurrent && size >= 0"
  },
  {
    fault: "unchanged resources are found beside removed ones",
    file: "client/Validation.ts",
    by: "packages/core/test/client/ResponseOrder.test.ts",
    line: "this.#isEachItself = gone.size === 0 && Ownerships.isNone(view.ownership)",
    becomes: "this.#isEachItself = Ownerships.isNone(view.ownership)"
  },
  {
    fault: "unchanged resources are found although aliases lead to them",
    file: "client/Validation.ts",
    by: "packages/core/test/client/ResponseOrder.test.ts",
    line: "this.#isEachItself = gone.size === 0 && Ownerships.isNone(view.ownership)",
    becomes: "this.#isEachItself = gone.size === 0"
  },
  {
    fault: "a name with invalid UTF-8 is not read at first",
    file: "wire/ReceivedResource.ts",
    by: "packages/core/test/client/ResponseOrder.test.ts",
    line: "isAscii(bytes, name, end) && ",
    becomes: ""
  },
  {
    fault: "a version with invalid UTF-8 is not read at first",
    file: "wire/ReceivedResource.ts",
    by: "packages/core/test/client/ResponseOrder.test.ts",
    line: " && isAscii(bytes, version, versionEnd)",
    becomes: ""
  },
  {
    fault: "the first resource of each response is read, whether it is needed or not",
    file: "wire/ReceivedResource.ts",
    by: "packages/core/test/client/ResponseOrder.test.ts",
    line: "if (this.bytes.byteLength === 0) this.of(bytes.subarray(start, start + length))",
    becomes: ""
  },
  {
    fault: "changes in a block of the log are told from its other end",
    file: "resource/ChangeLog.ts",
    by: "packages/core/test/properties.test.ts",
    line: ".at(-1 - (before % blockLength))",
    becomes: ".at(before % blockLength)"
  },
  {
    fault: "a block of the log is never cut",
    file: "resource/ChangeLog.ts",
    by: "packages/core/test/properties.test.ts",
    line: "if (drop > 0 && oldest !== undefined) kept[0] = oldest.slice(drop)",
    becomes: ""
  },
  {
    fault: "a call whose list throws stays first in the queue of its group",
    file: "packages/server/src/SnapshotStore.ts",
    by: "packages/server/test/SnapshotStore.test.ts",
    line: "            giveUp()\n            throw cause",
    becomes: "            throw cause"
  },
  {
    fault: "a call that fails stays first in the queue of its group",
    file: "packages/server/src/SnapshotStore.ts",
    by: "packages/server/test/SnapshotStore.test.ts",
    line: "Effect.onError(written, () => Effect.sync(giveUp))",
    becomes: "written"
  },
  {
    fault: "group checks: a check that is begun and takes longer than a slice is given up",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "toEnd(modules, loop, () => this.#checking(modules, group, state, stored), begun)",
    becomes:
      "begun === undefined ? toEnd(modules, loop, () => this.#checking(modules, group, state, stored)) : Effect.succeed({ all: { faults: [], omitted: 0 }, fresh: { faults: [], omitted: 0 } })"
  },
  {
    fault: "group checks: what a small change breaks is not reported",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "return this.#found(loaded, group, state, stored.own, found)",
    becomes: "return void this.#found(loaded, group, state, stored.own, found)"
  },
  {
    fault: "group checks: what has to be loaded first is checked without it",
    file: "packages/server/src/internal/GroupChecks.ts",
    by: "packages/server/test/groupRules.test.ts",
    line: "if (found !== undefined) begun = undefined",
    becomes: "if (found !== undefined) return undefined"
  },
  {
    fault: "large responses: each is encoded anew, whatever the one before it had",
    file: "packages/server/src/internal/Bodies.ts",
    by: "packages/server/test/Bodies.test.ts",
    line: "recent.set(form, [new WeakRef(response), ...others].slice(0, maxEarlier))",
    becomes: "void others"
  },
  {
    fault: "large responses: pieces that somebody sends keep all others",
    file: "packages/server/src/internal/Bodies.ts",
    by: "packages/server/test/Bodies.test.ts",
    line: "large.set(\n        response,\n        pieces.map",
    becomes: "Object.assign(response, { pieces })\n      large.set(\n        response,\n        pieces.map"
  },
  {
    fault: "large responses: one of other TTLs or of another type lends its pieces",
    file: "packages/server/src/internal/Bodies.ts",
    by: "packages/server/test/Bodies.test.ts",
    line: "for (const each of recent.get(formName(response)) ?? [])",
    becomes: "for (const each of Array.from(recent.values()).flat())"
  },
  {
    fault: "large responses: a transport that takes pieces is given a copy",
    file: "packages/server/src/internal/ResponseWriter.ts",
    by: "packages/server/test/ResponseWriter.test.ts",
    line: "const takesPieces = this.accepted.writePieces !== undefined",
    becomes: "const takesPieces = false"
  },
  {
    fault: "a decorator that replaces what writes does not see large responses",
    file: "packages/transport/src/ServerTransport.ts",
    by: "packages/server/test/ResponseWriter.test.ts",
    line: "writePieces: changes.write === undefined ? stream.writePieces : undefined,",
    becomes: "writePieces: stream.writePieces,"
  },
  {
    fault: "gRPC: less of a body in pieces is written than makes a stream full",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test/ConnectServer.test.ts",
    line: "this.stream.write(piece.length <= room ? piece : piece.subarray(0, room))",
    becomes:
      "if (piece.length > room && room < pieceLimit) return void (this.#rest = pieces.slice(at))\n      this.stream.write(piece.length <= room ? piece : piece.subarray(0, room))"
  },
  {
    fault: "gRPC: the rest of a piece that was cut is lost",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    by: "packages/transport-connect/test/ConnectServer.test.ts",
    line: "this.#rest = piece.length === room ? others : [piece.subarray(room), ...others]",
    becomes: "this.#rest = others"
  },
  {
    fault: "a simulation that is given up leaves its servers open",
    file: "packages/testing/src/simulation/Simulation.ts",
    by: "packages/testing/test/Simulation.test.ts",
    line: "yield* Effect.addFinalizer(() => closeAll)",
    becomes: ""
  },
  {
    fault: "name trie: a change is made in a node of the trie before",
    file: "resource/NameTrie.ts",
    by: "packages/core/test/NameTrie.test.ts",
    line: "if (node.owner === this.#owner) return node",
    becomes: "if (node.branched !== 0) return node"
  },
  {
    fault: "name trie: a draft changes what it has given away",
    file: "resource/NameTrie.ts",
    by: "packages/core/test/NameTrie.test.ts",
    line: "    this.#owner = new Owner()\n    this.#from =",
    becomes: "    this.#from ="
  },
  {
    fault: "name trie: names of one hash are in the order in which they came",
    file: "resource/NameTrie.ts",
    by: "packages/core/test/NameTrie.test.ts",
    line: "findIndex((each) => each >= name)",
    becomes: "findIndex((each) => each === name)"
  },
  {
    fault: "name trie: one name that is left has a node of its own",
    file: "resource/NameTrie.ts",
    by: "packages/core/test/NameTrie.test.ts",
    line: "const isOne = next.branched === 0 && next.names.length === 1",
    becomes: "const isOne = next.branched === 0 && next.names.length === 0"
  },
  {
    fault: "name trie: the nodes below are in the order in which they came",
    file: "resource/NameTrie.ts",
    by: "packages/core/test/NameTrie.test.ts",
    line: "    next.nodes = next.nodes.toSpliced(count(next.branched & (bit - 1)), 0, below)",
    becomes: "    next.nodes = next.nodes.toSpliced(next.nodes.length, 0, below)"
  },
  {
    fault: "name table: among many names, one that is there loses its value when it is given again as a new one",
    file: "resource/NameTrie.ts",
    by: "packages/core/test/NameTable.test.ts",
    line: "if (find(this.#root, name, hash) === undefined) this.setHash",
    becomes: "this.setHash"
  },
  {
    fault: "index: what was listed of a resource is listed when something else is wrong in it",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "      entry.listed = undefined\n",
    becomes: ""
  },
  {
    fault: "index: as many faults as references are those of all references",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: " && found.every((wrong, place) => wrong === references[place])",
    becomes: ""
  },
  {
    fault: "index: what plain resources say is never forgotten",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "    this.#reader.forget()\n",
    becomes: ""
  },
  {
    fault: "index: what plain resources say is forgotten when it was tried",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "yield* this.#settling(0, always)",
    becomes: "yield* this.settling(0, always)"
  },
  {
    fault: "pieces: each has a buffer of its own",
    file: "wire/Response.ts",
    by: "packages/server/test/PieceRoom.test.ts",
    line: "const room = isAllNew ? ",
    becomes: "const room = !isAllNew ? "
  },
  {
    fault: "pieces: the parts after a response have buffers of their own",
    file: "packages/server/src/internal/Bodies.ts",
    by: "packages/server/test/PieceRoom.test.ts",
    line: "while (last.next !== undefined) last = last.next",
    becomes: ""
  },
  {
    fault: "pieces: the room of large resources has no bound",
    file: "packages/server/src/internal/PieceRoom.ts",
    by: "packages/server/test/PieceRoom.test.ts",
    line: "Math.min(Math.ceil((size / count) * left * spare), most)",
    becomes: "Math.ceil((size / count) * left * spare)"
  },
  {
    fault: "pieces: a piece lies where another one ends too late",
    file: "packages/server/src/internal/PieceRoom.ts",
    by: "packages/server/test/PieceRoom.test.ts",
    line: "this.#used += size",
    becomes: "this.#used += size - 1"
  },
  {
    fault: "pieces: a piece that is kept is the whole buffer",
    file: "packages/server/src/internal/Bodies.ts",
    by: "packages/server/test/PieceRoom.test.ts",
    line: "new Uint8Array(buffer, this.#from, this.#size)",
    becomes: "new Uint8Array(buffer)"
  },
  {
    fault: "IP addresses: a number is more than 255",
    file: "packages/validate/src/internal/InternetText.ts",
    by: "packages/validate/test/InternetText.test.ts",
    line: "if (value > 255) return -1",
    becomes: "if (value > 999) return -1"
  },
  {
    fault: "IP addresses: one has three numbers",
    file: "packages/validate/src/internal/InternetText.ts",
    by: "packages/validate/test/InternetText.test.ts",
    line: "return dots === 3 && digits > 0",
    becomes: "return digits > 0"
  },
  {
    fault: "plain assignments: localities whose texts are in another order are others",
    file: "packages/validate/src/internal/group/PlainAssignment.ts",
    by: "packages/validate/test/PlainAssignment.test.ts",
    line: "if (tag <= last || (",
    becomes: "if (("
  },
  {
    fault: "calls: draining connections are not cut where a failed health check is to cut them",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    by: "packages/connect-xds/test/profiles.test.ts",
    line: "for (const [connection, to] of this.draining) if (to === address) connection.close(reason)",
    becomes: ""
  },
  {
    fault: "calls: one that is cut on a connection that takes no new ones is told of the GOAWAY before",
    file: "packages/connect-xds/src/internal/EndpointConnection.ts",
    by: "packages/connect-xds/test/profiles.test.ts",
    line: "    if (!this.isEnded) this.reason = reason\n",
    becomes: ""
  },
  {
    fault: "the heap of a server grows ten times as far for ever",
    file: "packages/transport-node/src/HeapGrowth.ts",
    by: "packages/transport-node/test/HeapGrowth.test.ts",
    line: "set(initial)",
    becomes: "void initial"
  },
  {
    fault: "the growth of the heap is V8's own again after any collection",
    file: "packages/transport-node/src/HeapGrowth.ts",
    by: "packages/transport-node/test/HeapGrowth.test.ts",
    line: "if (!list.getEntries().some(isMajor)) return",
    becomes: ""
  },
  {
    fault: "the growth of the heap is told to V8 after each collection",
    file: "packages/transport-node/src/HeapGrowth.ts",
    by: "packages/transport-node/test/HeapGrowth.test.ts",
    line: "observer.disconnect()",
    becomes: ""
  },
  {
    fault: "a size of the heap that was given is overruled",
    file: "packages/transport-node/src/HeapGrowth.ts",
    by: "packages/transport-node/test/HeapGrowth.test.ts",
    line: "if (!measured.has(Engine.versionOf(engine)) || Engine.wasGiven(engine, sizes)) return",
    becomes: "if (!measured.has(Engine.versionOf(engine))) return"
  },
  {
    fault: "a flag of V8 with underscores counts as not given",
    file: "packages/transport-node/src/Engine.ts",
    by: "packages/transport-node/test/HeapGrowth.test.ts",
    line: '.replaceAll("_", "-")',
    becomes: ""
  },
  {
    fault: "flags of V8 in NODE_OPTIONS count as not given",
    file: "packages/transport-node/src/Engine.ts",
    by: "packages/cli/test/engineOfServe.test.ts",
    line: 'options: [...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(/\\s+/)],',
    becomes: "options: process.execArgv,"
  },
  {
    fault: "serve raises the growth of the heap although it is not to",
    file: "packages/cli/src/commands/serve.ts",
    by: "packages/cli/test/engineOfServe.test.ts",
    line: "if (!values.noHeapGrowth) (await",
    becomes: "void (await"
  },
  {
    fault: "HTTP/2 only: who greets in time is dropped all the same",
    file: "packages/transport-connect/src/server/Connections.ts",
    by: "packages/transport-connect/test/http2Only.test.ts",
    line: 'if (this.#joining?.greeted !== undefined) session.once("remoteSettings", this.#joining.greeted)',
    becomes: ""
  },
  {
    fault: "HTTP/2 only: who never greets is kept",
    file: "packages/transport-connect/src/server/Connections.ts",
    by: "packages/transport-connect/test/http2Only.test.ts",
    line: "this.#onHttp2(socket, this.#expectBytes(socket))",
    becomes: "this.#onHttp2(socket)"
  },
  {
    fault: "HTTP/2 only: TLS offers HTTP/1.1, too",
    file: "packages/transport-connect/src/server/Connections.ts",
    by: "packages/transport-connect/test/http2Only.test.ts",
    line: 'ALPNProtocols: http1 ? ["h2", "http/1.1"] : ["h2"],',
    becomes: 'ALPNProtocols: ["h2", "http/1.1"],'
  },
  {
    fault: "HTTP/2 only: who asks for no protocol in TLS is served HTTP/1.1",
    file: "packages/transport-connect/src/server/Connections.ts",
    by: "packages/transport-connect/test/http2Only.test.ts",
    line: "if (this.http1) return this.#onHttp1(socket)",
    becomes: "return this.#onHttp1(socket)"
  },
  {
    fault: "HTTP/2 only: who speaks another protocol is not in the log",
    file: "packages/transport-connect/src/server/Connections.ts",
    by: "packages/transport-connect/test/http2Only.test.ts",
    line: "if (!http1 && isNoPreface(error))",
    becomes: "if (false)"
  },
  {
    fault: "serve speaks HTTP/1.1 although it is not to",
    file: "packages/cli/src/Serving.ts",
    by: "packages/cli/test/http2Only.test.ts",
    line: "http1: !config.noHttp1",
    becomes: "http1: true"
  },
  {
    fault: "what is sent from the log was not there before",
    file: "resource/Difference.ts",
    line: "      see(name, before?.fingerprint, before)",
    becomes: "      see(name, undefined, before)"
  },
  {
    fault: "one resource that is put has no aliases",
    file: "resource/ResourceSet.ts",
    line: "const conflict = draft.put(resource) ? draft.place(resource) : undefined",
    becomes: "const conflict = draft.put(resource) ? undefined : undefined"
  },
  {
    fault: "proto: bytes that are lent are written over",
    file: "packages/proto/src/internal/MessageWriter.ts",
    line: "  if (isLent && bytes !== undefined) lent = writer\n",
    becomes: "  if (isLent && bytes !== undefined) free = lent = writer\n",
    by: "packages/proto/test/MessageSteps.test.ts"
  },
  {
    fault: "server: bytes of a message that are to be kept are those of the next one",
    file: "packages/server/src/snapshot/Encoding.ts",
    line: "SourceContent.encodeSmall(source, typeUrl, !keepBytes)",
    becomes: "SourceContent.encodeSmall(source, typeUrl, true)",
    by: "packages/server/test/Snapshot.test.ts"
  },
  {
    fault: "client: each collection that loses its members is looked through by itself",
    file: "client/CachedType.ts",
    line: "if (entry === undefined || this.counts().isInUse(glob)) return",
    becomes: "if (entry === undefined || hasMembers(this.entries, glob)) return",
    by: "packages/core/test/client/Client.test.ts"
  },
  {
    fault: "client: the resources are looked through for secrets with each text",
    file: "packages/client/src/internal/ServerText.ts",
    line: "    this.#secrets ??= ",
    becomes: "    this.#secrets = ",
    by: "packages/client/test/ServerText.test.ts"
  },
  {
    fault: "client: of many texts only the first are without secrets",
    file: "packages/client/src/internal/ServerText.ts",
    line: ": Redaction.strict(message) }",
    becomes: ": message }",
    by: "packages/client/test/ServerText.test.ts"
  },
  {
    fault: "client: a watcher that takes nothing keeps what came and went",
    file: "packages/client/src/internal/Watcher.ts",
    line: 'bearing === "Gone" && before?.state !== undefined &&',
    becomes: 'bearing === "Gone" && before?.state === null &&',
    by: "packages/client/test/Watcher.test.ts"
  },
  {
    fault: "client: a watcher is not told that what it was told of is gone",
    file: "packages/client/src/internal/Watcher.ts",
    line: " && name !== this.watched && !this.#told.has(name)) {",
    becomes: " && name !== this.watched) {",
    by: "packages/client/test/Watcher.test.ts"
  },
  {
    fault: "client: a file that never comes, and cannot be interrupted, is waited for",
    file: "packages/client/src/internal/FileSystem.ts",
    line: "    // What cannot be interrupted is not waited for either.\n    Effect.disconnect,\n",
    becomes: "",
    by: "packages/client/test/Bootstrap.test.ts"
  },
  {
    fault: "client: its state is shown in one turn",
    file: "packages/client/src/internal/ClientConfig.ts",
    line: "    if (wait !== undefined) await wait\n",
    becomes: "",
    by: "packages/client/test/ClientConfig.test.ts"
  },
  {
    fault: "REST: an answer that comes again unchanged is decoded again",
    file: "packages/transport-rest/src/internal/DiscoveryBody.ts",
    line: "if (this.#last?.hash === digest) return",
    becomes: "if (this.#last?.hash === body.toString()) return",
    by: "packages/transport-rest/test/DiscoveryBody.test.ts"
  },
  {
    fault: "REST: all resources of an answer are decoded in one turn",
    file: "packages/transport-rest/src/internal/DiscoveryBody.ts",
    line: "await TimeSlices.gather(slices, resourcesOf(",
    becomes: "await TimeSlices.gather({ isOver: () => false, later: () => undefined }, resourcesOf(",
    by: "packages/transport-rest/test/DiscoveryBody.test.ts"
  },
  {
    fault: "REST: call credentials that cannot be interrupted are waited for",
    file: "packages/transport-rest/src/RestClient.ts",
    line: "      Effect.disconnect,\n",
    becomes: "",
    by: "packages/transport-rest/test/RestClient.test.ts"
  },
  {
    fault: "a connection that gave way stays open until its client closes it",
    file: "packages/transport-connect/src/server/Connections.ts",
    line: "        setImmediate(() => socket.destroy())\n",
    becomes: "",
    by: "packages/transport-connect/test/leftOpen.test.ts"
  },
  {
    fault: "what was sent to a client that was lost is kept until the client reads it",
    file: "packages/transport-connect/src/grpc/Keepalive.ts",
    line: "        socket?.destroy()\n      }\n",
    becomes: "      }\n",
    by: "packages/transport-connect/test/Keepalive.test.ts"
  },
  {
    fault: "a connection whose client said goodbye stays open until the client closes it",
    file: "packages/transport-connect/src/grpc/Keepalive.ts",
    line: "if (over) socket?.destroy()",
    becomes: "",
    by: "packages/transport-connect/test/leftOpen.test.ts"
  },
  {
    fault: "a message that waits to be inflated stays when its stream has ended",
    file: "packages/transport-connect/src/server/GrpcStream.ts",
    line: "    this.#stopInflating?.()\n",
    becomes: "",
    by: "packages/transport-connect/test/strangers.test.ts"
  },
  {
    fault: "who gives up a message that waits to be inflated gives up nothing",
    file: "packages/transport-node/src/Inflater.ts",
    line: "return () => void this.#waiting.delete(start)",
    becomes: "return () => undefined",
    by: "packages/transport-node/test/Inflater.test.ts"
  },
  {
    fault: "a message that waited to be inflated is inflated again and again",
    file: "packages/transport-node/src/Inflater.ts",
    line: "      this.#waiting.delete(start)\n      this.#running++",
    becomes: "      this.#running++",
    by: "packages/transport-node/test/Inflater.test.ts"
  },
  {
    fault: "the address that an interceptor gives may have any number of gRPC streams",
    file: "packages/transport-connect/src/server/Application.ts",
    line: "const refusal = calls.refusal(call.peer)\n      if (refusal !== undefined)",
    becomes: "const refusal = calls.refusal(peer)\n      if (refusal !== undefined)",
    by: "packages/transport-connect/test/FurtherServices.test.ts"
  },
  {
    fault: "only the request of a unary call must come in time",
    file: "packages/transport-connect/src/server/ConnectRoutes.ts",
    line: "const timer = setTimeout(onTimeout, shared.requestTimeout)",
    becomes: "const timer = unary ? setTimeout(onTimeout, shared.requestTimeout) : undefined",
    by: "packages/transport-connect/test/notBegun.test.ts"
  },
  {
    fault: "a call that has begun is cut off like one that never does",
    file: "packages/transport-connect/src/server/ConnectRoutes.ts",
    line: "      started = true\n      clearTimeout(timer)",
    becomes: "      started = true",
    by: "packages/transport-connect/test/notBegun.test.ts"
  },
  {
    fault: "an answer in place of a call waits for its reader for ever",
    file: "packages/transport-connect/src/server/ConnectRoutes.ts",
    line: "plain(response, status, text, headers)\n      onEnd()",
    becomes: "plain(response, status, text, headers)",
    by: "packages/transport-connect/test/notBegun.test.ts"
  },
  {
    fault: "the refusal of a call waits for its reader for ever",
    file: "packages/transport-connect/src/server/ConnectStream.ts",
    line: "  call.onEnd()\n  onRefused",
    becomes: "  onRefused",
    by: "packages/transport-connect/test/notBegun.test.ts"
  },
  {
    fault: "TLS connections from one port of a client to two addresses are taken for one",
    file: "packages/transport-connect/src/server/Connections.ts",
    line: '${remotePort ?? 0} ${localAddress ?? ""} ${localPort ?? 0}`',
    becomes: "${remotePort ?? 0}`",
    by: "packages/transport-connect/test/Tls.test.ts"
  },
  {
    fault: "the end of a TLS connection ends the handshake of a later one from the same port",
    file: "packages/transport-connect/src/server/Connections.ts",
    line: "if (this.#handshakes.get(ends) === expected) this",
    becomes: "this",
    by: "packages/transport-connect/test/Tls.test.ts"
  },
  {
    fault: "who says nothing after the TLS handshake stays",
    file: "packages/transport-connect/src/server/Connections.ts",
    line: 'if (socket.alpnProtocol === "h2") return this.#onHttp2(socket, expected)\n    expected?.()',
    becomes: 'expected?.()\n    if (socket.alpnProtocol === "h2") return this.#onHttp2(socket, undefined)',
    by: "packages/transport-connect/test/Tls.test.ts"
  },
  {
    fault: "three letters of HTTP/2 are enough to stay",
    file: "packages/transport-connect/src/server/Connections.ts",
    line: "if (http2) return this.#onHttp2(socket, expected)\n      expected()",
    becomes: "expected()\n      if (http2) return this.#onHttp2(socket, undefined)",
    by: "packages/transport-connect/test/ConnectServer.test.ts"
  },
  {
    fault: "over HTTP/1.1 the time for a request goes on while it is looked at",
    file: "packages/transport-connect/src/server/Connections.ts",
    line: "        requested()\n        open++",
    becomes: '        response.req.once("end", requested)\n        open++',
    by: "packages/transport-connect/test/http1.test.ts"
  },
  {
    fault: "over HTTP/1.1 a connection is idle after an answer, though another is due",
    file: "packages/transport-connect/src/server/Connections.ts",
    line: "          if (open > 0) return\n",
    becomes: "",
    by: "packages/transport-connect/test/http1.test.ts"
  },
  {
    fault: "reflection keeps every request of a stream until it ends",
    file: "packages/transport-connect/src/grpc/BuiltInCall.ts",
    line: '    signal.removeEventListener("abort", onAbort)\n',
    becomes: "",
    by: "packages/transport-connect/test/BuiltInCall.test.ts"
  },
  {
    fault: "a call that is over before its next element still waits for it",
    file: "packages/transport-connect/src/grpc/BuiltInCall.ts",
    line: "  if (signal.aborted) return undefined\n",
    becomes: "",
    by: "packages/transport-connect/test/BuiltInCall.test.ts"
  },
  {
    fault: "a bound of Infinity for inflated bytes throws",
    file: "packages/transport-node/src/Inflater.ts",
    line: "Math.max(1, Math.min(maxBytes, constants.MAX_LENGTH))",
    becomes: "Math.max(1, maxBytes)",
    by: "packages/transport-node/test/Inflater.test.ts"
  },
  {
    fault: "a bound of no inflated byte throws",
    file: "packages/transport-node/src/Inflater.ts",
    line: "Math.max(1, Math.min(maxBytes, constants.MAX_LENGTH))",
    becomes: "Math.min(maxBytes, constants.MAX_LENGTH)",
    by: "packages/transport-node/test/Inflater.test.ts"
  },
  {
    fault: "maxConnectionStreams: Infinity ends the process at the first client",
    file: "packages/transport-connect/src/ConnectServer.ts",
    line: "Math.max(1, Math.min(given, 2 ** 32 - 1))",
    becomes: "Math.max(1, given)",
    by: "packages/transport-connect/test/ConnectServer.test.ts"
  },
  {
    fault: "a JSON request is not served if requests may have any size",
    file: "packages/transport-connect/src/server/WrappedRequests.ts",
    line: "  Math.min(largest, isJson ? 4 * Math.ceil(maxBytes / 3) + 2 : maxBytes + 6)",
    becomes: "  isJson ? 4 * Math.ceil(maxBytes / 3) + 2 : maxBytes + 6",
    by: "packages/transport-connect/test/ConnectServer.test.ts"
  },
  {
    fault: "a client makes a URL of an address that is none",
    file: "packages/transport-connect/src/ConnectClient.ts",
    line: 'Http2.connect("http://localhost", {',
    becomes: "Http2.connect(`http://${this.address.authority}`, {",
    by: "packages/transport-connect/test/ConnectClient.test.ts"
  },
  {
    fault: "the zone of an IPv6 address is sent to the server",
    file: "packages/transport-connect/src/client/ServerAddress.ts",
    line: 'authority: text.replace(/%[^\\]]*\\]/, "]")',
    becomes: "authority: text",
    by: "packages/transport-connect/test/ConnectClient.test.ts"
  },
  {
    fault: "unix:// without a path connects to a port of this machine",
    file: "packages/transport-connect/src/client/ServerAddress.ts",
    line: 'if (path === "") return',
    becomes: 'if (path === " ") return',
    by: "packages/transport-connect/test/ConnectClient.test.ts"
  },
  {
    fault: "call credentials that are no headers are used",
    file: "packages/transport-connect/src/ConnectClient.ts",
    line: "      Effect.map(lowerCase),\n",
    becomes: "",
    by: "packages/transport-connect/test/ConnectClient.test.ts"
  },
  {
    fault: "an interceptor may give a peer without an address",
    file: "packages/transport-connect/src/server/Interception.ts",
    line: '  "address" in value.peer &&\n  typeof value.peer.address === "string"',
    becomes: "  value.peer !== undefined",
    by: "packages/transport-connect/test/FurtherServices.test.ts"
  },
  {
    fault: "a client's scope leaves a connection that its server never closes",
    file: "packages/transport-connect/src/ConnectClient.ts",
    line: "          socket.destroy()\n",
    becomes: "",
    by: "packages/transport-connect/test/ConnectClient.test.ts"
  },
  {
    fault: "call credentials are asked for after their stream has ended",
    file: "packages/transport-connect/src/ConnectClient.ts",
    line: "        this.#asking.get(done)?.()\n",
    becomes: "",
    by: "packages/transport-connect/test/ConnectClient.test.ts"
  },
  {
    fault: "a held version that is not UTF-8 is taken",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "    if (!isText(entry)) return -1\n",
    becomes: "",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "a held name loses its byte order mark",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: 'new TextDecoder("utf-8", { ignoreBOM: true })',
    becomes: "new TextDecoder()",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "a request that is passed on after its client has gone is served",
    file: "packages/transport-connect/src/server/Mounted.ts",
    line: "    if (isGone(response)) return true\n",
    becomes: "",
    by: "packages/transport-connect/test/FurtherServices.test.ts"
  },
  {
    fault: "a stream that is passed on after its client has gone is waited for",
    file: "packages/transport-connect/src/server/Mounted.ts",
    line: "    if (stream.destroyed || stream.closed) return true\n",
    becomes: "",
    by: "packages/transport-connect/test/FurtherServices.test.ts"
  },
  {
    fault: "the end of a server waits for a TLS handshake",
    file: "packages/transport-node/src/HttpListener.ts",
    line: "sockets.forEach((socket) => socket.destroy())",
    becomes: "server.closeAllConnections()",
    by: "packages/transport-node/test/HttpListener.test.ts"
  },
  {
    fault: "a deadline in a year ends a call at once",
    file: "packages/transport-connect/src/server/Deadline.ts",
    line: '> Milliseconds.longest) header.delete("grpc-timeout")',
    becomes: '> 2 * Milliseconds.longest) header.delete("grpc-timeout")',
    by: "packages/transport-connect/test/Connect.test.ts"
  },
  {
    fault: "a deadline that a timer can be set for is left to the client",
    file: "packages/transport-connect/src/server/Deadline.ts",
    line: 'Number(header.get("connect-timeout-ms")) > Milliseconds.longest',
    becomes: 'Number(header.get("connect-timeout-ms")) >= Milliseconds.longest',
    by: "packages/transport-connect/test/Connect.test.ts"
  },
  {
    fault: "a client does not go on after a message that was inflated aside",
    file: "packages/transport-connect/src/client/GrpcClientStream.ts",
    line: "      this.#onInflated(inflated)\n      this.#deliver()",
    becomes: "      this.#onInflated(inflated)",
    by: "packages/transport-connect/test/ConnectClient.test.ts"
  },
  {
    fault:
      "store-sql: a replica that reads the groups anew does so in the order of their rows: layers that were turned round are a cycle in between",
    file: "packages/store-sql/src/internal/Replica.ts",
    line: "for (const group of baseFirst(states)) {",
    becomes: "for (const group of states.keys()) {",
    by: "packages/store-sql/test/sqlite.test.ts"
  },
  {
    fault:
      "store-sql: a checkpoint that comes late is written though the group was forgotten, which is set again by it",
    file: "packages/store-sql/src/internal/Log.ts",
    line: "if (change.length === 0) return yield*",
    becomes: "if (change.length < 0) return yield*",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "store-sql: a write that is interrupted where Effect yields stays in the queue",
    file: "packages/store-sql/src/internal/Writer.ts",
    line: "return Effect.uninterruptibleMask((restore) =>",
    becomes: "return Effect.interruptibleMask((restore) =>",
    by: "packages/store-sql/test/sqlite.test.ts"
  },
  {
    fault: "store-sql: what was written just before a process took the right to write is not there when it has it",
    file: "packages/store-sql/src/SqlStore.ts",
    line: "    yield* catchUp(head)",
    becomes: "",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "store-sql: a row that the database does not take fails all writes of its transaction",
    file: "packages/store-sql/src/internal/Trouble.ts",
    line: 'kind: busy ? "Busy" : refused ? "Refused" : "Away",',
    becomes: 'kind: busy ? "Busy" : "Away",',
    by: "packages/store-sql/test/sqlite.test.ts"
  },
  {
    fault:
      "store-sql: a write that may be what the database does not take is tried with others again, who fail with it",
    file: "packages/store-sql/src/internal/Writer.ts",
    line: 'if (trouble.kind === "Refused" && taken.length > 1) {',
    becomes: 'if (trouble.kind !== "Refused" && taken.length < 1) {',
    by: "packages/store-sql/test/sqlite.test.ts"
  },
  {
    fault: "SQLite: a file that was moved away or replaced is written on",
    file: "packages/store-sql/src/internal/Replica.ts",
    line: "if (lost !== undefined) return Effect.fail(diverged(lost))",
    becomes: "",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "SQLite: another file in the place of the one that was opened is not noticed",
    file: "packages/store-sql/src/Sqlite.ts",
    line: "if (now === identity) return undefined",
    becomes: "if (now !== undefined) return undefined",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "a store on SQL: get does not list what breaks rules and is served",
    file: "packages/store-sql/src/internal/Replica.ts",
    line: "this.inForce.changed(group, state?.own ?? ResourceGroup.empty, invalid)",
    becomes: "void invalid",
    by: "packages/store-sql/test/sqlite.test.ts"
  },
  {
    fault: "SQLite: a large body takes the event loop until all of its parts are written",
    file: "packages/store-sql/src/internal/Log.ts",
    line: "(${kindOf[owner]}, ${revision}, ${part}, ${piece})`\n      yield* Slices.breathe(loop)",
    becomes: "(${kindOf[owner]}, ${revision}, ${part}, ${piece})`\n      yield* Effect.yieldNow()",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "store-sql: the digest of a large body is made in one step",
    file: "packages/store-sql/src/internal/Log.ts",
    line: "    if (from > 0) yield\n",
    becomes: "",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "store-sql: of large resources as many are read in one step as of small ones",
    file: "packages/store-sql/src/internal/GroupDifference.ts",
    line: "if (++read % Steps.atOnce === 0 || (resource !== undefined && resource.value.length > large)) yield",
    becomes: "if (++read % Steps.atOnce === 0) yield",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "the store: a write that is interrupted before it waits for anything stays in the queue of its group",
    file: "packages/server/src/SnapshotStore.ts",
    line: "          if (Immediate.isThere(begun) || pending.isApplied) return begun\n          leave(group, pending)",
    becomes: "          if (Immediate.isThere(begun) || pending.isApplied) return begun",
    by: "packages/server/test/SnapshotStore.test.ts"
  },
  {
    fault: "the store: a write whose turn comes before it waits for it waits for ever",
    file: "packages/server/src/SnapshotStore.ts",
    line: "        if (isFirst(group, pending)) return resume(Effect.void)",
    becomes: "",
    by: "packages/server/test/SnapshotStore.test.ts"
  },
  {
    fault: "the store: a write that has begun goes on as if the group were as before",
    file: "packages/server/src/SnapshotStore.ts",
    line: "begun !== undefined && held.stored(group) === before ? begun",
    becomes: "begun !== undefined ? begun",
    by: "packages/server/test/SnapshotStore.test.ts"
  },
  {
    fault: "the store: a write waits for groups over its own that have the change already",
    file: "packages/server/src/SnapshotStore.ts",
    line: "            if (isOver) resume()",
    becomes: "",
    by: "packages/server/test/SnapshotStore.test.ts"
  },
  {
    fault: "the store: a change between the look at the groups and the first call of the listener is not told",
    file: "packages/server/src/HeldGroups.ts",
    line: "        listeners.add(listener)\n      })\n      return Effect.as(\n        Effect.acquireRelease(begin,",
    becomes:
      "      })\n      return Effect.as(\n        Effect.acquireRelease(Effect.zipRight(begin, Effect.sync(() => listeners.add(listener))),",
    by: "packages/server/test/SnapshotStore.test.ts"
  },
  {
    fault: "hosts on demand: a call that is interrupted keeps all later ones for its host waiting",
    file: "packages/server/src/OnDemandHosts.ts",
    line: "Effect.uninterruptibleMask((restore) => {",
    becomes: "Effect.suspend(() => { const restore = <A, E, S>(effect: Effect.Effect<A, E, S>) => effect",
    by: "packages/server/test/onDemandHosts.test.ts"
  },
  {
    fault: "group checks: a check that is interrupted before it begins counts on",
    file: "packages/server/src/internal/GroupChecks.ts",
    line: "Effect.uninterruptibleMask((restore) => {",
    becomes: "Effect.suspend(() => { const restore = <T,>(effect: T) => effect",
    by: "packages/server/test/groupRules.test.ts"
  },
  {
    fault: "the admin server: a request that is interrupted before it is answered counts towards the limit",
    file: "packages/admin/src/internal/Answers.ts",
    line: "const begin = Effect.acquireRelease(",
    becomes:
      "const begin = ((acquire: Effect.Effect<boolean>, release: (hasBegun: boolean) => Effect.Effect<unknown>) => Effect.tap(acquire, (hasBegun) => Effect.addFinalizer(() => release(hasBegun))))(",
    by: "packages/admin/test/AdminServer.test.ts"
  },
  {
    fault: "layers: a write ends when another write is still on its way to the groups above",
    file: "packages/server/src/HeldGroups.ts",
    line: "if (!isChanged && next.walks === 0) continue",
    becomes: "if (!isChanged) continue",
    by: "packages/server/test/layers.test.ts"
  },
  {
    fault: "layers: a write that another has shown ends before the groups above have it",
    file: "packages/server/src/HeldGroups.ts",
    line: "return (yield* see(node)) || node.walks > 0 ?",
    becomes: "return (yield* see(node)) ?",
    by: "packages/server/test/layers.test.ts"
  },
  {
    fault: "layers: groups over each other in a circle are gone through for ever",
    file: "packages/server/src/HeldGroups.ts",
    line: "if (next === undefined || next === node) continue",
    becomes: "if (next === undefined) continue",
    by: "packages/server/test/layers.test.ts"
  },
  {
    fault: "server: a tracer that throws stops the timers of all streams",
    file: "packages/server/src/internal/StreamSpan.ts",
    line: "      this.onDefect(cause)",
    becomes: "      throw cause",
    by: "packages/server/test/functions.test.ts"
  },
  {
    fault: "server: the revocations end without a word if their stream is interrupted",
    file: "packages/server/src/XdsServer.ts",
    line: "Effect.catchAllCause((cause: Cause.Cause<unknown>) =>",
    becomes: "Effect.catchAllDefect((cause: unknown) =>",
    by: "packages/server/test/functions.test.ts"
  },
  {
    fault: "the admin server: what is dumped is sorted at once",
    file: "packages/admin/src/internal/ConfigDump.ts",
    line: "await inSlices(sorting(set))",
    becomes: "Array.from(ResourceSet.all(set)).sort(byName)",
    by: "packages/admin/test/AdminServer.test.ts"
  },
  {
    fault: "sorting in steps: what is merged comes in no order",
    file: "packages/admin/src/internal/Sorting.ts",
    line: "other !== undefined && order(other, one) < 0;",
    becomes: "other !== undefined && order(other, one) > 0;",
    by: "packages/admin/test/Sorting.test.ts"
  },
  {
    fault: "the admin server: a large answer keeps others waiting",
    file: "packages/admin/src/internal/Answers.ts",
    line: "    if (wait !== undefined) await wait\n",
    becomes: "",
    by: "packages/admin/test/AdminServer.test.ts"
  },
  {
    fault: "a table of many clients is made in one step",
    file: "packages/admin/src/StatusTable.ts",
    line: "    if (++seen % clientsAtOnce === 0) yield\n",
    becomes: "    seen++\n",
    by: "packages/admin/test/StatusTable.test.ts"
  },
  {
    fault: "server: the status of many streams is made in one turn",
    file: "packages/server/src/XdsServer.ts",
    line: "    if (all.length % statusesAtATime === 0) yield\n",
    becomes: "",
    by: "packages/server/test/eventLoop.test.ts"
  },
  {
    fault: "server: the status tells streams that ended while it was made",
    file: "packages/server/src/XdsServer.ts",
    line: "    if (!connections.has(connection)) continue\n",
    becomes: "",
    by: "packages/server/test/eventLoop.test.ts"
  },
  {
    fault: "the number that chooses the cluster chooses the locality, too",
    file: "packages/routing/src/ConfigSelector.ts",
    line: "const DRAW_SELECTION = 8_192",
    becomes: "const DRAW_SELECTION = 0",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "an attempt draws what the one before drew",
    file: "packages/connect-xds/src/internal/Call.ts",
    line: "    this.drawn = undefined\n",
    becomes: "",
    by: "packages/connect-xds/test/policies.test.ts"
  },
  {
    fault: "pick_first that has failed does not go on to the next address of a new list where the first is silent",
    file: "packages/routing/src/policy/PickFirst.ts",
    line: "let least = nextAt",
    becomes: "let least = never",
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "pick_first says at each attempt that all have failed",
    file: "packages/routing/src/policy/PickFirst.ts",
    line: 'say({ ...self, isPassing: false }, "TRANSIENT_FAILURE")',
    becomes: 'say(self, "TRANSIENT_FAILURE")',
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "a pipe is taken for a host and a port",
    file: "packages/connect-xds/src/internal/EndpointConnection.ts",
    line: "to: SocketAddress.make(address),",
    becomes:
      'to: { host: address.slice(0, address.lastIndexOf(":")), port: Number(address.slice(address.lastIndexOf(":") + 1)) },',
    by: "packages/connect-xds/test/profiles.test.ts"
  },
  {
    fault: "what Node throws while it connects is thrown on",
    file: "packages/connect-xds/src/internal/Dial.ts",
    line: "return over(wordsOf(error))",
    becomes: "throw error",
    by: "packages/connect-xds/test/Dial.test.ts"
  },
  {
    fault: "a channel in which something was thrown stands still",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: "    if (thrown !== undefined) throw thrown.error\n",
    becomes: "    if (thrown === undefined) return\n    this.isStepping = true\n    throw thrown.error\n",
    by: "packages/connect-xds/test/ChannelDriver.test.ts"
  },
  {
    fault: "a request whose header cannot be sent keeps its host",
    file: "packages/connect-xds/src/internal/HttpCalls.ts",
    line: "    onOver()\n    throw cause",
    becomes: "    throw cause",
    by: "packages/connect-xds/test/http.test.ts"
  },
  {
    fault: "a request that is interrupted while its host opens keeps its host",
    file: "packages/connect-xds/src/XdsHttpClient.ts",
    line: "(isBegun ? undefined : onOver())",
    becomes: "undefined",
    by: "packages/connect-xds/test/virtualHosts.test.ts"
  },
  {
    fault: "two attempts that wait for a message read one each",
    file: "packages/connect-xds/src/internal/Replay.ts",
    line: "await (this.reading ??= this.read())",
    becomes: "await this.read()",
    by: "packages/connect-xds/test/Replay.test.ts"
  },
  {
    fault: "a call that waits to be sent again outlives its channel",
    file: "packages/connect-xds/src/internal/Call.ts",
    line: "    this.waiter?.reject(this.failure)\n    this.endPause()\n",
    becomes: "    this.waiter?.reject(this.failure)\n",
    by: "packages/connect-xds/test/transport.test.ts"
  },
  {
    fault: "a timeout of 0 ends a call at once",
    file: "packages/connect-xds/src/internal/Timeout.ts",
    line: "timeout <= 0",
    becomes: "timeout < 0",
    by: "packages/connect-xds/test/Timeout.test.ts"
  },
  {
    fault: "a gRPC timeout has more than eight digits",
    file: "packages/connect-xds/src/internal/Timeout.ts",
    line: "Math.min(most, Math.floor(milliseconds / 1_000))",
    becomes: "Math.floor(milliseconds / 1_000)",
    by: "packages/connect-xds/test/Timeout.test.ts"
  },
  {
    fault: "a connectTimeout of more than 24 days is over at once",
    file: "packages/connect-xds/src/XdsChannels.ts",
    line: 'Math.min(Environments.longest, Duration.toMillis(options.connectTimeout ?? "20 seconds"))',
    becomes: 'Duration.toMillis(options.connectTimeout ?? "20 seconds")',
    by: "packages/connect-xds/test/transport.test.ts"
  },
  {
    fault: "the authority of a target has a slash",
    file: "packages/connect-xds/src/Target.ts",
    line: "(24|26|2B|2C|3A|3B|3D|40|5B|5D)",
    becomes: "(24|26|2B|2C|2F|3A|3B|3D|40|5B|5D)",
    by: "packages/connect-xds/test/Target.test.ts"
  },
  {
    fault: "calls: a streaming call that failed leaves its stream at the server when it has a deadline",
    file: "packages/connect-xds/src/internal/Calls.ts",
    line: '              attempt.cancel()\n              call.over("Failed")',
    becomes: '              call.over("Failed")',
    by: "packages/connect-xds/test/resets.test.ts"
  },
  {
    fault: "calls: an attempt that failed before its headers were taken leaves its stream at the server",
    file: "packages/connect-xds/src/internal/Calls.ts",
    line: "        attempt.cancel()\n        if (!(await call.again(failure))) {",
    becomes: "        if (!(await call.again(failure))) {",
    by: "packages/connect-xds/test/resets.test.ts"
  },
  {
    fault: "calls: what is left of a failed answer is not read, and its connection never ends",
    file: "packages/connect-xds/src/internal/Exchange.ts",
    line: "if (this.waiting >= maxWaiting && !this.stream.closed) this.stream.pause()",
    becomes: "if (this.waiting >= maxWaiting) this.stream.pause()",
    by: "packages/connect-xds/test/resets.test.ts"
  },
  {
    fault: "calls: a call that the server has ended is reset as if it had been given up",
    file: "packages/connect-xds/src/internal/Attempt.ts",
    line: "if (!this.isAnswered) stream.close(constants.NGHTTP2_CANCEL)",
    becomes: 'if (this.status !== "0") stream.close(constants.NGHTTP2_CANCEL)',
    by: "packages/connect-xds/test/resets.test.ts"
  },
  {
    fault: "calls: a stream that the server has ended stays open for requests that may still come",
    file: "packages/connect-xds/src/internal/Exchange.ts",
    line: "      this.attempt.cancel()\n",
    becomes: "",
    by: "packages/connect-xds/test/resets.test.ts"
  },
  {
    fault: "calls: what an answer over HTTP/1.1 that cannot be told was sent on is never free again",
    file: "packages/connect-xds/src/internal/HttpCalls.ts",
    line: "      attempt.cancel()\n",
    becomes: "",
    by: "packages/connect-xds/test/http1.test.ts"
  },
  {
    fault: "calls: requests that wait for a connection of HTTP/1.1 are sent after the channel was closed",
    file: "packages/connect-xds/src/internal/Http1Carrier.ts",
    line: "    for (const stream of this.waiting) stream.fail(error)\n    this.waiting.clear()\n",
    becomes: "",
    by: "packages/connect-xds/test/http1.test.ts"
  },
  {
    fault: "calls: a reset that is told as an error is INTERNAL, whatever its code",
    file: "packages/connect-xds/src/internal/StreamErrors.ts",
    line: "(isReset(stream) ? ofClosed(stream, false) : undefined) ?? of(error)",
    becomes: "of(error) ?? ofClosed(stream, false)",
    by: "packages/connect-xds/test/resets.test.ts"
  },
  {
    fault: "calls: calls go to a session that failed until its last stream has ended",
    file: "packages/connect-xds/src/internal/EndpointConnection.ts",
    line: '    this.gone("it failed, and ends with its last call")\n',
    becomes: "",
    by: "packages/connect-xds/test/EndpointConnection.test.ts"
  },
  {
    fault: "calls: a connection is used until it has no number for a stream",
    file: "packages/connect-xds/src/internal/Http2Carrier.ts",
    line: "if ((stream.id ?? 0) > lastNumber)",
    becomes: "if ((stream.id ?? 0) > lastNumber * 2)",
    by: "packages/connect-xds/test/EndpointConnection.test.ts"
  },
  {
    fault: "calls: a call that is sent in the turn in which its connection begins to end is refused",
    file: "packages/connect-xds/src/internal/Http2Carrier.ts",
    line: "else setImmediate(() => this.session.close())",
    becomes: "else this.session.close()",
    by: "packages/connect-xds/test/EndpointConnection.test.ts"
  },
  {
    fault: "an HttpClient: the stream of a body goes on when its request is over",
    file: "packages/connect-xds/src/internal/Exchange.ts",
    line: "    body?.return?.().catch(() => undefined)\n",
    becomes: "    if (body === undefined) return\n",
    by: "packages/connect-xds/test/http.test.ts"
  },
  {
    fault: "an HttpClient: the stream of a body that was never sent goes on",
    file: "packages/connect-xds/src/XdsHttpClient.ts",
    line: "payload.locked ? Effect.void : Effect.ignore(",
    becomes: "payload.locked || request.body === body ? Effect.void : Effect.ignore(",
    by: "packages/connect-xds/test/http.test.ts"
  },
  {
    fault: "replacing all matches of a large pattern takes seconds",
    file: "packages/re2/src/RegularExpression.ts",
    line: "steps += size * (text.length - end)",
    becomes: "steps += 3 * (text.length - end)",
    by: "packages/routing/test/badInput.test.ts"
  },
  {
    fault: "a client that is moved away and back while its many names are removed loses those that it asks for",
    file: "packages/core/src/server/InterestIndex.ts",
    line: "if (again?.names.has(name) !== true) drop(subscribers, name, item)",
    becomes: "drop(subscribers, name, item)",
    by: "packages/core/test/InterestIndex.test.ts"
  },
  {
    fault:
      "the end of the removal of a client's former names ends that the client is concerned by every change while its names are indexed",
    file: "packages/core/src/server/InterestIndex.ts",
    line: "    this.#leaving--\n",
    becomes:
      "    this.#leaving--\n    this.#unfinished.delete(item)\n    for (const { typeUrl } of interests) this.#types.get(typeUrl)?.all.delete(item)\n",
    by: "packages/core/test/InterestIndex.test.ts"
  },
  {
    fault: "a stream that left is visited while its many names are still being removed",
    file: "packages/core/src/server/InterestIndex.ts",
    line: "seen.add(item)\n      if (this.#isHere(item)) visit(item)",
    becomes: "seen.add(item)\n      visit(item)",
    by: "packages/core/test/FanOut.test.ts"
  },
  {
    fault: "TP3: what a returning client holds is removed while it cannot be given",
    file: "packages/core/src/server/SentErrors.ts",
    line: "(!before.requested.has(name) || held.has(name) || OnDemandNames.isHeld(before, name))",
    becomes: "!before.requested.has(name)",
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault: "TP3: of a returning client only what is answered first is kept",
    file: "packages/core/src/server/SentErrors.ts",
    line: "  for (const name of yield* quoted(before, self.group, set)) held.set(name, name)\n",
    becomes: "",
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault: "TP3: a later part of a response removes what the client keeps",
    file: "packages/core/src/server/ResponseParts.ts",
    line: "const removed = yield* Steps.filter(part.removed, (name) => !kept.has(name))",
    becomes: "const removed = yield* Steps.filter(part.removed, (name) => part !== response || !kept.has(name))",
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault: "TP3: errors do not count for the size of a response",
    file: "packages/core/src/server/ResponseParts.ts",
    line: "const told = yield* split({ ...first, errors }, maxBytes)",
    becomes: "const told = { ...(yield* split(first, maxBytes)), errors }",
    by: "packages/core/test/ResponseParts.test.ts"
  },
  {
    fault: "TTL: another label alone is not sent, so a heartbeat names a version that the client does not have",
    file: "packages/core/src/resource/Resource.ts",
    line: 'label === "" ? String(ttl) : `${ttl} ${label}`',
    becomes: "String(ttl)",
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault: "TP2: a stream remembers the variants of names that its client unsubscribed from",
    file: "packages/core/src/server/StreamRequest.ts",
    line: "if (change !== undefined) yield* SentVariants.forget(next, after, change)",
    becomes: "",
    by: "packages/core/test/bounds.test.ts"
  },
  {
    fault: "TP2: the variant of a host is remembered when its last name is unsubscribed from",
    file: "packages/core/src/server/SentVariants.ts",
    line: "if (cursor !== undefined) names.add(Cursor.nameAt(cursor, name))",
    becomes: "",
    by: "packages/core/test/bounds.test.ts"
  },
  {
    fault: "TTL: the resources to renew are looked for anew for each stream",
    file: "packages/core/src/server/Heartbeat.ts",
    line: "set.computed.expiring ??= new Steps.Once(function* () {",
    becomes: "set.computed.expiring = new Steps.Once(function* () {",
    by: "packages/core/test/Heartbeat.test.ts"
  },
  {
    fault: "TTL: the last resource with a TTL is gone, and its TTL still wakes every stream",
    file: "packages/core/src/resource/Computed.ts",
    line: "lifetimes = counted(lifetimes, resource?.ttl, -1)",
    becomes: "lifetimes = counted(lifetimes, resource?.ttl, 0)",
    by: "packages/core/test/Heartbeat.test.ts"
  },
  {
    fault: "TTL: many renewals without bodies are encoded in one step",
    file: "packages/server/src/internal/ResponseWriter.ts",
    line: "if (response.resources.length + response.heartbeats.length < manyResources)",
    becomes: "if (response.resources.length < manyResources)",
    by: "packages/server/test/ResponseWriter.test.ts"
  },
  {
    fault: "a directory that two groups have a link to belongs to one of them",
    file: "packages/transport-filesystem/src/internal/DirectoryListing.ts",
    line: "depth === 0 ? new Set([identity]) : visited",
    becomes: "visited",
    by: "packages/transport-filesystem/test/ResourceDirectory.test.ts"
  },
  {
    fault: "a link in a circle back to the root is followed",
    file: "packages/transport-filesystem/src/internal/DirectoryListing.ts",
    line: "depth === 0 ? new Set([identity]) : visited",
    becomes: "depth === 0 ? new Set() : visited",
    by: "packages/transport-filesystem/test/ResourceDirectory.test.ts"
  },
  {
    fault: "`..` in a path leads out of the link before it, not out of where that leads",
    file: "packages/transport-filesystem/src/internal/PathLookup.ts",
    line: "directory = dirname(await realpath(directory))",
    becomes: "directory = dirname(directory)",
    by: "packages/transport-filesystem/test/ResponseFile.test.ts"
  },
  {
    fault: "every file of a directory is told of each change in it",
    file: "packages/transport-filesystem/src/internal/EntryWatch.ts",
    line: "name === undefined ? tellAll(directory) : tell(listeners.get(directory)?.get(name))",
    becomes: "tellAll(directory)",
    by: "packages/transport-filesystem/test/EntryWatch.test.ts"
  },
  {
    fault: "a directory is watched although none of its files is read any more",
    file: "packages/transport-filesystem/src/internal/EntryWatch.ts",
    line: "      watch.remove(directory)\n",
    becomes: "",
    by: "packages/transport-filesystem/test/EntryWatch.test.ts"
  },
  {
    fault: "of several files, only the one that sees that its directory is another one looks again",
    file: "packages/transport-filesystem/src/internal/EntryWatch.ts",
    line: "if (isNew) tellAll(directory)",
    becomes: "",
    by: "packages/transport-filesystem/test/EntryWatch.test.ts"
  },
  {
    fault: "the place of a mistake in protobuf text: a quote behind a backslash ends the string",
    file: "packages/transport-filesystem/src/internal/ProtobufText.ts",
    line: 'const token = /"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"?|',
    becomes: 'const token = /"[^"]*"?|',
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "a file client's answer counts for the last response of its type only",
    file: "packages/transport-filesystem/src/internal/FileClientStream.ts",
    line: "      unanswered.set(nonce, file)\n",
    becomes: "      unanswered.clear()\n      unanswered.set(nonce, file)\n",
    by: "packages/transport-filesystem/test/FileClient.test.ts"
  },
  {
    fault: "a request with the nonce of a response that was answered is no new one",
    file: "packages/transport-filesystem/src/internal/FileClientStream.ts",
    line: "      unanswered.delete(nonce)\n      if (nonce === responseNonce) break\n",
    becomes: "      if (nonce === responseNonce) break\n      unanswered.delete(nonce)\n",
    by: "packages/transport-filesystem/test/FileClient.test.ts"
  },
  {
    fault: "a request for a virtual host waits on when the scope of the hosts closes",
    file: "packages/client/src/internal/HostDriver.ts",
    line: "    for (const answer of waiting) answer(unavailable(reason))\n",
    becomes: "",
    by: "packages/client/test/virtualHosts.test.ts"
  },
  {
    fault: "a request for a virtual host after the scope of the hosts closed waits for ever",
    file: "packages/client/src/internal/HostDriver.ts",
    line: "    if (this.closed !== undefined) return onOutcome(unavailable(this.closed))\n",
    becomes: "",
    by: "packages/client/test/virtualHosts.test.ts"
  },
  {
    fault: "a request of scoped routes waits on when their scope closes",
    file: "packages/client/src/internal/ScopeDriver.ts",
    line: "    for (const answer of waiting) answer(unavailable(reason), undefined)\n",
    becomes: "",
    by: "packages/client/test/scopedRoutes.test.ts"
  },
  {
    fault: "a watch waits on when the scope of the client closes",
    file: "packages/client/src/internal/Driver.ts",
    line: "    for (const { end } of this.watchers.values()) end()\n",
    becomes: "",
    by: "packages/client/test/XdsClient.test.ts"
  },
  {
    fault: "a watch that begins after the scope of the client closed waits for ever",
    file: "packages/client/src/internal/Driver.ts",
    line: "if (this.closed) watcher.end()",
    becomes: "if (this.closed) watcher.busy",
    by: "packages/client/test/XdsClient.test.ts"
  },
  {
    fault: "a group is served without a file that was replaced while it was first read",
    file: "packages/transport-filesystem/src/internal/ResourceIndex.ts",
    line: "  for (const path of change.unread) if (!files.has(path)) files.set(path, never)\n",
    becomes: "",
    by: "packages/transport-filesystem/test/ResourceIndex.test.ts"
  },
  {
    fault: "a group waits for ever for a file that was removed while it was first read",
    file: "packages/transport-filesystem/src/ResourceDirectory.ts",
    line: '          seen.set(file, { group, hash: "", signature: undefined })\n          return "Unread"',
    becomes: '          return "Unread"',
    by: "packages/transport-filesystem/test/ChangingFile.test.ts"
  },
  {
    fault: "a file that was replaced while it was first read counts as accepted",
    file: "packages/transport-filesystem/src/internal/WatchedFile.ts",
    line: "isMissing || !latest.get(path)",
    becomes: "isMissing",
    by: "packages/transport-filesystem/test/ChangingFile.test.ts"
  },
  {
    fault: "a response that a test sends before it accepts the stream is never delivered",
    file: "packages/testing/src/memory/ScriptedServer.ts",
    line: "        handler.onOpen()\n        deliver()\n",
    becomes: "        handler.onOpen()\n",
    by: "packages/testing/test/ByHand.test.ts"
  },
  {
    fault: "a stream that its client ended gives no response, and does not say so",
    file: "packages/testing/src/memory/MemoryClient.ts",
    line: '        over(Status.make("CANCELLED", reason))\n',
    becomes: "",
    by: "packages/testing/test/ByHand.test.ts"
  },
  {
    fault: "a proxy ends both sides when one has said that it ends",
    file: "packages/testing/src/network/TcpProxy.ts",
    line: "inOrder.add(() => into.end())",
    becomes: "into.destroy()",
    by: "packages/testing/test/ByHand.test.ts"
  },
  {
    fault: "what is seen instead may not throw: the wait has no end",
    file: "packages/testing/src/Waiting.ts",
    line: "  return `seen: ${wordsOf(seen())}`\n      } catch (error) {",
    becomes: "  return `seen: ${wordsOf(seen())}`\n      } catch (error) {\n        throw error",
    by: "packages/testing/test/Waiting.test.ts"
  },
  {
    fault: "a wait without a limit ends at once",
    file: "packages/testing/src/Waiting.ts",
    line: "      if (milliseconds > longest) return\n",
    becomes: "",
    by: "packages/testing/test/Waiting.test.ts"
  },
  {
    fault: "a number of runs that is none runs nothing, and passes",
    file: "packages/testing/src/vitest.ts",
    line: "Number.isSafeInteger(number) && number >= least",
    becomes: "number !== least - 1",
    by: "packages/testing/test/sim.test.ts"
  },
  {
    fault: "an endless loop in simulated time lets nobody have a turn",
    file: "packages/testing/src/simulation/SimulatedTime.ts",
    line: "Math.min(machine.steps + stepsAtOnce, grace?.steps ?? limits.steps)",
    becomes: "grace?.steps ?? limits.steps",
    by: "packages/testing/test/SimulatedTime.test.ts"
  },
  {
    fault: "a recording lacks the errors in place of resources",
    file: "packages/testing/src/simulation/Recording.ts",
    line: "  ...(error && { error })\n",
    becomes: "",
    by: "packages/testing/test/Recording.test.ts"
  },
  {
    fault: "a certificate that does not fit its key replaces one that does",
    file: "packages/connect-xds/src/internal/Secrets.ts",
    line: "          if (fault !== undefined) return Effect.fail({ message: `${source}: ${fault}` })\n",
    becomes: "",
    by: "packages/connect-xds/test/tls.test.ts"
  },
  {
    fault: "each connection with TLS has a context of its own",
    file: "packages/connect-xds/src/internal/Secrets.ts",
    line: "              roots.contexts.set(tls.identity, { identity, context })\n",
    becomes: "",
    by: "packages/connect-xds/test/tls.test.ts"
  },
  {
    fault: "addresses of certificates are compared in the form in which Node gives them",
    file: "packages/connect-xds/src/internal/UpstreamTls.ts",
    line: 'kind === "IP Address" ? shortAddress(text) : text',
    becomes: "text",
    by: "packages/connect-xds/test/certificateNames.test.ts"
  },
  {
    fault: "a directory's name in a certificate is one of the server",
    file: "packages/connect-xds/src/internal/UpstreamTls.ts",
    line: "    if (!isKind(kind)) continue\n",
    becomes: "    if (kind === undefined) continue\n",
    by: "packages/connect-xds/test/certificateNames.test.ts"
  },
  {
    fault: "a dot at the end of a name in a certificate counts",
    file: "packages/connect-xds/src/internal/UpstreamTls.ts",
    line: 'name.toLowerCase().replace(/\\.$/, "")',
    becomes: "name.toLowerCase()",
    by: "packages/connect-xds/test/certificateNames.test.ts"
  },
  {
    fault: "a ring of minimum size 0 has no entries",
    file: "packages/routing/src/PolicyRegistry.ts",
    line: "min === undefined || min === 0 ? 1_024 : min",
    becomes: "min ?? 1_024",
    by: "packages/routing/test/resources.vectors.test.ts"
  },
  {
    fault: "a ring may have a size that is no whole number",
    file: "packages/routing/src/PolicyRegistry.ts",
    line: "!Number.isSafeInteger(size) || size < 0",
    becomes: "size > maxRing",
    by: "packages/routing/test/resources.vectors.test.ts"
  },
  {
    fault: "a reader of domains may give what is no text",
    file: "packages/client/src/internal/HostDriver.ts",
    line: "domains = textsOf(this.types.domainsOf(value))",
    becomes: "domains = this.types.domainsOf(value)",
    by: "packages/client/test/virtualHosts.test.ts"
  },
  {
    fault: "a request without a host ends the requests of all others",
    file: "packages/client/src/internal/HostDriver.ts",
    line: '    if (typeof host !== "string") return onOutcome({ _tag: "NotFound" })\n',
    becomes: "",
    by: "packages/client/test/virtualHosts.test.ts"
  },
  {
    fault: "a route configuration that was rejected is waited for, and nobody is told why",
    file: "packages/client/src/internal/HostDriver.ts",
    line: "if (isFinal(error)) this.unusable(error.message)\n      else ",
    becomes: "",
    by: "packages/client/test/virtualHosts.test.ts"
  },
  {
    fault: "why a route configuration has not come is not said",
    file: "packages/core/src/client/VirtualHosts.ts",
    line: "    this.why = reason\n",
    becomes: "",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "a route configuration that is not there any more is used on",
    file: "packages/core/src/client/VirtualHosts.ts",
    line: "    this.exchange(undefined, [])\n",
    becomes: "",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "a virtual host of which none is held any more is used on",
    file: "packages/core/src/client/VirtualHosts.ts",
    line: '    if (entry?.status !== "present") return\n    this.detach(name, entry)\n',
    becomes: '    if (entry?.status !== "present") return\n',
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "calls: one that is made after its channel was closed waits for ever",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: '    if (this.isClosed) {\n      caller.onEnd(Status.unavailable("Resource", "the channel was closed"))\n      return id\n    }\n',
    becomes: "",
    by: "packages/connect-xds/test/transport.test.ts"
  },
  {
    fault: "calls: one that is cut by the end of its channel sits out its pause before it ends",
    file: "packages/connect-xds/src/internal/Call.ts",
    line: "if (this.isOver || isCommitted || this.ended !== undefined || selected",
    becomes: "if (this.isOver || isCommitted || this.wasGivenUp || selected",
    by: "packages/connect-xds/test/transport.test.ts"
  },
  {
    fault: "calls: one that is picked in the step in which its connection is drained is lost",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: "if (link === undefined) return this.retry(id, undefined)",
    becomes: "if (link === undefined) return",
    by: "packages/connect-xds/test/ChannelDriver.test.ts"
  },
  {
    fault: "calls: one that throws where it is placed is never told",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: 'if (input._tag === "Call" || input._tag === "Retry") this.failCall(input.id, error)\n          else thrown',
    becomes: "thrown",
    by: "packages/connect-xds/test/ChannelDriver.test.ts"
  },
  {
    fault: "a matcher of a header that no header can be called throws",
    file: "packages/routing/src/CallHeaders.ts",
    line: "  } catch {\n",
    becomes: "  } catch (cause) {\n    if (cause instanceof TypeError) throw cause\n",
    by: "packages/routing/test/routeTable.vectors.test.ts"
  },
  {
    fault: "the cookie of sessions may have a name that no header can say",
    file: "packages/routing/src/StatefulSession.ts",
    line: "else if (!ProbeHeaders.isName(name)) {",
    becomes: "else if (name === undefined) {",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "the cookie of sessions may have a path that no header can say",
    file: "packages/routing/src/StatefulSession.ts",
    line: "  if (!isPath(cookie.path)) {",
    becomes: "  if (!isPath(name)) {",
    by: "packages/routing/test/sessions.test.ts"
  },
  {
    fault: "calls: what a caller aborts with ends the process, where it has no words",
    file: "packages/connect-xds/src/internal/Call.ts",
    line: "this.give(ConnectErrors.of(reason, Code.Canceled))",
    becomes: "this.give(ConnectError.from(reason, Code.Canceled))",
    by: "packages/connect-xds/test/transport.test.ts"
  },
  {
    fault: "calls: what the body of a request fails with ends the process, where it has no words",
    file: "packages/connect-xds/src/internal/ConnectErrors.ts",
    line: "    return new ConnectError(Reason.of(cause), code, undefined, undefined, cause)",
    becomes: "    throw new ConnectError(String(cause), code, undefined, undefined, cause)",
    by: "packages/connect-xds/test/transport.test.ts"
  },
  {
    fault: "calls: an address that two clusters disagreed about is connected to after a backoff when they agree",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: "message, isHeld: true })",
    becomes: "message, isHeld: false })",
    by: "packages/connect-xds/test/ChannelDriver.test.ts"
  },
  {
    fault: "calls: an address that nothing said how to connect to is forgotten",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: '      this.give({ _tag: "Connection", address, state: "CONNECTING", message: "" })\n      this.connect(address)\n',
    becomes: "      this.stranded.delete(address)\n",
    by: "packages/connect-xds/test/ChannelDriver.test.ts"
  },
  {
    fault: "calls: without a listener it is forgotten how the endpoints of calls that wait are connected to",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: '    if (this.channel.told?._tag !== "Config") return\n    const owners',
    becomes: "    const owners",
    by: "packages/connect-xds/test/ChannelDriver.test.ts"
  },
  {
    fault: "calls: a connection that is to be made in another way meanwhile has failed",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: "if (link.readySince === undefined) this.connect(address)\n      else this",
    becomes: "this",
    by: "packages/connect-xds/test/ChannelDriver.test.ts"
  },
  {
    fault: "calls: a server that closes each connection is connected to without end",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: "connection.hasAnswered || this.options.environment.now() - readySince >= briefly",
    becomes: "readySince !== never",
    by: "packages/connect-xds/test/ChannelDriver.test.ts"
  },
  {
    fault: "calls: a connection that answered and was lost soon has failed",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: "const wasOfUse = connection.hasAnswered || ",
    becomes: "const wasOfUse = ",
    by: "packages/connect-xds/test/ChannelDriver.test.ts"
  },
  {
    fault: "pick_first connects without end to a server that closes each connection",
    file: "packages/routing/src/policy/PickFirst.ts",
    line: "if (message === undefined || losses < 2) {",
    becomes: "if (message === undefined || losses < 2_000) {",
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "pick_first: a connection of use does not end the backoff of those that were of none",
    file: "packages/routing/src/policy/PickFirst.ts",
    line: "const losses = message === undefined ? 0 : attempt.losses + 1",
    becomes: "const losses = message === undefined ? attempt.losses : attempt.losses + 1",
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "pick_first keeps an address that is held when another is READY",
    file: "packages/routing/src/policy/PickFirst.ts",
    line: 'each.state === "Connecting" || each.state === "Held" ||',
    becomes: 'each.state === "Connecting" ||',
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "pick_first does not go on to the next address where the first is held",
    file: "packages/routing/src/policy/PickFirst.ts",
    line: "    const [advanced, connects] = advance(held, context)\n",
    becomes: "    const [advanced, connects] = [held, nothing]\n",
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "calls: each time that an interceptor passes a call on it has the whole deadline again",
    file: "packages/connect-xds/src/internal/Calls.ts",
    line: "timeout: of?.remaining() ?? values.get(timeout)",
    becomes: "timeout: values.get(timeout)",
    by: "packages/connect-xds/test/transport.test.ts"
  },
  {
    fault: "calls: interceptors are not told that the deadline has come",
    file: "packages/connect-xds/src/internal/Deadline.ts",
    line: "this.stopTimer = environment.after(timeout, () => this.come())",
    becomes: "this.stopTimer = () => undefined",
    by: "packages/connect-xds/test/transport.test.ts"
  },
  {
    fault: "calls: a deadline that comes while a call is under way does not say what was waited for",
    file: "packages/connect-xds/src/internal/Call.ts",
    line: "if (deadline !== undefined) deadline.says = () => this.late(deadline.timeout)",
    becomes: "",
    by: "packages/connect-xds/test/transport.test.ts"
  },
  {
    fault: "a prober that throws stops the checks of all hosts of its cluster",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: "const asked = Effect.suspend(() =>",
    becomes: "const asked = ((ask: () => Effect.Effect<HealthCheck.Result>) => ask())(() =>",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "a resolver that throws is never asked again",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: "Effect.suspend(() => this.needs.resolver.resolve(name, family)).pipe(",
    becomes: "this.needs.resolver.resolve(name, family).pipe(",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a resolver whose answer is no list of addresses is never asked again",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: '      Effect.filterOrDieMessage(areAnswers, "the resolver gave no list of IP addresses"),\n',
    becomes: "",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a watch of assignments that throws as it begins takes the watch of its cluster with it",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: "Stream.runForEach(Stream.suspend(watch), (event)",
    becomes: "Stream.runForEach(watch(), (event)",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "the assignment that a type wants is anything",
    file: "packages/discovery/src/ClusterType.ts",
    line: "if (assignment !== undefined && !isAssignment(assignment)) {",
    becomes: "if (false) {",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "the clusters that a type names are anything",
    file: "packages/discovery/src/ClusterType.ts",
    line: "if (clusters !== undefined && !isNames(clusters)) return",
    becomes: "if (false) return",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "what a type picks is anything",
    file: "packages/discovery/src/ClusterType.ts",
    line: '                Either.filterOrLeft(isPick, () => "pick gave no address"),\n',
    becomes: "",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "a cluster update forgets that the cluster had traffic",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: "      hasTraffic: this.hasTraffic,\n",
    becomes: "",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "the set that is warmed is not told of traffic",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: "for (const work of this.work.values()) this.checking(work, (checker) => checker.trafficSeen)",
    becomes: "this.checking(this.workInUse(), (checker) => checker.trafficSeen)",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a call that was answered over an older connection is no traffic",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: '    if (!this.hasTraffic && outcome._tag === "Response") this.trafficSeen()\n',
    becomes: "",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a leaf that panics takes all calls of an aggregate",
    file: "packages/discovery/src/AggregateLeaves.ts",
    line: "return own + rest >= 100 || (own === 0 && rest > 0)",
    becomes: "return false",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "an aggregate serves with the panic of a leaf while others are well",
    file: "packages/discovery-node/src/Members.ts",
    line: "total === 100 ? leaf?.calm : leaf",
    becomes: "leaf",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "policies are not told who is well in a leaf that panics",
    file: "packages/discovery-node/src/Members.ts",
    line: "calm: this.calm === this ? undefined : this.calm.assignment",
    becomes: "calm: undefined",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "a leaf of an aggregate is called in panic while others are well",
    file: "packages/routing/src/policy/Cds.ts",
    line: "isCalm: AggregateLeaves.isCalm(totals, at)",
    becomes: "isCalm: false",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "a leaf without endpoints counts as well",
    file: "packages/routing/src/policy/Cds.ts",
    line: "assignment?.health?.total ?? 0",
    becomes: "assignment?.health?.total ?? 100",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "weights of localities count in a cluster that does not say so",
    file: "packages/discovery-node/src/Members.ts",
    line: "rule?.isWeighted === true",
    becomes: "rule !== undefined",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "weights of localities do not count for the policies of load_balancing_policy",
    file: "packages/discovery/src/LocalityRule.ts",
    line: "const ofOthers: LocalityRule = { isWeighted: true,",
    becomes: "const ofOthers: LocalityRule = { isWeighted: false,",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "a locality that is there twice has the weight of whichever of its hosts is well",
    file: "packages/discovery/src/Assignment.ts",
    line: "weights.get(placeOf(group)) ?? 0",
    becomes: "group.loadBalancingWeight ?? 0",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "localities of other priorities share a weight",
    file: "packages/discovery/src/Assignment.ts",
    line: "`${priority} ${locality",
    becomes: "`${priority * 0} ${locality",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "a host that is listed no longer says what its locality weighs",
    file: "packages/discovery-node/src/Members.ts",
    line: "if (isListed || list?.weights",
    becomes: "if (list?.weights",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a resource that is to be told again when it comes again is not",
    file: "packages/core/src/client/CacheUpdate.ts",
    line: "      if (isTold) changes.tell(name, entry, updatedOf(entry.held))\n",
    becomes: "",
    by: "packages/core/test/client/Client.test.ts"
  },
  {
    fault: "it is not told again where its place in a large response is known",
    file: "packages/core/src/client/CacheUpdate.ts",
    line: " && !held.isToldAgain",
    becomes: "",
    by: "packages/core/test/client/Client.test.ts"
  },
  {
    fault: "it is not told again with a new version or TTL",
    file: "packages/core/src/client/CacheUpdate.ts",
    line: "if (isTold) changes.tell(name, next, updatedOf(held))\n    else if",
    becomes: "if",
    by: "packages/core/test/client/Client.test.ts"
  },
  {
    fault: "a heartbeat tells a resource again",
    file: "packages/core/src/client/CacheUpdate.ts",
    line: "entry.held.isToldAgain && !isHeartbeat",
    becomes: "entry.held.isToldAgain",
    by: "packages/core/test/client/Client.test.ts"
  },
  {
    fault: "a resource is told again whatever its type says",
    file: "packages/core/src/client/Decoding.ts",
    line: "decoder.tellsAgain?.(result.right) === true",
    becomes: "decoder.tellsAgain !== undefined",
    by: "packages/core/test/client/Client.test.ts"
  },
  {
    fault: "a type that throws when it is asked what is told again takes the client with it",
    file: "packages/client/src/WatchableType.ts",
    line: "          } catch {\n            return false\n          }",
    becomes: "          } finally {\n          }",
    by: "packages/client/test/XdsClient.test.ts"
  },
  {
    fault: "an assignment that comes again, unchanged, goes stale",
    file: "packages/discovery-node/src/ClusterMembers.ts",
    line: "tellsAgain: ({ staleAfter }) => staleAfter !== undefined",
    becomes: "tellsAgain: () => false",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "a changed cluster takes an old assignment as new",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: "return now - this.received.at",
    becomes: "return 0",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "what comes later is as old as what came before",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: "if (isFirst && this.received",
    becomes: "if (this.received",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "an assignment that is stale already lists its hosts",
    file: "packages/discovery/src/ClusterType.ts",
    line: "return staleAfter <= age\n",
    becomes: "return staleAfter < age\n",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "by the rules of gRPC an assignment goes stale although it comes again",
    file: "packages/connect-xds/src/internal/ClusterResource.ts",
    line: "goesStale: message.policy?.endpointStaleAfter !== undefined",
    becomes: "goesStale: false",
    by: "packages/connect-xds/test/ClusterResource.test.ts"
  },
  {
    fault: "a secret of four to seven characters stays where it stands in a longer word",
    file: "packages/proto/src/internal/SecretSearch.ts",
    line: "  searched?.end()\n",
    becomes: "",
    by: "packages/proto/test/Redaction.test.ts"
  },
  {
    fault: "the beginning of a secret stays where a text is too long to be kept",
    file: "packages/proto/src/Redaction.ts",
    line: "const shown = patterns(kept(text))\n",
    becomes: "const shown = patterns(kept(text) + ending(text))\n",
    by: "packages/proto/test/Redaction.test.ts"
  },
  {
    fault: "the path of a fault over a group has a whole key, however long",
    file: "packages/validate/src/internal/group/Facts.ts",
    line: "`[${shownText(segment.key)}]`",
    becomes: "`[${JSON.stringify(segment.key)}]`",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "each fault of a virtual host tells the whole name of another, however long",
    file: "packages/validate/src/internal/group/Facts.ts",
    line: "name.length > mostQuoted ?",
    becomes: "name.length > 1_000_000 ?",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "one array of bytes of two types says of the second what it says of the first",
    file: "packages/validate/src/internal/group/FactsReader.ts",
    line: "return this.types.get(typeUrl)?.get(value)",
    becomes:
      "return Array.from(this.types.values(), (known) => known.get(value) ?? this.types.get(typeUrl)?.get(value))[0]",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a secret in a TypedStruct is none",
    file: "packages/proto/src/SensitiveFields.ts",
    line: "  else if (SensitiveTypes.isTypedStruct(name)) guarded(bytes, depth, found, () => ofTypedStruct(bytes, found))\n",
    becomes: "",
    by: "packages/proto/test/Redaction.test.ts"
  },
  {
    fault: "a secret in an Any in an Any is none",
    file: "packages/proto/src/SensitiveFields.ts",
    line: "  else if (name === SensitiveTypes.anyName) guarded(bytes, depth, found, () => ofAny(bytes, depth + 1, found))\n",
    becomes: "",
    by: "packages/proto/test/Redaction.test.ts"
  },
  {
    fault: "a secret in a TypedStruct is shown",
    file: "packages/proto/src/MessageRedaction.ts",
    line: "if (value !== undefined) self.value = ",
    becomes: "if (value !== undefined) ",
    by: "packages/proto/test/Redaction.test.ts"
  },
  {
    fault: "a secret in a TypedStruct of a type that is not known is none",
    file: "packages/proto/src/internal/TypedStruct.ts",
    line: "if (!SensitiveTypes.isKnown(name)) return everyText(json, replace, false)",
    becomes: 'if (!SensitiveTypes.isKnown(name)) return ofFields(json, replace, "")',
    by: "packages/proto/test/Redaction.test.ts"
  },
  {
    fault: "two listeners of one address in two network namespaces count as one",
    file: "packages/validate/src/internal/group/Addresses.ts",
    line: "[isUdp(self), namespace, ",
    becomes: "[isUdp(self), ",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "the zone of an address does not tell two listeners apart",
    file: "packages/validate/src/internal/group/Addresses.ts",
    line: "isIp(host) ? ipKey(host) : host",
    becomes: "isIp(host) ? bitsOf(host) : host",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "two listeners that do not bind may have one address with port 0",
    file: "packages/validate/src/internal/group/Addresses.ts",
    line: "if (port === 0 && isBound)",
    becomes: "if (port === 0)",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "an address that is no link's may have a zone with a name",
    file: "packages/validate/src/internal/group/Addresses.ts",
    line: " && isOfLink(text)",
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "alternatives of an expression count as instructions",
    file: "packages/re2/src/internal/Measure.ts",
    line: "if ((id !== root && isRoot[id] === 1) || (op !== alternative && op !== nothing)) size++",
    becomes: "size++",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "the text behind a ^ counts as instructions",
    file: "packages/re2/src/internal/Measure.ts",
    line: "at > 0 && root.subs[at]?.op === Syntax.literal",
    becomes: "at < -1",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "the text behind the begin of a line counts for nothing",
    file: "packages/re2/src/internal/Measure.ts",
    line: "op === Syntax.assertion && arg === Syntax.beginText",
    becomes: "op === Syntax.assertion && (arg & 5) !== 0",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "an expression beside what matches nothing has a size",
    file: "packages/re2/src/internal/Measure.ts",
    line: "isNever = isAny ? isNever && bounds.isNever : isNever || bounds.isNever",
    becomes: "isNever = isAny && isNever && bounds.isNever",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "ranges of characters count as one instruction",
    file: "packages/re2/src/internal/Measure.ts",
    line: "return set.length / 2 - (upper === lower ? ofUpper : 0)",
    becomes: "return Math.min(1, set.length)",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "the size that a matcher allows is not asked",
    file: "packages/validate/src/internal/group/RegularExpressions.ts",
    line: "most ?? maxProgramSize",
    becomes: "maxProgramSize",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "an escape of more than a byte passes",
    file: "packages/re2/src/internal/Syntax.ts",
    line: "if (digit < 0 || character > this.alphabet.largest) throw wrong()",
    becomes: "if (digit < 0) throw wrong()",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "what stands in \\Q and \\E counts as an escape",
    file: "packages/re2/src/internal/Syntax.ts",
    line: "while (this.#at < end) this.#literal(this.#next())",
    becomes: 'while (this.#at < end) this.#literal(pattern[this.#at] === "\\\\" ? this.#character() : this.#next())',
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "expressions are read as characters, and not as bytes",
    file: "packages/validate/src/internal/group/RegularExpressions.ts",
    line: "reader.readInSteps(inBytes(regex))",
    becomes: "reader.readInSteps(regex)",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "expressions of xds matchers are not read",
    file: "packages/validate/src/internal/group/RegularExpressions.ts",
    line: "check(regex, Infinity, site)",
    becomes: 'check("", Infinity, site)',
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "what is in typed metadata must be as its type wants it",
    file: "packages/validate/src/internal/Unopened.ts",
    line: "isProperties(all) ? Object.values(all) : []",
    becomes: "[]",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "policies of load balancing behind the first one are opened",
    file: "packages/validate/src/internal/Unopened.ts",
    line: "index !== first",
    becomes: "index < first",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "the first policy of load balancing is not opened",
    file: "packages/validate/src/internal/Unopened.ts",
    line: "index !== first",
    becomes: "index >= 0",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "an optional filter that is none is opened",
    file: "packages/validate/src/internal/Unopened.ts",
    line: " ? [any] : []",
    becomes: " ? [] : []",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "an optional filter is not opened",
    file: "packages/validate/src/internal/Unopened.ts",
    line: "isOptional === true && !ExtensionTypes.isOf(typeUrlOf(any), ExtensionTypes.httpFilters) ?",
    becomes: "isOptional === true ?",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a filter that is off on a route is opened",
    file: "packages/validate/src/internal/Unopened.ts",
    line: "disabled === true || isLeftOut",
    becomes: "isLeftOut",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "of a large resource what Envoy never opens is opened",
    file: "packages/validate/src/internal/group/Reading.ts",
    line: "    const { fields, oneofs, reading, unopened } = this.planOf(type)\n    site.depth++\n    if (unopened !== undefined) Unopened.note(message, unopened, site)\n",
    becomes: "    const { fields, oneofs, reading } = this.planOf(type)\n    site.depth++\n",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a change that is only tried loses a resource that it removes and puts",
    file: "packages/validate/src/GroupIndex.ts",
    line: "if (!before.has(key)) before",
    becomes: "before",
    by: "packages/validate/test/GroupIndex.test.ts"
  },
  {
    fault: "network filters that come by discovery must be of types of the API",
    file: "packages/validate/src/internal/group/Extensions.ts",
    line: "if (prefixes === networkFilters) return",
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "discovery may name types of another kind",
    file: "packages/validate/src/internal/group/Extensions.ts",
    line: "} else if (!ExtensionTypes.isOf(typeUrl, prefixes)) {",
    becomes: '} else if (typeUrl === "") {',
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "the default of a discovered filter may be of another type",
    file: "packages/validate/src/internal/group/Extensions.ts",
    line: "  ofDefault(site, self)\n",
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "an optional filter that comes by discovery may be of any type",
    file: "packages/validate/src/internal/group/Extensions.ts",
    line: ' || self.configType.case === "configDiscovery"',
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "times are compared more exactly than Envoy does",
    file: "packages/validate/src/internal/group/Durations.ts",
    line: "seconds * 1000n + BigInt(Math.trunc(nanos / 1_000_000))",
    becomes: "seconds * 1_000_000_000n + BigInt(nanos)",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a first interval of less than two milliseconds is compared",
    file: "packages/validate/src/internal/group/Routes.ts",
    line: " && base > 1n",
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "letters that are not ASCII are compared without their case",
    file: "packages/validate/src/internal/group/AsciiText.ts",
    line: "text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())",
    becomes: "text.toLowerCase()",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a mirror that no route uses must be there",
    file: "packages/validate/src/internal/group/Routes.ts",
    line: "const isChecked = isUsed && ",
    becomes: "const isChecked = ",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a mirror of a table counts for virtual hosts that have their own",
    file: "packages/validate/src/internal/group/Routes.ts",
    line: "requestMirrorPolicies.length === 0 && routes.some(isMirroredByHost)",
    becomes: "routes.some(isMirroredByHost)",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "routes that forward nothing use no mirror",
    file: "packages/validate/src/internal/group/Routes.ts",
    line: 'action.case !== "route" || action.value',
    becomes: 'action.case === "route" && action.value',
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "the cluster of a route in a matcher must be there",
    file: "packages/validate/src/internal/group/Routes.ts",
    line: " && !isInMatcher",
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a direct response of a virtual host by VHDS is held to the default of its table",
    file: "packages/validate/src/internal/group/Routes.ts",
    line: 'if (self.action.case !== "directResponse" || table === undefined) return\n  const most = table.max',
    becomes: 'if (self.action.case !== "directResponse") return\n  const most = table?.max',
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "trusted addresses for x-forwarded-for must be addresses",
    file: "packages/validate/src/internal/group/Addresses.ts",
    line: " && site.inside(xffName) === undefined",
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a plain socket counts as one with ALPN",
    file: "packages/validate/src/internal/group/Sockets.ts",
    line: "  `${prefix}raw_buffer.v3.RawBuffer`,\n",
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "sockets of matches are not asked for ALPN",
    file: "packages/validate/src/internal/group/Clusters.ts",
    line: "[cluster.transportSocket, ...cluster.transportSocketMatches.map((each) => each.transportSocket)]",
    becomes: "[cluster.transportSocket]",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "gRPC health checks may be in a cluster that speaks as its clients do, without HTTP/2",
    file: "packages/validate/src/internal/group/Clusters.ts",
    line: 'kind === "useDownstreamProtocolConfig" && value.http2ProtocolOptions === undefined',
    becomes: "kind === undefined",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "the socket of a match may be one of servers",
    file: "packages/validate/src/internal/group/Clusters.ts",
    line: "    else ofSocket(site, transportSocket, path)\n",
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a match may have no socket",
    file: "packages/validate/src/internal/group/Clusters.ts",
    line: 'if (transportSocket === undefined) site.fault("typed-config", "must be set", path)',
    becomes: "if (transportSocket === undefined) continue",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "buckets of descriptors are not looked at",
    file: "packages/validate/src/internal/group/HttpManagers.ts",
    line: '  for (const [index, each] of descriptors.entries()) ofBucket(site, each.tokenBucket, ["descriptors", index])\n',
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a setting of HTTP/2 may be there by name and by number",
    file: "packages/validate/src/internal/group/HttpManagers.ts",
    line: "if (named.get(identifier) !== undefined)",
    becomes: "if (identifier < 0)",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "server push may be switched on",
    file: "packages/validate/src/internal/group/HttpManagers.ts",
    line: "identifier === push && value === 1",
    becomes: "identifier === push && value === 0",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "CONNECT may be set by its number",
    file: "packages/validate/src/internal/group/HttpManagers.ts",
    line: "if (identifier === connect)",
    becomes: "if (identifier < 0)",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "extra source addresses are not looked at",
    file: "packages/validate/src/internal/group/Addresses.ts",
    line: '      checkNumeric(site, address, ["extra_source_addresses", index], "address")\n',
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "addresses of health checks are looked at where names are looked up",
    file: "packages/validate/src/internal/group/Endpoints.ts",
    line: "checked !== undefined && !isDns(discovery)",
    becomes: "checked !== undefined",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "addresses of health checks are not looked at",
    file: "packages/validate/src/internal/group/Endpoints.ts",
    line: '    Addresses.check(site, checked, ["endpoint", "health_check_config", "address"])\n',
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "resolvers of clusters that look nothing up are looked at",
    file: "packages/validate/src/internal/group/Endpoints.ts",
    line: "cluster === undefined || !isDns(Clusters.discoveryOf(cluster))",
    becomes: "cluster === undefined",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "the configuration of a filter on a route may be missing",
    file: "packages/validate/src/internal/group/Routes.ts",
    line: 'if (config === undefined) site.fault("typed-config", "must be set", ["config"])',
    becomes: "if (config === undefined) return",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "the configuration of a filter on a route may be of any type",
    file: "packages/validate/src/internal/group/Routes.ts",
    line: "  else if (!isOptional)\n",
    becomes: '  else if (config.typeUrl === "")\n',
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "who looks at bytes alone opens typed metadata",
    file: "packages/validate/src/internal/EncodedRules.ts",
    line: "if (name === Unopened.fields.never)",
    becomes: 'if (name === "")',
    by: "packages/validate/test/encodedRules.test.ts"
  },
  {
    fault: "a driver that does not take requests in parts answers none of more than 512 names",
    file: "packages/core/src/server/ServerStream.ts",
    line: "  if (self.partialRequest === undefined) return taken\n",
    becomes: "  if (now >= 0) return taken\n",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "the server's end waits for a stream of revocations that does not end",
    file: "packages/server/src/XdsServer.ts",
    line: "        Effect.disconnect,\n",
    becomes: "",
    by: "packages/server/test/revocations.test.ts"
  },
  {
    fault: "the right to write stays taken where the file is busy when its holder ends",
    file: "packages/store-sql/src/SqlStore.ts",
    line: "          insisting(now + givingBack),\n",
    becomes: "",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "nobody hears that the right to write was not given back",
    file: "packages/store-sql/src/SqlStore.ts",
    line: "            Effect.logWarning(\n",
    becomes: "            Effect.logDebug(\n",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "a snapshot's property that does not exist is dropped silently",
    file: "packages/server/src/snapshot/Encoding.ts",
    line: "  if (malformed !== undefined) return Exit.fail(malformed)\n",
    becomes: "",
    by: "packages/server/test/Snapshot.test.ts"
  },
  {
    fault: "a string in the place of a list removes what its characters name",
    file: "packages/server/src/SnapshotStore.ts",
    line: "            if (malformed !== undefined) return Either.left(malformed)\n",
    becomes: "",
    by: "packages/server/test/SnapshotStore.test.ts"
  },
  {
    fault: "what is to be removed from a store on SQL is dropped silently where its property does not exist",
    file: "packages/store-sql/src/SqlStore.ts",
    line: "              if (malformed !== undefined) return malformed\n",
    becomes: "",
    by: "packages/store-sql/test/sqlite.test.ts"
  },
  {
    fault: "the events of a server go on for ever when it has ended",
    file: "packages/server/src/XdsServer.ts",
    line: "        subscribers.end()\n",
    becomes: "",
    by: "packages/server/test/Subscribers.test.ts"
  },
  {
    fault: "a subscriber of events does not hear that some were lost",
    file: "packages/server/src/internal/Subscribers.ts",
    line: '      if (lost > 0) events.push({ _tag: "Lost", count: lost })\n',
    becomes: "",
    by: "packages/server/test/Subscribers.test.ts"
  },
  {
    fault: "a subscriber of events that begins when the server has ended waits for ever",
    file: "packages/server/src/internal/Subscribers.ts",
    line: "latch: Effect.unsafeMakeLatch(ended)",
    becomes: "latch: Effect.unsafeMakeLatch()",
    by: "packages/server/test/Subscribers.test.ts"
  },
  {
    fault: "a page of a history that has no whole number of changes is a trouble of the database",
    file: "packages/store-sql/src/SqlStore.ts",
    line: "Math.min(Math.max(0, Math.floor(given)), most)",
    becomes: "given",
    by: "packages/store-sql/test/sqlite.test.ts"
  },
  {
    fault: "a revision that is no whole number is that before it, or a trouble of the database",
    file: "packages/store-sql/src/SqlStore.ts",
    line: "Number.isSafeInteger(revision) ? ",
    becomes: "revision > 0 ? ",
    by: "packages/store-sql/test/sqlite.test.ts"
  },
  {
    fault: "what is no port ends a server as a defect",
    file: "packages/transport-node/src/ListenAddress.ts",
    line: "      resume(Effect.fail(cause))\n    }\n",
    becomes: "      throw cause\n    }\n",
    by: "packages/transport-node/test/HttpListener.test.ts"
  },
  {
    fault: "a setting that is no number is said to be a number",
    file: "packages/server/src/internal/Settings.ts",
    line: 'value === null || typeof value === "number"',
    becomes: "value === null",
    by: "packages/server/test/functions.test.ts"
  },
  {
    fault: "client: the server of the default authority overwrites and removes resources of another under a wildcard",
    file: "client/Validation.ts",
    line: "(view.wildcard && Authority.isInWildcard(name)) || view.isNamed(name)",
    becomes: "view.wildcard || view.isNamed(name)",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: full state under a wildcard deletes the resources of other authorities",
    file: "client/ClientSubscription.ts",
    line: 'self.wildcard && Authority.isInWildcard(name) && !isLate("*")',
    becomes: 'self.wildcard && !isLate("*")',
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: it does not fall back for a wildcard if anything of an authority is held",
    file: "client/CachedType.ts",
    line: "if (isHeld(entry) && Authority.isInWildcard(name)) return true",
    becomes: "if (isHeld(entry)) return true",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: who watches everything is not told of an outage if names of an authority are watched, too",
    file: "client/ClientCache.ts",
    line: "isAnyCovered ||= Authority.isInWildcard(name)",
    becomes: "isAnyCovered = true",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault:
      "client, state of the world: a heartbeat without a version of its own does not renew what was unchanged in the last response",
    file: "client/ClientCache.ts",
    line: 'held.version === last.version || (last.version === last.accepted && status !== "Nacked")',
    becomes: "held.version === last.version",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client, state of the world: a heartbeat renews the copy that was in use before the server's was rejected",
    file: "client/ClientCache.ts",
    line: '(last.version === last.accepted && status !== "Nacked")',
    becomes: "last.version === last.accepted",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: a heartbeat renews a resource of another server, of which the version happens to be the same",
    file: "client/ClientCache.ts",
    line: "if (held?.server !== server) return false",
    becomes: "if (held === undefined) return false",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "VHDS client: a host without a body, and so without a virtual host, counts as renewed",
    file: "client/Validation.ts",
    line: "if (ttl === undefined && resource.aliases.includes(each)) this.#removed.push(each)",
    becomes:
      "if (ttl === undefined && resource.aliases.includes(each) && held?.version !== version) this.#removed.push(each)",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault:
      "client, state of the world: it quotes a version of which it gave resources up, and some servers send nothing then",
    file: "client/ClientSubscription.ts",
    line: 'const quoting = self.quoting === "Yes" ? "UntilSubscribed" : self.quoting',
    becomes: "const { quoting } = self",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client, state of the world: a new wildcard quotes the version of names",
    file: "client/ClientSubscription.ts",
    line: 'if (!HashSet.has(self.dropped, name)) quoting = "No"',
    becomes: "",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client, state of the world: it quotes a version of which a TTL took resources away",
    file: "client/Client.ts",
    line: 'for (const key of draft.streams.keys()) draft.drive(key, { _tag: "Lost", typeUrl })',
    becomes: "void typeUrl",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client, state of the world: what is not requested yet counts as part of an accepted version",
    file: "client/ClientSubscription.ts",
    line: 'if (HashSet.has(fresh, "*")) return quoting',
    becomes: "",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: a server that is listed twice is closed when it answers",
    file: "client/ServerList.ts",
    line: "given.filter(({ id }, rank) => given.findIndex((each) => each.id === id) === rank)",
    becomes: "given",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: the first request of a type on a stream in use names nothing that is held",
    file: "client/ClientDraft.ts",
    line: "const isServed = (name: string) => ClientSubscriptions.brings(asked, name)",
    becomes:
      "const before = ClientStream.subscription(to.stream, asked.typeUrl)\n      const isServed = (name: string) => before !== undefined && ClientSubscriptions.brings(before, name)",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: it stays with the fallback when the server of higher rank says that a resource does not exist",
    file: "client/Fallback.ts",
    line: "removed.some(isIn) || failed.some(isOfList)",
    becomes: "failed.some(isOfList)",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: it stays with the fallback when the server of higher rank has an error in place of a resource",
    file: "client/Fallback.ts",
    line: "removed.some(isIn) || failed.some(isOfList)",
    becomes: "removed.some(isIn)",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: it stays with the fallback when the full state of the server of higher rank is empty",
    file: "client/Fallback.ts",
    line: " || (isComplete && isWatched(draft, list, typeUrl))",
    becomes: "",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: full state for one authority is a return for another that watches none of the type",
    file: "client/Fallback.ts",
    line: "(isComplete && isWatched(draft, list, typeUrl))",
    becomes: "isComplete",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: a server that repeats what was rejected under new versions is answered as often",
    file: "client/ClientSubscription.ts",
    line: "(rejection.version === version || now < rejection.until)",
    becomes: "rejection.version === version",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: a new version with the same error is answered late, however long after",
    file: "client/ClientSubscription.ts",
    line: "(rejection.version === version || now < rejection.until)",
    becomes: "rejection.version !== undefined",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: a new version with the same error is not told",
    file: "client/ReceivedResponse.ts",
    line: "isRepeat: isRepeat && subscription.rejection?.version === version,",
    becomes: "isRepeat,",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "VHDS: the requested hosts are searched anew for each virtual host with a wildcard domain",
    file: "packages/core/src/server/AskedAliases.ts",
    line: "return this.#led === undefined && isOfManyHosts(this.self, resource)",
    becomes: "return isOfManyHosts(this.self, resource)",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "the members of a collection of another cluster, which an assignment begins to name, are not sent",
    file: "packages/core/src/server/LedsAfterEds.ts",
    line: "for (const glob of subscribed) if (!same.includes(glob)) again.push(glob)",
    becomes: "for (const glob of subscribed) if (requested.has(name)) again.push(glob)",
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault: "VHDS: a host that is missing is told in one response with its error, which clients do not accept",
    file: "packages/core/src/server/SentErrors.ts",
    line: "if (error === undefined || missing.has(name)) continue",
    becomes: "if (error === undefined) continue",
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault:
      "VHDS: a client that holds a host, and asks for it again, is told that it is missing while there is an error in its place",
    file: "packages/core/src/server/ResponseParts.ts",
    line: "const absent = yield* Steps.filter(part.absent, (name) => !kept.has(name))",
    becomes: "const { absent } = part",
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault: "VHDS: a virtual host with an error in its place is removed from clients that know it by its hosts",
    file: "packages/core/src/server/SentErrors.ts",
    line: "pendingRemovals.get(name)?.resource?.name ?? (cursor === undefined ? name : Cursor.nameAt(cursor, name))",
    becomes: "name",
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault: "VHDS: a virtual host that was kept in the place of an error is not removed when it is gone",
    file: "packages/core/src/server/SentErrors.ts",
    line: "      if (isAsked && isGone && name !== own) lost.push(own)\n",
    becomes: "",
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault: "VHDS: hosts that a stranger made to have one hash end the stream",
    file: "packages/core/src/server/StreamRequest.ts",
    line: 'request._tag === "Incremental" && ResourceType.isOf(typeUrl, ResourceType.VirtualHost)',
    becomes: 'request._tag === "Incremental" && typeUrl === ""',
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "VHDS: a host that the group has is refused because strangers made others with its hash",
    file: "packages/core/src/server/StreamRequest.ts",
    line: "return NameCollisions.surplus(names, undefined, (name) => ResourceSet.isOwned(set, name))",
    becomes: "return NameCollisions.surplus(names)",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "VHDS: hosts that are too many of one hash are answered again with each response",
    file: "packages/core/src/server/Sending.ts",
    line: "if (refused.length > 0) next.refused = Subscriptions.noList",
    becomes: "",
    by: "packages/core/test/LargeRequest.test.ts"
  },
  {
    fault: "the answer for a name that the group has, but not for this client, waits for a hook that is not called",
    file: "packages/server/src/internal/MissingResources.ts",
    line: "done({ group: group.name, typeUrl, name })",
    becomes: "",
    by: "packages/server/test/onDemand.test.ts"
  },
  {
    fault: "a virtual host whose own name has a slash is served: Envoy passes it over, and requests wait",
    file: "packages/server/src/internal/SourceName.ts",
    line: "return other === undefined\n      ? name",
    becomes: "return other === undefined || true\n      ? name",
    by: "packages/server/test/Snapshot.test.ts"
  },
  {
    fault: "a signal that comes while serve is loaded is lost",
    file: "packages/cli/src/Process.ts",
    line: "    end = isEndless ? () => started.end(0) : started.end",
    becomes: '    process.removeAllListeners("SIGTERM").on("SIGTERM", () => started.end(0))',
    by: "packages/cli/test/process.test.ts"
  },
  {
    fault: "output into a pipe is cut off",
    file: "packages/cli/src/Process.ts",
    line: 'new Promise((resolve) => stream.write("", () => resolve()))',
    becomes: 'Promise.resolve(stream.write("")).then(() => undefined)',
    by: "packages/cli/test/process.test.ts"
  },
  {
    fault: "a command whose reader stands still does not end when it is told to",
    file: "packages/cli/src/Process.ts",
    line: "    end = () => process.exit()\n",
    becomes: "    end = () => undefined\n",
    by: "packages/cli/test/process.test.ts"
  },
  {
    fault: "output that cannot be written is a success",
    file: "packages/cli/src/Process.ts",
    line: "  process.exit(3)",
    becomes: "  process.exit(0)",
    by: "packages/cli/test/process.test.ts"
  },
  {
    fault: "serve ends where nobody reads its log",
    file: "packages/cli/src/Process.ts",
    line: 'process.stderr.on("error", () => undefined)',
    becomes: 'process.stderr.on("error", () => process.exit())',
    by: "packages/cli/test/process.test.ts"
  },
  {
    fault: "a group whose name is a path is written outside of the directory of --files-out, and removes files there",
    file: "packages/cli/src/FilesOut.ts",
    line: "basename(group) === group &&\n",
    becomes: "basename(group) !== undefined &&\n",
    by: "packages/cli/test/FilesOut.test.ts"
  },
  {
    fault: "a group named .. is written into the directory above that of --files-out",
    file: "packages/cli/src/FilesOut.ts",
    line: '["", ".", ".."]',
    becomes: '["", "."]',
    by: "packages/cli/test/FilesOut.test.ts"
  },
  {
    fault: "an edit of a group that another process has changed serves a mixture of both",
    file: "packages/cli/src/DirectoryFeed.ts",
    line: "{ ifRevision: revisions.get(group) }",
    becomes: "{}",
    by: "packages/cli/test/DirectoryFeed.test.ts"
  },
  {
    fault: "the password of a URL that stands in the wrong place is in the error",
    file: "packages/cli/src/ErrorLine.ts",
    line: 'line.replaceAll(passwordOfUrl, "$1[redacted]@")',
    becomes: 'line.replaceAll(passwordOfUrl, "$&")',
    by: "packages/cli/test/program.test.ts"
  },
  {
    fault: "the URL of a store behind env: is repeated as the name of a variable that is not there",
    file: "packages/cli/src/commands/StoreOptions.ts",
    line: "env:[A-Za-z_]\\w*$",
    becomes: "env:\\w",
    by: "packages/cli/test/program.test.ts"
  },
  {
    fault: "a subdirectory that came and went takes the resources of all nodes until a restart",
    file: "packages/cli/src/DirectoryFeed.ts",
    line: "        known.delete(group)\n",
    becomes: "",
    by: "packages/cli/test/DirectoryFeed.test.ts"
  },
  {
    fault: "while a subdirectory is empty, its nodes are served the files beside it",
    file: "packages/cli/src/DirectoryFeed.ts",
    line: " || existsSync(join(directory.path, group))",
    becomes: "",
    by: "packages/cli/test/DirectoryFeed.test.ts"
  },
  {
    fault: "each change costs --files-out as much as there are groups",
    file: "packages/cli/src/FilesOut.ts",
    line: "Stream.fromQueue(states)",
    becomes: "Stream.filter(store.changes, (change) => change.group === group)",
    by: "packages/cli/test/FilesOut.test.ts"
  },
  {
    fault: "--allow-file is in force while it is empty, as one that is about to be written",
    file: "packages/cli/src/AllowList.ts",
    line: "next.isBlank && ",
    becomes: "!next && ",
    by: "packages/cli/test/AllowList.test.ts"
  },
  {
    fault: "half of --allow-file is in force while the other half is written",
    file: "packages/cli/src/AllowList.ts",
    line: "      yield* Effect.sleep(quiet)\n",
    becomes: "",
    by: "packages/cli/test/AllowList.test.ts"
  },
  {
    fault: "serve listens on every interface where the address is the value of an unset variable",
    file: "packages/cli/src/commands/serve.ts",
    line: 'text.trim() === "" ? undefined : text',
    becomes: "text",
    by: "packages/cli/test/program.test.ts"
  },
  {
    fault: "a policy's children are copied for each of them that says something while a config is carried out",
    file: "packages/routing/src/policy/PerEndpoint.ts",
    line: "return [{ ...self, failure, heard: List.prepend(self.heard, input) }, wake]",
    becomes: "return [{ ...self, failure, children: Children.record(self.children, List.of(input)) }, wake]",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "a tree copies the children of a node for each of them",
    file: "packages/routing/src/Tree.ts",
    line: "  else HashMap.set(node.children, name, slot)",
    becomes:
      "  else Object.assign(node, { children: HashMap.beginMutation(HashMap.fromIterable(new Map(node.children).set(name, slot))) })",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "all clusters are copied for each that a call holds",
    file: "packages/routing/src/XdsConfig.ts",
    line: "    if (clusters.has(cluster)) continue\n    const found = new Map<string, ClusterConfig>()\n",
    becomes: "    const found = new Map(clusters)\n",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "a leaf of an aggregate is given all its endpoints again when another one changes",
    file: "packages/routing/src/policy/Cds.ts",
    line: "if (self.given !== undefined && isSame(self.given, given)) return [self, nothing]",
    becomes: "",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "an aggregate does not see that one of its leaves changed",
    file: "packages/routing/src/policy/Cds.ts",
    line: "return { cluster, sessions, isCalm, loads, parts: [config, ...leaves] }",
    becomes: "return { cluster, sessions, isCalm, loads, parts: [config] }",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "index: a table with a hundred thousand references is settled in one turn",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "if (++looked % atOnce === 0) yield\n        if (this.#isThere(reference)) continue",
    becomes: "if (this.#isThere(reference)) continue"
  },
  {
    fault: "index: a resource that goes while it is settled is broken",
    file: "packages/validate/src/GroupIndex.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "// It may have gone meanwhile.\n      if (this.#held.get(entry) !== entry) continue",
    becomes: ""
  },
  {
    fault: "group rules: the domains of a table with a hundred thousand are compared in one step",
    file: "packages/validate/src/internal/group/Routes.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "if (++looked % atOnce === 0) yield\n      const key = AsciiText",
    becomes: "const key = AsciiText"
  },
  {
    fault: "group rules: the combinations of a filter chain lose what comes between its lists",
    file: "packages/validate/src/internal/group/FilterChainMatches.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "`${key}${between}\\0${each}`",
    becomes: "`${key}${each}`"
  },
  {
    fault: "group rules: the combinations of a filter chain lose what comes after its lists",
    file: "packages/validate/src/internal/group/FilterChainMatches.ts",
    by: "packages/validate/test/GroupIndex.test.ts",
    line: "keys.map((key) => key + between)",
    becomes: "keys"
  },
  {
    fault: "a leaf of an aggregate does not see that others can take its calls no more",
    file: "packages/routing/src/policy/Cds.ts",
    line: "  a.isCalm === b.isCalm &&\n",
    becomes: "",
    by: "packages/routing/test/stars.test.ts"
  },
  {
    fault: "addresses: an IPv6 address has a text for each spelling",
    file: "packages/discovery/src/IpAddress.ts",
    line: "return groups && textOf(groups)",
    becomes: "return groups && address.toLowerCase()",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "addresses: of gaps in an IPv6 address the last counts",
    file: "packages/discovery/src/IpAddress.ts",
    line: "if (to - from > Math.max(1, end - start))",
    becomes: "if (to - from > 1)",
    by: "packages/discovery/test/reading.test.ts"
  },
  {
    fault: "resolver: the system is asked for the family of a name that DNS has no address of",
    file: "packages/discovery-node/src/Resolver.ts",
    line: 'return code === "ENODATA" ?',
    becomes: 'return code === "ENOTFOUND" ?',
    by: "packages/discovery-node/test/resolver.test.ts"
  },
  {
    fault: "health checks: at the end connections close one after the other",
    file: "packages/discovery-node/src/HealthChecker.ts",
    line: '{ concurrency: "unbounded", discard: true }',
    becomes: "{ discard: true }",
    by: "packages/discovery-node/test/healthChecker.test.ts"
  },
  {
    fault: "members: a set that is to follow waits for no checks",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: 'hosts.warming._tag === "Checking" ? hosts.warming.unchecked : []',
    becomes: 'hosts.warming._tag === "Ready" ? [hosts.warming._tag] : []',
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "members: a type that picks has them in order anew for each call",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: "if (this.ordered?.members !== members) this.ordered",
    becomes: "this.ordered",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "members: a type that picks has those of its first call",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: "if (this.ordered?.members !== members) this.ordered",
    becomes: "if (this.ordered === undefined) this.ordered",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "without a first delay a client that fails for hours connects without a pause",
    file: "client/Backoff.ts",
    line: "initial === 0 ? 0 : Math.min(max, initial * factor ** failures)",
    becomes: "Math.min(max, initial * factor ** failures)",
    by: "packages/core/test/client/wire.test.ts"
  },
  {
    fault: "behind a message that was looked into, a scan goes on within that message",
    file: "packages/proto/src/FieldScan.ts",
    line: "    this.#at = end\n    this.#last = last",
    becomes: "    this.#last = last",
    by: "packages/proto/test/FieldScan.test.ts"
  },
  {
    fault: "a scan takes what stands behind a message for a part of it",
    file: "packages/proto/src/FieldScan.ts",
    line: "    this.#last = end\n",
    becomes: "",
    by: "packages/proto/test/FieldScan.test.ts"
  },
  {
    fault: "a change of two names forgets what the first one had",
    file: "resource/Before.ts",
    line: "        [this.name, this.resource],",
    becomes: "        [this.name, undefined],",
    by: "packages/core/test/Before.test.ts"
  },
  {
    fault: "regular expressions are simulated: one of a thousand instructions takes a third of a second",
    file: "packages/re2/src/RegularExpression.ts",
    line: "Automaton.make(programOf()) ?? searchOf()",
    becomes: "searchOf()",
    by: "packages/re2/test/regularExpression.test.ts"
  },
  {
    fault: "an automaton is made for each regular expression before there is a text",
    file: "packages/re2/src/RegularExpression.ts",
    line: "let program: Programs.Program | undefined\n",
    becomes: "let program: Programs.Program | undefined = Programs.make(root)\n",
    by: "packages/re2/test/regularExpression.test.ts"
  },
  {
    fault: "the states of a regular expression are kept without a bound",
    file: "packages/re2/src/internal/Automaton.ts",
    line: "if (bytes > this.#bytesLeft) return undefined",
    becomes: "if (bytes < 0) return undefined",
    by: "packages/re2/test/regularExpression.test.ts"
  },
  {
    fault: "the last of 32 positions of a regular expression has no next one",
    file: "packages/re2/src/internal/Automaton.ts",
    line: "carry = bits >>> 31",
    becomes: "carry = 0",
    by: "packages/re2/test/regularExpression.test.ts"
  },
  {
    fault: "a word boundary where states are not kept is looked at as if the text began there",
    file: "packages/re2/src/internal/Automaton.ts",
    line: "before = this.#kindOf(of)",
    becomes: "before = Programs.edge",
    by: "packages/re2/test/regularExpression.test.ts"
  },
  {
    fault: "each character that begins many alternatives anew looks at all of them",
    file: "packages/re2/src/internal/Automaton.ts",
    line: "return seen.size > reached.length ? reached : undefined",
    becomes: "return undefined",
    by: "packages/re2/test/regularExpression.test.ts"
  },
  {
    fault: "without its case a k is not the sign of Kelvin",
    file: "packages/re2/src/internal/CharacterSets.ts",
    line: "all.push(at, at)",
    becomes: "if (at < 0x80 || character >= 0x80) all.push(at, at)",
    by: "packages/re2/test/regularExpression.test.ts"
  },
  {
    fault: "the hosts of ORIGINAL_DST have no bound",
    file: "packages/discovery/src/Discovery.ts",
    line: "if (known === undefined && HashMap.size(self.picked) >= maxHosts) {",
    becomes: "if (known === undefined && HashMap.size(self.picked) < 0) {",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "each new host of ORIGINAL_DST lists all of them anew",
    file: "packages/discovery/src/Discovery.ts",
    line: 'if (known === undefined) self.outputs.push({ _tag: "Found", host: Hosts.make(input.address) })',
    becomes: "if (known === undefined) listPicked(self)",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "a call goes to an address that there is no place for",
    file: "packages/discovery-node/src/internal/ClusterActor.ts",
    line: "return this.refusals === refusals ? picked : { ...picked, address: undefined, refused: address }",
    becomes: "return picked",
    by: "packages/discovery-node/test/clusterMembers.test.ts"
  },
  {
    fault: "routes see the content type of gRPC where a plain HTTP request has another one",
    file: "packages/routing/src/CallHeaders.ts",
    line: "  if (self.isPlain !== true) {",
    becomes: "  {",
    by: "packages/connect-xds/test/http.test.ts"
  },
  {
    fault: "a route for gRPC takes any HTTP request to a path of its own",
    file: "packages/routing/src/Matcher.ts",
    line: "      matcher.isGrpc !== true &&",
    becomes: "",
    by: "packages/connect-xds/test/http.test.ts"
  },
  {
    fault: "a route for gRPC takes requests of gRPC-Web over plain HTTP",
    file: "packages/routing/src/CallHeaders.ts",
    line: '  self.isPlain !== true || /^application\\/grpc(\\+|$)/.test(see(self, "content-type") ?? "")',
    becomes: '  self.isPlain !== true || /^application\\/grpc/.test(see(self, "content-type") ?? "")',
    by: "packages/connect-xds/test/http.test.ts"
  },
  {
    fault: "an HttpClient: the answer of a session has no cookie",
    file: "packages/connect-xds/src/internal/HttpCalls.ts",
    line: "      SessionCookie.append(sent, { header: response.headers })",
    becomes: "",
    by: "packages/connect-xds/test/http.test.ts"
  },
  {
    fault: "policies of all clusters hear of each change of one",
    file: "packages/routing/src/policy/ClusterManager.ts",
    line: "    skipsSame: true",
    becomes: "    skipsSame: false",
    by: "packages/routing/test/manyOfAll.test.ts"
  },
  {
    fault: "policies of all endpoints hear of each change of one",
    file: "packages/routing/src/policy/EndpointChildren.ts",
    line: '      if (before?.state === "READY" && SameData.isSameToCalls(before.endpoint, endpoint)) {',
    becomes: '      if (before?.state === "READY" && before.endpoint === endpoint) {',
    by: "packages/routing/test/manyOfAll.test.ts"
  },
  {
    fault: "an endpoint that is connected keeps what was said of it before",
    file: "packages/routing/src/policy/EndpointChildren.ts",
    line: '      if (before?.state === "READY" && SameData.isSameToCalls(before.endpoint, endpoint)) {',
    becomes: '      if (before?.state === "READY") {',
    by: "packages/routing/test/manyOfAll.test.ts"
  },
  {
    fault: "a cluster that comes to have other endpoints by name is told with those of before",
    file: "packages/routing/src/internal/ClusterGraph.ts",
    line: "a.discovery._tag === b.discovery._tag && endpointsOf(a) === endpointsOf(b)",
    becomes: "a.discovery._tag === b.discovery._tag",
    by: "packages/routing/test/manyOfAll.test.ts"
  },
  {
    fault: "news of endpoints are told while what holds back the rest is not known",
    file: "packages/routing/src/XdsConfig.ts",
    line: "  if (told === undefined) return [{ ...next, isWhole: false }, outputs]",
    becomes: "  if (told === undefined) return [next, outputs]",
    by: "packages/routing/test/manyOfAll.test.ts"
  },
  {
    fault: "a policy forgets when its children are due",
    file: "packages/routing/src/Tree.ts",
    line: "  const deadline = Math.min(below, policy.deadline(state))",
    becomes: "  const deadline = policy.deadline(state)",
    by: "packages/routing/test/channel.test.ts"
  },
  {
    fault: "a policy that was exchanged does not hear of its connections",
    file: "packages/routing/src/Tree.ts",
    line: "    if (tilde >= 0) names.add(decodeURIComponent(step.slice(0, tilde)))",
    becomes: "",
    by: "packages/routing/test/manyOfAll.test.ts"
  },
  {
    fault: "an endpoint of a ring counts in no state once its state has changed",
    file: "packages/routing/src/policy/RingHash.ts",
    line: "  const counts = { ...less, [next.state]: less[next.state] + 1 }",
    becomes: "  const counts = less",
    by: "packages/routing/test/policies.vectors.test.ts"
  },
  {
    fault: "an endpoint that is connected, and of which nothing is said anew, hears of each update",
    file: "packages/routing/src/policy/EndpointChildren.ts",
    line: "        continue\n",
    becomes: "",
    by: "packages/routing/test/manyOfAll.test.ts"
  },
  {
    fault: "an endpoint whose weight alone is another one is told to its policy",
    file: "packages/routing/src/internal/SameData.ts",
    line: 'new Set(["weight", "localityWeight"])',
    becomes: "new Set()",
    by: "packages/routing/test/manyOfAll.test.ts"
  },
  {
    fault:
      "a client that has fallen back quotes the version of the server that it would return to, which may say nothing then",
    file: "client/Fallback.ts",
    line: '      draft.drive(ServerList.streamKey(list, rank, typeUrl), { _tag: "Lost", typeUrl })',
    becomes: "",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault:
      "a file of clusters that waits for its routes counts as written: if these fail once, the old clusters stay in it",
    file: "packages/transport-filesystem/src/ResponseDirectory.ts",
    line: "resources, identity: undefined }",
    becomes: "resources }",
    by: "packages/transport-filesystem/test/ResponseDirectory.test.ts"
  },
  {
    fault: "a group of --files-out whose directory cannot be made at first is written only when it changes again",
    file: "packages/cli/src/FilesOut.ts",
    line: "Effect.retry(retries)",
    becomes: "Effect.retry({ times: 0 })",
    by: "packages/cli/test/FilesOut.test.ts"
  },
  {
    fault: "a group of --files-out with a name that is too long for a directory is tried for ever",
    file: "packages/cli/src/FilesOut.ts",
    line: " &&\n  Buffer.byteLength(group) <= longestName",
    becomes: "",
    by: "packages/cli/test/FilesOut.test.ts"
  },
  {
    fault:
      "the version of a response that crossed the request for a new wildcard is quoted: some servers send nothing of it then",
    file: "client/ClientSubscription.ts",
    line: 'if (quoting === "No" && HashSet.has(late, "*") && !isWild) return "NotYet"',
    becomes: 'if (quoting === "No" && HashSet.has(late, "*") && isWild) return "NotYet"',
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "a new wildcard is asked for in each answer, for ever, if it has nothing beside the names",
    file: "client/ClientSubscription.ts",
    line: 'if (quoting === "No" && HashSet',
    becomes: 'if (quoting !== "Yes" && HashSet',
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault:
      "what is given up while a response crosses, and wanted again later, is asked for with a version that the server has sent it in",
    file: "client/ClientSubscription.ts",
    line: 'error !== undefined || quoting === "UntilSubscribed"',
    becomes: "error !== undefined",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "what could not be read for want of descriptors is not tried again",
    file: "packages/transport-filesystem/src/internal/Retry.ts",
    line: "if (isWaiting || !failing()) return Effect.void",
    becomes: "return Effect.void",
    by: "packages/transport-filesystem/test/PassingFault.test.ts"
  },
  {
    fault: "a fault of the disk is tried again every second for ever",
    file: "packages/transport-filesystem/src/internal/Retry.ts",
    line: "pause = Math.min(2 * pause, longest)",
    becomes: "pause = Math.min(pause, longest)",
    by: "packages/transport-filesystem/test/PassingFault.test.ts"
  },
  {
    fault: "files in a directory that may not be looked at count as removed",
    file: "packages/transport-filesystem/src/internal/DirectoryListing.ts",
    line: "          refuse(next, found.left)",
    becomes: "          void next",
    by: "packages/transport-filesystem/test/ResourceDirectory.test.ts"
  },
  {
    fault: "slow readers of the admin port keep probes from their answers",
    file: "packages/admin/src/internal/Answers.ts",
    line: '          return Effect.succeed(text(200, "ok"))',
    becomes: '          return counted(Effect.succeed(text(200, "ok")))',
    by: "packages/admin/test/AdminServer.test.ts"
  },
  {
    fault: "a store in a folder that is missing does not say so",
    file: "packages/store-sql/src/Sqlite.ts",
    line: 'return kind === "Missing" ? `there is no folder ${folder}; make it` : undefined',
    becomes: "return undefined",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "a store asks its database without a pause",
    file: "packages/store-sql/src/SqlStore.ts",
    line: 'if (!(BadOption.milliseconds(options.interval ?? "1 second") >= 1)) {',
    becomes: 'if (Duration.toMillis(options.interval ?? "1 second") < 0) {',
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "NaN is taken for a limit",
    file: "packages/transport/src/BadOption.ts",
    line: "if (!(amount >= least[option]))",
    becomes: "if (amount < least[option])",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "files: one value where the API has a list is refused",
    file: "packages/transport-filesystem/src/internal/EnvoyJson.ts",
    line: "isElement(field, member) ? [one(member)] : member",
    becomes: "isElement(field, member) ? member : member",
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "files: a mistake in a value that stands for a list has the path of a list",
    file: "packages/transport-filesystem/src/internal/EnvoyJson.ts",
    line: "if (!Array.isArray(at)) return false",
    becomes: "if (!Array.isArray(at)) return true",
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "files: a response with one resource that is in no list has none",
    file: "packages/transport-filesystem/src/internal/JsonFile.ts",
    line: "  if (isOne) await readElement(",
    becomes: "  if (isList) await readElement(",
    by: "packages/transport-filesystem/test/ResourceFile.test.ts"
  },
  {
    fault: "REST: Node warns with each answer of a time that no timer can wait",
    file: "packages/transport-rest/src/RestServer.ts",
    line: 'Math.min(Milliseconds.longestKeepAlive, Milliseconds.of(keepAliveTimeout, "65 seconds"))',
    becomes: 'Milliseconds.of(keepAliveTimeout, "65 seconds")',
    by: "packages/transport-rest/test/Http.test.ts"
  },
  {
    fault: "Connect: Node warns with each answer of a time that no timer can wait",
    file: "packages/transport-connect/src/server/Connections.ts",
    line: "keepAliveTimeout: Math.min(Milliseconds.longestKeepAlive, limits.handshakeTimeout)",
    becomes: "keepAliveTimeout: limits.handshakeTimeout",
    by: "packages/transport-connect/test/http1.test.ts"
  },
  {
    fault: "DNS: a time with a fraction of a millisecond ends the resolver",
    file: "packages/transport-node/src/Milliseconds.ts",
    line: "Math.ceil(Duration.toMillis(given ?? otherwise))",
    becomes: "Duration.toMillis(given ?? otherwise)",
    by: "packages/discovery-node/test/resolver.test.ts"
  },
  {
    fault: "a server takes NaN for its limits",
    file: "packages/server/src/XdsServer.ts",
    line: "    yield* BadOption.check(options, least)",
    becomes: "",
    by: "packages/server/test/badOption.test.ts"
  },
  {
    fault: "Connect: the limits of the port may be NaN",
    file: "packages/transport-connect/src/ConnectServer.ts",
    line: "BadOption.find(options, limits) ??",
    becomes: "",
    by: "packages/transport-connect/test/badOption.test.ts"
  },
  {
    fault: "REST in an HTTP server of another program takes NaN for its limits",
    file: "packages/transport-rest/src/RestApp.ts",
    line: "Settings.wrongWith(options) ?? ServedTypes.problemOf(settings.types)",
    becomes: "ServedTypes.problemOf(settings.types)",
    by: "packages/transport-rest/test/badOption.test.ts"
  },
  {
    fault: "files are looked at all the time where no look is wanted",
    file: "packages/transport-filesystem/src/internal/ReadOptions.ts",
    line: "Math.min(options.pollInterval ?? 5_000, longest)",
    becomes: "options.pollInterval ?? 5_000",
    by: "packages/transport-filesystem/test/badOption.test.ts"
  },
  {
    fault: "`serve` puts what DIR has into the store before it knows that it can listen",
    file: "packages/cli/src/Serving.ts",
    line: "const { durable, store } = yield* storeOf(config, off)",
    becomes:
      "const { durable, store } = yield* Effect.tap(storeOf(config, off), (made) => DirectoryFeed.make(directory, made.store))",
    by: "packages/cli/test/store.test.ts"
  },
  {
    fault: "`get` and `diff` take a server that says nothing for one that has nothing",
    file: "packages/cli/src/Target.ts",
    line: "if (types.some(({ typeUrl }) => answered.has(typeUrl))) return",
    becomes: "if (!types.some(({ typeUrl }) => answered.has(typeUrl))) return",
    by: "packages/cli/test/client.test.ts"
  },
  {
    fault: "`get` of a name waits for a handshake longer than its timeout",
    file: "packages/cli/src/Collection.ts",
    line: "Effect.raceFirst(Effect.zipRight(isFiles ? Effect.void : late, Effect.never))",
    becomes: "Effect.raceFirst(Effect.never)",
    by: "packages/cli/test/client.test.ts"
  },
  {
    fault: "`get` of files does not say why one was not taken",
    file: "packages/cli/src/Collection.ts",
    line: "notTaken: yield* notTaken,",
    becomes: "notTaken: [],",
    by: "packages/cli/test/client.test.ts"
  },
  {
    fault: "a file without type_url is taken, and the client of many types is never told",
    file: "packages/transport-filesystem/src/internal/ResponseBytes.ts",
    line: "typeUrl: message.typeUrl || typeUrl, ",
    becomes: "",
    by: "packages/transport-filesystem/test/FileClient.test.ts"
  },
  {
    fault: "a command that a signal ends before it is done is a success",
    file: "packages/cli/src/Running.ts",
    line: "if (Cause.isInterruptedOnly(cause)) return ended",
    becomes: "if (Cause.isInterruptedOnly(cause)) return 0",
    by: "packages/cli/test/process.test.ts"
  },
  {
    fault: "SIGHUP leaves Envoy's bootstrap behind",
    file: "packages/cli/src/Process.ts",
    line: '["SIGINT", "SIGTERM", "SIGHUP"]',
    becomes: '["SIGINT", "SIGTERM"]',
    by: "packages/cli/test/process.test.ts"
  },
  {
    fault: "`validate` waits for all that holds the output of an Envoy that has ended",
    file: "packages/cli/src/EnvoyCheck.ts",
    line: "setTimeout(() => child.stderr.destroy(), outputTime)",
    becomes: "setTimeout(() => undefined, outputTime)",
    by: "packages/cli/test/process.test.ts"
  },
  {
    fault: "`bootstrap envoy` does not quote names such as `no`",
    file: "packages/cli/src/EnvoyBootstrap.ts",
    line: ', compat: "yaml-1.1"',
    becomes: "",
    by: "packages/cli/test/client.test.ts"
  },
  {
    fault: "the YAML of `get` does not quote names such as `no`",
    file: "packages/cli/src/ResourceText.ts",
    line: ', compat: "yaml-1.1"',
    becomes: "",
    by: "packages/cli/test/client.test.ts"
  },
  {
    fault: "a server listens on another Unix socket than it was told, if the path is too long",
    file: "packages/transport-node/src/ListenAddress.ts",
    line: "if (problem !== undefined) return Effect.fail(new Error(problem))",
    becomes: "",
    by: "packages/cli/test/sockets.test.ts"
  },
  {
    fault: "a client of gRPC connects to another Unix socket, if the path is too long",
    file: "packages/transport-connect/src/client/ServerAddress.ts",
    line: "return problem === undefined ?",
    becomes: "return problem === undefined || true ?",
    by: "packages/transport-connect/test/ConnectClient.test.ts"
  },
  {
    fault: "a client of REST connects to another Unix socket, if the path is too long",
    file: "packages/transport-rest/src/internal/RestAddress.ts",
    line: "if (problem !== undefined) return Either.left(problem)",
    becomes: "",
    by: "packages/transport-rest/test/RestClient.test.ts"
  },
  {
    fault: "a pipe is taken for a file of certificates, and waited for",
    file: "packages/transport-node/src/RegularFile.ts",
    line: "if (!stats.isFile()) {",
    becomes: "if (!stats.isFile() && !stats.isFIFO()) {",
    by: "packages/transport-node/test/RegularFile.test.ts"
  },
  {
    fault: "client: many resources in one response are decoded in one turn",
    file: "client/Validation.ts",
    line: "if (validating.decoded !== before || index % Steps.atOnce === 0) yield",
    becomes: "void before",
    by: "packages/client/test/manyResources.test.ts"
  },
  {
    fault: "client: a type that is added while a long response is worked on is lost",
    file: "packages/client/src/internal/Driver.ts",
    line: "this.follow([FlowControl.withDecodersOf(state, this.state), outputs], now)",
    becomes: "this.follow([state, outputs], now)",
    by: "packages/client/test/manyResources.test.ts"
  },
  {
    fault: "client: a watcher that was idle while a response was worked on counts as one that has processed it",
    file: "packages/client/src/internal/Driver.ts",
    line: 'if (input._tag === "Taken" && this.watchers.get(input.watcher)?.isBusy() === true) return true',
    becomes: "",
    by: "packages/client/test/manyResources.test.ts"
  },
  {
    fault: "client: all watchers are woken in one turn",
    file: "packages/client/src/internal/Driver.ts",
    line: "      if (left-- === 0) {",
    becomes: "      if (left-- === -1) {",
    by: "packages/client/test/manyResources.test.ts"
  },
  {
    fault: "client: a watcher takes thousands of events at once",
    file: "packages/client/src/internal/Watcher.ts",
    line: "const most = 256",
    becomes: "const most = 25_600",
    by: "packages/client/test/manyResources.test.ts"
  },
  {
    fault: "client: in steps, what a complete response lacks stays",
    file: "client/CacheUpdate.ts",
    line: "  yield* Steps.each(applying.ofComplete, (each) => applying.lack(each))\n",
    becomes: "",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: each collection that does not exist any more is looked through by itself",
    file: "client/CacheUpdate.ts",
    line: "    return (this.#ending = ending)",
    becomes: "    return ending",
    by: "packages/core/test/client/Client.test.ts"
  },
  {
    fault: "client: of problems that have just room some are left out",
    file: "client/Validation.ts",
    line: "for (let length = -2; count",
    becomes: "for (let length = 0; count",
    by: "packages/core/test/client/wire.test.ts"
  },
  {
    fault: "client: what is asked for again is asked for with the version that is held, on the next stream",
    file: "client/NextRequest.ts",
    line: 'isLacking || isAskingAgain ? "" : self.version',
    becomes: 'isLacking ? "" : self.version',
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: what is asked for again is declared as held on the next stream",
    file: "client/ClientDraft.ts",
    line: "ClientSubscriptions.brings(asked, name) && !HashSet.has(asked.refreshing, name)",
    becomes: "ClientSubscriptions.brings(asked, name)",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: what was asked for again is so on every stream, also after it came",
    file: "client/ClientSubscription.ts",
    line: "return { ...next, refreshing: HashSet.difference(next.refreshing, names) }",
    becomes: "return next",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "client: virtual hosts whose client has ended wait for their timeout",
    file: "packages/client/src/internal/Driver.ts",
    line: "    for (const onEnd of this.onClosed) onEnd()\n",
    becomes: "",
    by: "packages/client/test/virtualHosts.test.ts"
  },
  {
    fault: "client: virtual hosts of a client that has ended wait for their timeout",
    file: "packages/client/src/internal/Driver.ts",
    line: "    if (this.closed) onEnd()\n    else this.onClosed.add(onEnd)",
    becomes: "    this.onClosed.add(onEnd)",
    by: "packages/client/test/virtualHosts.test.ts"
  },
  {
    fault: "client: the end of a stream that was replaced meanwhile ends the next one",
    file: "packages/client/src/internal/Driver.ts",
    line: "        this.forgetInputs(output.stream)\n",
    becomes: "",
    by: "packages/client/test/manyResources.test.ts"
  }
]

const client = []

/** The client's driver and its parts. */
const clientPackage = []

/** What is handed in on the client's side, and fails. */
const clientDefects = []

/** When a client answers and reads: its watchers, and what it was given. */
const flowControl = []

/** The server's driver and its parts. */
const serverPackage = []

/** Bounds, boundaries, order, and what is cleaned up, in the client. */
const clientDetails = []

/** What is thin: HTTP, files, the allow list, the admin port, what a client is told before it begins. */
const thinParts = []

// Routing: what implementations of A28 and of the policies get wrong, and what its tests see.
const routing = []

// Outlier detection: what its rules have marked as easily wrong.
const discovery = []

const checks = []

/** What the streams of a group are given, and when; how they are served. */
const fanOut = []

/** Where rules are asked: before resources are served, and before they are accepted. */
const validating = []

/** The rules of messages. A judge sees most of these, too; here the tests that need none have to. */
const validation = []

/** Resources made on demand: what waits for them, and who has them made. */
const onDemand = []

/** Envoy's v2 API. */
const v2 = []

/** The same, as the exploration sees it: in every state a watcher may be at work, leave, or never come back. */
const exploredFlowControl = []

const groupRules = []

const virtualHosts = []

const dynamicParameters = []

const localityEndpoints = []

const collections = []

// The store and the server that ask group rules.
const groupChecks = []

/** What nobody should send. */
const badInput = []

const calls = []

const clientCollections = []

/** A store in a database. */
const inDatabase = [
  {
    fault: "store-sql: a look for changes waits half a minute for a database that gives no answer",
    file: "packages/store-sql/src/SqlStore.ts",
    line: "Transaction.within(database, 10_000, Log.head(database, false))",
    becomes: "Transaction.within(database, 30_000, Log.head(database, false))",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "store-sql: the connection that listens stays when those that get no answer are broken",
    file: "packages/store-sql/src/Postgres.ts",
    line: "      clients.add(client)\n      const end",
    becomes: "      const end",
    by: "packages/store-sql/test/network.test.ts",
    peers: true
  },
  {
    fault: "store-sql: LISTEN is waited for without end",
    file: "packages/store-sql/src/Postgres.ts",
    line: "}).pipe(Effect.timeout(patience))",
    becomes: "})",
    by: "packages/store-sql/test/network.test.ts",
    peers: true
  },
  {
    fault: "an empty match at the end of another one is replaced, too",
    file: "packages/re2/src/RegularExpression.ts",
    line: "if (behind === last) continue\n",
    becomes: "",
    by: "packages/re2/test/regularExpression.test.ts"
  },
  {
    fault: "ORIGINAL_DST: a host that is lost stays if its checks pass",
    file: "packages/discovery/src/HostSet.ts",
    line: "put(self, member, member, true)",
    becomes: "put(self, member, member)",
    by: "packages/discovery/test/hostSet.vectors.test.ts"
  },
  {
    fault: "ORIGINAL_DST: a host that is used again meanwhile leaves with the rest",
    file: "packages/discovery/src/Discovery.ts",
    line: "if (each === undefined || !mayLeave(each)) continue",
    becomes: "if (each === undefined) continue",
    by: "packages/discovery/test/discovery.test.ts"
  },
  {
    fault: "client: what keysOf makes is taken for a list of texts",
    file: "client/Decoding.ts",
    line: "if (!isTexts(keys)) return",
    becomes: "if (!isTexts(keys) && keys === 0) return",
    by: "packages/core/test/client/Client.test.ts"
  },
  {
    fault:
      "client: what is given up before others are answered is asked for later with a version in which the server has sent it",
    file: "client/ClientSubscription.ts",
    line: 'return gaveUp ? "UntilSubscribed" : "Yes"',
    becomes: 'return "Yes"',
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "cli: `diff` counts a type of which a server says nothing as empty",
    file: "packages/cli/src/Comparing.ts",
    line: "answered.delete(type)",
    becomes: "void type",
    by: "packages/cli/test/client.test.ts"
  },
  {
    fault: "files for Envoys that others removed are not written again until they change",
    file: "packages/transport-filesystem/src/ResponseDirectory.ts",
    line: "if (isTouched && held.size > 0) yield* forgetMissing",
    becomes: "if (isTouched && held.size < 0) yield* forgetMissing",
    by: "packages/transport-filesystem/test/ResponseDirectory.test.ts"
  },
  {
    fault: "cli: an allow list of no use is read again for every stream",
    file: "packages/cli/src/AllowList.ts",
    line: " || signature === useless",
    becomes: "",
    by: "packages/cli/test/AllowList.test.ts"
  },
  {
    fault: "cli: who comes before there is a group is given one that is never there",
    file: "packages/cli/src/Serving.ts",
    line: "by !== undefined || groups().size > 0",
    becomes: "by !== undefined || groups().size >= 0",
    by: "packages/cli/test/serve.test.ts"
  },
  {
    fault: "a duration of less than nothing, as text, is taken for one",
    file: "packages/transport/src/BadOption.ts",
    line: 'given.startsWith("-") ? -ofText(given.slice(1)) : ofText(given)',
    becomes: "ofText(given)",
    by: "packages/transport-connect/test/badOption.test.ts"
  },
  {
    fault: "a NACK after a change looks into all secrets",
    file: "packages/server/src/internal/Secrets.ts",
    line: "    this.ofResources.set(resource, made)\n",
    becomes: "",
    by: "packages/server/test/quotedSecrets.test.ts"
  },
  {
    fault: "a NACK looks into more secrets than can be looked for",
    file: "packages/server/src/internal/Secrets.ts",
    line: "if (bytes > Redaction.maxSecretBytes) return tooMuch",
    becomes: "",
    by: "packages/server/test/quotedSecrets.test.ts"
  },
  {
    fault: "hosts on demand: a host that cannot be read keeps later calls waiting",
    file: "packages/server/src/OnDemandHosts.ts",
    line: "const change = Effect.suspend(() => {",
    becomes: "const change = ((make) => make())(() => {",
    by: "packages/server/test/onDemandHosts.test.ts"
  },
  {
    fault: "client: a name that was given up under a legacy wildcard is asked for again without a version",
    file: "client/ClientSubscription.ts",
    line: 'gaveUp ||= isNamed || name === "*"',
    becomes: "gaveUp = true",
    by: "packages/core/test/client/traces.test.ts"
  },
  {
    fault: "an error that is over is not told in a full state",
    file: "server/SentErrors.ts",
    line: "  error?.code !== NOT_FOUND &&\n",
    becomes: '  error?.code !== NOT_FOUND &&\n  typeof error === "string" &&\n',
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault: "an error that comes again after it was over is not told again",
    file: "server/SentErrors.ts",
    line: '  fingerprint: "",\n',
    becomes: "",
    by: "packages/core/test/traces.test.ts"
  },
  {
    fault: "requests behind an error text that is searched go before it",
    file: "packages/server/src/internal/ErrorTexts.ts",
    line: "if (redacted !== undefined && redacted.value === undefined) break",
    becomes: "if (redacted !== undefined && redacted.value === undefined) continue",
    by: "packages/server/test/quotedSecrets.test.ts"
  },
  {
    fault: "a request overtakes one whose error text is searched",
    file: "packages/server/src/internal/Connection.ts",
    line: "if (request.errorDetail === undefined && !errors.isSearching)",
    becomes: "if (request.errorDetail === undefined)",
    by: "packages/server/test/quotedSecrets.test.ts"
  },
  {
    fault: "thousands of secrets are looked into in one step",
    file: "packages/server/src/internal/Secrets.ts",
    line: "      if (++count % atOnce === 0) yield\n",
    becomes: "      if (++count % 1e9 === 0) yield\n",
    by: "packages/server/test/quotedSecrets.test.ts"
  },
  {
    fault: "scoped routes: calls wait while their scope gets other routes",
    file: "packages/routing/src/internal/ScopeTables.ts",
    line: "made?.outcome !== undefined ? undefined : hasOutcome",
    becomes: "hasOutcome || !hasOutcome ? undefined : hasOutcome",
    by: "packages/routing/test/scopes.test.ts"
  },
  {
    fault: "scoped routes: what serves a key for a while becomes the routes of another",
    file: "packages/routing/src/internal/ScopeTables.ts",
    line: "`scope ${key} ${name}`",
    becomes: "`scope ${name}`",
    by: "packages/routing/test/scopes.test.ts"
  },
  {
    fault: "SRDS client: the first scopes of a long response are all there are",
    file: "packages/client/src/internal/ScopeDriver.ts",
    line: "if (!this.hearsAnswers) this.run",
    becomes: "this.run",
    by: "packages/client/test/scopedRoutes.test.ts"
  },
  {
    fault: "an aggregate counts priorities without hosts",
    file: "packages/discovery/src/AggregateLeaves.ts",
    line: "hosts.all > 0",
    becomes: "hosts.all >= 0",
    by: "packages/discovery/test/clusterType.test.ts"
  },
  {
    fault: "weights of localities fall with health where the policy hashes",
    file: "packages/discovery-node/src/Members.ts",
    line: "rule.isHashing ? undefined : factor",
    becomes: "factor",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "calls that are to fail in panic go to other priorities",
    file: "packages/routing/src/policy/Cds.ts",
    line: "if (failing === 0 || failing === all) return []",
    becomes: "return []",
    by: "packages/discovery-node/test/members.test.ts"
  },
  {
    fault: "an additional address of a listener may be none",
    file: "packages/validate/src/internal/group/Listeners.ts",
    line: '      site.fault("listener-address", "must be set", path)\n',
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a secret by REST needs no cluster",
    file: "packages/validate/src/internal/group/ConfigSources.ts",
    line: "clusterNames.length === 0 || (isStrict && clusterNames.length > 1)",
    becomes: "isStrict && clusterNames.length !== 1",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "a subset selector without keys must have fallback keys",
    file: "packages/validate/src/internal/group/Clusters.ts",
    line: "    if (keys.length === 0) continue\n",
    becomes: "",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "serve: a group is told of after what went to it is gone from the old one",
    file: "packages/transport-filesystem/src/ResourceDirectory.ts",
    line: "publishable.push([group, next.resources])",
    becomes: "published.set(group, next.resources)",
    by: "packages/cli/test/DirectoryFeed.test.ts"
  },
  {
    fault: "a path that is too long is cut by Node",
    file: "packages/connect-xds/src/internal/Dial.ts",
    line: "if (problem !== undefined) return over(problem)",
    becomes: "",
    by: "packages/connect-xds/test/Dial.test.ts"
  },
  {
    fault: "a server's words are lines of the terminal",
    file: "packages/cli/src/Target.ts",
    line: "gives no answer: ${ErrorLine.within(reason)}",
    becomes: "gives no answer: ${reason}",
    by: "packages/cli/test/ErrorLine.test.ts"
  },
  {
    fault: "the ranges of a pattern's classes are not counted",
    file: "packages/re2/src/internal/Syntax.ts",
    line: "if (this.#ranges > maxRanges) throw",
    becomes: "if (this.#ranges > 1e12) throw",
    by: "packages/re2/test/regularExpression.test.ts"
  },
  {
    fault: "the first search of a replacement has no bound",
    file: "packages/re2/src/RegularExpression.ts",
    line: "maxSearchSteps = 2_097_152",
    becomes: "maxSearchSteps = 1e12",
    by: "packages/re2/test/regularExpression.test.ts"
  },
  {
    fault: "an expression of any size is compiled to be measured",
    file: "packages/re2/src/internal/Measure.ts",
    line: "most > maxMeasured || ",
    becomes: "",
    by: "packages/re2/test/byteExpression.test.ts"
  },
  {
    fault: "a full disk that can be read counts as followed again",
    file: "packages/store-sql/src/SqlStore.ts",
    line: "onSuccess: () => report(isWritingInVain() ? trouble : undefined)",
    becomes: "onSuccess: () => report(undefined)",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "a failed handshake is told without its client",
    file: "packages/transport-node/src/TlsFailure.ts",
    line: "return socket.remoteAddress === undefined && below instanceof Socket ? below : socket",
    becomes: "return socket",
    by: "packages/transport-connect/test/Tls.test.ts"
  },
  {
    fault: "a decode that gives no Either is a value",
    file: "packages/client/src/WatchableType.ts",
    line: "if (!Either.isEither(given)) return Either.left(`decode gave no Either: ${Given.kindOf(given)}`)",
    becomes: "void given",
    by: "packages/client/test/defects.test.ts"
  },
  {
    fault: "a long expression is read at once",
    file: "packages/validate/src/internal/group/RegularExpressions.ts",
    line: "yield* reader.readInSteps(inBytes(regex))",
    becomes: "reader.read(inBytes(regex))",
    by: "packages/validate/test/GroupRules.test.ts"
  },
  {
    fault: "thousands of classes of bytes are too many",
    file: "packages/re2/src/internal/CharacterSets.ts",
    line: "readonly maxRanges = Infinity",
    becomes: "readonly maxRanges = 0x20000",
    by: "packages/re2/test/byteExpression.test.ts"
  },
  {
    fault: "a list that is reached from elsewhere is not one of its own",
    file: "packages/re2/src/internal/Measure.ts",
    line: "=== true) begin(id)",
    becomes: "=== true) void id",
    by: "packages/re2/test/byteExpression.test.ts"
  },
  {
    fault: "what is in a large Any is written as JSON in one turn",
    file: "packages/proto/src/internal/JsonSteps.ts",
    line: "if (isLarge && isMessage(message, AnySchema))",
    becomes: 'if (isLarge && first === "x" && isMessage(message, AnySchema))',
    by: "packages/proto/test/MessageJson.test.ts"
  },
  {
    fault: "the second response of a turn answers other names",
    file: "server/Sending.ts",
    line: "next.requested.size > 0 && rest.size === 0 &&",
    becomes: "next.requested.size > 0 &&",
    by: "packages/core/test/regressions.test.ts"
  },
  {
    fault: "a length in more bytes than it needs makes another pair",
    file: "packages/transport-connect/src/server/VersionInterner.ts",
    line: "second === 0 || second >= twoBytes",
    becomes: "second >= twoBytes",
    by: "packages/transport-connect/test/VersionInterner.test.ts"
  },
  {
    fault: "pauses go on growing after a pushback",
    file: "packages/connect-xds/src/internal/Call.ts",
    line: "this.pauses = said === undefined ? this.pauses + 1 : 0",
    becomes: "this.pauses = this.pauses + 1",
    by: "packages/connect-xds/test/Call.test.ts"
  },
  {
    fault: "auto_sni_san_validation is passed over",
    file: "packages/connect-xds/src/internal/UpstreamTls.ts",
    line: 'const names = autoSniSanValidation && sni !== "" ? [ofSni(sni)] : listed',
    becomes: "const names = listed",
    by: "packages/connect-xds/test/certificateNames.test.ts"
  },
  {
    fault: "transport_socket_matches are passed over",
    file: "packages/routing/src/Cluster.ts",
    line: "if (transportSocketMatches.length > 0) {",
    becomes: "if (transportSocketMatches.length > 1) {",
    by: "packages/routing/test/resources.vectors.test.ts"
  },
  {
    fault: "a change that is uncertain at the end of its time is not asked for",
    file: "packages/store-sql/src/internal/Writer.ts",
    line: 'if (uncertain.length === 0 || database.dialect !== "sqlite")',
    becomes: "if (uncertain.length >= 0)",
    by: "packages/store-sql/test/faults.test.ts"
  },
  {
    fault: "a gRPC server that says nothing holds a connection",
    file: "packages/transport-connect/src/ConnectClient.ts",
    line: "if (this.#heard.has(session) || session.destroyed) return",
    becomes: "if (!session.closed || session.destroyed) return",
    by: "packages/transport-connect/test/ConnectClient.test.ts"
  },
  {
    fault: "get waits for a path that is not there",
    file: "packages/cli/src/Target.ts",
    line: "if (path !== undefined && !tells) yield*",
    becomes: "if (path !== undefined && tells) yield*",
    by: "packages/cli/test/client.test.ts"
  },
  {
    fault: "a property that a change does not have is passed over",
    file: "packages/server/src/snapshot/Slots.ts",
    line: 'if (key === "upsert" || key === "remove" || key === "versions" || Reflect.get(change, key) === undefined) continue',
    becomes: "if (key.length > 0) continue",
    by: "packages/server/test/SnapshotStore.test.ts"
  },
  {
    fault: "what is told as a watch begins is lost",
    file: "packages/connect-xds/src/internal/ChannelDriver.ts",
    line: "this.watches.set(`${kind} ${name}`, watch)",
    becomes: "queueMicrotask(() => this.watches.set(`${kind} ${name}`, watch))",
    by: "packages/connect-xds/test/addresses.test.ts"
  },
  {
    fault: "a plugin that chooses clusters and is not supported is passed over",
    file: "packages/routing/src/RouteTable.ts",
    line: 'if (rules === "current") checkPlugins(message, errors)',
    becomes: "void checkPlugins",
    by: "packages/routing/test/stars.test.ts"
  },
  {
    fault: "whom TLS of REST does not let in is told nowhere",
    file: "packages/transport-rest/src/RestServer.ts",
    line: "log(LogLevel.Warning, message, message)",
    becomes: "void log",
    by: "packages/transport-rest/test/Http.test.ts"
  }
]

export const mutations = [
  ...v2,
  ...server,
  ...fanOut,
  ...client,
  ...clientPackage,
  ...flowControl,
  ...clientDefects,
  ...clientDetails,
  ...serverPackage,
  ...thinParts,
  ...routing,
  ...discovery,
  ...checks,
  ...dynamicParameters,
  ...localityEndpoints,
  ...collections,
  ...clientCollections,
  ...validation,
  ...validating,
  ...onDemand,
  ...exploredFlowControl,
  ...groupRules,
  ...virtualHosts,
  ...groupChecks,
  ...badInput,
  ...calls,
  ...inDatabase
]
