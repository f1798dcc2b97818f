/**
 * The one error of trading at venuefive. Programs branch on `code`; `outcome` says what became of the transaction of
 * `stage`. Invariant: once a transaction may have left, no error has the outcome `notSent`.
 */
import type { Hex } from "viem";

export type VenuefiveErrorCode =
  // Refused by this library, before anything is signed.
  | "INVALID_OPTIONS"
  | "INVALID_PARAMETERS"
  | "TOO_MANY_DECIMALS"
  | "UNKNOWN_SYMBOL"
  | "UNKNOWN_PAIR"
  | "LEVERAGE_OUT_OF_RANGE"
  | "ZERO_FEE_NOT_ALLOWED"
  | "NOTIONAL_TOO_SMALL"
  | "SLIPPAGE_OUT_OF_RANGE"
  | "INVALID_TAKE_PROFIT"
  | "INVALID_STOP_LOSS"
  | "PRICE_UPDATE_MISSING"
  | "EXECUTION_FEE_TOO_HIGH"
  // What was to be followed is no trade of this account's: what it does is unknown, and it is not followed.
  | "NOT_OWN_TRANSACTION"
  // What the wallet and the chain show, before anything is signed.
  | "WALLET_DISCONNECTED"
  | "WRONG_CHAIN"
  | "PAIR_MISMATCH"
  | "CONTRACT_NOT_FOUND"
  | "CHAIN_UNAVAILABLE"
  | "NO_POSITION"
  | "NO_LIMIT_ORDER"
  | "ALREADY_BEING_CLOSED"
  | "AMOUNT_TOO_LARGE"
  | "INSUFFICIENT_USDC"
  | "INSUFFICIENT_ALLOWANCE"
  | "INSUFFICIENT_GAS"
  // The wallet's answer.
  | "USER_REJECTED"
  | "SIGN_TIMEOUT"
  | "SEND_REFUSED"
  | "SEND_UNKNOWN"
  // The contract's refusal: when simulated (`notSent`), or in its block (`failed`).
  | "REVERTED"
  // After the transaction left.
  | "TRANSACTION_CANCELLED"
  | "TRANSACTION_REPLACED"
  | "TRANSACTION_DROPPED"
  | "RECEIPT_TIMEOUT"
  | "UNEXPECTED_RECEIPT"
  | "ORDER_CANCELED"
  | "EXECUTION_TIMEOUT"
  // A fault of this library or of what it was given.
  | "INTERNAL";

/**
 * `notSent`: nothing left. `failed`: it left, and certainly changed no position. `pending`: it is in its block, and the
 * order waits for the keeper. `unknown`: it may be done, or be done yet.
 */
export type VenuefiveOutcome = "notSent" | "failed" | "pending" | "unknown";

/** The approval of USDC, or the transaction that trades. */
export type VenuefiveStage = "approve" | "trade";

export interface VenuefiveErrorFacts {
  readonly outcome?: VenuefiveOutcome;
  readonly stage?: VenuefiveStage;
  readonly txHash?: Hex | null;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class VenuefiveTradeError extends Error {
  override readonly name = "VenuefiveTradeError";
  readonly code: VenuefiveErrorCode;
  readonly outcome: VenuefiveOutcome;
  readonly stage: VenuefiveStage;
  /** Of the transaction of `stage`; null where none is known. */
  readonly txHash: Hex | null;
  /** Plain data; amounts are decimal texts. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: VenuefiveErrorCode, message: string, facts: VenuefiveErrorFacts = {}) {
    super(message, "cause" in facts ? { cause: facts.cause } : {});
    this.code = code;
    this.outcome = facts.outcome ?? "notSent";
    this.stage = facts.stage ?? "trade";
    this.txHash = facts.txHash ?? null;
    this.details = facts.details ?? {};
  }
}

/** Of a parameter that is not what it must be. */
export const invalid = (field: string, expected: string): VenuefiveTradeError =>
  new VenuefiveTradeError("INVALID_PARAMETERS", `${field} must be ${expected}`, { details: { field, expected } });

/** The same error with more to say: the hash of its transaction where it has none. */
export function withFacts(
  error: VenuefiveTradeError,
  { txHash, details }: Pick<VenuefiveErrorFacts, "txHash" | "details">,
): VenuefiveTradeError {
  const { code, message, outcome, stage, cause } = error;
  const facts = { txHash: error.txHash ?? txHash ?? null, details: { ...error.details, ...details } };
  return new VenuefiveTradeError(code, message, { outcome, stage, cause, ...facts });
}

/** A fault of ours may come after the send: its outcome is unknown. */
export function typedError(thrown: unknown): VenuefiveTradeError {
  if (thrown instanceof VenuefiveTradeError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new VenuefiveTradeError("INTERNAL", message, { outcome: "unknown", cause: thrown });
}
