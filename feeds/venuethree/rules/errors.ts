/**
 * The venue's codes, as far as we meet them (the full list is the venue's error page; groups: 200xx request and auth,
 * 211xx account, 215xx transaction, 216xx market, 217xx order, 230xx limits, 295xx server, 300xx WebSocket).
 */
import type { RejectReason } from "../../../engine/domain/order.js";
import { isFields, parseJsonExact } from "../../shared/room/wire-fields.js";
import { defaultLimitVerdict, type HttpResponse, type LimitVerdict } from "../../shared/net/http-pool.js";

/** What an error frame means for us. Frames of this kind name no channel, or only in their text. */
export type StreamFault =
  /** The venue holds this subscription already, and will send no snapshot for it. */
  | "alreadySubscribed"
  | "notSubscribed"
  /** Too many messages, or too many unanswered: nothing is sent for a while. */
  | "tooManyMessages"
  /** Subscriptions, accounts or connections over the venue's limit. */
  | "tooManySubscriptions"
  | "badChannel"
  | "other";

const FAULTS: ReadonlyMap<number, StreamFault> = new Map([
  [30002, "notSubscribed"],
  [30003, "alreadySubscribed"],
  [30005, "badChannel"],
  [30006, "badChannel"],
  [30009, "tooManyMessages"],
  [30010, "tooManyMessages"],
  [23001, "tooManySubscriptions"],
  [23002, "tooManySubscriptions"],
  [23003, "tooManySubscriptions"],
]);

export function streamFault(code: number): StreamFault {
  return FAULTS.get(code) ?? "other";
}

/** Too many requests, as a body code of an answer that need not be a 429. */
const CODE_TOO_MANY_REQUESTS = 23000;

/** Which answers limit us: 429 and 418 by status, code 23000 by body. */
export function judgeLimit(response: HttpResponse, nowWallMs: number): LimitVerdict | null {
  const verdict = defaultLimitVerdict(response, nowWallMs);
  if (verdict !== null) return verdict;
  if (response.status < 400) return null;
  const body = parseJsonExact(response.body);
  if (!isFields(body) || body["code"] !== CODE_TOO_MANY_REQUESTS) return null;
  return { scope: "ip", retryAfterMs: null, isBan: false };
}

/** Account or key unknown, not registered, replaced; token or signature not theirs. */
const CREDENTIAL_CODES: ReadonlySet<number> = new Set([
  20013, 21100, 21101, 21102, 21107, 21108, 21109, 21110, 21120, 21136,
]);
const UNKNOWN_ACCOUNT_CODES: ReadonlySet<number> = new Set([21100, 21102, 21103, 21109]);
const LIMIT_CODES: ReadonlySet<number> = new Set([21506, CODE_TOO_MANY_REQUESTS, 23001, 23002, 23003, 30009, 30010]);
/** Some parameter is wrong or missing; a missing token is one of them. */
export const CODE_BAD_PARAMETER = 20001;
/** The nonce is not the next one: nothing was executed and nothing spent. */
const NONCE_CODES: ReadonlySet<number> = new Set([21104, 21105]);
/** The server failed, or gave up waiting: the transaction may be on its way. */
const UNDECIDED_CODES: ReadonlySet<number> = new Set([29500, 29501]);

export function isCredentialCode(code: number): boolean {
  return CREDENTIAL_CODES.has(code);
}

export function isUnknownAccountCode(code: number): boolean {
  return UNKNOWN_ACCOUNT_CODES.has(code);
}

export function isLimitCode(code: number): boolean {
  return LIMIT_CODES.has(code);
}

export function isNonceCode(code: number): boolean {
  return NONCE_CODES.has(code);
}

export function isUndecidedCode(code: number): boolean {
  return UNDECIDED_CODES.has(code);
}

const REASONS: ReadonlyMap<number, RejectReason> = new Map([
  ...codes("INSUFFICIENT_MARGIN", 21301, 21304, 21305, 21507, 21508, 21739),
  ...codes("REDUCE_ONLY", 21732, 21738, 21740, 21614),
  ...codes("PRICE", 21702, 21729, 21733, 21734, 21735),
  ...codes("SIZE", 21603, 21701, 21706),
  ...codes("DUPLICATE_CLIENT_ID", 21728),
  ...codes("NOT_FOUND", 21600, 21700, 21707, 21708, 21709, 21715, 21730),
]);

/** The order says what the venue never takes: its type, its trigger, its grouping. Limits and states of markets pass. */
const LASTING_CODES: ReadonlySet<number> = new Set([
  ...[21501, 21505, 21511, 21602, 21618, 21619, 21621, 21703, 21704, 21705],
  ...[21710, 21711, 21727, 21729, 21731, 21741, 21742, 21743, 21744, 21745],
]);

/** Would the same order be refused again? */
export function isLastingCode(code: number): boolean {
  return LASTING_CODES.has(code);
}

function codes(reason: RejectReason, ...list: readonly number[]): (readonly [number, RejectReason])[] {
  return list.map((code) => [code, reason] as const);
}

/** What a refusal by this code means for an order. */
export function rejectReasonOf(code: number): RejectReason {
  if (isLimitCode(code)) return "RATE_LIMITED";
  if (isCredentialCode(code)) return "AUTH";
  return REASONS.get(code) ?? "VENUE_STATE";
}
