/**
 * Judges trades by the venues' own logs, whatever the service says of itself. Each simulated trade has accounts of its
 * own, so its orders are told apart by account. Knows nothing of the fakes: whoever has logs in this form may ask.
 */
import type { Direction, PositionSide, Side } from "../../domain/order.js";
import type { TradeData, TradeIntent, TradeResult } from "../types.js";

/** One order as a venue saw it. */
export interface JudgedOrder {
  readonly venue: string;
  readonly clientId: string;
  /** Of whoever signed it; null where the venue has none. */
  readonly nonce: number | null;
  readonly side: Side;
  readonly reduceOnly: boolean;
  readonly positionSide: PositionSide;
  readonly qtyLots: number;
  /** The venue took it; absent: it did. */
  readonly wasTaken?: boolean;
  /** It waits for a price. */
  readonly waits: boolean;
  readonly sentAtMs: number;
  readonly filledLots: number;
  /** When the sender learned how it ended; null: it could not know. */
  readonly disclosedAtMs: number | null;
}

export interface JudgedTrade {
  readonly account: string;
  readonly intent: TradeIntent;
  readonly direction: Direction;
  /** Null means all there is, or a share of it; the positions bound it then. */
  readonly requestedLots: number | null;
  /** May several venues be used at once? */
  readonly split: boolean;
  readonly key: string | null;
  /** venue → lots in the trade's direction at the start; positions of a close only shrink after. */
  readonly initialLots: ReadonlyMap<string, number>;
  /** Venues where both directions are held apart. */
  readonly hedgeVenues: ReadonlySet<string>;
  /** Every reply its caller saw, in order, and when. */
  readonly replies: { readonly result: TradeResult; readonly atMs: number }[];
}

export interface JudgeOptions {
  /** Decimals of a lot. */
  readonly lotDecimals: number;
  /** Orders of one split leave within this of each other. */
  readonly batchMs: number;
}

/** Refusals that say nothing about what was executed under the key. */
const NEUTRAL_CODES: ReadonlySet<string> = new Set([
  "IDEMPOTENCY_IN_PROGRESS",
  "IDEMPOTENCY_MISMATCH",
  "SHUTTING_DOWN",
  "OVERLOADED",
]);

/** One text per broken invariant; empty when all hold. `latest`: what the service says of the trade at the end. */
export function violations(
  trade: JudgedTrade,
  orders: readonly JudgedOrder[],
  latest: TradeData | null,
  options: JudgeOptions,
): string[] {
  const sent = [...orders].sort((left, right) => left.sentAtMs - right.sentAtMs);
  const own = sent.filter((order) => isOwn(trade, order));
  const found: string[] = [];
  for (const [index, order] of sent.entries())
    found.push(...orderViolations(trade, order).map((text) => `${trade.account} order ${index + 1}: ${text}`));
  found.push(...batchViolations(trade, batchesOf(trade, own, options.batchMs)));
  found.push(...followerViolations(trade, own, sent));
  const executedLots = sumFilled(own);
  if (executedLots > limitOf(trade))
    found.push(`${trade.account}: ${executedLots} lots executed of ${limitOf(trade)} requested`);
  if (new Set(sent.map(({ clientId }) => clientId)).size !== sent.length)
    found.push(`${trade.account}: a client id was sent twice`);
  for (const { result, atMs } of trade.replies) {
    // A refusal frees the key: it speaks of the orders sent until then. Every other reply speaks for good.
    const speaksOf = result.ok ? executedLots : sumFilled(own.filter(({ sentAtMs }) => sentAtMs <= atMs));
    found.push(...replyViolations(result, speaksOf, options).map((text) => `${trade.account}: ${text}`));
  }
  if (latest !== null)
    found.push(...dataViolations(latest, executedLots, options).map((text) => `${trade.account} at the end: ${text}`));
  return found;
}

/** No signer uses a nonce twice, over all its trades. */
export function nonceViolations(orders: readonly (JudgedOrder & { readonly account: string })[]): string[] {
  const seen = new Set<string>();
  const found: string[] = [];
  for (const { venue, account, nonce } of orders) {
    if (nonce === null) continue;
    const name = `${venue} ${account} ${nonce}`;
    if (seen.has(name)) found.push(`${account}: nonce ${nonce} was used twice on ${venue}`);
    seen.add(name);
  }
  return found;
}

function limitOf(trade: JudgedTrade): number {
  let held = 0;
  for (const lots of trade.initialLots.values()) held += lots;
  return trade.requestedLots ?? held;
}

function closingSide(direction: Direction): Side {
  return direction === "LONG" ? "SELL" : "BUY";
}

/** The orders that the trade is about; what follows an entry goes the other way. */
function isOwn(trade: JudgedTrade, order: JudgedOrder): boolean {
  return trade.intent === "CLOSE" || !order.reduceOnly;
}

function orderViolations(trade: JudgedTrade, order: JudgedOrder): string[] {
  const found: string[] = [];
  const closing = closingSide(trade.direction);
  const opens = trade.intent === "OPEN" && order.side !== closing;
  if (!order.reduceOnly && !opens) found.push("not reduce-only");
  if (order.reduceOnly && order.side !== closing) found.push(`side ${order.side} does not close a ${trade.direction}`);
  if (trade.intent === "OPEN" && !order.reduceOnly && order.side === closing)
    found.push(`side ${order.side} does not open a ${trade.direction}`);
  if (order.positionSide !== (trade.hedgeVenues.has(order.venue) ? trade.direction : "BOTH"))
    found.push(`position side ${order.positionSide}`);
  if (order.filledLots > order.qtyLots) found.push("filled more than ordered");
  if (trade.intent === "CLOSE" && order.qtyLots > (trade.initialLots.get(order.venue) ?? 0))
    found.push(`${order.qtyLots} lots exceed the position`);
  return found;
}

