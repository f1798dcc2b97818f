import type { RoutableVenue } from "../../domain/venue.js";
import type { TradeAccounts } from "../accounts.js";
import type { TradeRequest, BoundQuote } from "../types.js";
import type { Deadline } from "../../domain/deadline.js";
import type { IdempotencyTicket } from "../durable/idempotency.js";

/** One request on its way. */
export interface TradeExecution {
  /** As it came; bound to a quote with the quote's slippage where it names none. */
  request: TradeRequest;
  readonly accounts: TradeAccounts;
  readonly ticket: IdempotencyTicket | null;
  readonly deadline: Deadline;
  /** What the call is bound to; null: nothing, or not looked up yet. */
  quote: BoundQuote | null;
  /** ALL and percent: venues whose position the decision did not know. */
  unread: readonly RoutableVenue[];
  /** Whose order it is; null in public mode. */
  readonly ownerId: string | null;
  /** Texts to blank in whatever a venue says. */
  readonly secrets: readonly string[];
}
