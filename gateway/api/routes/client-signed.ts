/**
 * The venue whose orders its callers sign: what an address has and did there (interface spec 1.5, 4.9, 4.10), read from its
 * chain without credentials. An order that is sent here by mistake is refused with the way to send it.
 *
 * Invariant: what could not be read is an error, never an empty list.
 */
import { Type } from "@sinclair/typebox";
import type { ChainHistoryQuery, ChainRead, ClientSignedRoom } from "../../../engine/client-signed-room.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import { resolveSymbol } from "../../../engine/domain/symbol.js";
import type { CallOptions } from "../../../engine/ports.js";
import { HISTORY_LIMIT } from "../../../schemas/account-reads.js";
import type { Operation } from "../../../schemas/operation.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import {
  addressQuerySchema,
  chainHistoryQuerySchema,
  chainOrderQuerySchema,
  openOrdersQuerySchema,
  venuefiveBalancesReplySchema,
  venuefiveOrderHistoryReplySchema,
  venuefiveOrdersReplySchema,
  venuefiveOrderStatusReplySchema,
  venuefivePositionsReplySchema,
  venuefiveTradesReplySchema,
} from "../../../schemas/venuefive-records.js";
import { clientSignedRefusal } from "../../accounts/account-access.js";
import { chainCoverage, chainError } from "../../accounts/chain-errors.js";
import { chainOrder, chainOrderRecord, chainPosition, chainTrade, pageFacts } from "../../accounts/chain-views.js";
import { isEvmAddress } from "../../accounts/names.js";
import type { ReadErrorCode } from "../../accounts/read-errors.js";
import { type Ask, checkedQuery, jsonRoute } from "../../http/json-route.js";
import { invalidParameters } from "../../http/query.js";
import type { Route } from "../../http/route.js";
import { PREVIEW_SYMBOLS } from "../market-view.js";
import type { TradingContext } from "./order-desk-call.js";

const EXCHANGE = "venuefive";
const INTEGERS = ["limit"];
const HISTORY = "FAILED_TO_FETCH_ACCOUNT";
/** A pair by its index: how one is shown that the map does not have. */
const BY_INDEX = /^PAIR_([0-9]{1,6})$/;
const LIMIT_ORDER_ID = /^[0-9]{1,6}:[0-9]{1,6}:[0-9]{1,12}$/;
const TX_HASH = /^0x[0-9a-f]{64}$/i;

/**
 * Not in the document: the interface has no such endpoint. Who posts an order here is told where orders are signed,
 * instead of a 405 that looks like a slip of the pen.
 */
const ORDER: Operation = {
  id: "venuefiveOrder",
  method: "POST",
  path: "/api/trading/venuefive/orders",
  summary: "Refused: orders are signed by the caller's own wallet",
  tag: "orders",
  access: { scope: "trade", owner: "nothing" },
  buckets: ["trade"],
  weight: 1,
  pathParameters: {},
  query: null,
  headers: [],
  // Whatever it holds: its fields are not what is wrong.
  body: Type.Unsafe<unknown>({ type: "object" }),
  bodyOptional: true,
  reply: "application/json",
  errors: {},
};

export function clientSignedRoutes(context: TradingContext): Route[] {
  return [
    positionsRoute(context),
    ordersRoute(context),
    tradesRoute(context),
    orderHistoryRoute(context),
    orderStatusRoute(context),
    balancesRoute(context),
    orderRefusal(context),
  ];
}

/** Throws VENUE_UNAVAILABLE where the venue is not configured. */
function roomOf({ clientSigned }: TradingContext): ClientSignedRoom {
  if (clientSigned === undefined)
    throw new ServiceError("VENUE_UNAVAILABLE", { exchange: EXCHANGE, reason: "NOT_CONFIGURED" });
  return clientSigned.room;
}

function addressOf(text: string): string {
  if (isEvmAddress(text)) return text;
  throw new ServiceError("INVALID_WALLET_ADDRESS", {
    fields: [{ path: "walletAddress", problem: "must be 0x and 40 hex digits" }],
  });
}

