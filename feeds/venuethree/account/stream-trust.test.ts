/** A watched account whose frames are lost or late: what its streamed positions prove, and as of when. */
import { describe, expect, it } from "vitest";
import { mine, order, position } from "../test/account-rows.js";
import { BTC, CLOSE_LONG, OPTIONS } from "../test/trading-harness.js";
import { live, turns, type TrustScene } from "../test/trust-scene.js";

const OPEN_LONG = { ...CLOSE_LONG, side: "BUY", reduceOnly: false } as const;

const sizes = async ({ reader, session }: TrustScene): Promise<unknown> => {
  const read = await reader.verifyPositions?.(session, BTC, OPTIONS);
  return read?.ok === true ? [read.source, ...read.value.map(({ qtyLots }) => qtyLots)] : read;
};

describe("an account of venuethree whose frames are dropped", () => {
  it("is read at the venue where an answer turns on it, once for all who wait and for repeats of a second", async () => {
    const scene = await live();
    scene.venue.size = "0.00000";
    scene.receive("positions", {});
    await scene.wait(5_000);
    // Somebody opens 3 BTC, and no frame tells of it.
    scene.venue.size = "3.00000";
    const before = scene.calls.length;
    expect(await Promise.all([sizes(scene), sizes(scene)])).toEqual([
      ["venue", 300_000],
      ["venue", 300_000],
    ]);
    const readCount = (): number => scene.calls.slice(before).filter((name) => name === "account").length;
    // One for both, and one by which the stream was made true.
    expect(readCount()).toBe(2);
    expect([await sizes(scene), await sizes(scene)]).toEqual([
      ["venue", 300_000],
      ["venue", 300_000],
    ]);
    // That moved a position: once more, and no repeat costs another.
    expect(readCount()).toBe(3);
    // What was read contradicts the stream: that proves nothing until it was corrected, and proven so.
    expect(scene.held()).toBeNull();
    await scene.wait(4_000);
    expect(scene.held()).toBe(300_000);
  });

  it("is read again surely after a frame that cannot be read: the first answer may lag behind it", async () => {
    const scene = await live();
    scene.receive("positions", null);
    await scene.wait(1_000);
    // Only now the venue's reads show it.
    scene.venue.size = "0.01000";
    await scene.wait(9_000);
    expect([scene.stream.state, scene.held()]).toEqual(["LIVE", 1_000]);
  });

  it("is not held to be what a regular read says that may lag behind a frame: it is read again surely later", async () => {
    const scene = await live();
    const readCount = (): number => scene.calls.filter((name) => name === "account").length;
    const before = readCount();
    // Its owner closes all but 0.01 on the venue's own page, again and again, and reads show that late.
    let size = 2_500;
    for (let tries = 0; readCount() === before && tries < 1_000; tries++) {
      size = size === 2_500 ? 1_000 : 2_500;
      scene.receive("positions", { 1: position({ position: (size / 1e5).toFixed(5) }) });
      scene.venue.size = ((3_500 - size) / 1e5).toFixed(5);
      await scene.wait(250);
    }
    scene.venue.size = (size / 1e5).toFixed(5);
    expect([null, size]).toContain(scene.held());
    await scene.wait(5_000);
    expect(scene.held()).toBe(size);
  });

  it("is LIVE only by an answer asked for after the last frame that could not be read", async () => {
    const scene = await live();
    let answer = (): void => {};
    scene.venue.gate = new Promise((resolve) => (answer = resolve));
    scene.receive("orders", 0);
    await turns();
    scene.venue.gate = Promise.resolve();
    scene.harness.clock.advance(10);
    scene.receive("orders", 0);
    answer();
    for (let turn = 0; turn < 5; turn++) await turns();
    expect(scene.stream.state).toBe("SYNCING");
    await scene.wait(20_000);
    expect(scene.stream.state).toBe("LIVE");
  });

  it("is compared with the venue in its time also while our wall clock is set back by an hour", async () => {
    const scene = await live();
    scene.harness.clock.stepWall(-3_600_000);
    // Somebody opens 3 BTC, and no frame tells of it.
    scene.venue.size = "3.00000";
    await scene.wait(130_000);
    expect(scene.held()).toBe(300_000);
  });

  it("says as of when it is proven: not of a pong", async () => {
    const scene = await live();
    const atMs = scene.harness.clock.wallMs();
    await scene.wait(60_000);
    const read = scene.stream.positions();
    expect(read.ok && read.asOfMs).toBeLessThanOrEqual(atMs);
    scene.receive("positions", { 1: position({ position: "0.01000" }) });
    const next = scene.stream.positions();
    expect(next.ok && next.asOfMs).toBe(scene.harness.clock.wallMs());
  });

  it("is not trusted after an entry until it was streamed whole, or read", async () => {
    const scene = await live();
    expect((await scene.orders.place(scene.session, OPEN_LONG, OPTIONS)).outcome).toBe("accepted");
    scene.venue.isRestDown = true;
    await scene.wait(10_000);
    expect([scene.held(), scene.stream.positions().ok]).toEqual([null, false]);
    scene.venue.isRestDown = false;
    scene.venue.size = "0.27500";
    await scene.wait(20_000);
    expect([scene.held(), scene.events.at(-1)]).toEqual([27_500, { kind: "state", state: "LIVE" }]);
  });

  it("is trusted at once, without a read, when an entry was streamed whole", async () => {
    const scene = await live();
    expect((await scene.orders.place(scene.session, OPEN_LONG, OPTIONS)).outcome).toBe("accepted");
    const before = scene.calls.length;
    scene.receive("positions", { 1: position({ position: "0.27500" }) });
    expect(scene.held()).toBeNull();
    const filled = { filled_base_amount: "0.25000", remaining_base_amount: "0.00000", initial_base_amount: "0.25000" };
    const nowUs = scene.harness.clock.wallMs() * 1_000;
    scene.receive("orders", { 1: [order({ ...mine, ...filled, status: "filled", transaction_time: nowUs })] });
    expect(scene.held()).toBe(27_500);
    await scene.wait(5_000);
    expect(scene.calls.slice(before)).toEqual([]);
  });
});

describe("an account of venuethree over a connection that falls silent", () => {
  it("is not LIVE, and after that only when it was read", async () => {
    const scene = await live();
    scene.venue.isTalking = false;
    await scene.wait(9_000);
    expect([scene.held(), scene.stream.positions().ok]).toEqual([null, false]);
    // What was reported meanwhile is lost.
    scene.venue.size = "0.07500";
    scene.venue.isTalking = true;
    scene.venue.isRestDown = true;
    await scene.wait(5_000);
    expect([scene.held(), scene.stream.positions().ok]).toEqual([null, false]);
    scene.venue.isRestDown = false;
    await scene.wait(20_000);
    expect(scene.held()).toBe(7_500);
  });
});
