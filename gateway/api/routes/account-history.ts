/**
 * The history of an account: fills and funding on one venue, and on one of them all orders of a server wallet (interface
 * spec 4.10). Pages go from new to old by a cursor that the venue's room creates.
 */
import { formatScaled } from "../../../engine/domain/decimal.js";
import { canonicalQtyDecimals } from "../../../engine/domain/instrument.js";
import type { VenueFill } from "../../../engine/domain/order.js";
import type { FundingPayment } from "../../../engine/domain/position.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { factsOfVenueOrder, instrumentOf } from "../../../engine/orders/single/order-facts.js";
import type {
  AccountHistory,
  AccountSession,
  CallOptions,
  HistoryPage,
  HistoryQuery,
  Read,
  VenueRoom,
} from "../../../engine/ports.js";
import {
  accountFillsReplySchema,
  accountFundingReplySchema,
  accountHistoryQuerySchema,
  type FillRow,
  type FundingRow,
  HISTORY_LIMIT,
  historicalOrdersReplySchema,
  walletHistoryQuerySchema,
} from "../../../schemas/account-reads.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import { WALLET_VENUE } from "../../../schemas/venues.js";
import {
  ACCOUNT_HEADERS,
  addressBlocks,
  checkWalletAddress,
  exchangeOf,
  findWallet,
  requireSameWallet,
  tradingRoom,
  WALLET_HEADER,
  walletBlock,
  walletIdHeader,
} from "../../accounts/account-access.js";
import { type AccountRef, requirePathsAccount } from "../../accounts/account-reads.js";
import { orderRecord } from "../../accounts/order-views.js";
import { readError } from "../../accounts/read-errors.js";
import { type Ask, checkedQuery, jsonRoute } from "../../http/json-route.js";
import { invalidParameters } from "../../http/query.js";
import type { Route } from "../../http/route.js";
import { symbolHint, type TradingContext } from "./order-desk-call.js";

const INTEGERS = ["limit"];
const TIMES = ["since", "until"];

export function accountHistoryRoutes(context: TradingContext): Route[] {
  return [fillsRoute(context), fundingRoute(context), historicalOrdersRoute(context)];
}

interface AskedPage {
  readonly symbol?: string;
  readonly since?: number;
  readonly until?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

function historyQuery(context: TradingContext, venue: RoutableVenue, asked: AskedPage): HistoryQuery {
  const { since = null, until = null } = asked;
  if (since !== null && until !== null && since > until)
    throw invalidParameters({ path: "since", problem: "must not be after until" });
  const symbol = symbolHint(context, venue, asked.symbol);
  return {
    instrument: symbol === null ? null : (context.view.market(venue, symbol)?.instrument ?? null),
    sinceMs: since,
    untilMs: until,
    limit: asked.limit ?? HISTORY_LIMIT.default,
    cursor: asked.cursor ?? null,
  };
}

/** Throws the error of a failed read. */
async function readPage<T>(
  context: TradingContext,
  room: VenueRoom,
  ref: AccountRef,
  read: (history: AccountHistory, session: AccountSession, options: CallOptions) => Promise<Read<HistoryPage<T>>>,
): Promise<HistoryPage<T>> {
  const { history } = room;
  const page = await context.trading.reads.read(room, ref, (session, options) =>
    history === undefined ? null : read(history, session, options),
  );
  if (!page.ok) throw readError(room.venue, page, "FAILED_TO_FETCH_ACCOUNT");
  return page.value;
}

interface AddressPage<T> {
  readonly room: VenueRoom;
  readonly walletAddress: string;
  readonly query: HistoryQuery;
  readonly page: HistoryPage<T>;
}

/** Reads one page for the two routes by address: the account, the page, its rows. */
async function addressPage<T>(
  context: TradingContext,
  ask: Ask,
  validate: (query: Ask["query"]) => AskedPage,
  read: (
    history: AccountHistory,
    session: AccountSession,
    query: HistoryQuery,
    options: CallOptions,
  ) => Promise<Read<HistoryPage<T>>>,
): Promise<AddressPage<T>> {
  const { trading, view } = context;
  const venue = exchangeOf(ask.params["exchange"] ?? "", "read");
  const walletAddress = checkWalletAddress(ask.params["walletAddress"] ?? "", venue);
  const asked = validate(ask.query);
  const blocks = await addressBlocks(trading.wallets, trading.operator, ask, walletAddress);
  const room = tradingRoom(view, venue);
  const query = historyQuery(context, venue, asked);
  const ref = { walletAddress, block: blocks[venue] ?? null, payer: ask.caller.keyId };
  requirePathsAccount(venue, ref);
  const page = await readPage(context, room, ref, (history, session, options) =>
    read(history, session, query, options),
  );
  return { room, walletAddress, query, page };
}

/**
 * Returns null where a page before or after this one may hold more, or the venue lost some: no extra page is read to
 * count.
 */
function totalOf({ cursor }: HistoryQuery, { rows, nextCursor, isCut }: HistoryPage<unknown>): number | null {
  return cursor === null && nextCursor === null && isCut !== true ? rows.length : null;
}

function fillsRoute(context: TradingContext): Route {
  const validate = compileValidator(accountHistoryQuerySchema);
  const serialise = compileSerialiser(accountFillsReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.accountFills,
    headers: ACCOUNT_HEADERS,
    sends: false,
    async answer(ask) {
      const { room, walletAddress, query, page } = await addressPage(
        context,
        ask,
        (asked) => checkedQuery(validate, asked, INTEGERS, TIMES),
        (history, session, wanted, options) => history.readFills(session, wanted, options),
      );
      const fills = page.rows.flatMap((fill) => fillRow(room, fill));
      const data = { fills, total: totalOf(query, page), nextCursor: page.nextCursor };
      const timestamp = context.clock.wallMs();
      return { text: serialise({ success: true, exchange: room.venue, walletAddress, data, timestamp }) };
    },
  });
}

