// hot path
/**
 * What the answer to one transaction means, whichever way it came. `rejected` only for what the venue (or our own
 * limiter) refused before execution; `unknown` for everything that may have been executed.
 */
import {
  type FailedRead,
  isRateLimitStatus,
  isRefusedUnexecuted,
  localReject,
  notSentOrder,
  type RejectedOrder,
  retryAfterMs,
  venueText,
} from "../../shared/net/call-results.js";
import type { HttpResult } from "../../shared/net/http.js";
import { type ExchangeOutcome, rejectedExchange, unknownExchange } from "../../shared/orders/exchange-outcome.js";
import { isFields, parseJsonExact } from "../../shared/room/wire-fields.js";
import {
  isCredentialCode,
  isLastingCode,
  isLimitCode,
  isNonceCode,
  isUndecidedCode,
  rejectReasonOf,
} from "../rules/errors.js";
import type { NonceOutcome } from "./nonce-window.js";

/** An answer of the venue, read off a REST response or a frame. */
export interface TxReply {
  /** Of HTTP; a frame has 200 for a yes and 400 for a refusal. */
  readonly status: number;
  /** The venue's own; null where the answer has none. */
  readonly code: number | null;
  readonly message: string;
  /** Null where the answer names none. */
  readonly hash: string | null;
  readonly retryAfterMs: number | null;
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

export type TxResult =
  | { readonly kind: "reply"; readonly reply: TxReply }
  | Extract<HttpResult, { kind: "notSent" | "noResponse" }>;

export type Exchanged = ExchangeOutcome<TxReply>;

/** The outcome of the nonce, and of the order. `again`: nothing was executed, only the nonce was wrong. */
export interface TxAnswer {
  readonly nonceOutcome: NonceOutcome;
  readonly sent: Exchanged | "again";
  /** The key is none of its account's (any more). */
  readonly doubtsKey: boolean;
}

const CODE_OK = 200;

/** The result of a REST call in the words of both ways. */
export function resultOfHttp(result: HttpResult): TxResult {
  if (result.kind !== "response") return result;
  const data = parseJsonExact(result.body);
  const fields = isFields(data) ? data : {};
  const { code, message, tx_hash: hash } = fields;
  return {
    kind: "reply",
    reply: {
      status: result.status,
      code: typeof code === "number" ? code : null,
      message: typeof message === "string" ? message : result.body,
      hash: typeof hash === "string" && hash !== "" ? hash : null,
      retryAfterMs: retryAfterMs(result),
      sentAtMs: result.sentAtMs,
      receivedAtMs: result.receivedAtMs,
    },
  };
}

/** `hash` is computed from what was sent: an answer with another one means another transaction. */
export function judge(result: TxResult, hash: string): TxAnswer {
  if (result.kind === "notSent") return kept(notSentOrder(result));
  if (result.kind === "noResponse") return doubtful(result.reason);
  const { reply } = result;
  const { code, status } = reply;
  if (status === 200 && code === CODE_OK) {
    if (reply.hash === null) return doubtful("NO_TX_HASH");
    if (reply.hash.toLowerCase() !== hash) return doubtful("TX_HASH");
    return { nonceOutcome: "spent", sent: { kind: "answered", answer: reply }, doubtsKey: false };
  }
  if (code !== null && isUndecidedCode(code)) return doubtful(String(code));
  if (code !== null && isNonceCode(code)) return { nonceOutcome: "refused", sent: "again", doubtsKey: false };
  // 200 with another code is a refusal in the venue's own words; without one it is no answer.
  const isRefused = status === 200 ? code !== null : isRefusedUnexecuted(status);
  if (!isRefused) return doubtful(status === 200 ? "REPLY_UNREADABLE" : `HTTP_${status}`);
  return kept(refusal(reply), code !== null && isCredentialCode(code));
}

export function kept(outcome: RejectedOrder, doubtsKey = false): TxAnswer {
  return { nonceOutcome: "kept", sent: rejectedExchange(outcome), doubtsKey };
}

export function doubtful(cause: string): TxAnswer {
  return { nonceOutcome: "doubtful", sent: unknownExchange(cause), doubtsKey: false };
}

/** A read that had to come first failed: nothing was signed. */
export function notSentRead(failure: FailedRead): RejectedOrder {
  const { code, message, retryAfterMs: retryAfter } = failure;
  const isAuth = code === "AUTH" || code === "NEEDS_CREDENTIALS";
  return {
    ...localReject(isAuth ? "AUTH" : code === "RATE_LIMITED" ? "RATE_LIMITED" : "VENUE_STATE", code, message),
    retryAfterMs: retryAfter,
  };
}

function refusal({ status, code, message, retryAfterMs: retryAfter }: TxReply): RejectedOrder {
  const isLimit = isRateLimitStatus(status) || (code !== null && isLimitCode(code));
  return {
    outcome: "rejected",
    reason: isLimit ? "RATE_LIMITED" : code === null ? "VENUE_STATE" : rejectReasonOf(code),
    venueCode: code === null ? `HTTP_${status}` : String(code),
    venueText: venueText(message),
    sent: true,
    retryAfterMs: isLimit ? retryAfter : null,
    ...(code !== null && isLastingCode(code) ? { isLasting: true } : {}),
  };
}
