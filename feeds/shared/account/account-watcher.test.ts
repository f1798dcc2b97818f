/** Accounts watched over one socket: what is lost, late, slow or refused on the way, and who is watched at all. */
import { describe, expect, it } from "vitest";
import { COIN, positionsOf, sessionOf, WatchBench } from "../test/watched-venue.js";

const CHANNELS = ["positions/alice", "orders/alice"];
const askedFor = (names: readonly string[]): readonly string[] =>
  names.map((name) => JSON.stringify({ subscribe: name }));

describe("an account that is watched", () => {
  it("is LIVE once all its channels are acknowledged and a read that began after that was adopted", async () => {
    const bench = new WatchBench();
    bench.venue.lots.set("alice", 5);
    const stream = await bench.written("alice");
    expect(bench.sent).toEqual(askedFor(CHANNELS));
    bench.receive({ ack: "positions/alice" });
    await bench.clock.advanceAsync(1_000);
    expect([bench.venue.calls, stream.state, bench.lots(stream)]).toEqual([[], "SYNCING", null]);
    bench.receive({ ack: "orders/alice" });
    await bench.clock.advanceAsync(0);
    expect([bench.venue.calls, bench.states(), bench.lots(stream)]).toEqual([
      ["account alice"],
      ["SYNCING", "LIVE"],
      5,
    ]);
  });

  it("is not LIVE by a read that began before its last channel was acknowledged, also after an unreadable frame", async () => {
    const bench = new WatchBench();
    bench.venue.readMs = 100;
    const stream = await bench.written("alice");
    bench.receive({ ack: "positions/alice" });
    bench.receive({ key: "alice" });
    await bench.clock.advanceAsync(10);
    bench.receive({ ack: "orders/alice" });
    await bench.clock.advanceAsync(95);
    expect([stream.state, bench.venue.calls.length]).toEqual(["SYNCING", 1]);
    await bench.clock.advanceAsync(10);
    expect(stream.state).toBe("LIVE");
  });

  it("emits to each listener, whatever the others' bugs are, and to none that has left", async () => {
    const bench = new WatchBench();
    await bench.live("alice");
    const kinds: string[] = [];
    const failing = bench.open("alice", () => {
      throw new Error("bug");
    });
    const stream = bench.open("alice", (event) => kinds.push(event.kind));
    await bench.clock.advanceAsync(0);
    bench.tell("alice", 4);
    expect(kinds).toEqual(["state", "positions"]);
    stream.close();
    stream.close();
    bench.tell("alice", 3);
    expect([kinds.length, failing.state]).toEqual([2, "LIVE"]);
  });

  it("has no timer and no stream left when the watcher is stopped", async () => {
    const bench = new WatchBench();
    const stream = await bench.live("alice");
    bench.watcher.stop();
    await bench.clock.advanceAsync(60_000);
    expect([stream.state, bench.clock.pendingTimerCount]).toEqual(["DOWN", 0]);
    expect(bench.watcher.openAccountStream(sessionOf("alice"), () => {})).toMatchObject({ ok: false });
  });
});

describe("a watcher that is stopped while it asks whose a session is", () => {
  it("asks the venue no more and has no timer left", async () => {
    const bench = new WatchBench();
    bench.venue.unresolved.set("alice", "TIMEOUT");
    const stream = bench.open("alice");
    await bench.clock.advanceAsync(0);
    expect(bench.clock.pendingTimerCount).toBe(1);
    bench.watcher.stop();
    bench.venue.unresolved.delete("alice");
    expect(bench.clock.pendingTimerCount).toBe(0);
    await bench.clock.advanceAsync(60_000);
    expect([stream.state, bench.states()]).toEqual(["DOWN", ["DOWN"]]);
    expect(stream.positions()).toMatchObject({ ok: false, code: "VENUE_ERROR" });
  });
});

