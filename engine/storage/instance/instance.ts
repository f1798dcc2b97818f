/**
 * Whether the state store is a restored backup. The store counts at each start, in each commit of the ledger of
 * transfers, and once a minute while it is written to. The count is kept outside too: in a file, and with the co-signer
 * where there is one (docs/adr/0032).
 *
 * Invariants: the store counts first, the file and the co-signer after it, and nothing of a transfer is signed or sent
 * before they have (`outside`, `witnessed`). So a kill between two writes leaves a store that is ahead, never one that
 * looks put back. A restored store does not count: it cannot catch up with what it is behind of. Nor does one that has not
 * met the co-signer in this run: that is handed what the run before had handed it (`toTell`), and no later count until it
 * has answered.
 */
import type { Clock } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { Logger } from "../../domain/logger.js";
import { decodeJson, encodeJson, type StateStore, type StateWrite } from "../state-store.js";
import { InstanceBeat } from "./instance-beat.js";
import type { CountFile } from "./instance-file.js";
import {
  type InstanceCount,
  type InstanceMark,
  judgeCount,
  judgeFile,
  readMark,
  type Restored,
  type RestoredReason,
} from "./instance-mark.js";
import { FiledCount, WitnessedCount } from "./outside-counts.js";

interface InstanceParts {
  readonly store: StateStore;
  readonly file: CountFile;
  readonly clock: Clock;
  /** 32 hex digits that nobody can guess. */
  readonly newId: () => string;
  readonly logger: Logger;
}

/** A count that belongs into a commit. `done` once that is durable. */
interface Counted {
  readonly write: StateWrite;
  done(): void;
}

const NAMESPACE = "instance";
const KEY = "count";

export class Instance {
  readonly #parts: InstanceParts;
  readonly #id: string;
  /** The newest count that was asked for, and the newest that is durable. */
  #asked: number;
  #durable: number;
  /** Durable too: the highest that the co-signer may have got from this store. */
  #told: number;
  /** The co-signer has answered in this run, and was not ahead. */
  #isMet = false;
  /** The highest that the file or the co-signer showed. */
  #seen = 0;
  #storeAtMs: number | null;
  #restored: Restored | null;
  readonly #filed: FiledCount;
  readonly #witness: WitnessedCount;
  readonly #listeners = new Set<() => void>();
  readonly #beat: InstanceBeat;

