/**
 * Requests, deaths, lost replies, a signer that comes and goes, and time, in any order; then fair weather. Seeds:
 * KEY_MODEL_RUNS of them from KEY_MODEL_SEED.
 */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../domain/errors.js";
import type { ActOutcome, AgentRegistrar } from "../../../key-registrar.js";
import { storeUnavailable } from "../../../storage/state-store.js";
import { createSeededRandom } from "../../../domain/random.js";
import type { Style, Weather } from "./fake-venue.js";
import { KeyWorld, type Life, OWNER } from "./key-world.js";

const RUNS = Number(process.env["KEY_MODEL_RUNS"] ?? 60);
const SEED = Number(process.env["KEY_MODEL_SEED"] ?? 1);
const STEPS = 14;
const MUTANT_RUNS_MAX = 200;
const HOUR_MS = 3_600_000;
const WEATHERS: readonly Weather[] = ["fine", "fine", "lost", "unheard", "late", "limited", "down"];
const REFUSALS = new Set([
  "done",
  "dead",
  "API_KEY_EXISTS",
  "API_KEY_NOT_FOUND",
  "API_KEY_LIMIT",
  "REGISTRATION_UNSETTLED",
  "VENUE_UNAVAILABLE",
  "VENUE_RATE_LIMITED",
  "SIGNER_UNAVAILABLE",
  "STORE_UNAVAILABLE",
]);
/** Whoever is told that nothing was approved must not find it approved later. */
const NOTHING_LEFT = new Set(["STORE_UNAVAILABLE", "SIGNER_UNAVAILABLE", "VENUE_UNAVAILABLE", "VENUE_RATE_LIMITED"]);

/** Returns what was made on the way, for the counts of the test. `plant`: a mistake. */
async function run(
  seed: number,
  style: Style,
  plant: (world: KeyWorld) => void = () => {},
): Promise<{ approvals: number; deaths: number }> {
  const random = createSeededRandom(seed);
  const world = new KeyWorld(style);
  plant(world);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
  let isMortal = false;
  const born = async (): Promise<Life> => {
    const death = random.next() < 0.5 ? null : { at: 1 + Math.floor(random.next() * 12), isAfter: random.next() < 0.5 };
    isMortal = death !== null;
    const life = await world.live(death);
    life.keeper.start();
    return life;
  };
  world.venue.lateMs = () => pick([1_000, 4_000, 15_000, 40_000]);
  let life = await born();
  let deaths = 0;
  for (let step = 0; step < STEPS; step++) {
    const weathers = [pick(WEATHERS), pick(WEATHERS)] as const;
    world.venue.weather = () => (random.next() < 0.4 ? "fine" : pick(weathers));
    world.signerError = random.next() < 0.15 ? new ServiceError("SIGNER_UNAVAILABLE") : null;
    // Set right after the step; a life that begins meanwhile has no other clock to go by.
    const wallStepMs = isMortal ? 0 : pick([0, 0, 0, 72 * HOUR_MS, -48 * HOUR_MS]);
    world.clock.stepWall(wallStepMs);
    // Commits that no store takes.
    const refusedShare = random.next() < 0.15 ? 0.4 : 0;
    world.store.gate = async () => {
      if (random.next() < refusedShare) throw storeUnavailable("DISK_FULL");
    };
    const calls = [pick(["register", "rotate", "revoke"] as const), pick(["register", "revoke", null] as const)];
    const outcomes = await Promise.all(
      calls.map((act) => (act === null ? Promise.resolve("done") : asked(world, life, act))),
    );
    for (const outcome of outcomes) expect(REFUSALS, `seed ${seed} step ${step}`).toContain(outcome);
    if (calls[1] === null && calls[0] !== "revoke" && NOTHING_LEFT.has(outcomes[0] ?? ""))
      expect(life.keeper.counts().get(OWNER.venue)?.unsettled, `seed ${seed} step ${step}: ${outcomes[0]}`).toBe(0);
    await world.clock.advanceAsync(pick([0, 500, 5_000, 60_000, HOUR_MS]));
    world.clock.stepWall(-wallStepMs);
    if (!life.isDead()) continue;
    deaths++;
    life = await born();
  }
  world.venue.weather = () => "fine";
  world.signerError = null;
  world.store.gate = async () => {};
  life = await world.live();
  life.keeper.start();
  // A key that never left stays for a day.
  await world.clock.advanceAsync(26 * HOUR_MS);
  await world.judge(life);
  const listed = life.registrations.list(OWNER.walletId);
  expect(listed.filter(({ status }) => status === "APPROVING" || status === "REVOKING")).toEqual([]);
  expect([...world.venue.live(OWNER.account)].sort(), `seed ${seed}`).toEqual(
    listed.map(({ signer }) => signer).sort(),
  );
  const outcome = await asked(world, life, "register");
  expect(["done", "API_KEY_EXISTS"], `seed ${seed}`).toContain(outcome);
  await world.judge(life);
  return { approvals: world.venue.approvals, deaths };
}

