/** What the client requests from the server, how often, and which listeners are notified. */
import { describe, expect, it } from "vitest";
import { heartbeat, KEY, live, setUp, snapshot, TICKER, update } from "../test/scenario.js";
import type { SubscriptionView } from "./stream-client.js";

describe("a subscribing client", () => {
  it("subscribes once the socket is open, and shows nothing before the snapshot", () => {
    const { client, socket, views, listener, last } = setUp();
    client.subscribe({ ...TICKER, exchanges: ["venueone"], intervalMs: 250 }, listener);
    client.start();
    expect(client.status.phase).toBe("connecting");
    expect(socket().take()).toEqual([]);
    socket().opened();
    const [op] = socket().take();
    expect(op).toEqual({
      op: "subscribe",
      id: "1",
      topic: "ticker",
      symbols: ["BTC"],
      exchanges: ["venueone"],
      intervalMs: 250,
    });
    socket().says({ type: "subscribed", id: "1", subs: [{ sub: KEY, epoch: "e1", seq: 0 }] });
    socket().says(update(2));
    expect(views).toEqual([]);
    socket().says(snapshot());
    expect(last()).toMatchObject({ key: KEY, symbol: "BTC", current: true, staleReason: null, seq: 1 });
  });

  it("shares one subscription among callers with the same parameters, and ends it with the last", () => {
    const { client, socket, listener, end } = live();
    const views: SubscriptionView[] = [];
    const endOther = client.subscribe(
      { symbols: ["BTC"], topic: "ticker" },
      { changed: (view) => void views.push(view) },
    );
    expect(socket().take()).toEqual([]);
    expect(views).toHaveLength(1);
    end();
    end();
    expect(socket().take()).toEqual([]);
    endOther();
    expect(socket().take()).toMatchObject([{ op: "unsubscribe", subs: [KEY] }]);
    socket().says(update(2));
    expect(views).toHaveLength(1);
    client.subscribe(TICKER, listener);
    expect(socket().take()).toMatchObject([{ op: "subscribe" }]);
  });

  it("reports a refusal, and does not subscribe again on the same connection", () => {
    const { client, socket, refusals, listener, time } = setUp();
    client.subscribe({ topic: "ticker", symbols: ["NOPE"] }, listener);
    client.start();
    socket().opened();
    const [op] = socket().take();
    socket().says({ type: "error", id: op?.id, code: "UNKNOWN_SYMBOL", error: "no", details: {} });
    expect(refusals).toEqual(["UNKNOWN_SYMBOL"]);
    time.advance(11_000);
    expect(socket().take()).toEqual([]);
  });

  it("subscribes again after a temporary refusal, no sooner than the server allows", () => {
    const { client, socket, refusals, listener, time } = setUp();
    client.subscribe(TICKER, listener);
    client.start();
    socket().opened();
    const [op] = socket().take();
    socket().says({ type: "error", id: op?.id, code: "OVERLOADED", error: "no", details: { retryAfterMs: 8_000 } });
    time.advance(7_900);
    expect(socket().take()).toEqual([]);
    time.advance(350);
    expect(socket().take()).toMatchObject([{ op: "subscribe" }]);
    expect(refusals).toEqual([]);
  });

  it("subscribes again when no reply comes", () => {
    const { client, socket, listener, time } = setUp();
    client.subscribe(TICKER, listener);
    client.start();
    socket().opened();
    socket().take();
    time.advance(5_250);
    expect(socket().take()).toMatchObject([{ op: "subscribe" }]);
  });

  it("refuses more subscriptions than a connection may have", () => {
    const { client, listener } = setUp();
    const symbols = Array.from({ length: 199 }, (_, index) => `S${index}`);
    client.subscribe({ topic: "ticker", symbols }, listener);
    client.subscribe({ topic: "status" }, listener);
    expect(() => client.subscribe({ topic: "book", symbols: ["BTC"] }, listener)).toThrow(RangeError);
  });

  it("stays below the server's frame limit", () => {
    const { client, socket, listener, time } = setUp();
    for (let index = 0; index < 60; index++) client.subscribe({ topic: "ticker", symbols: [`S${index}`] }, listener);
    client.start();
    socket().opened();
    let total = socket().take().length;
    expect(total).toBeLessThanOrEqual(10);
    for (let second = 0; second < 4; second++) {
      time.advance(1_000);
      const sent = socket().take().length;
      expect(sent).toBeLessThanOrEqual(11);
      total += sent;
    }
    expect(total).toBeGreaterThan(40);
  });
});

describe("the feed health in the client", () => {
  it("comes with the heartbeat and is gone with the connection", () => {
    const { socket, client } = live();
    let told = 0;
    client.onStatus(() => void told++);
    socket().says(heartbeat({ [KEY]: 1 }));
    expect(client.status.feeds.get("venueone")).toEqual({ state: "LIVE", ageMs: 40, breaker: "open" });
    expect(client.status.feeds.get("venuetwo")).toEqual({ state: "DOWN", ageMs: null, breaker: "closed" });
    socket().cut();
    expect(client.status.feeds.size).toBe(0);
    expect(told).toBe(2);
  });
});

describe("the age of data in the client", () => {
  it("counts from the time in the frame, and a change of state alone makes nothing newer", () => {
    const { socket, last, time } = live();
    const tickerSeenMs = () => {
      const { data } = last();
      return data?.topic === "ticker" ? data.venues.get("venueone")?.heardMs : undefined;
    };
    expect(tickerSeenMs()).toBe(time.nowMs() - 40);
    time.advance(1_000);
    socket().says({ ...update(2), data: { venueone: { state: "STALE" } } });
    expect(tickerSeenMs()).toBe(time.nowMs() - 1_040);
    socket().says({ ...update(3), data: { venueone: { markPrice: "7" } } });
    expect(tickerSeenMs()).toBe(time.nowMs());
  });
});
