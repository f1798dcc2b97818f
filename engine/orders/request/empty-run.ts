/** What a request begins with: its execution context, and the record of a run that has no order yet. */
import type { TradeAccounts } from "../accounts.js";
import type { TradeExecution } from "../send/execution.js";
import { tradeSide } from "../decide/plan.js";
import type { Routed } from "../decide/routing.js";
import type { ProtectionWish, TradeRun } from "../run.js";
import type { OpenTerms, TradeContext, TradeRequest } from "../types.js";
import type { Deadline } from "../../domain/deadline.js";
import type { IdempotencyTicket } from "../durable/idempotency.js";
import { collectSecrets } from "../redact.js";

const NO_SECRETS: readonly string[] = [];

export function executionOf(
  request: TradeRequest,
  context: TradeContext,
  accounts: TradeAccounts,
  ticket: IdempotencyTicket | null,
  deadline: Deadline,
): TradeExecution {
  return {
    request,
    accounts,
    ticket,
    deadline,
    quote: null,
    unread: [],
    ownerId: context.ownerId,
    // A dry run gets no text of a venue that would have to be blanked.
    secrets: request.dryRun ? NO_SECRETS : collectSecrets(request.credentials),
  };
}

export function emptyRun(
  { request, quote, unread }: TradeExecution,
  context: TradeContext,
  routed: Routed,
  startedAtMs: number,
): TradeRun {
  const { open } = request;
  const isProtected = open !== null && (open.takeProfit !== null || open.stopLoss !== null);
  return {
    ownerId: context.ownerId,
    routeId: routed.report.routeId,
    requestId: context.requestId,
    symbol: request.symbol,
    direction: request.direction,
    side: tradeSide(request),
    orderType: request.orderType,
    waitFor: request.waitFor,
    clientOrderId: request.clientOrderId,
    requestedSize: routed.requestedSize,
    routing: routed.report,
    adjustments: [...routed.adjustments],
    startedAtMs,
    positionsBefore: [],
    attempts: [],
    note: null,
    positionAfter: null,
    timingMs: { total: 0, positions: 0, routing: 0, sign: 0, venue: 0 },
    // After the fixed fields: an object that begins with a spread is built field by field, at a tenth of a dry run's cost.
    ...(open === null ? {} : { intent: "OPEN" }),
    ...(isProtected ? { protection: protectionOf(open) } : {}),
    ...(request.orderType === "MARKET" ? { heldPrice: routed.heldPrice } : {}),
    ...(quote === null ? {} : { quote }),
    ...(unread.length === 0 ? {} : { unread }),
  };
}

function protectionOf(open: OpenTerms): ProtectionWish {
  const { takeProfit, stopLoss, closeOnProtectionFailure } = open;
  return { takeProfit, stopLoss, closeOnFailure: closeOnProtectionFailure, problem: null };
}
