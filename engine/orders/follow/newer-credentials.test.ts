/** Orders that rest are followed with what their account is used with now: an earlier key may be of no use any more. */
import { Owners } from "../../domain/owner.js";
import { describe, expect, it, vi } from "vitest";
import type { AccountSession, AccountStreams } from "../../ports.js";
import { decodeJson } from "../../storage/state-store.js";
import { Background } from "../background.js";
import { SendBounds } from "../send/absence-proof.js";
import type { FollowRow } from "./followed-run.js";
import { OrderFollows } from "./order-follows.js";
import { OrderListeners } from "./order-listeners.js";
import type { FakeSession } from "../test/fake-session.js";
import { FakeStreams } from "../test/fake-streams.js";
import { createHarness, recordingLogger, SECRET_ONE, testHash } from "../test/harness.js";
import type { TradeRun } from "../run.js";

const ACCOUNT = "acct-venueone";
const RESTING_CLOSE = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** An order that rests, followed with `first`; the venue answers only sessions of a secret in `valid`. */
async function following(first: string, valid: Set<string>, streams: AccountStreams | null = null) {
  const harness = createHarness();
  const { clock, logLines, one, store } = harness;
  await harness.closeData(RESTING_CLOSE);
  await clock.advanceAsync(1_000);
  const [row] = await store.scan("followed-trade", { prefix: "", limit: 1 });
  if (row === undefined) throw new Error("nothing is followed");
  const { run } = decodeJson(row.value) as FollowRow<TradeRun>;
  await harness.service.drain(1_000);
  const logger = recordingLogger(logLines);
  const inner = one.room();
  const secretOf = new Map<AccountSession, string>();
  const used: string[] = [];
  const room: typeof inner = {
    ...inner,
    streams,
    openSession: (raw) => {
      const opened = inner.openSession(raw, null);
      if (opened.ok) secretOf.set(opened.session, (raw as { secret: string }).secret);
      return opened;
    },
    reader: {
      ...inner.reader,
      readOrder: async (session, instrument, ref, options) => {
        const secret = secretOf.get(session) ?? "";
        used.push(secret);
        return valid.has(secret)
          ? inner.reader.readOrder(session, instrument, ref, options)
          : { ok: false, code: "AUTH", message: "no such key", retryAfterMs: null };
      },
    },
  };
  const background = new Background(clock, logger);
  const listeners = new OrderListeners({ clock, logger });
  const followsOf = (namespace: string): OrderFollows<TradeRun> =>
    new OrderFollows<TradeRun>(
      {
        ...{
          background,
          bounds: new SendBounds(),
          clock,
          hash: testHash,
          owners: new Owners(),
          listeners,
          logger,
          store,
        },
        rooms: new Map([[room.venue, room]]),
      },
      { namespace, publish: async () => {} },
    );
  const follows = followsOf("followed-copy");
  /** Of single orders of the account, over the same streams. */
  const others = followsOf("followed-other");
  const credentialsOf = (secret: string) => ({ account: ACCOUNT, secret });
  const withSession = (secret: string, use: (session: AccountSession) => void): void => {
    const opened = room.openSession(credentialsOf(secret), null);
    if (!opened.ok) throw new Error(opened.problem);
    use(opened.session);
    opened.session.close();
  };
  const consider = (secret: string, one: TradeRun = run): void =>
    withSession(secret, (session) =>
      follows.consider(one, null, () => ({ session, credentials: credentialsOf(secret) })),
    );
  consider(first);
  const meet = (secret: string): void =>
    withSession(secret, (session) =>
      follows.meet(room.venue, { session, credentials: credentialsOf(secret) }, "pk_test"),
    );
  const fill = (): void => {
    const [entry] = one.log;
    if (entry?.order == null) throw new Error("no order is there");
    entry.order = { ...entry.order, status: "FILLED", filledLots: 250, averagePrice: "101000" };
  };
  const alsoFollow = (secret: string): void =>
    withSession(secret, (session) => {
      const credentials = credentialsOf(secret);
      others.consider({ ...run, routeId: "rt_of_another" }, null, () => ({ session, credentials }));
    });
  const alsoMeet = (secret: string): void =>
    withSession(secret, (session) =>
      others.meet(room.venue, { session, credentials: credentialsOf(secret) }, "pk_test"),
    );
  /** Of the sessions that are open. */
  const openSecrets = (): string[] =>
    [...secretOf].flatMap(([session, secret]) => ((session as FakeSession).closed ? [] : secret));
  const stop = async (): Promise<void> => void (await Promise.all([follows.stop(), others.stop()]));
  return { alsoFollow, alsoMeet, clock, consider, fill, follows, meet, openSecrets, run, stop, used };
}

