/**
 * The nonces of a key whose transactions get lost (test/lossy-key.ts), under a judge. A nonce that another transaction
 * has spent, or may have, is handed out only where the venue has just named it. Each planted fault is found.
 * `FUZZ_SEED` replays one seed.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Naming, type Played, playLossyKey, type Start } from "../test/lossy-key.js";
import type { Flight, NonceOutcome, Way } from "./nonce-window.js";

type Fault =
  | "keeps a named nonce that nobody used"
  | "counts on over others that are lost"
  | "believes a read that a late answer overtook"
  | "keeps hints for later"
  | "forgets with a key that one of its transactions is lost";

const planted = vi.hoisted(() => ({ fault: null as Fault | null }));
vi.mock(import("./nonce-window.js"), async (load) => {
  const original = await load();
  class Window extends original.NonceWindow {
    override get isAnyLost(): boolean {
      return super.isAnyLost && planted.fault !== "forgets with a key that one of its transactions is lost";
    }
    override start(way: Way): Flight {
      const flight = super.start(way);
      if (planted.fault === "counts on over others that are lost" && this.next === null) super.name(flight.nonce + 1);
      return flight;
    }
    override end(flight: Flight, outcome: NonceOutcome): void {
      super.end(flight, outcome);
      const isUnused = outcome === "kept" && this.isIdle && this.next === null;
      if (planted.fault === "keeps a named nonce that nobody used" && isUnused) super.name(flight.nonce);
    }
    override name(nonce: number): void {
      super.name(nonce);
      // The second time it is taken for a later read.
      if (planted.fault === "believes a read that a late answer overtook" && this.next === null) super.name(nonce);
    }
    override hint(nonce: number): void {
      super.hint(nonce);
      if (planted.fault === "keeps hints for later" && this.next === null) super.name(nonce);
    }
  }
  return { ...original, NonceWindow: Window };
});

const FIRST_SEED = Number(process.env["FUZZ_SEED"] ?? 91_000);
const RUNS = Number(process.env["FUZZ_RUNS"] ?? 60);
const SEEDS = Array.from({ length: RUNS }, (_, run) => FIRST_SEED + run);

interface Judged {
  readonly wrong: readonly string[];
  /** Starts with a nonce that a lost transaction may have spent, which the venue had just named. */
  readonly namedAgainCount: number;
}

function judge({ endless, executed, last, namings, starts }: Played): Judged {
  const wrong = endless.map((name) => `${name} has no end`);
  for (const [name, times] of executed) if (times > 1) wrong.push(`${name} was executed ${times} times`);
  for (const name of last) if (!executed.has(name)) wrong.push(`${name} was not executed, on a quiet key`);
  const used = new Set<Naming>();
  let namedAgainCount = 0;
  for (const [index, start] of starts.entries()) {
    const before = starts.slice(0, index).filter((other) => mayHaveSpent(other, start, namings));
    const naming = namings.find((one) => !used.has(one) && namesNow(one, start, before));
    if (naming !== undefined) used.add(naming);
    if (before.length === 0) continue;
    if (naming === undefined)
      wrong.push(`nonce ${start.nonce} for ${start.name}, after ${before.map(textOf).join(" and ")}`);
    else namedAgainCount++;
  }
  return { wrong, namedAgainCount };
}

/**
 * Its nonce is that of the later start, and nothing had proved by then that it was not spent: neither its answer, nor
 * the venue's naming of that nonce, or of one before, asked for once its transaction was over.
 */
function mayHaveSpent(
  { answeredAt, expiresNs, nonce, state }: Start,
  { nonce: nonceAgain, startedAt }: Start,
  namings: readonly Naming[],
): boolean {
  if (nonce !== nonceAgain || (state === "unspent" && answeredAt < startedAt)) return false;
  return !namings.some(
    (named) =>
      named.nonce <= nonce && named.answeredAt < startedAt && (answeredAt < named.askedAt || expiresNs < named.askedNs),
  );
}

/**
 * The answer to a read came in the moment of the start, to a question that is newer than those others, of which none
 * was reported as spent.
 */
function namesNow(
  { answeredAt, answeredNs, askedAt, isHint, nonce }: Naming,
  { nonce: started, startedAt, startedNs }: Start,
  before: readonly Start[],
): boolean {
  if (isHint || nonce !== started || answeredNs !== startedNs || answeredAt > startedAt) return false;
  return before.every((other) => askedAt > other.startedAt && other.answeredAt > startedAt);
}

function textOf({ name, state }: Start): string {
  return `${name} (${state})`;
}

afterEach(() => {
  planted.fault = null;
});

describe("nonces of a key whose transactions get lost", () => {
  it.each(SEEDS)("are handed out again only as the venue names them, seed %i", async (seed) => {
    expect(judge(await playLossyKey(seed)).wrong).toEqual([]);
  });

  it("are often named while a lost transaction may still spend them", async () => {
    let count = 0;
    for (const seed of SEEDS) count += judge(await playLossyKey(seed)).namedAgainCount;
    expect(count).toBeGreaterThan(RUNS);
  });

  it.each<Fault>([
    "keeps a named nonce that nobody used",
    "counts on over others that are lost",
    "believes a read that a late answer overtook",
    "keeps hints for later",
    "forgets with a key that one of its transactions is lost",
  ])("are handed out wrongly by a window that %s: the judge sees that", async (fault) => {
    planted.fault = fault;
    let wrongRuns = 0;
    for (const seed of SEEDS) if (judge(await playLossyKey(seed)).wrong.length > 0) wrongRuns++;
    expect(wrongRuns).toBeGreaterThan(0);
  });
});
