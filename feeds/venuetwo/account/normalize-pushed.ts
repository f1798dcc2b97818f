/** Wire → domain, for what the account streams push (REST rows: normalize.ts). Pure. */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountEvent } from "../../../engine/ports.js";
import { lotsOf } from "../../shared/room/money-text.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import { normalizeOrder, normalizePosition, tradeIdOf, uncounted } from "./normalize.js";
import type { VenuetwoWireOrder } from "./wire.js";
import type { VenuetwoWireOrderUpdate, VenuetwoWirePositionUpdate } from "../market/wire.js";

// ---------------------------------------------------------------- orders

/** The stream's order under the names REST has for it: one normalisation for both. */
function orderOfUpdate(wire: VenuetwoWireOrderUpdate): VenuetwoWireOrder {
  return {
    orderId: wire.i,
    symbol: wire.s,
    status: wire.X,
    clientOrderId: wire.c === "" ? null : wire.c,
    side: wire.S,
    positionSide: wire.ps,
    type: wire.o,
    // Liquidations of the sister dialect have a type of their own; they are market orders in effect.
    origType: wire.ot === "LIQUIDATION" ? "MARKET" : wire.ot,
    price: wire.p,
    avgPrice: wire.ap,
    origQty: wire.q,
    executedQty: wire.z,
    cumQuote: null,
    reduceOnly: wire.R,
    stopPrice: wire.sp,
    timeInForce: wire.f,
    time: null,
    updateTime: wire.T,
  };
}

/** Throws WireFault where the update does not fit the instrument: then only REST knows. */
export function normalizeOrderUpdate(wire: VenuetwoWireOrderUpdate, instrument: Instrument): VenueOrder {
  return normalizeOrder(orderOfUpdate(wire), instrument);
}

const FILL_WORDS: ReadonlySet<string> = new Set(["TRADE", "CALCULATED"]);

/**
 * The trade in an update, null if it has none. Throws WireFault when something filled and the update does not show how.
 */
export function normalizeFill(
  wire: VenuetwoWireOrderUpdate,
  order: VenueOrder,
  instrument: Instrument,
): Extract<AccountEvent, { kind: "fill" }> | null {
  const qtyLots = lotsOf(instrument, wire.l, "l");
  if (qtyLots === 0) return null;
  // CALCULATED is a liquidation: it fills like a trade.
  if (!FILL_WORDS.has(wire.x)) throw new WireFault("x", "is not a known word of a fill");
  if (!isPositive(wire.L)) throw new WireFault("L", "is not a price");
  if (!isPositive(wire.t)) throw new WireFault("t", "is not a trade id");
  const fee = wire.N !== null && wire.n !== null ? { amount: wire.n, asset: wire.N } : null;
  const isLiquidation = wire.x === "CALCULATED" || isLiquidationId(wire.c);
  return {
    kind: "fill",
    order,
    qtyLots,
    price: wire.L,
    fee,
    tradeId: tradeIdOf(wire.s, wire.t),
    ...(isLiquidation ? { isLiquidation } : {}),
  };
}

/** Client ids that the venue gives its own liquidation orders (sheet section 6.7). */
export function isLiquidationId(clientOrderId: string | null): boolean {
  return clientOrderId?.startsWith("autoclose-") === true;
}

function isPositive(text: string): boolean {
  return /[1-9]/.test(text) && !text.startsWith("-");
}

// ---------------------------------------------------------------- positions

/** Of a contract that is not listed. Null for a flat row. */
export function uncountedUpdate(wire: VenuetwoWirePositionUpdate, tsVenueMs: number): VenuePosition | null {
  const { s: symbol, pa: positionAmt, ps: positionSide, ep: entryPrice } = wire;
  return uncounted({ symbol, positionAmt, positionSide, entryPrice, updateTime: tsVenueMs });
}

/**
 * One row per symbol and position side; null when it is flat. What the event does not carry is null, but
 * for the leverage, which changes by an event of its own: the liquidation price moved with the position,
 * and the old one would mislead.
 */
export function normalizePositionUpdate(
  wire: VenuetwoWirePositionUpdate,
  instrument: Instrument,
  tsVenueMs: number,
  leverageBefore: number | null,
): VenuePosition | null {
  return normalizePosition(
    {
      symbol: wire.s,
      positionAmt: wire.pa,
      entryPrice: wire.ep,
      markPrice: null,
      unRealizedProfit: wire.up,
      liquidationPrice: null,
      leverage: leverageBefore === null ? null : String(leverageBefore),
      marginType: wire.mt,
      maxNotionalValue: null,
      isolatedMargin: wire.iw,
      positionSide: wire.ps,
      updateTime: tsVenueMs,
    },
    instrument,
  );
}
