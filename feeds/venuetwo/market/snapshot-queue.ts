/**
 * Depth snapshots in the order in which they are missed: what somebody waits for, then what shows nothing at all, then
 * by volume. The order is that of the moment in which a place is free, so a market that is needed now goes first now.
 *
 * Invariants: at most one waiting load a market; never more weight a minute, and at once, than limits.ts says, and none
 * for what never left this machine. What waits here waits in no lane: probes and account reads are not behind it.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import type { VenueHttp } from "../../shared/net/http.js";
import { LoadRefused } from "../../shared/book/resync.js";
import { monoMs, WeightWindow } from "../../shared/net/weight-window.js";
import {
  MAX_SNAPSHOTS_IN_FLIGHT,
  READ_TIMEOUT_MS,
  SHALLOW_LEVELS,
  SHALLOW_WEIGHT,
  SHALLOW_WEIGHT_RESERVED,
  SNAPSHOT_LEVELS,
  SNAPSHOT_WEIGHT,
  SNAPSHOT_WEIGHT_AT_ONCE,
  SNAPSHOT_WEIGHT_PER_MINUTE,
} from "../rules/limits.js";
import type { MarketSlot } from "./entry.js";

export type SnapshotKind = "whole" | "shallow";
/** What the venue had at some time since it was asked: as old as that, unless something newer confirms it. */
export interface Snapshot {
  readonly body: Buffer;
  /** Monotonic. */
  readonly askedNs: number;
}

/** Null when the venue gave none, or it is no longer wanted. */
export type SnapshotAnswer = Snapshot | LoadRefused | null;

export interface SnapshotQueueOptions {
  readonly clock: Clock;
  readonly http: VenueHttp;
  /** How many wait for this market: readers, positions. */
  readonly needOf: (slot: MarketSlot) => number;
}

interface Waiting {
  readonly slot: MarketSlot;
  readonly kind: SnapshotKind;
  readonly settle: (answer: SnapshotAnswer) => void;
}

const BOTH_KINDS: readonly SnapshotKind[] = ["shallow", "whole"];
const SHALLOW_ALONE: readonly SnapshotKind[] = ["shallow"];
const MINUTE_MS = 60_000;
/** A sum of fractions may lie a hair below the weight wanted. */
const EDGE_MS = 1;
const REFILL_PER_MS = SNAPSHOT_WEIGHT_PER_MINUTE / MINUTE_MS;

