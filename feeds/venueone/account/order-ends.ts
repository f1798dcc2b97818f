/**
 * How orders of a streamed account ended: the list of open orders only loses them, so each is looked up, and so is one
 * that filled without ever being in the list. An end that cannot be learnt in time is UNKNOWN, never guessed.
 *
 * Bounds: MAX_LOOKUPS of one account at once; beyond it an end is reported as UNKNOWN.
 */
import { type Clock, delay } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { AccountHost } from "../../shared/account/account-source.js";
import { SURELY_LATER_MS } from "../../shared/account/streamed-reads.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { Deadline } from "../../shared/net/deadline.js";
import { lotsOf } from "../../shared/room/money-text.js";
import type { UnknownWords } from "../../shared/room/unknown-words.js";
import type { VenueoneWireOrder, VenueoneWireOrderUpdate } from "../market/wire.js";
import { type FilledSummary, NOTHING_FILLED, statusOfWord } from "./normalize.js";
import { OrderFills } from "./order-fills.js";
import type { VenueoneRest } from "./rest.js";
import type { AccountState, Applied } from "./state.js";

const MAX_LOOKUPS = 32;
/** An order that has just left the list may not be indexed yet. */
const LOOKUP_TRIES = 3;
const LOOKUP_BACKOFF_MS = 500;

export interface OrderEndsDeps {
  readonly clock: Clock;
  readonly clockOffset: ClockOffset;
  readonly rest: VenueoneRest;
  readonly instrumentOf: (coin: string) => Instrument | null;
  readonly words: UnknownWords;
  /** An end could not be learnt. */
  readonly onUnresolved: () => void;
}

export class OrderEnds {
  readonly #host: AccountHost;
  readonly #data: AccountState;
  readonly #deps: OrderEndsDeps;
  readonly #fills: OrderFills;
  #lookupCount = 0;

  constructor(host: AccountHost, data: AccountState, deps: OrderEndsDeps) {
    const { rest, clock, clockOffset } = deps;
    this.#host = host;
    this.#data = data;
    this.#deps = deps;
    this.#fills = new OrderFills({ rest, clock, clockOffsetMs: () => clockOffset.offsetMs });
  }

  /** Answers that come later do nothing. */
  get #isGone(): boolean {
    return this.#host.state === "DOWN";
  }

  /** An order that left the list. */
  lookUp(row: VenueoneWireOrder): void {
    // Still `open` right after it left the list is the same lag as an unknown oid, and a stop that has fired is at work.
    const isEnd = ({ status }: VenueoneWireOrderUpdate): boolean => status !== "open" && status !== "triggered";
    const isBegun = this.#begin(async () => {
      const applied = await this.#find(row.oid, isEnd, (update, filled) => this.#data.applyEnd(row, update, filled));
      if (applied?.ok === true || this.#isGone) return;
      // Back in the list, it has not ended: a stop that waits at its own limit now.
      if (!this.#data.isListed(row.oid)) this.#unresolved(row);
    });
    if (!isBegun) this.#unresolved(row);
  }

  /**
   * An order that filled at once, or the venue's own liquidation order: it was never in the list. The stream reports
   * its fills; past the bound only its end is lost.
   */
  lookUpUnlisted(oid: number): void {
    this.#begin(async () => {
      await this.#find(
        oid,
        () => true,
        (update, filled) => this.#data.applyUnlisted(update, filled),
      );
    });
  }

  /** Returns false when too many are under way. */
  #begin(work: () => Promise<void>): boolean {
    if (this.#lookupCount >= MAX_LOOKUPS) return false;
    this.#lookupCount++;
    void work().finally(() => {
      this.#lookupCount--;
    });
    return true;
  }

  /** Returns null when it is not found in time, or the account was given up. */
  async #find(
    oid: number,
    isWanted: (update: VenueoneWireOrderUpdate) => boolean,
    apply: (update: VenueoneWireOrderUpdate, filled: FilledSummary) => Applied,
  ): Promise<Applied | null> {
    const { clock, rest } = this.#deps;
    for (let attempt = 1; attempt <= LOOKUP_TRIES; attempt++) {
      const answer = await rest.orderStatus(this.#host.key, oid, this.#host.call);
      if (this.#isGone) return null;
      if (answer.ok && answer.value !== null && isWanted(answer.value)) {
        this.#noteWord(answer.value.status);
        const filled = await this.#filledOf(answer.value);
        if (this.#isGone) return null;
        if (filled !== null) {
          const applied = apply(answer.value, filled);
          // A look-up that does not fit its contract is noted: nothing else would report it.
          if (!applied.ok) this.#host.noteUnreadable(applied.problem);
          return applied;
        }
      }
      await delay(clock, LOOKUP_BACKOFF_MS * attempt);
    }
    return null;
  }

  /**
   * Reads what it filled where neither its row nor the stream shows it. Returns null when that cannot be learnt now.
   */
  async #filledOf(update: VenueoneWireOrderUpdate): Promise<FilledSummary | null> {
    const { clock, clockOffset, instrumentOf } = this.#deps;
    const instrument = instrumentOf(update.order.coin);
    if (instrument === null || !this.#data.lacksFills(update)) return NOTHING_FILLED;
    const deadline = new Deadline(clock, this.#host.call);
    const read = await this.#fills.read(this.#host.key, update, instrument, deadline);
    if (!read.ok) return null;
    // Less than all so soon after the end may be what the index has of it so far.
    const sinceEndMs = clock.wallMs() + clockOffset.offsetMs - update.statusTimestamp;
    const isWhole = read.value.filledLots === lotsOf(instrument, update.order.origSz, "origSz");
    return isWhole || sinceEndMs >= SURELY_LATER_MS ? read.value : null;
  }

  #noteWord(status: string): void {
    if (statusOfWord(status) === "UNKNOWN") this.#deps.words.note("status", status);
  }

  #unresolved(row: VenueoneWireOrder): void {
    this.#deps.onUnresolved();
    this.#data.applyEnd(row, null);
  }
}
