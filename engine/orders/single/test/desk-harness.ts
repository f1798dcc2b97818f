/** A desk on a virtual clock with two fake venues: what the tests of single orders start from. */
import { VirtualClock } from "../../../domain/virtual-clock.js";
import type { RoutableVenue } from "../../../domain/venue.js";
import { GuardBook, NO_LIMITS, type GuardLimits, type GuardPolicy } from "../../../guards/guard-book.js";
import type { VenueRoom } from "../../../ports.js";
import type { KeyedHash, RandomIds } from "../../../storage/keyed-hash.js";
import type { Restored } from "../../../storage/instance/instance-mark.js";
import { createKeyedHash } from "../../../storage/server-secret.js";
import type { StateStore } from "../../../storage/state-store.js";
import { createMemoryStore, type MemoryStore } from "../../../storage/test/memory-store.js";
import { FakeVenue, type FakeVenueOptions } from "../../test/fake-venue.js";
import { recordingLogger, runUntil, seededIds } from "../../test/harness.js";
import { Life } from "../../test/life.js";
import type {
  CloseAllRequest,
  ClosePositionRequest,
  OrderAnswer,
  OrderRequestContext,
  OrderFacts,
  OrderName,
  PlaceRequest,
} from "../order-desk.js";
import { SingleOrderService } from "../single-order-service.js";
import type { SingleOrderServiceOptions } from "../single-parts.js";
import { createDeskCalls, deskRoom, keepBookFresh, type DeskCalls, type DeskVenueKnobs } from "./desk-venue.js";

export const SECRET = "canary-secret-f00dfeedc0ffee";
export const CREDENTIALS = { account: "acct", secret: SECRET };

export interface DeskHarness {
  readonly clock: VirtualClock;
  readonly venue: FakeVenue;
  readonly two: FakeVenue;
  readonly calls: DeskCalls;
  readonly store: MemoryStore;
  readonly logLines: string[];
  /** Of the process that lives now. */
  desk: SingleOrderService;
  guards: GuardBook;
  run<T>(promise: Promise<T>, maxMs?: number): Promise<T>;
  place(request?: Partial<PlaceRequest>, context?: Partial<OrderRequestContext>): Promise<OrderAnswer>;
  /** As `place`, but it must be an order. */
  order(request?: Partial<PlaceRequest>, context?: Partial<OrderRequestContext>): Promise<OrderFacts>;
  /** The process dies: no call of its desk returns any more. */
  kill(): void;
  /** The next start on the same store and venues. */
  restart(): Promise<void>;
}

export interface DeskHarnessOptions {
  readonly venue?: Partial<FakeVenueOptions>;
  readonly two?: Partial<FakeVenueOptions>;
  readonly knobs?: DeskVenueKnobs;
  readonly limits?: Partial<GuardLimits>;
  /** Whether the store was put back, asked for each time. */
  readonly restored?: () => Restored | null;
  readonly policy?: GuardPolicy;
  readonly desk?: Partial<SingleOrderServiceOptions>;
  readonly mutateRoom?: (room: VenueRoom) => VenueRoom;
  /** Before the rooms are made. */
  readonly prepareVenue?: (venue: FakeVenue) => void;
}

export const testHash: KeyedHash = createKeyedHash(new Uint8Array(32).fill(5));

