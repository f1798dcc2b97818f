/**
 * The value of a position: mark, profit and loss, margin, in exact decimals. What the venue reports is kept unchanged;
 * the rest is computed. Pure.
 *
 * Invariant: no figure passes through a binary fraction, and none is invented: without a mark there is no profit,
 * without a leverage or a collateral there is no margin.
 */
import { decimalPlaces, formatScaled, formatScaledBig, parseScaledBig } from "../domain/decimal.js";
import {
  divideRatio,
  formatRatio,
  multiplyRatio,
  ratio,
  type Ratio,
  ratioFromScaled,
  ratioFromText,
  subtractRatio,
} from "../domain/decimal-ratio.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../domain/instrument.js";
import type { VenuePosition } from "../domain/position.js";
import { ageMs } from "../market/freshness.js";
import { BOOK_LIVE } from "../market/book.js";
import type { Market } from "../market/market.js";

/** Decimal strings in canonical quoting and the venue's quote asset. */
export interface PositionFigures {
  /** Base units. */
  readonly size: string;
  readonly markPrice: string | null;
  /** `venue`: reported with the position; `live`: the mark of our own feed. */
  readonly markSource: "venue" | "live" | null;
  readonly unrealizedPnl: string | null;
  /** In percent of the margin the position was opened with. */
  readonly unrealizedPnlPercent: string | null;
  readonly leverage: number | null;
  /** Collateral of the position: as the venue reports it, else its entry value divided by its leverage. */
  readonly collateral: string | null;
  /** Margin that the position uses at the mark. */
  readonly margin: string | null;
  /** Absolute value at the mark. */
  readonly notional: string | null;
}

export interface LiveMark {
  /** Canonical price. */
  readonly price: string;
  /** Time since the feed last proved it. */
  readonly ageMs: number;
}

/** `venueFirst` for a position just read; `liveFirst` where prices move on while the position is held. */
export type MarkChoice = "venueFirst" | "liveFirst";

const MONEY_PLACES = 8;
const PERCENT_PLACES = 4;
const LEVERAGE_PLACES = 2;
const HUNDRED = ratio(100n);

export function positionFigures(
  position: VenuePosition,
  instrument: Instrument,
  liveMark: string | null,
  choice: MarkChoice,
): PositionFigures {
  const size = ratioFromScaled(position.qtyLots, canonicalQtyDecimals(instrument));
  const entryValue = multiplyRatio(ratioFromText(position.entryPrice), size);
  const isLive = liveMark !== null && (choice === "liveFirst" || position.markPrice === null);
  const markPrice = isLive ? liveMark : position.markPrice;
  const markValue = markPrice === null ? null : multiplyRatio(ratioFromText(markPrice), size);
  // The venue's own figure is used unless our own feed is preferred.
  const venuePnl = choice === "venueFirst" || !isLive ? position.unrealizedPnl : null;
  const unrealizedPnl = venuePnl ?? profit(position, entryValue, markValue);
  const leverage = position.leverage ?? impliedLeverage(entryValue, position.collateral);
  const collateral =
    position.collateral ?? (isPositive(leverage) ? money(divideRatio(entryValue, ofNumber(leverage))) : null);
  const openedWith = isPositive(leverage) ? divideRatio(entryValue, ofNumber(leverage)) : null;
  return {
    size: formatScaled(position.qtyLots, canonicalQtyDecimals(instrument)),
    markPrice,
    markSource: markPrice === null ? null : isLive ? "live" : "venue",
    unrealizedPnl,
    unrealizedPnlPercent: percentOf(unrealizedPnl, openedWith),
    leverage,
    collateral,
    margin: markValue !== null && isPositive(leverage) ? money(divideRatio(markValue, ofNumber(leverage))) : collateral,
    notional: markValue === null ? null : money(markValue),
  };
}

/** Venues print their mark every 1 to 3 s; an older one is out of date. */
const MARK_AGE_MS_MAX = 15_000;

/** Returns the venue's mark price if its feed is current, else the mid of a LIVE book; null without either. */
export function liveMark(market: Market, nowNs: number): LiveMark | null {
  const { ticker, book, instrument } = market;
  const tickerAgeMs = ticker.tsRecvNs > 0 ? ageMs(ticker.tsRecvNs, nowNs) : null;
  if (ticker.markPrice !== "" && tickerAgeMs !== null && tickerAgeMs <= MARK_AGE_MS_MAX) {
    const price = canonicalText(ticker.markPrice, instrument.multiplierExp10);
    if (price !== null) return { price, ageMs: tickerAgeMs };
  }
  const bookAgeMs = ageMs(book.tsProvenNs, nowNs);
  if (book.state !== BOOK_LIVE || bookAgeMs > market.maxBookAgeMs) return null;
  if (book.bidCount === 0 || book.askCount === 0) return null;
  // The mid may lie half a tick off the grid; one more decimal place holds it.
  const twice = BigInt(book.bidTicks(0)) + BigInt(book.askTicks(0));
  return { price: formatScaledBig(twice * 5n, canonicalPriceDecimals(instrument) + 1), ageMs: bookAgeMs };
}

/** Returns a native price as canonical text; null if the venue's text is no plain decimal. */
function canonicalText(text: string, multiplierExp10: number): string | null {
  const places = decimalPlaces(text);
  const scaled = parseScaledBig(text, places);
  return scaled === null ? null : formatScaledBig(scaled, places + multiplierExp10);
}

function profit(position: VenuePosition, entryValue: Ratio, markValue: Ratio | null): string | null {
  if (markValue === null) return null;
  return money(
    position.direction === "LONG" ? subtractRatio(markValue, entryValue) : subtractRatio(entryValue, markValue),
  );
}

/** Returns null where the collateral of the position is not known. */
function impliedLeverage(entryValue: Ratio, collateral: string | null): number | null {
  if (collateral === null) return null;
  const secured = ratioFromText(collateral);
  if (secured.num <= 0n) return null;
  return Number(formatRatio(divideRatio(entryValue, secured), LEVERAGE_PLACES, "halfUp"));
}

function percentOf(pnl: string | null, openedWith: Ratio | null): string | null {
  if (pnl === null || openedWith === null || openedWith.num <= 0n) return null;
  const share = divideRatio(multiplyRatio(ratioFromText(pnl), HUNDRED), openedWith);
  return formatRatio(share, PERCENT_PLACES, "halfUp");
}

function isPositive(leverage: number | null): leverage is number {
  return leverage !== null && leverage > 0;
}

/** Leverages are whole numbers, or have a few decimals; the shortest text of the double is then the venue's own. */
function ofNumber(value: number): Ratio {
  return Number.isSafeInteger(value) ? ratioFromScaled(value, 0) : ratioFromText(value.toFixed(LEVERAGE_PLACES));
}

function money(value: Ratio): string {
  return formatRatio(value, MONEY_PLACES, "halfUp");
}
