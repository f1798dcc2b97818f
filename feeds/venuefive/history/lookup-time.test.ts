/** One order is looked for within the time of who asks, however many calls and endpoints that takes. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import { createMemoryStore } from "../../../engine/storage/test/memory-store.js";
import { type ChainAnswer, type ChainHeader, failedAnswer, type HistoryEndpoint } from "./chain-port.js";
import { ChainTail } from "./chain-tail.js";
import { LogDecoder } from "./decode-logs.js";
import { EventBook } from "./event-book.js";
import { EventReader } from "./event-reader.js";
import { OrderLookup } from "./order-lookup.js";
import { ADDRESSES, CALLBACKS } from "./test/encode-event.js";
import { KEYS, OPTIONS } from "./test/history-run.js";

const hashOf = (serial: number): string => `0x${serial.toString(16).padStart(64, "0")}`;
const headerAt = (number: number): ChainHeader => ({
  ...{ number, hash: hashOf(number), parentHash: hashOf(number - 1), timeMs: number * 2_000 },
});
const HASH = hashOf(9_999);
const CURSOR = 100;
const TRADER = `0x${"1a".repeat(20)}`;

/** Answers after so long; null: not within any time. */
function endpointOf(clock: VirtualClock, afterMs: number | null): HistoryEndpoint {
  const answer = <T>(value: T, { timeoutMs }: CallOptions): Promise<ChainAnswer<T>> =>
    new Promise((resolve) => {
      const isLate = afterMs === null || afterMs > timeoutMs;
      const end = (): void => resolve(isLate ? failedAnswer("TIMEOUT", "late") : { kind: "value", value });
      clock.setTimer(end, isLate ? timeoutMs : afterMs);
    });
  return {
    tip: (_, options) => answer(headerAt(CURSOR + 5), options),
    header: (number, options) => answer(headerAt(number), options),
    logs: (_, options) => answer([], options),
    transaction: (_, options) => answer(null, options),
    knows: (_, options) => answer(true, options),
    callbacks: (_, options) => answer(CALLBACKS, options),
  };
}

/** What the look for it gives, and how long that takes. */
async function timed(orderId: string, ...afterMs: readonly (number | null)[]) {
  const clock = new VirtualClock();
  const store = createMemoryStore();
  const book = new EventBook(store, KEYS);
  await book.begin({ block: 1, timeMs: 0 }, hashOf(0));
  await book.append([], { block: CURSOR, hash: hashOf(CURSOR) });
  const endpoints = afterMs.map((ms) => endpointOf(clock, ms));
  const chain = { endpoints: async () => endpoints, believed: async () => endpoints };
  const decoder = () => new LogDecoder(ADDRESSES, [CALLBACKS]);
  const lookup = new OrderLookup({
    ...{ chain, book, reader: new EventReader(store, KEYS, book), tail: new ChainTail({ chain, decoder, clock }) },
    ...{ decoder, symbolOf: () => "BTC", isDollarBased: () => false, seenAtMs: () => 7, clock },
  });
  const startMs = clock.wallMs();
  let isOver = false;
  const found = lookup.find(orderId, TRADER, OPTIONS).finally(() => {
    isOver = true;
  });
  for (let ms = 0; !isOver && ms < OPTIONS.timeoutMs * 10; ms += 100) await clock.advanceAsync(100);
  return { found: await found, tookMs: clock.wallMs() - startMs };
}

describe("the look for an order takes no longer than it has", () => {
  it.each([
    ["a transaction", HASH],
    ["an order of a slot above the cursor", `1:0:${CURSOR + 3}`],
  ])("where all endpoints hang: %s", async (_, orderId) => {
    const { found, tookMs } = await timed(orderId, null, null, null);
    expect(found).toMatchObject({ ok: false, code: "TIMEOUT" });
    expect(tookMs).toBeLessThanOrEqual(OPTIONS.timeoutMs + 100);
  });

  it.each([
    ["a transaction", HASH],
    ["an order of a slot above the cursor", `1:0:${CURSOR + 3}`],
  ])("where each call of several takes half of it: %s", async (_, orderId) => {
    const { found, tookMs } = await timed(orderId, OPTIONS.timeoutMs / 2 + 1);
    expect(found).toMatchObject({ ok: false, code: "TIMEOUT" });
    expect(tookMs).toBeLessThanOrEqual(OPTIONS.timeoutMs + 100);
  });

  it("and has some left for an endpoint after one that hangs", async () => {
    const { found, tookMs } = await timed(`1:0:${CURSOR + 3}`, null, 10);
    expect(found).toMatchObject({ ok: true, value: null, block: CURSOR + 5 });
    expect(tookMs).toBeLessThan(OPTIONS.timeoutMs);
  });
});
