/**
 * Fills of an account of several contracts while its stream is lost, loses frames, is dead with its key, or brings them
 * late, twice, out of order and unreadable, while reads are slow, fail and lag behind, and while the estimate of the venue's clock is wrong for a time.
 * A judge holds what was reported against what the venue filled. Virtual time; a seed decides what happens. One planted
 * fault for each check and more. FUZZ_SEED replays one seed, FUZZ_RUNS sets how many follow it.
 *
 * Bounds of the play, as missed-fills.ts has them: what is lost in silence of one contract is all bought or all sold, so
 * that REST shows it; a contract that lost frames in silence gets none until that was found; the estimate is right from a
 * loss on until the fills are reported; of a flood the newest ones of each contract are wanted; of a contract whose trades
 * are never read again nothing is.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { delay } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueFill, VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type {
  AccountEvent,
  AccountReader,
  AccountSession,
  AccountStream,
  HistoryPage,
  HistoryQuery,
  Read,
} from "../../../engine/ports.js";
import { StreamedReads } from "../../shared/account/streamed-reads.js";
import { failedRead } from "../../shared/net/call-results.js";
import { type FakeConnection, FakeNetwork } from "../../shared/test/fake-connector.js";
import { accountUpdate, BTC, fill, order, position, session, streamsOf } from "../test/account-harness.js";
import { type FillHistory, MissedFills } from "./missed-fills.js";
import { OrderState } from "./order-state.js";

/** In place of the monotonic time that is read while a reading begins. */
const planted = vi.hoisted(
  (): {
    monoMs: number | null;
    sizesAreSame: boolean;
    answers: { last: readonly VenuePosition[] } | null;
    hasNoEnd: boolean;
  } => ({ monoMs: null, sizesAreSame: false, answers: null, hasNoEnd: false }),
);
vi.mock(import("../../shared/net/weight-window.js"), async (load) => {
  const original = await load();
  return { ...original, monoMs: (clock) => planted.monoMs ?? original.monoMs(clock) };
});
vi.mock(import("../../shared/account/held-positions.js"), async (load) => {
  const original = await load();
  return {
    ...original,
    sameSizes: (left, right) => planted.sizesAreSame || original.sameSizes(left, right),
    sideChanges: (held, answer) => {
      const changes = original.sideChanges(held, answer);
      if (planted.answers === null) return changes;
      const moved = original.sideChanges(planted.answers.last, answer);
      planted.answers.last = answer;
      return new Map([...changes].filter(([side]) => moved.has(side)));
    },
  };
});

vi.mock("../rules/limits.js", async (load) => {
  const original = await load<typeof import("../rules/limits.js")>();
  return {
    ...original,
    get MAX_FILL_TRIES() {
      return planted.hasNoEnd ? Number.POSITIVE_INFINITY : original.MAX_FILL_TRIES;
    },
  };
});

const FIRST_SEED = Number(process.env["FUZZ_SEED"] ?? 1);
const RUNS = Number(process.env["FUZZ_RUNS"] ?? (process.env["FUZZ_SEED"] === undefined ? 12 : 1));
const SEEDS = Array.from({ length: RUNS }, (_, index) => FIRST_SEED + index);
/** A planted fault is looked for in one after the other. */
const MUTANT_SEEDS = Array.from({ length: 40 }, (_, index) => 1 + index);
const STEP_MS = 250;
/** Of one life: losses for a time, each time followed by a longer one without any, in which fills go on. */
const ROUNDS = 6;
const MAX_WILD_STEPS = 160;
const READING_STEPS = 80;
const QUIET_STEPS = 300;
/** Two regular reads, and what a slow one takes. */
const FOUND_WITHIN_MS = 2 * 60_000 + 20_000;
const CALM_STEPS = (FOUND_WITHIN_MS + 40_000) / STEP_MS;
/** The venue's reads lag by so much at most. */
const MAX_LAG_MS = 1_100;
/** A reading takes 2,000 rows, in equal parts of three contracts. Less what is filled between a flood and its reading. */
const SURE_ROWS = 500;
const FLOOD_FILLS = 2_600;
const OLD_MS = 90_000;

const ETH: Instrument = { ...BTC, symbol: "ETH", nativeSymbol: "ETHUSDT" };
/** Bought and sold again: only the income shows afterwards that it was dealt in. */
const SOL: Instrument = { ...BTC, symbol: "SOL", nativeSymbol: "SOLUSDT" };
const CONTRACTS = new Map([BTC, ETH, SOL].map((instrument) => [instrument.nativeSymbol, instrument]));

