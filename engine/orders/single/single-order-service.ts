/**
 * Orders on one venue: the desk that the single-venue routes speak to.
 *
 *   session → idempotency → check and price → guards → name, intent and usage durable → send → outcome → answer
 *
 * Invariants: an order leaves only after its intent is durable; an unknown outcome is never re-sent or reported as
 * failed; one idempotency key, one order, across crashes; every session is closed at the end of its call, of the
 * resolution of its order, or of its switch.
 *
 * Bounds: MAX_IN_FLIGHT calls (beyond: OVERLOADED); each part names its own bounds.
 */
import { SinglePlacements, type Planned } from "./single-place.js";
import { SingleConclusion } from "./single-conclude.js";
import { PositionCloses } from "./position-close.js";
import { amendOrder, cancelEverything, cancelOrder } from "./order-change.js";
import { orderStatus, wasPlacedAsMarket } from "./order-lookup.js";
import type { VenueOrder } from "../../domain/order.js";
import { BoundedCalls } from "./bounded-calls.js";
import { DeadManSwitches } from "./dead-man.js";
import type { AccountSession } from "../../ports.js";
import type { Sweepable } from "../background.js";
import { Deadline, within } from "../../domain/deadline.js";
import type { Asker } from "../durable/execution-registry.js";
import type { OrderIntent } from "../durable/intent-log.js";
import { setLeverage, setMarginMode } from "./account-settings.js";
import {
  isInstrument,
  listedInstrument,
  roomOf,
  withAccount,
  type OpenedAccount,
  otherAccount,
} from "./open-account.js";
import { checkOrder, refusal } from "./order-check.js";
import type {
  AmendAnswer,
  AmendRequest,
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
} from "./order-desk.js";
import { planPlaced } from "./hedge-close.js";
import { openOrders } from "./open-orders.js";
import type { OrderContext } from "./single-context.js";
import { singleParts, type SingleOrderServiceOptions, type SingleParts } from "./single-parts.js";
import type { SingleRun } from "./single-run.js";
import type { ArmRequest, SwitchAnswer, SwitchDesk, SwitchesAnswer } from "./switch-desk.js";
import { SwitchRequests } from "./switch-requests.js";

export const MAX_IN_FLIGHT = 2_000;
/** For metrics, which name nobody. */
const SERVICE: Asker = { ownerId: null, payer: null, seesAll: true };

export class SingleOrderService implements OrderDesk, SwitchDesk {
  readonly #parts: SingleParts;
  readonly #conclusion: SingleConclusion;
  readonly #placements: SinglePlacements;
  readonly #closes: PositionCloses;
  readonly #switches: DeadManSwitches;
  readonly #switchRequests: SwitchRequests;
  readonly #sweepables: readonly Sweepable[];
  readonly #calls: BoundedCalls;

  constructor(options: SingleOrderServiceOptions) {
    const { clock, logger, randomIds } = options;
    this.#parts = singleParts(options, (run, recordKey) => this.#conclusion.publishProgress(run, recordKey));
    const { background, batches, idempotency, intents, names, owners } = this.#parts;
    this.#conclusion = new SingleConclusion(this.#parts);
    this.#placements = new SinglePlacements(this.#parts, this.#conclusion);
    this.#closes = new PositionCloses(this.#parts, this.#placements, batches);
    const { maxSwitches } = options;
    const switches = { clock, logger, randomIds, owners, background };
    this.#switches = new DeadManSwitches(maxSwitches === undefined ? switches : { ...switches, maxSwitches });
    this.#switchRequests = new SwitchRequests(this.#parts, this.#switches);
    const { sweep } = options.guards ?? {};
    const swept = sweep === undefined ? [] : [{ sweep: () => sweep.call(options.guards) }];
    this.#sweepables = [idempotency, batches, intents, names, ...swept];
    this.#calls = new BoundedCalls(clock, logger, options.maxInFlight ?? MAX_IN_FLIGHT);
  }

