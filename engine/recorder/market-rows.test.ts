import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatScaled } from "../domain/decimal.js";
import type { Instrument } from "../domain/instrument.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { createMarket, type Market } from "../market/market.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import { recordTable } from "../storage/records/schema.js";
import { Batcher } from "./batcher.js";
import type { Batch } from "./batch.js";
import { BufferPool } from "./buffer-pool.js";
import { drainSnapshots, drainTicks, drainTrades, MarketRowHead } from "./market-rows.js";
import { RowWriter } from "./row-binary.js";
import { createRowCodec, type RowValues } from "./row-codec.js";
import { SnapshotRing } from "./snapshot-ring.js";
import { TickRing } from "./tick-ring.js";
import { TradeRing } from "./trade-ring.js";
import { WallAnchor } from "./wall-anchor.js";
import { anInstrument } from "../domain/test/instruments.js";

const START_MS = 1_790_000_000_000;
const US = START_MS * 1000;

function batcherOf(name: RecordTableName, batches: Batch[]): Batcher {
  return new Batcher({
    table: recordTable(name),
    rowsMax: 1000,
    rowBytesMax: 4096,
    pool: new BufferPool(1 << 16, 2),
    token: () => `t${batches.length}`,
    onBatch: (batch) => batches.push(batch),
  });
}

function encoded(name: RecordTableName, row: RowValues): string {
  const writer = new RowWriter(Buffer.alloc(64));
  expect(createRowCodec(recordTable(name)).write(writer, row)).toBe(true);
  return writer.written().toString("hex");
}

function marketOf(overrides: Partial<Instrument>): Market {
  return createMarket(anInstrument(overrides), { deepTier: false, maxBookAgeMs: 5000, maxDeepAgeMs: 0 });
}

const ticks = fc.integer({ min: 0, max: 2 ** 40 });

