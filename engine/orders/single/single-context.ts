import type { Instrument } from "../../domain/instrument.js";
import type { AccountSession, VenueRoom } from "../../ports.js";
import type { Deadline } from "../../domain/deadline.js";
import type { IdempotencyTicket } from "../durable/idempotency.js";
import type { SingleRun, StoredAnswer } from "./single-run.js";

/** A book older than this prices no MARKET order (routing design 1.5); a venue's own limit may be tighter. */
export const MAX_QUOTE_AGE_MS = 2_000;
/** One status look-up, change or setting is answered within this, however long the caller's deadline. */
export const MAX_CALL_TIMEOUT_MS = 10_000;

/** One order on its way, with the session it is sent with. */
export interface OrderContext {
  readonly room: VenueRoom;
  readonly instrument: Instrument;
  readonly session: AccountSession;
  /** What it was opened with: an order that rests is followed with them. */
  readonly credentials: unknown;
  readonly ownerId: string | null;
  /** Keyed hash of owner, venue, account and scope: whose order it is. */
  readonly accountHash: string;
  /** The account as each owner's whose rows the caller reaches, `accountHash` first. */
  readonly accountHashes: readonly string[];
  readonly ticket: IdempotencyTicket<SingleRun, StoredAnswer> | null;
  readonly deadline: Deadline;
  /** Texts to blank in whatever a venue says. */
  readonly secrets: readonly string[];
  /** The resolver has the session and closes it. */
  taken: boolean;
}