  /** Before the first call: lists orders that an earlier start may have left, and begins the sweeps. */
  async start(): Promise<void> {
    const { background, follows, intents, names, unsettled } = this.#parts;
    await names.load();
    await follows.load();
    for (const intent of await intents.listOpen()) {
      const run = await runOf(this.#parts, intent);
      if (run !== null) unsettled.add({ run, recordKey: intent.idempotencyRecord, fromEarlierStart: true });
    }
    background.startSweeps(this.#sweepables);
  }

  place(request: PlaceRequest, context: OrderRequestContext): Promise<OrderAnswer> {
    return this.#calls.run(request.deadlineMs, async (deadline) => {
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
        otherAccount(room, request) ?? planPlaced(this.#parts, orderContext, checked.order);
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

  cancel(request: OrderName, context: OrderRequestContext): Promise<CancelAnswer> {
    return this.#withAccount(request, context, (opened, deadline) =>
      cancelOrder(this.#parts, opened, request, deadline),
    );
  }

  amend(request: AmendRequest, context: OrderRequestContext): Promise<AmendAnswer> {
    return this.#withAccount(request, context, (opened, deadline) =>
      amendOrder(this.#parts, this.#conclusion, opened, request, context, deadline),
    );
  }

  cancelAll(request: CancelAllRequest, context: OrderRequestContext): Promise<CancelAllAnswer> {
    return this.#withAccount(request, context, (opened, deadline) =>
      cancelEverything(this.#parts, opened, request, deadline),
    );
  }

  closePosition(request: ClosePositionRequest, context: OrderRequestContext): Promise<ClosePositionAnswer> {
    return this.#calls.run(request.deadlineMs, (deadline) => this.#closes.closePosition(request, context, deadline));
  }

  closeAll(request: CloseAllRequest, context: OrderRequestContext): Promise<CloseAllAnswer> {
    return this.#calls.run(request.deadlineMs, (deadline) => this.#closes.closeAll(request, context, deadline));
  }

  setLeverage(
    request: SettingRequest & { readonly leverage: number },
    context: OrderRequestContext,
  ): Promise<SettingAnswer> {
    return this.#withAccount(request, context, (opened, deadline) =>
      setLeverage(this.#parts, opened, request, deadline),
    );
  }

  setMarginMode(
    request: SettingRequest & { readonly mode: "cross" | "isolated" },
    context: OrderRequestContext,
  ): Promise<SettingAnswer> {
    return this.#withAccount(request, context, (opened, deadline) =>
      setMarginMode(this.#parts, opened, request, deadline),
    );
  }

  orderStatus(request: OrderName, context: OrderRequestContext): Promise<OrderAnswer> {
    return this.#withAccount(request, context, (opened, deadline) =>
      orderStatus(this.#parts, this.#conclusion, opened, request, deadline),
    );
  }

  openOrders(request: OpenOrdersRequest, context: OrderRequestContext): Promise<OpenOrdersAnswer> {
    return this.#withAccount(request, context, (opened, deadline) =>
      openOrders(this.#parts, opened, request, deadline),
    );
  }

  async armSwitch(request: ArmRequest, ownerId: string | null): Promise<SwitchAnswer> {
    const answer = await this.armSwitches([request], ownerId);
    if (!answer.ok) return answer;
    const [armed] = answer.armed;
    return armed === undefined ? refusal("INTERNAL") : { ok: true, armed };
  }

  async armSwitches(requests: readonly ArmRequest[], ownerId: string | null): Promise<SwitchesAnswer> {
    const longestMs = Math.max(0, ...requests.map(({ timeoutMs }) => timeoutMs));
    const answer = await this.#calls.run(longestMs, () => this.#switchRequests.arm(requests, ownerId));
    return answer.ok || "venue" in answer ? answer : { ...answer, venue: null };
  }

  heartbeat(switchId: string, ownerId: string | null): Promise<SwitchAnswer> {
    return this.#switchRequests.heartbeat(switchId, ownerId);
  }

  expireSwitch(switchId: string, delayMs: number, ownerId: string | null): boolean {
    return this.#switches.expireIn(switchId, delayMs, ownerId);
  }

  disarmSwitch(switchId: string, ownerId: string | null): Promise<SwitchAnswer> {
    return this.#switchRequests.disarm(switchId, ownerId);
  }

  termsOf(
    order: VenueOrder,
    account: Pick<AccountSession, "venue" | "accountId"> | null,
    ownerId: string | null,
  ): OwnTerms {
    const { names, owners } = this.#parts;
    const { venueClientOrderId } = order;
    const isNamed = account !== null && venueClientOrderId !== null;
    return {
      clientOrderId: isNamed ? names.shownName(account, venueClientOrderId, owners.reachedBy(ownerId)) : null,
      isMarket: wasPlacedAsMarket(this.#parts, order, ownerId),
    };
  }

  onResolved(listener: OrderResolvedListener): () => void {
    return this.#conclusion.onResolved(listener);
  }

  status({ ownerId, seesAll }: Asker = SERVICE): OrderDeskStatus {
    const { follows, owners, resolver, unsettled } = this.#parts;
    const isShown = (rowOwner: string | null): boolean => seesAll || owners.reaches(ownerId, rowOwner);
    return {
      inFlight: this.#calls.count,
      draining: this.#calls.isDraining,
      unknownCount: unsettled.unknownCount(isShown),
      unknown: unsettled.list("UNKNOWN", isShown),
      open: unsettled.list("OPEN", isShown),
      resolver: resolver.counts(),
      armedSwitchCount: this.#switches.armedCount,
      ...follows.countsFor(ownerId, seesAll),
    };
  }

  /**
   * Refuses new calls, lets running ones end, fires switches that only we hold, gives the resolver a last look, and waits
   * for writes; at most `timeoutMs`, half of which no call that hangs takes from the switches.
   */
  async drain(timeoutMs: number): Promise<void> {
    const ended = this.#calls.drain();
    const { clock, resolver, background } = this.#parts;
    const deadline = new Deadline(clock, timeoutMs);
    background.stopSweeps();
    await within(clock, ended, timeoutMs / 2);
    await within(clock, Promise.all([this.#switches.stop(), resolver.stop()]), deadline.leftMs());
    await within(clock, ended, deadline.leftMs());
    await within(clock, this.#parts.follows.stop(), deadline.leftMs());
    this.#conclusion.stop();
    while (background.size > 0 && deadline.leftMs() > 0) {
      await within(clock, background.settled(), deadline.leftMs());
    }
    this.#switches.reportUnfinished();
  }

  #withAccount<T>(
    request: OrderAccount & { readonly deadlineMs: number },
    context: OrderRequestContext,
    work: (opened: OpenedAccount, deadline: Deadline) => Promise<T>,
  ): Promise<T | OrderRefusal> {
    return this.#calls.run(request.deadlineMs, (deadline) =>
      withAccount(this.#parts, request, context, (opened) => work(opened, deadline)),
    );
  }
}

/** The latest state of the order that an open intent belongs to. */
async function runOf(
  { idempotency }: Pick<SingleParts, "idempotency">,
  intent: OrderIntent<SingleRun>,
): Promise<SingleRun | null> {
  if (intent.idempotencyRecord === null) return intent.run;
  const run = await idempotency.readRun(intent.idempotencyRecord);
  return run !== null && run.routeId === intent.routeId ? run : null;
}
