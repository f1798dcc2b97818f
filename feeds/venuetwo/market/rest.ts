/** venuetwo's public REST calls that the room makes for itself: instruments, funding intervals, first tickers, server time. */
import type { CallOptions, Lane } from "../../../engine/ports.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import type { HttpResult, VenueHttp } from "../../shared/net/http.js";
import { isFields, parseJsonExact } from "../../shared/room/wire-fields.js";
import { decodePremiumIndexes, decodeTickers24h } from "./decode-slow.js";
import {
  ALL_PREMIUM_WEIGHT,
  ALL_TICKERS_WEIGHT,
  ONE_PREMIUM_WEIGHT,
  EXCHANGE_INFO_WEIGHT,
  FUNDING_INFO_WEIGHT,
  LOAD_TIMEOUT_MS,
  READ_TIMEOUT_MS,
  SERVER_TIME_WEIGHT,
} from "../rules/limits.js";
import { normalizeExchangeInfo, normalizeFundingInfo, type SymbolLoad, type SymbolOptions } from "./symbols.js";
import type { VenuetwoWirePremiumIndex, VenuetwoWireTicker24h } from "./wire.js";

const SERVER_TIME = /"serverTime"\s*:\s*\d+/;

export class MarketRest {
  readonly #http: VenueHttp;
  /** Of the last readable list, without its time. */
  #listText = "";

  constructor(http: VenueHttp) {
    this.#http = http;
  }

  /**
   * Null when the venue gave no usable answer; `same` for the text of the last load. The list is several hundred kB and
   * mostly unchanged: it is not parsed again for a new server time.
   */
  async loadInstruments(options: SymbolOptions, lane: Lane): Promise<SymbolLoad | "same" | null> {
    const body = bodyOf(await this.#get("/fapi/v1/exchangeInfo", EXCHANGE_INFO_WEIGHT, lane, LOAD_TIMEOUT_MS));
    if (body === null) return null;
    const text = body.replace(SERVER_TIME, "");
    if (text === this.#listText) return "same";
    const load = normalizeExchangeInfo(parseJsonExact(body), options);
    if (load !== null) this.#listText = text;
    return load;
  }

  /** Empty where the venue does not answer: intervals are then unknown, never guessed. */
  async loadFundingHours(): Promise<ReadonlyMap<string, number>> {
    const body = bodyOf(await this.#get("/fapi/v1/fundingInfo", FUNDING_INFO_WEIGHT, "reconcile", READ_TIMEOUT_MS));
    return body === null ? new Map() : normalizeFundingInfo(parseJsonExact(body));
  }

  async loadTickers(): Promise<readonly VenuetwoWireTicker24h[]> {
    const body = bodyOf(await this.#get("/fapi/v1/ticker/24hr", ALL_TICKERS_WEIGHT, "background", LOAD_TIMEOUT_MS));
    return (body === null ? null : decodeTickers24h(body)) ?? [];
  }

  async loadPremiums(): Promise<readonly VenuetwoWirePremiumIndex[]> {
    const body = bodyOf(await this.#get("/fapi/v1/premiumIndex", ALL_PREMIUM_WEIGHT, "background", LOAD_TIMEOUT_MS));
    return (body === null ? null : decodePremiumIndexes(body)) ?? [];
  }

  /** Of one contract, now; null when the venue gave no usable answer. */
  async loadPremium(nativeSymbol: string, { lane, timeoutMs }: CallOptions): Promise<VenuetwoWirePremiumIndex | null> {
    const path = `/fapi/v1/premiumIndex?symbol=${encodeURIComponent(nativeSymbol)}`;
    const body = bodyOf(await this.#get(path, ONE_PREMIUM_WEIGHT, lane, timeoutMs));
    const rows = (body === null ? null : decodePremiumIndexes(body)) ?? [];
    return rows.find(({ symbol }) => symbol === nativeSymbol) ?? null;
  }

  /** One round trip against the venue's clock. */
  async measureClock(clockOffset: ClockOffset, lane: Lane): Promise<void> {
    const begun = clockOffset.beginRoundTrip();
    const result = await this.#get("/fapi/v1/time", SERVER_TIME_WEIGHT, lane, READ_TIMEOUT_MS);
    if (result.kind !== "response" || result.status !== 200) return;
    const parsed = parseJsonExact(result.body);
    const serverTime = isFields(parsed) ? parsed["serverTime"] : null;
    if (typeof serverTime === "number")
      clockOffset.addRoundTrip(result.sentAtMs, result.receivedAtMs, serverTime, 1, begun);
  }

  #get(path: string, weight: number, lane: Lane, timeoutMs: number): Promise<HttpResult> {
    return this.#http.request({
      method: "GET",
      path,
      headers: {},
      body: null,
      lane,
      weight,
      timeoutMs,
      account: null,
      accountWeight: 0,
    });
  }
}

function bodyOf(result: HttpResult): string | null {
  return result.kind === "response" && result.status === 200 ? result.body : null;
}
