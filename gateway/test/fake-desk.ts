/**
 * An order desk with scripted answers that records its calls: a route test decides every outcome, and sees that
 * nothing was asked for what a route refuses.
 */
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type {
  CloseAllVenue,
  CloseLeg,
  OrderDesk,
  OrderFacts,
  OrderRefusal,
  PlaceRequest,
} from "../../engine/orders/single/order-desk.js";
import type { SwitchDesk, SwitchFacts } from "../../engine/orders/single/switch-desk.js";
import { NO_TERMS } from "../../engine/orders/single/order-facts.js";

export interface DeskCall {
  readonly name: keyof (OrderDesk & SwitchDesk);
  readonly request: Readonly<Record<string, unknown>>;
}

/** What the next calls come to; `refusal` goes before all else. */
export interface DeskScript {
  refusal: Omit<OrderRefusal, "ok" | "replayed"> | null;
  outcome: "CONFIRMED" | "UNKNOWN";
  orderId: string;
  legs: readonly CloseLeg[] | null;
  /** How cancelling first ends. */
  cancel: CloseAllVenue["cancel"];
  order: Partial<OrderFacts>;
}

export interface FakeDesk extends OrderDesk, SwitchDesk {
  readonly calls: DeskCall[];
  readonly script: DeskScript;
}

export const FRESH_SCRIPT: DeskScript = {
  refusal: null,
  outcome: "CONFIRMED",
  orderId: "9007199254740993",
  legs: null,
  cancel: { outcome: "ACCEPTED", canceledCount: 2, error: null },
  order: {},
};

const NATIVE = { priceDecimals: 1, qtyDecimals: 3, multiplierExp10: 0 };
const CLIENT_ID = "8c1f0a52d9e34b7790aa41c2d5e6f701";

export function orderFacts(venue: RoutableVenue, changes: Partial<OrderFacts> = {}): OrderFacts {
  return {
    venue,
    symbol: "BTC",
    nativeSymbol: venue === "venueone" ? "BTC" : "BTCUSDT",
    outcome: "CONFIRMED",
    reason: null,
    orderId: "77",
    clientOrderId: null,
    venueClientOrderId: CLIENT_ID,
    side: "BUY",
    type: "LIMIT",
    status: "OPEN",
    venueStatus: "NEW",
    timeInForce: "GTC",
    reduceOnly: false,
    positionSide: "BOTH",
    price: "97000",
    triggerPrice: null,
    quantity: "0.5",
    filledQuantity: "0",
    averagePrice: null,
    filledNotional: "0",
    fee: null,
    tsVenueMs: 1_790_000_000_400,
    sentAtMs: 1_790_000_000_390,
    ackAtMs: 1_790_000_000_400,
    adjustments: [],
    venueOrder: null,
    native: NATIVE,
    ...changes,
  };
}

