/**
 * One key's transactions through the real queue (orders/key-lanes.ts) to a venue that counts nonces as the fact sheet
 * says (6.4, 12, 13), while requests, answers and reads are late or lost. One seed decides all of it. What happened is
 * written down for a judge.
 *
 * The venue takes a transaction whose nonce is its next, and then counts on. It refuses another nonce (21104), and
 * some for faults of their own, before it looks at the nonce; a refusal spends none. An accepted one that
 * expires before its execution gives its nonce back, where no other was accepted since.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import { delay } from "../../../engine/domain/clock.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { failedRead } from "../../shared/net/call-results.js";
import { KeyLanes, type LaneJob, type Turn } from "../orders/key-lanes.js";
import type { NonceOutcome } from "../orders/nonce-window.js";
import { nonceRead, settle } from "./key-turns.js";

const KEY = "1:4";
const OTHER_KEY = "2:4";
const TRANSACTIONS = 60;
const TIMEOUT_MS = 4_000;
const RTT_MS = 40;
const SLOW_READ_MS = 300;
const ORDER_LIVES_MS = 4_000;
const CANCEL_LIVES_MS = 599_000;
/** As orders/exchange.ts tries. */
const TRIES_MAX = 3;
/** Longer than anything is under way. */
const OVER_MS = 1_000_000;
const STEP_MS = 10;
const IDLE_STEP_MS = 250;

interface Weather {
  /** Longest pauses between transactions. */
  readonly gapsMs: readonly [number, ...number[]];
  readonly lateShare: number;
  readonly lateMs: { readonly min: number; readonly max: number };
  /** Of the answers to reads, beside those that are late anyway. */
  readonly slowReadShare: number;
}

const WEATHERS: readonly [Weather, ...Weather[]] = [
  // Many at once, whose answers come about when they are given up.
  { gapsMs: [1, 1, 1, 1, 1, 600], lateShare: 0.12, lateMs: { min: 260, max: 460 }, slowReadShare: 0.7 },
  { gapsMs: [1, 1, 100, 100, 6_000], lateShare: 0.12, lateMs: { min: 0, max: TIMEOUT_MS }, slowReadShare: 0 },
  // One by one, with pauses in which a lost one comes.
  { gapsMs: [100, 6_000, 6_000, 90_000], lateShare: 0.12, lateMs: { min: 0, max: TIMEOUT_MS }, slowReadShare: 0 },
];

/** One start of one transaction with one nonce. `spent`, `unspent`: its answer said so. */
export interface Start {
  readonly name: string;
  readonly nonce: number;
  readonly startedNs: number;
  /** Place among all that happened. */
  readonly startedAt: number;
  /** After it the venue takes it no more. */
  readonly expiresNs: number;
  state: "open" | "spent" | "unspent";
  /** When the answer came; Infinity without one. */
  answeredAt: number;
}

/** The venue's answer to the question for its next nonce. `isHint`: to a question for something else. */
export interface Naming {
  readonly nonce: number;
  readonly isHint: boolean;
  readonly askedNs: number;
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly answeredNs: number;
}

export interface Played {
  readonly starts: readonly Start[];
  readonly namings: readonly Naming[];
  /** Times that each transaction was executed, by name. */
  readonly executed: ReadonlyMap<string, number>;
  /** Transactions without an end. */
  readonly endless: readonly string[];
  /** Sent after all faults, on a quiet key. */
  readonly last: readonly string[];
}

/** Plays a seed to its end, and some transactions without faults after it. */
export async function playLossyKey(seed: number): Promise<Played> {
  return new LossyKey(seed).play();
}

class LossyKey {
  readonly #clock = new VirtualClock();
  readonly #random: () => number;
  readonly #lanes: KeyLanes;
  readonly #way: { id: number; width: number };
  readonly #weather: Weather;
  readonly #starts: Start[] = [];
  readonly #namings: Naming[] = [];
  readonly #executed = new Map<string, number>();
  readonly #pending = new Set<string>();
  /** Ends as lost what is unanswered on the connection. */
  readonly #unanswered = new Set<() => void>();
  #venueNext = 100;
  #eventCount = 0;
  #hasFaults = true;

  constructor(seed: number) {
    const random = createSeededRandom(seed);
    this.#random = () => random.next();
    this.#weather = this.#pick(WEATHERS);
    this.#way = { id: 1, width: this.#pick([1, 4, 8]) };
    this.#lanes = new KeyLanes({ clock: this.#clock, way: () => this.#way, maxKeys: this.#pick([1, 8]) });
  }

