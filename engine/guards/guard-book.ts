/**
 * The guards: limits from configuration, usage of the day, and the kill switch.
 *
 * Usage is one row for each order, written in the batch of its intent, and the day's totals are the sums of these rows.
 * So after a crash the totals count exactly the orders that may exist, and orders that run side by side share no row.
 * An order counts in full as sent, whatever part of it filled; an order that filled nothing releases its share.
 *
 * Invariants: a total never exceeds its limit. Orders that only reduce pass whatever the limits are. What cannot be
 * priced or counted is refused. Allow-lists, limits and the switch apply to opening orders only.
 *
 * Bounds: MAX_SUBJECTS totals a day (beyond: refused); rows of past days are swept; one store has one guard book.
 */
import type { Clock } from "../domain/clock.js";
import { divideBig, formatScaledBig, parseScaledBig, pow10Big } from "../domain/decimal.js";
import { ServiceError } from "../domain/errors.js";
import type { Logger } from "../domain/logger.js";
import { scrubReason } from "../domain/scrub.js";
import { isRoutableVenue, type RoutableVenue } from "../domain/venue.js";
import {
  decodeJson,
  encodeJson,
  MAX_SCAN_ROWS,
  type StateRow,
  type StateStore,
  type StateWrite,
} from "../storage/state-store.js";
import {
  NOTHING_RESERVED,
  type GuardedOrder,
  type GuardReservation,
  type Guards,
  type GuardVerdict,
} from "./guards.js";

/** Decimal texts in quote units; null means no limit. The quote assets of all venues count as equal. */
export interface GuardLimits {
  readonly maxOrderNotional: string | null;
  readonly maxDailyNotional: string | null;
  /** Canonical symbols; null means all. */
  readonly symbols: readonly string[] | null;
  readonly venues: readonly RoutableVenue[] | null;
}

export interface GuardPolicy {
  /** Limits for all keys together. */
  readonly global: GuardLimits;
  readonly byKey: ReadonlyMap<string, GuardLimits>;
  /** Limits for each key that has none of its own, and for each account in public mode. */
  readonly each: GuardLimits;
}

export const NO_LIMITS: GuardLimits = { maxOrderNotional: null, maxDailyNotional: null, symbols: null, venues: null };

/** What the operator switched off. */
interface Halt {
  /** Null means every venue. */
  readonly venue: RoutableVenue | null;
  /**
   * Text written by a person, scrubbed like a log line: it is stored, shown, and sent to every caller who is refused.
   */
  readonly reason: string;
  readonly sinceMs: number;
}

interface GuardStatus {
  readonly halts: readonly Halt[];
  /** UTC day of the totals, YYYY-MM-DD. */
  readonly day: string;
  /** Null where no daily limit is set: nothing is counted then. */
  readonly usedToday: string | null;
  readonly subjectCount: number;
}

const USAGE = "guard-usage";
const HALTS = "guard-halt";
const ALL_VENUES = "*";
const MICRO_PLACES = 6;
const DAY_MS = 86_400_000;
const DAY_CHARS = 10;
const MAX_SUBJECTS = 100_000;
const MAX_REASON_CHARS = 200;
const SWEEP_ROWS = 250;

interface UsageRow {
  readonly subject: string;
  /** Millionths of a quote unit. */
  readonly micro: string;
}

interface ParsedLimits {
  readonly maxOrderMicro: bigint | null;
  readonly maxDailyMicro: bigint | null;
  readonly symbols: ReadonlySet<string> | null;
  readonly venues: ReadonlySet<RoutableVenue> | null;
}

interface DayTotals {
  all: bigint;
  readonly bySubject: Map<string, bigint>;
}

interface GuardBookOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: GuardPolicy;
  readonly maxSubjects?: number;
}

export class GuardBook implements Guards {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #global: ParsedLimits;
  readonly #each: ParsedLimits;
  readonly #byKey = new Map<string, ParsedLimits>();
  readonly #maxSubjects: number;
  readonly #days = new Map<string, DayTotals>();
  readonly #halts = new Map<string, Halt>();
  /** Orders of earlier starts whose share is released or being released. */
  readonly #releasedEarlier = new Set<string>();
  #started = false;

