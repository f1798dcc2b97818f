/** Scenes of what comes after a reply, each certain: a virtual clock, and no dice. */
import type { RejectReason, VenueOrder } from "../../domain/order.js";
import type { Market } from "../../market/market.js";
import { ACCOUNT, change, MINUTE_MS, type Played, tell } from "./after-reply.js";
import { FakeStreams } from "./fake-streams.js";
import type { PlaceFate } from "./fake-matching.js";
import { ASKER, closeContext, closeRequest, createHarness, type Harness, type HarnessOptions } from "./harness.js";
import type { OpenTerms } from "../types.js";
import { createRowSink } from "./row-sink.js";

const RESTING_CLOSE = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
const MARKET = { preferredExchange: "venueone", deadlineMs: 2_000 } as const;
const CREDENTIALS = closeRequest().credentials;
const BOTH = { takeProfit: "105000", stopLoss: "95000", closeOnProtectionFailure: true } as const;

/** What a scene leaves; the rest is as in most of them. */
type Left = Pick<Played, "harness" | "routeId"> & Partial<Played>;

export function played(left: Left): Played {
  const { service } = left.harness;
  return {
    service,
    isPriceGiven: true,
    isPriceReportedLate: false,
    isGuarded: false,
    isRefusedForGood: false,
    followedCount: null,
    replayed: null,
    guardDueMs: null,
    ...left,
  };
}

export function recorded(service: HarnessOptions["service"] = {}): Harness {
  return createHarness({
    service: { records: createRowSink(), ...service },
    prepareVenue: (venue) => {
      venue.streams = new FakeStreams();
    },
  });
}

/** Told by its account's stream as it ends, the price of its fills only when it is asked for. */
async function pricelessEnd(): Promise<Played> {
  const harness = recorded();
  const { routing } = await harness.closeData(RESTING_CLOSE);
  await harness.clock.advanceAsync(MINUTE_MS);
  const { followedCount } = harness.service.status();
  tell(harness, { ...change(harness, 0, { status: "FILLED", filledLots: 250 }), averagePrice: null });
  await harness.clock.advanceAsync(10 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, followedCount });
}

/** The listing of a venue that a plant may hide. */
export class Listing extends Map<string, Market> {
  static isHidden = false;

  override get(symbol: string): Market | undefined {
    return Listing.isHidden ? undefined : super.get(symbol);
  }
}

/** At the start its venue lists nothing; then it does, and the account's credentials come by with another request. */
async function lateListing(): Promise<Played> {
  const harness = recorded();
  const { routing } = await harness.closeData(RESTING_CLOSE);
  await harness.clock.advanceAsync(1_000);
  const listing = new Listing();
  const room = harness.one.room;
  harness.one.room = (gate) => ({ ...room.call(harness.one, gate), markets: listing });
  const service = await harness.restart();
  listing.set("BTC", harness.one.market);
  change(harness, 0, { status: "FILLED", filledLots: 250 });
  const request = closeRequest({ size: "0.01", preferredExchange: "venueone", dryRun: true });
  await harness.run(service.trade(request, closeContext(harness.clock)));
  await harness.clock.advanceAsync(MINUTE_MS);
  return played({ harness, service, routeId: routing.routeId });
}

/** Fills before the stream of its account is open; its venue answers no read for ten minutes, and then does for one. */
async function filledUnstreamed(): Promise<Played> {
  const harness = recorded();
  const { routing } = await harness.closeData(RESTING_CLOSE);
  await harness.clock.advanceAsync(1_000);
  const service = await harness.restart();
  change(harness, 0, { status: "FILLED", filledLots: 250 });
  harness.one.orderReadFailure = () => "VENUE_ERROR";
  const request = closeRequest({ size: "0.01", preferredExchange: "venueone", dryRun: true });
  await harness.run(service.trade(request, closeContext(harness.clock)));
  await harness.clock.advanceAsync(10 * MINUTE_MS);
  harness.one.orderReadFailure = () => null;
  await harness.clock.advanceAsync(MINUTE_MS);
  return played({ harness, service, routeId: routing.routeId });
}

