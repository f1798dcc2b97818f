/**
 * Sends closes through the HTTP gateway, retries replies that are not final with the same Idempotency-Key, and judges
 * every reply by the venues' own order logs (design, section 5: invariants 1 to 4).
 *
 * Our replies claim orders by their venue client ids; the logs show what those orders did. An order that nobody claims
 * is a violation. So are an order that is claimed twice, and a fill that a reply does not report.
 */
import type { Json, Reply, TestClient } from "../../../gateway/test/client.js";
import type { SimOrder } from "../../sim/core/model/types.js";
import type { SimRequestRecord } from "../../sim/core/server/request-log.js";
import { accountOf, credentialsOf, type LocalPair, PAIR_VENUES, type PairVenue, type Trader } from "./local-pair.js";
import { nativeName } from "./local-venues.js";
import { pause } from "./system.js";

export interface CloseTrial {
  readonly trader: Trader;
  readonly symbol: string;
  readonly direction: "LONG" | "SHORT";
  readonly key: string;
  /** The body; the same bytes at every retry. */
  readonly body: string;
  readonly answers: Answer[];
}

/** One reply, or the lack of one, with the length of the venues' logs when it came. */
export interface Answer {
  readonly status: number;
  readonly code: string | null;
  /** `details.reason` of a refusal. */
  readonly reason: string | null;
  readonly success: boolean;
  /** Header Idempotent-Replayed. */
  readonly isReplayed: boolean;
  readonly data: CloseDataView | null;
  readonly logLengths: Readonly<Record<PairVenue, number>>;
}

/** What the judge reads of `data` (interface spec 3). */
export interface CloseDataView {
  readonly executedOn: string | null;
  readonly order: {
    readonly status: string;
    readonly side: string;
    readonly reduceOnly: boolean;
    readonly averagePrice: string | null;
    readonly filledQuantity: string;
  } | null;
  readonly execution: {
    readonly state: string;
    readonly final: boolean;
    readonly requestedSize: string;
    readonly submittedSize: string;
    readonly filledSize: string;
    readonly averagePrice: string | null;
    readonly legs: readonly {
      readonly exchange: PairVenue;
      readonly venueClientOrderId: string;
      readonly orderId: string | null;
      readonly outcome: string;
      readonly reason: string | null;
      readonly filledSize: string;
      readonly averagePrice: string | null;
    }[];
  };
  readonly routing: { readonly recommended: string | null };
}

/** Replies that say nothing about what happened under the key. */
export const NEUTRAL: ReadonlySet<string> = new Set([
  "IDEMPOTENCY_IN_PROGRESS",
  "OVERLOADED",
  "SHUTTING_DOWN",
  "NETWORK",
]);

export function closeTrial(
  trader: Trader,
  key: string,
  fields: { readonly symbol: string; readonly direction: "LONG" | "SHORT" } & Readonly<Record<string, unknown>>,
): CloseTrial {
  const body = JSON.stringify({ credentials: credentialsOf(trader), ...fields });
  return { trader, symbol: fields.symbol, direction: fields.direction, key, body, answers: [] };
}

/** Sends one request of the trial. A broken connection counts as an answer: `NETWORK`. */
export async function sendClose(pair: LocalPair, client: TestClient, trial: CloseTrial): Promise<Answer> {
  let answer: Omit<Answer, "logLengths">;
  try {
    answer = readAnswer(await client.close(trial.body, { "idempotency-key": trial.key }));
  } catch (error) {
    if (!isNetworkError(error)) throw error;
    answer = { status: 0, code: "NETWORK", reason: null, success: false, isReplayed: false, data: null };
  }
  const logLengths = { venueone: logLength(pair, "venueone"), venuetwo: logLength(pair, "venuetwo") };
  const whole = { ...answer, logLengths };
  trial.answers.push(whole);
  return whole;
}

function readAnswer(reply: Reply): Omit<Answer, "logLengths"> {
  const body = reply.body as {
    readonly success: boolean;
    readonly code?: string;
    readonly details?: { readonly reason?: string };
    readonly data?: Json;
  };
  const data = (body.data ?? null) as unknown as CloseDataView | null;
  return {
    status: reply.status,
    code: body.code ?? null,
    reason: body.details?.reason ?? null,
    success: body.success,
    isReplayed: reply.headers["idempotent-replayed"] === "true",
    data,
  };
}

