/**
 * Ends orders of unknown outcome by reading the venue, never by sending again. Where a room follows an order over its
 * account's stream, the end is taken from there the moment it is told; the reads come all the same, only later.
 *
 * One entry per order holds one session, kept for this order alone and closed when the entry ends, at most
 * RESOLVE_MAX_MS after it began. It ends in one of three ways: the venue shows the order in a final state;
 * the venue does not know it in a read that began after the order could no longer be accepted plus the venue's
 * indexing lag, which proves that it was never placed; or neither, and it stays UNKNOWN.
 *
 * Bounds: MAX_UNRESOLVED entries. One more is refused at once: its session is closed, it stays UNKNOWN and is
 * listed like the others.
 */
import type { Clock } from "../domain/clock.js";
import type { Instrument } from "../domain/instrument.js";
import type { Logger } from "../domain/logger.js";
import type { VenueOrder } from "../domain/order.js";
import type { AccountSession, VenueRoom } from "../ports.js";
import { isSettled } from "./trade-run.js";

export const MAX_UNRESOLVED = 256;
export const RESOLVE_MAX_MS = 60_000;
export const FIRST_POLL_DELAY_MS = 250;
/** Of an order that the venue has acknowledged and not executed yet, where the room does not know better. */
const FIRST_ACKED_POLL_DELAY_MS = 60;
/** How long a venue may answer "no such order" about one that it has accepted (seen: up to 1.1 s; doubled). */
export const INDEXING_LAG_MS = 2_000;
const POLL_TIMEOUT_MS = 3_000;
/** Stands in until the first poll has begun, in the same turn. */
const NOT_STARTED: Promise<Resolution> = new Promise(() => {});

export interface UnknownOrder {
  readonly routeId: string;
  readonly room: VenueRoom;
  readonly instrument: Instrument;
  readonly clientIdHex: string;
  /** Wall ms after which the venue can no longer accept the order. */
  readonly notPlacedAfterMs: number;
  /** A resting order is final for us once the venue shows it. */
  readonly mayRest: boolean;
}

export type Resolution =
  | { readonly kind: "found"; readonly order: VenueOrder }
  | { readonly kind: "notPlaced" }
  /** `reason`: why it stays UNKNOWN. `order`: shown by the venue, but not in a final state yet. */
  | {
      readonly kind: "unknown";
      readonly reason: "TIMED_OUT" | "TOO_MANY" | "SHUT_DOWN";
      readonly order: VenueOrder | null;
    };

export interface ResolverCounts {
  readonly active: number;
  readonly started: number;
  readonly found: number;
  readonly notPlaced: number;
  readonly leftUnknown: number;
  readonly refused: number;
}

interface Entry {
  running: Promise<Resolution>;
  /** Found by somebody else meanwhile; ends the entry. */
  offered: Resolution | null;
  /** Ends the pause it is in, or a read that is not needed any more. */
  wake: (() => void) | null;
}

export class Resolver {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #maxUnresolved: number;
  readonly #active = new Map<string, Entry>();
  #stopping = false;
  readonly #counts = { started: 0, found: 0, notPlaced: 0, leftUnknown: 0, refused: 0 };

  constructor(clock: Clock, logger: Logger, maxUnresolved = MAX_UNRESOLVED) {
    this.#clock = clock;
    this.#logger = logger;
    this.#maxUnresolved = maxUnresolved;
  }

  /** Takes the session over and closes it at the end, whatever happens. Never rejects. */
  resolve(order: UnknownOrder, session: AccountSession): Promise<Resolution> {
    if (this.#stopping || this.#active.size >= this.#maxUnresolved) {
      session.close();
      this.#counts.refused += 1;
      this.#logger.warn("resolver_refused", { routeId: order.routeId, venue: order.room.venue });
      return Promise.resolve({ kind: "unknown", reason: this.#stopping ? "SHUT_DOWN" : "TOO_MANY", order: null });
    }
    this.#counts.started += 1;
    const entry: Entry = { running: NOT_STARTED, offered: null, wake: null };
    entry.running = this.#follow(entry, order, session)
      .catch((error: unknown): Resolution => {
        // A room never throws for what a venue does, so this is a bug of ours; the order is still unknown.
        this.#logger.error("resolver_failed", {
          routeId: order.routeId,
          problem: error instanceof Error ? error.name : "not an Error",
        });
        return { kind: "unknown", reason: "TIMED_OUT", order: null };
      })
      .then((resolution) => {
        session.close();
        this.#active.delete(order.clientIdHex);
        this.#count(resolution);
        return resolution;
      });
    this.#active.set(order.clientIdHex, entry);
    return entry.running;
  }

  /**
   * Hands an end over that was found by other credentials of the same account, and wakes the entry. Resolves when the
   * entry has ended, after those who waited for it before; false: there is no such entry.
   */
  async offer(clientIdHex: string, found: Resolution): Promise<boolean> {
    const entry = this.#active.get(clientIdHex);
    if (entry === undefined) return false;
    entry.offered ??= found;
    entry.wake?.();
    await entry.running;
    return true;
  }

