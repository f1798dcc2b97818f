/**
 * What a reader of /openapi.json needs to know of each operation beyond its one-line summary, and the refusals that are
 * its own beside those of the operations table.
 */
import { ROUTABLE_VENUE_WORDS } from "./common.js";
import { CALLER_VENUES, KEY_VENUE, named, NATIVE_VENUE, WALLET_VENUE } from "./venues.js";

/** Error status → codes with their meaning; added to the table's text about that status. */
type Refusals = Readonly<Record<number, string>>;

export interface OperationNote {
  readonly description: string;
  readonly refusals: Refusals;
}

const JSON_BODY: Refusals = { 400: "The body is not JSON (INVALID_JSON)." };
const VENUE: Refusals = {
  503: "The venue does not answer (VENUE_UNAVAILABLE) or limits this service (VENUE_RATE_LIMITED).",
};
const CHANGES = merged(JSON_BODY, VENUE, {
  503: "Nothing could be made durable, so nothing was sent (STORE_UNAVAILABLE).",
});
/** A request whose account is named by `walletAddress` or by wallet. */
const ACCOUNT_READ = merged(JSON_BODY, VENUE, {
  400: "The address is none (INVALID_WALLET_ADDRESS), or the venue cannot say this (NOT_SUPPORTED).",
});
/** A read of an address on the chain of a venue whose orders its callers sign. */
const CHAIN_READ = merged(VENUE, {
  400: "The address is none (INVALID_WALLET_ADDRESS).",
  503: "`details.reason` says whether it is not configured, its endpoints are of another chain, or markets of the chain are not those of the pair map; `details.pairs` names these, and nothing is shown under a wrong symbol.",
});
const FETCH_ACCOUNT: Refusals = { 500: "The venue could not be read (FAILED_TO_FETCH_ACCOUNT)." };
const SIZES: Refusals = {
  400: "The size is below a lot or the minimum (SIZE_BELOW_LOT, BELOW_MIN_SIZE) or above the maximum (ABOVE_MAX_SIZE).",
};
const GUARDS: Refusals = {
  400: "The order is above the operator's bound (ORDER_LIMIT).",
  403: "The day's bound is reached (DAILY_LIMIT).",
  503: "The operator stopped openings (TRADING_HALTED), or the store is a restored backup that was not released (RESTORED_STORE).",
};
const ROUTED = merged(CHANGES, SIZES, {
  400: "No venue can take it (NO_ELIGIBLE_VENUE), it would slip too far (SLIPPAGE_CAP), or a stop lacks what it needs (TRIGGER_REQUIRED, NOT_SUPPORTED).",
});
const PLACED = merged(CHANGES, SIZES, GUARDS, {
  400: "Price or size is off the venue's grid (OFF_GRID), or the order type is none (INVALID_ORDER_TYPE).",
  500: "The venue did not take the order (FAILED_TO_PLACE_ORDER).",
});
const WALLET: Refusals = { 401: "The header is missing (MISSING_WALLET_HEADER)." };
const CLOSED = merged(CHANGES, SIZES, {
  400: "More than the open position (SIZE_EXCEEDS_POSITION).",
  503: "The position is held in a contract that is not listed (POSITION_UNLISTED).",
});
const SETTINGS = merged(CHANGES, {
  400: "The leverage is out of range (LEVERAGE_OUT_OF_RANGE), the symbol is none (INVALID_TRADING_SYMBOL), or the venue cannot (NOT_SUPPORTED).",
  500: "The venue refused (SETTING_REJECTED).",
});

const SIGNER: Refusals = {
  503: "The other signing party is away, too many signatures wait, or what `details.reason` names failed (SIGNER_UNAVAILABLE); nothing was signed.",
};

const KEY_VENUE_AWAY: Refusals = {
  503: "The venue is not configured or does not answer, and nothing was approved (VENUE_UNAVAILABLE, VENUE_RATE_LIMITED).",
};

const note = (description: string, refusals: Refusals = {}): OperationNote => ({ description, refusals });

const PAGES =
  "Rows go by `timestamp`; the reply's cursor leads to the next page. `Accept: text/csv` or `application/x-ndjson` gives an export.";
