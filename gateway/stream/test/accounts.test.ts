/** Positions and orders of wallets on virtual time: what each caller sees, when, and how it continues after a cut. */
import { beforeEach, describe, expect, it } from "vitest";
import { accountHashOf } from "../../../engine/orders/accounts.js";
import type { NormalizedOrder } from "../../../engine/orders/types.js";
import { type FakeAccount, STREAM_LIVE_MS } from "../../../engine/portfolio/test/fake-accounts.js";
import type { Frame } from "./frame-judge.js";
import { type VirtualClient, VirtualStream } from "./virtual-stream.js";

const WALLET = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const LOWER = WALLET.toLowerCase();
const KIB = 1024;

let stream: VirtualStream;
let alice: FakeAccount;

beforeEach(() => {
  stream = new VirtualStream();
  alice = stream.accounts.one.addAccount("alice");
});

type Wish = Record<string, unknown>;

function credentials(account = alice): Record<string, unknown> {
  return { [account === alice ? "venueone" : "venuetwo"]: toBlock(account) };
}

/** The gateway's schema requires the venue's own fields; the fake venue reads the two it knows. */
function toBlock(account: FakeAccount): Record<string, string> {
  return { privateKey: account.id, apiKey: account.id, apiSecret: account.secret };
}

function positionsOf(changes: Wish = {}): Wish {
  return {
    op: "subscribe",
    id: "p",
    topic: "positions",
    walletAddress: WALLET,
    exchanges: ["venueone"],
    credentials: credentials(),
    ...changes,
  };
}

function ordersOf(changes: Wish = {}): Wish {
  return positionsOf({ topic: "orders", ...changes });
}

/** Subscribes, and waits for the venues. */
async function subscribe(client: VirtualClient, wish: Wish): Promise<string> {
  const seen = client.frames.length;
  client.op(wish);
  await stream.advanceAsync(100);
  const answer = client.frames.slice(seen).find((frame) => frame.id === wish["id"]);
  if (answer?.type !== "subscribed") throw new Error(JSON.stringify(answer));
  return answer.subs[0]?.sub ?? "";
}

function framesOf(client: VirtualClient, sub: string): Frame[] {
  return client.frames.filter((frame) => frame.sub === sub);
}

describe("the key of an account subscription", () => {
  it("contains wallet and scope; an identical request shares it, every other has its own", async () => {
    const other = { venueone: { ...toBlock(alice), apiSecret: "wrong" } };
    const wishes = [
      positionsOf(),
      positionsOf({ walletAddress: LOWER, exchanges: ["venueone", "venueone"] }),
      positionsOf({
        credentials: { venueone: { ...toBlock(alice) }, venuetwo: { apiKey: "not", apiSecret: "asked" } },
      }),
      positionsOf({ credentials: other }),
      positionsOf({ credentials: {} }),
      positionsOf({ exchanges: ["venueone", "venuetwo"] }),
      ordersOf(),
    ];
    const subs: string[] = [];
    for (const wish of wishes) subs.push(await subscribe(stream.connect(), wish));
    expect(subs[0]).toMatch(new RegExp(`^positions:${LOWER}#[0-9a-f]{32}$`));
    expect([subs[1], subs[2]]).toEqual([subs[0], subs[0]]);
    expect(new Set(subs).size).toBe(5);
    expect(stream.hub.counts.keys).toBe(5);
  });

  it.each<[Wish, string]>([
    [{ walletAddress: undefined }, "MISSING_PARAMETERS"],
    [{ walletAddress: "0x12" }, "INVALID_WALLET_ADDRESS"],
    [{ walletAddress: 7 }, "INVALID_PARAMETERS"],
    [{ exchanges: [] }, "INVALID_PARAMETERS"],
    [{ exchanges: ["venuesix"] }, "INVALID_PARAMETERS"],
    [{ credentials: "0xkey" }, "INVALID_PARAMETERS"],
    [{ credentials: { venueone: { privateKey: 5 } } }, "INVALID_PARAMETERS"],
    [{ credentials: { venueone: {} } }, "MISSING_PARAMETERS"],
    [
      {
        topic: "orders",
        exchanges: ["venuetwo"],
        credentials: { venuetwo: { apiKey: "malformed", apiSecret: "0xkey" } },
      },
      "MISSING_CREDENTIALS",
    ],
  ])("for %j is refused with %s: nothing is opened or repeated", (changes, code) => {
    const client = stream.connect();
    client.op(positionsOf(changes));
    expect(client.frames.map((frame) => [frame.type, frame.code])).toEqual([["error", code]]);
    expect(JSON.stringify(client.frames)).not.toContain("0xkey");
    const { one, two } = stream.accounts;
    expect([stream.hub.counts.keys, one.sessionsOpen, two.sessionsOpen]).toEqual([0, 0, 0]);
  });

  it("opens none of the venues when one has a malformed block", () => {
    const client = stream.connect();
    const blocks = { ...credentials(), venuetwo: { apiKey: "malformed", apiSecret: "s" } };
    client.op(positionsOf({ exchanges: ["venueone", "venuetwo"], credentials: blocks }));
    expect(client.frames[0]).toMatchObject({ code: "MISSING_CREDENTIALS", details: { exchange: "venuetwo" } });
    expect([stream.accounts.one.sessionsOpened, stream.accounts.one.sessionsOpen]).toEqual([1, 0]);
    expect(stream.portfolio.counts().accounts).toBe(0);
  });

  it("beyond the bound is refused with a retry time, and the connection stays open", async () => {
    stream = new VirtualStream({ privateKeysMax: 1 });
    alice = stream.accounts.one.addAccount("alice");
    const client = stream.connect();
    await subscribe(client, positionsOf());
    client.op(ordersOf({ id: "second" }));
    expect(client.frames.at(-1)).toMatchObject({ type: "error", code: "OVERLOADED", details: { limit: 1 } });
    client.op({ op: "subscribe", topic: "status" });
    expect(stream.hub.counts.keys).toBe(2);
  });
});

