/** Checks the orders in the venues' logs as they were sent, and what they did to the positions. */
import type { SimRequestRecord } from "../../../sim/core/server/request-log.js";
import { scaled } from "../close-judge.js";
import { FOUR_VENUES, type FourVenue } from "../four-venues.js";
import { nativeName } from "../local-venues.js";
import type { Ask } from "../trade-ask.js";
import { isEnd, type TradeTrial } from "../trade-trial.js";
import { CLOCK_STEPS_MS } from "../trade-workload.js";
import { type Evidence, filledLots, placeOf, type Sent, type TradeCheck } from "./evidence.js";
import { orderOf } from "./single-orders.js";

/** Invariant 4: one key claims each order, and each client id executes once. */
export const claims: TradeCheck = (evidence) => {
  const found = [...evidence.disputes];
  for (const { venue, record } of evidence.unclaimed) {
    if (record.orderId === null || isOfAnAsk(evidence, venue, record) || isWatched(evidence, venue, record)) continue;
    found.push(
      `${venue} record ${record.index}: order ${record.clientId ?? "without id"} is claimed by no reply; ${doingOf(evidence, venue, record)}`,
    );
  }
  found.push(...keysTwice(evidence));
  const executed = new Set<string>();
  for (const { venue, record, trial } of evidence.sent) {
    const id = `${venue} ${record.clientId ?? ""}`;
    if (executed.has(id)) {
      found.push(
        `${venue} record ${record.index} (${trial.key}): ${record.orderId === null ? "sent again after it was executed" : "a second order with one client id"}`,
      );
    }
    if (record.orderId !== null) executed.add(id);
  }
  return found;
};

/** Describes an unclaimed order for a reader who looks for the lost reply. */
function doingOf({ trials, asks }: Evidence, venue: FourVenue, record: SimRequestRecord): string {
  const { accountId, side, qty, symbol, reduceOnly } = record;
  const owner = [...trials, ...asks].find(({ trader }) => trader.accountIds[venue] === accountId)?.trader.label;
  return `${side ?? ""} ${qty ?? ""} ${symbol ?? ""}${reduceOnly === true ? ", reduces," : ""} of ${owner ?? "nobody"}`;
}

/** A key executes once, whatever else its bodies say. */
function keysTwice(evidence: Evidence): string[] {
  const executedBy = new Map<string, TradeTrial>();
  const found: string[] = [];
  for (const trial of evidence.trials) {
    if (evidence.executed(trial).length === 0) continue;
    const other = executedBy.get(trial.key);
    if (other !== undefined) found.push(`${trial.key}: executed for two bodies`);
    executedBy.set(trial.key, trial);
  }
  return found;
}

/**
 * Orders of a close-all: those that its account sent during the request, those that the answer names, and, without an
 * answer, those that reduce after it.
 */
function isOfAnAsk(evidence: Evidence, venue: FourVenue, record: SimRequestRecord): boolean {
  return askOf(evidence, venue, record) !== undefined;
}

function askOf({ asks }: Evidence, venue: FourVenue, record: SimRequestRecord): Ask | undefined {
  return asks.find((ask) => {
    if (ask.kind === "ORDER") return isOrderOf(ask, venue, record);
    if (ask.kind !== "CLOSE_ALL" || ask.trader.accountIds[venue] !== record.accountId) return false;
    if (record.index < ask.logLengthsBefore[venue]) return false;
    if (record.index < ask.logLengths[venue]) return true;
    return ask.status === 0 ? record.reduceOnly === true : isNamed(ask, venue, record);
  });
}

/** Each answer to its key names a single order. Without an answer the order is found by its terms. */
function isOrderOf({ data, status, terms, trader }: Ask, venue: FourVenue, record: SimRequestRecord): boolean {
  if (trader.accountIds[venue] !== record.accountId || !terms.venues.includes(venue)) return false;
  if (status !== 200) return terms.order?.side === record.side && terms.order?.quantity === record.qty;
  return orderOf(data)?.venueClientOrderId === record.clientId;
}

