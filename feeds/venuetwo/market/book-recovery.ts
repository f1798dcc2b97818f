/**
 * Recovers books that lost their chain: asks with backoff for a snapshot that the diffs cover, one recovery of a market
 * at a time. A book is invalidated before it comes here; sync.ts decides what a snapshot is worth.
 */
import { type Clock, delay } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import { BOOK_LIVE, INVALID_DISCONNECTED } from "../../../engine/market/book.js";
import { LoadRefused, Resync } from "../../shared/book/resync.js";
import type { VenuetwoDecoder } from "./decode.js";
import { DriftPause } from "./drift-pause.js";
import type { MarketSlot } from "./entry.js";
import { FRAME_DEPTH, FRAME_DRIFT } from "./frame.js";
import type { ShallowTier } from "./shallow-tier.js";
import type { Snapshot, SnapshotAnswer, SnapshotQueue } from "./snapshot-queue.js";

export interface BookRecoveryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly decoder: VenuetwoDecoder;
  readonly snapshots: SnapshotQueue;
  readonly shallow: Pick<ShallowTier, "follow">;
  /** Figures came that the listed grid cannot hold: the list may have changed. */
  readonly onDrift?: () => void;
  /** Subscribes the diff stream of a market again: snapshots alone do not bring its book back. */
  readonly resubscribe: (slot: MarketSlot) => void;
}

/** A snapshot that no diff covers is confirmed by a second one after this. */
const CONFIRM_AFTER_MS = 1_000;
const RESYNC_BACKOFF = { baseMs: 250, capMs: 5_000 } as const;
/** Failed tries after which the diff stream itself is doubted and subscribed again. */
const ESCALATE_AFTER = 6;

interface Recovered {
  readonly slot: MarketSlot;
  readonly resync: Resync<never, Snapshot>;
}

export class BookRecovery {
  readonly #options: BookRecoveryOptions;
  /** By decoder slot; undefined where the market was removed. */
  readonly #markets: (Recovered | undefined)[] = [];
  readonly #drift: DriftPause;
  /** Of removed markets, so that the count never falls. */
  #retiredCount = 0;

  constructor(options: BookRecoveryOptions) {
    this.#options = options;
    this.#drift = new DriftPause(options.clock);
  }

  /** Recoveries so far. */
  get startCount(): number {
    return this.#markets.reduce((sum, market) => sum + (market?.resync.startCount ?? 0), this.#retiredCount);
  }

  add(index: number, slot: MarketSlot): void {
    const { clock, random, logger, resubscribe } = this.#options;
    const resync = new Resync<never, Snapshot>({
      clock,
      random,
      backoff: RESYNC_BACKOFF,
      // The diffs wait decoded in the book sync, which bounds them by levels too.
      maxBufferedFrames: 0,
      escalateAfter: ESCALATE_AFTER,
      load: () => this.#loadSnapshot(index, slot),
      apply: (snapshot) => this.#applySnapshot(index, snapshot),
      onEscalate: (attemptCount) => {
        logger.warn("venuetwo.resync-slow", { symbol: slot.market.instrument.symbol, attemptCount });
        resubscribe(slot);
      },
    });
    this.#markets[index] = { slot, resync };
  }

  remove(index: number): void {
    const market = this.#markets[index];
    if (market === undefined) return;
    this.#markets[index] = undefined;
    this.#drift.forget(index);
    market.resync.cancel();
    this.#retiredCount += market.resync.startCount;
    this.#options.snapshots.drop(market.slot, "whole");
  }

  stop(): void {
    for (const market of this.#markets) market?.resync.cancel();
  }

  /** The connection of its diffs is lost. */
  down(index: number): void {
    const market = this.#markets[index];
    if (market === undefined) return;
    market.resync.cancel();
    this.#options.snapshots.drop(market.slot, "whole");
    market.slot.onDown(INVALID_DISCONNECTED);
    this.#options.shallow.follow(index);
  }

  /** The diff may have completed a waiting snapshot, or be the first sign that the stream runs. */
  afterDiff(index: number, slot: MarketSlot): void {
    if (slot.sync.isLive) {
      this.#markets[index]?.resync.cancel();
      this.#options.shallow.follow(index);
    } else this.start(index);
  }

  /** The book has been invalidated already. A snapshot that does not fit the grid either is not asked for in circles. */
  drifted(index: number): void {
    if (this.#drift.isFirst(index)) {
      this.#options.onDrift?.();
      this.recover(index);
      return;
    }
    const market = this.#markets[index];
    if (market === undefined) return;
    this.#options.snapshots.drop(market.slot, "whole");
    // It waits for the pause to end: a market that falls quiet has no diff to begin it then.
    this.start(index);
  }

  /** Starts the recovery of a book that was invalidated. */
  recover(index: number): void {
    this.#markets[index]?.slot.market.stats.breakSampling();
    this.#options.shallow.follow(index);
    this.start(index);
  }

  /** Does nothing while a recovery of the market runs. */
  start(index: number): void {
    const market = this.#markets[index];
    if (market === undefined || market.resync.isRunning) return;
    market.slot.sync.beginSync();
    market.resync.start();
  }

  async #loadSnapshot(index: number, slot: MarketSlot): Promise<SnapshotAnswer> {
    const pauseMs = this.#drift.leftMs(index);
    if (pauseMs > 0) return new LoadRefused(pauseMs);
    // One waits for a diff to cover it: give it the time, then confirm.
    if (slot.sync.isWaiting) await delay(this.#options.clock, CONFIRM_AFTER_MS);
    if (slot.sync.isLive) return null;
    const answer = await this.#options.snapshots.load(slot, "whole");
    if (answer === null) this.#resyncGoesOn(slot, "NO_ANSWER");
    else if (answer instanceof LoadRefused) this.#resyncGoesOn(slot, "NOT_ASKED");
    return answer;
  }

  #resyncGoesOn({ market }: MarketSlot, reason: string): void {
    const { symbol, venue } = market.instrument;
    this.#options.logger.debug?.("book.resync-goes-on", { venue, symbol, reason });
  }

  #applySnapshot(index: number, { body, askedNs }: Snapshot): "synced" | "retry" {
    const slot = this.#markets[index]?.slot;
    if (slot === undefined) return "retry";
    const { decoder } = this.#options;
    const kind = decoder.decodeSnapshot(body, 0, body.length, index);
    if (kind !== FRAME_DEPTH) {
      this.#options.logger.warn("venuetwo.bad-snapshot", { symbol: slot.market.instrument.symbol });
      if (kind === FRAME_DRIFT) this.drifted(index);
      return "retry";
    }
    const result = slot.sync.onSnapshot(decoder.frame, askedNs);
    this.#options.shallow.follow(index);
    if (result !== "synced") this.#resyncGoesOn(slot, result);
    return result === "synced" && slot.market.book.state === BOOK_LIVE ? "synced" : "retry";
  }
}
