/**
 * Body of `POST /api/trade/position/close` → CloseRequest, or the precise refusal. Pure.
 *
 * Invariant: what leaves here satisfies every rule of the routing design that needs neither a venue nor a
 * position: exactly one size, a limit price exactly with LIMIT, a listed symbol, a venue this service can
 * send to, options within their bounds. No refusal repeats a value of the body.
 */
import { decimalPlaces, parseScaled } from "../engine/domain/decimal.js";
import { ServiceError } from "../engine/domain/errors.js";
import { isRoutableVenue, type RoutableVenue, ROUTABLE_VENUES } from "../engine/domain/venue.js";
import type { CloseRequest } from "../engine/orders/close-types.js";
import type { CloseRequestBody } from "../schemas/close.js";
import type { FieldProblem } from "../schemas/errors.js";
import type { Problems } from "../schemas/problems.js";
import type { Validator } from "../schemas/validate.js";
import type { MarketView } from "./market-view.js";

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
): CloseRequest {
  if (input === null || typeof input !== "object" || Array.isArray(input)) throw invalid("body", "must be an object");
  const checked = validate(input);
  if (!checked.ok) throw problemsError(checked.problems);
  const body = checked.value;
  refuseUnsupported(body);
  checkSize(body);
  const orderType = checkOrderType(body);
  const preferredExchange = checkPreferred(body, view);
  const options = body.routingOptions ?? {};
  const symbol = view.resolve(body.symbol);
  return {
    symbol,
    direction: body.direction,
    size: body.size ?? null,
    sizePercent: body.sizePercent ?? null,
    orderType,
    limitPrice: body.limitPrice ?? null,
    preferredExchange,
    credentials: presentCredentials(body.credentials),
    clientOrderId: body.clientOrderId ?? null,
    dryRun: body.dryRun ?? false,
    maxSlippageBps: options.maxSlippageBps ?? defaults.maxSlippageBps,
    maxQuoteAgeMs: options.maxQuoteAgeMs ?? defaults.maxQuoteAgeMs,
    deadlineMs: options.deadlineMs ?? defaults.deadlineMs,
    excludeExchanges: (options.excludeExchanges ?? []).filter(isRoutableVenue),
    waitFor: options.waitFor ?? "FILL",
  };
}

/** Missing fields name the error; the wrong ones are listed beside them. */
export function problemsError(problems: Problems): ServiceError {
  return new ServiceError(problems.missing ? "MISSING_PARAMETERS" : "INVALID_PARAMETERS", { fields: problems.fields });
}

function invalid(path: string, problem: string): ServiceError {
  return new ServiceError("INVALID_PARAMETERS", { fields: [{ path, problem }] satisfies FieldProblem[] });
}

function missing(path: string, problem: string): ServiceError {
  return new ServiceError("MISSING_PARAMETERS", { fields: [{ path, problem }] satisfies FieldProblem[] });
}

function notSupported(what: string, path: string): ServiceError {
  return new ServiceError("NOT_SUPPORTED", {
    what,
    fields: [{ path, problem: "is not supported yet" }] satisfies FieldProblem[],
  });
}

function refuseUnsupported(body: CloseRequestBody): void {
  if (body.routingOptions?.allowSplit === true)
    throw notSupported("splitting a close over venues", "routingOptions.allowSplit");
  if ((body.quoteId ?? null) !== null) throw notSupported("quotes that bind", "quoteId");
}

function checkSize(body: CloseRequestBody): void {
  const size = body.size ?? null;
  const percent = body.sizePercent ?? null;
  if (size === null && percent === null) throw missing("size", "size or sizePercent is required");
  if (size !== null && percent !== null) throw invalid("sizePercent", "must not be given together with size");
  if (size !== null && size !== "ALL") checkExact(size, "size");
  if ((body.limitPrice ?? null) !== null) checkExact(body.limitPrice as string, "limitPrice");
}

/** Sizes and prices are counted in safe integers; more significant digits than that are no size anybody trades. */
export function checkExact(text: string, path: string): void {
  if (Number.isNaN(parseScaled(text, decimalPlaces(text))))
    throw invalid(path, "must have at most 15 significant digits");
}

function checkOrderType(body: CloseRequestBody): "MARKET" | "LIMIT" {
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
    throw notSupported(`${orderType} orders`, "orderType");
  }
  if (triggerPrice !== null) throw invalid("triggerPrice", "is for stop orders only");
  if (orderType === "MARKET" && limitPrice !== null)
    throw invalid("limitPrice", "must not be given for a MARKET order");
  if (orderType === "LIMIT" && limitPrice === null) throw missing("limitPrice", "is required for a LIMIT order");
  return orderType;
}

function checkPreferred(body: CloseRequestBody, view: MarketView): RoutableVenue | null {
  const preferred = body.preferredExchange ?? null;
  if (preferred === null) return null;
  if (!isRoutableVenue(preferred)) {
    throw new ServiceError("NOT_SUPPORTED", {
      what: `closing on ${preferred}: its transactions are signed by the client`,
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
    // Without a block for it, the missing credentials are the caller's to repair; with one, the venue is ours.
    if ((body.credentials[preferred] ?? null) === null)
      throw new ServiceError("MISSING_CREDENTIALS", { exchange: preferred });
    throw new ServiceError("VENUE_UNAVAILABLE", { exchange: preferred, reason: "NOT_CONFIGURED" });
  }
  return preferred;
}

/** Blocks that are there, by reference: nothing of them is copied. */
export function presentCredentials(credentials: CloseRequestBody["credentials"]): CloseRequest["credentials"] {
  const present: Partial<Record<RoutableVenue, unknown>> = {};
  for (const venue of ROUTABLE_VENUES) {
    const block = credentials[venue] ?? null;
    if (block !== null) present[venue] = block;
  }
  return present;
}
