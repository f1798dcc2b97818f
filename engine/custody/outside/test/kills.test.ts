/** A program that dies before or after any commit and any call of the outside signer, and calls that get lost. */
import { describe, expect, it } from "vitest";
import type { Decision } from "../../../../bench/sim/signer/signer-model.js";
import type { Wallet, WalletSignature } from "../../provider/wallet-provider.js";
import type { Death } from "../../../storage/test/mortal-life.js";
import { type Fate, type Life, OutsideWorld, OWNER } from "./outside-world.js";

const DECISIONS: Readonly<Record<string, Decision>> = {
  "at once": { kind: "approve" },
  "after some looks": { kind: "later", looks: 2 },
  "when its people have": { kind: "people" },
};
const FATES: readonly Fate[] = ["pass", "lostBefore", "lostAfter", "hang", "notSent", "busy", "garbage"];
/** Two calls of them: the others are like one of these to what follows. */
const PAIRED: readonly Fate[] = ["pass", "lostBefore", "lostAfter", "hang", "busy"];
const USER = "ann";
const TEXT = "sign in";
type Act = "create" | "sign";
const ACTS: readonly Act[] = ["create", "sign"];

async function prepared(act: Act, decision: Decision): Promise<{ world: OutsideWorld; wallet: Wallet | null }> {
  const world = new OutsideWorld();
  let wallet: Wallet | null = null;
  if (act === "sign") {
    const made = await world.create(await world.live(), USER);
    if (typeof made === "string") throw new Error(made);
    wallet = made;
  }
  world.model.decision = () => decision;
  return { world, wallet };
}

function begun(life: Life, wallet: Wallet | null): Promise<Wallet | WalletSignature> {
  if (wallet === null) return life.provider.create(USER, OWNER, "local");
  return life.provider.sign(wallet.walletId, "caller", { kind: "message", bytes: Buffer.from(TEXT) });
}

/** As a caller who comes back, while people decide meanwhile. */
async function asked(
  world: OutsideWorld,
  life: Life,
  wallet: Wallet | null,
): Promise<Wallet | WalletSignature | string> {
  let outcome: Wallet | WalletSignature | string = "";
  for (let attempt = 0; attempt < 8; attempt++) {
    outcome = await world.outcome(life, begun(life, wallet));
    if (outcome !== "APPROVAL_PENDING" && outcome !== "SIGNER_UNAVAILABLE") return outcome;
    await world.judge([USER]);
    world.model.decide({ kind: "approve" });
  }
  return outcome;
}

async function judged(world: OutsideWorld, life: Life, act: Act, outcome: unknown): Promise<void> {
  await world.judge([USER]);
  const wallet = life.provider.find(USER, OWNER);
  if (wallet === null) throw new Error(`there is no wallet: ${String(outcome)}`);
  if (act === "sign") await world.judgeSignature(wallet, outcome as WalletSignature, TEXT);
  // Told before the death, though nobody heard.
  else expect(outcome === "WALLET_EXISTS" || (outcome as Wallet).walletId === wallet.walletId).toBe(true);
  expect(world.model.walletCount).toBe(1);
}

async function afterDeath(act: Act, decision: Decision, death: Death): Promise<string> {
  const { world, wallet } = await prepared(act, decision);
  const first = await world.live(death);
  const early = await asked(world, first, wallet);
  expect(early).toBe("dead");
  const life = await world.live();
  const outcome = await asked(world, life, wallet);
  await judged(world, life, act, outcome);
  return typeof outcome === "string" ? outcome : "done";
}

async function countOf(act: Act, decision: Decision): Promise<number> {
  const { world, wallet } = await prepared(act, decision);
  const life = await world.live();
  await judged(world, life, act, await asked(world, life, wallet));
  return life.acts();
}

describe.each(Object.entries(DECISIONS))("where the signer decides %s", (name, decision) => {
  it.each(ACTS)("a death at any act of a %s leaves one wallet and one request, and the truth", async (act) => {
    const count = await countOf(act, decision);
    expect(count).toBeGreaterThanOrEqual(act === "create" ? 6 : 3);
    const counts = new Map<string, number>();
    for (let at = 1; at <= count; at++)
      for (const isAfter of [false, true]) {
        const outcome = await afterDeath(act, decision, { at, isAfter });
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      }
    const ends = [...counts].map(([outcome, found]) => `${found} ${outcome}`).join(", ");
    process.stdout.write(`kills of a ${act}, decided ${name}: ${count} acts, ${2 * count} deaths: ${ends}\n`);
  });

  it.each(ACTS)("calls of a %s that get lost, any two of them, lead to the same", async (act) => {
    const { world: counted, wallet: ofCount } = await prepared(act, decision);
    const before = counted.calls;
    const life = await counted.live();
    await asked(counted, life, ofCount);
    const calls = counted.calls - before;
    for (let at = 1; at <= calls; at++)
      for (const one of PAIRED)
        for (const next of PAIRED) {
          const { world, wallet } = await prepared(act, decision);
          const from = world.calls;
          world.fate = (call) => (call === from + at ? one : call === from + at + 1 ? next : "pass");
          const lived = await world.live();
          await judged(world, lived, act, await asked(world, lived, wallet));
        }
  });

  it.each(ACTS)("a death after a lost call of a %s asks before it sends again", async (act) => {
    for (const fate of FATES)
      for (let at = 1; at <= 6; at++) {
        const { world, wallet } = await prepared(act, decision);
        const from = world.calls;
        world.fate = (call) => (call === from + 1 ? fate : "pass");
        const first = await world.live({ at, isAfter: true });
        const early = await asked(world, first, wallet);
        world.fate = () => "pass";
        const life = await world.live();
        await judged(
          world,
          life,
          act,
          early === "dead" ? await asked(world, life, wallet) : await asked(world, life, wallet),
        );
      }
  });
});

describe("a store that is lost, or an older copy of itself", () => {
  it("leads to the same wallet and to the same request at the signer", async () => {
    const world = new OutsideWorld();
    const first = await world.live();
    const wallet = (await world.create(first, USER)) as Wallet;
    world.model.decision = () => ({ kind: "people" });
    expect(await world.sign(first, wallet.walletId, TEXT)).toBe("APPROVAL_PENDING");
    for (const namespace of ["outside-wallet", "outside-request"])
      for (const { key } of await world.store.scan(namespace, { prefix: "", limit: 100 }))
        await world.store.remove(namespace, key);
    world.violations.length = 0;
    const life = await world.live();
    expect(life.provider.find(USER, OWNER)).toBeNull();
    const again = (await world.create(life, USER)) as Wallet;
    expect([again.walletId, again.address]).toEqual([wallet.walletId, wallet.address]);
    world.model.decide({ kind: "approve" });
    await world.judgeSignature(wallet, (await world.sign(life, wallet.walletId, TEXT)) as WalletSignature, TEXT);
    // Its rows were gone: that it was sent again without a look is what saves the day.
    world.violations.length = 0;
    await world.judge([USER]);
  });
});