/**
 * MISSED: every fill within the bounds is reported. TWICE: none is reported again. UNTRUE: none that did not happen. OLD:
 * none from before the first LIVE. LIVE: the stream is not LIVE while a fill stays out that the sizes of REST showed. BACK:
 * it is LIVE after a calm.
 */
type Check = "MISSED" | "TWICE" | "UNTRUE" | "OLD" | "LIVE" | "BACK";

interface Order {
  readonly id: string;
  readonly side: "BUY" | "SELL";
  readonly qtyLots: number;
  readonly createdMs: number;
}

interface Trade {
  readonly contract: Instrument;
  readonly id: number;
  readonly order: Order;
  readonly lots: number;
  readonly atMs: number;
  /** Of the order and of the position, with this trade. */
  readonly filledLots: number;
  readonly sizeLots: number;
  /** An answer of REST with a size that includes it has come. */
  knownMs: number | null;
}

/** `sizes late`: only the positions take their time. */
type Answers = "truly" | "slowly" | "sizes late" | "partly" | "never";

/** What the venue holds true, read late and behind. */
class LaggingVenue implements AccountReader, FillHistory {
  answers: Answers = "truly";
  /** Rows of one page at most. */
  pageRows = 1_000;
  aheadMs = 0;
  /** Its trades are never read again. */
  unreadable: Instrument | null = null;
  onAsked: (isSizes: boolean) => void = () => {};
  /** A slow answer is about to come. */
  onSlow: () => void = () => {};
  /** By native symbol, oldest first. */
  readonly trades = new Map<string, Trade[]>([...CONTRACTS.keys()].map((name) => [name, []]));
  readonly #orders = new Map<
    string,
    { readonly order: Order; readonly trades: Trade[]; readonly nativeSymbol: string }
  >();
  readonly #clock: VirtualClock;
  readonly #random: Random;
  #lastOrder = 0;
  #lastTrade = 0;

  constructor(clock: VirtualClock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  place(contract: Instrument, side: "BUY" | "SELL", qtyLots: number): Order {
    const placed: Order = { id: String(++this.#lastOrder), side, qtyLots, createdMs: this.#clock.wallMs() };
    this.#orders.set(placed.id, { order: placed, trades: [], nativeSymbol: contract.nativeSymbol });
    return placed;
  }

  /** `hasIdOfLast`: the other side of the trade before. */
  trade(contract: Instrument, of: Order, lots: number, atMs: number, hasIdOfLast = false): Trade {
    const trades = this.tradesOf(contract.nativeSymbol);
    const filled = this.#orders.get(of.id)?.trades ?? [];
    const made: Trade = {
      ...{ contract, lots, atMs, order: of, knownMs: null },
      id: hasIdOfLast ? this.#lastTrade : ++this.#lastTrade,
      filledLots: (filled.at(-1)?.filledLots ?? 0) + lots,
      sizeLots: (trades.at(-1)?.sizeLots ?? 0) + (of.side === "BUY" ? lots : -lots),
    };
    trades.push(made);
    filled.push(made);
    return made;
  }

  tradesOf(nativeSymbol: string): Trade[] {
    return this.trades.get(nativeSymbol) ?? [];
  }

  async #read<T>(make: (shownMs: number) => T, isSizes = false): Promise<Read<T>> {
    this.onAsked(isSizes);
    const { answers } = this;
    await this.#wait(isSizes);
    if (answers === "never" || (answers === "partly" && this.#random.next() < 0.4)) {
      return failedRead(this.#random.next() < 0.5 ? "TIMEOUT" : "RATE_LIMITED", "not now");
    }
    const asOfMs = this.#clock.wallMs();
    const value = make(asOfMs - this.#random.next() * MAX_LAG_MS);
    await this.#wait(isSizes);
    return { ok: true, value, asOfMs, source: "venue" };
  }

  async #wait(isSizes: boolean): Promise<void> {
    const isSlow = this.answers === "sizes late" ? isSizes : this.answers === "slowly" && this.#random.next() < 0.25;
    await delay(this.#clock, isSlow ? 500 + this.#random.next() * 2_000 : this.#random.next() * 20);
    if (isSlow) this.onSlow();
  }

  async readPositions(): Promise<Read<readonly VenuePosition[]>> {
    const shown: Trade[] = [];
    const read = await this.#read(
      (shownMs) =>
        [...CONTRACTS.values()].flatMap((contract) => {
          const last = this.tradesOf(contract.nativeSymbol).findLast(({ atMs }) => atMs <= shownMs);
          if (last !== undefined) shown.push(last);
          if (last === undefined || last.sizeLots === 0) return [];
          const { nativeSymbol, symbol } = contract;
          return [{ ...position(last.sizeLots, last.atMs), symbol, nativeSymbol }];
        }),
      true,
    );
    if (read.ok) for (const last of shown) this.#know(last);
    return read;
  }

  #know(last: Trade): void {
    const trades = this.tradesOf(last.contract.nativeSymbol);
    for (let index = trades.lastIndexOf(last); index >= 0; index--) {
      const trade = trades[index];
      if (trade === undefined || trade.knownMs !== null) return;
      trade.knownMs = this.#clock.trueMs();
    }
  }

  readOpenOrders(): Promise<Read<readonly VenueOrder[]>> {
    return this.#read((shownMs) =>
      [...this.#orders.keys()].flatMap((id) => {
        const shown = this.#orderAt(id, shownMs);
        return shown === null || shown.status === "FILLED" ? [] : [shown];
      }),
    );
  }

  readOrder(
    _session: AccountSession,
    _instrument: Instrument,
    ref: { readonly clientIdHex: string } | { readonly venueOrderId: string },
  ): Promise<Read<VenueOrder | null>> {
    return this.#read((shownMs) => ("venueOrderId" in ref ? this.#orderAt(ref.venueOrderId, shownMs) : null));
  }

  #orderAt(id: string, shownMs: number): VenueOrder | null {
    const known = this.#orders.get(id);
    if (known === undefined || known.order.createdMs > shownMs) return null;
    const { qtyLots, side } = known.order;
    const last = known.trades.findLast(({ atMs }) => atMs <= shownMs);
    const filledLots = last?.filledLots ?? 0;
    const status = filledLots === 0 ? "OPEN" : filledLots < qtyLots ? "PARTIALLY_FILLED" : "FILLED";
    const tsVenueMs = last?.atMs ?? known.order.createdMs;
    return { ...order(id, status, filledLots), nativeSymbol: known.nativeSymbol, side, qtyLots, tsVenueMs };
  }

