/**
 * A seeded world of single orders: callers place, close and ask on a venue that refuses, fills partly, loses requests
 * and replies, executes late and lags in its index, through a desk that is killed at any call to its store or venue and
 * started again on the same store. Callers with an idempotency key retry until they know; the others ask once.
 *
 * One seed decides everything. After the storm there is a calm in which the faults end, so that all that can be known
 * must be known. The judge is the venue's log, never what the desk says of itself.
 */
import { createSeededRandom, type Random } from "../../../domain/random.js";
import { VirtualClock } from "../../../domain/virtual-clock.js";
import { NO_LIMITS, type GuardBook, type GuardPolicy } from "../../../guards/guard-book.js";
import type { VenueRoom } from "../../../ports.js";
import type { StateStore } from "../../../storage/state-store.js";
import { createMemoryStore } from "../../../storage/test/memory-store.js";
import { ORDER_VALIDITY_MS, type PlaceFate } from "../../test/fake-matching.js";
import type { FakeSession } from "../../test/fake-session.js";
import { FakeVenue } from "../../test/fake-venue.js";
import { seededIds } from "../../test/harness.js";
import { Life } from "../../test/life.js";
import type { CloseLeg, OrderFacts, OrderRefusal } from "../order-desk.js";
import type { SingleOrderService, SingleOrderServiceOptions } from "../single-order-service.js";
import { closeRequest, createDeskService, orderContext, orderName, placeRequest } from "./desk-harness.js";
import { createDeskCalls, deskRoom, keepBookFresh } from "./desk-venue.js";

export interface DeskSimulationOptions {
  readonly seed: number;
  readonly callerCount: number;
  /** Faulty collaborators, to show that the judge sees what they break. */
  readonly mutateRoom?: (room: VenueRoom) => VenueRoom;
  readonly mutateStore?: (store: StateStore) => StateStore;
  readonly overrides?: Partial<SingleOrderServiceOptions>;
  /** Checks taken out of the judge, to show that nothing else sees a planted fault. */
  readonly blind?: readonly DeskCheck[];
}

/** ENDS_ONCE: one process reports the end of an order of unknown outcome once. */
export type DeskCheck = "ENDS_ONCE";

export interface DeskSimulationReport {
  readonly violations: string[];
  readonly crashCount: number;
  readonly orderCount: number;
  /** How often each outcome was reported: a storm that never reaches one tests nothing there. */
  readonly seen: ReadonlyMap<string, number>;
  readonly secretLeaks: string[];
  readonly openSessionCount: number;
}

type Kind = "MARKET" | "LIMIT" | "REDUCE" | "CLOSE";

interface Reply {
  readonly refusal: OrderRefusal | null;
  /** Null means a refusal, or a close that found nothing left to do. */
  readonly order: OrderFacts | null;
  readonly isFinal: boolean;
  readonly atMs: number;
}

interface Caller {
  readonly account: string;
  readonly kind: Kind;
  readonly requestedLots: number;
  readonly initialLots: number;
  readonly key: string | null;
  readonly name: string | null;
  readonly deadlineMs: number;
  readonly replies: Reply[];
  asks: number;
  lost: (() => void) | null;
  settled: boolean;
}

const STORM_MS = 60_000;
const CALM_MS = 240_000;
const MAX_ASKS = 24;
/** Of one commit in a spell of a slow disk. */
const SLOW_DISK_MS = 400;
const DAILY_LIMIT = "100000000";
const NEUTRAL_CODES: ReadonlySet<string> = new Set([
  "IDEMPOTENCY_IN_PROGRESS",
  "SHUTTING_DOWN",
  "OVERLOADED",
  "NOT_READY",
]);

