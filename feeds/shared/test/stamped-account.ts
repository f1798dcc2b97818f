/**
 * An account whose frames carry the venue's time, right or not, while our own wall clock is set, under a judge that holds
 * what is LIVE against what the venue holds. Virtual time; seeds decide what comes, in which order. Each check can be
 * taken out.
 */
import { vi } from "vitest";
import type { Clock } from "../../../engine/domain/clock.js";
import { createSeededRandom, type Random } from "../../../engine/domain/random.js";
import type { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { StreamedReads } from "../account/streamed-reads.js";

/** A room's streamed account, and the venue behind it; its time is the clock's true one. */
export interface StampedAccount {
  readonly clock: VirtualClock;
  /** Its frames are ordered by their stamps; else by their coming. */
  readonly isOrdered: boolean;
  /** What no frame tells is found within, by the reads that compare. */
  readonly comparedMs: number;
  /** From now on; of this size no frame tells by itself. */
  hold(lots: number): void;
  /** A frame of the whole position. */
  tell(lots: number, stampMs: number): void;
  /** A round trip tells how far the venue's clock is ahead of ours. */
  measure(aheadMs: number): void;
  /** What a connection that lives says: a pong, and of what is held where the venue tells it without being asked. */
  alive(lots: number): void;
  /** Null means not LIVE, or not to be read. */
  shown(): { readonly lots: number; readonly asOfMs: number } | null;
}

/**
 * HELD: what is LIVE is what the venue holds, once it reported it, or was to be asked. BACK: it is LIVE again. AS_OF: nothing is
 * known as of a time to come.
 */
export type StampCheck = "HELD" | "BACK" | "AS_OF";

const STEP_MS = 250;
/** After a frame that cannot be believed a read surely later is taken by then. */
const TOLD_AGAIN_MS = 8_000;
const DAY_MS = 86_400_000;
const AHEAD_MS = 60_000;
const STEPS_MS = [-3_600_000, -90_000, 90_000, 3_600_000];

class StampPlay {
  readonly #account: StampedAccount;
  readonly #random: Random;
  readonly #without: readonly StampCheck[];
  readonly #found = new Map<StampCheck, string>();
  #lots = 0;
  #isMeasured = true;

  constructor(account: StampedAccount, seed: number, without: readonly StampCheck[]) {
    this.#account = account;
    this.#random = createSeededRandom(seed);
    this.#without = without;
  }

  async run(): Promise<Map<StampCheck, string>> {
    await this.#round("begin", TOLD_AGAIN_MS, () => this.#news());
    for (const stepMs of this.#shuffled(STEPS_MS)) {
      await this.#plain();
      await this.#future(true);
      if (this.#account.isOrdered) {
        await this.#swapped();
        await this.#future(false);
      }
      await this.#stepped(stepMs);
      await this.#onceAhead();
    }
    return this.#found;
  }

  /** It is reported as it happens. */
  async #plain(): Promise<void> {
    await this.#round("plain", STEP_MS, () => this.#news());
  }

  /** Of two frames the older comes last. */
  async #swapped(): Promise<void> {
    const before = this.#change();
    const beforeMs = this.#nowMs();
    await this.#account.clock.advanceAsync(20);
    await this.#round("swapped", STEP_MS, () => {
      this.#news();
      this.#account.tell(before, beforeMs);
    });
  }

  /** A frame of a time that is not yet tells of what is, or of what was. */
  async #future(isNews: boolean): Promise<void> {
    const before = this.#lots;
    await this.#round("future", TOLD_AGAIN_MS, () => {
      if (!isNews) this.#news();
      const lots = isNews ? this.#change() : before;
      this.#account.tell(lots, this.#nowMs() + DAY_MS);
    });
    await this.#round("after future", TOLD_AGAIN_MS, () => this.#news());
  }

  /** Our wall clock is set, and after it something happens that no frame tells. */
  async #stepped(stepMs: number): Promise<void> {
    this.#account.clock.stepWall(stepMs);
    this.#account.measure(this.#aheadMs());
    await this.#round(`untold, set by ${stepMs}`, this.#account.comparedMs, () => void this.#change());
    await this.#round(`set by ${stepMs}`, TOLD_AGAIN_MS, () => this.#news());
  }

  /** The venue's clock was a minute ahead, and is found to be right. */
  async #onceAhead(): Promise<void> {
    this.#isMeasured = false;
    this.#account.measure(this.#aheadMs() + AHEAD_MS);
    this.#account.tell(this.#change(), this.#nowMs() + AHEAD_MS);
    await this.#account.clock.advanceAsync(1_000);
    this.#isMeasured = true;
    this.#account.measure(this.#aheadMs());
    await this.#round("once ahead", STEP_MS, () => this.#news());
  }

  async #round(name: string, settledMs: number, happen: () => void): Promise<void> {
    const { clock } = this.#account;
    happen();
    const watchedMs = settledMs + TOLD_AGAIN_MS;
    for (let passedMs = STEP_MS; passedMs <= watchedMs; passedMs += STEP_MS) {
      this.#account.alive(this.#lots);
      if (this.#isMeasured && passedMs % 2_000 === 0) this.#account.measure(this.#aheadMs());
      await clock.advanceAsync(STEP_MS);
      const shown = this.#account.shown();
      if (shown === null || passedMs < settledMs) continue;
      if (shown.lots !== this.#lots)
        this.#blame("HELD", `${name}: ${shown.lots} for ${this.#lots} after ${passedMs} ms`);
      if (shown.asOfMs > clock.wallMs()) this.#blame("AS_OF", `${name}: ${shown.asOfMs - clock.wallMs()} ms ahead`);
    }
    if (this.#account.shown() === null) this.#blame("BACK", `${name}: not LIVE after ${watchedMs} ms`);
  }

  /** Something happens, and is reported at once. */
  #news(): void {
    this.#account.tell(this.#change(), this.#nowMs());
  }

  #change(): number {
    const before = this.#lots;
    while (this.#lots === before) this.#lots = 1 + Math.floor(this.#random.next() * 900);
    this.#account.hold(this.#lots);
    return this.#lots;
  }

  #shuffled(list: readonly number[]): readonly number[] {
    return list
      .map((one) => [this.#random.next(), one] as const)
      .sort(([left], [right]) => left - right)
      .map(([, one]) => one);
  }

  /** The venue's. */
  #nowMs(): number {
    return this.#account.clock.trueMs();
  }

  #aheadMs(): number {
    return this.#nowMs() - this.#account.clock.wallMs();
  }

  #blame(check: StampCheck, text: string): void {
    if (!this.#without.includes(check) && !this.#found.has(check)) this.#found.set(check, text);
  }
}

/** What each check found, those of `without` taken out. */
export function judgeStamps(
  account: StampedAccount,
  seed: number,
  without: readonly StampCheck[] = [],
): Promise<Map<StampCheck, string>> {
  return new StampPlay(account, seed, without).run();
}

/** A planted fault: a proof is as of the time that it names, and the latest of them counts. */
export function believeProofs(): void {
  const latestMs = new WeakMap<StreamedReads, number>();
  const { proven } = StreamedReads.prototype;
  vi.spyOn(StreamedReads.prototype, "proven").mockImplementation(function (this: StreamedReads, asOfMs) {
    proven.call(this, asOfMs);
    latestMs.set(this, Math.max(asOfMs, latestMs.get(this) ?? 0));
  });
  vi.spyOn(StreamedReads.prototype, "asOfMs", "get").mockImplementation(function (this: StreamedReads) {
    return latestMs.get(this) ?? 0;
  });
}

/** A planted fault: what is set is taken for the time that passes. Timers run as they do. */
export function byTheWall(clock: VirtualClock): Clock {
  return {
    wallMs: () => clock.wallMs(),
    monoNs: () => (clock.wallMs() - 1_700_000_000_000) * 1e6,
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    clearTimer: (handle) => clock.clearTimer(handle),
  };
}
