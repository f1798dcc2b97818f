/** The options of calls that are made for a session, where a key pays for them. */
import type { AccountSession, CallOptions } from "../../../engine/ports.js";

export function paidBy({ payer }: Pick<AccountSession, "payer">, options: CallOptions): CallOptions {
  return payer === null ? options : { ...options, payer };
}
