/** The stream of one account's credentials: what makes it LIVE, what ends that, and what is asked of the venue meanwhile. */
import { beforeEach, describe, expect, it } from "vitest";
import type { AccountEvent, AccountStream } from "../../../engine/ports.js";
import {
  BTC,
  held,
  MAX_STREAMS,
  SessionVenueBench,
  type SessionVenueTraits,
  TestSession,
  TRUTH_EVERY_MS,
} from "../test/session-venue.js";
import { LOAD_BOUND_MS } from "./account-reconciler.js";
import { SILENT_AFTER_MS } from "./connection-life.js";
import { SURELY_LATER_MS, UNSHOWN_AFTER_MS } from "./streamed-reads.js";

let bench: SessionVenueBench;
let session: TestSession;
let events: AccountEvent[];
let stream: AccountStream;

const lots = (): number | string => {
  const read = stream.positions();
  return read.ok ? (read.value[0]?.qtyLots ?? 0) : read.code;
};
/** What may be used in place of a live read. */
const standing = (): number | null => {
  const read = bench.streams.positionsOf(session, null);
  return read === null ? null : (read.value[0]?.qtyLots ?? 0);
};
const kinds = (): readonly string[] => events.map((event) => (event.kind === "state" ? event.state : event.kind));

function setUp(traits?: SessionVenueTraits): void {
  bench = new SessionVenueBench(traits);
  session = new TestSession("alice", "s");
  events = [];
  stream = bench.open(session, events);
}

async function live(lotsHeld = 5): Promise<void> {
  await bench.clock.advanceAsync(0);
  await bench.connect();
  await bench.answer(lotsHeld);
  expect([stream.state, lots()]).toEqual(["LIVE", lotsHeld]);
  // Of its first connection, which opens before it is ready.
  bench.feeds[0]?.losses.splice(0);
}

beforeEach(() => setUp());

describe("a regular read of an account session stream", () => {
  it("may be older than a frame that came shortly before it began: another read, surely later, says what is held", async () => {
    await live(300);
    await bench.wait(TRUTH_EVERY_MS - 500);
    // Its owner closes most of it.
    bench.network.last.receive("100");
    expect(standing()).toBe(100);
    await bench.wait(1_000);
    expect(bench.loads.length).toBe(1);
    await bench.answer(300);
    expect(standing()).toBeNull();
    await bench.wait(2 * SURELY_LATER_MS);
    await bench.answer(100);
    expect(standing()).toBe(100);
  });
});

describe("an account session stream that starts", () => {
  it("asks the venue for nothing before its connection is ready, and is readable only after the answer", async () => {
    await bench.clock.advanceAsync(0);
    bench.network.last.open();
    await bench.wait(5_000);
    bench.feeds[0]?.parts.reconciler().start();
    expect([bench.loads.length, stream.state]).toEqual([0, "SYNCING"]);
    bench.network.last.receive("ready");
    await bench.clock.advanceAsync(0);
    expect([bench.loads.length, bench.loads[0]?.scope, lots()]).toEqual([1, "all", "VENUE_ERROR"]);
    await bench.answer(5);
    expect([lots(), standing(), kinds()]).toEqual([5, 5, ["LIVE", "positions"]]);
  });

  it("asks only with sessions that are open, and is unreadable where none is", async () => {
    const other = new TestSession("alice", "s");
    const second = bench.open(other);
    session.close();
    await bench.clock.advanceAsync(0);
    await bench.connect();
    expect(bench.loads[0]?.session).toBe(other);
    await bench.answer(5);
    expect(second.state).toBe("LIVE");
    other.close();
    await bench.wait(TRUTH_EVERY_MS);
    expect([bench.loads.length, second.state, bench.streams.openCount]).toEqual([0, "SYNCING", 1]);
  });
});

