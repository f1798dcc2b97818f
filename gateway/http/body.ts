/**
 * Collects a request body that may arrive in pieces, within a byte limit and a deadline.
 *
 * Invariants: exactly one of done, failed, aborted happens per request; after an abort the response is never used. A
 * body is valid only during its callback: one that arrived whole is in the server's own buffer, which the server
 * reuses. Memory: at most `bodyBytesMax` per open body, and a body whose announced length is too large is refused
 * before a byte of it is kept.
 */
import type { HttpResponse } from "uWebSockets.js";
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import { SharedRoom } from "../../engine/domain/shared-room.js";
import { StrangerBodies } from "./stranger-bodies.js";

export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly bodyDeadlineMs: number;
  readonly openBodiesMax: number;
}

export type BodyFailure = "BODY_TOO_LARGE" | "REQUEST_TIMEOUT";

interface OpenBody {
  readonly deadlineNs: number;
  expire(): void;
}

/** The strangers have the other half. */
const KNOWN_PART = 0.5;
/** How often deadlines are checked while a body is open: one timer for all instead of one per request. */
const SWEEP_MS = 100;

export class BodyReader {
  /** Room for bodies of callers who are not known. */
  readonly strangers: StrangerBodies;
  /** The same for callers who show a key that was proven from their address before, by that key. */
  readonly known: SharedRoom;
  readonly #clock: Clock;
  readonly #limits: BodyLimits;
  readonly #open = new Set<OpenBody>();
  #timer: TimerHandle | null = null;

  constructor(clock: Clock, limits: BodyLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.strangers = new StrangerBodies(limits.openBodiesMax);
    this.known = new SharedRoom(Math.max(1, Math.floor(limits.openBodiesMax * KNOWN_PART)));
  }

  get openCount(): number {
    return this.#open.size;
  }

  /**
   * Must be called inside the route handler. `onDone` copies what it keeps of the body. `isAborted` is called before
   * each callback; the caller has installed its abort handler and calls the returned function from it.
   */
  read(
    response: HttpResponse,
    announcedBytes: string,
    onDone: (body: Buffer) => void,
    onFailed: (failure: BodyFailure) => void,
  ): () => void {
    const bytesMax = this.#limits.bodyBytesMax;
    // The HTTP parser has already refused a length that is no number.
    if (Number(announcedBytes) > bytesMax) {
      onFailed("BODY_TOO_LARGE");
      return () => {};
    }
    let pieces: Buffer[] | null = null;
    let bytes = 0;
    let settled = false;
    const entry: OpenBody = {
      deadlineNs: this.#clock.monoNs() + this.#limits.bodyDeadlineMs * 1e6,
      expire() {
        settled = true;
        onFailed("REQUEST_TIMEOUT");
      },
    };
    this.#add(entry);
    response.onData((chunk, isLast) => {
      if (settled) return;
      bytes += chunk.byteLength;
      if (bytes > bytesMax) {
        settled = true;
        pieces = null;
        this.#open.delete(entry);
        onFailed("BODY_TOO_LARGE");
        return;
      }
      const piece = Buffer.from(chunk);
      if (!isLast) {
        pieces ??= [];
        if (piece.length > 0) pieces.push(Buffer.copyBytesFrom(piece));
        return;
      }
      settled = true;
      this.#open.delete(entry);
      onDone(pieces === null ? piece : Buffer.concat([...pieces, piece], bytes));
    });
    return () => {
      settled = true;
      pieces = null;
      this.#open.delete(entry);
    };
  }

  stop(): void {
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
    this.#timer = null;
    this.#open.clear();
  }

  #add(entry: OpenBody): void {
    this.#open.add(entry);
    this.#timer ??= this.#clock.setTimer(() => this.#sweep(), SWEEP_MS);
  }

  #sweep(): void {
    this.#timer = null;
    const nowNs = this.#clock.monoNs();
    // Insertion order is deadline order: the check ends at the first that is not due.
    for (const entry of this.#open) {
      if (entry.deadlineNs > nowNs) break;
      this.#open.delete(entry);
      entry.expire();
    }
    if (this.#open.size > 0) this.#timer = this.#clock.setTimer(() => this.#sweep(), SWEEP_MS);
  }
}
