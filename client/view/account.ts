/** Positions, open orders and their coverage, as texts for people. Ages count by the service's own clock. */
import { addDecimal, compareDecimal, divideDecimal, multiplyDecimal, parseDecimal, printDecimal } from "../decimal.js";
import type { Fields } from "../stream/frames.js";
import type { Coverage, OrdersData, PositionsData } from "../stream/topics.js";
import { ageText, fixedText, groupDigits, signOf, tickText, UNKNOWN_TEXT } from "./format.js";
import { HELD_VENUES, OWN_SIGNED_VENUE } from "./venues.js";

/** Returns the tick of a venue's market; null where its list has not arrived. */
export type TickOf = (exchange: string, symbol: string) => string | null;

export interface PositionRow {
  readonly key: string;
  readonly exchange: string;
  readonly symbol: string;
  readonly direction: "LONG" | "SHORT";
  /** Base units, exactly as the service sends them. */
  readonly size: string;
  readonly sizeText: string;
  readonly entry: string;
  readonly mark: string;
  readonly pnl: string;
  readonly pnlPercent: string;
  readonly sign: -1 | 0 | 1;
  /** Distance from the mark to the venue's liquidation price. */
  readonly distance: string;
  readonly liquidation: string;
  readonly age: string;
  /** Only the wallet itself can close it. */
  readonly isOwnToSign: boolean;
}

/** By symbol, then in the order of the venues: a row keeps its place while its figures change. */
export function positionRows(data: PositionsData, serverMs: number, tickOf: TickOf): PositionRow[] {
  const rows = [...data.positions].map(([key, fields]): PositionRow => {
    const [exchange, symbol] = [textOf(fields, "exchange"), textOf(fields, "symbol")];
    const tick = tickOf(exchange, symbol);
    const mark = decimalOf(fields, "markPrice");
    const liquidation = decimalOf(fields, "liquidationPrice");
    const pnl = decimalOf(fields, "unrealizedPnl");
    const size = textOf(fields, "size");
    return {
      key,
      exchange,
      symbol,
      direction: fields.direction === "SHORT" ? "SHORT" : "LONG",
      size,
      sizeText: groupDigits(size),
      entry: groupDigits(tickText(decimalOf(fields, "entryPrice"), tick)),
      mark: groupDigits(tickText(mark, tick)),
      pnl: fixedText(pnl, 2, true),
      pnlPercent: percentText(decimalOf(fields, "unrealizedPnlPercent"), true),
      sign: signOf(pnl),
      distance: percentText(distanceOf(mark, liquidation), false),
      liquidation: liquidation === null ? "no liquidation price" : `at ${groupDigits(tickText(liquidation, tick))}`,
      age: ageOf(fields, "asOf", serverMs),
      isOwnToSign: exchange === OWN_SIGNED_VENUE,
    };
  });
  return inOrder(rows);
}

export interface OrderRow {
  readonly key: string;
  readonly exchange: string;
  readonly symbol: string;
  readonly orderId: string;
  readonly side: "BUY" | "SELL";
  readonly type: string;
  readonly size: string;
  readonly filled: string;
  readonly price: string;
  readonly trigger: string;
  readonly age: string;
}

export function orderRows(data: OrdersData, serverMs: number, tickOf: TickOf): OrderRow[] {
  const rows = [...data.orders].map(([key, fields]): OrderRow => {
    const [exchange, symbol] = [textOf(fields, "exchange"), textOf(fields, "symbol")];
    const tick = tickOf(exchange, symbol);
    const trigger = decimalOf(fields, "triggerPrice");
    const price = decimalOf(fields, "price");
    const filled = decimalOf(fields, "filledQuantity");
    const kind = textOf(fields, "type") || "ORDER";
    const isReduceOnly = fields.reduceOnly === true;
    return {
      key,
      exchange,
      symbol,
      orderId: textOf(fields, "orderId"),
      side: fields.side === "BUY" ? "BUY" : "SELL",
      type: `${kind.replaceAll("_", " ")}${isReduceOnly ? ", reduce only" : ""}`,
      size: groupDigits(decimalOf(fields, "quantity")),
      filled: filled === null || signOf(filled) === 0 ? "" : `${groupDigits(filled)} filled`,
      price: signOf(price) === 0 ? UNKNOWN_TEXT : groupDigits(tickText(price, tick)),
      trigger: trigger === null || signOf(trigger) === 0 ? "" : `from ${groupDigits(tickText(trigger, tick))}`,
      age: ageOf(fields, "timestamp", serverMs),
    };
  });
  return inOrder(rows);
}

