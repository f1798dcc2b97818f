/**
 * A random model. Clients are cut, resumed and slowed, and change their subscriptions, for ten virtual minutes. Every
 * frame is next in line by `prevSeq` (the fold throws otherwise), and in the end what each client folded equals the
 * REST reply. FUZZ_SEED replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { INVALID_DISCONNECTED, INVALID_GAP } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import { venueBook } from "../../api/book-reply.js";
import { parseKeyText } from "../key-text.js";
import { CONNECTION_LOOK_PULSES } from "../limits.js";
import { MarketTap } from "../market-tap.js";
import type { Fold } from "./frame-judge.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 7, 12] : [Number(process.env.FUZZ_SEED)];
const MINUTES = 10;
/** Tens of thousands of frames, each checked and folded, on a machine that may be busy. */
const TIMEOUT_MS = 400_000;
const KIB = 1024;

class Run {
  readonly stream = new VirtualStream({
    softBufferBytes: 8 * KIB,
    framesPerSecond: 1000,
    snapshotTurnBytes: 2 * KIB,
  });
  readonly clients: VirtualClient[] = [];
  readonly #random: Random;
  lagCount = 0;
  resumedCount = 0;
  missedCount = 0;
  brokenCount = 0;

  constructor(seed: number) {
    this.#random = createSeededRandom(seed);
    for (let index = 0; index < 4; index++) this.clients.push(this.connect());
  }

