/**
 * The positions of one watched account: the last whole state, from its stream or by polls over REST.
 *
 * Invariants: only a whole state that is not older replaces a state; a failed read changes no position (it is not a flat
 * account); after `close` the session is not used.
 */
import type { Clock } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { VenuePosition } from "../domain/position.js";
import type { AccountEvent, AccountSession, CallOptions, Read, VenueRoom } from "../ports.js";
import { LOOK_TIMEOUT_MS, NO_PAUSE, pauseAfter, readSafely } from "./account-reads.js";
import { failedState, NO_ANSWER_YET } from "./coverage.js";
import { Liquidations } from "./liquidations.js";
import type { LookResult, PollSchedule, PollTask } from "./poll-schedule.js";
import type { Coverage, CoverageError } from "./portfolio-types.js";
import { type PositionChange, positionChanges } from "./position-changes.js";
import { positionsUnlisted, unlistedNames } from "./unlisted.js";

/** What it needs from the watch that it belongs to. */
interface WatchedPositionsHost {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly schedule: PollSchedule;
  /** Whether the stream is LIVE: its state is newer than any poll's. */
  isLive(): boolean;
  /** A poll ended, with these changes or none. */
  onPolled(changes: readonly PositionChange[]): void;
}

export class WatchedPositions {
  readonly #room: VenueRoom;
  readonly #session: AccountSession;
  readonly #host: WatchedPositionsHost;
  readonly #liquidations: Liquidations;
  readonly #task: PollTask = { look: (isFirst) => this.#look(isFirst) };
  #positions: readonly VenuePosition[] | null = null;
  /** Names of holdings that cannot be counted. */
  #unlisted: readonly string[] = [];
  #asOfMs: number | null = null;
  #source: "stream" | "venue" | null = null;
  #error: CoverageError | null = null;
  #isPolled = false;
  #isClosed = false;

  constructor(room: VenueRoom, session: AccountSession, host: WatchedPositionsHost) {
    this.#room = room;
    this.#session = session;
    this.#host = host;
    this.#liquidations = new Liquidations(host.clock);
  }

  /** Null before the first reply. */
  get list(): readonly VenuePosition[] | null {
    return this.#positions;
  }

  /** Wall ms of the last whole state; null before the first. */
  get asOfMs(): number | null {
    return this.#asOfMs;
  }

  get source(): "stream" | "venue" | null {
    return this.#source;
  }

  /** Why the last read failed; null when it did not. */
  get error(): CoverageError | null {
    return this.#error;
  }

  /** What the positions are without a LIVE stream. */
  get readState(): Coverage["state"] {
    return failedState(this.#error) ?? (this.#positions === null ? "ERROR" : "SNAPSHOT");
  }

  /** Why the positions are not known, or not all of them; null when they are. */
  get shortfall(): CoverageError | null {
    if (this.#error !== null) return this.#error;
    if (this.#positions === null) return NO_ANSWER_YET;
    return this.#unlisted.length > 0 ? positionsUnlisted(this.#unlisted) : null;
  }

  /** Whether the venue has answered for the account, or the reason why it cannot is known. */
  get isSettled(): boolean {
    return this.#positions !== null || this.#error !== null;
  }

  get isPolled(): boolean {
    return this.#isPolled;
  }

  /** Remembers the liquidations among the account's fills, to name the changes of position that they cause. */
  noteFill(fill: Extract<AccountEvent, { readonly kind: "fill" }>): void {
    this.#liquidations.note(fill);
  }

  /** Returns false when it is polled already, or closed. */
  beginPolling(): boolean {
    if (this.#isPolled || this.#isClosed) return false;
    this.#isPolled = true;
    this.#host.schedule.add(this.#task);
    return true;
  }

  endPolling(): void {
    if (!this.#isPolled) return;
    this.#isPolled = false;
    this.#host.schedule.remove(this.#task);
  }

  /** Applies a whole state or a failure; returns what changed. */
  apply(read: Read<readonly VenuePosition[]>, source: "stream" | "venue"): readonly PositionChange[] {
    if (!read.ok) {
      this.#error = { code: read.code, message: read.message };
      return [];
    }
    this.#error = null;
    const { value, asOfMs } = read;
    // Two reads, or a read and a stream, may end in another order than they began. A state whose time lies in the
    // future is no reason to refuse: this machine's clock was set back.
    if (this.#asOfMs !== null && asOfMs < this.#asOfMs && this.#asOfMs <= this.#host.clock.wallMs()) return [];
    const counted = value.filter(({ uncounted }) => uncounted === undefined);
    const changes = positionChanges(this.#positions ?? [], counted, (position) => this.#liquidations.has(position));
    this.#positions = counted;
    this.#unlisted = unlistedNames(value);
    this.#asOfMs = asOfMs;
    this.#source = source;
    return changes;
  }

  close(): void {
    this.#isClosed = true;
    this.endPolling();
  }

  async #look(isFirst: boolean): Promise<LookResult> {
    const options: CallOptions = { timeoutMs: LOOK_TIMEOUT_MS, lane: isFirst ? "read" : "background" };
    const { reader, venue } = this.#room;
    const read = await readSafely(this.#host.logger, venue, () => reader.readPositions(this.#session, null, options));
    // The stream is LIVE again, and its state is newer.
    if (this.#isClosed || this.#host.isLive()) return NO_PAUSE;
    this.#host.onPolled(this.apply(read, "venue"));
    return read.ok ? NO_PAUSE : pauseAfter(read);
  }
}
