/**
 * Judges opens and closes that went through the gateway by the order logs of the four local venues (design, section 5).
 *
 *   1  `instructionProblems`: account, symbol, side and reduce-only flag of every order that reached a venue
 *   2  `sizeProblems`: ordered ≤ requested and ≤ the position; `replyProblems`: filled ≤ submitted ≤ requested, and as
 *      the logs say; `positionProblems`: nothing filled but what the logs have
 *   3  `afterUnknown`: nothing sent beside an order of unknown outcome; `replyProblems`: unknown is neither final nor failed
 *   4  `claimsOf` and the loop of `judgeTrades`: each order is claimed by one key, each client id executed once
 *   6  `secretProblems` of isolation-judge.ts: secrets in replies, metrics, status, logs, the store
 *  12  `outageProblems` of isolation-judge.ts: trades that needed nothing of a venue that was down
 *
 * Beside these no signer uses a nonce again (`nonceProblems`). The replies claim orders by their venue client ids; the
 * logs say what those orders did.
 */
import type { SimRequestRecord } from "../../sim/core/types.js";
import { NEUTRAL, scaled } from "./close-judge.js";
import { FOUR_VENUES, type FourTrader, type FourVenue, type FourVenues, nativeName } from "./four-venues.js";
import { Holdings } from "./holdings.js";
import { logLengthsOf, tradeOutcome, type TradeLeg, type TradeTrial } from "./trade-trial.js";

export interface TradeJudgement {
  readonly violations: readonly string[];
  readonly orderCount: number;
}

/** What stood before the trades that are judged. */
interface Baseline {
  readonly logLengths: Readonly<Record<FourVenue, number>>;
  /** `venue trader symbol` → lots. */
  readonly lots: ReadonlyMap<string, number>;
}

interface Claim {
  readonly trial: TradeTrial;
  readonly leg: TradeLeg;
}

interface Sent extends Claim {
  readonly venue: FourVenue;
  readonly record: SimRequestRecord;
}

const JUDGED_SYMBOLS = ["BTC", "ETH"] as const;

export function baselineOf(four: FourVenues, traders: Iterable<FourTrader>): Baseline {
  const lots = new Map<string, number>();
  for (const trader of traders)
    for (const venue of FOUR_VENUES)
      for (const symbol of JUDGED_SYMBOLS)
        lots.set(`${venue} ${trader.label} ${symbol}`, four.positionLots(venue, trader, symbol));
  return { logLengths: logLengthsOf(four), lots };
}

export function judgeTrades(four: FourVenues, trials: readonly TradeTrial[], baseline: Baseline): TradeJudgement {
  const found: string[] = [];
  const claims = claimsOf(trials, found);
  const holdings = new Holdings(four, baseline.lots);
  const sentBy = new Map<TradeTrial, Sent[]>();
  /** Instructions that no order came of. */
  const refused = new Set<string>();
  let orderCount = 0;
  for (const venue of FOUR_VENUES) {
    const executed = new Set<string>();
    const records = four.venues[venue].log
      .records({ action: "place" })
      .filter(({ index }) => index >= baseline.logLengths[venue]);
    found.push(...nonceProblems(venue, records));
    for (const record of records) {
      const at = `${venue} record ${record.index}`;
      const clientId = record.clientId ?? "";
      const claim = claims.get(`${venue} ${clientId}`);
      if (claim === undefined) {
        if (record.orderId !== null) found.push(`${at}: order ${clientId || "without id"} is claimed by no reply`);
        continue;
      }
      const sent: Sent = { ...claim, venue, record };
      const problems = [...instructionProblems(four, sent), ...sizeProblems(holdings, sent)];
      found.push(...problems.map((problem) => `${at} (${claim.trial.key}): ${problem}`));
      if (executed.has(clientId)) {
        found.push(
          `${at}: ${record.orderId === null ? "sent again after it was executed" : "a second order with one client id"}`,
        );
      }
      if (record.orderId === null) {
        refused.add(`${venue} ${clientId}`);
        continue;
      }
      orderCount++;
      executed.add(clientId);
      sentBy.set(claim.trial, [...(sentBy.get(claim.trial) ?? []), sent]);
    }
  }
  for (const trial of trials) {
    const executed = sentBy.get(trial) ?? [];
    found.push(...replyProblems(trial, executed, refused), ...afterUnknown(trial, executed));
  }
  found.push(...positionProblems(four, trials, baseline.lots));
  return { violations: found, orderCount };
}

/** Invariant 4: the orders of a trade are those of its newest answer. */
function claimsOf(trials: readonly TradeTrial[], found: string[]): Map<string, Claim> {
  const claims = new Map<string, Claim>();
  for (const trial of trials) {
    const last = trial.answers.findLast((answer) => answer.data !== null)?.data;
    for (const leg of last?.execution.legs ?? []) {
      const id = `${leg.exchange} ${leg.venueClientOrderId}`;
      const other = claims.get(id);
      if (other !== undefined) found.push(`${trial.key}: claims ${id}, which ${other.trial.key} claims too`);
      claims.set(id, { trial, leg });
    }
  }
  return claims;
}

/** Invariant 1. */
function instructionProblems(four: FourVenues, { venue, record, trial }: Sent): string[] {
  const found: string[] = [];
  if (record.accountId !== trial.trader.accountIds[venue]) found.push("an order on somebody else's account");
  if (record.symbol !== nativeName(venue, trial.symbol)) found.push(`an order in ${record.symbol ?? "nothing"}`);
  const buys = (trial.direction === "LONG") === (trial.kind === "OPEN");
  if (record.side !== (buys ? "BUY" : "SELL")) found.push(`side ${record.side ?? "none"} does not ${trial.kind}`);
  if (record.reduceOnly !== (trial.kind === "CLOSE")) found.push(`reduceOnly ${String(record.reduceOnly)}`);
  const order = record.orderId === null ? null : four.venues[venue].exchange.order(record.orderId);
  if (order === null || trial.kind === "OPEN") return found;
  const held = Math.abs(order.fills[0]?.positionBeforeLots ?? order.filledLots);
  if (order.filledLots > held) found.push(`${order.filledLots} lots filled of a position of ${held}`);
  return found;
}