/** Finds it by the venue's id, or by the client id of an order whose outcome was unknown then. */
function isNamed({ data }: Ask, venue: FourVenue, { clientId, orderId }: SimRequestRecord): boolean {
  const { venues = [] } = (data ?? {}) as {
    readonly venues?: readonly {
      readonly results?: readonly { readonly exchange: string; readonly orderId: string }[];
    }[];
  };
  return venues.some(({ results = [] }) =>
    results.some((leg) => leg.exchange === venue && (leg.orderId === clientId || leg.orderId === String(orderId))),
  );
}

/**
 * Orders after the reply: protection of a resting entry once it fills, refused protection that is sent again, and an
 * undo that its caller wants and that did not fill at first.
 */
function isWatched({ trials, four }: Evidence, venue: FourVenue, record: SimRequestRecord): boolean {
  const order = record.orderId === null ? null : four.venues[venue].exchange.orders.find(record.orderId);
  if (order === null || !order.reduceOnly) return false;
  return trials.some(
    ({ body, direction, kind, trader, symbol, terms }) =>
      kind === "OPEN" &&
      (order.trigger !== null || wantsWayBack(body)) &&
      order.side === (direction === "LONG" ? "SELL" : "BUY") &&
      (terms.stopLoss !== null || terms.takeProfit !== null) &&
      trader.accountIds[venue] === order.accountId &&
      nativeName(venue, symbol) === order.symbol,
  );
}

function wantsWayBack(body: string): boolean {
  return (JSON.parse(body) as { readonly closeOnProtectionFailure?: boolean }).closeOnProtectionFailure === true;
}

/** Checks invariant 1. */
export const instructions: TradeCheck = (evidence) =>
  evidence.sent.flatMap((sent) => instructionProblems(sent).map((problem) => `${placeOf(sent)}: ${problem}`));

function instructionProblems({ venue, record, trial, role, order }: Sent): string[] {
  const found: string[] = [];
  if (record.accountId !== trial.trader.accountIds[venue]) found.push("an order on somebody else's account");
  if (record.symbol !== nativeName(venue, trial.symbol)) found.push(`an order in ${record.symbol ?? "nothing"}`);
  const opens = trial.kind === "OPEN" && role === "POSITION";
  const buys = (trial.direction === "LONG") === opens;
  const doing = role === "POSITION" ? trial.kind : role;
  if (record.side !== (buys ? "BUY" : "SELL")) found.push(`side ${record.side ?? "none"} does not ${doing}`);
  if (record.reduceOnly !== !opens) found.push(`reduceOnly ${String(record.reduceOnly)}`);
  if (order === null || opens) return found;
  const held = Math.abs(order.fills[0]?.positionBeforeLots ?? order.filledLots);
  if (order.filledLots > held) found.push(`${order.filledLots} lots filled of a position of ${held}`);
  return found;
}

/** Checks invariant 2 on the orders as they were sent. */
export const sizes: TradeCheck = (evidence) =>
  evidence.sent.flatMap((sent) => sizeProblems(evidence, sent).map((problem) => `${placeOf(sent)}: ${problem}`));

function sizeProblems({ holdings }: Evidence, { venue, record, trial, leg, role }: Sent): string[] {
  const found: string[] = [];
  if (record.qty === null) return ["an order without a size"];
  const qty = scaled(record.qty);
  if (qty !== scaled(leg.size)) found.push(`ordered ${record.qty}, reported as ${leg.size}`);
  if (scaled(record.filledQty ?? "0") > qty) found.push("filled more than ordered");
  if (role !== "POSITION") return found;
  const requested = trial.answers.findLast(({ data }) => data !== null)?.data?.execution.requestedSize ?? "0";
  if (qty > scaled(requested)) found.push(`ordered ${record.qty} of ${requested} requested`);
  if (trial.size !== null && scaled(requested) > scaled(trial.size))
    found.push(`reported as ${requested} requested, but ${trial.size} was asked for`);
  if (trial.kind === "OPEN") return found;
  const sinceMs = trial.answers[0]?.askedAtMs ?? 0;
  const held = holdings.mostHeld(venue, trial.trader, trial.symbol, trial.direction, sinceMs, record.receivedMs);
  if (qty > held) found.push(`ordered ${record.qty} of a position of ${String(held)}e-12`);
  return found;
}

