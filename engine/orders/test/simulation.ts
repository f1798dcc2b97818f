/**
 * Trades in the seeded world (world.ts): many closes and opens at once, some of them split, against four venues. Callers
 * with an idempotency key retry until they know; the others ask once.
 */
import { createSeededRandom, type Random } from "../../domain/random.js";
import type { VirtualClock } from "../../domain/virtual-clock.js";
import type { VenueRoom } from "../../ports.js";
import type { StateStore } from "../../storage/state-store.js";
import type { TradeService, TradeServiceOptions } from "../request/service.js";
import type { TradeData, TradeRequest } from "../types.js";
import type { DecisionEvent } from "../conclude/decision-event.js";
import { FakeVenue } from "./fake-venue.js";
import { judgedOrders } from "./judged-orders.js";
import { ASKER, closeContext, closeRequest, createService, openRequest } from "./harness.js";
import { nonceViolations, violations, type JudgedTrade } from "./invariants.js";
import { pick, showOtherOrders, TRADE_ODDS } from "./storm.js";
import { World, type WorldCaller } from "./world.js";

export interface SimulationOptions {
  readonly seed: number;
  readonly tradeCount: number;
  /** Faulty collaborators, to show that the checker sees what they break. */
  readonly mutateRoom?: (room: VenueRoom) => VenueRoom;
  readonly mutateVenue?: (venue: FakeVenue) => void;
  readonly mutateStore?: (store: StateStore) => StateStore;
  readonly mutateRequest?: (request: TradeRequest) => TradeRequest;
  readonly overrides?: Partial<TradeServiceOptions>;
  /** Kinds of weather that this storm has none of, to show that nothing else meets a planted fault. */
  readonly without?: readonly Weather[];
  /** Of all seeds: how many see the next day. */
  readonly nextDayShare?: number;
  /** Checks taken out of the judge, to show that nothing else sees a planted fault. */
  readonly blind?: readonly TradeCheck[];
}

/**
 * CLOCK_STEPS: our wall clock is set forward and back. OTHER_ORDERS: look-ups show another order of the same client id.
 * PREFERENCES: a key comes again with another preferred venue. LONG_BOUNDS: one venue takes orders for a minute.
 * NEXT_DAY: keys come again with the same body after their 24 hours, to close what was opened meanwhile.
 */
export type Weather = "CLOCK_STEPS" | "OTHER_ORDERS" | "PREFERENCES" | "LONG_BOUNDS" | "NEXT_DAY";

/**
 * LISTED: what is not final is in a list of the status. ENDS: the process that sent an order finds its end. SETTLED: a
 * caller with a key has a final reply.
 */
export type TradeCheck = "LISTED" | "ENDS" | "SETTLED";

export interface SimulationReport {
  readonly violations: string[];
  readonly crashCount: number;
  readonly orderCount: number;
  readonly replyCount: number;
  /** How often each state or refusal was replied: a storm that never reaches a state tests nothing there. */
  readonly seen: ReadonlyMap<string, number>;
  /** How many trades had each state or refusal among their replies. */
  readonly outcomes: ReadonlyMap<string, number>;
  readonly secretLeaks: string[];
  readonly openSessionCount: number;
  /** What the last process left. */
  readonly disk: StateStore;
  readonly venues: readonly FakeVenue[];
}

/** As a venue takes what an agent signed. */
const LONG_VALIDITY_MS = 63_000;
/** Past a record that was made while our wall clock was an hour ahead. */
const NEXT_DAY_MS = 26 * 3_600_000;
const NEXT_DAY_CALLERS = 8;
/** A day of sweeps takes as long as the storm itself. */
const NEXT_DAY_SHARE = 0.2;
const MAX_ASKS = 48;
const LOOKS_MAX = 8;
const HASTY_LOOK_MS = 800;

const REFUSED_FOR_GOOD: ReadonlySet<string> = new Set(["SIZE_EXCEEDS_POSITION"]);

interface Caller extends WorldCaller {
  /** Null means in public mode. */
  readonly ownerId: string | null;
  readonly trade: JudgedTrade;
  readonly request: TradeRequest;
}

