/**
 * venuefour's refusals → our reasons. The numeric codes changed between the tables of December 2025 and of 2026 (5 was
 * "order not found" and is "insufficient balance"), and live answers carry code 0 beside a speaking text. So the
 * `error_id` decides, then the text, then the code. Bodies are an envelope or plain text.
 * Classes: P caller's parameters, A auth, F funds or margin, S state, R retry later, U outcome unknown, N nothing to do.
 */
import type { RejectReason } from "../../../engine/domain/order.js";
import { isFields, parseJsonExact } from "../../shared/room/wire-fields.js";

export type ErrorClass = "P" | "A" | "F" | "S" | "R" | "U" | "N";

export interface VenueError {
  readonly reason: RejectReason;
  readonly errorClass: ErrorClass;
  /** Stable word for programs. */
  readonly code: string;
}

/** What an answer says about its failure. */
export interface VenuefourWireError {
  readonly errorId: string | null;
  readonly text: string;
  readonly code: number | null;
}

type Verdict = readonly [errorClass: ErrorClass, reason: RejectReason];

const AUTH: Verdict = ["A", "AUTH"];
const FUNDS: Verdict = ["F", "INSUFFICIENT_MARGIN"];
const GONE: Verdict = ["S", "NOT_FOUND"];
const STATE: Verdict = ["S", "VENUE_STATE"];
const PARAMETER: Verdict = ["P", "VENUE_STATE"];
const PRICE: Verdict = ["P", "PRICE"];
const SIZE: Verdict = ["P", "SIZE"];
const REDUCE: Verdict = ["S", "REDUCE_ONLY"];
const DUPLICATE: Verdict = ["S", "DUPLICATE_CLIENT_ID"];
const NO_PRICE: Verdict = ["S", "NO_LIQUIDITY"];
const LIMIT: Verdict = ["R", "RATE_LIMITED"];
const LATER: Verdict = ["R", "VENUE_STATE"];
/** The venue lost its own way: the order may have been executed. */
const OPEN: Verdict = ["U", "VENUE_STATE"];

/** `error_id`s seen live. `unspecified` says nothing. */
const BY_ID: ReadonlyMap<string, readonly [code: string, verdict: Verdict]> = new Map([
  ["signature_verification_failed", ["VERIFICATION_FAILED", AUTH]],
  ["invalid_amount", ["INVALID_AMOUNT", SIZE]],
]);

/** Beginnings of texts (list of October 2025 and live bodies), lower case. */
const BY_TEXT: readonly (readonly [prefix: string, code: string, verdict: Verdict])[] = [
  ["verification failed", "VERIFICATION_FAILED", AUTH],
  ["invalid signature", "INVALID_SIGNATURE", AUTH],
  // Expired, or not serialisable.
  ["invalid message", "INVALID_MESSAGE", AUTH],
  ["invalid public key", "INVALID_PUBLIC_KEY", AUTH],
  ["agent not authorized", "AGENT_NOT_AUTHORIZED", AUTH],
  ["beta access required", "BETA_ACCESS", AUTH],
  ["account not found", "ACCOUNT_NOT_FOUND", AUTH],
  ["book not found", "BOOK_NOT_FOUND", ["P", "NOT_FOUND"]],
  ["invalid tick level", "INVALID_TICK_LEVEL", PRICE],
  ["insufficient balance", "INSUFFICIENT_BALANCE", FUNDS],
  ["order not found", "ORDER_NOT_FOUND", GONE],
  ["order history not found", "ORDER_NOT_FOUND", GONE],
  // The live answer to cancelling an order that is gone.
  ["failed to cancel order", "ORDER_NOT_FOUND", GONE],
  ["order amount too low", "ORDER_AMOUNT_TOO_LOW", SIZE],
  ["order amount too high", "ORDER_AMOUNT_TOO_HIGH", SIZE],
  ["open order limit reached", "OPEN_ORDER_LIMIT_REACHED", STATE],
  ["duplicate client order id", "DUPLICATE_CLIENT_ORDER_ID", DUPLICATE],
  ["unused client order id", "UNUSED_CLIENT_ORDER_ID", GONE],
  ["position not found", "POSITION_NOT_FOUND", REDUCE],
  ["invalid reduce-only order side", "INVALID_REDUCE_ONLY_ORDER_SIDE", REDUCE],
  ["invalid reduce-only order amount", "INVALID_REDUCE_ONLY_ORDER_AMOUNT", REDUCE],
  ["no position found for reduce-only order", "NO_POSITION_FOR_REDUCE_ONLY_ORDER", REDUCE],
  ["immediate liquidation", "IMMEDIATE_LIQUIDATION", FUNDS],
  ["price too far from mark", "PRICE_TOO_FAR_FROM_MARK", PRICE],
  ["cannot decrease leverage", "INVALID_LEVERAGE", STATE],
  ["invalid transfer relationship", "INVALID_TRANSFER_RELATIONSHIP", PARAMETER],
  ["invalid cursor", "INVALID_CURSOR", PARAMETER],
  ["rate limit exceeded", "RATE_LIMIT", LIMIT],
  ["request timed out", "TIMED_OUT", OPEN],
  ["internal server error", "INTERNAL", OPEN],
];

