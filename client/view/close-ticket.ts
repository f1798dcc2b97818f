/** A close from the page: the request of the dry run, the content of its reply, the outcome of the close itself. */
import type { Static } from "@sinclair/typebox";
import type { closeDataSchema, closeRequestSchema, credentialsSchema } from "../../schemas/close.js";
import { plainWords } from "./account.js";
import { exitView } from "./exit.js";
import { groupDigits, UNKNOWN_TEXT } from "./format.js";

export type Credentials = Static<typeof credentialsSchema>;
export type CloseData = Static<typeof closeDataSchema>;
export type CloseBody = Static<typeof closeRequestSchema>;

export interface CloseAsk {
  readonly symbol: string;
  readonly direction: "LONG" | "SHORT";
  /** Base units, as the service sent them or as they were typed. */
  readonly size: string;
  /** Null means wherever the exit is best among the venues that hold it. */
  readonly exchange: NonNullable<CloseBody["preferredExchange"]> | null;
}

/** Long enough to read it. */
export const QUOTE_TTL_MS = 15_000;

export function dryRunBody(ask: CloseAsk, credentials: Credentials): CloseBody {
  return { ...commonBody(ask, credentials), dryRun: true, quoteTtlMs: QUOTE_TTL_MS };
}

/** Bound to the quote: at its worst price or better, or nothing is sent. */
export function closeBody(ask: CloseAsk, credentials: Credentials, quoteId: string): CloseBody {
  return { ...commonBody(ask, credentials), quoteId };
}

function commonBody({ symbol, direction, size, exchange }: CloseAsk, credentials: Credentials): CloseBody {
  return { symbol, direction, size, credentials, ...(exchange === null ? {} : { preferredExchange: exchange }) };
}

export interface Ticket {
  readonly quoteId: string;
  readonly venue: string;
  readonly allIn: string;
  readonly cost: string;
  readonly runnerUp: string;
  readonly worst: string;
  /** Time left of the quote's life when the reply was sent. */
  readonly lifeMs: number;
  /** Changes that the service would make to the size; empty if none. */
  readonly changes: readonly string[];
}

/** Returns null when the reply has no quote to close with. `nowMs` is the service's time in its reply. */
export function ticketOf(data: CloseData, nowMs: number): Ticket | null {
  const { quote, routing, execution } = data;
  if (quote === undefined || routing.recommended === null) return null;
  const { winner, rows } = exitView({ routing, quote });
  const second = rows.find((row) => !row.chosen && row.eligible);
  return {
    quoteId: quote.quoteId,
    venue: routing.recommended,
    allIn: winner?.allIn ?? UNKNOWN_TEXT,
    cost: winner === null ? UNKNOWN_TEXT : `${winner.cost} bps`,
    runnerUp: second === undefined ? "none" : `${second.venue}, ${second.why}`,
    worst: groupDigits(quote.worstPrice),
    lifeMs: quote.expiresAt - nowMs,
    // A price rounded to its step is not worth showing; a changed size is.
    changes: execution.adjustments.flatMap(({ field, from, to }) =>
      field === "size" ? [`${groupDigits(from)} → ${groupDigits(to)}`] : [],
    ),
  };
}

/**
 * Refusals before the key of the call is checked: they are final for this call, and show nothing about an earlier one.
 */
const BEFORE_THE_KEY: ReadonlySet<string> = new Set([
  "RATE_LIMITED",
  "OVERLOADED",
  "SHUTTING_DOWN",
  "STORE_UNAVAILABLE",
  "AUTH_MISSING_HEADER",
  "AUTH_UNKNOWN_KEY",
  "AUTH_BAD_SIGNATURE",
  "AUTH_TIMESTAMP_OUT_OF_WINDOW",
  "KEY_REVOKED",
  "SCOPE_MISSING",
  "IP_NOT_ALLOWED",
  "ABORTED",
  "CANNOT_SIGN",
  "TIMEOUT",
]);

/**
 * Reports whether a refusal leaves the outcome of the close open. `isAgain`: the same close was sent before, without a
 * reply.
 */
export function isUndecided({ code, outcome }: Refused, isAgain: boolean): boolean {
  return outcome === "unknown" || (isAgain && BEFORE_THE_KEY.has(code));
}

interface Refused {
  readonly code: string;
  readonly outcome: "refused" | "unknown";
}

export interface Outcome {
  /** good: all of it closed; bad: nothing was; open: some of it, or not known yet. */
  readonly kind: "good" | "open" | "bad";
  readonly text: string;
}

export function outcomeOf({ execution, executedOn, routing }: CloseData): Outcome {
  const { state, filledSize, requestedSize, averagePrice, remainingSize } = execution;
  const filled = `${groupDigits(filledSize)} at ${groupDigits(averagePrice)} on ${executedOn ?? "several venues"}`;
  switch (state) {
    case "COMPLETED":
      return { kind: "good", text: `Closed ${filled}.` };
    case "PARTIAL": {
      const rest = remainingSize === null ? "the rest is not known" : `${groupDigits(remainingSize)} is still open`;
      return { kind: "open", text: `Closed ${filled}, of ${groupDigits(requestedSize)} asked for; ${rest}.` };
    }
    case "NOOP":
      return { kind: "good", text: "Nothing was open any more; nothing was sent." };
    case "REJECTED": {
      const reason = execution.legs.map((leg) => leg.venueText ?? leg.reason).find((one) => one !== null);
      return {
        kind: "bad",
        text: `Nothing was closed. The venue refused it${reason === undefined ? "." : `: ${reason}`}`,
      };
    }
    default:
      return {
        kind: "open",
        text: `Sent, and not ended yet (${plainWords(state)}): the positions show what comes of it. Its name is ${routing.routeId}.`,
      };
  }
}
