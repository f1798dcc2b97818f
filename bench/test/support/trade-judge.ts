/**
 * Judges opens and closes that went through the gateway by the order logs of the four local venues (design, section 5:
 * invariants 1 to 4, 6 and 12).
 *
 * The replies claim orders by their venue client ids; the logs say what those orders did. An order that nobody claims,
 * one claimed twice, a fill that no reply tells of, a side or a flag that does not fit: each is a violation.
 */
import type { SimRequestRecord } from "../../sim/core/types.js";
import { isNetworkError, NEUTRAL, scaled } from "./close-judge.js";
import { FOUR_VENUES, type FourTrader, type FourVenue, type FourVenues, nativeName } from "./four-venues.js";
import type { Json, TestClient } from "../../../gateway/test/client.js";

export interface TradeTrial {
  readonly trader: FourTrader;
  readonly kind: "OPEN" | "CLOSE";
  readonly symbol: string;
  readonly direction: "LONG" | "SHORT";
  readonly key: string;
  /** The same bytes at every retry. */
  readonly body: string;
  readonly answers: TradeAnswer[];
}

interface TradeLeg {
  readonly exchange: FourVenue;
  readonly venueClientOrderId: string;
  readonly outcome: string;
  readonly filledSize: string;
}

interface TradeView {
  readonly execution: {
    readonly state: string;
    readonly final: boolean;
    readonly note: string | null;
    readonly requestedSize: string;
    readonly submittedSize: string;
    readonly filledSize: string;
    readonly averagePrice: string | null;
    readonly legs: readonly TradeLeg[];
  };
}

export interface TradeAnswer {
  readonly status: number;
  readonly code: string | null;
  readonly success: boolean;
  readonly data: TradeView | null;
  /** The reply's text, for the secrets that must not be in it. */
  readonly text: string;
  /** Length of each venue's log when it came. */
  readonly logLengths: Readonly<Record<FourVenue, number>>;
}

export function tradeTrial(
  trader: FourTrader,
  kind: TradeTrial["kind"],
  key: string,
  fields: { readonly symbol: string; readonly direction: "LONG" | "SHORT" } & Readonly<Record<string, unknown>>,
): TradeTrial {
  const body = JSON.stringify({ credentials: trader.credentials, ...fields });
  return { trader, kind, symbol: fields.symbol, direction: fields.direction, key, body, answers: [] };
}

/** One request. A connection that broke is an answer too: `NETWORK`. */
export async function sendTrade(four: FourVenues, client: TestClient, trial: TradeTrial): Promise<TradeAnswer> {
  let answer: Omit<TradeAnswer, "logLengths">;
  try {
    const reply = await client.send(`/api/trade/position/${trial.kind.toLowerCase()}`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": trial.key },
      body: trial.body,
    });
    const body = reply.body as { readonly success: boolean; readonly code?: string; readonly data?: Json };
    const data = (body.data ?? null) as unknown as TradeView | null;
    answer = { status: reply.status, code: body.code ?? null, success: body.success, data, text: reply.text };
  } catch (error) {
    if (!isNetworkError(error)) throw error;
    answer = { status: 0, code: "NETWORK", success: false, data: null, text: "" };
  }
  const logLengths = Object.fromEntries(FOUR_VENUES.map((venue) => [venue, four.venues[venue].log.length])) as Record<
    FourVenue,
    number
  >;
  const whole = { ...answer, logLengths };
  trial.answers.push(whole);
  return whole;
}

/** COMPLETED, UNKNOWN …, or the status and code of a refusal. */
export function tradeOutcome(answer: TradeAnswer): string {
  if (answer.data === null) return `${answer.status} ${answer.code ?? ""}`.trim();
  const { state, note } = answer.data.execution;
  return note === "ALREADY_FLAT" ? "NOOP ALREADY_FLAT" : state;
}

export interface TradeJudgement {
  readonly violations: readonly string[];
  readonly orderCount: number;
}

