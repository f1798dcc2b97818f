/**
 * A model of a venue that counts, under a judge that knows what was asked of us and what reached the venue: callers storm
 * it with reads, one account spends on reads of its own, our own work borrows what lies idle, and exits and entries are
 * asked for meanwhile. Virtual time; seeds decide who asks for what. The pool as it is, which the judge must not blame,
 * and one planted fault for each check: the check sees it, and with the check taken out nothing does. FUZZ_SEED replays
 * one seed.
 */
import type { Dispatcher } from "undici";
import { afterEach, describe, expect, it, vi } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { Lane } from "../../../engine/ports.js";
import type { HttpRequest } from "./http.js";
import { HttpPool, type HttpPoolOptions } from "./http-pool.js";
import { LaneBudget } from "./lanes.js";
import { LaneQueue } from "./lane-queue.js";
import { countingAs } from "../test/counting-as.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2] : [Number(process.env.FUZZ_SEED)];
const STEP_MS = 100;
const PLAYED_MS = 170_000;
const WINDOW_MS = 60_000;
/** A window of ours may count a bucket longer. */
const COUNTED_MS = WINDOW_MS * 1.06;
const BUDGET = 1_200;
const ACCOUNT_LIMIT = 60;
const OTHERS_LIMIT = 45;
/** An exit has a connection and weight at once; an entry may wait until the venue has answered a call. */
const EXIT_WITHIN_MS = 0;
const ENTRY_WITHIN_MS = 10_000;

/**
 * EXIT: one that is asked for within what is held back for it goes out at once. ENTRY: one goes out in time. BUDGET: the
 * venue counts no more than it allows. SPENT: none is refused for its account that the venue has not counted as much of.
 */
type Check = "EXIT" | "ENTRY" | "BUDGET" | "SPENT";

const wire = vi.hoisted(() => ({
  dispatch: (_path: string, _handler: Dispatcher.DispatchHandler): void => {},
}));

vi.mock(import("undici"), async (load) => {
  const undici = await load();
  class Pool {
    dispatch({ path }: { readonly path: string }, handler: Dispatcher.DispatchHandler): boolean {
      wire.dispatch(path, handler);
      return true;
    }
    close = async (): Promise<void> => {};
    destroy = async (): Promise<void> => {};
  }
  return { ...undici, Pool: Pool as unknown as typeof undici.Pool };
});

afterEach(() => {
  vi.restoreAllMocks();
});

type Call = Pick<HttpRequest, "lane" | "weight" | "account" | "accountWeight" | "timeoutMs"> & Partial<HttpRequest>;

interface Counted {
  readonly atMs: number;
  readonly call: Call;
}

class Venue {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly #pool: HttpPool;
  readonly #without: readonly Check[];
  readonly #found = new Map<Check, string>();
  readonly #asked: Counted[] = [];
  /** Of the last window and a bit. */
  #counted: Counted[] = [];
  readonly #waiting = new Set<number>();
  latencyMs: readonly [number, number] = [100, 1_500];

