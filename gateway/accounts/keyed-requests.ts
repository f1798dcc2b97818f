/**
 * One act for each Idempotency-Key of the wallet routes, over the records that orders use (idempotency.ts), in a
 * namespace of their own: the key is durable before the act, its reply after it.
 *
 * Bounds: those of the records; expired ones are swept at most once a minute, beside a request that has a key.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Owners } from "../../engine/domain/owner.js";
import { IdempotencyRecords, type IdempotencyTicket } from "../../engine/orders/durable/idempotency.js";
import { beginOwned } from "../../engine/orders/durable/owned-key.js";
import type { KeyedHash, RandomIds } from "../../engine/storage/keyed-hash.js";
import type { StateStore } from "../../engine/storage/state-store.js";

const NAMESPACE = "wallet-requests";
/** Of callers without an owner; every other one has a scope of its own. */
const PUBLIC_SCOPE = "wallets";
const SWEEP_INTERVAL_NS = 60e9;

export interface KeyedRequestsParts {
  readonly owners: Owners;
  readonly store: StateStore;
  readonly hash: KeyedHash;
  readonly randomIds: RandomIds;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface KeyedCall {
  readonly ownerId: string | null;
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  readonly boundBytes: Uint8Array;
}

/** What it resolves to is kept with the key: plain data. What it rejects with is not: a retry acts again, or recovers. */
export interface KeyedAct<T> {
  /** Throws what stands in the way of a request that is no retry. */
  check(): void;
  act(): Promise<T>;
  /** Instead of `act` for the request that a crash cut short, or whose end was not known. `requestId`: of the first try. */
  recover(requestId: string): Promise<T>;
  /** What it rejected with leaves open whether it acted: the key stays with its request. */
  isOpen(error: unknown): boolean;
}

/** The records want to know of their requests that they exist; the rest is in what the key is bound to. */
interface KeyedRun {
  readonly routeId: string;
  readonly attempts: readonly never[];
}

type Ticket = IdempotencyTicket<KeyedRun, unknown>;

/** One for all routes of a service: what is under way is known to it alone. */
export class KeyedRequests {
  readonly #parts: KeyedRequestsParts;
  readonly #records: IdempotencyRecords<KeyedRun, unknown>;
  #sweepDueNs: number;

  constructor(parts: KeyedRequestsParts) {
    const { store, hash, clock, randomIds } = parts;
    this.#parts = parts;
    this.#records = new IdempotencyRecords({
      store,
      hash,
      clock,
      bootId: randomIds.randomHex128(),
      namespace: NAMESPACE,
    });
    this.#sweepDueNs = clock.monoNs();
  }

  /** Rejects with what the act rejects with, IDEMPOTENCY_IN_PROGRESS, IDEMPOTENCY_MISMATCH or STORE_UNAVAILABLE. */
  async perform<T>(call: KeyedCall, work: KeyedAct<T>): Promise<{ readonly value: T; readonly replayed: boolean }> {
    const { idempotencyKey: key, ownerId, boundBytes: rawBody, requestId } = call;
    if (key === null) {
      work.check();
      return { value: await work.act(), replayed: false };
    }
    this.#sweep();
    const asked = { ownerId, key, rawBody, publicScope: PUBLIC_SCOPE };
    const { begun } = await beginOwned(this.#records, this.#parts.owners, asked);
    if (begun.kind === "refused") throw new ServiceError(begun.code);
    const { ticket } = begun;
    try {
      // The key is bound to method and path too: what it keeps is what this route resolved to.
      if (begun.kind === "replay") return { value: begun.result as T, replayed: true };
      const isRecovery = begun.kind === "recover";
      if (!isRecovery) work.check();
      const run = isRecovery ? begun.run : { routeId: requestId, attempts: [] };
      await this.#makeDurable(begun.ticket, run);
      const act = isRecovery ? () => work.recover(run.routeId) : () => work.act();
      const value = await this.#acted(begun.ticket, act, work.isOpen);
      await this.#records.complete(begun.ticket, run, value, (writes) =>
        this.#parts.store.commit({ writes: writes() }),
      );
      return { value, replayed: isRecovery };
    } finally {
      if (ticket !== null && !ticket.isEnding) this.#records.release(ticket);
    }
  }

  async #makeDurable(ticket: Ticket, run: KeyedRun): Promise<void> {
    const { batch, row } = this.#records.runningRows(ticket, run);
    let isOurs: boolean;
    try {
      isOurs = await this.#parts.store.commit(batch);
    } catch (error) {
      // It may become durable late: the removal queues behind it.
      await this.#records.abandon(ticket, []).catch(() => this.#parts.logger.warn("wallets.key_left_behind"));
      throw error;
    }
    if (!isOurs) throw new ServiceError("IDEMPOTENCY_IN_PROGRESS");
    this.#records.committed(ticket, row);
  }

  /** A key whose record cannot be removed recovers at its next use: it acts again, as after a crash. */
  async #acted<T>(ticket: Ticket, act: () => Promise<T>, isOpen: (error: unknown) => boolean): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (isOpen(error)) throw error;
      await this.#records
        .discard(ticket, (writes) => this.#parts.store.commit({ writes: writes() }))
        .catch(() => this.#parts.logger.warn("wallets.key_left_behind"));
      throw error;
    }
  }

  #sweep(): void {
    const { clock, logger } = this.#parts;
    if (clock.monoNs() < this.#sweepDueNs) return;
    this.#sweepDueNs = clock.monoNs() + SWEEP_INTERVAL_NS;
    this.#records.sweep().then(
      (hasMore) => {
        if (hasMore) this.#sweepDueNs = clock.monoNs();
      },
      () => logger.warn("wallets.sweep_failed"),
    );
  }
}
