/** Fault knobs and oddities as a client meets them on the wire. */
import { afterEach, describe, expect, it } from "vitest";
import type { VenuefourSimOptions } from "../wire/options.js";
import type { VenuefourSim } from "../sim.js";
import { booksOf, connect, get, startTestVenue, subscribe, type TestVenue } from "./support.js";

let running: VenuefourSim | null = null;
async function start(options: Partial<VenuefourSimOptions> = {}): Promise<TestVenue> {
  const test = await startTestVenue(options);
  running = test.venue;
  return test;
}
afterEach(async () => {
  await running?.stop();
  running = null;
});

const BOOK = { source: "book", symbol: "BTC", agg_level: 1 };

describe("under faults of venuefour,", () => {
  it("a lost first snapshot comes after an echo, an ignored subscription gets none", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    venue.faults.add({ kind: "ignoreSubscribe", match: "book:BTC", count: 1 });
    await subscribe(listener, BOOK);
    clock.advance(1_000);
    await listener.drained();
    expect(listener.texts).toEqual([]);
    venue.faults.add({ kind: "loss", match: "first/book", count: 1 });
    await subscribe(listener, BOOK);
    expect(listener.texts).toHaveLength(1);
    clock.advance(250);
    await listener.drained();
    expect(booksOf(listener)).toHaveLength(1);
    listener.socket.terminate();
  });

  it("reordered and stale snapshots show a t that went back", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    await subscribe(listener, BOOK);
    const backward = (): number => {
      const times = booksOf(listener).map((book) => book.t);
      return times.slice(1).filter((t, index) => t < (times[index] ?? 0)).length;
    };
    clock.advance(2_000);
    await listener.drained();
    expect(backward()).toBe(0);
    venue.faults.add({ kind: "reorder", match: "book:BTC", count: 1 });
    clock.advance(1_000);
    await listener.drained();
    expect(backward()).toBe(1);
    venue.room.setQuirks({ staleBookShare: 1 });
    clock.advance(2_000);
    await listener.drained();
    expect(backward()).toBeGreaterThan(5);
    // Stale, but true of its time.
    for (const book of booksOf(listener))
      expect(Number(book.l[1][0]?.p)).toBe(venue.exchange.market.trueBookAtTime("BTC", book.t, 1)?.asks[0]?.priceTicks);
    listener.socket.terminate();
  });

  it("half a frame is no JSON, a duplicate is the same frame, a cut socket is cut", async () => {
    const { venue, clock } = await start();
    const listener = await connect(venue);
    await subscribe(listener, BOOK);
    venue.faults.add({ kind: "halfFrame", scope: ["market"], count: 1 });
    clock.advance(250);
    venue.faults.add({ kind: "duplicate", scope: ["market"], count: 1 });
    clock.advance(250);
    await listener.drained();
    expect(listener.frames.filter((frame) => frame.unparsable !== undefined)).toHaveLength(1);
    expect(listener.texts[3]).toBe(listener.texts[4]);
    venue.faults.add({ kind: "disconnect", scope: ["market"], count: 1 });
    clock.advance(250);
    expect(await listener.closed).toBe(1006);
  });

  it("REST answers 429, 5xx and a time-out in the venue's bodies", async () => {
    const { venue, clock } = await start();
    venue.faults.add({ kind: "rate429", count: 1 });
    expect(await get(venue, "info")).toMatchObject({ status: 429, json: { error: "Rate limit exceeded", code: 429 } });
    venue.faults.add({ kind: "errorBefore", count: 1, status: 500 });
    expect(await get(venue, "info")).toMatchObject({ status: 500, json: { error: "Internal server error" } });
    venue.faults.add({ kind: "errorBefore", count: 1 });
    expect(await get(venue, "info")).toMatchObject({ status: 503, text: "upstream connect error" });
    venue.faults.add({ kind: "fixedDelay", count: 1, delayMs: 60_000 });
    const late = get(venue, "info");
    // The request must have arrived before the clock is moved past its delay.
    while (venue.faults.hits().fixedDelay === 0) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(60_000);
    expect((await late).status).toBe(200);
  });

  it("li can be made to order the snapshots, as an older page promised", async () => {
    const { venue, clock } = await start({ quirks: { oldBookIdShare: 0 } });
    const listener = await connect(venue);
    await subscribe(listener, BOOK);
    clock.advance(5_000);
    await listener.drained();
    const ids = booksOf(listener).map((book) => book.li);
    expect([...ids].sort((left, right) => left - right)).toEqual(ids);
    listener.socket.terminate();
  });
});

describe("in a repeated run,", () => {
  it("the same seed and clock give the same frames, another seed others", async () => {
    const framesOf = async (seed: number): Promise<string[]> => {
      const { venue, clock } = await startTestVenue({ seed });
      const listener = await connect(venue);
      await subscribe(listener, BOOK);
      await subscribe(listener, { source: "bbo", symbol: "ETH" });
      await subscribe(listener, { source: "trades", symbol: "BTC" });
      await subscribe(listener, { source: "prices" });
      clock.advance(3_000);
      await listener.drained();
      listener.socket.terminate();
      await venue.stop();
      return listener.texts;
    };
    const first = await framesOf(1);
    expect(first.length).toBeGreaterThan(30);
    expect(await framesOf(1)).toEqual(first);
    expect(await framesOf(2)).not.toEqual(first);
  });
});
