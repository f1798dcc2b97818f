/**
 * What filled of an order whose row does not show it: a reduce-only order's `sz` shrinks without a fill, and the venue
 * also calls an order `filled` whose remainder was dropped. Fills are summed by order id; average price and fee always
 * come from them.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import type { Deadline } from "../../shared/net/deadline.js";
import { decodeWith } from "../../shared/room/wire-fields.js";
import {
  filledLotsOfRow,
  isEndWord,
  NOTHING_FILLED,
  statusOfWord,
  summarizeFills,
  type FilledSummary,
} from "./normalize.js";
import type { VenueoneRest } from "./rest.js";
import type { VenueoneWireFill, VenueoneWireOrderUpdate } from "../market/wire.js";

/** Rows of one userFillsByTime answer; a full one means that there may be more. */
export const FILL_PAGE_ROWS = 2_000;
/** Pages read for one order. An order with more fills than this in its time is left to a later look. */
const MAX_FILL_PAGES = 3;
/** Fills carry block times, statuses their own: both sides of an order's life are widened by this. */
export const FILL_TIME_SLACK_MS = 2_000;

export interface OrderFillsDeps {
  readonly rest: VenueoneRest;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
}

export class OrderFills {
  readonly #deps: OrderFillsDeps;

  constructor(deps: OrderFillsDeps) {
    this.#deps = deps;
  }

  /** Takes the row where it shows what filled, else the fills. */
  async read(
    account: string,
    update: VenueoneWireOrderUpdate,
    instrument: Instrument,
    deadline: Deadline,
  ): Promise<Read<FilledSummary>> {
    const asOfMs = this.#deps.clock.wallMs();
    const decoded = decodeWith(update.order, () => filledLotsOfRow(update.order, instrument));
    if (!decoded.ok) return failedRead("BAD_RESPONSE", `orderStatus: ${decoded.problem}`);
    const rowLots = decoded.value;
    const isFilledWord = statusOfWord(update.status) === "FILLED";
    if (rowLots === 0 && !isFilledWord) return { ok: true, value: NOTHING_FILLED, asOfMs, source: "venue" };
    const fills = await this.#fillsOf(account, update, deadline);
    const summary = fills.ok
      ? decodeWith(fills.value, () => summarizeFills(fills.value, update.order.oid, instrument))
      : null;
    if (summary !== null && !summary.ok) return failedRead("BAD_RESPONSE", `userFillsByTime: ${summary.problem}`);
    const summed = summary?.value ?? null;
    if (rowLots !== null && rowLots > 0) {
      // Fills that are not all indexed yet would give a wrong average: leave it out, the amount is certain.
      const isComplete = summed !== null && summed.filledLots === rowLots;
      return {
        ok: true,
        value: isComplete ? summed : { ...NOTHING_FILLED, filledLots: rowLots },
        asOfMs,
        source: "venue",
      };
    }
    if (!fills.ok) return fills;
    // `filled` without a fill is a lag of the index, not a fill of zero.
    if (summed === null || (isFilledWord && summed.filledLots === 0))
      return failedRead("VENUE_ERROR", "the fills are not indexed yet");
    return { ok: true, value: summed, asOfMs, source: "venue" };
  }

  /** The newest order that filled under the client id since another one of it, `update`, was canceled; null: none did. */
  async oidInPlaceOf(
    account: string,
    cloid: string,
    { order, statusTimestamp }: VenueoneWireOrderUpdate,
    deadline: Deadline,
  ): Promise<Read<number | null>> {
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for the fills");
    const { clock, clockOffsetMs, rest } = this.#deps;
    const startMs = statusTimestamp - FILL_TIME_SLACK_MS;
    const endMs = Math.round(clock.wallMs() + clockOffsetMs() + FILL_TIME_SLACK_MS);
    const rows = await rest.userFillsByTime(account, startMs, endMs, left);
    if (!rows.ok) return rows;
    const oids = rows.value.flatMap((fill) => (fill.cloid === cloid && fill.oid !== order.oid ? [fill.oid] : []));
    return { ...rows, value: oids.length === 0 ? null : Math.max(...oids) };
  }

  /** The venue's time until which an order can have filled. */
  endMs(update: VenueoneWireOrderUpdate): number {
    const isEnded = isEndWord(update.status);
    const venueNowMs = this.#deps.clock.wallMs() + this.#deps.clockOffsetMs();
    return Math.round((isEnded ? update.statusTimestamp : venueNowMs) + FILL_TIME_SLACK_MS);
  }

  async #fillsOf(
    account: string,
    update: VenueoneWireOrderUpdate,
    deadline: Deadline,
  ): Promise<Read<readonly VenueoneWireFill[]>> {
    const endMs = this.endMs(update);
    let startMs = update.order.timestamp - FILL_TIME_SLACK_MS;
    const fills: VenueoneWireFill[] = [];
    for (let page = 0; page < MAX_FILL_PAGES; page++) {
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left for the fills");
      const rows = await this.#deps.rest.userFillsByTime(account, startMs, endMs, left);
      if (!rows.ok) return rows;
      fills.push(...rows.value);
      const last = rows.value.at(-1);
      if (last === undefined || rows.value.length < FILL_PAGE_ROWS) return { ...rows, value: fills };
      // Bounds are inclusive, so rows of the last instant come again and are told apart by their id.
      startMs = last.time;
    }
    return failedRead("BAD_RESPONSE", "too many fills to sum");
  }
}