describe("an account session stream that misses something", () => {
  it("finds what a lost frame held by a read of the venue, and logs that it differed", async () => {
    await live(5);
    await bench.wait(TRUTH_EVERY_MS);
    expect(bench.loads.map(({ scope }) => scope)).toEqual(["positions"]);
    await bench.answer(7);
    expect([stream.state, lots(), kinds()]).toEqual(["LIVE", 7, ["LIVE", "positions", "positions"]]);
    expect(bench.lines.join()).toContain('test.account.differed {"count":1}');
  });

  it("is not LIVE after a frame that cannot be read, until an answer asked for after the last one", async () => {
    await live(5);
    bench.network.last.receive("{");
    expect([stream.state, standing(), bench.streams.stats().decodeErrorCount]).toEqual(["SYNCING", null, 1]);
    expect(bench.loads).toHaveLength(1);
    // The question is out: what this one said may be in its answer or not.
    bench.network.last.receive("[");
    await bench.answer(5);
    expect(stream.state).toBe("SYNCING");
    await bench.wait(500);
    await bench.answer(6);
    expect([stream.state, lots(), bench.loads.length]).toEqual(["LIVE", 6, 0]);
    // That answer may lag behind the frame: nothing is trusted until one that was asked for surely later.
    expect(standing()).toBeNull();
    await bench.wait(SURELY_LATER_MS);
    expect(bench.loads).toHaveLength(1);
    await bench.answer(8);
    expect(standing()).toBe(8);
  });

  it("takes nothing from an answer that is older than a frame, and believes neither until they agree", async () => {
    await live(5);
    bench.streams.ofSession(session)?.reads.doubt();
    bench.streams.ofSession(session)?.refreshSoon();
    await bench.wait(SURELY_LATER_MS);
    expect(bench.loads).toHaveLength(1);
    bench.network.last.receive("9");
    await bench.answer(5);
    expect([stream.state, lots(), standing()]).toEqual(["LIVE", 9, null]);
    await bench.wait(SURELY_LATER_MS);
    await bench.answer(9);
    expect([lots(), standing()]).toEqual([9, 9]);
  });

  it("gives up what is streamed where the venue contradicts it, and asks at once", async () => {
    await live(5);
    const own = bench.streams.ofSession(session);
    expect(own?.compare(BTC, held(5))).toEqual(held(5));
    expect([standing(), bench.loads.length]).toEqual([5, 0]);
    expect(own?.compare(BTC, held(8))).toEqual(held(8));
    expect([standing(), bench.loads.length]).toEqual([null, 1]);
    await bench.answer(8);
    expect([lots(), standing()]).toEqual([8, null]);
    await bench.wait(SURELY_LATER_MS);
    await bench.answer(8);
    expect(standing()).toBe(8);
  });

  it("asks once more, and for all of it, where something asked while a load was out", async () => {
    await live(5);
    const reconciler = bench.feeds[0]?.parts.reconciler();
    reconciler?.start("positions");
    for (let count = 0; count < 10; count++) reconciler?.start("positions");
    expect(bench.loads).toHaveLength(1);
    await bench.answer(5);
    await bench.wait(500);
    expect(bench.loads.map(({ scope }) => scope)).toEqual(["all"]);
    await bench.answer(5);
    await bench.wait(5_000);
    expect([bench.loads.length, stream.state]).toEqual([0, "LIVE"]);
  });

  it("is not LIVE on a connection that fell silent, until it speaks and the venue was asked again", async () => {
    await live(5);
    bench.network.pong = null;
    await bench.wait(SILENT_AFTER_MS + 3_000);
    expect([stream.state, standing(), bench.feeds[0]?.losses]).toEqual(["SYNCING", null, ["silent"]]);
    expect(bench.loads).toHaveLength(0);
    bench.network.pong = "pong";
    await bench.wait(3_000);
    expect([bench.loads.length, stream.state]).toEqual([1, "SYNCING"]);
    await bench.answer(6);
    expect([stream.state, lots()]).toEqual(["LIVE", 6]);
  });

  it("is not LIVE by an answer that comes while its connection is silent", async () => {
    await live(5);
    await bench.wait(TRUTH_EVERY_MS);
    bench.network.pong = null;
    await bench.wait(SILENT_AFTER_MS + 3_000);
    await bench.answer(6);
    expect([stream.state, bench.loads.length]).toEqual(["SYNCING", 0]);
    bench.network.last.receive("pong");
    await bench.wait(1_000);
    await bench.answer(6);
    expect([stream.state, lots()]).toEqual(["LIVE", 6]);
  });

  it("is not LIVE while an order of ours is neither streamed nor in what the venue answers", async () => {
    await live(5);
    const { reads } = bench.feeds[0]?.parts ?? {};
    reads?.sent({ clientId: "1", coin: "BTC", side: "BUY", qtyLots: 4, rests: false });
    reads?.answered("1", { status: "FILLED", filledLots: 4 });
    await bench.wait(UNSHOWN_AFTER_MS + 1_000);
    expect([stream.state, bench.feeds[0]?.losses, bench.loads.length]).toEqual(["SYNCING", ["silent"], 1]);
    // Half of it is streamed; the answer is older than that.
    bench.network.last.receive("7");
    await bench.answer(5);
    expect(stream.state).toBe("SYNCING");
    await bench.wait(500);
    await bench.answer(7);
    expect([stream.state, lots(), standing()]).toEqual(["LIVE", 7, 7]);
  });

  it.each([
    ["proves nothing where the venue is pinged with messages", '"ping"', "SYNCING"],
    ["proves that it lives where the ping is one too", null, "LIVE"],
  ] as const)("a control frame %s", async (_, pingText, state) => {
    setUp({ pingText });
    await live(5);
    bench.network.pong = null;
    for (let second = 0; second < 12; second++) {
      bench.network.last.handlers.onControl();
      await bench.wait(1_000);
    }
    expect(stream.state).toBe(state);
  });
});

