/** The signed endpoints this room uses, with paths of both generations and weights (sheet sections 5.3, 5.4, 6.7). */
import type { OrderRef } from "../../../engine/ports.js";
import { isClientIdHex } from "../../shared/room/client-id.js";
import type { VenuetwoCall } from "./rest.js";
import type { FormParams } from "../sign/sign.js";

/** `openOrders` for one symbol and for all. */
const OPEN_ORDERS_WEIGHT = 1;
const ALL_OPEN_ORDERS_WEIGHT = 40;

function call(
  method: VenuetwoCall["method"],
  v1Path: string,
  v3Path: string,
  params: FormParams,
  weight: number,
  accountWeight = 0,
): VenuetwoCall {
  return { method, v1Path, v3Path, params, weight, accountWeight };
}

export function newOrderCall(params: FormParams): VenuetwoCall {
  return call("POST", "/fapi/v1/order", "/fapi/v3/order", params, 1, 1);
}

export function cancelOrderCall(symbol: string, key: FormParams[number]): VenuetwoCall {
  return call("DELETE", "/fapi/v1/order", "/fapi/v3/order", [["symbol", symbol], key], 1);
}

export function queryOrderCall(symbol: string, key: FormParams[number]): VenuetwoCall {
  return call("GET", "/fapi/v1/order", "/fapi/v3/order", [["symbol", symbol], key], 1);
}

export function openOrdersCall(symbol: string | null): VenuetwoCall {
  return symbol === null
    ? call("GET", "/fapi/v1/openOrders", "/fapi/v3/openOrders", [], ALL_OPEN_ORDERS_WEIGHT)
    : call("GET", "/fapi/v1/openOrders", "/fapi/v3/openOrders", [["symbol", symbol]], OPEN_ORDERS_WEIGHT);
}

export function positionRiskCall(symbol: string | null): VenuetwoCall {
  return call("GET", "/fapi/v2/positionRisk", "/fapi/v3/positionRisk", symbol === null ? [] : [["symbol", symbol]], 5);
}

export function balanceCall(): VenuetwoCall {
  return call("GET", "/fapi/v2/balance", "/fapi/v3/balance", [], 5);
}

export function commissionRateCall(symbol: string): VenuetwoCall {
  return call("GET", "/fapi/v1/commissionRate", "/fapi/v3/commissionRate", [["symbol", symbol]], 20);
}

export function leverageBracketCall(symbol: string): VenuetwoCall {
  return call("GET", "/fapi/v1/leverageBracket", "/fapi/v3/leverageBracket", [["symbol", symbol]], 1);
}

/** Both amended in full; the venue has it for V3 keys only. */
export function amendOrderCall(symbol: string, params: FormParams): VenuetwoCall {
  return call("PUT", "/fapi/v3/order", "/fapi/v3/order", [["symbol", symbol], ...params], 1, 1);
}

export function cancelAllCall(symbol: string): VenuetwoCall {
  return call("DELETE", "/fapi/v1/allOpenOrders", "/fapi/v3/allOpenOrders", [["symbol", symbol]], 1);
}

/** `countdownMs` 0 stops the countdown. */
export function countdownCancelAllCall(symbol: string, countdownMs: number): VenuetwoCall {
  const params: FormParams = [
    ["symbol", symbol],
    ["countdownTime", String(countdownMs)],
  ];
  return call("POST", "/fapi/v1/countdownCancelAll", "/fapi/v3/countdownCancelAll", params, 10);
}

export function accountCall(): VenuetwoCall {
  return call("GET", "/fapi/v4/account", "/fapi/v3/accountWithJoinMargin", [], 5);
}

export function leverageCall(symbol: string, leverage: number): VenuetwoCall {
  const params: FormParams = [
    ["symbol", symbol],
    ["leverage", String(leverage)],
  ];
  return call("POST", "/fapi/v1/leverage", "/fapi/v3/leverage", params, 1);
}

export function marginTypeCall(symbol: string, mode: "cross" | "isolated"): VenuetwoCall {
  const params: FormParams = [
    ["symbol", symbol],
    ["marginType", mode === "cross" ? "CROSSED" : "ISOLATED"],
  ];
  return call("POST", "/fapi/v1/marginType", "/fapi/v3/marginType", params, 1);
}

export function allOrdersCall(params: FormParams): VenuetwoCall {
  return call("GET", "/fapi/v1/allOrders", "/fapi/v3/allOrders", params, 5);
}

export function userTradesCall(params: FormParams): VenuetwoCall {
  return call("GET", "/fapi/v1/userTrades", "/fapi/v3/userTrades", params, 5);
}

export function incomeCall(params: FormParams): VenuetwoCall {
  return call("GET", "/fapi/v1/income", "/fapi/v3/income", params, 30);
}

export function listenKeyCall(method: "POST" | "PUT" | "DELETE"): VenuetwoCall {
  return { ...call(method, "/fapi/v1/listenKey", "/fapi/v3/listenKey", [], 1), isKeyOnly: true };
}

/** The agents of the signer's account; to a signer that is none the venue says so. */
export function agentsCall(): VenuetwoCall {
  return { ...call("GET", "/fapi/v3/agent", "/fapi/v3/agent", [], 1), isProbe: true };
}

/** Of both markets, at the spot host as well; `clientTranId` is unique for seven days. */
export function walletTransferCall(params: FormParams): VenuetwoCall {
  return call("POST", "/fapi/v1/asset/wallet/transfer", "/fapi/v3/asset/wallet/transfer", params, 5);
}

/** The perp paths of V1 have no version segment. Weights of the four below are not stated. */
export function withdrawCall(accountType: "spot" | "perp", params: FormParams): VenuetwoCall {
  return accountType === "spot"
    ? call("POST", "/api/v1/aster/user-withdraw", "/api/v3/aster/user-withdraw", params, 5)
    : call("POST", "/fapi/aster/user-withdraw", "/fapi/v3/aster/user-withdraw", params, 5);
}

export function withdrawInfoCall(): VenuetwoCall {
  return call("POST", "/fapi/aster/user-withdraw-info", "/fapi/v3/aster/user-withdraw-info", [], 5);
}

export function moneyHistoryCall(): VenuetwoCall {
  return call("POST", "/fapi/aster/deposit-withdraw-history", "/fapi/v3/aster/deposit-withdraw-history", [], 5);
}

/** At the spot host. */
export function spotAccountCall(): VenuetwoCall {
  return call("GET", "/api/v1/account", "/api/v3/account", [], 5);
}

/** How this venue names an order; null for what cannot be one. */
export function orderKey(ref: OrderRef): FormParams[number] | null {
  if ("clientIdHex" in ref) return isClientIdHex(ref.clientIdHex) ? ["origClientOrderId", ref.clientIdHex] : null;
  const { venueOrderId } = ref;
  return /^\d{1,19}$/.test(venueOrderId) && BigInt(venueOrderId) <= MAX_LONG ? ["orderId", venueOrderId] : null;
}

/** The venue types order ids as LONG. */
const MAX_LONG = 2n ** 63n - 1n;
