/**
 * A venue room without a venue: real Market, Book, Touch and Ticker objects that a test writes, a reader and a
 * sender that answer as told. Hand-written, so that a route test decides every outcome.
 */
import type { Instrument } from "../../engine/domain/instrument.js";
import type { OrderCommand, PlaceOutcome, VenueOrder } from "../../engine/domain/order.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { Book } from "../../engine/market/book.js";
import { LatencyWindow } from "../../engine/market/latency-window.js";
import { createMarket, type Market } from "../../engine/market/market.js";
import type { AccountSession, OrderSender, Read, RoomStatus, VenueRoom } from "../../engine/ports.js";

type FakeVenue = RoutableVenue;

export function fakeMarket(instrument: Instrument, options: { readonly deepTier?: boolean } = {}): Market {
  return createMarket(instrument, { deepTier: options.deepTier ?? false, maxBookAgeMs: 2000, maxDeepAgeMs: 7000 });
}

/** `[ticks, lots]`, best first. */
export type Levels = readonly (readonly [number, number])[];

export function loadBook(
  book: Book,
  bids: Levels,
  asks: Levels,
  nowNs: number,
  seq = 1,
  tsVenueMs = 1_790_000_000_000,
): void {
  book.beginSync();
  book.beginSnapshot();
  for (const [ticks, lots] of bids) book.applyBid(ticks, lots);
  for (const [ticks, lots] of asks) book.applyAsk(ticks, lots);
  if (!book.commit(seq, tsVenueMs, nowNs)) throw new Error("the test's book is broken");
}

export interface FakeRoom extends VenueRoom {
  /** Open sizes in lots by symbol, LONG positive. */
  readonly held: Map<string, number>;
  /** What the next place does; "fill" fills at the limit price. */
  placeMode: "fill" | "acknowledge" | "reject" | "unknown" | "hang" | "throw";
  readonly placed: { readonly qtyLots: number; readonly side: string; readonly reduceOnly: boolean }[];
  /** What a read of any order sent here shows; null: the read fails. */
  orderShown: Pick<VenueOrder, "filledLots" | "averagePrice"> | null;
  statusOverrides: Partial<RoomStatus>;
  readonly sessionsOpen: () => number;
  /** Lets every hanging place go on. */
  release(): void;
}

