/**
 * The plain record of one trade: what was decided and the outcome of each order. Everything a reply needs is
 * in it, so a reply can be built at any time, also after a restart from the copy in the idempotency record.
 *
 * Invariant: holds no credential and no account label; JSON in, JSON out, without loss.
 */
import { isPlainDecimal } from "../domain/decimal.js";
import { ServiceError } from "../domain/errors.js";
import type { Direction, OrderType, PositionSide, Side, TimeInForce, VenueOrder } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import { type OrderPart, wholeOrder } from "./order-parts.js";
import type { RoutingReport } from "../routing/report.js";
import type {
  BoundQuote,
  ExecutionAdjustment,
  ExecutionReport,
  LegOutcome,
  PositionAfter,
  TradeIntent,
} from "./types.js";

/** PENDING: intent durable, outcome not known to this record yet. */
export type AttemptOutcome = LegOutcome | "PENDING";

/** POSITION: of the trade itself. The others follow an entry, and all reduce: its protection, or the undo. */
export type AttemptRole = "POSITION" | "TAKE_PROFIT" | "STOP_LOSS" | "UNDO";

/** One order that was or may have been sent. Scales are copied so that no instrument is needed to print it. */
export interface OrderAttempt {
  /** Absent: POSITION. */
  readonly role?: AttemptRole;
  readonly leg: number;
  /** Counts the orders of a leg and role. */
  readonly attempt: number;
  readonly venue: RoutableVenue;
  readonly nativeSymbol: string;
  /** Keyed hash of the owner's account that sent it; absent in runs of versions before. */
  readonly accountHash?: string;
  readonly clientIdHex: string;
  /** When its intent was written; with clientIdHex it names the intent. */
  readonly intentAtMs: number;
  readonly venueClientOrderId: string;
  readonly side: Side;
  readonly positionSide: PositionSide;
  /** Absent: the run's. */
  readonly type?: OrderType;
  readonly timeInForce: TimeInForce;
  /** Where it waits for a price. */
  readonly triggerTicks?: number;
  /** What it is measured by, where that is not the decision's: the mid when it was made. Canonical; absent: not known. */
  readonly refMid?: string;
  /** It waits at the venue whatever its timeInForce says (it has a trigger). Absent: as timeInForce says. */
  readonly rests?: boolean;
  /** Absent: true, as of every order of a close. */
  readonly reduceOnly?: boolean;
  /** As it was sent. */
  readonly qtyLots: number;
  /** As its venue has shown it since its size was changed, by whomever; absent: as it was sent. */
  readonly changedLots?: number;
  /** LIMIT: what of it should trade on arrival, by the decision's walk; absent: nothing. */
  readonly marketableLots?: number;
  readonly priceTicks: number;
  /** It waits for a trigger at a venue that takes no price with such orders. Absent: it carries priceTicks. */
  readonly unpriced?: true;
  /** Canonical decimals of ticks and lots, and how far native prices are from canonical ones. */
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  readonly multiplierExp10: number;
  readonly quoteAsset: string;
  /** For the fee when the venue reports none. */
  readonly takerFeeMilliBps: number;
  readonly makerFeeMilliBps: number;
  /** Upper bound in our wall time as it was then, tightened by the room's own answer; see absence-proof.ts. */
  readonly notPlacedAfterMs: number;
  /** The same in the venue's time; absent in runs of versions before. */
  readonly notPlacedAfterVenueMs?: number;
  /** The venue's time before it was sent, at the least; absent where it was not known. */
  readonly sentAfterVenueMs?: number;
  readonly outcome: AttemptOutcome;
  /** Our reject reason and the venue's text, redacted and cut. */
  readonly reason: string | null;
  readonly venueText: string | null;
  /** RATE_LIMITED: when the limit ends, as far as it is known. */
  readonly retryAfterMs?: number;
  /** Refused for something in the order: the same one would be refused again. */
  readonly isLasting?: true;
  /** As its venue showed it last; of one with several ids, all of them together. */
  readonly order: VenueOrder | null;
  /** Its venue gives it a new id with each change. Absent: it keeps its id. */
  readonly newIdPerChange?: true;
  /** What it was under each of its ids, oldest first; absent: it has had one. */
  readonly parts?: readonly OrderPart[];
  readonly sentAtMs: number | null;
  readonly ackAtMs: number | null;
  /** Of protection: it counts no more. It was refused and is tried again, or taken back with what it guarded. */
  readonly replaced?: true;
  /** Of protection: what it was for is closed by the orders beside it, so that we cancel it. */
  readonly takenBack?: true;
  /** Its end cannot be learnt any more, and is not looked for. */
  readonly unfollowed?: true;
  /** What the record has of it; absent: nothing yet. */
  readonly recorded?: AttemptRecord;
}