describe("a frame that is lost", () => {
  it("is made good by the next regular read, and the difference is counted", async () => {
    const bench = new WatchBench();
    const stream = await bench.live("alice");
    bench.venue.lots.set("alice", 7);
    await bench.clock.advanceAsync(55_000);
    expect(bench.lots(stream)).toBe(0);
    await bench.clock.advanceAsync(10_000);
    expect([bench.lots(stream), bench.watcher.stats().differenceCount]).toEqual([7, 1]);
  });

  it("of an order of ours is read as soon as a read surely shows it", async () => {
    const bench = new WatchBench();
    await bench.live("alice");
    const account = bench.watcher.get("alice");
    account?.reads.sent({ clientId: "1", coin: COIN, side: "BUY", qtyLots: 3, rests: false });
    account?.reads.answered("1", { status: "FILLED", filledLots: 3 });
    account?.refreshSoon();
    bench.venue.lots.set("alice", 3);
    expect(bench.watcher.livePositions("alice", null)).toBeNull();
    await bench.clock.advanceAsync(1_700);
    expect(bench.watcher.livePositions("alice", null)).toMatchObject({ value: [{ qtyLots: 3 }] });
    expect(bench.venue.calls).toEqual(["account alice", "positions alice"]);
  });

  it("of an order that was answered later is waited for as long as a read would not surely show it", async () => {
    const bench = new WatchBench();
    await bench.live("alice");
    const account = bench.watcher.get("alice");
    account?.reads.sent({ clientId: "1", coin: COIN, side: "BUY", qtyLots: 3, rests: false });
    account?.refreshSoon();
    await bench.clock.advanceAsync(1_000);
    account?.reads.answered("1", { status: "FILLED", filledLots: 3 });
    await bench.clock.advanceAsync(1_400);
    expect(bench.venue.calls).toEqual(["account alice"]);
    await bench.clock.advanceAsync(1_000);
    expect(bench.venue.calls).toEqual(["account alice", "positions alice"]);
  });

  it("of an order of ours ends LIVE where it can be neither streamed nor read", async () => {
    const bench = new WatchBench();
    const stream = await bench.live("alice");
    bench.watcher.get("alice")?.reads.doubt();
    bench.watcher.get("alice")?.refreshSoon();
    bench.venue.answers = "fails";
    await bench.clock.advanceAsync(5_000);
    expect([stream.state, bench.lots(stream)]).toEqual(["SYNCING", null]);
    bench.venue.answers = "truly";
    await bench.clock.advanceAsync(20_000);
    expect(stream.state).toBe("LIVE");
  });

  it("is found where a caller's own read contradicts the stream, which is not trusted until it agrees again", async () => {
    const bench = new WatchBench();
    await bench.live("alice");
    bench.venue.lots.set("alice", 9);
    bench.venue.readMs = 50;
    const account = bench.watcher.get("alice");
    expect(account?.compare(null, positionsOf(9))).toEqual(positionsOf(9));
    expect(account?.compare(null, positionsOf(9))).toEqual(positionsOf(9));
    expect(bench.watcher.livePositions("alice", null)).toBeNull();
    await bench.clock.advanceAsync(100);
    // One read for both.
    expect(bench.venue.calls).toEqual(["account alice", "positions alice"]);
    await bench.clock.advanceAsync(2_000);
    expect(bench.watcher.livePositions("alice", null)).toMatchObject({ value: [{ qtyLots: 9 }] });
  });
});

describe("a frame that cannot be read", () => {
  it("takes its account alone out of LIVE until it was read, and once more where another came meanwhile", async () => {
    const bench = new WatchBench();
    const [alice, bob] = [await bench.live("alice"), await bench.live("bob")];
    bench.venue.readMs = 100;
    bench.receive({ key: "alice" });
    await bench.clock.advanceAsync(50);
    bench.tell("alice", 0.5);
    await bench.clock.advanceAsync(60);
    expect([alice.state, bob.state, bench.watcher.stats().decodeErrorCount]).toEqual(["SYNCING", "LIVE", 2]);
    await bench.clock.advanceAsync(1_000);
    expect(alice.state).toBe("LIVE");
  });

  it("may be of any account where it names none, and changes nothing where its account is not watched", async () => {
    const bench = new WatchBench();
    const streams = [await bench.live("alice"), await bench.live("bob")];
    bench.receive({ key: "carol" });
    expect(streams.map(({ state }) => state)).toEqual(["LIVE", "LIVE"]);
    bench.receive({});
    expect(streams.map(({ state }) => state)).toEqual(["SYNCING", "SYNCING"]);
    expect(bench.watcher.stats().decodeErrorCount).toBe(2);
    await bench.clock.advanceAsync(10);
    expect(streams.map(({ state }) => state)).toEqual(["LIVE", "LIVE"]);
  });
});

