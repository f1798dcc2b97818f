/**
 * A caller's LIMIT beside its venue's price band: one that the venue refuses wherever its mark goes until the order is
 * there is refused here, with nothing sent. Nearer than that the venue decides: our mark is older than its own.
 */
import { formatScaled } from "../../domain/decimal.js";
import { canonicalPriceDecimals } from "../../domain/instrument.js";
import type { Side } from "../../domain/order.js";
import { tighterPrice } from "../../domain/price-grid.js";
import type { Market } from "../../market/market.js";
import { bandEdgeTicks, outerBandTicks } from "../../routing/price-band.js";
import { invalid } from "./order-check.js";
import type { OrderRefusal } from "./order-desk.js";

/** Null: the venue is asked. `market` undefined: nothing is known of its mark. */
export function limitBandRefusal(
  market: Market | undefined,
  side: Side,
  priceTicks: number,
  nowNs: number,
): OrderRefusal | null {
  if (market === undefined) return null;
  const ask = { side, nowNs };
  const outer = outerBandTicks(ask, market);
  if (outer === 0 || priceTicks === tighterPrice(side, priceTicks, outer)) return null;
  const edge = formatScaled(bandEdgeTicks(ask, market), canonicalPriceDecimals(market.instrument));
  const beyond = side === "SELL" ? "below" : "above";
  return invalid("price", `must not be ${beyond} ${edge}, the edge of the venue's band around its mark`);
}