function fillRow(room: VenueRoom, fill: VenueFill): FillRow[] {
  const market = room.markets.get(fill.symbol);
  if (market === undefined) return [];
  return [
    {
      exchange: fill.venue,
      symbol: fill.symbol,
      nativeSymbol: fill.nativeSymbol,
      tradeId: fill.tradeId,
      orderId: fill.venueOrderId,
      venueClientOrderId: fill.venueClientOrderId,
      side: fill.side,
      quantity: formatScaled(fill.qtyLots, canonicalQtyDecimals(market.instrument)),
      price: fill.price,
      fee: fill.fee,
      isMaker: fill.isMaker,
      realizedPnl: fill.realizedPnl,
      timestamp: fill.tsVenueMs,
    },
  ];
}

function fundingRoute(context: TradingContext): Route {
  const validate = compileValidator(accountHistoryQuerySchema);
  const serialise = compileSerialiser(accountFundingReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.accountFunding,
    headers: ACCOUNT_HEADERS,
    sends: false,
    async answer(ask) {
      const { room, walletAddress, query, page } = await addressPage(
        context,
        ask,
        (asked) => checkedQuery(validate, asked, INTEGERS, TIMES),
        (history, session, wanted, options) => history.readFunding(session, wanted, options),
      );
      const funding = page.rows.map(fundingRow);
      const data = { funding, total: totalOf(query, page), nextCursor: page.nextCursor };
      const timestamp = context.clock.wallMs();
      return { text: serialise({ success: true, exchange: room.venue, walletAddress, data, timestamp }) };
    },
  });
}

function fundingRow({ venue, symbol, nativeSymbol, amount, asset, rate, tsVenueMs }: FundingPayment): FundingRow {
  return { exchange: venue, symbol, nativeSymbol, amount, asset, rate, timestamp: tsVenueMs };
}

function historicalOrdersRoute(context: TradingContext): Route {
  const { clock, view, trading } = context;
  const validate = compileValidator(walletHistoryQuerySchema);
  const serialise = compileSerialiser(historicalOrdersReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.historicalOrders,
    headers: [WALLET_HEADER],
    sends: false,
    async answer(ask) {
      const walletId = walletIdHeader(ask);
      const asked = checkedQuery(validate, ask.query, INTEGERS, TIMES);
      const wallet = await findWallet(trading.wallets, ask.caller.ownerId, walletId);
      requireSameWallet(wallet, ask.params["walletId"]);
      const room = tradingRoom(view, WALLET_VENUE);
      const query = historyQuery(context, WALLET_VENUE, asked);
      const ref = {
        walletAddress: wallet.address,
        block: walletBlock(wallet, WALLET_VENUE),
        payer: ask.caller.keyId,
      };
      let account: Pick<AccountSession, "venue" | "accountId"> | null = null;
      const page = await readPage(context, room, ref, (history, session, options) => {
        account = { venue: session.venue, accountId: session.accountId };
        return history.readOrders(session, query, options);
      });
      const orders = page.rows.flatMap((order) => {
        const instrument = instrumentOf(room.markets, order.nativeSymbol);
        return instrument === null
          ? []
          : [
              orderRecord(
                factsOfVenueOrder(instrument, order, trading.orders.termsOf(order, account, ask.caller.ownerId)),
              ),
            ];
      });
      const data = { orders, total: totalOf(query, page), nextCursor: page.nextCursor };
      return { text: serialise({ success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}
