/** A close service on a virtual clock with fake venues: what most tests of the close path start from. */
import { TradeService, type TradeServiceOptions } from "../request/service.js";
import type { OpenTerms, TradeContext, TradeData, TradeRequest, TradeResult } from "../types.js";
import type { DecisionEvent } from "../conclude/decision-event.js";
import { createSeededRandom } from "../../domain/random.js";
import type { LogFields, Logger } from "../../domain/logger.js";
import { VirtualClock } from "../../domain/virtual-clock.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { VenueRoom } from "../../ports.js";
import type { KeyedHash, RandomIds } from "../../storage/keyed-hash.js";
import { createKeyedHash } from "../../storage/server-secret.js";
import type { StateStore } from "../../storage/state-store.js";
import { createMemoryStore, type MemoryStore } from "../../storage/test/memory-store.js";
import { Life } from "./life.js";
import { FakeVenue, type FakeVenueOptions } from "./fake-venue.js";

/** Who calls, where a test names nobody else. */
export const ASKER = { ownerId: "pk_test", payer: null, seesAll: false } as const;

export const SECRET_ONE = "canary-secret-one-f00dfeedc0ffee";
export const SECRET_TWO = "canary-secret-two-deadbeefcafe";

export interface Harness {
  readonly clock: VirtualClock;
  readonly one: FakeVenue;
  readonly two: FakeVenue;
  readonly store: MemoryStore;
  readonly service: TradeService;
  readonly events: DecisionEvent[];
  readonly logLines: string[];
  /** Runs the clock until the promise settles, at most `maxMs`. */
  run<T>(promise: Promise<T>, maxMs?: number): Promise<T>;
  close(request?: Partial<TradeRequest>, context?: Partial<TradeContext>): Promise<TradeResult>;
  /** An entry. */
  open(
    terms?: Partial<OpenTerms>,
    request?: Partial<TradeRequest>,
    context?: Partial<TradeContext>,
  ): Promise<TradeResult>;
  openData(
    terms?: Partial<OpenTerms>,
    request?: Partial<TradeRequest>,
    context?: Partial<TradeContext>,
  ): Promise<TradeData>;
  /** As `close`, but the reply must be a success or a known outcome. */
  closeData(request?: Partial<TradeRequest>, context?: Partial<TradeContext>): Promise<TradeData>;
  /** The process dies: no call of its service returns any more. */
  kill(): void;
  /** The service of the next start on the same store and venues; the one before is dead. */
  restart(): Promise<TradeService>;
}

export interface HarnessOptions {
  readonly one?: Partial<FakeVenueOptions>;
  readonly two?: Partial<FakeVenueOptions>;
  readonly service?: Partial<TradeServiceOptions>;
  readonly store?: MemoryStore;
  /** Before the rooms are made. */
  readonly prepareVenue?: (venue: FakeVenue) => void;
}

export const testHash: KeyedHash = createKeyedHash(new Uint8Array(32).fill(5));

export function createHarness(options: HarnessOptions = {}): Harness {
  const clock = new VirtualClock();
  const one = new FakeVenue({ venue: "venueone", clock, ...options.one });
  const two = new FakeVenue({ venue: "venuetwo", clock, bidTicks: 999_500, ...options.two });
  for (const venue of [one, two]) {
    venue.setPosition(`acct-${venue.venue}`, "LONG", 400);
    options.prepareVenue?.(venue);
  }
  const store = options.store ?? createMemoryStore();
  const events: DecisionEvent[] = [];
  const logLines: string[] = [];
  const ids = seededIds(1);
  let life = new Life();
  const build = (): TradeService =>
    createService({
      clock,
      store: life.store(store),
      rooms: [one.room(life.gate), two.room(life.gate)],
      events,
      logLines,
      ids,
      overrides: options.service ?? {},
    });
  const service = build();
  const run = <T>(promise: Promise<T>, maxMs = 120_000): Promise<T> => runUntil(clock, promise, maxMs);
  const close = (request: Partial<TradeRequest> = {}, context: Partial<TradeContext> = {}): Promise<TradeResult> =>
    run(service.trade(closeRequest(request), closeContext(clock, context)));
  const open: Harness["open"] = (terms, request, context) =>
    run(service.trade(openRequest(terms, request), closeContext(clock, context)));
  return {
    open,
    openData: async (terms, request, context) => dataOf(await open(terms, request, context)),
    clock,
    one,
    two,
    store,
    service,
    events,
    logLines,
    run,
    close,
    async closeData(request, context) {
      return dataOf(await close(request, context));
    },
    kill: () => life.kill(),
    async restart() {
      life.kill();
      life = new Life();
      const next = build();
      await next.start();
      return next;
    },
  };
}