export function isNetworkError(error: unknown): boolean {
  const code = (error as { readonly code?: unknown }).code;
  return typeof code === "string" && /^(ECONN|EPIPE|UND_ERR)/.test(code);
}

/** Retries until the reply is final and returns it. Rejects after `deadlineMs`. */
export async function closeUntilFinal(
  pair: LocalPair,
  client: TestClient,
  trial: CloseTrial,
  deadlineMs: number,
  retryEveryMs = RETRY_EVERY_MS,
): Promise<Answer> {
  const untilMs = performance.now() + deadlineMs;
  for (;;) {
    const answer = await sendClose(pair, client, trial);
    if (answer.data?.execution.final === true) return answer;
    if (performance.now() > untilMs)
      throw new Error(`${trial.key} is not final after ${deadlineMs} ms: ${outcomeOf(answer)}`);
    await pause(retryEveryMs);
  }
}

const RETRY_EVERY_MS = 100;

/** For the table of counts. */
export function outcomeOf(answer: Answer): string {
  return answer.data === null ? `${answer.status} ${answer.code ?? ""}`.trim() : answer.data.execution.state;
}

function logLength(pair: LocalPair, venue: PairVenue): number {
  return pair[venue].log.length;
}

export interface Judgement {
  readonly violations: readonly string[];
  readonly orderCount: number;
  readonly recordCount: number;
}

/** `initialLots` by venue and symbol: what each trader held on each venue at the start. */
export function judgeCloses(
  pair: LocalPair,
  trials: readonly CloseTrial[],
  initialLots: (venue: PairVenue, trader: Trader, symbol: string) => number,
): Judgement {
  const found: string[] = [];
  let orderCount = 0;
  let recordCount = 0;
  const claims = new Map<string, { readonly trial: CloseTrial; readonly data: CloseDataView }>();
  for (const trial of trials) {
    const last = lastData(trial);
    for (const leg of last?.execution.legs ?? []) {
      const id = `${leg.exchange} ${leg.venueClientOrderId}`;
      if (claims.has(id)) found.push(`${trial.key}: claims ${id}, which ${claims.get(id)?.trial.key ?? ""} claims too`);
      if (last !== null) claims.set(id, { trial, data: last });
    }
  }
  const recordsByTrial = new Map<CloseTrial, { venue: PairVenue; record: SimRequestRecord }[]>();
  const traders = new Set(trials.map(({ trader }) => trader));
  for (const venue of PAIR_VENUES) {
    for (const trader of traders) {
      const records = pair[venue].log.records({ accountId: accountOf(venue, trader), action: "place" });
      recordCount += records.length;
      const executed = new Map<string, SimRequestRecord>();
      for (const record of records) {
        const at = `${venue} ${trader.label} record ${record.index}`;
        found.push(
          ...instructionProblems(
            pair,
            venue,
            record,
            trials.filter((trial) => trial.trader === trader),
            at,
          ),
        );
        if (record.clientId === null) continue;
        if (record.orderId !== null) {
          orderCount++;
          if (executed.has(record.clientId)) found.push(`${at}: a second order with client id ${record.clientId}`);
          executed.set(record.clientId, record);
        } else if (executed.has(record.clientId))
          found.push(`${at}: ${record.clientId} sent again after it was executed`);
        const claim = claims.get(`${venue} ${record.clientId}`);
        if (claim === undefined) {
          if (record.orderId !== null)
            found.push(`${at}: order ${record.clientId} of ${record.filledQty ?? "?"} is claimed by no reply`);
          continue;
        }
        const kept = recordsByTrial.get(claim.trial) ?? [];
        kept.push({ venue, record });
        recordsByTrial.set(claim.trial, kept);
      }
      for (const symbol of new Set(trials.filter((trial) => trial.trader === trader).map((trial) => trial.symbol))) {
        found.push(...positionProblems(pair, venue, trader, symbol, initialLots(venue, trader, symbol)));
      }
    }
  }
  for (const trial of trials) found.push(...replyProblems(pair, trial, recordsByTrial.get(trial) ?? []));
  return { violations: found, orderCount, recordCount };
}

