/**
 * The account behind a key: agents of one account share its limits and its dead-man's switch. A room says whose orders a
 * session's are, from what it remembers or by asking the venue; where that cannot be known, the caller of this decides,
 * and never for "another account".
 */
import type { Clock } from "../../domain/clock.js";
import { within } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { Guards } from "../../guards/guards.js";
import type { AccountSession, CallOptions, Read, VenueRoom } from "../../ports.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";

/** Keyed hash of the account behind the session. */
export type AccountBehind =
  | { readonly ok: true; readonly accountHash: string }
  /** Not known: fit for a refusal. Nothing was sent that changes anything. */
  | { readonly ok: false; readonly error: ServiceError };

interface Parts {
  readonly clock: Clock;
  readonly hash: KeyedHash;
}

export interface CountedAccountParts extends Parts {
  readonly guards: Guards;
}

export async function accountBehind(
  parts: Parts,
  room: VenueRoom,
  session: AccountSession,
  options: CallOptions,
): Promise<AccountBehind> {
  const { accountNames } = room;
  if (accountNames === undefined) return behind(parts.hash, session, [session.accountId, session.accountScope ?? ""]);
  const known = accountNames.known(session);
  if (known !== null) return behind(parts.hash, session, [known]);
  const asked = await within(parts.clock, accountNames.read(session, options), options.timeoutMs);
  if (!asked.done) return unknown(room, { ok: false, code: "TIMEOUT", message: "", retryAfterMs: null });
  return asked.value.ok ? behind(parts.hash, session, [asked.value.value]) : unknown(room, asked.value);
}

/** What counts an opening order: its account where the guards count by it, `own` where nothing turns on it. */
export async function countedAccount(
  parts: CountedAccountParts,
  room: VenueRoom,
  session: AccountSession,
  order: {
    readonly opens: boolean;
    readonly ownerId: string | null;
    readonly own: string;
    readonly timeoutMs: number;
  },
): Promise<AccountBehind> {
  if (!order.opens || !parts.guards.countsAccount(order.ownerId)) return { ok: true, accountHash: order.own };
  return accountBehind(parts, room, session, { timeoutMs: order.timeoutMs, lane: "trade" });
}

function behind(hash: KeyedHash, session: AccountSession, names: readonly string[]): AccountBehind {
  return { ok: true, accountHash: hash.hmacHex("account-behind", [session.venue, ...names]) };
}

function unknown({ venue }: VenueRoom, read: Extract<Read<never>, { ok: false }>): AccountBehind {
  const { code, retryAfterMs } = read;
  const exchange = venue;
  if (code === "AUTH" || code === "NEEDS_CREDENTIALS")
    return { ok: false, error: new ServiceError("MISSING_CREDENTIALS", { exchange, reason: code }) };
  const wait = retryAfterMs === null ? {} : { retryAfterMs };
  if (code === "RATE_LIMITED")
    return { ok: false, error: new ServiceError("VENUE_RATE_LIMITED", { exchange, ...wait }) };
  return {
    ok: false,
    error: new ServiceError("VENUE_UNAVAILABLE", { exchange, reason: "ACCOUNT_UNKNOWN", ...wait }),
  };
}