const TICKER_OF_ONE =
  "Figures of the live feed under the names that this venue uses, with their age. Nothing is asked of the venue for it.";

const OWN_ROWS =
  "A key sees the rows of its owner, with `admin` those of all; without a key, in public mode, those made without one.";

export const OPERATION_NOTES = {
  positionClose: note(
    "Reads the position on every venue with credentials, reckons fees and the depth of each book, and sends reduce-only to the venue whose all-in price is best. `dryRun` sends nothing. An order whose outcome the venue has not said is a 200 with status UNKNOWN, never a failure: look it up by its `routeId`.",
    merged(ROUTED, {
      400: "More than the open position (SIZE_EXCEEDS_POSITION).",
      503: "The position is held in a contract that is not listed (POSITION_UNLISTED).",
    }),
  ),
  positionOpen: note(
    "Chooses among venues with credentials and free margin by the all-in price of the entry, sets leverage and margin mode where asked, sends the entry, then protects what filled with take-profit and stop-loss. `dryRun` sends nothing.",
    merged(ROUTED, GUARDS, {
      400: "A position in the other direction is open (OPPOSITE_POSITION), the margin does not carry it (INSUFFICIENT_MARGIN), or leverage and margin mode cannot be set (LEVERAGE_NOT_SUPPORTED, LEVERAGE_NOT_SET).",
    }),
  ),
  routingDryRun: note(
    "The decision that a trade of this side and size would take now: each venue's all-in price, fee and cost in bps, why a venue is out, and a quote that a close or open can be bound to.",
    merged(SIZES, {
      400: "No venue can take it (NO_ELIGIBLE_VENUE), or it would slip too far (SLIPPAGE_CAP).",
      503: "Too little is known of the venues (VENUE_UNAVAILABLE).",
    }),
  ),
  execution: note(
    "The reply of a close or an open as it would read now: orders that were unknown then may be settled since. Kept for 24 hours with an Idempotency-Key or an unknown outcome, else among the latest in memory.",
    VENUE,
  ),
  [`${NATIVE_VENUE}PerpOrder` as const]: note(
    `As \`POST /api/trading/${NATIVE_VENUE}/orders\`, with the wallet in the path instead of the header. Price and size are checked against the venue's grid before anything is sent.`,
    PLACED,
  ),
  [`${NATIVE_VENUE}Order` as const]: note(
    "MARKET, LIMIT and stop orders on this one venue, without routing. Price and size are checked against the venue's grid before anything is sent; a 4xx means that nothing was sent.",
    merged(PLACED, WALLET),
  ),
  [`${WALLET_VENUE}Order` as const]: note(
    "MARKET, LIMIT and stop orders on this one venue, without routing. A MARKET order carries a bound on its price. A 4xx means that nothing was sent.",
    merged(PLACED, WALLET),
  ),
  [`${KEY_VENUE}Order` as const]: note(
    "The key comes with each request, in the three headers, as query parameters or as credentials, and is not kept. A 4xx means that nothing was sent.",
    PLACED,
  ),
  ...named(CALLER_VENUES, "Order", () =>
    note(
      "MARKET, LIMIT and stop orders on this one venue, without routing, with the caller's own agent key or a server wallet. A 4xx means that nothing was sent.",
      PLACED,
    ),
  ),
  [`${WALLET_VENUE}Close` as const]: note(
    "Reads the live position, takes the side from it and sends reduce-only, so it can never open or turn a position.",
    merged(CLOSED, WALLET),
  ),
  [`${WALLET_VENUE}CloseAll` as const]: note(
    "Each open position is closed by an order of its own, reduce-only; the reply has one row for each, also for those that could not be closed.",
    merged(CLOSED, WALLET),
  ),
  [`${NATIVE_VENUE}Close` as const]: note(
    "Reads the live positions, long and short where the account holds both, and sends reduce-only for each that is named.",
    CLOSED,
  ),
  [`${NATIVE_VENUE}Leverage` as const]: note(
    "A whole number from 1 up to what the venue grants the market. Open positions are affected as the venue says.",
    SETTINGS,
  ),
  cancelOrder: note(
    "By the venue's id or by the client id. An order that filled or ended meanwhile is a 409; a request that the venue did not answer is a 200 with outcome UNKNOWN.",
    merged(CHANGES, { 400: "The venue cannot (NOT_SUPPORTED).", 500: "The venue refused (CANCEL_REJECTED)." }),
  ),
  amendOrder: note(
    "One request at the venue where it has one: the order keeps its place where only the size shrinks, and may get a new id. The quantity is that of the whole order, what has filled included.",
    merged(CHANGES, SIZES, GUARDS, {
      400: "Price or size is off the grid (OFF_GRID), or the venue cannot (NOT_SUPPORTED).",
      500: "The venue refused (AMEND_REJECTED).",
    }),
  ),
  cancelAllOrders: note(
    "Stops and take-profits are cancelled too. The reply says what the venue confirmed, and what is not known.",
    merged(CHANGES, { 500: "The venue refused (CANCEL_REJECTED)." }),
  ),
  setLeverage: note(
    "Set at the venue for the account, from the next order on; bounded by what the market allows.",
    SETTINGS,
  ),
  setMarginMode: note(
    "Where the venue ties the mode to the leverage, the leverage that is set is kept. A venue that knows one mode only refuses the other.",
    SETTINGS,
  ),
  closeEverything: note(
    "Open orders are cancelled first, since they could open what is being closed. Each venue answers for itself: one that fails does not stop the others, and its row says why.",
    CLOSED,
  ),
  deadMan: note(
    "Armed at the venue where it has such a switch, else kept by this service. Without a heartbeat within the time, open orders are cancelled; positions stay.",
    merged(CHANGES, { 400: "The venue or the time cannot be (NOT_SUPPORTED)." }),
  ),
  deadManHeartbeat: note("The id alone suffices, and nobody can guess it. The whole time runs from now.", CHANGES),
  deadManEnd: note(
    "The id alone suffices. A venue that does not confirm the end leaves the switch ENDING: it may fire still.",
    CHANGES,
  ),
  killSwitch: note(
    "Openings are refused from now on, on one venue or on all, and exits go on. It outlives a restart.",
    merged(JSON_BODY, { 503: "It could not be made durable (STORE_UNAVAILABLE)." }),
  ),
  killSwitchStatus: note("Each halt with its reason and since when, and what of the daily bounds is used."),
  allPositions: note(
    "One row per position with profit, mark and age, and `coverage` per venue: live, read for this reply, in need of credentials, or in error. What is not known is never shown as flat.",
    merged(ACCOUNT_READ, { 500: "No venue answered (FAILED_TO_FETCH_POSITIONS)." }),
  ),
  venuePositions: note(
    "The positions of an account there, with profit, mark, liquidation price and age. What could not be read is an error, never an empty list.",
    ACCOUNT_READ,
  ),
  [`${NATIVE_VENUE}NativePositions` as const]: note(
    "Names and forms are the venue's own, for clients that were written for it.",
    ACCOUNT_READ,
  ),
  allBalances: note(
    "A venue that could not be read has its reason in `coverage`, and is not counted in the totals.",
    merged(ACCOUNT_READ, FETCH_ACCOUNT),
  ),
  venueBalances: note(
    "Equity, margin used and what is free, as the venue reckons them. What it does not say is null; nothing is estimated.",
    merged(ACCOUNT_READ, FETCH_ACCOUNT),
  ),
  accountFills: note(
    "Read at the venue, with fee and role of each; a cursor of the venue's room leads to older ones.",
    merged(ACCOUNT_READ, FETCH_ACCOUNT),
  ),
  accountFunding: note(
    "Read at the venue, paid as negative and received as positive amounts; a cursor leads to older ones.",
    merged(ACCOUNT_READ, FETCH_ACCOUNT),
  ),
  historicalOrders: note(
    "Open, filled and ended orders as the venue remembers them, with status and fill of each; a cursor leads to older ones.",
    merged(ACCOUNT_READ, FETCH_ACCOUNT, WALLET),
  ),
  orderStatus: note(
    "Asked at the venue, in every market where no symbol is given. PARTIALLY_FILLED is still open, and UNKNOWN is not a failure.",
    ACCOUNT_READ,
  ),
  openOrders: note("Resting orders and untriggered stops, of all symbols or of one, read at the venue.", ACCOUNT_READ),
  venuefivePositions: note(
    "Read from the chain for this request. There is no mark price there: `markPrice` is the entry, and `unrealizedPnl` is the rollover fee so far. Positions are opened and closed by the wallet itself, in the client.",
    CHAIN_READ,
  ),
  venuefiveOrders: note("Resting orders, as the chain has them now.", CHAIN_READ),
  venuefiveTrades: note(
    "From the events that are known here: `since` says from where on, `older` who was asked for what is before. A cursor leads to older ones.",
    CHAIN_READ,
  ),
  venuefiveOrderHistory: note(
    "Open, filled, canceled and expired ones, from the events that are known here: `since` says from where on. A cursor leads to older ones.",
    CHAIN_READ,
  ),
  venuefiveOrderStatus: note(
    "`orderId` is `pairIndex:index:block` of a limit order, with `walletAddress`, or the hash of the transaction that placed a market or a limit order. EXPIRED is CANCELED with that `venueStatus`; a market order that waits for the venue's keeper is OPEN.",
    CHAIN_READ,
  ),
  venuefiveBalances: note(
    "USDC, what the venue may take of it, and the coins that pay for transactions, of one block.",
    CHAIN_READ,
  ),
  walletCreate: note(
    "A key is made by two parties together; neither ever holds it. The reply comes once both have stored and backed up their shares and a test signature was verified. With an Idempotency-Key a retry answers the same wallet; without one it is a 409 that names it.",
    merged(JSON_BODY, SIGNER, {
      400: "The user id is none (INVALID_PARAMETERS).",
      503: "A store of a signing party was restored from a backup (RESTORED_STORE). The reply could not be stored with its Idempotency-Key, so nothing was made (STORE_UNAVAILABLE).",
    }),
  ),
  walletList: note("Those of the owner of the key, in the order of their ids; a cursor leads to the next page."),
  wallet: note("By user id, wallet id or address. The wallet of another owner is answered as one that nobody has."),
  venueKeyRegister: note(
    "A fresh key, approved at the venue by the wallet's signature. From then on every route that takes `x-wallet-id` trades with it. The key is stored sealed; its secret is in no reply but, where the interface shows it, the first one: a retry with the same Idempotency-Key answers without it.",
    merged(JSON_BODY, SIGNER, KEY_VENUE_AWAY),
  ),
  venueKeyRotate: note(
    "A second key under another name, which requests trade with from then on. The one before lives to its end and is then revoked by the service. Replies as the registration does.",
    merged(JSON_BODY, SIGNER, KEY_VENUE_AWAY),
  ),
  venueKeyRevoke: note(
    "No request uses the wallet's keys there any more from the moment it is durable. The venue is asked to drop them until it has, also after a restart.",
    KEY_VENUE_AWAY,
  ),
  walletSign: note(
    "Exactly one of `message`, `messageHex`, `typedData` and `digest`. The co-signer computes the digest itself and applies the policy of its own configuration: texts and typed data that a venue or a token would take as an order, a login or a permit are refused unless that allows them. Each signature and each refusal leaves a row in the operator's audit log, without what was signed.",
    merged(JSON_BODY, SIGNER, {
      400: "Typed data that does not read in exactly one way is refused (INVALID_PARAMETERS).",
      503: "A store of a signing party was restored from a backup (RESTORED_STORE). Its row in the audit log could not be written, so the signature was not given out (STORE_UNAVAILABLE).",
    }),
  ),
  deposit: note(
    "Approves the token where it has to, then deposits: up to three transactions of the wallet on its chain. The reply comes with the first block that has the deposit, or after a wait that is configured. The money is there once the venue has credited it, in its spot account where it has two. The co-signer's policy must allow the token and the contract.",
    merged(JSON_BODY, SIGNER),
  ),
  [`${NATIVE_VENUE}Transfer` as const]: note(
    "Sent under its `clientTranId`, which the venue takes once. Signed with the wallet's registered key.",
    merged(JSON_BODY, SIGNER),
  ),
  [`${NATIVE_VENUE}Withdraw` as const]: note(
    "Signed by the wallet, with the fee that the venue estimates, and sent with its registered key, which must have the right to withdraw. One of an account, chain and asset at a time.",
    merged(JSON_BODY, SIGNER),
  ),
  [`${WALLET_VENUE}Withdraw` as const]: note(
    "Signed by the wallet alone. The venue keeps its fee from the amount. `feeBuffer` multiplies the amount for the check of the balance and changes nothing that is sent.",
    merged(JSON_BODY, SIGNER),
  ),
  transfer: note(
    "States, transactions with their confirmations, and the venue's id. docs/transfers.md says what each means.",
  ),
  walletTransfers: note("Newest first; a cursor leads to the next page."),
  walletBalances: note(
    "Read for this request, each part by itself: the failure of one is told in its place and hides none of the others.",
  ),
  aggregatedTicker: note(
    "One entry per venue under the names of that venue, the failure of one beside the figures of the others, and the best bid and ask over live books.",
    VENUE,
  ),
  ...named(ROUTABLE_VENUE_WORDS, "Ticker", () => note(TICKER_OF_ONE, VENUE)),
  venueBook: note(
    "Best levels first, with the state and age of the book, so that an old one is not taken for a live one.",
    VENUE,
  ),
  consolidatedBook: note(
    "Levels of equal price are one level, with each venue's share of it. Books that are not live are left out and named.",
    VENUE,
  ),
  instruments: note(
    "Ticks, lots, minimum sizes, leverage and fees of every contract that a venue lists to this service.",
  ),
  historyTicks: note(`A row whenever the best price or size of a venue moved. ${PAGES}`),
  historyTrades: note(`Trades as the venues published them. ${PAGES}`),
  historyCandles: note(`Made from the recorded trades; an interval without a trade has no row. ${PAGES}`),
  historyRouting: note(`Candidates, choice and reasons as they were at that moment. ${OWN_ROWS} ${PAGES}`),
  historyFills: note(`With quote, price and fee, so that both can be held against each other. ${OWN_ROWS} ${PAGES}`),
  historyExecutionQuality: note(`Slippage against the quote, and what the choice of venue saved. ${OWN_ROWS} ${PAGES}`),
  streamTicket: note(
    "For callers that cannot sign a frame, such as a page: the first frame of a connection then names the ticket instead of a signature. It works once, within 30 s, for this key and from this address.",
    JSON_BODY,
  ),
  status: note(
    "Feeds, breakers and clocks for everyone; with the scope `read` the owner's orders of unknown outcome and open ones; with `admin` everybody's, the store and the record. In public mode a caller without a key sees the orders made without one, the store and the record.",
  ),
  time: note("The wall clock of the service, in ms and as ISO 8601, to hold one's own against."),
  limits: note("Buckets with what is left of each, the weight of every operation, and the bounds of a request."),
  health: note("Answers as long as the process does; for supervisors. It says nothing of the venues."),
  ready: note("Answers 200 once every part that serves traffic is there; for load balancers.", {
    503: "A part is missing (NOT_READY); `components` names it.",
  }),
  metrics: note("Counters and histograms in its text format. No label holds anything that a caller sent."),
  openapi: note("OpenAPI 3.1, made from the schemas that also check requests and write replies. Readable at /docs."),
  asyncapi: note("AsyncAPI 3.0 of `/ws`, made from the schemas that also check its frames. Readable at /docs."),
} as const satisfies Record<string, OperationNote>;

function merged(...all: readonly Refusals[]): Refusals {
  const texts: Record<number, string> = {};
  for (const refusals of all)
    for (const [status, text] of Object.entries(refusals)) {
      const before = texts[Number(status)];
      texts[Number(status)] = before === undefined ? text : `${before} ${text}`;
    }
  return texts;
}
