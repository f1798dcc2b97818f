/**
 * A program that dies before or after any commit, signature, send or look of each kind of transfer, and is started again:
 * one effect, and the ledger says so. All acts with TRANSFER_KILLS=all, else each first act and every third one.
 */
import { afterAll, describe, expect, it } from "vitest";
import { OLD_TOKEN, VAULT } from "./fake-contracts.js";
import { ACCOUNT } from "./fake-signer.js";
import { judged } from "./transfer-judge.js";
import type { Death } from "../../storage/test/mortal-life.js";
import { type Life, TransferWorld } from "./transfer-world.js";

const IS_WHOLE = process.env["TRANSFER_KILLS"] === "all";
const STEP = IS_WHOLE ? 1 : 3;
/** Commits, signatures and first sends are among these; later ones are looks. */
const FIRST_ACTS = IS_WHOLE ? Number.POSITIVE_INFINITY : 12;
const AMOUNT = 7_000_000n;

const ACTS = {
  "deposit into a vault": (world, life) => life.transfers.deposit(world.deposit(world.listed, AMOUNT)),
  "deposit of an old token into a vault": (world, life) =>
    life.transfers.deposit(world.deposit(world.listed, AMOUNT, "OLD")),
  "deposit over a bridge": (world, life) => life.transfers.deposit(world.deposit(world.named, AMOUNT)),
  "withdrawal found by its number": (world, life) => life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)),
  "withdrawal found in a list": (world, life) => life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)),
  "transfer between accounts": (world, life) => life.transfers.move(world.internal("70000", "name-1")),
  "deposit whose sends nobody answers": (world, life) => {
    world.chain.sendWeather = ofSends("unheard");
    return life.transfers.deposit(world.deposit(world.listed, AMOUNT));
  },
  "withdrawal that is lost on the way": (world, life) => {
    world.named.weather = ofSends("lost");
    return life.transfers.withdraw(world.withdrawal(world.named, AMOUNT));
  },
  "withdrawal whose reply is lost": (world, life) => {
    world.listed.weather = ofSends("unheard");
    return life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT));
  },
  "transfer whose reply is lost": (world, life) => {
    world.listed.weather = ofSends("unheard");
    return life.transfers.move(world.internal("70000", "name-1"));
  },
} as const satisfies Record<string, (world: TransferWorld, life: Life) => Promise<unknown>>;
type Act = keyof typeof ACTS;
const SENT_ONCE: readonly Act[] = ["withdrawal found in a list", "withdrawal whose reply is lost"];

const EFFECTS: Record<Act, (world: TransferWorld) => number> = {
  "deposit into a vault": (world) => world.chain.deposits().length,
  "deposit of an old token into a vault": (world) => world.chain.deposits().length,
  "deposit over a bridge": (world) => world.chain.deposits().length,
  "withdrawal found by its number": (world) => world.named.payouts.length,
  "withdrawal found in a list": (world) => world.listed.payouts.length,
  "transfer between accounts": (world) => world.listed.moves.length,
  "deposit whose sends nobody answers": (world) => world.chain.deposits().length,
  "withdrawal that is lost on the way": (world) => world.named.payouts.length,
  "withdrawal whose reply is lost": (world) => world.listed.payouts.length,
  "transfer whose reply is lost": (world) => world.listed.moves.length,
};

/** The first two calls that a weather is asked for; then it is fine. */
function ofSends<Weather>(weather: Weather): () => Weather | "fine" {
  let calls = 0;
  return () => (calls++ < 2 ? weather : "fine");
}

const kills = new Map<string, number>();
const states = new Map<string, number>();

function worldOf(): TransferWorld {
  const world = new TransferWorld();
  world.chain.allow(OLD_TOKEN, ACCOUNT, VAULT, 5n);
  return world;
}

/** From the request to the end of what the keeper does for it. */
async function run(world: TransferWorld, life: Life, act: Act): Promise<string> {
  const outcome = await world.outcome(life, ACTS[act](world, life));
  if (outcome !== "dead") await world.untilQuiet(life);
  return life.isDead() ? "dead" : outcome;
}

async function countOf(act: Act): Promise<number> {
  const world = worldOf();
  const life = await world.live();
  expect(await run(world, life, act)).toBe("done");
  expect(EFFECTS[act](world)).toBe(1);
  return life.acts();
}

async function afterDeath(act: Act, death: Death): Promise<void> {
  const world = worldOf();
  const first = await world.live(death);
  expect(await run(world, first, act)).toBe("dead");
  const life = await world.live();
  await world.untilQuiet(life);
  const rows = await world.rows(life);
  const name = `${act}, ${death.isAfter ? "after" : "before"} act ${death.at}`;
  const kind = rows[0]?.kind ?? "deposit";
  const amount = BigInt(rows[0]?.amount ?? AMOUNT);
  const intents = [{ kind, amount, outcome: "dead" }];
  expect(judged(world, rows, intents, { deaths: 1, fails: false }), name).toEqual([]);
  // Before the first commit nobody knows of it. What a venue may act on twice is never sent again: signed and not sent, it
  // comes to nothing, and its row says so.
  const isBegun = death.at > 1 || death.isAfter;
  const isLeft = SENT_ONCE.includes(act) && rows[0]?.state === "failed" && rows[0].reason === "NEVER_ARRIVED";
  const effects = isBegun && !isLeft ? 1 : 0;
  expect([rows.length, EFFECTS[act](world)], name).toEqual([isBegun ? 1 : 0, effects]);
  kills.set(act, (kills.get(act) ?? 0) + 1);
  for (const [state, count] of world.deathStates) states.set(state, (states.get(state) ?? 0) + count);
}

describe("a death at any act", () => {
  it.each(Object.keys(ACTS) as Act[])(
    "of a %s leaves one effect",
    async (act) => {
      const count = await countOf(act);
      for (let at = 1; at <= count; at += at < FIRST_ACTS ? 1 : STEP)
        for (const isAfter of [false, true]) await afterDeath(act, { at, isAfter });
      expect(kills.get(act)).toBeGreaterThan(7);
    },
    120_000,
  );

  it("meets every state of a row that is under way", () => {
    const met = [...states.keys()].sort();
    expect(met).toEqual(
      expect.arrayContaining(["created", "signed", "broadcast", "unknown"].map((one) => `deposit/${one}`)),
    );
    expect(met).toEqual(
      expect.arrayContaining(["created", "signed", "broadcast", "unknown"].map((one) => `withdrawal/${one}`)),
    );
    expect(met).toEqual(expect.arrayContaining(["internal/created", "internal/signed", "internal/unknown"]));
  });
});

afterAll(() => {
  process.stdout.write(
    `kills: ${JSON.stringify(Object.fromEntries(kills))}\nstates: ${JSON.stringify(Object.fromEntries(states))}\n`,
  );
});
