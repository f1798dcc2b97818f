/**
 * The account streams of the room: one upstream stream per set of credentials, shared by all who stream
 * with them (shared-account-stream.ts).
 *
 * Invariant: nobody sees a stream that other credentials opened, also for the same account: the key of
 * the sharing is proof of the whole credentials, not of an address.
 */
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent, AccountSession, AccountStream, AccountStreams, Read } from "../../../engine/ports.js";
import type { WantedLots } from "../../shared/account/streamed-reads.js";
import { UnknownWords } from "../../shared/room/unknown-words.js";
import { MAX_ACCOUNT_STREAMS } from "../rules/limits.js";
import { type AccountCounters, type AccountStreamDeps, SharedAccountStream } from "./shared-account-stream.js";

export interface AccountStreamsDeps extends Omit<AccountStreamDeps, "counters" | "words"> {
  /** Proof of the credentials behind a session, equal for equal credentials only; null for a session of nobody here. */
  readonly credentialTagOf: (session: AccountSession) => string | null;
}

export class VenuetwoAccountStreams implements AccountStreams {
  readonly #deps: AccountStreamsDeps;
  readonly #byTag = new Map<string, SharedAccountStream>();
  readonly #counters: AccountCounters = { decodeErrorCount: 0 };
  readonly #words: UnknownWords;
  #isStopped = false;

  constructor(deps: AccountStreamsDeps) {
    this.#deps = deps;
    this.#words = new UnknownWords("venuetwo", () => deps.logger);
  }

  /** Of all streams so far: events that could not be read, words that nobody knows. */
  stats(): Readonly<AccountCounters> & { readonly driftCount: number } {
    return { ...this.#counters, driftCount: this.#words.count };
  }

  get openCount(): number {
    return this.#byTag.size;
  }

  openAccountStream(
    session: AccountSession,
    onEvent: (event: AccountEvent) => void,
  ): { readonly ok: true; readonly stream: AccountStream } | { readonly ok: false; readonly problem: string } {
    if (this.#isStopped) return { ok: false, problem: "the room is stopped" };
    const tag = this.#deps.credentialTagOf(session);
    if (tag === null) return { ok: false, problem: "the session was not opened by this venue" };
    let shared = this.#byTag.get(tag);
    if (shared === undefined) {
      if (this.#byTag.size >= MAX_ACCOUNT_STREAMS)
        return { ok: false, problem: "STREAM_LIMIT: all account streams of this venue are in use" };
      const deps = { ...this.#deps, counters: this.#counters, words: this.#words };
      shared = new SharedAccountStream(deps, session.accountId, () => this.#byTag.delete(tag));
      this.#byTag.set(tag, shared);
    }
    return { ok: true, stream: shared.join(session, onEvent) };
  }

  /** Positions of a stream of the same credentials that may stand for a live read; null where there is none. */
  positionsOf(
    session: AccountSession,
    wanted: WantedLots | null,
  ): Extract<Read<readonly VenuePosition[]>, { ok: true }> | null {
    const read = this.ofSession(session)?.settled(wanted);
    return read?.ok === true ? read : null;
  }

  /** The stream of these very credentials: the only one whose positions they may see. */
  ofSession(session: AccountSession): SharedAccountStream | null {
    const tag = this.#deps.credentialTagOf(session);
    return tag === null ? null : (this.#byTag.get(tag) ?? null);
  }

  /** The account as it is streamed, for each set of credentials that watches it. */
  ofAccount(accountId: string): readonly SharedAccountStream[] {
    return [...this.#byTag.values()].filter((shared) => shared.accountId === accountId);
  }

  /** A contract was listed on another scale: what is streamed was counted in other lots, until REST has been read again. */
  rescaled(): void {
    for (const shared of this.#byTag.values()) shared.rescaled();
  }

  stop(): void {
    this.#isStopped = true;
    for (const shared of [...this.#byTag.values()]) shared.stop();
  }
}
