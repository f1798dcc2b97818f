/** Deposits whose receipts the endpoints no longer keep, as after days in which nobody looked. */
import { describe, expect, it } from "vitest";
import { TransferWorld } from "./test/transfer-world.js";
import type { DepositRow } from "./transfer-row.js";

const AMOUNT = 7_000_000n;

/** Seen in a block that was not final, then nobody looked for a day. */
async function seenOnce(style: "named" | "listed") {
  const world = new TransferWorld();
  const before = await world.live(null, style === "named" ? 4_000 : 6_000);
  const money = world[style];
  const row = await world.answered(before, before.transfers.deposit(world.deposit(money, AMOUNT)));
  expect(row.steps.at(-1)?.mined).toMatchObject({ isFinal: false });
  await world.clock.advanceAsync(86_400_000);
  world.chain.keepsReceiptsOf = 128;
  const life = await world.live();
  life.keeper.start();
  const rowNow = async () => (await life.transfers.find(row.transferId)) as DepositRow;
  return { world, money, life, row, rowNow };
}

describe("a deposit that was seen in a block, and whose receipt is gone", () => {
  it.each(["named", "listed"] as const)(
    "ends as confirmed by what the venue of the %s style credited, and never as a nonce of somebody else's",
    async (style) => {
      const { world, life, rowNow } = await seenOnce(style);
      await world.clock.advanceAsync(600_000);
      expect((await rowNow()).state).not.toBe("failed");
      await world.untilQuiet(life);
      const row = await rowNow();
      expect(row).toMatchObject({ state: "confirmed", reason: null, venueId: expect.stringContaining("credit-") });
      expect(world.chain.deposits()).toHaveLength(1);
    },
  );

  it("is unknown, NOT_SHOWN, for people where the venue does not credit it", async () => {
    const { world, money, rowNow } = await seenOnce("named");
    money.isMute = true;
    await world.clock.advanceAsync(3_600_000);
    expect(await rowNow()).toMatchObject({ state: "unknown", reason: "NOT_SHOWN" });
    expect((await rowNow()).steps.at(-1)?.mined).toMatchObject({ isFinal: true, taken: null });
  });

  it.each(["named", "listed"] as const)(
    "is not confirmed by a credit of the %s style before as many endpoints as must agree have its block",
    async (style) => {
      const { world, life, rowNow } = await seenOnce(style);
      world.chain.isBlockDoubted = true;
      await world.clock.advanceAsync(3_600_000);
      expect(await rowNow()).toMatchObject({ state: "unknown", reason: "NOT_SHOWN", venueId: null });
      world.chain.isBlockDoubted = false;
      await world.untilQuiet(life);
      expect(await rowNow()).toMatchObject({ state: "confirmed", venueId: expect.stringContaining("credit-") });
    },
  );

  it("is another's nonce where its block is in the chain no more", async () => {
    const world = new TransferWorld();
    const before = await world.live(null, 4_000);
    const row = await world.answered(before, before.transfers.deposit(world.deposit(world.named, AMOUNT)));
    expect(row.steps.at(-1)?.mined).toMatchObject({ isFinal: false });
    world.chain.reorg(3, true);
    world.chain.forgetPool();
    world.chain.outside(row.account);
    await world.clock.advanceAsync(86_400_000);
    const life = await world.live();
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "failed", reason: "NONCE_USED" });
  });
});
