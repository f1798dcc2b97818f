/** More scenes of what comes after a reply: what of an order, or of a run, outlives what it was for. Each is certain. */
import { vi } from "vitest";
import { createSeededRandom } from "../../domain/random.js";
import type { VenueOrder } from "../../domain/order.js";
import { storeUnavailable } from "../../storage/state-store.js";
import { ACCOUNT, change, MINUTE_MS, type Played, tell } from "./after-reply.js";
import { played, recorded } from "./after-reply-scenes.js";
import { ASKER, closeContext, closeRequest, openRequest, type Harness } from "./harness.js";
import { RETENTION_MS } from "../durable/idempotency.js";
import { OrderFollows } from "../follow/order-follows.js";
import type { TradeRun } from "../run.js";

const MARKET = { preferredExchange: "venueone", deadlineMs: 2_000 } as const;

/** Below the market: nothing of it is marketable. */
const RESTING_ENTRY = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;
const KEY = { idempotencyKey: "k" };

/** The market comes to an entry, whose account's stream tells it. */
function fillEntry(harness: Harness, filledLots: number, heldLots = filledLots): void {
  const status = filledLots === 250 ? "FILLED" : "PARTIALLY_FILLED";
  harness.one.setPosition(ACCOUNT, "LONG", heldLots);
  tell(harness, change(harness, 0, { status, filledLots, averagePrice: "99000" }));
}

async function untilStopLeaves({ clock, one }: Harness): Promise<void> {
  for (let ms = 0; one.log.length < 2 && ms < MINUTE_MS; ms += 20) await clock.advanceAsync(20);
}

/** Both guards are open; the one sent n-th, counted from the entry, closes all that they guard. */
async function guardCloses(index: 1 | 2): Promise<Played> {
  const harness = recorded();
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  const { routing } = await harness.openData({ takeProfit: "105000", stopLoss: "95000" }, MARKET);
  await harness.clock.advanceAsync(MINUTE_MS);
  harness.one.setPosition(ACCOUNT, "LONG", 0);
  tell(harness, change(harness, index, { status: "FILLED", filledLots: 250 }));
  await harness.clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId });
}

/**
 * Both guards are open. One fills in part, the other closes what that leaves; its venue cancels its rest with the position,
 * or leaves it open. What takes it back is lost on its way once. Which, how much and how the venue does it the seed says.
 */
export async function guardsCloseInParts(seed: number): Promise<Played> {
  const random = createSeededRandom(seed);
  const harness = recorded();
  const { clock, one } = harness;
  let lostCount = 0;
  one.cancelFate = () => (lostCount++ === 0 ? "lose" : "accept");
  one.setPosition(ACCOUNT, "LONG", 0);
  const { routing } = await harness.openData({ takeProfit: "105000", stopLoss: "95000" }, MARKET);
  await clock.advanceAsync(MINUTE_MS);
  const first = random.next() < 0.5 ? 1 : 2;
  const firstLots = 1 + Math.floor(random.next() * 248);
  const isLeftStanding = seed % 2 === 1;
  one.setPosition(ACCOUNT, "LONG", 250 - firstLots);
  tell(harness, change(harness, first, { status: "PARTIALLY_FILLED", filledLots: firstLots }));
  await clock.advanceAsync(Math.floor(random.next() * MINUTE_MS));
  one.setPosition(ACCOUNT, "LONG", 0);
  const end = isLeftStanding ? { status: "PARTIALLY_FILLED" } : { status: "CANCELED", endReason: "REDUCE_ONLY" };
  tell(harness, change(harness, 3 - first, { ...end, filledLots: 250 - firstLots } as Partial<VenueOrder>));
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId });
}

