/**
 * Runs comparisons (reconciler.ts), by the clock and for the operator, keeps the last one, and releases a restored store
 * after one that could read everything.
 *
 * Invariants: one comparison at a time. Nothing of a restored store moves before its release, and what a release writes
 * down is durable before or with it: a kill in the middle leaves a store that is restored still.
 */
import type { TimerHandle } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { Instance } from "../../storage/instance/instance.js";
import { MAX_BATCH_ROWS, type StateStore, type StateWrite } from "../../storage/state-store.js";
import type { TransferParts } from "../transfer-parts.js";
import { isEnded, type TransferRow } from "../transfer-row.js";
import type { TransferBlocks } from "./blocks.js";
import type { ReconcileRun, Reconciler } from "./reconciler.js";
import type { ReconcileReport } from "./report.js";

interface ReconciliationParts extends Pick<TransferParts, "book" | "clock" | "logger"> {
  readonly reconciler: Pick<Reconciler, "run">;
  readonly instance: Pick<Instance, "restored" | "release">;
  readonly blocks: TransferBlocks;
  readonly store: Pick<StateStore, "commit">;
  /** Between two by the clock; 0: none. */
  readonly intervalMs: number;
  /** The operator wants to know of now: what the ledger searches for at long pauses is searched for at once. */
  readonly lookAgain: () => void;
  /** After the start: what the process before sent is in the histories by then. */
  readonly settleMs: number;
}

export interface ReconcileView {
  readonly isRunning: boolean;
  /** Null: none has ended since the start. */
  readonly last: ReconcileReport | null;
  /** Why the last one did not end; null: it did. */
  readonly problem: string | null;
}

export type ReleaseOutcome =
  | { readonly ok: true; readonly blocks: number; readonly rows: number }
  | {
      readonly ok: false;
      readonly code: "NOT_RESTORED" | "RECONCILE_FIRST" | "TOO_EARLY" | "PARTS_UNREAD";
      /** Until it may be asked again; null: time changes nothing. */
      readonly retryAfterMs: number | null;
      /** Parts that could not be read and are not named. */
      readonly parts: readonly string[];
    };

/** Rows beside the blocks in the commit of a release. */
const BESIDE_ROWS = 16;

export class Reconciliation {
  readonly #parts: ReconciliationParts;
  readonly #startedNs: number;
  #running: Promise<void> | null = null;
  #last: ReconcileRun | null = null;
  #lastBegunNs = Number.NEGATIVE_INFINITY;
  #problem: string | null = null;
  #timer: TimerHandle | null = null;
  #isStopped = false;

  constructor(parts: ReconciliationParts) {
    this.#parts = parts;
    this.#startedNs = parts.clock.monoNs();
  }

  start(): void {
    const { clock, intervalMs } = this.#parts;
    if (intervalMs === 0 || this.#isStopped) return;
    this.#timer = clock.setTimer(() => {
      void this.#begun().finally(() => this.start());
    }, intervalMs);
  }

  /** For the operator; where none runs. */
  begin(): ReconcileView {
    this.#parts.lookAgain();
    void this.#begun();
    return this.view();
  }

  view(): ReconcileView {
    return { isRunning: this.#running !== null, last: this.#last?.report ?? null, problem: this.#problem };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) this.#parts.clock.clearTimer(this.#timer);
    await this.#running;
  }

  /**
   * `force`: parts that the operator gives up reading; what they might have sent stays blocked. `alongside`: in the commit
   * of the release. Rejects with STORE_UNAVAILABLE; then the store is restored still.
   */
  async release(force: readonly string[], alongside: () => readonly StateWrite[]): Promise<ReleaseOutcome> {
    const { instance, clock, book, blocks } = this.#parts;
    const { restored } = instance;
    const run = this.#last;
    const no = { ok: false, retryAfterMs: null, parts: [] } as const;
    if (restored === null) return { ...no, code: "NOT_RESTORED" };
    const isOfThis = run?.report.restored?.sinceMs === restored.sinceMs;
    if (run === null || !isOfThis || this.#running !== null) return { ...no, code: "RECONCILE_FIRST" };
    const earlyMs = this.#parts.settleMs - (this.#lastBegunNs - this.#startedNs) / 1e6;
    const leftMs = this.#parts.settleMs - (clock.monoNs() - this.#startedNs) / 1e6;
    if (earlyMs > 0 && run.report.wallets > 0)
      return { ...no, code: "TOO_EARLY", retryAfterMs: Math.ceil(Math.max(0, leftMs)) };
    const parts = run.report.unreadParts.filter((part) => !force.includes(part));
    if (parts.length > 0) return { ...no, code: "PARTS_UNREAD", parts };
    const open = [...book.open()].filter((row) => !isEnded(row));
    for (const row of open) await book.update<TransferRow>(row, (one) => putBack(one, clock.wallMs()));
    for (const { chainId, account, nonce } of run.findings.nonces) await book.raiseNonce(chainId, account, nonce);
    const writes = blocks.add(run.findings.blocks);
    const room = MAX_BATCH_ROWS - BESIDE_ROWS;
    while (writes.length > room) await this.#parts.store.commit({ writes: writes.splice(0, room) });
    await instance.release([...writes, ...alongside()]);
    return { ok: true, blocks: run.findings.blocks.length, rows: open.length };
  }

  #begun(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger, reconciler } = this.#parts;
    const begunNs = clock.monoNs();
    try {
      this.#last = await reconciler.run();
      this.#lastBegunNs = begunNs;
      this.#problem = null;
    } catch (error) {
      this.#problem = error instanceof ServiceError ? error.code : "INTERNAL";
      logger.error("reconcile.failed", { code: this.#problem });
      return;
    }
    const { differences, unreadCount } = this.#last.report;
    if (differences.length > 0 || unreadCount > 0)
      logger.warn("reconcile.differs", { count: differences.length, problem: `${unreadCount} parts not read` });
  }
}

/** What became of it since the backup is not known: it is looked at, and nothing of it is signed or sent again. */
function putBack<Row extends TransferRow>(row: Row, nowMs: number): Row {
  if (row.reason === "RESTORED") return row;
  return { ...row, state: "unknown", reason: "RESTORED", reasonText: "", updatedAtMs: nowMs };
}