  below(limit: number): number {
    return Math.floor(this.#random.next() * limit);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  step(): void {
    this.stream.roundsMax = this.below(4);
    for (let count = this.below(4); count >= 0; count--) this.moveMarket();
    if (this.below(6) === 0) this.moveClient(this.below(this.clients.length));
    this.stream.advance(10 + this.below(20) * 10);
    for (const client of this.clients) {
      if (!client.isReading) client.read(this.below(3 * KIB));
      this.stream.turn();
    }
  }

  moveMarket(): void {
    const { btcOne, btcTwo, ethOne } = this.stream.markets;
    const market = this.pick([btcOne, btcTwo, btcTwo, ethOne]);
    const move = this.below(24);
    if (move === 0) market.book.invalidate(this.pick([INVALID_GAP, INVALID_DISCONNECTED]));
    else if (move === 1) market.book.beginSync();
    else if (move < 4) this.stream.load(market, 3 + this.below(40), 1 + this.below(9));
    else if (move === 4) this.setTouch(market);
    else if (move === 5) market.touch.clear();
    else if (move === 6) this.loadDeep(btcOne);
    else if (move === 7) btcOne.deep?.invalidate(INVALID_GAP);
    else if (move < 11) {
      market.ticker.lastPrice = String(90 + this.below(20));
      market.ticker.fundingIntervalHours = this.below(3);
      this.stream.tick(market, `${90 + this.below(20)}.${this.below(9) + 1}`);
    } else if (move === 11) this.stream.prove();
    else this.changeLevels(market);
  }

  changeLevels(market: Market): void {
    const { clock } = this.stream;
    for (let level = this.below(6); level >= 0; level--) {
      if (this.below(2) === 0) market.book.applyBid(10_000 - this.below(40), this.below(4));
      else market.book.applyAsk(10_001 + this.below(40), this.below(4));
    }
    market.book.commit(market.book.seq + 1, clock.wallMs(), clock.monoNs());
  }

  /** Slightly older or newer than the book. */
  setTouch(market: Market): void {
    const { clock } = this.stream;
    const [bid, ask] = [9_990 + this.below(10), 10_001 + this.below(10)];
    const tsVenueMs = clock.wallMs() + this.below(200) - 100;
    market.touch.set(bid, this.below(3), ask, this.below(3), 0, tsVenueMs, clock.monoNs());
  }

  loadDeep(market: Market): void {
    const { deep } = market;
    if (deep === null) return;
    deep.beginSnapshot();
    for (let index = 0; index < 60; index++) {
      deep.applyBid(10_000 - index, 1 + this.below(5));
      deep.applyAsk(10_001 + index, 1 + this.below(5));
    }
    deep.commit(deep.seq + 1, this.stream.clock.wallMs(), this.stream.clock.monoNs());
  }

  moveClient(index: number): void {
    const client = this.clients[index] as VirtualClient;
    const move = client.end === null && client.connection.isOpen ? this.below(10) : 0;
    if (move === 0) this.reconnect(index);
    else if (move < 3) {
      client.isReading = false;
      client.pathBytesMax = 2 * KIB;
    } else if (move < 5) {
      client.isReading = true;
      client.read(Number.POSITIVE_INFINITY);
      this.stream.turn();
    } else if (move === 5) client.op({ op: "unsubscribe", subs: [this.pick([...client.folds.keys(), "status"])] });
    else if (move === 6 && client.folds.size > 0) {
      // A subscription that it ended is not resumed before the reply.
      const folds = [...client.folds.values()].filter(({ sub }) => client.connection.holds(sub));
      if (folds.length === 0) return;
      const wrong = this.below(2);
      const asked = this.below(2) === 0 ? folds : [this.pick(folds)];
      client.op({ op: "resume", subs: asked.map((fold) => placeOf(fold, wrong)) });
    } else client.op(this.wish());
  }

  /** Cut at any point; the next connection resumes from what the client knows, sometimes wrongly. */
  reconnect(index: number): void {
    const old = this.clients[index] as VirtualClient;
    old.cut();
    this.stream.forget(old);
    const client = this.connect(old.folds);
    this.clients[index] = client;
    const subs = [...old.folds.values()].map((fold) => placeOf(fold, this.below(8) === 0 ? 1 : 0));
    if (subs.length > 0) client.op({ op: "resume", subs });
  }

  connect(folds?: Map<string, Fold>): VirtualClient {
    const client = this.stream.connect(folds);
    client.keepsFrames = false;
    client.onFrame = (frame) => {
      if (frame.type === "lagging") this.lagCount++;
      if (frame.type !== "resumed") return;
      for (const { missed } of frame.subs) {
        if (missed === true) this.missedCount++;
        else this.resumedCount++;
      }
    };
    return client;
  }

  wish(): Record<string, unknown> {
    const symbols = [this.pick(["BTC", "ETH", "btc-perp"])];
    const intervalMs = this.pick([0, 50, 100, 250, 1000]);
    switch (this.below(5)) {
      case 0:
        return { op: "subscribe", topic: "status" };
      case 1:
      case 2:
        return { op: "subscribe", topic: "ticker", symbols, intervalMs };
      default:
        return { op: "subscribe", topic: "book", symbols, depth: this.pick([1, 5, 20, 50]), intervalMs };
    }
  }

  /** A bug of a topic that only these readers have: they are behind, and each frame that would bring them on throws. */
  breakTopic(): void {
    // Looks at connections are spread over the pulses: one of them is due at each.
    const readers = Array.from({ length: CONNECTION_LOOK_PULSES }, () => this.stream.connect());
    for (const reader of readers) {
      reader.answersPings = false;
      reader.op({ op: "subscribe", topic: "ticker", symbols: ["BTC"], exchanges: ["venueone"], intervalMs: 50 });
    }
    for (let step = 0; step < 300 && !readers.every(({ connection }) => connection.isLagging); step++) this.step();
    const key = this.stream.hub.keys.get("ticker:BTC:venueone:50");
    if (key === undefined) throw new Error("no such key");
    vi.spyOn(key, "updateFrame").mockImplementation(() => {
      this.brokenCount++;
      throw new TypeError("a bug of this topic");
    });
    this.stream.tick(this.stream.markets.btcOne, "101.5");
    this.stream.advance(100);
    // The endpoint logs what a handler throws.
    for (const { connection, pingCount } of readers)
      expect(() => connection.pong(String(pingCount))).toThrow(TypeError);
  }

  /** Subscriptions that must restart and have no snapshot yet. */
  owedSnapshots(): readonly string[] {
    return this.clients.flatMap(({ owed }) => [...owed]);
  }

  /** Everyone is connected and reading, and nothing moves any more. */
  settle(): void {
    this.stream.roundsMax = Number.POSITIVE_INFINITY;
    for (const [index, client] of this.clients.entries()) {
      client.isReading = true;
      client.read(Number.POSITIVE_INFINITY);
      this.stream.turn();
      if (client.end !== null || !client.connection.isOpen) this.reconnect(index);
    }
    // Two books recover in any case; the third stays as it is.
    this.stream.load(this.stream.markets.btcTwo);
    this.stream.load(this.stream.markets.ethOne);
    for (let round = 0; round < 8; round++) {
      this.stream.prove();
      this.stream.advance(500);
    }
  }
}

/** `behind`: a position that the client has long passed. */
function placeOf(fold: Fold, behind: number): { sub: string; epoch: string; seq: number } {
  return { sub: fold.sub, epoch: fold.epoch, seq: fold.seq - behind };
}

function expectSameAsRest(stream: VirtualStream, fold: Fold): void {
  const key = parseKeyText(fold.sub);
  if (key === null) throw new Error(`no key: ${fold.sub}`);
  if (key.topic === "status") {
    expect(fold.fields["feeds"]).toMatchObject({ venueone: { state: "LIVE" }, venuetwo: { state: "LIVE" } });
    return;
  }
  const nowNs = stream.clock.monoNs();
  for (const venue of key.exchanges) {
    const market = stream.view.market(venue, key.symbol) as Market;
    if (key.topic === "book") {
      const rest = venueBook(market, venue, key.depth, nowNs);
      expect(fold.levels(venue, "bids"), fold.sub).toEqual(rest.bids);
      expect(fold.levels(venue, "asks"), fold.sub).toEqual(rest.asks);
      expect(fold.fields[venue]?.["state"] === "LIVE", fold.sub).toBe(rest.state === "LIVE");
    } else {
      const rest = new MarketTap(market);
      const { fields, state } = rest.ticker(nowNs);
      rest.close();
      const folded = { ...fold.fields[venue] };
      delete folded["ageMs"];
      const expected: Record<string, unknown> = { ...fields, state };
      delete expected["ageMs"];
      expect(folded, fold.sub).toEqual(expected);
    }
  }
}

/** Returns how many subscriptions were compared. */
function expectSettled(run: Run): number {
  let compared = 0;
  for (const client of run.clients) {
    expect(client.connection.isOpen && !client.connection.isLagging).toBe(true);
    expect(client.connection.subscriptionCount).toBe(client.folds.size);
    for (const fold of client.folds.values()) {
      expectSameAsRest(run.stream, fold);
      compared++;
    }
  }
  return compared;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("ten minutes of cuts, resumes and slow readers", () => {
  it.each(SEEDS)("end in the state that REST shows (seed %i)", { timeout: TIMEOUT_MS }, (seed) => {
    const run = new Run(seed);
    const untilMs = run.stream.clock.wallMs() + MINUTES * 60_000;
    try {
      while (run.stream.clock.wallMs() < untilMs) run.step();
      run.settle();
      const compared = expectSettled(run);
      expect(run.owedSnapshots()).toEqual([]);
      // The run reached the cases it is about.
      expect(compared).toBeGreaterThan(5);
      expect(Math.min(run.lagCount, run.resumedCount, run.missedCount)).toBeGreaterThan(5);
      for (const client of run.clients) client.cut();
      expect(run.stream.hub.counts).toMatchObject({ connections: 0, subscriptions: 0, keys: 0, lagging: 0 });
      expect(run.stream.hub.taps.count).toBe(0);
    } catch (error) {
      throw new Error(`FUZZ_SEED=${seed}: ${(error as Error).message}`, { cause: error });
    }
  });

  it("without a promised snapshot that has no news fail one check and no other", () => {
    const run = new Run(1);
    for (let step = 0; step < 500; step++) run.step();
    run.settle();
    for (const client of run.clients) {
      client.loses = (frame) => {
        const fold = frame.type === "snapshot" ? client.folds.get(frame.sub) : undefined;
        return client.owed.has(frame.sub) && fold?.epoch === frame.epoch && fold.seq === frame.seq;
      };
      client.op({ op: "resume", subs: [...client.folds.values()].map((fold) => placeOf(fold, 1)) });
    }
    run.settle();
    expect(expectSettled(run)).toBeGreaterThan(5);
    expect(run.owedSnapshots().length).toBeGreaterThan(5);
  });

  it("with a topic that fails for readers of its own end in the state that REST shows", () => {
    const run = new Run(1);
    for (let step = 0; step < 100; step++) run.step();
    run.breakTopic();
    for (let step = 0; step < 200; step++) run.step();
    run.settle();
    expect(expectSettled(run)).toBeGreaterThan(5);
    expect(run.owedSnapshots()).toEqual([]);
    expect(run.brokenCount).toBeGreaterThan(100);
  });

  it("fail where a topic that fails for readers of its own ends the pulse of all", () => {
    const run = new Run(1);
    for (let step = 0; step < 100; step++) run.step();
    run.breakTopic();
    run.settle();
    const { hub } = run.stream;
    const tickAll = (markPrice: string): void => {
      for (const market of Object.values(run.stream.markets)) run.stream.tick(market, markPrice);
    };
    // What is LIVE again goes out at once: the price after it waits for its pulse.
    tickAll("206.5");
    run.stream.advance(1_000);
    const error = (event: string): void => {
      if (event === "stream.look_failed") throw new TypeError(event);
    };
    Object.assign(hub, { logger: { ...hub.logger, error } });
    tickAll("207.5");
    run.stream.prove();
    run.stream.advance(2_000);
    expect(() => expectSettled(run)).toThrow(/deeply equal/);
  });
});
