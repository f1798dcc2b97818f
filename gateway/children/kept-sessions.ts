/**
 * Sessions that a caller named by `session_id`: they keep settings and temporary tables from one request to the next.
 * Bounded in number and idle time; one request at a time, as on a server.
 */
import type { EngineSession } from "./chdb-engine.js";
import { EngineError } from "./engine-error.js";

const SESSIONS_MAX = 16;
const TOO_MANY = 202;
const SESSION_NOT_FOUND = 372;
const SESSION_IS_LOCKED = 373;

interface Kept {
  readonly session: EngineSession;
  /** Null while a request uses it. */
  expiry: NodeJS.Timeout | null;
}

export class KeptSessions {
  readonly #open: () => EngineSession;
  readonly #kept = new Map<string, Kept>();

  constructor(open: () => EngineSession) {
    this.#open = open;
  }

  take(id: string, mustExist: boolean): EngineSession {
    const kept = this.#kept.get(id);
    if (kept === undefined) {
      if (mustExist) throw new EngineError(SESSION_NOT_FOUND, "Session is not found or has expired");
      if (this.#kept.size >= SESSIONS_MAX)
        throw new EngineError(TOO_MANY, `More than ${SESSIONS_MAX} sessions are open`);
      const session = this.#open();
      this.#kept.set(id, { session, expiry: null });
      return session;
    }
    if (kept.expiry === null) throw new EngineError(SESSION_IS_LOCKED, "Session is locked by a concurrent client");
    clearTimeout(kept.expiry);
    kept.expiry = null;
    return kept.session;
  }

  give(id: string, idleSeconds: number): void {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.expiry !== null) return;
    kept.expiry = setTimeout(() => {
      this.#kept.delete(id);
      kept.session.close();
    }, idleSeconds * 1_000);
    kept.expiry.unref();
  }

  /** Drops a session whose state is no longer known. */
  drop(id: string): void {
    this.#kept.get(id)?.session.close();
    this.#kept.delete(id);
  }

  close(): void {
    for (const kept of this.#kept.values()) {
      if (kept.expiry !== null) clearTimeout(kept.expiry);
      kept.session.close();
    }
    this.#kept.clear();
  }
}
