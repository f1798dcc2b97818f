/** Withdrawals of a venue that shows what left the account alone: the chain says what was paid. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../domain/logger.js";
import { PayoutSearches } from "./payout-searches.js";
import { CHAIN_ID, CONFIRMATIONS } from "./test/fake-chain.js";
import { FEE } from "./test/fake-money.js";
import { askedPayout, PAYOUT_AMOUNT, payoutRow, payoutScene, withoutChain } from "./test/payout-scene.js";
import { NOBODY_WAITS } from "./transfer-parts.js";

const BLOCK_MS = 2_000;

describe("a withdrawal whose venue shows only that it left", () => {
  it("is under way until the chain has its payment for good, and then confirmed with its transaction", async () => {
    const { world, life } = await payoutScene();
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(world.named.paysMs - BLOCK_MS);
    expect(await payoutRow(life, row)).toMatchObject({ state: "broadcast", payout: "pending", hash: null });
    await world.untilQuiet(life);
    const [hash] = world.chain.paid().keys();
    expect(await payoutRow(life, row)).toMatchObject({
      ...{ state: "confirmed", reason: null, payout: "completed", paid: (PAYOUT_AMOUNT - FEE).toString() },
      ...{ hash, venueId: "w-1" },
    });
  });

  it("has the fee that its venue's list names", async () => {
    const { world, life } = await payoutScene();
    world.named.listedFee = 5_500_000n;
    const row = await askedPayout(world, life);
    expect(row.fee).toBe(FEE.toString());
    await world.clock.advanceAsync(60_000);
    expect(await payoutRow(life, row)).toMatchObject({ payout: "pending", fee: "5500000" });
  });

  it("is not paid by a block that the chain may lose yet", async () => {
    const { world, life } = await payoutScene();
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(world.named.paysMs);
    for (let reorg = 0; reorg < 40; reorg++) {
      await world.clock.advanceAsync((CONFIRMATIONS - 2) * BLOCK_MS);
      expect((await payoutRow(life, row)).state, `after ${reorg} reorgs`).toBe("broadcast");
      world.chain.reorg(CONFIRMATIONS - 1, true);
    }
    await world.untilQuiet(life);
    expect(await payoutRow(life, row)).toMatchObject({ state: "confirmed", hash: [...world.chain.paid().keys()][0] });
  });

  it("waits where no endpoint answers, and is found when one does", async () => {
    const { world, life } = await payoutScene();
    const row = await askedPayout(world, life);
    world.chain.weather = () => "lost";
    await world.clock.advanceAsync(3_600_000);
    expect(await payoutRow(life, row)).toMatchObject({ state: "broadcast", payout: "pending", reason: null });
    world.chain.weather = () => "fine";
    await world.untilQuiet(life);
    expect((await payoutRow(life, row)).state).toBe("confirmed");
  });

  it("is never that of another one of the same amount", async () => {
    const { world, life } = await payoutScene();
    world.named.paysMs = 30 * 86_400_000;
    const never = await askedPayout(world, life);
    world.named.paysMs = 180_000;
    const soon = await askedPayout(world, life);
    await world.clock.advanceAsync(3_600_000);
    expect([(await payoutRow(life, soon)).state, (await payoutRow(life, never)).state]).toEqual([
      "confirmed",
      "broadcast",
    ]);
    expect((await payoutRow(life, soon)).hash).toBe([...world.chain.paid().keys()][0]);
  });

  it("is searched for by the next start as well, from the time of its act on", async () => {
    const { world, life } = await payoutScene();
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(60_000);
    await life.keeper.stop();
    await world.clock.advanceAsync(6 * 3_600_000);
    const next = await world.live();
    await world.untilQuiet(next);
    expect(await payoutRow(next, row)).toMatchObject({ state: "confirmed", payout: "completed" });
  });

  it("is found soon after days in which nobody looked, since a search that is behind does not pause for long", async () => {
    const { world, life } = await payoutScene();
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(60_000);
    await life.keeper.stop();
    world.named.paysMs = 30 * 86_400_000;
    await world.clock.advanceAsync(2 * 86_400_000);
    const next = await world.live();
    next.keeper.start();
    const later = await askedPayout(world, next);
    await world.clock.advanceAsync(20_000);
    await next.keeper.stop();
    await world.clock.advanceAsync(86_400_000);
    world.chain.pay(world.named.paymentOf(later.act.request));
    const last = await world.live();
    last.keeper.start();
    await world.clock.advanceAsync(2 * 3_600_000);
    expect([(await payoutRow(last, row)).state, (await payoutRow(last, later)).state]).toEqual([
      "confirmed",
      "confirmed",
    ]);
  });

  it("is said to be unread where no endpoint tells from which height on to search", async () => {
    const { world, life } = await payoutScene();
    const row = await askedPayout(world, life);
    await world.clock.advanceAsync(60_000);
    const said: string[] = [];
    const logger = { ...silentLogger, warn: (event: string) => void said.push(event) };
    const chains = new Map([[CHAIN_ID, world.chain.port((act) => act())]]);
    const searches = new PayoutSearches({ book: life.book, chains, clock: world.clock, logger, rails: world.rails() });
    world.chain.weather = () => "lost";
    expect(await searches.look(await payoutRow(life, row), NOBODY_WAITS)).toEqual({ found: [], unfound: [] });
    expect(said).toEqual(["transfers.payout_unread"]);
  });

  it("stays under way while the chain is not configured any more", async () => {
    const { world, life } = await payoutScene();
    const row = await askedPayout(world, life);
    const without = await withoutChain(world, life);
    await world.clock.advanceAsync(3_600_000);
    expect(await payoutRow(without, row)).toMatchObject({ state: "broadcast", payout: "pending" });
    await without.keeper.stop();
    world.hasChain = true;
    const next = await world.live();
    await world.untilQuiet(next);
    expect((await payoutRow(next, row)).state).toBe("confirmed");
  });
});
