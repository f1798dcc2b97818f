/** Positions that an account opens with, as the rooms' options name them. */
import { parseSafe } from "../model/fixed.js";
import type { SimExchange } from "./exchange.js";
import type { SimPositionSide } from "../model/types.js";

export interface StartingPosition {
  readonly symbol: string;
  /** Signed decimal text. */
  readonly qty: string;
  /** Decimal text; the mark when absent. */
  readonly entryPrice?: string | undefined;
  readonly positionSide?: SimPositionSide | undefined;
}

/** Throws RangeError where the venue has no such market, or the texts are off its grid. */
export function openPosition(exchange: SimExchange, accountId: string, position: StartingPosition): void {
  const { symbol, qty, entryPrice, positionSide = "BOTH" } = position;
  const instrument = exchange.instruments.get(symbol);
  if (instrument === undefined) throw new RangeError(`${symbol} has no market here`);
  const qtyLots = parseSafe(qty, instrument.qtyDecimals);
  const markTicks = Math.round(exchange.market.mark(symbol).markE8 / 10 ** (8 - instrument.priceDecimals));
  const entryTicks = entryPrice === undefined ? markTicks : parseSafe(entryPrice, instrument.priceDecimals);
  if (qtyLots === null || entryTicks === null) throw new RangeError(`${symbol}: position is off the venue's grid`);
  exchange.desk.setPosition(accountId, symbol, positionSide, qtyLots, entryTicks);
}
