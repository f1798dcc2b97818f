/** What the portfolio reports of one account at one venue, and what its listeners receive. */
import type { VenueOrder } from "../domain/order.js";
import type { ChainReadFailure } from "../client-signed-room.js";
import type { AccountEvent } from "../ports.js";
import type { PositionChange } from "./position-changes.js";
import type { ResolvedExecution } from "./resolved-executions.js";

/**
 * `LIVE`: pushed and reconciled, or read with each block of a chain. `SNAPSHOT`: right at `asOf` (polled, or a stream that is being reconciled).
 * `AUTH_REQUIRED`: needs credentials, or other ones. `ERROR`: could not be read; what is shown is older, or nothing.
 */
type CoverageState = "LIVE" | "SNAPSHOT" | "AUTH_REQUIRED" | "ERROR";

export interface CoverageError {
  readonly code:
    | ChainReadFailure
    | "NOT_CONFIGURED"
    | "NOT_APPLICABLE"
    | "MISSING_CREDENTIALS"
    | "NO_ANSWER_YET"
    | "POSITION_UNLISTED";
  readonly message: string;
}

export interface Coverage {
  readonly state: CoverageState;
  readonly mode: "push" | "poll" | "request";
  /** Wall ms of the state shown; null before the first. */
  readonly asOf: number | null;
  readonly source: "stream" | "venue" | null;
  /** Polled: time between two polls of this account, at the present number of accounts. */
  readonly intervalMs: number | null;
  /**
   * POSITION_UNLISTED may come with any state: what is shown is right, but the account also holds something that cannot
   * be shown.
   */
  readonly error: CoverageError | null;
}

export type AccountChange =
  /** Never empty. */
  | { readonly kind: "positions"; readonly changes: readonly PositionChange[] }
  /** State, mode, error, or the first reply for the account. */
  | { readonly kind: "coverage" }
  | { readonly kind: "order"; readonly order: VenueOrder }
  | Extract<AccountEvent, { readonly kind: "fill" }>
  | { readonly kind: "resolved"; readonly execution: ResolvedExecution }
  /** More changed than is reported one by one: read the open orders again. */
  | { readonly kind: "ordersReset" };

/** Called after the state is applied. May not throw. */
export type AccountListener = (change: AccountChange) => void;
