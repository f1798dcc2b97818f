/**
 * venuefour's public REST reads, with wire types: `/info`, `/info/prices`, `/book`, `/trades`. Answers are envelopes
 * `{success, data, error, code}`, refusals sometimes plain text. Credits are those of limits.ts; no call retries.
 */
import type { CallOptions, Read, ReadFailure } from "../../../engine/ports.js";
import { failedRead, ofLimit, readFailureOf, venueText } from "../../shared/net/call-results.js";
import type { HttpRequest, HttpResult, VenueHttp } from "../../shared/net/http.js";
import type { HttpResponse, LimitVerdict, UsedWeight } from "../../shared/net/http-pool.js";
import { parseRetryAfterMs } from "../../shared/net/retry-after.js";
import { asFields, decodeJson, type Fields } from "../../shared/room/wire-fields.js";
import { decodeBook, decodeMarkets, decodePrices, decodeRestTrades, type VenuefourMarketList } from "./decode.js";
import { classifyError, readError, type VenueError } from "../rules/errors.js";
import { CREDIT_WINDOW_MS, HEADER_UNITS_PER_CREDIT, READ_CREDITS } from "../rules/limits.js";
import type { VenuefourWireBook, VenuefourWirePrice, VenuefourWireRestTrade } from "./wire.js";

const NO_HEADERS: Readonly<Record<string, string>> = {};

export class VenuefourRest {
  readonly #http: VenueHttp;
  /** Path of the API's root on its host, no trailing slash. */
  readonly #root: string;

  constructor(http: VenueHttp, root: string) {
    this.#http = http;
    this.#root = root;
  }

  markets(options: CallOptions): Promise<Read<VenuefourMarketList>> {
    return this.#get("/info", decodeMarkets, options);
  }

  prices(options: CallOptions): Promise<Read<readonly VenuefourWirePrice[]>> {
    return this.#get("/info/prices", decodePrices, options);
  }

  book(symbol: string, options: CallOptions): Promise<Read<VenuefourWireBook>> {
    return this.#get(`/book?symbol=${encodeURIComponent(symbol)}&agg_level=1`, decodeBook, options);
  }

  trades(symbol: string, options: CallOptions): Promise<Read<readonly VenuefourWireRestTrade[]>> {
    return this.#get(`/trades?symbol=${encodeURIComponent(symbol)}`, decodeRestTrades, options);
  }

  async #get<T>(path: string, decode: (data: unknown) => T, options: CallOptions): Promise<Read<T>> {
    const result = await this.#http.request({
      method: "GET",
      path: this.#root + path,
      headers: NO_HEADERS,
      body: null,
      lane: options.lane,
      weight: READ_CREDITS,
      timeoutMs: options.timeoutMs,
      account: null,
      accountWeight: 0,
    });
    return readEnvelope(result, path, (envelope) => decode(envelope["data"]));
  }
}

/** What an answer to a read says; `what` names the read in messages. */
export function readEnvelope<T>(result: HttpResult, what: string, decode: (envelope: Fields) => T): Read<T> {
  if (result.kind !== "response") return readFailureOf(result) ?? failedRead("VENUE_ERROR", "no response");
  const error = readError(result.status, result.body);
  if (error !== null) {
    const known = classifyError(result.status, error);
    const message = `${what}: HTTP ${result.status} ${known.code} ${venueText(error.text)}`.trim();
    const retryAfterMs = known.reason === "RATE_LIMITED" ? limitRetryAfterMs(result, result.receivedAtMs) : null;
    return ofLimit(result, failedRead(failureCode(known), message, retryAfterMs));
  }
  const decoded = decodeJson(result.body, (value) => decode(asFields(value, "envelope")));
  if (!decoded.ok) return failedRead("BAD_RESPONSE", `${what}: ${decoded.problem}`);
  return { ok: true, value: decoded.value, asOfMs: result.receivedAtMs, source: "venue" };
}

function failureCode(error: VenueError): ReadFailure {
  if (error.reason === "RATE_LIMITED") return "RATE_LIMITED";
  if (error.code === "INVALID_CURSOR") return "BAD_CURSOR";
  return error.errorClass === "A" ? "AUTH" : "VENUE_ERROR";
}

/** `"credits";r=970;t=23` → what is left and when it is refilled; null where the header is absent or another. */
function readLimitHeader(
  header: string | undefined,
): { readonly leftCredits: number; readonly resetMs: number } | null {
  if (header === undefined || !header.includes("credits")) return null;
  const left = /(?:^|;)\s*r=(\d{1,9})\b/.exec(header);
  const reset = /(?:^|;)\s*t=(\d{1,6})\b/.exec(header);
  if (left === null) return null;
  return {
    leftCredits: Number(left[1]) / HEADER_UNITS_PER_CREDIT,
    resetMs: reset === null ? CREDIT_WINDOW_MS : Number(reset[1]) * 1_000,
  };
}

/** Requests with a caller's config key spend that key's credits, not those of our address. */
function isOnOwnKey(request: HttpRequest | undefined): boolean {
  return request?.headers["pf-api-key"] !== undefined;
}

/**
 * The venue's own count as use of our budget: what it says is left is all there is until the reset, however many it
 * grants. With a larger grant than our budget nothing is charged.
 */
export function usedCredits(
  headers: Readonly<Record<string, string>>,
  budget: number,
  request?: HttpRequest,
): UsedWeight | null {
  if (isOnOwnKey(request)) return null;
  const limit = readLimitHeader(headers["ratelimit"]);
  return limit === null ? null : { weight: Math.max(0, budget - limit.leftCredits), resetMs: limit.resetMs };
}

/**
 * The venue's own count of the credits of a config key's main account, whose other keys spend them too. The answer does
 * not name that account; it only has what is left of its credits.
 */
export function usedKeyCredits(headers: Readonly<Record<string, string>>, budget: number): number | null {
  const limit = readLimitHeader(headers["ratelimit"]);
  const grant = /(?:^|;)\s*q=(\d{1,9})\b/.exec(headers["ratelimit-policy"] ?? "");
  if (limit === null || grant === null) return null;
  // A larger grant than ours may have more spent of it; what is spent of a smaller one is not our whole budget.
  const spent = Number(grant[1]) / HEADER_UNITS_PER_CREDIT - limit.leftCredits;
  return Math.max(0, Math.min(spent, budget - limit.leftCredits));
}

/**
 * Credits are counted per IP, or per main account with a config key. `Retry-After` is not documented; the limit header says when they
 * return.
 */
export function judgeLimit(response: HttpResponse, nowWallMs: number, request?: HttpRequest): LimitVerdict | null {
  if (response.status !== 429) return null;
  const scope = isOnOwnKey(request) ? "account" : "ip";
  return { scope, retryAfterMs: limitRetryAfterMs(response, nowWallMs), isBan: false };
}

export function limitRetryAfterMs(response: HttpResponse, nowWallMs: number): number | null {
  const fromHeader = parseRetryAfterMs(response.headers["retry-after"], nowWallMs);
  if (fromHeader !== null) return fromHeader;
  const limit = readLimitHeader(response.headers["ratelimit"]);
  return limit === null ? null : limit.resetMs;
}