describe("the positions topic", () => {
  it("begins with a snapshot that waits for the venue, not with an empty list", async () => {
    alice.hold("BTC", 400, { entryPrice: "95", leverage: 5 });
    stream.advance(10);
    stream.tick(stream.markets.btcOne, "100.5");
    const client = stream.connect();
    client.op(positionsOf());
    expect(client.frames.map((frame) => frame.type)).toEqual(["subscribed"]);
    await stream.advanceAsync(STREAM_LIVE_MS + 10);
    const snapshot = client.frames.find((frame) => frame.type === "snapshot");
    expect(snapshot?.seq).toBe(1);
    expect(snapshot?.data).toEqual({
      positions: [
        {
          symbol: "BTC",
          exchange: "venueone",
          direction: "LONG",
          size: "0.4",
          entryPrice: "95",
          markPrice: "100.5",
          unrealizedPnl: "2.2",
          unrealizedPnlPercent: "28.9474",
          leverage: 5,
          collateral: "7.6",
          margin: "8.04",
          timestamp: expect.any(Number),
          walletAddress: LOWER,
          nativeSymbol: "BTC",
          positionSide: "BOTH",
          marginMode: "cross",
          notional: "40.2",
          quoteAsset: "USDC",
          markSource: "live",
          asOf: stream.clock.wallMs() - 10,
          source: "stream",
          ageMs: expect.any(Number),
        },
      ],
      coverage: {
        venueone: { state: "LIVE", mode: "push", asOf: stream.clock.wallMs() - 10, source: "stream" },
      },
    });
  });

  it("covers every venue: by address where that is public, else as needing credentials, or as not configured", async () => {
    stream.accounts.one.addAccount(LOWER).hold("ETH", -3_000);
    const client = stream.connect();
    const sub = await subscribe(client, positionsOf({ exchanges: undefined, credentials: undefined }));
    const fold = client.folds.get(sub);
    expect([...(fold?.rows.keys() ?? [])]).toEqual(["venueone|ETH|SHORT"]);
    expect(fold?.fields).toMatchObject({
      venueone: { state: "LIVE" },
      venuetwo: { state: "AUTH_REQUIRED", mode: "request", asOf: null, error: { code: "MISSING_CREDENTIALS" } },
      venuethree: { state: "ERROR", error: { code: "NOT_CONFIGURED" } },
      venuefour: { state: "ERROR", error: { code: "NOT_CONFIGURED" } },
      venuefive: { state: "ERROR", mode: "request", error: { code: "NOT_CONFIGURED" } },
    });
  });

  it("does not wait long for a venue that does not answer, and does not show it as flat", async () => {
    const bob = stream.accounts.two.addAccount("bob");
    bob.hold("BTC", 5);
    let answer = (): void => {};
    stream.accounts.two.admit = () => new Promise((resolve) => (answer = () => resolve(true)));
    alice.hold("BTC", 400);
    const client = stream.connect();
    const wish = positionsOf({
      exchanges: ["venueone", "venuetwo"],
      credentials: { ...credentials(), ...credentials(bob) },
    });
    const sub = await subscribe(client, wish);
    expect(client.folds.has(sub)).toBe(false);
    await stream.advanceAsync(5_500);
    const fold = client.folds.get(sub);
    expect([...(fold?.rows.keys() ?? [])]).toEqual(["venueone|BTC|LONG"]);
    expect(fold?.fields["venuetwo"]).toMatchObject({ state: "ERROR", error: { code: "NO_ANSWER_YET" } });
    answer();
    await stream.advanceAsync(100);
    expect([...(fold?.rows.keys() ?? [])].sort()).toEqual(["venueone|BTC|LONG", "venuetwo|BTC|LONG"]);
    expect(fold?.fields["venuetwo"]).toMatchObject({ state: "SNAPSHOT", mode: "poll", source: "venue" });
  });

  it("sends a change of size in its turn; what the mark alone moves waits for 50 ms, whatever happens in between", async () => {
    alice.hold("BTC", 400);
    const client = stream.connect();
    const sub = await subscribe(client, positionsOf());
    const updates = () => framesOf(client, sub).filter((frame) => frame.type === "update");
    const before = updates().length;
    alice.hold("BTC", 150);
    stream.turn();
    expect(updates().at(-1)?.data).toMatchObject({ events: ["changed"], positions: [{ size: "0.15" }] });
    expect(updates()).toHaveLength(before + 1);
    // A hundred marks in a second, ten milliseconds apart.
    for (let step = 0; step < 100; step++) {
      stream.tick(stream.markets.btcOne, `${101 + step / 10}`);
      stream.advance(10);
    }
    const moved = updates().slice(before + 1);
    expect(moved.length).toBeGreaterThanOrEqual(19);
    expect(moved.length).toBeLessThanOrEqual(20);
    expect(moved.at(-1)?.data).toMatchObject({ events: ["changed"], positions: [{ markPrice: "110.9" }] });
  });

  it("reports a closed position once, with size 0 and no figure of value", async () => {
    alice.hold("BTC", 400);
    alice.hold("ETH", -5);
    const client = stream.connect();
    const sub = await subscribe(client, positionsOf());
    alice.hold("BTC", 0);
    stream.turn();
    const { data } = framesOf(client, sub).at(-1) as Frame;
    expect(data).toMatchObject({ events: ["closed"], positions: [{ symbol: "BTC", size: "0", entryPrice: "900" }] });
    expect(JSON.stringify(data)).not.toContain("unrealizedPnl");
    await stream.advanceAsync(20_000);
    const told = framesOf(client, sub).filter((frame) => JSON.stringify(frame.data).includes('"size":"0"'));
    expect(told).toHaveLength(1);
    expect([...(client.folds.get(sub)?.rows.keys() ?? [])]).toEqual(["venueone|ETH|SHORT"]);
  });

  it("reports a liquidation as one", async () => {
    alice.hold("BTC", 400);
    const client = stream.connect();
    const sub = await subscribe(client, positionsOf());
    const order = alice.rest("BTC", 400, { side: "SELL" });
    for (const left of [100, 0]) {
      alice.fill(order.venueOrderId, left === 0 ? 100 : 300, true);
      alice.hold("BTC", left);
      stream.turn();
    }
    expect(client.folds.get(sub)?.events.map(([event]) => event)).toEqual(["liquidated", "liquidated"]);
  });

  it("shows how long ago its data was true, and refreshes that at intervals", async () => {
    alice.hold("BTC", 400);
    const client = stream.connect();
    const sub = await subscribe(client, positionsOf());
    await stream.advanceAsync(12_000);
    const { fields } = client.folds.get(sub) ?? {};
    const age = stream.clock.wallMs() - Number(fields?.["venueone"]?.["asOf"]);
    expect(age).toBeLessThanOrEqual(5_500);
  });
});

