/** Subscribing, unsubscribing and resuming through the real server. */
import { describe, expect, it } from "vitest";
import { streamSuite } from "./stream-suite.js";

const suite = streamSuite();
const TICKER = "ticker:BTC:venueone,venuetwo:100";
const BOOK = "book:BTC:venuetwo:20:0";

describe("subscriptions of the stream", () => {
  it("are one per symbol with sorted exchanges, and have the same key for the same request", async () => {
    const client = await suite.open();
    const answer = await client.subscribe({
      topic: "ticker",
      symbols: ["BTC", "btc-usd", "PEPE"],
      intervalMs: 0,
    });
    expect(answer.subs.map((row) => row.sub)).toEqual(["ticker:BTC:venueone,venuetwo:0", "ticker:PEPE:venuetwo:0"]);
    const other = await suite.open();
    const again = await other.subscribe({
      topic: "ticker",
      symbols: ["BTC"],
      exchanges: ["venuetwo", "venueone", "venuetwo"],
      intervalMs: 0,
    });
    expect(again.subs[0]).toEqual({ ...answer.subs[0], seq: 1 });
    expect(suite.harness.server.streamCounts.keys).toBe(2);
  });

  it("get the same reply a second time, without a second snapshot", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "ticker", symbols: ["BTC"] });
    await client.subscribe({ topic: "ticker", symbols: ["BTC"] });
    await client.ask({ op: "ping" });
    expect(client.frames.filter((frame) => frame.type === "snapshot")).toHaveLength(1);
    expect(suite.harness.server.streamCounts.subscriptions).toBe(1);
  });

  it("give a late subscriber the shared place in the sequence", async () => {
    const [early, late] = [await suite.open(), await suite.open()];
    await early.subscribe({ topic: "book", symbols: ["BTC"], exchanges: ["venuetwo"], intervalMs: 0 });
    for (let lots = 1; lots <= 5; lots++) {
      suite.setBid(suite.harness.markets.btcTwo, 974_100, lots);
      await early.until(() => early.folds.get(BOOK)?.seq === lots + 1);
    }
    await late.subscribe({ topic: "book", symbols: ["BTC"], exchanges: ["venuetwo"], intervalMs: 0 });
    expect(late.folds.get(BOOK)?.seq).toBe(6);
    suite.setBid(suite.harness.markets.btcTwo, 974_100, 77);
    for (const client of [early, late]) await client.until(() => client.folds.get(BOOK)?.seq === 7);
    expect(late.folds.get(BOOK)?.levels("venuetwo", "bids")).toEqual(early.folds.get(BOOK)?.levels("venuetwo", "bids"));
  });

  it("end when the client unsubscribes: nothing follows, and the key and its listener end with the last", async () => {
    const [one, two] = [await suite.open(), await suite.open()];
    for (const client of [one, two]) await client.subscribe({ topic: "book", symbols: ["BTC"], intervalMs: 0 });
    const sub = "book:BTC:venueone,venuetwo:20:0";
    expect(await one.ask({ op: "unsubscribe", subs: [sub, "status"] })).toMatchObject({
      type: "unsubscribed",
      subs: [sub],
    });
    suite.setBid(suite.harness.markets.btcTwo, 974_100, 3);
    await two.next((frame) => frame.type === "update");
    await one.ask({ op: "ping" });
    expect(one.updates(sub)).toEqual([]);
    expect(suite.harness.server.streamCounts).toMatchObject({ keys: 1, subscriptions: 1 });
    await two.stop();
    await one.ask({ op: "ping" });
    expect(suite.harness.server.streamCounts).toMatchObject({ keys: 0, subscriptions: 0, connections: 1 });
    // All listeners are free again.
    const ends = Array.from({ length: 8 }, () =>
      suite.harness.markets.btcTwo.signal.listen({
        bookChanged() {},
        deepChanged() {},
        touchChanged() {},
        tickerChanged() {},
        traded() {},
      }),
    );
    for (const end of ends) end();
    expect((await one.ask({ op: "unsubscribe", subs: [sub] })).code).toBe("UNKNOWN_SUBSCRIPTION");
  });

  it("that are opened again after the last left have another epoch", async () => {
    const client = await suite.open();
    const first = await client.subscribe({ topic: "ticker", symbols: ["BTC"] });
    await client.ask({ op: "unsubscribe", subs: [TICKER] });
    const second = await client.subscribe({ topic: "ticker", symbols: ["BTC"] });
    expect(second.subs[0]?.epoch).not.toBe(first.subs[0]?.epoch);
  });
});