/** Fills after its stream is lost for good, a while after which it would be read without one. */
async function filledStreamLost(): Promise<Played> {
  const harness = recorded();
  const { calls } = harness.one;
  const streams = harness.one.streams as FakeStreams;
  const { routing } = await harness.closeData(RESTING_CLOSE);
  await harness.clock.advanceAsync(20 * MINUTE_MS);
  const { orders } = calls;
  for (let ms = 0; calls.orders === orders && ms < 10 * MINUTE_MS; ms += 1_000) await harness.clock.advanceAsync(1_000);
  streams.isFull = true;
  streams.setState("DOWN");
  // That look is over.
  await harness.clock.advanceAsync(1_000);
  change(harness, 0, { status: "FILLED", filledLots: 250 });
  await harness.clock.advanceAsync(MINUTE_MS + 1_000);
  return played({ harness, routeId: routing.routeId });
}

/** Of unknown outcome, and beyond the resolver's time; its caller's question finds it, and then it fills. */
async function askedAfter(): Promise<Played> {
  const harness = recorded();
  harness.one.fate = () => ({ kind: "loseReply" });
  harness.one.orderReadFailure = () => "VENUE_ERROR";
  const { routing } = await harness.closeData({ ...RESTING_CLOSE, deadlineMs: 500 });
  await harness.clock.advanceAsync(2 * MINUTE_MS);
  harness.one.orderReadFailure = () => null;
  await harness.run(harness.service.askExecution(routing.routeId, CREDENTIALS, ASKER));
  change(harness, 0, { status: "FILLED", filledLots: 250 });
  await harness.clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId });
}

/** Dies between a stop and the report of it; the stop is found by a question, and then the entry goes on filling. */
async function crashAtStop(): Promise<Played> {
  const harness = recorded();
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  harness.one.fate = (command) => ({ kind: command.trigger === undefined ? "fill" : "loseReply" });
  const entry = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;
  const { routing } = await harness.openData({ stopLoss: "95000" }, entry);
  await harness.clock.advanceAsync(1_000);
  change(harness, 0, { status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: "99000" });
  harness.one.setPosition(ACCOUNT, "LONG", 100);
  for (let ms = 0; harness.one.log.length < 2 && ms < MINUTE_MS; ms += 5) await harness.clock.advanceAsync(5);
  const service = await harness.restart();
  await harness.run(service.askExecution(routing.routeId, CREDENTIALS, ASKER));
  change(harness, 0, { status: "FILLED", filledLots: 250, averagePrice: "99000" });
  harness.one.setPosition(ACCOUNT, "LONG", 250);
  await harness.clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, service, routeId: routing.routeId });
}

/** Fills on while the price of its first part is read; the end comes without a price, and then a read lags behind it. */
async function laggingPrice(): Promise<Played> {
  const harness = recorded();
  harness.one.fate = () => ({ kind: "loseReply", liquidity: 0.4 });
  let shown: Partial<VenueOrder> = { averagePrice: null };
  harness.one.shownOrder = (order) => ({ ...order, ...shown });
  const { routing } = await harness.closeData(RESTING_CLOSE);
  const ended = change(harness, 0, { status: "FILLED", filledLots: 250 });
  // Told again and again, each time it is looked at; at last it is taken as it is.
  for (let count = 0; count < 8; count++) {
    tell(harness, { ...ended, averagePrice: null });
    await harness.clock.advanceAsync(2_000);
  }
  shown = { status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: "100500" };
  await harness.clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, isPriceGiven: false });
}

/** The first read with a price lags behind the end that is known; the price of all comes later. */
async function olderRead(): Promise<Played> {
  const harness = recorded();
  harness.one.fate = () => ({ kind: "loseReply", liquidity: 1 });
  const sinceMs = harness.one.nowMs();
  harness.one.shownOrder = (order): VenueOrder => {
    const passedMs = harness.one.nowMs() - sinceMs;
    if (passedMs < 10_000) return { ...order, averagePrice: null, fee: null };
    if (passedMs > 20_000) return order;
    return { ...order, status: "PARTIALLY_FILLED", filledLots: 100, averagePrice: "100500" };
  };
  const { routing } = await harness.closeData({ ...RESTING_CLOSE, limitPrice: "99000" });
  await harness.clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, isPriceReportedLate: true });
}

