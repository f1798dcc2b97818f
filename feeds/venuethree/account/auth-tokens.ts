/**
 * Auth tokens of sessions: signed when first needed, used again until shortly before they end, forgotten with their
 * session. A token is as good as the key for reads, so it goes into one header or one subscription and nowhere else.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { NoncePool } from "../sign/schnorr.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { STREAM_TOKEN_LIFE_S } from "../rules/limits.js";
import type { ConfirmedKey } from "./key-directory.js";
import type { VenuethreeSession } from "./session.js";
import { authMessage, signAuthToken } from "../sign/sign.js";

/** Short, as sessions are; the venue takes up to 8 h. */
const LIFE_MS = 10 * 60_000;
/** A token is not used in its last minute: our clock and the venue's may differ by less. */
const SPARE_MS = 60_000;

interface Token {
  readonly apiKeyIndex: number;
  readonly text: string;
  /** Monotonic: it ends when it ends, however our wall clock is set meanwhile. */
  readonly usableUntilMs: number;
}

export class AuthTokens {
  readonly #clock: Clock;
  readonly #clockOffsetMs: () => number;
  readonly #pool: NoncePool;
  readonly #tokens = new WeakMap<VenuethreeSession, Token>();

  constructor(clock: Clock, clockOffsetMs: () => number, pool: NoncePool) {
    this.#clock = clock;
    this.#clockOffsetMs = clockOffsetMs;
    this.#pool = pool;
  }

  /** Null once the session is closed. */
  tokenOf({ session, accountIndex, apiKeyIndex }: ConfirmedKey): string | null {
    if (!session.isOpen) return null;
    const nowMs = monoMs(this.#clock);
    const known = this.#tokens.get(session);
    if (known !== undefined && known.apiKeyIndex === apiKeyIndex && known.usableUntilMs > nowMs) return known.text;
    const deadlineS = Math.floor((this.#clock.wallMs() + this.#clockOffsetMs() + LIFE_MS) / 1_000);
    const message = authMessage(deadlineS, accountIndex, apiKeyIndex);
    const text = session.withKey((privateKey) => signAuthToken(message, privateKey, this.#pool.take()));
    if (text === null) return null;
    this.#tokens.set(session, { apiKeyIndex, text, usableUntilMs: nowMs + LIFE_MS - SPARE_MS });
    return text;
  }

  /** One for a subscription, which lives longer than calls do; not kept here (account/access.ts). Null once the session is closed. */
  streamTokenOf({ session, accountIndex, apiKeyIndex }: ConfirmedKey): string | null {
    const deadlineS = Math.floor((this.#clock.wallMs() + this.#clockOffsetMs()) / 1_000) + STREAM_TOKEN_LIFE_S;
    const message = authMessage(deadlineS, accountIndex, apiKeyIndex);
    return session.withKey((privateKey) => signAuthToken(message, privateKey, this.#pool.take()));
  }

  /** The venue refused it. */
  forget(session: VenuethreeSession): void {
    this.#tokens.delete(session);
  }
}
