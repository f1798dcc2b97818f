/** Readers that are too slow, do not read, or do not answer, on virtual time. */
import { describe, expect, it } from "vitest";
import { venueBook } from "../../api/book-reply.js";
import { fakeMarket } from "../../test/fake-room.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";
import { anInstrument } from "../../../engine/domain/test/instruments.js";

const KIB = 1024;
const BOOK = { op: "subscribe", topic: "book", symbols: ["BTC"], exchanges: ["venuetwo"], depth: 30, intervalMs: 0 };
const SUB = "book:BTC:venuetwo:30:0";
const TICKER = { op: "subscribe", topic: "ticker", symbols: ["BTC"], intervalMs: 50 };

/** A client whose path takes 8 KiB and who does not read. */
function stuck(stream: VirtualStream): VirtualClient {
  const client = stream.connect();
  client.pathBytesMax = 8 * KIB;
  client.op(BOOK);
  client.op(TICKER);
  client.isReading = false;
  return client;
}

/** Changes every level and the ticker, `count` turns long, ten a second. */
function churn(stream: VirtualStream, count: number): void {
  for (let round = 0; round < count; round++) {
    stream.load(stream.markets.btcTwo, 30, (stream.markets.btcTwo.book.seq % 50) + 1);
    stream.tick(stream.markets.btcOne, String(100 + stream.markets.btcTwo.book.seq));
    stream.prove();
    stream.advance(100);
  }
}

function expectUpToDate(stream: VirtualStream, client: VirtualClient): void {
  const rest = venueBook(stream.markets.btcTwo, "venuetwo", 30, stream.clock.monoNs());
  const fold = client.folds.get(SUB);
  expect([fold?.levels("venuetwo", "bids"), fold?.levels("venuetwo", "asks")]).toEqual([rest.bids, rest.asks]);
  expect(client.folds.get("ticker:BTC:venueone,venuetwo:50")?.fields["venueone"]).toMatchObject({
    markPrice: stream.markets.btcOne.ticker.markPrice,
  });
}

function own(client: VirtualClient): number {
  return client.frames.filter((frame) => frame.type === "update" && frame.seq > frame.prevSeq + 1).length;
}

