/**
 * What venuetwo's answers to a withdrawal or a transfer mean. Pure. No refusal here is known to use up what it refuses: a
 * copy that was sent before may still act.
 */
import type { MoneyOutcome } from "../../../engine/venue-money.js";
import { type HttpResponse, isRateLimitStatus } from "../../shared/net/call-results.js";
import {
  notSentAct,
  REPEATED_ACT,
  refusedAct,
  unansweredAct,
  UNKNOWN_ACT,
  wordlessAct,
} from "../../shared/orders/act-outcome.js";
import { limitRetryAfterMs, type Sent } from "../account/rest.js";
import { readError, type VenuetwoWireError } from "../account/wire.js";
import { classifyError, isClockError, isOutcomeUnknown, isUnknownAgent } from "../rules/errors.js";

/** As outcomeOf, of whatever became of the request. */
export function outcomeOfSent(sent: Sent, venueNowMs: number, idOf: (body: string) => string | null): MoneyOutcome {
  if (sent.kind === "local") return notSentAct(sent.code, sent.retryAfterMs);
  return sent.result.kind === "response" ? outcomeOf(sent.result, venueNowMs, idOf) : unansweredAct(sent.result);
}

/** `venueNowMs`: by our estimate, for bans that name their end. `idOf`: the venue's id in an answer that reports success. */
export function outcomeOf(
  response: HttpResponse,
  venueNowMs: number,
  idOf: (body: string) => string | null,
): MoneyOutcome {
  // 503 is "sent on, no answer in time" by the venue's own words; nothing is known of any other 5xx.
  if (response.status >= 500) return UNKNOWN_ACT;
  const isOk = response.status >= 200 && response.status < 300;
  const error = readError(response.body);
  if (error !== null) return outcomeOfError(response, error, venueNowMs);
  if (!isOk) return wordlessAct(response);
  const venueId = idOf(response.body);
  return venueId === null ? UNKNOWN_ACT : { kind: "done", venueId };
}

const NONCE_REFUSED = -4225;
/** The account has one of this name within seven days; the other says that it is too long, which is checked before. */
const NAME_USED: ReadonlySet<number> = new Set([-4114, -4115]);
/** Not allowed, key malformed, key unknown or without the right or from elsewhere. */
const NO_RIGHT: ReadonlySet<number> = new Set([-1002, -1011, -2014, -2015]);
/** "Amount must be positive", which it was: said of a transfer of more than there is (unverified). */
const AMOUNT_REFUSED = -4055;
const SHORT_BALANCE = /insufficient|not (?:enough|sufficient)/i;

function outcomeOfError(response: HttpResponse, error: VenuetwoWireError, venueNowMs: number): MoneyOutcome {
  const { code, msg } = error;
  const text = `${code} ${msg}`;
  const { errorClass, reason } = classifyError(code, msg);
  if (isRateLimitStatus(response.status) || reason === "RATE_LIMITED")
    return refusedAct("RATE_LIMITED", text, limitRetryAfterMs(response, error, venueNowMs));
  // A nonce used before, and one out of its window, of the request or of the wallet: all have this code.
  if (code === NONCE_REFUSED || NAME_USED.has(code)) return REPEATED_ACT;
  if (isOutcomeUnknown(code, msg)) return UNKNOWN_ACT;
  if (NO_RIGHT.has(code) || isUnknownAgent(msg)) return refusedAct("RIGHT", text);
  if (errorClass === "F" || code === AMOUNT_REFUSED || SHORT_BALANCE.test(msg)) return refusedAct("BALANCE", text);
  return refusedAct("OTHER", text, isClockError(code) ? 0 : null);
}
