/**
 * Body of `POST /api/trade/position/open` → TradeRequest, or the precise refusal. Pure.
 *
 * Invariant: that of close-request.ts; also, exactly one of size and notionalUsd, and protection prices on the correct
 * sides of each other and of a limit price.
 */
import { compareDecimals } from "../../engine/domain/decimal.js";
import type { TradeRequest } from "../../engine/orders/types.js";
import type { OpenRequestBody } from "../../schemas/open.js";
import type { Validator } from "../../schemas/validate.js";
import {
  checkExact,
  checkLimit,
  checkPreferred,
  checkQuoteTtl,
  checkSplit,
  invalid,
  missing,
  problemsError,
  type CloseDefaults,
  withCommonTerms,
  withSize,
} from "./close-request.js";
import type { MarketView } from "./market-view.js";
import { checkTimeInForce } from "./spec-fields.js";

export function buildOpenRequest(
  input: unknown,
  validate: Validator<OpenRequestBody>,
  view: MarketView,
  defaults: CloseDefaults,
): TradeRequest {
  if (input === null || typeof input !== "object" || Array.isArray(input)) throw invalid("body", "must be an object");
  const checked = validate(input);
  if (!checked.ok) throw problemsError(withSize(checked.problems, input, "notionalUsd"));
  const body = checked.value;
  const size = body.size ?? null;
  const notionalUsd = body.notionalUsd ?? null;
  if (size === null && notionalUsd === null) throw missing("size", "size or notionalUsd is required");
  if (size !== null && notionalUsd !== null) throw invalid("notionalUsd", "must not be given together with size");
  const limitPrice = body.limitPrice ?? null;
  const takeProfit = body.takeProfit ?? null;
  const stopLoss = body.stopLoss ?? null;
  for (const [path, text] of Object.entries({ size, notionalUsd, limitPrice, takeProfit, stopLoss }))
    if (text !== null) checkExact(text, path);
  const orderType = body.orderType ?? (limitPrice === null ? "MARKET" : "LIMIT");
  checkLimit(orderType, limitPrice);
  checkTimeInForce(orderType, body.timeInForce);
  if (body.reduceOnly === true) throw invalid("reduceOnly", "must not be true: this opens");
  checkSplit(body, orderType);
  checkQuoteTtl(body);
  checkProtection(body.direction, limitPrice, takeProfit, stopLoss);
  const preferredExchange = checkPreferred(body, view, "opening");
  return withCommonTerms(body, defaults, {
    symbol: view.resolve(body.symbol),
    direction: body.direction,
    size,
    sizePercent: null,
    orderType,
    triggerPrice: null,
    preferredExchange,
    open: {
      notionalUsd,
      leverage: body.leverage ?? null,
      marginMode: body.marginMode ?? null,
      takeProfit,
      stopLoss,
      closeOnProtectionFailure: body.closeOnProtectionFailure ?? false,
      expectedHoldHours: body.expectedHoldHours ?? null,
      allowNetting: body.allowNetting ?? false,
    },
  });
}

/** A long's take-profit lies above the entry and its stop-loss below; a short's the other way round. */
function checkProtection(
  direction: "LONG" | "SHORT",
  limitPrice: string | null,
  takeProfit: string | null,
  stopLoss: string | null,
): void {
  const [above, below] = direction === "LONG" ? ["above", "below"] : ["below", "above"];
  const isGain = (price: string, entry: string): boolean =>
    compareDecimals(price, entry) === (direction === "LONG" ? 1 : -1);
  if (takeProfit !== null && stopLoss !== null && !isGain(takeProfit, stopLoss))
    throw invalid("takeProfit", `must be ${above} stopLoss for a ${direction}`);
  if (limitPrice === null) return;
  if (takeProfit !== null && !isGain(takeProfit, limitPrice))
    throw invalid("takeProfit", `must be ${above} limitPrice for a ${direction}`);
  if (stopLoss !== null && !isGain(limitPrice, stopLoss))
    throw invalid("stopLoss", `must be ${below} limitPrice for a ${direction}`);
}