describe("credentials of an account with followed orders", () => {
  it("give way to newer ones of it, once the venue takes them no more", async () => {
    const valid = new Set([SECRET_ONE]);
    const { clock, fill, follows, meet, run } = await following(SECRET_ONE, valid);
    await clock.advanceAsync(MINUTE_MS);
    valid.clear();
    valid.add("newer");
    fill();
    meet("newer");
    await clock.advanceAsync(10 * MINUTE_MS);
    expect(run.attempts[0]?.order).toMatchObject({ status: "FILLED", filledLots: 250 });
    expect(follows.count).toBe(0);
    await follows.stop();
  });

  it("give way to those that an order of it rests with", async () => {
    const { consider, follows, meet, run } = await following(SECRET_ONE, new Set([SECRET_ONE, "newer"]));
    meet("newer");
    expect(follows.credentialsOf(run).venueone).toMatchObject({ secret: SECRET_ONE });
    consider("newer");
    expect(follows.credentialsOf(run).venueone).toMatchObject({ secret: SECRET_ONE });
    consider("newer", { ...run, routeId: "rt_of_a_later_order" });
    expect(follows.credentialsOf(run).venueone).toMatchObject({ secret: "newer" });
    await follows.stop();
  });

  it("stay where those that came by are of no use", async () => {
    const { clock, fill, follows, meet, run } = await following(SECRET_ONE, new Set([SECRET_ONE]));
    await clock.advanceAsync(MINUTE_MS);
    meet("wrong");
    fill();
    await clock.advanceAsync(10 * MINUTE_MS);
    expect(run.attempts[0]?.order).toMatchObject({ status: "FILLED", filledLots: 250 });
    await follows.stop();
  });

  it("are kept a day after they were last used themselves, whatever else the account is used with", async () => {
    const { clock, follows, meet, used } = await following(SECRET_ONE, new Set([SECRET_ONE, "newer"]));
    await clock.advanceAsync(MINUTE_MS);
    for (let hours = 0; hours < 30; hours += 6) {
      clock.advance(DAY_MS / 4);
      await clock.advanceAsync(1_000);
      meet("newer");
    }
    await clock.advanceAsync(10 * MINUTE_MS);
    used.length = 0;
    await clock.advanceAsync(30 * MINUTE_MS);
    expect([follows.waitingCount, new Set(used)]).toEqual([0, new Set(["newer"])]);
    await follows.stop();
  });

  it("go from the stream of the account too, although others listen there all the while", async () => {
    const { alsoFollow, alsoMeet, clock, meet, openSecrets, stop } = await following(
      SECRET_ONE,
      new Set([SECRET_ONE]),
      new FakeStreams(),
    );
    alsoFollow(SECRET_ONE);
    expect(openSecrets()).toEqual([SECRET_ONE]);
    clock.advance(DAY_MS / 2);
    meet("newer");
    alsoMeet("newer");
    clock.advance(DAY_MS / 2);
    await clock.advanceAsync(60 * MINUTE_MS);
    expect(openSecrets()).toEqual(["newer"]);
    await stop();
    expect(openSecrets()).toEqual([]);
  });

  it("of two that the venue takes no more do not reopen the stream of the account with each read", async () => {
    const streams = new FakeStreams();
    const { clock, consider, follows, meet, run } = await following(SECRET_ONE, new Set(), streams);
    for (let count = 0; count < 60; count++) consider(SECRET_ONE, { ...run, routeId: `rt_${count}` });
    meet("newer");
    await clock.advanceAsync(10 * MINUTE_MS);
    const opening = vi.spyOn(streams, "openAccountStream");
    await clock.advanceAsync(10 * MINUTE_MS);
    // As often as one that went down is opened again.
    expect(opening.mock.calls.length).toBeLessThanOrEqual(20);
    await follows.stop();
  });
});
