/**
 * A model of a venue under a flood of made-up keys, beside a trader that it knows and traders who come fresh, and under a
 * storm of reads of one API key with many accounts, beside that of another key. A judge sees who asked for what and what
 * reached the venue. A room is played in its simplest form: it asks in turn,
 * says who was answered well and which key was refused. Virtual time; seeds decide when and what. The pool and the
 * standing as they are, which the judge must not blame, and one planted fault for each check: the check sees it, and with
 * the check taken out nothing does. FUZZ_SEED replays one seed.
 */
import type { Dispatcher } from "undici";
import { afterEach, describe, expect, it, vi } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { Lane } from "../../../engine/ports.js";
import { Breaker, DEFAULT_BREAKER } from "./breaker.js";
import type { HttpResponse } from "./call-results.js";
import { CallerShares } from "./caller-shares.js";
import { CallerStanding } from "./caller-standing.js";
import { HttpPool } from "./http-pool.js";
import { LaneQueue } from "./lane-queue.js";
import { UnprovenPart, UnprovenSlots } from "./unproven-part.js";

const SEEDS = process.env.FUZZ_SEED === undefined ? [1, 2] : [Number(process.env.FUZZ_SEED)];
const STEP_MS = 100;
const PLAYED_MS = 150_000;
const MUTES_PLAYED_MS = 20_000;
const BURSTS_PLAYED_MS = 260_000;
const FLOOD_FROM_MS = 10_000;
const BUDGET = 1_200;
const WINDOW_MS = 60_000;
/** A look-up of who a key is, and what a known one asks for. */
const LOOKUP = 60;
const READ = 2;
/** Of a known trader's exit: it never waits. */
const PACE_MS = 0;
/** Strangers wait five seconds at most, a look-up comes back to their part each twelve, and it knocks once a second. */
const IN_MS = 20_000;
/** What strangers may take of any minute: their part, and as much again where it was whole before. */
const PART_MAX = 2 * 0.25 * BUDGET;
/** Strangers hold a quarter of the connections at most. */
const PLACES = 4;
/** What the known trader's reads take of them, and for how long: all that are not for exits. */
const READ_PLACES = 12;
const READ_TAKES_MS = 4_900;
/** Just before strangers come. After it: a backoff, and the next exit of the known trader. */
const FAULT_AT_MS = 9_900;
const HEAL_MS = 3_000;
/** A known trader closes, and a fresh one knocks again, so often. */
const CLOSE_EVERY_MS = 1_500;
const KNOCK_EVERY_MS = 1_000;
const FRESH_EVERY_MS = 45_000;
/** API keys: one whose made-up credentials storm, or whose many accounts do, and another. */
const BUSY_KEY = "pk_busy";
const OTHER_KEY = "pk_other";
const ACCOUNTS = 20;
const STORM_FROM_MS = 10_000;
/** A little more than the lane can take of a minute. */
const STORM_READS_EVERY_MS = 230;
/** Of the other key's reads, which are below its third of the lane and far above one of twenty-two. */
const OTHER_READS_EVERY_MS = 1_000;
/** Of a hard burst in each step: eighteen times what the lane has. */
const BURST_READS = 8;
/** Of the other key's reads beside it: nearly its third of the lane, which it has after this long. */
const BESIDE_BURSTS_EVERY_MS = 700;
const GROWN_MS = 3 * WINDOW_MS + 5_000;
/** What the lane took comes back in steps of the window. */
const SHARE_MS = 2_000;
/** The venue misses the known trader's key for a moment, now and then. */
const LAG_SHARE = 0.2;

/**
 * PACE: an exit of the known trader goes out at once. IN: a fresh one that knocks gets in within its bound. PART: strangers
 * take no more than their part of any minute. HEALTH: the venue is open to all while it answers the known. KEPT: who was
 * once answered well is asked about again whatever the venue said last. PLACES: strangers hold no more connections than
 * their part of them. SHARE: a read of a key below its share goes out at once, however many accounts another key has.
 */
type Check = "PACE" | "IN" | "PART" | "HEALTH" | "KEPT" | "PLACES" | "SHARE";

type Fate = "good" | "slow" | "refused" | "fails" | "mute";

const wire = vi.hoisted(() => ({ dispatch: (_path: string, _handler: Dispatcher.DispatchHandler): void => {} }));

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

