/** Ticker, book, status and heartbeats through the real server and real sockets. */
import { describe, expect, it } from "vitest";
import { INVALID_DISCONNECTED, INVALID_GAP } from "../../../engine/market/book.js";
import { loadBook } from "../../test/fake-room.js";
import { streamSuite } from "./stream-suite.js";

const suite = streamSuite();
const TICKER = "ticker:BTC:venueone,venuetwo:100";
const BOOK = "book:BTC:venuetwo:20:0";

describe("the ticker topic", () => {
  it("begins with a snapshot that equals the REST payloads, then merges changed fields", async () => {
    const client = await suite.open();
    const answer = await client.subscribe({ topic: "ticker", symbols: ["BTC"] });
    expect(answer).toMatchObject({ type: "subscribed", subs: [{ sub: TICKER, seq: 0 }] });
    const snapshot = await client.next((frame) => frame.type === "snapshot");
    expect(snapshot).toMatchObject({ sub: TICKER, epoch: answer.subs[0]?.epoch, seq: 1 });
    const rest = (await suite.harness.client.get("/api/trading/ticker/BTC")).body as unknown as {
      data: Record<string, Record<string, unknown>>;
    };
    for (const venue of ["venueone", "venuetwo"]) {
      const { ageMs, ...fields } = snapshot.data[venue] as Record<string, unknown>;
      expect(ageMs).toBeTypeOf("number");
      expect({ ...fields, ageMs: 0 }).toEqual({ ...rest.data[venue], ageMs: 0 });
    }
    suite.setMark(suite.harness.markets.btcOne, "97422.0");
    const update = await client.next((frame) => frame.type === "update");
    expect(update).toMatchObject({ sub: TICKER, seq: 2, prevSeq: 1 });
    expect(Object.keys(update.data)).toEqual(["venueone"]);
    expect(update.data.venueone).toMatchObject({ markPrice: "97422" });
    expect(Object.keys(update.data.venueone ?? {}).sort()).toEqual(["ageMs", "markPrice", "timestamp"]);
  });

  it("conflates: the latest value counts, one update for many changes", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "ticker", symbols: ["BTC"], exchanges: ["venueone"], intervalMs: 250 });
    for (let price = 1; price <= 40; price++) suite.setMark(suite.harness.markets.btcOne, String(90_000 + price));
    const update = await client.next((frame) => frame.type === "update");
    expect(update.data.venueone).toMatchObject({ markPrice: "90040" });
    expect([update.seq, update.prevSeq]).toEqual([2, 1]);
  });

  it("reports at once that a venue left LIVE, whatever the interval", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "ticker", symbols: ["BTC"], intervalMs: 1000 });
    suite.harness.markets.btcTwo.book.invalidate(INVALID_DISCONNECTED);
    // Sent after the change: an update that waited for the interval would come after this reply.
    await client.ask({ op: "ping" });
    const updates = client.frames.filter((frame) => frame.type === "update");
    expect(updates.map(({ data }) => data)).toMatchObject([{ venuetwo: { state: "DOWN" } }]);
  });

  it("shows a venue without a ticker as SYNCING, and all of its fields once they are known", async () => {
    const client = await suite.open();
    const sub = "ticker:ETH:venueone:0";
    await client.subscribe({ topic: "ticker", symbols: ["eth-perp"], intervalMs: 0 });
    expect(client.folds.get(sub)?.fields).toEqual({ venueone: { state: "SYNCING", ageMs: null } });
    suite.setMark(suite.harness.markets.ethOne, "3100.5");
    await client.next((frame) => frame.type === "update");
    expect(client.folds.get(sub)?.fields.venueone).toMatchObject({ symbol: "ETH", markPrice: "3100.5", state: "LIVE" });
  });

  it("quotes a contract with a multiplier as REST does", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "ticker", symbols: ["1000PEPEUSDT"] });
    const rest = (await suite.harness.client.get("/api/trading/venuetwo/ticker/PEPE")).body as {
      data: { markPrice: string };
    };
    expect(client.folds.get("ticker:PEPE:venuetwo:100")?.fields.venuetwo).toMatchObject({
      markPrice: rest.data.markPrice,
    });
  });
});

