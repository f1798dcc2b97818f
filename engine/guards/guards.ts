/**
 * Limits on what this service lets be opened: maximum notional of an order, daily notional, allow-lists of symbols and
 * venues, each per key and global, and the kill switch. The port only; guard-book.ts keeps it.
 *
 * Invariant: an order that only reduces (reduce-only, or the closing side of a hedge) is never refused here: an exit
 * stays open whatever the limits say.
 */
import type { ErrorCode } from "../domain/errors.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { StateWrite } from "../storage/state-store.js";

/** An order about to be sent, in plain integers. */
export interface GuardedOrder {
  /** Names the order's usage row: the client id that will be sent. */
  readonly clientIdHex: string;
  /** When its intent is written, wall ms: says which UTC day it counts for. */
  readonly atMs: number;
  /** The API key; null in public mode, where the account takes its place. */
  readonly apiKeyId: string | null;
  /** Keyed hash of venue and account; the account behind the key (account-behind.ts) where `countsAccount` says so. */
  readonly accountHash: string;
  readonly venue: RoutableVenue;
  /** Canonical. */
  readonly symbol: string;
  /** Can it open or grow a position? false for reduce-only orders and protection orders. */
  readonly opens: boolean;
  readonly qtyLots: number;
  /** Canonical decimals of lots and ticks. */
  readonly qtyDecimals: number;
  readonly priceDecimals: number;
  /** Limit, or worst price of a MARKET. */
  readonly priceTicks: number;
  /** Twice the live mid in ticks; 0: there is none. Priced at the larger of limit and mid. */
  readonly doubleMidTicks: number;
}

export type GuardVerdict =
  | { readonly ok: true; readonly reservation: GuardReservation }
  | { readonly ok: false; readonly code: ErrorCode; readonly details: Readonly<Record<string, unknown>> };

/** The share of the daily limits that the order takes from the moment of the check. */
export interface GuardReservation {
  /** Rows for the intent's own batch: with it the usage is durable exactly if the order may exist. */
  readonly writes: readonly StateWrite[];
  /** Right before the send: false when the switch was thrown since the check. Then `release`. */
  mayStillSend(): boolean;
  /**
   * The order took nothing (not sent, refused, never placed, ended with no fill): gives the share back and returns the
   * rows for the batch that remembers that end. Idempotent.
   */
  release(): readonly StateWrite[];
}

export interface Guards {
  /** Is an opening order of this caller counted by its account? Then the account behind its key has to be known first. */
  countsAccount(apiKeyId: string | null): boolean;
  /** In one turn, without a wait: checks and reserves, so that no two orders share what is left. */
  check(order: GuardedOrder): GuardVerdict;
  /** As `check` without a share of the day: for an order that stands already and is changed. */
  checkOrder(order: GuardedOrder): GuardVerdict;
  /**
   * As a reservation's `release`, for an order of an earlier start that is found now to have taken nothing. `atMs`: when
   * its intent was written. Idempotent.
   */
  releaseEarlier(clientIdHex: string, atMs: number): Promise<readonly StateWrite[]>;
}

/** For services without limits: everything passes. */
export const NO_GUARDS: Guards = {
  countsAccount: () => false,
  check: () => ({ ok: true, reservation: NOTHING_RESERVED }),
  checkOrder: () => ({ ok: true, reservation: NOTHING_RESERVED }),
  releaseEarlier: async () => [],
};

export const NOTHING_RESERVED: GuardReservation = {
  writes: [],
  mayStillSend: () => true,
  release: () => [],
};
