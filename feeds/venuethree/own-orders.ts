/**
 * What our own orders do to what is streamed of an account: which of its positions still stand for a live read, and who
 * waits for an order's end. Pure but for the calls of those who wait.
 *
 * Invariant: a streamed position stands for a live read only if it surely tells of all our orders, or if those that it
 * does not tell of yet only reduce and leave what is wanted whatever they did (OrderDoubts).
 *
 * The venue's pictures of positions do not say whose fills they tell of, so orders are counted against how much smaller a
 * position became. A stranger's reduction in the same moment counts for one of ours: then a close may be asked for more
 * than there is, for as long as the picture of ours is on its way, and reduce-only makes it the smaller fill it is.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { VenueOrder } from "../../engine/domain/order.js";
import type { VenuePosition } from "../../engine/domain/position.js";
import { OrderDoubts, type WantedLots } from "../shared/order-doubts.js";
import type { Shrunk } from "./account-slot.js";

/** A position counts as newer than an order only when it was read this much later: the venue delays takers by 0.3 s. */
export const SURELY_LATER_MS = 1_500;
/** Orders somebody waits for at once; one more is not followed, and looked up instead. */
const MAX_FOLLOWED = 1_024;

export class OwnOrders {
  readonly #clock: Clock;
  readonly #doubts = new OrderDoubts();
  /** By client order id. */
  readonly #followers = new Map<string, (order: VenueOrder) => void>();
  /** Wall ms of the last order of ours, sent or answered, that `#doubts` cannot judge; 0 once a state surely newer was adopted. */
  #lastMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Is there an order that the streams have not told of for so long that the venue is to be asked? */
  get isOverdue(): boolean {
    return this.#lastMs > 0 || this.#doubts.hasAnswered(this.#clock.wallMs() - SURELY_LATER_MS);
  }

  get isPending(): boolean {
    return this.#lastMs > 0 || this.#doubts.size > 0;
  }

  /** An order goes out, or its answer came: what was streamed before is no longer the whole truth. */
  note(): void {
    this.#lastMs = this.#clock.wallMs();
  }

  /** An order that reduces goes out. */
  noteReduction(clientOrderId: string, coin: string, qtyLots: number): void {
    if (!this.#doubts.sent(clientOrderId, coin, qtyLots)) this.note();
  }

  /** The answer to it. `filledLots`: 0 where it did not leave; null: taken, and its end is still to come. */
  noteTaken(clientOrderId: string, filledLots: number | null): void {
    // Not counted: told of altogether before its answer, or one too many, which put all in doubt when it went out.
    if (!this.#doubts.answered(clientOrderId, filledLots, this.#clock.wallMs()) && this.#lastMs > 0) this.note();
  }

  /** Its outcome is unknown; or it was refused, which says that the position may not be what was held. */
  noteDoubtful(clientOrderId: string): void {
    this.#doubts.drop(clientOrderId);
    this.note();
  }

  /** The stream tells that an order has ended. */
  noteEnd(order: VenueOrder): void {
    const id = order.venueClientOrderId;
    if (id === null) return;
    this.#doubts.answered(id, order.filledLots, this.#clock.wallMs());
    const follower = this.#followers.get(id);
    this.#followers.delete(id);
    follower?.(order);
  }

  /** The stream tells of positions that became smaller. */
  noteShrunk(shrunk: readonly Shrunk[]): void {
    for (const { nativeSymbol, byLots } of shrunk) this.#doubts.shrunk(nativeSymbol, byLots);
  }

  /** A whole state was adopted, of a read that began at `beganMs`. */
  believe(beganMs: number): void {
    const untilMs = beganMs - SURELY_LATER_MS;
    if (untilMs >= this.#lastMs) this.#lastMs = 0;
    this.#doubts.forgetAnswered(untilMs);
  }

  /** May these positions stand for a live read? `wanted` null: exact sizes count. */
  leave(positions: readonly VenuePosition[], wanted: WantedLots | null): boolean {
    return this.#lastMs === 0 && this.#doubts.leaves(positions, wanted);
  }

  /** `onEnd` is called at most once. Returns what ends the wait; null: too many wait, or somebody does for this order. */
  follow(clientOrderId: string, onEnd: (order: VenueOrder) => void): (() => void) | null {
    if (this.#followers.size >= MAX_FOLLOWED || this.#followers.has(clientOrderId)) return null;
    this.#followers.set(clientOrderId, onEnd);
    return () => {
      if (this.#followers.get(clientOrderId) === onEnd) this.#followers.delete(clientOrderId);
    };
  }
}