  isActive(clientIdHex: string): boolean {
    return this.#active.has(clientIdHex);
  }

  counts(): ResolverCounts {
    return { active: this.#active.size, ...this.#counts };
  }

  /** Gives every entry one last look now and ends it; what is not known by then stays UNKNOWN. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const entries = [...this.#active.values()];
    for (const entry of entries) entry.wake?.();
    await Promise.all(entries.map((entry) => entry.running));
  }

  /** A pause that `stop` and `offer` end early. */
  #sleep(entry: Entry, delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#clock.clearTimer(timer);
        entry.wake = null;
        resolve();
      };
      const timer = this.#clock.setTimer(wake, delayMs);
      entry.wake = wake;
    });
  }

  async #follow(entry: Entry, order: UnknownOrder, session: AccountSession): Promise<Resolution> {
    const ref = { clientIdHex: order.clientIdHex };
    const followed = order.room.reader.followOrder?.(session, order.instrument, ref, (ended) => {
      if (!isSettled(ended, order.mayRest)) return;
      entry.offered ??= { kind: "found", order: ended };
      entry.wake?.();
    });
    try {
      // An acknowledged order needs no proof, only its end, which is near.
      const isAcknowledged = order.notPlacedAfterMs === Number.MAX_SAFE_INTEGER;
      const ackedDelayMs = followed?.lookAfterMs ?? FIRST_ACKED_POLL_DELAY_MS;
      return await this.#poll(entry, order, session, isAcknowledged ? ackedDelayMs : FIRST_POLL_DELAY_MS);
    } finally {
      followed?.stop();
    }
  }

  async #poll(entry: Entry, order: UnknownOrder, session: AccountSession, firstDelayMs: number): Promise<Resolution> {
    const startNs = this.#clock.monoNs();
    let seen: VenueOrder | null = null;
    let laterMs = Math.min(firstDelayMs, FIRST_POLL_DELAY_MS);
    for (let delayMs = firstDelayMs; ; delayMs = laterMs) {
      const leftMs = RESOLVE_MAX_MS - (this.#clock.monoNs() - startNs) / 1e6;
      if (leftMs <= 0) return { kind: "unknown", reason: "TIMED_OUT", order: seen };
      if (!this.#stopping && entry.offered === null) await this.#sleep(entry, Math.min(delayMs, leftMs));
      if (entry.offered !== null) return entry.offered;
      const look = await this.#look(entry, order, session);
      if (entry.offered !== null) return entry.offered;
      if (look.kind === "found" || look.kind === "notPlaced") return look;
      seen = look.order ?? seen;
      if (this.#stopping) return { kind: "unknown", reason: "SHUT_DOWN", order: seen };
      laterMs *= 2;
    }
  }

  /** A look that an offered end makes superfluous is not waited for. */
  async #look(entry: Entry, order: UnknownOrder, session: AccountSession): Promise<LookUp> {
    const offered = new Promise<LookUp>((resolve) => {
      entry.wake = () => {
        if (entry.offered !== null) resolve(NOT_LOOKED);
      };
    });
    const look = await Promise.race([lookUpOrder(this.#clock, order, session), offered]);
    entry.wake = null;
    return look;
  }

  #count(resolution: Resolution): void {
    if (resolution.kind === "found") this.#counts.found += 1;
    else if (resolution.kind === "notPlaced") this.#counts.notPlaced += 1;
    else this.#counts.leftUnknown += 1;
  }
}

export type LookUp =
  | { readonly kind: "found"; readonly order: VenueOrder }
  | { readonly kind: "notPlaced" }
  /** The venue did not answer, or does not know the order yet, or shows it still working. */
  | { readonly kind: "open"; readonly order: VenueOrder | null; readonly answered: boolean };

const NOT_LOOKED: LookUp = { kind: "open", order: null, answered: false };

/** One read by client id on the exit lane, judged by the proof rule above. */
export async function lookUpOrder(
  clock: Clock,
  order: UnknownOrder,
  session: AccountSession,
  timeoutMs = POLL_TIMEOUT_MS,
): Promise<LookUp> {
  const beganMs = clock.wallMs();
  const read = await order.room.reader.readOrder(
    session,
    order.instrument,
    { clientIdHex: order.clientIdHex },
    { timeoutMs, lane: "exit" },
  );
  if (!read.ok) return { kind: "open", order: null, answered: false };
  if (read.value === null) {
    return beganMs > order.notPlacedAfterMs + INDEXING_LAG_MS
      ? { kind: "notPlaced" }
      : { kind: "open", order: null, answered: true };
  }
  return isSettled(read.value, order.mayRest)
    ? { kind: "found", order: read.value }
    : { kind: "open", order: read.value, answered: true };
}