export async function runSimulation(options: SimulationOptions): Promise<SimulationReport> {
  const haste = createSeededRandom(options.seed + 2_000_003);
  const has = (kind: Weather): boolean => options.without?.includes(kind) !== true;
  const isBlind = (check: TradeCheck): boolean => options.blind?.includes(check) === true;
  const asked = options.mutateRequest ?? ((request: TradeRequest) => request);
  const events: DecisionEvent[] = [];
  const world: World<TradeService> = new World({
    seed: options.seed,
    odds: TRADE_ODDS,
    venues: (made) => venuesOf(made, options, has),
    async start(life, store) {
      const { gate } = life;
      const service = createService({
        clock,
        store: options.mutateStore?.(store) ?? store,
        rooms: world.venues.map((venue) => life.room(options.mutateRoom?.(venue.room(gate)) ?? venue.room(gate))),
        events,
        logLines: world.logLines,
        ids: world.ids,
        overrides: options.overrides ?? {},
      });
      await service.start();
      return service;
    },
  });
  const { clock, random, venues, weather } = world;
  const nowMs = (): number => world.nowMs();
  if (has("CLOCK_STEPS")) world.stepWall([0, 4_000, 3_600_000, -4_000, -3_600_000]);
  const [, second] = venues;
  if (has("LONG_BOUNDS") && weather.next() < 0.3 && second !== undefined) second.validityMs = LONG_VALIDITY_MS;
  const callers: Caller[] = [];
  const seen = new Map<string, number>();

  /** Asks its outcome with credentials, now and then those of somebody else, until that is known. */
  const lookLater = (caller: Caller, routeId: string, looksLeft: number): void => {
    if (looksLeft === 0) return;
    // Some ask while the venue does not show the order yet.
    const pauseMs = random.next() * 20_000;
    const delayMs = haste.next() < 0.3 ? haste.next() * HASTY_LOOK_MS : pauseMs;
    clock.setTimer(() => void look(caller, routeId, looksLeft - 1), delayMs);
  };
  const look = async (caller: Caller, routeId: string, looksLeft: number): Promise<void> => {
    const { life, service } = world;
    const isStranger = random.next() < 0.3;
    const stranger = pick(random, callers);
    const answer = await service?.askExecution(
      routeId,
      isStranger ? stranger.request.credentials : caller.request.credentials,
      ASKER,
    );
    if (life.dead || answer?.ok !== true || answer.data === null) return lookLater(caller, routeId, looksLeft);
    const { data } = answer;
    const success = data.execution.state !== "REJECTED";
    caller.trade.replies.push({ result: { ok: true, success, data, replayed: true }, atMs: nowMs() });
    if (data.execution.state === "UNKNOWN") lookLater(caller, routeId, looksLeft);
    else seen.set("ASKED", (seen.get("ASKED") ?? 0) + 1);
  };

  const ask = async (caller: Caller): Promise<void> => {
    if (caller.settled || caller.asks >= MAX_ASKS) return;
    const current = world.service;
    if (current === null) return void clock.setTimer(() => void ask(caller), 60);
    const { account, key } = caller.trade;
    const context = { requestId: account, ownerId: caller.ownerId, idempotencyKey: key };
    const reply = await world.answerTo(caller, (service) =>
      service.trade(asked(caller.request), closeContext(clock, { ...context, rawBody: Buffer.from(account) })),
    );
    if (reply !== null) caller.trade.replies.push({ result: reply, atMs: nowMs() });
    if (key !== null && reply?.ok === true && has("PREFERENCES") && weather.next() < 0.3)
      preferAnother(caller, current);
    const refusedForGood = reply !== null && !reply.ok && REFUSED_FOR_GOOD.has(reply.code);
    caller.settled = key === null || refusedForGood || (reply?.ok === true && reply.data.execution.final);
    // Some never ask again: the process that sent the order finds its end for itself.
    if (reply?.ok === true && reply.data.execution.state === "UNKNOWN" && weather.next() < 0.6)
      lookLater(caller, reply.data.routing.routeId, LOOKS_MAX);
    const pauseMs = world.retryPauseMs();
    if (!caller.settled) clock.setTimer(() => void ask(caller), pauseMs);
  };

  /** The record of the key is there: the same key with another preferred venue is another body, and executes nothing. */
  const preferAnother = (caller: Caller, current: TradeService): void => {
    const { account, key } = caller.trade;
    const preferredExchange = pick(weather, ["venueone", "venuetwo", "venuethree", "venuefour", null] as const);
    if (preferredExchange === caller.request.preferredExchange) return;
    const rawBody = Buffer.from(`${account} ${preferredExchange}`);
    const mine = { requestId: account, ownerId: caller.ownerId, idempotencyKey: key, rawBody };
    void current
      .trade(asked({ ...caller.request, preferredExchange }), closeContext(clock, mine))
      .then((result) => seen.set("OTHER_BODY", (seen.get("OTHER_BODY") ?? 0) + (result.ok ? 0 : 1)));
  };

  /** The same keys and bodies once more, when their records have ended: each is a close of its own. */
  const nextDay = async (): Promise<string[]> => {
    const again = callers
      .filter(({ trade, settled }) => trade.key !== null && settled && trade.intent === "CLOSE")
      .slice(0, NEXT_DAY_CALLERS);
    await clock.advanceAsync(NEXT_DAY_MS);
    const sinceMs = nowMs();
    const trades = again.map(({ trade, request, ownerId }) => {
      for (const venue of venues)
        venue.setPosition(trade.account, trade.direction, trade.initialLots.get(venue.venue) ?? 0);
      const next: JudgedTrade = { ...trade, replies: [] };
      const { account, key } = trade;
      const mine = { requestId: account, ownerId, idempotencyKey: key, rawBody: Buffer.from(account) };
      void world.service?.trade(asked(request), closeContext(clock, mine)).then((result) => {
        next.replies.push({ result, atMs: nowMs() });
        seen.set("NEXT_DAY", (seen.get("NEXT_DAY") ?? 0) + 1);
      });
      return next;
    });
    await clock.advanceAsync(60_000);
    return trades.flatMap((trade) => {
      const orders = judgedOrders(venues, trade.account).filter(({ sentAtMs }) => sentAtMs >= sinceMs);
      const found = violations(trade, orders, null, { lotDecimals: 3, batchMs: 0 });
      // Nothing is disturbed any more: every order has its answer.
      if (trade.replies.length !== 1) found.push(`${trade.account}: no reply`);
      for (const { result } of trade.replies)
        if (result.ok && result.data.execution.state === "UNKNOWN") found.push(`${trade.account}: UNKNOWN`);
      return found.map((text) => `next day: ${text}`);
    });
  };

  for (let index = 0; index < options.tradeCount; index++) {
    const caller = makeCaller(index, random, venues);
    callers.push(caller);
    world.callers.push(caller);
    world.duringStorm(() => void ask(caller));
  }
  await world.pass();
  const { livesSinceMs, service } = world;

  const found: string[] = nonceViolations(
    callers.flatMap(({ trade: { account } }) => judgedOrders(venues, account).map((order) => ({ ...order, account }))),
  );
  const outcomes = new Map<string, number>();
  const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
  for (const { trade, settled } of callers) {
    const states = trade.replies.map(({ result }) => (result.ok ? result.data.execution.state : result.code));
    for (const state of states) count(state);
    for (const state of new Set(states)) outcomes.set(state, (outcomes.get(state) ?? 0) + 1);
    for (const { result } of trade.replies) if (result.ok) countParts(result.data, count);
    const last = trade.replies.findLast(({ result }) => result.ok)?.result;
    const latest =
      last?.ok === true && service !== null
        ? await settle(clock, service.execution(last.data.routing.routeId, ASKER))
        : null;
    if (!isBlind("LISTED")) found.push(...listViolations(trade, latest, service));
    if (!isBlind("ENDS")) found.push(...endViolations(trade, latest, venues, livesSinceMs));
    found.push(...violations(trade, judgedOrders(venues, trade.account), latest, { lotDecimals: 3, batchMs: 0 }));
    const lastReply = trade.replies.at(-1)?.result;
    const works = venues.some((venue) => venue.ordersOf(trade.account).some((order) => order.endShownAtMs > nowMs()));
    if (!isBlind("SETTLED") && !works && trade.key !== null && !settled && lastReply?.ok === true)
      found.push(`${trade.account}: never settled, last ${lastReply.data.execution.state}`);
  }
  if (has("NEXT_DAY") && weather.next() < (options.nextDayShare ?? NEXT_DAY_SHARE)) {
    await world.spare();
    found.push(...(await nextDay()));
  }
  // An order that is followed still may be looked at just now.
  for (let turn = 0; turn < 20 && world.openSessions().length > 0; turn++) await clock.advanceAsync(50);
  const outputs = [JSON.stringify(events), JSON.stringify(callers.map((caller) => caller.trade.replies))];
  return {
    violations: found,
    crashCount: world.crashCount,
    orderCount: venues.reduce((sum, venue) => sum + venue.log.length, 0),
    replyCount: callers.reduce((sum, caller) => sum + caller.trade.replies.length, 0),
    seen,
    outcomes,
    secretLeaks: world.secretLeaks(outputs),
    openSessionCount: world.openSessions().length,
    disk: world.disk,
    venues,
  };
}