/** A condition that fails: the take-profit is open, the stop is refused. `undoFate`: the outcome of the n-th of them. */
async function halfGuarded(terms: Partial<OpenTerms>, undoFate: (count: number) => PlaceFate): Promise<Played> {
  const harness = recorded();
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  let count = 0;
  harness.one.fate = ({ reduceOnly, trigger }) => {
    if (!reduceOnly || trigger?.kind === "TAKE_PROFIT") return { kind: "fill" };
    return trigger === undefined ? undoFate(++count) : { kind: "reject", reason: "VENUE_STATE" };
  };
  const { routing } = await harness.openData({ ...BOTH, ...terms }, MARKET);
  await harness.clock.advanceAsync(2 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, isGuarded: true });
}

/** A part of an entry fills, and its stop is refused: the rest of it is not wanted any more. */
async function restOfEntry(): Promise<Played> {
  const harness = recorded();
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  harness.one.fate = ({ reduceOnly, trigger }) => {
    if (trigger !== undefined) return { kind: "reject", reason: "VENUE_STATE" };
    return { kind: "fill", ...(reduceOnly ? {} : { liquidity: 0.4 }) };
  };
  const entry = { ...MARKET, orderType: "LIMIT", limitPrice: "99000" } as const;
  const { routing } = await harness.openData({ ...BOTH, takeProfit: null }, entry);
  await harness.clock.advanceAsync(2 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, isGuarded: true });
}

/** After a fill was pushed, the one before it is pushed again. */
async function olderPushed(): Promise<Played> {
  const harness = recorded();
  const { routing } = await harness.closeData(RESTING_CLOSE);
  await harness.clock.advanceAsync(MINUTE_MS);
  const older = change(harness, 0, { status: "PARTIALLY_FILLED", filledLots: 100 });
  tell(harness, older);
  await harness.clock.advanceAsync(2_000);
  tell(harness, change(harness, 0, { status: "PARTIALLY_FILLED", filledLots: 200 }));
  await harness.clock.advanceAsync(100);
  tell(harness, older);
  // Both are published by then, and the next read, which would bring it forward again, is not due.
  await harness.clock.advanceAsync(1_200);
  return played({ harness, routeId: routing.routeId });
}

/** Fills trade by trade, each told by its stream alone; the last one ends it. */
async function filledByTrades(): Promise<Played> {
  const harness = recorded();
  const streams = harness.one.streams as FakeStreams;
  const { routing } = await harness.closeData(RESTING_CLOSE);
  // The next read of it is minutes away.
  await harness.clock.advanceAsync(10 * MINUTE_MS);
  for (const [index, filledLots] of [60, 100, 250].entries()) {
    const order = change(harness, 0, { status: filledLots < 250 ? "PARTIALLY_FILLED" : "FILLED", filledLots });
    streams.tellFill(ACCOUNT, order, filledLots, `t${index}`);
    await harness.clock.advanceAsync(2_000);
  }
  return played({ harness, routeId: routing.routeId });
}

/** Its stream shows it open, as it was taken; that it filled on arrival no read tells for a while. */
async function shownOpenFirst(): Promise<Played> {
  const harness = recorded();
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  harness.one.fate = ({ reduceOnly }) =>
    reduceOnly ? { kind: "fill" } : { kind: "fill", liquidity: 1, ackOnlyMs: 80 };
  const readableMs = harness.one.nowMs() + UNREAD_MS;
  harness.one.orderReadFailure = () => (harness.one.nowMs() < readableMs ? "VENUE_ERROR" : null);
  harness.clock.setTimer(() => {
    const order = harness.one.log[0]?.order;
    if (order != null) tell(harness, { ...order, status: "OPEN", filledLots: 0, averagePrice: null });
  }, 40);
  const { routing } = await harness.openData(
    { stopLoss: "95000" },
    { ...MARKET, orderType: "LIMIT", limitPrice: "100100" },
  );
  await harness.clock.advanceAsync(UNREAD_MS + 5 * MINUTE_MS);
  const guardDueMs = readableMs + UNREAD_MS / 10 + 500;
  return played({ harness, routeId: routing.routeId, isGuarded: true, guardDueMs });
}

