/**
 * What an account's channels and their reconciliations say about it, merged so that nothing moves backwards. Pure state:
 * no sockets, no clock.
 *
 * The venue's sequence number `li` orders frames within a channel and rows of one order, never across channels: a fill
 * may come before the update of its order or after. A positions frame is the whole set. A REST snapshot carries the same
 * number, so the newer of both counts. A fill is reported once, and not before its order is known.
 */
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent } from "../../../engine/ports.js";

/** Trade ids remembered, so that a fill that comes twice is reported once. */
const MAX_REMEMBERED_FILLS = 4_096;
/** Orders remembered: open ones, and lately changed ones. */
const MAX_REMEMBERED_ORDERS = 4_096;
/** Fills held for orders not reported yet; the oldest goes, and its order's filled size still has it. */
const MAX_WAITING_FILLS = 1_024;
const NO_LI = -1;

export interface StreamedFill {
  readonly tradeId: string;
  readonly venueOrderId: string;
  readonly nativeSymbol: string;
  readonly qtyLots: number;
  /** Native, as printed. */
  readonly price: string;
  readonly fee: { readonly amount: string; readonly asset: string } | null;
}

interface OrderRow {
  readonly order: VenueOrder;
  /** Of the frame that set it; NO_LI when REST did. */
  readonly li: number;
}

export class AccountState {
  #positions: readonly VenuePosition[] = [];
  #positionsLi = NO_LI;
  readonly #orders = new Map<string, OrderRow>();
  readonly #fills = new Set<string>();
  readonly #waiting = new Map<string, StreamedFill>();
  lateCount = 0;

  positions(): readonly VenuePosition[] {
    return this.#positions;
  }

