/**
 * Limits on what may be opened through this service: maximum notional of an order, daily notional, allow-lists of
 * symbols and venues, each per key and global, and the kill switch. This file is the port only; guard-book.ts
 * implements it.
 *
 * Invariant: an order that only reduces (reduce-only, or the closing side of a hedge) is never refused here: exits are
 * open whatever the limits are.
 */
import type { ErrorCode } from "../domain/errors.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { StateWrite } from "../storage/state-store.js";

/** An order about to be sent, in plain integers. */
export interface GuardedOrder {
  /** Names the order's usage row: the client id that will be sent. */
  readonly clientIdHex: string;
  /** When its intent is written, wall ms: it counts for that UTC day. */
  readonly atMs: number;
  /** The caller; null in public mode, where the account is used instead. */
  readonly ownerId: string | null;
  /**
   * Keyed hash of venue and account. Where `countsAccount` is true, it is the account behind the key
   * (account-behind.ts).
   */
  readonly accountHash: string;
  readonly venue: RoutableVenue;
  /** Canonical. */
  readonly symbol: string;
  /** Whether it can open or grow a position. false for reduce-only orders and protection orders. */
  readonly opens: boolean;
  readonly qtyLots: number;
  /** Canonical decimals of lots and ticks. */
  readonly qtyDecimals: number;
  readonly priceDecimals: number;
  /** Limit, or worst price of a MARKET. */
  readonly priceTicks: number;
  /** Of a change: the order that it makes grow by `qtyLots`, named by `grownOrder`; absent: an order of its own. */
  readonly grows?: string;
  /** Twice the live mid in ticks; 0 means there is none. The order is priced at the larger of limit and mid. */
  readonly doubleMidTicks: number;
}

export type GuardVerdict =
  | { readonly ok: true; readonly reservation: GuardReservation }
  | { readonly ok: false; readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> };

/** The kill switch, or a store that shows as a restored backup. */
export type GuardStop = "TRADING_HALTED" | "RESTORED_STORE";

/** The share of the daily limits that the order holds from the moment of the check. */
export interface GuardReservation {
  /** Rows for the intent's own batch: so the usage is durable exactly if the order may exist. */
  readonly writes: readonly StateWrite[];
  /**
   * Called right before the send: what has come since the check that stops the order; the caller then calls `release`.
   * Null: nothing.
   */
  stoppedBy(): GuardStop | null;
  /**
   * For an order that filled nothing (not sent, refused, never placed, ended with no fill): releases the share and
   * returns the rows for the batch that records that end. Idempotent.
   */
  release(): readonly StateWrite[];
}

export interface Guards {
  /** Whether opening orders of this caller count by account. If so, the account behind the key must be known first. */
  countsAccount(ownerId: string | null): boolean;
  /** Checks and reserves in one turn, without a wait, so that no two orders share what is left. */
  check(order: GuardedOrder): GuardVerdict;
  /** Like `check` without a share of the day: for a change to an order that exists already. */
  checkOrder(order: GuardedOrder): GuardVerdict;
  /**
   * Like a reservation's `release`, for an order of an earlier start that turns out to have filled nothing. `atMs`:
   * when its intent was written. Idempotent.
   */
  releaseEarlier(clientIdHex: string, atMs: number): Promise<readonly StateWrite[]>;
  /**
   * Releases what changes made an order grow by, also before the last start, once the order has ended with nothing filled.
   * `order`: by `grownOrder`. Idempotent.
   */
  releaseGrowth(order: string): readonly StateWrite[];
}

/** Names an order of ours by what its venue knows it by, whoever asks for the change. */
export function grownOrder(venue: RoutableVenue, venueClientOrderId: string): string {
  return `${venue} ${venueClientOrderId}`;
}

/** For services without limits: everything passes. */
export const NO_GUARDS: Guards = {
  countsAccount: () => false,
  check: () => ({ ok: true, reservation: NOTHING_RESERVED }),
  checkOrder: () => ({ ok: true, reservation: NOTHING_RESERVED }),
  releaseEarlier: async () => [],
  releaseGrowth: () => [],
};

export const NOTHING_RESERVED: GuardReservation = {
  writes: [],
  stoppedBy: () => null,
  release: () => [],
};
