/** How far the count has got outside of the store: in its file, and with the co-signer. */
import type { Clock } from "../../domain/clock.js";
import { within } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { CountFile } from "./instance-file.js";
import type { InstanceCount } from "./instance-mark.js";

/** Of one write of the file, and of the co-signer's answer. */
const OUTSIDE_MS = 5_000;

/** One write at a time, however long it takes: an older count never comes after a newer one. */
export class FiledCount {
  readonly #file: CountFile;
  readonly #clock: Clock;
  #reached: number;
  #writing: Promise<void> | null = null;

  /** `reached`: what the file holds; -1: nothing. */
  constructor(file: CountFile, clock: Clock, reached: number) {
    this.#file = file;
    this.#clock = clock;
    this.#reached = reached;
  }

  get reached(): number {
    return this.#reached;
  }

  /** Resolves once the file has it, or more. Rejects with STORE_UNAVAILABLE, reason INSTANCE_FILE. */
  async reach(wanted: number, current: () => InstanceCount): Promise<void> {
    while (this.#reached < wanted) {
      const writing = this.#writing ?? this.#write(current());
      const written = await within(this.#clock, writing, OUTSIDE_MS).catch(() => ({ done: false }));
      if (!written.done) throw new ServiceError("STORE_UNAVAILABLE", { reason: "INSTANCE_FILE" });
    }
  }

  async settled(): Promise<void> {
    await this.#writing?.catch(() => {});
  }

  #write(count: InstanceCount): Promise<void> {
    const writing = this.#file
      .write(count)
      .then(() => {
        this.#reached = Math.max(this.#reached, count.count);
      })
      .finally(() => {
        this.#writing = null;
      });
    this.#writing = writing;
    return writing;
  }
}

/** What the co-signer said that it has. Without one there is nothing to wait for. */
export class WitnessedCount {
  readonly #clock: Clock;
  /** Hands the count to it; without effect where it is away. */
  tell: (() => void) | null = null;
  #reached = -1;
  readonly #waiters = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A new connection: answers of the one before count no more. */
  met(): void {
    this.#reached = -1;
  }

  has(count: number): void {
    this.#reached = Math.max(this.#reached, count);
  }

  wake(): void {
    for (const look of [...this.#waiters]) look();
  }

  /** Resolves once it has it, or `isOver`, which is asked at each `wake`. Rejects with SIGNER_UNAVAILABLE. */
  async reach(wanted: number, isOver: () => boolean): Promise<void> {
    if (this.tell === null || this.#reached >= wanted || isOver()) return;
    let look = (): void => {};
    const heard = new Promise<void>((resolve) => {
      look = () => {
        if (this.#reached >= wanted || isOver()) resolve();
      };
    });
    this.#waiters.add(look);
    const answer = await within(this.#clock, heard, OUTSIDE_MS).finally(() => this.#waiters.delete(look));
    if (!answer.done) throw new ServiceError("SIGNER_UNAVAILABLE", { reason: "INSTANCE_COUNT" });
  }
}
