/**
 * The audit log in the state store: rows are added, never changed or removed.
 *
 * A row's key counts down, so that the first rows of the namespace are the newest: a scan goes upwards only. It is made
 * of the time, which never goes back here even where the clock does, a count within it, and random digits; so the order
 * is that of the acts, also over restarts, and no row takes the place of another.
 */
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { scrub } from "../../engine/domain/scrub.js";
import { decodeJson, encodeJson, type StateStore, type StateWrite } from "../../engine/storage/state-store.js";
import type { AuditLedger, AuditPage, AuditRow } from "./audit.js";
import type { FillRandom } from "./secret-text.js";

const NAMESPACE = "audit";
/** Above every time in ms that 15 digits hold. */
const COUNT_DOWN_FROM_MS = 999_999_999_999_999;
const COUNT_DOWN_FROM = 999_999;
const ID = /^[0-9]{15}-[0-9]{6}-[0-9a-f]{16}$/;
export const AUDIT_PAGE_MAX = 500;
const TEXT_CHARS_MAX = 256;
const DETAILS_MAX = 16;
const LIST_MAX = 64;
/** Of a row as it is stored. Beyond it the details are left out; the rest of a row has fixed bounds. */
const ROW_BYTES_MAX = 4_096;

type Details = AuditRow["details"];

export class AuditStore implements AuditLedger {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #fill: FillRandom;
  #lastMs = 0;
  #count = 0;

  /** `newest`: the id of the newest row; the next one is after it. */
  private constructor(store: StateStore, clock: Clock, fill: FillRandom, newest: string) {
    this.#store = store;
    this.#clock = clock;
    this.#fill = fill;
    if (!ID.test(newest)) return;
    this.#lastMs = COUNT_DOWN_FROM_MS - Number(newest.slice(0, 15));
    this.#count = COUNT_DOWN_FROM - Number(newest.slice(16, 22));
  }

  static async open(store: StateStore, clock: Clock, fill: FillRandom): Promise<AuditStore> {
    const [newest] = await store.scan(NAMESPACE, { prefix: "", limit: 1 });
    return new AuditStore(store, clock, fill, newest?.key ?? "");
  }

  auditWrites(row: Omit<AuditRow, "atMs">): readonly StateWrite[] {
    const atMs = this.#clock.wallMs();
    return [{ namespace: NAMESPACE, key: this.#nextKey(atMs), value: encodeRow({ ...row, atMs }) }];
  }

  async append(row: Omit<AuditRow, "atMs">): Promise<void> {
    await this.#store.commit({ writes: this.auditWrites(row) });
  }

  /** Rejects with INVALID_PARAMETERS for a limit or a cursor that is none. */
  async page(limit: number, cursor: string | null): Promise<AuditPage> {
    if (!Number.isInteger(limit) || limit < 1 || limit > AUDIT_PAGE_MAX)
      throw invalid("limit", `must be a whole number from 1 to ${AUDIT_PAGE_MAX}`);
    if (cursor !== null && !ID.test(cursor)) throw invalid("cursor", "is none of this log");
    const after = cursor === null ? {} : { after: cursor };
    const found = await this.#store.scan(NAMESPACE, { prefix: "", limit: limit + 1, ...after });
    const rows = found.slice(0, limit).map(({ key, value }) => ({ id: key, ...decodeRow(value) }));
    return { rows, nextCursor: found.length > limit ? (rows.at(-1)?.id ?? null) : null };
  }

  #nextKey(atMs: number): string {
    if (atMs > this.#lastMs) {
      this.#lastMs = atMs;
      this.#count = 0;
    } else if (this.#count === COUNT_DOWN_FROM) {
      this.#lastMs++;
      this.#count = 0;
    } else this.#count++;
    const random = Buffer.alloc(8);
    this.#fill(random);
    const ms = String(COUNT_DOWN_FROM_MS - this.#lastMs).padStart(15, "0");
    return `${ms}-${String(COUNT_DOWN_FROM - this.#count).padStart(6, "0")}-${random.toString("hex")}`;
  }
}

function encodeRow(row: AuditRow): Uint8Array {
  const bounded: AuditRow = {
    atMs: row.atMs,
    who: clean(row.who),
    what: clean(row.what),
    subject: clean(row.subject),
    outcome: row.outcome,
    details: boundedDetails(row.details),
  };
  const bytes = encodeJson(bounded);
  return bytes.byteLength <= ROW_BYTES_MAX ? bytes : encodeJson({ ...bounded, details: { truncated: true } });
}

function boundedDetails(details: Details): Details {
  const entries = Object.entries(details).slice(0, DETAILS_MAX);
  return Object.fromEntries(entries.map(([name, value]) => [clean(name), boundedValue(value)]));
}

function boundedValue(value: Details[string]): Details[string] {
  if (typeof value === "string") return clean(value);
  return typeof value === "object" ? value.slice(0, LIST_MAX).map(clean) : value;
}

/** A key in a text is a mistake of whoever wrote it; it does not become durable. Cut after it is looked for. */
function clean(text: string): string {
  return scrub(text).slice(0, TEXT_CHARS_MAX);
}

/** A row that cannot be read is shown as such: leaving it out would look as if nothing had happened. */
function decodeRow(value: Uint8Array): AuditRow {
  try {
    return decodeJson(value) as AuditRow;
  } catch {
    return { atMs: 0, who: "service", what: "audit.unreadable", subject: "", outcome: "failed", details: {} };
  }
}

function invalid(path: string, problem: string): ServiceError {
  return new ServiceError("INVALID_PARAMETERS", { fields: [{ path, problem }] });
}
