/** What orders are sent with, for trades and single orders alike; the rows of each are in namespaces of their own. */
import type { Clock } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import { Owners } from "../../domain/owner.js";
import { NO_GUARDS, type Guards } from "../../guards/guards.js";
import type { KeyedHash, RandomIds } from "../../storage/keyed-hash.js";
import type { StateStore } from "../../storage/state-store.js";
import { Background } from "../background.js";
import { IdempotencyRecords, type IdempotencyOptions } from "../durable/idempotency.js";
import { IntentLog, type IntentNamespaces } from "../durable/intent-log.js";
import { SendBounds } from "./absence-proof.js";
import { createClientIdSource } from "./client-id.js";
import { OrderCore, type OrderCoreParts, type OrderedRun } from "./order-core.js";
import { Resolver } from "./resolver.js";

export interface SendingOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hash: KeyedHash;
  readonly randomIds: RandomIds;
  /** Who reaches whose rows; nobody adopted those of public mode where absent. */
  readonly owners?: Owners;
  /** Limits on what may be opened, started by who made them; none where absent. */
  readonly guards?: Guards;
  readonly maxUnresolved?: number;
  /** For a store that several services share: is the service of that boot still at work? */
  readonly isBootAlive?: (bootId: string) => boolean;
}

/** Those of trades where absent. */
interface SendingNamespaces {
  readonly intents?: IntentNamespaces;
  readonly records?: string;
}

interface SendingParts<Run extends OrderedRun, Result> extends OrderCoreParts<Run, Result> {
  readonly store: StateStore;
  readonly owners: Owners;
  readonly core: OrderCore<Run, Result>;
  /** For other records of the same service. */
  readonly recordOptions: IdempotencyOptions;
}

export function sendingParts<Run extends OrderedRun, Result>(
  { store, clock, logger, hash, randomIds, owners, guards, maxUnresolved, isBootAlive }: SendingOptions,
  namespaces: SendingNamespaces = {},
): SendingParts<Run, Result> {
  const recordOptions = {
    ...{ store, hash, clock, bootId: randomIds.randomHex128() },
    isBootAlive: isBootAlive ?? (() => false),
  };
  const names = namespaces.records === undefined ? {} : { namespace: namespaces.records };
  const parts = {
    ...{ clock, logger, store, hash },
    background: new Background(clock, logger),
    bounds: new SendBounds(),
    clientIds: createClientIdSource(hash, randomIds),
    intents: new IntentLog<Run>(store, clock, logger, namespaces.intents),
    idempotency: new IdempotencyRecords<Run, Result>({ ...recordOptions, ...names }),
    guards: guards ?? NO_GUARDS,
    reservations: new WeakMap(),
    resolver: new Resolver(clock, logger, maxUnresolved),
  };
  return { ...parts, owners: owners ?? new Owners(), core: new OrderCore<Run, Result>(parts), recordOptions };
}
