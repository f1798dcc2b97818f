import { describe, expect, it } from "vitest";
import { BOOK_LIVE, BOOK_SYNCING } from "../../../engine/market/book.js";
import { createMarket } from "../../../engine/market/market.js";
import type { FakeConnection } from "../../shared/test/fake-connector.js";
import {
  bboText,
  bookText,
  echoAll,
  marketRow,
  priceRow,
  setup,
  subscriptionsOf,
  tradeText,
} from "../test/market-harness.js";
import { buildInstruments, DEFAULT_FEES } from "./symbols.js";

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `C${index}`);

type Run = ReturnType<typeof setup>;

/** The venue's timer: every streamed book and the prices, each 250 ms. */
async function beat(run: Run, symbols: readonly string[], ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    const t = run.clock.wallMs();
    for (const connection of run.network.connections) {
      if (connection.isEnded) continue;
      const asked = subscriptionsOf(connection);
      for (const symbol of symbols)
        if (asked.some((params) => params.source === "book" && params.symbol === symbol))
          connection.receive(bookText(symbol, t));
      if (asked.some(({ source }) => source === "prices"))
        connection.receive(JSON.stringify({ channel: "prices", data: [priceRow("BTC", t)] }));
    }
    await run.clock.advanceAsync(250);
  }
}

describe("subscriptions", () => {
  it("are one frame per channel and market, books unaggregated", () => {
    const { first, prices, open } = setup(["kBONK"]);
    open();
    expect(first.sent).toEqual([
      '{"method":"subscribe","params":{"source":"book","symbol":"kBONK","agg_level":1}}',
      '{"method":"subscribe","params":{"source":"bbo","symbol":"kBONK"}}',
      '{"method":"subscribe","params":{"source":"trades","symbol":"kBONK"}}',
    ]);
    expect(prices.sent).toEqual(['{"method":"subscribe","params":{"source":"prices"}}']);
  });

  it("number at most twenty per channel and connection: the twenty-first market opens another", () => {
    expect(setup(names(20)).network.connections).toHaveLength(2);
    const run = setup(names(21));
    expect(run.network.connections).toHaveLength(3);
    const all = setup(names(77));
    for (const connection of all.network.connections) connection.open();
    all.clock.advance(5_000);
    expect(all.network.connections).toHaveLength(5);
    for (const connection of all.network.connections) {
      const asked = subscriptionsOf(connection).map(({ source }) => source);
      for (const channel of new Set(asked))
        expect(asked.filter((source) => source === channel).length).toBeLessThanOrEqual(20);
    }
    const books = all.network.connections
      .flatMap((connection) => subscriptionsOf(connection))
      .filter(({ source }) => source === "book");
    expect(new Set(books.map(({ symbol }) => symbol)).size).toBe(77);
  });

  it("are sent at the pace that the venue allows", () => {
    const run = setup(names(20));
    run.first.open();
    expect(run.first.sent).toHaveLength(30);
    run.clock.advance(3_000);
    expect(run.first.sent).toHaveLength(60);
  });

  it("of a removed market are given back, and its place is taken by the next", () => {
    const run = setup(names(20));
    run.open();
    run.clock.advance(3_000);
    run.stream.remove("C3");
    run.clock.advance(1_000);
    expect(subscriptionsOf(run.first, "unsubscribe").map(({ source }) => source)).toEqual(["book", "bbo", "trades"]);
    run.first.receive(bookText("C3", run.clock.wallMs()));
    expect(run.stream.stats().unknownSymbolCount).toBe(1);
    const next = buildInstruments([marketRow("NEXT")], DEFAULT_FEES).bySymbol.get("NEXT");
    if (next === undefined) throw new Error("no NEXT");
    expect(run.stream.add(createMarket(next, { deepTier: false, maxBookAgeMs: 1, maxDeepAgeMs: 0 }))).toBe(true);
    expect(run.network.connections).toHaveLength(2);
  });
});

