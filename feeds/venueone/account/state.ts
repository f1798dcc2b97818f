/**
 * What is known of one watched account: positions, open orders, fills. Pure state: frames and REST
 * answers go in, account events come out; sockets and calls are account/streams.ts's.
 *
 * Invariants: a position is only ever replaced by knowledge that is not older; a state that can not be
 * read whole changes nothing (it is not a flat account); a fill is reported once. Everything is bounded.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent } from "../../../engine/ports.js";
import { canonicalPrice, lotsOf, ticksOf } from "../../shared/room/money-text.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import { decodeWith } from "../../shared/room/wire-fields.js";
import {
  type FilledSummary,
  filledLotsOfRow,
  isEndWord,
  NOTHING_FILLED,
  normalizeOrder,
  normalizePosition,
  statusOfWord,
  uncounted,
} from "./normalize.js";
import type { VenueoneWireAccount } from "./wire.js";
import type { VenueoneWireFill, VenueoneWireOrder, VenueoneWireOrderUpdate } from "../market/wire.js";

/** Fill keys remembered; a reconnect replays up to 2000. Overflow forgets the oldest. */
const MAX_REMEMBERED_FILLS = 8_192;
/** Orders whose fills are summed; an account can hold 5000 open orders. Overflow forgets the oldest. */
const MAX_TRACKED_ORDERS = 8_192;

interface HeldCoin {
  /** Null means flat. */
  position: VenuePosition | null;
  /** Venue time of the state or fill that it is from. */
  asOfMs: number;
}

export type Applied = { readonly ok: true } | { readonly ok: false; readonly problem: string };

const OK: Applied = { ok: true };

export class AccountState {
  readonly #instrumentOf: (coin: string) => Instrument | null;
  readonly #emit: (event: AccountEvent) => void;
  readonly #latestMs: () => number;
  readonly #held = new Map<string, HeldCoin>();
  /** By oid; null until the first list. */
  #orders: Map<number, VenueoneWireOrder> | null = null;
  readonly #address: string;
  readonly #fillKeys = new Set<string>();
  readonly #filledLots = new Map<number, number>();
  #hasFillBaseline = false;
  /** Venue time of the newest whole state. */
  #stateMs = 0;
  /** A fill changed a position in a way that only the venue can complete (entry price, leverage). */
  #needsState = false;

  /** `address`: whose account it is, in lower case. `latestMs`: the first venue time that is not believed (stamps.ts). */
  constructor(
    instrumentOf: (coin: string) => Instrument | null,
    emit: (event: AccountEvent) => void,
    address: string,
    latestMs: () => number,
  ) {
    this.#address = address;
    this.#instrumentOf = instrumentOf;
    this.#emit = emit;
    this.#latestMs = latestMs;
  }

