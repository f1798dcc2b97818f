/**
 * Notional that was sent in each UTC day, by subject and in all. A subject is an owner, or an account in public mode.
 *
 * Usage is one row for each order, written in the batch of its intent, and the day's totals are the sums of these rows.
 * So after a crash the totals count exactly the orders that may exist, and orders that run side by side share no row.
 * An order counts in full as sent, whatever part of it filled; an order that filled nothing releases its share, and with
 * it what changes made it grow by, each of which has a row of its own.
 *
 * Bounds: `maxSubjects` subjects a day (the caller refuses beyond); rows of past days are swept; MAX_GROWN orders that
 * grew, the growth of the oldest stays counted for its day.
 */
import type { Clock } from "../domain/clock.js";
import { formatScaledBig } from "../domain/decimal.js";
import { decodeJson, encodeJson, MAX_SCAN_ROWS, type StateStore, type StateWrite } from "../storage/state-store.js";
import type { GuardReservation } from "./guards.js";

/** Decimal places of `micro`. */
export const MICRO_PLACES = 6;
export const DAY_MS = 86_400_000;
const USAGE = "guard-usage";
const DAY_CHARS = 10;
const SWEEP_ROWS = 250;
const MAX_GROWN = 100_000;

interface UsageRow {
  readonly subject: string;
  /** Millionths of a quote unit. */
  readonly micro: string;
}

interface DayTotals {
  all: bigint;
  readonly bySubject: Map<string, bigint>;
}

/** What one order takes of its day. */
export interface UsageShare {
  /** When the order's intent is written, wall ms. */
  readonly atMs: number;
  readonly clientIdHex: string;
  readonly subject: string;
  /** Millionths of a quote unit. */
  readonly micro: bigint;
  /** The order that a change makes grow by this share; absent: an order's own share. */
  readonly grows?: string;
}

interface HeldShare {
  readonly key: string;
  readonly subject: string;
  readonly micro: bigint;
  isHeld: boolean;
}

export class DailyUsage {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #maxSubjects: number;
  readonly #days = new Map<string, DayTotals>();
  /** Orders of earlier starts whose share is released or being released. */
  readonly #releasedEarlier = new Set<string>();
  /** By the order that grew. */
  readonly #growths = new Map<string, HeldShare[]>();

  constructor(store: StateStore, clock: Clock, maxSubjects: number) {
    this.#store = store;
    this.#clock = clock;
    this.#maxSubjects = maxSubjects;
  }