/** For so long a venue cannot be read after an order went out. */
const UNREAD_MS = 33_000;
const LONG_UNREAD_MS = 9 * MINUTE_MS;

/** An entry that fills at once, which its venue's answer does not tell, and cannot be read by `failure`. */
async function unreadEntry(
  fate: PlaceFate,
  failure: "BREAKER_OPEN" | "VENUE_ERROR",
  terms: object,
  unreadMs = UNREAD_MS,
): Promise<Played> {
  const harness = recorded();
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  harness.one.fate = ({ reduceOnly }) => (reduceOnly ? { kind: "fill" } : fate);
  const readableMs = harness.one.nowMs() + unreadMs;
  harness.one.orderReadFailure = () => (harness.one.nowMs() < readableMs ? failure : null);
  const { routing } = await harness.openData({ stopLoss: "95000" }, { ...MARKET, ...terms });
  await harness.clock.advanceAsync(unreadMs + 5 * MINUTE_MS);
  // A tenth of that time, and the time of a read and an order.
  const guardDueMs = readableMs + unreadMs / 10 + 500;
  return played({ harness, routeId: routing.routeId, isGuarded: true, guardDueMs });
}

/** A stop that is refused; `isLasting`: for what it is. */
async function refusedStop(reason: RejectReason, isLasting: boolean): Promise<Played> {
  const harness = recorded();
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  let count = 0;
  harness.one.fate = ({ trigger }) => {
    if (trigger === undefined || (!isLasting && count++ > 1)) return { kind: "fill" };
    return { kind: "reject", reason, ...(isLasting ? { isLasting } : {}) };
  };
  const { routing } = await harness.openData({ stopLoss: "95000" }, MARKET);
  await harness.clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, isRefusedForGood: isLasting, isGuarded: !isLasting });
}

export const AFTER_SCENES = {
  pricelessEnd,
  lateListing,
  filledUnstreamed,
  filledStreamLost,
  askedAfter,
  crashAtStop,
  laggingPrice,
  olderRead,
  olderPushed,
  filledByTrades,
  shownOpenFirst,
  restOfEntry,
  /** The first undo is refused, the second fills: the take-profit has nothing left to guard. */
  guardOutlives: () =>
    halfGuarded({}, (count) => (count < 2 ? { kind: "reject", reason: "RATE_LIMITED" } : { kind: "fill" })),
  /** No order is left but an undo, which never arrived. */
  undoLost: () => halfGuarded({ takeProfit: null }, (count) => ({ kind: count < 2 ? "loseRequest" : "fill" })),
  arrivesUnread: () =>
    unreadEntry({ kind: "fill", liquidity: 1, ackOnlyMs: 80 }, "VENUE_ERROR", {
      orderType: "LIMIT",
      limitPrice: "100100",
    }),
  unknownUnread: () => unreadEntry({ kind: "loseReply" }, "BREAKER_OPEN", {}),
  /** The reads go out, and the venue fails. */
  unknownFailed: () => unreadEntry({ kind: "loseReply" }, "VENUE_ERROR", {}),
  /** Longer than an order without protection is looked for. */
  unknownForMinutes: () => unreadEntry({ kind: "loseReply" }, "VENUE_ERROR", {}, LONG_UNREAD_MS),
  passingRefusal: () => refusedStop("VENUE_STATE", false),
  lastingRefusal: () => refusedStop("VENUE_STATE", true),
} as const satisfies Readonly<Record<string, () => Promise<Played>>>;

export type AfterScene = keyof typeof AFTER_SCENES;
