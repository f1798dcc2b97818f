/** What the steps of single orders are made of, built once for the service that owns them. */
import type { Clock } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import { Owners } from "../../domain/owner.js";
import { NO_GUARDS, type Guards } from "../../guards/guards.js";
import type { KeyedHash, RandomIds } from "../../storage/keyed-hash.js";
import type { StateStore } from "../../storage/state-store.js";
import type { Rooms } from "../accounts.js";
import { Background, type Sweepable } from "../background.js";
import { NO_RECORDS, type RecordSink } from "../conclude/record-sink.js";
import { ClientOrderIdIndex } from "../durable/client-order-id-index.js";
import { IdempotencyRecords } from "../durable/idempotency.js";
import { IntentLog } from "../durable/intent-log.js";
import type { FollowOwner } from "../follow/followed-run.js";
import { OrderFollows } from "../follow/order-follows.js";
import { OrderListeners } from "../follow/order-listeners.js";
import { SendBounds } from "../send/absence-proof.js";
import { createClientIdSource } from "../send/client-id.js";
import { OrderCore } from "../send/order-core.js";
import { Resolver } from "../send/resolver.js";
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

export interface SingleOrderServiceOptions {
  readonly rooms: Rooms;
  readonly store: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hash: KeyedHash;
  readonly randomIds: RandomIds;
  /** Who reaches whose rows; nobody adopted those of public mode where absent. */
  readonly owners?: Owners;
  /** Started by who made them; nothing is limited where absent. */
  readonly guards?: Guards & Partial<Sweepable>;
  /** Where rows of orders go; none are kept where absent. */
  readonly records?: RecordSink;
  readonly maxInFlight?: number;
  readonly maxUnresolved?: number;
  readonly maxSwitches?: number;
  /** Shared with the routed orders; own ones where absent. */
  readonly listeners?: OrderListeners;
  /** Shared with the router; own ones where absent. */
  readonly names?: ClientOrderIdIndex;
  /** For a store that several services share: is the service of that boot still at work? */
  readonly isBootAlive?: (bootId: string) => boolean;
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
  const { clock, store, hash, logger, rooms, randomIds } = options;
  const background = new Background(clock, logger);
  const bounds = new SendBounds();
  const owners = options.owners ?? new Owners();
  const listeners = options.listeners ?? new OrderListeners({ clock, logger });
  const isBootAlive = options.isBootAlive ?? (() => false);
  const records = { store, hash, clock, bootId: randomIds.randomHex128(), isBootAlive };
  const sending = {
    clock,
    logger,
    store,
    hash,
    owners,
    background,
    bounds,
    clientIds: createClientIdSource(hash, randomIds),
    intents: new IntentLog<SingleRun>(store, clock, logger, SINGLE_INTENTS),
    idempotency: new IdempotencyRecords<SingleRun, StoredAnswer>({ ...records, namespace: "order-idempotency" }),
    guards: options.guards ?? NO_GUARDS,
    reservations: new WeakMap(),
    resolver: new Resolver(clock, logger, options.maxUnresolved),
  };
  return {
    ...sending,
    batches: new IdempotencyRecords<CloseBatch, CloseAllAnswer>({ ...records, namespace: "close-batch" }),
    core: new OrderCore<SingleRun, StoredAnswer>(sending),
    rooms,
    randomIds,
    listeners,
    names: options.names ?? new ClientOrderIdIndex(store, hash, clock),
    unsettled: new UnsettledOrders(),
    recent: new RecentOrders(clock),
    follows: new OrderFollows<SingleRun>(
      { bounds, clock, logger, rooms, store, hash, owners, background, listeners },
      { namespace: "followed-order", publish },
    ),
    records: options.records ?? NO_RECORDS,
  };
}
