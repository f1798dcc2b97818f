/** Positions as venues report them → the aggregated form (interface spec 2.4) and the native one (2.5). Pure. */
import { formatScaled, isPlainDecimal } from "../../engine/domain/decimal.js";
import type { Instrument } from "../../engine/domain/instrument.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import type { Market } from "../../engine/market/market.js";
import { liveMark, positionFigures } from "../../engine/portfolio/pnl.js";
import type { AggregatedPosition, NativePosition } from "../../schemas/positions.js";
import { scaleText } from "../../engine/domain/decimal.js";

export interface ReadStamp {
  readonly asOfMs: number;
  readonly source: "stream" | "venue";
}

export interface ReadNow {
  readonly wallMs: number;
  readonly monoNs: number;
}

/** The contract of a position; `market` null: it is not followed, so no mark of ours values it. */
export interface PositionContract {
  readonly instrument: Instrument;
  readonly market: Market | null;
}

/** Unknown figures are left out. */
export function aggregatedPosition(
  position: VenuePosition,
  { instrument, market }: PositionContract,
  walletAddress: string,
  stamp: ReadStamp,
  now: ReadNow,
): AggregatedPosition {
  const mark = market === null ? null : liveMark(market, now.monoNs);
  // A streamed position does not move with every mark; one that was just read has the venue's own figures.
  const choice = stamp.source === "stream" ? "liveFirst" : "venueFirst";
  const figures = positionFigures(position, instrument, mark?.price ?? null, choice);
  return {
    symbol: position.symbol,
    exchange: position.venue,
    direction: position.direction,
    size: figures.size,
    entryPrice: position.entryPrice,
    ...known("markPrice", figures.markPrice),
    ...known("liquidationPrice", position.liquidationPrice),
    ...known("unrealizedPnl", figures.unrealizedPnl),
    ...known("unrealizedPnlPercent", figures.unrealizedPnlPercent),
    ...known("leverage", figures.leverage),
    ...known("collateral", figures.collateral),
    ...known("margin", figures.margin),
    timestamp: position.tsVenueMs,
    walletAddress,
    nativeSymbol: position.nativeSymbol,
    positionSide: position.positionSide,
    ...known("marginMode", position.marginMode),
    ...known("notional", figures.notional),
    quoteAsset: instrument.quoteAsset,
    ...known("markSource", figures.markSource),
    asOf: stamp.asOfMs,
    source: stamp.source,
    ageMs: Math.max(0, now.wallMs - stamp.asOfMs),
  };
}

function known<N extends string, T>(name: N, value: T | null): { [K in N]?: T } {
  return value === null ? {} : ({ [name]: value } as { [K in N]: T });
}

/**
 * The row as the venue prints it, in its own quoting. What the room keeps of the native row is repeated; a figure that
 * it does not keep is computed from the others, and "0" is the venue's own word for none.
 */
export function nativePosition(
  position: VenuePosition,
  { instrument, market }: PositionContract,
  now: ReadNow,
): NativePosition {
  const exponent = instrument.multiplierExp10;
  const own = position.native ?? {};
  const mark = market === null ? null : (liveMark(market, now.monoNs)?.price ?? null);
  const figures = positionFigures(position, instrument, mark, "venueFirst");
  const sign = position.direction === "LONG" ? "" : "-";
  const price = (text: string | null): string => (text === null ? "0" : (scaleText(text, exponent) ?? "0"));
  const isolated = position.marginMode === "isolated" ? (position.collateral ?? "0") : "0";
  return {
    symbol: position.nativeSymbol,
    positionAmt: sign + formatScaled(position.qtyLots, instrument.qtyDecimals),
    entryPrice: price(position.entryPrice),
    markPrice: price(figures.markPrice),
    unRealizedProfit: figures.unrealizedPnl ?? "0",
    liquidationPrice: price(position.liquidationPrice),
    leverage: String(position.leverage ?? own["leverage"] ?? ""),
    maxNotionalValue: own["maxNotionalValue"] ?? "",
    marginType: position.marginMode ?? own["marginType"] ?? "",
    isolatedMargin: decimalOr(own["isolatedMargin"], isolated),
    isAutoAddMargin: own["isAutoAddMargin"] ?? "false",
    positionSide: position.positionSide,
    notional: decimalOr(own["notional"], figures.notional === null ? "0" : signed(sign, figures.notional)),
    isolatedWallet: decimalOr(own["isolatedWallet"], isolated),
    updateTime: position.tsVenueMs,
  };
}

/** A holding in a contract that is not listed: the venue's own figures, and none computed. */
export function uncountedNative(position: VenuePosition): NativePosition {
  const own = position.native ?? {};
  return {
    symbol: position.nativeSymbol,
    positionAmt: signed(position.direction === "LONG" ? "" : "-", position.uncounted ?? "0"),
    entryPrice: position.entryPrice,
    markPrice: "0",
    unRealizedProfit: "0",
    liquidationPrice: "0",
    leverage: own["leverage"] ?? "",
    maxNotionalValue: own["maxNotionalValue"] ?? "",
    marginType: own["marginType"] ?? "",
    isolatedMargin: decimalOr(own["isolatedMargin"], "0"),
    isAutoAddMargin: own["isAutoAddMargin"] ?? "false",
    positionSide: position.positionSide,
    notional: decimalOr(own["notional"], "0"),
    isolatedWallet: decimalOr(own["isolatedWallet"], "0"),
    updateTime: position.tsVenueMs,
  };
}

function signed(sign: string, text: string): string {
  return text === "0" ? text : sign + text;
}

function decimalOr(text: string | undefined, otherwise: string): string {
  return text !== undefined && isPlainDecimal(text) ? text : otherwise;
}
