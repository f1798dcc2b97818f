/**
 * What a user stream and its reconciliations say about one account, merged so that nothing moves
 * backwards. Pure state: no sockets, no clock.
 *
 * Rows are absolute, one per symbol and position side, and ordered by the venue's event time: the
 * venue may deliver events out of order under load. A REST snapshot replaces everything, except rows
 * that an event has set since the snapshot was asked for.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueFill, VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent } from "../../../engine/ports.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import {
  isLiquidationId,
  normalizeFill,
  normalizeOrderUpdate,
  normalizePositionUpdate,
  uncountedUpdate,
} from "./normalize-pushed.js";
import type { VenuetwoWireOrderUpdate, VenuetwoWirePositionUpdate } from "../market/wire.js";

/** Trades remembered to drop a fill that comes twice: two connections overlap in a rotation, a gap is read again. */
const MAX_REMEMBERED_FILLS = 8_192;
/** Orders remembered: open ones, and the event time of lately changed ones. The venue allows 200 open per symbol. */
const MAX_REMEMBERED_ORDERS = 4_096;

type Settings = Readonly<Record<string, string>>;

interface PositionRow {
  /** null: flat. Kept, so that an older event can not bring the position back. */
  readonly position: VenuePosition | null;
  readonly leverage: number | null;
  /** What REST said of it last and no event tells; null: nothing. Kept while it is flat. */
  readonly settings: Settings | null;
  /** `E` of the event that set it; 0 when a snapshot did. */
  readonly tsEventMs: number;
  /** Events from before change nothing. */
  readonly asOfMs: number;
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
  /** Of all rows. */
  #newestMs = 0;
  lateCount = 0;

