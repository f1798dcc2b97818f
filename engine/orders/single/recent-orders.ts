/**
 * Orders that their venue confirmed, or was asked to change, a moment ago. A venue may answer "no such order" about one
 * that it has just accepted, or show it as it was; for that moment our own record of it is the better answer.
 *
 * Bounds: MAX_RECENT orders, and changed ones, the least recently used one goes; each speaks for INDEXING_LAG_MS after its
 * confirmation, or its last change. After a burst of more than MAX_FORMER changes no read counts for as long.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../domain/clock.js";
import type { OrderChange, VenueOrder } from "../../domain/order.js";
import { INDEXING_LAG_MS } from "../send/absence-proof.js";
import { lastAttempt, type SingleRun } from "./single-run.js";

const MAX_RECENT = 10_000;
const MAX_FORMER = 8;

type Figures = Pick<VenueOrder, "priceTicks" | "qtyLots">;

interface Changed {
  /** As the order was before one of its changes: a read that shows it so may be late. */
  readonly former: readonly Figures[];
  /** There were more than `former` holds: then every read that is not the newest form may be late. */
  readonly isBurst: boolean;
  readonly now: Figures;
  readonly renamed: Renamed | null;
  readonly untilNs: number;
}

/** At a venue that gives an order a new id, and the size that is left of it, with each change: figures tell nothing there. */
interface Renamed {
  /** Ids that others are in the place of, as far as they were not refused: a read that shows one of them may be late. */
  readonly formerIds: readonly string[];
  /** Null: the venue did not say. */
  readonly successor: VenueOrder | null;
}

interface Recent {
  readonly run: SingleRun;
  readonly ackAtMs: number;
  /** Monotonic: the wall clock may be set meanwhile. */
  readonly untilNs: number;
}

export class RecentOrders {
  readonly #clock: Clock;
  readonly #byName = new LRUCache<string, Recent>({ max: MAX_RECENT });
  readonly #changed = new LRUCache<string, Changed>({ max: MAX_RECENT });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(run: SingleRun): void {
    const attempt = lastAttempt(run);
    if (attempt === null || attempt.outcome !== "CONFIRMED" || attempt.order === null) return;
    const { ackAtMs } = attempt;
    if (ackAtMs === null) return;
    const leftMs = Math.max(0, Math.min(INDEXING_LAG_MS, ackAtMs + INDEXING_LAG_MS - this.#clock.wallMs()));
    const untilNs = this.#clock.monoNs() + leftMs * 1e6;
    for (const name of [attempt.order.venueOrderId, attempt.venueClientOrderId, run.clientOrderId]) {
      if (name === null || name === "") continue;
      const key = `${run.accountHash}|${name}`;
      const before = this.#byName.get(key);
      // Reported again, which is no new confirmation.
      this.#byName.set(key, { run, ackAtMs, untilNs: before?.ackAtMs === ackAtMs ? before.untilNs : untilNs });
    }
  }

  /** Of these owners' account. Null when it is not one of them, or old enough that the venue must know it. */
  find(accountHashes: readonly string[], name: string): SingleRun | null {
    for (const accountHash of accountHashes) {
      const recent = this.#byName.get(`${accountHash}|${name}`);
      if (recent !== undefined && this.#clock.monoNs() <= recent.untilNs) return recent.run;
    }
    return null;
  }

  /**
   * The order with what its venue took of changes, or may have taken, and does not show yet, whichever owner asked for
   * them. `venueAccountHash`: of the account alone.
   */
  asChanged(venueAccountHash: string, order: VenueOrder): VenueOrder {
    const changed = this.#live(changedKey(venueAccountHash, order));
    if (changed === null) return order;
    const { renamed } = changed;
    if (renamed !== null) {
      if (!renamed.formerIds.includes(order.venueOrderId)) return order;
      return renamed.successor ?? { ...order, ...changed.now };
    }
    const isLate = changed.isBurst || changed.former.some((figures) => isSame(figures, order));
    return isLate ? { ...order, ...changed.now } : order;
  }

  /** `order`: as it was, by `asChanged`. `renamed`: the venue gives it another id; null where that is not known yet. */
  change(
    venueAccountHash: string,
    order: VenueOrder,
    { priceTicks, qtyLots }: OrderChange,
    renamed?: { readonly successor: VenueOrder | null },
  ): void {
    const key = changedKey(venueAccountHash, order);
    const before = this.#live(key);
    const former = [...(before?.former ?? []), { priceTicks: order.priceTicks, qtyLots: order.qtyLots }];
    const isBurst = before?.isBurst === true || former.length > MAX_FORMER;
    const untilNs = this.#clock.monoNs() + INDEXING_LAG_MS * 1e6;
    const formerIds = [...(before?.renamed?.formerIds ?? []), order.venueOrderId].slice(-MAX_FORMER);
    this.#changed.set(key, {
      former: former.slice(-MAX_FORMER),
      isBurst,
      now: { priceTicks, qtyLots },
      renamed: renamed === undefined ? null : { formerIds, successor: renamed.successor },
      untilNs,
    });
  }

  #live(key: string): Changed | null {
    const changed = this.#changed.get(key);
    return changed !== undefined && this.#clock.monoNs() <= changed.untilNs ? changed : null;
  }
}

/** An order that is not listed yet has no id of the venue. */
function changedKey(venueAccountHash: string, { nativeSymbol, venueClientOrderId, venueOrderId }: VenueOrder): string {
  return `${venueAccountHash}|${nativeSymbol}|${venueClientOrderId ?? venueOrderId}`;
}

function isSame(left: Figures, right: Figures): boolean {
  return left.priceTicks === right.priceTicks && left.qtyLots === right.qtyLots;
}