type Executed = { readonly venue: FourVenue; readonly record: SimRequestRecord };

/** `initialLots`: what each trader held at the start. */
export function judgeTrades(
  four: FourVenues,
  trials: readonly TradeTrial[],
  initialLots: (venue: FourVenue, trader: FourTrader, symbol: string) => number,
): TradeJudgement {
  const found: string[] = [];
  const claims = claimsOf(trials, found);
  const executedBy = new Map<TradeTrial, Executed[]>();
  let orderCount = 0;
  for (const venue of FOUR_VENUES) {
    const seen = new Set<string>();
    for (const record of four.venues[venue].log.records({ action: "place" })) {
      const at = `${venue} record ${record.index}`;
      const trial = record.clientId === null ? undefined : claims.get(`${venue} ${record.clientId}`);
      if (trial === undefined) {
        if (record.orderId !== null)
          found.push(`${at}: order ${record.clientId ?? "without id"} is claimed by no reply`);
        continue;
      }
      found.push(...instructionProblems(four, venue, record, trial).map((problem) => `${at}: ${problem}`));
      if (record.orderId === null) {
        if (seen.has(record.clientId ?? "")) found.push(`${at}: sent again after it was executed`);
        continue;
      }
      orderCount++;
      if (seen.has(record.clientId ?? "")) found.push(`${at}: a second order with one client id`);
      seen.add(record.clientId ?? "");
      executedBy.set(trial, [...(executedBy.get(trial) ?? []), { venue, record }]);
    }
  }
  for (const trial of trials) found.push(...replyProblems(trial, executedBy.get(trial) ?? []));
  found.push(...positionProblems(four, trials, initialLots));
  return { violations: found, orderCount };
}

function claimsOf(trials: readonly TradeTrial[], found: string[]): Map<string, TradeTrial> {
  const claims = new Map<string, TradeTrial>();
  for (const trial of trials) {
    const last = trial.answers.findLast((answer) => answer.data !== null)?.data;
    for (const leg of last?.execution.legs ?? []) {
      const id = `${leg.exchange} ${leg.venueClientOrderId}`;
      if (claims.has(id)) found.push(`${trial.key}: claims ${id}, which ${claims.get(id)?.key ?? ""} claims too`);
      claims.set(id, trial);
    }
  }
  return claims;
}

/** Invariant 1, and the position part of 2. */
function instructionProblems(
  four: FourVenues,
  venue: FourVenue,
  record: SimRequestRecord,
  trial: TradeTrial,
): string[] {
  const found: string[] = [];
  if (record.accountId !== trial.trader.accountIds[venue]) found.push("an order on somebody else's account");
  if (record.symbol !== nativeName(venue, trial.symbol)) found.push(`an order in ${record.symbol ?? "nothing"}`);
  const buys = (trial.direction === "LONG") === (trial.kind === "OPEN");
  if (record.side !== (buys ? "BUY" : "SELL")) found.push(`side ${record.side ?? "none"} does not ${trial.kind}`);
  if (record.reduceOnly !== (trial.kind === "CLOSE")) found.push(`reduceOnly ${String(record.reduceOnly)}`);
  const order = record.orderId === null ? null : four.venues[venue].exchange.order(record.orderId);
  if (order === null) return found;
  if (order.filledLots > order.requestedLots) found.push("filled more than ordered");
  if (trial.kind === "CLOSE") {
    const held = order.fills[0] === undefined ? order.filledLots : Math.abs(order.fills[0].positionBeforeLots);
    if (order.filledLots > held) found.push(`${order.filledLots} lots filled of a position of ${held}`);
  }
  return found;
}

