/**
 * A seeded world: many closes and opens at once, some of them split, against four venues that refuse, fill partly, lose
 * requests and replies, execute late, acknowledge only and lag in their index, and a service that is killed at any call to its store or venues and started
 * again on the same store. Callers with an idempotency key retry until they know; the others ask once.
 *
 * One seed decides everything. After the storm there is a calm in which the faults end, so that all that can be
 * known must be known.
 */
import { createSeededRandom, type Random } from "../../domain/random.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import type { VenueRoom } from "../../ports.js";
import type { StateStore } from "../../storage/state-store.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import type { TradeService, TradeServiceOptions } from "../trade-service.js";
import type { TradeData, TradeRequest, TradeResult } from "../trade-types.js";
import type { DecisionEvent } from "../decision-event.js";
import { FakeVenue, judgedOrders, ORDER_VALIDITY_MS, type FakeSession, type PlaceFate } from "./fake-venue.js";
import { closeContext, closeRequest, createService, openRequest, seededIds } from "./harness.js";
import { nonceViolations, violations, type JudgedTrade } from "./invariants.js";
import { Life } from "./life.js";

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
}

/** CLOCK_STEPS: our wall clock is set forward and back. OTHER_ORDERS: look-ups show another order of the same client id. PREFERENCES: a key comes again with another preferred venue. */
export type Weather = "CLOCK_STEPS" | "OTHER_ORDERS" | "PREFERENCES";

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

const STORM_MS = 60_000;
const CALM_MS = 240_000;
const MAX_ASKS = 48;
const LOOKS_MAX = 8;

const REFUSED_FOR_GOOD: ReadonlySet<string> = new Set(["SIZE_EXCEEDS_POSITION"]);

interface Caller {
  /** Null: in public mode. */
  readonly apiKeyId: string | null;
  readonly trade: JudgedTrade;
  readonly request: TradeRequest;
  asks: number;
  /** Ends the wait for a reply that will not come. */
  lost: (() => void) | null;
  settled: boolean;
}

