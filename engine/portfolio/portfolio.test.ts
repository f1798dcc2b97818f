/** Accounts that are pushed, polled, shared, refused and ended, on virtual time. */
import { Owners } from "../domain/owner.js";
import { beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../domain/logger.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { accountHashOf } from "../orders/accounts.js";
import type { KeyedHash } from "../storage/keyed-hash.js";
import { type AccountHandle, Portfolio, type PortfolioOptions } from "./portfolio.js";
import type { AccountChange } from "./portfolio-types.js";
import type { ResolvedExecution } from "./resolved-executions.js";
import { type FakeAccount, AccountVenue, STREAM_LIVE_MS } from "./test/fake-accounts.js";

/** Keeps parts apart, like the real hash. */
const hash: KeyedHash = { hmacHex: (purpose, parts) => JSON.stringify([purpose, ...parts.map(String)]) };

let clock: VirtualClock;
let two: AccountVenue;
let portfolio: Portfolio;
let alice: FakeAccount;
let resolve: (execution: ResolvedExecution) => void;

function createPortfolio(venue: AccountVenue, options: Partial<PortfolioOptions> = {}): Portfolio {
  return new Portfolio({
    rooms: new Map([[venue.venue, venue.room]]),
    clock,
    logger: silentLogger,
    hash,
    resolved: {
      listen(listener) {
        resolve = listener;
        return () => {
          resolve = () => {};
        };
      },
    },
    ...options,
  });
}

beforeEach(() => {
  clock = new VirtualClock();
  two = new AccountVenue("venuetwo", clock);
  alice = two.addAccount("alice");
  portfolio = createPortfolio(two);
});

interface Listening {
  readonly handle: AccountHandle;
  readonly received: AccountChange[];
  events(): string[];
}

function listen(
  block: unknown = two.credentials(alice),
  wantsOrders = false,
  ownerId: string | null = null,
): Listening {
  const received: AccountChange[] = [];
  const opened = portfolio.open(
    "venuetwo",
    { kind: "credentials", block },
    wantsOrders,
    (change) => {
      received.push(change);
    },
    ownerId,
    null,
  );
  if (!opened.ok) throw new Error(opened.code);
  return {
    handle: opened.handle,
    received,
    events: () =>
      received.flatMap((change) => (change.kind === "positions" ? change.changes.map((one) => one.event) : [])),
  };
}

describe("a pushed account", () => {
  it("is unknown, not flat, until its stream is reconciled; then it is LIVE", async () => {
    alice.hold("BTC", 400);
    const { handle, events } = listen();
    expect(handle.watch.positions).toBeNull();
    expect(handle.watch.coverage()).toMatchObject({ state: "ERROR", asOf: null, error: { code: "NO_ANSWER_YET" } });
    await clock.advanceAsync(STREAM_LIVE_MS);
    expect(handle.watch.positions).toMatchObject([{ symbol: "BTC", qtyLots: 400 }]);
    expect(handle.watch.coverage()).toEqual({
      state: "LIVE",
      mode: "push",
      asOf: clock.wallMs(),
      source: "stream",
      intervalMs: null,
      error: null,
    });
    expect([events(), two.reads]).toEqual([["opened"], []]);
  });

  it("with a holding in an unlisted contract reports POSITION_UNLISTED beside what is counted, until it is gone", async () => {
    alice.hold("BTC", 400);
    alice.holdUncounted("GONEUSDT", "12.5");
    const { handle, received, events } = listen();
    await clock.advanceAsync(STREAM_LIVE_MS);
    expect(handle.watch.positions).toMatchObject([{ symbol: "BTC", qtyLots: 400 }]);
    expect(handle.watch.coverage()).toMatchObject({
      state: "LIVE",
      error: { code: "POSITION_UNLISTED", message: expect.stringContaining("GONEUSDT") },
    });
    // Its list of orders has not been read yet; the error of the positions does not apply to it.
    expect(handle.watch.ordersCoverage().error).toMatchObject({ code: "NO_ANSWER_YET" });
    expect(events()).toEqual(["opened"]);
    received.length = 0;
    alice.holdUncounted("GONEUSDT", null);
    await clock.advanceAsync(STREAM_LIVE_MS);
    expect(handle.watch.coverage()).toMatchObject({ state: "LIVE", error: null });
    expect(received.map(({ kind }) => kind)).toEqual(["coverage"]);
  });

  it("reports opened, changed, closed once with size 0, and a flip as both", async () => {
    const { received } = listen();
    await clock.advanceAsync(100);
    received.length = 0;
    alice.hold("BTC", 400);
    alice.hold("BTC", 150);
    alice.hold("BTC", 150);
    alice.hold("BTC", -50);
    alice.hold("BTC", 0);
    const reported = received.flatMap((change) =>
      change.kind === "positions"
        ? change.changes.map(({ event, position }) => `${event} ${position.direction} ${position.qtyLots}`)
        : [change.kind],
    );
    expect(reported).toEqual([
      "opened LONG 400",
      "changed LONG 150",
      "opened SHORT 50",
      "closed LONG 0",
      "closed SHORT 0",
    ]);
  });

  it("reports a position that the venue took over as liquidated", async () => {
    alice.hold("BTC", 400);
    alice.hold("ETH", 10);
    const { events } = listen();
    await clock.advanceAsync(100);
    const order = alice.rest("BTC", 400, { side: "SELL" });
    alice.fill(order.venueOrderId, 100, true);
    alice.hold("BTC", 300);
    alice.fill(order.venueOrderId, 300, true);
    alice.hold("BTC", 0);
    alice.hold("ETH", 0);
    expect(events().slice(2)).toEqual(["liquidated", "liquidated", "closed"]);
    // A later close of the same contract is not a liquidation.
    alice.hold("BTC", 5);
    await clock.advanceAsync(11_000);
    alice.hold("BTC", 0);
    expect(events().at(-1)).toBe("closed");
  });

  it("reports a change of the venue's own figures as one that is not urgent", async () => {
    alice.hold("BTC", 400);
    const { received } = listen();
    await clock.advanceAsync(100);
    received.length = 0;
    alice.hold("BTC", 400, { unrealizedPnl: "1.5" });
    alice.hold("BTC", 400, { unrealizedPnl: "1.5", leverage: 10 });
    const held = received.flatMap((change) =>
      change.kind === "positions" ? change.changes.map((one) => one.isHeld) : [],
    );
    expect(held).toEqual([false, true]);
  });

  it("still updates when the clock of this machine is set back", async () => {
    let backMs = 0;
    class SteppedClock extends VirtualClock {
      override wallMs(): number {
        return super.wallMs() - backMs;
      }
    }
    clock = new SteppedClock();
    two = new AccountVenue("venuetwo", clock);
    alice = two.addAccount("alice");
    portfolio = createPortfolio(two);
    alice.hold("BTC", 400);
    const { handle, events } = listen();
    await clock.advanceAsync(STREAM_LIVE_MS);
    backMs = 600_000;
    await clock.advanceAsync(1_000);
    alice.hold("BTC", 100);
    await clock.advanceAsync(1_000);
    expect(handle.watch.positions).toMatchObject([{ symbol: "BTC", qtyLots: 100 }]);
    expect(events()).toEqual(["opened", "changed"]);
  });

  it("keeps its state through a short loss, is polled through a long one, and adopts what it missed", async () => {
    alice.hold("BTC", 400);
    alice.hold("ETH", -7);
    const { handle, events } = listen();
    await clock.advanceAsync(100);
    alice.drop();
    expect(handle.watch.coverage()).toMatchObject({ state: "SNAPSHOT", mode: "push" });
    alice.hold("BTC", 100);
    expect(handle.watch.positions).toMatchObject([{ qtyLots: 400 }, { qtyLots: 7 }]);
    await clock.advanceAsync(10_000);
    expect(handle.watch.coverage()).toMatchObject({ state: "SNAPSHOT", mode: "poll", source: "venue" });
    expect(handle.watch.positions).toMatchObject([{ qtyLots: 7 }, { qtyLots: 100 }]);
    alice.hold("ETH", 0);
    alice.restore();
    expect(handle.watch.coverage()).toMatchObject({ state: "LIVE", mode: "push", source: "stream" });
    expect(events()).toEqual(["opened", "opened", "changed", "closed"]);
    const readCount = two.reads.length;
    await clock.advanceAsync(60_000);
    expect(two.reads).toHaveLength(readCount);
  });
});

describe("a polled account", () => {
  beforeEach(() => {
    two = new AccountVenue("venuetwo", clock, { streamPlaces: null });
    alice = two.addAccount("alice");
    portfolio = createPortfolio(two, {
      paces: {
        venuetwo: {
          positions: { looksPerMinute: 60, intervalMsMin: 5_000 },
          orders: { looksPerMinute: 12, intervalMsMin: 5_000 },
        },
      },
    });
  });

  it("is polled at once, then in its interval, in the lanes for reads", async () => {
    alice.hold("BTC", 400);
    const { handle, events } = listen();
    await clock.advanceAsync(1);
    expect(handle.watch.coverage()).toMatchObject({ state: "SNAPSHOT", mode: "poll", intervalMs: 5_000 });
    expect(handle.watch.positions).toMatchObject([{ qtyLots: 400 }]);
    alice.hold("BTC", 0);
    await clock.advanceAsync(60_000);
    expect(events()).toEqual(["opened", "closed"]);
    expect(two.reads.map((read) => read.lane)).toEqual(["read", ...Array(12).fill("background")]);
  });

  it("keeps its positions when a poll fails, reports why, and pauses the venue as long as it requests", async () => {
    alice.hold("BTC", 400);
    const { handle, events } = listen();
    await clock.advanceAsync(1);
    two.failure = { code: "RATE_LIMITED", retryAfterMs: 30_000 };
    await clock.advanceAsync(6_000);
    expect(handle.watch.coverage()).toMatchObject({ state: "ERROR", mode: "poll", error: { code: "RATE_LIMITED" } });
    expect(handle.watch.positions).toMatchObject([{ qtyLots: 400 }]);
    const readCount = two.reads.length;
    await clock.advanceAsync(24_000);
    expect(two.reads).toHaveLength(readCount);
    two.failure = null;
    await clock.advanceAsync(10_000);
    expect([handle.watch.coverage().state, events()]).toEqual(["SNAPSHOT", ["opened"]]);
  });

  it("is paused alone by a limit that names it", async () => {
    const bob = two.addAccount("bob");
    alice.hold("BTC", 400);
    const mine = listen();
    const his = listen(two.credentials(bob));
    await clock.advanceAsync(2_000);
    two.failureOf = (account) =>
      account === bob ? { code: "RATE_LIMITED", retryAfterMs: 40_000, isAccountLimit: true } : null;
    await clock.advanceAsync(20_000);
    alice.hold("BTC", 150);
    await clock.advanceAsync(6_000);
    expect(mine.handle.watch.positions).toMatchObject([{ qtyLots: 150 }]);
    expect(mine.handle.watch.coverage().state).toBe("SNAPSHOT");
    expect(his.handle.watch.coverage()).toMatchObject({ state: "ERROR", error: { code: "RATE_LIMITED" } });
    const asked = two.reads.filter(({ account }) => account === "bob").length;
    await clock.advanceAsync(15_000);
    expect(two.reads.filter(({ account }) => account === "bob")).toHaveLength(asked);
    two.failureOf = () => null;
    await clock.advanceAsync(20_000);
    expect(his.handle.watch.coverage().state).toBe("SNAPSHOT");
  });

  it("that is always limited does not keep the others from being polled", async () => {
    const bob = two.addAccount("bob");
    two.failureOf = (account) => (account === bob ? { code: "RATE_LIMITED", retryAfterMs: 2_000 } : null);
    listen(two.credentials(bob));
    const { handle } = listen();
    await clock.advanceAsync(10_000);
    alice.hold("BTC", 400);
    await clock.advanceAsync(20_000);
    expect(handle.watch.positions).toMatchObject([{ qtyLots: 400 }]);
  });

  it("with refused credentials needs other ones, and is tried once a minute", async () => {
    const { handle } = listen({ apiKey: "alice", apiSecret: "wrong" });
    await clock.advanceAsync(1);
    expect(handle.watch.coverage()).toMatchObject({ state: "AUTH_REQUIRED", error: { code: "AUTH" } });
    expect(handle.watch.positions).toBeNull();
    await clock.advanceAsync(300_000);
    expect(two.reads.length).toBeLessThanOrEqual(6);
  });

  it("reports orders as lists show them: new, filled, ended as the venue reports, unknown where it does not", async () => {
    const resting = alice.rest("BTC", 10);
    const { handle, received } = listen(undefined, true);
    await clock.advanceAsync(1);
    expect(handle.watch.openOrders).toEqual([resting]);
    const second = alice.rest("ETH", 5);
    alice.fill(resting.venueOrderId, 4);
    await clock.advanceAsync(20_000);
    alice.fill(resting.venueOrderId, 6);
    alice.open.delete(second.venueOrderId);
    await clock.advanceAsync(20_000);
    const reported = received.flatMap((change) =>
      change.kind === "order" ? [`${change.order.venueOrderId} ${change.order.status} ${change.order.filledLots}`] : [],
    );
    expect(reported.sort()).toEqual([
      "alice-1 FILLED 10",
      "alice-1 PARTIALLY_FILLED 4",
      "alice-2 OPEN 0",
      "alice-2 UNKNOWN 0",
    ]);
    expect(handle.watch.openOrders).toEqual([]);
  });
});

describe("the streams of a venue", () => {
  beforeEach(() => {
    two = new AccountVenue("venuetwo", clock, { streamPlaces: 10 });
    portfolio = createPortfolio(two);
  });

  it("go to the first accounts, and the others are polled; a polled account takes a stream that becomes free", async () => {
    const accounts = Array.from({ length: 13 }, (_, index) => two.addAccount(`account-${index}`));
    const listening = accounts.map((account) => listen(two.credentials(account)));
    await clock.advanceAsync(60_000);
    const modes = () => listening.map(({ handle }) => handle.watch.coverage().mode);
    expect(modes()).toEqual([...Array(10).fill("push"), ...Array(3).fill("poll")]);
    expect(listening.every(({ handle }) => handle.watch.positions !== null)).toBe(true);
    expect(portfolio.counts()).toEqual({ accounts: 13, polled: 3 });
    listening[4]?.handle.close();
    await clock.advanceAsync(100);
    expect(modes().slice(10)).toEqual(["push", "poll", "poll"]);
    expect(listening[10]?.handle.watch.coverage().state).toBe("LIVE");
    expect(two.streamedCount()).toBe(10);
  });

  it("that the venue ends leave the account polled, and it requests one again", async () => {
    const account = two.addAccount("bob");
    const { handle } = listen(two.credentials(account));
    await clock.advanceAsync(100);
    account.end();
    await clock.advanceAsync(1_000);
    expect(handle.watch.coverage()).toMatchObject({ state: "SNAPSHOT", mode: "poll" });
    await clock.advanceAsync(60_000);
    expect(handle.watch.coverage()).toMatchObject({ state: "LIVE", mode: "push" });
    expect(portfolio.counts().polled).toBe(0);
  });
});

describe("sharing a watched account", () => {
  it("is possible with identical credentials only: one session, closed with its last user", async () => {
    const first = listen();
    const second = listen({ apiSecret: "secret-of-alice", apiKey: "alice" });
    expect([second.handle.watch === first.handle.watch, two.sessionsOpened]).toEqual([true, 1]);
    first.handle.close();
    first.handle.close();
    await clock.advanceAsync(100);
    alice.hold("BTC", 1);
    expect([two.sessionsOpen, first.events(), second.events()]).toEqual([1, [], ["opened"]]);
    second.handle.close();
    expect([two.sessionsOpen, portfolio.counts().accounts, two.streamedCount()]).toEqual([0, 0, 0]);
    await clock.advanceAsync(120_000);
    expect(clock.pendingTimerCount).toBe(0);
  });

  it("gives a wrong secret with a right key nothing of what the right one opened", async () => {
    alice.hold("BTC", 400);
    const right = listen();
    const wrong = listen({ apiKey: "alice", apiSecret: "wrong" });
    await clock.advanceAsync(30_000);
    expect(right.handle.watch.positions).toHaveLength(1);
    expect(wrong.handle.watch.positions).toBeNull();
    expect(wrong.received.every((change) => change.kind === "coverage")).toBe(true);
    expect(wrong.handle.watch.coverage().state).toBe("AUTH_REQUIRED");
  });

  it("leaves half of the watches to the keys of others, and gives them back", () => {
    portfolio = createPortfolio(two, { accountsMax: 4 });
    const open = (name: string, payer: string) => {
      const block = two.credentials(two.addAccount(name));
      return portfolio.open("venuetwo", { kind: "credentials", block }, false, () => {}, "ow_a", payer);
    };
    const greedy = ["a", "b", "c"].map((name) => open(name, "pk_greedy"));
    expect(greedy.map(({ ok }) => ok)).toEqual([true, true, false]);
    expect(open("d", "pk_other").ok).toBe(true);
    if (greedy[0]?.ok) greedy[0].handle.close();
    expect([open("e", "pk_greedy").ok, open("f", "pk_greedy").ok]).toEqual([true, false]);
  });

  it("is bounded, and refuses what it cannot open without leaving a session", () => {
    portfolio = createPortfolio(two, { accountsMax: 1 });
    listen();
    const bob = two.addAccount("bob");
    const open = (venue: "venuetwo" | "venueone", block: unknown) =>
      portfolio.open(venue, { kind: "credentials", block }, false, () => {}, null, null);
    expect(open("venuetwo", two.credentials(bob))).toEqual({ ok: false, code: "OVERLOADED" });
    expect(open("venueone", {})).toEqual({ ok: false, code: "NOT_CONFIGURED" });
    portfolio = createPortfolio(two);
    expect(
      portfolio.open("venuetwo", { kind: "credentials", block: { apiKey: "malformed" } }, false, () => {}, null, null),
    ).toEqual({
      ok: false,
      code: "BAD_CREDENTIALS",
      problem: "venuetwo.apiKey must be a key",
    });
    expect(
      portfolio.open("venuetwo", { kind: "address", walletAddress: "0xabc" }, false, () => {}, null, null),
    ).toEqual({
      ok: false,
      code: "MISSING_CREDENTIALS",
    });
    expect(two.sessionsOpen).toBe(1);
  });

  it("polls an account whose stream could not be opened for a fault of the room, and leaves nothing of the stream", async () => {
    two.openingThrows = true;
    let opened: Listening | null = null;
    try {
      opened = listen();
    } catch {
      // What was opened before the fault must be gone.
      expect([two.sessionsOpen, portfolio.counts().accounts]).toEqual([0, 0]);
    }
    await clock.advanceAsync(100);
    expect(opened?.handle.watch.coverage()).toMatchObject({ state: "SNAPSHOT", mode: "poll" });
    two.openingThrows = false;
    await clock.advanceAsync(61_000);
    expect(opened?.handle.watch.coverage()).toMatchObject({ state: "LIVE", mode: "push" });
    opened?.handle.close();
    expect([two.sessionsOpen, portfolio.counts().accounts, clock.pendingTimerCount]).toEqual([0, 0, 0]);
  });

  it("ends completely with the portfolio", async () => {
    listen();
    listen(two.credentials(two.addAccount("bob")));
    await clock.advanceAsync(100);
    portfolio.stop();
    expect([two.sessionsOpen, clock.pendingTimerCount]).toEqual([0, 0]);
  });
});

describe("the orders of an account", () => {
  it("begin with the whole list and continue with events; a failed first list is read again", async () => {
    const resting = alice.rest("BTC", 10);
    two.failure = { code: "TIMEOUT", retryAfterMs: null };
    const { handle, received } = listen(undefined, true);
    await clock.advanceAsync(100);
    expect(handle.watch.ordersCoverage()).toMatchObject({ state: "ERROR", error: { code: "TIMEOUT" } });
    expect([handle.watch.openOrders, handle.watch.areOrdersSettled]).toEqual([null, true]);
    two.failure = null;
    await clock.advanceAsync(6_000);
    expect(received.some((change) => change.kind === "ordersReset")).toBe(true);
    expect(handle.watch.openOrders).toEqual([resting]);
    expect(handle.watch.ordersCoverage().state).toBe("LIVE");
    alice.fill(resting.venueOrderId, 3);
    expect(handle.watch.openOrders).toMatchObject([{ filledLots: 3, status: "PARTIALLY_FILLED" }]);
    alice.cancel(resting.venueOrderId);
    expect(handle.watch.openOrders).toEqual([]);
    expect(received.filter((change) => change.kind === "fill")).toHaveLength(1);
  });

  it("that ended while the stream was away are looked up when it is back", async () => {
    const first = alice.rest("BTC", 10);
    const { handle, received } = listen(undefined, true);
    await clock.advanceAsync(100);
    alice.drop();
    alice.fill(first.venueOrderId, 10);
    const second = alice.rest("ETH", 5);
    await clock.advanceAsync(500);
    alice.restore();
    await clock.advanceAsync(500);
    expect(handle.watch.openOrders).toEqual([second]);
    const reported = received.flatMap((change) =>
      change.kind === "order" ? [`${change.order.venueOrderId} ${change.order.status}`] : [],
    );
    expect(reported.sort()).toEqual(["alice-1 FILLED", "alice-2 OPEN"]);
  });

  it("are reported as ended once, by the source that knows first", async () => {
    const [first, second] = [alice.rest("BTC", 10), alice.rest("ETH", 5)];
    const { received } = listen(undefined, true);
    await clock.advanceAsync(100);
    alice.drop();
    for (const { venueOrderId } of [first, second]) alice.fill(venueOrderId, 10);
    two.admit = async (_, weight) => {
      // While the end of the first order is looked up, the second one's is reported; then the venue answers no more.
      if (weight === 2 && two.failure === null) {
        two.failure = { code: "TIMEOUT", retryAfterMs: null };
        alice.tell({ kind: "order", order: { ...second, status: "FILLED", filledLots: 5 } });
      }
      return true;
    };
    alice.restore();
    await clock.advanceAsync(500);
    const reported = received.flatMap((change) =>
      change.kind === "order" ? [`${change.order.venueOrderId} ${change.order.status}`] : [],
    );
    expect(reported.sort()).toEqual(["alice-1 UNKNOWN", "alice-2 FILLED"]);
  });
});

describe("an execution that was resolved", () => {
  const execution: ResolvedExecution = {
    routeId: "rt_1",
    accounts: [{ venue: "venuetwo", accountHash: accountHashOf(hash, "venuetwo", "alice", null) }],
    exchange: "venuetwo",
    order: null,
    state: "REJECTED",
  };

  it("is reported to the account's own credentials, once proven, and to no other", async () => {
    const bob = listen(two.credentials(two.addAccount("bob")), true);
    const wrong = listen({ apiKey: "alice", apiSecret: "wrong" }, true);
    const right = listen(undefined, true);
    resolve(execution);
    expect(right.received.some((change) => change.kind === "resolved")).toBe(false);
    await clock.advanceAsync(100);
    resolve(execution);
    resolve({ ...execution, accounts: [] });
    const count = ({ received }: Listening) => received.filter((change) => change.kind === "resolved").length;
    expect([count(right), count(wrong), count(bob)]).toEqual([1, 0, 0]);
  });

  it("is reported to its owner alone, of several with the same credentials, and to the one that adopted it", async () => {
    let adopted: string | null = null;
    portfolio = createPortfolio(two, { owners: new Owners({ adoptedBy: () => adopted }) });
    const watchers = ["ow_alice", "ow_bob", null].map((ownerId) => listen(undefined, true, ownerId));
    await clock.advanceAsync(100);
    const countsOf = (ownerId: string | null): number[] => {
      for (const { received } of watchers) received.length = 0;
      const accountHash = accountHashOf(hash, "venuetwo", "alice", ownerId);
      resolve({ ...execution, accounts: [{ venue: "venuetwo", accountHash }] });
      return watchers.map(({ received }) => received.filter((change) => change.kind === "resolved").length);
    };
    expect(countsOf("ow_alice")).toEqual([1, 0, 0]);
    expect(countsOf("ow_bob")).toEqual([0, 1, 0]);
    expect(countsOf(null)).toEqual([0, 0, 1]);
    adopted = "ow_bob";
    expect(countsOf(null)).toEqual([0, 1, 1]);
  });

  it("is not reported to callers with only a public address", async () => {
    two = new AccountVenue("venuetwo", clock, { isPublic: true });
    alice = two.addAccount("alice");
    portfolio = createPortfolio(two);
    const received: AccountChange[] = [];
    const opened = portfolio.open(
      "venuetwo",
      { kind: "address", walletAddress: "alice" },
      true,
      (change) => received.push(change),
      null,
      null,
    );
    await clock.advanceAsync(100);
    expect(opened.ok && opened.handle.watch.coverage().state).toBe("LIVE");
    resolve(execution);
    expect(received.some((change) => change.kind === "resolved")).toBe(false);
  });
});
