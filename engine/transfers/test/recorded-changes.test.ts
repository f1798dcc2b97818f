/**
 * Rows of the record over lives of the program that end before or after any commit, signature, send or look: each change
 * that is durable has its row, and no row is of a change that is not.
 */
import { describe, expect, it } from "vitest";
import { decodeJson, encodeJson } from "../../storage/state-store.js";
import type { Death } from "../../storage/test/mortal-life.js";
import { decodeTransfer } from "../row-decoder.js";
import { TRANSFER_NAMESPACE } from "../transfer-book.js";
import type { TransferRecord } from "../transfer-record.js";
import type { TransferRow } from "../transfer-row.js";
import { type Life, TransferWorld } from "./transfer-world.js";

const NAMESPACE = "test-rows";
const AMOUNT = 7_000_000n;
/** What is durable here is in the next life too: later acts repeat earlier ones. */
const ACTS_MAX = 30;

interface Recorded {
  readonly change: number;
  readonly row: TransferRow;
}

const RECORD: TransferRecord = {
  changed: (row, change) => ({
    writes: [{ namespace: NAMESPACE, key: `${row.transferId}|${change}`, value: encodeJson({ change, row }) }],
    committed() {},
  }),
};

async function recorded(world: TransferWorld): Promise<readonly Recorded[]> {
  const rows = await world.store.scan(NAMESPACE, { prefix: "", limit: 1_000 });
  return rows.map(({ value }) => decodeJson(value) as Recorded).sort((a, b) => a.change - b.change);
}

/** The changes are numbered without a gap, and the last one is what the ledger has. */
async function mustMatch(world: TransferWorld, name: string): Promise<number> {
  const changes = await recorded(world);
  const ledger = await world.store.scan(TRANSFER_NAMESPACE, { prefix: "", limit: 10 });
  expect(
    changes.map(({ change }) => change),
    name,
  ).toEqual(changes.map((_, index) => index + 1));
  const last = changes.at(-1)?.row;
  expect(last === undefined ? [] : [last], name).toEqual(ledger.map(({ key, value }) => decodeTransfer(key, value)));
  return changes.length;
}

const ACTS = {
  deposit: (world, life) => life.transfers.deposit(world.deposit(world.listed, AMOUNT)),
  withdrawal: (world, life) => life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)),
  transfer: (world, life) => life.transfers.move(world.internal("70000", "name-1")),
} as const satisfies Record<string, (world: TransferWorld, life: Life) => Promise<unknown>>;

async function run(world: TransferWorld, act: keyof typeof ACTS, death: Death | null): Promise<Life> {
  const life = await world.live(death);
  const outcome = await world.outcome(life, ACTS[act](world, life));
  if (outcome !== "dead") await world.untilQuiet(life);
  return life;
}

describe("the rows of the record", () => {
  it.each(Object.keys(ACTS) as (keyof typeof ACTS)[])(
    "are those of the durable changes of a %s, wherever the program dies",
    async (act) => {
      const whole = new TransferWorld(RECORD);
      const acts = (await run(whole, act, null)).acts();
      expect(await mustMatch(whole, act)).toBeGreaterThan(1);
      for (let at = 1; at <= Math.min(acts, ACTS_MAX); at++)
        for (const isAfter of [false, true]) {
          const name = `${act}, ${isAfter ? "after" : "before"} act ${at}`;
          const world = new TransferWorld(RECORD);
          expect((await run(world, act, { at, isAfter })).isDead(), name).toBe(true);
          await mustMatch(world, name);
          await world.untilQuiet(await world.live());
          await mustMatch(world, name);
        }
    },
    120_000,
  );

  it("go on with the number after that of a row of before", async () => {
    const world = new TransferWorld(RECORD);
    world.chain.sendWeather = () => "unheard";
    const life = await world.live();
    await world.outcome(life, life.transfers.deposit(world.deposit(world.listed, AMOUNT)));
    const before = (await recorded(world)).length;
    world.chain.sendWeather = () => "fine";
    await world.untilQuiet(await world.live());
    expect(await mustMatch(world, "next life")).toBeGreaterThan(before);
  });
});