/**
 * The exact sum over all venues, with all quote assets counted as equal. Returns null if there is no position, or some
 * figure is unknown.
 */
export function totalPnl(data: PositionsData): string | null {
  let sum = parseDecimal("0");
  for (const fields of data.positions.values()) {
    const one = parseDecimal(fields.unrealizedPnl);
    if (sum === null || one === null) return null;
    sum = addDecimal(sum, one);
  }
  return sum === null || data.positions.size === 0 ? null : printDecimal(sum);
}

export interface CoverageChip {
  readonly venue: string;
  readonly words: string;
  /** Whether all of it is known and current. */
  readonly isWhole: boolean;
}

/** Not run here, or not asked for this: there is nothing to say of it. */
const UNASKED: readonly (string | null)[] = ["NOT_CONFIGURED", "NOT_APPLICABLE"];

/** The coverage of each venue, as the worse of positions and orders. Venues without a part here are left out. */
export function coverageChips(positions: PositionsData | null, orders: OrdersData | null): CoverageChip[] {
  return HELD_VENUES.flatMap((venue): CoverageChip[] => {
    const parts = [positions?.coverage.get(venue), orders?.coverage.get(venue)].filter(
      (one) => one !== undefined && !UNASKED.includes(one.errorCode),
    ) as Coverage[];
    const worst = parts.sort((a, b) => severity(b.state) - severity(a.state))[0];
    if (worst === undefined) return [];
    const { state, mode, errorCode } = worst;
    const words = coverageWords(state, mode, errorCode);
    return [{ venue, words, isWhole: severity(state) < 2 && errorCode === null }];
  });
}

const SEVERITY: Readonly<Record<string, number>> = { LIVE: 0, SNAPSHOT: 1, AUTH_REQUIRED: 2 };

function severity(state: string): number {
  return SEVERITY[state] ?? 3;
}

function coverageWords(state: string, mode: string, code: string | null): string {
  if (state === "AUTH_REQUIRED") return "needs a key to be seen";
  if (state !== "LIVE" && state !== "SNAPSHOT")
    return code === null ? "not known now" : `not known now: ${plainWords(code)}`;
  const live = mode === "poll" ? "read with each block" : "streamed and checked";
  const known = state === "LIVE" ? live : "as last read";
  return code === null ? known : `${known}, not all of it: ${plainWords(code)}`;
}

/** Turns a code into readable words. */
export function plainWords(code: string): string {
  return code.toLowerCase().replaceAll("_", " ");
}

function distanceOf(mark: string | null, liquidation: string | null): string | null {
  const from = parseDecimal(mark);
  const to = parseDecimal(liquidation);
  if (from === null || to === null || from.units <= 0n || to.units <= 0n) return null;
  const gap = addDecimal(to, { ...from, units: -from.units });
  const size = compareDecimal(gap, { units: 0n, places: 0 }) < 0 ? { ...gap, units: -gap.units } : gap;
  const share = divideDecimal(multiplyDecimal(size, { units: 100n, places: 0 }), from, 4);
  return share === null ? null : printDecimal(share);
}

function percentText(text: string | null, signed: boolean): string {
  return text === null ? UNKNOWN_TEXT : `${fixedText(text, 2, signed)} %`;
}

function ageOf(fields: Fields, name: string, serverMs: number): string {
  const at = fields[name];
  return typeof at === "number" ? ageText(serverMs - at) : UNKNOWN_TEXT;
}

function decimalOf(fields: Fields, name: string): string | null {
  const value = fields[name];
  return parseDecimal(value) === null ? null : (value as string);
}

function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === "string" ? value : "";
}

function inOrder<R extends { readonly exchange: string; readonly symbol: string; readonly key: string }>(
  rows: R[],
): R[] {
  const place = ({ exchange }: R) => HELD_VENUES.indexOf(exchange);
  return rows.sort((a, b) =>
    a.symbol !== b.symbol ? (a.symbol < b.symbol ? -1 : 1) : place(a) - place(b) || (a.key < b.key ? -1 : 1),
  );
}