describe("an account session stream that reconnects", () => {
  it("takes nothing of a load that was out, and is LIVE by one over the new connection", async () => {
    await live(5);
    await bench.wait(TRUTH_EVERY_MS);
    const [late] = bench.loads.splice(0);
    bench.network.last.end(1006);
    expect([stream.state, lots(), late?.isWanted()]).toEqual(["SYNCING", "VENUE_ERROR", false]);
    late?.answer(7);
    await bench.wait(4_000);
    expect([stream.state, bench.feeds[0]?.losses, bench.loads.length]).toEqual(["SYNCING", ["reconnected"], 0]);
    await bench.connect();
    expect(bench.loads.map(({ scope }) => scope)).toEqual(["all"]);
    await bench.answer(6);
    expect([stream.state, lots()]).toEqual(["LIVE", 6]);
  });

  it("stays LIVE through a planned change to a connection that is ready, and asks after it", async () => {
    await live(5);
    await untilStandby();
    const before = bench.loads.length;
    await bench.connect();
    expect([stream.state, bench.feeds[0]?.losses, bench.loads.length]).toEqual(["LIVE", [], before + 1]);
  });

  it("loses what it had to a connection that takes over before it is ready", async () => {
    await live(5);
    const [first] = bench.network.connections;
    await untilStandby();
    bench.network.last.open();
    first?.end(1006);
    expect([stream.state, standing(), bench.feeds[0]?.losses]).toEqual(["SYNCING", null, ["reconnected"]]);
    bench.network.last.receive("ready");
    await bench.clock.advanceAsync(0);
    await bench.answer(6);
    expect([stream.state, lots()]).toEqual(["LIVE", 6]);
  });

  it("gives up what is held also where another connection can take over at once", async () => {
    setUp({ isReadyAtOnce: true });
    await live(5);
    await untilStandby();
    bench.network.last.open();
    bench.streams.rescaled();
    expect([stream.state, bench.feeds[0]?.losses, bench.loads.length]).toEqual(["SYNCING", ["reconnected"], 1]);
    await bench.answer(50);
    expect([stream.state, lots(), bench.network.connections.length]).toEqual(["LIVE", 50, 2]);
  });

  it("gives up what is held before it asks for another connection", async () => {
    await live(5);
    bench.streams.rescaled();
    expect([stream.state, lots(), bench.network.last.isEnded]).toEqual(["SYNCING", "VENUE_ERROR", true]);
    await bench.wait(4_000);
    await bench.connect();
    await bench.answer(50);
    expect([stream.state, lots()]).toEqual(["LIVE", 50]);
  });
});

/** The planned change begins: a second connection is asked for. Reads of the venue are answered meanwhile. */
async function untilStandby(): Promise<void> {
  while (bench.network.connections.length < 2) {
    await bench.wait(1_000);
    while (bench.loads.length > 0) await bench.answer(5);
  }
}

