/**
 * The guards: limits from configuration, over the usage of the day (daily-usage.ts) and the kill switch
 * (trading-halts.ts).
 *
 * Invariants: a total never exceeds its limit. Orders that only reduce pass whatever the limits are. What cannot be
 * priced or counted is refused. Allow-lists, limits and the switch apply to opening orders only.
 *
 * Bounds: MAX_SUBJECTS totals a day (beyond: refused); one store has one guard book.
 */
import type { Clock } from "../domain/clock.js";
import { divideBig, parseScaledBig, pow10Big } from "../domain/decimal.js";
import { ServiceError } from "../domain/errors.js";
import type { Logger } from "../domain/logger.js";
import { isRoutableVenue, type RoutableVenue } from "../domain/venue.js";
import type { Restored } from "../storage/instance/instance-mark.js";
import type { StateStore, StateWrite } from "../storage/state-store.js";
import { DailyUsage, DAY_MS, MICRO_PLACES, microText, subjectOf } from "./daily-usage.js";
import {
  NOTHING_RESERVED,
  type GuardedOrder,
  type GuardReservation,
  type GuardStop,
  type Guards,
  type GuardVerdict,
} from "./guards.js";
import { type Halt, TradingHalts } from "./trading-halts.js";

/** Decimal texts in quote units; null means no limit. The quote assets of all venues count as equal. */
export interface GuardLimits {
  readonly maxOrderNotional: string | null;
  readonly maxDailyNotional: string | null;
  /** Canonical symbols; null means all. */
  readonly symbols: readonly string[] | null;
  readonly venues: readonly RoutableVenue[] | null;
}

export interface GuardPolicy {
  /** Limits for all callers together. */
  readonly global: GuardLimits;
  readonly byOwner: ReadonlyMap<string, GuardLimits>;
  /** Limits for each owner that has none of its own, and for each account in public mode. */
  readonly each: GuardLimits;
}

export const NO_LIMITS: GuardLimits = { maxOrderNotional: null, maxDailyNotional: null, symbols: null, venues: null };

interface GuardStatus {
  readonly halts: readonly Halt[];
  /** UTC day of the totals, YYYY-MM-DD. */
  readonly day: string;
  /** Null where no daily limit is set: nothing is counted then. */
  readonly usedToday: string | null;
  readonly subjectCount: number;
}

const MAX_SUBJECTS = 100_000;

interface ParsedLimits {
  readonly maxOrderMicro: bigint | null;
  readonly maxDailyMicro: bigint | null;
  readonly symbols: ReadonlySet<string> | null;
  readonly venues: ReadonlySet<RoutableVenue> | null;
}

interface GuardBookOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: GuardPolicy;
  readonly maxSubjects?: number;
  /** Of a store that was put back nothing is opened; absent: it never is. */
  readonly restored?: () => Restored | null;
}

export class GuardBook implements Guards {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #restored: () => Restored | null;
  readonly #halts: TradingHalts;
  readonly #usage: DailyUsage;
  readonly #global: ParsedLimits;
  readonly #each: ParsedLimits;
  readonly #byOwner = new Map<string, ParsedLimits>();
  #started = false;

  constructor({ store, clock, logger, policy, maxSubjects = MAX_SUBJECTS, restored = () => null }: GuardBookOptions) {
    this.#restored = restored;
    this.#store = store;
    this.#clock = clock;
    this.#halts = new TradingHalts(store, clock, logger);
    this.#usage = new DailyUsage(store, clock, maxSubjects);
    this.#global = parseLimits("global", policy.global);
    this.#each = parseLimits("each", policy.each);
    for (const [owner, limits] of policy.byOwner) this.#byOwner.set(owner, parseLimits(owner, limits));
  }

  /**
   * Reads the switch and the day's usage; must finish before the first check. Rejects when they cannot be read; nothing
   * may trade then.
   */
  async start(): Promise<void> {
    await this.#halts.load();
    await this.#usage.load();
    this.#started = true;
  }

  countsAccount(ownerId: string | null): boolean {
    return ownerId === null && this.#each.maxDailyMicro !== null;
  }

  check(order: GuardedOrder): GuardVerdict {
    const verdict = this.checkOrder(order);
    if (!verdict.ok || !order.opens) return verdict;
    const own = this.#limitsOf(order.ownerId);
    const isCounted = own.maxDailyMicro !== null || this.#global.maxDailyMicro !== null;
    return isCounted ? this.#reserve(order, own, verdict.reservation) : verdict;
  }

