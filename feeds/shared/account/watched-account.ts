/**
 * One account being watched: what its channels report, and the reads that make and keep it true.
 *
 *   SYNCING ── all channels acknowledged ──► read (Resync) ── adopted ──► LIVE
 *      ▲                                                                   │
 *      ├── a frame that cannot be read, an order that is not shown ────────┤
 *      └── asked for again ◄── STALE ◄── connection lost, or silent ───────┘      DOWN: disposed
 *
 * Invariants: LIVE only after all its channels are acknowledged on the present connection **and** a read begun after that
 * was adopted, as the venue does not replay what was missed; and only by a read begun after the last frame that could not
 * be read. A failed read is not a flat account: it is tried again. The venue's state is the truth; differences are counted
 * and adopted.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { Random } from "../../../engine/domain/random.js";
import type { FeedState } from "../../../engine/market/market.js";
import type { AccountEvent, CallOptions, Read } from "../../../engine/ports.js";
import { Resync } from "../book/resync.js";
import { failedRead } from "../net/call-results.js";
import type { AccountHost, AccountSource, Adopt } from "./account-source.js";
import { adoptRead, PositionRefresh } from "./position-refresh.js";
import { ConnectionLife } from "./connection-life.js";
import { sameSizes } from "./held-positions.js";
import { heldAtLeast, StreamedReads, type WantedLots } from "./streamed-reads.js";

const RECONCILE_CALL: CallOptions = { timeoutMs: 5_000, lane: "reconcile" };
const RECONCILE_BACKOFF = { baseMs: 500, capMs: 15_000 };
const ESCALATE_AFTER = 5;
const MAX_PROBLEM_CHARS = 200;

/** Summed over all accounts of a room. */
export interface AccountCounters {
  resyncCount: number;
  decodeErrorCount: number;
  /** Sizes that were not what was held when the venue was asked. */
  differenceCount: number;
}

/** Does not throw. */
export type AccountListener = (event: AccountEvent) => void;

export interface WatchedAccountOptions {
  /** Begins the names of its log lines. */
  readonly venue: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly counters: AccountCounters;
  readonly truthEveryMs: number;
  /**
   * The life of the connection where any frame of it proves the account alive, and its silence ends LIVE. Null where
   * only the account's own frames prove it (the source notes them), and a silent channel is probed.
   */
  readonly connection: ConnectionLife | null;
}

/** A read of the whole account, and what was known when it began. */
interface LoadedAccount {
  readonly beganMs: number;
  readonly lostCount: number;
  readonly adopt: Adopt;
}

export class WatchedAccount<Owner, Frame, Source extends AccountSource<Owner, Frame>> implements AccountHost {
  readonly key: string;
  readonly source: Source;
  readonly reads: StreamedReads;
  readonly life: ConnectionLife;
  readonly refresh: PositionRefresh;
  /** Each with who pays for its session, in the order in which they came. */
  readonly listeners = new Map<AccountListener, string | null>();
  readonly #options: WatchedAccountOptions;
  readonly #resync: Resync<never, LoadedAccount>;
  readonly #acknowledged = new Set<string>();
  /** Who pays for the last trade that used the account. */
  usedBy: string | null = null;
  #state: FeedState = "SYNCING";
  /** Grows with each thing that was lost. */
  #lostCount = 0;
  /** Positions as of the last event; null before the first whole picture. */
  #held: readonly VenuePosition[] | null = null;

