/**
 * POST /api/trade/close-all: every position on every venue with credentials. Open orders are cancelled first, since they
 * could open what is being closed; each venue answers for itself.
 */
import { ServiceError } from "../../../engine/domain/errors.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import type { CloseAllVenue, OrderAccount } from "../../../engine/orders/single/order-desk.js";
import { isTradingRoom } from "../../../engine/ports.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import {
  closeEverythingReplySchema,
  closeEverythingRequestSchema,
  type VenueClose,
} from "../../../schemas/order-changes.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import type { CloseItem } from "../../../schemas/venue-orders.js";
import { ACCOUNT_HEADERS, callerBlocks, type VenueBlocks } from "../../accounts/account-access.js";
import { closeItem } from "../../accounts/order-views.js";
import { keyMessage } from "../../accounts/read-errors.js";
import { checkedBody, jsonRoute, replyText } from "../../http/json-route.js";
import { invalidParameters } from "../../http/query.js";
import type { MarketView } from "../market-view.js";
import { checkReduceOnly } from "../spec-fields.js";
import type { Route } from "../../http/route.js";
import { orderContext, type TradingContext } from "./order-desk-call.js";
import { refusalError } from "../../accounts/order-refusal.js";

export function closeEverythingRoute(context: TradingContext): Route {
  const { edge, clock, view, trading, closeDefaults } = context;
  const validate = compileValidator(closeEverythingRequestSchema);
  const serialise = compileSerialiser(closeEverythingReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.closeEverything,
    headers: ACCOUNT_HEADERS,
    sends: true,
    async answer(ask) {
      const body = checkedBody(validate, ask.body);
      checkReduceOnly(body.reduceOnly);
      const accounts = accountsToClose(await callerBlocks(trading.wallets, ask), body.exchanges ?? null, view);
      const symbols = symbolsOf(body);
      const dryRun = body.dryRun ?? false;
      const answer = await trading.orders.closeAll(
        {
          accounts,
          symbols: symbols === null ? null : [...new Set(symbols.map((text) => view.resolve(text)))],
          dryRun,
          cancelFirst: body.cancelOrders ?? true,
          maxSlippageBps: body.maxSlippageBps ?? closeDefaults.maxSlippageBps,
          deadlineMs: closeDefaults.deadlineMs,
        },
        orderContext(ask),
      );
      if (!answer.ok) throw refusalError(answer);
      const data = closesData(answer.venues.map(venueClose), dryRun);
      return {
        text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }),
        replayed: answer.replayed,
      };
    },
  });
}

/**
 * The accounts of the venues named, or of all with credentials where `wanted` is null. Throws MISSING_CREDENTIALS and
 * VENUE_UNAVAILABLE: a venue that was named and cannot be asked must not look closed.
 */
function accountsToClose(
  blocks: VenueBlocks,
  wanted: readonly RoutableVenue[] | null,
  view: MarketView,
): readonly OrderAccount[] {
  const venues = ROUTABLE_VENUES.filter((venue) => wanted === null || wanted.includes(venue));
  const accounts = venues.flatMap((venue) => {
    const credentials = blocks[venue] ?? null;
    return credentials === null ? [] : [{ venue, credentials }];
  });
  if (accounts.length === 0)
    throw new ServiceError("MISSING_CREDENTIALS", { exchange: wanted === null ? "any venue" : wanted.join(", ") });
  const lacking = wanted?.find((venue) => (blocks[venue] ?? null) === null);
  if (lacking !== undefined) throw new ServiceError("MISSING_CREDENTIALS", { exchange: lacking });
  const absent = accounts.find(({ venue }) => {
    const room = view.room(venue);
    return room === null || !isTradingRoom(room);
  });
  if (absent !== undefined)
    throw new ServiceError("VENUE_UNAVAILABLE", { exchange: absent.venue, reason: "NOT_CONFIGURED" });
  return accounts;
}

function closesData(closes: VenueClose[], dryRun: boolean) {
  const closedCount = closes.reduce((total, one) => total + one.closedCount, 0);
  const totalPositions = closes.reduce((total, one) => total + one.totalPositions, 0);
  return {
    success: closes.every(({ state }) => state === "CLOSED" || state === "FLAT"),
    dryRun,
    closedCount,
    totalPositions,
    venues: closes,
    message: messageOf(closes, dryRun, closedCount, totalPositions),
  };
}

/** Returns the symbols named, in either form; null means all. */
function symbolsOf(body: {
  readonly symbol?: string | null;
  readonly symbols?: readonly string[] | null;
}): readonly string[] | null {
  const { symbol = null, symbols = null } = body;
  if (symbol === null) return symbols;
  if (symbols !== null) throw invalidParameters({ path: "symbols", problem: "must not be given together with symbol" });
  return [symbol];
}

function venueClose(venue: CloseAllVenue): VenueClose {
  const { cancel } = venue;
  const results = venue.legs.map(closeItem);
  return {
    exchange: venue.venue,
    state: venue.error === null ? stateOf(results, cancel) : "ERROR",
    canceledOrders: cancel?.canceledCount ?? null,
    cancel: cancel === null ? null : { outcome: cancel.outcome, error: shownError(cancel.error) },
    closedCount: results.filter((item) => item.status === "CLOSED").length,
    totalPositions: results.length,
    results,
    error: shownError(venue.error ?? cancel?.error ?? null),
  };
}

function shownError(error: CloseAllVenue["error"]): VenueClose["error"] {
  return error === null ? null : { code: error.code, message: keyMessage(error.code, error.details) };
}

/** Returns the worst state. Unknown is worse than failed, because it may still happen. */
function stateOf(results: readonly CloseItem[], cancel: CloseAllVenue["cancel"]): VenueClose["state"] {
  const positions = positionsState(results);
  if (cancel?.outcome === "UNKNOWN") return "UNKNOWN";
  if (cancel?.outcome !== "FAILED") return positions;
  // Orders that are still open may reopen what was closed.
  return positions === "CLOSED" ? "PARTIAL" : positions === "FLAT" ? "FAILED" : positions;
}

function positionsState(results: readonly CloseItem[]): VenueClose["state"] {
  if (results.length === 0) return "FLAT";
  const worst = (["UNKNOWN", "FAILED", "PARTIAL", "SIMULATED"] as const).find((word) =>
    results.some((item) => item.status === word),
  );
  if (worst === undefined) return "CLOSED";
  return worst === "FAILED" && results.some((item) => item.status !== "FAILED") ? "PARTIAL" : worst;
}

function messageOf(
  closes: readonly VenueClose[],
  dryRun: boolean,
  closedCount: number,
  totalPositions: number,
): string {
  const would = closes.flatMap(({ results }) => results).filter(({ status }) => status === "SIMULATED").length;
  const done = dryRun ? `Would close ${would}` : `Closed ${closedCount}`;
  const rest = closes
    .filter(({ state }) => state !== "CLOSED" && state !== "FLAT" && state !== "SIMULATED")
    .map(({ exchange, state, cancel }) => {
      const orders = cancel === null || cancel.outcome === "ACCEPTED" ? "" : ` (open orders: ${cancel.outcome})`;
      return `; ${exchange}: ${state}${orders}`;
    });
  return `${done} of ${totalPositions} positions${rest.join("")}`;
}
