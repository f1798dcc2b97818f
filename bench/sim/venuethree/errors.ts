/** Refusals of the venue: HTTP 400 with code and message, error frames without type or channel (fact sheet 3, 9.2, 12). */
import type { SimHttpReply } from "../core/types.js";

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
  marketIndex: 21602,
  timestampOrder: 22400,
  timestamp: 22401,
  resolution: 22402,
  tooManyRequests: 23000,
  tooManySubscriptions: 23001,
  tooManyConnections: 23003,
  notFound: 29404,
  serverError: 29500,
  invalidJson: 30000,
  invalidType: 30001,
  notSubscribed: 30002,
  alreadySubscribed: 30003,
  invalidChannel: 30005,
  unsupported: 30006,
  tooManyMessages: 30009,
} as const;

/** The odd text, with two spaces, was recorded. */
export const BAD_MARKET_CHANNEL = "Invalid Channel:  (marketId)";

export function refuseParameter(detail: string): VenuethreeRefusal {
  return new VenuethreeRefusal(CODE.parameter, `invalid param : ${detail}`);
}

export function refusalReply(refusal: VenuethreeRefusal): SimHttpReply {
  return { status: refusal.status, body: JSON.stringify({ code: refusal.code, message: refusal.message }) };
}

export function errorFrame(code: number, message: string): string {
  return JSON.stringify({ error: { code, message } });
}