  private constructor(parts: InstanceParts, mark: InstanceMark | null, seen: InstanceCount | null) {
    this.#parts = parts;
    this.#id = mark?.id ?? parts.newId();
    this.#asked = mark?.count ?? 0;
    this.#durable = this.#asked;
    this.#told = mark?.told ?? 0;
    this.#storeAtMs = mark?.atMs ?? null;
    this.#restored = mark?.restored ?? null;
    this.#seen = seen?.count ?? 0;
    this.#filed = new FiledCount(parts.file, parts.clock, seen?.count ?? -1);
    this.#witness = new WitnessedCount(parts.clock);
    this.#beat = new InstanceBeat(parts.clock, parts.store, async () => {
      if (this.#restored === null) await this.#count();
    });
  }

  /** Rejects with STORE_UNAVAILABLE where the store cannot be read or written. A file that cannot be written is logged. */
  static async open(parts: InstanceParts): Promise<Instance> {
    const { store, file, logger } = parts;
    const mark = await markOf(store);
    const reading = await file.read();
    const instance = new Instance(parts, mark, reading.kind === "count" ? reading.value : null);
    const reason = judgeFile(mark, reading);
    if (reason !== null) await instance.#putBack(reason);
    const { restored } = instance;
    if (restored !== null) logger.error("instance.restored", { reason: restored.reason });
    else await instance.#begin(mark?.hasFile === true);
    instance.#beat.start();
    return instance;
  }

  /** Null: nothing says that the store was put back, or the operator has released it. */
  get restored(): Restored | null {
    return this.#restored;
  }

  /** Throws RESTORED_STORE. */
  assertNotRestored(): void {
    if (this.#restored !== null) throw restoredStore(this.#restored);
  }

  /** For a commit that is made in this turn, and in no other: commits are durable in the order in which they are made. */
  counted(): Counted {
    const count = ++this.#asked;
    const told = this.#isMet && this.#restored === null ? count : this.#told;
    return { write: this.#row({ count, told, restored: this.#restored }), done: () => this.#counted(count, told) };
  }

  /** Resolves once the file has counted as far as the store. Rejects with STORE_UNAVAILABLE, reason INSTANCE_FILE. */
  outside(): Promise<void> {
    return this.#filed.reach(this.#durable, () => this.current);
  }

  /**
   * Likewise the co-signer, where one keeps the count. Rejects with SIGNER_UNAVAILABLE, or RESTORED_STORE with context
   * `isUnsettled`: what waits for it may have been signed in what is lost.
   */
  async witnessed(): Promise<void> {
    await this.#witness.reach(this.#durable, () => this.#restored !== null);
    if (this.#restored !== null) throw restoredStore(this.#restored, { isUnsettled: true });
  }

  /** Likewise, once in this run: the co-signer knows of no newer store than this one. Rejects as `witnessed`. */
  async vouched(): Promise<void> {
    const isOver = (): boolean => this.#isMet || this.#restored !== null;
    if (!isOver()) await this.#witness.reach(0, isOver);
    if (this.#restored !== null) throw restoredStore(this.#restored, { isUnsettled: true });
  }

  /** From here on the co-signer gets each count, and nothing is signed for a transfer before it has it. */
  readonly bindWitness = (tell: () => void): void => {
    this.#witness.tell = tell;
  };

  /** How far the store has counted. */
  get current(): InstanceCount {
    return { id: this.#id, count: this.#durable };
  }

  /** What the co-signer gets. */
  get toTell(): InstanceCount {
    return { id: this.#id, count: this.#told };
  }

  /** A new connection: answers of the one before count no more. */
  readonly met = (): void => this.#witness.met();

  /** What the co-signer has, after it got ours. */
  heard(theirs: InstanceCount): void {
    this.#seen = Math.max(this.#seen, theirs.count);
    const reason = judgeCount(this.toTell, theirs, "COSIGNER_AHEAD");
    if (reason === null) {
      this.#witness.has(theirs.count);
      // From this count on it gets each; where the store does not take it, it gets the next one.
      const isBehind = !this.#isMet && this.#restored === null && this.#told < this.#durable;
      this.#isMet = true;
      if (isBehind) void this.#count().catch(() => {});
    } else if (this.#restored === null) {
      this.#parts.logger.error("instance.restored", { reason });
      // In memory at once; where the store does not take it, the next meeting says it again.
      void this.#putBack(reason).catch(() => {});
    }
    this.#witness.wake();
  }

  /** `hear`: after each change of `restored`; must not throw. */
  listen(hear: () => void): void {
    this.#listeners.add(hear);
  }

  /**
   * The operator's word. `alongside`: in the commit that ends it. Rejects with STORE_UNAVAILABLE; then nothing changed. The
   * file first: the store is known to be restored until the commit, and one without its file would be so again after it.
   */
  async release(alongside: readonly StateWrite[]): Promise<void> {
    const count = Math.max(this.#asked, this.#seen, this.#filed.reached) + 1;
    this.#asked = count;
    await this.#filed.reach(count, () => ({ id: this.#id, count }));
    await this.#parts.store.commit({ writes: [this.#row({ count, told: count, restored: null }), ...alongside] });
    this.#restored = null;
    this.#counted(count, count);
    for (const hear of this.#listeners) hear();
    this.#parts.logger.warn("instance.released");
  }

  async stop(): Promise<void> {
    this.#beat.stop();
    await this.#filed.settled();
  }

  /** The first start writes twice: only a store that says that there is a file is put back where there is none. */
  async #begin(hasFile: boolean): Promise<void> {
    const { store, logger } = this.#parts;
    try {
      if (!hasFile) {
        const first = ++this.#asked;
        await store.commit({ writes: [this.#row({ count: first, told: this.#told, restored: null })] });
        this.#durable = first;
        await this.outside();
      }
      await this.#count();
      await this.outside();
    } catch (error) {
      if (!isFileFault(error)) throw error;
      // Money waits for the file; everything else goes on.
      logger.error("instance.file_failed", { code: "INSTANCE_FILE" });
    }
  }

  async #putBack(reason: RestoredReason): Promise<void> {
    const { store, clock } = this.#parts;
    this.#restored ??= { reason, sinceMs: clock.wallMs(), storeAtMs: this.#storeAtMs };
    this.#witness.wake();
    for (const hear of this.#listeners) hear();
    const write = this.#row({ count: this.#durable, told: this.#told, restored: this.#restored });
    await store.commit({ writes: [write] });
  }

  #row({ count, told, restored }: Pick<InstanceMark, "count" | "told" | "restored">): StateWrite {
    // The time of a restored store stays that of the backup: it says from when on something may be missing.
    const atMs = restored === null ? this.#parts.clock.wallMs() : (restored.storeAtMs ?? 0);
    const mark: InstanceMark = { id: this.#id, count, atMs, hasFile: this.#filed.reached >= 0, told, restored };
    return { namespace: NAMESPACE, key: KEY, value: encodeJson(mark) };
  }

  /** By itself: no commit of the ledger's has it. */
  async #count(): Promise<void> {
    const { write, done } = this.counted();
    await this.#parts.store.commit({ writes: [write] });
    done();
  }

  #counted(count: number, told: number): void {
    this.#durable = Math.max(this.#durable, count);
    this.#told = Math.max(this.#told, told);
    this.#storeAtMs = this.#parts.clock.wallMs();
    if (this.#restored !== null) return;
    this.#witness.tell?.();
    // What waits for it hears of a failure, and tries again.
    void this.outside().catch(() => {});
  }
}

function restoredStore({ reason, sinceMs }: Restored, context: { readonly isUnsettled?: true } = {}): ServiceError {
  return new ServiceError("RESTORED_STORE", { reason, since: sinceMs, part: "state store", ...context });
}

function isFileFault(error: unknown): boolean {
  return error instanceof ServiceError && error.context["reason"] === "INSTANCE_FILE";
}

async function markOf(store: StateStore): Promise<InstanceMark | null> {
  const value = await store.get(NAMESPACE, KEY);
  if (value === null) return null;
  const mark = readMark(decodeJson(value));
  if (mark === null) throw new ServiceError("STORE_UNAVAILABLE", { reason: "READ_FAILED", row: `${NAMESPACE}/${KEY}` });
  return mark;
}
