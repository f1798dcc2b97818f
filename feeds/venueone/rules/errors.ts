/**
 * venueone's refusal texts → our reasons (sheet section 5.4). Texts are matched by prefix, because live per-order
 * texts end with ` asset=<n>` and many carry figures; the docs' own wording differs from the live one in places and the
 * table holds both. Classes are those of the venue sheets: P caller's parameters, A auth, F funds or margin, S state, R
 * retry later, U outcome unknown, N nothing to do.
 */
import type { RejectReason } from "../../../engine/domain/order.js";

export type ErrorClass = "P" | "A" | "F" | "S" | "R" | "U" | "N";

export interface VenueError {
  readonly reason: RejectReason;
  readonly errorClass: ErrorClass;
  /** Stable word for programs: the venue has texts only. */
  readonly code: string;
}

interface Row extends VenueError {
  readonly prefix: string;
}

function row(prefix: string, code: string, reason: RejectReason, errorClass: ErrorClass): Row {
  return { prefix, code, reason, errorClass };
}

const ROWS: readonly Row[] = [
  // One order of a batch.
  row("Price must be divisible by tick size", "tickRejected", "PRICE", "P"),
  row("Order must have minimum value of", "minTradeNtlRejected", "SIZE", "P"),
  row("Insufficient margin to place order", "perpMarginRejected", "INSUFFICIENT_MARGIN", "F"),
  row("Reduce only order would increase position", "reduceOnlyRejected", "REDUCE_ONLY", "S"),
  row("Reduce-only TWAP order would increase position", "reduceOnlyRejected", "REDUCE_ONLY", "S"),
  row("Post only order would have immediately matched", "badAloPxRejected", "PRICE", "S"),
  row("Order could not immediately match against any resting orders", "iocCancelRejected", "NO_LIQUIDITY", "S"),
  row("Invalid TP/SL price", "badTriggerPxRejected", "PRICE", "P"),
  row("No liquidity available for market order", "marketOrderNoLiquidityRejected", "NO_LIQUIDITY", "S"),
  row(
    "Order would increase open interest while open interest is capped",
    "openInterestCapRejected",
    "VENUE_STATE",
    "S",
  ),
  row(
    "Order rejected due to price more aggressive than oracle",
    "tooAggressiveAtOpenInterestCapRejected",
    "PRICE",
    "S",
  ),
  row("Order would increase open interest too quickly", "openInterestIncreaseRejected", "VENUE_STATE", "R"),
  row("Insufficient spot balance", "insufficientSpotBalanceRejected", "INSUFFICIENT_MARGIN", "F"),
  row("Order has insufficient spot balance to trade", "insufficientSpotBalanceRejected", "INSUFFICIENT_MARGIN", "F"),
  row("Order price too far from oracle", "oracleRejected", "PRICE", "P"),
  row("Price too far from oracle", "oracleRejected", "PRICE", "P"),
  row("Order would cause position to exceed margin tier limit", "perpMaxPositionRejected", "INSUFFICIENT_MARGIN", "F"),
  row("Order price cannot be more than 80% away from the reference price", "priceBand", "PRICE", "P"),
  row("Order has invalid price", "invalidPrice", "PRICE", "P"),
  row("Order has invalid size", "invalidSize", "SIZE", "P"),
  row("Order has zero size", "zeroSize", "SIZE", "P"),
  row("Orders are empty", "emptyOrders", "SIZE", "P"),
  row("Order was never placed, already canceled, or filled", "unknownOrder", "NOT_FOUND", "S"),
  row("Only post-only orders allowed immediately after network upgrade", "upgradeGate", "VENUE_STATE", "R"),
  row("Builder fee has not been approved", "builderFee", "AUTH", "A"),
  // The whole request.
  row("User or API Wallet", "unknownSigner", "AUTH", "A"),
  row("Must deposit before performing actions", "noAccount", "AUTH", "A"),
  row("Unable to recover signer", "badSignature", "AUTH", "A"),
  row("Invalid nonce: duplicate nonce", "duplicateNonce", "VENUE_STATE", "A"),
  row("Invalid nonce: nonce too low", "nonceTooLow", "VENUE_STATE", "A"),
  row("Invalid nonce: nonce too high", "nonceTooHigh", "VENUE_STATE", "A"),
  row("Action already expired", "expired", "VENUE_STATE", "R"),
  row("Cannot modify canceled or filled order", "unknownOrder", "NOT_FOUND", "S"),
  row("Cannot switch leverage type with open position", "leverageType", "VENUE_STATE", "S"),
  row("Position does not use isolated margin", "notIsolated", "VENUE_STATE", "S"),
  row("Signed action over weight limit of", "batchTooLarge", "SIZE", "P"),
  row("Too many cumulative requests sent", "addressBudget", "RATE_LIMITED", "R"),
  row("Cannot set scheduled cancel time until enough volume traded", "scheduleCancelVolume", "VENUE_STATE", "S"),
  row("Scheduled cancel time must be", "scheduleCancelTime", "VENUE_STATE", "P"),
  row("Too many scheduled cancels", "scheduleCancelCount", "VENUE_STATE", "R"),
  row("Invalid leverage", "invalidLeverage", "VENUE_STATE", "P"),
  row("Modified order must be", "modifyType", "VENUE_STATE", "P"),
  row("TP/SL orders must be reduce only", "tpslReduceOnly", "REDUCE_ONLY", "P"),
  row("Action disabled when unified account is active", "unifiedAccount", "VENUE_STATE", "S"),
  row("Insufficient balance for withdrawal", "insufficientBalance", "INSUFFICIENT_MARGIN", "F"),
  row("Insufficient balance for token transfer", "insufficientBalance", "INSUFFICIENT_MARGIN", "F"),
  row("Invalid send", "invalidSend", "SIZE", "P"),
  row("Unknown token", "unknownToken", "NOT_FOUND", "P"),
  row("Unknown coin", "unknownCoin", "NOT_FOUND", "P"),
  row("Invalid perp DEX", "unknownDex", "NOT_FOUND", "P"),
  row("Invalid decimal number", "invalidDecimal", "SIZE", "P"),
  row("Send amount cannot be zero", "zeroSize", "SIZE", "P"),
  row("Invalid number of decimals", "invalidDecimal", "SIZE", "P"),
  row("Agent can only send asset to same user", "agentRight", "AUTH", "A"),
  row("Too many extra agents", "tooManyAgents", "VENUE_STATE", "S"),
  row("Extra agent already used", "agentUsed", "VENUE_STATE", "S"),
  row("User has pending agent removal", "agentRemoval", "VENUE_STATE", "R"),
  row("Agent valid_until already expired", "agentExpired", "AUTH", "A"),
  row("Vault not registered", "unknownVault", "AUTH", "A"),
];