/** See order-events.ts. */
export interface AttemptRecord {
  readonly ver: number;
  readonly state: string;
  readonly filled: boolean;
  /** The fill was recorded without its price. */
  readonly unpriced?: true;
  /** As much as its fill row says; absent: nothing, or written by a version before. */
  readonly filledLots?: number;
}

/** The position that the trade found. */
export interface PositionBefore {
  readonly venue: RoutableVenue;
  readonly qtyLots: number;
  /** Of the other direction, where an entry takes from it first; absent: none. */
  readonly oppositeLots?: number;
  readonly qtyDecimals: number;
  readonly entryPrice: string | null;
}

/** What an entry is to be protected by. */
export interface ProtectionWish {
  readonly takeProfit: string | null;
  readonly stopLoss: string | null;
  readonly closeOnFailure: boolean;
  /** Why no order was sent for it; null while there is no reason. */
  readonly problem: string | null;
  /** What becomes of it while more may fill (protect/watch.ts); absent or null: nothing more may. */
  readonly watch?: "WATCHED" | "NOT_WATCHED" | "WATCH_ENDED" | null;
  /** One of it was refused and the caller wants no position without: the rest is canceled, what fills is closed. */
  readonly isAbandoned?: true;
  /** It was refused as often as it is tried. */
  readonly isGivenUp?: true;
  /** Lots of it that its owner closed, as the venue showed before protection was sent again, on the scale of what it found there; absent: none. */
  readonly gone?: Readonly<Partial<Record<RoutableVenue, number>>>;
}

export interface TradeRun {
  /** Absent: CLOSE. */
  readonly intent?: TradeIntent;
  /** Whose trade it is; null in public mode, absent in runs of versions before, which had no other. */
  readonly ownerId?: string | null;
  readonly routeId: string;
  readonly requestId: string;
  readonly symbol: string;
  readonly direction: Direction;
  readonly side: Side;
  readonly orderType: OrderType;
  readonly waitFor: "ACK" | "FILL";
  readonly clientOrderId: string | null;
  /** Opens only; absent: none asked for. */
  readonly protection?: ProtectionWish;
  /**
   * The bound of the first decision in the common quote: no later order goes beyond it, also after a crash. Absent where
   * the caller's own price is the bound, and in runs of versions before.
   */
  readonly heldPrice?: string;
  /** What it is bound to, for a retry after a crash; absent: nothing. */
  readonly quote?: BoundQuote;
  /** ALL and percent: venues whose position was not known, so that what is left is not either; absent: none. */
  readonly unread?: readonly RoutableVenue[];
  /** Base units: what the caller asked for, ALL and percent resolved. */
  readonly requestedSize: string;
  readonly routing: RoutingReport;
  readonly adjustments: readonly ExecutionAdjustment[];
  readonly startedAtMs: number;
  readonly positionsBefore: readonly PositionBefore[];
  readonly attempts: readonly OrderAttempt[];
  /** ALREADY_FLAT, DUST_REMAINDER, … */
  readonly note: string | null;
  readonly positionAfter: PositionAfter | null;
  /** The state in which its end was reported after the reply; absent: it was not. */
  readonly toldEnd?: ExecutionReport["state"];
  readonly timingMs: Readonly<ExecutionReport["timingMs"]>;
}

/** Whose it is; null: made without a key. */
export function ownerOf({ ownerId }: { readonly ownerId?: string | null }): string | null {
  return ownerId ?? null;
}

/** Is any order of the run without a known outcome? */
export function unknownAttempt(run: TradeRun): OrderAttempt | null {
  return run.attempts.find(isOfUnknownOutcome) ?? null;
}

