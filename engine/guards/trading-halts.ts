/**
 * The kill switch: what the operator switched off, as one row of the state store for each venue and one for all.
 *
 * Invariant: a halt takes effect at once, before it is durable; a lift takes effect only once it is durable.
 */
import type { Clock } from "../domain/clock.js";
import type { Logger } from "../domain/logger.js";
import { scrubReason } from "../domain/scrub.js";
import type { RoutableVenue } from "../domain/venue.js";
import { decodeJson, encodeJson, MAX_SCAN_ROWS, type StateStore } from "../storage/state-store.js";

export interface Halt {
  /** Null means every venue. */
  readonly venue: RoutableVenue | null;
  /**
   * Text written by a person, scrubbed like a log line: it is stored, shown, and sent to every caller who is refused.
   */
  readonly reason: string;
  readonly sinceMs: number;
}

const HALTS = "guard-halt";
const ALL_VENUES = "*";
const MAX_REASON_CHARS = 200;

export class TradingHalts {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #halts = new Map<string, Halt>();

  constructor(store: StateStore, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Rejects when the rows cannot be read. */
  async load(): Promise<void> {
    for (const { value } of await this.#store.scan(HALTS, { prefix: "", limit: MAX_SCAN_ROWS })) {
      const stored = decodeJson(value) as Halt;
      const key = stored.venue ?? ALL_VENUES;
      const halt: Halt = { ...stored, reason: scrubReason(stored.reason, MAX_REASON_CHARS) };
      this.#halts.set(key, halt);
      // An earlier version stored the reason unscrubbed. A store that refuses this write does not prevent the start,
      // since exits must work.
      if (halt.reason !== stored.reason) await this.#store.put(HALTS, key, encodeJson(halt)).catch(() => {});
    }
  }

  list(): readonly Halt[] {
    return [...this.#halts.values()];
  }

  /** Returns null when the venue is not halted. */
  of(venue: RoutableVenue): Halt | null {
    return this.#halts.get(ALL_VENUES) ?? this.#halts.get(venue) ?? null;
  }

  /**
   * Resolves when the halt is durable. Rejects with STORE_UNAVAILABLE: the halt then applies until this process ends.
   */
  async halt(venue: RoutableVenue | null, reason: string): Promise<void> {
    const halt: Halt = { venue, reason: scrubReason(reason, MAX_REASON_CHARS), sinceMs: this.#clock.wallMs() };
    this.#halts.set(venue ?? ALL_VENUES, halt);
    this.#logger.warn("trading_halted", { venue: venue ?? "all" });
    await this.#store.put(HALTS, venue ?? ALL_VENUES, encodeJson(halt));
  }

  /** The halt of all venues and the halt of one venue are lifted separately. */
  async resume(venue: RoutableVenue | null): Promise<void> {
    const key = venue ?? ALL_VENUES;
    const lifted = this.#halts.get(key);
    await this.#store.remove(HALTS, key);
    // A new halt came meanwhile: it applies, here as in the store.
    if (this.#halts.get(key) !== lifted) return;
    this.#halts.delete(key);
    this.#logger.warn("trading_resumed", { venue: venue ?? "all" });
  }
}