export async function createDesk(options: DeskHarnessOptions = {}): Promise<DeskHarness> {
  const clock = new VirtualClock();
  const venue = new FakeVenue({ venue: "venueone", clock, ...options.venue });
  const two = new FakeVenue({ venue: "venuetwo", clock, ...options.two });
  for (const one of [venue, two]) {
    keepBookFresh(one);
    options.prepareVenue?.(one);
  }
  const store = createMemoryStore();
  const calls = createDeskCalls();
  const logLines: string[] = [];
  const ids = seededIds(1);
  const policy = options.policy ?? { global: { ...NO_LIMITS, ...options.limits }, byOwner: new Map(), each: NO_LIMITS };
  let life = new Life();
  const build = (): { desk: SingleOrderService; guards: GuardBook } => {
    const { gate } = life;
    const rooms = [venue, two].map((one) => {
      const room = deskRoom(one, calls, gate, options.knobs);
      return options.mutateRoom?.(room) ?? room;
    });
    return createDeskService({
      clock,
      store: life.store(store),
      rooms,
      logLines,
      ids,
      policy,
      restored: options.restored,
      overrides: options.desk ?? {},
    });
  };
  const run = <T>(promise: Promise<T>, maxMs = 120_000): Promise<T> => runUntil(clock, promise, maxMs);
  const start = async (): Promise<{ desk: SingleOrderService; guards: GuardBook }> => {
    const built = build();
    await run(Promise.all([built.guards.start(), built.desk.start()]));
    return built;
  };
  const first = await start();
  const harness: DeskHarness = {
    clock,
    venue,
    two,
    calls,
    store,
    logLines,
    ...first,
    run,
    place: (request = {}, context = {}) => run(harness.desk.place(placeRequest(request), orderContext(clock, context))),
    async order(request, context) {
      const answer = await harness.place(request, context);
      if (!answer.ok) throw new Error(`refused: ${answer.code} ${JSON.stringify(answer.details)}`);
      return answer.order;
    },
    kill: () => life.kill(),
    async restart() {
      life.kill();
      life = new Life();
      Object.assign(harness, await start());
    },
  };
  return harness;
}

export interface DeskParts {
  readonly clock: VirtualClock;
  readonly store: StateStore;
  readonly rooms: readonly VenueRoom[];
  readonly logLines: string[];
  readonly ids: RandomIds;
  readonly policy: GuardPolicy;
  readonly restored?: (() => Restored | null) | undefined;
  readonly overrides: Partial<SingleOrderServiceOptions>;
}

export function createDeskService(parts: DeskParts): { desk: SingleOrderService; guards: GuardBook } {
  const { clock, store, ids: randomIds, policy } = parts;
  const logger = recordingLogger(parts.logLines);
  const guards = new GuardBook({
    store,
    clock,
    logger,
    policy,
    ...(parts.restored === undefined ? {} : { restored: parts.restored }),
  });
  const rooms = new Map<RoutableVenue, VenueRoom>(parts.rooms.map((room) => [room.venue, room]));
  const desk = new SingleOrderService({
    rooms,
    store,
    clock,
    logger,
    hash: testHash,
    randomIds,
    guards,
    ...parts.overrides,
  });
  return { desk, guards };
}

export function placeRequest(overrides: Partial<PlaceRequest> = {}): PlaceRequest {
  return {
    venue: "venueone",
    credentials: CREDENTIALS,
    symbol: "BTC",
    side: "BUY",
    type: "MARKET",
    quantity: "0.25",
    price: null,
    stopPrice: null,
    triggerSource: null,
    timeInForce: null,
    reduceOnly: false,
    positionSide: "BOTH",
    clientOrderId: null,
    maxSlippageBps: 100,
    deadlineMs: 5_000,
    ...overrides,
  };
}

export function orderName(orderId: string, overrides: Partial<OrderName> = {}): OrderName {
  return { venue: "venueone", credentials: CREDENTIALS, orderId, symbol: null, deadlineMs: 5_000, ...overrides };
}

export function closeRequest(overrides: Partial<ClosePositionRequest> = {}): ClosePositionRequest {
  return {
    venue: "venueone",
    credentials: CREDENTIALS,
    symbol: "BTC",
    direction: null,
    quantity: null,
    type: "MARKET",
    price: null,
    clientOrderId: null,
    maxSlippageBps: 100,
    deadlineMs: 5_000,
    ...overrides,
  };
}

export function closeAllRequest(overrides: Partial<CloseAllRequest> = {}): CloseAllRequest {
  return {
    accounts: [
      { venue: "venueone", credentials: CREDENTIALS },
      { venue: "venuetwo", credentials: CREDENTIALS },
    ],
    symbols: null,
    dryRun: false,
    cancelFirst: true,
    maxSlippageBps: 100,
    deadlineMs: 5_000,
    ...overrides,
  };
}

export function orderContext(clock: VirtualClock, overrides: Partial<OrderRequestContext> = {}): OrderRequestContext {
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
