/**
 * venueone's REST endpoints for accounts and orders, with wire types (account/wire.ts). `POST /info` reads need no
 * key, `POST /exchange` carries its signature in the body. Weights are those of limits.ts; no call retries.
 */
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead, isRateLimitStatus, readFailureOf, retryAfterMs } from "../../shared/net/call-results.js";
import type { HttpResult, VenueHttp } from "../../shared/net/http.js";
import { decodeJson } from "../../shared/room/wire-fields.js";
import {
  decodeAbstraction,
  decodeAccount,
  decodeAgents,
  decodeFees,
  decodeFills,
  decodeOpenOrders,
  decodeOrderStatus,
  decodeRateLimit,
  decodeRole,
  decodeSpotBalances,
  type VenueoneWireAccount,
  type VenueoneWireAgent,
  type VenueoneWireFees,
  type VenueoneWireOrderStatus,
  type VenueoneWireRateLimit,
  type VenueoneWireRole,
  type VenueoneWireSpotBalance,
} from "./wire.js";
import {
  decodeAssetSettings,
  decodeFunding,
  decodeHistoricalOrders,
  type VenueoneWireAssetSettings,
  type VenueoneWireFunding,
} from "./history-wire.js";
import { exchangeWeight, infoWeight } from "../rules/limits.js";
import type { VenueoneWireFill, VenueoneWireOrder, VenueoneWireOrderUpdate } from "../market/wire.js";

const JSON_HEADERS: Readonly<Record<string, string>> = { "content-type": "application/json" };

export class VenueoneRest {
  readonly #http: VenueHttp;

  constructor(http: VenueHttp) {
    this.#http = http;
  }

  clearinghouseState(user: string, options: CallOptions): Promise<Read<VenueoneWireAccount>> {
    return this.info({ type: "clearinghouseState", user }, decodeAccount, options);
  }

  spotClearinghouseState(user: string, options: CallOptions): Promise<Read<readonly VenueoneWireSpotBalance[]>> {
    return this.info({ type: "spotClearinghouseState", user }, decodeSpotBalances, options);
  }

  frontendOpenOrders(user: string, options: CallOptions): Promise<Read<readonly VenueoneWireOrder[]>> {
    return this.info({ type: "frontendOpenOrders", user }, decodeOpenOrders, options);
  }

  /** `oid` is a number, or a cloid as text. */
  orderStatus(user: string, oid: number | string, options: CallOptions): Promise<Read<VenueoneWireOrderStatus>> {
    return this.info({ type: "orderStatus", user, oid }, decodeOrderStatus, options);
  }

  /** Bounds inclusive, oldest first, at most 2000 rows. */
  userFillsByTime(
    user: string,
    startTime: number,
    endTime: number,
    options: CallOptions,
  ): Promise<Read<readonly VenueoneWireFill[]>> {
    return this.info({ type: "userFillsByTime", user, startTime, endTime }, decodeFills, options);
  }

  /** Bounds inclusive, oldest first, at most 500 rows. */
  userFunding(
    user: string,
    startTime: number,
    endTime: number,
    options: CallOptions,
  ): Promise<Read<readonly VenueoneWireFunding[]>> {
    return this.info({ type: "userFunding", user, startTime, endTime }, decodeFunding, options);
  }

  /** The latest 2000. */
  historicalOrders(user: string, options: CallOptions): Promise<Read<readonly VenueoneWireOrderUpdate[]>> {
    return this.info({ type: "historicalOrders", user }, decodeHistoricalOrders, options);
  }

  activeAssetData(user: string, coin: string, options: CallOptions): Promise<Read<VenueoneWireAssetSettings>> {
    return this.info({ type: "activeAssetData", user, coin }, decodeAssetSettings, options);
  }

  userFees(user: string, options: CallOptions): Promise<Read<VenueoneWireFees>> {
    return this.info({ type: "userFees", user }, decodeFees, options);
  }

  userRole(user: string, options: CallOptions): Promise<Read<VenueoneWireRole>> {
    return this.info({ type: "userRole", user }, decodeRole, options);
  }

  userRateLimit(user: string, options: CallOptions): Promise<Read<VenueoneWireRateLimit>> {
    return this.info({ type: "userRateLimit", user }, decodeRateLimit, options);
  }

  /** Named agents; an unnamed one shows in `userRole` alone. */
  extraAgents(user: string, options: CallOptions): Promise<Read<readonly VenueoneWireAgent[]>> {
    return this.info({ type: "extraAgents", user }, decodeAgents, options);
  }

  userAbstraction(user: string, options: CallOptions): Promise<Read<ReturnType<typeof decodeAbstraction>>> {
    return this.info({ type: "userAbstraction", user }, decodeAbstraction, options);
  }

  /** A signed action as it goes out; `itemCount` is its batch length. */
  exchange(body: string, account: string, itemCount: number, options: CallOptions): Promise<HttpResult> {
    return this.#http.request({
      method: "POST",
      path: "/exchange",
      headers: JSON_HEADERS,
      body,
      lane: options.lane,
      weight: exchangeWeight(itemCount),
      timeoutMs: options.timeoutMs,
      account,
      caller: options.caller ?? account,
      payer: options.payer ?? null,
      accountWeight: itemCount,
    });
  }

  /** Any read that needs no key. */
  async info<T>(
    query: { readonly type: string; readonly [field: string]: string | number },
    decode: (value: unknown) => T,
    options: CallOptions,
  ): Promise<Read<T>> {
    const result = await this.#http.request({
      method: "POST",
      path: "/info",
      headers: JSON_HEADERS,
      body: JSON.stringify(query),
      lane: options.lane,
      weight: infoWeight(query.type),
      timeoutMs: options.timeoutMs,
      account: null,
      accountWeight: 0,
      payer: options.payer ?? null,
      ...callerOfQuery(query, options),
    });
    if (result.kind !== "response") return readFailureOf(result) ?? failedRead("VENUE_ERROR", "no response");
    if (isRateLimitStatus(result.status))
      return failedRead("RATE_LIMITED", `HTTP ${result.status}`, retryAfterMs(result));
    if (result.status !== 200) {
      return failedRead(result.status >= 500 ? "VENUE_ERROR" : "BAD_RESPONSE", `${query.type}: HTTP ${result.status}`);
    }
    const decoded = decodeJson(result.body, decode);
    if (!decoded.ok) return failedRead("BAD_RESPONSE", `${query.type}: ${decoded.problem}`);
    return { ok: true, value: decoded.value, asOfMs: result.receivedAtMs, source: "venue" };
  }
}

/** The account that is asked about, where the options name nobody. */
function callerOfQuery(
  query: { readonly [field: string]: string | number },
  { caller }: CallOptions,
): { readonly caller?: string } {
  if (caller !== undefined) return { caller };
  return typeof query["user"] === "string" ? { caller: query["user"] } : {};
}
