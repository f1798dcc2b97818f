/**
 * Credits over a rolling minute, per IP without a config key, per key with one. The headers show them times ten, which
 * is also what the venue counts in.
 */
import { RollingBudget } from "../core/rolling-budget.js";
import type { SimHttpRequest } from "../core/types.js";
import type { VenuefourLimits } from "./options.js";

const WINDOW_S = 60;
const TENTHS = 10;
/** Which reads are heavy is not published: candles, as one client assumes, cheaper with a key. */
const HEAVY: ReadonlySet<string> = new Set(["kline", "kline/mark"]);
const HEAVY_COST = 12;
const HEAVY_COST_WITH_KEY = 4;

export interface CreditState {
  readonly isAllowed: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

export class Credits {
  readonly #budget = new RollingBudget(WINDOW_S * 1000);

  spend(request: SimHttpRequest, route: string, limits: VenuefourLimits): CreditState {
    const configKey = request.headers["pf-api-key"];
    const hasKey = configKey?.includes("_") === true;
    const key = hasKey ? `key ${configKey}` : `address ${request.remoteAddress}`;
    const quota = (hasKey ? limits.keyCreditsPerMinute : limits.creditsPerMinute) * TENTHS;
    const cost = HEAVY.has(route) ? (hasKey ? HEAVY_COST_WITH_KEY : HEAVY_COST) : 1;
    const nowMs = request.receivedMs;
    const isAllowed = this.#budget.trySpend(key, cost * TENTHS, quota, nowMs);
    const left = quota - this.#budget.used(key, nowMs);
    const refreshS = Math.ceil(this.#budget.refreshMs(key, nowMs) / 1000);
    return {
      isAllowed,
      headers: {
        ratelimit: `"credits";r=${left};t=${refreshS}`,
        "ratelimit-policy": `"credits";q=${quota};w=${WINDOW_S}`,
      },
    };
  }
}
