/** Refusals of the venue: HTTP 400 with code and message, error frames without type or channel (fact sheet 3, 9.2, 12). */
import type { SimHttpReply } from "../../core/server/server-types.js";

export class VenuethreeRefusal extends Error {
  readonly code: number;
  readonly status: number;

  constructor(code: number, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export const CODE = {
  parameter: 20001,
  invalidAuth: 20013,
  accountNotFound: 21100,
  transactionNotFound: 21500,
  marketIndex: 21602,
  timestampOrder: 22400,
  timestamp: 22401,
  resolution: 22402,
  tooManyRequests: 23000,
  tooManySubscriptions: 23001,
  tooManyAccounts: 23002,
  tooManyConnections: 23003,
  notFound: 29404,
  serverError: 29500,
  invalidJson: 30000,
  invalidType: 30001,
  notSubscribed: 30002,
  alreadySubscribed: 30003,
  invalidChannel: 30005,
  unsupported: 30006,
  invalidData: 30007,
  tooManyMessages: 30009,
} as const;

/** The odd text, with two spaces, was recorded. */
export const BAD_MARKET_CHANNEL = "Invalid Channel:  (marketId)";

/** Refusals of transactions, at the API or by the sequencer. */
const TRANSACTION_TEXTS = {
  21100: "account not found",
  21102: "invalid account index",
  21104: "invalid nonce",
  21105: "batch transaction nonce is not increasing",
  21106: "invalid ToAccount",
  21108: "invalid PublicKey,please run changePubKey",
  21109: "api key not found",
  21110: "invalid api key index",
  21113: "invalid initial margin fraction",
  21120: "invalid signature",
  21121: "all transactions in the batch must have use same account and apikey",
  21123: "invalid account type",
  21124: "invalid route type",
  21129: "too many sub accounts",
  21132: "margin mode change on a market with position or open order is not allowed",
  21134: "invalid fee",
  21149: "integrator is not approved",
  21300: "invalid asset amount",
  21301: "not enough collateral",
  21304: "not enough asset balance",
  21501: "invalid tx info",
  21504: "fail to l1 signature",
  21505: "unsupported tx type",
  21506: "too many pending txs. Please try again later",
  21508: "account is below initial margin, can't execute transaction",
  21513: "TxInfos and TxTypes should have the same length",
  21514: "maximum 50 transactions allowed per batch",
  21600: "given order is not an active limit order",
  21602: "invalid market index",
  21605: "invalid market status",
  21613: "invalid margin mode",
  21614: "no position found",
  21615: "invalid update margin direction",
  21700: "invalid order index",
  21701: "invalid base amount",
  21702: "invalid price",
  21703: "invalid isAsk",
  21704: "invalid OrderType",
  21705: "invalid OrderTimeInForce",
  21706: "invalid order base or quote amount",
  21707: "account is not owner of the order",
  21710: "unsupported order type",
  21711: "invalid expiry",
  21713: "invalid cancel all time in force",
  21714: "invalid cancel all time",
  21715: "given order is not an active order",
  21717: "maximum active limit order count reached",
  21718: "maximum active limit order count per market reached",
  21719: "maximum pending order count reached",
  21720: "maximum pending order count per market reached",
  21727: "invalid client order index",
  21728: "client order index already exists",
  21729: "invalid order trigger price",
  21732: "reduce only increases position",
  21733: "order price flagged as an accidental price",
  21734: "limit order price is too far from the mark price",
  21735: "SL/TP order price is too far from the trigger price",
  21738: "invalid reduce only direction",
  21739: "not enough margin to create the order",
  21740: "invalid reduce only mode",
  21741: "invalid grouping type",
  21742: "invalid order group size",
  21743: "invalid order info",
  21801: "invalid asset index",
  21805: "only usdc transfer supported",
} as const;

export type TransactionCode = keyof typeof TRANSACTION_TEXTS;

export function transactionText(code: TransactionCode): string {
  return TRANSACTION_TEXTS[code];
}

export function refuseTransaction(code: TransactionCode): VenuethreeRefusal {
  return new VenuethreeRefusal(code, transactionText(code));
}

/** The status of bad tokens was recorded. */
export function refuseAuth(detail: string): VenuethreeRefusal {
  return new VenuethreeRefusal(CODE.invalidAuth, `invalid auth: ${detail}`, 401);
}

export function refuseParameter(detail: string): VenuethreeRefusal {
  return new VenuethreeRefusal(CODE.parameter, `invalid param : ${detail}`);
}

export function refusalReply(refusal: VenuethreeRefusal): SimHttpReply {
  return { status: refusal.status, body: JSON.stringify({ code: refusal.code, message: refusal.message }) };
}

export function errorFrame(code: number, message: string): string {
  return JSON.stringify({ error: { code, message } });
}
