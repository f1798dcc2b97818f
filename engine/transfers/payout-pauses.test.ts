/** What searches for payments on chain cost, and where they end. */
import { describe, expect, it } from "vitest";
import type { Chain } from "../chain.js";
import { ServiceError } from "../domain/errors.js";
import { silentLogger } from "../domain/logger.js";
import { PayoutSearches } from "./payout-searches.js";
import { CHAIN_ID } from "./test/fake-chain.js";
import { askedPayout, PAYOUT_AMOUNT, payoutRow, payoutScene, withoutChain } from "./test/payout-scene.js";
import type { Life, TransferWorld } from "./test/transfer-world.js";
import { NOBODY_WAITS } from "./transfer-parts.js";
import type { WithdrawalRow } from "./transfer-row.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NEVER_MS = 365 * DAY_MS;

const scene = (prepare: (world: TransferWorld) => void = () => {}) =>
  payoutScene((world) => {
    world.named.paysMs = NEVER_MS;
    // As many as an endpoint of a real chain answers for.
    world.chain.logBlocks = 2_000;
    prepare(world);
  });

/** Calls of the chain from now on, until so much later. */
async function callsIn(world: TransferWorld, ms: number): Promise<{ searches: number[]; heights: number }> {
  const { logSearches, heightReads } = world.chain;
  const [before, heightsBefore] = [logSearches.length, heightReads.length];
  await world.clock.advanceAsync(ms);
  return { searches: logSearches.slice(before), heights: heightReads.length - heightsBefore };
}

const paid = (world: TransferWorld, { act }: WithdrawalRow): void =>
  world.chain.pay(world.named.paymentOf(act.request));

describe("the search for payments that do not come", () => {
  it("is one for all withdrawals of an account, at pauses that grow to an hour", async () => {
    const { world, life } = await scene();
    const rows: WithdrawalRow[] = [];
    for (let index = 0n; index < 20n; index++) rows.push(await askedPayout(world, life, PAYOUT_AMOUNT + index));
    const first = await callsIn(world, HOUR_MS);
    expect(first.searches.length).toBeLessThan(60);
    await world.clock.advanceAsync(2 * HOUR_MS);
    const day = await callsIn(world, DAY_MS);
    expect([day.searches.length <= 25, day.heights]).toEqual([true, 0]);
    const pauses = day.searches.map((atMs, index) => atMs - (day.searches[index - 1] ?? atMs));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(HOUR_MS + 2_000);
    for (const row of rows) paid(world, row);
    await world.clock.advanceAsync(HOUR_MS + 60_000);
    for (const row of rows)
      expect(await payoutRow(life, row)).toMatchObject({ state: "confirmed", payout: "completed", reason: null });
  });

  it("begins with short pauses again for a new withdrawal, and finds what it pays within minutes", async () => {
    const { world, life } = await scene();
    const old = await askedPayout(world, life);
    await world.clock.advanceAsync(DAY_MS);
    world.named.paysMs = 180_000;
    const young = await askedPayout(world, life, PAYOUT_AMOUNT + 1n);
    await world.clock.advanceAsync(420_000);
    expect([(await payoutRow(life, old)).state, (await payoutRow(life, young)).state]).toEqual([
      "broadcast",
      "confirmed",
    ]);
  });

  it("asks no more than hourly where nothing answers, without an end", async () => {
    const { world, life } = await scene();
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(60_000);
    world.chain.weather = () => "lost";
    await world.clock.advanceAsync(9 * DAY_MS);
    const day = await callsIn(world, DAY_MS);
    expect([day.searches.length >= 23, day.searches.length <= 25]).toEqual([true, true]);
    expect(await payoutRow(life, row)).toMatchObject({ state: "broadcast", payout: "pending", reason: null });
  });
});

