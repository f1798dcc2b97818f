/**
 * The listings of the four rooms, each given the venue's answers as text. Decoding, building and adopting is the room's
 * own code; the stream under it only notes what it would stream.
 */
import type { Instrument } from "../../../engine/domain/instrument.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { Market } from "../../../engine/market/market.js";
import { ClockOffset } from "../../../feeds/shared/book/clock-offset.js";
import { decodeJson } from "../../../feeds/shared/room/wire-fields.js";
import { decodeMarkets } from "../../../feeds/venuefour/market/decode.js";
import { VenuefourMarkets } from "../../../feeds/venuefour/market/listing.js";
import { buildInstruments as buildVenuefour } from "../../../feeds/venuefour/market/symbols.js";
import { decodeUniverse } from "../../../feeds/venueone/market/decode.js";
import { VenueoneMarkets } from "../../../feeds/venueone/market/listing.js";
import { buildInstruments as buildVenueone } from "../../../feeds/venueone/market/symbols.js";
import { decodeDetails } from "../../../feeds/venuethree/market/decode-slow.js";
import { VenuethreeMarkets } from "../../../feeds/venuethree/market/listing.js";
import { buildInstruments as buildVenuethree } from "../../../feeds/venuethree/market/symbols.js";
import { VenuetwoMarkets } from "../../../feeds/venuetwo/market/listing.js";
import { normalizeExchangeInfo } from "../../../feeds/venuetwo/market/symbols.js";

/** A contract of the model: of a thousand units, or of one. `id` is the venue's number and never changes. */
export interface Contract {
  readonly symbol: string;
  readonly isThousands: boolean;
  readonly id: number;
}

/**
 * `odd`: readable, with a rule that no order can follow. `unreadable`: a field of another kind. `nameless`: no row at
 * all.
 */
export type RowState = "fine" | "odd" | "unreadable" | "nameless";

export interface ListRow {
  readonly contract: Contract;
  readonly state: RowState;
}

type FreshList = ReadonlyMap<string, Instrument>;

export interface ListedRoom {
  readonly instruments: ReadonlyMap<string, Instrument>;
  readonly markets: ReadonlyMap<string, Market>;
  /** Native symbols. */
  readonly streamed: Set<string>;
  nativeSymbol(contract: Contract): string;
  /** Reads and adopts one answer as the room does. */
  adopt(rows: readonly ListRow[]): void;
  /** The listing of the answer for a room that knows nothing yet; empty where it is no list. */
  fresh(rows: readonly ListRow[]): FreshList;
}

const FEES = { takerFeeMilliBps: 0, makerFeeMilliBps: 0 };
const NOTHING: FreshList = new Map();

/** Every member that a listing uses of its room's stream. */
class NotedStream {
  readonly streamed = new Set<string>();
  readonly streamedCount = 0;

  add(what: Market | readonly Market[]): boolean {
    const markets = "instrument" in what ? [what] : what;
    for (const { instrument } of markets)
      if (instrument.status === "TRADING") this.streamed.add(instrument.nativeSymbol);
    return true;
  }

  remove(what: Market | string): void {
    this.streamed.delete(typeof what === "string" ? what : what.instrument.nativeSymbol);
  }

  streams(nativeSymbol: string): boolean {
    return this.streamed.has(nativeSymbol);
  }

  hasStats(): boolean {
    return false;
  }

  stats(): { readonly streamedCount: number } {
    return this;
  }
}

function common() {
  const clock = new VirtualClock();
  const noted = new NotedStream();
  const options = {
    clock,
    logger: silentLogger,
    clockOffset: new ClockOffset(clock),
    stream: noted as never,
    symbols: "all" as const,
    fees: FEES,
    onRescaled: () => {},
  };
  return { noted, options };
}

function thousands(prefix: string): ListedRoom["nativeSymbol"] {
  return ({ symbol, isThousands }) => (isThousands ? `${prefix}${symbol}` : symbol);
}

function venueone(): ListedRoom {
  const { noted, options } = common();
  const markets = new VenueoneMarkets({ ...options, maxCoins: 100 });
  const nativeSymbol = thousands("k");
  const read = (rows: readonly ListRow[]) => {
    const universe = rows.map(({ contract, state }) => {
      if (state === "nameless") return {};
      const szDecimals = state === "odd" ? 9 : state === "unreadable" ? "?" : 2;
      return { name: nativeSymbol(contract), szDecimals, maxLeverage: 40 };
    });
    const contexts = rows.map(() => ({
      funding: "0.0000125",
      openInterest: "1.0",
      prevDayPx: "49.0",
      dayNtlVlm: "1.0",
      premium: null,
      oraclePx: "50.0",
      markPx: "50.0",
      midPx: "50.0",
      impactPxs: null,
      dayBaseVlm: "1.0",
    }));
    const list = decodeJson(
      JSON.stringify([{ universe, marginTables: [], collateralToken: 0 }, contexts]),
      decodeUniverse,
    );
    return list.ok ? list.value : null;
  };
  return {
    instruments: markets.instruments,
    markets: markets.bySymbol,
    streamed: noted.streamed,
    nativeSymbol,
    adopt(rows) {
      const list = read(rows);
      if (list !== null) markets.adopt(list);
    },
    fresh(rows) {
      const list = read(rows);
      return list === null ? NOTHING : buildVenueone(list.meta, FEES).bySymbol;
    },
  };
}