describe("the book topic", () => {
  it("begins with the top of the book and follows it by changed levels", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "book", symbols: ["BTC"], exchanges: ["venuetwo"], depth: 20, intervalMs: 0 });
    const snapshot = await client.next((frame) => frame.type === "snapshot");
    expect(snapshot).toMatchObject({ sub: BOOK, seq: 1 });
    expect(snapshot.data.venuetwo).toMatchObject({
      bids: [
        ["97410", "5"],
        ["97400", "9"],
      ],
      state: "LIVE",
      venueSeq: "990817263",
    });
    suite.setBid(suite.harness.markets.btcTwo, 974_100, 0);
    const update = await client.next((frame) => frame.type === "update");
    expect(update.data).toEqual({ venuetwo: { bids: [["97410", "0"]], asks: [], venueSeq: "990817264" } });
  });

  it("keeps exactly the depth: levels that fall out are removed, levels that move up are added", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "book", symbols: ["BTC"], exchanges: ["venuetwo"], depth: 2, intervalMs: 0 });
    suite.setBid(suite.harness.markets.btcTwo, 974_050, 1000);
    const first = await client.next((frame) => frame.type === "update");
    expect(first.data.venuetwo?.["bids"]).toEqual([
      ["97405", "1"],
      ["97400", "0"],
    ]);
    const seen = client.frames.length;
    suite.setBid(suite.harness.markets.btcTwo, 974_100, 0);
    const second = await client.next((frame) => frame.type === "update", seen);
    expect(second.data.venuetwo?.["bids"]).toEqual([
      ["97410", "0"],
      ["97400", "9"],
    ]);
  });

  it("sends one update for all changes of a turn, and none for changes beyond the depth", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "book", symbols: ["BTC"], exchanges: ["venuetwo"], depth: 1, intervalMs: 0 });
    suite.setBid(suite.harness.markets.btcTwo, 900_000, 1);
    for (let lots = 1; lots <= 30; lots++) suite.setBid(suite.harness.markets.btcTwo, 974_100, lots);
    const update = await client.next((frame) => frame.type === "update");
    expect(update.data.venuetwo?.["bids"]).toEqual([["97410", "0.03"]]);
    suite.setBid(suite.harness.markets.btcTwo, 900_000, 2);
    await client.ask({ op: "ping" });
    expect(client.updates("book:BTC:venuetwo:1:0")).toHaveLength(1);
  });

  it("removes the levels as soon as the book leaves LIVE, and shows them again afterwards", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "book", symbols: ["BTC"], exchanges: ["venuetwo"], intervalMs: 1000 });
    suite.harness.markets.btcTwo.book.invalidate(INVALID_GAP);
    const gone = await client.next((frame) => frame.type === "update");
    expect(gone.data.venuetwo).toMatchObject({ state: "SYNCING" });
    const fold = await client.fold("book:BTC:venuetwo:20:1000");
    expect([fold.levels("venuetwo", "bids"), fold.levels("venuetwo", "asks")]).toEqual([[], []]);
    suite.harness.refreshBooks();
    await client.until(() => fold.fields.venuetwo?.["state"] === "LIVE");
    expect(fold.levels("venuetwo", "bids")[0]).toEqual(["97410", "5"]);
  });

  it("shows several venues in one key, the touch over the book, and a checksum every 50 updates", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "book", symbols: ["BTC"], intervalMs: 0 });
    const fold = await client.fold("book:BTC:venueone,venuetwo:20:0");
    const { btcOne } = suite.harness.markets;
    // The books of the harness are proven ahead of time; a touch counts only until its book is proven long after it.
    btcOne.touch.set(974_165, 10, 974_180, 20, 0, suite.harness.clock.wallMs() + 1e9, btcOne.book.tsProvenNs);
    await client.until(() => fold.levels("venueone", "bids")[0]?.[0] === "97416.5");
    // The book's 97417 is better than the newer touch: that level is gone.
    expect(fold.levels("venueone", "bids").map(([price]) => price)).toEqual(["97416.5", "97416"]);
    const crcBefore = fold.crcCount;
    for (let round = 1; round <= 101; round++) {
      const seen = fold.seq;
      suite.setBid(suite.harness.markets.btcTwo, 974_000 + (round % 7), round);
      await client.until(() => fold.seq > seen);
    }
    expect(fold.crcCount - crcBefore).toBe(2);
  });

  it("agrees with the REST book of the same depth", async () => {
    const client = await suite.open();
    await client.subscribe({ topic: "book", symbols: ["PEPE"], depth: 5, intervalMs: 0 });
    const rest = (await suite.harness.client.get("/api/trading/venuetwo/book/PEPE?depth=5")).body as {
      data: { bids: [string, string][] };
    };
    const fold = await client.fold("book:PEPE:venuetwo:5:0");
    expect(fold.levels("venuetwo", "bids")).toEqual(rest.data.bids);
  });
});

