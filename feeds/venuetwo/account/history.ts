/**
 * What an account did on venuetwo. Every list is asked by spans of at most seven days (the venue's limit) and, for
 * orders and fills, by symbol: a query about all symbols asks those that moved the balance within the span, hold a
 * position or have an open order. So an order that never filled is listed for certain only when its symbol is named.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueFill, VenueOrder } from "../../../engine/domain/order.js";
import type { FundingPayment } from "../../../engine/domain/position.js";
import type {
  AccountHistory,
  AccountSession,
  CallOptions,
  HistoryPage,
  HistoryQuery,
  Read,
} from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { type HistoryRow, type HistorySpan, pageOf, walkHistory } from "../../shared/account/history-walk.js";
import type { InstrumentIndex } from "../../shared/room/instrument-index.js";
import { decodeWith, WireFault } from "../../shared/room/wire-fields.js";
import { normalizeFunding, normalizeOrder, normalizeTrade } from "./normalize.js";
import { decodeOrders, type VenuetwoWireOrder } from "./wire.js";
import { allOrdersCall, openOrdersCall, userTradesCall } from "./calls.js";
import { decodeTrades, type VenuetwoWireTrade } from "./history-wire.js";
import { INCOME_ROWS, MAX_SPAN_MS, type OrderSearch } from "./search.js";
import type { VenuetwoCall, VenuetwoRest } from "./rest.js";
import { VenuetwoSession } from "./session.js";
import type { FormParams } from "../sign/sign.js";

/** How far back a query without a start looks: half a year, 26 spans. The venue does not say how long it keeps rows. */
const LOOK_BACK_MS = 182 * 86_400_000;
const MAX_READS = 13;
/** The venue's largest page. */
const PAGE_ROWS = 1_000;
/** Pages by id of one instant that holds more rows than a page. */
const MAX_INSTANT_PAGES = 10;
/** Reads of the income for the symbols of one span, halves of it included. */
const MAX_INCOME_READS = 16;
/** Symbols of one span; an account that dealt in more has to name one. */
const MAX_SYMBOLS = 48;

export interface VenuetwoHistoryDeps {
  readonly rest: VenuetwoRest;
  readonly search: OrderSearch;
  readonly instruments: InstrumentIndex;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
}

/** One list that the venue answers by symbol and time, or by symbol from an id on. */
interface SymbolList<W> {
  readonly call: (params: FormParams) => VenuetwoCall;
  readonly decode: (value: unknown) => readonly W[];
  /** Parameter that asks for rows from an id on. */
  readonly fromParam: string;
  readonly idOf: (wire: W) => string;
  readonly timeOf: (wire: W) => number;
}

const TRADES: SymbolList<VenuetwoWireTrade> = {
  call: userTradesCall,
  decode: decodeTrades,
  fromParam: "fromId",
  idOf: (wire) => wire.id,
  timeOf: (wire) => wire.time,
};

const ORDERS: SymbolList<VenuetwoWireOrder> = {
  call: allOrdersCall,
  decode: decodeOrders,
  fromParam: "orderId",
  idOf: (wire) => wire.orderId,
  timeOf: (wire) => {
    if (wire.time === null) throw new WireFault("time", "is missing");
    return wire.time;
  },
};

export class VenuetwoHistory implements AccountHistory {
  readonly #deps: VenuetwoHistoryDeps;

  constructor(deps: VenuetwoHistoryDeps) {
    this.#deps = deps;
  }

  /** In the order in which they were placed: the only time of an order that never changes. */
  async readOrders(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<VenueOrder>>> {
    if (!(session instanceof VenuetwoSession)) return failedRead("AUTH", "session of another venue");
    const deadline = new Deadline(this.#deps.clock, options);
    const toRow = (wire: VenuetwoWireOrder, instrument: Instrument): HistoryRow<VenueOrder> => ({
      tsMs: ORDERS.timeOf(wire),
      id: `${wire.symbol}:${wire.orderId}`,
      value: normalizeOrder(wire, instrument),
    });
    const read = await this.#walk("orders", query, async (fromMs, untilMs) => {
      const symbols = await this.#symbols(session, query, fromMs, untilMs, deadline, true);
      return symbols.ok ? this.#span(session, ORDERS, symbols.value, fromMs, untilMs, deadline, toRow) : symbols;
    });
    return pageOf(read);
  }

