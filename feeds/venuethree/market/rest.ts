/** The public REST calls that the room makes for itself. Mirrors the venue's endpoints; null means no usable answer. */
import type { Lane } from "../../../engine/ports.js";
import type { HttpResult, VenueHttp } from "../../shared/net/http.js";
import { decodeDetails, decodeTop, type DetailsAnswer } from "./decode-slow.js";
import { AUDIT_ORDERS, LOAD_TIMEOUT_MS, READ_TIMEOUT_MS } from "../rules/limits.js";
import type { VenuethreeWireTop } from "./wire.js";

/** `notAsked`: our own budget, breaker or a limit reply: says nothing about the venue's streams. */
export type TopAnswer = VenuethreeWireTop | "notAsked" | "failed";

export class VenuethreeRest {
  readonly #http: VenueHttp;
  readonly #weight: number;

  /** `weight` of each read in the account's tier. */
  constructor(http: VenueHttp, weight: number) {
    this.#http = http;
    this.#weight = weight;
  }

  /** Every perpetual with its decimals, margins and daily statistics. */
  async orderBookDetails(lane: Lane): Promise<DetailsAnswer | null> {
    const result = await this.#get("/api/v1/orderBookDetails?filter=perp", lane, LOAD_TIMEOUT_MS);
    return result.kind === "response" && result.status === 200 ? decodeDetails(result.body) : null;
  }

  /** The top of one book as it is now. */
  async orderBookTop(marketId: number, lane: Lane): Promise<TopAnswer> {
    const path = `/api/v1/orderBookOrders?market_id=${marketId}&limit=${AUDIT_ORDERS}`;
    const result = await this.#get(path, lane, READ_TIMEOUT_MS);
    if (result.kind === "notSent") return "notAsked";
    if (result.kind === "noResponse") return "failed";
    if (result.status === 429 || result.status === 418) return "notAsked";
    return (result.status === 200 ? decodeTop(result.body, AUDIT_ORDERS) : null) ?? "failed";
  }

  #get(path: string, lane: Lane, timeoutMs: number): Promise<HttpResult> {
    return this.#http.request({
      method: "GET",
      path,
      headers: {},
      body: null,
      lane,
      weight: this.#weight,
      timeoutMs,
      account: null,
      accountWeight: 0,
    });
  }
}