describe("rounds of withdrawals whose payments are searched for", () => {
  /** Counts what the keeper has done for a row from now on, until so much later. */
  async function roundsIn(world: TransferWorld, life: Life, ms: number): Promise<number> {
    const open = life.book.current.bind(life.book);
    let rounds = 0;
    // Each round reads its row twice, and the look for what is due once more.
    life.book.current = (transferId) => {
      rounds++;
      return open(transferId);
    };
    await world.clock.advanceAsync(ms);
    life.book.current = open;
    return Math.ceil(rounds / 3);
  }

  it("are few while no search is due, each row's own", async () => {
    const { world, life } = await scene();
    for (let index = 0n; index < 3n; index++) await askedPayout(world, life, PAYOUT_AMOUNT + index);
    await world.clock.advanceAsync(DAY_MS);
    expect(await roundsIn(world, life, DAY_MS)).toBeLessThan(3 * 24 * 16);
  });

  it("are few where the chain is not configured any more, since nothing can be searched", async () => {
    const { world, life } = await scene();
    const row = await askedPayout(world, life);
    const without = await withoutChain(world, life);
    await world.clock.advanceAsync(60_000);
    expect(await roundsIn(world, without, HOUR_MS)).toBeLessThan(60);
    without.keeper.lookAgain();
    expect(await roundsIn(world, without, HOUR_MS)).toBeLessThan(60);
    expect(await payoutRow(without, row)).toMatchObject({ state: "broadcast", payout: "pending" });
  });

  it("are few where each is refused before it can search, and find the payment once they are not", async () => {
    let isAway = false;
    const { world, life } = await scene((fresh) => {
      const outside = async () => {
        if (isAway) throw new ServiceError("STORE_UNAVAILABLE");
      };
      fresh.instance = { assertNotRestored() {}, outside, async vouched() {}, async witnessed() {} };
    });
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(60_000);
    isAway = true;
    await world.clock.advanceAsync(HOUR_MS);
    expect(await roundsIn(world, life, HOUR_MS)).toBeLessThan(60);
    isAway = false;
    paid(world, row);
    await world.clock.advanceAsync(600_000);
    expect(await payoutRow(life, row)).toMatchObject({ state: "confirmed", payout: "completed" });
  });
});

describe("payments that one look finds", () => {
  it("are found again where the store did not take the first of them", async () => {
    const { world, life } = await scene();
    const rows = [await askedPayout(world, life), await askedPayout(world, life, PAYOUT_AMOUNT + 1n)];
    await world.clock.advanceAsync(60_000);
    const update = life.book.update.bind(life.book);
    let refusals = 2;
    life.book.update = async (row, change, usedNonce) => {
      const next = change(row);
      if (next.state !== "confirmed" || refusals === 0) return update(row, () => next, usedNonce);
      refusals--;
      throw new ServiceError("STORE_UNAVAILABLE");
    };
    for (const row of rows) paid(world, row);
    await world.clock.advanceAsync(300_000);
    expect(refusals).toBe(0);
    for (const row of rows)
      expect(await payoutRow(life, row)).toMatchObject({ state: "confirmed", payout: "completed" });
  });

  it("are those of a withdrawal too that the venue shows hours after the search has passed its payment", async () => {
    const { world, life } = await scene();
    world.named.paysMs = 180_000;
    world.named.hidesFirst = true;
    const late = await askedPayout(world, life);
    const soon = await askedPayout(world, life, PAYOUT_AMOUNT + 1n);
    await world.clock.advanceAsync(6 * HOUR_MS);
    expect([(await payoutRow(life, late)).payout, (await payoutRow(life, soon)).payout]).toEqual([null, "completed"]);
    world.named.hidesFirst = false;
    await world.clock.advanceAsync(HOUR_MS);
    expect(await payoutRow(life, late)).toMatchObject({ state: "confirmed", payout: "completed" });
  });
});

describe("a search that its endpoints do not let pass a height", () => {
  it("rests ever longer, ends for no row, and says that it is unread", async () => {
    const { world, row, book } = await unpassed();
    const said: string[] = [];
    const logger = { ...silentLogger, warn: (event: string) => void said.push(event) };
    const port = world.chain.port((act) => act());
    const stuck: Chain = {
      ...port,
      logs: {
        ...port.logs,
        final: async ({ fromHeight }) => {
          const value = { logs: [], nextHeight: fromHeight, isAtEnd: false };
          return { ok: true, value, asOfMs: world.clock.wallMs(), source: "venue" };
        },
      },
    };
    const chains = new Map([[CHAIN_ID, stuck]]);
    const searches = new PayoutSearches({ book, chains, clock: world.clock, logger, rails: world.rails() });
    const pauses: (number | null)[] = [];
    for (let look = 0; look < 14; look++) {
      expect(await searches.look(row, NOBODY_WAITS)).toEqual({ found: [], unfound: [] });
      pauses.push(searches.restMs(row));
      await world.clock.advanceAsync(HOUR_MS);
    }
    expect([pauses[0], pauses[1], pauses.at(-1)]).toEqual([1_000, 2_000, 2_048_000]);
    expect(said).toEqual(Array.from({ length: 14 }, () => "transfers.payout_unread"));
  });

  async function unpassed() {
    const { world, life } = await payoutScene();
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(60_000);
    await life.keeper.stop();
    return { world, row: await payoutRow(life, row), book: life.book };
  }
});

