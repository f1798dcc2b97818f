/**
 * Finds which account a request is about, and with which credentials: those it carries, or those of a server wallet
 * that it may act for.
 *
 * A caller acts for a wallet of its own by sending its id in `x-wallet-id` or in the path. By a wallet's public address
 * alone its owner may act for it, and for one that was made without a key the operator of a service bound to this machine
 * (operator-access.ts).
 *
 * Invariants: credentials are passed on by reference for this request; a refusal never repeats a byte of them. Another
 * owner's wallet is refused as one that does not exist.
 */
import type { CredentialSource, WalletCredentials } from "../../engine/custody/credential-source.js";
import type { Owners } from "../../engine/domain/owner.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { isRoutableVenue, type RoutableVenue, VENUES } from "../../engine/domain/venue.js";
import { isTradingRoom, type VenueRoom } from "../../engine/ports.js";
import { CONTRACTS } from "../../schemas/venues.js";
import { type OperatorAccess, requireOperator } from "../http/operator-access.js";
import type { Ask } from "../http/json-route.js";
import { invalidParameters } from "../http/query.js";
import { type MarketView, venueUnavailable } from "../api/market-view.js";
import {
  CREDENTIALS_HEADER,
  CREDENTIALS_QUERY,
  readBodyCredentials,
  readVenueCredentials,
} from "../api/venue-credentials.js";
import { isAccountName, isEvmAddress, isWalletId } from "./names.js";

export const WALLET_HEADER = "x-wallet-id";
/** Headers read by every route that can take per-request credentials. */
export const ACCOUNT_HEADERS: readonly string[] = [WALLET_HEADER, CREDENTIALS_HEADER];

export type VenueBlocks = WalletCredentials["credentials"];

const NO_BLOCKS: VenueBlocks = {};

/** Returns the id in `x-wallet-id`. Throws MISSING_WALLET_HEADER. */
export function walletIdHeader(ask: Pick<Ask, "headers">): string {
  const text = ask.headers[WALLET_HEADER] ?? "";
  if (text === "") throw new ServiceError("MISSING_WALLET_HEADER");
  return text;
}

/** The error for an unknown wallet id: 401 on leverage, 404 elsewhere. */
export type UnknownWallet = "WALLET_NOT_FOUND" | "INVALID_WALLET_ID";

/** The wallets that a caller reaches. */
export interface OwnedWallets {
  readonly source: CredentialSource;
  readonly owners: Owners;
}

export async function findWallet(
  wallets: OwnedWallets,
  ownerId: string | null,
  walletId: string,
  unknown: UnknownWallet = "WALLET_NOT_FOUND",
): Promise<WalletCredentials> {
  const wallet = isWalletId(walletId) ? await read(wallets, walletId, ownerId) : null;
  if (wallet === null || !sameText(wallet.walletId, walletId)) throw new ServiceError(unknown);
  return wallet;
}

async function read(
  { owners, source }: OwnedWallets,
  name: string,
  ownerId: string | null,
): Promise<WalletCredentials | null> {
  try {
    for (const owner of owners.reachedBy(ownerId)) {
      const wallet = await source.find(name, owner);
      // Whatever the source found: credentials of another owner go no further.
      if (wallet !== null && wallet.ownerId === owner) return wallet;
    }
    return null;
  } catch (error) {
    // A sealed key of the wallet that does not open says so itself.
    if (error instanceof ServiceError) throw error;
    throw new ServiceError("STORE_UNAVAILABLE", {}, { cause: error });
  }
}

/** Checks that each given name is the wallet's. Throws INVALID_WALLET_ID. */
export function requireSameWallet(
  wallet: Pick<WalletCredentials, "address" | "userId" | "walletId">,
  ...names: readonly (string | null | undefined)[]
): void {
  for (const name of names) {
    if (name === null || name === undefined) continue;
    const same = name === wallet.userId || sameText(name, wallet.walletId) || sameText(name, wallet.address);
    if (!same) throw new ServiceError("INVALID_WALLET_ID");
  }
}

function sameText(left: string, right: string): boolean {
  return left.toLowerCase() === right.toLowerCase();
}

/** Returns the wallet's block for a venue. Throws MISSING_CREDENTIALS. */
export function walletBlock(wallet: WalletCredentials, venue: RoutableVenue): unknown {
  const block = wallet.credentials[venue] ?? null;
  if (block === null) throw new ServiceError("MISSING_CREDENTIALS", { exchange: venue });
  return block;
}

/** Returns the blocks that the request itself carries, in one of the possible ways. Throws INVALID_PARAMETERS. */
export function carriedBlocks(ask: Pick<Ask, "headers" | "query" | "body">): VenueBlocks {
  const header = ask.headers[CREDENTIALS_HEADER] ?? "";
  const texts = readVenueCredentials(header, ask.query[CREDENTIALS_QUERY] ?? "");
  const body = readBodyCredentials(ask.body);
  if (texts !== null && body !== null)
    throw invalidParameters({ path: "body", problem: "must not hold credentials that are given elsewhere too" });
  return texts ?? body ?? NO_BLOCKS;
}

