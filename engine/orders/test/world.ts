/**
 * The seeded world that every simulation of orders happens in: fake venues under a storm, a disk with its pauses, a wall
 * clock that is set, and a service that is killed at any call to its store or venues and started again on the same store.
 *
 * One seed decides everything. After the storm there is a calm in which the faults end, so that all that can be known
 * must be known.
 */
import { createSeededRandom, type Random } from "../../domain/random.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import type { StateStore } from "../../storage/state-store.js";
import { createMemoryStore, type MemoryStore } from "../../storage/test/memory-store.js";
import type { FakeSession } from "./fake-session.js";
import type { FakeVenue } from "./fake-venue.js";
import { seededIds } from "./harness.js";
import { Life } from "./life.js";
import { disturb, type Odds, pick } from "./storm.js";

export const STORM_MS = 60_000;
const CALM_MS = 240_000;
/** Between two looks at whether the process is still alive. */
const SUPERVISE_MS = 50;
/** One commit of the disk, now and then, and each in a spell of a slow disk. */
const PAUSE_MS = 30;
export const SLOW_DISK_MS = 400;
/** The last asks of a caller that never gets a final reply. */
const START_WITHIN = 0.8;

/** Somebody who asks the service of the day, and asks again. */
export interface WorldCaller {
  asks: number;
  /** Ends the wait for a reply that will not come. */
  lost: (() => void) | null;
  settled: boolean;
}

export interface WorldOptions<S> {
  readonly seed: number;
  /** Venues whose orders go wrong by these odds. */
  readonly odds: Odds;
  readonly venues: (world: World<S>) => readonly FakeVenue[];
  /** The disk takes its commits one after the other, and is slow for seconds at a time. */
  readonly hasSlowDisk?: boolean;
  /** Starts the process of this life; resolves when it takes requests. */
  readonly start: (life: Life, store: StateStore) => Promise<S>;
}

export class World<S> {
  readonly clock = new VirtualClock();
  readonly random: Random;
  /** Of its own, so that the rest of a seed's world does not turn on it. */
  readonly weather: Random;
  readonly storm = { on: true };
  readonly venues: readonly FakeVenue[];
  readonly disk: MemoryStore = createMemoryStore();
  readonly logLines: string[] = [];
  readonly ids: ReturnType<typeof seededIds>;
  readonly callers: WorldCaller[] = [];
  life = new Life();
  service: S | null = null;
  crashCount = 0;
  /** Venue time at which the process of today began. */
  livesSinceMs = 0;
  readonly #options: WorldOptions<S>;
  readonly #deadSessions = new Set<FakeSession>();
  #wallOffMs = 0;
  #isSupervised = true;
  #slowUntilMs = 0;
  #lastCommitMs = 0;

