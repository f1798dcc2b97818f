/** Rows of an earlier start of which nothing is signed, while the co-signer is away: their store may have been put back. */
import { describe, expect, it } from "vitest";
import { AwayCosigner } from "./test/away-cosigner.js";
import { type Life, TransferWorld } from "./test/transfer-world.js";
import type { TransferRow } from "./transfer-row.js";

const AMOUNT = 7_000_000n;
const KINDS = ["withdrawal", "deposit"] as const;

/** The first start dies once the row is made; the next one has no co-signer yet. */
async function earlier(kind: (typeof KINDS)[number]) {
  const world = new TransferWorld();
  const ask = { ...world[kind](world.named, AMOUNT), transferId: world.newId() };
  const asked = ({ transfers }: Life): Promise<TransferRow> =>
    "receiver" in ask ? transfers.withdraw(ask) : transfers.deposit(ask as Parameters<typeof transfers.deposit>[0]);
  const before = await world.live({ at: 1, isAfter: true });
  expect(await world.outcome(before, asked(before))).toBe("dead");
  const cosigner = await AwayCosigner.open(world.clock);
  world.instance = cosigner.instance;
  const life = await world.live();
  return { world, cosigner, life, asked: () => asked(life) };
}

describe.each(KINDS)("a %s that an earlier start made, asked for again while the co-signer is away", (kind) => {
  it("has not failed: a lost store may have signed and sent it", async () => {
    const { world, cosigner, life, asked } = await earlier(kind);
    const error = await world.refusal(life, asked());
    expect(error).toMatchObject({ code: "SIGNER_UNAVAILABLE", context: { isUnsettled: true } });
    expect(await world.rows(life)).toMatchObject([{ state: "created", reason: null }]);
    cosigner.meet("further");
    expect(await world.refusal(life, asked())).toMatchObject({ code: "RESTORED_STORE" });
    expect(await world.rows(life)).toMatchObject([{ state: "created", reason: null }]);
    expect(world.signed).toEqual([]);
  });

  it("goes on once the co-signer knows of no newer store, and moves money once", async () => {
    const { world, cosigner, life, asked } = await earlier(kind);
    await world.refusal(life, asked());
    const meeting = setCount(world, cosigner);
    const row = await world.answered(life, asked());
    expect(row.state).not.toBe("failed");
    await world.untilQuiet(life);
    meeting.stop();
    expect(await world.rows(life)).toMatchObject([{ state: "confirmed", transferId: row.transferId }]);
    expect([world.signed.length, world.named.payouts.length + world.chain.deposits().length]).toEqual([1, 1]);
  });
});

describe("a withdrawal of this start that the co-signer was away for", () => {
  it("has failed, since nothing of it was ever signed, and may be asked for again", async () => {
    const world = new TransferWorld();
    const cosigner = await AwayCosigner.open(world.clock);
    world.instance = cosigner.instance;
    const life = await world.live();
    const error = await world.refusal(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    expect([error.code, error.context["isUnsettled"]]).toEqual(["SIGNER_UNAVAILABLE", undefined]);
    expect(await world.rows(life)).toMatchObject([{ state: "failed", reason: "NOT_SIGNED" }]);
    const meeting = setCount(world, cosigner);
    await world.answered(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    await world.untilQuiet(life);
    meeting.stop();
    expect((await world.rows(life)).map(({ state }) => state).sort()).toEqual(["confirmed", "failed"]);
    expect([world.signed.length, world.named.payouts.length]).toEqual([1, 1]);
  });
});

/** It has each count soon after it is made. */
function setCount({ clock }: TransferWorld, cosigner: AwayCosigner): { stop(): void } {
  let isOver = false;
  const meet = (): void => {
    if (isOver) return;
    cosigner.meet("as far");
    clock.setTimer(meet, 100);
  };
  meet();
  return {
    stop() {
      isOver = true;
    },
  };
}
