/** Coverage of an account that could not be read, and of its open orders. */
import type { Coverage, CoverageError } from "./portfolio-types.js";
import type { WatchedOrders } from "./watched-orders.js";

/** An unknown account is not flat. */
export const NO_ANSWER_YET: CoverageError = { code: "NO_ANSWER_YET", message: "the venue has not answered yet" };

/** Returns null when nothing failed. */
export function failedState(error: CoverageError | null): "AUTH_REQUIRED" | "ERROR" | null {
  if (error === null) return null;
  return error.code === "AUTH" || error.code === "NEEDS_CREDENTIALS" ? "AUTH_REQUIRED" : "ERROR";
}

/** Open orders have a time, an interval and an error of their own; where they have none, the account's explain why. */
export function ordersCoverageOf(
  orders: WatchedOrders,
  account: Pick<Coverage, "mode" | "error"> & { readonly intervalMs: number },
): Coverage {
  const isLive = orders.isTrusted;
  const isKnown = orders.list() !== null;
  const error = isLive ? null : (orders.error ?? (isKnown ? null : (account.error ?? NO_ANSWER_YET)));
  return {
    state: isLive ? "LIVE" : (failedState(error) ?? "SNAPSHOT"),
    mode: account.mode,
    asOf: orders.asOfMs,
    source: isLive ? "stream" : isKnown ? "venue" : null,
    intervalMs: isLive ? null : account.intervalMs,
    error,
  };
}
