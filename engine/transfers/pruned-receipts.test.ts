/** Deposits whose receipts the endpoints no longer keep, as after days in which nobody looked. */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../domain/errors.js";
import { OLD_TOKEN, TOKEN, VAULT } from "./test/fake-contracts.js";
import { ACCOUNT } from "./test/fake-signer.js";
import { type Life, TransferWorld } from "./test/transfer-world.js";
import { type DepositRow, depositStep } from "./transfer-row.js";

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

describe("a deposit that was seen undone in a block", () => {
  const rowOf = async (life: Life, { transferId }: DepositRow) => (await life.transfers.find(transferId)) as DepositRow;
  const isUndone = { succeeded: false, isFinal: false };

  /** The wallet's tokens went elsewhere before its block. */
  async function seenUndone(isDenied = false) {
    const world = new TransferWorld();
    world.chain.isUndoingDenied = isDenied;
    const before = await world.live(null, 4_000);
    world.clock.setTimer(() => world.chain.spend(ACCOUNT, world.chain.tokenOf(TOKEN, ACCOUNT)), 1_000);
    const row = await world.answered(before, before.transfers.deposit(world.deposit(world.named, AMOUNT)));
    expect(depositStep(row)?.mined).toMatchObject({ ...isUndone, succeeded: isDenied });
    return { world, row };
  }

  /** Nobody looks for a day. */
  async function pruned(world: TransferWorld): Promise<Life> {
    await world.clock.advanceAsync(86_400_000);
    world.chain.keepsReceiptsOf = 128;
    const life = await world.live();
    life.keeper.start();
    return life;
  }

  it("is unknown where its receipt is gone, and the wallet deposits again: its nonce is used for good", async () => {
    const { world, row } = await seenUndone();
    const life = await pruned(world);
    await world.clock.advanceAsync(600_000);
    expect(await rowOf(life, row)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN", venueId: null });
    world.chain.giveBack(ACCOUNT, AMOUNT);
    const next = await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    await world.clock.advanceAsync(600_000);
    expect(await rowOf(life, next)).toMatchObject({ state: "confirmed", venueId: expect.stringContaining("credit-") });
    expect(depositStep(next)?.nonce).toBe((depositStep(row)?.nonce ?? 0) + 1);
    expect(await rowOf(life, row)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN", venueId: null });
    expect([world.chain.deposits().length, world.signed.length]).toEqual([1, 2]);
    const later = await world.live();
    later.keeper.start();
    await world.clock.advanceAsync(600_000);
    expect(await rowOf(later, row)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN", venueId: null });
  });

  it("takes no credit of another deposit of its amount, though one endpoint showed it as done", async () => {
    const { world, row } = await seenUndone(true);
    world.chain.isUndoingDenied = false;
    const life = await pruned(world);
    await world.clock.advanceAsync(600_000);
    expect(await rowOf(life, row)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN", venueId: null });
    world.chain.giveBack(ACCOUNT, AMOUNT);
    await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    await life.keeper.stop();
    await world.clock.advanceAsync(600_000);
    // The older one looks first.
    const later = await world.live();
    later.keeper.start();
    await world.clock.advanceAsync(600_000);
    expect(world.chain.deposits()).toHaveLength(1);
    expect(await rowOf(later, row)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN", venueId: null });
  });

  it("holds its lane while fewer endpoints than must agree have its block", async () => {
    const { world, row } = await seenUndone();
    world.chain.isBlockDoubted = true;
    const life = await pruned(world);
    await world.clock.advanceAsync(600_000);
    expect(await rowOf(life, row)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN" });
    world.chain.giveBack(ACCOUNT, 2n * AMOUNT);
    const refused = await world.refusal(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    expect(refused).toMatchObject({ code: "TRANSFER_IN_PROGRESS", context: { transferId: row.transferId } });
    world.chain.isBlockDoubted = false;
    await world.clock.advanceAsync(600_000);
    await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    await world.clock.advanceAsync(600_000);
    expect(world.chain.deposits()).toHaveLength(1);
  });

  it("is handed out again, the same bytes, where a reorg takes its block and all forget it", async () => {
    const { world, row } = await seenUndone();
    world.chain.reorg(3, true);
    world.chain.forgetPool();
    world.chain.giveBack(ACCOUNT, AMOUNT);
    const life = await pruned(world);
    await world.clock.advanceAsync(600_000);
    expect(await rowOf(life, row)).toMatchObject({ state: "confirmed", reason: null });
    expect(world.chain.deposits()).toHaveLength(1);
    // A dearer version of it at most.
    const nonces = world.signed.map((one) => (one.kind === "transaction" ? one.transaction.nonce : null));
    expect([...new Set(nonces)]).toEqual([BigInt(depositStep(row)?.nonce ?? -1)]);
  });

  it("has failed where it was its approval, since nothing of the deposit itself was signed", async () => {
    const world = new TransferWorld();
    const before = await world.live(null, 4_000);
    world.clock.setTimer(() => world.chain.allow(OLD_TOKEN, ACCOUNT, VAULT, 5n), 1_000);
    const call = before.transfers.deposit(world.deposit(world.listed, AMOUNT, "OLD"));
    const row = await world.answered(before, call);
    expect(row.steps.map(({ name, mined }) => ({ name, ...mined }))).toMatchObject([{ name: "approve", ...isUndone }]);
    const life = await pruned(world);
    await world.clock.advanceAsync(600_000);
    expect(await rowOf(life, row)).toMatchObject({ state: "failed", reason: "REVERTED" });
    const next = await world.answered(life, life.transfers.deposit(world.deposit(world.listed, AMOUNT, "OLD")));
    await world.clock.advanceAsync(600_000);
    expect((await rowOf(life, next)).state).toBe("confirmed");
    expect(world.chain.deposits()).toHaveLength(1);
  });
});

describe("a deposit whose approval was seen in a block, and whose receipt is gone", () => {
  it("goes on once as many endpoints as must agree have that block, and the signer is there", async () => {
    const world = new TransferWorld();
    const before = await world.live(null, 4_000);
    world.clock.setTimer(() => {
      world.signerError = new ServiceError("SIGNER_UNAVAILABLE");
    }, 1_000);
    const row = await world.answered(before, before.transfers.deposit(world.deposit(world.listed, AMOUNT, "OLD")));
    expect(row.steps[0]?.mined).toMatchObject({ succeeded: true, isFinal: false });
    await world.clock.advanceAsync(86_400_000);
    world.chain.keepsReceiptsOf = 128;
    world.chain.isBlockDoubted = true;
    const life = await world.live();
    life.keeper.start();
    await world.clock.advanceAsync(600_000);
    world.signerError = null;
    world.chain.isBlockDoubted = false;
    await world.clock.advanceAsync(900_000);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed", reason: null });
    expect(world.chain.deposits()).toHaveLength(1);
  });
});
