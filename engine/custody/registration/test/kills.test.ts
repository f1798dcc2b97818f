/** A program that dies before or after any commit, signature or request of a registration, a rotation, a revocation. */
import { describe, expect, it } from "vitest";
import type { Style } from "./fake-venue.js";
import type { Death } from "../../../storage/test/mortal-life.js";
import { KeyWorld, type Life, OWNER } from "./key-world.js";

const STYLES: readonly Style[] = ["long", "short"];
const ACTS = ["register", "rotate", "revoke"] as const;
type Act = (typeof ACTS)[number];
const HOUR_MS = 3_600_000;

/** Up to the act: what must be there before. */
async function prepared(style: Style, act: Act): Promise<KeyWorld> {
  const world = new KeyWorld(style);
  const life = await world.live();
  if (act !== "register") expect(await world.outcome(life, life.registrations.register(OWNER, true))).toBe("done");
  return world;
}

function begun(life: Life, act: Act): Promise<unknown> {
  if (act === "revoke") return life.registrations.revoke(OWNER);
  return life.registrations[act](OWNER, true);
}

async function asked(world: KeyWorld, life: Life, act: Act): Promise<string> {
  let outcome = "";
  for (let attempt = 0; attempt < 5; attempt++) {
    outcome = await world.outcome(life, begun(life, act));
    if (outcome !== "REGISTRATION_UNSETTLED" && outcome !== "VENUE_UNAVAILABLE") return outcome;
  }
  return outcome;
}

/** Acts of a life in which nothing dies. */
async function countOf(style: Style, act: Act): Promise<number> {
  const world = await prepared(style, act);
  const life = await world.live();
  expect(await world.outcome(life, begun(life, act))).toBe("done");
  await world.judge(life);
  return life.acts();
}

/** Whether the keeper or the caller comes first after the crash. */
async function afterDeath(style: Style, act: Act, death: Death, isKept: boolean): Promise<string> {
  const world = await prepared(style, act);
  const approvals = world.venue.approvals;
  const first = await world.live(death);
  expect(await world.outcome(first, begun(first, act))).toBe("dead");
  const life = await world.live();
  if (isKept) {
    life.keeper.start();
    await world.clock.advanceAsync(HOUR_MS);
    await world.judge(life);
  }
  const outcome = await asked(world, life, act);
  if (!isKept) life.keeper.start();
  await world.clock.advanceAsync(HOUR_MS);
  await world.judge(life);
  const made = world.venue.approvals - approvals;
  if (act === "revoke") {
    expect(["done", "API_KEY_NOT_FOUND"]).toContain(outcome);
    expect([world.venue.live(OWNER.account), made]).toEqual([[], 0]);
    expect(await world.store.scan("venue-key", { prefix: "", limit: 10 })).toEqual([]);
  } else {
    const lived = world.venue.live(OWNER.account).length;
    // Told before the crash, though nobody heard: the next registration is refused, and a rotation makes one more.
    const isTold = act === "register" ? outcome === "API_KEY_EXISTS" : made === 2;
    expect(outcome === "done" || isTold, outcome).toBe(true);
    expect([lived, made]).toEqual(act === "register" ? [1, 1] : isTold ? [3, 2] : [2, 1]);
  }
  return outcome;
}

describe.each(STYLES)("at a venue that takes an act for a %s time", (style) => {
  it.each(ACTS)("a death at any act of a %s leaves one key, with its secret, and the truth", async (act) => {
    const count = await countOf(style, act);
    expect(count).toBeGreaterThanOrEqual(4);
    const outcomes: string[] = [];
    for (let at = 1; at <= count; at++)
      for (const isAfter of [false, true])
        for (const isKept of [false, true]) outcomes.push(await afterDeath(style, act, { at, isAfter }, isKept));
    expect(outcomes.length).toBe(count * 4);
    const counts = new Map<string, number>();
    for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const ends = [...counts].map(([outcome, found]) => `${found} ${outcome}`).join(", ");
    process.stdout.write(`kills of a ${act}, ${style}: ${count} acts, ${outcomes.length} deaths: ${ends}\n`);
  });
});
