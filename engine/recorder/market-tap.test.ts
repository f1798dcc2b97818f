import { describe, expect, it } from "vitest";
import { INVALID_GAP } from "../market/book.js";
import type { Market } from "../market/market.js";
import { MarketTap, type TapRings } from "./market-tap.js";
import { SnapshotRing } from "./snapshot-ring.js";
import { setBook, testMarket } from "./test/markets.js";
import { TickRing } from "./tick-ring.js";
import { TradeRing } from "./trade-ring.js";

interface World {
  readonly market: Market;
  readonly rings: TapRings;
  readonly tap: MarketTap;
  wakes: number;
  /** Rows since the last call, as [bid, bidLots, ask, askLots, mark, last, source]. */
  rows(): (number | string)[][];
}

function createWorld(options: { readonly wakeRows?: number; readonly tickRows?: number } = {}): World {
  const market = testMarket();
  const rings: TapRings = {
    ticks: new TickRing(options.tickRows ?? 16),
    trades: new TradeRing(16),
    snapshots: new SnapshotRing(4, 2),
    wakeRows: options.wakeRows ?? 1000,
    seenTrades: 4,
    repeatedTrades: 0,
    wake: () => {
      world.wakes += 1;
    },
  };
  const tap = new MarketTap(market, 3, rings);
  market.signal.listen(tap);
  const world: World = {
    market,
    rings,
    tap,
    wakes: 0,
    rows() {
      const { ticks } = rings;
      const rows: (number | string)[][] = [];
      for (; ticks.tail < ticks.head; ticks.tail++) {
        const at = ticks.tail & ticks.mask;
        expect(ticks.market[at]).toBe(3);
        rows.push([
          ticks.bidTicks[at] as number,
          ticks.bidLots[at] as number,
          ticks.askTicks[at] as number,
          ticks.askLots[at] as number,
          ticks.mark[at] as string,
          ticks.last[at] as string,
          ["book", "touch", "ticker"][ticks.source[at] as number] as string,
        ]);
      }
      return rows;
    },
  };
  return world;
}

const BIDS = [
  [100, 5],
  [99, 6],
] as const;
const ASKS = [[101, 7]] as const;

describe("the ticks of a market", () => {
  it("are written when the best bid or ask changes, and not when only the depth does", () => {
    const { market, rows } = createWorld();
    setBook(market, BIDS, ASKS, { seq: 1, rxNs: 10 });
    setBook(
      market,
      [
        [100, 5],
        [98, 1],
      ],
      ASKS,
      { seq: 2, rxNs: 20 },
    );
    setBook(market, [[100, 4]], ASKS, { seq: 3, rxNs: 30 });
    setBook(market, [], ASKS, { seq: 4, rxNs: 40 });
    expect(rows()).toEqual([
      [100, 5, 101, 7, "", "", "book"],
      [100, 4, 101, 7, "", "", "book"],
      [0, 0, 101, 7, "", "", "book"],
    ]);
  });

  it("come from the touch while it is newer than the book, by sequence or by venue time", () => {
    const { market, rows } = createWorld();
    setBook(market, BIDS, ASKS, { seq: 10, exMs: 1000, rxNs: 10 });
    market.touch.set(102, 1, 103, 2, 12, 1001, 20);
    setBook(market, [[90, 1]], [[110, 1]], { seq: 11, exMs: 1002, rxNs: 30 });
    setBook(market, [[91, 1]], [[110, 1]], { seq: 13, exMs: 1003, rxNs: 40 });
    market.touch.set(95, 1, 96, 1, 13, 1009, 50);
    expect(rows()).toEqual([
      [100, 5, 101, 7, "", "", "book"],
      [102, 1, 103, 2, "", "", "touch"],
      [91, 1, 110, 1, "", "", "book"],
    ]);
  });

  it("include mark and last price when they move, with the best bid and ask of that moment", () => {
    const { market, rows } = createWorld();
    setBook(market, BIDS, ASKS, { seq: 1, rxNs: 10 });
    market.ticker.markPrice = "100.5";
    market.ticker.stamp(1000, 20);
    market.ticker.volume24h = "9";
    market.ticker.stamp(1001, 30);
    market.ticker.lastPrice = "100.4";
    market.ticker.stamp(1002, 40);
    expect(rows()).toEqual([
      [100, 5, 101, 7, "", "", "book"],
      [100, 5, 101, 7, "100.5", "", "ticker"],
      [100, 5, 101, 7, "100.5", "100.4", "ticker"],
    ]);
  });

  it("never show levels of a book that is not LIVE", () => {
    const { market, rows } = createWorld();
    setBook(market, BIDS, ASKS, { seq: 1, rxNs: 10 });
    market.book.invalidate(INVALID_GAP);
    market.ticker.markPrice = "100.5";
    market.ticker.stamp(1000, 20);
    expect(rows().slice(1)).toEqual([[0, 0, 0, 0, "100.5", "", "ticker"]]);
  });

  it("are dropped oldest first when they are not drained, and are counted", () => {
    const { market, rings, rows } = createWorld({ tickRows: 4 });
    for (let seq = 1; seq <= 6; seq++) setBook(market, [[100 + seq, 1]], [[200, 1]], { seq, rxNs: seq });
    expect(rings.ticks.dropped).toBe(2);
    expect(rows().map(([bid]) => bid)).toEqual([103, 104, 105, 106]);
    expect(rings.ticks.head).toBe(6);
  });

  it("wake the drain once when enough of them wait", () => {
    const world = createWorld({ wakeRows: 3 });
    for (let seq = 1; seq <= 8; seq++) setBook(world.market, [[100 + seq, 1]], [[200, 1]], { seq, rxNs: seq });
    expect(world.wakes).toBe(1);
  });
});

