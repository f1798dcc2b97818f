/**
 * Reads of the record for callers: how many at once, how long, how much, and the error of a failure.
 *
 * Invariants: at most `inFlightMax` reads run, and one more is refused at once (a queue would only make all of them
 * late). Every read has a time limit and a byte limit, and ends when its caller has left. No error text of the server
 * reaches a caller: it may quote the query.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import { SharedRoom } from "../../engine/domain/shared-room.js";
import type { QueryFailure, RecordRow, RecordsStore } from "../../engine/storage/records/records-store.js";
import type { Sql } from "./query-builder.js";

export interface ReadLimits {
  /** Of all callers; half of it for one API key, whose exports may take as long as their reader does. */
  readonly inFlightMax: number;
  /** Time of a page, of finding the end of an export's page, and of a report. */
  readonly timeoutMs: number;
  /** Time of one export, including its reader's pace. */
  readonly exportTimeoutMs: number;
  readonly pageBytesMax: number;
  readonly exportBytesMax: number;
  /** A reader that takes nothing for this long is disconnected. */
  readonly stallMs: number;
}

export const DEFAULT_READ_LIMITS: ReadLimits = {
  inFlightMax: 8,
  timeoutMs: 10_000,
  exportTimeoutMs: 120_000,
  pageBytesMax: 32 << 20,
  exportBytesMax: 256 << 20,
  stallMs: 20_000,
};

/** When a caller should try again while the store is away; the service keeps trying by itself. */
const RETRY_AWAY_MS = 2000;

/** CSV without names continues a part before it. */
export type LinesFormat = "CSVWithNames" | "CSV" | "JSONEachRow";

export class RecordsReader {
  readonly limits: ReadLimits;
  readonly #store: RecordsStore;
  readonly #logger: Logger;
  readonly #inFlight: SharedRoom;

  constructor(store: RecordsStore, limits: ReadLimits, logger: Logger) {
    this.#store = store;
    this.limits = limits;
    this.#logger = logger;
    this.#inFlight = new SharedRoom(limits.inFlightMax);
  }

  get inFlight(): number {
    return this.#inFlight.count;
  }

  /** Throws RECORDS_UNAVAILABLE where recording is off: no read can succeed until a restart. */
  requireOn(): void {
    const { state, reason } = this.#store.state();
    if (state === "off") throw unavailable("OFF", { hint: reason });
  }

  /** Runs one read of a caller, which may be several queries. `keyId` null: it has no key. Throws OVERLOADED. */
  async admit<T>(keyId: string | null, read: () => Promise<T>): Promise<T> {
    if (!this.#inFlight.enter(keyId)) throw new ServiceError("OVERLOADED", { limit: this.limits.inFlightMax });
    try {
      return await read();
    } finally {
      this.#inFlight.leave(keyId);
    }
  }

  /** Throws RECORDS_UNAVAILABLE. */
  async rows({ sql, params }: Sql, rowsMax: number, signal: AbortSignal): Promise<readonly RecordRow[]> {
    const { timeoutMs, pageBytesMax } = this.limits;
    const result = await this.#store.query(sql, params, { timeoutMs, rowsMax, bytesMax: pageBytesMax, signal });
    if (result.ok) return result.rows;
    throw this.#failed(result);
  }

  /** `onChunk` gets whole lines and sets the pace. Throws RECORDS_UNAVAILABLE, also after chunks were handed out. */
  async lines(
    { sql, params }: Sql,
    format: LinesFormat,
    signal: AbortSignal,
    onChunk: (lines: Uint8Array) => Promise<void>,
  ): Promise<void> {
    const { exportTimeoutMs: timeoutMs, exportBytesMax: bytesMax } = this.limits;
    const result = await this.#store.queryStream(sql, params, { format, timeoutMs, bytesMax, signal }, onChunk);
    if (!result.ok) throw this.#failed(result);
  }

  #failed(failure: QueryFailure): ServiceError {
    switch (failure.reason) {
      case "away":
        return this.#store.state().state === "off"
          ? unavailable("OFF", { hint: this.#store.state().reason })
          : unavailable("AWAY", { retryAfterMs: RETRY_AWAY_MS });
      case "timeout":
        return unavailable("TIMEOUT", { hint: "ask for a shorter range" });
      case "too-large":
        return unavailable("TOO_LARGE", { hint: "ask for fewer rows or a shorter range" });
      case "aborted":
        return unavailable("ABORTED", {});
      case "refused":
        // A query that the server refuses is our fault; its text stays in the store's own log.
        this.#logger.error("history.query_refused", { code: String(failure.code) });
        return unavailable("REFUSED", {});
    }
  }
}

function unavailable(reason: string, details: Readonly<Record<string, unknown>>): ServiceError {
  return new ServiceError("RECORDS_UNAVAILABLE", { reason, ...details });
}
