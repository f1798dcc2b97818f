/**
 * Single orders in the seeded world (../../test/world.ts): callers place, close and ask on one venue, through a desk.
 * Callers with an idempotency key retry until they know; the others ask once. The judge is the venue's log, never what
 * the desk says of itself.
 */
import type { Random } from "../../../domain/random.js";
import type { VirtualClock } from "../../../domain/virtual-clock.js";
import { NO_LIMITS, type GuardBook, type GuardPolicy } from "../../../guards/guard-book.js";
import type { VenueRoom } from "../../../ports.js";
import type { StateStore } from "../../../storage/state-store.js";
import { FakeVenue } from "../../test/fake-venue.js";
import type { Life } from "../../test/life.js";
import { pick, SINGLE_ODDS } from "../../test/storm.js";
import { SLOW_DISK_MS, World, type WorldCaller } from "../../test/world.js";
import type { CloseLeg, OrderFacts, OrderRefusal } from "../order-desk.js";
import type { SingleOrderService } from "../single-order-service.js";
import type { SingleOrderServiceOptions } from "../single-parts.js";
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

/** What a process is made of. */
interface Process {
  readonly desk: SingleOrderService;
  readonly guards: GuardBook;
}

interface Reply {
  readonly refusal: OrderRefusal | null;
  /** Null means a refusal, or a close that found nothing left to do. */
  readonly order: OrderFacts | null;
  readonly isFinal: boolean;
  readonly atMs: number;
}

interface Caller extends WorldCaller {
  readonly account: string;
  readonly kind: Kind;
  readonly requestedLots: number;
  readonly initialLots: number;
  readonly key: string | null;
  readonly name: string | null;
  readonly deadlineMs: number;
  readonly replies: Reply[];
}

const MAX_ASKS = 24;
const DAILY_LIMIT = "100000000";
const NEUTRAL_CODES: ReadonlySet<string> = new Set([
  "IDEMPOTENCY_IN_PROGRESS",
  "SHUTTING_DOWN",
  "OVERLOADED",
  "NOT_READY",
]);

export async function simulateDesk(options: DeskSimulationOptions): Promise<DeskSimulationReport> {
  const policy: GuardPolicy = {
    global: { ...NO_LIMITS, maxDailyNotional: DAILY_LIMIT },
    byOwner: new Map(),
    each: NO_LIMITS,
  };
  const outputs: unknown[] = [];
  const calls = createDeskCalls();
  let seenEnds = 0;
  const endedAgain: string[] = [];
  const world: World<Process> = new World({
    seed: options.seed,
    odds: SINGLE_ODDS,
    hasSlowDisk: true,
    venues(made) {
      const only = new FakeVenue({ venue: "venueone", clock: made.clock });
      made.disturb(only);
      keepBookFresh(only);
      return [only];
    },
    async start(life, store) {
      const room = life.room(deskRoom(venue, calls, life.gate));
      const built = createDeskService({
        clock,
        store: options.mutateStore?.(store) ?? store,
        rooms: [options.mutateRoom?.(room) ?? room],
        logLines: world.logLines,
        ids: world.ids,
        policy,
        overrides: options.overrides ?? {},
      });
      listenForEnds(built.desk, life);
      await built.guards.start();
      await built.desk.start();
      return built;
    },
  });
  const { clock, random, weather } = world;
  const venue = world.venues[0] as FakeVenue;
  world.stepWall([0, 4_000, 600_000, -4_000, -600_000]);
  world.slowDown();
  const callers = Array.from({ length: options.callerCount }, (_, index) => makeCaller(index, random, venue));
  world.callers.push(...callers);

  const listenForEnds = (desk: SingleOrderService, life: Life): void => {
    const endCounts = new Map<string, number>();
    desk.onResolved(({ orderRef, venueClientOrderId }) => {
      if (life.dead) return;
      const count = (endCounts.get(orderRef) ?? 0) + 1;
      endCounts.set(orderRef, count);
      if (count > 1) endedAgain.push(`${orderRef}: its end was reported ${count} times by one process`);
      seenEnds += 1;
      const account = venue.log.find(({ command }) => `c-${command.clientIdHex}` === venueClientOrderId)?.account;
      const caller = callers.find((one) => one.account === account);
      if (caller !== undefined && weather.next() < 0.7)
        clock.setTimer(() => void askAgain(caller, desk, life), weather.next() * SLOW_DISK_MS);
    });
  };

  const ask = async (caller: Caller): Promise<void> => {
    if (caller.settled || caller.asks >= MAX_ASKS) return;
    if (world.service === null) return void clock.setTimer(() => void ask(caller), 60);
    const reply = await world.answerTo(caller, ({ desk }) => askDesk(clock, desk, caller));
    if (reply !== null) {
      caller.replies.push(reply);
      outputs.push(reply);
    }
    caller.settled = caller.key === null || reply?.isFinal === true;
    if (reply?.order?.outcome === "UNKNOWN" && caller.name !== null) {
      clock.setTimer(() => void askStatus(caller, caller.name ?? ""), random.next() * 20_000);
    }
    const pauseMs = world.retryPauseMs();
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
    const { life, service } = world;
    const credentials = { account: caller.account, secret: `canary-${caller.account}` };
    const answer = await service?.desk.orderStatus(
      orderName(name, { credentials, deadlineMs: 2_000 }),
      orderContext(clock),
    );
    if (life.dead || answer?.ok !== true || answer.order.outcome !== "CONFIRMED") return;
    caller.replies.push({ refusal: null, order: answer.order, isFinal: true, atMs: clock.trueMs() });
  };

  for (const caller of callers) world.duringStorm(() => void ask(caller));
  await world.pass();

  const seen = new Map<string, number>();
  for (const { replies } of callers) {
    for (const { refusal, order } of replies) {
      const what = refusal?.code ?? (order === null ? "NOTHING_LEFT" : `${order.outcome} ${order.status}`);
      seen.set(what, (seen.get(what) ?? 0) + 1);
    }
  }
  const found = callers.flatMap((caller) => judge(caller, venue));
  found.push(...(await judgeUsage(venue, world.disk, world.service?.guards ?? null)));
  if (options.blind?.includes("ENDS_ONCE") !== true) found.push(...endedAgain);
  seen.set("ENDED_LATER", seenEnds);
  return {
    violations: found,
    crashCount: world.crashCount,
    orderCount: venue.log.length,
    seen,
    secretLeaks: world.secretLeaks([JSON.stringify(outputs)]),
    openSessionCount: world.openSessions().length,
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
    found.push(`${executed.length} orders were executed for one key`);
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
    else if (Number(order.filledQuantity) * 1000 > shown.filledLots + 1e-6) found.push("reported more than was filled");
    else if (order.status === "FILLED" && shown.filledLots !== shown.command.qtyLots)
      found.push("reported as filled, and is not");
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
  const usedToday = BigInt(Math.round(Number(guards?.status().usedToday ?? "0") * 1e6));
  if (usedToday !== sum) found.push(`the guards count ${usedToday}, the rows ${sum}`);
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

async function settle<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  await clock.advanceAsync(100);
  return promise;
}
