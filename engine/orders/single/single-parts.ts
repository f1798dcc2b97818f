/** What the steps of single orders are made of, built once for the service that owns them. */
import type { Guards } from "../../guards/guards.js";
import type { Rooms } from "../accounts.js";
import type { Sweepable } from "../background.js";
import { NO_RECORDS, type RecordSink } from "../conclude/record-sink.js";
import { ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import { IdempotencyRecords } from "../durable/idempotency.js";
import type { FollowOwner } from "../follow/followed-run.js";
import { OrderFollows } from "../follow/order-follows.js";
import { OrderListeners } from "../follow/order-listeners.js";
import { sendingParts, type SendingOptions } from "../send/sending-parts.js";
import type { CloseBatch, CloseParts } from "./close-batch.js";
import type { AmendParts } from "./order-change.js";
import type { CloseAllAnswer } from "./order-desk.js";
import type { StatusParts } from "./order-lookup.js";
import { RecentOrders } from "./recent-orders.js";
import type { SingleConclusionParts } from "./single-conclude.js";
import type { PlaceParts } from "./single-place.js";
import type { SingleRun, StoredAnswer } from "./single-run.js";
import { UnsettledOrders } from "./unsettled-orders.js";

const SINGLE_INTENTS = { open: "order-intent-open", settled: "order-intent-settled" } as const;

export interface SingleOrderServiceOptions extends SendingOptions {
  readonly rooms: Rooms;
  readonly guards?: Guards & Partial<Sweepable>;
  /** Where rows of orders go; none are kept where absent. */
  readonly records?: RecordSink;
  readonly maxInFlight?: number;
  readonly maxSwitches?: number;
  /** Shared with the routed orders; own ones where absent. */
  readonly listeners?: OrderListeners;
  /** Shared with the router; own ones where absent. */
  readonly names?: ClientOrderIdIndex;
}

/** Each step names what it takes itself. */
export interface SingleParts extends PlaceParts, SingleConclusionParts, CloseParts, AmendParts, StatusParts {
  /** Of closes of several legs. */
  readonly batches: IdempotencyRecords<CloseBatch, CloseAllAnswer>;
}

/** `publish`: of what is newly known of a followed order. */
export function singleParts(
  options: SingleOrderServiceOptions,
  publish: FollowOwner<SingleRun>["publish"],
): SingleParts {
  const { clock, hash, logger, rooms, randomIds, store } = options;
  const { recordOptions, ...sending } = sendingParts<SingleRun, StoredAnswer>(options, {
    intents: SINGLE_INTENTS,
    records: "order-idempotency",
  });
  const listeners = options.listeners ?? new OrderListeners({ clock, logger });
  return {
    ...sending,
    batches: new IdempotencyRecords<CloseBatch, CloseAllAnswer>({ ...recordOptions, namespace: "close-batch" }),
    rooms,
    randomIds,
    listeners,
    names: options.names ?? new ClientOrderIdIndex(store, hash, clock),
    unsettled: new UnsettledOrders(),
    recent: new RecentOrders(clock),
    follows: new OrderFollows<SingleRun>({ ...sending, rooms, listeners }, { namespace: "followed-order", publish }),
    records: options.records ?? NO_RECORDS,
  };
}