describe("a read that is older than what was streamed since", () => {
  it("undoes nothing, neither the first one nor a later look", async () => {
    const bench = new WatchBench();
    bench.venue.lots.set("alice", 5);
    bench.venue.readMs = 500;
    const stream = await bench.written("alice");
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(100);
    bench.tell("alice", 8);
    await bench.clock.advanceAsync(500);
    expect([stream.state, bench.lots(stream)]).toEqual(["LIVE", 8]);
    bench.watcher.get("alice")?.refresh.now();
    await bench.clock.advanceAsync(100);
    bench.tell("alice", 6);
    await bench.clock.advanceAsync(500);
    expect([bench.lots(stream), bench.watcher.stats().differenceCount]).toEqual([6, 0]);
  });
});

describe("a connection that is lost", () => {
  it("ends LIVE at once; all is asked for and acknowledged again before a new read makes it LIVE", async () => {
    const bench = new WatchBench();
    const stream = await bench.live("alice");
    bench.network.last.end(1006);
    expect([stream.state, bench.lots(stream)]).toEqual(["STALE", null]);
    bench.venue.lots.set("alice", 2);
    await bench.clock.advanceAsync(1_000);
    bench.network.last.open();
    await bench.clock.advanceAsync(10);
    expect(bench.network.last.sent.filter((text) => !text.includes("ping"))).toEqual(askedFor(CHANNELS));
    bench.tell("alice");
    expect(stream.state).toBe("STALE");
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(0);
    expect([bench.lots(stream), bench.states()]).toEqual([2, ["SYNCING", "LIVE", "STALE", "LIVE"]]);
  });

  it("takes the read that was under way with it: its answer makes no account LIVE on the next one", async () => {
    const bench = new WatchBench();
    bench.venue.readMs = 3_000;
    const stream = await bench.written("alice");
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(10);
    bench.network.last.end(1006);
    await bench.clock.advanceAsync(1_500);
    bench.network.last.open();
    await bench.clock.advanceAsync(10);
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(2_000);
    expect(stream.state).toBe("STALE");
    await bench.clock.advanceAsync(1_000);
    expect([stream.state, bench.venue.calls.length]).toEqual(["LIVE", 2]);
  });
});

describe("a connection that is silent", () => {
  it("ends LIVE where any of its frames proves the accounts, and after that only a read makes them LIVE", async () => {
    const bench = new WatchBench();
    const stream = await bench.live("alice");
    bench.network.pong = null;
    await bench.clock.advanceAsync(8_000);
    expect(stream.state).toBe("STALE");
    bench.venue.lots.set("alice", 4);
    bench.venue.answers = "fails";
    bench.receive({ pong: true });
    bench.network.pong = '{"pong":true}';
    await bench.clock.advanceAsync(2_000);
    expect(bench.lots(stream)).toBeNull();
    bench.venue.answers = "truly";
    await bench.clock.advanceAsync(20_000);
    expect(bench.lots(stream)).toBe(4);
  });

  it("is not made LIVE by a read that was under way when it fell silent", async () => {
    const bench = new WatchBench();
    bench.venue.readMs = 9_000;
    const stream = await bench.written("alice");
    bench.acknowledge("alice");
    bench.network.pong = null;
    await bench.clock.advanceAsync(9_500);
    expect([stream.state, bench.venue.calls.length]).toEqual(["SYNCING", 1]);
    bench.venue.readMs = 0;
    bench.receive({ pong: true });
    await bench.clock.advanceAsync(1_500);
    expect([stream.state, bench.venue.calls.length]).toEqual(["LIVE", 2]);
  });

  it("of whole states is probed where only they prove an account: quiet it stays LIVE, dead it is asked for again", async () => {
    const bench = new WatchBench({ isProvenByConnection: false, livenessMs: 20_000 });
    const stream = await bench.live("alice");
    await bench.clock.advanceAsync(7_000);
    expect([stream.state, bench.watcher.livePositions("alice", null)]).toEqual(["LIVE", null]);
    await bench.clock.advanceAsync(14_000);
    expect([stream.state, bench.venue.calls.at(-1)]).toEqual(["LIVE", "positions alice"]);
    const sentCount = bench.sent.length;
    bench.venue.lots.set("alice", 4);
    await bench.clock.advanceAsync(21_000);
    expect([stream.state, bench.sent.slice(sentCount).filter((text) => text.includes("unsubscribe")).length]).toEqual([
      "STALE",
      2,
    ]);
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(10);
    expect(bench.lots(stream)).toBe(4);
  });
});

