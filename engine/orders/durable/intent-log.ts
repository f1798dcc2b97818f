/**
 * What may have been sent. One record per order is durable before its request leaves (the only durable
 * wait of the send path), and is settled after. An open record at start means: this order may exist.
 *
 * Invariant: no order leaves without an open intent that names its client id. Records hold a keyed hash of
 * the account, never the account or a credential.
 *
 * Bounds: settled records live SETTLED_RETENTION_MS; an open one that nobody could settle is given up, with a
 * warning, after OPEN_RETENTION_MS. `listOpen` reads at most `limit`.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../domain/clock.js";
import type { Logger } from "../../domain/logger.js";
import type { OrderType, PositionSide, Side, TimeInForce } from "../../domain/order.js";
import { isRoutableVenue, type RoutableVenue } from "../../domain/venue.js";
import {
  decodeJson,
  encodeJson,
  MAX_SCAN_ROWS,
  type StateRow,
  type StateStore,
  type StateWrite,
} from "../../storage/state-store.js";
import type { TradeRun } from "../run.js";
import { expiringWrites, SWEEP_MAX_ROWS, sweepExpired, timeText } from "./expiring-rows.js";
import { LifetimeClock } from "../../domain/lifetime-clock.js";

export const SETTLED_RETENTION_MS = 24 * 3_600_000;
const MAX_OPENED = 4_096;
export const OPEN_RETENTION_MS = 7 * 24 * 3_600_000;

/** `Run`: what the order belongs to, plain data. */
export interface OrderIntent<Run = TradeRun> {
  readonly clientIdHex: string;
  readonly accountHash: string;
  /** Whose order it is; absent in rows of versions before: nobody's. */
  readonly ownerId?: string | null;
  readonly venue: RoutableVenue;
  readonly symbol: string;
  readonly nativeSymbol: string;
  readonly side: Side;
  readonly positionSide: PositionSide;
  readonly type: OrderType;
  readonly timeInForce: TimeInForce;
  readonly reduceOnly: boolean;
  readonly qtyLots: number;
  readonly priceTicks: number;
  /** Upper bound, wall ms, after which the venue can no longer accept the request; an unknown outcome may tighten it. */
  readonly notPlacedAfterMs: number;
  readonly routeId: string;
  /** Key of the idempotency record, null without one. */
  readonly idempotencyRecord: string | null;
  readonly leg: number;
  readonly attempt: number;
  readonly createdAtMs: number;
  /** The close it belongs to, so that a crash leaves something to answer with; null where the idempotency record has it. */
  readonly run: Run | null;
}

/** Names an intent. */
export type IntentRef = Pick<OrderIntent, "clientIdHex" | "createdAtMs">;

export type IntentOutcome = "CONFIRMED" | "REJECTED" | "NOT_PLACED" | "NOT_SENT";

/** Rows of another kind of order are apart: a list of one kind holds none of the other. */
export interface IntentNamespaces {
  readonly open: string;
  readonly settled: string;
}

const TRADE_INTENTS: IntentNamespaces = { open: "intent-open", settled: "intent-settled" };

export class IntentLog<Run = TradeRun> {
  readonly #names: IntentNamespaces;
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #lifetime: LifetimeClock;
  readonly #logger: Logger;
  /** Those that this process opened, without what they belong to: what settles them need not be read out of their rows. */
  readonly #opened = new LRUCache<string, OrderIntent<Run>>({ max: MAX_OPENED });

  constructor(store: StateStore, clock: Clock, logger: Logger, names: IntentNamespaces = TRADE_INTENTS) {
    this.#names = names;
    this.#store = store;
    this.#clock = clock;
    this.#lifetime = new LifetimeClock(clock);
    this.#logger = logger;
  }

