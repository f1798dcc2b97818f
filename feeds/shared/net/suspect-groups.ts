/**
 * Which names may have ended a connection, and how those under suspicion are sent on it: in SUSPECT_GROUPS groups, each only
 * after the one before has survived (a venue kills within about 100 ms). A culprit is cornered in few kills, and the
 * innocent are back within two seconds.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";

/** Names written within this time before an abnormal close are suspected of having caused it. */
const SUSPECT_WINDOW_MS = 1_000;
const SUSPECT_GROUPS = 4;
const SUSPECT_GAP_MS = 500;
/** A gap that came out so long proves no survival. */
const HELD_UP_GAP_MS = 1.5 * SUSPECT_GAP_MS;

interface RecentName {
  readonly name: string;
  readonly atMs: number;
  /** Number of its group of suspects; 0 for names sent without suspicion. */
  readonly group: number;
}

export class SuspectGroups {
  readonly #clock: Clock;
  /** The connection survived a group of these names; the next may be written. */
  readonly #onSurvived: (names: readonly string[]) => void;
  /** Insertion-ordered, so the first asked is the first sent. */
  readonly #waiting = new Set<string>();
  #recent: RecentName[] = [];
  #group = 0;
  #groupSize = 0;
  #groupLeft = 0;
  #timer: TimerHandle | null = null;

  constructor(clock: Clock, onSurvived: (names: readonly string[]) => void) {
    this.#clock = clock;
    this.#onSurvived = onSurvived;
  }

  /** Suspects that are not written yet. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  add(name: string): void {
    this.#waiting.add(name);
  }

  delete(name: string): boolean {
    return this.#waiting.delete(name);
  }

  /** Opens the next group when the one before is through. */
  mayWrite(): boolean {
    if (this.#timer !== null) return false;
    if (this.#groupLeft > 0) return true;
    if (this.#groupSize === 0) this.#groupSize = Math.max(1, Math.ceil(this.#waiting.size / SUSPECT_GROUPS));
    this.#group++;
    this.#groupLeft = this.#groupSize;
    return true;
  }

  /** The next suspects of the open group. */
  take(maxCount: number): string[] {
    const names = takeNames(this.#waiting, Math.min(maxCount, this.#groupLeft));
    this.#groupLeft -= names.length;
    return names;
  }

  /** These names are about to be written. */
  note(names: readonly string[], areSuspects: boolean): void {
    const atMs = this.#nowMs();
    const sinceMs = atMs - SUSPECT_WINDOW_MS;
    this.#recent = this.#recent.filter((entry) => entry.atMs >= sinceMs);
    const group = areSuspects ? this.#group : 0;
    for (const name of names) this.#recent.push({ name, atMs, group });
    if (areSuspects && (this.#groupLeft === 0 || this.#waiting.size === 0)) this.#watchGroup();
  }

  /** Names written during the last second. */
  recentNames(): readonly string[] {
    const sinceMs = this.#nowMs() - SUSPECT_WINDOW_MS;
    return this.#recent.filter((entry) => entry.atMs >= sinceMs).map((entry) => entry.name);
  }

  /** Names that may have killed the connection: the last group of suspects if there was one, else all recent ones. */
  suspectNames(): readonly string[] {
    const group = this.#recent.at(-1)?.group ?? 0;
    if (group === 0) return this.recentNames();
    const sinceMs = this.#nowMs() - SUSPECT_WINDOW_MS;
    return this.#recent.filter((entry) => entry.group === group && entry.atMs >= sinceMs).map((entry) => entry.name);
  }

  stop(): void {
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
  }

  #watchGroup(isAgain = false): void {
    this.#groupLeft = 0;
    const group = this.#group;
    const startMs = this.#nowMs();
    this.#timer = this.#clock.setTimer(() => {
      this.#timer = null;
      // A loop that was held up has not read what came meanwhile, the end of the connection perhaps.
      if (!isAgain && this.#nowMs() - startMs > HELD_UP_GAP_MS) {
        this.#watchGroup(true);
        return;
      }
      this.#onSurvived(this.#recent.filter((entry) => entry.group === group).map((entry) => entry.name));
    }, SUSPECT_GAP_MS);
  }

  #nowMs(): number {
    return this.#clock.monoNs() / 1e6;
  }
}

export function takeNames(names: Set<string>, maxCount: number): string[] {
  const taken: string[] = [];
  for (const name of names) {
    if (taken.length >= maxCount) break;
    taken.push(name);
    names.delete(name);
  }
  return taken;
}
