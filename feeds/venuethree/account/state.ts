/**
 * What is streamed of one account: positions, open orders, fills. Pure but for the events it emits. Frames and REST
 * answers meet here in any order.
 *
 * Invariant: an order never goes back (`transaction_time` orders its updates), a fill is reported once.
 */
import { LRUCache } from "lru-cache";
import { compareDecimals } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent } from "../../../engine/ports.js";
import { type Decoded, decodeWith } from "../../shared/room/wire-fields.js";
import { isEndWord, normalizeFill, normalizeOrder, normalizePosition, uncounted } from "./normalize.js";
import type { VenuethreeWireAccountTrade, VenuethreeWireOrder, VenuethreeWirePosition } from "./wire.js";

/** Trades that were reported; a reconnect reads up to a hundred again. Overflow forgets the oldest. */
const MAX_REMEMBERED_TRADES = 8_192;
/** Ended orders kept for their fills and against late frames. */
const MAX_ENDED_ORDERS = 4_096;
/** An account may have 1,500 active and 500 pending orders. */
const MAX_OPEN_ORDERS = 8_192;

export type Applied = { readonly ok: true } | { readonly ok: false; readonly problem: string };

const OK: Applied = { ok: true };

export interface AccountSlotDeps {
  readonly accountIndex: number;
  readonly instrumentOf: (marketId: number) => Instrument | null;
  readonly emit: (event: AccountEvent) => void;
}

export class AccountState {
  readonly #deps: AccountSlotDeps;
  #positions: ReadonlyMap<number, VenuePosition> | null = null;
  readonly #open = new Map<string, VenuethreeWireOrder>();
  readonly #ended = new LRUCache<string, VenuethreeWireOrder>({ max: MAX_ENDED_ORDERS });
  /** Order id by client order id, of ended orders. */
  readonly #orderIds = new LRUCache<string, string>({ max: MAX_ENDED_ORDERS });
  readonly #tradeIds = new LRUCache<string, true>({ max: MAX_REMEMBERED_TRADES });
  #hasTradeBaseline = false;

  constructor(deps: AccountSlotDeps) {
    this.#deps = deps;
  }

  /** A picture of the positions has come. */
  get hasPicture(): boolean {
    return this.#positions !== null;
  }