/**
 * Replies have no times for protection. When the venue has two within this time, the second may have left before the
 * first had an answer: a fault holds a request for up to 1.8 s, and the machine may pause.
 */
const UNTIMED_MS = 5_000;

/**
 * Finds a signature on a nonce that the venue had accepted before. Keys of an account that sends a time stamp instead
 * have no nonces.
 */
export const nonces: TradeCheck = (evidence) => {
  const legs = new Map(evidence.sent.map(({ venue, record, leg }) => [`${venue} ${record.index}`, leg]));
  // While the end of an order is unknown, another may take its nonce: the venue, which has not received the first,
  // names that nonce, and executes one of the two at most.
  const isOpen = (first: SimRequestRecord, second: SimRequestRecord): boolean => {
    if (second.orderId !== null) return false;
    if (isUntimed(first) || isUntimed(second)) return second.receivedMs - first.receivedMs <= UNTIMED_MS;
    const [before, after] = [timesOf(first), timesOf(second)];
    if (before === null || after === null) return false;
    return before.endMs === null || before.endMs > after.startMs;
  };
  const isUntimed = (record: SimRequestRecord): boolean =>
    legs.get(`venuethree ${record.index}`)?.sentAt === undefined && legs.has(`venuethree ${record.index}`);
  /**
   * Times from its leg, else from the request that sent it. The end is absent where it became known later, or never.
   */
  const timesOf = (record: SimRequestRecord): { readonly startMs: number; readonly endMs: number | null } | null => {
    const leg = legs.get(`venuethree ${record.index}`);
    if (leg !== undefined) {
      if (leg.sentAt == null) return null;
      const { receivedMs } = record;
      const endMs = leg.ackAt == null ? null : unsteppedMs(leg.ackAt, receivedMs);
      return { startMs: unsteppedMs(leg.sentAt, receivedMs), endMs };
    }
    const ask = askOf(evidence, "venuethree", record);
    if (ask === undefined) return null;
    const isKnown = ask.status === 200 && !saysUnknown(ask);
    return { startMs: ask.askedAtMs, endMs: isKnown ? ask.answeredAtMs : null };
  };
  const tracedOf = (venue: FourVenue, record: SimRequestRecord): string => {
    const { sentAt, ackAt } = legs.get(`${venue} ${record.index}`) ?? {};
    const became = record.orderId === null ? `refused with ${record.refusal?.code ?? "nothing"}` : "executed";
    return `${record.clientId ?? "without id"} at ${record.receivedMs} ${became}, sent ${sentAt ?? "?"}, answered ${ackAt ?? "?"}`;
  };
  return FOUR_VENUES.flatMap((venue) =>
    nonceProblems(
      venue,
      evidence.placed[venue],
      venue === "venuethree" ? isOpen : () => false,
      (record) => `${doingOf(evidence, venue, record)}, ${tracedOf(venue, record)}`,
    ),
  );
};

/** A reply's time on the venue's clock: the service's clock may have been set between its two times. */
function unsteppedMs(atMs: number, receivedMs: number): number {
  const candidates = CLOCK_STEPS_MS.map((stepMs) => atMs - stepMs);
  const apart = (ms: number): number => Math.abs(ms - receivedMs);
  return candidates.reduce((best, ms) => (apart(ms) < apart(best) ? ms : best), atMs);
}

/** Returns whether the reply reports at least one of its orders as unknown. */
function saysUnknown({ data }: Ask): boolean {
  const { venues = [] } = (data ?? {}) as {
    readonly venues?: readonly {
      readonly state?: string;
      readonly results?: readonly { readonly status?: string }[];
    }[];
  };
  return (
    orderOf(data)?.status === "UNKNOWN" ||
    venues.some(({ results = [] }) => results.some(({ status }) => status === "UNKNOWN"))
  );
}