describe("the trades of a market", () => {
  it("are recorded once per id, text and number alike, as far back as the maximum of known ids", () => {
    const { market, rings } = createWorld();
    const trade = (id: string | number): void => market.signal.traded(market, "SELL", 100, 2, id, 1000, 10);
    for (const id of ["a", 1, "a", 1, "1"]) trade(id);
    expect(rings.repeatedTrades).toBe(2);
    expect([0, 1, 2].map((at) => [rings.trades.idNumber[at], rings.trades.idText[at]])).toEqual([
      [-1, "a"],
      [1, ""],
      [-1, "1"],
    ]);
    // Four newer ids push the oldest out of memory.
    for (const id of ["b", "c", "d", "e", "a"]) trade(id);
    expect(rings.trades.head).toBe(8);
    expect(rings.trades.side[0]).toBe(2);
  });
});

describe("book snapshots", () => {
  it("follow a gap as soon as the book is LIVE again, but not its first start", () => {
    const { market, rings } = createWorld();
    setBook(market, BIDS, ASKS, { seq: 1, rxNs: 10 });
    expect(rings.snapshots.head).toBe(0);
    market.book.invalidate(INVALID_GAP);
    market.book.beginSync();
    setBook(
      market,
      [
        [98, 1],
        [97, 2],
        [96, 3],
      ],
      ASKS,
      { seq: 5, rxNs: 20 },
    );
    const { snapshots } = rings;
    expect([snapshots.head, snapshots.reason[0], snapshots.seq[0], snapshots.bidCount[0]]).toEqual([1, 1, 5, 2]);
    expect([...snapshots.bidTicks.slice(0, 2)]).toEqual([98, 97]);
  });

  it("are taken once before a route for each state of a LIVE book", () => {
    const { market, rings, tap } = createWorld();
    tap.takePreRoute(5);
    setBook(market, BIDS, ASKS, { seq: 1, rxNs: 10 });
    tap.takePreRoute(11);
    tap.takePreRoute(12);
    setBook(market, BIDS, ASKS, { seq: 2, rxNs: 20 });
    tap.takePreRoute(21);
    expect(rings.snapshots.head).toBe(2);
    tap.takePeriodic(22);
    expect(rings.snapshots.reason[2]).toBe(0);
  });
});