describe("a read of the whole account", () => {
  it("that fails is no flat account: it is tried again, logged after five, and LIVE comes with the one that succeeds", async () => {
    const lines: string[] = [];
    const log = (event: string): void => void lines.push(event);
    const bench = new WatchBench({ logger: { debug: log, info: log, warn: log, error: log } });
    bench.venue.lots.set("alice", 5);
    bench.venue.answers = "fails";
    const stream = await bench.written("alice");
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(60_000);
    expect([stream.state, bench.lots(stream)]).toEqual(["SYNCING", null]);
    expect(bench.venue.calls.length).toBeGreaterThan(4);
    expect(lines).toContain("venue.account.unreconciled");
    bench.venue.answers = "truly";
    await bench.clock.advanceAsync(15_000);
    expect([bench.lots(stream), bench.watcher.stats().resyncCount]).toEqual([5, 1]);
  });

  it("that hangs holds nothing up but itself: frames are taken, nothing else is asked until its time is over", async () => {
    const bench = new WatchBench();
    bench.venue.answers = "hangs";
    const stream = await bench.written("alice");
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(1_000);
    bench.venue.answers = "truly";
    bench.venue.lots.set("alice", 6);
    bench.tell("alice");
    bench.receive({ key: "alice" });
    await bench.clock.advanceAsync(3_900);
    expect([stream.state, bench.venue.calls]).toEqual(["SYNCING", ["account alice"]]);
    expect(bench.events.filter(({ kind }) => kind === "positions")).toHaveLength(1);
    await bench.clock.advanceAsync(1_000);
    expect([bench.lots(stream), bench.venue.calls.length]).toEqual([6, 2]);
  });

  it("that the way to the venue is shut for is asked again when it opens, and not before", async () => {
    const bench = new WatchBench();
    bench.venue.answers = "refuses";
    bench.venue.refusedMs = 7_000;
    const stream = await bench.written("alice");
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(6_900);
    bench.venue.answers = "truly";
    expect(bench.venue.calls).toHaveLength(1);
    await bench.clock.advanceAsync(500);
    expect([stream.state, bench.venue.calls.length]).toEqual(["LIVE", 2]);
  });
});

describe("a look at the positions", () => {
  it("that hangs or fails does not end LIVE, the age shows it, and a second is not sent beside it", async () => {
    const bench = new WatchBench();
    bench.venue.lots.set("alice", 5);
    const stream = await bench.live("alice");
    const asOfMs = (): number => {
      const read = stream.positions();
      return read.ok ? read.asOfMs : 0;
    };
    const provenMs = asOfMs();
    bench.venue.answers = "hangs";
    for (let count = 0; count < 3; count++) bench.watcher.get("alice")?.refresh.now();
    await bench.clock.advanceAsync(6_000);
    expect([bench.lots(stream), asOfMs(), bench.venue.calls.length]).toEqual([5, provenMs, 2]);
  });
});

