/**
 * How conclusions become durable: those of one run one after the other, each as one batch beside the record of its
 * idempotency key, which may change meanwhile; a store that refuses for a moment is asked again. A reply, and an end that
 * was found after it, which no other caller repeats, are stored again every AGAIN_MS while this process lives (`untilStored`,
 * `orAgain`).
 *
 * Bounds: MAX_UPDATE_TRIES readings of a record that changes under its update, which then counts as refused by the store;
 * as many tries as the caller says; MAX_AGAIN replies and ends that wait for the store (one more stays with its open
 * intent, for the next start).
 */
import { type Clock, delay, type TimerHandle } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { Logger } from "../../domain/logger.js";
import type { Background } from "../background.js";
import type { StateStore } from "../../storage/state-store.js";
import type { IdempotencyRecords, RecordUpdate, RunLike } from "../durable/idempotency.js";

/** A store that refuses for a moment is asked again, after 1, 2 and 4 s, before a conclusion is given up. */
export const COMMIT_TRIES = 4;
const FIRST_RETRY_MS = 1_000;
const MAX_UPDATE_TRIES = 5;
const AGAIN_MS = 60_000;
const MAX_AGAIN = 1_024;

interface CommitParts<Run extends RunLike, Result> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly background: Background;
  readonly store: Pick<StateStore, "status">;
  readonly idempotency: Pick<IdempotencyRecords<Run, Result>, "readForUpdate">;
}

export class ConclusionCommits<Run extends RunLike, Result> {
  readonly #parts: CommitParts<Run, Result>;
  /** The last conclusion of a run that is being stored: the next one waits for it. */
  readonly #storing = new WeakMap<Run, Promise<void>>();
  readonly #again = new Set<TimerHandle>();
  /** Ends the pause of each reply that waits for the store. */
  readonly #pauses = new Set<(isOver: boolean) => void>();
  #stopped = false;

  constructor(parts: CommitParts<Run, Result>) {
    this.#parts = parts;
  }

  /**
   * `commit` builds its batch at the last moment; false: what it rests on has changed meanwhile. `recordKey`: of the
   * record it updates, null where none is.
   */
  async store(
    run: Run,
    tries: number,
    recordKey: string | null,
    commit: (record: RecordUpdate<Result> | null) => Promise<boolean>,
  ): Promise<void> {
    const before = this.#storing.get(run);
    const storing = (async (): Promise<void> => {
      // The caller of the one before sees its outcome.
      if (before !== undefined) await before.catch(() => {});
      for (let tried = 1; ; tried++) {
        try {
          return await this.#commitSettled(run, recordKey, commit);
        } catch (error) {
          if (tried >= tries || !this.#isWorthRetrying(error)) throw error;
          await delay(this.#parts.clock, FIRST_RETRY_MS * 2 ** (tried - 1));
        }
      }
    })();
    this.#storing.set(run, storing);
    await storing;
  }

  /** `store` is called until it is done. Rejects with its refusal where the store will not come back, or at the stop. */
  async untilStored(store: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await store();
      } catch (error) {
        if (!this.#isWorthRetrying(error) || !(await this.#pause())) throw error;
      }
    }
  }

  /** Rejects as `storing` does; where the store may come back, `again` is called later, with what is known by then. */
  async orAgain(storing: Promise<void>, again: () => Promise<void>): Promise<void> {
    const { background, clock } = this.#parts;
    try {
      await storing;
    } catch (error) {
      if (this.#stopped || !this.#isWorthRetrying(error)) throw error;
      if (!this.#mayWait()) throw error;
      const timer = clock.setTimer(() => {
        this.#again.delete(timer);
        background.run("conclusion_again", again());
      }, AGAIN_MS);
      this.#again.add(timer);
      throw error;
    }
  }

  /** What is not stored by now is for the next start. */
  stop(): void {
    this.#stopped = true;
    for (const timer of this.#again) this.#parts.clock.clearTimer(timer);
    this.#again.clear();
    for (const end of [...this.#pauses]) end(false);
  }

  /** False: as many wait as may. */
  #mayWait(): boolean {
    if (this.#again.size + this.#pauses.size < MAX_AGAIN) return true;
    this.#parts.logger.error("conclusion_not_stored", { reason: "TOO_MANY" });
    return false;
  }

  /** False: there is no other try. */
  async #pause(): Promise<boolean> {
    if (this.#stopped || !this.#mayWait()) return false;
    const { clock } = this.#parts;
    return new Promise((resolve) => {
      const end = (isOver: boolean): void => {
        clock.clearTimer(timer);
        this.#pauses.delete(end);
        resolve(isOver);
      };
      const timer = clock.setTimer(() => end(true), AGAIN_MS);
      this.#pauses.add(end);
    });
  }

  /** The record may change between its reading and the commit: the reply's own write may still be on its way. */
  async #commitSettled(
    run: Run,
    recordKey: string | null,
    commit: (record: RecordUpdate<Result> | null) => Promise<boolean>,
  ): Promise<void> {
    for (let tries = 0; tries < MAX_UPDATE_TRIES; tries++) {
      const record = recordKey === null ? null : await this.#parts.idempotency.readForUpdate(recordKey, run);
      // Whoever wrote the newer record tells of all its orders: what a copy with fewer of them knows is not stored.
      if (record?.kind === "newer") {
        this.#parts.logger.warn("conclusion_of_older_copy", { routeId: run.routeId });
        return;
      }
      if (await commit(record)) return;
    }
    this.#parts.logger.warn("conclusion_contended", { routeId: run.routeId });
    throw new ServiceError("STORE_UNAVAILABLE", { reason: "CONTENDED" });
  }

  /** After a failed commit, or closed, the store refuses until the next start. */
  #isWorthRetrying(error: unknown): boolean {
    if (!(error instanceof ServiceError) || error.code !== "STORE_UNAVAILABLE") return false;
    const { problem } = this.#parts.store.status();
    return problem !== "COMMIT_FAILED" && problem !== "CLOSED";
  }
}
