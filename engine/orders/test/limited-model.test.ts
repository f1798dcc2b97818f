/**
 * Closes with names and keys at venues that refuse many of them with a 429 or otherwise: a name is that of the last order
 * that a venue took under it, and a close of which no venue took anything leaves its Idempotency-Key and its name free.
 * `FUZZ_SEED` replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { createSeededRandom, type Random } from "../../domain/random.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import { createHarness, type Harness, testHash } from "./harness.js";
import type { PlaceFate } from "./fake-matching.js";
import type { TradeResult } from "../types.js";

const planted = vi.hoisted(() => ({ keepsNames: false }));
vi.mock(import("../conclude/free-names.js"), async (load) => {
  const original = await load();
  return {
    ...original,
    freeNames: async (...args) => {
      if (!planted.keepsNames) await original.freeNames(...args);
    },
  };
});

const FIRST_SEED = Number(process.env["FUZZ_SEED"] ?? 81_000);
const RUNS = Number(process.env["FUZZ_RUNS"] ?? 20);
const CLOSES = 12;
const VENUES = ["venueone", "venuetwo"] as const;
const NAMES = ["exit-a", "exit-b", "exit-c"];
const TOOK_NOTHING = new Set(["NOT_SENT", "REJECTED"]);

function fateOf(random: Random): PlaceFate {
  const draw = random.next();
  if (draw < 0.4) return { kind: "fill" };
  if (draw < 0.6) return { kind: "reject", reason: "RATE_LIMITED" };
  if (draw < 0.8) return { kind: "notSent", reason: "RATE_LIMITED" };
  return { kind: "reject", reason: "VENUE_STATE" };
}

/** Venues that took an order of it. */
function takenBy(result: TradeResult): ReadonlySet<string> {
  if (!result.ok) return new Set();
  const { legs } = result.data.execution;
  return new Set(legs.filter(({ outcome }) => !TOOK_NOTHING.has(outcome)).map(({ exchange }) => exchange));
}

/** What is wrong, a line each. */
async function play(seed: number): Promise<readonly string[]> {
  const random = createSeededRandom(seed);
  const harness: Harness = createHarness();
  const faults: string[] = [];
  const fated = () => fateOf(random);
  harness.one.fate = fated;
  harness.two.fate = fated;
  const index = new ClientOrderIdIndex(harness.store, testHash, harness.clock);
  const named = (venue: RoutableVenue, name: string) =>
    index.byName([testHash.hmacHex("owned-intent-account", ["pk_test", venue, `acct-${venue}`, ""])], name);
  /** By venue and name, the run whose order the venue took last. */
  const owner = new Map<string, string>();
  for (let step = 0; step < CLOSES; step++) {
    const clientOrderId = NAMES[Math.floor(random.next() * NAMES.length)] ?? "exit-a";
    const preferredExchange = random.next() < 0.6 ? (random.next() < 0.5 ? "venueone" : "venuetwo") : null;
    const idempotencyKey = `key-${seed}-${step}`;
    const close = () =>
      harness.close(
        { clientOrderId, preferredExchange, size: "0.01" },
        { idempotencyKey, rawBody: Buffer.from(idempotencyKey) },
      );
    let result = await close();
    await harness.clock.advanceAsync(100);
    let taken = takenBy(result);
    if (!result.ok && result.code === "VENUE_RATE_LIMITED") {
      // Nothing that was sent is open: the same key is a new try.
      harness.one.fate = () => ({ kind: "fill" });
      harness.two.fate = () => ({ kind: "fill" });
      // The venue's own limit is over by then.
      await harness.clock.advanceAsync(20_000);
      result = await close();
      taken = takenBy(result);
      if (taken.size === 0) faults.push(`step ${step}: the key of a close that came to nothing is not free`);
      harness.one.fate = fated;
      harness.two.fate = fated;
      await harness.clock.advanceAsync(100);
    }
    if (result.ok) for (const venue of taken) owner.set(`${venue} ${clientOrderId}`, result.data.routing.routeId);
    for (const venue of VENUES)
      for (const name of NAMES) {
        const found = (await named(venue, name))?.routeId ?? "free";
        const expected = owner.get(`${venue} ${name}`) ?? "free";
        if (found !== expected) faults.push(`step ${step}: ${name} on ${venue} is of ${found}, not ${expected}`);
      }
  }
  return faults;
}

afterEach(() => {
  planted.keepsNames = false;
});

describe("names and keys of closes that are refused", () => {
  it.each(Array.from({ length: RUNS }, (_, run) => FIRST_SEED + run))("are free again, seed %i", async (seed) => {
    expect(await play(seed)).toEqual([]);
  });

  it("stay taken where nobody frees them: the judge sees that", async () => {
    planted.keepsNames = true;
    let wrong = 0;
    for (let run = 0; run < RUNS; run++) if ((await play(FIRST_SEED + run)).length > 0) wrong++;
    expect(wrong).toBeGreaterThan(RUNS / 2);
  });
});