function venuesOf(
  world: World<TradeService>,
  options: SimulationOptions,
  has: (kind: Weather) => boolean,
): readonly FakeVenue[] {
  const { clock, random, storm, weather } = world;
  const venues = [
    new FakeVenue({ venue: "venueone", clock }),
    new FakeVenue({ venue: "venuetwo", clock, bidTicks: 999_700, hedgeMode: random.next() < 0.5 }),
    new FakeVenue({ venue: "venuethree", clock, bidTicks: 999_850, askTicks: 1_000_200, levelLots: 40 }),
    new FakeVenue({ venue: "venuefour", clock, bidTicks: 999_600, instrument: { qtyStepLots: 5 } }),
  ];
  for (const venue of venues) {
    world.disturb(venue);
    if (has("OTHER_ORDERS")) showOtherOrders(venue, weather, storm);
    options.mutateVenue?.(venue);
  }
  return venues;
}

/** What is not final at the end is in the list of its kind, so that somebody can look for it. */
function listViolations({ account }: JudgedTrade, latest: TradeData | null, service: TradeService | null): string[] {
  const state = latest?.execution.state;
  if (latest === null || service === null || (state !== "UNKNOWN" && state !== "SUBMITTED")) return [];
  const { open, unknown } = service.status();
  const rows = state === "UNKNOWN" ? unknown : open;
  return rows.some(({ routeId }) => routeId === latest.routing.routeId) ? [] : [`${account}: ${state}, and in no list`];
}