/** Nobody knows how it ended, or a status that we do not know is all that its venue says. It may yet fill. */
export function isOfUnknownOutcome({ outcome, order }: Pick<OrderAttempt, "outcome" | "order">): boolean {
  return outcome === "UNKNOWN" || outcome === "PENDING" || (outcome === "CONFIRMED" && order?.status === "UNKNOWN");
}

export function isOpening(run: Pick<TradeRun, "intent">): boolean {
  return run.intent === "OPEN";
}

export function isOfPosition(attempt: Pick<OrderAttempt, "role">): boolean {
  return attempt.role === undefined || attempt.role === "POSITION";
}

/** Take-profit or stop-loss of an entry. */
export function isGuard({ role }: Pick<OrderAttempt, "role">): boolean {
  return role === "TAKE_PROFIT" || role === "STOP_LOSS";
}

/** Protection that its venue has acknowledged, and no more: it may still refuse it, or end it at once. */
export function isUnshown(attempt: Pick<OrderAttempt, "role" | "outcome" | "order">): boolean {
  const { order, outcome } = attempt;
  return isGuard(attempt) && outcome === "CONFIRMED" && order?.status === "OPEN" && order.venueOrderId === "";
}

/** The orders of the trade itself. */
export function positionAttempts(run: TradeRun): OrderAttempt[] {
  return run.attempts.filter(isOfPosition);
}

/** Any order that reading the venue can still end: of unknown outcome, or accepted and working when it was last seen. */
export function unsettledAttempt(run: TradeRun): OrderAttempt | null {
  return unknownAttempt(run) ?? run.attempts.find(isWorking) ?? null;
}

/** Accepted, and not settled when it was last seen. */
export function isWorking(attempt: OrderAttempt): boolean {
  return attempt.outcome === "CONFIRMED" && attempt.order !== null && !isSettled(attempt.order, mayRest(attempt));
}

/** Is an order that is open at the venue where it was meant to be? */
export function mayRest(attempt: Pick<OrderAttempt, "timeInForce" | "rests">): boolean {
  return attempt.rests ?? (attempt.timeInForce === "GTC" || attempt.timeInForce === "POST_ONLY");
}

/** Will the venue's record of this order still change without our doing? A resting order is as settled as it gets. */
export function isSettled(order: VenueOrder, rests: boolean): boolean {
  if (order.status === "UNKNOWN") return false;
  return rests || (order.status !== "OPEN" && order.status !== "PARTIALLY_FILLED");
}

/** Is the price of all that filled known? */
export function isPriced(order: Pick<VenueOrder, "filledLots" | "averagePrice">): boolean {
  return order.filledLots === 0 || order.averagePrice !== null;
}

/** Anything with orders: a trade, or a single order. */
type WithAttempts = Pick<TradeRun, "attempts">;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Runs and their orders are written by the functions of this file alone: to everybody else they are read-only. */
function writable<T extends object>(record: T): Writable<T> {
  return record;
}

function listOf<T>(items: readonly T[]): T[] {
  return items as T[];
}

export function addAttempt({ attempts }: WithAttempts, attempt: OrderAttempt): void {
  listOf(attempts).push(attempt);
}

/** Takes back all attempts after the first `keptCount`. Throws where one of them was put to its venue. */
export function dropAttempts({ attempts }: WithAttempts, keptCount: number): void {
  if (attempts.slice(keptCount).some(({ sentAtMs }) => sentAtMs !== null))
    throw new ServiceError("INTERNAL", { problem: "an order that was sent cannot be dropped" });
  listOf(attempts).length = keptCount;
}

/** Right before the order is put to its venue. */
export function recordSend(attempt: OrderAttempt, atMs: number): void {
  writable(attempt).sentAtMs = atMs;
}

/** The order never left this machine. */
export function recordNotSent(attempt: OrderAttempt, reason: string | null): void {
  const written = writable(attempt);
  written.outcome = "NOT_SENT";
  written.reason = reason;
  written.sentAtMs = null;
}

/** The venue, or the room before it (`isSent` false), refused the order. */
export function recordRefusal(
  attempt: OrderAttempt,
  refusal: Pick<OrderAttempt, "venueText" | "retryAfterMs" | "isLasting"> & {
    readonly reason: string;
    readonly isSent: boolean;
    readonly atMs: number;
  },
): void {
  const { atMs, isLasting, isSent, reason, retryAfterMs, venueText } = refusal;
  if (!isSent) recordNotSent(attempt, reason);
  const written = writable(attempt);
  if (isSent) {
    written.outcome = "REJECTED";
    written.reason = reason;
    written.ackAtMs = atMs;
  }
  written.venueText = venueText;
  if (isLasting === true) written.isLasting = true;
  if (retryAfterMs !== undefined) written.retryAfterMs = retryAfterMs;
}