describe("two subscribers of one wallet", () => {
  it("share no frame with different credentials, or none: not even that something happened", async () => {
    alice.hold("BTC", 400);
    const [mine, stranger, liar] = [stream.connect(), stream.connect(), stream.connect()];
    const sub = await subscribe(mine, positionsOf());
    const bare = await subscribe(stranger, positionsOf({ credentials: {} }));
    const wrong = await subscribe(
      liar,
      positionsOf({ credentials: { venueone: { ...toBlock(alice), apiSecret: "wrong" } } }),
    );
    await stream.advanceAsync(6_000);
    const seen = [stranger.frames.length, liar.frames.length];
    alice.hold("BTC", 100);
    stream.turn();
    expect(framesOf(mine, sub).at(-1)?.data).toMatchObject({ positions: [{ size: "0.1" }] });
    expect([stranger.frames.length, liar.frames.length]).toEqual(seen);
    for (const client of [stranger, liar]) {
      expect(framesOf(client, sub)).toEqual([]);
      expect(JSON.stringify(client.frames)).not.toContain('"size"');
    }
    expect(liar.folds.get(wrong)?.fields["venueone"]).toMatchObject({ state: "AUTH_REQUIRED" });
    // The key's text does not open anything either.
    for (const frame of [
      { op: "resume", subs: [{ sub, epoch: "a", seq: 1 }] },
      { op: "unsubscribe", subs: [sub] },
    ]) {
      stranger.op(frame);
      expect(stranger.frames.at(-1)?.code).toBe("UNKNOWN_SUBSCRIPTION");
    }
    stranger.op({ op: "resume", subs: [{ sub, epoch: "a", seq: 1, exchanges: ["venueone"], credentials: {} }] });
    expect(stranger.frames.at(-1)?.code).toBe("UNKNOWN_SUBSCRIPTION");
    expect(bare).not.toBe(sub);
  });

  it("share the key with identical credentials, and the session ends with the last of them", async () => {
    alice.hold("BTC", 400);
    const [first, second] = [stream.connect(), stream.connect()];
    const sub = await subscribe(first, positionsOf());
    expect(await subscribe(second, positionsOf())).toBe(sub);
    expect([stream.accounts.one.sessionsOpened, stream.hub.counts.keys]).toEqual([1, 1]);
    first.cut();
    alice.hold("BTC", 100);
    stream.turn();
    expect(second.folds.get(sub)?.rows.get("venueone|BTC|LONG")).toMatchObject({ size: "0.1" });
    second.op({ op: "unsubscribe", subs: [sub] });
    expect([stream.accounts.one.sessionsOpen, stream.portfolio.counts().accounts, alice.streams.size]).toEqual([
      0, 0, 0,
    ]);
    expect(stream.hub.taps.count).toBe(0);
  });

  it("are polled, and shown as such, beyond the places of the venue's streams", async () => {
    for (const name of ["bob", "carol"]) {
      const account = stream.accounts.one.addAccount(name);
      await subscribe(stream.connect(), positionsOf({ credentials: { venueone: toBlock(account) } }));
    }
    alice.hold("BTC", 400);
    const client = stream.connect();
    const sub = await subscribe(client, positionsOf());
    const { fields, rows } = client.folds.get(sub) ?? {};
    expect(fields?.["venueone"]).toMatchObject({ state: "SNAPSHOT", mode: "poll", source: "venue", intervalMs: 5_000 });
    expect(rows?.size).toBe(1);
    alice.hold("BTC", 0);
    await stream.advanceAsync(6_000);
    expect(client.folds.get(sub)?.events.at(-1)).toEqual(["closed", "venueone|BTC|LONG"]);
  });
});

