/** Sessions of a fake venue, and how its reads fail. */
import type { RoutableVenue } from "../../domain/venue.js";
import type { AccountSession, ReadFailure } from "../../ports.js";

export class FakeSession implements AccountSession {
  readonly venue: RoutableVenue;
  readonly accountId: string;
  readonly accountScope: string;
  readonly payer: string | null;
  closed = false;

  constructor(venue: RoutableVenue, accountId: string, accountScope = "", payer: string | null = null) {
    this.venue = venue;
    this.accountId = accountId;
    this.accountScope = accountScope;
    this.payer = payer;
  }

  close(): void {
    this.closed = true;
  }

  toJSON(): object {
    return {};
  }
}

export function isClosed(session: AccountSession): boolean {
  return session instanceof FakeSession && session.closed;
}

export function failure(code: ReadFailure): {
  ok: false;
  code: ReadFailure;
  message: string;
  retryAfterMs: number | null;
} {
  return { ok: false, code, message: code, retryAfterMs: code === "RATE_LIMITED" ? 700 : null };
}