interface Asked {
  readonly caller: string;
  readonly weight: number;
  readonly fate: Fate;
  /** Is an exit of the known trader, which the venue can take. */
  readonly isJudged: boolean;
  /** Is a read of the other key. */
  readonly isShared: boolean;
  readonly atMs: number;
  reached: boolean;
}

class Venue {
  readonly clock = new VirtualClock();
  readonly random: Random;
  /** A key that is new has its share only after a while. */
  sharedFromMs = 0;
  readonly #standing = new CallerStanding(this.clock);
  readonly #pool: HttpPool;
  readonly #without: readonly Check[];
  readonly #found = new Map<Check, string>();
  readonly #asked: Asked[] = [];
  /** Weight by strangers, of the last minute. */
  #strange: { readonly atMs: number; readonly weight: number }[] = [];
  readonly #known = new Set<string>();
  #strangePlaces = 0;
  /** When the known trader's calls failed last: the venue may be closed for a moment then. */
  #failedMs = Number.NEGATIVE_INFINITY;

  constructor(seed: number, without: readonly Check[]) {
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
      accountLimits: [],
      standing: this.#standing,
    });
  }

  get found(): readonly Check[] {
    return [...this.#found.keys()];
  }

  nowMs(): number {
    return this.clock.monoNs() / 1e6;
  }

  isKnown(caller: string): boolean {
    return this.#known.has(caller);
  }

  /** As a room does: what was said of the key a moment ago, else the venue. */
  ask(
    caller: string,
    weight: number,
    fate: Fate,
    timeoutMs: number,
    lane: Lane = "exit",
    payer: string | null = null,
  ): void {
    const wasKnown = this.#known.has(caller);
    if (this.#standing.refusalOf(caller) !== null) {
      if (wasKnown) this.say("KEPT", caller);
      return;
    }
    const isFault = this.#pool.breaker === "open" && this.nowMs() - this.#failedMs <= HEAL_MS;
    const isJudged = caller === "known" && lane === "exit" && !isFault;
    const isShared = payer === OTHER_KEY && lane === "read" && this.nowMs() >= this.sharedFromMs;
    const id = this.#asked.push({ caller, weight, fate, isJudged, isShared, atMs: this.nowMs(), reached: false }) - 1;
    const call = { method: "POST", path: String(id), headers: {}, body: null, lane, account: null } as const;
    void this.#pool.request({ ...call, weight, timeoutMs, caller, payer, accountWeight: 0 }).then((result) => {
      if (result.kind !== "response") return;
      if (fate === "good") {
        this.#known.add(caller);
        this.#standing.answeredWell(caller);
      } else if (fate === "refused") this.#standing.refused(caller, result satisfies HttpResponse);
    });
  }

  async pass(): Promise<void> {
    for (const one of this.#asked)
      if (!one.reached && one.isJudged && this.nowMs() - one.atMs > PACE_MS) {
        one.reached = true;
        this.say("PACE", `asked for at ${one.atMs}`);
      } else if (!one.reached && one.isShared && this.nowMs() - one.atMs > SHARE_MS) {
        one.reached = true;
        this.say("SHARE", `asked for at ${one.atMs}`);
      }
    if (this.#pool.breaker !== "closed" && this.nowMs() - this.#failedMs > HEAL_MS)
      this.say("HEALTH", this.#pool.breaker);
    await this.clock.advanceAsync(STEP_MS);
  }

  end(): void {
    void this.#pool.close(0);
  }

  say(check: Check, text: string): void {
    if (!this.#without.includes(check) && !this.#found.has(check)) this.#found.set(check, text);
  }

  #take(id: number, handler: Dispatcher.DispatchHandler): void {
    const asked = this.#asked[id];
    if (asked === undefined) throw new Error("nobody asked for it");
    asked.reached = true;
    const nowMs = this.nowMs();
    const isStrange = asked.caller.startsWith("junk");
    if (!isStrange && asked.fate === "fails") this.#failedMs = nowMs;
    if (isStrange) {
      this.#strange = this.#strange.filter(({ atMs }) => atMs > nowMs - WINDOW_MS);
      this.#strange.push({ atMs: nowMs, weight: asked.weight });
      const taken = this.#strange.reduce((sum, { weight }) => sum + weight, 0);
      if (taken > PART_MAX) this.say("PART", `${taken}`);
    }
    if (isStrange && ++this.#strangePlaces > PLACES) this.say("PLACES", `${this.#strangePlaces}`);
    const leave = (): void => {
      if (isStrange) this.#strangePlaces--;
    };
    const controller = { abort: leave } as unknown as Dispatcher.DispatchController;
    handler.onRequestStart?.(controller, {});
    if (asked.fate === "mute") return;
    const takesMs = asked.fate === "slow" ? READ_TAKES_MS : 20;
    this.clock.setTimer(() => {
      leave();
      handler.onResponseStart?.(
        controller,
        asked.fate === "good" || asked.fate === "slow" ? 200 : asked.fate === "fails" ? 500 : 401,
        {},
      );
      handler.onResponseEnd?.(controller, {});
    }, takesMs);
  }
}

/** 26 a second for ever, each with a key of its own, and deadlines as short as the service takes them, or long. */
function flooding(venue: Venue, payer: string | null = null): () => void {
  let count = 0;
  return () => {
    if (venue.nowMs() < FLOOD_FROM_MS) return;
    for (let each = venue.random.next() * 5.2; each >= 1; each--) {
      const isRefused = payer !== null || venue.random.next() < 0.4;
      const fate: Fate = isRefused ? "refused" : venue.random.next() < 0.5 ? "fails" : "mute";
      const timeoutMs = fate === "mute" || venue.random.next() < 0.5 ? 250 : 30_000;
      venue.ask(`junk ${count++}`, fate === "refused" ? LOOKUP : READ, fate, timeoutMs, "exit", payer);
    }
  };
}

function closing(venue: Venue, payer: string | null = null): () => void {
  let nextMs = 0;
  venue.ask("known", READ, "good", 5_000, "exit", payer);
  return () => {
    if (venue.nowMs() < nextMs) return;
    nextMs = venue.nowMs() + CLOSE_EVERY_MS;
    const fate = venue.isKnown("known") && venue.random.next() < LAG_SHARE ? "refused" : "good";
    venue.ask("known", READ, fate, 5_000, "exit", payer);
  };
}

/** One fresh trader after another, each of which knocks until it is in. */
function knocking(venue: Venue, payer: string | null = null): () => void {
  let trader = 0;
  let sinceMs = 0;
  let nextMs = FLOOD_FROM_MS + 5_000;
  return () => {
    if (venue.nowMs() < nextMs) return;
    const name = `fresh ${trader}`;
    if (sinceMs === 0) sinceMs = venue.nowMs();
    nextMs = venue.nowMs() + KNOCK_EVERY_MS;
    const waitedMs = venue.nowMs() - sinceMs;
    if (venue.isKnown(name) || waitedMs > IN_MS) {
      if (!venue.isKnown(name)) venue.say("IN", `${name} after ${waitedMs} ms`);
      trader++;
      sinceMs = 0;
      nextMs = venue.nowMs() + FRESH_EVERY_MS - waitedMs;
    } else venue.ask(name, LOOKUP, "good", 5_000, "exit", payer);
  };
}

/** Calls that the venue never answers, each for as long as the service lets it last, faster than they end. */
function muting(venue: Venue): () => void {
  let count = 0;
  return () => {
    if (venue.nowMs() < FLOOD_FROM_MS) return;
    venue.ask(`junk ${count++}`, READ, "mute", 5_000 + venue.random.next() * 25_000);
  };
}

/** The known trader's own reads, which have all connections that are not for exits. */
function reading(venue: Venue): () => void {
  let nextMs = 1_000;
  return () => {
    if (venue.nowMs() < nextMs) return;
    nextMs = venue.nowMs() + 5_000;
    for (let read = 0; read < READ_PLACES; read++) venue.ask("known", READ, "slow", 10_000, "read");
  };
}

/** The venue fails the known trader for a moment, as often as closes it. */
function failing(venue: Venue): () => void {
  let isDone = false;
  return () => {
    if (isDone || venue.nowMs() < FAULT_AT_MS) return;
    isDone = true;
    for (let call = 0; call < DEFAULT_BREAKER.failureThreshold; call++)
      venue.ask("known", READ, "fails", 5_000, "read");
  };
}

/** A key asks for reads of all its accounts, far more than the venue allows. */
function storming(venue: Venue): () => void {
  let nextMs = STORM_FROM_MS;
  let read = 0;
  for (let account = 0; account < ACCOUNTS; account++)
    venue.ask(`account ${account}`, READ, "good", 5_000, "exit", BUSY_KEY);
  return () => {
    for (; nextMs <= venue.nowMs(); nextMs += STORM_READS_EVERY_MS)
      venue.ask(`account ${read++ % ACCOUNTS}`, READ, "good", 5_000, "read", BUSY_KEY);
  };
}

/** The same in hard bursts: all that the lane has, as soon as it has it. */
function bursting(venue: Venue): () => void {
  let read = 0;
  for (let account = 0; account < ACCOUNTS; account++)
    venue.ask(`account ${account}`, READ, "good", 5_000, "exit", BUSY_KEY);
  return () => {
    if (venue.nowMs() < STORM_FROM_MS) return;
    for (let each = 0; each < BURST_READS; each++)
      venue.ask(`account ${read++ % ACCOUNTS}`, READ, "good", 5_000, "read", BUSY_KEY);
  };
}

/** Reads of the other key, below its share. */
function sharing(venue: Venue, everyMs: number): () => void {
  let nextMs = STORM_FROM_MS;
  venue.ask("shared", READ, "good", 5_000, "exit", OTHER_KEY);
  return () => {
    if (venue.nowMs() < nextMs) return;
    nextMs += everyMs;
    venue.ask("shared", READ, "good", 5_000, "read", OTHER_KEY);
  };
}

/** `key`: as `keys`, where the made-up ones and the known trader's come with one API key, a fresh trader with another. */
type Scene = "keys" | "mutes" | "fault" | "key" | "accounts" | "bursts";

function actorsOf(scene: Scene, venue: Venue): readonly (() => void)[] {
  switch (scene) {
    case "keys":
      return [closing(venue), flooding(venue), knocking(venue)];
    case "key":
      return [closing(venue, BUSY_KEY), flooding(venue, BUSY_KEY), knocking(venue, OTHER_KEY)];
    case "accounts":
      return [storming(venue), sharing(venue, OTHER_READS_EVERY_MS)];
    case "bursts":
      return [bursting(venue), sharing(venue, BESIDE_BURSTS_EVERY_MS)];
    case "mutes":
      return [reading(venue), closing(venue), muting(venue)];
    case "fault":
      return [failing(venue), closing(venue), muting(venue)];
  }
}

const isShort = (scene: Scene): boolean => scene === "mutes" || scene === "fault";

async function played(seed: number, without: readonly Check[] = [], scene: Scene = "keys"): Promise<readonly Check[]> {
  const venue = new Venue(seed, without);
  if (scene === "bursts") venue.sharedFromMs = STORM_FROM_MS + GROWN_MS;
  const actors = actorsOf(scene, venue);
  const untilMs = scene === "bursts" ? BURSTS_PLAYED_MS : isShort(scene) ? MUTES_PLAYED_MS : PLAYED_MS;
  while (venue.nowMs() < untilMs) {
    for (const act of actors) act();
    await venue.pass();
  }
  venue.end();
  return venue.found;
}

interface Mutant {
  readonly name: string;
  /** The check that it is for, then those that see it too. */
  readonly checks: readonly [Check, ...Check[]];
  /** Default: of keys. */
  readonly scene?: Scene;
  readonly plant: () => void;
}

const MUTANTS: readonly Mutant[] = [
  {
    name: "strangers have no part of their own",
    checks: ["PART", "PACE", "IN"],
    plant: () => {
      vi.spyOn(UnprovenPart.prototype, "waitMs").mockReturnValue(0);
    },
  },
  {
    name: "what fails for strangers counts against the venue",
    checks: ["HEALTH", "PACE"],
    plant: () => {
      const { onFailure } = Breaker.prototype;
      vi.spyOn(Breaker.prototype, "onNotSent").mockImplementation(function (this: Breaker, isProbe) {
        onFailure.call(this, isProbe);
      });
    },
  },
  {
    name: "a refusal is kept of who was once answered well",
    checks: ["KEPT"],
    plant: () => {
      const kept = new Map<string, HttpResponse>();
      const { refused } = CallerStanding.prototype;
      vi.spyOn(CallerStanding.prototype, "refused").mockImplementation(function (this: CallerStanding, caller, answer) {
        kept.set(caller, answer);
        refused.call(this, caller, answer);
      });
      vi.spyOn(CallerStanding.prototype, "refusalOf").mockImplementation((caller) => kept.get(caller) ?? null);
    },
  },
  {
    name: "who asks again is at the end of the line each time",
    checks: ["IN"],
    plant: () => {
      vi.spyOn(UnprovenPart.prototype, "inLineSinceMs").mockImplementation((_caller, nowMs) => nowMs);
    },
  },
  {
    name: "everybody counts as known",
    checks: ["PACE", "PART", "IN", "HEALTH", "KEPT", "PLACES"],
    plant: () => {
      vi.spyOn(CallerStanding.prototype, "isProven").mockReturnValue(true);
    },
  },
  {
    name: "strangers may hold all connections",
    checks: ["PLACES", "PACE"],
    scene: "mutes",
    plant: () => {
      vi.spyOn(UnprovenSlots.prototype, "isFree").mockReturnValue(true);
    },
  },
  {
    name: "strangers may hold all connections that are for exits",
    checks: ["PACE"],
    scene: "mutes",
    plant: () => {
      const { isFree } = UnprovenSlots.prototype;
      vi.spyOn(UnprovenSlots.prototype, "isFree").mockImplementation(function (this: UnprovenSlots) {
        return isFree.call(this, 0);
      });
    },
  },
  {
    name: "who is known waits for what a stranger finds out of the venue",
    checks: ["HEALTH", "PACE"],
    scene: "fault",
    plant: () => {
      const { tryPass, onNotSent } = Breaker.prototype;
      vi.spyOn(Breaker.prototype, "tryPass").mockImplementation(function (this: Breaker) {
        return tryPass.call(this);
      });
      vi.spyOn(Breaker.prototype, "onNotSent").mockImplementation(function (this: Breaker, isProbe) {
        onNotSent.call(this, isProbe);
      });
    },
  },
  {
    name: "a key with many accounts takes many shares",
    checks: ["SHARE"],
    scene: "accounts",
    plant: () => {
      const { acquire } = LaneQueue.prototype;
      vi.spyOn(LaneQueue.prototype, "acquire").mockImplementation(function (
        this: LaneQueue,
        lane,
        weight,
        timeoutMs,
        entrant = {},
      ) {
        return acquire.call(this, lane, weight, timeoutMs, { ...entrant, payer: entrant.caller ?? null });
      });
    },
  },
  {
    name: "bursts of one key leave others what they leave a new one",
    checks: ["SHARE"],
    scene: "bursts",
    plant: () => {
      vi.spyOn(CallerShares.prototype, "growth").mockReturnValue(0);
    },
  },
  {
    name: "made-up credentials under a good key count as known",
    checks: ["PART", "PACE", "PLACES"],
    scene: "key",
    plant: () => {
      const { acquire } = LaneQueue.prototype;
      vi.spyOn(LaneQueue.prototype, "acquire").mockImplementation(function (
        this: LaneQueue,
        lane,
        weight,
        timeoutMs,
        entrant = {},
      ) {
        const isProven = entrant.isProven === true || entrant.payer === BUSY_KEY;
        return acquire.call(this, lane, weight, timeoutMs, { ...entrant, isProven });
      });
    },
  },
];

describe("the judge of strangers", () => {
  it.each(SEEDS)("has nothing to say of the pool as it is, seed %i", async (seed) => {
    expect(await played(seed)).toEqual([]);
    expect(await played(seed, [], "mutes")).toEqual([]);
    expect(await played(seed, [], "fault")).toEqual([]);
    expect(await played(seed, [], "key")).toEqual([]);
    expect(await played(seed, [], "accounts")).toEqual([]);
    expect(await played(seed, [], "bursts")).toEqual([]);
  });

  it.each(MUTANTS.flatMap((mutant) => SEEDS.map((seed) => ({ ...mutant, seed }))))(
    "sees by $checks alone that $name, seed $seed",
    async ({ checks, plant, scene, seed }) => {
      plant();
      expect([...(await played(seed, [], scene))].sort()).toEqual([...checks].sort());
      expect(await played(seed, checks, scene)).toEqual([]);
    },
  );
});