describe("a silent refusal", () => {
  it("costs that market its streams and no other market anything", async () => {
    const run = setup(["BTC", "ETH", "BAD"]);
    run.open(["BAD"]);
    await beat(run, ["BTC", "ETH"], 6_000);
    expect(run.stream.stats()).toMatchObject({
      silentRefusalCount: 3,
      refusedStreams: ["book BAD", "bbo BAD", "trades BAD"],
      probeCount: 0,
    });
    expect(run.market("BAD").book.state).toBe(BOOK_SYNCING);
    expect(run.market("BTC").book.state).toBe(BOOK_LIVE);
    expect(run.network.connections.map(({ isEnded }) => isEnded)).toEqual([false, false]);
    expect(run.logs.filter((line) => line.startsWith("venuefour.stream-refused"))).toHaveLength(3);
    // Nothing more becomes of it until the retry.
    await beat(run, ["BTC", "ETH"], 30_000);
    expect(subscriptionsOf(run.first).filter(({ symbol }) => symbol === "BAD")).toHaveLength(3);
  });

  it("is tried again later, and less and less often", async () => {
    const run = setup(["BTC", "BAD"]);
    run.open(["BAD"]);
    const asked = () =>
      subscriptionsOf(run.first).filter(({ symbol, source }) => symbol === "BAD" && source === "book").length;
    await beat(run, ["BTC"], 62_000);
    expect(asked()).toBe(1);
    await beat(run, ["BTC"], 5_000);
    expect(asked()).toBe(2);
    await beat(run, ["BTC"], 100_000);
    expect(asked()).toBe(2);
    for (let beats = 0; beats < 100 && asked() < 3; beats++) await beat(run, ["BTC"], 250);
    expect(asked()).toBe(3);
    // This time the venue knows it.
    echoAll(run.first);
    run.first.receive(bookText("BAD", run.clock.wallMs()));
    await beat(run, ["BTC", "BAD"], 1_000);
    expect(run.market("BAD").book.state).toBe(BOOK_LIVE);
    expect(run.stream.stats().refusedStreams).toEqual([]);
  });

  it("is not seen where data came without an echo, nor where the connection has sent nothing since", async () => {
    const run = setup(["BTC", "ETH"]);
    for (const connection of run.network.connections) connection.open();
    run.clock.advance(100);
    await run.clock.advanceAsync(4_500);
    expect(run.stream.stats().silentRefusalCount).toBe(0);
    const t = run.clock.wallMs();
    for (const symbol of ["BTC", "ETH"])
      for (const text of [bookText(symbol, t), bboText(symbol, t), tradeText(symbol, 1, t)]) run.first.receive(text);
    run.prices.receive(JSON.stringify({ channel: "prices", data: [priceRow("BTC", t)] }));
    await beat(run, ["BTC", "ETH"], 5_000);
    expect(run.stream.stats().silentRefusalCount).toBe(0);
  });

  it("of everything on a connection that speaks otherwise is the connection's fault", async () => {
    const run = setup(["BTC", "ETH"]);
    run.open(["BTC", "ETH"]);
    for (let second = 0; second < 5; second++) {
      if (!run.first.isEnded) run.first.receive('{"channel":"pong"}');
      await run.clock.advanceAsync(1_000);
    }
    expect(run.first.isTerminated).toBe(true);
    expect(run.stream.stats().silentRefusalCount).toBe(0);
  });

  it("of a market that the venue drops in mid-stream is found by silence, then by the missing echo", async () => {
    const run = setup(["BTC", "ETH"]);
    run.open();
    await beat(run, ["BTC", "ETH"], 2_000);
    run.http.step(() => run.http.response(404, { success: false, data: null, error: "Book not found: ETH", code: 3 }));
    run.http.step(() => run.http.response(404, { success: false, data: null, error: "Book not found: ETH", code: 3 }));
    run.http.step(() => run.http.response(404, { success: false, data: null, error: "Book not found: ETH", code: 3 }));
    await beat(run, ["BTC"], 30_000);
    expect(run.market("ETH").book.state).toBe(BOOK_SYNCING);
    expect(run.stream.stats().refusedStreams).toEqual(["book ETH"]);
    expect(run.first.isEnded).toBe(false);
    expect(run.market("BTC").book.state).toBe(BOOK_LIVE);
  });
});

describe("a silent book", () => {
  const restBook = (symbol: string, t: number, bid = "100") => ({
    success: true,
    data: (JSON.parse(bookText(symbol, t, bid)) as { data: object }).data,
    error: null,
    code: null,
  });

  it("is asked about over REST: the same book is quiet, and proven by the answer", async () => {
    const run = setup(["BTC", "ETH"]);
    run.open();
    await beat(run, ["BTC", "ETH"], 1_000);
    const { book } = run.market("ETH");
    const t = book.tsVenueMs;
    run.http.step(() => run.http.response(200, restBook("ETH", t)));
    const provenNs = book.tsProvenNs;
    await beat(run, ["BTC"], 5_500);
    expect(run.http.requests.map(({ path, lane }) => `${path} ${lane}`)).toEqual([
      "/api/v1/book?symbol=ETH&agg_level=1 reconcile",
    ]);
    expect(book.state).toBe(BOOK_LIVE);
    expect(book.tsProvenNs).toBeGreaterThan(provenNs);
    expect(subscriptionsOf(run.first, "unsubscribe")).toEqual([]);
  });

  it("that the venue has changed meanwhile is adopted and its stream asked for again", async () => {
    const run = setup(["BTC", "ETH"]);
    run.open();
    await beat(run, ["BTC", "ETH"], 1_000);
    run.http.step(() => run.http.response(200, restBook("ETH", run.clock.wallMs() - 10, "95")));
    await beat(run, ["BTC"], 5_500);
    expect(run.market("ETH").book.bidTicks(0)).toBe(9_500);
    expect(subscriptionsOf(run.first, "unsubscribe")).toEqual([{ source: "book", symbol: "ETH", agg_level: 1 }]);
    expect(run.stream.stats().sockets[0]?.silentCount).toBe(1);
  });

  it("on a connection that is silent as a whole is not asked about: the connection is replaced", async () => {
    const run = setup(names(5));
    run.open();
    await beat(run, names(5), 1_000);
    await run.clock.advanceAsync(8_000);
    expect(run.http.requests).toEqual([]);
    expect(run.first.isTerminated).toBe(true);
    expect(run.market("C0").book.state).toBe(BOOK_SYNCING);
  });

  it("costs no more reads than the minute allows: beyond them streams are simply asked for again", async () => {
    const run = setup(names(20));
    run.open();
    run.clock.advance(2_000);
    echoAll(run.first);
    await beat(run, names(20), 500);
    for (let count = 0; count < 10; count++) run.http.step({ kind: "noResponse", reason: "TIMEOUT" });
    // One market speaks, nineteen do not.
    await beat(run, ["C0"], 5_500);
    expect(run.http.requests).toHaveLength(10);
    expect(run.stream.stats().probeCount).toBe(10);
  });
});

