/**
 * The listen key of one user stream: asked for before each connect, when the venue gives the running key again and
 * prolongs it, or a new one; and prolonged while the stream is open.
 *
 * It is not deleted at the end: the venue gives all clients of an account the same key, and deleting it would cut the
 * others off.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { LISTEN_KEY_REFRESH_MS, LOAD_TIMEOUT_MS } from "../rules/limits.js";

/** How listen keys are got and kept; `expired`: the venue no longer knows the key (-1125). */
export interface ListenKeys {
  create(session: AccountSession, options: CallOptions): Promise<Read<string>>;
  extend(session: AccountSession, options: CallOptions): Promise<Read<"extended" | "expired">>;
}

export interface StreamKeyOptions {
  readonly listenKeys: ListenKeys;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Null where nobody streams with an open session. */
  readonly session: () => AccountSession | null;
  /** Of the stream: a key without a connection is asked for with the next one. */
  readonly isOpen: () => boolean;
  /**
   * The key is dead, and the stream with it, even if the connection looks alive. `aliveMs`: monotonic, when the venue last
   * showed that it knew the key; what happened since may not have been streamed.
   */
  readonly onExpired: (aliveMs: number) => void;
  /** The venue gave another key than before: that one is dead. The connection to come has the new one. */
  readonly onReplaced: (aliveMs: number) => void;
  /** The venue answered a request for a key, or refused the credentials. */
  readonly onRefusal: (isRefused: boolean) => void;
}

const OPTIONS: CallOptions = { timeoutMs: LOAD_TIMEOUT_MS, lane: "reconcile" };
/** A refresh that failed is repeated well before the key's hour is over. */
const RETRY_MS = 60_000;

export class StreamKey {
  readonly #options: StreamKeyOptions;
  #timer: TimerHandle;
  #isStopped = false;
  #key: string | null = null;
  /** Monotonic. */
  #aliveMs: number;

  constructor(options: StreamKeyOptions) {
    this.#options = options;
    this.#aliveMs = monoMs(options.clock);
    this.#timer = options.clock.setTimer(() => void this.#refresh(), LISTEN_KEY_REFRESH_MS);
  }

  /** An event of the stream proves that the venue knows its key. */
  noteEvent(): void {
    this.#aliveMs = monoMs(this.#options.clock);
  }

  /** Throws where there is none: the socket counts that as a failed connect, and comes back with backoff. */
  async get(): Promise<string> {
    const { clock, listenKeys, logger, onRefusal, onReplaced, session } = this.#options;
    const asking = session();
    const askedMs = monoMs(clock);
    const read = asking === null ? null : await listenKeys.create(asking, OPTIONS);
    if (read?.ok === true) {
      if (this.#key !== null && this.#key !== read.value) onReplaced(this.#aliveMs);
      this.#key = read.value;
      this.#aliveMs = askedMs;
      return read.value;
    }
    if (read !== null) {
      logger.warn("venuetwo.account.listen-key-refused", { code: read.code });
      onRefusal(read.code === "AUTH");
    }
    throw new Error("no listen key");
  }

  stop(): void {
    this.#isStopped = true;
    this.#options.clock.clearTimer(this.#timer);
  }

  async #refresh(): Promise<void> {
    const { clock, isOpen, listenKeys, onExpired, session } = this.#options;
    const asking = session();
    let nextMs = LISTEN_KEY_REFRESH_MS;
    if (asking !== null && isOpen()) {
      const askedMs = monoMs(clock);
      const read = await listenKeys.extend(asking, OPTIONS);
      if (this.#isStopped) return;
      if (!read.ok) nextMs = RETRY_MS;
      else if (read.value === "expired") onExpired(this.#aliveMs);
      else this.#aliveMs = askedMs;
    }
    // A listener may have closed the last stream on learning of the expiry.
    if (this.#isStopped) return;
    this.#timer = clock.setTimer(() => void this.#refresh(), nextMs);
  }
}
