/**
 * The stream of one watched account, from one opening to the next: it is opened where the venue streams and has room,
 * and again some time after it could not be opened or ended.
 *
 * Invariants: at most one stream is open; after `close` nothing is opened and nothing is reported. A stream that is not
 * LIVE is kept, since the room reconnects it; only one that is DOWN is dropped.
 */
import type { Clock, TimerHandle } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import type { VenuePosition } from "../domain/position.js";
import type { AccountEvent, AccountSession, AccountStream, AccountStreams, Read, VenueRoom } from "../ports.js";

/** The account is reported as away when its stream is not LIVE for this long; the room keeps trying meanwhile. */
const STREAM_GRACE_MS = 3_000;
/** An account without a stream requests one again after this time. */
const STREAM_RETRY_MS = 60_000;

/** Receives what the stream does. Nothing is called during `close`. */
interface WatchedStreamHost {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Events other than those of state and positions. */
  onEvent(event: Extract<AccountEvent, { readonly kind: "order" | "fill" }>): void;
  /** A state of a LIVE stream. `isNewRun`: it was not LIVE before. */
  onPositions(read: Read<readonly VenuePosition[]>, isNewRun: boolean): void;
  /** The stream ended because the venue refuses the credentials. */
  onRefused(read: Read<readonly VenuePosition[]>): void;
  /** There is no stream, or none that is LIVE within its time of grace: the account must be polled. */
  onAway(): void;
  /** The stream is not LIVE any more. */
  onState(): void;
}

export class WatchedStream {
  readonly #room: VenueRoom;
  readonly #session: AccountSession;
  readonly #host: WatchedStreamHost;
  #stream: AccountStream | null = null;
  #isLive = false;
  /** Counts the times the stream became LIVE. */
  #runCount = 0;
  #isClosed = false;
  #graceTimer: TimerHandle | null = null;
  #retryTimer: TimerHandle | null = null;

  constructor(room: VenueRoom, session: AccountSession, host: WatchedStreamHost) {
    this.#room = room;
    this.#session = session;
    this.#host = host;
  }

  get isOpen(): boolean {
    return this.#stream !== null;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** Number of the present run; null if it is not LIVE. */
  get liveRun(): number | null {
    return this.#isLive ? this.#runCount : null;
  }

  /** Wall ms at which the stream proved its state; null if it is not LIVE. It does so even while nothing happens. */
  get provenMs(): number | null {
    const read = this.#isLive ? this.#stream?.positions() : undefined;
    return read?.ok === true ? read.asOfMs : null;
  }

  /** See AccountStream.ordersDoubtMs. */
  get doubtMs(): number | null {
    return this.#stream?.ordersDoubtMs?.() ?? null;
  }

  /** Opens the stream if there is none; returns false if there still is none. */
  open(): boolean {
    const { streams } = this.#room;
    if (this.#stream !== null) return true;
    if (this.#isClosed || streams === null) return false;
    const opened = this.#tryOpen(streams);
    if (opened?.ok !== true) {
      this.#openLater();
      return false;
    }
    this.#stream = opened.stream;
    this.#awaitLive();
    this.#follow();
    return this.isOpen;
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
    if (this.#retryTimer !== null) this.#host.clock.clearTimer(this.#retryTimer);
    this.#retryTimer = null;
  }

  /** Returns null on a bug of the room, which must neither end the watch nor leave it half open. */
  #tryOpen(streams: AccountStreams): ReturnType<AccountStreams["openAccountStream"]> | null {
    try {
      return streams.openAccountStream(this.#session, (event) => this.#onEvent(event));
    } catch (error) {
      const errorName = error instanceof Error ? error.name : "unknown";
      this.#host.logger.error("portfolio.stream_failed", { venue: this.#room.venue, errorName });
      return null;
    }
  }

  #onEvent(event: AccountEvent): void {
    if (this.#isClosed) return;
    if (event.kind === "order" || event.kind === "fill") this.#host.onEvent(event);
    else this.#follow();
  }

  /** Adopts the stream's present state. */
  #follow(): void {
    const stream = this.#stream;
    if (stream === null || this.#isClosed) return;
    const { state } = stream;
    if (state === "LIVE") {
      const read = stream.positions();
      if (read.ok) this.#becomeLive(read);
      return;
    }
    this.#isLive = false;
    if (state === "DOWN") this.#endWith(stream.positions());
    else this.#awaitLive();
    this.#host.onState();
  }

  #becomeLive(read: Read<readonly VenuePosition[]>): void {
    const isNewRun = !this.#isLive;
    this.#isLive = true;
    if (isNewRun) this.#runCount++;
    this.#clearGrace();
    this.#host.onPositions(read, isNewRun);
  }

  #endWith(read: Read<readonly VenuePosition[]>): void {
    if (!read.ok && read.code === "AUTH") this.#host.onRefused(read);
    this.#drop();
    this.#host.onAway();
    this.#openLater();
  }

  #drop(): void {
    this.#stream?.close();
    this.#stream = null;
    this.#isLive = false;
    this.#clearGrace();
  }

  #awaitLive(): void {
    if (this.#graceTimer !== null || this.#isClosed) return;
    this.#graceTimer = this.#host.clock.setTimer(() => {
      this.#graceTimer = null;
      if (!this.#isLive) this.#host.onAway();
    }, STREAM_GRACE_MS);
  }

  #openLater(): void {
    if (this.#retryTimer !== null || this.#isClosed) return;
    this.#retryTimer = this.#host.clock.setTimer(() => {
      this.#retryTimer = null;
      this.open();
    }, STREAM_RETRY_MS);
  }

  #clearGrace(): void {
    if (this.#graceTimer !== null) this.#host.clock.clearTimer(this.#graceTimer);
    this.#graceTimer = null;
  }
}
