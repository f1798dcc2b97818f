/**
 * One market data connection, the markets it carries, and the proof that what came over it is all there was.
 *
 * The venue's frames arrive in the order in which it wrote them. So a frame of any channel, or the answer to a ping
 * of ours, proves that no book update written before it is missing; updates wait up to BATCH_MS before they are written,
 * by which the proof is put back. Pings are sent only while nothing arrives, as they count as messages.
 *
 * A server that answers pings may have stopped publishing. So each connection carries one channel that always speaks, the
 * height of the chain: without it for HEIGHT_LATE_MS nothing is proven, and for HEIGHT_DEAD_MS the connection is replaced.
 * Where it is not asked for nothing is proven either, and a book lives by its own frames and by audits.
 * That one witness counts for all markets of the connection; none of them is asked about over REST meanwhile.
 */
import type { PersistentSocket } from "../../shared/net/socket.js";
import type { Subscription } from "../../shared/net/subscriptions.js";
import { BATCH_MS, HEIGHT_DEAD_MS, HEIGHT_LATE_MS, PROOF_EVERY_MS } from "../rules/limits.js";
import type { MarketSlot } from "./entry.js";

const NS_PER_MS = 1e6;
const NEVER = -1;
const PING_TEXT = '{"type":"ping"}';

export class Shard {
  readonly socket: PersistentSocket;
  readonly slots = new Set<MarketSlot>();
  readonly #height: Subscription | null;
  /** As of when everything is known to have arrived. */
  #currentNs = NEVER;
  #provenNs = NEVER;
  /** Send time and connection of the ping whose answer is awaited: one at a time, as answers carry no number. */
  #pingNs = NEVER;
  #pingLinkId = 0;

  /** `height`: asked for before the channels of any market. */
  constructor(socket: PersistentSocket, height: Subscription | null) {
    this.socket = socket;
    this.#height = height;
  }

  onHeight(tsRecvNs: number, linkId: number): void {
    this.#height?.alive(tsRecvNs, linkId);
  }

  /** The venue publishes on it, as far as is known. */
  isPublishing(nowNs: number): boolean {
    return this.#heightAgeNs(nowNs) <= HEIGHT_LATE_MS * NS_PER_MS;
  }

  /** `asOfNs`: receipt of a frame, or earlier when it was held up on its way. */
  noteFrame(asOfNs: number): void {
    if (asOfNs > this.#currentNs) this.#currentNs = asOfNs;
  }

  pong(linkId: number): void {
    if (this.#pingNs === NEVER || linkId !== this.#pingLinkId) return;
    this.noteFrame(this.#pingNs);
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
    // Not asked for, or given up for ending connections: nothing distinguishes a mute one from one that is quiet.
    if (this.#height !== null && this.#height.aliveNs < 0) return;
    const heightAgeNs = this.#heightAgeNs(nowNs);
    if (heightAgeNs > HEIGHT_DEAD_MS * NS_PER_MS) {
      this.socket.reconnect("no height");
      return;
    }
    if (heightAgeNs > HEIGHT_LATE_MS * NS_PER_MS) return;
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

  /** Since the last one, or since it was asked for. */
  #heightAgeNs(nowNs: number): number {
    return this.#height === null || this.#height.aliveNs < 0 ? 0 : nowNs - this.#height.aliveNs;
  }
}