  constructor(seed: number, without: readonly Check[], options: Partial<HttpPoolOptions> = {}) {
    this.#without = without;
    this.random = createSeededRandom(seed);
    wire.dispatch = (path, handler) => this.#take(Number(path), handler);
    this.#pool = new HttpPool({
      name: "model",
      baseUrl: "http://venue",
      clock: this.clock,
      random: createSeededRandom(seed),
      logger: silentLogger,
      budget: BUDGET,
      budgetWindowMs: WINDOW_MS,
      accountLimits: [{ limit: ACCOUNT_LIMIT, windowMs: WINDOW_MS }],
      connections: 8,
      exitConnections: 2,
      // Slow is not broken: what the breaker makes of it is not asked here.
      breaker: { failureThreshold: Number.POSITIVE_INFINITY },
      ...options,
    });
  }

  get found(): readonly Check[] {
    return [...this.#found.keys()];
  }

  nowMs(): number {
    return this.clock.monoNs() / 1e6;
  }

  between(from: number, to: number): number {
    return from + this.random.next() * (to - from);
  }

  /** `isJudged`: it is of one that asks for no more than what is held back. */
  ask(call: Call, isJudged = false): void {
    const id = this.#asked.push({ atMs: this.nowMs(), call }) - 1;
    if (isJudged) this.#waiting.add(id);
    const request = { method: "POST", path: String(id), headers: {}, body: null, ...call } as const;
    void this.#pool.request(request).then((result) => {
      if (result.kind === "notSent" && result.isAccountLimit === true) this.#judgeRefusal(call);
    });
  }

  async pass(): Promise<void> {
    await this.clock.advanceAsync(STEP_MS);
    for (const id of this.#waiting) this.#judgeWait(id);
  }

  end(): void {
    void this.#pool.close(0);
  }

  #judgeWait(id: number): void {
    const asked = this.#asked[id];
    if (asked === undefined) return;
    const { lane } = asked.call;
    const waitedMs = this.nowMs() - asked.atMs;
    if (waitedMs > (lane === "exit" ? EXIT_WITHIN_MS : ENTRY_WITHIN_MS))
      this.#say(lane === "exit" ? "EXIT" : "ENTRY", `${waitedMs} ms`);
  }

  #judgeRefusal({ account, accountWeight, lane }: Call): void {
    const limit = lane === "exit" ? ACCOUNT_LIMIT : OTHERS_LIMIT;
    const used = this.#used(COUNTED_MS, ({ call }) =>
      call.account === account && (lane === "exit" || call.lane !== "exit") ? call.accountWeight : 0,
    );
    if (used + accountWeight <= limit) this.#say("SPENT", `${lane} refused, ${used} of ${limit} spent`);
  }

  #used(windowMs: number, weightOf: (counted: Counted) => number): number {
    const sinceMs = this.nowMs() - windowMs;
    return this.#counted.reduce((sum, one) => (one.atMs > sinceMs ? sum + weightOf(one) : sum), 0);
  }

  #take(id: number, handler: Dispatcher.DispatchHandler): void {
    const call = this.#asked[id]?.call;
    if (call === undefined) throw new Error("nobody asked for it");
    this.#waiting.delete(id);
    const { account, lane } = call;
    const sinceMs = this.nowMs() - COUNTED_MS;
    this.#counted = this.#counted.filter(({ atMs }) => atMs > sinceMs);
    this.#counted.push({ atMs: this.nowMs(), call });
    const used = this.#used(WINDOW_MS, (one) => one.call.weight);
    const ofAccount = this.#used(WINDOW_MS, (one) => (one.call.account === account ? one.call.accountWeight : 0));
    if (used > BUDGET || (account !== null && ofAccount > ACCOUNT_LIMIT)) this.#say("BUDGET", `${used}, ${ofAccount}`);
    const answerMs = lane === "exit" ? 50 : this.between(...this.latencyMs);
    const controller = { abort: () => {} } as unknown as Dispatcher.DispatchController;
    handler.onRequestStart?.(controller, {});
    this.clock.setTimer(() => {
      handler.onResponseStart?.(controller, 200, {});
      handler.onResponseEnd?.(controller, {});
    }, answerMs);
  }

  #say(check: Check, text: string): void {
    if (!this.#without.includes(check) && !this.#found.has(check)) this.#found.set(check, text);
  }
}

const call = (lane: Lane, weight: number, more: Partial<Call> = {}): Call => ({
  lane,
  weight,
  account: null,
  accountWeight: 0,
  timeoutMs: 30_000,
  ...more,
});

/** Asked for every `everyMs`, give or take a quarter. */
function regularly(venue: Venue, everyMs: number, ask: () => void): Asker {
  let nextMs = 0;
  return () => {
    if (venue.nowMs() < nextMs) return;
    nextMs = venue.nowMs() + venue.between(0.75, 1.25) * everyMs;
    ask();
  };
}

