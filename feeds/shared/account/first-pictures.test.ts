/**
 * Orders of ours that are under way while an account begins to be followed: whether its first picture includes them is not
 * known, and what is streamed replaces no read until it is.
 */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../../engine/domain/order.js";
import { SessionVenueBench, TestSession } from "../test/session-venue.js";
import { COIN, WatchBench } from "../test/watched-venue.js";
import { type StreamedReads, SURELY_LATER_MS } from "./streamed-reads.js";

const WANTED = { coin: COIN, lots: 1 };
const buy = (reads: StreamedReads, clientId: string, qtyLots: number): void =>
  reads.sent({ clientId, coin: COIN, side: "BUY", qtyLots, rests: false });
const filled = (reads: StreamedReads, clientId: string, filledLots: number): void => {
  const order: Pick<VenueOrder, "filledLots" | "status"> = { filledLots, status: "FILLED" };
  reads.answered(clientId, order);
};

/** Connected and acknowledged again, so long after the loss. */
async function reconnected(bench: WatchBench, afterMs: number): Promise<void> {
  await bench.clock.advanceAsync(afterMs);
  bench.network.last.open();
  await bench.clock.advanceAsync(10);
  bench.acknowledge("alice");
  await bench.clock.advanceAsync(10);
}

describe("the first picture of a watched account", () => {
  const held = (bench: WatchBench): number | null =>
    bench.watcher.livePositions("alice", WANTED)?.value[0]?.qtyLots ?? null;
  const readsOf = (bench: WatchBench): StreamedReads => {
    const account = bench.watcher.get("alice");
    if (account === null) throw new Error("alice is not watched");
    return account.reads;
  };

  it("is not counted twice where it includes an order that went out before it", async () => {
    const bench = new WatchBench();
    bench.venue.lots.set("alice", 300);
    const stream = await bench.written("alice");
    buy(readsOf(bench), "1", 6);
    bench.venue.lots.set("alice", 306);
    filled(readsOf(bench), "1", 6);
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(10);
    expect([stream.state, bench.lots(stream), held(bench)]).toEqual(["LIVE", 306, null]);
    await bench.clock.advanceAsync(2 * SURELY_LATER_MS);
    expect(held(bench)).toBe(306);
  });

  it("replaces no read right after a loss, whose last frames it may lag behind", async () => {
    const bench = new WatchBench();
    bench.venue.lots.set("alice", 300);
    const stream = await bench.live("alice");
    expect(held(bench)).toBe(300);
    // A stranger's purchase: its frame is lost with the connection, and the venue's reads do not show it yet.
    bench.network.last.end(1006);
    await bench.clock.advanceAsync(500);
    if (bench.network.connections.length < 2) throw new Error("not connected again");
    await reconnected(bench, 0);
    expect([stream.state, bench.lots(stream), held(bench)]).toEqual(["LIVE", 300, null]);
    bench.venue.lots.set("alice", 306);
    await bench.clock.advanceAsync(2 * SURELY_LATER_MS);
    expect([stream.state, held(bench)]).toEqual(["LIVE", 306]);
  });

  it("replaces reads at once where a read that began surely after the loss made it LIVE", async () => {
    const bench = new WatchBench();
    bench.venue.lots.set("alice", 300);
    await bench.live("alice");
    bench.network.last.end(1006);
    await reconnected(bench, 2 * SURELY_LATER_MS);
    expect(held(bench)).toBe(300);
  });
});

describe("the first picture of a stream by credentials", () => {
  it("replaces no read right after a loss, whose last frames it may lag behind", async () => {
    const bench = new SessionVenueBench();
    const session = new TestSession("alice", "s");
    const stream = bench.open(session);
    const held = (): number | null => bench.streams.positionsOf(session, null)?.value[0]?.qtyLots ?? null;
    await bench.clock.advanceAsync(0);
    await bench.connect();
    await bench.answer(300);
    expect(held()).toBe(300);
    bench.network.last.end(1006);
    await bench.wait(1_000);
    await bench.connect();
    await bench.answer(300);
    expect([stream.state, held()]).toEqual(["LIVE", null]);
    await bench.wait(2 * SURELY_LATER_MS);
    await bench.answer(306);
    expect([stream.state, held()]).toEqual(["LIVE", 306]);
  });

  it("does not hide an order that it does not include", async () => {
    const bench = new SessionVenueBench();
    const session = new TestSession("alice", "s");
    const stream = bench.open(session);
    await bench.clock.advanceAsync(0);
    await bench.connect();
    const reads = bench.streams.ofSession(session)?.reads as StreamedReads;
    buy(reads, "1", 6);
    await bench.answer(300);
    expect(stream.state).toBe("LIVE");
    filled(reads, "1", 6);
    reads.told({ venueClientOrderId: "1", venueOrderId: "1", status: "FILLED", filledLots: 6 } as VenueOrder);
    // The frame of its position is on its way.
    expect(bench.streams.positionsOf(session, WANTED)).toBeNull();
    expect(bench.streams.positionsOf(session, null)).toBeNull();
    bench.network.last.receive("306");
    // Whether the picture had the order already is not known: a read has to say so.
    expect(bench.streams.positionsOf(session, WANTED)).toBeNull();
    await bench.clock.advanceAsync(2_000);
    await bench.answer(306);
    expect(bench.streams.positionsOf(session, WANTED)?.value).toMatchObject([{ qtyLots: 306 }]);
  });
});
