/** What a fake venue does with orders: takes, executes, shows and cancels them, as their fates say; and logs each. */
import type {
  CancelOutcome,
  Direction,
  OrderCommand,
  PlaceOutcome,
  RejectReason,
  VenueOrder,
} from "../../domain/order.js";
import type { Clock } from "../../domain/clock.js";
import type { Instrument } from "../../domain/instrument.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { Market } from "../../market/market.js";
import type { AccountSession, CallOptions, OrderRef, Read, ReadFailure } from "../../ports.js";
import { failure, isClosed } from "./fake-session.js";

/** The outcome of one order. */
export interface PlaceFate {
  /**
   * fill: executes and answers. reject: refused and answered. notSent: stopped before it left. loseRequest: never
   * arrives. loseReply: executes, the answer is lost. late: the answer is lost and it executes `executeAfterMs` later. drop: acknowledged, and
   * never executed. throw: a bug of the room.
   */
  readonly kind: "fill" | "reject" | "notSent" | "loseRequest" | "loseReply" | "late" | "drop" | "throw";
  /** Share of the quantity that finds liquidity, 0 to 1. */
  readonly liquidity?: number;
  readonly reason?: RejectReason;
  /** What is wrong is in the order itself. */
  readonly isLasting?: true;
  readonly venueText?: string;
  readonly latencyMs?: number;
  readonly executeAfterMs?: number;
  /** Its yes is a receipt: nothing of the outcome of the order, and no order id. */
  readonly isReceipt?: true;
  /** Acknowledged as OPEN; the fill shows up in reads this much later. */
  readonly ackOnlyMs?: number;
  /** Reads show it as OPEN with nothing filled for so long. */
  readonly workingMs?: number;
  readonly fee?: { readonly amount: string; readonly asset: string };
  /** What the venue shows of the order otherwise than it is: a word of its own, above all. */
  readonly shows?: Partial<VenueOrder>;
}

export interface LoggedOrder {
  readonly venue: RoutableVenue;
  readonly account: string;
  readonly command: OrderCommand;
  /** Of the account's signer; taken again for each order, by whatever process. */
  readonly nonce: number;
  /** Times of an entry are the venue's. */
  readonly sentAtMs: number;
  /** Past it the venue takes the order no more. */
  readonly expiresAtMs: number;
  executedAtMs: number | null;
  filledLots: number;
  rejected: boolean;
  /** When the sender learned how it ended; null: it could not know. */
  disclosedAtMs: number | null;
  order: VenueOrder | null;
  visibleAtMs: number;
  /** Reads show it as still working before. */
  endShownAtMs: number;
  refusal: RejectReason | null;
}

/** lose: it comes to nothing, and nobody answers. */
export type CancelFate = "accept" | "lose" | "refuse";

/** Of the fake venue: what its matching works with. */
interface MatchingVenue {
  readonly venue: RoutableVenue;
  readonly clock: Clock;
  readonly instrument: Instrument;
  readonly market: Market;
  readonly hedgeMode: boolean;
  readonly log: LoggedOrder[];
  readonly calls: { orders: number; place: number; cancel: number };
  readonly lanes: string[];
  readonly validityMs: number;
  fate(command: OrderCommand, account: string): PlaceFate;
  nextNonce(account: string): number;
  readLatencyMs(): number;
  orderReadFailure(): ReadFailure | null;
  shownOrder(order: VenueOrder, asked: Instrument): VenueOrder;
  indexLagMs(): number;
  cancelFate(): CancelFate;
  nowMs(): number;
  wait(delayMs: number): Promise<void>;
  heldLots(account: string, direction: Direction): number;
  setPosition(account: string, direction: Direction, qtyLots: number): void;
}

/** For so long the venue takes an order, unless its `validityMs` says more. */
export const ORDER_VALIDITY_MS = 1_500;

export async function readOrder(
  venue: MatchingVenue,
  session: AccountSession,
  asked: Instrument,
  ref: OrderRef,
  options: CallOptions,
): Promise<Read<VenueOrder | null>> {
  venue.calls.orders += 1;
  venue.lanes.push(options.lane);
  const beganMs = venue.nowMs();
  await venue.wait(venue.readLatencyMs());
  if (isClosed(session)) return failure("AUTH");
  const failed = venue.orderReadFailure();
  if (failed !== null) return failure(failed);
  const wanted = "clientIdHex" in ref ? ref.clientIdHex : "";
  const nowMs = venue.nowMs();
  const asOfMs = venue.clock.wallMs();
  const entry = venue.log.findLast(
    (candidate) => candidate.command.clientIdHex === wanted && candidate.account === session.accountId,
  );
  if (entry === undefined) return { ok: true, value: null, asOfMs, source: "venue" };
  if (entry.order === null || nowMs < entry.visibleAtMs) {
    // Absence tells something only once the order can neither be accepted nor be hidden by the index any more.
    if (entry.order === null && beganMs > entry.expiresAtMs + 2_000) entry.disclosedAtMs ??= nowMs;
    return { ok: true, value: null, asOfMs, source: "venue" };
  }
  if (nowMs < entry.endShownAtMs) {
    const working = { ...entry.order, status: "OPEN", filledLots: 0, averagePrice: null } as const;
    return { ok: true, value: working, asOfMs, source: "venue" };
  }
  const shown = venue.shownOrder(entry.order, asked);
  // Another order says nothing of this one.
  if (shown === entry.order) entry.disclosedAtMs ??= nowMs;
  return { ok: true, value: shown, asOfMs, source: "venue" };
}

