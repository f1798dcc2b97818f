/** What the venue estimates a withdrawal to cost on a chain (sheet section 9.3): a public page of its web gateway. */
import { parseScaledBig, decimalPlaces, divideBig, pow10Big } from "../../../engine/domain/decimal.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import type { Token } from "../../../engine/venue-money.js";
import { failedRead, isRateLimitStatus, readFailureOf, retryAfterMs } from "../../shared/net/call-results.js";
import type { VenueHttp } from "../../shared/net/http.js";
import { decodeJson, parseMoneyJson } from "../../shared/room/wire-fields.js";
import { encodeForm } from "../sign/sign.js";
import { decodeGasCost } from "./wire.js";

const PATH = "/bapi/futures/v1/public/future/aster/estimate-withdraw-fee";

export class FeeEstimates {
  readonly #http: VenueHttp;

  /** `http`: of the gateway's own base URL. */
  constructor(http: VenueHttp) {
    this.#http = http;
  }

  /** In the token's smallest unit, rounded up. */
  async read(token: Token, accountType: "spot" | "perp", options: CallOptions): Promise<Read<bigint>> {
    const query = encodeForm([
      ["chainId", String(token.chainId)],
      ["network", "EVM"],
      ["currency", token.symbol],
      ["accountType", accountType],
    ]);
    const result = await this.#http.request({
      method: "GET",
      path: `${PATH}?${query}`,
      headers: {},
      body: null,
      lane: options.lane,
      weight: 1,
      timeoutMs: options.timeoutMs,
      account: null,
      payer: options.payer ?? null,
      accountWeight: 0,
    });
    if (result.kind !== "response") return readFailureOf(result) ?? failedRead("VENUE_ERROR", "no response");
    if (isRateLimitStatus(result.status))
      return failedRead("RATE_LIMITED", `HTTP ${result.status}`, retryAfterMs(result));
    if (result.status !== 200) return failedRead("VENUE_ERROR", `estimate-withdraw-fee: HTTP ${result.status}`);
    const gasCost = decodeJson(result.body, decodeGasCost, parseMoneyJson);
    if (!gasCost.ok) return failedRead("BAD_RESPONSE", `estimate-withdraw-fee: ${gasCost.problem}`);
    return { ok: true, value: unitsUp(gasCost.value, token.decimals), asOfMs: result.receivedAtMs, source: "venue" };
  }
}

/** Plain decimal text, as decoded. */
function unitsUp(text: string, decimals: number): bigint {
  const places = decimalPlaces(text);
  return divideBig((parseScaledBig(text, places) ?? 0n) * pow10Big(decimals), pow10Big(places), "ceil");
}