  constructor(options: WorldOptions<S>) {
    this.#options = options;
    this.random = createSeededRandom(options.seed);
    this.weather = createSeededRandom(options.seed + 1_000_003);
    this.ids = seededIds(options.seed);
    this.venues = options.venues(this);
    this.disk.gate = () => (options.hasSlowDisk === true ? this.#commitInLine() : this.pause(this.#pauseMs()));
  }

  /** The venues' own time. */
  nowMs(): number {
    return this.venues[0]?.nowMs() ?? 0;
  }

  disturb(venue: FakeVenue): void {
    disturb(venue, this.random, this.storm, this.#options.odds);
  }

  /** Sets our wall clock off by one of these, again and again; right once the storm is over. */
  stepWall(offsetsMs: readonly number[]): void {
    const toMs = this.storm.on ? pick(this.weather, offsetsMs) : 0;
    this.clock.stepWall(toMs - this.#wallOffMs);
    this.#wallOffMs = toMs;
    if (this.storm.on) this.clock.setTimer(() => this.stepWall(offsetsMs), 500 + this.weather.next() * 6_000);
  }

  /** The disk is slow for a while, again and again. */
  slowDown(): void {
    if (!this.storm.on) return;
    this.#slowUntilMs = this.clock.trueMs() + 1_000 + this.weather.next() * 3_000;
    this.clock.setTimer(() => this.slowDown(), 4_000 + this.weather.next() * 8_000);
  }

  /** At some moment of the storm that leaves time for an answer. */
  duringStorm(work: () => void): void {
    this.clock.setTimer(work, this.random.next() * STORM_MS * START_WITHIN);
  }

  /** The storm and the calm, with a process that is started again whenever it has died. */
  async pass(): Promise<void> {
    void this.#begin();
    this.#supervise();
    await this.clock.advanceAsync(STORM_MS);
    this.storm.on = false;
    await this.clock.advanceAsync(CALM_MS);
  }

  /** Nothing dies any more. */
  async spare(): Promise<void> {
    this.life.spare();
    await this.clock.advanceAsync(1_000);
    this.#isSupervised = false;
  }

  /** What the process of the moment answers; null where it died meanwhile: such an answer reaches nobody. */
  async answerTo<R>(caller: WorldCaller, ask: (service: S) => Promise<R>): Promise<R | null> {
    const { life, service } = this;
    if (service === null) return null;
    caller.asks += 1;
    const answer = await new Promise<R | null>((resolve) => {
      caller.lost = () => resolve(null);
      void ask(service).then((value) => {
        if (!life.dead) resolve(value);
      });
    });
    caller.lost = null;
    return answer;
  }

  /** Some retry at once, some take their time: a hasty retry meets what a crash has left at its freshest. */
  retryPauseMs(): number {
    return this.random.next() < 0.3 ? this.random.next() * 800 : 500 + this.random.next() * 15_000;
  }

  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.setTimer(resolve, delayMs);
    });
  }

  /** Of processes that live. */
  openSessions(): readonly FakeSession[] {
    return this.venues
      .flatMap(({ sessions }) => sessions)
      .filter((session) => !session.closed && !this.#deadSessions.has(session));
  }

  /** The beginnings of all that came out and holds a secret. */
  secretLeaks(outputs: readonly string[]): string[] {
    return [...outputs, ...this.logLines, ...this.disk.writtenText]
      .filter((text) => text.includes("canary"))
      .map((text) => text.slice(0, 200));
  }

  async #begin(): Promise<void> {
    const { random } = this;
    const isDoomed = this.storm.on && random.next() < 0.8;
    const life = new Life(isDoomed ? 20 + Math.floor(random.next() * 300) : Number.POSITIVE_INFINITY);
    this.life = life;
    this.livesSinceMs = this.nowMs();
    const service = await this.#options.start(life, life.store(this.disk));
    if (life === this.life) this.service = service;
  }

  #supervise(): void {
    if (this.life.dead) this.#buryAndBegin();
    if (this.#isSupervised) this.clock.setTimer(() => this.#supervise(), SUPERVISE_MS);
  }

  #buryAndBegin(): void {
    this.crashCount += 1;
    this.service = null;
    // What a dead process held in memory is gone with it.
    for (const { sessions } of this.venues) for (const session of sessions) this.#deadSessions.add(session);
    for (const caller of this.callers) caller.lost?.();
    if (this.#options.hasSlowDisk !== true) return void this.#begin();
    // What the dead one had handed to the disk is taken before the next opens it.
    this.life = new Life();
    this.clock.setTimer(() => void this.#begin(), Math.max(0, this.#lastCommitMs + 1 - this.clock.trueMs()));
  }

  #pauseMs(): number {
    return this.random.next() < 0.1 ? PAUSE_MS : 1;
  }

  /** A slow commit holds up those behind it. */
  #commitInLine(): Promise<void> {
    const nowMs = this.clock.trueMs();
    const delayMs = nowMs < this.#slowUntilMs ? SLOW_DISK_MS : this.#pauseMs();
    this.#lastCommitMs = Math.max(this.#lastCommitMs, nowMs + delayMs);
    return this.pause(this.#lastCommitMs - nowMs);
  }
}