/** Nobody knows how the order ended. What its venue last showed of it is kept. */
export function recordUnknown(attempt: OrderAttempt, reason: string | null): void {
  const written = writable(attempt);
  written.outcome = "UNKNOWN";
  written.reason = reason;
}

/** Whoever was at work on the order is gone: what was PENDING is of unknown outcome from here on. */
export function recordAbandoned(attempt: OrderAttempt): void {
  if (attempt.outcome === "PENDING") writable(attempt).outcome = "UNKNOWN";
}

/** Forgets the last sight of the order, so that it is read again. */
export function recordDoubt(attempt: OrderAttempt, reason: string | null = attempt.reason): void {
  recordUnknown(attempt, reason);
  writable(attempt).order = null;
}

/**
 * What the venue shows of the order. Holds 0 ≤ filled ≤ the largest size that it has had, whatever the venue says, and
 * keeps no price that is no decimal. Returns the order as it was written.
 */
export function recordOrder(attempt: OrderAttempt, shown: VenueOrder): VenueOrder {
  const { order, parts } = wholeOrder(attempt, shown);
  const changedLots = changedSize(attempt, order);
  const mostLots = Math.max(attempt.qtyLots, attempt.changedLots ?? 0, changedLots ?? 0);
  const filledLots = Number.isSafeInteger(order.filledLots) ? Math.min(Math.max(0, order.filledLots), mostLots) : 0;
  const averagePrice = order.averagePrice !== null && isPlainDecimal(order.averagePrice) ? order.averagePrice : null;
  // First the copy, which reads every field: should one fail, the attempt is as it was.
  const written = { ...order, filledLots, averagePrice };
  writable(attempt).order = written;
  if (parts !== undefined) writable(attempt).parts = parts;
  if (changedLots !== undefined) writable(attempt).changedLots = changedLots;
  return written;
}

/**
 * The size of an order that was sent in another; undefined: it has the size in which it was sent. Only one that rests, and
 * that its venue has shown before, can have been changed; a venue may leave the size out.
 */
function changedSize(attempt: OrderAttempt, { qtyLots }: VenueOrder): number | undefined {
  const isShown = attempt.order !== null && mayRest(attempt) && Number.isSafeInteger(qtyLots) && qtyLots > 0;
  if (!isShown || (attempt.changedLots === undefined && qtyLots === attempt.qtyLots)) return attempt.changedLots;
  return qtyLots;
}

/** What the order shown means: CONFIRMED, or REJECTED with a reason and the venue's word. */
export function recordVerdict(
  attempt: OrderAttempt,
  verdict: { readonly outcome: "CONFIRMED" } | { readonly outcome: "REJECTED"; reason: string; venueText: string },
): void {
  const written = writable(attempt);
  written.outcome = verdict.outcome;
  written.reason = verdict.outcome === "REJECTED" ? verdict.reason : null;
  written.venueText = verdict.outcome === "REJECTED" ? verdict.venueText : null;
}

/** Its venue shows the order in a state that is not known here. */
export function recordUnknownStatus(attempt: OrderAttempt): void {
  recordUnknown(attempt, "VENUE_STATUS");
  writable(attempt).venueText = null;
}

/** Proven: the venue never had the order. */
export function recordNotPlaced(attempt: OrderAttempt): void {
  const written = writable(attempt);
  written.outcome = "REJECTED";
  written.reason = "NOT_PLACED";
  written.venueText = null;
}

/** When the venue answered, in our wall time. */
export function recordAck(attempt: OrderAttempt, atMs: number): void {
  writable(attempt).ackAtMs = atMs;
}

/** From when on the venue can no longer accept the order, see absence-proof.ts. `venueMs` absent: as it was. */
export function recordBound(attempt: OrderAttempt, wallMs: number, venueMs?: number): void {
  const written = writable(attempt);
  written.notPlacedAfterMs = wallMs;
  if (venueMs !== undefined) written.notPlacedAfterVenueMs = venueMs;
}