/** A take-profit closes the first part of an entry, whose rest fills afterwards and gets guards of its own. */
async function guardClosesPart(): Promise<Played> {
  const harness = recorded();
  const { clock, one } = harness;
  one.setPosition(ACCOUNT, "LONG", 0);
  const { routing } = await harness.openData({ takeProfit: "105000", stopLoss: "95000" }, RESTING_ENTRY);
  fillEntry(harness, 100);
  await clock.advanceAsync(MINUTE_MS);
  one.setPosition(ACCOUNT, "LONG", 0);
  tell(harness, change(harness, 1, { status: "FILLED", filledLots: 100 }));
  await clock.advanceAsync(MINUTE_MS);
  fillEntry(harness, 250, 150);
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, isGuarded: true });
}

/**
 * A take-profit closes the first part of an entry, what takes its stop back is lost on its way, and the rest fills. Then
 * the venue ends the oldest stop that is open.
 */
async function takenBackLost(): Promise<Played> {
  const harness = recorded();
  const { clock, one } = harness;
  one.setPosition(ACCOUNT, "LONG", 0);
  const { routing } = await harness.openData({ takeProfit: "105000", stopLoss: "95000" }, RESTING_ENTRY);
  fillEntry(harness, 100);
  await clock.advanceAsync(MINUTE_MS);
  fillEntry(harness, 150);
  await clock.advanceAsync(MINUTE_MS);
  one.cancelFate = () => "lose";
  one.setPosition(ACCOUNT, "LONG", 50);
  tell(harness, change(harness, 1, { status: "FILLED", filledLots: 100 }));
  await clock.advanceAsync(2_000);
  one.cancelFate = () => "accept";
  fillEntry(harness, 250, 150);
  await clock.advanceAsync(MINUTE_MS);
  const oldest = one.log.findIndex(
    ({ command, order }) => command.trigger?.kind === "STOP" && order?.status === "OPEN",
  );
  tell(harness, change(harness, oldest, { status: "CANCELED", endReason: "VENUE_STATE" }));
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, isGuarded: true });
}

/**
 * Acknowledged by a receipt, the first stop never arrives, and nothing is to be read before its outcome was given up.
 * `isRestarted`: by a process that died meanwhile; the next one looks as soon as credentials come by.
 */
async function stopNeverArrives(isRestarted: boolean): Promise<Played> {
  const harness = recorded();
  const { clock, one } = harness;
  one.setPosition(ACCOUNT, "LONG", 0);
  let count = 0;
  one.fate = ({ trigger }) => {
    if (trigger === undefined) return { kind: "fill" };
    return { kind: count++ === 0 ? "drop" : "fill", isReceipt: true };
  };
  one.orderReadFailure = () => (count > 0 ? "TIMEOUT" : null);
  const { routing } = await harness.openData({ stopLoss: "95000" }, { ...MARKET, deadlineMs: 1_000 });
  await clock.advanceAsync(20 * MINUTE_MS);
  const service = isRestarted ? await harness.restart() : harness.service;
  one.orderReadFailure = () => null;
  await clock.advanceAsync(MINUTE_MS / 6);
  if (isRestarted) await harness.run(service.askExecution(routing.routeId, closeRequest().credentials, ASKER));
  await clock.advanceAsync(10 * MINUTE_MS);
  // Nobody has credentials to send another one with after a restart.
  return played({ harness, service, routeId: routing.routeId, isGuarded: !isRestarted });
}

/** The end of a close is found while the store refuses, for minutes; then it is back. */
async function storeRefuses(): Promise<Played> {
  const harness = recorded();
  const { clock, one, store } = harness;
  one.fate = () => ({ kind: "loseReply" });
  one.orderReadFailure = () => "TIMEOUT";
  const { routing } = await harness.closeData({ ...MARKET, deadlineMs: 1_000 }, { idempotencyKey: "k" });
  await clock.advanceAsync(5_000);
  store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
  one.orderReadFailure = () => null;
  await clock.advanceAsync(5 * MINUTE_MS);
  store.gate = async () => {};
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId });
}