describe("a regular read that fails", () => {
  it("is repeated within seconds, and what no frame reported is found then", async () => {
    const bench = new WatchBench();
    const stream = await bench.live("alice");
    bench.venue.lots.set("alice", 7);
    bench.venue.answers = "fails";
    await bench.clock.advanceAsync(62_000);
    expect([bench.lots(stream), bench.venue.calls]).toEqual([0, ["account alice", "positions alice"]]);
    bench.venue.answers = "truly";
    await bench.clock.advanceAsync(5_000);
    expect([bench.lots(stream), bench.venue.calls.length]).toEqual([7, 3]);
    // The next one is regular again.
    await bench.clock.advanceAsync(55_000);
    expect(bench.venue.calls).toHaveLength(3);
  });

  it("is repeated ever more slowly while it fails, at most every other second and at least twice a minute", async () => {
    const bench = new WatchBench();
    const stream = await bench.live("alice");
    bench.venue.answers = "fails";
    await bench.clock.advanceAsync(59_000);
    const gapsSec: number[] = [];
    for (let second = 0, callCount = bench.venue.calls.length, atSecond = 0; second < 600; second++) {
      await bench.clock.advanceAsync(1_000);
      if (bench.venue.calls.length === callCount) continue;
      expect(bench.venue.calls.length).toBe(callCount + 1);
      if (callCount > 1) gapsSec.push(second - atSecond);
      callCount = bench.venue.calls.length;
      atSecond = second;
    }
    expect(Math.min(...gapsSec)).toBeGreaterThanOrEqual(2);
    expect(Math.max(...gapsSec)).toBeLessThanOrEqual(34);
    expect(gapsSec[0]).toBeLessThanOrEqual(5);
    expect(gapsSec.length).toBeGreaterThan(600 / 34 - 2);
    expect(gapsSec.length).toBeLessThan(80);
    expect(stream.state).toBe("LIVE");
  });
});

describe("a channel that the venue does not acknowledge", () => {
  it("is asked for again with the account's others, each time half as patient again", async () => {
    const bench = new WatchBench();
    const stream = await bench.written("alice");
    bench.receive({ ack: "positions/alice" });
    const rounds: number[] = [];
    let beforeMs = bench.clock.trueMs();
    for (let second = 0; second < 40; second++) {
      const count = bench.sent.length;
      await bench.clock.advanceAsync(1_000);
      if (bench.sent.length === count) continue;
      expect(bench.sent.length - count).toBe(4);
      rounds.push(Math.round((bench.clock.trueMs() - beforeMs) / 1_000));
      beforeMs = bench.clock.trueMs();
    }
    expect(rounds.length).toBeGreaterThanOrEqual(3);
    expect(rounds).toEqual([...new Set(rounds)].sort((left, right) => left - right));
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(2_000);
    expect(stream.state).toBe("LIVE");
    // As patient as at first: what was refused then says nothing of now.
    bench.venue.ending.add("alice");
    await bench.clock.advanceAsync(1_000);
    bench.venue.ending.clear();
    const count = bench.sent.length;
    await bench.clock.advanceAsync(6_500);
    expect(bench.sent.length - count).toBe(4);
  });

  it("is not taken for refused while it waits for the pace of messages", async () => {
    const bench = new WatchBench({ messagesPerMinute: 3 });
    await bench.live("alice");
    await bench.written("bob");
    await bench.clock.advanceAsync(40_000);
    expect(bench.sent).toHaveLength(3);
    await bench.clock.advanceAsync(23_000);
    expect(bench.sent).toHaveLength(4);
  });

  it("is not taken for refused while it waits for the pace on the next connection either", async () => {
    const bench = new WatchBench({ messagesPerMinute: 2 });
    await bench.live("alice");
    await bench.clock.advanceAsync(20_000);
    bench.network.last.end(1006);
    await bench.clock.advanceAsync(1_000);
    bench.network.last.open();
    await bench.clock.advanceAsync(45_000);
    expect(bench.sent).toEqual([...askedFor(CHANNELS), ...askedFor(CHANNELS)]);
  });
});