describe("an account session stream whose reads fail", () => {
  it("is not LIVE, tries again after the base of the backoff at least, and logs every fourth failure", async () => {
    await live(5);
    await bench.wait(TRUTH_EVERY_MS);
    for (let count = 1; count <= 4; count++) {
      expect(bench.lines.join()).not.toContain("reconcile-failing");
      expect(bench.loads).toHaveLength(1);
      await bench.fail("unanswered");
      expect([stream.state, lots()]).toEqual(["SYNCING", "VENUE_ERROR"]);
      await bench.clock.advanceAsync(249);
      expect(bench.loads).toHaveLength(0);
      await bench.wait(250 * 2 ** count);
    }
    expect(bench.lines.join()).toContain('test.account.reconcile-failing {"attemptCount":4}');
    await bench.answer(6);
    expect([stream.state, lots()]).toEqual(["LIVE", 6]);
  });

  it("gives up a load that hangs at its bound, takes nothing of it later, and asks again", async () => {
    await live(5);
    await bench.wait(TRUTH_EVERY_MS);
    const [hanging] = bench.loads.splice(0);
    await bench.wait(LOAD_BOUND_MS - 1_000);
    expect([stream.state, lots(), bench.loads.length, hanging?.isWanted()]).toEqual(["LIVE", 5, 0, true]);
    await bench.wait(1_000);
    expect([stream.state, hanging?.isWanted()]).toEqual(["SYNCING", false]);
    hanging?.answer(9);
    await bench.wait(500);
    expect([stream.state, bench.loads.length]).toEqual(["SYNCING", 1]);
    await bench.answer(6);
    expect([stream.state, lots()]).toEqual(["LIVE", 6]);
  });

  it("treats a load that throws as no answer, and logs which error it was", async () => {
    await live(5);
    await bench.wait(TRUTH_EVERY_MS);
    bench.loads.shift()?.throws(new TypeError("bug"));
    await bench.wait(500);
    expect([stream.state, bench.loads.length]).toEqual(["SYNCING", 1]);
    expect(bench.lines.join()).toContain('test.account.load-failed {"errorName":"TypeError"}');
  });

  it("ends, with a line in the log, when the credentials are refused four times in a row", async () => {
    await bench.clock.advanceAsync(0);
    await bench.connect();
    for (const failure of ["refused", "refused", "refused", "unanswered"] as const) {
      await bench.fail(failure);
      await bench.wait(4_000);
    }
    for (let count = 0; count < 4; count++) {
      expect([stream.state, bench.streams.openCount]).toEqual(["SYNCING", 1]);
      await bench.fail("refused");
      await bench.wait(10_500);
    }
    expect([stream.state, kinds(), bench.streams.openCount]).toEqual(["DOWN", ["DOWN"], 0]);
    expect([bench.network.last.isEnded, bench.clock.pendingTimerCount]).toEqual([true, 0]);
  });
});

describe("account session streams that are shared", () => {
  it("end with the last one that streams, without a timer or connection left", async () => {
    await live(5);
    const second = bench.open(new TestSession("alice", "s"));
    expect([bench.network.connections.length, second.state]).toEqual([1, "LIVE"]);
    stream.close();
    expect([stream.state, lots(), second.state]).toEqual(["DOWN", "VENUE_ERROR", "LIVE"]);
    await bench.wait(TRUTH_EVERY_MS);
    const [late] = bench.loads.splice(0);
    second.close();
    expect([late?.isWanted(), bench.streams.openCount, bench.feeds[0]?.losses]).toEqual([false, 0, ["stopped"]]);
    late?.answer(9);
    await bench.wait(5_000);
    expect([bench.network.last.isEnded, bench.clock.pendingTimerCount, kinds()]).toEqual([
      true,
      0,
      ["LIVE", "positions"],
    ]);
  });

  it("are those of whole credentials: another secret opens another one and sees nothing of this", async () => {
    await live(5);
    const stranger = new TestSession("alice", "guess");
    const other = bench.open(stranger);
    expect([other.state, bench.streams.positionsOf(stranger, null), bench.feeds.length]).toEqual(["SYNCING", null, 2]);
    expect(bench.streams.ofAccount("alice")).toHaveLength(2);
    session.close();
    expect([bench.streams.ofSession(session), bench.streams.tagOf(session)]).toEqual([null, null]);
  });

  it("are refused by name beyond their bound, for a session that is closed, and when all are stopped", async () => {
    await live(5);
    const open = (one: TestSession) => bench.streams.openAccountStream(one, () => {});
    for (let count = 1; count < MAX_STREAMS; count++) open(new TestSession(`other ${count}`, "s"));
    expect(open(new TestSession("one more", "s"))).toEqual({
      ok: false,
      problem: "STREAM_LIMIT: all account streams of this venue are in use",
    });
    expect(open(new TestSession("alice", "s")).ok).toBe(true);
    session.close();
    expect(open(session)).toMatchObject({ ok: false });
    bench.streams.stop();
    expect([open(new TestSession("alice", "s")).ok, bench.streams.openCount]).toEqual([false, 0]);
  });
});