  readFills(_session: AccountSession, query: HistoryQuery): Promise<Read<HistoryPage<VenueFill>>> {
    const { cursor, instrument, limit, sinceMs } = query;
    if (instrument === null || sinceMs === null) throw new Error("trades are asked per symbol, from a time on");
    if (instrument === this.unreadable) return Promise.resolve(failedRead("BAD_RESPONSE", "not a row"));
    const trades = this.tradesOf(instrument.nativeSymbol);
    return this.#read((shownMs) => {
      // A query reaches as far as the venue's time is thought to be, and a minute more.
      const untilMs = Math.min(shownMs, this.#clock.wallMs() + this.aheadMs + 60_000);
      const rows: VenueFill[] = [];
      let index = (cursor === null ? trades.length : Number(cursor)) - 1;
      for (; index >= 0 && rows.length < Math.min(limit, this.pageRows); index--) {
        const trade = trades[index];
        if (trade === undefined || trade.atMs < sinceMs) break;
        if (trade.atMs <= untilMs) rows.push(rowOf(trade));
      }
      const isWhole = (trades[index]?.atMs ?? 0) < sinceMs;
      return { rows, nextCursor: isWhole ? null : String(index + 1) };
    });
  }

  readMovedSymbols(_session: AccountSession, fromMs: number, untilMs: number): Promise<Read<readonly string[]>> {
    return this.#read((shownMs) =>
      [...this.trades].flatMap(([nativeSymbol, trades]) =>
        trades.some(({ atMs }) => atMs >= fromMs && atMs <= Math.min(shownMs, untilMs)) ? [nativeSymbol] : [],
      ),
    );
  }

  readBalances(): Promise<Read<never[]>> {
    return this.#read(() => []);
  }

  readFeeRates(): Promise<Read<never>> {
    return Promise.resolve(failedRead("VENUE_ERROR", "not here"));
  }
}

function rowOf({ atMs, contract, id, lots, order: of }: Trade): VenueFill {
  const { nativeSymbol, symbol } = contract;
  const tradeId = `${nativeSymbol}:${id}`;
  return { ...fill(of.id, String(id), lots, atMs), nativeSymbol, symbol, tradeId, side: of.side };
}

function keyOf({ contract, id, order: of }: Trade): string {
  return `${contract.nativeSymbol}:${id} ${of.id}`;
}

const qtyText = (lots: number): string => (lots / 1_000).toFixed(3);