function nonceProblems(
  venue: FourVenue,
  records: readonly SimRequestRecord[],
  isOpen: (first: SimRequestRecord, second: SimRequestRecord) => boolean,
  textOf: (record: SimRequestRecord) => string,
): string[] {
  const hasNonces = ({ signer }: SimRequestRecord): boolean =>
    venue === "venueone" || venue === "venuethree" || (venue === "venuetwo" && signer.startsWith("0x"));
  const spent = new Map<string, SimRequestRecord>();
  const found: string[] = [];
  for (const record of records) {
    if (record.nonce === null || !hasNonces(record)) continue;
    const name = `${record.signer} ${record.nonce}`;
    const before = spent.get(name);
    if (before !== undefined && !isOpen(before, record))
      found.push(
        `${venue} record ${record.index}: nonce ${record.nonce} of record ${before.index} is used again; first ${textOf(before)}; then ${textOf(record)}`,
      );
    // A transaction that venuethree refuses at its API or lets expire leaves its nonce to the next one.
    if (venue !== "venuethree" || record.orderId !== null) spent.set(name, record);
  }
  return found;
}

/** Position now = position then + every fill since; a close never reverses one. */
export const positions: TradeCheck = ({ four, trials, baseline }) => {
  const found: string[] = [];
  const held = new Map(trials.map((trial) => [`${trial.trader.label} ${trial.symbol}`, trial]));
  for (const [name, { trader, symbol }] of held) {
    for (const venue of FOUR_VENUES) {
      const at = `${venue} ${name}`;
      const filled = filledLots(four, venue, trader, symbol) - (baseline.filled.get(at) ?? 0);
      const first = baseline.lots.get(at) ?? 0;
      const now = four.positionLots(venue, trader, symbol);
      if (now !== first + filled) found.push(`${at}: ${now} lots, but ${first} and fills of ${filled}`);
    }
  }
  return found;
};

/** Checks invariant 2 on the reports: a final answer reports the fills that the logs have. */
export const fills: TradeCheck = (evidence) => evidence.trials.flatMap((trial) => fillProblems(evidence, trial));

/** Deadline that its body names, ms. */
function deadlineOf({ body }: TradeTrial): number {
  const { routingOptions } = JSON.parse(body) as { readonly routingOptions: { readonly deadlineMs: number } };
  return routingOptions.deadlineMs;
}

function fillProblems(evidence: Evidence, trial: TradeTrial): string[] {
  const found: string[] = [];
  const executed = evidence.executed(trial);
  const filled = executed.reduce((total, { record }) => total + scaled(record.filledQty ?? "0"), 0n);
  // A resting order may fill after any answer; the answer has what it filled on arrival.
  const taken = executed.reduce(
    (total, { record }) => record.fills.reduce((sum, { maker, qty }) => (maker ? sum : sum + scaled(qty)), total),
    0n,
  );
  const rests = trial.terms.orderType !== "MARKET";
  // A service that pauses for the whole time of an answer cannot read what the order filled, and its earlier statement
  // remains.
  const isLate = trial.answers.some(({ askedAtMs, answeredAtMs }) => answeredAtMs - askedAtMs >= deadlineOf(trial));
  for (const [index, { data }] of trial.answers.entries()) {
    if (data === null) continue;
    const { state, filledSize, submittedSize, requestedSize, legs } = data.execution;
    const which = `${trial.key} answer ${index + 1} (${state})`;
    const [told, submitted, requested] = [filledSize, submittedSize, requestedSize].map(scaled) as [
      bigint,
      bigint,
      bigint,
    ];
    if (told > submitted || submitted > requested)
      found.push(`${which}: filled ${filledSize}, submitted ${submittedSize}, requested ${requestedSize}`);
    if (!isEnd(data)) continue;
    const least = rests && trial.terms.triggerPrice === null && !isLate ? taken : rests ? 0n : filled;
    if (told < least || told > filled)
      found.push(`${which}: final fill ${filledSize}, the logs say ${String(filled)}e-12`);
    for (const leg of legs) {
      const match = executed.find(
        ({ venue, record }) => venue === leg.exchange && record.clientId === leg.venueClientOrderId,
      );
      if (match === undefined || rests || leg.outcome === "REJECTED" || leg.outcome === "NOT_SENT") continue;
      if (scaled(leg.filledSize) !== scaled(match.record.filledQty ?? "0"))
        found.push(`${which}: leg filled ${leg.filledSize}, the venue says ${match.record.filledQty ?? "0"}`);
    }
  }
  return found;
}
