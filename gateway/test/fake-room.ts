/**
 * A venue room without a venue: real Market, Book, Touch and Ticker objects that a test writes, a reader and a
 * sender with scripted answers. Hand-written, so that a route test decides every outcome.
 */
import type { Instrument } from "../../engine/domain/instrument.js";
import type { OrderCommand, PlaceOutcome, VenueOrder } from "../../engine/domain/order.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { Book } from "../../engine/market/book.js";
import { createMarket, type Market } from "../../engine/market/market.js";
import { filledOrder, heldPosition, roomDouble, UNSCRIPTED } from "../../engine/orders/test/room-double.js";
import type { AccountSession, Read, RoomStatus, VenueRoom } from "../../engine/ports.js";

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

export function createFakeRoom(venue: RoutableVenue, markets: readonly Market[], nowMs: () => number): FakeRoom {
  const held = new Map<string, number>();
  const placed: FakeRoom["placed"][number][] = [];
  const sent: OrderCommand[] = [];
  const hanging: (() => void)[] = [];
  let openSessions = 0;
  const idOf = (clientIdHex: string): string => `0x${clientIdHex}`;

  async function place(command: OrderCommand): Promise<PlaceOutcome> {
    if (room.placeMode === "hang") await new Promise<void>((resolve) => hanging.push(resolve));
    if (room.placeMode === "throw") throw new Error(`a bug with a secret 0x${"ab".repeat(32)}`);
    sent.push(command);
    placed.push({ qtyLots: command.qtyLots, side: command.side, reduceOnly: command.reduceOnly });
    if (room.placeMode === "unknown")
      return { outcome: "unknown", cause: "TIMEOUT", notPlacedAfterMs: nowMs() + 60_000 };
    if (room.placeMode === "reject") {
      const venueText = `no margin for key 0x${"cd".repeat(32)}`;
      const why = { reason: "INSUFFICIENT_MARGIN", venueCode: "-2019", venueText } as const;
      return { outcome: "rejected", ...why, sent: true, retryAfterMs: null };
    }
    const shown = { venueClientOrderId: idOf(command.clientIdHex), tsVenueMs: nowMs() };
    const open = { status: "OPEN", filledLots: 0, averagePrice: null } as const;
    const order = filledOrder(command, room.placeMode === "acknowledge" ? { ...shown, ...open } : shown);
    return { outcome: "accepted", order, ackMs: 5 };
  }

  function positions(instrument: Instrument | null): VenuePosition[] {
    return [...held].flatMap(([symbol, lots]) => {
      const market = room.markets.get(symbol);
      if (market === undefined || lots === 0 || (instrument !== null && instrument.symbol !== symbol)) return [];
      return [heldPosition(market.instrument, lots, nowMs())];
    });
  }

  const read = <T>(value: T): Read<T> => ({ ok: true, value, asOfMs: nowMs(), source: "venue" });
  const double = roomDouble(venue, {
    markets,
    venueClock: { offsetMs: 0, nowAtLeastMs: nowMs },
    orders: {
      place: (_session, command) => place(command),
      placeBoundMs: () => 60_000,
      venueClientOrderId: idOf,
    },
    reader: {
      readPositions: async (_session, instrument) => read(positions(instrument)),
      async readOrder(_session, _instrument, ref) {
        const command = sent.find((one) => "clientIdHex" in ref && one.clientIdHex === ref.clientIdHex);
        if (room.orderShown === null || command === undefined) return UNSCRIPTED;
        const shown = { venueClientOrderId: idOf(command.clientIdHex), tsVenueMs: nowMs() };
        return read(filledOrder(command, { ...shown, venueOrderId: "77", reduceOnly: true, ...room.orderShown }));
      },
    },
    openSession(raw, payer) {
      const block = raw as { privateKey?: string; apiKey?: string };
      if ((block.privateKey ?? block.apiKey ?? "") === "bad") return { ok: false, problem: "privateKey is not a key" };
      openSessions++;
      let open = true;
      const session: AccountSession = {
        venue,
        accountId: `account-${venue}`,
        payer,
        close() {
          if (open) openSessions--;
          open = false;
        },
      };
      return { ok: true, session };
    },
    status: () => ({
      clockOffsetMs: 1.5,
      laneTokens: { exit: 300, trade: 400, reconcile: 240, read: 180, background: 60 },
      ...room.statusOverrides,
    }),
  });
  const room: FakeRoom = Object.assign(double, {
    held,
    placed,
    placeMode: "fill" as FakeRoom["placeMode"],
    orderShown: null as FakeRoom["orderShown"],
    statusOverrides: {},
    sessionsOpen: () => openSessions,
    release() {
      room.placeMode = "fill";
      for (const go of hanging.splice(0)) go();
    },
  });
  return room;
}
