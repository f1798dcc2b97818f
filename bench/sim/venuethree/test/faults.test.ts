/** Fault knobs and oddities as a client meets them on the wire. */
import { afterEach, describe, expect, it } from "vitest";
import type { Frame, Listener } from "../../core/test/listener.js";
import type { VenuethreeSimOptions } from "../records/options.js";
import type { VenuethreeSim } from "../sim.js";
import { bookOf, connect, get, startTestVenue, subscribe, type TestVenue } from "./support.js";

let running: VenuethreeSim | null = null;
async function start(options: Partial<VenuethreeSimOptions> = {}): Promise<TestVenue> {
  const test = await startTestVenue(options);
  running = test.venue;
  return test;
}
afterEach(async () => {
  await running?.stop();
  running = null;
});

const isBook = (frame: Frame): boolean => frame.order_book !== undefined;
const MARKET = ["market"] as const;

async function run({ clock }: TestVenue, listener: Listener, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) clock.advance(50);
  await listener.drained();
}

function brokenLinks(frames: readonly Frame[]): number {
  const books = frames.filter(isBook).map(bookOf);
  return books.slice(1).filter((book, index) => book.begin_nonce !== books[index]?.nonce).length;
}

describe("under frame faults of venuethree,", () => {
  it("a gap drops an update and breaks the chain once", async () => {
    const test = await start();
    const listener = await connect(test.venue);
    await subscribe(listener, "order_book/1");
    await run(test, listener, 200);
    test.venue.faults.add({ kind: "gap", scope: MARKET, count: 1 });
    await run(test, listener, 500);
    expect(brokenLinks(listener.frames)).toBe(1);
    listener.socket.terminate();
  });

  it("duplicates and reordered frames break it too, and are the same frames", async () => {
    const test = await start();
    const listener = await connect(test.venue);
    await subscribe(listener, "order_book/1");
    test.venue.faults.add({ kind: "duplicate", match: "update/order_book", count: 1 });
    await run(test, listener, 300);
    expect(brokenLinks(listener.frames)).toBe(1);
    test.venue.faults.add({ kind: "reorder", match: "update/order_book", count: 1 });
    await run(test, listener, 300);
    expect(brokenLinks(listener.frames)).toBeGreaterThan(1);
    listener.socket.terminate();
  });

  it("half a frame is no JSON", async () => {
    const test = await start();
    const listener = await connect(test.venue);
    await subscribe(listener, "order_book/1");
    test.venue.faults.add({ kind: "halfFrame", scope: MARKET, count: 1 });
    await run(test, listener, 200);
    const half = listener.frames.filter((frame) => frame.unparsable !== undefined);
    expect(half).toHaveLength(1);
    expect(String(half[0]?.unparsable)).toMatch(/^\{"channel":"order_book:1"/);
    listener.socket.terminate();
  });

  it("a subscription can be ignored without a word, and its snapshot lost while updates flow", async () => {
    const test = await start();
    const listener = await connect(test.venue);
    test.venue.faults.add({ kind: "ignoreSubscribe", match: "order_book:1", count: 1 });
    await subscribe(listener, "order_book/1");
    await run(test, listener, 300);
    expect(listener.frames).toHaveLength(1);
    // Nothing was subscribed: the second attempt is no duplicate.
    test.venue.faults.add({ kind: "loss", match: "subscribed/order_book", count: 1 });
    await subscribe(listener, "order_book/1");
    await run(test, listener, 300);
    expect(listener.frames.filter(isBook).map((frame) => frame.type)).not.toContain("subscribed/order_book");
    expect(listener.frames.filter(isBook).length).toBeGreaterThan(2);
    listener.socket.terminate();
  });

  it("a silent socket does not even answer pings, and a cut one is cut", async () => {
    const test = await start();
    const listener = await connect(test.venue);
    await subscribe(listener, "order_book/1");
    const fault = test.venue.faults.add({ kind: "silent", scope: MARKET });
    const before = listener.frames.length;
    listener.send({ type: "ping" });
    listener.socket.ping();
    for (let turn = 0; turn < 10; turn++) test.clock.advance(50);
    test.venue.faults.remove(fault.id);
    await listener.drained();
    expect(listener.frames.slice(before).filter((frame) => frame.type === "pong").length).toBeLessThanOrEqual(1);
    test.venue.faults.add({ kind: "disconnect", scope: MARKET, count: 1 });
    test.clock.advance(200);
    expect(await listener.closed).toBe(1006);
  });

  it("REST answers 429 and 5xx in the venue's bodies, and a lost reply cuts the connection", async () => {
    const { venue } = await start();
    venue.faults.add({ kind: "rate429", count: 1, retryAfterS: 2 });
    expect(await get(venue, "/api/v1/orderBooks")).toMatchObject({ status: 429, json: { code: 23000 } });
    venue.faults.add({ kind: "errorBefore", count: 1, status: 500 });
    expect(await get(venue, "/api/v1/orderBooks")).toMatchObject({ status: 500, json: { code: 29500 } });
    venue.faults.add({ kind: "errorBefore", count: 1, status: 502 });
    expect((await get(venue, "/api/v1/orderBooks")).text).toContain("<h1>502</h1>");
    venue.faults.add({ kind: "replyLost", count: 1 });
    await expect(get(venue, "/api/v1/orderBooks")).rejects.toThrow();
  });
});

describe("among the oddities of venuethree,", () => {
  it("frames of 2025 have no begin_nonce and no time of change", async () => {
    const test = await start({ quirks: { beginNonce: false } });
    const listener = await connect(test.venue);
    await subscribe(listener, "order_book/1");
    await run(test, listener, 200);
    const [, update] = listener.frames.filter(isBook);
    expect(Object.keys(update ?? {})).toEqual(["channel", "offset", "order_book", "timestamp", "type"]);
    expect(Object.keys(update?.order_book as object)).toEqual(["code", "asks", "bids", "offset", "nonce"]);
    listener.socket.terminate();
  });

  it("a broken begin_nonce claims a gap where there is none", async () => {
    const test = await start({ quirks: { brokenBeginNonceShare: 1 } });
    const listener = await connect(test.venue);
    await subscribe(listener, "order_book/1");
    await run(test, listener, 500);
    const books = listener.frames.filter(isBook);
    expect(brokenLinks(books)).toBe(books.length - 1);
    listener.socket.terminate();
  });

  it("a reset engine counts from a lower nonce at each connection, and the true book is still found", async () => {
    const test = await start({ quirks: { resetNonceOnConnect: true } });
    const first = await connect(test.venue);
    await subscribe(first, "order_book/1");
    await run(test, first, 200);
    const second = await connect(test.venue);
    await subscribe(second, "order_book/1");
    await run(test, second, 200);
    const nonces = [first, second].map((listener) =>
      listener.frames.filter(isBook).map((frame) => bookOf(frame).nonce),
    );
    expect(Math.max(...(nonces[1] ?? []))).toBeLessThan(Math.min(...(nonces[0] ?? [])));
    for (const listener of [first, second]) {
      expect(brokenLinks(listener.frames)).toBe(0);
      for (const frame of listener.frames.filter(isBook)) {
        const truth = test.venue.exchange.market.trueBook("BTC", test.venue.room.seqOfNonce(bookOf(frame).nonce));
        if (frame.type === "subscribed/order_book")
          expect(bookOf(frame).bids.map((level) => Number(level.price))).toEqual(
            truth?.bids.map((level) => level.priceTicks / 10),
          );
        expect(truth?.seq).toBe(test.venue.room.seqOfNonce(bookOf(frame).nonce));
      }
      listener.socket.terminate();
    }
  });

  it("older servers ping and want a pong", async () => {
    const test = await start({ quirks: { serverPingMs: 10_000 } });
    const listener = await connect(test.venue);
    test.clock.advance(10_500);
    await listener.drained();
    expect(listener.texts.filter((text) => text === '{"type":"ping"}')).toHaveLength(1);
    listener.send({ type: "pong" });
    await listener.drained();
    expect(listener.texts).toHaveLength(2);
    listener.socket.terminate();
  });

  it("inactive markets can answer with empty snapshots", async () => {
    const test = await start({ quirks: { emptySnapshots: true } });
    const listener = await connect(test.venue);
    await subscribe(listener, "order_book/141");
    await subscribe(listener, "ticker/141");
    expect(bookOf(listener.frames[1] as Frame)).toMatchObject({ asks: [], bids: [], nonce: 0, offset: 1 });
    expect(listener.frames[2]?.ticker).toEqual({
      s: "HYUNDAI",
      a: { price: "", size: "" },
      b: { price: "", size: "" },
      last_updated_at: 0,
    });
    listener.socket.terminate();
  });
});

describe("in a repeated run,", () => {
  it("the same seed and clock give the same frames, another seed others", async () => {
    const framesOf = async (seed: number): Promise<string[]> => {
      const test = await start({ seed });
      const listener = await connect(test.venue);
      for (const channel of ["order_book/1", "ticker/0", "trade/83", "market_stats/all"])
        await subscribe(listener, channel);
      await run(test, listener, 2_000);
      listener.socket.terminate();
      await test.venue.stop();
      return listener.texts;
    };
    const first = await framesOf(1);
    expect(first.length).toBeGreaterThan(50);
    expect(await framesOf(1)).toEqual(first);
    expect(await framesOf(2)).not.toEqual(first);
  });
});