export function createFakeDesk(): FakeDesk {
  const calls: DeskCall[] = [];
  const script: DeskScript = { ...FRESH_SCRIPT };

  function asked(name: keyof (OrderDesk & SwitchDesk), request: object): OrderRefusal | null {
    calls.push({ name, request: { ...request } });
    return script.refusal === null ? null : { ok: false, replayed: false, ...script.refusal };
  }

  function placed(request: PlaceRequest): OrderFacts {
    const isUnknown = script.outcome === "UNKNOWN";
    return orderFacts(request.venue, {
      outcome: script.outcome,
      reason: isUnknown ? "TIMEOUT" : null,
      orderId: isUnknown ? null : script.orderId,
      status: isUnknown ? "UNKNOWN" : "OPEN",
      venueStatus: isUnknown ? null : "NEW",
      clientOrderId: request.clientOrderId,
      symbol: request.symbol,
      side: request.side,
      type: request.type,
      timeInForce: request.timeInForce,
      reduceOnly: request.reduceOnly,
      positionSide: request.positionSide,
      price: request.price ?? "98390",
      triggerPrice: request.stopPrice,
      quantity: request.quantity,
      ...script.order,
    });
  }

  const armed: SwitchFacts = {
    switchId: "dm_1",
    venue: "venueone",
    state: "ARMED",
    timeoutMs: 60_000,
    expiresAtMs: 1_790_000_060_000,
    venueArmed: true,
    venueSymbols: null,
  };
  const settings = { leverage: 10, marginMode: "cross" as const, maxNotionalValue: "40000000" };

  return {
    calls,
    script,
    async place(request) {
      return asked("place", request) ?? { ok: true, order: placed(request), replayed: false };
    },
    async cancel(request) {
      const refusal = asked("cancel", request);
      if (refusal !== null) return refusal;
      const outcome = script.outcome === "UNKNOWN" ? "UNKNOWN" : "ACCEPTED";
      return { ok: true, outcome, orderId: request.orderId, symbol: "BTC", order: null };
    },
    async amend(request) {
      const order = orderFacts(request.venue, { orderId: request.orderId, price: request.price ?? "97000" });
      return asked("amend", request) ?? { ok: true, outcome: "ACCEPTED", order };
    },
    async cancelAll(request) {
      return asked("cancelAll", request) ?? { ok: true, outcome: "ACCEPTED", canceledCount: 3, failed: [] };
    },
    async closePosition(request) {
      const legs = script.legs ?? [closeLeg(request.venue)];
      return asked("closePosition", request) ?? { ok: true, legs, replayed: false };
    },
    async closeAll(request) {
      const venues = request.accounts.map(({ venue }) => ({
        venue,
        error: null,
        cancel: request.cancelFirst && !request.dryRun ? script.cancel : null,
        legs: script.legs ?? [closeLeg(venue)],
      }));
      return asked("closeAll", request) ?? { ok: true, venues, replayed: false };
    },
    async setLeverage(request) {
      const nativeSymbol = `${request.symbol}USDT`;
      const answer = { ok: true, outcome: "ACCEPTED", symbol: request.symbol, nativeSymbol } as const;
      return asked("setLeverage", request) ?? { ...answer, settings: { ...settings, leverage: request.leverage } };
    },
    async setMarginMode(request) {
      const answer = { ok: true, outcome: "ACCEPTED", symbol: request.symbol, nativeSymbol: request.symbol } as const;
      return asked("setMarginMode", request) ?? { ...answer, settings: { ...settings, marginMode: request.mode } };
    },
    async orderStatus(request) {
      const order = orderFacts(request.venue, { orderId: request.orderId, ...script.order });
      return asked("orderStatus", request) ?? { ok: true, order, replayed: false };
    },
    async openOrders(request) {
      const orders = [orderFacts(request.venue)];
      return asked("openOrders", request) ?? { ok: true, orders, asOfMs: 1_790_000_000_400, source: "venue" };
    },
    async armSwitch(request) {
      const facts = { ...armed, venue: request.venue, timeoutMs: request.timeoutMs };
      return asked("armSwitch", request) ?? { ok: true, armed: facts };
    },
    async armSwitches(requests) {
      const refusal = asked("armSwitches", requests);
      if (refusal !== null) return { ...refusal, venue: null };
      return { ok: true, armed: requests.map(({ venue, timeoutMs }) => ({ ...armed, venue, timeoutMs })) };
    },
    async heartbeat(switchId) {
      return asked("heartbeat", { switchId }) ?? { ok: true, armed };
    },
    async disarmSwitch(switchId) {
      return (
        asked("disarmSwitch", { switchId }) ?? { ok: true, armed: { ...armed, state: "ENDED", venueArmed: false } }
      );
    },
    // For the stream alone, which is tested with a desk of its own.
    expireSwitch: () => false,
    termsOf: () => NO_TERMS,
    onResolved: () => () => {},
    status: () => ({
      inFlight: 0,
      draining: false,
      unknownCount: 0,
      unknown: [],
      open: [],
      resolver: { active: 0, started: 0, found: 0, notPlaced: 0, leftUnknown: 0, refused: 0 },
      armedSwitchCount: 0,
      followedCount: 0,
      unattendedCount: 0,
    }),
  };
}

export function closeLeg(venue: RoutableVenue, changes: Partial<CloseLeg> = {}): CloseLeg {
  return {
    venue,
    symbol: "BTC",
    direction: "LONG",
    positionSide: "BOTH",
    positionSize: "0.4",
    requestedSize: "0.4",
    filledSize: "0.4",
    status: "CLOSED",
    note: null,
    order: orderFacts(venue, {
      side: "SELL",
      type: "MARKET",
      status: "FILLED",
      venueStatus: "FILLED",
      reduceOnly: true,
      quantity: "0.4",
      filledQuantity: "0.4",
      averagePrice: "97417",
      filledNotional: "38966.8",
    }),
    error: null,
    ...changes,
  };
}