/** What left together: the legs of a split, each on a venue of its own. */
function batchesOf(trade: JudgedTrade, own: readonly JudgedOrder[], batchMs: number): JudgedOrder[][] {
  const batches: JudgedOrder[][] = [];
  for (const order of own) {
    const last = batches.at(-1);
    const first = last?.[0];
    const joins =
      trade.split &&
      last !== undefined &&
      first !== undefined &&
      order.sentAtMs - first.sentAtMs <= batchMs &&
      last.every(({ venue }) => venue !== order.venue);
    if (joins) last.push(order);
    else batches.push([order]);
  }
  return batches;
}

function batchViolations(trade: JudgedTrade, batches: readonly JudgedOrder[][]): string[] {
  const found: string[] = [];
  let executedBefore = 0;
  const earlier: JudgedOrder[] = [];
  for (const batch of batches) {
    const qtyLots = batch.reduce((sum, order) => sum + order.qtyLots, 0);
    const at = `${trade.account} order ${earlier.length + 1}`;
    if (qtyLots > limitOf(trade) - executedBefore) found.push(`${at}: ${qtyLots} lots exceed what was left`);
    for (const before of earlier) {
      if (before.disclosedAtMs === null || before.disclosedAtMs > (batch[0]?.sentAtMs ?? 0))
        found.push(`${at}: sent while the outcome of an earlier one was unknown`);
    }
    executedBefore += sumFilled(batch);
    earlier.push(...batch);
  }
  return found;
}

/** Protection and ways back: at most what was known to have filled on that venue. */
function followerViolations(trade: JudgedTrade, own: readonly JudgedOrder[], sent: readonly JudgedOrder[]): string[] {
  if (trade.intent === "CLOSE") return [];
  const found: string[] = [];
  const kinds = new Map<string, number>();
  for (const order of sent) {
    if (!order.reduceOnly) continue;
    const known = sumFilled(
      own.filter(
        ({ venue, disclosedAtMs }) =>
          venue === order.venue && disclosedAtMs !== null && disclosedAtMs <= order.sentAtMs,
      ),
    );
    if (order.qtyLots > known)
      found.push(`${trade.account}: a follower of ${order.qtyLots} lots where ${known} had filled`);
    // One that its venue refused, or never had, is tried again.
    if (order.waits && order.wasTaken !== false) kinds.set(order.venue, (kinds.get(order.venue) ?? 0) + 1);
  }
  for (const [venue, count] of kinds)
    if (count > 2) found.push(`${trade.account}: ${count} protection orders on ${venue}`);
  return found;
}

function replyViolations(reply: TradeResult, executedLots: number, options: JudgeOptions): string[] {
  if (reply.ok) return dataViolations(reply.data, executedLots, options, reply.success);
  return executedLots > 0 && !NEUTRAL_CODES.has(reply.code)
    ? [`refused with ${reply.code}, but ${executedLots} lots were executed`]
    : [];
}

function dataViolations(
  data: TradeData,
  executedLots: number,
  { lotDecimals }: JudgeOptions,
  success: boolean = data.execution.state !== "REJECTED",
): string[] {
  const { execution } = data;
  const [requested, submitted, filled] = [execution.requestedSize, execution.submittedSize, execution.filledSize].map(
    (size) => toLots(size, lotDecimals),
  );
  const found: string[] = [];
  if (
    requested === undefined ||
    submitted === undefined ||
    filled === undefined ||
    filled > submitted ||
    submitted > requested
  ) {
    found.push(
      `filled ${execution.filledSize}, submitted ${execution.submittedSize}, requested ${execution.requestedSize}`,
    );
  }
  if (!success && executedLots > 0) found.push(`reported as not executed, but ${executedLots} lots were`);
  if (execution.final && filled !== executedLots)
    found.push(`reported ${execution.filledSize} as final, but ${executedLots} lots were executed`);
  const hasUnknownLeg = execution.legs.some((leg) => leg.outcome === "UNKNOWN");
  if (hasUnknownLeg !== (execution.state === "UNKNOWN"))
    found.push(`state ${execution.state} with${hasUnknownLeg ? "" : "out"} an order of unknown outcome`);
  if (execution.state === "UNKNOWN" && (execution.final || !success))
    found.push("an unknown outcome reported as final or failed");
  const hasUnknownGuard = execution.protectionOrders?.some((order) => order.outcome === "UNKNOWN") ?? false;
  if (hasUnknownGuard && (execution.final || (execution.protection !== "UNKNOWN" && !hasUnknownClose(data))))
    found.push(`protection ${execution.protection ?? "null"} with an order of unknown outcome`);
  return found;
}

function hasUnknownClose(data: TradeData): boolean {
  return (
    data.execution.protectionOrders?.some(({ kind, outcome }) => kind === "CLOSE" && outcome === "UNKNOWN") ?? false
  );
}

function sumFilled(orders: readonly JudgedOrder[]): number {
  return orders.reduce((sum, order) => sum + order.filledLots, 0);
}

function toLots(size: string, lotDecimals: number): number {
  return Math.round(Number(size) * 10 ** lotDecimals);
}
