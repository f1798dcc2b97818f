/**
 * Signed writes over random clocks, crashes, restarts and replays: no write is accepted twice, and an honest client with
 * a good clock is refused after a crash for three seconds at most. `FUZZ_SEED` and `FUZZ_RUNS` choose the runs.
 *
 * The judge knows nothing of the code: it counts how often each write was let through to act.
 */
import { expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom, type Random } from "../../engine/domain/random.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { storeUnavailable } from "../../engine/storage/state-store.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { HighWaterMark, MARK_AHEAD_MS } from "./high-water-mark.js";
import { ReplayWindow } from "./replay-window.js";
import { AHEAD_MAX_MS } from "./request-form.js";

const FIRST_SEED = Number(process.env["FUZZ_SEED"] ?? 140_000);
const RUNS = Number(process.env["FUZZ_RUNS"] ?? 150);
const STEPS = 300;
const KEYS = ["a", "b"];
const WINDOWS = [1_000, 5_000, 60_000];

interface Write {
  readonly keyId: string;
  readonly signature: string;
  readonly tsMs: number;
  readonly recvWindowMs: number;
}

/** A fault of the code under test, for the mutants. */
interface Mutant {
  /** After a start nothing is refused for its time. */
  readonly noFloor?: boolean;
  /** A write does not wait for the mark. */
  readonly noWait?: boolean;
  /** Signatures are forgotten at a stop of the clock's own doing. */
  readonly noMemory?: boolean;
}

interface Process {
  readonly mark: HighWaterMark;
  readonly replays: ReplayWindow;
  isAlive: boolean;
}

class Play {
  readonly clock = new VirtualClock();
  readonly store = createMemoryStore();
  readonly random: Random;
  readonly mutant: Mutant;
  /** How often each write went on to act. */
  readonly acted = new Map<string, number>();
  readonly writes: Write[] = [];
  /** Commits that are under way: settled by a later step, or by the crash. */
  #held: { apply: () => void; fail: () => void }[] = [];
  /** Wall ms of the last crash, and whether the clock was ever set. */
  crashedAtMs = Number.NEGATIVE_INFINITY;
  startedAtMs = Number.NEGATIVE_INFINITY;
  isClockGood = true;
  honestRefusals = 0;
  #count = 0;

  constructor(seed: number, mutant: Mutant) {
    this.random = createSeededRandom(seed);
    this.mutant = mutant;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random.next() * list.length)] as T;
  }

  hold(): void {
    this.store.gate = () =>
      new Promise((apply, reject) => {
        this.#held.push({ apply, fail: () => reject(storeUnavailable("CLOSED")) });
      });
  }

  async start(): Promise<Process> {
    this.store.gate = async () => {};
    const mark = await HighWaterMark.open(this.store, this.clock, silentLogger);
    this.hold();
    this.startedAtMs = this.clock.wallMs();
    return { mark, replays: new ReplayWindow({ perKey: 40, total: 60 }), isAlive: true };
  }

  async settle(): Promise<void> {
    for (const { apply } of this.#held.splice(0)) apply();
    await this.clock.advanceAsync(0);
  }

  /** What was being committed is durable or not. */
  async crash(process: Process): Promise<void> {
    process.isAlive = false;
    this.crashedAtMs = this.clock.wallMs();
    for (const { apply, fail } of this.#held.splice(0))
      if (this.random.next() < 0.5) apply();
      else fail();
    await this.clock.advanceAsync(0);
  }

  async stop(process: Process): Promise<void> {
    this.store.gate = async () => {};
    await this.settle();
    process.isAlive = false;
    await process.mark.stop();
  }

  write(offsetMs: number): Write {
    const tsMs = this.clock.wallMs() + offsetMs;
    const made = { keyId: this.pick(KEYS), signature: `s${this.#count++}`, tsMs, recvWindowMs: this.pick(WINDOWS) };
    this.writes.push(made);
    return made;
  }

  /** As the authenticator does it. Returns whether the write was accepted. */
  send(process: Process, { keyId, signature, tsMs, recvWindowMs }: Write): boolean {
    const nowMs = this.clock.wallMs();
    if (tsMs < nowMs - recvWindowMs || tsMs > nowMs + AHEAD_MAX_MS) return false;
    if (tsMs <= process.mark.floorMs && this.mutant.noFloor !== true) return false;
    const replays = this.mutant.noMemory === true ? new ReplayWindow() : process.replays;
    if (replays.admit(keyId, signature, tsMs, recvWindowMs, nowMs) !== "new") return false;
    const act = (): void => {
      if (process.isAlive) this.acted.set(signature, (this.acted.get(signature) ?? 0) + 1);
    };
    const settled = process.mark.cover(tsMs);
    if (settled === null || this.mutant.noWait === true) act();
    else void settled.then(act);
    return true;
  }
}

/** Returns how often the write that acted most did, and the wrongful refusals. */
async function play(seed: number, mutant: Mutant = {}, setsClock = true): Promise<Play> {
  const run = new Play(seed, mutant);
  let process = await run.start();
  for (let step = 0; step < STEPS; step++) {
    const dice = run.random.next();
    if (dice < 0.35) {
      const offsetMs = run.random.next() < 0.7 ? 0 : Math.floor(run.random.next() * 6_000) - 5_000;
      const accepted = run.send(process, run.write(Math.min(offsetMs, AHEAD_MAX_MS)));
      const nowMs = run.clock.wallMs();
      const isExcused = nowMs <= run.crashedAtMs + MARK_AHEAD_MS || nowMs <= run.startedAtMs + AHEAD_MAX_MS;
      if (offsetMs === 0 && !accepted && run.isClockGood && !isExcused) run.honestRefusals++;
    } else if (dice < 0.6) {
      if (run.writes.length > 0)
        run.send(process, run.random.next() < 0.5 ? (run.writes.at(-1) as Write) : run.pick(run.writes));
    } else if (dice < 0.75) await run.settle();
    else if (dice < 0.88) await run.clock.advanceAsync(Math.floor(run.random.next() ** 4 * 90_000));
    else if (dice < 0.92 && setsClock) {
      run.isClockGood = false;
      run.clock.stepWall(run.pick([-3_600_000, -60_000, -2_000, -500, 500, 2_000, 60_000, 3_600_000]));
    } else if (dice < 0.96) {
      await run.crash(process);
      process = await run.start();
    } else if (dice < 0.98) {
      await run.stop(process);
      process = await run.start();
    }
  }
  await run.settle();
  return run;
}

function most(run: Play): number {
  return Math.max(0, ...run.acted.values());
}

it("a signed write acts once at most, over crashes, restarts and a clock that is set", async () => {
  let acted = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) {
    const run = await play(seed);
    expect(most(run), `FUZZ_SEED=${seed} FUZZ_RUNS=1`).toBeLessThanOrEqual(1);
    acted += run.acted.size;
  }
  // The model would prove nothing where nothing is accepted.
  expect(acted).toBeGreaterThan(RUNS * 10);
});

it("a client with a good clock is refused for three seconds after a crash at most", async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) {
    const run = await play(seed, {}, false);
    expect([most(run) <= 1, run.honestRefusals], `FUZZ_SEED=${seed} FUZZ_RUNS=1`).toEqual([true, 0]);
  }
});

it.each<[what: string, mutant: Mutant]>([
  ["the floor of the start", { noFloor: true }],
  ["the wait for the mark", { noWait: true }],
  ["the memory of signatures", { noMemory: true }],
])("without %s a write acts twice in some run", async (_what, mutant) => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + 2_000; seed++) if (most(await play(seed, mutant)) > 1) return;
  expect.fail("no run found the mutant");
});
