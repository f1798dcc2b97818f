/** Refusals over REST: the envelope for refusals of the engine, plain text for requests that the front cannot read. */
import type { SimHttpReply } from "../../core/server/server-types.js";
import type { VenuefourQuirks } from "./options.js";

export class VenuefourRefusal extends Error {
  readonly status: number;
  /** Null for plain text. */
  readonly code: number | null;
  readonly errorId: string | null;
  /** Over the socket: 400 invalid request, 401 signature, 402 signer, 420 engine, 429 limit, 500 unknown. */
  readonly socketCode: number;

  constructor(
    status: number,
    text: string,
    code: number | null,
    more: { readonly errorId?: string; readonly socketCode?: number } = {},
  ) {
    super(text);
    this.status = status;
    this.code = code;
    this.errorId = more.errorId ?? null;
    this.socketCode = more.socketCode ?? (status === 422 ? ENGINE_ERROR : status);
  }
}

const ENGINE_ERROR = 420;

/** Business codes moved between the tables of 2025 and 2026; the short table of 2025 has 0 for most. */
const CODES = {
  accountNotFound: [1, 1],
  bookNotFound: [2, 3],
  insufficientBalance: [4, 5],
  orderNotFound: [5, 6],
  amountTooLow: [0, 7],
  amountTooHigh: [0, 8],
  openOrderLimit: [0, 10],
  invalidLeverage: [7, 11],
  cannotUpdateMargin: [8, 12],
  positionNotFound: [9, 13],
  invalidStopTick: [0, 16],
  invalidStopSide: [0, 17],
  invalidStopAmount: [0, 18],
  reduceOnlySide: [0, 21],
  reduceOnlyAmount: [0, 22],
  reduceOnlyPosition: [0, 23],
  noReasonablePrice: [0, 25],
  duplicateClientId: [0, 36],
  tradingDisabled: [0, 38],
  tpslLimit: [10, 49],
  unsupported: [0, 51],
  invalidTickSize: [0, 52],
  invalidAmount: [0, 59],
} as const satisfies Record<string, readonly [number, number]>;

export type BusinessError = keyof typeof CODES;

export function refuseBusiness(error: BusinessError, text: string, quirks: VenuefourQuirks): VenuefourRefusal {
  const [of2025, of2026] = CODES[error];
  return new VenuefourRefusal(422, text, quirks.errorTable === "2025" ? of2025 : of2026);
}

export function refuseBook(symbol: string, quirks: VenuefourQuirks): VenuefourRefusal {
  return refuseBusiness("bookNotFound", `Book not found: ${symbol.slice(0, 64)}`, quirks);
}

/** Prices and amounts off the grid: a server error by the pages of 2025, codes of their own since. */
export function refuseMultiple(
  error: "invalidTickSize" | "invalidAmount",
  value: string,
  quirks: VenuefourQuirks,
): VenuefourRefusal {
  if (quirks.errorTable === "2025") return new VenuefourRefusal(500, "Internal server error", 500);
  const what = error === "invalidTickSize" ? "tick size" : "amount";
  return refuseBusiness(error, `Invalid ${what}: ${value}`, quirks);
}

/** As the venue's web framework words a query it cannot read. */
export function refuseQuery(detail: string): VenuefourRefusal {
  return new VenuefourRefusal(400, `Failed to deserialize query string: ${detail}`, null);
}

/** The same of a body. */
export function refuseBody(detail: string): VenuefourRefusal {
  return new VenuefourRefusal(400, `Failed to deserialize the JSON body into the target type: ${detail}`, null);
}

/** `plainVerification`: servers of 2025 answer a wrong signature with nineteen bytes of text. */
export function refusalReply(refusal: VenuefourRefusal, quirks: VenuefourQuirks): SimHttpReply {
  const { status, code, message, errorId } = refusal;
  const isPlain = quirks.plainVerification && errorId === "signature_verification_failed";
  if (code === null || isPlain) {
    const body = isPlain ? "Verification failed" : message;
    return { status, body, contentType: "text/plain; charset=utf-8" };
  }
  const more = errorId === null ? {} : { error_id: errorId };
  return { status, body: JSON.stringify({ success: false, data: null, error: message, code, ...more }) };
}
