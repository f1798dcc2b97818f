/** Nothing leaves before its commit is counted where no backup of the store reaches. */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../domain/errors.js";
import { type Life, TransferWorld } from "./test/transfer-world.js";

const AMOUNT = 7_000_000n;
const ASKS: Readonly<Record<string, (world: TransferWorld, life: Life) => Promise<unknown>>> = {
  deposit: (world, { transfers }) => transfers.deposit(world.deposit(world.named, AMOUNT)),
  withdrawal: (world, { transfers }) => transfers.withdraw(world.withdrawal(world.named, AMOUNT)),
  "transfer between accounts": (world, { transfers }) => transfers.move(world.internal("70", "a")),
};

const effects = ({ chain, named, listed }: TransferWorld): number =>
  chain.deposits().length + named.payouts.length + listed.moves.length;

describe("what was begun", () => {
  it.each([
    ["deposit", "outside"],
    ["deposit", "witnessed"],
    ["withdrawal", "outside"],
    ["withdrawal", "witnessed"],
    ["transfer between accounts", "outside"],
  ] as const)("of a %s does not leave before it is %s, and does then", async (kind, guard) => {
    const world = new TransferWorld();
    let isBegun = false;
    let isCounted = false;
    const counted = async (): Promise<void> => {
      if (isBegun && !isCounted) throw new ServiceError("STORE_UNAVAILABLE", { reason: "INSTANCE_FILE" });
    };
    const free = async (): Promise<void> => {};
    world.instance = { assertNotRestored() {}, outside: free, vouched: free, witnessed: free, [guard]: counted };
    const life = await world.live();
    life.transfers.listen(({ state }) => {
      isBegun ||= state === "signed";
    });
    await world.outcome(life, ASKS[kind]?.(world, life) ?? Promise.resolve(), 240_000);
    await world.clock.advanceAsync(120_000);
    expect([isBegun, effects(world)]).toEqual([true, 0]);
    isCounted = true;
    await world.untilQuiet(life);
    expect(await world.rows(life)).toMatchObject([{ state: "confirmed" }]);
    expect(effects(world)).toBe(1);
  });
});