  /** Rows with a size. */
  positions(): readonly VenuePosition[] {
    const open: VenuePosition[] = [];
    for (const { position } of this.#positions.values()) if (position !== null) open.push(position);
    return open;
  }

  /** Orders that were open at their last report. */
  openOrders(): readonly VenueOrder[] {
    const open: VenueOrder[] = [];
    for (const { order } of this.#orders.values()) if (isOpen(order)) open.push(order);
    return open;
  }

  /**
   * ACCOUNT_UPDATE. `tsEventMs` null: of no time that can be believed; it bars nothing, and any answer of REST outweighs it.
   * `instrumentOf` answers null for contracts this service does not list.
   */
  applyPositions(
    rows: readonly VenuetwoWirePositionUpdate[],
    tsEventMs: number | null,
    instrumentOf: (nativeSymbol: string) => Instrument | null,
  ): AppliedEvent {
    let isChanged = false;
    let problem: string | null = null;
    for (const row of rows) {
      const instrument = instrumentOf(row.s);
      const key = `${row.s}|${row.ps}`;
      const before = this.#positions.get(key);
      const asOfMs = tsEventMs ?? before?.asOfMs ?? 0;
      if (before !== undefined && asOfMs < before.asOfMs) {
        this.lateCount++;
        continue;
      }
      try {
        const leverage = before?.leverage ?? null;
        const settings = before?.settings ?? null;
        const position =
          instrument === null
            ? uncountedUpdate(row, asOfMs)
            : normalizePositionUpdate(row, instrument, asOfMs, leverage);
        this.#positions.set(key, {
          position: withSettings(position, settings),
          leverage,
          settings,
          tsEventMs: tsEventMs ?? 0,
          asOfMs,
        });
        this.#newestMs = Math.max(this.#newestMs, asOfMs);
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
      const settings = row.leverage === leverage ? row.settings : settingsOfAnyLeverage(row.settings);
      const position = row.position === null ? null : { ...row.position, leverage };
      this.#positions.set(key, { ...row, leverage, settings, position: withSettings(position, settings) });
      isChanged = true;
    }
    return isChanged ? { kind: "events", events: [{ kind: "positions" }] } : NOTHING;
  }

  /** ORDER_TRADE_UPDATE. `tsEventMs` as above. */
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

  /** An order as REST tells it; true when that is news. */
  adoptOrder(order: VenueOrder): boolean {
    const known = this.#orders.get(orderKey(order));
    if (known !== undefined && (order.filledLots < known.order.filledLots || !isNews(order, known.order))) return false;
    this.#remember(order, order.tsVenueMs);
    return true;
  }

  /** The fill was reported before. */
  hasFill(fill: VenueFill): boolean {
    return this.#fills.has(fillKey(fill.tradeId, fill));
  }

  /** A fill as REST tells it; null where it was reported before. `price`: native. */
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

  /** Has nothing else been reported of this order since? */
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
      const { leverage, native, tsVenueMs } = position;
      const settings = settingsOf(native);
      fresh.set(positionKey(position), { position, leverage, settings, tsEventMs: 0, asOfMs: tsVenueMs });
      this.#newestMs = Math.max(this.#newestMs, tsVenueMs);
    }
    for (const [key, row] of this.#positions) {
      const isNewerThanAnswer =
        row.tsEventMs >= sinceVenueMs && row.tsEventMs >= (fresh.get(key)?.position?.tsVenueMs ?? 0);
      if (isNewerThanAnswer) fresh.set(key, row);
      // Of a flat one the answer says nothing.
      else if (!fresh.has(key) && row.settings !== null) fresh.set(key, { ...row, position: null, tsEventMs: 0 });
    }
    this.#positions.clear();
    for (const [key, row] of fresh) this.#positions.set(key, row);
    return fingerprint(this.positions()) !== before;
  }

  /** The venue's clock was found to be behind what was taken: a time that is not yet bars nothing that follows. */
  forgetBeyond(latestMs: number): void {
    if (barredBeforeMs(this.#newestMs, latestMs) === this.#newestMs) return;
    this.#newestMs = 0;
    for (const [key, row] of this.#positions) {
      const asOfMs = barredBeforeMs(row.asOfMs, latestMs);
      this.#positions.set(key, { ...row, tsEventMs: barredBeforeMs(row.tsEventMs, latestMs), asOfMs });
      this.#newestMs = Math.max(this.#newestMs, asOfMs);
    }
    for (const [key, row] of this.#orders) {
      const tsEventMs = barredBeforeMs(row.tsEventMs, latestMs);
      this.#orders.set(key, { ...row, tsEventMs });
      this.#newestMs = Math.max(this.#newestMs, tsEventMs);
    }
  }

  /** The connection was lost: the next REST answer outweighs every event so far. */
  forgetEventTimes(): void {
    for (const [key, row] of this.#positions) {
      // What was set of a flat one may have been set again meanwhile, and no answer of REST tells.
      if (row.position === null) this.#positions.delete(key);
      else this.#positions.set(key, { ...row, tsEventMs: 0 });
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
    if (this.#fills.has(key)) return false;
    this.#fills.add(key);
    if (this.#fills.size > MAX_REMEMBERED_FILLS) {
      const oldest = this.#fills.keys().next();
      if (!oldest.done) this.#fills.delete(oldest.value);
    }
    return true;
  }
}

/** The fields of a row that are settings of its contract: neither size nor mark moves them. */
const SETTING_FIELDS = ["maxNotionalValue", "isAutoAddMargin"] as const;

function settingsOf(native: Settings | undefined): Settings | null {
  if (native === undefined) return null;
  const settings: Record<string, string> = {};
  for (const name of SETTING_FIELDS) {
    const text = native[name];
    if (text !== undefined) settings[name] = text;
  }
  return settings;
}

/** The largest notional is that of the leverage it was read with. */
function settingsOfAnyLeverage(settings: Settings | null): Settings | null {
  if (settings === null) return null;
  const { maxNotionalValue: _ended, ...rest } = settings;
  return rest;
}

/** In place of a row of REST: its figures were those of another size or leverage. */
function withSettings(position: VenuePosition | null, settings: Settings | null): VenuePosition | null {
  if (position === null) return null;
  const { native: _older, ...pushed } = position;
  return settings === null ? pushed : { ...pushed, native: settings };
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

function orderKey({ nativeSymbol, venueOrderId }: Pick<VenueOrder, "nativeSymbol" | "venueOrderId">): string {
  return `${nativeSymbol}|${venueOrderId}`;
}

/** Both sides of a trade with oneself carry one trade id. */
function fillKey(tradeId: string, { venueOrderId }: Pick<VenueOrder, "venueOrderId">): string {
  return `${tradeId}|${venueOrderId}`;
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
