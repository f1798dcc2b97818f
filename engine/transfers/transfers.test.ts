/** What callers hear of deposits, withdrawals and transfers, on a chain and at venues that behave, and that do not. */
import { describe, expect, it } from "vitest";
import { MINIMUM } from "./test/fake-money.js";
import { TransferWorld } from "./test/transfer-world.js";

describe("a deposit", () => {
  it("is answered at its first confirmation, and confirmed when it is final and credited", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    const call = life.transfers.deposit(world.deposit(world.listed, 7_000_000n));
    expect(await world.outcome(life, call)).toBe("done");
    const row = await call;
    expect([row.state, row.steps.map(({ name }) => name), row.steps.at(-1)?.mined?.confirmations]).toEqual([
      "broadcast",
      ["approve", "deposit"],
      1,
    ]);
    await world.untilQuiet(life);
    const after = await life.transfers.find(row.transferId);
    expect(after).toMatchObject({ state: "confirmed", reason: null, isCreditAwaited: false });
    expect(after?.venueId).toMatch(/^credit-/);
    expect(world.signed).toHaveLength(2);
  });

  it("below the minimum is refused with the minimum", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    const call = life.transfers.deposit(world.deposit(world.listed, MINIMUM - 1n));
    await expect(call).rejects.toMatchObject({ code: "DEPOSIT_BELOW_MINIMUM", context: { minimum: "5" } });
  });
});
