/** Runs with orders that rest: what is kept of each while they are followed (order-follows.ts), and which count. */
import type { TimerHandle } from "../../domain/clock.js";
import type { Instrument } from "../../domain/instrument.js";
import type { VenueOrder } from "../../domain/order.js";
import type { AccountSession, VenueRoom } from "../../ports.js";
import { isOrderSent } from "../send/absence-proof.js";
import { filledLots, isOpen } from "../attempt-figures.js";
import { isOfUnknownOutcome, mayRest, type OrderAttempt } from "../run.js";

export interface FollowedRun {
  readonly ownerId?: string | null;
  readonly routeId: string;
  readonly symbol: string;
  readonly attempts: readonly OrderAttempt[];
}

export interface FollowOwner<Run extends FollowedRun> {
  readonly namespace: string;
  /** Makes what is newly known of the run durable and reports it. */
  publish(run: Run, recordKey: string | null): Promise<void>;
  /** Called in the turn in which more was seen of an order (`order`), or in which it should be looked at (null). */
  onSight?(run: Run, order: VenueOrder | null): void;
  /** Somebody else reads this order, closer than it would be read here. */
  isReadElsewhere?(run: Run, attempt: OrderAttempt): boolean;
}

/** Where one venue's part of a run gets its sessions. */
export interface Account {
  readonly session: AccountSession;
  /** What sessions are opened with. */
  readonly credentials: unknown;
}

/** By venue: the sessionHash of the run's owner and the account. */
export type FollowOwners = Readonly<Record<string, string>>;

export interface FollowRow<Run> {
  readonly recordKey: string | null;
  readonly sinceMs: number;
  readonly owners: FollowOwners;
  readonly run: Run;
}

export interface FollowEntry<Run> extends FollowRow<Run> {
  run: Run;
  /** Monotonic: a step of the wall clock makes it neither older nor younger. */
  readonly sinceNs: number;
  readonly owners: Record<string, string>;
  /** Orders that rest in contracts that their venue does not list, or not yet. */
  unlistedCount: number;
  readonly orders: Map<string, Followed<Run>>;
  isPublishing: boolean;
  isDirty: boolean;
  /** What is newly known is not stored, and is published again then. */
  again: TimerHandle | null;
}

export interface Followed<Run> {
  readonly entry: FollowEntry<Run>;
  readonly attempt: OrderAttempt;
  readonly room: VenueRoom;
  readonly instrument: Instrument;
  readonly account: string;
  unlisten: (() => void) | null;
  pauseMs: number;
  dueNs: number;
  /** The last read: what has happened since, its stream tells. */
  isAnswered: boolean;
  absentCount: number;
  unpricedCount: number;
}

/** Also as much: the copy that is concluded now is the newer one. */
export function knowsMore(run: FollowedRun, than: FollowedRun): boolean {
  const filled = ({ attempts }: FollowedRun): number => attempts.reduce((sum, attempt) => sum + filledLots(attempt), 0);
  const ended = ({ attempts }: FollowedRun): number =>
    attempts.filter((attempt) => !isOpen(attempt) && !isOfUnknownOutcome(attempt)).length;
  for (const known of [({ attempts }: FollowedRun) => attempts.length, filled, ended]) {
    const more = known(run) - known(than);
    if (more !== 0) return more > 0;
  }
  return true;
}

/**
 * Is what is seen the order that rests? It has the size in which it was sent, or was shown since. By the venue's own id, and
 * where a change gives a new one, it is the same in any size.
 */
export function isSame(attempt: OrderAttempt, { venueOrderId: knownId }: VenueOrder, seen: VenueOrder): boolean {
  const isInItsPlace = attempt.newIdPerChange === true && seen.venueClientOrderId === attempt.venueClientOrderId;
  const isKnown = knownId !== "" && (seen.venueOrderId === knownId || isInItsPlace);
  return isOrderSent(isKnown ? { ...attempt, qtyLots: seen.qtyLots } : attempt, seen);
}

/** It rests by intent, so that no other part waits for its end. */
export function isResting(attempt: OrderAttempt): boolean {
  return attempt.outcome === "CONFIRMED" && isOpen(attempt) && mayRest(attempt) && attempt.unfollowed !== true;
}
