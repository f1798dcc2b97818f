/**
 * Requests that may send something and have no reply yet, by the key that sent them. No key shuts the others out
 * (SharedRoom), and what is no exit leaves a quarter of the places to exits, of each key and of all: who opens more than its
 * venue answers can get out still.
 *
 * Invariant: each `enter` that returned true is followed by one `leave` of the same.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { SharedRoom } from "../../engine/domain/shared-room.js";
import type { Operation } from "../../schemas/operation.js";

/** Of one key beside others. */
const KEY_SHARE = 0.5;
const OTHERS_PART = 0.75;

export function isExit({ buckets }: Pick<Operation, "buckets">): boolean {
  return buckets.includes("exit");
}

export class InFlight {
  readonly #all: SharedRoom;
  readonly #others: SharedRoom;

  constructor(max: number, clock: Clock) {
    this.#all = new SharedRoom(max, KEY_SHARE, clock);
    this.#others = new SharedRoom(Math.max(1, Math.floor(max * OTHERS_PART)), KEY_SHARE, clock);
  }

  get count(): number {
    return this.#all.count;
  }

  get max(): number {
    return this.#all.max;
  }

  /** False: there is no place for it. */
  enter(keyId: string | null, exits: boolean): boolean {
    // Asked by exits too: a key that only exits is there for the others.
    const hasRoom = this.#others.hasRoom(keyId);
    if ((!exits && !hasRoom) || !this.#all.enter(keyId)) return false;
    if (!exits) this.#others.force(keyId);
    return true;
  }

  leave(keyId: string | null, exits: boolean): void {
    this.#all.leave(keyId);
    if (!exits) this.#others.leave(keyId);
  }
}
