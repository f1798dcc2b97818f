/**
 * All who stream one account with the same credentials, and the state that they see.
 *
 * Invariants: who has left sees DOWN and receives nothing; a state is emitted after it holds; a subscriber's bug affects no other.
 */
import type { Logger } from "../../../engine/domain/logger.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { FeedState } from "../../../engine/market/market.js";
import type { AccountEvent, AccountSession, AccountStream, Read } from "../../../engine/ports.js";
import { failedRead } from "../net/call-results.js";

interface Member<S extends AccountSession> {
  readonly session: S;
  readonly onEvent: (event: AccountEvent) => void;
}

interface StreamMembersOptions {
  readonly logger: Logger;
  /** Of the log line that a failing subscriber causes. */
  readonly failureEvent: string;
  /** While LIVE. */
  readonly positions: () => Read<readonly VenuePosition[]>;
  /** As the port has it. */
  readonly ordersDoubtMs: () => number | null;
  /** The last one has left. */
  readonly onEmpty: () => void;
}

export class StreamMembers<S extends AccountSession> {
  readonly #options: StreamMembersOptions;
  readonly #members = new Set<Member<S>>();
  #state: FeedState = "SYNCING";

  constructor(options: StreamMembersOptions) {
    this.#options = options;
  }

  get state(): FeedState {
    return this.#state;
  }

  join(session: S, onEvent: (event: AccountEvent) => void): AccountStream {
    const member: Member<S> = { session, onEvent };
    this.#members.add(member);
    const isMember = (): boolean => this.#members.has(member);
    const state = (): FeedState => (isMember() ? this.#state : "DOWN");
    return {
      get state() {
        return state();
      },
      ordersDoubtMs: () => (isMember() ? this.#options.ordersDoubtMs() : null),
      positions: () => (isMember() ? this.positions() : failedRead("VENUE_ERROR", "stream closed")),
      close: () => {
        this.#members.delete(member);
        if (this.#members.size === 0) this.#options.onEmpty();
      },
    };
  }

  positions(): Read<readonly VenuePosition[]> {
    return this.#state === "LIVE" ? this.#options.positions() : failedRead("VENUE_ERROR", "account stream is not live");
  }

  /** A session whose owner is still streaming, the one longest here first. */
  session(isUsable: (session: S) => boolean = () => true): S | null {
    for (const { session } of this.#members) if (isUsable(session)) return session;
    return null;
  }

  /** Emitted before what changed with it: a listener that receives the change can read the state. */
  enter(state: FeedState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.tell({ kind: "state", state });
  }

  tell(event: AccountEvent): void {
    for (const member of [...this.#members]) {
      try {
        member.onEvent(event);
      } catch {
        this.#options.logger.error(this.#options.failureEvent, { kind: event.kind });
      }
    }
  }

  /** Ends for good, without an event. */
  end(): void {
    this.#state = "DOWN";
    this.#members.clear();
  }
}
