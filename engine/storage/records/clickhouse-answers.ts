/** The meaning of a server's replies: lines of JSON, and error codes. */
import type { CallFailure } from "./clickhouse-client.js";
import type { QueryFailure } from "./records-store.js";

/** JSON escapes line ends: a newline byte always ends a row. */
export class LineSplitter {
  readonly #onLine: (text: string) => void;
  #carry: Buffer = Buffer.alloc(0);

  constructor(onLine: (text: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    const bytes = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      this.#onLine(bytes.toString("utf8", from, end));
      from = end + 1;
    }
    this.#carry = bytes.subarray(from);
  }
}

const NEWLINE = 0x0a;

/** UNKNOWN_TABLE, UNKNOWN_DATABASE: they were dropped, or the server is a different one now. */
export const TABLES_GONE: ReadonlySet<number> = new Set([60, 81]);

/**
 * Error codes about the bytes sent: sending the same bytes again cannot succeed. Any other code (memory, disk, parts,
 * keeper, rights, unknown ones) may be temporary, and the batch must not be lost over it.
 */
export const BYTES_REFUSED: ReadonlySet<number> = new Set([
  6, // CANNOT_PARSE_TEXT
  16, // NO_SUCH_COLUMN_IN_TABLE
  20, // NUMBER_OF_COLUMNS_DOESNT_MATCH
  27, // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  32, // ATTEMPT_TO_READ_AFTER_EOF
  33, // CANNOT_READ_ALL_DATA
  36, // BAD_ARGUMENTS
  47, // UNKNOWN_IDENTIFIER
  53, // TYPE_MISMATCH
  62, // SYNTAX_ERROR
  69, // ARGUMENT_OUT_OF_BOUND
  117, // INCORRECT_DATA
  128, // TOO_LARGE_ARRAY_SIZE
  131, // TOO_LARGE_STRING_SIZE
  321, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
  349, // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
  407, // DECIMAL_OVERFLOW
  691, // UNKNOWN_ELEMENT_OF_ENUM
]);

/** TIMEOUT_EXCEEDED, and TOO_SLOW. */
const TIMEOUT_CODES: ReadonlySet<number> = new Set([159, 160]);
/** TOO_MANY_ROWS_OR_BYTES. */
const TOO_LARGE_CODE = 396;
/** TOO_MANY_SIMULTANEOUS_QUERIES, MEMORY_LIMIT_EXCEEDED: not caused by the query. */
const BUSY_CODES: ReadonlySet<number> = new Set([202, 241]);

export function queryFailure(failure: CallFailure): QueryFailure {
  const { code, text } = failure;
  if (failure.kind !== "server") {
    const reason = failure.kind === "foreign" ? "away" : failure.kind;
    return { ok: false, reason, code, text };
  }
  if (TIMEOUT_CODES.has(code)) return { ok: false, reason: "timeout", code, text };
  if (code === TOO_LARGE_CODE) return { ok: false, reason: "too-large", code, text };
  if (BUSY_CODES.has(code) || TABLES_GONE.has(code)) return { ok: false, reason: "away", code, text };
  return { ok: false, reason: "refused", code, text };
}