/** Invariant 2, of the orders as they were sent. */
function sizeProblems(holdings: Holdings, { venue, record, trial, leg }: Sent): string[] {
  const found: string[] = [];
  if (record.qty === null) return ["an order without a size"];
  const qty = scaled(record.qty);
  if (qty !== scaled(leg.size)) found.push(`ordered ${record.qty}, told as ${leg.size}`);
  if (scaled(record.filledQty ?? "0") > qty) found.push("filled more than ordered");
  const requested = trial.answers.findLast(({ data }) => data !== null)?.data?.execution.requestedSize ?? "0";
  if (qty > scaled(requested)) found.push(`ordered ${record.qty} of ${requested} requested`);
  if (trial.size !== null && scaled(requested) > scaled(trial.size))
    found.push(`told of ${requested} requested, but ${trial.size} was asked for`);
  if (trial.kind === "OPEN") return found;
  const sinceMs = trial.answers[0]?.askedAtMs ?? 0;
  const held = holdings.mostHeld(venue, trial.trader, trial.symbol, trial.direction, sinceMs, record.receivedMs);
  if (qty > held) found.push(`ordered ${record.qty} of a position of ${String(held)}e-12`);
  return found;
}

/** A signature on a nonce that the venue had accepted before. Keys of an account that sends a time stamp instead have none. */
function nonceProblems(venue: FourVenue, records: readonly SimRequestRecord[]): string[] {
  const hasNonces = ({ signer }: SimRequestRecord): boolean =>
    venue === "venueone" || venue === "venuethree" || (venue === "venuetwo" && signer.startsWith("0x"));
  const spent = new Map<string, number>();
  const found: string[] = [];
  for (const record of records) {
    if (record.nonce === null || !hasNonces(record)) continue;
    const name = `${record.signer} ${record.nonce}`;
    const before = spent.get(name);
    if (before !== undefined)
      found.push(`${venue} record ${record.index}: nonce ${record.nonce} of record ${before} is used again`);
    // What venuethree refuses at its door or lets expire keeps its nonce for the next transaction.
    if (venue !== "venuethree" || record.orderId !== null) spent.set(name, record.index);
  }
  return found;
}

/** Invariants 2 to 4: what the replies of one key said, against what its orders did. */
function replyProblems(trial: TradeTrial, executed: readonly Sent[], refused: ReadonlySet<string>): string[] {
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
    found.push(...legProblems(execution.legs, executed, refused).map((problem) => `${which}: ${problem}`));
    const same = JSON.stringify([execution.state, execution.filledSize, execution.averagePrice]);
    if (finalText !== null && finalText !== same) found.push(`${which}: a final answer changed from ${finalText}`);
    finalText = same;
  }
  return found;
}

function legProblems(legs: readonly TradeLeg[], executed: readonly Sent[], refused: ReadonlySet<string>): string[] {
  const found: string[] = [];
  for (const leg of legs) {
    const match = executed.find(
      ({ venue, record }) => venue === leg.exchange && record.clientId === leg.venueClientOrderId,
    );
    if (match === undefined) {
      // One venue shows orders that its margin check refused as orders that ended: with nothing filled that is the truth.
      const isShown = refused.has(`${leg.exchange} ${leg.venueClientOrderId}`) && scaled(leg.filledSize) === 0n;
      if (leg.outcome === "CONFIRMED" && !isShown)
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

/**
 * Invariant 3: what was told as unknown was not sent or routed anew, unless its end left something to do: an order that
 * followed it stands beside one that filled less than it was for.
 */
function afterUnknown(trial: TradeTrial, executed: readonly Sent[]): string[] {
  const found: string[] = [];
  for (const answer of trial.answers) {
    for (const leg of answer.data?.execution.legs ?? []) {
      if (leg.outcome !== "UNKNOWN") continue;
      const itself = executed.find(({ record }) => record.clientId === leg.venueClientOrderId);
      const isWhole = itself !== undefined && itself.record.filledQty === itself.record.qty;
      const after = executed.filter(
        ({ venue, record }) => record.index >= answer.logLengths[venue] && record !== itself?.record,
      );
      if (isWhole && after.length > 0)
        found.push(`${trial.key}: sent anew after ${leg.venueClientOrderId} of unknown outcome, which had filled`);
    }
  }
  return found;
}

/** Position now = position then + every fill; a close never turns one over. */
function positionProblems(
  four: FourVenues,
  trials: readonly TradeTrial[],
  initial: ReadonlyMap<string, number>,
): string[] {
  const found: string[] = [];
  const held = new Map(trials.map((trial) => [`${trial.trader.label} ${trial.symbol}`, trial]));
  for (const [name, { trader, symbol }] of held) {
    for (const venue of FOUR_VENUES) {
      const filled = four.venues[venue].exchange
        .allOrders(trader.accountIds[venue], nativeName(venue, symbol))
        .reduce((sum, order) => sum + (order.side === "BUY" ? order.filledLots : -order.filledLots), 0);
      const first = initial.get(`${venue} ${name}`) ?? 0;
      const now = four.positionLots(venue, trader, symbol);
      if (now !== first + filled) found.push(`${venue} ${name}: ${now} lots, but ${first} and fills of ${filled}`);
    }
  }
  return found;
}