export async function runSimulation(options: SimulationOptions): Promise<SimulationReport> {
  const random = createSeededRandom(options.seed);
  const clock = new VirtualClock();
  /** Of its own, so that the rest of a seed's world does not turn on it. */
  const weather = createSeededRandom(options.seed + 1_000_003);
  const has = (kind: Weather): boolean => options.without?.includes(kind) !== true;
  const asked = options.mutateRequest ?? ((request: TradeRequest) => request);
  const storm = { on: true };
  const venues = [
    new FakeVenue({ venue: "venueone", clock }),
    new FakeVenue({ venue: "venuetwo", clock, bidTicks: 999_700, hedgeMode: random.next() < 0.5 }),
    new FakeVenue({ venue: "venuethree", clock, bidTicks: 999_850, askTicks: 1_000_200, levelLots: 40 }),
    new FakeVenue({ venue: "venuefour", clock, bidTicks: 999_600, instrument: { qtyStepLots: 5 } }),
  ];
  for (const venue of venues) {
    disturb(venue, random, storm);
    if (has("OTHER_ORDERS")) showOtherOrders(venue, weather, storm);
    options.mutateVenue?.(venue);
  }
  const nowMs = (): number => venues[0]?.nowMs() ?? 0;
  let wallOffMs = 0;
  const stepWall = (): void => {
    const toMs = storm.on ? pick(weather, [0, 4_000, 3_600_000, -4_000, -3_600_000]) : 0;
    clock.stepWall(toMs - wallOffMs);
    wallOffMs = toMs;
    if (storm.on) clock.setTimer(stepWall, 500 + weather.next() * 6_000);
  };
  if (has("CLOCK_STEPS")) stepWall();
  const disk = createMemoryStore();
  disk.gate = () => pause(clock, random.next() < 0.1 ? 30 : 1);
  const events: DecisionEvent[] = [];
  const logLines: string[] = [];
  const ids = seededIds(options.seed);

  let life = new Life();
  let service: TradeService | null = null;
  let crashCount = 0;
  const deadSessions = new Set<FakeSession>();
  const callers: Caller[] = [];
  const seen = new Map<string, number>();

  const startService = async (): Promise<void> => {
    life = new Life(storm.on && random.next() < 0.8 ? 20 + Math.floor(random.next() * 300) : Number.POSITIVE_INFINITY);
    const { gate } = life;
    const store = life.store(disk);
    const next = createService({
      clock,
      store: options.mutateStore?.(store) ?? store,
      rooms: venues.map((venue) => options.mutateRoom?.(venue.room(gate)) ?? venue.room(gate)),
      events,
      logLines,
      ids,
      overrides: options.overrides ?? {},
    });
    const mine = life;
    await next.start();
    if (mine === life) service = next;
  };
  const supervise = (): void => {
    if (life.dead) {
      crashCount += 1;
      service = null;
      // What a dead process held in memory is gone with it.
      for (const venue of venues) for (const session of venue.sessions) deadSessions.add(session);
      for (const caller of callers) caller.lost?.();
      void startService();
    }
    clock.setTimer(supervise, 50);
  };

  /** Asks what became of it with credentials, now and then those of somebody else, until that is known. */
  const lookLater = (caller: Caller, routeId: string, looksLeft: number): void => {
    if (looksLeft === 0) return;
    clock.setTimer(() => void look(caller, routeId, looksLeft - 1), random.next() * 20_000);
  };
  const look = async (caller: Caller, routeId: string, looksLeft: number): Promise<void> => {
    const mine = life;
    const isStranger = random.next() < 0.3;
    const stranger = pick(random, callers);
    const answer = await service?.askExecution(
      routeId,
      isStranger ? stranger.request.credentials : caller.request.credentials,
    );
    if (mine.dead || answer?.ok !== true || answer.data === null) return lookLater(caller, routeId, looksLeft);
    const { data } = answer;
    const success = data.execution.state !== "REJECTED";
    caller.trade.replies.push({ result: { ok: true, success, data, replayed: true }, atMs: nowMs() });
    if (data.execution.state === "UNKNOWN") lookLater(caller, routeId, looksLeft);
    else seen.set("ASKED", (seen.get("ASKED") ?? 0) + 1);
  };

  const ask = async (caller: Caller): Promise<void> => {
    if (caller.settled || caller.asks >= MAX_ASKS) return;
    const current = service;
    if (current === null) return void clock.setTimer(() => void ask(caller), 60);
    caller.asks += 1;
    const { key } = caller.trade;
    const reply = await new Promise<TradeResult | null>((resolve) => {
      caller.lost = () => resolve(null);
      // An answer of a dead process reaches nobody.
      const mine = life;
      void current
        .trade(
          asked(caller.request),
          closeContext(clock, {
            requestId: caller.trade.account,
            apiKeyId: caller.apiKeyId,
            idempotencyKey: key,
            rawBody: Buffer.from(caller.trade.account),
          }),
        )
        .then((result) => {
          if (!mine.dead) resolve(result);
        });
    });
    caller.lost = null;
    if (reply !== null) caller.trade.replies.push({ result: reply, atMs: nowMs() });
    if (key !== null && reply?.ok === true && has("PREFERENCES") && weather.next() < 0.3)
      preferAnother(caller, current);
    const refusedForGood = reply !== null && !reply.ok && REFUSED_FOR_GOOD.has(reply.code);
    caller.settled = key === null || refusedForGood || (reply?.ok === true && reply.data.execution.final);
    if (reply?.ok === true && reply.data.execution.state === "UNKNOWN")
      lookLater(caller, reply.data.routing.routeId, LOOKS_MAX);
    // Some retry at once, some take their time: a hasty retry meets what a crash has left at its freshest.
    const pauseMs = random.next() < 0.3 ? random.next() * 800 : 500 + random.next() * 15_000;
    if (!caller.settled) clock.setTimer(() => void ask(caller), pauseMs);
  };

  /** The record of the key is there: the same key with another preferred venue is another body, and executes nothing. */
  const preferAnother = (caller: Caller, current: TradeService): void => {
    const { account, key } = caller.trade;
    const preferredExchange = pick(weather, ["venueone", "venuetwo", "venuethree", "venuefour", null] as const);
    if (preferredExchange === caller.request.preferredExchange) return;
    const rawBody = Buffer.from(`${account} ${preferredExchange}`);
    const mine = { requestId: account, apiKeyId: caller.apiKeyId, idempotencyKey: key, rawBody };
    void current
      .trade(asked({ ...caller.request, preferredExchange }), closeContext(clock, mine))
      .then((result) => seen.set("OTHER_BODY", (seen.get("OTHER_BODY") ?? 0) + (result.ok ? 0 : 1)));
  };

  for (let index = 0; index < options.tradeCount; index++) {
    const caller = makeCaller(index, random, venues);
    callers.push(caller);
    clock.setTimer(() => void ask(caller), random.next() * STORM_MS * 0.8);
  }
  void startService();
  supervise();
  await clock.advanceAsync(STORM_MS);
  storm.on = false;
  await clock.advanceAsync(CALM_MS);

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
        ? await settle(clock, (service as TradeService).execution(last.data.routing.routeId))
        : null;
    found.push(...listViolations(trade, latest, service));
    found.push(...violations(trade, judgedOrders(venues, trade.account), latest, { lotDecimals: 3, batchMs: 0 }));
    const lastReply = trade.replies.at(-1)?.result;
    if (trade.key !== null && !settled && lastReply?.ok === true)
      found.push(`${trade.account}: never settled, last ${lastReply.data.execution.state}`);
  }
  const open = venues
    .flatMap((venue) => venue.sessions)
    .filter((session) => !session.closed && !deadSessions.has(session));
  const outputs = [
    JSON.stringify(events),
    JSON.stringify(callers.map((caller) => caller.trade.replies)),
    ...logLines,
    ...disk.writtenText,
  ];
  return {
    violations: found,
    crashCount,
    orderCount: venues.reduce((sum, venue) => sum + venue.log.length, 0),
    replyCount: callers.reduce((sum, caller) => sum + caller.trade.replies.length, 0),
    seen,
    outcomes,
    secretLeaks: outputs.filter((text) => text.includes("canary")).map((text) => text.slice(0, 200)),
    openSessionCount: open.length,
    disk,
    venues,
  };
}