  checkOrder(order: GuardedOrder): GuardVerdict {
    if (!this.#started) return refused("NOT_READY", { parts: "guards" });
    if (!order.opens) return { ok: true, reservation: NOTHING_RESERVED };
    // What the store can still hold is kept for exits. Where it takes nothing, its own refusal reports that.
    const { space, freeBytes } = this.#store.status();
    if (space === "LOW" || space === "FULL") return refused("STORE_UNAVAILABLE", { reason: "DISK_LOW", freeBytes });
    const restored = this.#restored();
    if (restored !== null) return refused("RESTORED_STORE", { reason: restored.reason, since: restored.sinceMs });
    const { venue, symbol } = order;
    const halt = this.#halts.of(venue);
    if (halt !== null) return refused("TRADING_HALTED", { exchange: venue, reason: halt.reason });
    const own = this.#limitsOf(order.ownerId);
    for (const limits of [own, this.#global]) {
      if (limits.venues !== null && !limits.venues.has(venue)) return refused("VENUE_NOT_ALLOWED", { exchange: venue });
      if (limits.symbols !== null && !limits.symbols.has(symbol)) return refused("SYMBOL_NOT_ALLOWED", { symbol });
    }
    const stoppedBy = (): GuardStop | null => {
      if (this.#restored() !== null) return "RESTORED_STORE";
      return this.#halts.of(venue) === null ? null : "TRADING_HALTED";
    };
    const passed: GuardVerdict = { ok: true, reservation: { ...NOTHING_RESERVED, stoppedBy } };
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

  releaseEarlier(clientIdHex: string, atMs: number): Promise<readonly StateWrite[]> {
    return this.#usage.releaseEarlier(clientIdHex, atMs);
  }

  releaseGrowth(order: string): readonly StateWrite[] {
    return this.#usage.releaseGrowth(order);
  }

  /**
   * Stops openings (of one venue, or all) at once; the promise resolves when the stop is durable. Rejects with
   * STORE_UNAVAILABLE: openings are then stopped until this process ends.
   */
  halt(venue: RoutableVenue | null, reason: string): Promise<void> {
    return this.#halts.halt(venue, reason);
  }

  /**
   * Allows openings again once that is durable. The halt of all venues and the halt of one venue are lifted separately.
   */
  resume(venue: RoutableVenue | null): Promise<void> {
    return this.#halts.resume(venue);
  }

  status(): GuardStatus {
    const { day, usedByAll, subjectCount } = this.#usage.today();
    const isCounted = [this.#global, this.#each, ...this.#byOwner.values()].some(
      (limits) => limits.maxDailyMicro !== null,
    );
    return { halts: this.#halts.list(), day, usedToday: isCounted ? microText(usedByAll) : null, subjectCount };
  }

  /** What an owner has used today, in quote units. In public mode it is null and the account counts. */
  usedBy(ownerId: string | null, accountHash: string): string {
    return microText(this.#usage.usedOn(this.#clock.wallMs(), subjectOf(ownerId, accountHash)).bySubject);
  }

  /** Runs one bounded round; returns true when there may be more to do. */
  sweep(): Promise<boolean> {
    return this.#usage.sweep();
  }

  /** Adds a share of the day to what the order was granted without one. */
  #reserve(order: GuardedOrder, own: ParsedLimits, uncounted: GuardReservation): GuardVerdict {
    const { atMs, clientIdHex, grows } = order;
    const micro = notionalMicro(order);
    const subject = subjectOf(order.ownerId, order.accountHash);
    const used = this.#usage.usedOn(atMs, subject);
    for (const [scope, limits, before] of [
      ["key", own, used.bySubject],
      ["global", this.#global, used.byAll],
    ] as const) {
      const { maxDailyMicro } = limits;
      if (maxDailyMicro === null || before + micro <= maxDailyMicro) continue;
      const left = microText(maxDailyMicro > before ? maxDailyMicro - before : 0n);
      // What all have left would tell an owner what the others used.
      const shown = scope === "key" || order.ownerId === null ? { left } : {};
      const details = { scope, notional: microText(micro), ...shown, maximum: microText(maxDailyMicro) };
      return refused("DAILY_LIMIT", { ...details, resetsAt: (Math.floor(atMs / DAY_MS) + 1) * DAY_MS });
    }
    if (!this.#usage.hasRoomFor(atMs, subject)) return refused("OVERLOADED", { reason: "GUARD_SUBJECTS" });
    const share = { atMs, clientIdHex, subject, micro, ...(grows === undefined ? {} : { grows }) };
    return { ok: true, reservation: { ...uncounted, ...this.#usage.take(share) } };
  }

  #limitsOf(ownerId: string | null): ParsedLimits {
    return (ownerId === null ? undefined : this.#byOwner.get(ownerId)) ?? this.#each;
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