  /** The writes that open the intent; the caller commits them, in one batch with its own rows, before it sends. */
  openWrites(intent: OrderIntent<Run>): StateWrite[] {
    const key = openKey(intent);
    this.#opened.set(key, { ...intent, run: null });
    return [{ namespace: this.#names.open, key, value: encodeJson(intent) }];
  }

  /**
   * The writes that settle the intent, for the batch that remembers its end; none when it is settled or gone. A lost
   * settlement leaves an open intent, which is safe: it is looked up again.
   */
  async settleWrites(ref: IntentRef, outcome: IntentOutcome): Promise<StateWrite[]> {
    const row = await this.#store.get(this.#names.open, openKey(ref));
    if (row === null) return [];
    const nowMs = this.#clock.wallMs();
    const intent = this.#opened.get(openKey(ref)) ?? (decodeJson(row) as OrderIntent<Run>);
    const settled = encodeJson({ ...intent, run: null, outcome, settledAtMs: nowMs });
    return [
      ...this.dropWrites(ref),
      ...expiringWrites(this.#names.settled, ref.clientIdHex, settled, nowMs + SETTLED_RETENTION_MS),
    ];
  }

  /**
   * The writes that bring what an open intent carries up to date, so that a start after a crash knows what was reported of
   * the order; none where the idempotency record has it, or the intent is settled.
   */
  async carryWrites(ref: IntentRef, run: Run): Promise<StateWrite[]> {
    const key = openKey(ref);
    const row = await this.#store.get(this.#names.open, key);
    const intent = row === null ? null : (decodeJson(row) as OrderIntent<Run>);
    if (intent === null || intent.run === null) return [];
    return [{ namespace: this.#names.open, key, value: encodeJson({ ...intent, run }) }];
  }

  /** The writes that take back an intent whose order was never sent. */
  dropWrites(ref: IntentRef): StateWrite[] {
    return [{ namespace: this.#names.open, key: openKey(ref), value: null }];
  }

  /** The intent, settled or not; null when it is gone. */
  async find(ref: IntentRef): Promise<OrderIntent<Run> | null> {
    const open = await this.#store.get(this.#names.open, openKey(ref));
    const row = open ?? (await this.#store.get(this.#names.settled, ref.clientIdHex));
    const value = row === null ? null : decodeJson(row);
    return isIntent<Run>(value) ? value : null;
  }

  /** Intents without outcome, oldest first: these orders may exist. */
  async listOpen(limit = MAX_SCAN_ROWS): Promise<OrderIntent<Run>[]> {
    const rows = await this.#store.scan(this.#names.open, { prefix: "", limit: Math.min(limit, MAX_SCAN_ROWS) });
    return rows.flatMap((row) => this.#decode(row));
  }

  /** One bounded round; true when there may be more to do. */
  async sweep(): Promise<boolean> {
    const nowMs = this.#lifetime.nowMs();
    const swept = await sweepExpired(this.#store, this.#names.settled, nowMs);
    const oldest = await this.#store.scan(this.#names.open, { prefix: "", limit: SWEEP_MAX_ROWS });
    const given = oldest.filter((row) => row.key < timeText(nowMs - OPEN_RETENTION_MS));
    if (given.length > 0) {
      this.#logger.warn("intents_given_up", { count: given.length });
      await this.#store.commit({
        writes: given.map((row) => ({ namespace: this.#names.open, key: row.key, value: null })),
      });
    }
    return swept === SWEEP_MAX_ROWS || given.length === SWEEP_MAX_ROWS;
  }

  #decode(row: StateRow): OrderIntent<Run>[] {
    const value = decodeJson(row.value);
    if (isIntent<Run>(value)) return [value];
    this.#logger.error("intent_damaged", { key: row.key });
    return [];
  }
}

/** Time first, so that a listing is oldest first and giving up reads only the oldest. */
function openKey(intent: IntentRef): string {
  return `${timeText(intent.createdAtMs)}|${intent.clientIdHex}`;
}

/** The fields that look-ups act on; the row was written by this program. */
function isIntent<Run>(value: unknown): value is OrderIntent<Run> {
  if (typeof value !== "object" || value === null) return false;
  const { clientIdHex, venue, routeId, notPlacedAfterMs } = value as Record<string, unknown>;
  return (
    typeof clientIdHex === "string" &&
    typeof venue === "string" &&
    isRoutableVenue(venue) &&
    typeof routeId === "string" &&
    typeof notPlacedAfterMs === "number"
  );
}
