/**
 * Which connection carries which streams. The venue takes twenty subscriptions per channel and connection, so a shard
 * carries twenty contracts with one subscription each in `book`, `bbo` and `trades`; the prices of all contracts are
 * one subscription, on a connection of their own, so that a book never waits behind their long frames.
 */
import type { PersistentSocket } from "../../shared/net/socket.js";
import { SUBSCRIPTIONS_PER_CHANNEL } from "../rules/limits.js";
import type { StreamSlot } from "./stream-slot.js";

/** Channels with one subscription per contract. */
export const CHANNELS_PER_MARKET = 3;
/** How long a delay that was measured on a connection counts where nothing newer is measured. */
const LATE_MEMORY_NS = 30e9;

export class Shard {
  readonly socket: PersistentSocket;
  readonly slots = new Set<StreamSlot>();
  marketCount = 0;
  lastFrameNs = 0;
  /** How much older than their receipt its frames are, where that is more than a book may be; else 0. */
  #lateNs = 0;
  #lateAtNs = 0;

  constructor(socket: PersistentSocket) {
    this.socket = socket;
  }

  get hasRoom(): boolean {
    return this.marketCount < SUBSCRIPTIONS_PER_CHANNEL;
  }

  /** A standby may take over once the venue has answered everything on it. */
  isAnsweredOn(linkId: number): boolean {
    for (const slot of this.slots) if (slot.isWanted && !slot.isAnsweredOn(linkId)) return false;
    return true;
  }

  measured(lateNs: number, nowNs: number): void {
    this.#lateNs = lateNs;
    this.#lateAtNs = nowNs;
  }

  /** A repeated book does not show its own delay; what the last news of the connection showed holds for it. */
  lateNs(nowNs: number): number {
    if (this.#lateNs > 0 && nowNs - this.#lateAtNs > LATE_MEMORY_NS) this.#lateNs = 0;
    return this.#lateNs;
  }

  /** A new connection, a new way. */
  down(): void {
    this.#lateNs = 0;
  }
}