export async function cancelOrder(
  venue: MatchingVenue,
  session: AccountSession,
  ref: OrderRef,
): Promise<CancelOutcome> {
  venue.calls.cancel += 1;
  await venue.wait(venue.readLatencyMs());
  const fate = venue.cancelFate();
  if (fate === "lose") return { outcome: "unknown", cause: "TIMEOUT" };
  if (fate === "refuse")
    return { outcome: "rejected", reason: "RATE_LIMITED", venueCode: "-1", venueText: "too many", sent: true };
  const wanted = "clientIdHex" in ref ? ref.clientIdHex : "";
  const entry = venue.log.find(
    ({ command, account }) => command.clientIdHex === wanted && account === session.accountId,
  );
  if (entry?.order?.status !== "OPEN" && entry?.order?.status !== "PARTIALLY_FILLED")
    return { outcome: "rejected", reason: "NOT_FOUND", venueCode: "-2", venueText: "unknown order", sent: true };
  entry.order = { ...entry.order, status: "CANCELED" };
  return { outcome: "accepted" };
}

export async function placeOrder(
  venue: MatchingVenue,
  session: AccountSession,
  command: OrderCommand,
  options: CallOptions,
): Promise<{ outcome: PlaceOutcome; logged: LoggedOrder | null }> {
  venue.calls.place += 1;
  venue.lanes.push(options.lane);
  const fate = venue.fate(command, session.accountId);
  if (fate.kind === "throw") throw new TypeError("a bug of the room");
  if (fate.kind === "notSent" || isClosed(session)) {
    return {
      outcome: {
        outcome: "rejected",
        reason: fate.reason ?? (isClosed(session) ? "AUTH" : "RATE_LIMITED"),
        venueCode: "",
        venueText: fate.venueText ?? "",
        sent: false,
        retryAfterMs: null,
      },
      logged: null,
    };
  }
  const sentAtMs = venue.nowMs();
  const expiresAtMs = sentAtMs + venue.validityMs;
  const notPlacedAfterMs = venue.clock.wallMs() + venue.validityMs;
  const isTaken = venue.log.some(
    (other) =>
      other.account === session.accountId && other.command.clientIdHex === command.clientIdHex && other.order !== null,
  );
  const entry: LoggedOrder = {
    venue: venue.venue,
    account: session.accountId,
    command,
    nonce: venue.nextNonce(session.accountId),
    sentAtMs,
    expiresAtMs,
    executedAtMs: null,
    filledLots: 0,
    rejected: false,
    disclosedAtMs: null,
    order: null,
    visibleAtMs: Number.POSITIVE_INFINITY,
    endShownAtMs: 0,
    refusal: null,
  };
  venue.log.push(entry);
  if (isTaken) {
    entry.rejected = true;
    entry.refusal = "DUPLICATE_CLIENT_ID";
  }
  const indexLagMs = venue.indexLagMs();
  if (isTaken || fate.kind === "drop") {
    // Nothing of it is executed.
  } else if (fate.kind === "late")
    venue.clock.setTimer(() => execute(venue, entry, fate, indexLagMs), fate.executeAfterMs ?? 0);
  else if (fate.kind !== "loseRequest") execute(venue, entry, fate, indexLagMs);
  const latencyMs = fate.latencyMs ?? 10;
  const timedOut = fate.kind === "loseRequest" || fate.kind === "loseReply" || fate.kind === "late";
  await venue.wait(timedOut ? Math.min(options.timeoutMs, 300) : latencyMs);
  if (timedOut) return { outcome: { outcome: "unknown", cause: "TIMEOUT", notPlacedAfterMs }, logged: entry };
  if ((fate.kind === "drop" || fate.isReceipt === true) && !isTaken) {
    const order =
      fate.isReceipt === true
        ? ({ ...venueOrder(venue, entry, { kind: fate.kind }), status: "OPEN", venueOrderId: "" } as const)
        : ({ ...venueOrder(venue, entry, fate), status: "OPEN", ...fate.shows } as const);
    return { outcome: { outcome: "accepted", order, ackMs: latencyMs, notPlacedAfterMs }, logged: null };
  }
  if (entry.order === null) {
    const reason = entry.refusal ?? fate.reason ?? "VENUE_STATE";
    return {
      outcome: {
        outcome: "rejected",
        reason,
        venueCode: "-1",
        venueText: fate.venueText ?? reason,
        sent: true,
        retryAfterMs: null,
        ...(fate.isLasting === undefined ? {} : { isLasting: fate.isLasting }),
      },
      logged: entry,
    };
  }
  if (fate.ackOnlyMs !== undefined) {
    // Only that it exists is known now.
    return {
      outcome: {
        outcome: "accepted",
        order: { ...entry.order, status: "OPEN", filledLots: 0, averagePrice: null, fee: null },
        ackMs: latencyMs,
      },
      logged: null,
    };
  }
  return { outcome: { outcome: "accepted", order: entry.order, ackMs: latencyMs }, logged: entry };
}

