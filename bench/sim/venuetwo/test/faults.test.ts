/** Each fault knob as a client meets it, set over the control API. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { VenuetwoSim } from "../sim.js";
import { ACCOUNT, API_KEY, call, drained, listen, type Listener, signedCall, startTestVenue } from "./support.js";

let venue: VenuetwoSim;
let clock: VirtualClock;

beforeEach(async () => {
  clock = new VirtualClock();
  venue = await startTestVenue({ clock });
});

afterEach(() => venue.stop());

async function fault(spec: Record<string, unknown>): Promise<void> {
  const answer = await call(venue, "POST", "/_sim/faults", {}, JSON.stringify(spec));
  expect(answer.status).toBe(200);
}

const buy = (id: string): ReturnType<typeof signedCall> =>
  signedCall(venue, "POST", "/fapi/v1/order", {
    symbol: "BTCUSDT",
    side: "BUY",
    type: "MARKET",
    quantity: "0.001",
    newClientOrderId: id,
  });

async function depthIds(listener: Listener, ms: number): Promise<{ u: number; pu: number }[]> {
  const before = listener.frames.length;
  clock.advance(ms);
  await drained(listener);
  return listener.frames.slice(before) as unknown as { u: number; pu: number }[];
}

const chained = (events: readonly { u: number; pu: number }[]): boolean =>
  events.every((event, index) => index === 0 || event.pu === events[index - 1]?.u);

describe("REST faults", () => {
  it("429 and 418 with and without Retry-After, refused before execution", async () => {
    await fault({ kind: "rate429", count: 1 });
    const bare = await buy("a");
    expect([bare.status, bare.headers.get("retry-after"), bare.json.code]).toEqual([429, null, -1003]);
    await fault({ kind: "rate429", count: 1, retryAfterS: 7 });
    expect((await buy("a")).headers.get("retry-after")).toBe("7");
    await fault({ kind: "ban418", count: 1, retryAfterS: 90 });
    expect((await buy("a")).status).toBe(418);
    expect(venue.log.records()).toEqual([]);
    expect((await buy("a")).status).toBe(200);
  });

  it("5xx before execution places nothing, 5xx after execution has placed the order", async () => {
    await fault({ kind: "errorBefore", status: 500, count: 1, match: "POST /fapi/v1/order" });
    const before = await buy("before");
    expect([before.status, before.text.startsWith("<html>")]).toEqual([500, true]);
    expect(venue.exchange.orders.findByClientId(ACCOUNT, "before")).toBeNull();
    await fault({ kind: "errorAfter", count: 1, match: "POST /fapi/v1/order" });
    const after = await buy("after");
    expect([after.status, after.json.code]).toEqual([503, -1007]);
    expect(venue.exchange.orders.findByClientId(ACCOUNT, "after")?.status).toBe("FILLED");
  });

  it("reply lost: executed, connection cut; loss: cut and not executed", async () => {
    await fault({ kind: "replyLost", count: 1 });
    await expect(buy("lost")).rejects.toThrow();
    expect(venue.exchange.orders.findByClientId(ACCOUNT, "lost")?.status).toBe("FILLED");
    await fault({ kind: "loss", scope: ["rest"], count: 1 });
    await expect(buy("never")).rejects.toThrow();
    expect(venue.exchange.orders.findByClientId(ACCOUNT, "never")).toBeNull();
  });

  it("delays answers on its clock, and only by the knob", async () => {
    await fault({ kind: "fixedDelay", delayMs: 5 });
    let answered = false;
    const pending = call(venue, "GET", "/fapi/v1/ping").then((answer) => {
      answered = true;
      return answer;
    });
    while (clock.pendingTimerCount < 4 && venue.faults.hits().fixedDelay === 0)
      await new Promise((resolve) => setImmediate(resolve));
    clock.advance(4);
    await call(venue, "GET", "/_sim/state");
    expect(answered).toBe(false);
    clock.advance(1);
    expect((await pending).status).toBe(200);
  });

  it("skews its clock: time route, timestamps of frames and the signature window follow", async () => {
    await fault({ kind: "clockSkew", delayMs: 60_000 });
    expect((await call(venue, "GET", "/fapi/v1/time")).json).toEqual({ serverTime: clock.wallMs() + 60_000 });
    const before = venue.exchange.nowMs();
    expect(before - clock.wallMs()).toBe(60_000);
    await call(venue, "DELETE", "/_sim/faults");
    expect(venue.exchange.nowMs()).toBe(clock.wallMs());
  });
});

describe("stream faults", () => {
  let listener: Listener;

  beforeEach(async () => {
    listener = await listen(venue, "/ws/btcusdt@depth@100ms");
    expect(chained(await depthIds(listener, 1000))).toBe(true);
  });

  it("gap: a sequenced frame is missing and the chain shows it", async () => {
    await fault({ kind: "gap", count: 1 });
    expect(
      chained([...(listener.frames as unknown as { u: number; pu: number }[]), ...(await depthIds(listener, 1000))]),
    ).toBe(false);
    expect(venue.faults.hits().gap).toBe(1);
  });

  it("duplicate, reorder and loss change count and order as named", async () => {
    await fault({ kind: "duplicate", count: 1 });
    const doubled = await depthIds(listener, 1000);
    expect(doubled[0]).toEqual(doubled[1]);
    await fault({ kind: "reorder", count: 1 });
    const swapped = await depthIds(listener, 1000);
    expect(swapped[0]?.pu).toBe(swapped[1]?.u);
    await fault({ kind: "loss", scope: ["market"], durationMs: 1000 });
    expect(await depthIds(listener, 900)).toEqual([]);
  });

  it("latency holds frames back and keeps their order", async () => {
    await fault({ kind: "latency", delayMs: 400, jitterMs: 300, scope: ["market"] });
    expect(await depthIds(listener, 350)).toEqual([]);
    const late = await depthIds(listener, 3000);
    expect(late.length).toBeGreaterThan(15);
    expect(chained(late)).toBe(true);
  });

  it("silent: no frames and no pongs, yet the socket stays open; afterwards frames come again", async () => {
    await fault({ kind: "silent", durationMs: 2000 });
    let pongs = 0;
    listener.socket.on("pong", () => pongs++);
    listener.socket.ping();
    clock.advance(1000);
    // A request over HTTP after the ping: both were handled by the venue in this order.
    await call(venue, "GET", "/fapi/v1/ping");
    expect([pongs, listener.socket.readyState]).toEqual([0, 1]);
    clock.advance(1001);
    expect((await depthIds(listener, 1000)).length).toBeGreaterThan(5);
  });

  it("disconnect cuts without a close frame; a refused handshake keeps the client out", async () => {
    await fault({ kind: "disconnect", count: 1 });
    clock.advance(500);
    expect(await listener.closed).toBe(1006);
    await fault({ kind: "refuseHandshake", status: 503, count: 1 });
    await expect(listen(venue, "/ws")).rejects.toThrow("503");
    const again = await listen(venue, "/ws");
    const cut = await call(venue, "POST", "/_sim/disconnect", {}, "{}");
    expect(cut.json).toEqual({ cutCount: 1 });
    expect(await again.closed).toBe(1006);
  });

  it("scopes: a user-stream fault does not touch market frames, nor the other way round", async () => {
    const { json } = await call(venue, "POST", "/fapi/v1/listenKey", { "X-MBX-APIKEY": API_KEY });
    const user = await listen(venue, `/ws/${String(json.listenKey)}`);
    await fault({ kind: "loss", scope: ["user"] });
    await buy("unseen");
    await drained(user);
    expect(user.frames).toEqual([]);
    venue.faults.clear();
    await fault({ kind: "gap", scope: ["user"], match: "ACCOUNT_UPDATE" });
    await buy("half");
    await drained(user);
    expect(new Set(user.frames.map((frame) => (frame as { e: string }).e))).toEqual(new Set(["ORDER_TRADE_UPDATE"]));
    expect((await depthIds(listener, 1000)).length).toBeGreaterThan(5);
  });
});

describe("control", () => {
  it("skews one venue's price at once and shows it in book and state", async () => {
    const before = venue.exchange.market.bestBid("BTCUSDT")?.priceTicks ?? 0;
    expect((await call(venue, "POST", "/_sim/skew", {}, JSON.stringify({ bps: -50 }))).json).toEqual({ bps: -50 });
    const after = venue.exchange.market.bestBid("BTCUSDT")?.priceTicks ?? 0;
    expect(Math.round((after / before - 1) * 10_000)).toBeLessThan(-44);
    expect((await call(venue, "GET", "/_sim/state")).json).toMatchObject({ venue: "venuetwo", skewBps: -50 });
  });

  it("creates accounts with keys, sets positions, steps virtual time, and lists what was ordered", async () => {
    const made = await call(
      venue,
      "POST",
      "/_sim/accounts",
      {},
      JSON.stringify({ accountId: "new", deposit: "5000", apiKey: "n".repeat(64), apiSecret: "m".repeat(64) }),
    );
    expect(made.json).toMatchObject({ accountId: "new", balance: "5000.00000000", apiKey: "n".repeat(64) });
    const position = await call(
      venue,
      "POST",
      "/_sim/positions",
      {},
      JSON.stringify({ accountId: ACCOUNT, symbol: "BTCUSDT", qty: "0.25", leverage: 10 }),
    );
    expect(position.json).toMatchObject({ qty: "0.250", positionSide: "BOTH" });
    const at = clock.wallMs();
    expect((await call(venue, "POST", "/_sim/step", {}, JSON.stringify({ ms: 250 }))).json).toEqual({
      nowMs: at + 250,
    });
    await signedCall(venue, "POST", "/fapi/v1/order", {
      symbol: "BTCUSDT",
      side: "SELL",
      type: "MARKET",
      quantity: "0.25",
      reduceOnly: "true",
      newClientOrderId: "close-1",
    });
    const log = (await call(venue, "GET", "/_sim/orders?clientId=close-1")).json as unknown as {
      records: Record<string, unknown>[];
    };
    expect(log.records).toMatchObject([
      {
        action: "place",
        accountId: ACCOUNT,
        signer: API_KEY,
        side: "SELL",
        reduceOnly: true,
        positionSide: "BOTH",
        qty: "0.25",
        status: "FILLED",
        filledQty: "0.250",
        refusal: null,
      },
    ]);
  });

  it("refuses what it does not understand", async () => {
    const post = async (path: string, body: unknown): Promise<number> =>
      (await call(venue, "POST", path, {}, typeof body === "string" ? body : JSON.stringify(body))).status;
    expect(await post("/_sim/faults", { kind: "nope" })).toBe(400);
    expect(await post("/_sim/faults", "{")).toBe(400);
    expect(await post("/_sim/skew", { bps: "much" })).toBe(400);
    expect(await post("/_sim/step", { ms: -1 })).toBe(400);
    expect(await post("/_sim/positions", { accountId: ACCOUNT, symbol: "X", qty: "1" })).toBe(404);
    expect(await post("/_sim/positions", { accountId: ACCOUNT, symbol: "BTCUSDT", qty: "0.00001" })).toBe(400);
    expect(await post("/_sim/nothing", {})).toBe(404);
    expect((await call(venue, "GET", "/_sim/book/BTCUSDT?seq=1")).status).toBe(404);
    expect((await call(venue, "GET", "/_sim/book/X")).status).toBe(404);
  });
});