describe("the orders topic", () => {
  it("begins with the open orders; every order and fill follows by itself, none is merged", async () => {
    const first = alice.rest("BTC", 10);
    const client = stream.connect();
    const sub = await subscribe(client, ordersOf());
    expect(framesOf(client, sub)[0]?.data).toMatchObject({
      orders: [{ orderId: "alice-1", status: "OPEN", quantity: "0.01", remainingQuantity: "0.01", price: "900" }],
      // Its list may be from before events were received; the next read, 1.5 s later, is not.
      coverage: { venueone: { state: "SNAPSHOT" } },
    });
    // All in one turn of the service.
    alice.fill(first.venueOrderId, 4);
    alice.fill(first.venueOrderId, 6);
    const second = alice.rest("ETH", 5);
    alice.cancel(second.venueOrderId);
    stream.turn();
    const updates = framesOf(client, sub).filter((frame) => frame.type === "update");
    expect(updates.map((frame) => [frame.seq, frame.prevSeq])).toEqual([1, 2, 3, 4, 5, 6].map((seq) => [seq + 1, seq]));
    expect(client.folds.get(sub)?.events).toEqual([
      ["fill", "venueone|BTC|alice-1"],
      ["order", "venueone|BTC|alice-1"],
      ["fill", "venueone|BTC|alice-1"],
      ["order", "venueone|BTC|alice-1"],
      ["order", "venueone|ETH|alice-2"],
      ["order", "venueone|ETH|alice-2"],
    ]);
    expect(updates[0]?.data).toMatchObject({
      event: "fill",
      fill: { quantity: "0.004", price: "900", tradeId: "alice-1-4", fee: { amount: "0.01", asset: "USDT" } },
      order: { status: "PARTIALLY_FILLED", filledQuantity: "0.004", averagePrice: "900" },
    });
    expect(client.folds.get(sub)?.rows.size).toBe(0);
  });

  it("reports a resolved execution only to its owners", async () => {
    const [mine, stranger] = [stream.connect(), stream.connect()];
    const sub = await subscribe(mine, ordersOf());
    await subscribe(stranger, ordersOf({ credentials: {} }));
    const seen = stranger.frames.length;
    const order: NormalizedOrder = {
      orderId: "77",
      symbol: "BTC",
      side: "SELL",
      type: "LIMIT",
      status: "FILLED",
      price: "900",
      quantity: "1",
      filledQuantity: "1",
      averagePrice: "900",
      timestamp: 1,
      exchange: "venueone",
      clientOrderId: null,
      venueClientOrderId: null,
      reduceOnly: true,
      triggerPrice: null,
    };
    const accounts = [
      { venue: "venueone", accountHash: accountHashOf(stream.hash, "venueone", "alice", null) } as const,
    ];
    stream.resolve({ routeId: "rt_1", accounts, exchange: "venueone", state: "COMPLETED", order });
    stream.turn();
    expect(framesOf(mine, sub).at(-1)?.data).toEqual({
      event: "execution.resolved",
      exchange: "venueone",
      routeId: "rt_1",
      state: "COMPLETED",
      order,
    });
    expect(stranger.frames).toHaveLength(seen);
  });

  it("sends a resync and a snapshot for more events in one turn than are kept, to readers in step and lagging ones", async () => {
    const client = stream.connect();
    const sub = await subscribe(client, ordersOf());
    const order = alice.rest("BTC", 1_000_000);
    for (let lots = 0; lots < 1_300; lots++) alice.fill(order.venueOrderId, 1);
    stream.turn();
    const kinds = framesOf(client, sub).map((frame) => frame.type);
    expect(kinds).toEqual(["snapshot", "resync", "snapshot"]);
    expect(client.folds.get(sub)?.rows.get("venueone|BTC|alice-1")).toMatchObject({ filledQuantity: "1.3" });
    alice.fill(order.venueOrderId, 1);
    stream.turn();
    expect(
      framesOf(client, sub)
        .slice(3)
        .map((frame) => frame.type),
    ).toEqual(["update", "update"]);
  });

  it("shows the whole list when it arrives after the time that the snapshot waits", async () => {
    const { one } = stream.accounts;
    one.admit = (_, weight) =>
      new Promise((resolve) => {
        stream.clock.setTimer(() => resolve(true), weight === 20 ? 20_000 : 0);
      });
    const slow = stream.connect();
    const dave = one.addAccount("dave");
    const resting = dave.rest("BTC", 10);
    const wish = ordersOf({ credentials: { venueone: toBlock(dave) } });
    const late = await subscribe(slow, wish);
    await stream.advanceAsync(6_000);
    expect(slow.folds.get(late)?.fields["venueone"]).toMatchObject({
      state: "ERROR",
      error: { code: "NO_ANSWER_YET" },
    });
    await stream.advanceAsync(20_000);
    expect([...(slow.folds.get(late)?.rows.values() ?? [])]).toMatchObject([{ orderId: resting.venueOrderId }]);
  });

  it("reports a failing venue in the coverage, and its list as soon as it can be read", async () => {
    stream.accounts.one.failure = { code: "TIMEOUT", retryAfterMs: null };
    alice.rest("BTC", 10);
    const client = stream.connect();
    const sub = await subscribe(client, ordersOf());
    expect(client.folds.get(sub)?.fields["venueone"]).toMatchObject({ state: "ERROR", error: { code: "TIMEOUT" } });
    stream.accounts.one.failure = null;
    await stream.advanceAsync(6_000);
    expect(framesOf(client, sub).map((frame) => frame.type)).toEqual(["snapshot", "resync", "snapshot"]);
    expect([client.folds.get(sub)?.rows.size, client.folds.get(sub)?.fields["venueone"]?.["state"]]).toEqual([
      1,
      "LIVE",
    ]);
  });
});