function dataOf(result: TradeResult): TradeData {
  if (!result.ok) throw new Error(`refused: ${result.code} ${JSON.stringify(result.details)}`);
  return result.data;
}

export interface ServiceParts {
  readonly clock: VirtualClock;
  readonly store: StateStore;
  readonly rooms: readonly VenueRoom[];
  readonly events: DecisionEvent[];
  readonly logLines: string[];
  readonly ids: RandomIds;
  readonly overrides: Partial<TradeServiceOptions>;
}

export function createService(parts: ServiceParts): TradeService {
  return new TradeService({
    rooms: new Map<RoutableVenue, VenueRoom>(parts.rooms.map((room) => [room.venue, room])),
    store: parts.store,
    clock: parts.clock,
    logger: recordingLogger(parts.logLines),
    hash: testHash,
    randomIds: parts.ids,
    onDecision: (event) => parts.events.push(event),
    ...parts.overrides,
  });
}

export function closeRequest(overrides: Partial<TradeRequest> = {}): TradeRequest {
  return {
    symbol: "BTC",
    direction: "LONG",
    size: "0.25",
    sizePercent: null,
    orderType: "MARKET",
    limitPrice: null,
    triggerPrice: null,
    preferredExchange: null,
    credentials: {
      venueone: { account: "acct-venueone", secret: SECRET_ONE },
      venuetwo: { account: "acct-venuetwo", secret: SECRET_TWO },
    },
    clientOrderId: null,
    dryRun: false,
    quoteId: null,
    maxSlippageBps: 100,
    maxQuoteAgeMs: 1e9,
    deadlineMs: 5_000,
    excludeExchanges: [],
    allowSplit: false,
    maxLegs: 3,
    waitFor: "FILL",
    open: null,
    ...overrides,
  };
}

/** An entry into a long of 0.25 at the market. */
export function openRequest(terms: Partial<OpenTerms> = {}, overrides: Partial<TradeRequest> = {}): TradeRequest {
  return closeRequest({
    open: {
      notionalUsd: null,
      leverage: null,
      marginMode: null,
      takeProfit: null,
      stopLoss: null,
      closeOnProtectionFailure: false,
      expectedHoldHours: null,
      allowNetting: false,
      ...terms,
    },
    ...overrides,
  });
}

export function closeContext(clock: VirtualClock, overrides: Partial<TradeContext> = {}): TradeContext {
  return {
    requestId: "req-1",
    idempotencyKey: null,
    ownerId: "pk_test",
    payer: null,
    rawBody: Buffer.from("{}"),
    receivedAtMs: clock.wallMs(),
    ...overrides,
  };
}

/** Steps the clock from timer to timer, so that `await`s inside run at their own times. */
export async function runUntil<T>(clock: VirtualClock, promise: Promise<T>, maxMs: number): Promise<T> {
  let settled = false;
  const done = promise.finally(() => {
    settled = true;
  });
  // The caller sees the rejection through `done`; this only keeps it observed meanwhile.
  done.catch(() => {});
  const untilNs = clock.monoNs() + maxMs * 1e6;
  await clock.advanceAsync(0);
  while (!settled && clock.monoNs() < untilNs) await clock.advanceAsync(5);
  if (!settled) throw new Error(`not settled within ${maxMs} ms of virtual time`);
  return done;
}

export function seededIds(seed: number): RandomIds {
  const random = createSeededRandom(seed);
  return { randomHex128: () => Array.from({ length: 32 }, () => Math.floor(random.next() * 16).toString(16)).join("") };
}

export function recordingLogger(lines: string[]): Logger {
  const write = (level: string) => (event: string, fields?: LogFields) => {
    lines.push(`${level} ${event} ${JSON.stringify(fields ?? {})}`);
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
