/**
 * What no request waits for: approvals and revocations whose end is not known, keys whose end has come, and warnings of
 * those whose end is near. At each venue one wallet after another: it has one such act at a time, and one that answers
 * nothing delays no other.
 *
 * Bounds: a place that fails is looked at again after a pause that doubles up to ten minutes.
 */
import type { TimerHandle } from "../../domain/clock.js";
import { Deadline } from "../../domain/deadline.js";
import { LifetimeClock } from "../../domain/lifetime-clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { Approval } from "./approval.js";
import type { KeyParts } from "./key-parts.js";
import { type KeyPlace, type KeyRow, rowKey, type StoredKey } from "./key-row.js";
import type { KeyTurns } from "./key-turns.js";
import { isExpired } from "./key-views.js";
import { Revocation } from "./revocation.js";

const LOOK_MS = 15_000;
const PAUSE_MAX_MS = 600_000;
const ACT_MS = 12_000;
const DAY_MS = 86_400_000;
/** The operator has two weeks to rotate a key. */
export const EXPIRY_WARNING_MS = 14 * DAY_MS;
/** A key that was never sent, whose caller does not come back. */
const NEW_KEPT_MS = DAY_MS;

export interface KeyCounts {
  readonly active: number;
  /** Of the active ones: their end is within two weeks. */
  readonly expiring: number;
  /** The venue has not said yet. */
  readonly unsettled: number;
  readonly retiring: number;
  readonly revoking: number;
}

interface Failing {
  untilNs: number;
  pauseMs: number;
}

export class KeyKeeper {
  readonly #parts: KeyParts;
  readonly #lifetime: LifetimeClock;
  readonly #turns: KeyTurns;
  readonly #approval: Approval;
  readonly #revocation: Revocation;
  readonly #failing = new Map<string, Failing>();
  /** Day of the last warning, by place. */
  readonly #warned = new Map<string, number>();
  #timer: TimerHandle | null = null;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(parts: KeyParts, turns: KeyTurns) {
    this.#parts = parts;
    this.#lifetime = new LifetimeClock(parts.clock);
    this.#turns = turns;
    this.#approval = new Approval(parts);
    this.#revocation = new Revocation(parts);
  }

  start(): void {
    this.#schedule(0);
  }

  /** Resolves when what is under way has ended; nothing of it is lost. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) this.#parts.clock.clearTimer(this.#timer);
    await this.#running;
    await this.#turns.idle();
  }

  counts(): ReadonlyMap<RoutableVenue, KeyCounts> {
    const nowMs = this.#lifetime.nowMs();
    const counts = new Map<RoutableVenue, { -readonly [Name in keyof KeyCounts]: KeyCounts[Name] }>();
    for (const venue of this.#parts.registrars.keys())
      counts.set(venue, { active: 0, expiring: 0, unsettled: 0, retiring: 0, revoking: 0 });
    for (const { venue, keys } of this.#parts.book.rows()) {
      const count = counts.get(venue);
      if (count === undefined) continue;
      for (const key of keys) {
        if (key.state === "ACTIVE") count.active++;
        if (key.state === "ACTIVE" && isNear(key, nowMs)) count.expiring++;
        if (key.state === "SENT") count.unsettled++;
        if (key.state === "RETIRING") count.retiring++;
        if (key.state === "REVOKING") count.revoking++;
      }
    }
    return counts;
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer = this.#parts.clock.setTimer(() => {
      this.#running = this.#look().finally(() => this.#schedule(LOOK_MS));
    }, delayMs);
  }

  async #look(): Promise<void> {
    const rows = [...this.#parts.book.rows()];
    for (const row of rows) this.#warn(row);
    const venues = [...this.#parts.registrars.keys()];
    await Promise.all(venues.map((venue) => this.#workAt(rows.filter((row) => row.venue === venue))));
  }

  async #workAt(rows: readonly KeyRow[]): Promise<void> {
    for (const row of rows) if (!this.#isStopped && this.#hasWork(row) && this.#isDue(row)) await this.#work(row);
  }

  /** A request that acts on the place now does what is to be done, or the next look finds it. */
  #isDue(place: KeyPlace): boolean {
    const failing = this.#failing.get(rowKey(place));
    const isPaused = failing !== undefined && this.#parts.clock.monoNs() < failing.untilNs;
    return !isPaused && this.#turns.isFree(place) && this.#parts.registrars.get(place.venue)?.kind === "agent";
  }

  #hasWork({ keys }: KeyRow): boolean {
    const nowMs = this.#lifetime.nowMs();
    return keys.some((key) => key.state === "SENT" || key.state === "REVOKING" || isAtEnd(key, nowMs));
  }

  async #work(place: KeyPlace): Promise<void> {
    const key = rowKey(place);
    try {
      const isDone = await this.#turns.run(place, () => this.#turn(place));
      if (isDone) this.#failing.delete(key);
      else this.#pause(key);
    } catch (error) {
      this.#pause(key);
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      this.#parts.logger.warn("venue_keys.work_failed", { name: key, code });
    }
  }

  /** False: something is left that time alone mends. */
  async #turn(place: KeyPlace): Promise<boolean> {
    const { book, clock } = this.#parts;
    const time = new Deadline(clock, ACT_MS);
    const isSent = book.keysOf(place).some(({ state }) => state === "SENT");
    let isDone = !isSent || (await this.#approval.settle(place, time)) !== "unsettled";
    const nowMs = this.#lifetime.nowMs();
    const ended = book.keysOf(place).filter((key) => isAtEnd(key, nowMs));
    if (ended.length > 0) await this.#revocation.begin(place, new Set(ended.map(({ serial }) => serial)));
    for (const { serial, state } of book.keysOf(place))
      if (state === "REVOKING" && !(await this.#revocation.finish(place, serial, time))) isDone = false;
    return isDone;
  }

  #pause(key: string): void {
    const { clock, book } = this.#parts;
    const pauseMs = Math.min((this.#failing.get(key)?.pauseMs ?? LOOK_MS / 2) * 2, PAUSE_MAX_MS);
    this.#failing.set(key, { pauseMs, untilNs: clock.monoNs() + pauseMs * 1e6 });
    // Places that are gone leave nothing behind.
    const known = new Set([...book.rows()].map(rowKey));
    for (const one of this.#failing.keys()) if (!known.has(one)) this.#failing.delete(one);
    for (const one of this.#warned.keys()) if (!known.has(one)) this.#warned.delete(one);
  }

  #warn(row: KeyRow): void {
    const nowMs = this.#lifetime.nowMs();
    const near = row.keys.find((key) => key.state === "ACTIVE" && isNear(key, nowMs));
    const day = Math.floor(nowMs / DAY_MS);
    if (near === undefined || near.expiresAtMs === null || this.#warned.get(rowKey(row)) === day) return;
    this.#warned.set(rowKey(row), day);
    this.#parts.logger.warn("venue_keys.expiring", { name: rowKey(row), untilMs: near.expiresAtMs });
  }
}

function isNear(key: StoredKey, nowMs: number): boolean {
  return key.expiresAtMs !== null && key.expiresAtMs - EXPIRY_WARNING_MS <= nowMs;
}

/** The venue ends a key later than it says, so it is told; a key that never left ends with its caller. */
function isAtEnd(key: StoredKey, nowMs: number): boolean {
  if (key.state === "NEW") return key.createdAtMs + NEW_KEPT_MS <= nowMs;
  return (key.state === "ACTIVE" || key.state === "RETIRING") && isExpired(key, nowMs);
}