/** Business codes of the 2026 table, which also covers what the short table of December 2025 numbers alike. */
const BY_CODE_2026: ReadonlyMap<number, readonly [code: string, verdict: Verdict]> = new Map([
  [0, ["INTERNAL", OPEN]],
  [1, ["ACCOUNT_NOT_FOUND", AUTH]],
  [2, ["ACCOUNT_ALREADY_EXISTS", STATE]],
  [3, ["BOOK_NOT_FOUND", ["P", "NOT_FOUND"]]],
  [4, ["INVALID_TICK_LEVEL", PRICE]],
  [5, ["INSUFFICIENT_BALANCE", FUNDS]],
  [6, ["ORDER_NOT_FOUND", GONE]],
  [7, ["ORDER_AMOUNT_TOO_LOW", SIZE]],
  [8, ["ORDER_AMOUNT_TOO_HIGH", SIZE]],
  [9, ["OVER_WITHDRAWAL", FUNDS]],
  [10, ["OPEN_ORDER_LIMIT_REACHED", STATE]],
  [11, ["INVALID_LEVERAGE", STATE]],
  [12, ["CANNOT_UPDATE_MARGIN", STATE]],
  [13, ["POSITION_NOT_FOUND", REDUCE]],
  [14, ["DATABASE_ERROR", OPEN]],
  [15, ["INVALID_DEPOSIT_NONCE", PARAMETER]],
  [16, ["INVALID_STOP_TICK", PRICE]],
  [17, ["INVALID_STOP_ORDER_SIDE", PARAMETER]],
  [18, ["INVALID_STOP_ORDER_AMOUNT", SIZE]],
  [19, ["INVALID_STOP_ORDER_REDUCE_ONLY", REDUCE]],
  [20, ["INVALID_ORDER_TYPE", PARAMETER]],
  [21, ["INVALID_REDUCE_ONLY_ORDER_SIDE", REDUCE]],
  [22, ["INVALID_REDUCE_ONLY_ORDER_AMOUNT", REDUCE]],
  [23, ["NO_POSITION_FOR_REDUCE_ONLY_ORDER", REDUCE]],
  [24, ["INVALID_LIQUIDATION_SIDE", STATE]],
  [25, ["NO_REASONABLE_PRICE", NO_PRICE]],
  [26, ["CHANNEL_CLOSED", OPEN]],
  [27, ["RESPONSE_DROPPED", OPEN]],
  [28, ["IMMEDIATE_LIQUIDATION", FUNDS]],
  [29, ["WITHDRAW_AMOUNT_TOO_LOW", SIZE]],
  [30, ["PRICE_TOO_FAR_FROM_MARK", PRICE]],
  [31, ["DAILY_WITHDRAW_LIMIT_EXCEEDED", STATE]],
  [32, ["WITHDRAWAL_BLOCKED", STATE]],
  [33, ["INVALID_TRANSFER_RELATIONSHIP", PARAMETER]],
  [34, ["SUBACCOUNT_RULE", PARAMETER]],
  [35, ["SUBACCOUNT_RULE", PARAMETER]],
  [36, ["DUPLICATE_CLIENT_ORDER_ID", DUPLICATE]],
  [37, ["UNUSED_CLIENT_ORDER_ID", GONE]],
  [38, ["TRADING_DISABLED", STATE]],
  [39, ["INVALID_FEE_MODE", PARAMETER]],
  [40, ["NOT_MAIN_ACCOUNT", AUTH]],
  [41, ["OPEN_INTEREST_LIMIT_EXCEEDED", STATE]],
  [49, ["POSITION_TPSL_LIMIT_EXCEEDED", STATE]],
  [50, ["INVALID_BUILDER_CODE", AUTH]],
  [51, ["UNSUPPORTED_OPERATION", PARAMETER]],
  [52, ["INVALID_TICK_SIZE", PRICE]],
  [53, ["ORDER_BLOCKED_BY_LOAN_POOL_STRESS", LATER]],
  [59, ["INVALID_AMOUNT", SIZE]],
  [61, ["SPOT_BALANCE", FUNDS]],
  [62, ["SPOT_BALANCE", FUNDS]],
  [63, ["MISSING_MARK_PRICE", LATER]],
  [106, ["REDUCE_ONLY_NOT_SUPPORTED_FOR_SPOT", REDUCE]],
  [119, ["ORACLE_NOT_AVAILABLE", LATER]],
  // Socket codes, and HTTP statuses repeated in the body; they never meet the numbers above.
  [400, ["INVALID_REQUEST", PARAMETER]],
  [401, ["INVALID_SIGNATURE", AUTH]],
  [402, ["INVALID_SIGNER", AUTH]],
  [403, ["UNAUTHORIZED", AUTH]],
  [404, ["NOT_FOUND", GONE]],
  [409, ["CONFLICT", STATE]],
  [420, ["ENGINE_ERROR", STATE]],
  [422, ["BUSINESS_ERROR", STATE]],
  [429, ["RATE_LIMIT", LIMIT]],
  [500, ["INTERNAL", OPEN]],
  [503, ["UNAVAILABLE", OPEN]],
  [504, ["TIMED_OUT", OPEN]],
]);