describe("the search for a payment that has not come for a week", () => {
  const WEEK_MS = 7 * DAY_MS;

  async function ended() {
    const { world, life } = await scene();
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(WEEK_MS - HOUR_MS);
    expect(await payoutRow(life, row)).toMatchObject({ state: "broadcast", payout: "pending", reason: null });
    await world.clock.advanceAsync(3 * HOUR_MS);
    return { world, life, row };
  }

  it("ends: the row says so, is pending still, and nobody asks for it", async () => {
    const { world, life, row } = await ended();
    expect(await payoutRow(life, row)).toMatchObject({ state: "broadcast", payout: "pending", reason: "NOT_SHOWN" });
    expect(await callsIn(world, 3 * DAY_MS)).toEqual({ searches: [], heights: 0 });
    // The venue's own, of a payment that is a year away.
    expect(world.clock.pendingTimerCount).toBe(1);
    await life.keeper.stop();
    const next = await world.live();
    next.keeper.start();
    expect(await callsIn(world, DAY_MS)).toEqual({ searches: [], heights: 0 });
    expect(await payoutRow(next, row)).toMatchObject({ state: "broadcast", payout: "pending", reason: "NOT_SHOWN" });
  });

  it("is made at once when the operator asks, once up to what is final, and finds a late payment", async () => {
    const { world, life, row } = await ended();
    life.keeper.lookAgain();
    const again = await callsIn(world, HOUR_MS);
    expect([again.heights, again.searches.length > 100]).toEqual([1, true]);
    expect(await callsIn(world, DAY_MS)).toEqual({ searches: [], heights: 0 });
    expect(await payoutRow(life, row)).toMatchObject({ state: "broadcast", reason: "NOT_SHOWN" });
    paid(world, row);
    await world.clock.advanceAsync(60_000);
    life.keeper.lookAgain();
    await world.clock.advanceAsync(HOUR_MS);
    expect(await payoutRow(life, row)).toMatchObject({ state: "confirmed", reason: null, payout: "completed" });
  });

  it("holds up no search for a new withdrawal, and one that looks for another finds its payment too", async () => {
    const { world, life, row } = await ended();
    await world.clock.advanceAsync(3 * DAY_MS);
    world.named.paysMs = 180_000;
    life.keeper.lookAgain();
    const young = await askedPayout(world, life, PAYOUT_AMOUNT + 1n);
    await world.clock.advanceAsync(420_000);
    expect([(await payoutRow(life, row)).state, (await payoutRow(life, young)).state]).toEqual([
      "broadcast",
      "confirmed",
    ]);
    paid(world, row);
    const other = await askedPayout(world, life, PAYOUT_AMOUNT + 2n);
    await world.clock.advanceAsync(420_000);
    expect([(await payoutRow(life, row)).state, (await payoutRow(life, other)).state]).toEqual([
      "confirmed",
      "confirmed",
    ]);
  });

  it("does not end by a clock that was set", async () => {
    const { world, life } = await scene();
    world.named.paysMs = 900_000;
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(60_000);
    world.clock.stepWall(8 * DAY_MS);
    await world.clock.advanceAsync(600_000);
    expect((await payoutRow(life, row)).reason).toBeNull();
    await world.clock.advanceAsync(HOUR_MS);
    expect((await payoutRow(life, row)).state).toBe("confirmed");
  });

  it("ends after a start that comes later than that as well, once all was searched", async () => {
    const { world, life } = await scene();
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(60_000);
    await life.keeper.stop();
    await world.clock.advanceAsync(9 * DAY_MS);
    const next = await world.live();
    next.keeper.start();
    await world.clock.advanceAsync(600_000);
    expect((await payoutRow(next, row)).reason).toBeNull();
    await world.clock.advanceAsync(4 * HOUR_MS);
    expect((await payoutRow(next, row)).reason).toBe("NOT_SHOWN");
    expect(await callsIn(world, DAY_MS)).toEqual({ searches: [], heights: 0 });
  });
});