describe("a resumed account subscription", () => {
  function resumeOf(client: VirtualClient, sub: string, seq: number, wish: Wish = positionsOf()): Wish {
    const epoch = client.folds.get(sub)?.epoch;
    return {
      op: "resume",
      id: "r",
      subs: [{ sub, epoch, seq }],
      exchanges: wish["exchanges"],
      credentials: wish["credentials"],
    };
  }

  it.each([
    ["positions", positionsOf],
    ["orders", ordersOf],
  ] as const)("to %s brings every missed update unchanged, then continues", async (_, wishOf) => {
    const order = alice.rest("BTC", 100);
    alice.hold("BTC", 10);
    const [keeper, cutOff] = [stream.connect(), stream.connect()];
    const sub = await subscribe(keeper, wishOf());
    await subscribe(cutOff, wishOf());
    const { seq } = cutOff.folds.get(sub) ?? { seq: 0 };
    cutOff.cut();
    for (let step = 1; step <= 5; step++) {
      alice.fill(order.venueOrderId, 1);
      alice.hold("BTC", 10 + step);
      stream.turn();
    }
    const back = stream.connect(cutOff.folds);
    back.op(resumeOf(back, sub, seq, wishOf()));
    expect(back.frames[0]).toMatchObject({ type: "resumed", subs: [{ sub, seq, missed: false }] });
    expect(framesOf(back, sub).map((frame) => frame.type)).not.toContain("snapshot");
    expect(framesOf(back, sub)).toEqual(framesOf(keeper, sub).filter((frame) => frame.seq > seq));
    alice.hold("BTC", 99);
    alice.fill(order.venueOrderId, 7);
    stream.turn();
    expect(back.folds.get(sub)?.rows).toEqual(keeper.folds.get(sub)?.rows);
  });

  it("is refused without the credentials, or with different ones", async () => {
    const client = stream.connect();
    const sub = await subscribe(client, positionsOf());
    for (const changes of [
      { credentials: undefined },
      { exchanges: ["venuetwo"] },
      { credentials: { venueone: { ...toBlock(alice), apiSecret: "x" } } },
    ]) {
      client.op({ ...resumeOf(client, sub, 1), ...changes });
      expect(client.frames.at(-1)).toMatchObject({ type: "error", code: "UNKNOWN_SUBSCRIPTION" });
    }
    // Each subscription may bring its own.
    const { subs, ...common } = resumeOf(client, sub, 1) as { subs: Wish[] };
    client.op({ op: "resume", id: "own", subs: [{ ...subs[0], ...common }] });
    expect(client.frames.find((frame) => frame.id === "own")?.type).toBe("resumed");
  });

  it("beyond the ring brings a snapshot with its reason", async () => {
    const [keeper, cutOff, cutLater] = [stream.connect(), stream.connect(), stream.connect()];
    const sub = await subscribe(keeper, positionsOf());
    for (const client of [cutOff, cutLater]) await subscribe(client, positionsOf());
    cutOff.cut();
    for (let step = 0; step < 1_100; step++) {
      if (step === 200) cutLater.cut();
      alice.hold("BTC", 1 + (step % 7));
      stream.turn();
    }
    const back = stream.connect(cutOff.folds);
    back.op(resumeOf(back, sub, 1));
    expect(framesOf(back, sub)).toMatchObject([{ type: "snapshot", reason: "RESUME_MISS" }]);
    const recent = stream.connect(cutLater.folds);
    recent.op(resumeOf(recent, sub, recent.folds.get(sub)?.seq ?? 0));
    expect(framesOf(recent, sub)).toHaveLength(900);
    expect(recent.folds.get(sub)?.rows).toEqual(keeper.folds.get(sub)?.rows);
  });

  /** All connections are cut; what happens then is sent to no one. */
  async function unwatched(wishOf: typeof positionsOf): Promise<{ cutOff: VirtualClient; sub: string; seq: number }> {
    const [cutOff, last] = [stream.connect(), stream.connect()];
    const sub = await subscribe(cutOff, wishOf());
    await subscribe(last, wishOf());
    const { seq } = cutOff.folds.get(sub) ?? { seq: 0 };
    cutOff.cut();
    alice.hold("BTC", 11);
    alice.rest("BTC", 100);
    await stream.advanceAsync(100);
    last.cut();
    expect([stream.portfolio.counts().accounts, stream.accounts.one.sessionsOpen]).toEqual([0, 0]);
    return { cutOff, sub, seq };
  }

  it("to retained positions continues: the missed updates, then everything that changed since as one update", async () => {
    alice.hold("BTC", 10);
    const { cutOff, sub, seq } = await unwatched(positionsOf);
    alice.hold("BTC", 5);
    alice.hold("ETH", 3);
    await stream.advanceAsync(120_000);
    const back = stream.connect(cutOff.folds);
    back.op(resumeOf(back, sub, seq));
    await stream.advanceAsync(200);
    expect(back.frames[0]).toMatchObject({ type: "resumed", subs: [{ sub, seq, missed: false }] });
    const frames = framesOf(back, sub);
    expect(frames.map((frame) => frame.type)).not.toContain("snapshot");
    expect(frames[0]?.data).toMatchObject({ events: ["changed"], positions: [{ symbol: "BTC", size: "0.011" }] });
    expect(frames[1]?.data).toMatchObject({ events: ["changed", "opened"] });
    const fresh = stream.connect();
    await subscribe(fresh, positionsOf());
    const sizes = (client: VirtualClient) =>
      [...(client.folds.get(sub)?.rows ?? [])].map(([key, row]) => [key, row["size"], row["asOf"]]);
    expect(sizes(back)).toEqual(sizes(fresh));
    expect(sizes(back)).toHaveLength(2);
  });

  it("to retained orders brings the missed updates, then a resync and the present orders", async () => {
    const { cutOff, sub, seq } = await unwatched(ordersOf);
    alice.rest("BTC", 200);
    await stream.advanceAsync(60_000);
    const back = stream.connect(cutOff.folds);
    back.op(resumeOf(back, sub, seq, ordersOf()));
    await stream.advanceAsync(200);
    expect(back.frames[0]).toMatchObject({ type: "resumed", subs: [{ sub, seq, missed: false }] });
    expect(framesOf(back, sub)).toMatchObject([
      { type: "update", data: { event: "order", order: { orderId: "alice-1" } } },
      { type: "resync", reason: "UNWATCHED" },
      { type: "snapshot" },
    ]);
    expect([...(back.folds.get(sub)?.rows.keys() ?? [])]).toEqual(["venueone|BTC|alice-1", "venueone|BTC|alice-2"]);
    alice.fill("alice-2", 1);
    stream.turn();
    expect(framesOf(back, sub).at(-1)?.data).toMatchObject({ event: "order", order: { filledQuantity: "0.001" } });
  });

  it.each([
    ["positions", positionsOf],
    ["orders", ordersOf],
  ] as const)(
    "to retained %s, like a fresh one, gets a present snapshot after the venues have answered",
    async (_, wishOf) => {
      alice.hold("BTC", 10);
      const { cutOff, sub, seq } = await unwatched(wishOf);
      alice.hold("BTC", 7);
      alice.rest("BTC", 300);
      stream.accounts.one.failure = { code: "TIMEOUT", retryAfterMs: null };
      const [fresh, back] = [stream.connect(), stream.connect(cutOff.folds)];
      fresh.op(wishOf());
      back.op(resumeOf(back, sub, seq, wishOf()));
      expect(framesOf(fresh, sub)).toEqual([]);
      stream.accounts.one.failure = null;
      await stream.advanceAsync(8_000);
      expect(framesOf(fresh, sub)[0]?.type).toBe("snapshot");
      expect(fresh.folds.get(sub)?.rows.size).toBe(wishOf === positionsOf ? 1 : 2);
      expect(back.folds.get(sub)?.rows).toEqual(fresh.folds.get(sub)?.rows);
    },
  );

  it("to a key retained for more than five minutes brings a snapshot of another epoch", async () => {
    const { cutOff, sub, seq } = await unwatched(positionsOf);
    const epoch = cutOff.folds.get(sub)?.epoch;
    await stream.advanceAsync(300_100);
    const late = stream.connect(cutOff.folds);
    late.op(resumeOf(late, sub, seq));
    await stream.advanceAsync(100);
    expect(late.frames[0]).toMatchObject({ type: "resumed", subs: [{ missed: true }] });
    expect(framesOf(late, sub)[0]).toMatchObject({ type: "snapshot", reason: "RESUME_MISS", seq: 1 });
    expect(late.folds.get(sub)?.epoch).not.toBe(epoch);
  });

  it("after five minutes brings a snapshot", async () => {
    const [keeper, first, second] = [stream.connect(), stream.connect(), stream.connect()];
    const sub = await subscribe(keeper, ordersOf());
    for (const client of [first, second]) {
      await subscribe(client, ordersOf());
      client.cut();
    }
    alice.rest("BTC", 100);
    stream.turn();
    stream.advance(290_000);
    const soon = stream.connect(first.folds);
    soon.op(resumeOf(soon, sub, 1, ordersOf()));
    // No list was read meanwhile, and it was not LIVE before: its coverage has no news.
    expect(framesOf(soon, sub)).toMatchObject([{ type: "update", data: { event: "order" } }]);
    stream.advance(20_000);
    const late = stream.connect(second.folds);
    late.op(resumeOf(late, sub, 1, ordersOf()));
    expect(framesOf(late, sub)).toMatchObject([{ type: "snapshot", reason: "RESUME_MISS" }]);
  });
});

