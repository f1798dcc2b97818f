/**
 * One trade as its caller sees it: the body, the same at every retry, and every answer to it; sent until its end is
 * known. What the answers are worth is judged elsewhere, by the venues' logs.
 */
import type { Json, RequestOptions, TestClient } from "../../../gateway/test/client.js";
import { isNetworkError, NEUTRAL } from "./close-judge.js";
import { FOUR_VENUES, type FourTrader, type FourVenue, type FourVenues } from "./four-venues.js";
import { pause } from "./system.js";

export interface TradeTrial {
  readonly trader: FourTrader;
  readonly kind: "OPEN" | "CLOSE";
  readonly symbol: string;
  readonly direction: "LONG" | "SHORT";
  /** Base units as asked; null: all there is, or what a notional comes to. */
  readonly size: string | null;
  readonly preferred: FourVenue | null;
  /** This venue was out of service when it was sent, and the trade had no need of it. */
  readonly besides: FourVenue | null;
  /** What its caller stated beside. */
  readonly terms: TradeTerms;
  readonly key: string;
  /** The same bytes at every retry. */
  readonly body: string;
  readonly answers: TradeAnswer[];
  /** Of an order that rested: when the market came to it, or, of an entry, when the last of its stops was refused. */
  reached?: Reached;
}

export interface Reached {
  readonly venue: FourVenue;
  readonly orderId: number;
  readonly atMs: number;
  /** Nothing was wrong with the venues, or their ways: what follows is to be there in time. */
  readonly isCalm: boolean;
}

export interface TradeTerms {
  readonly orderType: "MARKET" | "LIMIT" | "STOP_MARKET" | "STOP_LIMIT";
  readonly limitPrice: string | null;
  readonly triggerPrice: string | null;
  readonly takeProfit: string | null;
  readonly stopLoss: string | null;
  readonly maxSlippageBps: number;
  readonly allowSplit: boolean;
  /** Venues with credentials that are not excluded: all that the trade may touch. */
  readonly members: readonly FourVenue[];
  readonly quote: { readonly quoteId: string; readonly worstPrice: string } | null;
}

/** What stands where a caller says nothing: the service's default bound, every venue. */
export const MARKET_TERMS: TradeTerms = {
  orderType: "MARKET",
  limitPrice: null,
  triggerPrice: null,
  takeProfit: null,
  stopLoss: null,
  maxSlippageBps: 100,
  allowSplit: false,
  members: FOUR_VENUES,
  quote: null,
};

/** The order that a trade is for, or one that follows an entry. CLOSE: the undo where protection failed. */
export type OrderRole = "POSITION" | "TAKE_PROFIT" | "STOP_LOSS" | "CLOSE";

export interface TradeLeg {
  readonly attempt?: number;
  readonly exchange: FourVenue;
  readonly venueClientOrderId: string;
  readonly outcome: string;
  readonly status: string;
  readonly size: string;
  readonly filledSize: string;
  /** The bound that it carried. */
  readonly worstPrice?: string | null;
  /** Both by one clock, the service's. */
  readonly sentAt?: number | null;
  readonly ackAt?: number | null;
}

export interface ProtectionLeg extends TradeLeg {
  readonly kind: Exclude<OrderRole, "POSITION">;
  readonly triggerPrice: string | null;
  readonly price: string;
}

export interface TradeCandidate {
  readonly exchange: FourVenue;
  readonly eligible: boolean;
  readonly selected?: boolean;
  readonly reasonCode?: string;
  readonly positionSize: string | null;
  /** Of those that were priced: base units, all-in in its own quote, and what that is in the common one. */
  readonly routedSize?: string;
  readonly allInPrice?: string | null;
  readonly quoteRate?: string;
}

interface TradeView {
  readonly routing: {
    readonly routeId: string;
    readonly split: boolean;
    readonly reference: { readonly mid: string; readonly exchange: FourVenue } | null;
    readonly limits: { readonly maxSlippageBps: number; readonly worstPrice: string | null };
    readonly candidates: readonly TradeCandidate[];
  };
  readonly position: { readonly exchange: FourVenue; readonly size: string } | null;
  readonly quote?: { readonly quoteId: string; readonly worstPrice: string; readonly expiresAt: number };
  readonly execution: {
    readonly state: string;
    readonly final: boolean;
    readonly note: string | null;
    readonly requestedSize: string;
    readonly submittedSize: string;
    readonly filledSize: string;
    readonly averagePrice: string | null;
    readonly remainingSize: string;
    readonly legs: readonly TradeLeg[];
    readonly protection?: string | null;
    readonly protectionReason?: string | null;
    readonly protectionOrders?: readonly ProtectionLeg[];
  };
}

export interface TradeAnswer {
  readonly status: number;
  readonly code: string | null;
  readonly success: boolean;
  readonly data: TradeView | null;
  /** Of a refusal: the venue it names. */
  readonly blames: string | null;
  /** Of a refusal: its `details.reason`. */
  readonly reason: string | null;
  /** Of a refusal: what it says of each venue. */
  readonly candidates: readonly TradeCandidate[];
  /** How many of the caller's secrets its text holds. */
  readonly leakCount: number;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
  /** Length of each venue's log when it came. */
  readonly logLengths: Readonly<Record<FourVenue, number>>;
}

export type TradeSender = typeof sendTrade;

/** Whatever sends for a caller: it may go to another service from one request to the next. */
export type TradeClient = Pick<TestClient, "send">;