type Asker = () => unknown;

/** Exits and entries, each within what is held back. */
const trading = (venue: Venue): readonly Asker[] => [
  regularly(venue, 6_000, () => venue.ask(call("exit", 18, { account: "a", accountWeight: 1 }), true)),
  regularly(venue, 2_500, () => venue.ask(call("trade", 4, { account: "b", accountWeight: 1 }), true)),
];

/** Several callers read as fast as they can, and so does the account that has something to close. */
function reading(venue: Venue, weightMax: number): Asker {
  const read = (more: Partial<Call>): void =>
    venue.ask(call("read", Math.ceil(venue.between(0, weightMax)), { timeoutMs: 8_000, ...more }));
  return () => {
    if (venue.random.next() < 0.7) read({ caller: `caller ${Math.floor(venue.random.next() * 4)}` });
    if (venue.random.next() < 0.5) read({ account: "a", accountWeight: 1, weight: 1 });
  };
}

/** Reads by many, and our own work that borrows. */
const storming = (venue: Venue): readonly Asker[] => [
  reading(venue, 20),
  regularly(venue, 500, () => venue.ask(call("reconcile", 10, { borrowsIdle: true }))),
  regularly(venue, 700, () => venue.ask(call("background", 5))),
];

const SCENES = {
  storm: (venue: Venue) => [...storming(venue), ...trading(venue)],
  /** The venue is slow: all connections are taken for long. */
  slow: (venue: Venue) => {
    venue.latencyMs = [3_000, 7_500];
    return [reading(venue, 1), ...trading(venue)];
  },
  /** All else is taken, then one has far more to close than is there for all; an account beside it closes little. */
  crowd: (venue: Venue) => {
    const beginsMs = venue.between(40_000, 100_000);
    return [
      ...storming(venue),
      () => venue.nowMs() > beginsMs && venue.ask(call("exit", 18, { caller: "heavy", timeoutMs: 5_000 })),
      regularly(venue, 6_000, () => venue.ask(call("exit", 5, { account: "a", accountWeight: 1 }), true)),
    ];
  },
  /** All else is taken, and many close at once, each by one heavy call: together within what is held back. */
  panic: (venue: Venue) => {
    const close = (_: unknown, caller: number): Asker =>
      regularly(venue, 90_000, () => venue.ask(call("exit", 40, { caller: `closing ${caller}` }), true));
    return [...storming(venue), ...Array.from({ length: 7 }, close)];
  },
} as const satisfies Readonly<Record<string, (venue: Venue) => readonly Asker[]>>;

type Scene = keyof typeof SCENES;

async function played(
  scene: Scene,
  seed: number,
  without: readonly Check[] = [],
  options: Partial<HttpPoolOptions> = {},
): Promise<readonly Check[]> {
  const venue = new Venue(seed, without, options);
  const askers = SCENES[scene](venue);
  while (venue.nowMs() < PLAYED_MS) {
    for (const ask of askers) ask();
    await venue.pass();
  }
  venue.end();
  return venue.found;
}

/** All but exits find so much more than there is for them. */
function availableBeyond(weight: number): void {
  const { available } = LaneBudget.prototype;
  vi.spyOn(LaneBudget.prototype, "available").mockImplementation(function (this: LaneBudget, lane, ...asked) {
    return available.call(this, lane, ...asked) + (lane === "exit" ? 0 : weight);
  });
}

/** The budget answers for one lane as it does for another. */
function availableAs(laneOf: (lane: Lane, borrowsIdle: boolean) => Lane): void {
  const { available } = LaneBudget.prototype;
  vi.spyOn(LaneBudget.prototype, "available").mockImplementation(function (
    this: LaneBudget,
    lane,
    nowMs,
    borrowsIdle = false,
  ) {
    return available.call(this, laneOf(lane, borrowsIdle), nowMs, borrowsIdle);
  });
}

