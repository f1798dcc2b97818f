/**
 * Method and path of each operation, in one line. The types hold every line against the service's table, and
 * routes.test.ts does so at run time.
 *
 * `keyed`: takes an Idempotency-Key. `text`, `json`: the reply is no envelope.
 */
import { VENUES } from "../view/venues.js";
import type { IsKeyed, OperationId, OperationOf } from "./operations.js";

type KindOf<R> = R extends "text/plain" ? " text" : R extends "application/json" ? " json" : "";

type RouteLine<K extends OperationId> =
  `${OperationOf<K>["method"]} ${OperationOf<K>["path"]}${IsKeyed<K> extends true ? " keyed" : ""}${KindOf<OperationOf<K>["reply"]>}`;

/** As in schemas/venues.ts, whose types hold these names: which of the venues have routes of their own. */
const [WALLET, NATIVE, KEY, ...OTHERS] = VENUES;

export const ROUTES: { readonly [K in OperationId]: RouteLine<K> } = {
  positionClose: "POST /api/trade/position/close keyed",
  positionOpen: "POST /api/trade/position/open keyed",
  routingDryRun: "GET /api/trade/routing/{symbol}",
  execution: "GET /api/trade/executions/{routeId}",
  [`${NATIVE}PerpOrder` as const]: `POST /api/${NATIVE}/perp/{walletId}/order keyed`,
  [`${NATIVE}Order` as const]: `POST /api/trading/${NATIVE}/orders keyed`,
  [`${WALLET}Order` as const]: `POST /api/trading/${WALLET}/orders keyed`,
  [`${KEY}Order` as const]: `POST /api/trading/${KEY}/orders keyed`,
  ...named(OTHERS, "Order", (venue) => `POST /api/trading/${venue}/orders keyed`),
  [`${WALLET}Close` as const]: `POST /api/${WALLET}/{walletId}/positions/close/{symbol} keyed`,
  [`${WALLET}CloseAll` as const]: `POST /api/${WALLET}/{walletId}/positions/close-all keyed`,
  [`${NATIVE}Close` as const]: `POST /api/${NATIVE}/perp/{walletId}/close-position keyed`,
  [`${NATIVE}Leverage` as const]: `POST /api/${NATIVE}/perp/{walletId}/leverage`,
  cancelOrder: "DELETE /api/trading/{exchange}/orders/{orderId}",
  amendOrder: "PATCH /api/trading/{exchange}/orders/{orderId}",
  cancelAllOrders: "DELETE /api/trading/{exchange}/orders",
  setLeverage: "POST /api/trading/{exchange}/leverage",
  setMarginMode: "POST /api/trading/{exchange}/margin-mode",
  closeEverything: "POST /api/trade/close-all keyed",
  deadMan: "POST /api/trading/{exchange}/dead-man",
  deadManHeartbeat: "POST /api/trading/dead-man/{switchId}/heartbeat",
  deadManEnd: "DELETE /api/trading/dead-man/{switchId}",
  killSwitch: "POST /api/trade/kill-switch",
  killSwitchStatus: "GET /api/trade/kill-switch",
  allPositions: "GET /api/trading/positions/all/{walletAddress}",
  venuePositions: "GET /api/trading/{exchange}/positions/{walletAddress}",
  [`${NATIVE}NativePositions` as const]: `GET /api/${NATIVE}/perp/{walletId}/positions`,
  allBalances: "GET /api/trading/balances/all/{walletAddress}",
  venueBalances: "GET /api/trading/{exchange}/balances/{walletAddress}",
  accountFills: "GET /api/trading/{exchange}/fills/{walletAddress}",
  accountFunding: "GET /api/trading/{exchange}/funding/{walletAddress}",
  historicalOrders: `GET /api/${WALLET}/{walletId}/orders/historical`,
  orderStatus: "GET /api/trading/{exchange}/orders/{orderId}/status",
  openOrders: "GET /api/trading/{exchange}/orders/open",
  venuefivePositions: "GET /api/trading/venuefive/positions/{walletAddress}",
  venuefiveOrders: "GET /api/trading/venuefive/orders",
  venuefiveTrades: "GET /api/trading/venuefive/history/trades",
  venuefiveOrderHistory: "GET /api/trading/venuefive/history/orders",
  venuefiveOrderStatus: "GET /api/trading/venuefive/orders/{orderId}/status",
  venuefiveBalances: "GET /api/trading/venuefive/balances",
  walletCreate: "POST /api/wallets keyed",
  walletList: "GET /api/wallets",
  wallet: "GET /api/wallets/{walletIdOrAddress}",
  walletSign: "POST /api/wallets/{walletIdOrAddress}/sign keyed",
  venueKeyRegister: "POST /api/trading/{exchange}/apikey keyed",
  venueKeyRotate: "POST /api/trading/{exchange}/apikey/rotate keyed",
  venueKeyRevoke: "DELETE /api/trading/{exchange}/apikey",
  deposit: "POST /api/trading/{exchange}/deposit keyed",
  [`${NATIVE}Transfer` as const]: `POST /api/${NATIVE}/wallet/transfer keyed`,
  [`${NATIVE}Withdraw` as const]: `POST /api/trading/${NATIVE}/withdraw keyed`,
  [`${WALLET}Withdraw` as const]: `POST /api/trading/${WALLET}/withdraw keyed`,
  transfer: "GET /api/transfers/{transferId}",
  walletTransfers: "GET /api/wallets/{walletIdOrAddress}/transfers",
  walletBalances: "GET /api/wallets/{walletIdOrAddress}/balances",
  aggregatedTicker: "GET /api/trading/ticker/{symbol}",
  ...named(VENUES, "Ticker", (venue) => `GET /api/trading/${venue}/ticker/{symbol}`),
  venueBook: "GET /api/trading/{exchange}/book/{symbol}",
  consolidatedBook: "GET /api/book/{symbol}",
  instruments: "GET /api/instruments",
  historyTicks: "GET /api/history/ticks",
  historyTrades: "GET /api/history/trades",
  historyCandles: "GET /api/history/candles",
  historyRouting: "GET /api/history/routing",
  historyFills: "GET /api/history/fills",
  historyExecutionQuality: "GET /api/history/execution-quality",
  status: "GET /api/status",
  time: "GET /api/time",
  limits: "GET /api/limits",
  health: "GET /health",
  ready: "GET /ready",
  metrics: "GET /metrics text",
  openapi: "GET /openapi.json json",
  asyncapi: "GET /asyncapi.json json",
  streamTicket: "POST /api/stream/ticket",
};

export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** `{name}` for parameters. */
  readonly path: string;
  readonly isKeyed: boolean;
  readonly reply: "envelope" | "text" | "json";
}

export function routeOf(id: OperationId): Route {
  const [method = "", path = "", ...marks] = ROUTES[id].split(" ");
  return {
    method: method as Route["method"],
    path,
    isKeyed: marks.includes("keyed"),
    reply: marks.includes("text") ? "text" : marks.includes("json") ? "json" : "envelope",
  };
}

/** The table's `named`: one line for each venue. */
function named<V extends string, S extends string, L extends string>(
  venues: readonly V[],
  suffix: S,
  line: (venue: V) => L,
): { readonly [N in `${V}${S}`]: L } {
  return Object.fromEntries(venues.map((venue) => [`${venue}${suffix}`, line(venue)])) as {
    readonly [N in `${V}${S}`]: L;
  };
}
