import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { createMemoryStore, type MemoryStore } from "../../../engine/storage/test/memory-store.js";
import { type ChainAnswer, type ChainTransaction, failedAnswer, type HistoryEndpoint } from "./chain-port.js";
import type { Tail } from "./chain-tail.js";
import { LogDecoder } from "./decode-logs.js";
import { EventBook } from "./event-book.js";
import { EventReader } from "./event-reader.js";
import type { EventBody, EventTrade, VenuefiveEvent } from "./event.js";
import { OrderLookup } from "./order-lookup.js";
import { ADDRESSES, CALLBACKS, encodeEvent } from "./test/encode-event.js";
import { KEYS, OPTIONS } from "./test/history-run.js";

const TRADER = `0x${"1a".repeat(20)}`;
const TRADE: EventTrade = {
  ...{ index: 0, collateral: "99550000", openPrice: "650000000000000", isLong: true, leverage: "100000000000" },
  ...{ tp: "0", sl: "0", openedAt: 1_757_600_519 },
};
const QUEUED = {
  ...({ kind: "queued", orderId: "7", isOpen: true, isLong: true, isZeroFee: false } as const),
  ...{ collateral: "100000000", leverage: "100000000000" },
};
const EXECUTED = {
  ...({ kind: "executed", orderId: "7", isOpen: true, trade: TRADE, price: "650000000000000" } as const),
  ...{ collateral: "99550000", percentProfit: "0", sent: "0", isZeroFee: false },
};
const PLACED = {
  ...({ kind: "placed", index: 0, isLong: true, price: "600000000000000", orderType: 2 } as const),
  ...{ slippage: "3000000000", collateral: "100000000", leverage: "100000000000" },
};
const CANCELED = { kind: "canceled", index: 0, collateral: "100000000" } as const;
const SINCE = 50;
const CURSOR = 100;

const hashOf = (serial: number): string => `0x${serial.toString(16).padStart(64, "0")}`;
/** Its transaction is named by its block. */
function event(body: EventBody, block: number): VenuefiveEvent {
  const place = { block, blockHash: hashOf(block), logIndex: 1, txHash: hashOf(1_000 + block), timeMs: block * 2_000 };
  return { ...place, trader: TRADER, pairIndex: 1, ...body };
}

interface Scene {
  readonly kept?: readonly VenuefiveEvent[];
  readonly tail?: (from: number, least: number, book: EventBook) => ChainAnswer<Tail> | Promise<ChainAnswer<Tail>>;
  /** What each endpoint has of the transaction. */
  readonly receipts?: readonly ChainAnswer<ChainTransaction | null>[];
  readonly isKnown?: boolean;
  /** Before anybody looks. */
  readonly prepare?: (store: MemoryStore, book: EventBook) => Promise<void>;
}

const NOTHING_LATER = (): ChainAnswer<Tail> => ({ kind: "value", value: { events: [], toBlock: 120 } });
const NO_RECEIPT = { kind: "value", value: null } as const;
const receiptOf = (...events: readonly VenuefiveEvent[]): ChainAnswer<ChainTransaction> => {
  const [{ block, blockHash } = { block: 110, blockHash: hashOf(110) }] = events;
  return {
    kind: "value",
    value: { block, blockHash, hasSucceeded: true, logs: events.map((one) => encodeEvent(one)) },
  };
};

async function lookup(scene: Scene) {
  const { kept = [], tail = NOTHING_LATER, receipts = [NO_RECEIPT], isKnown = false, prepare } = scene;
  const store = createMemoryStore();
  const book = new EventBook(store, KEYS);
  await book.begin({ block: SINCE, timeMs: SINCE * 2_000 }, hashOf(SINCE - 1));
  await book.append(kept, { block: CURSOR, hash: hashOf(CURSOR) });
  const endpoints = receipts.map(
    (receipt): HistoryEndpoint => ({
      tip: () => Promise.reject(new Error("not asked")),
      logs: () => Promise.reject(new Error("not asked")),
      callbacks: () => Promise.reject(new Error("not asked")),
      transaction: async () => receipt,
      knows: async () => ({ kind: "value", value: isKnown }),
      header: async (number) => ({
        kind: "value",
        value: { number, hash: hashOf(number), parentHash: hashOf(number - 1), timeMs: number * 2_000 },
      }),
    }),
  );
  const found = new OrderLookup({
    ...{
      chain: { endpoints: async () => endpoints, believed: async () => endpoints },
      book,
      reader: new EventReader(store, KEYS, book),
    },
    ...{
      tail: { read: async (from, _, least = 0) => tail(from, least, book) },
      decoder: () => new LogDecoder(ADDRESSES, [CALLBACKS]),
    },
    ...{ symbolOf: () => "BTC", isDollarBased: () => false, seenAtMs: () => 7, clock: new VirtualClock() },
  });
  await prepare?.(store, book);
  return async (orderId: string, address: string | null = null) => {
    const read = await found.find(orderId, address, OPTIONS);
    return read.ok ? read.value : read.code;
  };
}

