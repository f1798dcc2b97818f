/**
 * What a user stream and its reconciliations say about one account, merged so that nothing moves
 * backwards. Pure state: no sockets, no clock.
 *
 * Rows are absolute, one per symbol and position side, and ordered by the venue's event time: the
 * venue may deliver events out of order under load. A REST snapshot replaces everything, except rows
 * that an event has set since the snapshot was asked for.
 */
import type { Instrument } from "../../engine/domain/instrument.js";
import type { VenueOrder } from "../../engine/domain/order.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { AccountEvent } from "../../engine/ports.js";
import { WireFault } from "../shared/wire-fields.js";
import { normalizeFill, normalizeOrderUpdate, normalizePositionUpdate, uncountedUpdate } from "./normalize.js";
import type { VenuetwoWireOrderUpdate, VenuetwoWirePositionUpdate } from "./wire.js";

/** Trade ids remembered to drop a fill that comes twice (two connections overlap in a rotation). */
const MAX_REMEMBERED_FILLS = 2_048;
/** Orders remembered: open ones, and the event time of lately changed ones. The venue allows 200 open per symbol. */
const MAX_REMEMBERED_ORDERS = 4_096;

interface PositionRow {
  /** null: flat. Kept, so that an older event can not bring the position back. */
  readonly position: VenuePosition | null;
  readonly leverage: number | null;
  /** `E` of the event that set it; 0 when a snapshot did. */
  readonly tsEventMs: number;
}

interface OrderRow {
  readonly order: VenueOrder;
  readonly tsEventMs: number;
}

/** `unfit`: only REST can tell: unknown symbol, or figures that do not fit the instrument. */
export type AppliedEvent =
  | { readonly kind: "events"; readonly events: readonly AccountEvent[] }
  | { readonly kind: "unfit"; readonly problem: string };

const NOTHING: AppliedEvent = { kind: "events", events: [] };

export class AccountState {
  readonly #positions = new Map<string, PositionRow>();
  readonly #orders = new Map<string, OrderRow>();
  readonly #fills = new Set<string>();
  lateCount = 0;

  /** Rows with a size. */
  positions(): readonly VenuePosition[] {
    const open: VenuePosition[] = [];
    for (const { position } of this.#positions.values()) if (position !== null) open.push(position);
    return open;
  }

  /** Orders that were open when last heard of. */
  openOrders(): readonly VenueOrder[] {
    const open: VenueOrder[] = [];
    for (const { order } of this.#orders.values()) if (isOpen(order)) open.push(order);
    return open;
  }

  /** ACCOUNT_UPDATE. `instrumentOf` answers null for contracts this service does not list. */
  applyPositions(
    rows: readonly VenuetwoWirePositionUpdate[],
    tsEventMs: number,
    instrumentOf: (nativeSymbol: string) => Instrument | null,
  ): AppliedEvent {
    let isChanged = false;
    let problem: string | null = null;
    for (const row of rows) {
      const instrument = instrumentOf(row.s);
      const key = `${row.s}|${row.ps}`;
      const before = this.#positions.get(key);
      if (before !== undefined && tsEventMs < Math.max(before.tsEventMs, before.position?.tsVenueMs ?? 0)) {
        this.lateCount++;
        continue;
      }
      try {
        const leverage = before?.leverage ?? null;
        const position =
          instrument === null
            ? uncountedUpdate(row, tsEventMs)
            : normalizePositionUpdate(row, instrument, tsEventMs, leverage);
        this.#positions.set(key, { position, leverage, tsEventMs });
        isChanged = true;
      } catch (error) {
        if (!(error instanceof WireFault)) throw error;
        problem = `${error.field} ${error.problem}`;
      }
    }
    if (problem !== null) return { kind: "unfit", problem };
    return isChanged ? { kind: "events", events: [{ kind: "positions" }] } : NOTHING;
  }

  applyLeverage(nativeSymbol: string, leverage: number): AppliedEvent {
    let isChanged = false;
    for (const [key, row] of this.#positions) {
      if (!key.startsWith(`${nativeSymbol}|`)) continue;
      this.#positions.set(key, {
        ...row,
        leverage,
        position: row.position === null ? null : { ...row.position, leverage },
      });
      isChanged = true;
    }
    return isChanged ? { kind: "events", events: [{ kind: "positions" }] } : NOTHING;
  }