describe("the status topic and heartbeats", () => {
  it("report the states of all feeds, and their changes", async () => {
    await suite.restart({ heartbeatMs: 100 });
    const client = await suite.open();
    await client.subscribe({ topic: "status" });
    const fold = await client.fold("status");
    const seen = client.frames.length;
    expect(fold.fields).toMatchObject({
      service: { state: "LIVE" },
      feeds: { venueone: { state: "LIVE" }, venuetwo: { state: "LIVE" } },
    });
    suite.harness.two.statusOverrides = { state: "DOWN" };
    const update = await client.next((frame) => frame.type === "update" && frame.data["feeds"] !== undefined);
    expect(update.data).toMatchObject({ feeds: { venuetwo: { state: "DOWN" } } });
    // Before the subscription there may be any number of them.
    const beat = await client.next((frame) => frame.type === "heartbeat" && frame.n >= 2, seen);
    expect(beat.heads).toEqual({ status: expect.any(Number) });
    expect(Object.keys(beat.feeds)).toEqual(["venueone", "venuetwo"]);
  });

  it("report that a venue's breaker opens, is probed and closes, while its feed is live", async () => {
    await suite.restart({ heartbeatMs: 50 });
    const client = await suite.open();
    await client.subscribe({ topic: "status" });
    const fold = await client.fold("status");
    expect(fold.fields).toMatchObject({ feeds: { venueone: { breaker: "closed" }, venuetwo: { breaker: "closed" } } });
    for (const breaker of ["open", "halfOpen", "closed"] as const) {
      const seen = client.frames.length;
      suite.harness.two.statusOverrides = { breaker };
      const update = await client.next((frame) => frame.type === "update" && frame.data["feeds"] !== undefined, seen);
      expect(Object.keys(update.data["feeds"] as object)).toEqual(["venuetwo"]);
      expect(update.data).toMatchObject({ feeds: { venuetwo: { state: "LIVE", breaker } } });
      const beat = await client.next(
        (frame) => frame.type === "heartbeat" && frame.feeds["venuetwo"]?.breaker === breaker,
      );
      expect(beat.feeds["venueone"]).toMatchObject({ state: "LIVE", breaker: "closed" });
    }
  });

  it("include heartbeats without any subscription", async () => {
    await suite.restart({ heartbeatMs: 50 });
    const client = await suite.open();
    await client.next((frame) => frame.type === "heartbeat" && frame.n === 3);
  });

  it("show a venue as STALE whose data is not proven current, without new data", async () => {
    const { clock, markets } = suite.harness;
    const client = await suite.open();
    await client.subscribe({ topic: "status" });
    const sub = "book:BTC:venueone:20:0";
    await client.subscribe({ topic: "book", symbols: ["BTC"], exchanges: ["venueone"], intervalMs: 0 });
    const book = await client.fold(sub);
    expect(book.fields["venueone"]).toEqual({ state: "LIVE" });
    for (const market of [markets.btcOne, markets.ethOne]) {
      market.book.clear();
      loadBook(market.book, [[974_170, 5000]], [[974_180, 4000]], clock.monoNs());
    }
    // Two seconds (the fake market's limit) pass without a proof; the levels stay, the state changes.
    await client.until(() => book.fields["venueone"]?.["state"] === "STALE");
    expect([book.levels("venueone", "bids"), book.levels("venueone", "asks")]).toEqual([
      [["97417", "5"]],
      [["97418", "4"]],
    ]);
    const states = client.updates(sub).flatMap(({ data }) => data["venueone"]?.["state"] ?? []);
    expect(states).toEqual(["STALE"]);
    const fold = await client.fold("status");
    await client.until(() => JSON.stringify(fold.fields["feeds"]?.["venueone"]).includes("STALE"));
  });
});
