/** More scenes of what comes after a reply, each certain: a store that refuses for minutes, and stops at two venues. */
import { storeUnavailable } from "../../storage/state-store.js";
import { ACCOUNT, change, MINUTE_MS, type Played, tell } from "./after-reply.js";
import { played, recorded } from "./after-reply-scenes.js";
import { ASKER, closeContext, closeRequest, openRequest, type Harness } from "./harness.js";
import { ROWS } from "./row-sink.js";

const RESTING_ENTRY = { orderType: "LIMIT", limitPrice: "99000", preferredExchange: "venueone" } as const;

function refuse({ store }: Harness): void {
  store.gate = () => Promise.reject(storeUnavailable("DISK_FULL"));
}

function accept({ store }: Harness): void {
  store.gate = async () => {};
}

function fillEntry(harness: Harness, filledLots: number): void {
  const status = filledLots === 250 ? "FILLED" : "PARTIALLY_FILLED";
  harness.one.setPosition(ACCOUNT, "LONG", filledLots);
  tell(harness, change(harness, 0, { status, filledLots, averagePrice: "99000" }));
}

/** From before the reply of a close until minutes after it. */
async function refusesReply(idempotencyKey: string | null): Promise<Played> {
  const harness = recorded();
  const { clock, one } = harness;
  one.fate = () => ({ kind: "fill", latencyMs: 100 });
  const closing = harness.closeData({ preferredExchange: "venueone" }, { idempotencyKey });
  for (let ms = 0; one.calls.place === 0 && ms < MINUTE_MS; ms += 5) await clock.advanceAsync(5);
  refuse(harness);
  const { routing } = await closing;
  await clock.advanceAsync(5 * MINUTE_MS);
  accept(harness);
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId });
}

/** A watched entry fills in part while the store refuses; `isFilledLater`: to its end when it is back. */
async function refusesWatch(isFilledLater: boolean): Promise<Played> {
  const harness = recorded();
  const { clock, one } = harness;
  one.setPosition(ACCOUNT, "LONG", 0);
  const { routing } = await harness.openData({ stopLoss: "95000" }, RESTING_ENTRY);
  await clock.advanceAsync(MINUTE_MS);
  refuse(harness);
  fillEntry(harness, 100);
  await clock.advanceAsync(5 * MINUTE_MS);
  accept(harness);
  const guardDueMs = one.nowMs() + MINUTE_MS;
  await clock.advanceAsync(5 * MINUTE_MS);
  if (!isFilledLater) return played({ harness, routeId: routing.routeId, guardDueMs });
  fillEntry(harness, 250);
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, routeId: routing.routeId, isGuarded: true });
}

/**
 * The stop of an entry rests at one venue, and the process dies with the word of what closes its part at the other. The
 * execution is asked for, and the stop closes its part.
 */
async function stopBesideUndo(): Promise<Played> {
  const harness = recorded();
  const { clock, one, run, two } = harness;
  for (const venue of [one, two]) {
    venue.setPosition(`acct-${venue.venue}`, "LONG", 0);
    venue.setBook(999_900, 1_000_100, 30);
  }
  two.setBook(999_800, 1_000_100, 30);
  two.fate = ({ reduceOnly, trigger }) => ({ kind: !reduceOnly ? "fill" : trigger ? "reject" : "loseReply" });
  const terms = { stopLoss: "90000", closeOnProtectionFailure: true };
  const request = openRequest(terms, { allowSplit: true, size: "0.4", deadlineMs: 2_000 });
  void harness.service.trade(request, closeContext(clock));
  for (let ms = 0; two.log.length < 3 && ms < MINUTE_MS; ms += 5) await clock.advanceAsync(5);
  const service = await harness.restart();
  const [routeId = ""] = service.status().unknown.map((listed) => listed.routeId);
  await run(service.askExecution(routeId, request.credentials, ASKER));
  const lots = one.log[1]?.command.qtyLots ?? 0;
  one.setPosition(ACCOUNT, "LONG", 0);
  tell(harness, change(harness, 1, { status: "FILLED", filledLots: lots }));
  await clock.advanceAsync(10 * MINUTE_MS);
  return played({ harness, service, routeId });
}

/**
 * A volume that is almost full refuses the rows of an entry's fill, and takes the smaller batch behind them: the intent of
 * the order that closes it again, for its stop was refused. Then the process dies.
 */
async function refusesRowsOfFill(): Promise<Played> {
  const harness = recorded();
  const { clock, one, run, store } = harness;
  one.setPosition(ACCOUNT, "LONG", 0);
  one.fate = ({ trigger }) =>
    trigger === undefined
      ? { kind: "fill" }
      : { kind: "reject", reason: "VENUE_STATE", isLasting: true, latencyMs: 50 };
  const terms = { stopLoss: "95000", closeOnProtectionFailure: true };
  const { routing } = await harness.openData(terms, RESTING_ENTRY);
  await clock.advanceAsync(MINUTE_MS);
  const refusals: (() => void)[] = [];
  store.gate = async ({ writes }) => {
    if (writes.some(({ namespace }) => namespace === ROWS))
      await new Promise<void>((_, reject) => refusals.push(() => reject(storeUnavailable("DISK_FULL"))));
  };
  fillEntry(harness, 250);
  for (let ms = 0; one.log.length < 2 && ms < MINUTE_MS; ms += 5) await clock.advanceAsync(5);
  await clock.advanceAsync(100);
  for (const refuse of refusals.splice(0)) refuse();
  for (let ms = 0; one.log.length < 3 && ms < MINUTE_MS; ms += 5) await clock.advanceAsync(5);
  accept(harness);
  const service = await harness.restart();
  await run(service.askExecution(routing.routeId, closeRequest().credentials, ASKER));
  await clock.advanceAsync(5 * MINUTE_MS);
  return played({ harness, service, routeId: routing.routeId });
}

export const STORE_SCENES = {
  refusesReply: () => refusesReply(null),
  refusesReplyOfKey: () => refusesReply("k"),
  refusesWatch: () => refusesWatch(true),
  refusesWatchOfPart: () => refusesWatch(false),
  refusesRowsOfFill,
  stopBesideUndo,
} as const satisfies Readonly<Record<string, () => Promise<Played>>>;

export type StoreScene = keyof typeof STORE_SCENES;
