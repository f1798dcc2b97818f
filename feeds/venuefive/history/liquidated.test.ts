/** Which of positions that are gone the venue took: by events of the index, and by those above its cursor. */
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../../engine/storage/test/memory-store.js";
import { type ChainAnswer, failedAnswer } from "./chain-port.js";
import type { Tail } from "./chain-tail.js";
import { EventBook } from "./event-book.js";
import { EventReader } from "./event-reader.js";
import type { VenuefiveEvent } from "./event.js";
import { liquidatedAmong } from "./liquidated.js";
import { KEYS, OPTIONS } from "./test/history-run.js";

const TRADER = `0x${"1a".repeat(20)}`;
const CURSOR = 100;
const OPENED_S = 1_757_600_519;
const hashOf = (serial: number): string => `0x${serial.toString(16).padStart(64, "0")}`;

function closing(trigger: "LIQ" | "SL", block: number, index: number, trader = TRADER): VenuefiveEvent {
  const place = { block, blockHash: hashOf(block), logIndex: index, txHash: hashOf(1_000 + block), timeMs: 0 };
  const stops = { tp: "0", sl: "0", openedAt: OPENED_S };
  const trade = { index, collateral: "1", openPrice: "1", isLong: true, leverage: "1", ...stops };
  const sent = { collateral: "1", percentProfit: "0", sent: "0", isZeroFee: false };
  return { ...place, trader, pairIndex: 1, kind: "triggered", orderId: "7", trigger, trade, price: "1", ...sent };
}

async function liquidated(kept: readonly VenuefiveEvent[], tail: ChainAnswer<Tail>, block = CURSOR + 5) {
  const store = createMemoryStore();
  const book = new EventBook(store, KEYS);
  await book.begin({ block: 1, timeMs: 0 }, hashOf(0));
  await book.append(kept, { block: CURSOR, hash: hashOf(CURSOR) });
  const asked: unknown[] = [];
  const read = async (from: number, _options: unknown, least?: number): Promise<ChainAnswer<Tail>> => {
    asked.push([from, least]);
    return tail;
  };
  const parts = { book, reader: new EventReader(store, KEYS, book), tail: { read }, seenAtMs: () => 7 };
  const slots = [0, 1, 2, 3].map((index) => ({ pairIndex: 1, index, openedAtMs: OPENED_S * 1_000 }));
  const gone = [...slots, { pairIndex: 1, index: 0, openedAtMs: 1 }, { pairIndex: 2, index: 0, openedAtMs: 1 }];
  const answer = await liquidatedAmong(parts, TRADER.toUpperCase().replace("0X", "0x"), { gone, block }, OPTIONS);
  return { asked, found: answer.ok ? answer.value.map(({ index }) => index) : answer.code };
}

describe("positions that are gone", () => {
  it("were taken where an event says so, of the index or above it", async () => {
    const events = [closing("LIQ", 104, 1), closing("LIQ", 104, 2, `0x${"2b".repeat(20)}`), closing("SL", 105, 3)];
    const later = { kind: "value", value: { events, toBlock: CURSOR + 5 } } as const;
    expect(await liquidated([closing("LIQ", 90, 0)], later)).toEqual({ asked: [[101, 105]], found: [0, 1] });
  });

  it("were not taken where the last event of their end is another, as after a liquidation that the chain undid", async () => {
    const events = [closing("SL", 104, 0), closing("SL", 104, 1), closing("LIQ", 105, 1)];
    const later = { kind: "value", value: { events, toBlock: CURSOR + 5 } } as const;
    expect(await liquidated([closing("LIQ", 99, 0)], later)).toMatchObject({ found: [1] });
  });

  it("are asked of the index alone up to its cursor", async () => {
    const failed = failedAnswer("TIMEOUT", "late");
    expect(await liquidated([closing("LIQ", 90, 0)], failed, CURSOR)).toEqual({ asked: [], found: [0] });
    expect(await liquidated([closing("LIQ", 90, 0)], failed)).toMatchObject({ found: "TIMEOUT" });
  });
});
