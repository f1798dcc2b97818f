/**
 * The venue's ledger of an account, searched from a time on. Answers have at most 500 rows, oldest first: a search that
 * could not read to the end says so, and never that there is nothing.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { decodeLedger, type VenueoneWireLedgerRow } from "../account/history-wire.js";
import type { VenueoneRest } from "../account/rest.js";

const TYPE = "userNonFundingLedgerUpdates";
const ROWS_MAX = 500;
const PAGES_MAX = 10;

export class LedgerSearch {
  readonly #rest: VenueoneRest;
  readonly #clock: Clock;

  constructor(rest: VenueoneRest, clock: Clock) {
    this.#rest = rest;
    this.#clock = clock;
  }

  /** The first row that fits; null: there is none. `sinceVenueMs` is on the venue's clock. */
  async find<Row extends VenueoneWireLedgerRow>(
    account: string,
    sinceVenueMs: number,
    fits: (row: VenueoneWireLedgerRow) => row is Row,
    options: CallOptions,
  ): Promise<Read<Row | null>> {
    const rows = await this.#search(account, sinceVenueMs, fits, { ...options, most: 1 });
    return rows.ok ? { ...rows, value: rows.value[0] ?? null } : rows;
  }

  /** Every row that fits, the oldest first. */
  all<Row extends VenueoneWireLedgerRow>(
    account: string,
    sinceVenueMs: number,
    fits: (row: VenueoneWireLedgerRow) => row is Row,
    options: CallOptions,
  ): Promise<Read<readonly Row[]>> {
    return this.#search(account, sinceVenueMs, fits, { ...options, most: Number.POSITIVE_INFINITY });
  }

  async #search<Row extends VenueoneWireLedgerRow>(
    account: string,
    sinceVenueMs: number,
    fits: (row: VenueoneWireLedgerRow) => row is Row,
    { most, ...options }: CallOptions & { readonly most: number },
  ): Promise<Read<readonly Row[]>> {
    const found: Row[] = [];
    const deadline = new Deadline(this.#clock, options);
    let startMs = Math.floor(sinceVenueMs);
    for (let page = 0; page < PAGES_MAX; page++) {
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left for the ledger");
      const rows = await this.#rest.info({ type: TYPE, user: account, startTime: startMs }, decodeLedger, left);
      if (!rows.ok) return rows;
      found.push(...rows.value.filter(fits));
      const lastMs = rows.value.at(-1)?.time ?? startMs;
      if (found.length >= most || rows.value.length < ROWS_MAX) return { ...rows, value: found };
      // A whole page of one millisecond: what follows it cannot be asked for.
      if (lastMs <= startMs) break;
      startMs = lastMs;
    }
    return failedRead("BAD_RESPONSE", "the ledger has more rows than can be searched");
  }
}