describe("a reader beyond the soft limit", () => {
  it("is warned once, gets merged frames of its own when it reads, and falls in step again", () => {
    const stream = new VirtualStream({ softBufferBytes: 20 * KIB, stalledMs: 60_000 });
    const slow = stuck(stream);
    const fast = stream.connect();
    fast.op(BOOK);
    churn(stream, 40);
    expect([slow.connection.isLagging, stream.hub.counts.lagging, fast.connection.isLagging]).toEqual([true, 1, false]);
    // What waits stays near the limit while the fast one is told everything.
    expect(slow.bufferedBytes()).toBeLessThan(30 * KIB);
    const seqBefore = fast.folds.get(SUB)?.seq ?? 0;
    churn(stream, 20);
    expect(fast.folds.get(SUB)?.seq).toBe(seqBefore + 20);

    slow.isReading = true;
    slow.read(Number.POSITIVE_INFINITY);
    stream.turn();
    expect([slow.connection.isLagging, stream.hub.counts.lagging]).toEqual([false, 0]);
    expect(slow.frames.filter((frame) => frame.type === "lagging")).toHaveLength(1);
    // One merged update of each subscription that moved.
    expect(own(slow)).toBe(2);
    churn(stream, 3);
    expectUpToDate(stream, slow);
    expect(slow.folds.get(SUB)?.seq).toBe(fast.folds.get(SUB)?.seq);
    expect(fast.frames.some((frame) => frame.type === "lagging")).toBe(false);
  });

  it("who reads slowly is sent no more than was answered for: what arrives is fresh", () => {
    const stream = new VirtualStream({ softBufferBytes: 20 * KIB });
    const slow = stuck(stream);
    let worstLag = 0;
    for (let round = 0; round < 300; round++) {
      churn(stream, 1);
      slow.read(900);
      stream.turn();
      const key = slow.frames.findLast((frame) => frame.type === "update" && frame.sub === SUB);
      if (round > 150) worstLag = Math.max(worstLag, stream.clock.wallMs() - (key?.ts ?? 0));
    }
    // 9 KB a second against 15 KB a second of updates: without merging it would be minutes behind by now.
    expect(slow.end).toBeNull();
    expect(worstLag).toBeLessThan(8_000);
    slow.isReading = true;
    slow.read(Number.POSITIVE_INFINITY);
    churn(stream, 5);
    expectUpToDate(stream, slow);
  });

  it("may unsubscribe and subscribe while it lags", () => {
    const stream = new VirtualStream({ softBufferBytes: 20 * KIB, stalledMs: 60_000 });
    const slow = stuck(stream);
    churn(stream, 40);
    slow.op({ op: "unsubscribe", subs: [SUB] });
    slow.op({ op: "subscribe", topic: "status" });
    slow.op({ op: "subscribe", topic: "ticker", symbols: ["ETH"], intervalMs: 0 });
    churn(stream, 10);
    slow.isReading = true;
    slow.read(Number.POSITIVE_INFINITY);
    churn(stream, 5);
    expect([...slow.folds.keys()].sort()).toEqual([
      "status",
      "ticker:BTC:venueone,venuetwo:50",
      "ticker:ETH:venueone:0",
    ]);
    const after = slow.frames.findIndex((frame) => frame.type === "unsubscribed");
    expect(slow.frames.slice(after).some((frame) => frame.sub === SUB)).toBe(false);
    expect(stream.hub.counts).toMatchObject({ keys: 3, subscriptions: 3, lagging: 0 });
  });

  it("resumes where it was sent last, or is given a snapshot, while it lags", () => {
    const stream = new VirtualStream({ softBufferBytes: 20 * KIB, stalledMs: 60_000 });
    const slow = stuck(stream);
    churn(stream, 40);
    const epoch = slow.frames.find((frame) => frame.sub === SUB)?.epoch;
    slow.op({ op: "resume", subs: [{ sub: SUB, epoch, seq: 1 }] });
    slow.isReading = true;
    slow.read(Number.POSITIVE_INFINITY);
    churn(stream, 5);
    const snapshots = slow.frames.filter((frame) => frame.type === "snapshot" && frame.sub === SUB);
    expect(snapshots.map((frame) => frame.reason)).toEqual([undefined, "RESUME_MISS"]);
    expectUpToDate(stream, slow);
  });

  it("gets the snapshots of many subscriptions bit by bit, each before its updates", () => {
    const stream = new VirtualStream({ softBufferBytes: 20 * KIB });
    const client = stream.connect();
    client.pathBytesMax = 8 * KIB;
    client.isReading = false;
    for (let depth = 21; depth < 31; depth++)
      for (const intervalMs of [0, 50]) {
        client.op({ ...BOOK, depth, intervalMs });
        stream.advance(60);
      }
    expect(client.connection.subscriptionCount).toBe(20);
    for (let round = 0; round < 200; round++) {
      churn(stream, 1);
      client.read(4 * KIB);
      stream.turn();
    }
    client.isReading = true;
    client.read(Number.POSITIVE_INFINITY);
    churn(stream, 2);
    expect(client.folds.size).toBe(20);
    expectSnapshotFirst(client);
  });
});

function expectSnapshotFirst(client: VirtualClient): void {
  const begun = new Set<string>();
  for (const frame of client.frames) {
    if (frame.type === "snapshot") begun.add(frame.sub);
    if (frame.type === "update") expect(begun.has(frame.sub)).toBe(true);
  }
}