describe("rows of the rings", () => {
  it("of ticks are the bytes that the general encoder writes for the same figures", () => {
    fc.assert(
      fc.property(
        fc.record({
          bid: ticks,
          bidLots: ticks,
          ask: ticks,
          askLots: ticks,
          seq: fc.maxSafeInteger().map(Math.abs),
          source: fc.constantFrom(0, 1, 2),
          rxNs: fc.integer({ min: 0, max: 10 ** 12 }),
          ex: fc.constantFrom(0, START_MS),
          mark: fc.constantFrom("", "123.456789", "junk", "0.00001"),
          priceDecimals: fc.integer({ min: 5, max: 8 }),
          qtyDecimals: fc.integer({ min: 0, max: 6 }),
          multiplierExp10: fc.constantFrom(0, 3),
        }),
        (given) => {
          const { priceDecimals, qtyDecimals, multiplierExp10 } = given;
          const market = marketOf({ priceDecimals, qtyDecimals, multiplierExp10 });
          const ring = new TickRing(2);
          const at = ring.push();
          ring.rxNs[at] = given.rxNs;
          ring.exMs[at] = given.ex;
          ring.bidTicks[at] = given.bid;
          ring.bidLots[at] = given.bidLots;
          ring.askTicks[at] = given.ask;
          ring.askLots[at] = given.askLots;
          ring.seq[at] = given.seq;
          ring.source[at] = given.source;
          ring.mark[at] = given.mark;
          const batches: Batch[] = [];
          const batcher = batcherOf("ticks", batches);
          const heads = [new MarketRowHead(market)];
          expect(drainTicks(ring, heads, new WallAnchor(new VirtualClock(START_MS)), batcher, 10)).toBe(0);
          batcher.closeAll();
          const price = (value: number): string => formatScaled(value, priceDecimals + multiplierExp10);
          const qty = (value: number): string => formatScaled(value, qtyDecimals - multiplierExp10);
          // 123.456789 of a contract of 1000 units is 0.123456789 a unit.
          const marks: Record<string, string | null> =
            multiplierExp10 === 0
              ? { "123.456789": "123.456789", "0.00001": "0.00001" }
              : { "123.456789": "0.123456789", "0.00001": "0.00000001" };
          expect(Buffer.from((batches[0] as Batch).bytes).toString("hex")).toBe(
            encoded("ticks", {
              rx: US + Math.floor(given.rxNs / 1000),
              ex: given.ex,
              venue: "venueone",
              symbol: "BTC",
              bid_px: price(given.bid),
              bid_sz: qty(given.bidLots),
              ask_px: price(given.ask),
              ask_sz: qty(given.askLots),
              mark_px: marks[given.mark] ?? null,
              last_px: null,
              seq: given.seq,
              src: ["book", "touch", "ticker"][given.source] as string,
            }),
          );
        },
      ),
    );
  });

  it("of trades are so too, ids as text; without a plausible venue time they take the receive time", () => {
    const ring = new TradeRing(8);
    const market = marketOf({ priceDecimals: 1, qtyDecimals: 3 });
    const put = (id: string | number, exMs: number): void => {
      const at = ring.push();
      ring.rxNs[at] = 5_000_000;
      ring.exMs[at] = exMs;
      ring.priceTicks[at] = 1_000_005;
      ring.qtyLots[at] = 250;
      ring.side[at] = 2;
      ring.seq[at] = ring.head;
      ring.idNumber[at] = typeof id === "number" ? id : -1;
      ring.idText[at] = typeof id === "string" ? id : "";
    };
    put(9007199254740991, START_MS - 40);
    put("18446744073709551615", 0);
    put("x", START_MS * 1000);
    const batches: Batch[] = [];
    const batcher = batcherOf("trades", batches);
    drainTrades(ring, [new MarketRowHead(market)], new WallAnchor(new VirtualClock(START_MS)), batcher, 10);
    batcher.closeAll();
    const row = (trade_id: string, ex: number, seq: number): string =>
      encoded("trades", {
        ...{ rx: US + 5000, ex, venue: "venueone", symbol: "BTC", trade_id },
        ...{ price: "100000.5", qty: "0.25", taker_side: "SELL", seq },
      });
    expect(Buffer.from((batches[0] as Batch).bytes).toString("hex")).toBe(
      row("9007199254740991", START_MS - 40, 1) +
        row("18446744073709551615", START_MS + 5, 2) +
        row("x", START_MS + 5, 3),
    );
  });

  it("of snapshots are so too, best levels first", () => {
    const market = marketOf({ priceDecimals: 1, qtyDecimals: 3 });
    market.book.beginSnapshot();
    for (const [price, qty] of [
      [1000, 5],
      [990, 7],
      [980, 9],
    ] as const)
      market.book.applyBid(price, qty);
    market.book.applyAsk(1001, 2);
    market.book.commit(77, START_MS, 1_000_000);
    const ring = new SnapshotRing(2, 2);
    ring.take(0, market, 2, 3_000_000);
    const batches: Batch[] = [];
    const batcher = batcherOf("book_snapshots", batches);
    drainSnapshots(ring, [new MarketRowHead(market)], new WallAnchor(new VirtualClock(START_MS)), batcher, 10);
    batcher.closeAll();
    expect(Buffer.from((batches[0] as Batch).bytes).toString("hex")).toBe(
      encoded("book_snapshots", {
        ...{ rx: US + 3000, ex: START_MS, venue: "venueone", symbol: "BTC", seq: 77 },
        ...{ bid_prices: ["100", "99"], bid_sz: ["0.005", "0.007"], ask_prices: ["100.1"], ask_sz: ["0.002"] },
        reason: "pre-route",
      }),
    );
  });

  it("lose a row, counted, for a figure beyond its column, and no other", () => {
    const ring = new TickRing(4);
    for (const bid of [1, Number.MAX_SAFE_INTEGER, 2]) ring.bidTicks[ring.push()] = bid;
    const batches: Batch[] = [];
    const batcher = batcherOf("ticks", batches);
    const heads = [new MarketRowHead(marketOf({ priceDecimals: -6 }))];
    expect(drainTicks(ring, heads, new WallAnchor(new VirtualClock(START_MS)), batcher, 10)).toBe(1);
    batcher.closeAll();
    expect(batches.map((batch) => batch.rowCount)).toEqual([2]);
  });
});

describe("batches", () => {
  it("hold one day each, however days mix around midnight", () => {
    const midnight = Date.UTC(2026, 10, 21);
    const ring = new TradeRing(16);
    const clock = new VirtualClock(midnight + 1000);
    for (const offset of [-5, 5, -4, 4, -3]) {
      const at = ring.push();
      ring.exMs[at] = midnight + offset;
      ring.side[at] = 1;
    }
    const batches: Batch[] = [];
    const batcher = batcherOf("trades", batches);
    drainTrades(ring, [new MarketRowHead(marketOf({}))], new WallAnchor(clock), batcher, 16);
    expect(batcher.openRows).toBe(5);
    batcher.closeAll();
    expect(batches.map((batch) => batch.rowCount)).toEqual([3, 2]);
    expect(batcher.openRows).toBe(0);
  });

  it("are closed at their bound of rows, and never change afterwards", () => {
    const ring = new TickRing(4096);
    const batches: Batch[] = [];
    const batcher = batcherOf("ticks", batches);
    const heads = [new MarketRowHead(marketOf({}))];
    const wall = new WallAnchor(new VirtualClock(START_MS));
    const fill = (): void => {
      for (let row = 0; row < 1500; row++) ring.bidTicks[ring.push()] = row + 1;
      drainTicks(ring, heads, wall, batcher, 4096);
    };
    fill();
    const first = batches[0] as Batch;
    const copy = Buffer.from(first.bytes);
    fill();
    expect(first.rowCount).toBeLessThanOrEqual(1000);
    expect(Buffer.compare(copy, Buffer.from(first.bytes))).toBe(0);
    expect(new Set(batches.map((batch) => batch.token)).size).toBe(batches.length);
  });
});
