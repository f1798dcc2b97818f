/**
 * A refusal in ClickHouse's terms: number, name and text, as the HTTP dialect prints them. Created from the engine's
 * error, or by the listener in the same form.
 */
export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly code: number;
  /** `Code: N. DB::Exception: text (NAME)`: the body of a failed request. */
  readonly body: string;

  constructor(code: number, text: string, options: { cause?: unknown } = {}) {
    super(text, options);
    this.code = code;
    // The engine's own texts already end with the name.
    const name = NAMED.test(text) ? "" : ` (${NAMES[code] ?? "UNKNOWN_EXCEPTION"})`;
    this.body = `Code: ${code}. DB::Exception: ${text}${name}`;
  }

  /**
   * Wraps an error of the engine. Its text contains the path of the file with the request's body, which must not be
   * shown.
   */
  static of(thrown: unknown, bodyPath: string): EngineError {
    if (thrown instanceof EngineError) return thrown;
    const raw = thrown instanceof Error ? thrown.message : "unknown";
    const text = bodyPath === "" ? raw : raw.replaceAll(bodyPath, "the request's body");
    const match = ENGINE_TEXT.exec(text);
    if (match === null) return new EngineError(UNKNOWN_EXCEPTION, text, { cause: thrown });
    return new EngineError(Number(match.groups?.code), match.groups?.text ?? "", { cause: thrown });
  }
}

const NAMED = /\([A-Z][A-Z0-9_]+\)$/;
/** The engine nests its own prefix in inserts; one is enough. */
const ENGINE_TEXT = /^(?:Code: (?<code>\d+)\. DB::Exception: )(?:Code: \d+\. DB::Exception: )?(?<text>.*)$/s;
const UNKNOWN_EXCEPTION = 1002;

/** Names of the codes that the listener itself uses. */
const NAMES: Readonly<Record<number, string>> = {
  36: "BAD_ARGUMENTS",
  48: "NOT_IMPLEMENTED",
  62: "SYNTAX_ERROR",
  75: "CANNOT_WRITE_TO_FILE_DESCRIPTOR",
  81: "UNKNOWN_DATABASE",
  117: "INCORRECT_DATA",
  164: "READONLY",
  194: "REQUIRED_PASSWORD",
  202: "TOO_MANY_SIMULTANEOUS_QUERIES",
  236: "ABORTED",
  307: "TOO_MANY_BYTES",
  372: "SESSION_NOT_FOUND",
  373: "SESSION_IS_LOCKED",
  516: "AUTHENTICATION_FAILED",
};

/** HTTP status by code, as in the server's own table; codes not listed are 500. */
const STATUSES: Readonly<Record<number, number>> = {
  6: 400, // CANNOT_PARSE_TEXT
  26: 400, // CANNOT_PARSE_QUOTED_STRING
  27: 400, // CANNOT_PARSE_INPUT_ASSERTION_FAILED
  36: 400, // BAD_ARGUMENTS
  38: 400, // CANNOT_PARSE_DATE
  41: 400, // CANNOT_PARSE_DATETIME
  42: 400, // NUMBER_OF_ARGUMENTS_DOESNT_MATCH
  43: 400, // ILLEGAL_TYPE_OF_ARGUMENT
  46: 404, // UNKNOWN_FUNCTION
  47: 404, // UNKNOWN_IDENTIFIER
  48: 501, // NOT_IMPLEMENTED
  50: 404, // UNKNOWN_TYPE
  53: 400, // TYPE_MISMATCH
  56: 404, // UNKNOWN_STORAGE
  60: 404, // UNKNOWN_TABLE
  62: 400, // SYNTAX_ERROR
  69: 400, // ARGUMENT_OUT_OF_BOUND
  70: 400, // CANNOT_CONVERT_TYPE
  72: 400, // CANNOT_PARSE_NUMBER
  73: 404, // UNKNOWN_FORMAT
  76: 503, // CANNOT_OPEN_FILE
  81: 404, // UNKNOWN_DATABASE
  115: 404, // UNKNOWN_SETTING
  117: 400, // INCORRECT_DATA
  130: 400, // CANNOT_READ_ARRAY_FROM_TEXT
  159: 408, // TIMEOUT_EXCEEDED
  194: 401, // REQUIRED_PASSWORD
  202: 503, // TOO_MANY_SIMULTANEOUS_QUERIES
  236: 503, // ABORTED
  307: 413, // TOO_MANY_BYTES
  321: 400, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
  372: 404, // SESSION_NOT_FOUND
  373: 423, // SESSION_IS_LOCKED
  456: 400, // UNKNOWN_QUERY_PARAMETER
  457: 400, // BAD_QUERY_PARAMETER
  516: 403, // AUTHENTICATION_FAILED
};

export function httpStatusOf(code: number): number {
  return STATUSES[code] ?? 500;
}