function venuetwo(): ListedRoom {
  const { noted, options } = common();
  const markets = new VenuetwoMarkets(options);
  const base = thousands("1000");
  const nativeSymbol = (contract: Contract): string => `${base(contract)}USDT`;
  const textOf = (rows: readonly ListRow[]): unknown => ({
    serverTime: 1,
    symbols: rows.map(({ contract, state }) => {
      if (state === "nameless") return null;
      const tickSize = state === "odd" ? "a bit" : "0.1";
      return {
        symbol: nativeSymbol(contract),
        status: "TRADING",
        contractType: "PERPETUAL",
        pricePrecision: state === "unreadable" ? "?" : 1,
        quantityPrecision: 3,
        baseAsset: base(contract),
        quoteAsset: "USDT",
        filters: [
          { filterType: "PRICE_FILTER", minPrice: "0.1", maxPrice: "100000", tickSize },
          { filterType: "LOT_SIZE", minQty: "0.001", maxQty: "1000", stepSize: "0.001" },
        ],
      };
    }),
  });
  return {
    instruments: markets.instruments,
    markets: markets.bySymbol,
    streamed: noted.streamed,
    nativeSymbol,
    adopt(rows) {
      const load = normalizeExchangeInfo(textOf(rows), { known: markets.instruments });
      if (load !== null) markets.adopt(load);
    },
    fresh: (rows) => normalizeExchangeInfo(textOf(rows))?.instruments ?? NOTHING,
  };
}

function venuethree(): ListedRoom {
  const { noted, options } = common();
  const markets = new VenuethreeMarkets(options);
  const nativeSymbol = thousands("1000");
  const read = (rows: readonly ListRow[]) => {
    const details = rows.map(({ contract, state }) => {
      if (state === "nameless") return {};
      return {
        symbol: nativeSymbol(contract),
        market_id: state === "unreadable" ? "?" : contract.id,
        market_type: "perp",
        status: "active",
        size_decimals: state === "odd" ? 40 : 1,
        supported_size_decimals: state === "odd" ? 40 : 1,
        price_decimals: 1,
        supported_price_decimals: 1,
        min_initial_margin_fraction: 500,
        min_base_amount: "0.1",
        min_quote_amount: "10",
      };
    });
    return decodeDetails(JSON.stringify({ code: 200, order_book_details: details }));
  };
  return {
    instruments: markets.instruments,
    markets: markets.bySymbol,
    streamed: noted.streamed,
    nativeSymbol,
    adopt(rows) {
      const details = read(rows);
      if (details !== null) markets.adopt(details);
    },
    fresh(rows) {
      const details = read(rows);
      return details === null ? NOTHING : buildVenuethree(details.markets, FEES).bySymbol;
    },
  };
}

function venuefour(): ListedRoom {
  const { noted, options } = common();
  const markets = new VenuefourMarkets({ ...options, maxMarkets: 100 });
  const nativeSymbol = thousands("k");
  const read = (rows: readonly ListRow[]) => {
    const info = rows.map(({ contract, state }) => {
      if (state === "nameless") return null;
      return {
        symbol: nativeSymbol(contract),
        instrument_type: "perpetual",
        tick_size: state === "odd" ? "0" : state === "unreadable" ? {} : "0.01",
        lot_size: "0.01",
        max_leverage: 10,
        min_order_size: "10",
      };
    });
    const list = decodeJson(JSON.stringify(info), decodeMarkets);
    return list.ok ? list.value : null;
  };
  return {
    instruments: markets.instruments,
    markets: markets.bySymbol,
    streamed: noted.streamed,
    nativeSymbol,
    adopt(rows) {
      const list = read(rows);
      if (list !== null) markets.adopt(list, [], 0);
    },
    fresh(rows) {
      const list = read(rows);
      return list === null ? NOTHING : buildVenuefour(list.markets, FEES).bySymbol;
    },
  };
}

export const LISTED_ROOMS: Readonly<Record<RoutableVenue, () => ListedRoom>> = {
  venueone,
  venuetwo,
  venuethree,
  venuefour,
};
