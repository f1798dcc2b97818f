/**
 * Ends orders of unknown outcome by reading the venue, never by sending again. Where a room follows an order over its
 * account's stream, the end is taken from there the moment it is reported; the reads come all the same, only later.
 *
 * One entry per order holds one session, kept for this order alone and closed when the entry ends. It ends in one of
 * three ways: the venue shows the order in a final state; the venue does not know it in a read that proves that it was
 * never placed (absence-proof.ts); or neither, and it stays UNKNOWN. An entry lives until its order's bound, the lag and
 * one look have passed, RESOLVE_MIN_MS at least and RESOLVE_MAX_MS at most; where protection waits for what the order
 * filled, RESOLVE_MAX_MS, so long as half of the places are free for others.
 *
 * An order that is found ended without the price of its fills ends its entry all the same; the price is read beside it,
 * with the entry's session, for PRICE_LIFE_MS.
 *
 * Bounds: MAX_UNRESOLVED entries, as many prices. One more is refused at once: its session is closed, it stays UNKNOWN and is
 * listed like the others.
 */
import { logLook, logResolution } from "./debug-lines.js";
import type { Clock } from "../../domain/clock.js";
import type { Instrument } from "../../domain/instrument.js";
import type { Logger } from "../../domain/logger.js";
import type { VenueOrder } from "../../domain/order.js";
import type { AccountSession, Read, ReadFailure, VenueRoom } from "../../ports.js";
import {
  isOrderSent,
  isProvenAbsent,
  momentOf,
  proofInMs,
  type AbsenceBound,
  type ExpectedOrder,
} from "./absence-proof.js";
import { isBehind, isOneIdAlone } from "../order-parts.js";
import { isRefusal, isUnsent, unansweredPauseMs } from "./look-pause.js";
import { isPriced, isSettled } from "../run.js";

export const MAX_UNRESOLVED = 256;
export const RESOLVE_MIN_MS = 60_000;
export const RESOLVE_MAX_MS = 600_000;
export const FIRST_POLL_DELAY_MS = 250;
/** Of an order that the venue has acknowledged and not executed yet, where the room does not know better. */
const FIRST_ACKED_POLL_DELAY_MS = 60;
const POLL_TIMEOUT_MS = 3_000;
/** A look at the very end of a bound proves nothing yet. */
const PROOF_MARGIN_MS = 50;
/** An order that has ended is read this long for the price of its fills. */
const PRICE_LIFE_MS = 60_000;
/** How long the doubling pauses may put off the first look that proves an absence. */
const MAX_PROOF_DELAY_MS = 2_000;
/** Between two looks at an order that protection waits for. */
const MAX_PROTECTED_PAUSE_MS = 15_000;
/** Stands in until the first poll has begun, in the same turn. */
const NOT_STARTED: Promise<Resolution> = new Promise(() => {});

export interface UnknownOrder {
  readonly routeId: string;
  readonly room: VenueRoom;
  readonly instrument: Instrument;
  readonly clientIdHex: string;
  /** Null when nothing proves it absent. */
  readonly bound: () => AbsenceBound | null;
  /** The venue has shown it: that it does not know it at some later time proves nothing. */
  readonly markSeen: () => void;
  /** Writes a price of its fills that was found after its end. */
  readonly takePrice: (parts: { readonly clock: Clock; readonly logger: Logger }, found: VenueOrder) => void;
  /** The venue acknowledged it. */
  readonly isAcknowledged: boolean;
  readonly sent: ExpectedOrder;
  /** A resting order is final for us once the venue shows it. */
  readonly mayRest: boolean;
  /** Of an entry whose take-profit or stop-loss waits for what it filled. */
  readonly awaitsProtection?: true;
}

export type Resolution =
  /** `isReplaced`: under an id that has another in its place. */
  | { readonly kind: "found"; readonly order: VenueOrder; readonly isReplaced?: true }
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

/** The price of an order whose end is known. */
interface PriceReading {
  found: Promise<VenueOrder | null>;
  /** Ends the pause it is in. */
  wake: (() => void) | null;
}

/** Stands in until the first look has begun, in the same turn. */
const NO_PRICE: Promise<VenueOrder | null> = Promise.resolve(null);

export class Resolver {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #parts: LookParts;
  readonly #maxUnresolved: number;
  readonly #active = new Map<string, Entry>();
  readonly #prices = new Map<string, PriceReading>();
  #stopping = false;
  readonly #counts = { started: 0, found: 0, notPlaced: 0, leftUnknown: 0, refused: 0 };

