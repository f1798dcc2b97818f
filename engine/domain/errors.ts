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
  /** Not done, and not refused: the same request, asked again later, continues it. */
  APPROVAL_PENDING: { status: 202, text: "The signer waits for its people to approve this; ask again" },
  MISSING_PARAMETERS: { status: 400, text: "Missing required parameters" },
  INVALID_PARAMETERS: { status: 400, text: "Invalid request parameters" },
  AMBIGUOUS_REQUEST: { status: 400, text: "The request can be read in two ways: {problem}" },
  INVALID_JSON: { status: 400, text: "Request body is not valid JSON" },
  INVALID_WALLET_ADDRESS: { status: 400, text: "Invalid wallet address format" },
  SIZE_EXCEEDS_POSITION: { status: 400, text: "Size exceeds the open position" },
  SLIPPAGE_CAP: { status: 400, text: "Estimated slippage exceeds the allowed maximum" },
  NO_ELIGIBLE_VENUE: { status: 400, text: "No eligible venue for this {trade}" },
  SIZE_BELOW_LOT: { status: 400, text: "Size is below one lot of the venue" },
  BELOW_MIN_SIZE: { status: 400, text: "Size is below the venue's minimum" },
  OPPOSITE_POSITION: {
    status: 400,
    text: "A position in the other direction is open; allowNetting lets the order reduce it",
  },
  INSUFFICIENT_MARGIN: { status: 400, text: "The free margin does not carry this order" },
  LEVERAGE_NOT_SUPPORTED: { status: 400, text: "The leverage or margin mode is not supported" },
  LEVERAGE_NOT_SET: { status: 400, text: "{exchange} did not take the leverage or margin mode; nothing was ordered" },
  TRIGGER_REQUIRED: { status: 400, text: "Stop orders need triggerPrice and preferredExchange" },
  NOT_SUPPORTED: { status: 400, text: "Not supported: {what}" },
  INVALID_ORDER_TYPE: { status: 400, text: "Invalid order type. Must be MARKET or LIMIT" },
  LEVERAGE_OUT_OF_RANGE: { status: 400, text: "Leverage must be between 1 and {max}" },
  INVALID_TRADING_SYMBOL: { status: 400, text: "Invalid trading symbol" },
  OFF_GRID: { status: 400, text: "{field} is not a multiple of the venue's step {step}" },
  ABOVE_MAX_SIZE: { status: 400, text: "Size is above the venue's maximum" },
  ORDER_LIMIT: { status: 400, text: "Order notional exceeds the allowed maximum" },
  UNSUPPORTED_EXCHANGE: { status: 400, text: "Unsupported exchange" },
  ACCOUNT_NOT_FUNDED: { status: 400, text: "The account has no deposit at {exchange} yet" },
  DEPOSIT_BELOW_MINIMUM: { status: 400, text: "Deposit amount is below the minimum" },
  /** Text of the interface spec for withdrawals; the others have a `reason` of their own. */
  INSUFFICIENT_BALANCE: { status: 400, text: "Insufficient balance for withdrawal" },
  INSUFFICIENT_GAS: { status: 400, text: "The wallet cannot pay the gas on chain {chainId}" },
  RECEIVER_MISMATCH: { status: 400, text: "The receiver must be the wallet itself" },
  BAD_FRAME: { status: 400, text: "Frame refused: {problem}" },
  SUBSCRIPTION_LIMIT: { status: 400, text: "At most {limit} {of} per connection" },
  AUTH_MISSING_HEADER: { status: 401, text: "Missing {header} header" },
  AUTH_UNKNOWN_KEY: { status: 401, text: "Unknown API key" },
  AUTH_BAD_SIGNATURE: { status: 401, text: "The signature or secret is not that of the key" },
  AUTH_TIMESTAMP_OUT_OF_WINDOW: { status: 401, text: "The timestamp is outside the accepted window" },
  AUTH_REPLAY: { status: 401, text: "This signed request was accepted before" },
  AUTH_REQUIRED: { status: 401, text: "This connection must authenticate first" },
  AUTH_BAD_TICKET: { status: 401, text: "No such ticket, or it is used or expired" },
  KEY_REVOKED: { status: 401, text: "The API key is revoked" },
  MISSING_CREDENTIALS: { status: 401, text: "Missing or invalid credentials for {exchange}" },
  MISSING_WALLET_HEADER: { status: 401, text: "Missing x-wallet-id header" },
  INVALID_WALLET_ID: { status: 401, text: "Invalid wallet ID" },
  FOREIGN_ORIGIN: { status: 403, text: "Requests of pages of this origin are not answered" },
  SCOPE_MISSING: { status: 403, text: "The API key lacks the scope {scope}" },
  IP_NOT_ALLOWED: { status: 403, text: "The API key is not valid from this address" },
  OPERATOR_DATA: { status: 403, text: "Fills, decisions and execution quality are served to the operator only" },
  INVALID_API_CREDENTIALS: { status: 403, text: "Invalid API credentials" },
  SYMBOL_NOT_ALLOWED: { status: 403, text: "Trading {symbol} is not allowed" },
  /** Of the co-signer, or of an outside signer; the name of the rule is in the details. */
  POLICY_REFUSED: { status: 403, text: "The signer's policy refuses this" },
  DESTINATION_NOT_ALLOWED: { status: 403, text: "The signer's policy does not allow this destination" },
  VENUE_NOT_ALLOWED: { status: 403, text: "Trading on {exchange} is not allowed" },
  DAILY_LIMIT: { status: 403, text: "Daily notional exceeds the allowed maximum" },
  NOT_FOUND: { status: 404, text: "Not found" },
  UNKNOWN_SYMBOL: { status: 404, text: "Unknown symbol {symbol}{where}. Available: {preview}" },
  UNKNOWN_SUBSCRIPTION: { status: 404, text: "Unknown subscription" },
  EXECUTION_NOT_FOUND: { status: 404, text: "Execution {routeId} not found" },
  WALLET_NOT_FOUND: { status: 404, text: "Wallet not found" },
  TRANSFER_NOT_FOUND: { status: 404, text: "No such transfer" },
  ORDER_NOT_FOUND: { status: 404, text: "Order {orderId} not found in any market" },
  SWITCH_NOT_FOUND: { status: 404, text: "No such dead-man's switch" },
  /** Of a wallet at a venue; KEY_NOT_FOUND is of callers of this service. */
  API_KEY_NOT_FOUND: { status: 404, text: "No API key of this wallet is registered at {exchange}" },
  KEY_NOT_FOUND: { status: 404, text: "No such API key" },
  METHOD_NOT_ALLOWED: { status: 405, text: "Method not allowed" },
  NOT_ACCEPTABLE: { status: 406, text: "None of the accepted media types is available" },
  REQUEST_TIMEOUT: { status: 408, text: "The request body did not arrive in time" },
  IDEMPOTENCY_IN_PROGRESS: { status: 409, text: "A request with this Idempotency-Key is still running" },
  DUPLICATE_CLIENT_ORDER_ID: { status: 409, text: "This clientOrderId names another order" },
  ORDER_NOT_OPEN: { status: 409, text: "Order {orderId} is not open any more" },
  WALLET_EXISTS: { status: 409, text: "Wallet already exists" },
  API_KEY_EXISTS: { status: 409, text: "API key already exists for this wallet" },
  /** Names of keys that wait for their end, or for the venue to drop them. */
  API_KEY_LIMIT: { status: 409, text: "All {limit} API keys that a wallet may have at {exchange} are in use" },
  TRANSFER_FOUND: {
    status: 409,
    text: "Something like this may have left before the store was restored; nothing was signed",
  },
  /** `transferId` in the context is the one in flight. */
  TRANSFER_IN_PROGRESS: { status: 409, text: "Another transfer of this wallet must end first; nothing was signed" },
  /** A name of the caller's that its account has used for another one. */
  TRANSFER_NAME_USED: { status: 409, text: "This name was used for another transfer" },
  QUOTE_EXPIRED: { status: 409, text: "The quote is not valid any more" },
  QUOTE_UNKNOWN: { status: 409, text: "No such quote was given" },
  KEY_LIMIT: { status: 409, text: "There are {limit} live API keys, which is the most" },
  LOCAL_ROWS_ADOPTED: { status: 409, text: "The rows that were made without a key belong to another owner already" },
  BODY_TOO_LARGE: { status: 413, text: "Request body is larger than {limitBytes} bytes" },
  URI_TOO_LONG: { status: 414, text: "Request target is too long" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, text: "The body must be application/json" },
  FOREIGN_HOST: { status: 421, text: "This service does not answer under this host name" },
  IDEMPOTENCY_MISMATCH: { status: 422, text: "This Idempotency-Key was used with another request body" },
  WALLET_FROZEN: { status: 423, text: "The wallet is frozen; an operator must act" },
  UPGRADE_REQUIRED: { status: 426, text: "This address speaks WebSocket" },
  RATE_LIMITED: { status: 429, text: "Rate limit exceeded" },
  FAILED_TO_PLACE_ORDER: { status: 500, text: "Failed to place order" },
  /** The venue refused; its own text is in the details. */
  VENUE_REJECTED: { status: 500, text: "Failed to place order" },
  CANCEL_REJECTED: { status: 500, text: "Failed to cancel order" },
  AMEND_REJECTED: { status: 500, text: "Failed to amend order" },
  SETTING_REJECTED: { status: 500, text: "Failed to change account settings" },
  /** Nothing left: a fault of a signing party, or a message of its peer that cannot be. */
  FAILED_TO_SIGN: { status: 500, text: "Failed to sign message" },
  /** There is no wallet: a fault of a signing party in its creation, or a message of its peer that cannot be. */
  FAILED_TO_CREATE_WALLET: { status: 500, text: "Failed to create wallet" },
  FAILED_TO_REGISTER_KEY: { status: 500, text: "Failed to register API key" },
  /** The venue refused; its own text is in the details. */
  REGISTRATION_REJECTED: { status: 500, text: "Failed to register API key" },
  /** Nothing left, or the venue or the chain refused it: no money moved. `reason` in the context. */
  FAILED_TO_DEPOSIT: { status: 500, text: "Failed to process deposit" },
  FAILED_TO_WITHDRAW: { status: 500, text: "Failed to process withdrawal" },
  FAILED_TO_TRANSFER: { status: 500, text: "Failed to process transfer" },
  /** A row of the ledger of transfers is not one that this program wrote. */
  LEDGER_BROKEN: { status: 500, text: "Transfer {row} cannot be read: {problem}" },
  FAILED_TO_FETCH_POSITIONS: { status: 500, text: "Failed to fetch open positions: {reason}" },
  FAILED_TO_FETCH_ORDER_STATUS: { status: 500, text: "Failed to fetch order status: {reason}" },
  FAILED_TO_FETCH_ACCOUNT: { status: 500, text: "Failed to fetch account: {reason}" },
  FAILED_TO_FETCH_ORDERS: { status: 500, text: "Failed to fetch open orders: {reason}" },
  /** A sealed record does not open: changed, in the wrong row, or older than it should be. */
  SEAL_BROKEN: { status: 500, text: "A stored secret cannot be opened" },
  INTERNAL: { status: 500, text: "Internal error" },
  POSITION_UNLISTED: { status: 503, text: "{symbol} on {exchange} is held in a contract that this service {why}" },
  VENUE_RATE_LIMITED: { status: 503, text: "{exchange} is rate limiting this service" },
  VENUE_UNAVAILABLE: { status: 503, text: "{exchange} is unavailable" },
  CHAIN_UNAVAILABLE: { status: 503, text: "Chain {chainId} is unavailable; nothing was signed" },
  OVERLOADED: { status: 503, text: "Too many requests in flight" },
  SHUTTING_DOWN: { status: 503, text: "The service is shutting down" },
  TRADING_HALTED: { status: 503, text: "Opening trades is switched off; exits go on" },
  NOT_READY: { status: 503, text: "Not ready: {parts}" },
  RECORDS_UNAVAILABLE: { status: 503, text: "The record of market data and closes is unavailable" },
  STORE_UNAVAILABLE: { status: 503, text: "The state store is unavailable; nothing was sent" },
  /** It may have the key: asked for again it is the same one. */
  REGISTRATION_UNSETTLED: {
    status: 503,
    text: "{exchange} has not said yet whether the API key is approved; ask again",
  },
  SIGNER_UNAVAILABLE: { status: 503, text: "The signer is unavailable; nothing was signed" },
  RESTORED_STORE: { status: 503, text: "A store was restored from a backup; an operator must act first" },
  SEAL_KEY_UNKNOWN: { status: 503, text: "A stored secret is sealed under a key that is not loaded" },
  /** At the start, or at a rotation: a key of an operator's that seals nothing here. */
  SEAL_KEY_REFUSED: { status: 503, text: "The sealing key is refused: {problem}" },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_TABLE;