/** ORDER_TRADE_UPDATE. */
function tradeUpdate({ atMs, contract, filledLots, id, lots, order: of }: Trade): string {
  const X = filledLots < of.qtyLots ? "PARTIALLY_FILLED" : "FILLED";
  const names = { s: contract.nativeSymbol, c: "abc", S: of.side, o: "LIMIT", f: "GTC", q: qtyText(of.qtyLots) };
  const prices = { p: "100.0", ap: "100", sp: "0", L: "100.0", N: "USDT", n: "0.01" };
  const trade = { x: "TRADE", X, i: Number(of.id), l: qtyText(lots), z: qtyText(filledLots), T: atMs, t: id };
  const rest = { b: "0", a: "0", m: true, R: false, wt: "CONTRACT_PRICE", ot: "LIMIT", ps: "BOTH", cp: false, rp: "0" };
  return JSON.stringify({ e: "ORDER_TRADE_UPDATE", E: atMs, T: atMs, o: { ...names, ...prices, ...trade, ...rest } });
}

const UNREADABLE = '{"e":"ORDER_TRADE_UPDATE","E":1,"T":1,"o":{}}';

class Life {
  readonly #clock = new VirtualClock();
  readonly #network = new FakeNetwork();
  readonly #random: Random;
  readonly #venue: LaggingVenue;
  readonly #stream: AccountStream;
  readonly #hasFlood: boolean;
  readonly #opened = new WeakSet<FakeConnection>();
  readonly #reported = new Map<string, number>();
  readonly #happened = new Map<string, Trade>();
  /** Happened since the first LIVE, within the bounds, and are not reported yet. */
  readonly #out = new Map<string, Trade>();
  /** An order of each contract and side that is not filled yet. */
  readonly #working = new Map<string, Order>();
  /** A contract whose frames are lost in silence, with what was lost. */
  #mute: { readonly contract: Instrument; readonly side: "BUY" | "SELL"; readonly trades: Trade[] } | null = null;
  #isHung = false;
  /** For so many steps more the connection answers pings and says nothing: the venue has forgotten its key. */
  #deafSteps = 0;
  #keyCount = 0;
  #isWild = false;
  /** Sizes that are asked for meet a close in silence. */
  #isUndoing = false;
  #hasFlooded = false;
  #firstLiveMs: number | null = null;
  #liveSinceMs: number | null = null;
  readonly found = new Set<Check>();