  /** ORDER_TRADE_UPDATE. */
  applyOrder(
    wire: VenuetwoWireOrderUpdate,
    tsEventMs: number,
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
      if (fill !== null && this.#takeFill(`${wire.s}|${fill.tradeId}`)) events.push(fill);
      return { kind: "events", events };
    } catch (error) {
      if (!(error instanceof WireFault)) throw error;
      return { kind: "unfit", problem: `${error.field} ${error.problem}` };
    }
  }

  /** An order as REST tells it; true when that is news. */
  adoptOrder(order: VenueOrder): boolean {
    const known = this.#orders.get(orderKey(order));
    if (known !== undefined && (order.filledLots < known.order.filledLots || !isNews(order, known.order))) return false;
    this.#remember(order, order.tsVenueMs);
    return true;
  }

  /** Has nothing else been heard of this order since? */
  isNewest(order: VenueOrder): boolean {
    const known = this.#orders.get(orderKey(order));
    return known !== undefined && !isNews(order, known.order);
  }

  /**
   * Takes a whole REST answer. Rows that an event newer than `sinceVenueMs` has set stay: the answer may
   * have been made before them. True when what readers see has changed.
   */
  adoptPositions(rows: readonly VenuePosition[], sinceVenueMs: number): boolean {
    const before = fingerprint(this.positions());
    const fresh = new Map<string, PositionRow>();
    for (const position of rows) {
      fresh.set(positionKey(position), { position, leverage: position.leverage, tsEventMs: 0 });
    }
    for (const [key, row] of this.#positions) {
      const isNewerThanAnswer =
        row.tsEventMs >= sinceVenueMs && row.tsEventMs >= (fresh.get(key)?.position?.tsVenueMs ?? 0);
      if (isNewerThanAnswer) fresh.set(key, row);
    }
    this.#positions.clear();
    for (const [key, row] of fresh) this.#positions.set(key, row);
    return fingerprint(this.positions()) !== before;
  }

  /** The connection was lost: the next REST answer outweighs every event so far. */
  forgetEventTimes(): void {
    for (const [key, row] of this.#positions) this.#positions.set(key, { ...row, tsEventMs: 0 });
  }

  #takeOrder(order: VenueOrder, tsEventMs: number): boolean {
    const known = this.#orders.get(orderKey(order));
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
    if (this.#orders.size <= MAX_REMEMBERED_ORDERS) return;
    // Oldest closed one first; if all are open the oldest goes, and REST tells of it at the next reconcile.
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
    if (this.#fills.has(key)) {
      this.lateCount++;
      return false;
    }
    this.#fills.add(key);
    if (this.#fills.size > MAX_REMEMBERED_FILLS) {
      const oldest = this.#fills.keys().next();
      if (!oldest.done) this.#fills.delete(oldest.value);
    }
    return true;
  }
}

/** A status that nobody knows may be an open one. */
function isOpen(order: VenueOrder): boolean {
  return order.status === "OPEN" || order.status === "PARTIALLY_FILLED" || order.status === "UNKNOWN";
}

function isNews(order: VenueOrder, known: VenueOrder): boolean {
  return (
    order.venueStatus !== known.venueStatus ||
    order.filledLots !== known.filledLots ||
    order.qtyLots !== known.qtyLots ||
    order.priceTicks !== known.priceTicks
  );
}

function orderKey(order: VenueOrder): string {
  return `${order.nativeSymbol}|${order.venueOrderId}`;
}

function positionKey(position: VenuePosition): string {
  return `${position.nativeSymbol}|${position.positionSide}`;
}

/** What must not differ between us and the venue. */
function fingerprint(positions: readonly VenuePosition[]): string {
  return positions
    .map(
      (position) =>
        `${positionKey(position)}:${position.direction}:${position.uncounted ?? position.qtyLots}:${position.entryPrice}`,
    )
    .sort()
    .join(" ");
}