function lastData(trial: CloseTrial): CloseDataView | null {
  return trial.answers.findLast((answer) => answer.data !== null)?.data ?? null;
}

/** Checks invariant 1, and the position part of 2. */
function instructionProblems(
  pair: LocalPair,
  venue: PairVenue,
  record: SimRequestRecord,
  trials: readonly CloseTrial[],
  at: string,
): string[] {
  const found: string[] = [];
  const trial = trials.find(({ symbol }) => nativeName(venue, symbol) === record.symbol);
  if (trial === undefined) return [`${at}: an order in ${record.symbol ?? "nothing"}, which nobody asked for`];
  const side = trial.direction === "LONG" ? "SELL" : "BUY";
  if (record.side !== side) found.push(`${at}: side ${record.side ?? "none"} does not close a ${trial.direction}`);
  const isHedge = record.positionSide === "LONG" || record.positionSide === "SHORT";
  if (isHedge ? record.positionSide !== trial.direction : record.reduceOnly !== true)
    found.push(`${at}: neither reduce-only nor of the position side`);
  const order = record.orderId === null ? null : pair[venue].exchange.orders.find(record.orderId);
  if (order !== null) {
    const first = order.fills[0];
    if (first !== undefined && order.requestedLots > Math.abs(first.positionBeforeLots))
      found.push(`${at}: ${order.requestedLots} lots of a position of ${first.positionBeforeLots}`);
    if (order.filledLots > order.requestedLots) found.push(`${at}: filled more than ordered`);
  }
  return found;
}

function positionProblems(
  pair: LocalPair,
  venue: PairVenue,
  trader: Trader,
  symbol: string,
  initialLots: number,
): string[] {
  const { exchange } = pair[venue];
  const native = nativeName(venue, symbol);
  const filled = ordersOf(pair, venue, trader, native).reduce(
    (sum, order) => sum + (order.side === "BUY" ? order.filledLots : -order.filledLots),
    0,
  );
  const side =
    exchange.accounts.find(accountOf(venue, trader))?.hedgeMode === true
      ? initialLots > 0
        ? "LONG"
        : "SHORT"
      : "BOTH";
  const now = pair.positionLots(venue, trader, symbol, side);
  const found: string[] = [];
  if (now !== initialLots + filled)
    found.push(`${venue} ${trader.label} ${symbol}: ${now} lots, but ${initialLots} and fills of ${filled}`);
  if (Math.sign(now) * Math.sign(initialLots) < 0)
    found.push(`${venue} ${trader.label} ${symbol}: the position was turned over`);
  return found;
}

function ordersOf(pair: LocalPair, venue: PairVenue, trader: Trader, native: string): readonly SimOrder[] {
  return pair[venue].exchange.orders.all(accountOf(venue, trader), native);
}