describe("an account that no caller asked for", () => {
  const use = (bench: WatchBench, key: string): void => bench.watcher.noteUse(key, null);

  it("is watched from its second use on, and dropped when it was not used for a while", async () => {
    const bench = new WatchBench();
    use(bench, "alice");
    await bench.clock.advanceAsync(1_000);
    expect(bench.network.connections).toHaveLength(0);
    use(bench, "alice");
    bench.network.last.open();
    await bench.clock.advanceAsync(10);
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(50_000);
    expect(bench.watcher.livePositions("alice", null)).not.toBeNull();
    use(bench, "alice");
    await bench.clock.advanceAsync(59_000);
    expect(bench.watcher.stats()).toMatchObject({ accountCount: 1, liveCount: 1 });
    const account = bench.watcher.get("alice");
    await bench.clock.advanceAsync(3_000);
    expect([bench.watcher.stats().accountCount, account?.state]).toEqual([0, "DOWN"]);
    expect(bench.sent.filter((text) => text.includes("unsubscribe"))).toHaveLength(2);
    await bench.clock.advanceAsync(60_000);
    expect(bench.watcher.stats().socket?.subscriptionCount).toBe(0);
  });

  it("makes room for one that is asked for, the one used longest ago first", async () => {
    const bench = new WatchBench({ limits: { maxAccounts: 2 } });
    for (const key of ["alice", "bob", "alice", "bob"]) use(bench, key);
    await bench.clock.advanceAsync(1_000);
    use(bench, "alice");
    bench.open("carol");
    await bench.clock.advanceAsync(0);
    expect(bench.watcher.accounts().map(({ key }) => key)).toEqual(["alice", "carol"]);
  });

  it("is watched beside few others of its kind, and stays beside few when the last who asked for it has left", async () => {
    const bench = new WatchBench();
    const carol = bench.open("carol");
    for (const key of ["alice", "bob", "alice", "bob", "dave", "dave", "carol"]) use(bench, key);
    await bench.clock.advanceAsync(0);
    use(bench, "carol");
    expect(bench.watcher.accounts().map(({ key }) => key)).toEqual(["alice", "bob", "carol"]);
    carol.close();
    expect(bench.watcher.accounts().map(({ key }) => key)).toEqual(["alice", "bob"]);
    const few = new WatchBench({ limits: { maxAccounts: 5 } });
    for (const key of ["alice", "alice", "bob", "bob", "carol", "carol"]) use(few, key);
    expect(few.watcher.accounts().map(({ key }) => key)).toEqual(["alice", "bob"]);
  });

  it("makes no room while it has a listener", async () => {
    const bench = new WatchBench({ limits: { maxAccounts: 1 } });
    use(bench, "alice");
    use(bench, "alice");
    bench.open("alice");
    await bench.clock.advanceAsync(0);
    expect(bench.watcher.openAccountStream(sessionOf("bob"), () => {})).toMatchObject({ ok: false });
  });

  it("is dropped where the venue does not take its subscription: no caller is there to ask in another way", async () => {
    const bench = new WatchBench();
    const stream = await bench.written("alice");
    use(bench, "alice");
    stream.close();
    await bench.clock.advanceAsync(4_000);
    expect(bench.watcher.stats().accountCount).toBe(1);
    await bench.clock.advanceAsync(3_000);
    expect(bench.watcher.stats().accountCount).toBe(0);
  });

  it("takes the place of another only where beginning costs the venue nothing", async () => {
    for (const hotReplaces of [false, true]) {
      const bench = new WatchBench({ limits: { maxAccounts: 1, hotReplaces } });
      for (const key of ["alice", "alice", "bob", "bob"]) use(bench, key);
      expect(bench.watcher.accounts().map(({ key }) => key)).toEqual([hotReplaces ? "bob" : "alice"]);
    }
  });

  it("any more is dropped at once, or stays for a while where being asked for counts as a use", async () => {
    for (const asksAreUses of [false, true]) {
      const bench = new WatchBench({ limits: { asksAreUses } });
      const stream = await bench.live("alice");
      stream.close();
      expect([asksAreUses, bench.watcher.stats().accountCount]).toEqual([asksAreUses, asksAreUses ? 1 : 0]);
      bench.watcher.get("alice")?.source.access.keep("alice");
      await bench.clock.advanceAsync(62_000);
      expect(bench.watcher.stats().accountCount).toBe(0);
    }
  });
});

