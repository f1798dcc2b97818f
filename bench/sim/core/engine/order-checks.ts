/** Checks before an order exists: grid, mode, reduce-only, margin, liquidity. They change nothing. */
import type { MatchingDeps, SymbolState } from "./engine-deps.js";
import { absBig, feeE12, isOnGrid, notionalE12, valueAtE8 } from "../model/fixed.js";
import { type AccountState, sideSign } from "../model/state.js";
import { triggerMet } from "./triggers.js";
import type { SimOrderRequest, SimPositionSide, SimRefusal, SimSide } from "../model/types.js";

const OPEN_ORDERS_MAX = 5000;

/** Returns why the engine refuses the order, or null when it takes it. */
export function checkOrder(deps: MatchingDeps, account: AccountState, request: SimOrderRequest): SimRefusal | null {
  const { policies } = deps;
  const state = deps.symbols.get(request.symbol);
  if (state === undefined) return "UNKNOWN_SYMBOL";
  if (state.halted) return "HALTED";
  const { instrument } = state;
  const { qtyLots, priceTicks, trigger } = request;
  if (!Number.isSafeInteger(qtyLots) || qtyLots < 0 || qtyLots % instrument.qtyStepLots !== 0) return "BAD_QTY";
  if (qtyLots === 0 && !(request.closePosition && trigger !== null)) return "BAD_QTY";
  if (request.type === "LIMIT") {
    if (
      priceTicks === null ||
      !Number.isSafeInteger(priceTicks) ||
      priceTicks <= 0 ||
      !isOnGrid(instrument, priceTicks)
    )
      return "BAD_PRICE";
  }
  if (account.hedgeMode !== (request.positionSide !== "BOTH")) return "POSITION_SIDE";
  if (request.clientId !== null && policies.clientIdReuse === "whenClosed") {
    const known = account.byClientId.get(request.clientId);
    if (known !== undefined && account.openOrders.has(known.orderId)) return "DUPLICATE_CLIENT_ID";
  }
  if (account.openOrders.size >= OPEN_ORDERS_MAX) return "TOO_MANY_ORDERS";
  if (trigger !== null) {
    const fires =
      policies.triggerAlreadyMet === "reject" &&
      trigger.kind !== "TRAILING" &&
      triggerMet(state, request.side, trigger, deps.markE8(request.symbol));
    return fires ? "WOULD_TRIGGER" : null;
  }
  const reducible = deps.ledger.reducibleLots(account, request.symbol, request.side, request.positionSide);
  if (mustReduce(account, request)) {
    if (reducible === 0) return "REDUCE_ONLY";
    if (qtyLots > reducible && policies.reduceOnlyExcess === "reject") return "REDUCE_ONLY";
  } else {
    const refusal = checkMargin(deps, account, state, request, Math.max(0, qtyLots - reducible));
    if (refusal !== null) return refusal;
  }
  return checkLiquidity(deps, state, request);
}

/** Returns a refusal when the free margin cannot carry the part that opens or enlarges a position, else null. */
export function checkMargin(
  deps: MatchingDeps,
  account: AccountState,
  state: SymbolState,
  request: { priceTicks: number | null; side: SimSide; symbol: string },
  openLots: number,
): SimRefusal | null {
  if (openLots === 0) return null;
  const { margins } = deps;
  const { instrument } = state;
  const markNotional = absBig(valueAtE8(instrument, deps.markE8(instrument.symbol), openLots));
  const limitNotional =
    request.priceTicks === null ? markNotional : notionalE12(instrument, request.priceTicks, openLots);
  // A buy above the mark fills at the limit at worst; a sell below it still needs margin for the mark.
  const notional = limitNotional > markNotional && request.side === "BUY" ? limitNotional : markNotional;
  const needed =
    notional / BigInt(margins.leverage(account, instrument.symbol)) +
    feeE12(notional, Math.max(0, account.takerFeeMilliBps));
  return needed > margins.margin(account).availableE12 ? "MARGIN" : null;
}

function checkLiquidity(deps: MatchingDeps, state: SymbolState, request: SimOrderRequest): SimRefusal | null {
  const { policies } = deps;
  const { book } = state;
  if (request.type === "LIMIT" && request.timeInForce === "POST_ONLY") {
    return policies.postOnlyCross === "reject" && book.takeable(request.side, request.priceTicks, 1) > 0
      ? "POST_ONLY"
      : null;
  }
  if (policies.iocNoMatch !== "reject") return null;
  const immediate = request.type === "MARKET" || request.timeInForce === "IOC";
  if (immediate && book.takeable(request.side, request.priceTicks, 1) === 0) return "NO_LIQUIDITY";
  if (
    request.timeInForce === "FOK" &&
    book.takeable(request.side, request.priceTicks, request.qtyLots) < request.qtyLots
  )
    return "FOK";
  return null;
}

/** Reduce-only by flag, or by being the closing side of a hedge-mode position (which cannot flip). */
export function mustReduce(
  account: { readonly hedgeMode: boolean },
  order: {
    readonly reduceOnly: boolean;
    readonly closePosition: boolean;
    readonly positionSide: SimPositionSide;
    readonly side: SimSide;
  },
): boolean {
  if (order.reduceOnly || order.closePosition) return true;
  if (!account.hedgeMode || order.positionSide === "BOTH") return false;
  return (order.positionSide === "LONG") !== sideSign(order.side) > 0;
}
