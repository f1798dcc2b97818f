/** What a caller hears of a transfer that failed: nothing of it moves money any more. */
import { ServiceError } from "../domain/errors.js";
import type { TransferRow } from "./transfer-row.js";

const CODES = {
  deposit: "FAILED_TO_DEPOSIT",
  withdrawal: "FAILED_TO_WITHDRAW",
  internal: "FAILED_TO_TRANSFER",
} as const;

/** `cause`: what the signer said in this request. */
export function refusalOf(row: TransferRow, cause: unknown = null): ServiceError {
  const { transferId, venue, reason, reasonText } = row;
  if (reason === "NOT_SIGNED" && cause instanceof ServiceError)
    return new ServiceError(
      cause.code === "FAILED_TO_SIGN" ? CODES[row.kind] : cause.code,
      { ...cause.context, transferId },
      { cause },
    );
  if (reason === "CHAIN_UNAVAILABLE" && row.kind === "deposit")
    return new ServiceError("CHAIN_UNAVAILABLE", { chainId: row.chainId, transferId });
  if (reason === "VENUE_UNREACHED")
    return new ServiceError("VENUE_UNAVAILABLE", { exchange: venue, reason: reasonText || "TIMEOUT", transferId });
  if (reason === "VENUE_RATE_LIMITED") return new ServiceError("VENUE_RATE_LIMITED", { exchange: venue, transferId });
  if (reason === "VENUE_BALANCE")
    return new ServiceError("INSUFFICIENT_BALANCE", {
      ...{ exchange: venue, transferId, venueText: reasonText },
      ...(row.kind === "internal" ? { reason: "TRANSFER" } : {}),
    });
  const text = reasonText === "" ? {} : { [row.kind === "deposit" ? "chainText" : "venueText"]: reasonText };
  return new ServiceError(CODES[row.kind], { exchange: venue, reason, transferId, ...text });
}