export async function simulateDesk(options: DeskSimulationOptions): Promise<DeskSimulationReport> {
  const random = createSeededRandom(options.seed);
  const clock = new VirtualClock();
  const storm = { on: true };
  const venue = new FakeVenue({ venue: "venueone", clock });
  disturb(venue, random, storm);
  keepBookFresh(venue);
  // Our wall clock is set forward and back; of a stream of its own, so that a seed's world does not turn on it.
  const weather = createSeededRandom(options.seed + 1_000_003);
  let wallOffMs = 0;
  const stepWall = (): void => {
    const toMs = storm.on ? pick(weather, [0, 4_000, 600_000, -4_000, -600_000]) : 0;
    clock.stepWall(toMs - wallOffMs);
    wallOffMs = toMs;
    if (storm.on) clock.setTimer(stepWall, 500 + weather.next() * 6_000);
  };
  stepWall();
  const disk = createMemoryStore();
  let slowUntilMs = 0;
  let lastCommitMs = 0;
  // A disk takes its commits one after the other: a slow one holds up those behind it.
  disk.gate = () => {
    const delayMs = clock.trueMs() < slowUntilMs ? SLOW_DISK_MS : random.next() < 0.1 ? 30 : 1;
    lastCommitMs = Math.max(lastCommitMs, clock.trueMs() + delayMs);
    return pause(clock, lastCommitMs - clock.trueMs());
  };
  const slowDown = (): void => {
    if (!storm.on) return;
    slowUntilMs = clock.trueMs() + 1_000 + weather.next() * 3_000;
    clock.setTimer(slowDown, 4_000 + weather.next() * 8_000);
  };
  slowDown();
  const policy: GuardPolicy = {
    global: { ...NO_LIMITS, maxDailyNotional: DAILY_LIMIT },
    byKey: new Map(),
    each: NO_LIMITS,
  };
  const logLines: string[] = [];
  const outputs: unknown[] = [];
  const ids = seededIds(options.seed);
  const calls = createDeskCalls();
  let life = new Life();
  let desk: SingleOrderService | null = null;
  let guards: GuardBook | null = null;
  let crashCount = 0;
  let seenEnds = 0;
  const endedAgain: string[] = [];
  const deadSessions = new Set<FakeSession>();
  const callers = Array.from({ length: options.callerCount }, (_, index) => makeCaller(index, random, venue));

  const startDesk = async (): Promise<void> => {
    life = new Life(storm.on && random.next() < 0.8 ? 20 + Math.floor(random.next() * 300) : Number.POSITIVE_INFINITY);
    const mine = life;
    const room = mine.room(deskRoom(venue, calls, life.gate));
    const store = life.store(disk);
    const built = createDeskService({
      clock,
      store: options.mutateStore?.(store) ?? store,
      rooms: [options.mutateRoom?.(room) ?? room],
      logLines,
      ids,
      policy,
      overrides: options.overrides ?? {},
    });
    const endCounts = new Map<string, number>();
    built.desk.onResolved(({ orderRef, venueClientOrderId }) => {
      if (mine.dead) return;
      const count = (endCounts.get(orderRef) ?? 0) + 1;
      endCounts.set(orderRef, count);
      if (count > 1) endedAgain.push(`${orderRef}: its end was reported ${count} times by one process`);
      seenEnds += 1;
      const account = venue.log.find(({ command }) => `c-${command.clientIdHex}` === venueClientOrderId)?.account;
      const caller = callers.find((one) => one.account === account);
      if (caller !== undefined && weather.next() < 0.7)
        clock.setTimer(() => void askAgain(caller, built.desk, mine), weather.next() * SLOW_DISK_MS);
    });
    await built.guards.start();
    await built.desk.start();
    if (mine !== life) return;
    desk = built.desk;
    guards = built.guards;
  };
  const supervise = (): void => {
    if (life.dead) {
      crashCount += 1;
      desk = null;
      // What a dead process held in memory is gone with it.
      for (const session of venue.sessions) deadSessions.add(session);
      for (const caller of callers) caller.lost?.();
      // What the dead one had handed to the disk is taken before the next opens it.
      life = new Life();
      clock.setTimer(() => void startDesk(), Math.max(0, lastCommitMs + 1 - clock.trueMs()));
    }
    clock.setTimer(supervise, 50);
  };

  const ask = async (caller: Caller): Promise<void> => {
    if (caller.settled || caller.asks >= MAX_ASKS) return;
    const current = desk;
    if (current === null) return void clock.setTimer(() => void ask(caller), 60);
    caller.asks += 1;
    const mine = life;
    const reply = await new Promise<Reply | null>((resolve) => {
      caller.lost = () => resolve(null);
      // An answer of a dead process reaches nobody.
      void askDesk(clock, current, caller).then((answer) => {
        if (!mine.dead) resolve(answer);
      });
    });
    caller.lost = null;
    if (reply !== null) {
      caller.replies.push(reply);
      outputs.push(reply);
    }
    caller.settled = caller.key === null || reply?.isFinal === true;
    if (reply?.order?.outcome === "UNKNOWN" && caller.name !== null) {
      clock.setTimer(() => void askStatus(caller, caller.name ?? ""), random.next() * 20_000);
    }
    const pauseMs = random.next() < 0.3 ? random.next() * 800 : 500 + random.next() * 15_000;
    if (!caller.settled) clock.setTimer(() => void ask(caller), pauseMs);
  };
  /** Who hears the end asks with the key at once, while the store may still take that end. */
  const askAgain = async (caller: Caller, asked: SingleOrderService, mine: Life): Promise<void> => {
    if (caller.key === null || mine.dead) return;
    const answer = await askDesk(clock, asked, caller);
    if (mine.dead) return;
    caller.replies.push(answer);
    outputs.push(answer);
  };
  /** A question by name, beside whatever else the caller does: it must never disturb. */
  const askStatus = async (caller: Caller, name: string): Promise<void> => {
    const mine = life;
    const credentials = { account: caller.account, secret: `canary-${caller.account}` };
    const answer = await desk?.orderStatus(orderName(name, { credentials, deadlineMs: 2_000 }), orderContext(clock));
    if (mine.dead || answer?.ok !== true || answer.order.outcome !== "CONFIRMED") return;
    caller.replies.push({ refusal: null, order: answer.order, isFinal: true, atMs: clock.trueMs() });
  };

  for (const caller of callers) clock.setTimer(() => void ask(caller), random.next() * STORM_MS * 0.8);
  void startDesk();
  supervise();
  await clock.advanceAsync(STORM_MS);
  storm.on = false;
  await clock.advanceAsync(CALM_MS);

  const seen = new Map<string, number>();
  for (const { replies } of callers) {
    for (const { refusal, order } of replies) {
      const what = refusal?.code ?? (order === null ? "NOTHING_LEFT" : `${order.outcome} ${order.status}`);
      seen.set(what, (seen.get(what) ?? 0) + 1);
    }
  }
  const found = callers.flatMap((caller) => judge(caller, venue));
  found.push(...(await judgeUsage(venue, disk, guards)));
  if (options.blind?.includes("ENDS_ONCE") !== true) found.push(...endedAgain);
  seen.set("ENDED_LATER", seenEnds);
  const open = venue.sessions.filter((session) => !session.closed && !deadSessions.has(session));
  const texts = [JSON.stringify(outputs), ...logLines, ...disk.writtenText];
  return {
    violations: found,
    crashCount,
    orderCount: venue.log.length,
    seen,
    secretLeaks: texts.filter((text) => text.includes("canary")).map((text) => text.slice(0, 200)),
    openSessionCount: open.length,
  };
}

