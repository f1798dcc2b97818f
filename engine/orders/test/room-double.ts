/**
 * The double of a venue's room that every fake venue is made of: LIVE, with the markets it is given, and nothing scripted.
 * A fake says what its own ports do; fake-venue.ts trades, ../../portfolio/test/fake-accounts.ts streams accounts, and
 * gateway/test/fake-room.ts answers as a route's test wants it.
 */
import type { Instrument } from "../../domain/instrument.js";
import type { OrderCommand, VenueOrder } from "../../domain/order.js";
import type { VenuePosition } from "../../domain/position.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { LatencyWindow } from "../../market/latency-window.js";
import type { Market } from "../../market/market.js";
import type { AccountReader, OpenSession, OrderSender, Read, RoomStatus, VenueRoom } from "../../ports.js";

export const UNSCRIPTED: Read<never> = { ok: false, code: "VENUE_ERROR", message: "not scripted", retryAfterMs: null };

type Scripted = "venue" | "markets" | "reader" | "orders" | "status" | "openSession";

export interface RoomScript extends Partial<Omit<VenueRoom, Scripted>> {
  readonly markets: Iterable<Market>;
  readonly reader?: Partial<AccountReader>;
  readonly orders?: Partial<OrderSender>;
  readonly status?: () => Partial<RoomStatus>;
  openSession(raw: unknown, payer: string | null): OpenSession;
}

export function roomDouble(venue: RoutableVenue, script: RoomScript): VenueRoom {
  const { markets, orders, reader, status, ...others } = script;
  return {
    venue,
    venueClock: { offsetMs: 0, nowAtLeastMs: () => null },
    markets: new Map([...markets].map((market) => [market.instrument.symbol, market])),
    ackLatency: new LatencyWindow(200),
    streams: null,
    start: async () => {},
    stop: async () => {},
    ...others,
    reader: {
      readPositions: async () => UNSCRIPTED,
      readOrder: async () => UNSCRIPTED,
      readOpenOrders: async () => UNSCRIPTED,
      readBalances: async () => UNSCRIPTED,
      readFeeRates: async () => UNSCRIPTED,
      ...reader,
    },
    orders: {
      place: async () => ({ outcome: "unknown", cause: "not scripted", notPlacedAfterMs: 0 }),
      cancel: async () => ({ outcome: "unknown", cause: "not scripted" }),
      placeBoundMs: () => 0,
      venueClientOrderId: (clientIdHex) => clientIdHex,
      ...orders,
    },
    status: () => ({ ...liveStatus(venue), ...status?.() }),
  };
}

function liveStatus(venue: RoutableVenue): RoomStatus {
  return {
    venue,
    state: "LIVE",
    breaker: "closed",
    breakerOpenUntilMs: 0,
    clockOffsetMs: 0,
    socketCount: 1,
    reconnectCount: 0,
    resyncCount: 0,
    gapCount: 0,
    decodeErrorCount: 0,
    protocolDriftCount: 0,
    laneTokens: { exit: 1, trade: 1, reconcile: 1, read: 1, background: 1 },
  };
}

/** Signed lots, at cross margin. */
export function heldPosition(
  instrument: Instrument,
  lots: number,
  tsVenueMs: number,
  changes: Partial<VenuePosition> = {},
): VenuePosition {
  return {
    venue: instrument.venue,
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    direction: lots > 0 ? "LONG" : "SHORT",
    positionSide: "BOTH",
    qtyLots: Math.abs(lots),
    entryPrice: "95000",
    markPrice: null,
    liquidationPrice: null,
    unrealizedPnl: null,
    leverage: 5,
    marginMode: "cross",
    collateral: null,
    tsVenueMs,
    ...changes,
  };
}

/** The order of the command, as a venue shows it that filled it whole at its limit. */
export function filledOrder(command: OrderCommand, changes: Partial<VenueOrder> = {}): VenueOrder {
  const { instrument, priceTicks, qtyLots } = command;
  return {
    venue: instrument.venue,
    nativeSymbol: instrument.nativeSymbol,
    venueOrderId: "9007199254740993",
    venueClientOrderId: command.clientIdHex,
    side: command.side,
    type: command.type,
    status: "FILLED",
    venueStatus: "filled",
    priceTicks,
    qtyLots,
    filledLots: qtyLots,
    averagePrice: String(priceTicks / 10 ** instrument.priceDecimals),
    reduceOnly: command.reduceOnly,
    triggerPrice: null,
    tsVenueMs: 0,
    fee: null,
    ...changes,
  };
}
