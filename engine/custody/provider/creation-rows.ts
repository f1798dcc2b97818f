/**
 * The rows that attempts to make a wallet leave in the audit log: one each. That of a wallet that is made is in the commit
 * that makes it, so it is there exactly where the wallet is. That of an attempt that comes to nothing is left by the
 * request that waits for it; where none does any more, it is in the commit that gives the attempt up.
 *
 * Bounds: in memory are attempts that a request waits for, and those that are in doubt since it was answered.
 */
import type { StateWrite } from "../../storage/state-store.js";
import type { CreationWrites } from "./wallet-provider.js";

interface Attempt {
  readonly who: string;
  isWaitedFor: boolean;
  isMade: boolean;
  isGivenUp: boolean;
}

/** Of an attempt that an earlier start began: only the store knows of it. */
const NOBODY = "service";

export class CreationRows {
  readonly #writes: CreationWrites;
  /** By wallet id. */
  readonly #attempts = new Map<string, Attempt>();

  constructor(writes: CreationWrites) {
    this.#writes = writes;
  }

  begun(walletId: string, who: string): void {
    this.#attempts.set(walletId, { who, isWaitedFor: true, isMade: false, isGivenUp: false });
  }

  /** For the commit in which its first epoch becomes active. */
  made(walletId: string): readonly StateWrite[] {
    const attempt = this.#attempts.get(walletId);
    if (attempt?.isMade === true) return [];
    if (attempt !== undefined) attempt.isMade = true;
    this.#forgetEnded(walletId);
    return this.#writes({ who: attempt?.who ?? NOBODY, walletId, isMade: true });
  }

  /** For the commit by which the parties give it up, outside of its session. */
  givenUp(walletId: string): readonly StateWrite[] {
    const attempt = this.#attempts.get(walletId);
    if (attempt !== undefined) attempt.isGivenUp = true;
    this.#forgetEnded(walletId);
    return attempt?.isWaitedFor === true ? [] : this.#writes({ who: attempt?.who ?? NOBODY, walletId, isMade: false });
  }

  /** Its request is answered. `isInDoubt`: the answer leaves no row. True: the attempt had been given up, so it must. */
  answered(walletId: string, isInDoubt: boolean): boolean {
    const attempt = this.#attempts.get(walletId);
    if (attempt === undefined) return false;
    attempt.isWaitedFor = false;
    if (!isInDoubt) this.#attempts.delete(walletId);
    this.#forgetEnded(walletId);
    return attempt.isGivenUp;
  }

  #forgetEnded(walletId: string): void {
    const attempt = this.#attempts.get(walletId);
    if (attempt !== undefined && !attempt.isWaitedFor && (attempt.isMade || attempt.isGivenUp))
      this.#attempts.delete(walletId);
  }
}