describe("connections", () => {
  it("that are lost take their books out of sight at once and no others, and are LIVE with the next frames", async () => {
    const run = setup(names(21));
    run.open();
    await beat(run, names(21), 1_000);
    run.first.end(1006);
    expect([run.market("C0").book.state, run.market("C20").book.state]).toEqual([BOOK_SYNCING, BOOK_LIVE]);
    expect(run.market("C0").touch.present).toBe(false);
    await beat(run, ["C20"], 1_000);
    const again = run.network.last;
    again.open();
    run.clock.advance(3_000);
    expect(new Set(subscriptionsOf(again).map((params) => JSON.stringify(params)))).toEqual(
      new Set(subscriptionsOf(run.first).map((params) => JSON.stringify(params))),
    );
    echoAll(again);
    again.receive(bookText("C0", run.clock.wallMs()));
    expect(run.market("C0").book.state).toBe(BOOK_LIVE);
    expect(run.stream.stats().sockets[0]?.reconnectCount).toBe(1);
  });

  it("are pinged with the venue's own message every twenty seconds", async () => {
    const run = setup(["BTC"]);
    run.open();
    await beat(run, ["BTC"], 61_000);
    for (const connection of [run.first, run.prices])
      expect(connection.sent.filter((text) => text === '{"method":"ping"}')).toHaveLength(3);
  });

  it("are replaced before the venue's day is over, make before break, once all is echoed", async () => {
    const run = setup(["BTC", "ETH"]);
    run.open();
    await beat(run, ["BTC", "ETH"], 1_000);
    const old = run.first;
    // Synchronous, as a day has many timers; one beat in four seconds keeps the streams from looking dead.
    const startMs = run.clock.wallMs();
    const rotated = new Map<string, FakeConnection>();
    while (rotated.size < 2 && run.clock.wallMs() < startMs + 24 * 3_600_000) {
      const t = run.clock.wallMs();
      if (!run.prices.isEnded) run.prices.receive(JSON.stringify({ channel: "prices", data: [priceRow("BTC", t)] }));
      for (const symbol of ["BTC", "ETH"]) old.receive(bookText(symbol, t));
      run.clock.advance(4_000);
      const standby = run.network.last;
      if (standby === run.prices || [...rotated.values()].includes(standby)) continue;
      standby.open();
      run.clock.advance(100);
      const source = subscriptionsOf(standby)[0]?.source ?? "";
      rotated.set(source, standby);
      if (source !== "prices") break;
      standby.receive(JSON.stringify({ channel: "prices", data: [priceRow("BTC", t)] }));
    }
    const standby = rotated.get("book");
    if (standby === undefined) throw new Error("no rotation within a day");
    expect((run.clock.wallMs() - startMs) / 3_600_000).toBeGreaterThan(21);
    const t = run.clock.wallMs();
    // Both bring frames, and nothing is taken twice.
    for (const connection of [old, standby]) connection.receive(tradeText("BTC", 7, t));
    standby.receive(bookText("BTC", t + 1, "102", "103"));
    standby.receive(bookText("ETH", t + 1, "102", "103"));
    old.receive(bookText("BTC", t, "90", "91"));
    // All streams have spoken or been echoed but two: the old connection is not left yet.
    expect(old.closedWith).toBeNull();
    echoAll(standby);
    standby.receive(bookText("BTC", t + 1, "102", "103"));
    expect(old.closedWith).toBe(1000);
    expect(run.market("BTC").book).toMatchObject({ state: BOOK_LIVE, tsVenueMs: t + 1 });
    expect(run.market("BTC").book.bidTicks(0)).toBe(102);
    expect(run.trades).toHaveLength(1);
    expect(run.stream.stats().sockets[0]).toMatchObject({ rotationCount: 1, reconnectCount: 0 });
  });

  it("are all ended by a stop, with their timers", async () => {
    const run = setup(names(21));
    run.open();
    await beat(run, names(21), 500);
    run.stream.stop();
    await run.clock.advanceAsync(10_000);
    expect(run.network.connections.every(({ isEnded }) => isEnded)).toBe(true);
    expect(run.clock.pendingTimerCount).toBe(0);
    expect(run.market("C0").book.state).toBe(BOOK_SYNCING);
  });
});
