/** A close service on a virtual clock with fake venues: what most tests of the close path start from. */
import { CloseService, type CloseServiceOptions } from "../close-service.js";
import type { CloseContext, CloseData, CloseRequest, CloseResult } from "../close-types.js";
import type { CloseDecisionEvent } from "../decision-event.js";
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

export const SECRET_ONE = "canary-secret-one-f00dfeedc0ffee";
export const SECRET_TWO = "canary-secret-two-deadbeefcafe";

export interface Harness {
  readonly clock: VirtualClock;
  readonly one: FakeVenue;
  readonly two: FakeVenue;
  readonly store: MemoryStore;
  readonly service: CloseService;
  readonly events: CloseDecisionEvent[];
  readonly logLines: string[];
  /** Runs the clock until the promise settles, at most `maxMs`. */
  run<T>(promise: Promise<T>, maxMs?: number): Promise<T>;
  close(request?: Partial<CloseRequest>, context?: Partial<CloseContext>): Promise<CloseResult>;
  /** As `close`, but the reply must be a success or a known outcome. */
  closeData(request?: Partial<CloseRequest>, context?: Partial<CloseContext>): Promise<CloseData>;
  /** The process dies: no call of its service returns any more. */
  kill(): void;
  /** The service of the next start on the same store and venues; the one before is dead. */
  restart(): Promise<CloseService>;
}

export interface HarnessOptions {
  readonly one?: Partial<FakeVenueOptions>;
  readonly two?: Partial<FakeVenueOptions>;
  readonly service?: Partial<CloseServiceOptions>;
  readonly store?: MemoryStore;
}

const testHash: KeyedHash = createKeyedHash(new Uint8Array(32).fill(5));

export function createHarness(options: HarnessOptions = {}): Harness {
  const clock = new VirtualClock();
  const one = new FakeVenue({ venue: "venueone", clock, ...options.one });
  const two = new FakeVenue({ venue: "venuetwo", clock, bidTicks: 999_500, ...options.two });
  for (const venue of [one, two]) venue.setPosition(`acct-${venue.venue}`, "LONG", 400);
  const store = options.store ?? createMemoryStore();
  const events: CloseDecisionEvent[] = [];
  const logLines: string[] = [];
  const ids = seededIds(1);
  let life = new Life();
  const build = (): CloseService =>
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
  const close = (request: Partial<CloseRequest> = {}, context: Partial<CloseContext> = {}): Promise<CloseResult> =>
    run(service.close(closeRequest(request), closeContext(clock, context)));
  return {
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
      const result = await close(request, context);
      if (!result.ok) throw new Error(`refused: ${result.code} ${JSON.stringify(result.details)}`);
      return result.data;
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

export interface ServiceParts {
  readonly clock: VirtualClock;
  readonly store: StateStore;
  readonly rooms: readonly VenueRoom[];
  readonly events: CloseDecisionEvent[];
  readonly logLines: string[];
  readonly ids: RandomIds;
  readonly overrides: Partial<CloseServiceOptions>;
}

export function createService(parts: ServiceParts): CloseService {
  return new CloseService({
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

export function closeRequest(overrides: Partial<CloseRequest> = {}): CloseRequest {
  return {
    symbol: "BTC",
    direction: "LONG",
    size: "0.25",
    sizePercent: null,
    orderType: "MARKET",
    limitPrice: null,
    preferredExchange: null,
    credentials: {
      venueone: { account: "acct-venueone", secret: SECRET_ONE },
      venuetwo: { account: "acct-venuetwo", secret: SECRET_TWO },
    },
    clientOrderId: null,
    dryRun: false,
    maxSlippageBps: 100,
    maxQuoteAgeMs: 1e9,
    deadlineMs: 5_000,
    excludeExchanges: [],
    waitFor: "FILL",
    ...overrides,
  };
}

export function closeContext(clock: VirtualClock, overrides: Partial<CloseContext> = {}): CloseContext {
  return {
    requestId: "req-1",
    idempotencyKey: null,
    apiKeyId: "pk_test",
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
  const untilMs = clock.wallMs() + maxMs;
  await clock.advanceAsync(0);
  while (!settled && clock.wallMs() < untilMs) await clock.advanceAsync(5);
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
