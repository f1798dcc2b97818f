/** Which credit of a venue is a deposit's, and when none is waited for any more. */
import { describe, expect, it } from "vitest";
import { ACCOUNT } from "./test/fake-signer.js";
import { TOKEN } from "./test/fake-contracts.js";
import { type Life, TransferWorld } from "./test/transfer-world.js";
import type { DepositRow } from "./transfer-row.js";

const AMOUNT = 7_000_000n;
const DAY_MS = 86_400_000;

/** Confirmed on the chain; the venue could not be asked. */
async function uncredited() {
  const world = new TransferWorld();
  const life = await world.live();
  life.keeper.start();
  world.named.weather = () => "lost";
  const row = await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
  await world.clock.advanceAsync(60_000);
  expect(await rowOf(life, row)).toMatchObject({ state: "confirmed", venueId: null, isCreditAwaited: true });
  await life.keeper.stop();
  return { world, row };
}

const rowOf = async (life: Life, { transferId }: DepositRow) => (await life.transfers.find(transferId)) as DepositRow;

describe("the credit of a deposit", () => {
  it("is waited for as long as the venue cannot be asked, however long the service was down", async () => {
    const { world, row } = await uncredited();
    await world.clock.advanceAsync(2 * DAY_MS);
    const life = await world.live();
    life.keeper.start();
    await world.clock.advanceAsync(60_000);
    world.named.weather = () => "fine";
    await world.clock.advanceAsync(600_000);
    expect(await rowOf(life, row)).toMatchObject({ venueId: expect.stringContaining("credit-") });
  });

  it("is waited for no longer than a day of this start where the venue never answers", async () => {
    const { world, row } = await uncredited();
    await world.clock.advanceAsync(2 * DAY_MS);
    const life = await world.live();
    life.keeper.start();
    await world.clock.advanceAsync(DAY_MS - 600_000);
    expect(await rowOf(life, row)).toMatchObject({ isCreditAwaited: true });
    await world.clock.advanceAsync(1_200_000);
    expect(await rowOf(life, row)).toMatchObject({ state: "confirmed", venueId: null, isCreditAwaited: false });
  });

  it("is none of a deposit that one endpoint showed as done, once nobody waits for it any more", async () => {
    const { world, row } = await uncredited();
    const before = await world.live(null, 4_000);
    world.chain.isUndoingDenied = true;
    world.clock.setTimer(() => world.chain.spend(ACCOUNT, world.chain.tokenOf(TOKEN, ACCOUNT)), 1_000);
    const undone = await world.answered(before, before.transfers.deposit(world.deposit(world.named, AMOUNT)));
    expect(undone.steps.at(-1)?.mined).toMatchObject({ succeeded: true, isFinal: false });
    world.chain.isUndoingDenied = false;
    world.chain.keepsReceiptsOf = 128;
    await world.clock.advanceAsync(DAY_MS);
    const life = await world.live();
    life.keeper.start();
    await world.clock.advanceAsync(DAY_MS + 1_200_000);
    expect(await rowOf(life, row)).toMatchObject({ state: "confirmed", venueId: null, isCreditAwaited: false });
    expect(await rowOf(life, undone)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN", venueId: null });
    world.named.weather = () => "fine";
    await world.clock.advanceAsync(3_600_000);
    expect(world.chain.deposits()).toHaveLength(1);
    expect(await rowOf(life, undone)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN", venueId: null });
  });

  it("is none of a deposit that the chain undid, whatever else of its amount is credited", async () => {
    const { world, row } = await uncredited();
    const before = await world.live(null, 4_000);
    world.clock.setTimer(() => world.chain.spend(ACCOUNT, world.chain.tokenOf(TOKEN, ACCOUNT)), 1_000);
    const undone = await world.answered(before, before.transfers.deposit(world.deposit(world.named, AMOUNT)));
    expect(undone.steps.at(-1)?.mined).toMatchObject({ succeeded: false, isFinal: false });
    await world.clock.advanceAsync(DAY_MS);
    world.chain.keepsReceiptsOf = 128;
    const life = await world.live();
    life.keeper.start();
    for (let look = 0; look < 300 && (await rowOf(life, undone)).reason !== "NOT_SHOWN"; look++)
      await world.clock.advanceAsync(1_000);
    world.named.weather = () => "fine";
    await world.clock.advanceAsync(3_600_000);
    expect(await rowOf(life, undone)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN", venueId: null });
    expect(await rowOf(life, row)).toMatchObject({ venueId: expect.stringContaining("credit-") });
  });
});
