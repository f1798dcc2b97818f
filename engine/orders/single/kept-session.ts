/**
 * A session that outlives its request. Of a server wallet it is one with the key that trades when it is asked for: the
 * key that it was opened with may have been followed by another, and have ended, since.
 *
 * Invariant: sessions that it handed out are closed at its own end and not before: a call may be under way with one.
 */
import { storedSecretIn } from "../../key-registrar.js";
import type { AccountSession, VenueRoom } from "../../ports.js";

export class KeptSession {
  readonly #room: VenueRoom;
  readonly #open: AccountSession[];
  #credentials: unknown;
  #isClosed = false;

  /** Takes the session over, which was opened with the credentials. Of those it keeps none but a server wallet's. */
  constructor(room: VenueRoom, session: AccountSession, credentials: unknown) {
    this.#room = room;
    this.#open = [session];
    this.#credentials = storedSecretIn(credentials) === null ? null : credentials;
  }

  /** Where the wallet has no key any more, the one with the last; once closed, a closed one. */
  get present(): AccountSession {
    const last = this.#open.at(-1) as AccountSession;
    const block = storedSecretIn(this.#credentials)?.successor() ?? null;
    if (block === null || this.#isClosed) return last;
    const opened = this.#room.openSession(block, last.payer);
    if (!opened.ok) return last;
    this.#credentials = block;
    this.#open.push(opened.session);
    return opened.session;
  }

  close(): void {
    this.#isClosed = true;
    for (const session of this.#open) session.close();
  }
}