async function askDesk(clock: VirtualClock, desk: SingleOrderService, caller: Caller): Promise<Reply> {
  const { account, kind, key, name, deadlineMs, requestedLots } = caller;
  const context = orderContext(clock, { requestId: account, idempotencyKey: key, rawBody: Buffer.from(account) });
  const credentials = { account, secret: `canary-${account}` };
  const quantity = String(requestedLots / 1000);
  if (kind === "CLOSE") {
    const answer = await desk.closePosition(
      closeRequest({ credentials, quantity, deadlineMs, clientOrderId: name }),
      context,
    );
    return answer.ok ? legReply(clock, answer.legs[0] as CloseLeg) : refusalReply(clock, answer);
  }
  const isLimit = kind === "LIMIT";
  const answer = await desk.place(
    placeRequest({
      credentials,
      quantity,
      deadlineMs,
      clientOrderId: name,
      type: isLimit ? "LIMIT" : "MARKET",
      price: isLimit ? "95000" : null,
      side: kind === "REDUCE" ? "SELL" : "BUY",
      reduceOnly: kind === "REDUCE",
    }),
    context,
  );
  if (!answer.ok) return refusalReply(clock, answer);
  const { order } = answer;
  const isWorking = !isLimit && (order.status === "OPEN" || order.status === "PARTIALLY_FILLED");
  const isFinal = order.outcome === "CONFIRMED" && order.status !== "UNKNOWN" && !isWorking;
  return { refusal: null, order, isFinal, atMs: clock.trueMs() };
}

