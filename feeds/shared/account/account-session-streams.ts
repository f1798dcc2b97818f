/**
 * The account streams of a room with one connection for each set of credentials (account-session-stream.ts).
 *
 * Invariant: nobody sees a stream that other credentials opened, also for the same account: what shares a stream is
 * proof of the whole credentials, not of an address.
 *
 * Bound: `maxStreams`; one more is refused.
 */
import type { AccountEvent, AccountSession, AccountStream, AccountStreams } from "../../../engine/ports.js";
import type { UnknownWords } from "../room/unknown-words.js";
import type { AccountCounters } from "./account-reconciler.js";
import { AccountSessionStream, type SessionVenue } from "./account-session-stream.js";
import type { LiveRead, WantedLots } from "./streamed-reads.js";

/** Begins every refusal for want of a stream, in all rooms. */
const STREAM_LIMIT = "STREAM_LIMIT: all account streams of this venue are in use";

export interface SessionStreamsOptions<S extends AccountSession> extends SessionVenue<S> {
  readonly maxStreams: number;
  /** A name for whole credentials, equal for equal ones only; null where the session is closed. */
  readonly tagOf: (session: S) => string | null;
  /** Unknown words in frames of the streams. */
  readonly words: UnknownWords;
}

export class AccountSessionStreams<S extends AccountSession> implements AccountStreams {
  readonly #options: SessionStreamsOptions<S>;
  readonly #byTag = new Map<string, AccountSessionStream<S>>();
  readonly #counters: AccountCounters = { decodeErrorCount: 0, unreadFillCount: 0 };
  #isStopped = false;

  constructor(options: SessionStreamsOptions<S>) {
    this.#options = options;
  }

  /** Of all streams so far. */
  stats(): Readonly<AccountCounters> & { readonly driftCount: number } {
    return { ...this.#counters, driftCount: this.#options.words.count };
  }

  get openCount(): number {
    return this.#byTag.size;
  }

  openAccountStream(
    session: AccountSession,
    onEvent: (event: AccountEvent) => void,
  ): { readonly ok: true; readonly stream: AccountStream } | { readonly ok: false; readonly problem: string } {
    const { isUsable, maxStreams, tagOf } = this.#options;
    if (this.#isStopped) return { ok: false, problem: "the room is stopped" };
    const tag = isUsable(session) ? tagOf(session) : null;
    if (!isUsable(session) || tag === null) return { ok: false, problem: "the session is closed, or of another venue" };
    let shared = this.#byTag.get(tag);
    if (shared === undefined) {
      if (this.#byTag.size >= maxStreams) return { ok: false, problem: STREAM_LIMIT };
      const onEnd = (): void => void this.#byTag.delete(tag);
      shared = new AccountSessionStream(this.#options, this.#counters, session.accountId, onEnd);
      this.#byTag.set(tag, shared);
    }
    return { ok: true, stream: shared.join(session, onEvent) };
  }

  /** Of the credentials behind a session; null for a session that is closed, or of another venue. */
  tagOf(session: AccountSession): string | null {
    return this.#options.isUsable(session) ? this.#options.tagOf(session) : null;
  }

  /** The stream of these very credentials: the only one whose positions they may see. */
  ofSession(session: AccountSession): AccountSessionStream<S> | null {
    const tag = this.tagOf(session);
    return tag === null ? null : (this.#byTag.get(tag) ?? null);
  }

  /** Positions of a stream of the same credentials that may be used in place of a live read; null where there is none. */
  positionsOf(session: AccountSession, wanted: WantedLots | null): LiveRead | null {
    return this.ofSession(session)?.settled(wanted) ?? null;
  }

  /** The account as it is streamed, for each set of credentials that watches it. */
  ofAccount(accountId: string): readonly AccountSessionStream<S>[] {
    return [...this.#byTag.values()].filter((shared) => shared.accountId === accountId);
  }

  /** A contract was listed on another scale: what is streamed was counted in other lots, until REST has been read again. */
  rescaled(): void {
    for (const shared of this.#byTag.values()) shared.renew("a contract was listed on another scale");
  }

  stop(): void {
    this.#isStopped = true;
    for (const shared of [...this.#byTag.values()]) shared.stop();
  }
}