describe("a resumed subscription", () => {
  it("at the present head continues without a snapshot", async () => {
    const keeper = await suite.open();
    await keeper.subscribe({ topic: "book", symbols: ["BTC"], exchanges: ["venuetwo"], intervalMs: 0 });
    const { epoch, seq } = await keeper.fold(BOOK);
    const client = await suite.open();
    const answer = await client.ask({ op: "resume", subs: [{ sub: BOOK, epoch, seq }] });
    expect(answer).toMatchObject({ type: "resumed", subs: [{ sub: BOOK, epoch, seq, missed: false }] });
    suite.setBid(suite.harness.markets.btcTwo, 974_100, 3);
    // This client keeps no state of an earlier connection, so its fold refuses the update; the frame itself is right.
    await expect(client.next(() => false)).rejects.toThrow("an update before its snapshot");
    expect(client.frames.at(-1)).toMatchObject({ type: "update", sub: BOOK, epoch, prevSeq: seq, seq: seq + 1 });
    expect(client.frames.some((frame) => frame.type === "snapshot")).toBe(false);
  });

  it.each([
    ["an earlier place", (epoch: string, seq: number) => ({ epoch, seq: seq - 1 })],
    ["a place that never was", (epoch: string, seq: number) => ({ epoch, seq: seq + 5 })],
    ["another epoch", (_: string, seq: number) => ({ epoch: "k3v9", seq })],
    ["an epoch that is none", (_: string, seq: number) => ({ epoch: "' OR 1=1", seq })],
  ])("with %s gets a snapshot with its reason", async (_, place) => {
    const keeper = await suite.open();
    await keeper.subscribe({ topic: "book", symbols: ["BTC"], exchanges: ["venuetwo"], intervalMs: 0 });
    suite.setBid(suite.harness.markets.btcTwo, 974_100, 3);
    await keeper.until(() => keeper.folds.get(BOOK)?.seq === 2);
    const { epoch, seq } = await keeper.fold(BOOK);
    const client = await suite.open();
    const answer = await client.ask({ op: "resume", subs: [{ sub: BOOK, ...place(epoch, seq) }] });
    expect(answer.subs).toEqual([{ sub: BOOK, epoch, seq, missed: true }]);
    const fold = await client.fold(BOOK);
    expect(client.frames.find((frame) => frame.type === "snapshot")?.reason).toBe("RESUME_MISS");
    suite.setBid(suite.harness.markets.btcTwo, 974_100, 4);
    await client.until(() => fold.seq === seq + 1);
    expect(fold.levels("venuetwo", "bids")[0]).toEqual(["97410", "0.004"]);
  });

  it("of a stale epoch gets a snapshot of the new one, also when the key has no subscriber any more", async () => {
    const first = await suite.open();
    await first.subscribe({ topic: "ticker", symbols: ["BTC"] });
    const { epoch, seq } = await first.fold(TICKER);
    await first.stop();
    const second = await suite.open();
    const answer = await second.ask({ op: "resume", subs: [{ sub: TICKER, epoch, seq }] });
    expect(answer.subs[0]).toMatchObject({ missed: true });
    const fold = await second.fold(TICKER);
    expect([fold.epoch === epoch, fold.seq]).toEqual([false, 1]);
  });

  it("that is running already gets a fresh snapshot", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "ticker", symbols: ["BTC"] });
    const { epoch } = await client.fold(TICKER);
    await client.ask({ op: "resume", subs: [{ sub: TICKER, epoch, seq: 0 }] });
    await client.until(() => client.frames.filter((frame) => frame.type === "snapshot").length === 2);
    expect(suite.harness.server.streamCounts.subscriptions).toBe(1);
  });

  it("to a key that is not served here is refused, and opens nothing", async () => {
    for (const sub of [
      "ticker:btc:venueone:100",
      "ticker:BTC:venuetwo,venueone:100",
      "ticker:BTC:venuethree:100",
      "ticker:NOPE:venueone:100",
      "ticker:__proto__:venueone:100",
      "positions:0xabc#9f2c",
      ":::",
    ]) {
      const client = await suite.open();
      const answer = await client.ask({ op: "resume", subs: [{ sub, epoch: "a", seq: 1 }] });
      expect([answer.type, answer.code]).toEqual(["error", "UNKNOWN_SUBSCRIPTION"]);
      expect(suite.harness.server.streamCounts.keys).toBe(0);
    }
  });
});