  constructor(clock: Clock, logger: Logger, maxUnresolved = MAX_UNRESOLVED) {
    this.#clock = clock;
    this.#logger = logger;
    this.#parts = { clock, logger };
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
        if (!this.readPrice(order, session, resolution)) session.close();
        this.#active.delete(order.clientIdHex);
        this.#count(resolution);
        logResolution(this.#parts, order, resolution);
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

  /** The order with the price of its fills, while that is being read; it resolves to null where none is found. */
  priceOf(clientIdHex: string): Promise<VenueOrder | null> | null {
    return this.#prices.get(clientIdHex)?.found ?? null;
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
    const prices = [...this.#prices.values()];
    for (const price of prices) price.wake?.();
    await Promise.all(prices.map(({ found }) => found));
  }

  /** true: the session is kept, and closed at the end, to read what the fills of an ended order cost. */
  readPrice(order: UnknownOrder, session: AccountSession, end: Resolution | LookUp): boolean {
    if (end.kind !== "found" || isPriced(end.order) || this.#prices.size >= this.#maxUnresolved) return false;
    if (this.#prices.has(order.clientIdHex)) return false;
    const reading: PriceReading = { found: NO_PRICE, wake: null };
    reading.found = this.#pollPrice(reading, order, session, end.order.filledLots)
      .then((found) => {
        // Also where nobody waits for it: another order of its run may be unknown for longer than a price is kept.
        if (found !== null) order.takePrice({ clock: this.#clock, logger: this.#logger }, found);
        return found;
      })
      .catch((error: unknown) => {
        // A bug of ours in the look-up: the fill stays without a price.
        const problem = error instanceof Error ? error.name : "not an Error";
        this.#logger.error("price_read_failed", { routeId: order.routeId, problem });
        return null;
      })
      .finally(() => {
        session.close();
        this.#prices.delete(order.clientIdHex);
      });
    this.#prices.set(order.clientIdHex, reading);
    return true;
  }

  /** A read that lags behind what is known to have filled prices a part of it alone. */
  async #pollPrice(
    reading: PriceReading,
    order: UnknownOrder,
    session: AccountSession,
    filledLots: number,
  ): Promise<VenueOrder | null> {
    const startNs = this.#clock.monoNs();
    for (let delayMs = FIRST_ACKED_POLL_DELAY_MS; ; delayMs *= 2) {
      const leftMs = PRICE_LIFE_MS - (this.#clock.monoNs() - startNs) / 1e6;
      if (leftMs <= 0) {
        this.#logger.warn("fill_price_unknown", { routeId: order.routeId, venue: order.room.venue });
        return null;
      }
      if (!this.#stopping) await this.#sleep(reading, Math.min(delayMs, leftMs));
      const look = await lookUpOrder(this.#parts, order, session);
      if (look.kind === "found" && isPriced(look.order) && look.order.filledLots >= filledLots) return look.order;
      if (this.#stopping) return null;
    }
  }

  /** A pause that `stop` and `offer` end early. */
  #sleep(entry: Pick<Entry, "wake">, delayMs: number): Promise<void> {
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
      if (!isSettled(ended, order.mayRest) || !isOrderSent(order.sent, ended)) return;
      if (order.mayRest && isOneIdAlone(order.sent, ended)) return;
      entry.offered ??= { kind: "found", order: ended };
      entry.wake?.();
    });
    try {
      // An acknowledged order needs no proof, only its end, which is near.
      const ackedDelayMs = followed?.lookAfterMs ?? FIRST_ACKED_POLL_DELAY_MS;
      return await this.#poll(entry, order, session, order.isAcknowledged ? ackedDelayMs : FIRST_POLL_DELAY_MS);
    } finally {
      followed?.stop();
    }
  }

  async #poll(entry: Entry, order: UnknownOrder, session: AccountSession, firstDelayMs: number): Promise<Resolution> {
    const startNs = this.#clock.monoNs();
    /** Below 0: a look proves it, or nothing does. */
    const proofMs = (): number => {
      const bound = order.bound();
      return bound === null ? -1 : proofInMs(bound, momentOf(this.#clock, order.room));
    };
    const untilProofMs = proofMs() + POLL_TIMEOUT_MS;
    const lifeMs = Math.min(RESOLVE_MAX_MS, Math.max(RESOLVE_MIN_MS, untilProofMs));
    let seen: VenueOrder | null = null;
    let lookedNs = startNs;
    let laterMs = Math.min(firstDelayMs, FIRST_POLL_DELAY_MS);
    for (let delayMs = firstDelayMs; ; delayMs = laterMs) {
      const livedMs = (this.#clock.monoNs() - startNs) / 1e6;
      const leftMs = (this.#mayLiveLonger(order) ? RESOLVE_MAX_MS : lifeMs) - livedMs;
      if (leftMs <= 0) return { kind: "unknown", reason: "TIMED_OUT", order: seen };
      if (!this.#stopping && entry.offered === null) {
        const pauseMs = Math.min(delayMs, leftMs);
        const proofAfterMs = proofMs() + PROOF_MARGIN_MS;
        // A long pause does not put off the look that proves it.
        const isPutOff = proofAfterMs > 0 && pauseMs - proofAfterMs > MAX_PROOF_DELAY_MS;
        await this.#sleep(entry, isPutOff ? proofAfterMs : pauseMs);
      }
      if (entry.offered !== null) return entry.offered;
      const look = await this.#look(entry, order, session);
      if (entry.offered !== null) return entry.offered;
      if (look.kind === "found" || look.kind === "notPlaced") return look;
      seen = look.order ?? seen;
      if (this.#stopping) return { kind: "unknown", reason: "SHUT_DOWN", order: seen };
      laterMs *= 2;
      if (!isRepeatedSoon(order, look)) lookedNs = this.#clock.monoNs();
      else laterMs = Math.min(laterMs, unansweredPauseMs((this.#clock.monoNs() - lookedNs) / 1e6));
      if (order.awaitsProtection === true && look.answered) laterMs = Math.min(laterMs, MAX_PROTECTED_PAUSE_MS);
    }
  }

  /** What it filled stands without its stop until its end is known. */
  #mayLiveLonger({ awaitsProtection }: UnknownOrder): boolean {
    return awaitsProtection === true && this.#active.size <= this.#maxUnresolved / 2;
  }

  /** A look that an offered end makes superfluous is not waited for. */
  async #look(entry: Entry, order: UnknownOrder, session: AccountSession): Promise<LookUp> {
    const offered = new Promise<LookUp>((resolve) => {
      entry.wake = () => {
        if (entry.offered !== null) resolve(NOT_LOOKED);
      };
    });
    const look = await Promise.race([lookUpOrder(this.#parts, order, session), offered]);
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
  | {
      readonly kind: "open";
      readonly order: VenueOrder | null;
      readonly answered: boolean;
      /** Why it was not answered. */
      readonly failure?: ReadFailure;
    };

interface LookParts {
  readonly clock: Clock;
  readonly logger: Logger;
}

const NOT_LOOKED: LookUp = { kind: "open", order: null, answered: false };

/** One read by client id on the exit lane, judged by the proof rule above. */
export async function lookUpOrder(
  parts: LookParts,
  order: UnknownOrder,
  session: AccountSession,
  timeoutMs = POLL_TIMEOUT_MS,
): Promise<LookUp> {
  const began = momentOf(parts.clock, order.room);
  const read = await order.room.reader.readOrder(
    session,
    order.instrument,
    { clientIdHex: order.clientIdHex, sentAfterVenueMs: order.sent.sentAfterVenueMs ?? 0 },
    { timeoutMs, lane: "exit" },
  );
  const look = judge(order, read, began);
  logLook(parts, order, timeoutMs, read, look);
  return look;
}

/**
 * Must such a look not put off the next one? Where nothing went out it was none; where protection waits, one that failed
 * shows nothing either.
 */
function isRepeatedSoon({ awaitsProtection }: UnknownOrder, { failure }: Extract<LookUp, { kind: "open" }>): boolean {
  if (failure === undefined) return false;
  return isUnsent(failure) || (awaitsProtection === true && !isRefusal(failure));
}

function judge(order: UnknownOrder, read: Read<VenueOrder | null>, began: ReturnType<typeof momentOf>): LookUp {
  if (!read.ok) {
    return { kind: "open", order: null, answered: false, failure: read.code };
  }
  if (read.value === null) {
    return isProvenAbsent(order.bound(), began) ? { kind: "notPlaced" } : { kind: "open", order: null, answered: true };
  }
  // Another order of that name proves nothing of this one.
  if (!isOrderSent(order.sent, read.value)) return { kind: "open", order: null, answered: true };
  order.markSeen();
  // A read that lags behind what filled proves nothing.
  if (isBehind(order.sent, read.value)) return { kind: "open", order: null, answered: true };
  return isSettled(read.value, order.mayRest)
    ? { kind: "found", order: read.value }
    : { kind: "open", order: read.value, answered: true };
}