/** `Insufficient {TOKEN} balance for token transfer gas.` begins with what varies after its first word. */
const GAS_BALANCE = /^Insufficient \S+ balance for token transfer gas/;
/** No live text for a client id in use is recorded; whatever its wording, it must be looked up and not taken for a failure. */
const DUPLICATE_CLOID = /\b(?:duplicate|already)\b.*\bcloid\b|\bcloid\b.*\b(?:duplicate|already)\b/i;
/** Some clients print this before the text. */
const OPTIONAL_PREFIX = "L1 error: ";

const UNKNOWN_REFUSAL: VenueError = { reason: "VENUE_STATE", errorClass: "S", code: "refused" };

/** A text that is not in the table is still a refusal: the venue answered it in place of an order. */
export function classifyText(text: string): VenueError {
  const body = text.startsWith(OPTIONAL_PREFIX) ? text.slice(OPTIONAL_PREFIX.length) : text;
  for (const candidate of ROWS) if (body.startsWith(candidate.prefix)) return candidate;
  if (DUPLICATE_CLOID.test(body)) return { reason: "DUPLICATE_CLIENT_ID", errorClass: "S", code: "duplicateCloid" };
  if (GAS_BALANCE.test(body)) return { reason: "INSUFFICIENT_MARGIN", errorClass: "F", code: "insufficientBalance" };
  return UNKNOWN_REFUSAL;
}

export type NonceProblem =
  | { readonly kind: "duplicate" | "tooLow"; readonly seenNonce: number }
  | { readonly kind: "tooHigh" }
  | null;

/** What a nonce refusal tells the sequencer; null for other texts. Nonce refusals come before execution. */
export function nonceProblem(text: string): NonceProblem {
  const duplicate = /Invalid nonce: duplicate nonce (\d{1,16})/.exec(text);
  if (duplicate !== null) return { kind: "duplicate", seenNonce: Number(duplicate[1]) };
  const tooLow = /Invalid nonce: nonce too low \d{1,16} < (\d{1,16})/.exec(text);
  if (tooLow !== null) return { kind: "tooLow", seenNonce: Number(tooLow[1]) };
  return text.includes("Invalid nonce: nonce too high") ? { kind: "tooHigh" } : null;
}

/** Requests sent and granted, as a refusal for the address budget names them. Null for other texts. */
export function addressBudgetOf(text: string): { readonly used: number; readonly cap: number } | null {
  const found = /Too many cumulative requests sent \((\d{1,15}) > (\d{1,15})\)/.exec(text);
  return found === null ? null : { used: Number(found[1]), cap: Number(found[2]) };
}

/** `User or API Wallet 0x… does not exist.` and its like: what was cached of the signer no longer holds. */
export function isSignerProblem(error: VenueError): boolean {
  return error.code === "unknownSigner" || error.code === "noAccount";
}

/** It refuses the key itself, whatever was asked with it. */
export function isKeyRefusal(error: VenueError): boolean {
  return isSignerProblem(error) || error.code === "badSignature" || error.code === "unknownVault";
}
