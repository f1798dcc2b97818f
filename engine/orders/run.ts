/**
 * The plain record of one trade: what was decided and the outcome of each order. Everything a reply needs is
 * in it, so a reply can be built at any time, also after a restart from the copy in the idempotency record.
 *
 * Invariant: holds no credential and no account label; JSON in, JSON out, without loss.
 */
import type { Direction, OrderType, PositionSide, Side, TimeInForce, VenueOrder } from "../domain/order.js";
import type { RoutableVenue } from "../domain/venue.js";
import type { OrderPart } from "./order-parts.js";
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
  /** LIMIT: its price, likewise. */
  readonly changedTicks?: number;
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
  /** Ids that it was named under and that nobody has read yet; absent: none. */
  readonly otherIds?: readonly string[];
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
  /** Names its fill row, whatever id the order has by then; absent: as filledLots. */
  readonly fillId?: string;
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

/** A limit order that rests without a trigger; what others show as their price may be the venue's own. */
export function hasOwnPrice(
  attempt: Pick<OrderAttempt, "timeInForce" | "rests" | "triggerTicks" | "unpriced">,
): boolean {
  return attempt.triggerTicks === undefined && attempt.unpriced !== true && mayRest(attempt);
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

export function encodeRun(run: object): string {
  return JSON.stringify(run);
}

/** Reads what encodeRun wrote. */
export function decodeRun<Run = TradeRun>(text: string): Run {
  return JSON.parse(text) as Run;
}
