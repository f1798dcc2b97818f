/**
 * Tells quiet books from dead streams. Books are sent only when they change, so silence itself says nothing, and a
 * standard address has 60 REST reads a minute for everything: not every quiet market can be asked about.
 *
 * Three kinds of evidence, the cheap ones first:
 *   1. The connection: all that the venue sent there arrives in the order it was written. A frame of any channel, or
 *      the answer to a ping, proves that nothing written before it is missing (stream.ts proves the books with it).
 *   2. Witnesses over other subscriptions: a ticker with a newer nonce that shows another top than the book withholds
 *      that proof, so the book ages out of routing; if it is still there when an update is long overdue, or if the
 *      statistics show another mid, the book is audited at once.
 *   3. An audit: the top of the venue's book over REST, at most AUDITS_PER_MINUTE, suspects first, then the longest
 *      unaudited silence.
 *
 * A difference found by an audit convicts only when it is still there after an update would have come.
 */
import { type Clock, delay } from "../../../engine/domain/clock.js";
import { parseScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { BOOK_LIVE, type Book } from "../../../engine/market/book.js";
import { MessagePacer } from "../../shared/net/connection-budget.js";
import { AUDIT_AFTER_MS, AUDITS_PER_MINUTE, OVERDUE_MS } from "../rules/limits.js";
import type { MarketSlot } from "./entry.js";
import type { VenuethreeRest } from "./rest.js";
import type { VenuethreeWireBest, VenuethreeWireTop } from "./wire.js";

const NS_PER_MS = 1e6;

export interface QuietWatchOptions {
  readonly clock: Clock;
  readonly rest: VenuethreeRest;
  /** The book differs from the venue's and no update explains it. */
  readonly onDead: (slot: MarketSlot) => void;
}

export class QuietWatch {
  readonly #options: QuietWatchOptions;
  readonly #pacer: MessagePacer;
  auditCount = 0;
  deadCount = 0;
  /** Tickers found wrong by an audit that proved the book. */
  wrongTouchCount = 0;

  constructor(options: QuietWatchOptions) {
    this.#options = options;
    this.#pacer = new MessagePacer(options.clock, AUDITS_PER_MINUTE, 60_000);
  }

  /** Starts the audit that is most needed, if one is and the budget allows. Called a few times a second. */
  sweep(slots: Iterable<MarketSlot>, nowNs: number): void {
    if (this.#pacer.waitMs() > 0) return;
    let chosen: MarketSlot | null = null;
    let chosenNeed = 0;
    for (const slot of slots) {
      const need = slot.isAuditing ? 0 : needOf(slot, nowNs);
      if (need > chosenNeed) {
        chosen = slot;
        chosenNeed = need;
      }
    }
    if (chosen === null) return;
    this.#pacer.take();
    void this.#audit(chosen);
  }

  async #audit(slot: MarketSlot): Promise<void> {
    const { clock, rest, onDead } = this.#options;
    const { book, instrument } = slot.market;
    this.auditCount++;
    slot.isAuditing = true;
    const sentNs = clock.monoNs();
    const answer = await rest.orderBookTop(slot.marketId, "reconcile");
    slot.isAuditing = false;
    slot.auditedNs = sentNs;
    if (answer === "notAsked" || answer === "failed" || book.state !== BOOK_LIVE) return;
    // Changed since the question: the stream is alive, even where the two differ.
    if (book.tsRecvNs > sentNs) return;
    if (isSameTop(book, instrument, answer)) {
      book.prove(sentNs);
      if (slot.contradictedNs >= 0) {
        this.wrongTouchCount++;
        slot.dropTouch();
      }
      return;
    }
    slot.isAuditing = true;
    await delay(clock, OVERDUE_MS);
    slot.isAuditing = false;
    if (book.state !== BOOK_LIVE || book.tsRecvNs > sentNs) return;
    this.deadCount++;
    onDead(slot);
  }
}

/** 0: none. Contradicted by a ticker: most. Another mid: next. Silent and not audited for long: the longer the more. */
function needOf(slot: MarketSlot, nowNs: number): number {
  const { book } = slot.market;
  if (book.state !== BOOK_LIVE) return 0;
  const quietNs = nowNs - Math.max(book.tsRecvNs, slot.auditedNs);
  // Suspicions too are given time between audits.
  if (quietNs <= OVERDUE_MS * NS_PER_MS) return 0;
  if (slot.isOverdue(nowNs)) return 3;
  if (slot.isMidSuspect()) return 2;
  return quietNs > AUDIT_AFTER_MS * NS_PER_MS ? 1 - (AUDIT_AFTER_MS * NS_PER_MS) / quietNs : 0;
}

function isSameTop(book: Book, instrument: Instrument, top: VenuethreeWireTop): boolean {
  return (
    isSameBest(book.bidCount, book.bidTicks(0), book.bidLots(0), top.bid, instrument) &&
    isSameBest(book.askCount, book.askTicks(0), book.askLots(0), top.ask, instrument)
  );
}

/** The answer has a row per order: sizes are summed where all of the price are there, and are a lower bound otherwise. */
function isSameBest(
  count: number,
  ticks: number,
  lots: number,
  best: VenuethreeWireBest | null,
  instrument: Instrument,
): boolean {
  if (best === null) return count === 0;
  if (count === 0 || parseScaled(best.price, instrument.priceDecimals) !== ticks) return false;
  let sum = 0;
  for (const size of best.sizes) sum += parseScaled(size, instrument.qtyDecimals);
  return best.isWhole ? sum === lots : sum <= lots;
}