describe("an account that no owner may read any more", () => {
  it("is dropped, and a stream of it that is closed later takes nothing from those who watch it since", async () => {
    const bench = new WatchBench();
    const first = await bench.live("alice");
    bench.venue.closed.add("alice");
    await bench.clock.advanceAsync(1_100);
    expect([first.state, bench.watcher.stats().accountCount]).toEqual(["DOWN", 0]);
    bench.venue.closed.clear();
    const second = await bench.written("alice");
    first.close();
    expect(bench.watcher.stats().accountCount).toBe(1);
    second.close();
    expect(bench.watcher.stats().accountCount).toBe(0);
  });

  it("is dropped also where a trade was allowed to, once the last trade is a while ago", async () => {
    const bench = new WatchBench();
    const stream = await bench.live("alice");
    bench.watcher.noteUse("alice", null);
    bench.venue.closed.add("alice");
    await bench.clock.advanceAsync(58_000);
    expect(stream.state).toBe("LIVE");
    await bench.clock.advanceAsync(5_000);
    expect(stream.state).toBe("DOWN");
  });

  it("is asked for again as a whole before that, where only its subscription ends", async () => {
    const bench = new WatchBench();
    const stream = await bench.live("alice");
    const sentCount = bench.sent.length;
    bench.venue.ending.add("alice");
    await bench.clock.advanceAsync(1_100);
    bench.venue.ending.clear();
    expect([stream.state, bench.sent.length - sentCount]).toEqual(["SYNCING", 4]);
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(10);
    expect(stream.state).toBe("LIVE");
  });
});

describe("the places of a venue", () => {
  it("are bounded: one too many is refused by name, and one that was given back is free only later", async () => {
    const bench = new WatchBench({ limits: { maxAccounts: 1 }, freeingMs: 3_000 });
    const alice = await bench.live("alice");
    expect(bench.watcher.openAccountStream(sessionOf("bob"), () => {})).toEqual({
      ok: false,
      problem: "STREAM_LIMIT: all 1 account streams of this venue are in use",
    });
    alice.close();
    await bench.written("bob");
    expect(bench.sent.some((text) => text.includes("bob"))).toBe(false);
    await bench.clock.advanceAsync(4_500);
    expect(bench.sent.some((text) => text.includes("bob"))).toBe(true);
  });

  it("are fewer than configured where the venue refuses one: what it has not acknowledged is dropped", async () => {
    const bench = new WatchBench();
    const alice = await bench.live("alice");
    const bob = await bench.written("bob");
    bench.receive({ full: true });
    expect([alice.state, bob.state]).toEqual(["LIVE", "DOWN"]);
    expect(bench.watcher.openAccountStream(sessionOf("carol"), () => {})).toMatchObject({ ok: false });
  });
});

describe("whose a session is", () => {
  it("is asked again while the venue does not answer, and not where it refuses", async () => {
    const bench = new WatchBench();
    bench.venue.unresolved.set("alice", "TIMEOUT").set("bob", "AUTH");
    const [alice, bob] = [bench.open("alice"), bench.open("bob")];
    await bench.clock.advanceAsync(0);
    expect([alice.state, bob.state, bob.positions()]).toMatchObject(["SYNCING", "DOWN", { ok: false, code: "AUTH" }]);
    bench.venue.unresolved.clear();
    await bench.clock.advanceAsync(5_000);
    expect(bench.watcher.accounts().map(({ key }) => key)).toEqual(["alice"]);
    expect(bench.watcher.openAccountStream(sessionOf(""), () => {})).toEqual({ ok: false, problem: "names nobody" });
  });

  it("matters no more once the stream is closed", async () => {
    const bench = new WatchBench();
    bench.open("alice").close();
    await bench.clock.advanceAsync(1_000);
    expect([bench.watcher.stats().accountCount, bench.events]).toEqual([0, []]);
  });
});

