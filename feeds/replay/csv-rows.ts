/**
 * Rows of the collectors' CSV files → the frames their venue would have sent. The formats and the
 * conversion rules are those of the data set's own description; nothing is quoted in these files.
 *
 * Collectors pad figures to six decimals; the padding is dropped, so the decimals counted are real.
 */
import { decimalPlaces, isPlainDecimal, plainFromVenueNumber } from "../../engine/domain/decimal.js";

export type CsvFormat =
  | "csv-book10"
  | "csv-bbo"
  | "csv-trades"
  | "csv-book20"
  | "csv-bbo-sided"
  | "csv-trades-venueone"
  | "csv-bbo-venuethree"
  | "csv-trades-venuethree";

/** The header's first columns decide. */
const HEADERS: readonly (readonly [string, CsvFormat])[] = [
  ["unix_timestamp,lastUpdateId,bid_price_0,", "csv-book10"],
  ["unix_timestamp,bid,ask,mid", "csv-bbo"],
  ["id,unix_timestamp_ms,side,price,quantity", "csv-trades"],
  ["timestamp,sequence,exchange_timestamp,bid_price_0,", "csv-book20"],
  ["timestamp,price,size,side,exchange_timestamp", "csv-bbo-sided"],
  ["timestamp,price,size,side,trade_id,exchange_timestamp", "csv-trades-venueone"],
  ["timestamp,bid_price,bid_size,ask_price,ask_size,market_id", "csv-bbo-venuethree"],
  ["timestamp,price,size,side,trade_id,usd_amount", "csv-trades-venuethree"],
];

export function csvFormatOf(header: string): CsvFormat | null {
  return HEADERS.find(([start]) => header.startsWith(start))?.[1] ?? null;
}

/** A figure without padding; null when it is none. */
export function figure(text: string | undefined): string | null {
  if (text === undefined) return null;
  const plain = isPlainDecimal(text) ? text : plainFromVenueNumber(text);
  if (plain === null || plain.startsWith("-")) return null;
  const places = decimalPlaces(plain);
  const point = plain.indexOf(".");
  if (point < 0) return plain;
  return places === 0 ? plain.slice(0, point) : plain.slice(0, point + 1 + places);
}

/** `Date` text without a zone is taken as UTC. */
export function isoMs(text: string): number {
  return Date.parse(`${text}Z`);
}

/** Levels of one side out of a row; null when a figure is broken. Empty cells end the side. */
export function sideOf(
  row: readonly string[],
  firstColumn: number,
  stride: number,
  count: number,
): [string, string][] | null {
  const levels: [string, string][] = [];
  for (let index = 0; index < count; index++) {
    const column = firstColumn + index * stride;
    if ((row[column] ?? "") === "") break;
    const price = figure(row[column]);
    const qty = figure(row[column + 1]);
    if (price === null || qty === null) return null;
    levels.push([price, qty]);
  }
  return levels;
}

/** csv-book10 row → REST-shaped whole book (the partial-depth stream carries whole levels). */
export function book10ToSnapshot(row: readonly string[]): string | null {
  const timeMs = Number(row[0]) * 1000;
  const id = Number(row[1]);
  const bids = sideOf(row, 2, 2, 10);
  const asks = sideOf(row, 22, 2, 10);
  if (!Number.isFinite(timeMs) || !Number.isSafeInteger(id) || bids === null || asks === null) return null;
  const stampMs = Math.floor(timeMs);
  return JSON.stringify({ lastUpdateId: id, E: stampMs, T: stampMs, bids, asks });
}

/** csv-bbo row → bookTicker; the file has no sizes, one is invented. */
export function bboToBookTicker(row: readonly string[], symbol: string, id: number): string | null {
  const timeMs = Math.floor(Number(row[0]) * 1000);
  const bid = figure(row[1]);
  const ask = figure(row[2]);
  if (!Number.isFinite(timeMs) || bid === null || ask === null) return null;
  return JSON.stringify({ e: "bookTicker", u: id, s: symbol, b: bid, B: "1", a: ask, A: "1", T: timeMs, E: timeMs });
}

/** csv-trades row → aggTrade of one trade. */
export function tradeToAggTrade(row: readonly string[], symbol: string): string | null {
  const id = Number(row[0]);
  const timeMs = Number(row[1]);
  const price = figure(row[3]);
  const qty = figure(row[4]);
  if (!Number.isSafeInteger(id) || !Number.isSafeInteger(timeMs) || price === null || qty === null) return null;
  if (row[2] !== "buy" && row[2] !== "sell") return null;
  const m = row[2] === "sell";
  return JSON.stringify({ e: "aggTrade", E: timeMs, s: symbol, a: id, p: price, q: qty, f: id, l: id, T: timeMs, m });
}

/** csv-book20 row → l2Book with an invented order count. */
export function book20ToL2Book(row: readonly string[], coin: string): string | null {
  const time = Number(row[2]);
  const bids = sideOf(row, 3, 4, 20);
  const asks = sideOf(row, 5, 4, 20);
  if (!Number.isSafeInteger(time) || bids === null || asks === null) return null;
  const side = (levels: readonly [string, string][]) => levels.map(([px, sz]) => ({ px, sz, n: 1 }));
  return JSON.stringify({ channel: "l2Book", data: { coin, time, levels: [side(bids), side(asks)] } });
}

/** csv-trades-venueone row → trades of one. */
export function tradeToTrades(row: readonly string[], coin: string): string | null {
  const px = figure(row[1]);
  const sz = figure(row[2]);
  const tid = Number(row[4]);
  const time = Number(row[5]);
  if (px === null || sz === null || !Number.isSafeInteger(tid) || !Number.isSafeInteger(time)) return null;
  if (row[3] !== "buy" && row[3] !== "sell") return null;
  return JSON.stringify({
    channel: "trades",
    data: [{ coin, side: row[3] === "buy" ? "B" : "A", px, sz, time, hash: "0x", tid }],
  });
}

/** Number of the one market of a venuethree file: not every row, nor every file, says it. */
const ONLY_MARKET_ID = 0;

/** csv-bbo-venuethree row → ticker; `rowId` stands for the nonce, so that rows order as they lie. */
export function bboToTicker(row: readonly string[], symbol: string, rowId: number): string | null {
  const timestamp = isoMs(row[0] ?? "");
  const [bid, bidSize, ask, askSize] = [figure(row[1]), figure(row[2]), figure(row[3]), figure(row[4])];
  if (bid === null || bidSize === null || ask === null || askSize === null) return null;
  if (Number.isNaN(timestamp)) return null;
  const ticker = { s: symbol, a: { price: ask, size: askSize }, b: { price: bid, size: bidSize } };
  const channel = `ticker:${ONLY_MARKET_ID}`;
  return JSON.stringify({ channel, nonce: rowId, ticker, timestamp, type: "update/ticker" });
}

/** csv-trades-venuethree row → trade of one. */
export function tradeToPrint(row: readonly string[]): string | null {
  const timestamp = isoMs(row[0] ?? "");
  const price = figure(row[1]);
  const size = figure(row[2]);
  const tradeId = row[4] ?? "";
  if (Number.isNaN(timestamp) || price === null || size === null || !/^\d{1,20}$/.test(tradeId)) return null;
  if (row[3] !== "buy" && row[3] !== "sell") return null;
  const print = { trade_id_str: tradeId, type: "trade", size, price, is_maker_ask: row[3] === "buy", timestamp };
  return JSON.stringify({
    channel: `trade:${ONLY_MARKET_ID}`,
    liquidation_trades: [],
    trades: [print],
    type: "update/trade",
  });
}