interface Mutant {
  readonly name: string;
  readonly scene: Scene;
  /** The check that it is for, then those that see it too. */
  readonly checks: readonly [Check, ...Check[]];
  readonly plant?: () => void;
  readonly options?: Partial<HttpPoolOptions>;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "reads take what is held back for exits",
    scene: "storm",
    checks: ["EXIT", "ENTRY"],
    plant: () => availableAs((lane) => (lane === "read" ? "exit" : lane)),
  },
  {
    name: "reads take what is held back for entries",
    scene: "storm",
    checks: ["ENTRY"],
    plant: () => availableAs((lane) => (lane === "read" ? "trade" : lane)),
  },
  {
    name: "our own work borrows what is held back for exits",
    scene: "storm",
    checks: ["EXIT", "ENTRY"],
    plant: () => availableAs((lane, borrowsIdle) => (borrowsIdle ? "exit" : lane)),
  },
  {
    name: "an account's reads take what is kept for its exits",
    scene: "storm",
    checks: ["EXIT"],
    plant: () => countingAs(() => "exit"),
  },
  {
    name: "what waits for its lane has spent its account's budget",
    scene: "slow",
    checks: ["SPENT"],
    plant: () => {
      const { acquire } = LaneQueue.prototype;
      vi.spyOn(LaneQueue.prototype, "acquire").mockImplementation(function (
        this: LaneQueue,
        lane,
        weight,
        timeoutMs,
        { takeOther, ...entrant } = {},
      ) {
        const waitMs = takeOther?.() ?? 0;
        return acquire.call(this, lane, weight, timeoutMs, { ...entrant, takeOther: () => waitMs });
      });
    },
  },
  {
    name: "reads take the connections of exits",
    scene: "slow",
    checks: ["EXIT"],
    options: { exitConnections: 0 },
  },
  {
    name: "one who closes much takes what is left to the others",
    scene: "crowd",
    checks: ["EXIT"],
    plant: () => void vi.spyOn(LaneBudget.prototype, "isBeyondShare").mockReturnValue(false),
  },
  {
    name: "a first call that weighs more than a share is above it",
    scene: "panic",
    checks: ["EXIT"],
    plant: () => {
      const { isBeyondShare } = LaneBudget.prototype;
      vi.spyOn(LaneBudget.prototype, "isBeyondShare").mockImplementation(function (
        this: LaneBudget,
        lane,
        caller,
        weight,
        nowMs,
      ) {
        const isLastPart = this.available(lane, nowMs) - weight < BUDGET / 16;
        const isHeavy = lane === "exit" && caller !== null && isLastPart && weight > BUDGET / 4 / 8;
        return isHeavy || isBeyondShare.call(this, lane, caller, weight, nowMs);
      });
    },
  },
  {
    name: "others than exits take the last part of what is held back for them",
    scene: "crowd",
    checks: ["EXIT"],
    plant: () => availableBeyond(BUDGET / 8),
  },
  {
    name: "nothing is counted",
    scene: "storm",
    checks: ["BUDGET"],
    plant: () => void vi.spyOn(LaneBudget.prototype, "charge").mockReturnValue(),
  },
];

describe("the judge of lanes", () => {
  it.each((Object.keys(SCENES) as Scene[]).flatMap((scene) => SEEDS.map((seed) => [scene, seed] as const)))(
    "has nothing to say of the pool as it is: %s, seed %i",
    async (scene, seed) => {
      expect(await played(scene, seed)).toEqual([]);
    },
  );

  it.each(MUTANTS.flatMap((mutant) => SEEDS.map((seed) => ({ ...mutant, seed }))))(
    "sees by $checks alone that $name, seed $seed",
    async ({ checks, options, plant, scene, seed }) => {
      plant?.();
      expect([...(await played(scene, seed, [], options))].sort()).toEqual([...checks].sort());
      expect(await played(scene, seed, checks, options)).toEqual([]);
    },
  );
});