describe("a reader that never reads", () => {
  it("is closed with 4408 when none of what waits leaves", () => {
    const stream = new VirtualStream({ softBufferBytes: 20 * KIB });
    const client = stuck(stream);
    churn(stream, 40);
    expect(client.connection.isLagging).toBe(true);
    churn(stream, 110);
    expect([client.connection.isOpen, stream.hub.counts.closedByCode.get(4408)]).toEqual([false, 1]);
    expect(stream.hub.counts).toMatchObject({ connections: 0, subscriptions: 0, keys: 0, lagging: 0 });
    // Should it read after all, it learns why.
    client.read(Number.POSITIVE_INFINITY);
    expect(client.end).toEqual({ code: 4408, reason: "SLOW_CONSUMER" });
    expect(client.frames.filter(({ type }) => type === "lagging")).toHaveLength(1);
  });

  it("is noticed although the kernels swallow everything: an unanswered ping makes it lag, two end it", () => {
    const stream = new VirtualStream();
    const client = stream.connect();
    client.op(BOOK);
    client.isReading = false;
    churn(stream, 150);
    expect([client.connection.isLagging, client.bufferedBytes()]).toEqual([false, 0]);
    // The ping of 15 s stays unanswered for 3 s.
    churn(stream, 32);
    expect(client.connection.isLagging).toBe(true);
    churn(stream, 100);
    expect(client.connection.isOpen).toBe(true);
    churn(stream, 170);
    expect(stream.hub.counts.closedByCode.get(4408)).toBe(1);
  });

  it("who reads but never answers pings is closed after two of them, not before", () => {
    const stream = new VirtualStream();
    const client = stream.connect();
    client.answersPings = false;
    stream.advance(44_000);
    expect(client.end).toBeNull();
    stream.advance(2_000);
    expect([client.end?.code, stream.hub.counts.connections]).toEqual([4408, 0]);
  });
});

describe("a burst between two looks of the pulse", () => {
  it("makes a reader that cannot take it lag; it is not closed for it", () => {
    const stream = new VirtualStream({
      softBufferBytes: 20 * KIB,
      hardBufferBytes: 60 * KIB,
      fatalBufferBytes: 60 * KIB,
    });
    const client = stuck(stream);
    // Time stands still: no timer fires.
    for (let round = 0; round < 500; round++) {
      stream.load(stream.markets.btcTwo, 30, (round % 50) + 1);
      stream.turn();
    }
    expect([client.connection.isOpen, client.connection.isLagging]).toEqual([true, true]);
    expect(client.bufferedBytes()).toBeLessThan(45 * KIB);
    client.isReading = true;
    client.read(Number.POSITIVE_INFINITY);
    churn(stream, 2);
    expectUpToDate(stream, client);
  });
});

describe("the hard limits", () => {
  it("more than the hard limit for its time closes; shorter does not", () => {
    const limits = { softBufferBytes: 200 * KIB, hardBufferBytes: 30 * KIB, hardBufferMs: 3_000, stalledMs: 60_000 };
    for (const [readAfterMs, isOpen] of [
      [2_000, true],
      [4_000, false],
    ] as const) {
      const stream = new VirtualStream(limits);
      const client = stuck(stream);
      // Filled between two looks at the connection.
      for (let round = 0; round < 40; round++) {
        stream.load(stream.markets.btcTwo, 30, round + 1);
        stream.turn();
      }
      expect(client.bufferedBytes()).toBeGreaterThan(30 * KIB);
      stream.advance(readAfterMs);
      if (isOpen) client.read(60 * KIB);
      stream.advance(2_500);
      expect(client.connection.isOpen).toBe(isOpen);
    }
  });

  it("more than the fatal limit closes at once", () => {
    const stream = new VirtualStream({ fatalBufferBytes: 40 * KIB });
    const client = stuck(stream);
    for (let round = 0; round < 100 && client.connection.isOpen; round++) {
      stream.load(stream.markets.btcTwo, 30, round + 1);
      stream.turn();
    }
    expect(stream.hub.counts.closedByCode.get(4408)).toBe(1);
  });
});