/** What is not final at the end is in the list of its kind, so that somebody can look for it. */
function listViolations({ account }: JudgedTrade, latest: TradeData | null, service: TradeService | null): string[] {
  const state = latest?.execution.state;
  if (latest === null || service === null || (state !== "UNKNOWN" && state !== "SUBMITTED")) return [];
  const { open, unknown } = service.status();
  const rows = state === "UNKNOWN" ? unknown : open;
  return rows.some(({ routeId }) => routeId === latest.routing.routeId) ? [] : [`${account}: ${state}, and in no list`];
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
    apiKeyId: index % 2 === 0 ? "pk_test" : null,
    asks: 0,
    lost: null,
    settled: false,
  };
}

/** Another order of the same client id, as from an earlier use of it: of another size or side, or a day old. */
function showOtherOrders(venue: FakeVenue, weather: Random, storm: { readonly on: boolean }): void {
  venue.shownOrder = (order) => {
    if (!storm.on || weather.next() > 0.1) return order;
    const other = { ...order, status: "CANCELED", filledLots: 0, averagePrice: null } as const;
    const side = order.side === "BUY" ? "SELL" : "BUY";
    return pick(weather, [
      { ...other, qtyLots: order.qtyLots + 5 },
      { ...other, side },
      { ...other, tsVenueMs: order.tsVenueMs - 86_400_000 },
    ]);
  };
}

/** Sets the venue's knobs to draw their faults from the seed while the storm lasts. */
function disturb(venue: FakeVenue, random: Random, storm: { readonly on: boolean }): void {
  venue.fate = (command, account): PlaceFate => {
    const latencyMs = 1 + random.next() * 80;
    if (!storm.on) return { kind: "fill", latencyMs };
    const draw = random.next();
    if (draw < 0.36) return { kind: "fill", latencyMs };
    if (draw < 0.46) return { kind: "fill", latencyMs, liquidity: random.next() };
    if (draw < 0.57)
      return {
        kind: "reject",
        latencyMs,
        reason: pick(random, ["INSUFFICIENT_MARGIN", "PRICE", "VENUE_STATE", "REDUCE_ONLY"]),
      };
    if (draw < 0.75 && command.reduceOnly && command.trigger === undefined) {
      // Somebody else closes it, or a part of it, first.
      const direction = command.side === "SELL" ? "LONG" : "SHORT";
      venue.setPosition(
        account,
        direction,
        Math.floor(venue.heldLots(account, direction) * pick(random, [0, 0, 0, 0.3])),
      );
      return { kind: "reject", latencyMs, reason: "REDUCE_ONLY" };
    }
    if (draw < 0.75) return { kind: "fill", latencyMs };
    if (draw < 0.77) return { kind: "notSent", reason: pick(random, ["RATE_LIMITED", "VENUE_STATE"]) };
    if (draw < 0.82) return { kind: "loseRequest" };
    if (draw < 0.9) return { kind: "loseReply", liquidity: random.next() < 0.5 ? 1 : random.next() };
    if (draw < 0.95) return { kind: "late", executeAfterMs: random.next() * ORDER_VALIDITY_MS };
    if (draw < 0.98) return { kind: "fill", latencyMs, ackOnlyMs: random.next() * 1_500 };
    if (draw < 0.985) return { kind: "fill", latencyMs, ackOnlyMs: 0, workingMs: 90_000 };
    if (draw < 0.99) return { kind: "drop", latencyMs };
    return { kind: "throw" };
  };
  venue.readLatencyMs = () => 1 + random.next() * 40;
  venue.indexLagMs = () => random.next() * 1_500;
  venue.positionFailure = () =>
    storm.on && random.next() < 0.05 ? pick(random, ["TIMEOUT", "RATE_LIMITED", "HANG"]) : null;
  venue.settingFate = () => (storm.on && random.next() < 0.1 ? pick(random, ["reject", "lose"]) : "accept");
  venue.orderReadFailure = () => (storm.on && random.next() < 0.2 ? "TIMEOUT" : null);
}

function pick<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[Math.floor(random.next() * choices.length)];
  if (choice === undefined) throw new RangeError("nothing to pick from");
  return choice;
}

function pause(clock: VirtualClock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(resolve, delayMs);
  });
}

async function settle<T>(clock: VirtualClock, promise: Promise<T>): Promise<T | null> {
  let value: T | null = null;
  void promise.then((settled) => {
    value = settled;
  });
  await clock.advanceAsync(100);
  return value;
}
