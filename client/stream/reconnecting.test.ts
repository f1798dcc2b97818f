/** How long the client waits after each kind of end, and what a new connection begins with. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { heartbeat, KEY, live, setUp, update } from "../test/scenario.js";
import { createVirtualTime } from "../test/virtual.js";
import { StreamClient } from "./stream-client.js";

describe("a client that reconnects", () => {
  /** Ms until the next socket. */
  function waitFor({ time, sockets }: ReturnType<typeof setUp>): number {
    const before = sockets.length;
    const startMs = time.nowMs();
    while (sockets.length === before && time.nowMs() - startMs < 400_000) time.advance(250);
    return time.nowMs() - startMs;
  }

  it("resumes where it was, at its position in the sequence", () => {
    const set = live();
    set.socket().says(update(2));
    set.socket().cut();
    expect(set.last()).toMatchObject({ current: false, staleReason: "disconnected" });
    waitFor(set);
    set.socket().opened();
    const ops = set.socket().take();
    expect(ops).toMatchObject([{ op: "resume", subs: [{ sub: KEY, epoch: "e1", seq: 2 }] }]);
    set.socket().says({ type: "resumed", id: ops[0]?.id, subs: [{ sub: KEY, epoch: "e1", seq: 2, missed: false }] });
    expect(set.last()).toMatchObject({ current: true, seq: 2 });
  });

  it("waits between half a second and a ceiling that doubles up to thirty seconds", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 10, maxLength: 10 }),
        (dice) => {
          let at = 0;
          const set = setUp(() => dice[at++ % dice.length] as number);
          set.client.start();
          for (let attempt = 0; attempt < dice.length; attempt++) {
            set.socket().cut();
            const waitedMs = waitFor(set);
            expect(waitedMs).toBeGreaterThanOrEqual(500);
            expect(waitedMs).toBeLessThanOrEqual(Math.min(30_000, 1_000 * 2 ** attempt) + 250);
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  it("starts from the shortest wait again once a heartbeat has come", () => {
    const set = setUp(() => 0.999);
    set.client.start();
    for (let attempt = 0; attempt < 6; attempt++) {
      set.socket().cut();
      waitFor(set);
    }
    set.socket().opened();
    set.socket().says(heartbeat({}));
    set.socket().cut();
    expect(waitFor(set)).toBeLessThanOrEqual(1_250);
  });

  it.each([1012, 1013])("returns after %i no sooner than the server requested", (code) => {
    const set = live(() => 0);
    set.socket().says({ type: "status", ts: 1, reason: "RESTART", retryAfterMs: 20_000 });
    set.socket().cut(code);
    expect(waitFor(set)).toBeGreaterThanOrEqual(20_500);
    // The request holds for one wait only.
    set.socket().cut();
    expect(waitFor(set)).toBeLessThanOrEqual(750);
  });

  it.each([4400, 4408, 4429])("waits longer after %i", (code) => {
    const set = live(() => 0);
    set.socket().cut(code);
    expect(waitFor(set)).toBeGreaterThanOrEqual(5_000);
  });

  it.each([4401, 4403])("does not return after %i", (code) => {
    const set = live();
    set.socket().cut(code);
    set.time.advance(400_000);
    expect(set.sockets).toHaveLength(1);
    expect(set.client.status.phase).toBe("refused");
  });

  it("gives up a socket that does not open, and one that cannot be created", () => {
    const set = setUp();
    set.client.start();
    set.time.advance(10_250);
    expect(set.socket().closedWith).toBe(4000);
    expect(set.client.status.phase).toBe("waiting");
    const time = createVirtualTime();
    const client = new StreamClient({
      url: "ws://test/ws",
      clock: time,
      random: () => 0,
      openSocket: () => {
        throw new Error("blocked");
      },
    });
    client.start();
    time.advance(60_000);
    expect(client.status.phase).toBe("waiting");
  });

  it("ignores a socket that it gave up", () => {
    const set = live();
    const old = set.socket();
    set.time.advance(12_250);
    waitFor(set);
    set.socket().opened();
    const told = set.views.length;
    old.says(update(2));
    old.cut();
    expect(set.views).toHaveLength(told);
    expect(set.client.status.phase).toBe("open");
  });

  it("stops for good on request, and starts again with the wanted subscriptions", () => {
    const set = live();
    set.client.stop();
    expect(set.socket().closedWith).toBe(1000);
    set.time.advance(60_000);
    expect(set.sockets).toHaveLength(1);
    set.client.start();
    expect(set.sockets).toHaveLength(2);
    set.socket().opened();
    expect(set.socket().take()).toMatchObject([{ op: "resume" }]);
  });
});
