/**
 * One venue's engine: books, marks, accounts and the synthetic crowd, moved by an injected clock and one seed.
 * Same seed, same clock, same calls: same books, ids and fills, to the last digit.
 */
import type { Clock, TimerHandle } from "../../../../engine/domain/clock.js";
import { createSeededRandom, type Random } from "../../../../engine/domain/random.js";
import { AccountDesk } from "../money/account-desk.js";
import type { MatchingDeps, SymbolState } from "./engine-deps.js";
import { createFactorModel, type PriceSource, seedOf } from "../market/factor-model.js";
import { DEFAULT_FLOW, type FlowOptions, SymbolFlow } from "./flow.js";
import { Ledger } from "../money/ledger.js";
import { Margins } from "../money/margins.js";
import { Listeners, type SimListener } from "../model/listeners.js";
import { type FundingPoint, MarkState } from "../market/marks.js";
import { Matching } from "./matching.js";
import { checkOrder } from "./order-checks.js";
import { OrderBook } from "../market/order-book.js";
import { liquidate, payFunding, type RiskDeps } from "./risk.js";
import { type AccountState, positionKey } from "../model/state.js";
import { Tape } from "../market/tape.js";
import type {
  SimAccount,
  SimAccountCause,
  SimAccountOptions,
  SimBookSnapshot,
  SimCandle,
  SimFill,
  SimGrid,
  SimIncome,
  SimInstrument,
  SimLevel,
  SimMargin,
  SimMarginMode,
  SimMark,
  SimOrder,
  SimOrderRequest,
  SimPolicies,
  SimPosition,
  SimPositionFigures,
  SimPositionSide,
  SimRefusal,
  SimResting,
  SimResult,
  SimTicker,
  SimTrade,
  SimVeto,
} from "../model/types.js";

const TRADES_SHOWN_MAX = 5000;

export interface ExchangeOptions {
  /** Neutral venue name. Seeds the venue's own randomness together with `seed`. */
  readonly venue: string;
  readonly seed: number;
  readonly clock: Clock;
  readonly instruments: readonly SimInstrument[];
  readonly policies: SimPolicies;
  /** Default: an own factor model from the seed. Pass one handle to several venues to correlate them. */
  readonly priceSource?: PriceSource;
  /** Synthetic liquidity and order flow. `null`: empty books, only users trade (matching tests). */
  readonly flow?: Partial<FlowOptions> | null;
  /** Update ids grow by 1 + uniform[0, seqJumpMax]. 0 = by one. Default 0. */
  readonly seqJumpMax?: number;
  readonly firstSeq?: number;
  readonly firstOrderId?: number;
  /** Order ids are taken from the update ids: one counter for both. Excludes `firstOrderId`. */
  readonly orderIdsFromSeq?: boolean;
}