describe("the inbound limit", () => {
  it("lets 20 frames a second through: the 21st of one moment ends the connection, spread out they are fine", () => {
    const stream = new VirtualStream();
    const [burst, steady] = [stream.connect(), stream.connect()];
    for (let count = 0; count < 25; count++) burst.op({ op: "ping" });
    const kinds = burst.frames.map((frame) => (frame.type === "error" ? frame.code : frame.type));
    expect(kinds).toEqual([...Array(20).fill("pong"), "RATE_LIMITED"]);
    expect(burst.end).toEqual({ code: 4429, reason: "RATE_LIMITED" });
    for (let count = 0; count < 200; count++) {
      steady.op({ op: "ping" });
      stream.advance(50);
    }
    expect(steady.end).toBeNull();
  });
});

describe("time", () => {
  it("beats every 5 s, pings every 15 s, and runs no timer without connections", () => {
    const stream = new VirtualStream();
    const client = stream.connect();
    stream.advance(60_000);
    const beats = client.frames.filter((frame) => frame.type === "heartbeat");
    expect([beats.length, beats.at(-1)?.n]).toEqual([12, 12]);
    expect(client.pingCount).toBe(4);
    client.cut();
    expect(stream.clock.pendingTimerCount).toBe(0);
    expect(stream.hub.counts).toMatchObject({ connections: 0, keys: 0 });
  });

  it("calls a ticker STALE after 15 s without a frame, and LIVE with the next", () => {
    const stream = new VirtualStream();
    const client = stream.connect();
    client.op({ ...TICKER, intervalMs: 1000 });
    for (let second = 0; second < 16; second++) {
      stream.prove();
      stream.advance(1000);
    }
    const updates = () => client.frames.filter((frame) => frame.type === "update");
    expect(updates().map((frame) => frame.data["venueone"])).toEqual([{ state: "STALE", ageMs: expect.any(Number) }]);
    expect(updates()[0]?.data["venueone"]?.["ageMs"]).toBeGreaterThan(15_000);
    stream.tick(stream.markets.btcOne, "101");
    stream.advance(1000);
    expect(updates().at(-1)?.data["venueone"]).toMatchObject({ state: "LIVE", markPrice: "101" });
  });

  it("keeps each interval: at most one update in its time, from one timer", () => {
    const stream = new VirtualStream();
    const client = stream.connect();
    for (const intervalMs of [0, 50, 100, 250, 1000]) client.op({ ...TICKER, intervalMs });
    // Ten seconds, a change every 10 ms.
    const from = client.frames.length;
    for (let turn = 0; turn < 1000; turn++) {
      stream.tick(stream.markets.btcOne, String(turn + 1));
      if (turn % 50 === 0) stream.prove();
      stream.advance(10);
    }
    const counts = [0, 50, 100, 250, 1000].map(
      (intervalMs) =>
        client.frames.slice(from).filter((frame) => frame.type === "update" && frame.sub.endsWith(`:${intervalMs}`))
          .length,
    );
    expect(counts).toEqual([1000, 200, 100, 40, 10]);
    expect(stream.clock.pendingTimerCount).toBe(1);
  });

  it("follows a market that its room replaces, and one that is listed no more", () => {
    const stream = new VirtualStream();
    const client = stream.connect();
    client.op({ ...BOOK, depth: 5 });
    client.op(TICKER);
    const markets = stream.two.markets as Map<string, (typeof stream.markets)["btcTwo"]>;
    markets.delete("BTC");
    stream.advance(300);
    const fold = client.folds.get("book:BTC:venuetwo:5:0");
    expect([fold?.levels("venuetwo", "bids"), fold?.fields["venuetwo"]]).toEqual([[], { state: "DOWN" }]);
    const replaced = fakeMarket(anInstrument({ venue: "venuetwo", priceDecimals: 2 }));
    stream.load(replaced);
    markets.set("BTC", replaced);
    stream.advance(300);
    expect(fold?.levels("venuetwo", "bids")[0]).toEqual(["100", "0.005"]);
    expect(fold?.levels("venuetwo", "bids")).toHaveLength(5);
  });
});