  async play(): Promise<Played> {
    for (let count = 0; count < TRANSACTIONS; count++) {
      this.#submit(`${count}`);
      await this.#pass(this.#gapMs());
      if (this.#happens(0.5)) this.#useOtherKey();
      if (this.#happens(0.5)) void this.#hint();
      await this.#pass(this.#gapMs());
    }
    await this.#pass(3 * TIMEOUT_MS);
    this.#hasFaults = false;
    await this.#pass(OVER_MS);
    const last = ["last but one", "last"];
    for (const name of last) this.#submit(name);
    await this.#pass(TIMEOUT_MS);
    return {
      starts: this.#starts,
      namings: this.#namings,
      executed: this.#executed,
      endless: [...this.#pending],
      last,
    };
  }

  /* ---------------------------------------------------------------- the venue */

  #take({ expiresNs, name, nonce }: Start): NonceOutcome {
    if (this.#clock.monoNs() > expiresNs || this.#happens(0.08)) return "kept";
    if (nonce !== this.#venueNext) return "refused";
    this.#venueNext++;
    if (this.#happens(0.02)) {
      this.#clock.setTimer(() => {
        if (this.#venueNext === nonce + 1) this.#venueNext = nonce;
      }, 500);
    } else this.#executed.set(name, (this.#executed.get(name) ?? 0) + 1);
    return "spent";
  }

  /** Within `leftMs`, or null. */
  async #ask(leftMs: number, isHint: boolean): Promise<Naming | null> {
    const asked = { isHint, askedNs: this.#clock.monoNs(), askedAt: this.#eventCount++ };
    const thereMs = this.#lagMs();
    const backMs = this.#happens(this.#weather.slowReadShare) ? SLOW_READ_MS : this.#lagMs();
    if (thereMs + backMs >= leftMs || this.#happens(0.05)) {
      await delay(this.#clock, leftMs);
      return null;
    }
    await delay(this.#clock, thereMs);
    // Another program uses the key.
    if (this.#happens(0.01)) this.#venueNext++;
    const nonce = this.#venueNext;
    await delay(this.#clock, backMs);
    const naming = { ...asked, nonce, answeredAt: this.#eventCount++, answeredNs: this.#clock.monoNs() };
    this.#namings.push(naming);
    return naming;
  }

  /* ---------------------------------------------------------------- what comes to the queue */

  #submit(name: string): void {
    const endNs = this.#clock.monoNs() + TIMEOUT_MS * 1e6;
    const expiresNs = endNs + (this.#happens(0.5) ? CANCEL_LIVES_MS : ORDER_LIVES_MS) * 1e6;
    let triesLeft = TRIES_MAX;
    this.#pending.add(name);
    const job: LaneJob = {
      lane: "trade",
      leftMs: () => (endNs - this.#clock.monoNs()) / 1e6,
      load: async () => {
        const naming = await this.#ask(job.leftMs(), false);
        return naming === null ? failedRead("TIMEOUT", "no answer") : nonceRead(naming.nonce);
      },
      fail: () => this.#pending.delete(name),
      start: (turn) => {
        triesLeft--;
        this.#send(this.#noteStart(name, turn, expiresNs), turn, job.leftMs(), (outcome) => {
          const isAgain = outcome === "refused" && triesLeft > 0;
          if (!isAgain) this.#pending.delete(name);
          turn.end(outcome, isAgain ? job : undefined);
        });
      },
    };
    this.#lanes.submit(KEY, job);
  }

  #noteStart(name: string, { nonce }: Turn, expiresNs: number): Start {
    const startedNs = this.#clock.monoNs();
    const startedAt = this.#eventCount++;
    const start: Start = { name, nonce, startedNs, startedAt, expiresNs, state: "open", answeredAt: Infinity };
    this.#starts.push(start);
    return start;
  }

  #send(start: Start, turn: Turn, leftMs: number, onEnd: (outcome: NonceOutcome) => void): void {
    const timers: TimerHandle[] = [];
    const end = (outcome: NonceOutcome): void => {
      if (!this.#unanswered.delete(lose)) return;
      for (const timer of timers) this.#clock.clearTimer(timer);
      if (outcome !== "doubtful") {
        start.state = outcome === "spent" ? "spent" : "unspent";
        start.answeredAt = this.#eventCount++;
      }
      onEnd(outcome);
    };
    const lose = (): void => end("doubtful");
    this.#unanswered.add(lose);
    // Held back by our own limits.
    if (leftMs <= 0 || this.#happens(0.06)) {
      end("kept");
      return;
    }
    timers.push(this.#clock.setTimer(lose, leftMs));
    if (this.#happens(0.04)) this.#clock.setTimer(() => this.#dropConnection(turn.wayId), RTT_MS / 4);
    if (this.#happens(0.06)) return;
    // It is under way, and arrives whatever its sender does meanwhile.
    this.#clock.setTimer(() => {
      const outcome = this.#take(start);
      if (!this.#happens(0.08)) this.#clock.setTimer(() => end(outcome), this.#lagMs());
    }, this.#lagMs());
  }

  #dropConnection(wayId: number): void {
    if (wayId !== this.#way.id) return;
    this.#way.id++;
    for (const lose of [...this.#unanswered]) lose();
  }

  /** The venue's list of keys names the nonce too, asked for something else. */
  async #hint(): Promise<void> {
    const naming = await this.#ask(TIMEOUT_MS, true);
    if (naming !== null) this.#lanes.hint(KEY, naming.nonce, naming.askedNs);
  }

  /** Where few keys are remembered, it is forgotten for this one. */
  #useOtherKey(): void {
    this.#lanes.submit(OTHER_KEY, {
      lane: "trade",
      leftMs: () => TIMEOUT_MS,
      load: () => nonceRead(1),
      start: (turn) => turn.end("spent"),
      fail: () => undefined,
    });
  }

  /* ---------------------------------------------------------------- dice and time */

  #happens(share: number): boolean {
    return this.#random() < share && this.#hasFaults;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.#below(list.length)] ?? list[0];
  }

  /** One way. Some are late, and a few come when nobody thinks of them any more. */
  #lagMs(): number {
    if (this.#happens(0.03)) return this.#below(CANCEL_LIVES_MS);
    const { lateMs, lateShare } = this.#weather;
    return this.#happens(lateShare) ? lateMs.min + this.#below(lateMs.max - lateMs.min) : RTT_MS / 2;
  }

  #gapMs(): number {
    return this.#below(this.#pick(this.#weather.gapsMs));
  }

  async #pass(forMs: number): Promise<void> {
    let leftMs = forMs;
    while (leftMs > 0) {
      const stepMs = Math.min(leftMs, this.#pending.size > 0 ? STEP_MS : IDLE_STEP_MS);
      this.#clock.advance(stepMs);
      leftMs -= stepMs;
      await settle();
    }
  }
}
