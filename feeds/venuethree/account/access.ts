/**
 * Who may read a watched account: the keys of open sessions, and, where an account trades again and again, a token that
 * outlives the request that signed it. No key does: a token reads, it cannot trade. It is kept in memory only, and for
 * HOT_IDLE_MS after the last request that used the account, as long as a session may live on for an unknown order.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { AccountAccess as Access } from "../../shared/account/account-source.js";
import type { AuthTokens } from "./auth-tokens.js";
import type { ConfirmedKey } from "./key-directory.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { KEPT_TOKEN_RENEW_MS, STREAM_TOKEN_LIFE_S, TOKEN_RENEW_MS } from "../rules/limits.js";

/** A kept token is not used in its last minutes: our clock and the venue's may differ by less. */
const SPARE_MS = 5 * 60_000;

interface StreamToken {
  readonly text: string;
  /** Monotonic. */
  readonly madeAtMs: number;
}

export class AccountAccess implements Access<ConfirmedKey> {
  /** Confirmed keys of those who watch; any open one signs. */
  readonly #keys = new Set<ConfirmedKey>();
  readonly #clock: Clock;
  readonly #tokens: AuthTokens;
  #kept: StreamToken | null = null;
  /** Monotonic ms of the token that was subscribed with last. */
  #subscribedAtMs = 0;

  constructor(clock: Clock, tokens: AuthTokens) {
    this.#clock = clock;
    this.#tokens = tokens;
  }

  join(key: ConfirmedKey): void {
    this.#keys.add(key);
  }

  leave(key: ConfirmedKey): void {
    this.#keys.delete(key);
  }

  /** A request with this key is at work, and others of the account are expected after it. */
  keep(key: ConfirmedKey): void {
    const nowMs = monoMs(this.#clock);
    if (this.#kept === null || nowMs - this.#kept.madeAtMs > KEPT_TOKEN_RENEW_MS)
      this.#kept = this.#signed(key) ?? this.#kept;
  }

  /** Nobody can read this account any more where it is false. */
  get isOpen(): boolean {
    return this.#openKey() !== null || this.#keptToken() !== null;
  }

  /** The venue would end the subscriptions: they are asked for again before. */
  get isEnding(): boolean {
    return monoMs(this.#clock) - this.#subscribedAtMs > TOKEN_RENEW_MS;
  }

  /** For reads. Returns null when no session can sign and no token is kept. */
  readToken(): string | null {
    const key = this.#openKey();
    return (key === null ? null : this.#tokens.tokenOf(key)) ?? this.#keptToken()?.text ?? null;
  }

  /** For a subscription: signed as it is written, so that it is never older. Returns null when no session can sign. */
  streamToken(): string | null {
    const key = this.#openKey();
    const token = (key === null ? null : this.#signed(key)) ?? this.#keptToken();
    this.#subscribedAtMs = token?.madeAtMs ?? monoMs(this.#clock);
    return token?.text ?? null;
  }

  /** No request has used the account for a while. */
  forgetKept(): void {
    this.#kept = null;
  }

  /** The venue refused a token. */
  refused(): void {
    const key = this.#openKey();
    if (key !== null) this.#tokens.forget(key.session);
    this.#kept = null;
  }

  #openKey(): ConfirmedKey | null {
    for (const key of this.#keys) if (key.session.isOpen) return key;
    return null;
  }

  #signed(key: ConfirmedKey): StreamToken | null {
    const text = this.#tokens.streamTokenOf(key);
    return text === null ? null : { text, madeAtMs: monoMs(this.#clock) };
  }

  #keptToken(): StreamToken | null {
    const kept = this.#kept;
    if (kept === null) return null;
    return monoMs(this.#clock) - kept.madeAtMs < STREAM_TOKEN_LIFE_S * 1_000 - SPARE_MS ? kept : null;
  }
}
