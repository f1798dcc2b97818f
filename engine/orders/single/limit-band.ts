/**
 * A caller's LIMIT beside its venue's price band: one that the venue refuses wherever its mark goes until the order is
 * there is refused here, with nothing sent. Nearer than that the venue decides: our mark is older than its own.
 */
import { formatScaled, multiplyDivide } from "../../domain/decimal.js";
import { canonicalPriceDecimals } from "../../domain/instrument.js";
import type { Side } from "../../domain/order.js";
import { tighterPrice } from "../../domain/price-grid.js";
import type { Market } from "../../market/market.js";
import { bandEdgeTicks, outerBandTicks, usableMarkTicks } from "../../routing/price-band.js";
import { invalid } from "./order-check.js";
import type { OrderRefusal } from "./order-desk.js";

const PPM = 1_000_000;
/** What a wide band is judged by is not reported as the mark: no mark of ours is off by as much. */
const WIDE_MARGIN = 2;

/** Null when the venue is asked. `market` undefined: nothing is known of its mark. */
export function limitBandRefusal(
  market: Market | undefined,
  side: Side,
  priceTicks: number,
  nowNs: number,
): OrderRefusal | null {
  if (market === undefined) return null;
  const ask = { side, nowNs };
  const outer = outerBandTicks(ask, market);
  if (outer !== 0 && priceTicks !== tighterPrice(side, priceTicks, outer))
    return outside(market, side === "SELL" ? "not be below" : "not be above", bandEdgeTicks(ask, market));
  const { wideBand } = market.instrument;
  if (wideBand === undefined) return null;
  const lowTicks = multiplyDivide(usableMarkTicks(ask, market, "floor"), wideBand.lowPpm, PPM, "floor");
  const highTicks = multiplyDivide(usableMarkTicks(ask, market, "ceil"), wideBand.highPpm, PPM, "ceil");
  if (lowTicks > 0 && priceTicks * WIDE_MARGIN <= lowTicks) return outside(market, "be above", lowTicks);
  return highTicks > 0 && priceTicks > highTicks * WIDE_MARGIN ? outside(market, "not be above", highTicks) : null;
}

function outside({ instrument }: Market, must: string, edgeTicks: number): OrderRefusal {
  const edge = formatScaled(edgeTicks, canonicalPriceDecimals(instrument));
  return invalid("price", `must ${must} ${edge}, the edge of the venue's band around its mark`);
}