/** The table of December 2025 where it differs; distinguished by the text only, so each is doubted. */
const BY_CODE_2025: ReadonlyMap<number, string> = new Map([
  [2, "BOOK_NOT_FOUND"],
  [3, "INVALID_TICK_LEVEL"],
  [4, "INSUFFICIENT_BALANCE"],
  [5, "ORDER_NOT_FOUND"],
  [6, "OVER_WITHDRAWAL"],
  [7, "INVALID_LEVERAGE"],
  [8, "CANNOT_UPDATE_MARGIN"],
  [9, "POSITION_NOT_FOUND"],
  [10, "POSITION_TPSL_LIMIT_EXCEEDED"],
]);

/** Bytes of a plain-text body that are kept. */
const MAX_TEXT_CHARS = 300;

/** The error an answer carries; null when it is a success. */
export function readError(status: number, body: string): VenuefourWireError | null {
  const parsed = parseJsonExact(body);
  const isSuccessStatus = status >= 200 && status < 300;
  if (!isFields(parsed)) {
    // Plain text, a proxy's page, or nothing: `Verification failed` came like this.
    return isSuccessStatus ? null : { errorId: null, text: body.slice(0, MAX_TEXT_CHARS), code: null };
  }
  if (isSuccessStatus && parsed["success"] !== false) return null;
  const { error, code, error_id: errorId } = parsed;
  return {
    errorId: typeof errorId === "string" ? errorId : null,
    text: typeof error === "string" ? error.slice(0, MAX_TEXT_CHARS) : "",
    code: typeof code === "number" && Number.isSafeInteger(code) ? code : null,
  };
}

const KEY_REFUSALS: ReadonlySet<string> = new Set([
  "VERIFICATION_FAILED",
  "INVALID_SIGNATURE",
  "INVALID_PUBLIC_KEY",
  "AGENT_NOT_AUTHORIZED",
  "ACCOUNT_NOT_FOUND",
]);

/** It refuses the signer, independent of the request. */
export function isKeyRefusal(error: VenueError): boolean {
  return KEY_REFUSALS.has(error.code);
}

/** An error that no table knows is still a refusal, unless its status does not decide the outcome. */
export function classifyError(status: number, error: VenuefourWireError): VenueError {
  if (status === 429) return asError("RATE_LIMIT", LIMIT);
  const byId = error.errorId === null ? undefined : BY_ID.get(error.errorId);
  if (byId !== undefined) return asError(byId[0], byId[1]);
  const byText = textRow(error.text);
  if (byText !== null) return asError(byText[1], byText[2]);
  const rejection = error.code === null ? undefined : BY_CODE_2026.get(error.code);
  if (rejection !== undefined && error.code !== null) {
    const older = BY_CODE_2025.get(error.code);
    // Two meanings and no text to distinguish them: refused, and no more than that.
    return older === undefined ? asError(rejection[0], rejection[1]) : asError(`${rejection[0]}|${older}`, STATE);
  }
  return fromStatus(status);
}

function fromStatus(status: number): VenueError {
  const known = BY_CODE_2026.get(status);
  if (known !== undefined) return asError(known[0], known[1]);
  return status >= 500 ? asError("INTERNAL", OPEN) : asError("REFUSED", STATE);
}

function textRow(text: string): (typeof BY_TEXT)[number] | null {
  const lower = text.trim().toLowerCase();
  return BY_TEXT.find(([prefix]) => lower.startsWith(prefix)) ?? null;
}

function asError(code: string, [errorClass, reason]: Verdict): VenueError {
  return { code, errorClass, reason };
}
