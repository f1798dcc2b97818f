/** The venue's refusals: code, text and HTTP status as it answers them. Texts in the wording of the venue family. */
import type { SimHttpReply } from "../../core/server/server-types.js";

/** Thrown inside the room, answered by the router as the venue's JSON body. */
export class VenuetwoRefusal extends Error {
  readonly code: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: number, text: string, status = 400, headers: Readonly<Record<string, string>> = {}) {
    super(text);
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}

export function refusalBody(refusal: VenuetwoRefusal): string {
  return JSON.stringify({ code: refusal.code, msg: refusal.message });
}

export function refusalReply(refusal: VenuetwoRefusal): SimHttpReply {
  return { status: refusal.status, body: refusalBody(refusal), headers: refusal.headers };
}

const TEXTS = {
  unknown: [-1000, "An unknown error occurred while processing the request."],
  unsupported: [-1020, "This operation is not supported."],
  recvWindow: [-1021, "Timestamp for this request is outside of the recvWindow."],
  ahead: [-1021, "Timestamp for this request was 1000ms ahead of the server's time."],
  signature: [-1022, "Signature for this request is not valid."],
  startAfterEnd: [-1023, "Start time is greater than end time."],
  precision: [-1111, "Precision is over the maximum defined for this asset."],
  timeInForce: [-1115, "Invalid timeInForce."],
  orderType: [-1116, "Invalid orderType."],
  side: [-1117, "Invalid side."],
  interval: [-1120, "Invalid interval."],
  symbol: [-1121, "Invalid symbol."],
  listenKey: [-1125, "This listenKey does not exist."],
  combination: [-1128, "Combination of optional parameters invalid."],
  orderRespType: [-1136, "Invalid newOrderRespType."],
  newOrderRejected: [-2010, "Order was rejected."],
  cancelRejected: [-2011, "Unknown order sent."],
  noSuchOrder: [-2013, "Order does not exist."],
  keyFormat: [-2014, "API-key format invalid."],
  keyRejected: [-2015, "Invalid API-key, IP, or permissions for action."],
  balance: [-2018, "Balance is insufficient."],
  margin: [-2019, "Margin is insufficient."],
  wouldTrigger: [-2021, "Order would immediately trigger."],
  reduceOnly: [-2022, "ReduceOnly Order is rejected."],
  maxOpenOrders: [-2025, "Reach max open order limit."],
  maxLeverageRatio: [-2027, "Exceeded the maximum allowable position at current leverage."],
  minLeverageRatio: [-2028, "Leverage is smaller than permitted: insufficient margin balance."],
  priceBelowZero: [-4001, "Price less than 0."],
  priceAboveMax: [-4002, "Price greater than max price."],
  qtyNotPositive: [-4003, "Quantity less than zero."],
  qtyBelowMin: [-4004, "Quantity less than min quantity."],
  qtyAboveMax: [-4005, "Quantity greater than max quantity."],
  stopBelowZero: [-4006, "Stop price less than zero."],
  stopAboveMax: [-4007, "Stop price greater than max price."],
  priceBelowMin: [-4013, "Price less than min price."],
  priceTick: [-4014, "Price not increased by tick size."],
  clientIdLength: [-4015, "Client order id length should be less than 36 chars"],
  priceAboveCap: [-4016, "Price is higher than mark price multiplier cap."],
  depthLimit: [-4021, "Invalid depth limit"],
  marketStatus: [-4022, "Market status invalid."],
  qtyStep: [-4023, "Quantity not increased by step size."],
  priceBelowFloor: [-4024, "Price is lower than mark price multiplier floor."],
  leverage: [-4028, "Leverage is not valid."],
  workingType: [-4031, "Invalid parameter working type."],
  cancelSize: [-4032, "Exceed the maximum cancel order size"],
  maxStopOrders: [-4045, "Reach max stop order limit."],
  marginTypeSame: [-4046, "No need to change margin type."],
  marginTypeOrders: [-4047, "Margin type cannot be changed if there exists open orders."],
  marginTypePosition: [-4048, "Margin type cannot be changed if there exists position."],
  isolatedOnly: [-4049, "Add margin only support for isolated position."],
  crossBalance: [-4050, "Cross balance insufficient."],
  isolatedBalance: [-4051, "Isolated balance insufficient."],
  noPositionForMargin: [-4054, "Cannot add position margin: position is 0."],
  amountPositive: [-4055, "Amount must be positive."],
  positionModeSame: [-4059, "No need to change position side."],
  positionSideInvalid: [-4060, "Invalid position side."],
  positionSideMode: [-4061, "Order's position side does not match user's setting."],
  reduceOnlyConflict: [-4062, "Invalid or improper reduceOnly value."],
  positionModeOrders: [-4067, "Position side cannot be changed if there exists open orders."],
  positionModePosition: [-4068, "Position side cannot be changed if there exists position."],
  batchSize: [-4082, "Invalid number of batch place orders."],
  transferIdLength: [-4114, "clientTranId is not valid."],
  transferIdUsed: [-4115, "clientTranId is duplicated."],
  /** From the parent dialect; the venue's own pages name no code for it. */
  clientIdUsed: [-4116, "ClientOrderId is duplicated."],
  marketRejected: [-4131, "The counterparty's best price does not meet the PERCENT_PRICE filter limit."],
  activationPrice: [-4135, "Invalid activation price"],
  quantityWithClose: [-4137, "Quantity must be zero with closePosition equals true"],
  reduceOnlyWithClose: [-4138, "Reduce only must be true with closePosition equals true"],
  closed: [-4141, "Symbol is closed."],
  leverageIsolated: [-4161, "Leverage reduction is not supported in Isolated Margin Mode with open positions."],
  stopAboveBand: [-4183, "Limit price can't be higher than the stop price multiplier cap."],
  stopBelowBand: [-4184, "Limit price can't be lower than the stop price multiplier floor."],
  nonceExpired: [-4225, "Nonce Expired"],
  nonceDuplicate: [-4225, "Nonce Duplicated"],
} as const satisfies Record<string, readonly [number, string]>;

/** HTTP 401 goes with key problems; everything else of a caller's making is 400. */
const UNAUTHORIZED: ReadonlySet<number> = new Set([-2014, -2015]);

export function refuse(name: keyof typeof TEXTS): VenuetwoRefusal {
  const [code, text] = TEXTS[name];
  return new VenuetwoRefusal(code, text, UNAUTHORIZED.has(code) ? 401 : 400);
}

export function refuseMandatory(parameter: string): VenuetwoRefusal {
  return new VenuetwoRefusal(-1102, `Mandatory parameter '${parameter}' was not sent, was empty/null, or malformed.`);
}

export function refuseNotRequired(parameter: string): VenuetwoRefusal {
  return new VenuetwoRefusal(-1106, `Parameter '${parameter}' sent when not required.`);
}

export function refuseIllegal(parameter: string, legal: string): VenuetwoRefusal {
  return new VenuetwoRefusal(-1100, `Illegal characters found in parameter '${parameter}'; legal range is '${legal}'.`);
}

export function refuseInvalid(parameter: string): VenuetwoRefusal {
  return new VenuetwoRefusal(-1130, `Data sent for parameter '${parameter}' is not valid.`);
}

/** `minimum` as the venue prints it. */
export function refuseNotional(minimum: string): VenuetwoRefusal {
  return new VenuetwoRefusal(
    -4164,
    `Order's notional must be no smaller than ${minimum} (unless you choose reduce only)`,
  );
}