  constructor(seed: number) {
    this.#random = createSeededRandom(seed);
    this.#hasFlood = seed % 4 === 0;
    this.#network.pong = "";
    this.#venue = new LaggingVenue(this.#clock, this.#random);
    this.#venue.pageRows = this.#hasFlood || this.#happens(0.5) ? 1_000 : 60;
    this.#venue.onAsked = (isSizes) => {
      if (this.#isWild && this.#happens(0.15)) this.#deal(1 + this.#below(3));
      if (this.#isUndoing && isSizes && this.#stream.state === "LIVE" && this.#happens(0.5)) this.#undo();
    };
    this.#venue.onSlow = () => {
      if (!this.#isWild) this.#venue.answers = "truly";
      if (!this.#isWild && this.#happens(0.5)) this.#roundTrip(0.9);
      else if (!this.#isWild || this.#happens(0.5)) this.#deal(1, 0.9);
    };
    this.#settleClock();
    const streams = streamsOf({
      ...{ clock: this.#clock, network: this.#network, truth: this.#venue, history: this.#venue },
      aheadMs: () => this.#venue.aheadMs,
      listenKeys: {
        create: async () => ({ ok: true, value: `listen/${this.#keyCount}`, asOfMs: 1, source: "venue" }),
        extend: async () => ({ ok: true, value: "extended", asOfMs: 1, source: "venue" }),
      },
      instrumentOf: (nativeSymbol) => CONTRACTS.get(nativeSymbol) ?? null,
    });
    for (const contract of [BTC, ETH]) this.#fillOne(contract, this.#clock.wallMs() - OLD_MS);
    const opened = streams.openAccountStream(session("a"), (event) => this.#note(event));
    if (!opened.ok) throw new Error(opened.problem);
    this.#stream = opened.stream;
  }

  async run(): Promise<Set<Check>> {
    for (let step = 0; step < 40; step++) await this.#step();
    for (let round = 0; round < ROUNDS; round++) {
      if (round === ROUNDS - 1 && this.#happens(0.3)) this.#venue.unreadable = SOL;
      await this.#round();
    }
    this.#venue.answers = "truly";
    this.#settleClock();
    for (let step = 0; step < CALM_STEPS; step++) await this.#step();
    if (this.#stream.state !== "LIVE") this.found.add("BACK");
    if (this.#wanted().length > 0) this.found.add("MISSED");
    this.#stream.close();
    return this.found;
  }

  async #round(): Promise<void> {
    this.#isWild = true;
    this.#drawAnswers();
    for (let left = this.#below(MAX_WILD_STEPS); left >= 0; left--) {
      this.#lose();
      await this.#step();
    }
    this.#isWild = false;
    // One of three: each loss has what was missing before read again.
    const kind = this.#below(3);
    if (kind === 0) await this.#loseWhileReading();
    // The first slow answer of the quiet time meets one more loss.
    this.#venue.answers = kind === 1 ? "sizes late" : "truly";
    this.#isUndoing = kind === 2;
    this.#settleClock();
    for (let step = 0; step < QUIET_STEPS; step++) {
      if (this.#happens(kind === 2 ? 0.004 : 0.02)) this.#deal(1, 0);
      if (this.#happens(0.01)) this.#stepClock();
      await this.#step();
    }
    this.#isUndoing = false;
  }

  /** Frames are lost in silence while the reading of a loss before goes on. */
  async #loseWhileReading(): Promise<void> {
    this.#venue.answers = "partly";
    for (let step = 0; step < READING_STEPS; step++) {
      if (step % 10 === 0) this.#startMute();
      if (this.#happens(0.05)) this.#deal(1, step < 2 ? 1 : 0);
      await this.#step();
    }
  }

  async #step(): Promise<void> {
    await this.#clock.advanceAsync(STEP_MS);
    this.#connect();
    await this.#clock.advanceAsync(0);
    this.#judge();
  }

  #lose(): void {
    if (this.#happens(0.05)) this.#deal(1);
    if (this.#happens(0.02)) this.#deal(2 + this.#below(8));
    if (this.#happens(0.03)) this.#drawAnswers();
    if (this.#happens(0.008)) this.#startMute();
    if (this.#happens(0.006)) this.#forgetKey();
    if (this.#happens(0.004) && this.#isOpen) {
      this.#settleClock();
      this.#isHung = true;
      this.#network.pong = null;
    }
  }

  #forgetKey(): void {
    if (!this.#isOpen || this.#mute !== null || this.#deafSteps > 0) return;
    this.#settleClock();
    this.#keyCount++;
    this.#deafSteps = 160 + this.#below(80);
  }

  #drawAnswers(): void {
    const answers: readonly Answers[] = ["truly", "truly", "slowly", "slowly", "partly", "never"];
    this.#venue.answers = answers[this.#below(answers.length)] ?? "truly";
  }

  // ------------------------------------------------------------ the venue's clock, as it is estimated

  #settleClock(): void {
    this.#venue.aheadMs = (this.#random.next() - 0.5) * 600;
  }

  /** Wrong by far only while nothing is missing. */
  #stepClock(): void {
    this.#settleClock();
    if (this.#out.size === 0 && this.#isOpen && this.#mute === null && this.#deafSteps === 0) {
      this.#venue.aheadMs += [60_000, 60_000, -20_000, 3_000][this.#below(4)] ?? 0;
    }
  }

  // ------------------------------------------------------------ the connection

  get #isOpen(): boolean {
    const { last } = this.#network;
    return !last.isEnded && this.#opened.has(last) && !this.#isHung;
  }

  #connect(): void {
    const { last } = this.#network;
    if (last.isEnded) {
      this.#ended();
      return;
    }
    if (!this.#opened.has(last)) {
      if (this.#isWild && this.#happens(0.6)) return;
      if (this.#isWild && this.#happens(0.5)) this.#deal(1 + this.#below(3));
      this.#opened.add(last);
      last.open();
      return;
    }
    const isFound = this.#deafSteps > 0 && --this.#deafSteps === 0;
    const isDropped = this.#isHung ? !this.#isWild || this.#happens(0.06) : this.#isWild && this.#happens(0.008);
    const isLost = isFound || isDropped;
    if (!isLost) return;
    last.end(1006);
    this.#ended();
    if (this.#hasFlood && !this.#hasFlooded && this.#stream.state !== "LIVE") this.#flood();
  }

  #ended(): void {
    this.#isHung = false;
    this.#deafSteps = 0;
    this.#network.pong = "";
    this.#mute = null;
    this.#settleClock();
  }

  #startMute(): void {
    if (this.#mute !== null || !this.#isOpen || this.#deafSteps > 0) return;
    this.#settleClock();
    this.#mute = { contract: this.#happens(0.5) ? BTC : ETH, side: this.#happens(0.5) ? "BUY" : "SELL", trades: [] };
  }

  /** The frames of a close are lost in silence: sizes are what they were before the events that opened it. */
  #undo(): void {
    if (this.#firstLiveMs === null || this.#mute !== null || !this.#isOpen || this.#deafSteps > 0) return;
    const contract = this.#happens(0.5) ? BTC : ETH;
    const lots = 1 + this.#below(9);
    const atMs = this.#clock.wallMs();
    this.#settleClock();
    this.#tell(this.#filled(this.#venue.trade(contract, this.#venue.place(contract, "BUY", lots), lots, atMs)), 0);
    const sold = this.#filled(this.#venue.trade(contract, this.#venue.place(contract, "SELL", lots), lots, atMs));
    this.#mute = { contract, side: "SELL", trades: [sold] };
  }

  // ------------------------------------------------------------ fills

  #deal(count: number, unreadablePart = 0.08): void {
    if (this.#firstLiveMs === null) return;
    for (let index = 0; index < count; index++) {
      const contract = [BTC, BTC, ETH, SOL][this.#below(4)] ?? BTC;
      const isMute = this.#mute?.contract === contract;
      // Nothing is left that could be sold in silence.
      if (isMute && this.#mute?.side === "SELL" && this.#sizeOf(contract) === 0) continue;
      if (contract === SOL) this.#roundTrip(unreadablePart);
      else if (!isMute && this.#happens(0.1)) this.#selfTrade(contract, unreadablePart);
      else this.#tell(this.#fillOne(contract, this.#clock.wallMs()), unreadablePart);
    }
  }

  #fillOne(contract: Instrument, atMs: number): Trade {
    const { nativeSymbol } = contract;
    const sizeLots = this.#sizeOf(contract);
    const side = this.#sideOf(contract, sizeLots);
    const name = `${nativeSymbol} ${side}`;
    const working = this.#working.get(name) ?? this.#venue.place(contract, side, 1 + this.#below(12));
    const filledLots = this.#venue.tradesOf(nativeSymbol).findLast((trade) => trade.order === working)?.filledLots ?? 0;
    const mostLots = side === "BUY" ? working.qtyLots : Math.min(working.qtyLots, filledLots + sizeLots);
    const lots = 1 + this.#below(mostLots - filledLots);
    if (filledLots + lots < working.qtyLots) this.#working.set(name, working);
    else this.#working.delete(name);
    return this.#filled(this.#venue.trade(contract, working, lots, atMs));
  }

  #sizeOf({ nativeSymbol }: Instrument): number {
    return this.#venue.tradesOf(nativeSymbol).at(-1)?.sizeLots ?? 0;
  }

  #sideOf(contract: Instrument, sizeLots: number): "BUY" | "SELL" {
    const mute = this.#mute?.contract === contract ? this.#mute : null;
    const side = mute === null ? (this.#happens(0.6) ? "BUY" : "SELL") : mute.side;
    return sizeLots > 0 ? side : "BUY";
  }

  #roundTrip(unreadablePart: number): void {
    const lots = 1 + this.#below(9);
    for (const side of ["BUY", "SELL"] as const) {
      const placed = this.#venue.place(SOL, side, lots);
      this.#tell(this.#filled(this.#venue.trade(SOL, placed, lots, this.#clock.wallMs())), unreadablePart);
    }
  }

  /** Both sides carry one trade id. */
  #selfTrade(contract: Instrument, unreadablePart: number): void {
    const lots = 1 + this.#below(9);
    const atMs = this.#clock.wallMs();
    const bought = this.#filled(this.#venue.trade(contract, this.#venue.place(contract, "BUY", lots), lots, atMs));
    const sold = this.#filled(this.#venue.trade(contract, this.#venue.place(contract, "SELL", lots), lots, atMs, true));
    for (const trade of [bought, sold]) this.#tell(trade, unreadablePart, sold.sizeLots);
  }

  /** More than a reading takes, of one contract and of no event: only the newest are wanted. */
  #flood(): void {
    this.#hasFlooded = true;
    const flooded = this.#venue.place(BTC, "BUY", FLOOD_FILLS);
    const atMs = this.#clock.wallMs();
    for (let index = 0; index < FLOOD_FILLS; index++) this.#filled(this.#venue.trade(BTC, flooded, 1, atMs));
    this.#filled(this.#venue.trade(ETH, this.#venue.place(ETH, "BUY", 2), 2, atMs));
    for (const trade of this.#venue.tradesOf(BTC.nativeSymbol).slice(0, -SURE_ROWS)) this.#out.delete(keyOf(trade));
  }

  #filled(trade: Trade): Trade {
    this.#happened.set(keyOf(trade), trade);
    if (this.#firstLiveMs !== null) this.#out.set(keyOf(trade), trade);
    return trade;
  }

  #tell(trade: Trade, unreadablePart: number, sizeLots = trade.sizeLots): void {
    if (!this.#isOpen || this.#deafSteps > 0) return;
    if (this.#mute?.contract === trade.contract) {
      this.#mute.trades.push(trade);
      return;
    }
    const isUnreadable = this.#happens(unreadablePart);
    if (isUnreadable) this.#settleClock();
    this.#deliver(isUnreadable ? UNREADABLE : tradeUpdate(trade));
    this.#deliver(accountUpdate(qtyText(sizeLots), trade.atMs, trade.contract.nativeSymbol));
  }

  #deliver(text: string): void {
    const connection = this.#network.last;
    const times = this.#happens(0.1) ? 2 : 1;
    for (let time = 0; time < times; time++) {
      const lateMs = this.#happens(0.3) ? this.#below(900) : 5;
      this.#clock.setTimer(() => {
        if (!connection.isEnded && !this.#isHung) connection.receive(text);
      }, lateMs);
    }
  }

  // ------------------------------------------------------------ the judge

  #note(event: AccountEvent): void {
    if (event.kind !== "fill") return;
    const key = `${event.tradeId} ${event.order.venueOrderId}`;
    const trade = this.#happened.get(key);
    if (trade === undefined || trade.lots !== event.qtyLots || trade.order.side !== event.order.side) {
      this.found.add("UNTRUE");
      return;
    }
    if (trade.atMs <= this.#clock.wallMs() - OLD_MS && trade.id <= 2) this.found.add("OLD");
    const count = (this.#reported.get(key) ?? 0) + 1;
    this.#reported.set(key, count);
    if (count > 1) this.found.add("TWICE");
    this.#out.delete(key);
  }

  #judge(): void {
    const nowMs = this.#clock.trueMs();
    if (this.#stream.state !== "LIVE") {
      this.#liveSinceMs = null;
      return;
    }
    this.#firstLiveMs ??= nowMs;
    this.#liveSinceMs ??= nowMs;
    const { trades } = this.#mute ?? { trades: [] };
    if (trades.length > 0 && trades.every((trade) => !this.#out.has(keyOf(trade)))) this.#mute = null;
    for (const { knownMs } of this.#wanted()) {
      if (knownMs === null) continue;
      if (nowMs - Math.max(knownMs, this.#liveSinceMs) > FOUND_WITHIN_MS) this.found.add("LIVE");
    }
  }

  #wanted(): readonly Trade[] {
    return [...this.#out.values()].filter(({ contract }) => contract !== this.#venue.unreadable);
  }

  #below(count: number): number {
    return Math.floor(this.#random.next() * count);
  }

  #happens(part: number): boolean {
    return this.#random.next() < part;
  }
}

/** The monotonic time that a reading takes as its own. */
function readAs(monoMsOf: (beganMs: number) => number): void {
  const { read } = MissedFills.prototype;
  vi.spyOn(MissedFills.prototype, "read").mockImplementation(function (this: MissedFills, ...args) {
    planted.monoMs = monoMsOf(args[1].beganMs);
    try {
      return read.apply(this, args);
    } finally {
      planted.monoMs = null;
    }
  });
}

function knowTradesById(): void {
  const { adoptFill, applyOrder } = OrderState.prototype;
  const told = new WeakMap<OrderState, Set<string>>();
  const isNew = (state: OrderState, event: AccountEvent): boolean => {
    if (event.kind !== "fill") return true;
    const ids = told.get(state) ?? new Set();
    told.set(state, ids);
    const isFirst = !ids.has(event.tradeId);
    ids.add(event.tradeId);
    return isFirst;
  };
  vi.spyOn(OrderState.prototype, "applyOrder").mockImplementation(function (this: OrderState, ...args) {
    const applied = applyOrder.apply(this, args);
    return applied.kind === "unfit"
      ? applied
      : { kind: "events", events: applied.events.filter((one) => isNew(this, one)) };
  });
  vi.spyOn(OrderState.prototype, "adoptFill").mockImplementation(function (this: OrderState, ...args) {
    const event = adoptFill.apply(this, args);
    return event !== null && isNew(this, event) ? event : null;
  });
}

/** Each contract takes all rows that are left. */
function readRowsGreedily(): void {
  const { readFills } = LaggingVenue.prototype;
  vi.spyOn(LaggingVenue.prototype, "readFills").mockImplementation(async function (this: LaggingVenue, ...args) {
    const [asking, query] = args;
    const { pageRows } = this;
    this.pageRows = 2_000;
    const read = await readFills.call(this, asking, { ...query, limit: query.limit === 0 ? 0 : 2_000 });
    this.pageRows = pageRows;
    return read.ok ? { ...read, value: { ...read.value, nextCursor: null } } : read;
  });
}

function takeAs(change: (venueMs: number, beganMs: number, isFirst: boolean) => [number, number]): void {
  const { taken } = MissedFills.prototype;
  const known = new WeakSet<MissedFills>();
  vi.spyOn(MissedFills.prototype, "taken").mockImplementation(function (this: MissedFills, venueMs, beganMs) {
    const isFirst = !known.has(this);
    known.add(this);
    taken.apply(this, change(venueMs, beganMs, isFirst));
  });
}

const MUTANTS: readonly { readonly name: string; readonly check: Check; readonly plant: () => void }[] = [
  {
    name: "the window begins where the venue's clock was once thought to be",
    check: "MISSED",
    plant: () => takeAs((venueMs) => [venueMs, Number.POSITIVE_INFINITY]),
  },
  {
    name: "the first reading counts from a load that began before the loss",
    check: "MISSED",
    // The read that follows one that undid a move finds the same by itself.
    plant: () => {
      readAs((beganMs) => beganMs);
      vi.spyOn(StreamedReads.prototype, "movedMs", "get").mockReturnValue(null);
    },
  },
  {
    name: "rows are taken first come, first served",
    check: "MISSED",
    plant: readRowsGreedily,
  },
  {
    name: "fills are deduplicated by trade id alone",
    check: "MISSED",
    plant: knowTradesById,
  },
  {
    name: "no second reading follows the first",
    check: "MISSED",
    plant: () => readAs(() => Number.NEGATIVE_INFINITY),
  },
  {
    name: "sizes are not compared while fills are missing",
    check: "MISSED",
    plant: () => void vi.spyOn(MissedFills.prototype, "lostMore").mockReturnValue(),
  },
  {
    name: "a loss is none where sizes are those of the answer before",
    check: "MISSED",
    plant: () => {
      planted.answers = { last: [] };
    },
  },
  {
    name: "the stream is thought to be alive until its key is found to be forgotten",
    check: "MISSED",
    // The read that follows a loss surely later finds the same by itself; so does one after a read that undid a move.
    plant: () => {
      vi.spyOn(MissedFills.prototype, "silentSince").mockReturnValue();
      vi.spyOn(StreamedReads.prototype, "missed").mockReturnValue();
      vi.spyOn(StreamedReads.prototype, "movedMs", "get").mockReturnValue(null);
    },
  },
  {
    name: "the stream stays LIVE over sizes that no event brought",
    check: "LIVE",
    plant: () => {
      planted.sizesAreSame = true;
    },
  },
  {
    name: "what is read is reported whatever was reported before",
    check: "TWICE",
    plant: () => {
      const { adoptFill } = OrderState.prototype;
      vi.spyOn(OrderState.prototype, "hasFill").mockReturnValue(false);
      vi.spyOn(OrderState.prototype, "adoptFill").mockImplementation((...args) =>
        adoptFill.apply(new OrderState(), args),
      );
    },
  },
  {
    name: "a fill that is read has the size of its order",
    check: "UNTRUE",
    plant: () => {
      const { adoptFill } = OrderState.prototype;
      vi.spyOn(OrderState.prototype, "adoptFill").mockImplementation(function (this: OrderState, fillRow, of, price) {
        return adoptFill.call(this, { ...fillRow, qtyLots: of.qtyLots }, of, price);
      });
    },
  },
  {
    name: "fills of the time before the first LIVE are read",
    check: "OLD",
    plant: () => takeAs((venueMs, beganMs, isFirst) => [isFirst ? venueMs - 2 * OLD_MS : venueMs, beganMs]),
  },
  {
    name: "a contract that is never read is tried for ever",
    check: "BACK",
    plant: () => {
      planted.hasNoEnd = true;
    },
  },
  {
    name: "a loss is never made good",
    check: "BACK",
    plant: () => void vi.spyOn(MissedFills.prototype, "read").mockResolvedValue("unanswered"),
  },
];

afterEach(() => {
  vi.restoreAllMocks();
  planted.sizesAreSame = false;
  planted.answers = null;
  planted.hasNoEnd = false;
});

describe("the judge of missed fills", () => {
  it.each(SEEDS)("finds no fault in them as they are, seed %i", async (seed) => {
    expect([...(await new Life(seed).run())]).toEqual([]);
  });

  it.each(MUTANTS)("sees by $check that $name", async ({ check, plant }) => {
    plant();
    for (const seed of MUTANT_SEEDS) if ((await new Life(seed).run()).has(check)) return;
    expect.fail("no seed shows it");
  });
});