/** Checks invariants 2 to 4: the replies of one key against what its orders did. */
function replyProblems(
  pair: LocalPair,
  trial: CloseTrial,
  own: readonly { readonly venue: PairVenue; readonly record: SimRequestRecord }[],
): string[] {
  const found: string[] = [];
  const at = trial.key;
  const executed = own.filter(({ record }) => record.orderId !== null);
  const filled = sum(executed.map(({ record }) => record.filledQty ?? "0"));
  let finalText: string | null = null;
  for (const [index, answer] of trial.answers.entries()) {
    const which = `${at} answer ${index + 1} (${outcomeOf(answer)})`;
    if (answer.status >= 500 && answer.status !== 503) found.push(`${which}: a fault of our own`);
    const doneBefore = executed.filter(
      ({ venue, record }) => record.index < answer.logLengths[venue] && Number(record.filledQty ?? 0) > 0,
    );
    if (answer.data === null) {
      if (!NEUTRAL.has(answer.code ?? "") && doneBefore.length > 0)
        found.push(`${which}: refused, but ${doneBefore.length} orders had been executed`);
      continue;
    }
    const { execution } = answer.data;
    const [requested, submitted, reported] = [
      execution.requestedSize,
      execution.submittedSize,
      execution.filledSize,
    ].map(scaled) as [bigint, bigint, bigint];
    if (reported > submitted || submitted > requested)
      found.push(
        `${which}: filled ${execution.filledSize}, submitted ${execution.submittedSize}, requested ${execution.requestedSize}`,
      );
    if (!answer.success && doneBefore.length > 0)
      found.push(`${which}: success false, but ${doneBefore.length} orders had been executed`);
    const hasUnknown = execution.legs.some((leg) => leg.outcome === "UNKNOWN");
    if (hasUnknown !== (execution.state === "UNKNOWN")) found.push(`${which}: legs and state disagree about UNKNOWN`);
    if (execution.state === "UNKNOWN" && (execution.final || !answer.success))
      found.push(`${which}: unknown reported as final or failed`);
    if (execution.state === "UNKNOWN" && execution.legs.at(-1)?.outcome !== "UNKNOWN")
      found.push(`${which}: an order was sent after one of unknown outcome`);
    if (!execution.final) continue;
    if (reported !== filled)
      found.push(`${which}: final fill ${execution.filledSize}, the venues' logs say ${text(filled)}`);
    found.push(...legProblems(pair, answer.data, executed).map((problem) => `${which}: ${problem}`));
    const same = JSON.stringify([
      execution.state,
      execution.filledSize,
      execution.averagePrice,
      execution.legs.map((leg) => leg.orderId),
    ]);
    if (finalText !== null && finalText !== same)
      found.push(`${which}: a final answer changed from ${finalText} to ${same}`);
    finalText = same;
  }
  return found;
}

/** Both venues print an average with at least the decimals of the instrument's prices, and may cut it there. */
function legProblems(
  pair: LocalPair,
  data: CloseDataView,
  executed: readonly { readonly venue: PairVenue; readonly record: SimRequestRecord }[],
): string[] {
  const found: string[] = [];
  for (const leg of data.execution.legs) {
    const match = executed.find(
      ({ venue, record }) => venue === leg.exchange && record.clientId === leg.venueClientOrderId,
    );
    if (match === undefined) {
      if (leg.outcome === "CONFIRMED")
        found.push(`leg ${leg.venueClientOrderId} confirmed, but the venue has no such order`);
      continue;
    }
    const { record } = match;
    if (leg.outcome === "REJECTED" || leg.outcome === "NOT_SENT")
      found.push(`leg ${leg.venueClientOrderId} is ${leg.outcome}, but the venue executed it`);
    if (leg.orderId !== null && leg.orderId !== String(record.orderId))
      found.push(`leg names order ${leg.orderId}, the venue's is ${record.orderId ?? "none"}`);
    if (scaled(leg.filledSize) !== scaled(record.filledQty ?? "0"))
      found.push(`leg filled ${leg.filledSize}, the venue says ${record.filledQty ?? "0"}`);
    if (record.averagePrice !== null && leg.averagePrice !== null) {
      const [ours, theirs] = [Number(leg.averagePrice), Number(record.averagePrice)];
      const priceDecimals = pair[leg.exchange].exchange.instruments.get(record.symbol ?? "")?.priceDecimals ?? 0;
      if (Math.abs(ours - theirs) > 10 ** -priceDecimals)
        found.push(`leg at ${leg.averagePrice}, the venue says ${record.averagePrice}`);
    }
  }
  return found;
}

const SCALE = 12;

/** Decimal text as an integer of 10^-12. */
export function scaled(decimal: string): bigint {
  const [whole = "0", fraction = ""] = decimal.split(".");
  return BigInt(whole) * 10n ** BigInt(SCALE) + BigInt(fraction.padEnd(SCALE, "0").slice(0, SCALE));
}

function sum(decimals: readonly string[]): bigint {
  return decimals.reduce((total, decimal) => total + scaled(decimal), 0n);
}

function text(value: bigint): string {
  return String(Number(value) / 10 ** SCALE);
}
