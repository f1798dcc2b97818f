/** What the parts of the single-order service share: ports, collaborators, bounds. Built once by the service. */
import type { Clock } from "../../domain/clock.js";
import type { Instrument } from "../../domain/instrument.js";
import type { Logger } from "../../domain/logger.js";
import type { GuardReservation, Guards } from "../../guards/guards.js";
import type { AccountSession, VenueRoom } from "../../ports.js";
import type { KeyedHash, RandomIds } from "../../storage/keyed-hash.js";
import type { StateStore } from "../../storage/state-store.js";
import type { SendBounds } from "../absence-proof.js";
import type { Background } from "../background.js";
import type { ClientIdSource } from "../client-id.js";
import type { Deadline } from "../../domain/deadline.js";
import type { IdempotencyRecords, IdempotencyTicket } from "../idempotency.js";
import type { IntentLog } from "../intent-log.js";
import type { OrderCore } from "../order-core.js";
import type { OrderFollows } from "../order-follows.js";
import type { RecordSink } from "../record-sink.js";
import type { Resolver } from "../resolver.js";
import type { Rooms } from "../trade-accounts.js";
import type { OrderAttempt } from "../trade-run.js";
import type { ClientOrderIdIndex } from "../client-order-id-index.js";
import type { RecentOrders } from "./recent-orders.js";
import type { SingleRun, StoredAnswer } from "./single-run.js";
import type { UnsettledOrders } from "./unsettled-orders.js";

/** A book older than this prices no MARKET order (routing design 1.5); a venue's own limit may be tighter. */
export const MAX_QUOTE_AGE_MS = 2_000;
/** One status look-up, change or setting is answered within this, however long the caller's deadline. */
export const MAX_CALL_TIMEOUT_MS = 10_000;

export interface SingleParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rooms: Rooms;
  readonly store: StateStore;
  readonly hash: KeyedHash;
  readonly randomIds: RandomIds;
  readonly clientIds: ClientIdSource;
  readonly intents: IntentLog<SingleRun>;
  readonly idempotency: IdempotencyRecords<SingleRun, StoredAnswer>;
  readonly names: ClientOrderIdIndex;
  readonly unsettled: UnsettledOrders;
  /** The last ones that were confirmed, for the moment in which their venue does not list them yet. */
  readonly recent: RecentOrders;
  readonly resolver: Resolver;
  readonly follows: OrderFollows<SingleRun>;
  readonly bounds: SendBounds;
  readonly guards: Guards;
  /** Of attempts of this start; of others the guards know by their rows. */
  readonly reservations: WeakMap<OrderAttempt, GuardReservation>;
  readonly background: Background;
  readonly records: RecordSink;
  readonly core: OrderCore<SingleRun, StoredAnswer>;
}

/** One order on its way, with the session it is sent with. */
export interface OrderContext {
  readonly room: VenueRoom;
  readonly instrument: Instrument;
  readonly session: AccountSession;
  /** What it was opened with: an order that rests is followed with them. */
  readonly credentials: unknown;
  /** Keyed hash of venue, account and scope: whose order it is. */
  readonly accountHash: string;
  readonly apiKeyId: string | null;
  readonly ticket: IdempotencyTicket<SingleRun, StoredAnswer> | null;
  readonly deadline: Deadline;
  /** Texts to blank in whatever a venue says. */
  readonly secrets: readonly string[];
  /** The resolver has the session and closes it. */
  taken: boolean;
}