export function createFakeRoom(venue: FakeVenue, markets: readonly Market[], nowMs: () => number): FakeRoom {
  const bySymbol = new Map(markets.map((market) => [market.instrument.symbol, market]));
  const held = new Map<string, number>();
  const placed: FakeRoom["placed"][number][] = [];
  const sent: OrderCommand[] = [];
  const hanging: (() => void)[] = [];
  let openSessions = 0;

  const readFailed: Read<never> = { ok: false, code: "VENUE_ERROR", message: "not scripted", retryAfterMs: null };
  const orders: OrderSender = {
    async place(_session, command): Promise<PlaceOutcome> {
      if (room.placeMode === "hang") await new Promise<void>((resolve) => hanging.push(resolve));
      if (room.placeMode === "throw") throw new Error(`a bug with a secret 0x${"ab".repeat(32)}`);
      sent.push(command);
      placed.push({ qtyLots: command.qtyLots, side: command.side, reduceOnly: command.reduceOnly });
      if (room.placeMode === "unknown")
        return { outcome: "unknown", cause: "TIMEOUT", notPlacedAfterMs: nowMs() + 60_000 };
      if (room.placeMode === "reject") {
        return {
          outcome: "rejected",
          reason: "INSUFFICIENT_MARGIN",
          venueCode: "-2019",
          venueText: `no margin for key 0x${"cd".repeat(32)}`,
          sent: true,
          retryAfterMs: null,
        };
      }
      const order: VenueOrder = {
        venue,
        nativeSymbol: command.instrument.nativeSymbol,
        venueOrderId: "9007199254740993",
        venueClientOrderId: orders.venueClientOrderId(command.clientIdHex),
        side: command.side,
        type: command.type,
        status: "FILLED",
        venueStatus: "filled",
        priceTicks: command.priceTicks,
        qtyLots: command.qtyLots,
        filledLots: command.qtyLots,
        averagePrice: String(command.priceTicks / 10 ** command.instrument.priceDecimals),
        reduceOnly: command.reduceOnly,
        triggerPrice: null,
        tsVenueMs: nowMs(),
        fee: null,
      };
      if (room.placeMode === "acknowledge") {
        const open = { ...order, status: "OPEN", filledLots: 0, averagePrice: null } as const;
        return { outcome: "accepted", order: open, ackMs: 5 };
      }
      return { outcome: "accepted", order, ackMs: 5 };
    },
    cancel: async () => ({ outcome: "unknown", cause: "not scripted" }),
    placeBoundMs: () => 60_000,
    venueClientOrderId: (clientIdHex) => `0x${clientIdHex}`,
  };

  const room: FakeRoom = {
    venue,
    held,
    placed,
    placeMode: "fill",
    orderShown: null,
    statusOverrides: {},
    sessionsOpen: () => openSessions,
    release() {
      room.placeMode = "fill";
      for (const go of hanging.splice(0)) go();
    },
    markets: bySymbol,
    ackLatency: new LatencyWindow(200),
    venueClock: { offsetMs: 0, nowAtLeastMs: nowMs },
    orders,
    streams: null,
    reader: {
      async readPositions(_session, instrument) {
        const value: VenuePosition[] = [];
        for (const [symbol, lots] of held) {
          const market = bySymbol.get(symbol);
          if (market === undefined || lots === 0 || (instrument !== null && instrument.symbol !== symbol)) continue;
          value.push({
            venue,
            symbol,
            nativeSymbol: market.instrument.nativeSymbol,
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
            tsVenueMs: nowMs(),
          });
        }
        return { ok: true, value, asOfMs: nowMs(), source: "venue" };
      },
      async readOrder(_session, instrument, ref) {
        const command = sent.find((one) => "clientIdHex" in ref && one.clientIdHex === ref.clientIdHex);
        if (room.orderShown === null || command === undefined) return readFailed;
        const value: VenueOrder = {
          venue,
          nativeSymbol: instrument.nativeSymbol,
          venueOrderId: "77",
          venueClientOrderId: orders.venueClientOrderId(command.clientIdHex),
          side: command.side,
          type: command.type,
          status: "FILLED",
          venueStatus: "filled",
          priceTicks: command.priceTicks,
          qtyLots: command.qtyLots,
          reduceOnly: true,
          triggerPrice: null,
          tsVenueMs: nowMs(),
          fee: null,
          ...room.orderShown,
        };
        return { ok: true, value, asOfMs: nowMs(), source: "venue" };
      },
      readOpenOrders: async () => readFailed,
      readBalances: async () => readFailed,
      readFeeRates: async () => readFailed,
    },
    start: async () => {},
    stop: async () => {},
    openSession(raw) {
      const block = raw as { privateKey?: string; apiKey?: string };
      if ((block.privateKey ?? block.apiKey ?? "") === "bad") return { ok: false, problem: "privateKey is not a key" };
      openSessions++;
      let open = true;
      const session: AccountSession = {
        venue,
        accountId: `account-${venue}`,
        close() {
          if (open) openSessions--;
          open = false;
        },
      };
      return { ok: true, session };
    },
    status: () => ({
      venue,
      state: "LIVE",
      breaker: "closed",
      breakerOpenUntilMs: 0,
      clockOffsetMs: 1.5,
      socketCount: 1,
      reconnectCount: 0,
      resyncCount: 0,
      gapCount: 0,
      decodeErrorCount: 0,
      protocolDriftCount: 0,
      laneTokens: { exit: 300, trade: 400, reconcile: 240, read: 180, background: 60 },
      ...room.statusOverrides,
    }),
  };
  return room;
}