function legReply(clock: VirtualClock, leg: CloseLeg): Reply {
  const refusal = leg.status === "FAILED" && leg.order === null && leg.error !== null ? leg.error : null;
  return {
    refusal: refusal === null ? null : { ok: false, ...refusal, replayed: false },
    order: leg.order,
    isFinal: leg.status !== "UNKNOWN",
    atMs: clock.trueMs(),
  };
}

function refusalReply(clock: VirtualClock, refusal: OrderRefusal): Reply {
  const isFinal = ["VENUE_REJECTED", "FAILED_TO_PLACE_ORDER", "SIZE_EXCEEDS_POSITION", "DUPLICATE_CLIENT_ORDER_ID"];
  return { refusal, order: null, isFinal: isFinal.includes(refusal.code), atMs: clock.trueMs() };
}

/** One text per broken invariant. */
function judge(caller: Caller, venue: FakeVenue): string[] {
  const found: string[] = [];
  const orders = venue.ordersOf(caller.account);
  const closes = caller.kind === "REDUCE" || caller.kind === "CLOSE";
  for (const { command } of orders) {
    if (command.reduceOnly !== closes) found.push(`reduceOnly ${command.reduceOnly} on a ${caller.kind}`);
    if (command.side !== (closes ? "SELL" : "BUY")) found.push(`side ${command.side} on a ${caller.kind}`);
    if (command.qtyLots > caller.requestedLots) found.push(`${command.qtyLots} lots sent of ${caller.requestedLots}`);
    if (command.type === "MARKET" && command.priceTicks !== (closes ? 990_000 : 1_010_000))
      found.push(`worst price ${command.priceTicks}`);
  }
  for (const [index, later] of orders.entries()) {
    for (const earlier of orders.slice(0, index)) {
      if (earlier.disclosedAtMs === null || earlier.disclosedAtMs > later.sentAtMs)
        found.push("sent while the outcome of an earlier one was unknown");
    }
  }
  const sentIds = new Set(orders.map(({ command }) => command.clientIdHex));
  if (sentIds.size !== orders.length) found.push("a client id was sent twice");
  const filled = orders.reduce((sum, { filledLots }) => sum + filledLots, 0);
  if (filled > caller.requestedLots) found.push(`${filled} lots executed of ${caller.requestedLots}`);
  const executed = orders.filter(({ executedAtMs }) => executedAtMs !== null);
  if (caller.key !== null && executed.length > (caller.kind === "CLOSE" ? 2 : 1))
    found.push(`${executed.length} orders stood for one key`);
  for (const { refusal, order, atMs } of caller.replies) {
    const before = executed.filter(({ sentAtMs }) => sentAtMs <= atMs);
    if (
      refusal !== null &&
      !NEUTRAL_CODES.has(refusal.code) &&
      refusal.code !== "DUPLICATE_CLIENT_ORDER_ID" &&
      before.length > 0
    )
      found.push(`refused as ${refusal.code}, and executed`);
    if (order === null || order.outcome !== "CONFIRMED") continue;
    const shown = orders.find((logged) => logged.order?.venueOrderId === order.orderId);
    if (shown === undefined) found.push("confirmed, and nowhere at the venue");
    else if (Number(order.filledQuantity) * 1000 > shown.filledLots + 1e-6) found.push("told more than was filled");
    else if (order.status === "FILLED" && shown.filledLots !== shown.command.qtyLots)
      found.push("told as filled, and is not");
  }
  const last = caller.replies.at(-1);
  if (caller.key !== null && !caller.settled)
    found.push(`never settled, last ${last?.refusal?.code ?? last?.order?.outcome ?? "nothing"}`);
  return found.map((text) => `${caller.account} ${caller.kind}: ${text}`);
}

