/**
 * What a user stream and its reconciliations say about the orders and fills of one account. Pure state: no sockets, no
 * clock.
 *
 * An order never unfills, and is ordered by the venue's event time: the venue may deliver events out of order under load.
 * A fill is reported once, by its trade and order id, whether an event or a read brings it.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import { orderKey, type VenueFill, type VenueOrder } from "../../../engine/domain/order.js";
import type { AccountEvent } from "../../../engine/ports.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import type { VenuetwoWireOrderUpdate } from "../market/wire.js";
import { isLiquidationId, normalizeFill, normalizeOrderUpdate } from "./normalize-pushed.js";

/** Trades remembered to drop a fill that comes twice: two connections overlap in a rotation, a gap is read again. */
const MAX_REMEMBERED_FILLS = 8_192;
/** Orders remembered: open ones, and the event time of lately changed ones. The venue allows 200 open per symbol. */
const MAX_REMEMBERED_ORDERS = 4_096;

interface OrderRow {
  readonly order: VenueOrder;
  readonly tsEventMs: number;
}

/** `unfit`: only REST can tell: unknown symbol, or figures that do not fit the instrument. */
export type AppliedEvent =
  | { readonly kind: "events"; readonly events: readonly AccountEvent[] }
  | { readonly kind: "unfit"; readonly problem: string };

export const NOTHING: AppliedEvent = { kind: "events", events: [] };

export class OrderState {
  readonly #orders = new Map<string, OrderRow>();
  readonly #fills = new Set<string>();
  /** Of all orders. */
  #newestMs = 0;
  lateCount = 0;

  /** Orders that were open at their last report. */
  openOrders(): readonly VenueOrder[] {
    const open: VenueOrder[] = [];
    for (const { order } of this.#orders.values()) if (isOpen(order)) open.push(order);
    return open;
  }

  /** ORDER_TRADE_UPDATE. `tsEventMs` null: of no time that can be believed; it bars nothing. */
  applyOrder(
    wire: VenuetwoWireOrderUpdate,
    tsEventMs: number | null,
    instrumentOf: (nativeSymbol: string) => Instrument | null,
  ): AppliedEvent {
    const instrument = instrumentOf(wire.s);
    if (instrument === null) return NOTHING;
    try {
      const order = normalizeOrderUpdate(wire, instrument);
      const fill = normalizeFill(wire, order, instrument);
      const events: AccountEvent[] = [];
      if (this.#takeOrder(order, tsEventMs)) events.push({ kind: "order", order });
      // A late fill is a fill all the same; only one that was seen before is not.
      if (fill !== null && this.#takeFill(fillKey(fill.tradeId, order))) events.push(fill);
      else if (fill !== null) this.lateCount++;
      return { kind: "events", events };
    } catch (error) {
      if (!(error instanceof WireFault)) throw error;
      return { kind: "unfit", problem: `${error.field} ${error.problem}` };
    }
  }

  /** Takes an order of a REST answer. Returns true when it is news. */
  adoptOrder(order: VenueOrder): boolean {
    const known = this.#orders.get(orderKey(order));
    if (known !== undefined && (isOlder(order, known.order) || !isNews(order, known.order))) return false;
    this.#remember(order, order.tsVenueMs);
    return true;
  }

  /** The fill was reported before. */
  hasFill(fill: VenueFill): boolean {
    return this.#fills.has(fillKey(fill.tradeId, fill));
  }

  /** Takes a fill of a REST answer. Returns null when it was reported before. `price`: native. */
  adoptFill({ fee, qtyLots, tradeId }: VenueFill, order: VenueOrder, price: string): AccountEvent | null {
    if (!this.#takeFill(fillKey(tradeId, order))) return null;
    const isLiquidation = isLiquidationId(order.venueClientOrderId);
    return { kind: "fill", order, qtyLots, price, fee, tradeId, ...(isLiquidation ? { isLiquidation } : {}) };
  }

  /** The order as last reported; null where it never was. */
  orderOf(of: Pick<VenueOrder, "nativeSymbol" | "venueOrderId">): VenueOrder | null {
    return this.#orders.get(orderKey(of))?.order ?? null;
  }

  /** The order as last reported. */
  newestOf(order: VenueOrder): VenueOrder {
    return this.orderOf(order) ?? order;
  }

  /** Returns true when nothing newer was reported of this order. */
  isNewest(order: VenueOrder): boolean {
    const known = this.#orders.get(orderKey(order));
    return known !== undefined && !isNews(order, known.order);
  }

  /** The venue's clock was found to be behind what was taken: a time in the future bars nothing that follows. */
  forgetBeyond(latestMs: number): void {
    if (barredBeforeMs(this.#newestMs, latestMs) === this.#newestMs) return;
    this.#newestMs = 0;
    for (const [key, row] of this.#orders) {
      const tsEventMs = barredBeforeMs(row.tsEventMs, latestMs);
      this.#orders.set(key, { ...row, tsEventMs });
      this.#newestMs = Math.max(this.#newestMs, tsEventMs);
    }
  }

  #takeOrder(order: VenueOrder, eventMs: number | null): boolean {
    const known = this.#orders.get(orderKey(order));
    const tsEventMs = eventMs ?? known?.tsEventMs ?? 0;
    if (known !== undefined) {
      const isLate = tsEventMs < known.tsEventMs || order.filledLots < known.order.filledLots;
      if (isLate || (tsEventMs === known.tsEventMs && !isNews(order, known.order))) {
        this.lateCount++;
        return false;
      }
    }
    this.#remember(order, tsEventMs);
    return true;
  }

  #remember(order: VenueOrder, tsEventMs: number): void {
    const key = orderKey(order);
    this.#orders.delete(key);
    this.#orders.set(key, { order, tsEventMs });
    this.#newestMs = Math.max(this.#newestMs, tsEventMs);
    if (this.#orders.size <= MAX_REMEMBERED_ORDERS) return;
    // Oldest closed one first; if all are open the oldest goes, and the next reconcile reports it.
    for (const [oldKey, row] of this.#orders) {
      if (!isOpen(row.order)) {
        this.#orders.delete(oldKey);
        return;
      }
    }
    const oldest = this.#orders.keys().next();
    if (!oldest.done) this.#orders.delete(oldest.value);
  }

  #takeFill(key: string): boolean {
    if (this.#fills.has(key)) return false;
    this.#fills.add(key);
    if (this.#fills.size > MAX_REMEMBERED_FILLS) {
      const oldest = this.#fills.keys().next();
      if (!oldest.done) this.#fills.delete(oldest.value);
    }
    return true;
  }
}

/** An unknown status may be an open one. */
function isOpen(order: VenueOrder): boolean {
  return order.status === "OPEN" || order.status === "PARTIALLY_FILLED" || order.status === "UNKNOWN";
}

/** REST lags: an order never unfills, and one that has ended never opens again. */
function isOlder(order: VenueOrder, known: VenueOrder): boolean {
  return order.filledLots < known.filledLots || (isOpen(order) && !isOpen(known));
}

function isNews(order: VenueOrder, known: VenueOrder): boolean {
  return (
    order.venueStatus !== known.venueStatus ||
    order.filledLots !== known.filledLots ||
    order.qtyLots !== known.qtyLots ||
    order.priceTicks !== known.priceTicks
  );
}

/** Both sides of a trade with oneself carry one trade id. */
function fillKey(tradeId: string, { venueOrderId }: Pick<VenueOrder, "venueOrderId">): string {
  return `${tradeId}|${venueOrderId}`;
}
