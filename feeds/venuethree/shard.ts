/**
 * One market data connection, the markets it carries, and the proof that what came over it is all there was.
 *
 * The venue's frames arrive in the order in which it wrote them. So a frame of whatever channel, or the answer to a ping
 * of ours, proves that no book update written before it is missing; updates wait up to BATCH_MS before they are written,
 * by which the proof is put back. Pings are sent only while nothing arrives, as they count as messages.
 */
import type { PersistentSocket } from "../shared/socket.js";
import { BATCH_MS, PROOF_EVERY_MS } from "./limits.js";
import type { MarketSlot } from "./market-slot.js";

const NS_PER_MS = 1e6;
const NEVER = -1;
const PING_TEXT = '{"type":"ping"}';

export class Shard {
  readonly socket: PersistentSocket;
  readonly slots = new Set<MarketSlot>();
  /** As of when everything is known to have arrived. */
  #currentNs = NEVER;
  #provenNs = NEVER;
  /** Send time and connection of the ping whose answer is awaited: one at a time, as answers carry no number. */
  #pingNs = NEVER;
  #pingLinkId = 0;

  constructor(socket: PersistentSocket) {
    this.socket = socket;
  }

  /** `asOfNs`: receipt of a frame, or earlier when it was held up on its way. */
  heard(asOfNs: number): void {
    if (asOfNs > this.#currentNs) this.#currentNs = asOfNs;
  }

  pong(linkId: number): void {
    if (this.#pingNs === NEVER || linkId !== this.#pingLinkId) return;
    this.heard(this.#pingNs);
    this.#pingNs = NEVER;
  }

  /** The connection is gone, and the answer to a ping with it. */
  down(): void {
    this.#currentNs = NEVER;
    this.#pingNs = NEVER;
  }

  /** Passes the proof on to every book that no witness contradicts; asks for one where none came. */
  sweep(nowNs: number): void {
    if (this.socket.state !== "open") return;
    if (this.#currentNs > this.#provenNs) {
      this.#provenNs = this.#currentNs;
      const asOfNs = this.#currentNs - BATCH_MS * NS_PER_MS;
      for (const slot of this.slots) if (slot.contradictedNs < 0) slot.market.book.prove(asOfNs);
    }
    if (nowNs - this.#provenNs <= PROOF_EVERY_MS * NS_PER_MS || this.#pingNs !== NEVER) return;
    if (!this.socket.send(PING_TEXT)) return;
    this.#pingNs = nowNs;
    this.#pingLinkId = this.socket.primaryLinkId;
  }
}