/** Matches the order, unless it came too late. */
function execute(venue: MatchingVenue, entry: LoggedOrder, fate: PlaceFate, indexLagMs: number): void {
  const nowMs = venue.nowMs();
  if (nowMs > entry.expiresAtMs) return;
  const { command, account } = entry;
  if (!command.reduceOnly) {
    executeEntry(venue, entry, fate, indexLagMs);
    return;
  }
  const direction: Direction = command.side === "SELL" ? "LONG" : "SHORT";
  const held = venue.heldLots(account, direction);
  if (command.trigger !== undefined && fate.kind !== "reject") {
    // Waits: the market of this fake never moves.
    entry.executedAtMs = nowMs;
    entry.visibleAtMs = nowMs + indexLagMs;
    entry.order = venueOrder(venue, entry, fate);
    return;
  }
  if (fate.kind === "reject" || (command.reduceOnly && held === 0)) {
    entry.rejected = true;
    if (fate.kind !== "reject") entry.refusal = "REDUCE_ONLY";
    return;
  }
  const liquid = Math.floor(command.qtyLots * (fate.liquidity ?? 1));
  const filledLots =
    command.timeInForce === "GTC" && fate.liquidity === undefined
      ? 0
      : Math.min(liquid, command.reduceOnly ? held : liquid);
  entry.executedAtMs = nowMs;
  entry.filledLots = filledLots;
  entry.visibleAtMs = nowMs + indexLagMs + (fate.ackOnlyMs ?? 0);
  entry.endShownAtMs = nowMs + (fate.workingMs ?? 0);
  venue.setPosition(account, direction, Math.max(0, held - filledLots));
  entry.order = venueOrder(venue, entry, fate);
}

/** Without the reduce-only flag: adds to its side, on a one-way account after what it takes from the other. */
function executeEntry(venue: MatchingVenue, entry: LoggedOrder, fate: PlaceFate, indexLagMs: number): void {
  const { command, account } = entry;
  if (fate.kind === "reject") {
    entry.rejected = true;
    return;
  }
  const direction: Direction = command.side === "BUY" ? "LONG" : "SHORT";
  const opposite: Direction = direction === "LONG" ? "SHORT" : "LONG";
  const rests = command.timeInForce === "GTC" && fate.liquidity === undefined;
  const filledLots = rests ? 0 : Math.floor(command.qtyLots * (fate.liquidity ?? 1));
  const netted = venue.hedgeMode ? 0 : Math.min(filledLots, venue.heldLots(account, opposite));
  venue.setPosition(account, opposite, venue.heldLots(account, opposite) - netted);
  venue.setPosition(account, direction, venue.heldLots(account, direction) + filledLots - netted);
  entry.executedAtMs = venue.nowMs();
  entry.filledLots = filledLots;
  entry.visibleAtMs = entry.executedAtMs + indexLagMs + (fate.ackOnlyMs ?? 0);
  entry.endShownAtMs = entry.executedAtMs + (fate.workingMs ?? 0);
  entry.order = venueOrder(venue, entry, fate);
}

function venueOrder(venue: MatchingVenue, entry: LoggedOrder, fate: PlaceFate): VenueOrder {
  const { command, filledLots } = entry;
  const touch = command.side === "SELL" ? venue.market.book.bidTicks(0) : venue.market.book.askTicks(0);
  const open = (command.timeInForce === "GTC" || command.trigger !== undefined) && filledLots < command.qtyLots;
  return {
    venue: venue.venue,
    nativeSymbol: venue.instrument.nativeSymbol,
    venueOrderId: String(9_000_000 + venue.log.indexOf(entry)),
    venueClientOrderId: `c-${command.clientIdHex}`,
    side: command.side,
    type: command.type,
    status:
      filledLots === command.qtyLots ? "FILLED" : open ? (filledLots > 0 ? "PARTIALLY_FILLED" : "OPEN") : "CANCELED",
    venueStatus: "native",
    priceTicks: command.priceTicks,
    qtyLots: command.qtyLots,
    filledLots,
    averagePrice: filledLots > 0 ? String(touch / 10 ** venue.instrument.priceDecimals) : null,
    reduceOnly: command.reduceOnly,
    triggerPrice:
      command.trigger === undefined ? null : String(command.trigger.priceTicks / 10 ** venue.instrument.priceDecimals),
    tsVenueMs: entry.executedAtMs ?? 0,
    fee: fate.fee ?? null,
    ...fate.shows,
  };
}
