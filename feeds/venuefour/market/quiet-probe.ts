/**
 * Tells a book that fell silent from a dead stream: the venue repeats unchanged books, so silence means that the stream
 * is lost, or that the venue has changed its habit. One REST read decides before anything is torn down.
 *
 * Invariant: at most PROBES_PER_MINUTE reads are spent, over all books; without one left the stream is taken for dead,
 * because subscribing again costs no credits.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { MessagePacer } from "../../shared/net/connection-budget.js";
import type { ProbeResult } from "../../shared/net/subscriptions.js";
import { BOOK_LIVENESS_MS, PROBES_PER_MINUTE, READ_TIMEOUT_MS } from "../rules/limits.js";
import { APPLIED, PROVEN } from "./applied.js";
import { REST_LINK } from "./apply.js";
import type { MarketEntry } from "./entry.js";
import type { VenuefourRest } from "./rest.js";

/** So many markets on one connection do not fall silent together by chance. */
const MASS_SILENCE_MIN = 3;

export class BookProbe {
  readonly #rest: VenuefourRest;
  readonly #clock: Clock;
  readonly #pacer: MessagePacer;
  probeCount = 0;

  constructor(rest: VenuefourRest, clock: Clock) {
    this.#rest = rest;
    this.#clock = clock;
    this.#pacer = new MessagePacer(clock, PROBES_PER_MINUTE, 60_000);
  }

  /** A newer book found this way is taken over at once; the stream that did not bring it is dead all the same. */
  async probe(entry: MarketEntry): Promise<ProbeResult> {
    const startNs = this.#clock.monoNs();
    const { shard } = entry;
    if (shard.marketCount >= MASS_SILENCE_MIN && startNs - shard.lastFrameNs >= BOOK_LIVENESS_MS * 1e6) {
      // Several books and nothing else either: it is the connection, and no single book needs to be asked about.
      shard.socket.reconnect("silent");
      return "unknown";
    }
    if (this.#pacer.waitMs() > 0) return "dead";
    this.#pacer.take();
    this.probeCount++;
    const read = await this.#rest.book(entry.symbol, { timeoutMs: READ_TIMEOUT_MS, lane: "reconcile" });
    if (!read.ok) return read.code === "RATE_LIMITED" || read.code === "BREAKER_OPEN" ? "dead" : "unknown";
    if (read.value.s !== entry.symbol) return "unknown";
    // True as of the moment the question was sent.
    const applied = entry.applier.applyDecodedBook(read.value, startNs, 0, REST_LINK);
    if (applied === PROVEN) return "quiet";
    return applied === APPLIED ? "dead" : "unknown";
  }
}
