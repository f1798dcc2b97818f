/**
 * One trade as its caller sees it: the body, the same at every retry, and every answer to it. It is sent until its end
 * is known. Others judge the answers by the venues' logs.
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
  /** Requested size in base units; null for ALL, and for a size by notional. */
  readonly size: string | null;
  readonly preferred: FourVenue | null;
  /** This venue was down when the trade went out, and the trade did not need it. */
  readonly besides: FourVenue | null;
  /** The caller's other terms. */
  readonly terms: TradeTerms;
  readonly key: string;
  /** The body; the same bytes at every retry. */
  readonly body: string;
  readonly answers: TradeAnswer[];
  /**
   * For an order that rested: the time when the market reached it. For an entry: the time of the last refusal of its
   * stops.
   */
  reached?: Reached;
  /** For an entry with a stop that filled on arrival. */
  arrived?: Arrived;
}

interface Arrived {
  readonly venue: FourVenue;
  readonly orderId: number;
  /** What it filled by then. */
  readonly filledLots: number;
  /** Nothing kept its venue from being read or from taking orders. */
  readonly isReadable: boolean;
}

export interface Reached {
  readonly venue: FourVenue;
  readonly orderId: number;
  readonly atMs: number;
  /** Nothing was wrong with the venues or the paths to them, so what follows must be in time. */
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
  /** Venues with credentials that are not excluded: all that the trade may use. */
  readonly members: readonly FourVenue[];
  readonly quote: { readonly quoteId: string; readonly worstPrice: string } | null;
}

/** Defaults of a caller without terms: the service's bound, every venue. */
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

/** Role of an order: the trade's own, or one that follows an entry. CLOSE is the undo where protection failed. */
export type OrderRole = "POSITION" | "TAKE_PROFIT" | "STOP_LOSS" | "CLOSE";

export interface TradeLeg {
  readonly attempt?: number;
  readonly exchange: FourVenue;
  readonly venueClientOrderId: string;
  readonly outcome: string;
  readonly status: string;
  readonly size: string;
  readonly filledSize: string;
  /** The order's bound. */
  readonly worstPrice?: string | null;
  /** Both by the service's clock. */
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
  /** For priced candidates: base units, the all-in price in its own quote, and the rate to the common one. */
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
  /** The venue that a refusal names. */
  readonly blames: string | null;
  /** `details.reason` of a refusal. */
  readonly reason: string | null;
  /** What a refusal says of each venue. */
  readonly candidates: readonly TradeCandidate[];
  /** Count of the caller's secrets in its text. */
  readonly leakCount: number;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
  /** Length of each venue's log when the answer came. */
  readonly logLengths: Readonly<Record<FourVenue, number>>;
}

export type TradeSender = typeof sendTrade;

/** Sends for a caller, to any service from one request to the next. */
export type TradeClient = Pick<TestClient, "send">;

/** Sends one request. A broken connection counts as an answer: `NETWORK`. */
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

/** Reads the execution's current state, and adds it as one more answer to the trade. */
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
/** Longer than the longest validity of an order, which is an agent's on venuetwo, plus the venues' lag. */
const FINAL_DEADLINE_MS = 150_000;

/**
 * Sends until the end is known, or FINAL_DEADLINE_MS. A refusal that touched nothing is an end, unless it is for a
 * missing book and the caller `insists`.
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

/** Returns one text per trade whose end is still unknown. */
export function endless(trials: readonly TradeTrial[]): string[] {
  return trials
    .filter((trial) => !hasEnd(trial))
    .map(({ key, answers }) => {
      const last = answers.at(-1);
      // An order that follows an entry may be the one of unknown outcome.
      const { legs = [], protectionOrders = [] } = last?.data?.execution ?? {};
      const orders = [...legs, ...protectionOrders].map(
        ({ exchange, venueClientOrderId, outcome }) => `${exchange} ${venueClientOrderId} ${outcome}`,
      );
      return `${key} has no end: ${last === undefined ? "" : tradeOutcome(last)} ${orders.join(", ")}`;
    });
}

export function hasEnd({ answers }: TradeTrial): boolean {
  const last = answers.at(-1);
  return last !== undefined && (isRefused(last) || isEnd(last.data));
}

/** Returns whether nothing is in doubt: the trade is over, or rests as it should. */
export function isEnd(data: TradeAnswer["data"]): boolean {
  return data !== null && (data.execution.final || data.execution.state === "RESTING");
}

function isRefused({ status, code }: TradeAnswer): boolean {
  return status >= 400 && status < 500 && !NEUTRAL.has(code ?? "");
}

/** Returns COMPLETED, UNKNOWN …, or the status and code of a refusal. */
export function tradeOutcome(answer: TradeAnswer): string {
  if (answer.data === null) return `${answer.status} ${answer.code ?? ""}`.trim();
  const { state, note } = answer.data.execution;
  return note === "ALREADY_FLAT" ? "NOOP ALREADY_FLAT" : state;
}

/**
 * Counts the first answers, most frequent first; for a trade that was sent twice at once, the answer that did not wait.
 */
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