/** Throws UNKNOWN_SYMBOL. */
function pairOf({ clientSigned }: TradingContext, text: string | undefined): string | null {
  if (text === undefined) return null;
  const pairs = clientSigned?.symbols ?? new Map<number, string>();
  const [, index] = BY_INDEX.exec(text.toUpperCase()) ?? [];
  if (index !== undefined) return pairs.get(Number(index)) ?? `PAIR_${Number(index)}`;
  const symbols = new Set(pairs.values());
  const symbol = resolveSymbol(text, (candidate) => symbols.has(candidate));
  if (symbol !== null) return symbol;
  const availableSymbols = [...symbols].slice(0, PREVIEW_SYMBOLS);
  const preview = availableSymbols.join(", ");
  const where = ` on ${EXCHANGE}`;
  throw new ServiceError("UNKNOWN_SYMBOL", { symbol: text, where, preview, exchange: EXCHANGE, availableSymbols });
}

/** Throws the error of a failed read. */
async function readOr<T>(
  { trading }: TradingContext,
  ask: Ask,
  room: ClientSignedRoom,
  code: ReadErrorCode,
  run: (options: CallOptions) => Promise<ChainRead<T>>,
): Promise<Extract<ChainRead<T>, { ok: true }>> {
  const read = await trading.reads.readChain(ask.caller.keyId, run);
  if (!read.ok) throw chainError(room, read, code);
  return read;
}

function positionsRoute(context: TradingContext): Route {
  const serialise = compileSerialiser(venuefivePositionsReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.venuefivePositions,
    headers: [],
    sends: false,
    async answer(ask) {
      const walletAddress = addressOf(ask.params["walletAddress"] ?? "");
      const room = roomOf(context);
      const read = await readOr(context, ask, room, "FAILED_TO_FETCH_POSITIONS", (options) =>
        room.readPositions(walletAddress, options),
      );
      const positions = read.value.map((position) => chainPosition(position, walletAddress));
      return {
        text: serialise({
          success: true,
          exchange: EXCHANGE,
          walletAddress,
          positions,
          totalPositions: positions.length,
          coverage: chainCoverage(room, read),
          block: read.block,
          timestamp: context.clock.wallMs(),
        }),
      };
    },
  });
}

function ordersRoute(context: TradingContext): Route {
  const validate = compileValidator(openOrdersQuerySchema);
  const serialise = compileSerialiser(venuefiveOrdersReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.venuefiveOrders,
    headers: [],
    sends: false,
    async answer(ask) {
      const query = checkedQuery(validate, ask.query);
      const walletAddress = addressOf(query.walletAddress);
      const room = roomOf(context);
      const symbol = pairOf(context, query.symbol);
      const read = await readOr(context, ask, room, "FAILED_TO_FETCH_ORDERS", (options) =>
        room.readOpenOrders(walletAddress, options),
      );
      const orders = read.value
        .filter((order) => symbol === null || order.symbol === symbol)
        .map((order) => chainOrder(order, walletAddress));
      const data = { orders, total: orders.length, asOf: read.asOfMs, block: read.block };
      const timestamp = context.clock.wallMs();
      return { text: serialise({ success: true, exchange: EXCHANGE, walletAddress, data, timestamp }) };
    },
  });
}

interface AskedPage {
  readonly room: ClientSignedRoom;
  readonly walletAddress: string;
  readonly query: ChainHistoryQuery;
}

function pageReader(context: TradingContext): (ask: Ask) => AskedPage {
  const validate = compileValidator(chainHistoryQuerySchema);
  return (ask) => {
    const query = checkedQuery(validate, ask.query, INTEGERS);
    const walletAddress = addressOf(query.walletAddress);
    const { limit = HISTORY_LIMIT.default, cursor = null } = query;
    const room = roomOf(context);
    return { room, walletAddress, query: { limit, cursor, symbol: pairOf(context, query.symbol) } };
  };
}