describe("a reader of accounts that is too slow", () => {
  function slow(): VirtualClient {
    stream = new VirtualStream({ softBufferBytes: 8 * KIB, stalledMs: 120_000, framesPerSecond: 1_000 });
    alice = stream.accounts.one.addAccount("alice");
    return stream.connect();
  }

  function stall(client: VirtualClient): void {
    client.pathBytesMax = 2 * KIB;
    client.isReading = false;
  }

  function churn(count: number): void {
    const order = alice.rest("BTC", 1_000_000);
    for (let step = 0; step < count; step++) {
      alice.fill(order.venueOrderId, 1);
      alice.hold("BTC", 1 + (step % 9));
      stream.turn();
      if (step % 10 === 9) stream.advance(100);
    }
  }

  it("gets positions merged, but orders one by one: every event arrives in its order", async () => {
    const client = slow();
    const positions = await subscribe(client, positionsOf());
    const orders = await subscribe(client, ordersOf({ id: "o" }));
    const fast = stream.connect();
    await subscribe(fast, ordersOf());
    stall(client);
    churn(200);
    expect(client.connection.isLagging).toBe(true);
    for (let round = 0; round < 200 && client.connection.isLagging; round++) {
      client.read(4 * KIB);
      stream.advance(100);
    }
    client.isReading = true;
    client.read(Number.POSITIVE_INFINITY);
    stream.advance(200);
    expect(client.connection.isLagging).toBe(false);
    const seqs = framesOf(client, orders)
      .filter((frame) => frame.type === "update")
      .map((frame) => frame.seq);
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => index + 2));
    expect(client.folds.get(orders)?.rows).toEqual(fast.folds.get(orders)?.rows);
    const merged = framesOf(client, positions).filter(
      (frame) => frame.type === "update" && frame.seq > frame.prevSeq + 1,
    );
    expect(merged.length).toBeGreaterThan(0);
    expect(client.folds.get(positions)?.rows.get("venueone|BTC|LONG")).toMatchObject({ size: "0.002" });
  });

  it("is notified when it lags beyond the ring, and starts again: no gap, no merged orders", async () => {
    const client = slow();
    const orders = await subscribe(client, ordersOf());
    stall(client);
    churn(700);
    client.isReading = true;
    client.read(Number.POSITIVE_INFINITY);
    stream.advance(1_000);
    const kinds = framesOf(client, orders).map((frame) => frame.type);
    const resyncAt = kinds.indexOf("resync");
    expect(kinds.slice(resyncAt, resyncAt + 2)).toEqual(["resync", "snapshot"]);
    expect(client.folds.get(orders)?.rows.get("venueone|BTC|alice-1")).toMatchObject({ filledQuantity: "0.7" });
    const gaps = framesOf(client, orders).filter((frame) => frame.type === "update" && frame.seq !== frame.prevSeq + 1);
    expect(gaps).toEqual([]);
  });

  it("and lags before the first snapshot gets it once there is one and it reads", async () => {
    const client = slow();
    alice.hold("BTC", 5);
    client.op({ op: "subscribe", topic: "book", symbols: ["BTC"], depth: 30, intervalMs: 0 });
    stall(client);
    for (let round = 0; round < 60; round++) {
      stream.load(stream.markets.btcOne, 30, round + 1);
      stream.advance(100);
    }
    expect(client.connection.isLagging).toBe(true);
    client.op(positionsOf());
    client.isReading = true;
    client.read(Number.POSITIVE_INFINITY);
    stream.turn();
    expect([...client.folds.keys()].some((sub) => sub.startsWith("positions:"))).toBe(false);
    await stream.advanceAsync(500);
    const sub = [...client.folds.keys()].find((key) => key.startsWith("positions:")) ?? "";
    expect(client.folds.get(sub)?.rows.size).toBe(1);
    alice.hold("BTC", 6);
    stream.turn();
    expect(client.folds.get(sub)?.rows.get("venueone|BTC|LONG")).toMatchObject({ size: "0.006" });
  });
});

describe("heartbeats of account subscriptions", () => {
  it("contain the last number of private keys like that of public ones", async () => {
    const client = stream.connect();
    const sub = await subscribe(client, positionsOf());
    client.op({ op: "subscribe", topic: "ticker", symbols: ["BTC"], exchanges: ["venueone"] });
    stream.prove();
    await stream.advanceAsync(5_200);
    const beat = client.frames.findLast((frame) => frame.type === "heartbeat");
    expect(Object.keys(beat?.heads ?? {}).sort()).toEqual([sub, "ticker:BTC:venueone:100"].sort());
  });
});