/** What the record has of the order by now. */
export function markRecorded(attempt: OrderAttempt, recorded: AttemptRecord): void {
  writable(attempt).recorded = recorded;
}

export function markReplaced(attempt: OrderAttempt): void {
  writable(attempt).replaced = true;
}

export function markTakenBack(attempt: OrderAttempt, isTakenBack: boolean): void {
  const written = writable(attempt);
  if (isTakenBack) written.takenBack = true;
  else delete written.takenBack;
}

export function markUnfollowed(attempt: OrderAttempt): void {
  writable(attempt).unfollowed = true;
}

/** What the trade found at a venue before its first order there. */
export function addPosition(run: TradeRun, before: PositionBefore): void {
  if (!run.positionsBefore.some(({ venue }) => venue === before.venue)) listOf(run.positionsBefore).push({ ...before });
}

/** The position turned out to be smaller than it was read: it never grows here. */
export function shrinkPosition(run: TradeRun, venue: RoutableVenue, qtyLots: number): void {
  const before = run.positionsBefore.find((position) => position.venue === venue);
  if (before !== undefined) writable(before).qtyLots = Math.min(before.qtyLots, qtyLots);
}

export function addAdjustment(run: TradeRun, adjustment: ExecutionAdjustment): void {
  listOf(run.adjustments).push(adjustment);
}

export function recordNote(run: TradeRun, note: string | null): void {
  writable(run).note = note;
}

/** What is left of the position, where it was read; null: as far as the trade can tell. */
export function recordPositionAfter(run: TradeRun, positionAfter: PositionAfter | null): void {
  writable(run).positionAfter = positionAfter;
}

/** A new decision for a run none of whose orders did anything. */
export function recordDecision(
  run: TradeRun,
  decision: Pick<TradeRun, "requestedSize" | "routing" | "adjustments"> & { readonly unread: readonly RoutableVenue[] },
): void {
  const written = writable(run);
  written.requestedSize = decision.requestedSize;
  written.unread = decision.unread;
  written.routing = decision.routing;
  written.adjustments = decision.adjustments;
}

/** The state in which its end was reported after the reply. */
export function recordReportedEnd(run: TradeRun, state: ExecutionReport["state"]): void {
  writable(run).toldEnd = state;
}

/** Sets what a decision took, adds what its orders took. Whole tenths of a ms. */
export function recordTimings(
  { timingMs }: TradeRun,
  took: { readonly positions?: number; readonly routing?: number; readonly venue?: number; readonly sign?: number },
): void {
  const written = writable(timingMs);
  written.positions = took.positions ?? written.positions;
  written.routing = took.routing ?? written.routing;
  written.venue += took.venue ?? 0;
  written.sign += took.sign ?? 0;
}

/** Writes the total and what no part of it has; parts that round to more than it make it up. */
export function endTimings({ timingMs }: TradeRun, elapsedMs: number): void {
  const written = writable(timingMs);
  const parts = written.positions + written.routing + written.sign + written.venue;
  written.other = Math.max(0, roundMs(roundMs(elapsedMs) - parts));
  written.total = roundMs(parts + written.other);
}

/** Whole tenths: finer is noise. */
export function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** Why no order was sent for the protection; null: there is no reason (any more). */
export function recordProtectionProblem(protection: ProtectionWish, problem: string | null): void {
  writable(protection).problem = problem;
}

export function recordWatch(protection: ProtectionWish, watch: NonNullable<ProtectionWish["watch"]> | null): void {
  writable(protection).watch = watch;
}

export function abandonProtection(protection: ProtectionWish): void {
  writable(protection).isAbandoned = true;
}

export function giveUpProtection(protection: ProtectionWish): void {
  writable(protection).isGivenUp = true;
}

/** Lots that the owner closed at the venue, on the scale of what the trade found there. */
export function addGone(protection: ProtectionWish, venue: RoutableVenue, lots: number): void {
  writable(protection).gone = { ...protection.gone, [venue]: (protection.gone?.[venue] ?? 0) + lots };
}

export function encodeRun(run: object): string {
  return JSON.stringify(run);
}

/** Reads what encodeRun wrote. */
export function decodeRun<Run = TradeRun>(text: string): Run {
  return JSON.parse(text) as Run;
}
