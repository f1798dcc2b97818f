/** What a trade is refused for, as values, before any order or where none left this machine. Pure. */
import type { ErrorCode } from "../../domain/errors.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { RoutingReport } from "../../routing/report.js";
import { isStreamedFor, type AccountReading } from "../decide/readings.js";
import type { Rooms } from "../accounts.js";
import type { MarketRooms } from "../decide/routing.js";
import type { OrderAttempt, TradeRun } from "../run.js";
import type { TradeRequest } from "../types.js";

/** Symbols named in an UNKNOWN_SYMBOL. */
const PREVIEW_SYMBOLS = 20;

export interface Refused {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  readonly routing: RoutingReport | null;
}

/** What needs neither a session nor the store to refuse. */
export function refuseEarly(rooms: Rooms, request: TradeRequest): Refused | null {
  const unlisted = unlistedSymbol(rooms, request.symbol);
  if (unlisted !== null) return refused("UNKNOWN_SYMBOL", unlisted);
  const preferred = request.preferredExchange;
  if (preferred === null || (request.credentials[preferred] ?? null) !== null) return null;
  return refused("MISSING_CREDENTIALS", { exchange: preferred });
}

/** Details of an UNKNOWN_SYMBOL; null when some venue lists it. */
export function unlistedSymbol(rooms: MarketRooms, symbol: string): Record<string, unknown> | null {
  for (const room of rooms.values()) if (room.markets.has(symbol)) return null;
  const listed = new Set<string>();
  for (const room of rooms.values()) {
    for (const name of room.markets.keys()) if (listed.size < PREVIEW_SYMBOLS) listed.add(name);
  }
  const availableSymbols = [...listed].sort();
  return { symbol, availableSymbols, preview: availableSymbols.join(", ") };
}

/** Where a limit names no time. */
export const DEFAULT_RETRY_MS = 1_000;

/**
 * Every order was stopped by our own limiter, breaker or check: no venue has seen any of them. Or the one venue that
 * the caller named refused each for its limit, unexecuted: a matter of time, not of the order.
 */
export function refusedUnexecuted(run: TradeRun, { preferredExchange }: TradeRequest): Refused | null {
  const last = run.attempts.at(-1);
  const isUnexecuted = ({ outcome, reason }: OrderAttempt): boolean =>
    outcome === "NOT_SENT" || (preferredExchange !== null && outcome === "REJECTED" && reason === "RATE_LIMITED");
  if (last === undefined || !run.attempts.every(isUnexecuted)) return null;
  const code =
    last.reason === "TRADING_HALTED" || last.reason === "RESTORED_STORE"
      ? last.reason
      : last.reason === "RATE_LIMITED"
        ? "VENUE_RATE_LIMITED"
        : "VENUE_UNAVAILABLE";
  const details = { exchange: last.venue, reason: last.reason, candidates: run.routing.candidates };
  if (code !== "VENUE_RATE_LIMITED") return refused(code, details, run.routing);
  return refused(code, { ...details, retryAfterMs: last.retryAfterMs ?? DEFAULT_RETRY_MS }, run.routing);
}

/** Is a close refused for what a stream shows of a venue that the caller did not rule out? */
export function turnsOnStreams(
  { code }: { readonly code: ErrorCode },
  readings: ReadonlyMap<RoutableVenue, AccountReading>,
  request: Pick<TradeRequest, "excludeExchanges" | "open" | "preferredExchange">,
): boolean {
  if (request.open !== null || (code !== "SIZE_EXCEEDS_POSITION" && code !== "NO_ELIGIBLE_VENUE")) return false;
  return [...readings.values()].some((reading) => isStreamedFor(reading, request));
}

export function isFlat(reading: AccountReading, request: TradeRequest): boolean {
  return reading.positions !== null && !reading.positions.some((position) => position.direction === request.direction);
}

export function refused(
  code: ErrorCode,
  details: Readonly<Record<string, unknown>>,
  routing: RoutingReport | null = null,
): Refused {
  return { ok: false, code, details, routing };
}