/** One request. A connection that broke is an answer too: `NETWORK`. */
export async function sendTrade(four: FourVenues, client: TradeClient, trial: TradeTrial): Promise<TradeAnswer> {
  const askedAtMs = four.nowMs();
  let said: Omit<TradeAnswer, "logLengths" | "askedAtMs" | "answeredAtMs">;
  try {
    const { path, options } = requestOf(trial);
    const reply = await client.send(path, options);
    const body = reply.body as unknown as {
      readonly success: boolean;
      readonly code?: string;
      readonly data?: Json;
      readonly details?: {
        readonly exchange?: string;
        readonly reason?: string;
        readonly candidates?: readonly TradeCandidate[];
      };
    };
    said = {
      status: reply.status,
      code: body.code ?? null,
      success: body.success,
      data: (body.data ?? null) as unknown as TradeView | null,
      blames: body.details?.exchange ?? null,
      reason: body.details?.reason ?? null,
      candidates: body.details?.candidates ?? [],
      leakCount: trial.trader.secrets.filter((secret) => reply.text.includes(secret)).length,
    };
  } catch (error) {
    if (!isNetworkError(error)) throw error;
    said = {
      status: 0,
      code: "NETWORK",
      success: false,
      data: null,
      blames: null,
      reason: null,
      candidates: [],
      leakCount: 0,
    };
  }
  const answer: TradeAnswer = { ...said, askedAtMs, answeredAtMs: four.nowMs(), logLengths: logLengthsOf(four) };
  trial.answers.push(answer);
  return answer;
}

/** The execution as it stands now, beside what its key answers: one more answer to the trade. */
export async function askExecution(four: FourVenues, client: TradeClient, trial: TradeTrial): Promise<void> {
  const routeId = trial.answers.findLast(({ data }) => data !== null)?.data?.routing.routeId;
  if (routeId === undefined) return;
  const path = `/api/trade/executions/${routeId}`;
  await sendTrade(four, { send: () => client.send(path, { method: "GET" }) }, trial);
}

function requestOf({ kind, key, body }: TradeTrial): { readonly path: string; readonly options: RequestOptions } {
  return {
    path: `/api/trade/position/${kind.toLowerCase()}`,
    options: { method: "POST", headers: { "content-type": "application/json", "idempotency-key": key }, body },
  };
}

export function logLengthsOf(four: FourVenues): Readonly<Record<FourVenue, number>> {
  return Object.fromEntries(FOUR_VENUES.map((venue) => [venue, four.venues[venue].log.length])) as Record<
    FourVenue,
    number
  >;
}

const FIRST_RETRY_MS = 250;
const MAX_RETRY_MS = 2_000;
/** Beyond the longest validity of an order, which is an agent's on venuetwo, and the venues' lag. */
const FINAL_DEADLINE_MS = 150_000;

/**
 * Asks until the end is known, or FINAL_DEADLINE_MS. A refusal that touched nothing is an end, but for one that a book
 * was not there, where the caller `insists`.
 */
export async function untilFinal(
  four: FourVenues,
  client: TradeClient,
  trial: TradeTrial,
  insists: boolean,
  send: TradeSender = sendTrade,
  deadlineMs = FINAL_DEADLINE_MS,
): Promise<void> {
  const untilMs = performance.now() + deadlineMs;
  for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(MAX_RETRY_MS, waitMs * 1.5)) {
    const last = trial.answers.at(-1);
    if (hasEnd(trial) && !(insists && last?.code === "NO_ELIGIBLE_VENUE")) return;
    if (performance.now() > untilMs) return;
    if (last !== undefined) await pause(waitMs);
    await send(four, client, trial);
  }
}

/** One text per trade whose end is still not known. */
export function endless(trials: readonly TradeTrial[]): string[] {
  return trials
    .filter((trial) => !hasEnd(trial))
    .map(({ key, answers }) => {
      const last = answers.at(-1);
      const legs = last?.data?.execution.legs.map(
        ({ exchange, venueClientOrderId, outcome }) => `${exchange} ${venueClientOrderId} ${outcome}`,
      );
      return `${key} has no end: ${last === undefined ? "" : tradeOutcome(last)} ${legs?.join(", ") ?? ""}`;
    });
}

export function hasEnd({ answers }: TradeTrial): boolean {
  const last = answers.at(-1);
  return last !== undefined && (isRefused(last) || isEnd(last.data));
}

/** Nothing is in doubt: it is over, or it rests where it was meant to. */
export function isEnd(data: TradeAnswer["data"]): boolean {
  return data !== null && (data.execution.final || data.execution.state === "RESTING");
}

function isRefused({ status, code }: TradeAnswer): boolean {
  return status >= 400 && status < 500 && !NEUTRAL.has(code ?? "");
}

/** COMPLETED, UNKNOWN …, or the status and code of a refusal. */
export function tradeOutcome(answer: TradeAnswer): string {
  if (answer.data === null) return `${answer.status} ${answer.code ?? ""}`.trim();
  const { state, note } = answer.data.execution;
  return note === "ALREADY_FLAT" ? "NOOP ALREADY_FLAT" : state;
}

/** What the first answers said, most frequent first; of one that was asked twice at once, the one that did not wait. */
export function firstOutcomes(trials: readonly TradeTrial[]): ReadonlyMap<string, number> {
  return countOf(
    trials.map(({ answers }) => {
      const first = answers.find(({ code }) => code !== "IDEMPOTENCY_IN_PROGRESS") ?? answers[0];
      return first === undefined ? "none" : tradeOutcome(first);
    }),
  );
}

export function countOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map([...counts].sort(([, a], [, b]) => b - a));
}

export function countsText(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}
