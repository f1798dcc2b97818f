/**
 * A recording as the market: replays the level changes of a collector file (`<receive ns> <frame>` per line, gzip or
 * plain; combined-stream `depthUpdate` frames and one REST snapshot) into the house's side of the books, at the pace of
 * the recording or faster. Synthetic flow must be off (`flow: null`): users trade against the recorded levels.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import type { TimerHandle } from "../../../../engine/domain/clock.js";
import { parseSafe } from "../model/fixed.js";
import type { PriceSource } from "../market/factor-model.js";
import type { SimExchange } from "./exchange.js";
import type { SimInstrument, SimSide } from "../model/types.js";

export interface RecordedOptions {
  readonly instruments: readonly SimInstrument[];
  readonly path: string;
  /** 1 = as recorded, 10 = ten times as fast. */
  readonly speed?: number;
  /** Recorded symbol → symbol here, when they differ. */
  readonly rename?: ReadonlyMap<string, string>;
}

interface RecordedEvent {
  readonly atMs: number;
  readonly symbol: string;
  readonly replace: boolean;
  /** Update id reached by it; 0 when the frame has none. */
  readonly seq: number;
  readonly levels: readonly { readonly side: SimSide; readonly priceTicks: number; readonly qtyLots: number }[];
}

/** Events held in memory; a longer recording is cut there. */
const EVENTS_MAX = 500_000;

type Pairs = readonly (readonly [string, string])[];
interface DepthFrame {
  readonly e?: string;
  readonly u?: number;
  readonly s?: string;
  readonly lastUpdateId?: number;
  readonly b?: Pairs;
  readonly a?: Pairs;
  readonly bids?: Pairs;
  readonly asks?: Pairs;
}

/** Reads the whole file first, so that playing costs no parsing. */
export async function loadRecordedMarket(options: RecordedOptions): Promise<RecordedMarket> {
  const { path } = options;
  const instruments = new Map(options.instruments.map((instrument) => [instrument.symbol, instrument]));
  const file = createReadStream(path);
  const lines = createInterface({
    input: path.endsWith(".gz") ? file.pipe(createGunzip()) : file,
    crlfDelay: Number.POSITIVE_INFINITY,
  });
  const events: RecordedEvent[] = [];
  let skippedCount = 0;
  let lastSymbol: string | null = null;
  for await (const line of lines) {
    if (events.length >= EVENTS_MAX) break;
    const blank = line.indexOf(" ");
    if (blank < 0) continue;
    const frame = depthFrame(line.slice(blank + 1));
    if (frame === null) continue;
    // A snapshot does not name its symbol: it belongs to the stream it was taken for.
    const recorded: string | null = frame.s ?? lastSymbol;
    if (recorded === null) continue;
    lastSymbol = recorded;
    const instrument = instruments.get(options.rename?.get(recorded) ?? recorded);
    if (instrument === undefined) continue;
    const read = levelsOf(instrument, frame);
    skippedCount += read.skipped;
    events.push({
      atMs: Number(BigInt(line.slice(0, blank)) / 1_000_000n),
      symbol: instrument.symbol,
      replace: frame.lastUpdateId !== undefined,
      seq: frame.lastUpdateId ?? frame.u ?? 0,
      levels: read.levels,
    });
  }
  return new RecordedMarket(instruments, ordered(events), skippedCount, options.speed ?? 1);
}

/**
 * The collector writes a snapshot where it arrived: changes in front of it that it already holds are dropped, newer
 * ones are played after it.
 */
function ordered(events: readonly RecordedEvent[]): RecordedEvent[] {
  const rest = [...events];
  const played: RecordedEvent[] = [];
  for (const snapshot of events.filter((event) => event.replace)) {
    const index = rest.indexOf(snapshot);
    const before = rest.splice(0, index + 1);
    const newer = before.filter(
      (event) => event !== snapshot && event.symbol === snapshot.symbol && event.seq >= snapshot.seq,
    );
    const others = before.filter((event) => event.symbol !== snapshot.symbol);
    played.push(...others, snapshot, ...newer.map((event) => ({ ...event, atMs: snapshot.atMs })));
  }
  return [...played, ...rest];
}

export class RecordedMarket {
  /** Level changes that did not fit the instrument's grid and were left out. */
  readonly skippedCount: number;
  /** Fair prices of the venue that plays this: the middle of the recorded book. */
  readonly priceSource: PriceSource;
  readonly #instruments: ReadonlyMap<string, SimInstrument>;
  readonly #events: readonly RecordedEvent[];
  readonly #speed: number;
  /** Middle of the recorded book per base, in quote units per base unit. */
  readonly #middles = new Map<string, number>();
  #exchange: SimExchange | null = null;
  #next = 0;
  #timer: TimerHandle | null = null;