/** Every order of a trade whose process still lives had its bound, the lag and a look in the calm: its end is known. */
function endViolations(
  { account, replies }: JudgedTrade,
  latest: TradeData | null,
  venues: readonly FakeVenue[],
  livesSinceMs: number,
): string[] {
  const state = latest?.execution.state;
  const orders = venues.flatMap((venue) => venue.ordersOf(account));
  const isOfEarlierLife = [...orders.map(({ sentAtMs }) => sentAtMs), ...replies.map(({ atMs }) => atMs)].some(
    (atMs) => atMs < livesSinceMs,
  );
  if (isOfEarlierLife) return [];
  if (state === "UNKNOWN") return [`${account}: UNKNOWN, though a look can end it`];
  // An order that works for longer than it is followed stays SUBMITTED.
  const last = orders.sort((left, right) => left.sentAtMs - right.sentAtMs).at(-1);
  const isAbsent = last?.order === null && !last.rejected;
  return state === "SUBMITTED" && isAbsent ? [`${account}: SUBMITTED, though the venue never took it`] : [];
}

/** What a reply shows beside its state. */
function countParts(data: TradeData, count: (what: string) => void): void {
  if (data.routing.split) count("SPLIT");
  if (data.routing.mode === "BEST_ENTRY") count("OPEN");
  if (data.execution.protection != null) count(`PROTECTION_${data.execution.protection}`);
}

function makeCaller(index: number, random: Random, venues: readonly FakeVenue[]): Caller {
  const account = `a${index}`;
  const direction = random.next() < 0.5 ? "LONG" : "SHORT";
  const opens = random.next() < 0.4;
  const split = random.next() < 0.35;
  const initialLots = new Map<string, number>();
  for (const venue of venues) {
    const qtyLots = random.next() < 0.4 ? 0 : 100 + 5 * Math.floor(random.next() * 60);
    venue.setPosition(account, direction, qtyLots);
    initialLots.set(venue.venue, qtyLots);
  }
  const takesAll = split && !opens && random.next() < 0.3;
  const requestedLots = (split ? 200 : 50) + 5 * Math.floor(random.next() * 30);
  const base = {
    direction,
    size: takesAll ? "ALL" : String(requestedLots / 1000),
    preferredExchange: !split && random.next() < 0.2 ? "venueone" : null,
    credentials: Object.fromEntries(
      venues.map((venue) => [venue.venue, { account, secret: `canary-${account}-${venue.venue}` }]),
    ),
    deadlineMs: pick(random, [300, 1_000, 5_000, 12_000]),
    waitFor: random.next() < 0.2 ? "ACK" : "FILL",
    allowSplit: split,
  } as const;
  const below = direction === "LONG" ? "90000" : "110000";
  const above = direction === "LONG" ? "110000" : "90000";
  const terms = {
    leverage: random.next() < 0.3 ? pick(random, [3, 5, 10]) : null,
    stopLoss: random.next() < 0.6 ? below : null,
    takeProfit: random.next() < 0.4 ? above : null,
    closeOnProtectionFailure: random.next() < 0.5,
  };
  const key = random.next() < 0.75 ? `key-${index}` : null;
  return {
    trade: {
      account,
      intent: opens ? "OPEN" : "CLOSE",
      direction,
      requestedLots: takesAll ? null : requestedLots,
      split,
      key,
      initialLots,
      hedgeVenues: new Set(venues.filter(({ hedgeMode }) => hedgeMode).map(({ venue }) => venue)),
      replies: [],
    },
    request: opens ? openRequest(terms, base) : closeRequest(base),
    ownerId: index % 2 === 0 ? "pk_test" : null,
    asks: 0,
    lost: null,
    settled: false,
  };
}

async function settle<T>(clock: VirtualClock, promise: Promise<T>): Promise<T | null> {
  let value: T | null = null;
  void promise.then((settled) => {
    value = settled;
  });
  await clock.advanceAsync(100);
  return value;
}