/**
 * A key is used again while the stop of its entry's first part is on its way, and what is stored of the run says that
 * nothing is known of it.
 */
async function usedAgainAtStop(): Promise<Played> {
  const harness = recorded();
  const { clock, one } = harness;
  one.setPosition(ACCOUNT, "LONG", 0);
  one.fate = ({ reduceOnly }) => ({ kind: "fill", ...(reduceOnly ? { latencyMs: 2_000 } : {}) });
  const { routing } = await harness.openData({ stopLoss: "95000" }, RESTING_ENTRY, KEY);
  fillEntry(harness, 100);
  await untilStopLeaves(harness);
  fillEntry(harness, 150);
  await clock.advanceAsync(1_000);
  await harness.openData({ stopLoss: "95000" }, RESTING_ENTRY, KEY);
  await clock.advanceAsync(MINUTE_MS);
  fillEntry(harness, 250);
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, isGuarded: true });
}

/**
 * The first stop of an entry is refused, and its reply is final. The process dies with the word of the second one. Then
 * the key is used again, or first the execution asked for.
 */
async function usedAgainAfterCrash(isAskedFirst: boolean): Promise<Played> {
  const harness = recorded();
  const { clock, one, run } = harness;
  one.setPosition(ACCOUNT, "LONG", 0);
  let count = 0;
  one.fate = ({ trigger }) => {
    if (trigger === undefined) return { kind: "fill" };
    return count++ === 0 ? { kind: "reject", reason: "RATE_LIMITED" } : { kind: "loseReply" };
  };
  const { routing } = await harness.openData({ stopLoss: "95000" }, MARKET, KEY);
  for (let ms = 0; count < 2 && ms < MINUTE_MS; ms += 20) await clock.advanceAsync(20);
  const service = await harness.restart();
  await clock.advanceAsync(MINUTE_MS);
  const request = openRequest({ stopLoss: "95000" }, MARKET);
  if (isAskedFirst) await run(service.askExecution(routing.routeId, request.credentials, ASKER));
  const again = await run(service.trade(request, closeContext(clock, KEY)));
  if (!again.ok) throw new Error(`refused: ${again.code}`);
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, service, routeId: routing.routeId, isGuarded: true, replayed: again.data });
}

/** After a restart, with its account's credentials at hand, a copy takes the place of a run that is followed. */
async function copyTakesPlace(): Promise<Played> {
  const harness = recorded();
  const { clock } = harness;
  const rests = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
  const { routing } = await harness.closeData(rests);
  await clock.advanceAsync(1_000);
  const loading = vi.spyOn(OrderFollows.prototype, "load");
  const service = await harness.restart();
  const [follows] = loading.mock.contexts as OrderFollows<TradeRun>[];
  loading.mockRestore();
  const request = closeRequest({ size: "0.01", preferredExchange: "venueone", dryRun: true });
  await harness.run(service.trade(request, closeContext(clock)));
  const run = follows?.runOf(routing.routeId);
  if (follows === undefined || run == null) throw new Error("nothing is followed");
  const copy = structuredClone(run);
  follows.rows(copy);
  if (follows.runOf(routing.routeId) !== copy) throw new Error("the copy took no place");
  tell(harness, change(harness, 0, { status: "FILLED", filledLots: 250 }));
  await clock.advanceAsync(10 * MINUTE_MS);
  return played({ harness, service, routeId: routing.routeId });
}

/** An entry fills to its end while the stop of its first part is on its way. */
async function fillsDuringStop(): Promise<Played> {
  const harness = recorded();
  const { clock, one } = harness;
  one.setPosition(ACCOUNT, "LONG", 0);
  one.fate = ({ reduceOnly }) => ({ kind: "fill", ...(reduceOnly ? { latencyMs: 2_000 } : {}) });
  const { routing } = await harness.openData({ stopLoss: "95000" }, RESTING_ENTRY);
  fillEntry(harness, 100);
  await untilStopLeaves(harness);
  fillEntry(harness, 250);
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, isGuarded: true });
}