/** Names of the wallet in the body (spec section 4), unchecked. */
function namesInBody(body: unknown): string[] {
  if (body === null || typeof body !== "object") return [];
  const { userId, walletIdOrAddress } = body as { readonly userId?: unknown; readonly walletIdOrAddress?: unknown };
  return [userId, walletIdOrAddress].filter((name) => typeof name === "string");
}

/**
 * Returns the carried blocks, then those of the wallet that `x-wallet-id` names. Throws WALLET_NOT_FOUND for an unknown
 * one, INVALID_WALLET_ID where the body names another.
 */
export async function callerBlocks(wallets: OwnedWallets, ask: Ask): Promise<VenueBlocks> {
  const carried = carriedBlocks(ask);
  const walletId = ask.headers[WALLET_HEADER] ?? null;
  if (walletId === null) return carried;
  const wallet = await findWallet(wallets, ask.caller.ownerId, walletId);
  requireSameWallet(wallet, ...namesInBody(ask.body));
  return { ...wallet.credentials, ...carried };
}

/** Returns the block for one venue. Throws MISSING_CREDENTIALS. */
export async function callerBlock(wallets: OwnedWallets, ask: Ask, venue: RoutableVenue): Promise<unknown> {
  const block = (await callerBlocks(wallets, ask))[venue] ?? null;
  if (block === null) throw new ServiceError("MISSING_CREDENTIALS", { exchange: venue });
  return block;
}

/**
 * For reads of an address: returns the carried blocks, then those of the wallet of that address if the caller may act
 * for it.
 */
export async function addressBlocks(
  wallets: OwnedWallets,
  operator: OperatorAccess,
  ask: Ask,
  walletAddress: string,
): Promise<VenueBlocks> {
  const carried = carriedBlocks(ask);
  const { ownerId } = ask.caller;
  const walletId = ask.headers[WALLET_HEADER] ?? null;
  if (walletId !== null) {
    const wallet = await findWallet(wallets, ownerId, walletId);
    requireSameWallet(wallet, walletAddress);
    return { ...wallet.credentials, ...carried };
  }
  if (ownerId === null && !isOperator(operator, ask)) return carried;
  const wallet = await read(wallets, walletAddress, ownerId);
  return wallet === null ? carried : { ...wallet.credentials, ...carried };
}

function isOperator(operator: OperatorAccess, ask: Ask): boolean {
  try {
    requireOperator(operator, ask.origin, ask.caller);
    return true;
  } catch {
    // Not the operator: no error here, the caller reads with the credentials it sent.
    return false;
  }
}

/** Returns an address in the form that wallets and accounts use. Throws INVALID_WALLET_ADDRESS. */
export function checkWalletAddress(text: string, venue: RoutableVenue | null): string {
  const form = venue === null ? "base58" : CONTRACTS[venue].credentials.accountForm;
  if (isEvmAddress(text) || isAccountName(text, form)) return text;
  throw new ServiceError("INVALID_WALLET_ADDRESS", {
    fields: [{ path: "walletAddress", problem: "must be 0x and 40 hex digits" }],
  });
}

/** What a route with `{exchange}` in its path does for a venue whose orders its callers sign. */
type ClientSignedAsk = "trade" | "read";

const CLIENT_SIGNED = {
  trade: {
    what: "orders on venuefive are signed and sent by the caller's own wallet; the client hook useVenuefiveTrade does it",
    reasonCode: "CLIENT_SIDE_ONLY",
  },
  read: {
    what: "this read of venuefive; it has its own: GET /api/trading/venuefive/positions/{walletAddress}, /orders, /orders/{orderId}/status, /history/trades, /history/orders and /balances",
    reasonCode: "READ_ELSEWHERE",
  },
} as const;

export function clientSignedRefusal(ask: ClientSignedAsk): ServiceError {
  return new ServiceError("NOT_SUPPORTED", { exchange: "venuefive", ...CLIENT_SIGNED[ask] });
}

/** Reads the `{exchange}` of a path. Throws INVALID_PARAMETERS, and NOT_SUPPORTED for venuefive. */
export function exchangeOf(text: string, ask: ClientSignedAsk = "trade"): RoutableVenue {
  if (isRoutableVenue(text)) return text;
  if (text === "venuefive") throw clientSignedRefusal(ask);
  throw invalidParameters({ path: "exchange", problem: `must be one of ${VENUES.join(", ")}` });
}

/** Returns the room with its trading side. Throws VENUE_UNAVAILABLE. */
export function tradingRoom(view: MarketView, venue: RoutableVenue): VenueRoom {
  const room = view.requireRoom(venue);
  if (!isTradingRoom(room)) throw venueUnavailable(venue, "NOT_CONFIGURED");
  return room;
}