  positions(): readonly VenuePosition[] {
    return [...(this.#positions?.values() ?? [])];
  }

  /** The whole picture. `differences`: markets whose size was not what was held. */
  applyPositions(
    wires: readonly VenuethreeWirePosition[],
    tsVenueMs: number,
  ): Applied & { readonly differences: number } {
    const decoded = this.#decodePositions(wires, tsVenueMs);
    if (!decoded.ok) return { ok: false, problem: decoded.problem, differences: 0 };
    const before = this.#positions;
    this.#positions = decoded.value;
    let differences = 0;
    for (const marketId of new Set([...(before?.keys() ?? []), ...decoded.value.keys()]))
      if (signedLots(before?.get(marketId)) !== signedLots(decoded.value.get(marketId))) differences++;
    this.#deps.emit({ kind: "positions" });
    return { ok: true, differences: before === null ? 0 : differences };
  }

  /** Is this, read but not applied, the picture that is held? */
  holds(wires: readonly VenuethreeWirePosition[]): boolean {
    const decoded = this.#decodePositions(wires, 0);
    if (!decoded.ok || this.#positions === null || decoded.value.size !== this.#positions.size) return false;
    for (const [marketId, position] of decoded.value)
      if (signedLots(position) !== signedLots(this.#positions.get(marketId))) return false;
    return true;
  }

  #decodePositions(
    wires: readonly VenuethreeWirePosition[],
    tsVenueMs: number,
  ): Decoded<ReadonlyMap<number, VenuePosition>> {
    return decodeWith(null, () => {
      const found = new Map<number, VenuePosition>();
      for (const wire of wires) {
        const instrument = this.#deps.instrumentOf(wire.market_id);
        const position =
          instrument === null ? uncounted(wire, tsVenueMs) : normalizePosition(wire, instrument, tsVenueMs);
        if (position !== null) found.set(wire.market_id, position);
      }
      return found;
    });
  }

  /** Changed orders, ended ones among them. */
  applyOrders(wires: readonly VenuethreeWireOrder[]): Applied {
    for (const wire of wires) {
      const known = this.#open.get(wire.order_id) ?? this.#ended.peek(wire.order_id);
      if (known !== undefined && !isNewer(wire, known)) continue;
      const applied = this.#keep(wire);
      if (!applied.ok) return applied;
    }
    return OK;
  }

  /**
   * All open orders. Returns those that we had and the list has not: how they ended is to be looked up, unless a frame
   * tells first.
   */
  applyOpenOrders(wires: readonly VenuethreeWireOrder[]): Applied & { readonly gone: readonly VenuethreeWireOrder[] } {
    const applied = this.applyOrders(wires);
    if (!applied.ok) return { ...applied, gone: [] };
    const ids = new Set(wires.map((wire) => wire.order_id));
    return { ok: true, gone: [...this.#open.values()].filter((wire) => !ids.has(wire.order_id)) };
  }

  /**
   * An order that has ended, by either id of the venue. Returns null where it has not ended, its end is not known, or
   * it is not remembered.
   */
  endedOrder(field: "order_id" | "client_order_id", id: string): VenueOrder | null {
    const orderId = field === "order_id" ? id : this.#orderIds.get(id);
    const wire = orderId === undefined ? undefined : this.#ended.peek(orderId);
    return wire === undefined || !isEndWord(wire.status) ? null : this.order(wire.order_id);
  }

  /** As it was reported last, open or ended; null where it was not, or is not remembered. */
  order(orderId: string): VenueOrder | null {
    const wire = this.#open.get(orderId) ?? this.#ended.peek(orderId);
    const instrument = wire === undefined ? null : this.#deps.instrumentOf(wire.market_index);
    if (wire === undefined || instrument === null) return null;
    const decoded = decodeWith(wire, () => normalizeOrder(wire, instrument));
    return decoded.ok ? decoded.value : null;
  }

  /** Ids of the open orders of one market, or of all. */
  openOrderIds(marketId: number | null): readonly string[] {
    const ids: string[] = [];
    for (const wire of this.#open.values())
      if (marketId === null || wire.market_index === marketId) ids.push(wire.order_id);
    return ids;
  }

  /** A client order id goes out again: an end reported under it before was of another order. */
  forgetEnd(clientOrderId: string): void {
    this.#orderIds.delete(clientOrderId);
  }

  /** How an order ended could not be learnt: reported as UNKNOWN, never guessed. */
  endUnknown(wire: VenuethreeWireOrder): void {
    if (!this.#open.delete(wire.order_id)) return;
    const instrument = this.#deps.instrumentOf(wire.market_index);
    if (instrument === null) return;
    const decoded = decodeWith(wire, () => normalizeOrder(wire, instrument));
    if (decoded.ok) this.#deps.emit({ kind: "order", order: { ...decoded.value, status: "UNKNOWN" } });
  }

  isOpen(orderId: string): boolean {
    return this.#open.has(orderId);
  }

  /**
   * Trades of a frame, or (`isHistory`) those read over REST. The first history is what was before: it only sets the
   * baseline; a later one holds what was missed, and that is reported.
   */
  applyTrades(wires: readonly VenuethreeWireAccountTrade[], isHistory: boolean): Applied {
    const isBaseline = isHistory && !this.#hasTradeBaseline;
    if (isHistory) this.#hasTradeBaseline = true;
    for (const wire of [...wires].sort((left, right) => left.timestamp - right.timestamp)) {
      if (this.#tradeIds.get(wire.trade_id) === true) continue;
      this.#tradeIds.set(wire.trade_id, true);
      if (isBaseline) continue;
      const applied = this.#tell(wire, isHistory);
      if (!applied.ok) return applied;
    }
    return OK;
  }

  #tell(wire: VenuethreeWireAccountTrade, isHistory: boolean): Applied {
    const instrument = this.#deps.instrumentOf(wire.market_id);
    if (instrument === null) return OK;
    const decoded = decodeWith(wire, () => {
      const fill = normalizeFill(wire, this.#deps.accountIndex, instrument);
      if (fill === null) return null;
      const row = this.#open.get(fill.venueOrderId) ?? this.#ended.peek(fill.venueOrderId);
      return { fill, order: row === undefined ? null : normalizeOrder(row, instrument) };
    });
    if (!decoded.ok) return decoded;
    // A frame goes to one of the two sides. A page of REST with such a row would come again at each read.
    if (decoded.value === null) return isHistory ? OK : { ok: false, problem: "a trade of nobody here" };
    const { fill, order } = decoded.value;
    const { qtyLots, fee, tradeId } = fill;
    // `price` of the event is native, as the order's; the fill's own is canonical.
    this.#deps.emit({ kind: "fill", order: order ?? orderOfFill(fill), qtyLots, price: wire.price, fee, tradeId });
    return OK;
  }

  #keep(wire: VenuethreeWireOrder): Applied {
    const instrument = this.#deps.instrumentOf(wire.market_index);
    // Spot, or a market that left the list: nothing of it can be counted in lots.
    if (instrument === null) return OK;
    const decoded = decodeWith(wire, () => normalizeOrder(wire, instrument));
    if (!decoded.ok) return decoded;
    const isOpen = !isEndWord(wire.status);
    this.#open.delete(wire.order_id);
    if (isOpen && this.#open.size < MAX_OPEN_ORDERS) this.#open.set(wire.order_id, wire);
    else {
      this.#ended.set(wire.order_id, wire);
      this.#orderIds.set(wire.client_order_id, wire.order_id);
    }
    this.#deps.emit({ kind: "order", order: decoded.value });
    return OK;
  }
}

/** The little that a fill says of its order. */
function orderOfFill(fill: {
  readonly nativeSymbol: string;
  readonly venueOrderId: string;
  readonly venueClientOrderId: string | null;
  readonly side: VenueOrder["side"];
  readonly qtyLots: number;
  readonly tsVenueMs: number;
}): VenueOrder {
  const { nativeSymbol, venueOrderId, venueClientOrderId, side, qtyLots, tsVenueMs } = fill;
  return {
    venue: "venuethree",
    nativeSymbol,
    venueOrderId,
    venueClientOrderId,
    side,
    type: "LIMIT",
    status: "UNKNOWN",
    venueStatus: "",
    priceTicks: 0,
    qtyLots,
    filledLots: qtyLots,
    averagePrice: null,
    reduceOnly: false,
    triggerPrice: null,
    tsVenueMs,
    fee: null,
  };
}

/** Two changes of one time, which may stand still while the order fills: the one that says that more is done. */
function isNewer(wire: VenuethreeWireOrder, known: VenuethreeWireOrder): boolean {
  if (wire.transaction_time !== known.transaction_time) return wire.transaction_time > known.transaction_time;
  const filled = compareDecimals(wire.filled_base_amount, known.filled_base_amount);
  if (filled !== 0) return filled > 0 && (isEndWord(wire.status) || !isEndWord(known.status));
  return wire.status !== known.status && !isEndWord(known.status);
}

function signedLots(position: VenuePosition | undefined): number {
  if (position === undefined) return 0;
  return position.direction === "LONG" ? position.qtyLots : -position.qtyLots;
}
