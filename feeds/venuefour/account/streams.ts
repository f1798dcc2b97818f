/**
 * The account streams of the room: one connection per set of credentials, shared by all who stream with them
 * (shared-account-stream.ts).
 *
 * Invariant: nobody sees a stream that other credentials opened, also for the same account. The venue itself shows an
 * account to whoever names it; who may see what here is not decided by that.
 */
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent, AccountSession, AccountStream, AccountStreams, Read } from "../../../engine/ports.js";
import type { WantedLots } from "../../shared/account/streamed-reads.js";
import { UnknownWords } from "../../shared/room/unknown-words.js";
import { MAX_ACCOUNT_STREAMS } from "../rules/limits.js";
import { VenuefourSession } from "./session.js";
import { type AccountCounters, type AccountStreamDeps, SharedAccountStream } from "./shared-account-stream.js";

type LiveRead = Extract<Read<readonly VenuePosition[]>, { ok: true }>;

export class VenuefourAccountStreams implements AccountStreams {
  readonly #deps: () => Omit<AccountStreamDeps, "counters" | "words">;
  readonly #byTag = new Map<string, SharedAccountStream>();
  readonly #counters: AccountCounters = { decodeErrorCount: 0 };
  readonly #words: UnknownWords;
  #isStopped = false;

  /** `deps` is asked for when the first stream opens: account reads look here too. */
  constructor(deps: () => Omit<AccountStreamDeps, "counters" | "words">) {
    this.#deps = deps;
    this.#words = new UnknownWords("venuefour", () => deps().logger);
  }

  /** Of all streams so far: frames that could not be read, words that nobody knows. */
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
    if (!(session instanceof VenuefourSession)) return { ok: false, problem: "session of another venue" };
    if (!session.isOpen) return { ok: false, problem: "session is closed" };
    const { tag } = session;
    let shared = this.#byTag.get(tag);
    if (shared === undefined) {
      if (this.#byTag.size >= MAX_ACCOUNT_STREAMS) return { ok: false, problem: "account stream limit reached" };
      const deps = { ...this.#deps(), counters: this.#counters, words: this.#words };
      shared = new SharedAccountStream(deps, session.accountId, () => this.#byTag.delete(tag));
      this.#byTag.set(tag, shared);
    }
    return { ok: true, stream: shared.join(session, onEvent) };
  }

  /** Positions of a stream of the same credentials that may stand for a live read; null where there is none. */
  positionsOf(session: VenuefourSession, wanted: WantedLots | null): LiveRead | null {
    const read = this.ofSession(session)?.settled(wanted);
    return read?.ok === true ? read : null;
  }

  /** The stream of these very credentials: the only one whose positions they may see. */
  ofSession(session: VenuefourSession): SharedAccountStream | null {
    return session.isOpen ? (this.#byTag.get(session.tag) ?? null) : null;
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