const later =
  (...events: readonly VenuefiveEvent[]) =>
  (): ChainAnswer<Tail> => ({
    kind: "value",
    value: { events, toBlock: Math.max(120, ...events.map(({ block }) => block)) },
  });

describe("the look for an order", () => {
  it("is a failure, and never pending, while what came later cannot be read", async () => {
    const find = await lookup({ kept: [event(QUEUED, 90)], tail: () => failedAnswer("TIMEOUT", "late") });
    expect(await find(hashOf(1_090))).toBe("TIMEOUT");
    const over = await lookup({
      kept: [event(QUEUED, 90), event(EXECUTED, 91)],
      tail: () => failedAnswer("TIMEOUT", ""),
    });
    expect(await over(hashOf(1_090))).toMatchObject({ order: { status: "FILLED" } });
  });

  it("finds what became of it above the cursor, by the receipt where the index does not have it", async () => {
    const queued = event(QUEUED, 110);
    const pending = await lookup({ receipts: [NO_RECEIPT, receiptOf(queued)], tail: later(queued) });
    expect(await pending(hashOf(1_110))).toMatchObject({ order: { status: "PENDING", timestampMs: 220_000 } });
    const filled = await lookup({ receipts: [receiptOf(queued)], tail: later(queued, event(EXECUTED, 112)) });
    expect(await filled(hashOf(1_110).toUpperCase().replace("0X", "0x"))).toMatchObject({
      ...{ kind: "market", order: { status: "FILLED", price: "65000", txHash: hashOf(1_110) } },
    });
  });

  it("is a failure, and never pending, where nobody shows the blocks from its own on", async () => {
    const behind = { tail: (): ChainAnswer<Tail> => ({ kind: "value", value: { events: [], toBlock: 109 } }) };
    const market = await lookup({ receipts: [receiptOf(event(QUEUED, 110))], ...behind });
    expect(await market(hashOf(1_110))).toBe("VENUE_ERROR");
    const limit = await lookup({ receipts: [receiptOf(event(PLACED, 110))], ...behind });
    expect(await limit(hashOf(1_110))).toBe("VENUE_ERROR");
  });

  it("by its block is a failure, and never no order, where nobody shows that block", async () => {
    const behind = { tail: (): ChainAnswer<Tail> => ({ kind: "value", value: { events: [], toBlock: 109 } }) };
    const find = await lookup(behind);
    expect(await find("1:0:109", TRADER)).toBeNull();
    expect(await find("1:0:110", TRADER)).toBe("VENUE_ERROR");
    expect(await find("1:0:999999999999", TRADER)).toBe("VENUE_ERROR");
  });

  it("reads the newest events up to the order's own block at least", async () => {
    const leasts: number[] = [];
    const tail = (_: number, least: number): ChainAnswer<Tail> => {
      leasts.push(least);
      return later(event(PLACED, 110))();
    };
    const find = await lookup({ receipts: [receiptOf(event(PLACED, 110))], tail });
    expect(await find("1:0:110", TRADER)).toMatchObject({ order: { orderId: "1:0:110" } });
    await find(hashOf(1_110));
    await (await lookup({ receipts: [receiptOf(event(QUEUED, 111))], tail }))(hashOf(1_111));
    expect(leasts).toEqual([110, 110, 111]);
  });

  it("reads from the order on where the index is far behind the head", async () => {
    const queued = event(QUEUED, 5_000);
    const asked: number[] = [];
    const find = await lookup({
      receipts: [receiptOf(queued)],
      tail(from) {
        asked.push(from);
        return from < 5_000 ? failedAnswer("LAGGING", "far behind") : later(event(EXECUTED, 5_001))();
      },
    });
    expect(await find(hashOf(6_000))).toMatchObject({ order: { status: "FILLED" } });
    expect(asked).toEqual([CURSOR + 1, 5_000]);
  });

  it("knows no outcome of an order of before the index, but the one that the index has", async () => {
    const old = await lookup({ receipts: [receiptOf(event(QUEUED, 40))] });
    expect(await old(hashOf(1_040))).toBe("BEFORE_INDEX");
    const ended = await lookup({ receipts: [receiptOf(event(QUEUED, 40))], kept: [event(EXECUTED, 60)] });
    expect(await ended(hashOf(1_040))).toMatchObject({ order: { status: "FILLED", txHash: hashOf(1_040) } });
    const limit = await lookup({ receipts: [receiptOf(event(PLACED, 40))] });
    expect(await limit(hashOf(1_040))).toBe("BEFORE_INDEX");
    expect(await limit("1:0:40", TRADER)).toBe("BEFORE_INDEX");
  });

  it("has a limit order whose placing and end are both above the cursor", async () => {
    const [placed, canceled] = [event(PLACED, 105), event(CANCELED, 108)];
    const find = await lookup({ receipts: [receiptOf(canceled)], tail: later(placed, canceled, event(PLACED, 109)) });
    const first = { kind: "limit", order: { orderId: "1:0:105", status: "CANCELED", price: "60000" } };
    expect(await find(hashOf(1_108))).toMatchObject(first);
    expect(await find("1:0:105", TRADER)).toMatchObject(first);
    expect(await find("1:0:109", TRADER)).toMatchObject({ order: { orderId: "1:0:109", status: "OPEN" } });
    expect(await find("1:0:107", TRADER)).toBeNull();
  });

  it("reads again what blocks that vanished meanwhile took out of the index, and fails where that goes on", async () => {
    const placed = event(PLACED, 95);
    const parts = { kept: [event(CANCELED, 60), placed] };
    const takeBack = (book: EventBook) => book.takeBack({ block: 99, hash: hashOf(99) });
    let count = 0;
    const once = await lookup({
      ...parts,
      async tail(from, _, book) {
        // Back to where the index began: it has no other block that is known.
        if (count++ === 0) await book.takeBack(null);
        return from <= placed.block ? later(placed)() : later()();
      },
    });
    expect(await once("1:0:95", TRADER)).toMatchObject({ order: { orderId: "1:0:95", status: "OPEN" } });
    const always = await lookup({
      ...parts,
      async tail(_from, _least, book) {
        await takeBack(book);
        return later()();
      },
    });
    expect(await always("1:0:95", TRADER)).toBe("VENUE_ERROR");
  });

  it("reads again also where it begins while the store is about to keep that blocks vanished", async () => {
    const placed = event(PLACED, 95);
    let release = (): void => {};
    let taking: Promise<number> | null = null;
    const find = await lookup({
      kept: [event(CANCELED, 60), placed],
      async prepare(store, book) {
        const held = new Promise<void>((resolve) => {
          release = resolve;
        });
        await new Promise<void>((reached) => {
          store.gate = () => {
            reached();
            return held;
          };
          taking = book.takeBack(null);
        });
      },
      async tail(from) {
        release();
        await taking;
        return from <= placed.block ? later(placed)() : later()();
      },
    });
    expect(await find("1:0:95", TRADER)).toMatchObject({ order: { orderId: "1:0:95", status: "OPEN" } });
  });

  it("has the end of an order that the index has open", async () => {
    const find = await lookup({ kept: [event(PLACED, 80)], tail: later(event(CANCELED, 108)) });
    expect(await find("1:0:80", TRADER)).toMatchObject({ order: { status: "CANCELED", txHash: hashOf(1_108) } });
    expect(await find(hashOf(1_080))).toMatchObject({ order: { orderId: "1:0:80", status: "CANCELED" } });
    expect(await find("1:0:81", TRADER)).toBeNull();
  });

  it("says of a transaction that it waits, is unknown, or that an endpoint could not be asked", async () => {
    const hash = hashOf(9_999);
    expect(await (await lookup({ isKnown: true }))(hash)).toEqual({
      kind: "transaction",
      txHash: hash,
      status: "PENDING",
    });
    expect(await (await lookup({}))(hash)).toBeNull();
    const silent = await lookup({ receipts: [NO_RECEIPT, failedAnswer("TIMEOUT", "late")] });
    expect(await silent(hash)).toBe("TIMEOUT");
    const forked = await lookup({ receipts: [receiptOf({ ...event(QUEUED, 110), blockHash: hashOf(1) })] });
    expect(await forked(hashOf(1_110))).toBe("VENUE_ERROR");
  });

  it("of a transaction with orders of several wallets is that of the wallet that is named", async () => {
    const other = `0x${"2b".repeat(20)}`;
    const second = { ...event({ ...QUEUED, orderId: "8" }, 90), trader: other, logIndex: 2 };
    const kept = [event(QUEUED, 90), second];
    const find = await lookup({ kept });
    const order = (venueOrderId: string, walletAddress: string) => ({ order: { venueOrderId, walletAddress } });
    expect(await find(hashOf(1_090), other.toUpperCase().replace("0X", "0x"))).toMatchObject(order("8", other));
    expect(await find(hashOf(1_090), TRADER)).toMatchObject(order("7", TRADER));
    expect(await find(hashOf(1_090))).toMatchObject(order("7", TRADER));
    const changes = [event(CANCELED, 91), { ...event(CANCELED, 91), trader: other, logIndex: 2 }];
    const limits = await lookup({ kept: changes });
    expect(await limits(hashOf(1_091), other)).toMatchObject({ kind: "limit", walletAddress: other });
    // Of anybody where the wallet has none in it.
    expect(await limits(hashOf(1_091), ADDRESSES.Trading)).toMatchObject({ kind: "limit", walletAddress: TRADER });
  });

  it("finds nothing by what is no id, or without an address", async () => {
    const find = await lookup({ kept: [event(PLACED, 80)] });
    for (const id of ["", "1:0", "1:0:80:1", "x", "0x12", "-1:0:80", "1:0:9999999999999"])
      expect(await find(id, TRADER)).toBeNull();
    expect(await find("1:0:80")).toBeNull();
    expect(await find("1:0:80", `0x${"2b".repeat(20)}`)).toBeNull();
  });
});