  constructor(options: GuardBookOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#maxSubjects = options.maxSubjects ?? MAX_SUBJECTS;
    this.#global = parseLimits("global", options.policy.global);
    this.#each = parseLimits("each", options.policy.each);
    for (const [key, limits] of options.policy.byKey) this.#byKey.set(key, parseLimits(key, limits));
  }

  /**
   * Reads the switch and the day's usage; must finish before the first check. Rejects when they cannot be read; nothing
   * may trade then.
   */
  async start(): Promise<void> {
    for (const { value } of await this.#store.scan(HALTS, { prefix: "", limit: MAX_SCAN_ROWS })) {
      const stored = decodeJson(value) as Halt;
      const key = stored.venue ?? ALL_VENUES;
      const halt: Halt = { ...stored, reason: scrubReason(stored.reason, MAX_REASON_CHARS) };
      this.#halts.set(key, halt);
      // An earlier version stored the reason unscrubbed. A store that refuses this write does not prevent the start,
      // since exits must work.
      if (halt.reason !== stored.reason) await this.#store.put(HALTS, key, encodeJson(halt)).catch(() => {});
    }
    const today = dayOf(this.#clock.wallMs());
    for (let after = today; ; ) {
      // Reads later days too: setting the clock back must not make orders free.
      const page = await this.#store.scan(USAGE, { prefix: "", after, limit: MAX_SCAN_ROWS });
      for (const row of page) this.#load(row);
      const last = page.at(-1);
      if (last === undefined || page.length < MAX_SCAN_ROWS) break;
      after = last.key;
    }
    this.#started = true;
  }

  countsAccount(apiKeyId: string | null): boolean {
    return apiKeyId === null && this.#each.maxDailyMicro !== null;
  }

  check(order: GuardedOrder): GuardVerdict {
    const verdict = this.checkOrder(order);
    if (!verdict.ok || !order.opens) return verdict;
    const own = this.#limitsOf(order.apiKeyId);
    const isCounted = own.maxDailyMicro !== null || this.#global.maxDailyMicro !== null;
    return isCounted ? this.#reserve(order, own, notionalMicro(order)) : verdict;
  }

  checkOrder(order: GuardedOrder): GuardVerdict {
    if (!this.#started) return refused("NOT_READY", { parts: "guards" });
    if (!order.opens) return { ok: true, reservation: NOTHING_RESERVED };
    // What the store can still hold is kept for exits. Where it takes nothing, its own refusal reports that.
    const { space, freeBytes } = this.#store.status();
    if (space === "LOW" || space === "FULL") return refused("STORE_UNAVAILABLE", { reason: "DISK_LOW", freeBytes });
    const { venue, symbol } = order;
    const halt = this.#haltOf(venue);
    if (halt !== null) return refused("TRADING_HALTED", { exchange: venue, reason: halt.reason });
    const own = this.#limitsOf(order.apiKeyId);
    for (const limits of [own, this.#global]) {
      if (limits.venues !== null && !limits.venues.has(venue)) return refused("VENUE_NOT_ALLOWED", { exchange: venue });
      if (limits.symbols !== null && !limits.symbols.has(symbol)) return refused("SYMBOL_NOT_ALLOWED", { symbol });
    }
    const passed: GuardVerdict = { ok: true, reservation: this.#reservation(order, null, 0n) };
    if ([own, this.#global].every((limits) => limits.maxDailyMicro === null && limits.maxOrderMicro === null))
      return passed;
    // A sell limit is no measure of the order's value: it fills at the market, however far below it the limit is.
    if (order.doubleMidTicks <= 0) return refused("VENUE_UNAVAILABLE", { exchange: venue, reason: "NO_PRICE" });
    const micro = notionalMicro(order);
    for (const [scope, { maxOrderMicro }] of [
      ["key", own],
      ["global", this.#global],
    ] as const) {
      if (maxOrderMicro !== null && micro > maxOrderMicro) {
        return refused("ORDER_LIMIT", { scope, notional: microText(micro), maximum: microText(maxOrderMicro) });
      }
    }
    return passed;
  }

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
   * Stops openings (of one venue, or all) at once; the promise resolves when the stop is durable. Rejects with
   * STORE_UNAVAILABLE: openings are then stopped until this process ends.
   */
  async halt(venue: RoutableVenue | null, reason: string): Promise<void> {
    const halt: Halt = { venue, reason: scrubReason(reason, MAX_REASON_CHARS), sinceMs: this.#clock.wallMs() };
    this.#halts.set(venue ?? ALL_VENUES, halt);
    this.#logger.warn("trading_halted", { venue: venue ?? "all" });
    await this.#store.put(HALTS, venue ?? ALL_VENUES, encodeJson(halt));
  }

  /**
   * Allows openings again once that is durable. The halt of all venues and the halt of one venue are lifted separately.
   */
  async resume(venue: RoutableVenue | null): Promise<void> {
    const key = venue ?? ALL_VENUES;
    const lifted = this.#halts.get(key);
    await this.#store.remove(HALTS, key);
    // A new halt came meanwhile: it applies, here as in the store.
    if (this.#halts.get(key) !== lifted) return;
    this.#halts.delete(key);
    this.#logger.warn("trading_resumed", { venue: venue ?? "all" });
  }

  status(): GuardStatus {
    const day = dayOf(this.#clock.wallMs());
    const totals = this.#days.get(day);
    const isCounted = [this.#global, this.#each, ...this.#byKey.values()].some(
      (limits) => limits.maxDailyMicro !== null,
    );
    return {
      halts: [...this.#halts.values()],
      day,
      usedToday: isCounted ? microText(totals?.all ?? 0n) : null,
      subjectCount: totals?.bySubject.size ?? 0,
    };
  }

  /** What a key has used today, in quote units. In public mode the key is null and the account counts. */
  usedBy(apiKeyId: string | null, accountHash: string): string {
    const totals = this.#days.get(dayOf(this.#clock.wallMs()));
    return microText(totals?.bySubject.get(subjectOf(apiKeyId, accountHash)) ?? 0n);
  }

  /**
   * Runs one bounded round; returns true when there may be more to do. Yesterday's rows are kept for one day more,
   * because an order may still release its share.
   */
  async sweep(): Promise<boolean> {
    const nowMs = this.#clock.wallMs();
    const kept = dayOf(nowMs - DAY_MS);
    for (const day of this.#days.keys()) if (day < kept) this.#days.delete(day);
    for (const key of this.#releasedEarlier) if (key.slice(0, DAY_CHARS) < kept) this.#releasedEarlier.delete(key);
    const rows = await this.#store.scan(USAGE, { prefix: "", limit: SWEEP_ROWS });
    const past = rows.filter(({ key }) => key.slice(0, DAY_CHARS) < kept);
    if (past.length > 0) {
      await this.#store.commit({ writes: past.map(({ key }) => ({ namespace: USAGE, key, value: null })) });
    }
    return past.length === SWEEP_ROWS;
  }

  #reserve(order: GuardedOrder, own: ParsedLimits, micro: bigint): GuardVerdict {
    const day = dayOf(order.atMs);
    const subject = subjectOf(order.apiKeyId, order.accountHash);
    const totals = this.#days.get(day);
    const used = totals?.bySubject.get(subject) ?? 0n;
    const usedByAll = totals?.all ?? 0n;
    for (const [scope, limits, before] of [
      ["key", own, used],
      ["global", this.#global, usedByAll],
    ] as const) {
      const { maxDailyMicro } = limits;
      if (maxDailyMicro === null || before + micro <= maxDailyMicro) continue;
      const left = maxDailyMicro > before ? maxDailyMicro - before : 0n;
      const details = { scope, notional: microText(micro), left: microText(left), maximum: microText(maxDailyMicro) };
      return refused("DAILY_LIMIT", { ...details, resetsAt: (Math.floor(order.atMs / DAY_MS) + 1) * DAY_MS });
    }
    if (totals !== undefined && totals.bySubject.size >= this.#maxSubjects && !totals.bySubject.has(subject)) {
      return refused("OVERLOADED", { reason: "GUARD_SUBJECTS" });
    }
    this.#add(day, subject, micro);
    return { ok: true, reservation: this.#reservation(order, subject, micro) };
  }

  /** With `subject` null nothing is counted. */
  #reservation(order: GuardedOrder, subject: string | null, micro: bigint): GuardReservation {
    const key = usageKey(order.atMs, order.clientIdHex);
    const mayStillSend = (): boolean => this.#haltOf(order.venue) === null;
    if (subject === null) return { ...NOTHING_RESERVED, mayStillSend };
    const row: UsageRow = { subject, micro: String(micro) };
    let held = true;
    return {
      writes: [{ namespace: USAGE, key, value: encodeJson(row) }],
      mayStillSend,
      release: () => {
        if (held) this.#add(dayOf(order.atMs), subject, -micro);
        held = false;
        return [{ namespace: USAGE, key, value: null }];
      },
    };
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

  #load(row: StateRow): void {
    const { subject, micro } = decodeJson(row.value) as UsageRow;
    this.#add(row.key.slice(0, DAY_CHARS), subject, BigInt(micro));
  }

  #limitsOf(apiKeyId: string | null): ParsedLimits {
    return (apiKeyId === null ? undefined : this.#byKey.get(apiKeyId)) ?? this.#each;
  }

  #haltOf(venue: RoutableVenue): Halt | null {
    return this.#halts.get(ALL_VENUES) ?? this.#halts.get(venue) ?? null;
  }
}

/** Returns lots × the larger of limit and mid, in millionths of a quote unit, rounded up. */
export function notionalMicro(order: GuardedOrder): bigint {
  const doublePrice = BigInt(Math.max(2 * order.priceTicks, order.doubleMidTicks));
  const places = order.qtyDecimals + order.priceDecimals - MICRO_PLACES;
  const numerator = BigInt(order.qtyLots) * doublePrice * pow10Big(Math.max(0, -places));
  return divideBig(numerator, 2n * pow10Big(Math.max(0, places)), "ceil");
}

function refused(
  code: Extract<GuardVerdict, { ok: false }>["code"],
  details: Readonly<Record<string, unknown>>,
): GuardVerdict {
  return { ok: false, code, details };
}

function subjectOf(apiKeyId: string | null, accountHash: string): string {
  return apiKeyId === null ? `account:${accountHash}` : `key:${apiKeyId}`;
}

function usageKey(atMs: number, clientIdHex: string): string {
  return `${dayOf(atMs)}|${clientIdHex}`;
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, DAY_CHARS);
}

function microText(micro: bigint): string {
  return formatScaledBig(micro, MICRO_PLACES);
}

/** Throws on an invalid configured limit: an unreadable limit must not count as none. */
function parseLimits(name: string, limits: GuardLimits): ParsedLimits {
  const parse = (what: string, text: string | null): bigint | null => {
    if (text === null) return null;
    const micro = parseScaledBig(text, MICRO_PLACES);
    if (micro === null || micro < 0n) throw new ServiceError("INTERNAL", { problem: `guard ${name}.${what}` });
    return micro;
  };
  for (const venue of limits.venues ?? []) {
    if (!isRoutableVenue(venue)) throw new ServiceError("INTERNAL", { problem: `guard ${name}.venues` });
  }
  return {
    maxOrderMicro: parse("maxOrderNotional", limits.maxOrderNotional),
    maxDailyMicro: parse("maxDailyNotional", limits.maxDailyNotional),
    symbols: limits.symbols === null ? null : new Set(limits.symbols),
    venues: limits.venues === null ? null : new Set(limits.venues),
  };
}
