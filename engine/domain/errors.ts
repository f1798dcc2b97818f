/**
 * The one error class, and the one table code → HTTP status → text. Handlers never write texts
 * themselves. Texts given by interface spec section 7 are copied exactly. Keys, secrets and
 * signatures never enter `context`.
 */

interface ErrorRow {
  readonly status: number;
  readonly text: string;
}

/** `{name}` in a text is filled from the context. */
const ERROR_TABLE = {
  MISSING_PARAMETERS: { status: 400, text: "Missing required parameters" },
  INVALID_PARAMETERS: { status: 400, text: "Invalid request parameters" },
  INVALID_JSON: { status: 400, text: "Request body is not valid JSON" },
  INVALID_WALLET_ADDRESS: { status: 400, text: "Invalid wallet address format" },
  SIZE_EXCEEDS_POSITION: { status: 400, text: "Size exceeds the open position" },
  SLIPPAGE_CAP: { status: 400, text: "Estimated slippage exceeds the allowed maximum" },
  NO_ELIGIBLE_VENUE: { status: 400, text: "No eligible venue for this close" },
  SIZE_BELOW_LOT: { status: 400, text: "Size is below one lot of the venue" },
  BELOW_MIN_SIZE: { status: 400, text: "Size is below the venue's minimum" },
  TRIGGER_REQUIRED: { status: 400, text: "Stop orders need triggerPrice and preferredExchange" },
  NOT_SUPPORTED: { status: 400, text: "Not supported: {what}" },
  BAD_FRAME: { status: 400, text: "Frame refused: {problem}" },
  SUBSCRIPTION_LIMIT: { status: 400, text: "At most {limit} subscriptions per connection" },
  AUTH_UNKNOWN_KEY: { status: 401, text: "Unknown API key" },
  MISSING_CREDENTIALS: { status: 401, text: "Missing or invalid credentials for {exchange}" },
  OPERATOR_DATA: { status: 403, text: "Fills, decisions and execution quality are served to the operator only" },
  NOT_FOUND: { status: 404, text: "Not found" },
  UNKNOWN_SYMBOL: { status: 404, text: "Unknown symbol {symbol}{where}. Available: {preview}" },
  UNKNOWN_SUBSCRIPTION: { status: 404, text: "Unknown subscription" },
  EXECUTION_NOT_FOUND: { status: 404, text: "Execution {routeId} not found" },
  METHOD_NOT_ALLOWED: { status: 405, text: "Method not allowed" },
  NOT_ACCEPTABLE: { status: 406, text: "None of the accepted media types is available" },
  REQUEST_TIMEOUT: { status: 408, text: "The request body did not arrive in time" },
  IDEMPOTENCY_IN_PROGRESS: { status: 409, text: "A request with this Idempotency-Key is still running" },
  BODY_TOO_LARGE: { status: 413, text: "Request body is larger than {limitBytes} bytes" },
  URI_TOO_LONG: { status: 414, text: "Request target is too long" },
  IDEMPOTENCY_MISMATCH: { status: 422, text: "This Idempotency-Key was used with another request body" },
  UPGRADE_REQUIRED: { status: 426, text: "This address speaks WebSocket" },
  RATE_LIMITED: { status: 429, text: "Rate limit exceeded" },
  FAILED_TO_PLACE_ORDER: { status: 500, text: "Failed to place order" },
  INTERNAL: { status: 500, text: "Internal error" },
  VENUE_RATE_LIMITED: { status: 503, text: "{exchange} is rate limiting this service" },
  VENUE_UNAVAILABLE: { status: 503, text: "{exchange} is unavailable" },
  OVERLOADED: { status: 503, text: "Too many requests in flight" },
  SHUTTING_DOWN: { status: 503, text: "The service is shutting down" },
  NOT_READY: { status: 503, text: "Not ready: {parts}" },
  RECORDS_UNAVAILABLE: { status: 503, text: "The record of market data and closes is unavailable" },
  STORE_UNAVAILABLE: { status: 503, text: "The state store is unavailable; nothing was sent" },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** Plain data only: it may reach a reply (`details`) and a log line. */
export type ErrorContext = Readonly<Record<string, unknown>>;

export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  /** HTTP status of the table. */
  readonly status: number;
  readonly context: ErrorContext;

  constructor(code: ErrorCode, context: ErrorContext = {}, options: { cause?: unknown } = {}) {
    super(errorText(code, context), options);
    this.code = code;
    this.status = ERROR_TABLE[code].status;
    this.context = context;
  }
}

export function errorText(code: ErrorCode, context: ErrorContext = {}): string {
  return ERROR_TABLE[code].text.replace(/\{(\w+)\}/g, (_, key: string) => String(context[key] ?? ""));
}
