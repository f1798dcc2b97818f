/**
 * Fills of frames that could not be read: no stream sends them again on this connection, so they are read with
 * `userFillsByTime`, and the account's state reports each that it does not know (account/state.ts). The index of fills
 * lags: they are read again until a reading began SURELY_LATER_MS after the loss.
 *
 * Bound: one page of fills of the time around the loss; rows that cannot be read either are given up, noted once.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { AccountHost } from "../../shared/account/account-source.js";
import { SURELY_LATER_MS } from "../../shared/account/streamed-reads.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { monoMs } from "../../shared/net/weight-window.js";
import type { VenueoneWireFill } from "../market/wire.js";
import type { VenueoneRest } from "./rest.js";

/** How much later than its fills a frame may have come. */
const OVERLAP_MS = 60_000;
/** Room for the error of the clock offset. */
const CLOCK_MARGIN_MS = 2_000;

export interface UnreadFillsDeps {
  readonly rest: Pick<VenueoneRest, "userFillsByTime">;
  readonly clock: Clock;
  readonly clockOffset: ClockOffset;
}

export interface ReadFills {
  /** Newest first, as the stream's snapshots. */
  readonly rows: readonly VenueoneWireFill[];
  /** They have been reported. */
  taken(): void;
}

export class UnreadFills {
  readonly #host: Pick<AccountHost, "key" | "noteUnreadable">;
  readonly #deps: UnreadFillsDeps;
  /** Monotonic ms of the last loss; null: nothing is missing. */
  #lostMs: number | null = null;
  /** Venue ms from which on fills may be missing. */
  #sinceMs = 0;

  constructor(host: Pick<AccountHost, "key" | "noteUnreadable">, deps: UnreadFillsDeps) {
    this.#host = host;
    this.#deps = deps;
  }

  get isMissing(): boolean {
    return this.#lostMs !== null;
  }

  /** A frame that may have held fills could not be read. */
  lost(): void {
    if (this.#lostMs === null) this.#sinceMs = this.#venueNowMs() - OVERLAP_MS;
    this.#lostMs = monoMs(this.#deps.clock);
  }

  /** Resolves to null where nothing is missing, or what is cannot be read now. */
  async read(call: CallOptions): Promise<ReadFills | null> {
    const { clock, rest } = this.#deps;
    const lostMs = this.#lostMs;
    if (lostMs === null) return null;
    const isConclusive = monoMs(clock) - lostMs >= SURELY_LATER_MS;
    const end = (): void => {
      if (this.#lostMs === lostMs) this.#lostMs = null;
    };
    const untilMs = this.#venueNowMs() + CLOCK_MARGIN_MS;
    const read = await rest.userFillsByTime(this.#host.key, this.#sinceMs, untilMs, call);
    if (read.ok) return { rows: read.value.toReversed(), taken: isConclusive ? end : () => {} };
    if (read.code === "BAD_RESPONSE") {
      this.#host.noteUnreadable(read.message);
      end();
    }
    return null;
  }

  /** Whole: it goes into a query, and the clock estimate has fractions. */
  #venueNowMs(): number {
    return Math.floor(this.#deps.clock.wallMs() + this.#deps.clockOffset.offsetMs);
  }
}