/** @testonly Every code is described for callers. */
export const ERROR_CODES = Object.keys(ERROR_TABLE) as readonly ErrorCode[];

/** Texts for a `reason` in the context that is more specific than the code. */
const REASON_TEXTS: Readonly<Partial<Record<ErrorCode, Readonly<Partial<Record<string, string>>>>>> = {
  SIZE_EXCEEDS_POSITION: {
    NO_POSITION: "There is no open position to close",
    ALREADY_FLAT: "There is no open position to close",
    DIRECTION_MISMATCH: "The open position is in the other direction",
    NEEDS_SPLIT: "No single venue holds this size; routingOptions.allowSplit closes it on several",
  },
  INSUFFICIENT_BALANCE: {
    DEPOSIT: "Insufficient balance for deposit",
    TRANSFER: "Insufficient balance for transfer",
  },
};

/** Plain data only: it may reach a reply (`details`) and a log line. */
export type ErrorContext = Readonly<Record<string, unknown>>;

export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  /** HTTP status from the table. */
  readonly status: number;
  readonly context: ErrorContext;

  constructor(code: ErrorCode, context: ErrorContext = {}, options: { cause?: unknown } = {}) {
    super(errorText(code, context), options);
    this.code = code;
    this.status = ERROR_TABLE[code].status;
    this.context = context;
  }
}

/** Words that fill a text where the context has none. */
const DEFAULT_WORDS: Readonly<Record<string, string>> = { trade: "close" };

export function errorText(code: ErrorCode, context: ErrorContext = {}): string {
  const text = REASON_TEXTS[code]?.[String(context["reason"])] ?? ERROR_TABLE[code].text;
  return text.replace(/\{(\w+)\}/g, (_, key: string) => String(context[key] ?? DEFAULT_WORDS[key] ?? ""));
}