function tradesRoute(context: TradingContext): Route {
  const asked = pageReader(context);
  const serialise = compileSerialiser(venuefiveTradesReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.venuefiveTrades,
    headers: [],
    sends: false,
    async answer(ask) {
      const { room, walletAddress, query } = asked(ask);
      const { value } = await readOr(context, ask, room, HISTORY, (options) =>
        room.readClosedTrades(walletAddress, query, options),
      );
      const data = { trades: value.rows.map((trade) => chainTrade(trade, walletAddress)), ...pageFacts(value) };
      const timestamp = context.clock.wallMs();
      return { text: serialise({ success: true, exchange: EXCHANGE, walletAddress, data, timestamp }) };
    },
  });
}

function orderHistoryRoute(context: TradingContext): Route {
  const asked = pageReader(context);
  const serialise = compileSerialiser(venuefiveOrderHistoryReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.venuefiveOrderHistory,
    headers: [],
    sends: false,
    async answer(ask) {
      const { room, walletAddress, query } = asked(ask);
      const { value } = await readOr(context, ask, room, HISTORY, (options) =>
        room.readOrders(walletAddress, query, options),
      );
      const data = { orders: value.rows.map((order) => chainOrder(order, walletAddress)), ...pageFacts(value) };
      const timestamp = context.clock.wallMs();
      return { text: serialise({ success: true, exchange: EXCHANGE, walletAddress, data, timestamp }) };
    },
  });
}

/** Throws MISSING_PARAMETERS: an id of a limit order is one among those of an address. */
function askedOrder(orderId: string, walletAddress: string | undefined): readonly [id: string, address: string | null] {
  const address = walletAddress === undefined ? null : addressOf(walletAddress);
  if (TX_HASH.test(orderId)) return [orderId.toLowerCase(), address];
  if (!LIMIT_ORDER_ID.test(orderId))
    throw invalidParameters({
      path: "orderId",
      problem: "must be pairIndex:index:block of a limit order, or the hash of a transaction",
    });
  if (address === null)
    throw new ServiceError("MISSING_PARAMETERS", { fields: [{ path: "walletAddress", problem: "is required" }] });
  return [orderId, address];
}

function orderStatusRoute(context: TradingContext): Route {
  const validate = compileValidator(chainOrderQuerySchema);
  const serialise = compileSerialiser(venuefiveOrderStatusReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.venuefiveOrderStatus,
    headers: [],
    sends: false,
    async answer(ask) {
      const query = checkedQuery(validate, ask.query);
      const [orderId, address] = askedOrder(ask.params["orderId"] ?? "", query.walletAddress);
      const room = roomOf(context);
      const read = await readOr(context, ask, room, "FAILED_TO_FETCH_ORDER_STATUS", (options) =>
        room.findOrder(orderId, address, options),
      );
      const data = read.value === null ? null : chainOrderRecord(read.value);
      if (data === null) throw new ServiceError("ORDER_NOT_FOUND", { exchange: EXCHANGE, orderId });
      return { text: serialise({ success: true, data, timestamp: context.clock.wallMs() }) };
    },
  });
}

function balancesRoute(context: TradingContext): Route {
  const validate = compileValidator(addressQuerySchema);
  const serialise = compileSerialiser(venuefiveBalancesReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.venuefiveBalances,
    headers: [],
    sends: false,
    async answer(ask) {
      const walletAddress = addressOf(checkedQuery(validate, ask.query).walletAddress);
      const room = roomOf(context);
      const { value, asOfMs, block } = await readOr(context, ask, room, "FAILED_TO_FETCH_ACCOUNT", (options) =>
        room.readBalances(walletAddress, options),
      );
      const data = { ...value, asOf: asOfMs, block };
      const timestamp = context.clock.wallMs();
      return { text: serialise({ success: true, exchange: EXCHANGE, walletAddress, data, timestamp }) };
    },
  });
}

function orderRefusal(context: TradingContext): Route {
  return jsonRoute(context, {
    operation: ORDER,
    headers: [],
    sends: false,
    answer: () => Promise.reject(clientSignedRefusal("trade")),
  });
}