describe("what is held", () => {
  it("has moved for orders of ours before a listener receives it, and the first picture moved nothing", async () => {
    const bench = new WatchBench();
    bench.venue.lots.set("alice", 5);
    const seen: (number | null)[] = [];
    bench.open("alice", (event) => {
      if (event.kind === "positions") seen.push(bench.watcher.get("alice")?.reads.moveCount ?? null);
    });
    await bench.live("alice");
    bench.tell("alice", 6);
    expect(seen).toEqual([0, 1]);
  });

  it("is trusted again after an order of ours when its end and its move were streamed, without a read", async () => {
    const bench = new WatchBench();
    await bench.live("alice");
    const account = bench.watcher.get("alice");
    account?.reads.sent({ clientId: "1", coin: COIN, side: "BUY", qtyLots: 3, rests: false });
    account?.reads.answered("1", { status: "FILLED", filledLots: 3 });
    account?.refreshSoon();
    bench.receive({ key: "alice", kind: "ended", clientId: "1", filledLots: 3 });
    bench.tell("alice", 3);
    expect(bench.watcher.livePositions("alice", null)).toMatchObject({ value: [{ qtyLots: 3 }] });
    await bench.clock.advanceAsync(5_000);
    expect(bench.venue.calls).toEqual(["account alice"]);
  });
});

describe("the reads of an account that several keys watch", () => {
  /** A look after each frame that cannot be read. */
  const payersOfNext = async (bench: WatchBench, count = 1): Promise<readonly (string | null)[]> => {
    const before = bench.venue.payers.length;
    for (let look = 0; look < count; look++) {
      bench.receive({ key: "alice" });
      await bench.clock.advanceAsync(5_000);
    }
    return bench.venue.payers.slice(before);
  };
  const ignore = (): void => {};

  it("are paid by the key that has listened for longest, then by the next one", async () => {
    const bench = new WatchBench();
    const first = bench.open("alice", ignore, "pk_one");
    await bench.clock.advanceAsync(0);
    const second = bench.open("alice", ignore, "pk_two");
    bench.network.last.open();
    await bench.clock.advanceAsync(10);
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(10);
    expect(bench.venue.payers).toEqual(["pk_one"]);
    first.close();
    expect(new Set(await payersOfNext(bench))).toEqual(new Set(["pk_two"]));
    bench.open("alice", ignore, "pk_one");
    await bench.clock.advanceAsync(0);
    expect(new Set(await payersOfNext(bench, 3))).toEqual(new Set(["pk_two"]));
    second.close();
    // The regular read of the positions too.
    const before = bench.venue.payers.length;
    await bench.clock.advanceAsync(70_000);
    expect(bench.venue.calls.slice(before)).toContain("positions alice");
    expect(new Set(bench.venue.payers.slice(before))).toEqual(new Set(["pk_one"]));
  });

  it("are paid by who used it last where nobody listens, and by the account itself where no key is known", async () => {
    const bench = new WatchBench();
    bench.watcher.noteUse("alice", "pk_one");
    bench.watcher.noteUse("alice", "pk_two");
    bench.network.last.open();
    await bench.clock.advanceAsync(10);
    bench.acknowledge("alice");
    await bench.clock.advanceAsync(10);
    expect(bench.venue.payers).toEqual(["pk_two"]);
    bench.watcher.noteUse("alice", "pk_three");
    expect(new Set(await payersOfNext(bench))).toEqual(new Set(["pk_three"]));
    const listening = bench.open("alice", ignore, "pk_one");
    await bench.clock.advanceAsync(0);
    expect(new Set(await payersOfNext(bench))).toEqual(new Set(["pk_one"]));
    listening.close();
    bench.watcher.noteUse("alice", null);
    expect(new Set(await payersOfNext(bench))).toEqual(new Set([null]));
  });
});
