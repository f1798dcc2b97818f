/** One account of one call, from the caller's credentials to the moment its session is closed. */
import type { SingleRun } from "./single-run.js";
import type { OrderFollows } from "../follow/order-follows.js";
import type { Owners } from "../../domain/owner.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import type { Instrument } from "../../domain/instrument.js";
import type { CallOptions, AccountSession, Lane, ReadFailure, VenueRoom } from "../../ports.js";
import type { Deadline } from "../../domain/deadline.js";
import { scrub } from "../../domain/scrub.js";
import { collectSecrets } from "../redact.js";
import { type Rooms, sessionHash } from "../accounts.js";
import { invalid, refusal } from "./order-check.js";
import type { OrderAccount, OrderRefusal, OrderRequestContext, PlaceRequest } from "./order-desk.js";
import { MAX_CALL_TIMEOUT_MS } from "./single-context.js";

/** What opens an account. */
export interface AccountParts {
  readonly rooms: Rooms;
  readonly hash: KeyedHash;
  readonly owners: Owners;
  readonly follows: OrderFollows<SingleRun>;
}

/** Symbols named in an UNKNOWN_SYMBOL. */
const PREVIEW_SYMBOLS = 20;

export interface OpenedAccount {
  readonly room: VenueRoom;
  readonly session: AccountSession;
  /** Who asks. */
  readonly ownerId: string | null;
  /** Of the caller and the account. */
  readonly accountHash: string;
  /** The account as each owner's whose rows the caller reaches, `accountHash` first. */
  readonly accountHashes: readonly string[];
  /** Of the account alone: for what is a fact of the venue, whoever asks. */
  readonly venueAccountHash: string;
  readonly secrets: readonly string[];
}

/** The account under the names that the caller reaches, its own first. */
export function accountHashesOf(
  { hash, owners }: Pick<AccountParts, "hash" | "owners">,
  session: AccountSession,
  ownerId: string | null,
): { readonly accountHash: string; readonly accountHashes: readonly string[] } {
  const accountHashes = owners.reachedBy(ownerId).map((owner) => sessionHash(hash, session, owner));
  return { accountHash: sessionHash(hash, session, ownerId), accountHashes };
}

/** Opens the session, does the work, closes it, whatever the end. */
export async function withAccount<T>(
  parts: AccountParts,
  account: OrderAccount,
  { ownerId, payer }: Pick<OrderRequestContext, "ownerId" | "payer">,
  work: (opened: OpenedAccount) => Promise<T>,
): Promise<T | OrderRefusal> {
  const room = roomOf(parts.rooms, account);
  if (!("orders" in room)) return room;
  const opened = room.openSession(account.credentials, payer);
  if (!opened.ok) return refusal("MISSING_CREDENTIALS", { exchange: account.venue, problem: opened.problem });
  const { session } = opened;
  try {
    parts.follows.meet(account.venue, { session, credentials: account.credentials }, ownerId);
    const hashes = accountHashesOf(parts, session, ownerId);
    const venueAccountHash = sessionHash(parts.hash, session, null);
    const secrets = collectSecrets(account.credentials);
    return await work({ room, session, ownerId, ...hashes, venueAccountHash, secrets });
  } finally {
    session.close();
  }
}

export function roomOf(rooms: Rooms, { venue }: OrderAccount): VenueRoom | OrderRefusal {
  return rooms.get(venue) ?? refusal("VENUE_UNAVAILABLE", { exchange: venue, reason: "NOT_CONFIGURED" });
}

/** The contract of a canonical symbol. */
export function listedInstrument(room: VenueRoom, symbol: string): Instrument | OrderRefusal {
  const instrument = room.markets.get(symbol)?.instrument;
  if (instrument !== undefined) return instrument;
  const availableSymbols = [...room.markets.keys()].sort().slice(0, PREVIEW_SYMBOLS);
  const preview = availableSymbols.join(", ");
  return refusal("UNKNOWN_SYMBOL", { symbol, where: ` on ${room.venue}`, availableSymbols, preview });
}

export function isInstrument(value: Instrument | OrderRefusal): value is Instrument {
  return "nativeSymbol" in value;
}

/** What is left of the deadline, for one call; at least 1 ms, so that a room says TIMEOUT rather than nothing. */
export function callOptions(deadline: Deadline, lane: Lane): CallOptions {
  return { timeoutMs: Math.max(1, Math.min(MAX_CALL_TIMEOUT_MS, Math.floor(deadline.leftMs()))), lane };
}

/** Credentials that a read was refused for, with the venue's own words. */
function keyRefusal(
  exchange: OrderAccount["venue"],
  { code, message = "" }: { readonly code: ReadFailure; readonly message?: string },
): OrderRefusal {
  const details = { exchange, reason: code };
  return refusal("MISSING_CREDENTIALS", message === "" ? details : { ...details, problem: scrub(message) });
}

/** The refusal of a read: a key that is not taken is the caller's to mend; the rest is `code` with its reason. */
export function readRefusal(
  code: OrderRefusal["code"],
  exchange: OrderAccount["venue"],
  failure: { readonly code: ReadFailure; readonly retryAfterMs: number | null; readonly message?: string },
): OrderRefusal {
  if (failure.code === "AUTH" || failure.code === "NEEDS_CREDENTIALS") return keyRefusal(exchange, failure);
  const { retryAfterMs } = failure;
  const details = { exchange, reason: failure.code };
  return refusal(code, retryAfterMs === null ? details : { ...details, retryAfterMs });
}

/** Null when no name that the caller gives the account is known to be another's. */
export function otherAccount(room: VenueRoom, { credentials, accountNames = [] }: PlaceRequest): OrderRefusal | null {
  for (const { path, name } of accountNames)
    if (room.namesAnother?.(credentials, name) === true) return invalid(path, "is not the account of accountIndex");
  return null;
}