/** The engine of one venue. Time is venue time: the clock plus the clock-skew fault. */
export class SimExchange {
  readonly venue: string;
  readonly clock: Clock;
  readonly policies: SimPolicies;
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
  readonly #margins: Margins;
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
    this.#margins = new Margins({
      instruments: this.instruments,
      defaultLeverage: options.policies.defaultLeverage,
      markE8: deps.markE8,
    });
    this.#ledger = new Ledger({ margins: this.#margins, nowMs: deps.nowMs });
    this.#desk = new AccountDesk({
      ledger: this.#ledger,
      margins: this.#margins,
      listeners: this.#listeners,
      instruments: this.instruments,
      policies: options.policies,
      nowMs: deps.nowMs,
    });
    this.#matchingDeps = {
      symbols: this.#symbols,
      ledger: this.#ledger,
      margins: this.#margins,
      listeners: this.#listeners,
      policies: options.policies,
      firstOrderId: options.firstOrderId ?? 1,
      ...(options.orderIdsFromSeq === true ? { nextOrderId: () => this.#nextSeq() } : {}),
      ...deps,
    };
    this.#matching = new Matching(this.#matchingDeps);
    this.#risk = {
      ledger: this.#ledger,
      margins: this.#margins,
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

  /** Venue time in ms (clock + skew). */
  nowMs(): number {
    return this.clock.wallMs() + this.#skewMs;
  }

  setClockSkewMs(skewMs: number): void {
    this.#skewMs = skewMs;
  }

  /** Starts the market steps on the clock. Idempotent. */
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

  /** Runs one market step now (tests). */
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

  addListener(listener: SimListener): () => void {
    return this.#listeners.add(listener);
  }

  /* ---------------------------------------------------------------- market */

  /** Current top `depth` levels per side (all when omitted). */
  book(symbol: string, depth = Number.MAX_SAFE_INTEGER): SimBookSnapshot {
    return this.#state(symbol).book.snapshot(depth);
  }

  /** The first `count` resting orders of one side, best price first, in queue order. */
  restingOrders(symbol: string, side: "BUY" | "SELL", count: number): readonly SimResting[] {
    return this.#state(symbol).book.resting(side, count);
  }

  bestBid(symbol: string): SimLevel | null {
    return this.#state(symbol).book.best("BUY");
  }

  bestAsk(symbol: string): SimLevel | null {
    return this.#state(symbol).book.best("SELL");
  }

  /** Update id of the last change of this book, and the newest id of the whole engine. */
  seq(symbol: string): number {
    return this.#state(symbol).book.seq;
  }

  engineSeq(): number {
    return this.#engineSeq;
  }

  /** Newest last; at most 5000 are kept per symbol. */
  trades(symbol: string): readonly SimTrade[] {
    return this.#state(symbol).tape.trades.slice(-TRADES_SHOWN_MAX);
  }

  ticker(symbol: string): SimTicker {
    return this.#state(symbol).tape.ticker(this.nowMs());
  }

  mark(symbol: string): SimMark {
    return this.#mark(symbol).snapshot(this.#ledger.openInterestLots(symbol), this.nowMs());
  }

  /** Built from trades; at most 1500 per interval, the running one last. Source `mark`/`index` give candles of those prices (volumes 0). */
  candles(symbol: string, intervalMs: number, source: "last" | "mark" | "index" = "last"): readonly SimCandle[] {
    if (source === "mark") return this.#mark(symbol).markCandles.joined(intervalMs);
    if (source === "index") return this.#mark(symbol).indexCandles.joined(intervalMs);
    return this.#state(symbol).tape.last.joined(intervalMs);
  }

  fundingHistory(symbol: string): readonly FundingPoint[] {
    return this.#mark(symbol).funding;
  }

  /** Stops or resumes trading of a symbol (refusal HALTED). */
  setHalted(symbol: string, halted: boolean): void {
    this.#state(symbol).halted = halted;
  }

  /**
   * Opens the symbol on another grid: decimals and steps are taken from `grid`. Its book must be empty, and nobody may
   * hold orders or positions in it. See listing-change.ts.
   */
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

  /** Sets the house's whole quantity at one level (recordings as market; `flow: null`). Crossing user orders are matched first. */
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

  /** Moves this venue's whole market by `bps`, at once or linearly over `rampMs`. */
  setPriceSkew(bps: number, rampMs: number): void {
    this.#priceSkew = { fromBps: this.priceSkewBps(), toBps: bps, sinceMs: this.clock.wallMs(), rampMs };
  }

  priceSkewBps(): number {
    const { fromBps, toBps, sinceMs, rampMs } = this.#priceSkew;
    const elapsed = this.clock.wallMs() - sinceMs;
    return elapsed >= rampMs ? toBps : fromBps + ((toBps - fromBps) * elapsed) / rampMs;
  }

  /* ---------------------------------------------------------------- truth */

  /** The true book after the last change with id ≤ seq; null when unknown or older than the kept history (65 536 changes per symbol). */
  trueBook(symbol: string, seq: number, depth = Number.MAX_SAFE_INTEGER): SimBookSnapshot | null {
    return this.#state(symbol).book.trueSnapshot(seq, depth);
  }

  /** The true book as of venue time: at a remembered publication of exactly that time, else after the last change at or before it. */
  trueBookAtTime(symbol: string, tsMs: number, depth = Number.MAX_SAFE_INTEGER): SimBookSnapshot | null {
    const { book } = this.#state(symbol);
    const seq = book.history.seqAtTime(tsMs);
    return seq === null ? null : book.trueSnapshot(seq, depth);
  }

  /** Venues that publish by time call this when they publish, so that trueBookAtTime is exact within the millisecond. */
  rememberPublication(symbol: string, tsMs: number): void {
    const { book } = this.#state(symbol);
    book.history.rememberPublication(tsMs, book.seq);
  }

  /* ---------------------------------------------------------------- accounts */

  createAccount(options: SimAccountOptions): SimAccount {
    return this.#desk.createAccount(options);
  }

  account(accountId: string): SimAccount | null {
    return this.#ledger.accounts.get(accountId) ?? null;
  }

  accounts(): readonly SimAccount[] {
    return [...this.#ledger.accounts.values()];
  }

  margin(accountId: string): SimMargin {
    return this.#margins.margin(this.#account(accountId));
  }

  position(accountId: string, symbol: string, side: SimPositionSide): SimPosition | null {
    return this.#account(accountId).positions.get(positionKey(symbol, side)) ?? null;
  }

  positionFigures(position: SimPosition): SimPositionFigures {
    return this.#margins.figures(this.#account(position.accountId), position);
  }

  leverage(accountId: string, symbol: string): number {
    return this.#margins.leverage(this.#account(accountId), symbol);
  }

  marginMode(accountId: string, symbol: string): SimMarginMode {
    return this.#margins.marginMode(this.#account(accountId), symbol);
  }

  /** Positive adds cash (DEPOSIT or ADJUSTMENT), negative takes it (refused below available). */
  adjustWallet(accountId: string, amountE12: bigint, cause: SimAccountCause): SimResult<bigint> {
    return this.#desk.adjustWallet(accountId, amountE12, cause);
  }

  transferSpot(accountId: string, amountE12: bigint, direction: "toPerp" | "toSpot"): SimResult<bigint> {
    return this.#desk.transferSpot(accountId, amountE12, direction);
  }

  /** Sets a starting position (tests, demo): signed lots at an entry price; replaces what was there. The house takes the other side. */
  setPosition(
    accountId: string,
    symbol: string,
    side: SimPositionSide,
    qtyLots: number,
    entryTicks: number,
  ): SimPosition {
    return this.#desk.setPosition(accountId, symbol, side, qtyLots, entryTicks);
  }

  setLeverage(accountId: string, symbol: string, leverage: number): SimResult<number> {
    return this.#desk.setLeverage(accountId, symbol, leverage);
  }

  setMarginMode(accountId: string, symbol: string, mode: SimMarginMode): SimResult<SimMarginMode> {
    return this.#desk.setMarginMode(accountId, symbol, mode);
  }

  setHedgeMode(accountId: string, hedgeMode: boolean): SimResult<boolean> {
    return this.#desk.setHedgeMode(accountId, hedgeMode);
  }

  moveIsolatedMargin(accountId: string, symbol: string, side: SimPositionSide, amountE12: bigint): SimResult<bigint> {
    return this.#desk.moveIsolatedMargin(accountId, symbol, side, amountE12);
  }

  income(accountId: string): readonly SimIncome[] {
    return this.#account(accountId).income;
  }

  fills(accountId: string): readonly SimFill[] {
    return this.#account(accountId).fills;
  }

  /* ---------------------------------------------------------------- orders */

  place(accountId: string, request: SimOrderRequest): SimResult<SimOrder> {
    const account = this.#ledger.accounts.get(accountId);
    if (account === undefined) return refuse("UNKNOWN_ACCOUNT");
    const vetoed = this.#veto?.(accountId, request) ?? null;
    return vetoed === null ? this.#matching.place(account, request) : refuse(vetoed);
  }

  /** Asked before each order that an account places: a reason refuses it. Null ends it. */
  setVeto(veto: SimVeto | null): void {
    this.#veto = veto;
  }

  /** Same checks as `place`, no effect. */
  check(accountId: string, request: SimOrderRequest): SimResult<true> {
    const account = this.#ledger.accounts.get(accountId);
    const reason = account === undefined ? "UNKNOWN_ACCOUNT" : checkOrder(this.#matchingDeps, account, request);
    return reason === null ? { ok: true, value: true } : refuse(reason);
  }

  cancel(accountId: string, orderId: number, reason = "USER"): SimResult<SimOrder> {
    return this.#matching.cancel(this.#account(accountId), orderId, reason);
  }

  /** In place (same id): keeps priority only when the price stays and the quantity shrinks. Open LIMIT orders. */
  amend(accountId: string, orderId: number, qtyLots: number, priceTicks: number): SimResult<SimOrder> {
    return this.#matching.amend(this.#account(accountId), orderId, qtyLots, priceTicks);
  }

  order(orderId: number): SimOrder | null {
    return this.#matching.orders.byId.get(orderId) ?? null;
  }

  /** Newest order of this account with the client id. */
  orderByClientId(accountId: string, clientId: string): SimOrder | null {
    return this.#account(accountId).byClientId.get(clientId) ?? null;
  }

  /** Oldest first. */
  openOrders(accountId: string, symbol?: string): readonly SimOrder[] {
    const open = [...this.#account(accountId).openOrders.values()];
    return symbol === undefined ? open : open.filter((order) => order.symbol === symbol);
  }

  allOrders(accountId: string, symbol?: string): readonly SimOrder[] {
    const all = [...this.#account(accountId).orders.values()];
    return symbol === undefined ? all : all.filter((order) => order.symbol === symbol);
  }

  /** Cash + entry costs over all accounts and the house plus collected fees: constant but for deposits (conservation checks). */
  conservedE12(): bigint {
    return this.#ledger.conservedE12();
  }

  /** Sum of signed positions incl. the house: always 0. */
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