  /** Reads the rows of today and later: setting the clock back must not make orders free. Rejects when it cannot. */
  async load(): Promise<void> {
    for (let after = dayOf(this.#clock.wallMs()); ; ) {
      const page = await this.#store.scan(USAGE, { prefix: "", after, limit: MAX_SCAN_ROWS });
      for (const { key, value } of page) {
        const { subject, micro } = decodeJson(value) as UsageRow;
        const share: HeldShare = { key, subject, micro: BigInt(micro), isHeld: true };
        this.#add(key.slice(0, DAY_CHARS), subject, share.micro);
        const grown = grownOf(key);
        if (grown !== null) this.#noteGrowth(grown, share);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < MAX_SCAN_ROWS) return;
      after = last.key;
    }
  }

  /** Totals of the day that contains `atMs`, in millionths. */
  usedOn(atMs: number, subject: string): { readonly bySubject: bigint; readonly byAll: bigint } {
    const totals = this.#days.get(dayOf(atMs));
    return { bySubject: totals?.bySubject.get(subject) ?? 0n, byAll: totals?.all ?? 0n };
  }

  /** Returns false when the subject would be one too many for that day. */
  hasRoomFor(atMs: number, subject: string): boolean {
    const totals = this.#days.get(dayOf(atMs));
    return totals === undefined || totals.bySubject.size < this.#maxSubjects || totals.bySubject.has(subject);
  }

  today(): { readonly day: string; readonly usedByAll: bigint; readonly subjectCount: number } {
    const day = dayOf(this.#clock.wallMs());
    const totals = this.#days.get(day);
    return { day, usedByAll: totals?.all ?? 0n, subjectCount: totals?.bySubject.size ?? 0 };
  }

  /** Counts the share at once; its row belongs to the batch of the order's intent. */
  take({ atMs, clientIdHex, subject, micro, grows }: UsageShare): Pick<GuardReservation, "writes" | "release"> {
    this.#add(dayOf(atMs), subject, micro);
    const key = grows === undefined ? usageKey(atMs, clientIdHex) : growthKey(atMs, grows, clientIdHex);
    const share: HeldShare = { key, subject, micro, isHeld: true };
    if (grows !== undefined) this.#noteGrowth(grows, share);
    const row: UsageRow = { subject, micro: String(micro) };
    return {
      writes: [{ namespace: USAGE, key, value: encodeJson(row) }],
      release: () => [this.#release(share)],
    };
  }

  /** See Guards.releaseGrowth. */
  releaseGrowth(order: string): readonly StateWrite[] {
    return (this.#growths.get(order) ?? []).map((share) => this.#release(share));
  }

  #release(share: HeldShare): StateWrite {
    const { isHeld, key, micro, subject } = share;
    if (isHeld) this.#add(key.slice(0, DAY_CHARS), subject, -micro);
    share.isHeld = false;
    return { namespace: USAGE, key, value: null };
  }

  #noteGrowth(order: string, share: HeldShare): void {
    const shares = this.#growths.get(order) ?? [];
    shares.push(share);
    this.#growths.set(order, shares);
    const oldest = this.#growths.size > MAX_GROWN ? this.#growths.keys().next() : null;
    if (oldest !== null && oldest.done !== true) this.#growths.delete(oldest.value);
  }

  /** See Guards.releaseEarlier. */
  async releaseEarlier(clientIdHex: string, atMs: number): Promise<readonly StateWrite[]> {
    const key = usageKey(atMs, clientIdHex);
    if (this.#releasedEarlier.has(key)) return [{ namespace: USAGE, key, value: null }];
    const row = await this.#store.get(USAGE, key);
    if (row === null || this.#releasedEarlier.has(key)) return [];
    this.#releasedEarlier.add(key);
    const { subject, micro } = decodeJson(row) as UsageRow;
    this.#add(dayOf(atMs), subject, -BigInt(micro));
    return [{ namespace: USAGE, key, value: null }];
  }

  /**
   * Runs one bounded round; returns true when there may be more to do. Yesterday's rows are kept for one day more,
   * because an order may still release its share.
   */
  async sweep(): Promise<boolean> {
    const kept = dayOf(this.#clock.wallMs() - DAY_MS);
    for (const day of this.#days.keys()) if (day < kept) this.#days.delete(day);
    for (const key of this.#releasedEarlier) if (key.slice(0, DAY_CHARS) < kept) this.#releasedEarlier.delete(key);
    for (const [order, shares] of this.#growths)
      if (shares.every(({ key }) => key.slice(0, DAY_CHARS) < kept)) this.#growths.delete(order);
    const rows = await this.#store.scan(USAGE, { prefix: "", limit: SWEEP_ROWS });
    const past = rows.filter(({ key }) => key.slice(0, DAY_CHARS) < kept);
    if (past.length > 0) {
      await this.#store.commit({ writes: past.map(({ key }) => ({ namespace: USAGE, key, value: null })) });
    }
    return past.length === SWEEP_ROWS;
  }

  #add(day: string, subject: string, micro: bigint): void {
    let totals = this.#days.get(day);
    if (totals === undefined) {
      totals = { all: 0n, bySubject: new Map() };
      this.#days.set(day, totals);
    }
    totals.all += micro;
    const used = (totals.bySubject.get(subject) ?? 0n) + micro;
    if (used === 0n) totals.bySubject.delete(subject);
    else totals.bySubject.set(subject, used);
  }
}

/** In public mode there is no owner, and the account counts. */
export function subjectOf(ownerId: string | null, accountHash: string): string {
  return ownerId === null ? `account:${accountHash}` : `owner:${ownerId}`;
}

/** Quote units of a number of millionths. */
export function microText(micro: bigint): string {
  return formatScaledBig(micro, MICRO_PLACES);
}

function usageKey(atMs: number, clientIdHex: string): string {
  return `${dayOf(atMs)}|${clientIdHex}`;
}

/** The order that grew is named between the day and the change. */
function growthKey(atMs: number, order: string, changeIdHex: string): string {
  return `${dayOf(atMs)}|${encodeURIComponent(order)}|${changeIdHex}`;
}

/** Null for an order's own row. */
function grownOf(key: string): string | null {
  const [, order, change] = key.split("|");
  return order === undefined || change === undefined ? null : decodeURIComponent(order);
}

/** UTC, YYYY-MM-DD. */
function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, DAY_CHARS);
}
