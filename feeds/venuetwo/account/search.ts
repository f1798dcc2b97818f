/**
 * Orders and symbols of an account where the venue wants a symbol and none is known. Looked in, cheapest first: what
 * this process remembers, the open orders, and the symbols that the account holds, dealt in here, or that moved its
 * balance lately. An order that never filled, in a symbol where nothing else happened, is not found.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { CallOptions, OrderRef, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import type { Deadline } from "../../shared/net/deadline.js";
import { normalizedRead } from "../../shared/room/normalized-read.js";
import { normalizeOrder } from "./normalize.js";
import { decodeOrders, decodePositionRisk } from "./wire.js";
import { incomeCall, openOrdersCall, positionRiskCall } from "./calls.js";
import { decodeIncome, type VenuetwoWireIncome } from "./history-wire.js";
import type { OrderMemory } from "./order-memory.js";
import type { VenuetwoRest } from "./rest.js";
import type { VenuetwoSession } from "./session.js";

/** The venue's largest page of income rows. */
export const INCOME_ROWS = 1_000;
/** The venue's longest span of time in one question about history. */
export const MAX_SPAN_MS = 7 * 86_400_000;
/** Symbols asked one by one for an order; each weighs 1. */
const MAX_ASKED = 64;

export interface OrderSearchDeps {
  readonly rest: VenuetwoRest;
  readonly memory: OrderMemory;
  readonly instrumentOf: (nativeSymbol: string) => Instrument | null;
  readonly nowVenueMs: () => number;
  /** GET order of one symbol; null: no such order there. */
  readonly readOrder: (
    session: VenuetwoSession,
    instrument: Instrument,
    ref: OrderRef,
    options: CallOptions,
  ) => Promise<Read<VenueOrder | null>>;
}

const OUT_OF_TIME = failedRead("TIMEOUT", "no time left for the search");

export class OrderSearch {
  readonly #deps: OrderSearchDeps;

  constructor(deps: OrderSearchDeps) {
    this.#deps = deps;
  }

  async find(session: VenuetwoSession, ref: OrderRef, deadline: Deadline): Promise<Read<VenueOrder | null>> {
    const { memory } = this.#deps;
    const id = "clientIdHex" in ref ? ref.clientIdHex : ref.venueOrderId;
    const asked = new Set<string>();
    const remembered = memory.symbolOf(session, id);
    if (remembered !== null) {
      asked.add(remembered);
      const found = await this.#ask(session, remembered, ref, deadline);
      if (!found.ok || found.value !== null) return found;
    }
    const left = deadline.left();
    if (left === null) return OUT_OF_TIME;
    const open = await this.#deps.rest.read(session, openOrdersCall(null), decodeOrders, left);
    if (!open.ok) return open;
    const row = open.value.find((order) => ("clientIdHex" in ref ? order.clientOrderId : order.orderId) === id);
    if (row !== undefined) {
      const instrument = this.#deps.instrumentOf(row.symbol);
      if (instrument === null) return failedRead("BAD_RESPONSE", "the order is of a symbol that is not listed here");
      return normalizedRead(open, "openOrders", () => normalizeOrder(row, instrument));
    }
    const nowMs = this.#deps.nowVenueMs();
    const lately = await this.symbols(session, nowMs - MAX_SPAN_MS + 1, nowMs, deadline);
    if (!lately.ok) return lately;
    const symbols = new Set([...memory.symbolsOf(session).toReversed(), ...lately.value.symbols]);
    for (const symbol of symbols) {
      if (asked.has(symbol) || asked.size >= MAX_ASKED) continue;
      asked.add(symbol);
      const found = await this.#ask(session, symbol, ref, deadline);
      if (!found.ok || found.value !== null) return found;
    }
    return { ...lately, value: null };
  }

  /** Symbols that moved the balance within the span, and those with a position. `isWhole` false: there are more. */
  async symbols(
    session: VenuetwoSession,
    fromMs: number,
    untilMs: number,
    deadline: Deadline,
  ): Promise<Read<{ readonly symbols: readonly string[]; readonly isWhole: boolean }>> {
    const income = await this.income(session, [], fromMs, untilMs, deadline);
    if (!income.ok) return income;
    const left = deadline.left();
    if (left === null) return OUT_OF_TIME;
    const positions = await this.#deps.rest.read(session, positionRiskCall(null), decodePositionRisk, left);
    if (!positions.ok) return positions;
    const symbols = new Set<string>();
    for (const row of income.value) if (row.symbol !== null) symbols.add(row.symbol);
    for (const row of positions.value) if (/[1-9]/.test(row.positionAmt)) symbols.add(row.symbol);
    const listed = [...symbols].filter((symbol) => this.#deps.instrumentOf(symbol) !== null);
    return { ...income, value: { symbols: listed, isWhole: income.value.length < INCOME_ROWS } };
  }

  async income(
    session: VenuetwoSession,
    params: readonly (readonly [string, string])[],
    fromMs: number,
    untilMs: number,
    deadline: Deadline,
  ): Promise<Read<readonly VenuetwoWireIncome[]>> {
    const left = deadline.left();
    if (left === null) return OUT_OF_TIME;
    const call = incomeCall([
      ...params,
      ["startTime", String(fromMs)],
      ["endTime", String(untilMs)],
      ["limit", String(INCOME_ROWS)],
    ]);
    return this.#deps.rest.read(session, call, decodeIncome, left);
  }

  async #ask(
    session: VenuetwoSession,
    symbol: string,
    ref: OrderRef,
    deadline: Deadline,
  ): Promise<Read<VenueOrder | null>> {
    const left = deadline.left();
    if (left === null) return OUT_OF_TIME;
    const instrument = this.#deps.instrumentOf(symbol);
    if (instrument === null) return { ok: true, value: null, asOfMs: this.#deps.nowVenueMs(), source: "venue" };
    return this.#deps.readOrder(session, instrument, ref, left);
  }
}