  constructor(key: string, options: WatchedAccountOptions, open: (host: AccountHost) => Source) {
    const { clock, connection, logger, random, truthEveryMs, venue } = options;
    this.key = key;
    this.#options = options;
    this.life = connection ?? new ConnectionLife(clock);
    this.reads = new StreamedReads(clock, this.life);
    this.reads.follow(false);
    const source = open(this);
    this.source = source;
    this.refresh = new PositionRefresh({
      clock,
      random,
      reads: this.reads,
      truthEveryMs,
      source,
      call: () => this.call,
      state: () => this.#state,
      onAdopted: (adopted) => {
        noteDifferences(options, adopted.differences, this.#state);
        if (!adopted.ok) this.distrust(adopted.problem);
      },
    });
    this.#resync = new Resync<never, LoadedAccount>({
      clock,
      random,
      backoff: RECONCILE_BACKOFF,
      // Frames are applied as they come, so none is buffered.
      maxBufferedFrames: 1,
      escalateAfter: ESCALATE_AFTER,
      load: async () => {
        const asked = { beganMs: this.reads.begin(), lostCount: this.#lostCount };
        const read = await source.load(this.call);
        return typeof read === "function" ? { ...asked, adopt: read } : read;
      },
      apply: (loaded) => (this.#adopt(loaded) ? "synced" : "retry"),
      onEscalate: (attemptCount) => logger.error(`${venue}.account.unreconciled`, { attemptCount }),
    });
  }

  get state(): FeedState {
    return this.#state;
  }

  /**
   * All who watch the account share its reads, and the key that has listened for longest pays for them; where nobody
   * listens, the key that used it last. Without a key the account itself does.
   */
  get call(): CallOptions {
    const [listening] = this.listeners.values();
    const payer = listening === undefined ? this.usedBy : listening;
    return payer === null ? RECONCILE_CALL : { ...RECONCILE_CALL, payer };
  }

  /** All channels are acknowledged: nothing is missed from here on. */
  get isWhole(): boolean {
    return this.source.channels.every(({ name }) => this.#acknowledged.has(name));
  }

  get isAcknowledged(): boolean {
    return this.#acknowledged.size > 0;
  }

  read(): Read<readonly VenuePosition[]> {
    if (this.#state !== "LIVE") return failedRead("VENUE_ERROR", `the account stream is ${this.#state}`);
    return { ok: true, value: this.source.positions(), asOfMs: this.reads.asOfMs, source: "stream" };
  }

  /** The same where it may be used in place of a live read (streamed-reads.ts); else null. */
  settled(wanted: WantedLots | null): Extract<Read<readonly VenuePosition[]>, { ok: true }> | null {
    if (this.#state !== "LIVE") return null;
    const value = this.reads.trusted(this.source.positions(), wanted);
    return value === null ? null : { ok: true, value, asOfMs: this.reads.asOfMs, source: "stream" };
  }

  /**
   * Compares a read of the venue with what is streamed; where they differ, the stream is not trusted until it agrees again.
   * Returns what is held at least.
   */
  compare(instrument: Instrument | null, positions: readonly VenuePosition[]): readonly VenuePosition[] {
    if (this.#state !== "LIVE") return positions;
    const held = this.source.positions();
    const ofIt =
      instrument === null ? held : held.filter(({ nativeSymbol }) => nativeSymbol === instrument.nativeSymbol);
    if (sameSizes(ofIt, positions)) return positions;
    this.reads.doubt();
    this.refresh.now();
    return heldAtLeast(this.reads, ofIt, positions);
  }

  refreshSoon(): void {
    this.refresh.soon();
  }

  onFrame(frame: Frame): void {
    const applied = this.source.apply(frame);
    if (!applied.ok) {
      this.distrust(applied.problem);
      return;
    }
    if (this.reads.isPending || this.source.needsRead) this.refresh.soon();
    if (applied.acknowledges !== null) this.acknowledge(applied.acknowledges);
  }

  /** The venue has taken the subscription of this channel. */
  acknowledge(name: string): void {
    if (this.source.channels.some((channel) => channel.name === name)) this.#acknowledged.add(name);
    if (this.#options.connection === null) this.life.noteFrame();
    // From here on nothing is missed: a read begun now and the streams together are the whole truth.
    if (this.#state !== "LIVE") this.#reconcile();
  }

  /** The channels are gone (STALE) or asked for again: all must be acknowledged again. */
  invalidate(state: "STALE" | "SYNCING"): void {
    this.#acknowledged.clear();
    if (this.#options.connection === null) this.life.lost();
    // Where nothing was held yet, nothing was missed.
    if (this.#held !== null) this.reads.missed();
    this.#resync.cancel();
    this.#setState(state);
  }

  /** Something was lost that may have been about this account, or (`problem`) could not be read: not LIVE until it was read. */
  distrust(problem: string | null): void {
    if (problem !== null) this.noteUnreadable(problem);
    // The answer to come may lag behind it: another is asked for surely later.
    this.reads.doubt();
    this.source.noteLost?.();
    this.#lostCount++;
    this.#setState("SYNCING");
    this.#reconcile();
  }

  noteUnreadable(problem: string): void {
    const { counters, logger, venue } = this.#options;
    counters.decodeErrorCount++;
    logger.warn(`${venue}.account.unreadable`, { problem: problem.slice(0, MAX_PROBLEM_CHARS) });
  }

  /** Called regularly. */
  reverify(): void {
    if (this.#state === "LIVE") {
      // Other frames may be lost or late as well.
      if (!this.#isHeard) this.#setState("STALE");
      else if (this.reads.isUnshown) this.#setState("SYNCING");
      else if (this.refresh.isDue) this.refresh.now();
    }
    if (this.#state !== "LIVE" && this.#isHeard) this.#reconcile();
  }

  dispose(): void {
    this.#resync.cancel();
    this.refresh.stop();
    this.#setState("DOWN");
  }

  /** In order: what our own orders still await, the venue's part, the listeners. */
  emit(event: AccountEvent): void {
    if (event.kind === "order") this.reads.told(event.order);
    if (event.kind === "positions" && this.source.hasPicture) {
      const before = this.#held;
      this.#held = this.source.positions();
      // The first picture moved nothing.
      if (before !== null) this.reads.moved(before, this.#held);
    }
    this.source.noteEvent(event);
    for (const listener of [...this.listeners.keys()]) listener(event);
  }

  /** Where silence ends LIVE, silent is what is not LIVE. */
  get #isHeard(): boolean {
    return this.#options.connection === null || this.reads.isAlive;
  }

  #reconcile(): void {
    const isWanted = this.isWhole && this.#state !== "DOWN";
    if (isWanted && this.#resync.start()) this.#options.counters.resyncCount++;
  }

  /** False: another read is needed. */
  #adopt({ adopt, beganMs, lostCount }: LoadedAccount): boolean {
    const adopted = adoptRead(this.reads, adopt, beganMs);
    noteDifferences(this.#options, adopted.differences, this.#state);
    if (!adopted.ok) {
      this.#options.counters.decodeErrorCount++;
      return false;
    }
    this.refresh.noteAnswered();
    // Only an answer asked for after the loss includes what was lost.
    if (lostCount !== this.#lostCount) return false;
    // The account is known as of then, and `reverify` looks again when the connection delivers.
    if (!this.#isHeard) return true;
    if (this.reads.isUnshown) return false;
    if (this.isWhole) this.#setState("LIVE");
    return true;
  }

  #setState(state: FeedState): void {
    if (this.#state === state || this.#state === "DOWN") return;
    this.#state = state;
    if (state === "LIVE") this.reads.follow(true);
    if (state === "LIVE" && this.reads.isPending) this.refresh.soon();
    this.emit({ kind: "state", state });
  }
}

function noteDifferences({ counters, logger, venue }: WatchedAccountOptions, count: number, state: FeedState): void {
  if (count === 0) return;
  counters.differenceCount += count;
  logger.warn(`${venue}.account.difference`, { count, state });
}