  async readFills(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<VenueFill>>> {
    if (!(session instanceof VenuetwoSession)) return failedRead("AUTH", "session of another venue");
    const deadline = new Deadline(this.#deps.clock, options);
    const toRow = (wire: VenuetwoWireTrade, instrument: Instrument): HistoryRow<VenueFill> => ({
      tsMs: wire.time,
      // Both sides of a trade with oneself carry one id.
      id: `${wire.symbol}:${wire.id}:${wire.side}`,
      value: normalizeTrade(wire, instrument),
    });
    const read = await this.#walk("fills", query, async (fromMs, untilMs) => {
      const symbols = await this.#symbols(session, query, fromMs, untilMs, deadline, false);
      return symbols.ok ? this.#span(session, TRADES, symbols.value, fromMs, untilMs, deadline, toRow) : symbols;
    });
    return pageOf(read);
  }

  async readFunding(
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ): Promise<Read<HistoryPage<FundingPayment>>> {
    if (!(session instanceof VenuetwoSession)) return failedRead("AUTH", "session of another venue");
    const deadline = new Deadline(this.#deps.clock, options);
    const { instrument } = query;
    const params: FormParams = [
      ["incomeType", "FUNDING_FEE"],
      ...(instrument === null ? [] : [["symbol", instrument.nativeSymbol] as const]),
    ];
    const read = await this.#walk("funding", query, async (fromMs, untilMs) => {
      const income = await this.#deps.search.income(session, params, fromMs, untilMs, deadline);
      if (!income.ok) return income;
      const rows = income.value.flatMap((wire): HistoryRow<FundingPayment>[] => {
        const listed = wire.symbol === null ? null : this.#deps.instruments.byNativeSymbol(wire.symbol);
        const isAsked = instrument === null || wire.symbol === instrument.nativeSymbol;
        if (listed === null || !isAsked || wire.incomeType !== "FUNDING_FEE") return [];
        return [{ tsMs: wire.time, id: `${wire.symbol}:${wire.tranId}`, value: normalizeFunding(wire, listed) }];
      });
      return { ...income, value: { rows, isWhole: income.value.length < INCOME_ROWS } };
    });
    return pageOf(read);
  }

  /**
   * Symbols that moved the balance within a span. A span whose answer is full is asked in halves; past MAX_INCOME_READS
   * the symbols seen so far are the answer, as they are those of the most rows.
   */
  async readMovedSymbols(
    session: AccountSession,
    fromMs: number,
    untilMs: number,
    options: CallOptions,
  ): Promise<Read<readonly string[]>> {
    if (!(session instanceof VenuetwoSession)) return failedRead("AUTH", "session of another venue");
    const deadline = new Deadline(this.#deps.clock, options);
    const symbols = new Set<string>();
    let asOfMs = this.#deps.clock.wallMs();
    const spans = [{ fromMs, untilMs }];
    for (let reads = 0; reads < MAX_INCOME_READS; reads++) {
      const span = spans.pop();
      if (span === undefined) break;
      if (span.untilMs - span.fromMs < MAX_SPAN_MS) {
        const income = await this.#deps.search.income(session, [], span.fromMs, span.untilMs, deadline);
        if (!income.ok) return income;
        ({ asOfMs } = income);
        for (const { symbol } of income.value) if (symbol !== null) symbols.add(symbol);
        if (income.value.length < INCOME_ROWS || span.fromMs >= span.untilMs) continue;
      }
      const middleMs = Math.floor((span.fromMs + span.untilMs) / 2);
      spans.push({ ...span, untilMs: middleMs }, { ...span, fromMs: middleMs + 1 });
    }
    return { ok: true, value: [...symbols], asOfMs, source: "venue" };
  }

  #walk<T>(
    kind: string,
    query: HistoryQuery,
    readSpan: (fromMs: number, untilMs: number) => Promise<Read<HistorySpan<T>>>,
  ): Promise<Read<HistoryPage<HistoryRow<T>>>> {
    const nowVenueMs = Math.round(this.#deps.clock.wallMs() + this.#deps.clockOffsetMs());
    return walkHistory<T>({
      kind,
      query,
      nowVenueMs,
      // A query that names its start is walked that far.
      oldestMs: query.sinceMs ?? nowVenueMs - LOOK_BACK_MS,
      firstSpanMs: MAX_SPAN_MS,
      maxSpanMs: MAX_SPAN_MS,
      maxReads: MAX_READS,
      readSpan,
    });
  }

  /** Null inside the value: the span is too long for its symbols to be known. */
  async #symbols(
    session: VenuetwoSession,
    query: HistoryQuery,
    fromMs: number,
    untilMs: number,
    deadline: Deadline,
    withOpen: boolean,
  ): Promise<Read<readonly string[] | null>> {
    const asOfMs = this.#deps.clock.wallMs();
    if (query.instrument !== null) return { ok: true, value: [query.instrument.nativeSymbol], asOfMs, source: "venue" };
    const moved = await this.#deps.search.symbols(session, fromMs, untilMs, deadline);
    if (!moved.ok) return moved;
    if (!moved.value.isWhole) return { ...moved, value: null };
    const symbols = new Set(moved.value.symbols);
    if (withOpen) {
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left for the open orders");
      const open = await this.#deps.rest.read(session, openOrdersCall(null), decodeOrders, left);
      if (!open.ok) return open;
      for (const order of open.value) symbols.add(order.symbol);
    }
    if (symbols.size > MAX_SYMBOLS)
      return failedRead("BAD_RESPONSE", "the account dealt in too many symbols: name one");
    return { ...moved, value: [...symbols] };
  }

  async #span<W, T>(
    session: VenuetwoSession,
    list: SymbolList<W>,
    symbols: readonly string[] | null,
    fromMs: number,
    untilMs: number,
    deadline: Deadline,
    toRow: (wire: W, instrument: Instrument) => HistoryRow<T>,
  ): Promise<Read<HistorySpan<T>>> {
    const rows: HistoryRow<T>[] = [];
    const asOfMs = this.#deps.clock.wallMs();
    const whole = (isWhole: boolean): Read<HistorySpan<T>> => ({
      ok: true,
      value: { rows, isWhole },
      asOfMs,
      source: "venue",
    });
    if (symbols === null) return whole(false);
    for (const symbol of symbols) {
      const instrument = this.#deps.instruments.byNativeSymbol(symbol);
      if (instrument === null) continue;
      const read = await this.#rows(session, list, symbol, fromMs, untilMs, deadline);
      if (!read.ok) return read;
      if (read.value === null) return whole(false);
      const wires = read.value;
      const decoded = decodeWith(null, () => wires.map((wire) => toRow(wire, instrument)));
      if (!decoded.ok) return failedRead("BAD_RESPONSE", `${list.call([]).v1Path}: ${decoded.problem}`);
      rows.push(...decoded.value);
    }
    return whole(true);
  }

  /** Null when the span holds more than a page. One instant that does is read on by id. */
  async #rows<W>(
    session: VenuetwoSession,
    list: SymbolList<W>,
    symbol: string,
    fromMs: number,
    untilMs: number,
    deadline: Deadline,
  ): Promise<Read<readonly W[] | null>> {
    const page = (params: FormParams): Promise<Read<readonly W[]>> => {
      const left = deadline.left();
      if (left === null) return Promise.resolve(failedRead("TIMEOUT", "no time left for the history"));
      const call = list.call([["symbol", symbol], ...params, ["limit", String(PAGE_ROWS)]]);
      return this.#deps.rest.read(session, call, list.decode, left);
    };
    const first = await page([
      ["startTime", String(fromMs)],
      ["endTime", String(untilMs)],
    ]);
    if (!first.ok || first.value.length < PAGE_ROWS) return first;
    if (fromMs < untilMs) return { ...first, value: null };
    const rows = [...first.value];
    for (let pages = 0; pages < MAX_INSTANT_PAGES; pages++) {
      const last = rows.at(-1);
      if (last === undefined) break;
      const next = await page([[list.fromParam, String(BigInt(list.idOf(last)) + 1n)]]);
      if (!next.ok) return next;
      const same = next.value.filter((wire) => list.timeOf(wire) === untilMs);
      rows.push(...same);
      if (next.value.length < PAGE_ROWS || same.length < next.value.length) return { ...next, value: rows };
    }
    return { ...first, value: null };
  }
}
