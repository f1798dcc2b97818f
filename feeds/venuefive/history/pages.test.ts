import { describe, expect, it } from "vitest";
import type { ChainHistoryQuery } from "../../../engine/client-signed-room.js";
import { createMemoryStore, type MemoryStore } from "../../../engine/storage/test/memory-store.js";
import { EventBook } from "./event-book.js";
import { EventReader } from "./event-reader.js";
import type { EventTrade, VenuefiveEvent } from "./event.js";
import { HistoryPages } from "./pages.js";
import { KEYS, OPTIONS } from "./test/history-run.js";

const TRADER = `0x${"1a".repeat(20)}`;
const OTHER = `0x${"2b".repeat(20)}`;
const TRADE: EventTrade = {
  ...{ index: 0, collateral: "99550000", openPrice: "650000000000000", isLong: true, leverage: "100000000000" },
  ...{ tp: "0", sl: "0", openedAt: 1_757_600_519 },
};

function closing(
  block: number,
  logIndex: number,
  changes: { trader?: string; pairIndex?: number } = {},
): VenuefiveEvent {
  return {
    ...{ block, logIndex, blockHash: hashOf(block), txHash: hash(block * 1_000 + logIndex), timeMs: block * 2_000 },
    ...{ trader: TRADER, pairIndex: 1, kind: "triggered", orderId: "1", trigger: "SL", trade: TRADE },
    ...{ price: "640000000000000", collateral: "50000000", percentProfit: "0", sent: "50000000", isZeroFee: false },
    ...changes,
  };
}

function placed(block: number, index: number): VenuefiveEvent {
  return {
    ...{ block, logIndex: index, blockHash: hashOf(block), txHash: hash(block * 1_000), timeMs: block * 2_000 },
    ...{ trader: TRADER, pairIndex: 1, kind: "placed", index, isLong: true, price: "10000000000", orderType: 2 },
    ...{ slippage: "0", collateral: "1", leverage: "10000000000" },
  };
}

const hash = (serial: number): string => `0x${serial.toString(16).padStart(64, "0")}`;
const hashOf = (block: number, branch = ""): string => `0xb10c${branch}${block}`;

interface Shown {
  readonly store: MemoryStore;
  readonly book: EventBook;
  readonly pages: HistoryPages;
}

async function shown(): Promise<Shown> {
  const store = createMemoryStore();
  const book = new EventBook(store, KEYS);
  const symbolOf = (pairIndex: number): string => (pairIndex === 1 ? "BTC" : `PAIR_${pairIndex}`);
  const reader = new EventReader(store, KEYS, book);
  const pages = new HistoryPages({
    book,
    reader,
    symbolOf,
    isDollarBased: () => false,
    older: null,
    seenAtMs: () => 7,
  });
  return { store, book, pages };
}

async function begun(): Promise<Shown> {
  const all = await shown();
  await all.book.begin({ block: 5, timeMs: 10_000 }, hashOf(4));
  return all;
}

async function page({ pages }: Shown, query: Partial<ChainHistoryQuery> = {}) {
  const read = await pages.trades(TRADER, { limit: 2, cursor: null, symbol: null, ...query }, OPTIONS);
  if (!read.ok) throw new Error(read.code);
  return read.value;
}