export class SnapshotQueue {
  readonly #options: SnapshotQueueOptions;
  /** By market and kind; bounded by the number of markets. */
  readonly #waiting: Readonly<Record<SnapshotKind, Map<MarketSlot, Waiting>>> = {
    whole: new Map(),
    shallow: new Map(),
  };
  readonly #minute = new WeightWindow(MINUTE_MS);
  #tokens: number = SNAPSHOT_WEIGHT_AT_ONCE;
  #refilledMs: number;
  #pausedUntilMs = 0;
  #inFlightCount = 0;
  #timer: TimerHandle | null = null;
  #wakeAtMs = 0;

  constructor(options: SnapshotQueueOptions) {
    this.#options = options;
    this.#refilledMs = monoMs(options.clock);
  }

  get waitingCount(): number {
    return this.#waiting.whole.size + this.#waiting.shallow.size;
  }

  /** Resolves when its turn came and the venue answered. A later load of the same market and kind takes the place of one that waits. */
  load(slot: MarketSlot, kind: SnapshotKind): Promise<SnapshotAnswer> {
    this.#waiting[kind].get(slot)?.settle(null);
    if (kind === "whole") slot.sync.expectSnapshot(false);
    return new Promise((settle) => {
      this.#waiting[kind].set(slot, { slot, kind, settle });
      // With the others of this turn, so that the first asked is not the first served.
      this.#wakeIn(0);
    });
  }

  /** The market's connection is gone: a snapshot taken now would be followed by nothing. */
  drop(slot: MarketSlot, kind: SnapshotKind): void {
    this.#waiting[kind].get(slot)?.settle(null);
    this.#waiting[kind].delete(slot);
  }

  stop(): void {
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    this.#timer = null;
    for (const kind of ["whole", "shallow"] as const) {
      for (const { settle } of this.#waiting[kind].values()) settle(null);
      this.#waiting[kind].clear();
    }
  }

  #pump(): void {
    while (this.#inFlightCount < MAX_SNAPSHOTS_IN_FLIGHT) {
      const next = this.#affordable();
      if (next === null) return;
      this.#waiting[next.kind].delete(next.slot);
      const weight = weightOf(next.kind);
      const takenMs = monoMs(this.#options.clock);
      this.#tokens -= weight;
      this.#minute.add(takenMs, weight);
      void this.#send(next, takenMs);
    }
  }

  /** The next that there is weight for. Best levels are not held up by a whole book that is more urgent and too dear. */
  #affordable(): Waiting | null {
    for (const kinds of [BOTH_KINDS, SHALLOW_ALONE]) {
      const next = this.#next(kinds);
      if (next === null) return null;
      const waitMs = this.#waitMs(weightOf(next.kind) + (next.kind === "whole" ? SHALLOW_WEIGHT_RESERVED : 0));
      if (waitMs === 0) return next;
      this.#wakeIn(waitMs + EDGE_MS);
    }
    return null;
  }

  /** Best levels before whole books: they cost a tenth and make a market routable. */
  #next(kinds: readonly SnapshotKind[]): Waiting | null {
    let best: Waiting | null = null;
    for (const kind of kinds) {
      for (const waiting of this.#waiting[kind].values()) {
        if (isWanted(waiting)) {
          if (best === null || this.#isBefore(waiting, best)) best = waiting;
          continue;
        }
        this.drop(waiting.slot, kind);
      }
    }
    return best;
  }

  #isBefore(one: Waiting, other: Waiting): boolean {
    const need = this.#options.needOf(one.slot) - this.#options.needOf(other.slot);
    if (need !== 0) return need > 0;
    const [isShown, isOtherShown] = [isShownLive(one.slot), isShownLive(other.slot)];
    if (isShown !== isOtherShown) return isOtherShown;
    if (one.kind !== other.kind) return one.kind === "shallow";
    return volumeOf(one.slot) > volumeOf(other.slot);
  }

  /** Until there is so much weight; 0 for now. */
  #waitMs(weight: number): number {
    const nowMs = monoMs(this.#options.clock);
    this.#tokens = Math.min(SNAPSHOT_WEIGHT_AT_ONCE, this.#tokens + (nowMs - this.#refilledMs) * REFILL_PER_MS);
    this.#refilledMs = nowMs;
    return Math.max(
      this.#pausedUntilMs - nowMs,
      (weight - this.#tokens) / REFILL_PER_MS,
      this.#minute.msUntilAtMost(nowMs, SNAPSHOT_WEIGHT_PER_MINUTE - weight),
      0,
    );
  }

  /** The earliest wish counts. */
  #wakeIn(waitMs: number): void {
    const { clock } = this.#options;
    const atMs = monoMs(clock) + Math.ceil(waitMs);
    if (this.#timer !== null) {
      if (this.#wakeAtMs <= atMs) return;
      clock.clearTimer(this.#timer);
    }
    this.#wakeAtMs = atMs;
    this.#timer = clock.setTimer(() => {
      this.#timer = null;
      this.#pump();
    }, Math.ceil(waitMs));
  }

  /** `takenMs`: when its weight was taken. */
  async #send({ slot, kind, settle }: Waiting, takenMs: number): Promise<void> {
    const { http, clock } = this.#options;
    this.#inFlightCount++;
    if (kind === "whole") slot.sync.expectSnapshot(true);
    const symbol = encodeURIComponent(slot.market.instrument.nativeSymbol);
    const askedNs = clock.monoNs();
    const result = await http.request({
      method: "GET",
      path: `/fapi/v1/depth?symbol=${symbol}&limit=${kind === "whole" ? SNAPSHOT_LEVELS : SHALLOW_LEVELS}`,
      headers: {},
      body: null,
      lane: "reconcile",
      weight: weightOf(kind),
      timeoutMs: READ_TIMEOUT_MS,
      account: null,
      accountWeight: 0,
      borrowsIdle: true,
    });
    this.#inFlightCount--;
    if (result.kind === "notSent") {
      const weight = weightOf(kind);
      this.#tokens += weight;
      this.#minute.remove(monoMs(clock), weight, takenMs);
    }
    if (result.kind === "notSent" && result.retryAfterMs !== null) {
      // The way is shut for all of them alike.
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, monoMs(clock) + result.retryAfterMs);
      settle(new LoadRefused(result.retryAfterMs));
    } else {
      const isAnswer = result.kind === "response" && result.status === 200;
      settle(isAnswer ? { body: Buffer.from(result.body, "utf8"), askedNs } : null);
    }
    this.#pump();
  }
}

/** A market that got what it waits for by other means needs it no more. */
function isWanted({ slot, kind }: Waiting): boolean {
  return kind === "whole" ? !slot.sync.isLive : !isShownLive(slot);
}

function isShownLive(slot: MarketSlot): boolean {
  return slot.market.book.state === BOOK_LIVE;
}

function weightOf(kind: SnapshotKind): number {
  return kind === "whole" ? SNAPSHOT_WEIGHT : SHALLOW_WEIGHT;
}

/** For the order alone; 0 while unknown. */
function volumeOf(slot: MarketSlot): number {
  const volume = Number(slot.market.ticker.volume24h);
  return Number.isFinite(volume) ? volume : 0;
}
