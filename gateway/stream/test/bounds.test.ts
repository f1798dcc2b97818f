/** Limits, readers that do not read, the address itself, shutdown. */
import { describe, expect, it } from "vitest";
import { loadBook } from "../../test/fake-room.js";
import { type Closed, StreamClient } from "./stream-client.js";
import { streamSuite } from "./stream-suite.js";

const suite = streamSuite();

describe("limits", () => {
  it("subscriptions of a connection: 200, and one more is refused whole", async () => {
    await suite.restart({ framesPerSecond: 1000 });
    const client = await suite.open();
    for (let depth = 1; depth <= 100; depth++)
      await client.subscribe({ topic: "book", symbols: ["BTC", "PEPE"], depth, intervalMs: 50 });
    expect([client.folds.size, suite.harness.server.streamCounts.subscriptions]).toEqual([200, 200]);
    const refused = await client.ask({ op: "subscribe", topic: "ticker", symbols: ["BTC"] });
    expect([refused.code, refused.details]).toEqual([
      "SUBSCRIPTION_LIMIT",
      { limit: 200, held: 200, of: "subscriptions" },
    ]);
    // One that runs is no new one.
    await client.subscribe({ topic: "book", symbols: ["BTC"], depth: 7, intervalMs: 50 });
    suite.setBid(suite.harness.markets.btcTwo, 974_100, 1);
    await client.until(() => [...client.folds.values()].filter((fold) => fold.seq === 2).length === 100);
    expect(suite.harness.server.streamCounts).toMatchObject({ subscriptions: 200, keys: 200 });
  });

  it("thousands of subscriptions over many connections share their keys", async () => {
    await suite.restart({ framesPerSecond: 1000 });
    const many = await Promise.all(Array.from({ length: 20 }, () => suite.open()));
    await Promise.all(
      many.map(async (client) => {
        for (let depth = 1; depth <= 50; depth++)
          await client.subscribe({ topic: "book", symbols: ["BTC", "PEPE"], depth, intervalMs: 100 });
      }),
    );
    expect(suite.harness.server.streamCounts).toMatchObject({ subscriptions: 2000, keys: 100, connections: 20 });
    suite.setBid(suite.harness.markets.btcTwo, 974_100, 1);
    await Promise.all(
      many.map((client) =>
        client.until(() => [...client.folds.values()].filter((fold) => fold.seq === 2).length === 50),
      ),
    );
    await Promise.all(many.map((client) => client.stop()));
    const last = await suite.open();
    await last.ask({ op: "ping" });
    expect(suite.harness.server.streamCounts).toMatchObject({ subscriptions: 0, keys: 0, connections: 1 });
  });

  it("keys over all connections: one more is refused with a time to come back, the connection stays", async () => {
    await suite.restart({ keysMax: 2 });
    const [one, two] = [await suite.open(), await suite.open()];
    await one.subscribe({ topic: "ticker", symbols: ["BTC", "PEPE"] });
    const refused = await two.ask({ op: "subscribe", topic: "book", symbols: ["BTC"] });
    expect([refused.code, refused.details]).toEqual(["OVERLOADED", { limit: 2, of: "keys", retryAfterMs: 1000 }]);
    await two.subscribe({ topic: "ticker", symbols: ["BTC"] });
  });

  it("levels of books, of a connection and in all: what is deep counts for what it holds, not as one", async () => {
    await suite.restart({ levelsMax: 3_000, connectionLevelsMax: 2_000 });
    const [one, two] = [await suite.open(), await suite.open()];
    const book = (depth: number, intervalMs: number, exchanges = ["venueone", "venuetwo"]) => ({
      op: "subscribe",
      topic: "book",
      symbols: ["BTC"],
      depth,
      intervalMs,
      exchanges,
    });
    // Two venues, two sides.
    await one.ask(book(400, 50));
    const refused = await one.ask(book(101, 100));
    expect([refused.code, refused.details]).toEqual([
      "SUBSCRIPTION_LIMIT",
      { limit: 2_000, held: 1_600, of: "levels" },
    ]);
    await one.ask(book(100, 100));
    // The same key is there already and costs nothing in all, but the connection as much as any.
    await two.ask(book(400, 50));
    const full = await two.ask(book(400, 250, ["venueone"]));
    expect([full.code, full.details]).toEqual(["SUBSCRIPTION_LIMIT", { limit: 2_000, held: 1_600, of: "levels" }]);
    const three = await suite.open();
    const beyond = await three.ask(book(500, 1_000, ["venueone"]));
    expect(beyond.type).toBe("subscribed");
    const over = await three.ask(book(101, 250, ["venueone"]));
    expect([over.code, over.details]).toEqual(["OVERLOADED", { limit: 3_000, of: "levels", retryAfterMs: 1_000 }]);
    await one.ask({ op: "unsubscribe", subs: ["book:BTC:venueone,venuetwo:100:100"] });
    expect((await three.ask(book(101, 250, ["venueone"]))).type).toBe("subscribed");
    await one.stop();
    await two.stop();
    await three.stop();
  });

  it("frames: a flood gets one error and 4429", async () => {
    const client = await suite.open();
    for (let count = 0; count < 600; count++) client.raw('{"op":"ping"}');
    expect(await client.closed).toEqual({ code: 4429, reason: "RATE_LIMITED" });
    expect(client.frames.filter((frame) => frame.type === "error").map((frame) => frame.code)).toEqual([
      "RATE_LIMITED",
    ]);
    // How many get through exactly is told on virtual time (slow-readers.test.ts): here the bucket refills meanwhile.
    const pongs = client.frames.filter((frame) => frame.type === "pong").length;
    expect(pongs).toBeGreaterThanOrEqual(20);
    expect(pongs).toBeLessThan(600);
  });

  it("control frames count as frames", async () => {
    const client = await suite.open();
    for (let count = 0; count < 60; count++) client.socket.ping();
    expect((await client.closed).code).toBe(4429);
  });

  it("close one connection too many with 1013 and the time to come back", async () => {
    await suite.restart({ connectionsMax: 2 });
    await suite.open();
    const second = await suite.open();
    const third = await suite.open();
    expect(await third.closed).toEqual({ code: 1013, reason: "TOO_MANY_CONNECTIONS" });
    expect(third.frames).toMatchObject([{ type: "status", reason: "TOO_MANY_CONNECTIONS", retryAfterMs: 1000 }]);
    await second.stop();
    const fourth = await suite.open();
    expect(await fourth.ask({ op: "ping" })).toMatchObject({ type: "pong" });
  });

  it("connections of one address", async () => {
    await suite.restart({ connectionsPerAddressMax: 1 });
    await suite.open();
    expect((await (await suite.open()).closed).code).toBe(1013);
  });
});