/** A close rests longer than the record of its key lives; the key is used for another one, and then the first fills. */
async function keyUsedForAnother(): Promise<Played> {
  const harness = recorded();
  const { clock } = harness;
  const rests = { orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" } as const;
  const { routing } = await harness.closeData(rests, KEY);
  await clock.advanceAsync(1_000);
  clock.advance(RETENTION_MS + MINUTE_MS);
  await harness.closeData({ ...rests, preferredExchange: "venuetwo" }, KEY);
  await clock.advanceAsync(MINUTE_MS);
  // Its credentials are as old as its key was.
  await harness.close({ size: "0.01", preferredExchange: "venueone", dryRun: true });
  tell(harness, change(harness, 0, { status: "FILLED", filledLots: 250 }));
  await clock.advanceAsync(10 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId });
}

/** No more is followed than the order that came first. It ends after the other one filled; `isRestarted`: in a later process. */
async function waitsForItsTurn(isRestarted: boolean): Promise<Played> {
  const harness = recorded({ maxFollowed: 1 });
  const { clock, two } = harness;
  const rests = { orderType: "LIMIT", limitPrice: "101000" } as const;
  await harness.closeData({ ...rests, preferredExchange: "venuetwo" });
  const { routing } = await harness.closeData({ ...rests, preferredExchange: "venueone" });
  await clock.advanceAsync(MINUTE_MS);
  const service = isRestarted ? await harness.restart() : harness.service;
  const asked = closeRequest({ size: "0.01", dryRun: true });
  await harness.run(service.trade(asked, closeContext(clock)));
  change(harness, 0, { status: "FILLED", filledLots: 250 });
  change({ one: two }, 0, { status: "CANCELED" });
  await clock.advanceAsync(5 * MINUTE_MS);
  await harness.run(service.trade(asked, closeContext(clock)));
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, service, routeId: routing.routeId });
}

/** Its venue's answer comes after the process gave up waiting for it; it fills in the time of the next one. */
async function restsAfterDrain(): Promise<Played> {
  const harness = recorded();
  const { clock, one, run } = harness;
  one.fate = () => ({ kind: "fill", latencyMs: 3_000 });
  const closing = harness.closeData({ orderType: "LIMIT", limitPrice: "101000", preferredExchange: "venueone" });
  for (let ms = 0; one.calls.place === 0 && ms < MINUTE_MS; ms += 5) await clock.advanceAsync(5);
  await run(harness.service.drain(1_000));
  const { routing } = await closing;
  await clock.advanceAsync(1_000);
  const service = await harness.restart();
  change(harness, 0, { status: "FILLED", filledLots: 250 });
  await run(service.trade(closeRequest({ size: "0.01", dryRun: true }), closeContext(clock)));
  await clock.advanceAsync(MINUTE_MS);
  return played({ harness, service, routeId: routing.routeId });
}

export const OUTLIVED_SCENES = {
  takeProfitCloses: () => guardCloses(1),
  guardClosesPart,
  takenBackLost,
  stopCloses: () => guardCloses(2),
  stopNeverArrives: () => stopNeverArrives(false),
  stopNeverArrivesCrash: () => stopNeverArrives(true),
  storeRefuses,
  copyTakesPlace,
  fillsDuringStop,
  keyUsedForAnother,
  restsAfterDrain,
  waitsForItsTurn: () => waitsForItsTurn(false),
  waitsOverRestart: () => waitsForItsTurn(true),
  usedAgainAtStop,
  usedAgainAfterCrash: () => usedAgainAfterCrash(false),
  usedAgainAfterAsk: () => usedAgainAfterCrash(true),
} as const satisfies Readonly<Record<string, () => Promise<Played>>>;

export type OutlivedScene = keyof typeof OUTLIVED_SCENES;
