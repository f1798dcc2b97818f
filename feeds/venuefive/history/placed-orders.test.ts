/** What the history knows of orders that rest on the chain, however many their wallet has had. */
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../../engine/storage/test/memory-store.js";
import { EventBook } from "./event-book.js";
import { EventReader } from "./event-reader.js";
import type { EventBody, VenuefiveEvent } from "./event.js";
import { placedOrders } from "./placed-orders.js";
import { KEYS } from "./test/history-run.js";

const TRADER = `0x${"1a".repeat(20)}`;
const OTHER = `0x${"2b".repeat(20)}`;
const CURSOR = 5_000;
const PLACED = {
  ...({ kind: "placed", isLong: true, price: "600000000000000", orderType: 2 } as const),
  ...{ slippage: "3000000000", collateral: "100000000", leverage: "100000000000" },
};
const hashOf = (serial: number): string => `0x${serial.toString(16).padStart(64, "0")}`;

function event(body: EventBody, block: number, logIndex = 1): VenuefiveEvent {
  const place = { block, blockHash: hashOf(block), logIndex, txHash: hashOf(block * 10), timeMs: block * 2_000 };
  return { ...place, trader: TRADER, pairIndex: 1, ...body };
}
const placed = (block: number, index: number): VenuefiveEvent => event({ ...PLACED, index }, block);
const changed = (block: number, index: number): VenuefiveEvent =>
  event({ kind: "updated", index, price: "1", tp: "0", sl: "0" }, block);
const canceled = (block: number, index: number): VenuefiveEvent =>
  event({ kind: "canceled", index, collateral: "100000000" }, block, 2);

async function knownOf(
  events: readonly VenuefiveEvent[],
  row: { readonly index: number; readonly block: number; readonly pairIndex?: number },
  trader = TRADER,
) {
  const store = createMemoryStore();
  const book = new EventBook(store, KEYS);
  await book.begin({ block: 1, timeMs: 0 }, hashOf(0));
  await book.append(events, { block: CURSOR, hash: hashOf(CURSOR) });
  const reader = new EventReader(store, KEYS, book);
  const [found] = await placedOrders(reader, trader, [{ pairIndex: 1, ...row }]);
  return found;
}

describe("an order that rests", () => {
  const known = { block: 90, orderType: "LIMIT", timestampMs: 180_000, txHash: hashOf(900) };
  const changedKnown = { ...known, txHash: hashOf(950) };

  it("has its placing and type, by the block of its placing and by that of its last change", async () => {
    expect(await knownOf([placed(90, 0)], { index: 0, block: 90 })).toEqual(known);
    expect(await knownOf([placed(90, 0), changed(95, 0)], { index: 0, block: 95 })).toEqual(changedKnown);
  });

  it("has them also where its wallet has had more than a thousand orders since", async () => {
    const since = Array.from({ length: 1_000 }, (_, at) => [placed(200 + at, 7), canceled(200 + at, 7)]);
    const events = [placed(90, 0), changed(95, 0), ...since.flat()];
    expect(await knownOf(events, { index: 0, block: 95 })).toEqual(changedKnown);
  });

  it("may be another one in the same slot where its last change is younger than the history", async () => {
    expect(await knownOf([placed(90, 0)], { index: 0, block: CURSOR + 1 })).toBeNull();
  });

  it("is not the one that was placed before or after it in its slot", async () => {
    const events = [placed(90, 0), canceled(92, 0), placed(95, 0)];
    expect(await knownOf(events, { index: 0, block: 90 })).toBeNull();
    expect(await knownOf(events, { index: 0, block: 94 })).toBeNull();
    expect(await knownOf(events, { index: 0, block: 95 })).toMatchObject({ block: 95 });
  });

  it("is not one of another slot, pair or wallet", async () => {
    const events = [placed(90, 0), placed(91, 1), canceled(92, 1)];
    expect(await knownOf(events, { index: 1, block: 91 })).toBeNull();
    expect(await knownOf(events, { index: 0, pairIndex: 2, block: 90 })).toBeNull();
    expect(await knownOf(events, { index: 0, block: 90 }, OTHER)).toBeNull();
  });
});
