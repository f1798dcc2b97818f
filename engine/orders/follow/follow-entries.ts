/** Questions about many followed runs at once, and which of them may wait. */
import type { FollowKeys } from "./follow-keys.js";
import type { Followed, FollowedRun, FollowEntry } from "./followed-run.js";
import type { WaitingRun, WaitingRuns } from "./waiting-runs.js";

export function* ordersIn<Run extends FollowedRun>(entries: Iterable<FollowEntry<Run>>): Generator<Followed<Run>> {
  for (const { orders } of entries) yield* orders.values();
}

export function hasOrderOf<Run extends FollowedRun>(entries: Iterable<FollowEntry<Run>>, account: string): boolean {
  for (const order of ordersIn(entries)) if (order.account === account) return true;
  return false;
}

/** One that nobody looks at waits with those that have no place. False: there is none, or no more can wait. */
export function setOneAside<Run extends FollowedRun>(
  entries: Map<string, FollowEntry<Run>>,
  keys: FollowKeys,
  waiting: WaitingRuns<Run>,
): boolean {
  if (waiting.isFull) return false;
  for (const entry of entries.values()) {
    if (!isUnattended(entry, keys)) continue;
    entries.delete(entry.run.routeId);
    waiting.put(entry, true);
    return true;
  }
  return false;
}

/** Nobody looks at its orders, and its row holds all that is known of them. */
function isUnattended<Run extends FollowedRun>(entry: FollowEntry<Run>, keys: FollowKeys): boolean {
  const { again, isDirty, isPublishing, orders } = entry;
  if (isPublishing || isDirty || again !== null) return false;
  return [...orders.values()].every(({ account }) => !keys.has(account));
}

/** Orders that are not read until a request brings credentials of their account. */
export function waitingIn<Run extends FollowedRun>(entries: Iterable<FollowEntry<Run>>, keys: FollowKeys): number {
  let count = 0;
  for (const { orders, unlistedCount } of entries) {
    count += unlistedCount;
    for (const { account } of orders.values()) if (!keys.has(account)) count++;
  }
  return count;
}

export function restingIn<Run extends object>(waiting: Iterable<WaitingRun<Run>>): number {
  let count = 0;
  for (const { restingCount } of waiting) count += restingCount;
  return count;
}
