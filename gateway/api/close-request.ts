/**
 * Body of `POST /api/trade/position/close` → TradeRequest, or the precise refusal. Pure.
 *
 * Invariant: what leaves here satisfies every rule of the routing design that needs neither a venue nor a
 * position: exactly one size, a limit price exactly with LIMIT, a listed symbol, a venue this service can
 * send to, options within their bounds. No refusal repeats a value of the body.
 */
import { decimalPlaces, parseScaled } from "../../engine/domain/decimal.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { OrderType } from "../../engine/domain/order.js";
import { isRoutableVenue, type RoutableVenue, ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { QUOTE_TTL_MS } from "../../engine/orders/request/quote-book.js";
import { MAX_LEGS } from "../../engine/routing/split.js";
import type { TradeRequest } from "../../engine/orders/types.js";
import type { CloseRequestBody } from "../../schemas/close.js";
import type { FieldProblem } from "../../schemas/errors.js";
import type { Problems } from "../../schemas/problems.js";
import type { Validator } from "../../schemas/validate.js";
import type { MarketView } from "./market-view.js";
import { checkReduceOnly, checkTimeInForce } from "./spec-fields.js";

/** Values of options the caller left out (routing design 1.5, 1.6, 2). */
export interface CloseDefaults {
  readonly maxSlippageBps: number;
  readonly maxQuoteAgeMs: number;
  readonly deadlineMs: number;
}

export function buildCloseRequest(
  input: unknown,
  validate: Validator<CloseRequestBody>,
  view: MarketView,
  defaults: CloseDefaults,
): TradeRequest {
  if (input === null || typeof input !== "object" || Array.isArray(input)) throw invalid("body", "must be an object");
  const checked = validate(input);
  if (!checked.ok) throw problemsError(withSize(checked.problems, input, "sizePercent"));
  const body = checked.value;
  checkSize(body);
  const orderType = checkOrderType(body);
  checkReduceOnly(body.reduceOnly);
  checkTimeInForce(orderType, body.timeInForce);
  checkSplit(body, orderType);
  checkQuoteTtl(body);
  const preferredExchange = checkPreferred(body, view, "closing");
  return withCommonTerms(body, defaults, {
    symbol: view.resolve(body.symbol),
    direction: body.direction,
    size: body.size ?? null,
    sizePercent: body.sizePercent ?? null,
    orderType,
    triggerPrice: body.triggerPrice ?? null,
    preferredExchange,
    open: null,
  });
}

/**
 * Adds the fields that closes and opens share, with their defaults. Member by member: a spread costs more than the rest
 * of this function.
 */
export function withCommonTerms(body: CommonBody, defaults: CloseDefaults, own: OwnTerms): TradeRequest {
  const options = body.routingOptions ?? {};
  return {
    symbol: own.symbol,
    direction: own.direction,
    size: own.size,
    sizePercent: own.sizePercent,
    orderType: own.orderType,
    triggerPrice: own.triggerPrice,
    preferredExchange: own.preferredExchange,
    open: own.open,
    limitPrice: body.limitPrice ?? null,
    credentials: presentCredentials(body.credentials),
    clientOrderId: body.clientOrderId ?? null,
    dryRun: body.dryRun ?? false,
    quoteId: body.quoteId ?? null,
    quoteTtlMs: body.quoteTtlMs ?? QUOTE_TTL_MS,
    maxSlippageBps: options.maxSlippageBps ?? defaults.maxSlippageBps,
    isSlippageDefault: (options.maxSlippageBps ?? null) === null,
    maxQuoteAgeMs: options.maxQuoteAgeMs ?? defaults.maxQuoteAgeMs,
    deadlineMs: options.deadlineMs ?? defaults.deadlineMs,
    excludeExchanges: (options.excludeExchanges ?? []).filter(isRoutableVenue),
    allowSplit: options.allowSplit ?? false,
    maxLegs: options.maxLegs ?? MAX_LEGS,
    waitFor: options.waitFor ?? "FILL",
  };
}

/** The fields that differ between a close and an open. */
type OwnTerms = Pick<
  TradeRequest,
  "symbol" | "direction" | "size" | "sizePercent" | "orderType" | "triggerPrice" | "preferredExchange" | "open"
>;
/** The fields that both bodies share. */
export type CommonBody = Pick<
  CloseRequestBody,
  | "limitPrice"
  | "credentials"
  | "clientOrderId"
  | "dryRun"
  | "quoteId"
  | "quoteTtlMs"
  | "routingOptions"
  | "preferredExchange"
>;

/** Missing fields decide the code; the wrong ones are listed beside them. */
export function problemsError(problems: Problems): ServiceError {
  return new ServiceError(problems.missing ? "MISSING_PARAMETERS" : "INVALID_PARAMETERS", { fields: problems.fields });
}

/** Adds the problem of a size that is given in neither of its two forms, which no schema expresses. */
export function withSize(problems: Problems, body: object, other: "sizePercent" | "notionalUsd"): Problems {
  const { size, [other]: instead } = body as Readonly<Record<string, unknown>>;
  if ((size ?? null) !== null || (instead ?? null) !== null) return problems;
  return { missing: true, fields: [{ path: "size", problem: `size or ${other} is required` }, ...problems.fields] };
}

export function invalid(path: string, problem: string): ServiceError {
  return new ServiceError("INVALID_PARAMETERS", { fields: [{ path, problem }] satisfies FieldProblem[] });
}

export function missing(path: string, problem: string): ServiceError {
  return new ServiceError("MISSING_PARAMETERS", { fields: [{ path, problem }] satisfies FieldProblem[] });
}

/** Refuses to split a resting order: it is ranked by where it rests. */
export function checkSplit(body: CommonBody, orderType: OrderType): void {
  if (body.routingOptions?.allowSplit === true && orderType !== "MARKET")
    throw invalid("routingOptions.allowSplit", "is for MARKET orders only");
}

/** Refuses a quote in a live call. */
export function checkQuoteTtl(body: CommonBody): void {
  if ((body.quoteTtlMs ?? null) !== null && body.dryRun !== true) throw invalid("quoteTtlMs", "is for dry runs only");
}

function checkSize(body: CloseRequestBody): void {
  const size = body.size ?? null;
  const percent = body.sizePercent ?? null;
  if (size === null && percent === null) throw missing("size", "size or sizePercent is required");
  if (size !== null && percent !== null) throw invalid("sizePercent", "must not be given together with size");
  if (size !== null && size !== "ALL") checkExact(size, "size");
  if ((body.limitPrice ?? null) !== null) checkExact(body.limitPrice as string, "limitPrice");
}

/** Sizes and prices are counted in safe integers, so the number of significant digits is bounded. */
export function checkExact(text: string, path: string): void {
  if (Number.isNaN(parseScaled(text, decimalPlaces(text))))
    throw invalid(path, "must have at most 15 significant digits");
}

function checkOrderType(body: CloseRequestBody): OrderType {
  const limitPrice = body.limitPrice ?? null;
  const triggerPrice = body.triggerPrice ?? null;
  const orderType = body.orderType ?? (limitPrice === null ? "MARKET" : "LIMIT");
  if (orderType === "STOP_MARKET" || orderType === "STOP_LIMIT") {
    const fields: FieldProblem[] = [];
    if (triggerPrice === null) fields.push({ path: "triggerPrice", problem: "is required for stop orders" });
    if ((body.preferredExchange ?? null) === null) {
      fields.push({ path: "preferredExchange", problem: "is required for stop orders: a resting stop is not routed" });
    }
    if (fields.length > 0) throw new ServiceError("TRIGGER_REQUIRED", { fields });
    checkExact(triggerPrice as string, "triggerPrice");
  } else if (triggerPrice !== null) throw invalid("triggerPrice", "is for stop orders only");
  checkLimit(orderType, limitPrice);
  return orderType;
}

/** Requires a limit price for the types that have one, and refuses it for the others. */
export function checkLimit(orderType: OrderType, limitPrice: string | null): void {
  const takesLimit = orderType === "LIMIT" || orderType === "STOP_LIMIT";
  if (!takesLimit && limitPrice !== null) throw invalid("limitPrice", `must not be given for a ${orderType} order`);
  if (takesLimit && limitPrice === null) throw missing("limitPrice", `is required for a ${orderType} order`);
}

export function checkPreferred(body: CommonBody, view: MarketView, doing: "closing" | "opening"): RoutableVenue | null {
  const preferred = body.preferredExchange ?? null;
  if (preferred === null) return null;
  if (!isRoutableVenue(preferred)) {
    throw new ServiceError("NOT_SUPPORTED", {
      what: `${doing} on ${preferred}: its transactions are signed by the client`,
      reasonCode: "CLIENT_SIDE_ONLY",
      exchange: preferred,
      fields: [
        { path: "preferredExchange", problem: "is signed by the client, not by this service" },
      ] satisfies FieldProblem[],
    });
  }
  if (body.routingOptions?.excludeExchanges?.includes(preferred) === true) {
    throw invalid("routingOptions.excludeExchanges", "must not contain preferredExchange");
  }
  if (view.room(preferred) === null) {
    // Without its block the caller lacks credentials; with it, this service lacks the venue.
    if ((body.credentials[preferred] ?? null) === null)
      throw new ServiceError("MISSING_CREDENTIALS", { exchange: preferred });
    throw new ServiceError("VENUE_UNAVAILABLE", { exchange: preferred, reason: "NOT_CONFIGURED" });
  }
  return preferred;
}

/** Returns the blocks that are present, by reference: secrets are not copied. */
export function presentCredentials(credentials: CloseRequestBody["credentials"]): TradeRequest["credentials"] {
  const present: Partial<Record<RoutableVenue, unknown>> = {};
  for (const venue of ROUTABLE_VENUES) {
    const block = credentials[venue] ?? null;
    if (block !== null) present[venue] = block;
  }
  return present;
}