function asked(world: KeyWorld, life: Life, act: "register" | "rotate" | "revoke"): Promise<string> {
  const call = act === "revoke" ? life.registrations.revoke(OWNER) : life.registrations[act](OWNER, true);
  return world.outcome(life, call);
}

describe.each(["long", "short"] as const)("keys at a venue that takes an act for a %s time", (style) => {
  it(`are as the venue has them, each told once, after ${RUNS} runs of anything`, async () => {
    let approvals = 0;
    let deaths = 0;
    for (let seed = SEED; seed < SEED + RUNS; seed++) {
      const made = await run(seed, style);
      approvals += made.approvals;
      deaths += made.deaths;
    }
    expect(approvals).toBeGreaterThan(RUNS);
    expect(deaths).toBeGreaterThan(RUNS / 4);
  });
});

/** As a room would answer that knows less of its venue than it says. */
function answering(change: (outcome: ActOutcome) => ActOutcome): (world: KeyWorld) => void {
  return (world) => {
    world.spoiled = (registrar): AgentRegistrar => ({
      ...registrar,
      send: async (...call) => change(await registrar.send(...call)),
    });
  };
}

/** The first of many runs that finds what was planted, from where one was seen to; null: none did. */
async function foundBy(style: Style, plant: (world: KeyWorld) => void, from: number): Promise<number | null> {
  for (let seed = from; seed < from + MUTANT_RUNS_MAX; seed++)
    try {
      await run(seed, style, plant);
    } catch {
      return seed;
    }
  return null;
}

describe("the model finds a room that", () => {
  it.each<[what: string, style: Style, plant: (world: KeyWorld) => void, from?: number]>([
    [
      "calls bytes used up that the venue never looked at",
      "long",
      answering((outcome) => (outcome.kind === "refused" ? { ...outcome, isSpent: true } : outcome)),
      160,
    ],
    [
      "takes a lost reply for a refusal",
      "short",
      answering((outcome) =>
        outcome.kind === "unknown"
          ? { kind: "refused", reason: "OTHER", venueText: "", retryAfterMs: null, isSpent: true }
          : outcome,
      ),
    ],
    [
      "ends an act before the venue does",
      "long",
      (world) => {
        world.spoiled = (registrar) => ({
          ...registrar,
          async approval(key) {
            const made = await registrar.approval(key);
            return made.ok ? { ...made, act: { ...made.act, validUntilMs: world.clock.wallMs() + 3_000 } } : made;
          },
        });
      },
    ],
    [
      "trades with a key before the venue takes it",
      "short",
      (world) => {
        world.spoiled = (registrar) => ({ ...registrar, takeUpMs: 0 });
      },
    ],
  ])("%s", async (_what, style, plant, from = 1) => {
    expect(await foundBy(style, plant, from)).not.toBeNull();
  });
});