describe("pages of the history", () => {
  it("say from where on all is known, and up to which block", async () => {
    const all = await begun();
    await all.book.append([], { block: 30, hash: hashOf(30) });
    const read = await all.pages.trades(TRADER, { limit: 2, cursor: null, symbol: null }, OPTIONS);
    expect(read).toEqual({
      ...{ ok: true, asOfMs: 7, block: 30 },
      value: { rows: [], nextCursor: null, since: { block: 5, timeMs: 10_000 }, older: null, toBlock: 30 },
    });
  });

  it.each(["trades", "orders"] as const)(
    "of %s reach no block that was taken back while they were read",
    async (kind) => {
      const all = await begun();
      await all.book.append([closing(6, 1), placed(6, 2)], { block: 10, hash: hashOf(10) });
      await all.book.append([closing(11, 1), placed(11, 2)], { block: 12, hash: hashOf(12) });
      let isTaken = false;
      const { scan } = all.store;
      all.store.scan = async (...args) => {
        const rows = await scan.apply(all.store, args);
        if (isTaken) return rows;
        isTaken = true;
        await all.book.takeBack({ block: 10, hash: hashOf(10) });
        return rows;
      };
      const query = { limit: 5, cursor: null, symbol: null };
      const read = await (kind === "trades"
        ? all.pages.trades(TRADER, query, OPTIONS)
        : all.pages.orders(TRADER, query));
      expect(read).toMatchObject({ ok: true, block: 10, value: { toBlock: 10 } });
      expect(read.ok && read.value.rows).toHaveLength(1);
    },
  );

  it("neither repeat nor skip a row while others come in", async () => {
    const all = await begun();
    const first = [
      closing(6, 1),
      closing(6, 2),
      closing(7, 0, { trader: OTHER }),
      closing(8, 4),
      closing(9, 0),
      closing(11, 1),
    ];
    await all.book.append(first, { block: 12, hash: hashOf(12) });
    const hashes: (string | null)[] = [];
    let block = 12;
    for (let cursor: string | null = null; ; ) {
      const { rows, nextCursor } = await page(all, { cursor });
      hashes.push(...rows.map(({ txHash }) => txHash));
      block++;
      await all.book.append([closing(block, 0), closing(block, 1)], { block, hash: hashOf(block) });
      cursor = nextCursor;
      if (cursor === null) break;
    }
    const mine = first.filter(({ trader }) => trader === TRADER);
    expect(hashes).toEqual(mine.map(({ txHash }) => txHash).reverse());
  });

  it("of one symbol look at so many rows, and go on where they ended", async () => {
    const all = await begun();
    const rows = Array.from({ length: 2_500 }, (_, index) => closing(6 + index, 0, { pairIndex: index === 0 ? 1 : 2 }));
    await all.book.append(rows, { block: 3_000, hash: hashOf(3_000) });
    const first = await page(all, { symbol: "BTC" });
    expect(first.rows).toEqual([]);
    expect(first.nextCursor).not.toBeNull();
    const second = await page(all, { symbol: "BTC", cursor: first.nextCursor });
    expect(second.rows).toHaveLength(1);
    expect(second.nextCursor).toBeNull();
    expect((await page(all, { symbol: "ETH", limit: 1_000 })).rows).toEqual([]);
  });

  it("show nothing of a block that vanished, and what came instead", async () => {
    const all = await begun();
    await all.book.append([closing(6, 0), closing(7, 0)], { block: 7, hash: hashOf(7) });
    await all.book.append([closing(8, 0), closing(9, 1)], { block: 9, hash: hashOf(9) });
    expect(await all.book.takeBack({ block: 7, hash: hashOf(7) })).toBe(2);
    expect((await page(all)).rows.map(({ txHash }) => txHash)).toEqual([hash(7_000), hash(6_000)]);
    await all.book.append([closing(8, 3)], { block: 8, hash: hashOf(8, "b") });
    expect((await page(all, { limit: 1 })).rows.map(({ txHash }) => txHash)).toEqual([hash(8_003)]);
    expect(all.book.cursor).toMatchObject({ block: 8, eventCount: 3, retractedCount: 2, unsureBelow: null });
  });

  it("of a fork deeper than what is kept are read again from the oldest kept block, and the cursor has it", async () => {
    const all = await begun();
    for (let block = 5; block <= 80; block++)
      await all.book.append([closing(block, 0)], { block, hash: hashOf(block) });
    const oldest = all.book.cursor?.checkpoints[0]?.block ?? 0;
    expect(oldest).toBe(17);
    expect(await all.book.takeBack(null)).toBe(80 - 16);
    expect(all.book.cursor).toMatchObject({ block: 16, checkpoints: [], unsureBelow: 17, eventCount: 12 });
    await all.book.append([closing(17, 1)], { block: 17, hash: hashOf(17, "b") }, { block: 16, hash: hashOf(16, "b") });
    expect(all.book.cursor?.checkpoints.map(({ block }) => block)).toEqual([16, 17]);
    expect((await page(all, { limit: 1 })).rows.map(({ txHash }) => txHash)).toEqual([hash(17_001)]);
  });

  it("have the orders of a block that is more than one commit, and none of it before its last", async () => {
    const all = await begun();
    const orders = Array.from({ length: 200 }, (_, index) => placed(6, index));
    const sizes: number[] = [];
    const seen: number[] = [];
    all.store.gate = async ({ writes }) => {
      sizes.push(writes.length);
      const read = await all.pages.orders(TRADER, { limit: 1_000, cursor: null, symbol: null });
      seen.push(read.ok ? read.value.rows.length : -1);
    };
    await all.book.append(orders, { block: 6, hash: hashOf(6) });
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256);
    expect(sizes.length).toBeGreaterThan(2);
    expect(new Set(seen)).toEqual(new Set([0]));
    const read = await all.pages.orders(TRADER, { limit: 1_000, cursor: null, symbol: "BTC" });
    expect(read.ok && read.value.rows.map(({ orderId }) => orderId)).toEqual(
      orders.map((_, index) => `1:${199 - index}:6`),
    );
  });

  it("refuse a cursor that no page returned, and one of another list", async () => {
    const all = await begun();
    await all.book.append([closing(6, 1), closing(6, 2), closing(7, 0)], { block: 7, hash: hashOf(7) });
    const { nextCursor } = await page(all);
    const refused = { ok: false, code: "BAD_CURSOR" };
    const orders = await all.pages.orders(TRADER, { limit: 2, cursor: nextCursor, symbol: null });
    expect(orders).toMatchObject(refused);
    const forged = Buffer.from('{"kind":"trades","after":"../cursor"}').toString("base64url");
    for (const cursor of ["", "x", "e30", "%%", forged, "a".repeat(5_000)])
      expect(await all.pages.trades(TRADER, { limit: 2, cursor, symbol: null }, OPTIONS)).toMatchObject(refused);
  });

  it("are a failure before the first block is known", async () => {
    const { pages } = await shown();
    const read = await pages.trades(TRADER, { limit: 2, cursor: null, symbol: null }, OPTIONS);
    expect(read).toMatchObject({ ok: false, code: "VENUE_ERROR" });
  });
});
