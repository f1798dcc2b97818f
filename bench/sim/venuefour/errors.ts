/** Refusals over REST: the envelope for what the engine refuses, plain text for what the front does not understand. */
import type { SimHttpReply } from "../core/types.js";
import type { VenuefourQuirks } from "./options.js";

export class VenuefourRefusal extends Error {
  readonly status: number;
  /** Null: plain text. */
  readonly code: number | null;

  constructor(status: number, text: string, code: number | null) {
    super(text);
    this.status = status;
    this.code = code;
  }
}

/** Business codes moved between the tables of 2025 and 2026. */
const BOOK_NOT_FOUND = { "2025": 2, "2026": 3 } as const;

export function refuseBook(symbol: string, quirks: VenuefourQuirks): VenuefourRefusal {
  return new VenuefourRefusal(422, `Book not found: ${symbol}`, BOOK_NOT_FOUND[quirks.errorTable]);
}

/** As the venue's web framework words a query it cannot read. */
export function refuseQuery(detail: string): VenuefourRefusal {
  return new VenuefourRefusal(400, `Failed to deserialize query string: ${detail}`, null);
}

export function refusalReply(refusal: VenuefourRefusal): SimHttpReply {
  const { status, code, message } = refusal;
  if (code === null) return { status, body: message, contentType: "text/plain; charset=utf-8" };
  return { status, body: JSON.stringify({ success: false, data: null, error: message, code }) };
}