  constructor(
    instruments: ReadonlyMap<string, SimInstrument>,
    events: readonly RecordedEvent[],
    skippedCount: number,
    speed: number,
  ) {
    this.#instruments = instruments;
    this.#events = events;
    this.skippedCount = skippedCount;
    this.#speed = speed;
    for (const event of events) {
      const instrument = instruments.get(event.symbol);
      if (instrument === undefined || this.#middles.has(instrument.base)) continue;
      const bids = event.levels
        .filter((level) => level.side === "BUY" && level.qtyLots > 0)
        .map((level) => level.priceTicks);
      const asks = event.levels
        .filter((level) => level.side === "SELL" && level.qtyLots > 0)
        .map((level) => level.priceTicks);
      if (bids.length > 0 && asks.length > 0) this.#setMiddle(instrument, Math.max(...bids), Math.min(...asks));
    }
    this.priceSource = {
      // A base that the recording does not have stays at one quote unit.
      fairPrice: (base) => this.#middles.get(base) ?? 1,
    };
  }

  get eventCount(): number {
    return this.#events.length;
  }

  /** Plays into an exchange made with `flow: null` and this price source. */
  play(exchange: SimExchange): void {
    this.#exchange = exchange;
    this.#play();
  }

  stop(): void {
    if (this.#timer !== null) this.#exchange?.clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  #setMiddle(instrument: SimInstrument, bidTicks: number, askTicks: number): void {
    this.#middles.set(
      instrument.base,
      (bidTicks + askTicks) / 2 / 10 ** instrument.priceDecimals / instrument.contractSize,
    );
  }

  #play(): void {
    const exchange = this.#exchange;
    const now = this.#events[this.#next];
    if (now === undefined || exchange === null) return;
    // Everything of one recorded millisecond is one moment.
    for (
      let event: RecordedEvent | undefined = now;
      event !== undefined && event.atMs <= now.atMs;
      event = this.#events[this.#next]
    ) {
      this.#apply(exchange, event);
      this.#next++;
    }
    const following = this.#events[this.#next];
    this.#timer =
      following === undefined
        ? null
        : exchange.clock.setTimer(() => this.#play(), (following.atMs - now.atMs) / this.#speed);
  }

  #apply(exchange: SimExchange, event: RecordedEvent): void {
    const { symbol } = event;
    if (event.replace) {
      const kept = new Set(event.levels.map((level) => `${level.side}${level.priceTicks}`));
      const book = exchange.market.book(symbol);
      for (const level of book.bids)
        if (!kept.has(`BUY${level.priceTicks}`)) exchange.controls.setHouseLevel(symbol, "BUY", level.priceTicks, 0);
      for (const level of book.asks)
        if (!kept.has(`SELL${level.priceTicks}`)) exchange.controls.setHouseLevel(symbol, "SELL", level.priceTicks, 0);
    }
    // Removals first: a level that moved over the spread must not meet its own past.
    for (const level of event.levels)
      if (level.qtyLots === 0) exchange.controls.setHouseLevel(symbol, level.side, level.priceTicks, 0);
    for (const level of event.levels)
      if (level.qtyLots > 0) exchange.controls.setHouseLevel(symbol, level.side, level.priceTicks, level.qtyLots);
    const instrument = this.#instruments.get(symbol);
    const bid = exchange.market.bestBid(symbol);
    const ask = exchange.market.bestAsk(symbol);
    if (instrument !== undefined && bid !== null && ask !== null)
      this.#setMiddle(instrument, bid.priceTicks, ask.priceTicks);
  }
}

function depthFrame(text: string): DepthFrame | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof parsed !== "object" || parsed === null) return null;
  const frame = ("data" in parsed ? parsed.data : parsed) as DepthFrame;
  return frame.e === "depthUpdate" || frame.lastUpdateId !== undefined ? frame : null;
}

function levelsOf(instrument: SimInstrument, frame: DepthFrame): { levels: RecordedEvent["levels"]; skipped: number } {
  const levels: { side: SimSide; priceTicks: number; qtyLots: number }[] = [];
  let skipped = 0;
  const read = (side: SimSide, pairs: Pairs): void => {
    for (const [price, qty] of pairs) {
      const priceTicks = parseSafe(price, instrument.priceDecimals);
      const qtyLots = parseSafe(qty, instrument.qtyDecimals);
      if (priceTicks === null || qtyLots === null || priceTicks <= 0) skipped++;
      else levels.push({ side, priceTicks, qtyLots });
    }
  };
  read("BUY", frame.b ?? frame.bids ?? []);
  read("SELL", frame.a ?? frame.asks ?? []);
  return { levels, skipped };
}
