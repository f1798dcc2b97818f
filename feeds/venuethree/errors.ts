/**
 * The venue's codes, as far as market data meets them (the full list is the venue's error page; groups: 200xx request
 * and auth, 230xx limits, 300xx WebSocket).
 */
import { isFields, parseJsonExact } from "../shared/wire-fields.js";
import { defaultLimitVerdict, type HttpResponse, type LimitVerdict } from "../shared/http-pool.js";

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