describe("the address itself", () => {
  it("answers 426 to a request that does not upgrade", async () => {
    const reply = await suite.harness.client.send("/ws", { outside: true });
    expect([reply.status, reply.headers["upgrade"], (reply.body as { code: string }).code]).toEqual([
      426,
      "websocket",
      "UPGRADE_REQUIRED",
    ]);
  });

  it("serves its description", async () => {
    const reply = await suite.harness.client.get("/asyncapi.json");
    expect(reply.body).toMatchObject({ asyncapi: "3.0.0", channels: { stream: { address: "/ws" } } });
  });
});

describe("a reader that falls behind", () => {
  it("and never reads is closed with 4408 while another of the same key receives everything", async () => {
    // No ping of its own: while this process stands still, nobody answers one.
    await suite.restart({ softBufferBytes: 64 * 1024, stalledMs: 300, pingMs: 600_000 });
    const [fast, stuck] = [await suite.open(), await suite.open()];
    for (const client of [fast, stuck])
      await client.subscribe({ topic: "book", symbols: ["BTC"], depth: 500, intervalMs: 0 });
    stuck.read(false);
    const sub = "book:BTC:venueone,venuetwo:500:0";
    // Until the kernels are full (some megabytes) and the rest stays with us.
    for (let round = 1; suite.harness.server.streamCounts.closedByCode.get(4408) !== 1; round++) {
      const levels = (first: number, step: number) =>
        Array.from({ length: 500 }, (_, index) => [first + step * index, 1 + ((round + index) % 900)] as const);
      loadBook(
        suite.harness.markets.btcTwo.book,
        levels(974_000, -1),
        levels(974_001, 1),
        suite.harness.clock.monoNs(),
        round,
      );
      await fast.until(() => fast.folds.get(sub)?.seq === round + 1);
    }
    expect(suite.harness.server.streamCounts).toMatchObject({
      connections: 1,
      subscriptions: 1,
      lagging: 0,
      laggedTotal: 1,
    });
    expect(fast.frames.some((frame) => frame.type === "lagging")).toBe(false);
    // Four seconds after the close the native layer drops what was not taken, the close frame with it: what a reader
    // that comes back in time reads is tested on virtual time (slow-readers.test.ts).
    stuck.read(true);
    await stuck.closed;
    expect(stuck.fault).toBeNull();
  });

  it("but takes what it is sent, and answers no ping, reads 4408", async () => {
    await suite.restart({ pingMs: 50, missedPongsMax: 2 });
    const silent = await StreamClient.open(suite.harness.server.port, { autoPong: false });
    expect(await silent.closed).toEqual({ code: 4408, reason: "SLOW_CONSUMER" });
    expect(suite.harness.server.streamCounts.closedByCode.get(4408)).toBe(1);
  });

  it("catches up by merged frames when it reads again in time", async () => {
    await suite.restart({ softBufferBytes: 64 * 1024, stalledMs: 600_000, pingMs: 600_000 });
    const client = await suite.open();
    const sub = "book:BTC:venueone,venuetwo:500:0";
    await client.subscribe({ topic: "book", symbols: ["BTC"], depth: 500, intervalMs: 0 });
    client.read(false);
    const levels = (first: number, step: number, round: number) =>
      Array.from({ length: 500 }, (_, index) => [first + step * index, 1 + ((round + index) % 900)] as const);
    let round = 0;
    const change = async () => {
      round++;
      const { book } = suite.harness.markets.btcTwo;
      loadBook(book, levels(974_000, -1, round), levels(974_001, 1, round), suite.harness.clock.monoNs(), round);
      await new Promise((resolve) => setImmediate(resolve));
    };
    while (suite.harness.server.streamCounts.lagging === 0 && suite.harness.server.streamCounts.connections === 1)
      await change();
    expect(suite.harness.server.streamCounts.lagging).toBe(1);
    for (let more = 0; more < 50; more++) await change();
    client.read(true);
    await client.until(() => client.folds.get(sub)?.seq === round + 1);
    const rest = (await suite.harness.client.get("/api/trading/venuetwo/book/BTC?depth=500")).body as {
      data: { bids: [string, string][] };
    };
    expect(client.folds.get(sub)?.levels("venuetwo", "bids")).toEqual(rest.data.bids);
    expect(client.updates(sub).some((frame) => frame.seq > frame.prevSeq + 1)).toBe(true);
    expect(suite.harness.server.streamCounts.lagging).toBe(0);
  });
});

describe("shutdown", () => {
  it("tells every client, the status topic first, and closes with 1012", async () => {
    const [watching, idle] = [await suite.open(), await suite.open()];
    await watching.subscribe({ topic: "status" });
    const stopped = suite.harness.server.stop(100);
    const ends: Closed[] = await Promise.all([watching.closed, idle.closed]);
    await stopped;
    expect(ends).toEqual(Array(2).fill({ code: 1012, reason: "RESTART" }));
    expect(watching.frames.at(-2)).toMatchObject({ type: "update", data: { service: { state: "STOPPING" } } });
    expect(idle.frames).toMatchObject([{ type: "status", reason: "RESTART", retryAfterMs: 1000 }]);
    await expect(StreamClient.open(suite.harness.server.port)).rejects.toThrow();
  });
});