/** Every order that opened something counts for the day, durably, and nothing counts that nobody could have sent. */
async function judgeUsage(venue: FakeVenue, disk: StateStore, guards: GuardBook | null): Promise<string[]> {
  const found: string[] = [];
  const counted = new Map<string, bigint>();
  for (const { key, value } of await settle(
    venue.clock as VirtualClock,
    disk.scan("guard-usage", { prefix: "", limit: 1_000 }),
  )) {
    const { micro } = JSON.parse(Buffer.from(value).toString("utf8")) as { micro: string };
    counted.set(key.split("|")[1] ?? "", BigInt(micro));
  }
  let sum = 0n;
  for (const micro of counted.values()) sum += micro;
  for (const { command, filledLots } of venue.log) {
    if (!command.reduceOnly && filledLots > 0 && !counted.has(command.clientIdHex))
      found.push(`not counted: ${command.clientIdHex}`);
  }
  const told = BigInt(Math.round(Number(guards?.status().usedToday ?? "0") * 1e6));
  if (told !== sum) found.push(`the guards count ${told}, the rows ${sum}`);
  return found;
}

function makeCaller(index: number, random: Random, venue: FakeVenue): Caller {
  const account = `a${index}`;
  const kind = pick<Kind>(random, ["MARKET", "MARKET", "LIMIT", "REDUCE", "CLOSE"]);
  const closes = kind === "REDUCE" || kind === "CLOSE";
  const requestedLots = 50 + Math.floor(random.next() * 150);
  const initialLots = closes ? requestedLots + Math.floor(random.next() * 100) : 0;
  venue.setPosition(account, "LONG", initialLots);
  return {
    account,
    kind,
    requestedLots,
    initialLots,
    key: random.next() < 0.75 ? `key-${index}` : null,
    name: random.next() < 0.5 ? `name-${index}` : null,
    deadlineMs: pick(random, [300, 1_000, 5_000, 12_000]),
    replies: [],
    asks: 0,
    lost: null,
    settled: false,
  };
}

/** Sets the venue's knobs to draw their faults from the seed while the storm lasts. */
function disturb(venue: FakeVenue, random: Random, storm: { readonly on: boolean }): void {
  venue.fate = (): PlaceFate => {
    const latencyMs = 1 + random.next() * 80;
    if (!storm.on) return { kind: "fill", latencyMs };
    const draw = random.next();
    if (draw < 0.4) return { kind: "fill", latencyMs };
    if (draw < 0.52) return { kind: "fill", latencyMs, liquidity: random.next() };
    if (draw < 0.62)
      return { kind: "reject", latencyMs, reason: pick(random, ["INSUFFICIENT_MARGIN", "PRICE", "VENUE_STATE"]) };
    if (draw < 0.68) return { kind: "notSent", reason: pick(random, ["RATE_LIMITED", "VENUE_STATE"]) };
    if (draw < 0.76) return { kind: "loseRequest" };
    if (draw < 0.86) return { kind: "loseReply", liquidity: random.next() < 0.5 ? 1 : random.next() };
    if (draw < 0.94) return { kind: "late", executeAfterMs: random.next() * ORDER_VALIDITY_MS };
    if (draw < 0.99) return { kind: "fill", latencyMs, ackOnlyMs: random.next() * 1_500 };
    return { kind: "throw" };
  };
  venue.readLatencyMs = () => 1 + random.next() * 40;
  venue.indexLagMs = () => random.next() * 1_500;
  venue.positionFailure = () =>
    storm.on && random.next() < 0.05 ? pick(random, ["TIMEOUT", "RATE_LIMITED", "HANG"]) : null;
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

async function settle<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  await clock.advanceAsync(100);
  return promise;
}