  /** Orders that were open at their last report. */
  openOrders(): readonly VenueOrder[] {
    const open: VenueOrder[] = [];
    for (const { order } of this.#orders.values()) if (isOpen(order)) open.push(order);
    return open;
  }

  /** Orders that fills wait for. */
  awaitedOrderIds(): readonly { readonly venueOrderId: string; readonly nativeSymbol: string }[] {
    const ids = new Map([...this.#waiting.values()].map((fill) => [fill.venueOrderId, fill]));
    return [...ids.values()];
  }

  /** True when what readers see has changed. */
  applyPositions(positions: readonly VenuePosition[], li: number | null): boolean {
    if (li !== null && li < this.#positionsLi) {
      this.lateCount++;
      return false;
    }
    // Without a number it is newer than all that came before on this socket.
    this.#positionsLi = li ?? this.#positionsLi;
    return this.#setPositions(positions);
  }

  /** The order's news, and fills that waited for it. */
  applyOrder(order: VenueOrder, li: number): readonly AccountEvent[] {
    const known = this.#orders.get(order.venueOrderId);
    if (known !== undefined && (li < known.li || isOlder(order, known.order))) {
      this.lateCount++;
      return [];
    }
    const isNews = known === undefined || isDifferent(order, known.order);
    this.#remember(order, li);
    return [...(isNews ? [{ kind: "order", order } as const] : []), ...this.#release(order)];
  }

  /** Nothing while its order is unknown. */
  applyFill(fill: StreamedFill): readonly AccountEvent[] {
    if (this.#fills.has(fill.tradeId) || this.#waiting.has(fill.tradeId)) {
      this.lateCount++;
      return [];
    }
    const known = this.#orders.get(fill.venueOrderId);
    if (known !== undefined) return [this.#tell(fill, known.order)];
    this.#waiting.set(fill.tradeId, fill);
    forgetOldest(this.#waiting, MAX_WAITING_FILLS);
    return [];
  }

  /**
   * Takes a whole REST answer unless a frame is newer: by the sequence number, and where the answer has none by whether
   * a frame came after it was asked for (`hasNewerFrame`). `isBegunAgain`: its number is compared with none of before.
   * True when what readers see has changed.
   */
  adoptPositions(
    positions: readonly VenuePosition[],
    lastId: number | null,
    hasNewerFrame: boolean,
    isBegunAgain = false,
  ): boolean {
    const isOutdated = lastId === null ? hasNewerFrame : lastId < this.#positionsLi && !isBegunAgain;
    if (isOutdated) return false;
    if (lastId !== null) this.#positionsLi = lastId;
    return this.#setPositions(positions);
  }

  /** An order as REST reports it. */
  adoptOrder(order: VenueOrder): readonly AccountEvent[] {
    const known = this.#orders.get(order.venueOrderId);
    if (known !== undefined && isOlder(order, known.order)) return this.#release(known.order);
    const isNews = known === undefined || isDifferent(order, known.order);
    this.#remember(order, known?.li ?? NO_LI);
    return [...(isNews ? [{ kind: "order", order } as const] : []), ...this.#release(order)];
  }

  /** Has nothing else been reported of this order since? */
  isNewest(order: VenueOrder): boolean {
    return !isDifferent(order, this.newestOf(order));
  }

  /** The order as last reported. */
  newestOf(order: VenueOrder): VenueOrder {
    return this.#orders.get(order.venueOrderId)?.order ?? order;
  }

  /** The connection was lost: the next one's numbers are compared with nothing of this one. */
  forgetSequence(): void {
    this.#positionsLi = NO_LI;
    for (const [id, row] of this.#orders) this.#orders.set(id, { ...row, li: NO_LI });
  }

  #setPositions(positions: readonly VenuePosition[]): boolean {
    const isChanged = fingerprint(positions) !== fingerprint(this.#positions);
    this.#positions = positions;
    return isChanged;
  }

  #remember(order: VenueOrder, li: number): void {
    this.#orders.delete(order.venueOrderId);
    this.#orders.set(order.venueOrderId, { order, li });
    if (this.#orders.size <= MAX_REMEMBERED_ORDERS) return;
    // Oldest closed one first; if all are open the oldest goes, and REST reports it at the next reconcile.
    for (const [id, row] of this.#orders) {
      if (isOpen(row.order)) continue;
      this.#orders.delete(id);
      return;
    }
    forgetOldest(this.#orders, MAX_REMEMBERED_ORDERS);
  }

  #release(order: VenueOrder): readonly AccountEvent[] {
    const events: AccountEvent[] = [];
    for (const [tradeId, fill] of this.#waiting) {
      if (fill.venueOrderId !== order.venueOrderId) continue;
      this.#waiting.delete(tradeId);
      events.push(this.#tell(fill, order));
    }
    return events;
  }

  #tell(fill: StreamedFill, order: VenueOrder): AccountEvent {
    this.#fills.add(fill.tradeId);
    if (this.#fills.size > MAX_REMEMBERED_FILLS) {
      const oldest = this.#fills.values().next();
      if (oldest.done !== true) this.#fills.delete(oldest.value);
    }
    const { qtyLots, price, fee, tradeId } = fill;
    return { kind: "fill", order, qtyLots, price, fee, tradeId };
  }
}

function forgetOldest(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}

/** An unknown status may be an open one. */
function isOpen(order: VenueOrder): boolean {
  return order.status === "OPEN" || order.status === "PARTIALLY_FILLED" || order.status === "UNKNOWN";
}

/** An order never unfills, and one that has ended never opens again. */
function isOlder(order: VenueOrder, known: VenueOrder): boolean {
  return order.filledLots < known.filledLots || (isOpen(order) && !isOpen(known));
}

function isDifferent(order: VenueOrder, known: VenueOrder): boolean {
  return (
    order.venueStatus !== known.venueStatus ||
    order.filledLots !== known.filledLots ||
    order.qtyLots !== known.qtyLots ||
    order.priceTicks !== known.priceTicks
  );
}

/** What must not differ between us and the venue. */
function fingerprint(positions: readonly VenuePosition[]): string {
  return positions
    .map(
      ({ nativeSymbol, direction, qtyLots, uncounted, entryPrice }) =>
        `${nativeSymbol}:${direction}:${uncounted ?? qtyLots}:${entryPrice}`,
    )
    .sort()
    .join(" ");
}