  /** Venue time of the newest whole state: an older one changes nothing. */
  get stateMs(): number {
    return barredBeforeMs(this.#stateMs, this.#latestMs());
  }

  /** A whole state has come. */
  get hasState(): boolean {
    return this.#stateMs !== 0;
  }

  get needsState(): boolean {
    return this.#needsState;
  }

  get hasOrders(): boolean {
    return this.#orders !== null;
  }

  /** It was in the last list of open orders. */
  isListed(oid: number): boolean {
    return this.#orders?.has(oid) === true;
  }

  positions(): readonly VenuePosition[] {
    const found: VenuePosition[] = [];
    for (const held of this.#held.values()) if (held.position !== null) found.push(held.position);
    return found;
  }

  /** A whole state, of the stream or of REST. `differences` counts coins whose size was not what we held. */
  applyState(account: VenueoneWireAccount): Applied & { readonly differences: number } {
    const decoded = decodeWith(account, () => {
      const found = new Map<string, VenuePosition>();
      for (const wire of account.positions) {
        const instrument = this.#instrumentOf(wire.coin);
        const position =
          instrument === null ? uncounted(wire, account.time) : normalizePosition(wire, instrument, account.time);
        if (position !== null) found.set(wire.coin, position);
      }
      return found;
    });
    if (!decoded.ok) return { ok: false, problem: decoded.problem, differences: 0 };
    if (account.time < this.stateMs) return { ok: true, differences: 0 };
    const isFirst = this.#stateMs === 0;
    this.#stateMs = account.time;
    this.#needsState = false;
    let differences = 0;
    const latestMs = this.#latestMs();
    for (const coin of new Set([...this.#held.keys(), ...decoded.value.keys()])) {
      const held = this.#held.get(coin);
      const position = decoded.value.get(coin) ?? null;
      if (held !== undefined && barredBeforeMs(held.asOfMs, latestMs) > account.time) {
        // A later fill knows better than this state.
        this.#needsState = true;
        continue;
      }
      if (signedLots(held?.position ?? null) !== signedLots(position)) differences++;
      if (position === null) this.#held.delete(coin);
      else this.#held.set(coin, { position, asOfMs: account.time });
    }
    this.#emit({ kind: "positions" });
    return { ok: true, differences: isFirst ? 0 : differences };
  }

  /**
   * Fills of the stream. The first snapshot is history: it only sets the baseline. A later one (after a
   * reconnect) holds what was missed, and that is reported. `unlisted`: orders that filled without being in the list of
   * open ones (IOC, liquidation); what they are is to be looked up.
   */
  applyFills(
    fills: readonly VenueoneWireFill[],
    isSnapshot: boolean,
  ): Applied & { readonly unlisted: ReadonlySet<number> } {
    const unlisted = new Set<number>();
    const isHistory = isSnapshot && !this.#hasFillBaseline;
    this.#hasFillBaseline = true;
    // Snapshots come newest first, also those of one block, which bear one time.
    const ordered = isSnapshot ? fills.toReversed().sort((left, right) => left.time - right.time) : fills;
    for (const fill of ordered) {
      const key = `${fill.time}:${fill.coin}:${fill.tid}`;
      if (this.#fillKeys.has(key)) continue;
      remember(this.#fillKeys, key);
      if (isHistory) continue;
      const applied = this.#applyFill(fill);
      if (!applied.ok) return { ...applied, unlisted };
      if (!this.isListed(fill.oid) && this.#instrumentOf(fill.coin) !== null) unlisted.add(fill.oid);
    }
    return { ok: true, unlisted };
  }

  /** The whole list of open orders; returns the oids that left it, whose end is to be looked up. */
  applyOrders(rows: readonly VenueoneWireOrder[]): Applied & { readonly gone: readonly VenueoneWireOrder[] } {
    const before = this.#orders;
    const after = new Map(rows.map((row) => [row.oid, row]));
    const events: VenueOrder[] = [];
    const decoded = decodeWith(rows, () => {
      for (const row of rows) {
        const known = before?.get(row.oid);
        const instrument = this.#instrumentOf(row.coin);
        if (instrument === null || (known !== undefined && known.sz === row.sz && known.limitPx === row.limitPx))
          continue;
        events.push(this.#orderOf(row, "open", row.timestamp, instrument));
      }
    });
    if (!decoded.ok) return { ok: false, problem: decoded.problem, gone: [] };
    this.#orders = after;
    for (const order of events) this.#emit({ kind: "order", order });
    const gone: VenueoneWireOrder[] = [];
    for (const row of before?.values() ?? []) {
      if (!after.has(row.oid) && this.#instrumentOf(row.coin) !== null) gone.push(row);
    }
    return { ok: true, gone };
  }

  /**
   * Returns true when it ended with fills that neither its row nor the stream reported: they are read then
   * (order-fills.ts).
   */
  lacksFills({ order, status }: VenueoneWireOrderUpdate): boolean {
    const instrument = this.#instrumentOf(order.coin);
    if (instrument === null || !isEndWord(status)) return false;
    const decoded = decodeWith(order, () => {
      const qtyLots = lotsOf(instrument, order.origSz, "origSz");
      const rowLots = filledLotsOfRow(order, instrument);
      const isUntold = rowLots === null || (statusOfWord(status) === "FILLED" && rowLots < qtyLots);
      return isUntold && (this.#filledLots.get(order.oid) ?? 0) < qtyLots;
    });
    return decoded.ok && decoded.value;
  }

  /** Takes an order that filled without ever being in the list, as its look-up shows it. */
  applyUnlisted(update: VenueoneWireOrderUpdate, filled: FilledSummary = NOTHING_FILLED): Applied {
    const { order, status, statusTimestamp } = update;
    const instrument = this.#instrumentOf(order.coin);
    if (instrument === null) return OK;
    const decoded = decodeWith(order, () => this.#orderOf(order, status, statusTimestamp, instrument, filled));
    if (decoded.ok) this.#emit({ kind: "order", order: decoded.value });
    if (!this.isListed(order.oid)) this.#filledLots.delete(order.oid);
    return decoded.ok ? OK : decoded;
  }

  /**
   * Takes the end of an order that left the list. Null means that it could not be learnt in time: it is reported as
   * UNKNOWN, never guessed.
   */
  applyEnd(
    row: VenueoneWireOrder,
    end: { readonly order: VenueoneWireOrder; readonly status: string; readonly statusTimestamp: number } | null,
    filled: FilledSummary = NOTHING_FILLED,
  ): Applied {
    const instrument = this.#instrumentOf(row.coin);
    if (instrument === null) return OK;
    const decoded = decodeWith(row, () =>
      end === null
        ? this.#orderOf(row, "unknown", row.timestamp, instrument)
        : this.#orderOf(end.order, end.status, end.statusTimestamp, instrument, filled),
    );
    if (!decoded.ok) return decoded;
    this.#emit({ kind: "order", order: decoded.value });
    this.#filledLots.delete(row.oid);
    return OK;
  }

  #applyFill(fill: VenueoneWireFill): Applied {
    const instrument = this.#instrumentOf(fill.coin);
    if (instrument === null) return OK;
    const decoded = decodeWith(fill, () => {
      const qtyLots = lotsOf(instrument, fill.sz, "sz");
      const startLots = lotsOf(instrument, fill.startPosition, "startPosition");
      const price = canonicalPrice(instrument, fill.px, "px");
      const endLots = startLots + (fill.side === "B" ? qtyLots : -qtyLots);
      return { qtyLots, endLots, price, order: this.#orderOfFill(fill, instrument, qtyLots) };
    });
    if (!decoded.ok) return decoded;
    const { qtyLots, endLots, price, order } = decoded.value;
    this.#holdAfterFill(fill, instrument, endLots, price);
    const fee = { amount: fill.fee, asset: fill.feeToken };
    const isLiquidation = fill.liquidatedUser === this.#address;
    this.#emit({
      kind: "fill",
      order,
      qtyLots,
      price: fill.px,
      fee,
      tradeId: String(fill.tid),
      ...(isLiquidation ? { isLiquidation } : {}),
    });
    this.#emit({ kind: "positions" });
    return OK;
  }

  /** `startPosition` makes each fill absolute: what is held now needs no sum over fills that might be missing. */
  #holdAfterFill(fill: VenueoneWireFill, instrument: Instrument, endLots: number, price: string): void {
    const held = this.#held.get(fill.coin);
    if (held !== undefined && barredBeforeMs(held.asOfMs, this.#latestMs()) > fill.time) return;
    if (fill.time < this.stateMs) return;
    const before = held?.position ?? null;
    if (endLots === 0) {
      this.#held.set(fill.coin, { position: null, asOfMs: fill.time });
      return;
    }
    const direction = endLots > 0 ? "LONG" : "SHORT";
    const qtyLots = Math.abs(endLots);
    const isReduced = before !== null && before.direction === direction && qtyLots <= before.qtyLots;
    // A reduction keeps entry and leverage; everything else is completed by the next state.
    const position: VenuePosition = isReduced
      ? { ...before, qtyLots, unrealizedPnl: null, tsVenueMs: fill.time }
      : {
          venue: "venueone",
          symbol: instrument.symbol,
          nativeSymbol: instrument.nativeSymbol,
          direction,
          positionSide: "BOTH",
          qtyLots,
          entryPrice: before !== null && before.direction === direction ? before.entryPrice : price,
          markPrice: null,
          liquidationPrice: null,
          unrealizedPnl: null,
          leverage: before?.leverage ?? null,
          marginMode: before?.marginMode ?? null,
          collateral: null,
          tsVenueMs: fill.time,
        };
    this.#held.set(fill.coin, { position, asOfMs: fill.time });
    this.#needsState = true;
  }

  /** The order of a fill: the open row if there is one, else the little the fill says, with status UNKNOWN. */
  #orderOfFill(fill: VenueoneWireFill, instrument: Instrument, qtyLots: number): VenueOrder {
    const filledLots = (this.#filledLots.get(fill.oid) ?? 0) + qtyLots;
    this.#filledLots.delete(fill.oid);
    if (this.#filledLots.size >= MAX_TRACKED_ORDERS) forgetOldest(this.#filledLots);
    this.#filledLots.set(fill.oid, filledLots);
    const row = this.#orders?.get(fill.oid);
    if (row !== undefined) return this.#orderOf(row, "open", fill.time, instrument);
    return {
      venue: "venueone",
      nativeSymbol: instrument.nativeSymbol,
      venueOrderId: String(fill.oid),
      venueClientOrderId: fill.cloid,
      side: fill.side === "B" ? "BUY" : "SELL",
      type: "LIMIT",
      status: "UNKNOWN",
      venueStatus: "",
      priceTicks: ticksOf(instrument, fill.px, "px"),
      qtyLots: filledLots,
      filledLots,
      averagePrice: null,
      reduceOnly: false,
      triggerPrice: null,
      tsVenueMs: fill.time,
      fee: null,
    };
  }

  /** `read`: its fills as they were read, where they were. */
  #orderOf(
    row: VenueoneWireOrder,
    word: string,
    tsVenueMs: number,
    instrument: Instrument,
    read: FilledSummary = NOTHING_FILLED,
  ): VenueOrder {
    const seenLots = this.#filledLots.get(row.oid) ?? 0;
    const rowLots = filledLotsOfRow(row, instrument) ?? 0;
    const qtyLots = lotsOf(instrument, row.origSz, "origSz");
    const filledLots = Math.min(qtyLots, Math.max(seenLots, rowLots, read.filledLots));
    const summary = read.filledLots === filledLots ? read : { ...NOTHING_FILLED, filledLots };
    return normalizeOrder(row, word, tsVenueMs, instrument, summary);
  }
}

function signedLots(position: VenuePosition | null): number {
  if (position === null) return 0;
  return position.direction === "LONG" ? position.qtyLots : -position.qtyLots;
}

function remember(keys: Set<string>, key: string): void {
  if (keys.size >= MAX_REMEMBERED_FILLS) {
    const oldest = keys.values().next();
    if (oldest.done !== true) keys.delete(oldest.value);
  }
  keys.add(key);
}

function forgetOldest(map: Map<number, number>): void {
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
