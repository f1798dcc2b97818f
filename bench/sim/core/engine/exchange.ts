/**
 * One venue's engine: books, marks, accounts and the synthetic crowd, moved by an injected clock and one seed.
 * Same seed, same clock, same calls: same books, ids and fills, to the last digit.
 */
import type { Clock, TimerHandle } from "../../../../engine/domain/clock.js";
import { createSeededRandom } from "../../../../engine/domain/random.js";
import { AccountDesk } from "../money/account-desk.js";
import { AccountReads } from "../money/account-reads.js";
import type { MatchingDeps } from "./engine-deps.js";
import { createFactorModel, type PriceSource, seedOf } from "../market/factor-model.js";
import { FairPrices } from "../market/fair-prices.js";
import { DEFAULT_FLOW, type FlowOptions } from "./flow.js";
import { checkInstrument } from "./instrument-check.js";
import { Ledger } from "../money/ledger.js";
import { Listeners, type SimListener } from "../model/listeners.js";
import { Margins } from "../money/margins.js";
import { MarketControls } from "./market-controls.js";
import { MarketReads } from "./market-reads.js";
import { Markets } from "./markets.js";
import { Matching } from "./matching.js";
import { OrderEntry } from "./order-entry.js";
import { liquidate, payFunding, type RiskDeps } from "./risk.js";
import type { SimInstrument, SimPolicies } from "../model/types.js";
import { UpdateIds } from "../market/update-ids.js";

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
  /** What the markets show. */
  readonly market: MarketReads;
  /** What moves, halts or changes a market from outside. */
  readonly controls: MarketControls;
  /** What accounts hold. */
  readonly accounts: AccountReads;
  /** What owners change of their accounts. */
  readonly desk: AccountDesk;
  readonly orders: OrderEntry;
  readonly #stepMs: number;
  readonly #listeners = new Listeners();
  readonly #markets: Markets;
  readonly #matching: Matching;
  readonly #risk: RiskDeps;
  #skewMs = 0;
  #timer: TimerHandle | null = null;

  constructor(options: ExchangeOptions) {
    const { venue, clock, policies, seed } = options;
    this.venue = venue;
    this.clock = clock;
    this.policies = policies;
    this.instruments = new Map(
      options.instruments.map((instrument) => [instrument.symbol, checkInstrument(instrument)]),
    );
    const { instruments } = this;
    const listeners = this.#listeners;
    const flow = { ...DEFAULT_FLOW, ...options.flow };
    this.#stepMs = flow.stepMs;
    const nowMs = (): number => this.nowMs();
    const source = options.priceSource ?? createFactorModel({ seed, startMs: clock.wallMs() });
    const prices = new FairPrices(source, clock);
    const idRandom = createSeededRandom(seedOf(`${venue}/seq`, seed));
    const ids = new UpdateIds(options.firstSeq ?? 1, options.seqJumpMax ?? 0, idRandom);
    const crowd = options.flow === null ? null : flow;
    const markets = new Markets({ venue, seed, clock, prices, ids, listeners, flow: crowd, nowMs });
    const markE8 = (symbol: string): number => markets.mark(symbol).markE8;
    const margins = new Margins({ instruments, defaultLeverage: policies.defaultLeverage, markE8 });
    const ledger = new Ledger({ margins, nowMs });
    const matchingDeps: MatchingDeps = {
      symbols: markets.symbols,
      ledger,
      margins,
      listeners,
      policies,
      firstOrderId: options.firstOrderId ?? 1,
      ...(options.orderIdsFromSeq === true ? { nextOrderId: () => ids.next() } : {}),
      nowMs,
      markE8,
    };
    const matching = new Matching(matchingDeps);
    this.#markets = markets;
    this.#matching = matching;
    this.#risk = { ledger, margins, matching, listeners, marks: markets.marks, nowMs };
    this.market = new MarketReads({ markets, ids, ledger, nowMs });
    this.controls = new MarketControls({ markets, matching, ledger, prices });
    this.accounts = new AccountReads(ledger, margins);
    this.desk = new AccountDesk({ ledger, margins, listeners, instruments, policies, nowMs });
    this.orders = new OrderEntry(matchingDeps, matching);
    for (const instrument of instruments.values()) markets.open(instrument, matching);
  }

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
      this.#timer = this.clock.setTimer(tick, this.#stepMs);
      this.step();
    };
    this.#timer = this.clock.setTimer(tick, this.#stepMs);
  }

  stop(): void {
    if (this.#timer !== null) this.clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  /** Runs one market step now (tests). */
  step(): void {
    this.#markets.step();
    this.#matching.settle();
    payFunding(this.#risk);
    liquidate(this.#risk);
    this.#listeners.step(this.nowMs());
  }

  addListener(listener: SimListener): () => void {
    return this.#listeners.add(listener);
  }
}
