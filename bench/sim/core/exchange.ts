/**
 * One venue's engine: books, marks, accounts and the synthetic crowd, moved by an injected clock and one seed.
 * Same seed, same clock, same calls: same books, ids and fills, to the last digit.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { AccountDesk } from "./account-desk.js";
import { createFactorModel, seedOf } from "./factor-model.js";
import { DEFAULT_FLOW, SymbolFlow } from "./flow.js";
import { Ledger } from "./ledger.js";
import { MarkState } from "./marks.js";
import type { MatchingDeps, SymbolState } from "./engine-deps.js";
import { Matching } from "./matching.js";
import { checkOrder } from "./order-checks.js";
import { OrderBook } from "./order-book.js";
import { liquidate, payFunding, type RiskDeps } from "./risk.js";
import { type AccountState, Listeners, positionKey } from "./state.js";
import { Tape } from "./tape.js";
import type {
  ExchangeOptions,
  FlowOptions,
  PriceSource,
  SimAccount,
  SimExchange,
  SimGrid,
  SimInstrument,
  SimPosition,
  SimRefusal,
  SimResult,
  SimVeto,
} from "./types.js";

const TRADES_SHOWN_MAX = 5000;

export function createExchange(options: ExchangeOptions): SimExchange {
  return new Exchange(options);
}

class Exchange implements SimExchange {
  readonly venue: string;
  readonly clock: ExchangeOptions["clock"];
  readonly policies: ExchangeOptions["policies"];
  readonly instruments: ReadonlyMap<string, SimInstrument>;
  readonly #options: ExchangeOptions;
  readonly #flowOptions: FlowOptions;
  readonly #source: PriceSource;
  #veto: SimVeto | null = null;
  readonly #seqRandom: Random;
  readonly #symbols = new Map<string, SymbolState>();
  readonly #marks = new Map<string, MarkState>();
  readonly #flows = new Map<string, SymbolFlow>();
  readonly #listeners = new Listeners();
  readonly #ledger: Ledger;
  readonly #desk: AccountDesk;
  readonly #matchingDeps: MatchingDeps;
  readonly #matching: Matching;
  readonly #risk: RiskDeps;
  #engineSeq: number;
  #skewMs = 0;
  #timer: TimerHandle | null = null;
  #priceSkew = { fromBps: 0, toBps: 0, sinceMs: 0, rampMs: 0 };

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.venue = options.venue;
    this.clock = options.clock;
    this.policies = options.policies;
    this.instruments = new Map(
      options.instruments.map((instrument) => [instrument.symbol, checkInstrument(instrument)]),
    );
    this.#flowOptions = { ...DEFAULT_FLOW, ...options.flow };
    this.#source = options.priceSource ?? createFactorModel({ seed: options.seed, startMs: options.clock.wallMs() });
    this.#seqRandom = createSeededRandom(seedOf(`${options.venue}/seq`, options.seed));
    this.#engineSeq = options.firstSeq ?? 1;
    const deps = { nowMs: () => this.nowMs(), markE8: (symbol: string) => this.#mark(symbol).markE8 };
    this.#ledger = new Ledger({
      instruments: this.instruments,
      defaultLeverage: options.policies.defaultLeverage,
      ...deps,
    });
    this.#desk = new AccountDesk({
      ledger: this.#ledger,
      listeners: this.#listeners,
      instruments: this.instruments,
      policies: options.policies,
      nowMs: deps.nowMs,
    });
    this.#matchingDeps = {
      symbols: this.#symbols,
      ledger: this.#ledger,
      listeners: this.#listeners,
      policies: options.policies,
      firstOrderId: options.firstOrderId ?? 1,
      ...(options.orderIdsFromSeq === true ? { nextOrderId: () => this.#nextSeq() } : {}),
      ...deps,
    };
    this.#matching = new Matching(this.#matchingDeps);
    this.#risk = {
      ledger: this.#ledger,
      matching: this.#matching,
      listeners: this.#listeners,
      marks: this.#marks,
      nowMs: deps.nowMs,
    };
    for (const instrument of this.instruments.values()) this.#list(instrument);
  }

  #list(instrument: SimInstrument): void {
    const { symbol } = instrument;
    const random = createSeededRandom(seedOf(`${this.venue}/${symbol}`, this.#options.seed));
    const nowMs = this.clock.wallMs();
    const fair = this.#fairPrice(instrument);
    const book = new OrderBook(symbol, {
      nextSeq: () => this.#nextSeq(),
      nowMs: () => this.nowMs(),
      onLevel: (...change) => this.#listeners.level(...change),
    });
    const state: SymbolState = {
      instrument,
      book,
      tape: this.#tape(instrument, random),
      triggers: new Set(),
      halted: false,
    };
    this.#symbols.set(symbol, state);
    this.#marks.set(symbol, new MarkState(instrument, random, nowMs, fair));
    this.#quote(state, random);
  }

  #tape(instrument: SimInstrument, random: Random): Tape {
    const ticks = Math.round(this.#fairPrice(instrument) * 10 ** instrument.priceDecimals);
    return new Tape(instrument, random, this.clock.wallMs(), Math.max(1, ticks));
  }

  #quote(state: SymbolState, random: Random): void {
    if (this.#options.flow === null) return;
    const { instrument } = state;
    const flow = new SymbolFlow(state, this.#matching, random, this.#flowOptions);
    this.#flows.set(instrument.symbol, flow);
    flow.step(this.#fairPrice(instrument) * 10 ** instrument.priceDecimals);
  }

  /* ---------------------------------------------------------------- time */

  nowMs(): number {
    return this.clock.wallMs() + this.#skewMs;
  }

  setClockSkewMs(skewMs: number): void {
    this.#skewMs = skewMs;
  }

  start(): void {
    if (this.#timer !== null) return;
    const tick = (): void => {
      this.#timer = this.clock.setTimer(tick, this.#flowOptions.stepMs);
      this.step();
    };
    this.#timer = this.clock.setTimer(tick, this.#flowOptions.stepMs);
  }

  stop(): void {
    if (this.#timer !== null) this.clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  step(): void {
    for (const [symbol, state] of this.#symbols) {
      const { instrument, book } = state;
      const fair = this.#fairPrice(instrument);
      this.#flows.get(symbol)?.step(fair * 10 ** instrument.priceDecimals);
      const bid = book.bestPrice("BUY");
      const ask = book.bestPrice("SELL");
      const middle = bid === null || ask === null ? null : (bid + ask) / 2 / 10 ** instrument.priceDecimals;
      this.#mark(symbol).update(fair, middle, this.nowMs());
    }
    this.#matching.settle();
    payFunding(this.#risk);
    liquidate(this.#risk);
    this.#listeners.step(this.nowMs());
  }

  addListener(listener: Parameters<SimExchange["addListener"]>[0]): () => void {
    return this.#listeners.add(listener);
  }

  /* ---------------------------------------------------------------- market */

  book(symbol: string, depth = Number.MAX_SAFE_INTEGER): ReturnType<SimExchange["book"]> {
    return this.#state(symbol).book.snapshot(depth);
  }

  restingOrders(symbol: string, side: "BUY" | "SELL", count: number): ReturnType<SimExchange["restingOrders"]> {
    return this.#state(symbol).book.resting(side, count);
  }

  bestBid(symbol: string): ReturnType<SimExchange["bestBid"]> {
    return this.#state(symbol).book.best("BUY");
  }

  bestAsk(symbol: string): ReturnType<SimExchange["bestAsk"]> {
    return this.#state(symbol).book.best("SELL");
  }

  seq(symbol: string): number {
    return this.#state(symbol).book.seq;
  }

  engineSeq(): number {
    return this.#engineSeq;
  }

  trades(symbol: string): ReturnType<SimExchange["trades"]> {
    return this.#state(symbol).tape.trades.slice(-TRADES_SHOWN_MAX);
  }

  ticker(symbol: string): ReturnType<SimExchange["ticker"]> {
    return this.#state(symbol).tape.ticker(this.nowMs());
  }

  mark(symbol: string): ReturnType<SimExchange["mark"]> {
    return this.#mark(symbol).snapshot(this.#ledger.openInterestLots(symbol), this.nowMs());
  }

  candles(
    symbol: string,
    intervalMs: number,
    source: "last" | "mark" | "index" = "last",
  ): ReturnType<SimExchange["candles"]> {
    if (source === "mark") return this.#mark(symbol).markCandles.joined(intervalMs);
    if (source === "index") return this.#mark(symbol).indexCandles.joined(intervalMs);
    return this.#state(symbol).tape.last.joined(intervalMs);
  }

  fundingHistory(symbol: string): ReturnType<SimExchange["fundingHistory"]> {
    return this.#mark(symbol).funding;
  }

  setHalted(symbol: string, halted: boolean): void {
    this.#state(symbol).halted = halted;
  }

  setGrid(symbol: string, grid: SimGrid): void {
    const { instrument, book, triggers } = this.#state(symbol);
    const isHeld = this.#ledger.openInterestLots(symbol) !== 0 || triggers.size > 0;
    if (isHeld || book.best("BUY") !== null || book.best("SELL") !== null)
      throw new RangeError(`${symbol}: positions, orders or quotes are on the present grid`);
    const { priceDecimals, qtyDecimals, priceStepTicks, qtyStepLots } = grid;
    // The object itself: streams and rooms hold on to it.
    Object.assign(instrument, { priceDecimals, qtyDecimals, priceStepTicks, qtyStepLots });
    checkInstrument(instrument);
    const random = createSeededRandom(seedOf(`${this.venue}/${symbol}/${book.seq}`, this.#options.seed));
    const state = { instrument, book, tape: this.#tape(instrument, random), triggers, halted: false };
    this.#symbols.set(symbol, state);
    this.#quote(state, random);
  }

  setHouseLevel(symbol: string, side: "BUY" | "SELL", priceTicks: number, qtyLots: number): void {
    const { book } = this.#state(symbol);
    let house = book.houseAt(side, priceTicks);
    const present = house.reduce((sum, resting) => sum + resting.lots, 0);
    if (qtyLots > present) {
      this.#matching.houseQuote(symbol, side, priceTicks, qtyLots - present);
      return;
    }
    // Withdrawals come off the back of the queue: the front keeps its time priority.
    for (let excess = present - qtyLots; excess > 0; house = house.slice(0, -1)) {
      const last = house[house.length - 1];
      if (last === undefined) return;
      const lots = Math.min(excess, last.lots);
      book.reduce(last, lots);
      excess -= lots;
    }
  }

  setPriceSkew(bps: number, rampMs: number): void {
    this.#priceSkew = { fromBps: this.priceSkewBps(), toBps: bps, sinceMs: this.clock.wallMs(), rampMs };
  }

  priceSkewBps(): number {
    const { fromBps, toBps, sinceMs, rampMs } = this.#priceSkew;
    const elapsed = this.clock.wallMs() - sinceMs;
    return elapsed >= rampMs ? toBps : fromBps + ((toBps - fromBps) * elapsed) / rampMs;
  }

  /* ---------------------------------------------------------------- truth */

  trueBook(symbol: string, seq: number, depth = Number.MAX_SAFE_INTEGER): ReturnType<SimExchange["trueBook"]> {
    return this.#state(symbol).book.trueSnapshot(seq, depth);
  }

  trueBookAtTime(symbol: string, tsMs: number, depth = Number.MAX_SAFE_INTEGER): ReturnType<SimExchange["trueBook"]> {
    const { book } = this.#state(symbol);
    const seq = book.history.seqAtTime(tsMs);
    return seq === null ? null : book.trueSnapshot(seq, depth);
  }

  rememberPublication(symbol: string, tsMs: number): void {
    const { book } = this.#state(symbol);
    book.history.rememberPublication(tsMs, book.seq);
  }

  /* ---------------------------------------------------------------- accounts */

  createAccount(options: Parameters<SimExchange["createAccount"]>[0]): SimAccount {
    return this.#desk.createAccount(options);
  }

  account(accountId: string): SimAccount | null {
    return this.#ledger.accounts.get(accountId) ?? null;
  }

  accounts(): readonly SimAccount[] {
    return [...this.#ledger.accounts.values()];
  }

  margin(accountId: string): ReturnType<SimExchange["margin"]> {
    return this.#ledger.margin(this.#account(accountId));
  }

  position(accountId: string, symbol: string, side: SimPosition["positionSide"]): SimPosition | null {
    return this.#account(accountId).positions.get(positionKey(symbol, side)) ?? null;
  }

  positionFigures(position: SimPosition): ReturnType<SimExchange["positionFigures"]> {
    return this.#ledger.figures(this.#account(position.accountId), position);
  }

  leverage(accountId: string, symbol: string): number {
    return this.#ledger.leverage(this.#account(accountId), symbol);
  }

  marginMode(accountId: string, symbol: string): ReturnType<SimExchange["marginMode"]> {
    return this.#ledger.marginMode(this.#account(accountId), symbol);
  }

  adjustWallet(...change: Parameters<SimExchange["adjustWallet"]>): SimResult<bigint> {
    return this.#desk.adjustWallet(...change);
  }

  transferSpot(...transfer: Parameters<SimExchange["transferSpot"]>): SimResult<bigint> {
    return this.#desk.transferSpot(...transfer);
  }

  setPosition(...position: Parameters<SimExchange["setPosition"]>): SimPosition {
    return this.#desk.setPosition(...position);
  }

  setLeverage(...change: Parameters<SimExchange["setLeverage"]>): SimResult<number> {
    return this.#desk.setLeverage(...change);
  }

  setMarginMode(...change: Parameters<SimExchange["setMarginMode"]>): ReturnType<SimExchange["setMarginMode"]> {
    return this.#desk.setMarginMode(...change);
  }

  setHedgeMode(...change: Parameters<SimExchange["setHedgeMode"]>): SimResult<boolean> {
    return this.#desk.setHedgeMode(...change);
  }

  moveIsolatedMargin(...move: Parameters<SimExchange["moveIsolatedMargin"]>): SimResult<bigint> {
    return this.#desk.moveIsolatedMargin(...move);
  }

  income(accountId: string): ReturnType<SimExchange["income"]> {
    return this.#account(accountId).income;
  }

  fills(accountId: string): ReturnType<SimExchange["fills"]> {
    return this.#account(accountId).fills;
  }

  /* ---------------------------------------------------------------- orders */

  place(accountId: string, request: Parameters<SimExchange["place"]>[1]): ReturnType<SimExchange["place"]> {
    const account = this.#ledger.accounts.get(accountId);
    if (account === undefined) return refuse("UNKNOWN_ACCOUNT");
    const vetoed = this.#veto?.(accountId, request) ?? null;
    return vetoed === null ? this.#matching.place(account, request) : refuse(vetoed);
  }

  setVeto(veto: SimVeto | null): void {
    this.#veto = veto;
  }

  check(accountId: string, request: Parameters<SimExchange["place"]>[1]): SimResult<true> {
    const account = this.#ledger.accounts.get(accountId);
    const reason = account === undefined ? "UNKNOWN_ACCOUNT" : checkOrder(this.#matchingDeps, account, request);
    return reason === null ? { ok: true, value: true } : refuse(reason);
  }

  cancel(accountId: string, orderId: number, reason = "USER"): ReturnType<SimExchange["cancel"]> {
    return this.#matching.cancel(this.#account(accountId), orderId, reason);
  }

  amend(accountId: string, orderId: number, qtyLots: number, priceTicks: number): ReturnType<SimExchange["amend"]> {
    return this.#matching.amend(this.#account(accountId), orderId, qtyLots, priceTicks);
  }

  order(orderId: number): ReturnType<SimExchange["order"]> {
    return this.#matching.orders.get(orderId) ?? null;
  }

  orderByClientId(accountId: string, clientId: string): ReturnType<SimExchange["orderByClientId"]> {
    return this.#account(accountId).byClientId.get(clientId) ?? null;
  }

  openOrders(accountId: string, symbol?: string): ReturnType<SimExchange["openOrders"]> {
    const open = [...this.#account(accountId).openOrders.values()];
    return symbol === undefined ? open : open.filter((order) => order.symbol === symbol);
  }

  allOrders(accountId: string, symbol?: string): ReturnType<SimExchange["allOrders"]> {
    const all = [...this.#account(accountId).orders.values()];
    return symbol === undefined ? all : all.filter((order) => order.symbol === symbol);
  }

  conservedE12(): bigint {
    return this.#ledger.conservedE12();
  }

  netLots(symbol: string): number {
    return this.#ledger.netLots(symbol);
  }

  /* ---------------------------------------------------------------- helpers */

  #nextSeq(): number {
    const jump = this.#options.seqJumpMax ?? 0;
    this.#engineSeq += 1 + (jump === 0 ? 0 : Math.floor(this.#seqRandom.next() * (jump + 1)));
    return this.#engineSeq;
  }

  #fairPrice(instrument: SimInstrument): number {
    const fair = this.#source.fairPrice(instrument.base, this.clock.wallMs()) * instrument.contractSize;
    return fair * (1 + this.priceSkewBps() / 10_000);
  }

  #state(symbol: string): SymbolState {
    const state = this.#symbols.get(symbol);
    if (state === undefined) throw new RangeError(`no symbol ${symbol}`);
    return state;
  }

  #mark(symbol: string): MarkState {
    const mark = this.#marks.get(symbol);
    if (mark === undefined) throw new RangeError(`no symbol ${symbol}`);
    return mark;
  }

  #account(accountId: string): AccountState {
    return this.#desk.account(accountId);
  }
}

function refuse(reason: SimRefusal): { readonly ok: false; readonly reason: SimRefusal } {
  return { ok: false, reason };
}

function checkInstrument(instrument: SimInstrument): SimInstrument {
  if (instrument.priceDecimals + instrument.qtyDecimals > 12)
    throw new RangeError(`${instrument.symbol}: too many decimals for E12 money`);
  if (instrument.brackets.length === 0) throw new RangeError(`${instrument.symbol}: no margin brackets`);
  return instrument;
}