/** Invariants 2 to 4: what the replies of one key said, against what its orders did. */
function replyProblems(trial: TradeTrial, executed: readonly Executed[]): string[] {
  const found: string[] = [];
  const filled = executed.reduce((total, { record }) => total + scaled(record.filledQty ?? "0"), 0n);
  let finalText: string | null = null;
  for (const [index, answer] of trial.answers.entries()) {
    const which = `${trial.key} answer ${index + 1} (${tradeOutcome(answer)})`;
    if (answer.status >= 500 && answer.status !== 503) found.push(`${which}: a fault of our own`);
    if (answer.status === 401) found.push(`${which}: good credentials refused`);
    const before = executed.filter(
      ({ venue, record }) => record.index < answer.logLengths[venue] && scaled(record.filledQty ?? "0") > 0n,
    );
    if (answer.data === null) {
      if (!NEUTRAL.has(answer.code ?? "") && before.length > 0) found.push(`${which}: refused after an execution`);
      continue;
    }
    const { execution } = answer.data;
    if (!answer.success && before.length > 0) found.push(`${which}: success false after an execution`);
    if (
      scaled(execution.filledSize) > scaled(execution.submittedSize) ||
      scaled(execution.submittedSize) > scaled(execution.requestedSize)
    ) {
      found.push(
        `${which}: filled ${execution.filledSize}, submitted ${execution.submittedSize}, requested ${execution.requestedSize}`,
      );
    }
    const isUnknown = execution.legs.some(({ outcome }) => outcome === "UNKNOWN");
    if (isUnknown !== (execution.state === "UNKNOWN")) found.push(`${which}: legs and state disagree about UNKNOWN`);
    if (isUnknown && (execution.final || !answer.success)) found.push(`${which}: unknown reported as final or failed`);
    if (!execution.final) continue;
    if (scaled(execution.filledSize) !== filled) {
      found.push(`${which}: final fill ${execution.filledSize}, the logs say ${String(filled)}e-12`);
    }
    found.push(...legProblems(execution.legs, executed).map((problem) => `${which}: ${problem}`));
    const same = JSON.stringify([execution.state, execution.filledSize, execution.averagePrice]);
    if (finalText !== null && finalText !== same) found.push(`${which}: a final answer changed from ${finalText}`);
    finalText = same;
  }
  return found;
}

function legProblems(legs: readonly TradeLeg[], executed: readonly Executed[]): string[] {
  const found: string[] = [];
  for (const leg of legs) {
    const match = executed.find(
      ({ venue, record }) => venue === leg.exchange && record.clientId === leg.venueClientOrderId,
    );
    if (match === undefined) {
      if (leg.outcome === "CONFIRMED")
        found.push(`leg ${leg.venueClientOrderId} confirmed, but there is no such order`);
    } else if (leg.outcome === "REJECTED" || leg.outcome === "NOT_SENT") {
      if (scaled(match.record.filledQty ?? "0") > 0n)
        found.push(`leg ${leg.venueClientOrderId} ${leg.outcome}, but filled`);
    } else if (scaled(leg.filledSize) !== scaled(match.record.filledQty ?? "0")) {
      found.push(`leg filled ${leg.filledSize}, the venue says ${match.record.filledQty ?? "0"}`);
    }
  }
  return found;
}

/** Position now = position then + every fill; a close never turns one over. */
function positionProblems(
  four: FourVenues,
  trials: readonly TradeTrial[],
  initialLots: (venue: FourVenue, trader: FourTrader, symbol: string) => number,
): string[] {
  const found: string[] = [];
  const held = new Map(trials.map((trial) => [`${trial.trader.label} ${trial.symbol}`, trial]));
  for (const [name, { trader, symbol }] of held) {
    for (const venue of FOUR_VENUES) {
      const native = nativeName(venue, symbol);
      const filled = four.venues[venue].exchange
        .allOrders(trader.accountIds[venue], native)
        .reduce((sum, order) => sum + (order.side === "BUY" ? order.filledLots : -order.filledLots), 0);
      const first = initialLots(venue, trader, symbol);
      const now = four.positionLots(venue, trader, symbol);
      if (now !== first + filled) found.push(`${venue} ${name}: ${now} lots, but ${first} and fills of ${filled}`);
    }
  }
  return found;
}
