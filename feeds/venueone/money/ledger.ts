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
    let found: Row | undefined;
    const read = await this.#pages(account, sinceVenueMs, options, (rows) => {
      found = rows.find(fits);
      return found !== undefined;
    });
    return read.ok ? { ...read, value: found ?? null } : read;
  }

  /** Every row. */
  async all(
    account: string,
    sinceVenueMs: number,
    options: CallOptions,
  ): Promise<Read<readonly VenueoneWireLedgerRow[]>> {
    const all: VenueoneWireLedgerRow[] = [];
    const read = await this.#pages(account, sinceVenueMs, options, (rows) => {
      // A page begins with all of the millisecond that the one before ended in; rows may be the same to the letter.
      const firstMs = rows[0]?.time;
      while (all.length > 0 && all.at(-1)?.time === firstMs) all.pop();
      all.push(...rows);
      return false;
    });
    return read.ok ? { ...read, value: all } : read;
  }

  /** Until `take` has what it wants. */
  async #pages(
    account: string,
    sinceVenueMs: number,
    options: CallOptions,
    take: (rows: readonly VenueoneWireLedgerRow[]) => boolean,
  ): Promise<Read<readonly VenueoneWireLedgerRow[]>> {
    const deadline = new Deadline(this.#clock, options);
    let startMs = Math.floor(sinceVenueMs);
    for (let page = 0; page < PAGES_MAX; page++) {
      const left = deadline.left();
      if (left === null) return failedRead("TIMEOUT", "no time left for the ledger");
      const rows = await this.#rest.info({ type: TYPE, user: account, startTime: startMs }, decodeLedger, left);
      if (!rows.ok) return rows;
      const lastMs = rows.value.at(-1)?.time ?? startMs;
      if (take(rows.value) || rows.value.length < ROWS_MAX) return rows;
      // A whole page of one millisecond: what follows it cannot be asked for.
      if (lastMs <= startMs) break;
      startMs = lastMs;
    }
    return failedRead("BAD_RESPONSE", "the ledger has more rows than can be searched");
  }
}
