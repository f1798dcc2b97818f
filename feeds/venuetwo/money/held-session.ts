/** The session that a money call of venuetwo needs: all of them are signed by a key of the account. */
import type { AccountSession } from "../../../engine/ports.js";
import { type FailedRead, failedRead } from "../../shared/net/call-results.js";
import { VenuetwoSession } from "../account/session.js";

export type HeldSession = { readonly ok: true; readonly session: VenuetwoSession } | FailedRead;

export function heldSession(session: AccountSession | null): HeldSession {
  if (session === null) return failedRead("NEEDS_CREDENTIALS", "the venue answers a key of the account alone");
  return session instanceof VenuetwoSession ? { ok: true, session } : failedRead("AUTH", "session of another venue");
}
