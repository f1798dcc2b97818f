/**
 * Orders on one venue: the desk that the single-venue routes speak to.
 *
 *   session → idempotency → check and price → guards → name, intent and usage durable → send → outcome → answer
 *
 * Invariants: an order leaves only after its intent is durable; an unknown outcome is never re-sent or reported as
 * failed; one idempotency key, one order, across crashes; every session is closed at the end of its call, of the
 * resolution of its order, or of its switch.
 *
 * Bounds: MAX_IN_FLIGHT calls (beyond: OVERLOADED); what each part bounds is said there.
 */
import { type PlaceParts, SinglePlacements, type Planned } from "./single-place.js";
import { type SingleConclusionParts, SingleConclusion } from "./single-conclude.js";
import { type CloseParts, PositionCloses, type CloseBatch } from "./position-close.js";
import { type AmendParts, amendOrder, cancelEverything, cancelOrder } from "./order-change.js";
import { type StatusParts, orderStatus, ownTerms, wasPlacedAsMarket } from "./order-lookup.js";
import type { Clock } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { Logger } from "../../domain/logger.js";
import type { VenueOrder } from "../../domain/order.js";
import { DeadManSwitches, MAX_TIMEOUT_MS, MIN_TIMEOUT_MS, type PreparedSwitch } from "./dead-man.js";
import { NO_GUARDS, type Guards } from "../../guards/guards.js";
import type { AccountSession, CallOptions } from "../../ports.js";
import type { KeyedHash, RandomIds } from "../../storage/keyed-hash.js";
import type { StateStore } from "../../storage/state-store.js";
import { SendBounds } from "../send/absence-proof.js";
import { Background, problemOf, type Sweepable } from "../background.js";
import { createClientIdSource } from "../send/client-id.js";
import { Deadline, within } from "../../domain/deadline.js";
import { IdempotencyRecords } from "../durable/idempotency.js";
import { IntentLog, type OrderIntent } from "../durable/intent-log.js";
import type { OrderListeners } from "../follow/order-listeners.js";
import { OrderCore } from "../send/order-core.js";
import { OrderFollows } from "../follow/order-follows.js";
import { NO_RECORDS, type RecordSink } from "../conclude/record-sink.js";
import { Resolver } from "../send/resolver.js";
import type { Rooms } from "../accounts.js";
import { accountBehind } from "../decide/account-behind.js";
import { readLive } from "./close-leg.js";
import { setLeverage, setMarginMode } from "./account-settings.js";
import {
  callOptions,
  isInstrument,
  listedInstrument,
  readRefusal,
  roomOf,
  withAccount,
  type OpenedAccount,
  otherAccount,
} from "./open-account.js";
import { checkOrder, invalid, refusal, type CheckedOrder } from "./order-check.js";
import type {
  AmendAnswer,
  AmendRequest,
  ArmRequest,
  CancelAllAnswer,
  CancelAllRequest,
  CancelAnswer,
  CloseAllAnswer,
  CloseAllRequest,
  ClosePositionAnswer,
  ClosePositionRequest,
  OpenOrdersAnswer,
  OpenOrdersRequest,
  OrderAccount,
  OrderAnswer,
  OrderRequestContext,
  OrderDesk,
  OrderDeskStatus,
  OrderName,
  OrderRefusal,
  OrderResolvedListener,
  OwnTerms,
  PlaceRequest,
  SettingAnswer,
  SettingRequest,
  SwitchAnswer,
  SwitchesAnswer,
} from "./order-desk.js";
import { factsOfVenueOrder, instrumentOf } from "./order-facts.js";
import { ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import { closingLimit } from "./hedge-close.js";
import { RecentOrders } from "./recent-orders.js";
import type { OrderContext } from "./single-context.js";
import type { SingleRun, StoredAnswer } from "./single-run.js";
import { UnsettledOrders } from "./unsettled-orders.js";

export const MAX_IN_FLIGHT = 2_000;
const SINGLE_INTENTS = { open: "order-intent-open", settled: "order-intent-settled" } as const;

export interface SingleOrderServiceOptions {
  readonly rooms: Rooms;
  readonly store: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hash: KeyedHash;
  readonly randomIds: RandomIds;
  /** Started by who made them; nothing is limited where absent. */
  readonly guards?: Guards & Partial<Sweepable>;
  /** Where rows of orders go; none are kept where absent. */
  readonly records?: RecordSink;
  readonly maxInFlight?: number;
  readonly maxUnresolved?: number;
  readonly maxSwitches?: number;
  /** Shared with the routed orders; own ones where absent. */
  readonly listeners?: OrderListeners;
  /** Shared with the router; own ones where absent. */
  readonly names?: ClientOrderIdIndex;
  /** For a store that several services share: is the service of that boot still at work? */
  readonly isBootAlive?: (bootId: string) => boolean;
}

/** The look-up of the account that a switch is for. */
const WHOSE_SWITCH: CallOptions = { timeoutMs: 5_000, lane: "exit" };

/** Whatever the steps take, built once. Each step names what it takes itself. */
type SingleParts = PlaceParts & SingleConclusionParts & CloseParts & AmendParts & StatusParts;

export class SingleOrderService implements OrderDesk {
  readonly #parts: SingleParts;
  readonly #conclusion: SingleConclusion;
  readonly #placements: SinglePlacements;
  readonly #closes: PositionCloses;
  readonly #switches: DeadManSwitches;
  readonly #sweepables: readonly Sweepable[];
  readonly #maxInFlight: number;
  readonly #flights = new Set<Promise<unknown>>();
  #draining = false;

  constructor(options: SingleOrderServiceOptions) {
    const { clock, store, hash, logger, rooms, randomIds } = options;
    const idempotency = {
      store,
      hash,
      clock,
      bootId: randomIds.randomHex128(),
      isBootAlive: options.isBootAlive ?? (() => false),
    };
    const guards = options.guards ?? NO_GUARDS;
    const own = new Background(clock, logger);
    const bounds = new SendBounds();
    const sending = {
      clock,
      logger,
      store,
      hash,
      background: own,
      bounds,
      clientIds: createClientIdSource(hash, randomIds),
      intents: new IntentLog<SingleRun>(store, clock, logger, SINGLE_INTENTS),
      idempotency: new IdempotencyRecords<SingleRun, StoredAnswer>({ ...idempotency, namespace: "order-idempotency" }),
      guards,
      reservations: new WeakMap(),
      resolver: new Resolver(clock, logger, options.maxUnresolved),
    };
    this.#parts = {
      ...sending,
      core: new OrderCore<SingleRun, StoredAnswer>(sending),
      rooms,
      randomIds,
      names: options.names ?? new ClientOrderIdIndex(store, hash, clock),
      unsettled: new UnsettledOrders(),
      recent: new RecentOrders(clock),
      follows: new OrderFollows<SingleRun>(
        { bounds, clock, logger, rooms, store, hash, background: own, listeners: options.listeners },
        {
          namespace: "followed-order",
          publish: (run, recordKey) => this.#conclusion.publishProgress(run, recordKey),
        },
      ),
      records: options.records ?? NO_RECORDS,
    };
    const { background, intents, names } = this.#parts;
    const batches = new IdempotencyRecords<CloseBatch, CloseAllAnswer>({ ...idempotency, namespace: "close-batch" });
    this.#conclusion = new SingleConclusion(this.#parts);
    this.#placements = new SinglePlacements(this.#parts, this.#conclusion);
    this.#closes = new PositionCloses(this.#parts, this.#placements, batches);
    const { maxSwitches } = options;
    const switches = { clock, logger, randomIds, background };
    this.#switches = new DeadManSwitches(maxSwitches === undefined ? switches : { ...switches, maxSwitches });
    const { sweep } = options.guards ?? {};
    const swept = sweep === undefined ? [] : [{ sweep: () => sweep.call(options.guards) }];
    this.#sweepables = [this.#parts.idempotency, batches, intents, names, ...swept];
    this.#maxInFlight = options.maxInFlight ?? MAX_IN_FLIGHT;
  }

  /** Before the first call: lists orders that an earlier start may have left, and begins the sweeps. */
  async start(): Promise<void> {
    const { background, follows, intents, names, unsettled } = this.#parts;
    await names.load();
    await follows.load();
    for (const intent of await intents.listOpen()) {
      const run = await this.#runOf(intent);
      if (run !== null) unsettled.add({ run, recordKey: intent.idempotencyRecord, fromEarlierStart: true });
    }
    background.startSweeps(this.#sweepables);
  }

  place(request: PlaceRequest, context: OrderRequestContext): Promise<OrderAnswer> {
    return this.#run(request.deadlineMs, async (deadline) => {
      const room = roomOf(this.#parts.rooms, request);
      if (!("orders" in room)) return room;
      const instrument = listedInstrument(room, request.symbol);
      if (!isInstrument(instrument)) return instrument;
      const checked = checkOrder(instrument, request);
      if (!checked.ok) return checked;
      const { clientOrderId } = request;
      const { idempotencyKey } = context;
      // By what is known now: whatever an earlier order of the key came to has been answered before.
      const plan = async (orderContext: OrderContext): Promise<Planned> =>
        otherAccount(room, request) ?? this.#plan(orderContext, checked.order);
      const job = {
        account: request,
        room,
        instrument,
        clientOrderId,
        inPlaceOf: null,
        deadline,
        idempotencyKey,
        plan,
      };
      return this.#placements.perform(job, context);
    });
  }

  cancel(request: OrderName, _context: OrderRequestContext): Promise<CancelAnswer> {
    return this.#withAccount(request, (opened, deadline) => cancelOrder(this.#parts, opened, request, deadline));
  }

  amend(request: AmendRequest, context: OrderRequestContext): Promise<AmendAnswer> {
    return this.#withAccount(request, (opened, deadline) =>
      amendOrder(this.#parts, opened, request, context, deadline),
    );
  }

  cancelAll(request: CancelAllRequest, _context: OrderRequestContext): Promise<CancelAllAnswer> {
    return this.#withAccount(request, (opened, deadline) => cancelEverything(this.#parts, opened, request, deadline));
  }

  closePosition(request: ClosePositionRequest, context: OrderRequestContext): Promise<ClosePositionAnswer> {
    return this.#run(request.deadlineMs, (deadline) => this.#closes.closePosition(request, context, deadline));
  }

  closeAll(request: CloseAllRequest, context: OrderRequestContext): Promise<CloseAllAnswer> {
    return this.#run(request.deadlineMs, (deadline) => this.#closes.closeAll(request, context, deadline));
  }

  setLeverage(
    request: SettingRequest & { readonly leverage: number },
    _context: OrderRequestContext,
  ): Promise<SettingAnswer> {
    return this.#withAccount(request, (opened, deadline) => setLeverage(this.#parts, opened, request, deadline));
  }

  setMarginMode(
    request: SettingRequest & { readonly mode: "cross" | "isolated" },
    _context: OrderRequestContext,
  ): Promise<SettingAnswer> {
    return this.#withAccount(request, (opened, deadline) => setMarginMode(this.#parts, opened, request, deadline));
  }

  orderStatus(request: OrderName, _context: OrderRequestContext): Promise<OrderAnswer> {
    return this.#withAccount(request, (opened, deadline) =>
      orderStatus(this.#parts, this.#conclusion, opened, request, deadline),
    );
  }

  openOrders(request: OpenOrdersRequest, _context: OrderRequestContext): Promise<OpenOrdersAnswer> {
    return this.#withAccount(request, (opened, deadline) => this.#openOrders(opened, request, deadline));
  }

  async armSwitch(request: ArmRequest): Promise<SwitchAnswer> {
    const answer = await this.armSwitches([request]);
    if (!answer.ok) return answer;
    const [armed] = answer.armed;
    return armed === undefined ? refusal("INTERNAL") : { ok: true, armed };
  }

  async armSwitches(requests: readonly ArmRequest[]): Promise<SwitchesAnswer> {
    const longestMs = Math.max(0, ...requests.map(({ timeoutMs }) => timeoutMs));
    const answer = await this.#run(longestMs, () => this.#armAll(requests));
    return answer.ok || "venue" in answer ? answer : { ...answer, venue: null };
  }

  /** Everything that can be refused is, before any of them is armed. */
  async #armAll(requests: readonly ArmRequest[]): Promise<SwitchesAnswer> {
    const all = await Promise.all(requests.map((request) => this.#prepareSwitch(request)));
    const refused = all.findIndex((one) => !("arm" in one));
    const prepared = all.flatMap((one) => ("arm" in one ? [one] : []));
    if (refused < 0) return { ok: true, armed: await Promise.all(prepared.map(({ arm }) => arm())) };
    for (const { drop } of prepared) drop();
    return { ...(all[refused] as OrderRefusal), venue: requests[refused]?.venue ?? null };
  }

  async #prepareSwitch(request: ArmRequest): Promise<PreparedSwitch | OrderRefusal> {
    const { timeoutMs, venue, credentials } = request;
    if (!Number.isInteger(timeoutMs) || timeoutMs < MIN_TIMEOUT_MS || timeoutMs > MAX_TIMEOUT_MS) {
      return invalid("timeoutMs", `must be a whole number from ${MIN_TIMEOUT_MS} to ${MAX_TIMEOUT_MS}`);
    }
    const room = roomOf(this.#parts.rooms, request);
    if (!("orders" in room)) return room;
    const opened = room.openSession(credentials);
    if (!opened.ok) return refusal("MISSING_CREDENTIALS", { exchange: venue, problem: opened.problem });
    const { session } = opened;
    let prepared: PreparedSwitch | null = null;
    try {
      // One switch for each account, whichever of its keys armed it: a guess would let two stand, or take another's away.
      const behind = await accountBehind(this.#parts, room, session, WHOSE_SWITCH);
      if (!behind.ok) return refusal(behind.error.code, behind.error.context);
      prepared = this.#switches.prepare(room, session, behind.accountHash, timeoutMs);
      return prepared ?? refusal("OVERLOADED", { reason: "SWITCHES" });
    } finally {
      if (prepared === null) session.close();
    }
  }

  async heartbeat(switchId: string): Promise<SwitchAnswer> {
    const armed = await this.#switches.heartbeat(switchId);
    return armed === null ? refusal("SWITCH_NOT_FOUND") : { ok: true, armed };
  }

  expireSwitch(switchId: string, delayMs: number): boolean {
    return this.#switches.expireIn(switchId, delayMs);
  }

  async disarmSwitch(switchId: string): Promise<SwitchAnswer> {
    const armed = await this.#switches.disarm(switchId);
    return armed === null ? refusal("SWITCH_NOT_FOUND") : { ok: true, armed };
  }

  termsOf(order: VenueOrder, account: Pick<AccountSession, "venue" | "accountId"> | null): OwnTerms {
    const { venueClientOrderId } = order;
    const isNamed = account !== null && venueClientOrderId !== null;
    return {
      clientOrderId: isNamed ? this.#parts.names.shownName(account, venueClientOrderId) : null,
      isMarket: wasPlacedAsMarket(this.#parts, order),
    };
  }

  onResolved(listener: OrderResolvedListener): () => void {
    return this.#conclusion.onResolved(listener);
  }

  status(): OrderDeskStatus {
    const { follows, resolver, unsettled } = this.#parts;
    return {
      inFlight: this.#flights.size,
      draining: this.#draining,
      unknownCount: unsettled.unknownCount,
      unknown: unsettled.list("UNKNOWN"),
      open: unsettled.list("OPEN"),
      resolver: resolver.counts(),
      armedSwitchCount: this.#switches.armedCount,
      followedCount: follows.count,
      unattendedCount: follows.waitingCount,
    };
  }

  /** Refuses new calls, lets running ones end, fires switches that only we hold, gives the resolver a last look, and waits for writes; at most `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    const { clock, resolver, background } = this.#parts;
    const deadline = new Deadline(clock, timeoutMs);
    background.stopSweeps();
    await within(clock, Promise.all(this.#flights), deadline.leftMs());
    await within(clock, Promise.all([this.#switches.stop(), resolver.stop()]), deadline.leftMs());
    await within(clock, this.#parts.follows.stop(), deadline.leftMs());
    this.#conclusion.stop();
    while (background.size > 0 && deadline.leftMs() > 0) {
      await within(clock, background.settled(), deadline.leftMs());
    }
    this.#switches.reportUnfinished();
  }

  /** On a hedge the flag is not the venue's to enforce: the live position bounds the size. */
  async #plan(orderContext: OrderContext, order: CheckedOrder): Promise<Planned> {
    if (order.positionSide === "BOTH" || !order.reduceOnly) return { ok: true, order, positionsBefore: [] };
    const { room, session, instrument, deadline } = orderContext;
    const read = await readLive(this.#parts, room, session, instrument, deadline, "streamed");
    const limited = closingLimit(instrument, order, read);
    if (limited.ok || !read.ok || read.source === "venue") return limited;
    // A refusal is the venue's own word.
    const verified = await readLive(this.#parts, room, session, instrument, deadline, "verified");
    return closingLimit(instrument, order, verified);
  }

  async #openOrders(opened: OpenedAccount, request: OpenOrdersRequest, deadline: Deadline): Promise<OpenOrdersAnswer> {
    const { room, session } = opened;
    const { symbol, venue } = request;
    const listed = symbol === null ? null : listedInstrument(room, symbol);
    if (listed !== null && !isInstrument(listed)) return listed;
    const options = callOptions(deadline, "read");
    const answered = await within(
      this.#parts.clock,
      room.reader.readOpenOrders(session, listed, options),
      options.timeoutMs,
    );
    const read = answered.done ? answered.value : ({ ok: false, code: "TIMEOUT", retryAfterMs: null } as const);
    if (!read.ok) return readRefusal("FAILED_TO_FETCH_ORDERS", venue, read);
    const orders = await Promise.all(
      read.value.flatMap((order) => {
        const instrument = instrumentOf(room.markets, order.nativeSymbol);
        if (instrument === null) return [];
        return [ownTerms(this.#parts, opened, order, null).then((own) => factsOfVenueOrder(instrument, order, own))];
      }),
    );
    return { ok: true, orders, asOfMs: read.asOfMs, source: read.source };
  }

  #withAccount<T>(
    request: OrderAccount & { readonly deadlineMs: number },
    work: (opened: OpenedAccount, deadline: Deadline) => Promise<T>,
  ): Promise<T | OrderRefusal> {
    return this.#run(request.deadlineMs, (deadline) =>
      withAccount(this.#parts, request, (opened) => work(opened, deadline)),
    );
  }

  /** Never rejects. What sends takes care of its own faults: what comes here as one was met before anything left. */
  async #run<T>(deadlineMs: number, work: (deadline: Deadline) => Promise<T>): Promise<T | OrderRefusal> {
    if (this.#draining) return refusal("SHUTTING_DOWN");
    if (this.#flights.size >= this.#maxInFlight) return refusal("OVERLOADED");
    const orderContext = work(new Deadline(this.#parts.clock, deadlineMs)).catch((error: unknown): OrderRefusal => {
      if (error instanceof ServiceError && error.code !== "INTERNAL") return refusal(error.code, error.context);
      this.#parts.logger.error("order_call_failed", { problem: problemOf(error) });
      return refusal("INTERNAL");
    });
    this.#flights.add(orderContext);
    try {
      return await orderContext;
    } finally {
      this.#flights.delete(orderContext);
    }
  }

  /** The latest state of the order that an open intent belongs to. */
  async #runOf(intent: OrderIntent<SingleRun>): Promise<SingleRun | null> {
    if (intent.idempotencyRecord === null) return intent.run;
    const run = await this.#parts.idempotency.readRun(intent.idempotencyRecord);
    return run !== null && run.routeId === intent.routeId ? run : null;
  }
}
