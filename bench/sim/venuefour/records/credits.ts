/**
 * Credits over a rolling minute: per IP without a config key, per main account with any of its keys. The headers show
 * credits times ten, the unit in which the venue counts.
 */
import { RollingBudget } from "../../core/server/rolling-budget.js";
import type { VenuefourLimits } from "../wire/options.js";

const WINDOW_S = 60;
const TENTHS = 10;
/**
 * The venue does not publish which reads are heavy: candles and histories, as one client assumes, cheaper with a key.
 */
const HEAVY: ReadonlySet<string> = new Set(["kline", "kline/mark", "orders/history", "trades/history"]);
const CANCELS: ReadonlySet<string> = new Set([
  "orders/cancel",
  "orders/cancel_all",
  "orders/stop/cancel",
  "cancel_order",
  "cancel_all_orders",
]);
const CANCEL_COST = 0.5;
const HEAVY_COST = 12;
const HEAVY_COST_WITH_KEY = 4;

export interface CreditState {
  readonly isAllowed: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** The same on the socket. */
  readonly rl: { readonly q: number; readonly r: number; readonly t: number };
}

export interface CreditSpender {
  readonly configKey: string | undefined;
  readonly remoteAddress: string;
  readonly nowMs: number;
}

export class Credits {
  readonly #budget = new RollingBudget(WINDOW_S * 1000);
  /** Returns the wallet that made a config key, or null for an unknown key, which then counts by itself. */
  readonly #ownerOf: (configKey: string) => string | null;

  constructor(ownerOf: (configKey: string) => string | null) {
    this.#ownerOf = ownerOf;
  }

  /** `route`: path or, over the socket, name of the operation. */
  spend(spender: CreditSpender, route: string, limits: VenuefourLimits): CreditState {
    const { configKey, nowMs } = spender;
    const hasKey = configKey?.includes("_") === true;
    const owner = hasKey ? this.#ownerOf(configKey) : null;
    const key = owner !== null ? `account ${owner}` : hasKey ? `key ${configKey}` : `address ${spender.remoteAddress}`;
    const quota = (hasKey ? limits.keyCreditsPerMinute : limits.creditsPerMinute) * TENTHS;
    const heavy = hasKey ? HEAVY_COST_WITH_KEY : HEAVY_COST;
    const cost = HEAVY.has(route) ? heavy : CANCELS.has(route) ? CANCEL_COST : 1;
    const isAllowed = this.#budget.trySpend(key, cost * TENTHS, quota, nowMs);
    const left = quota - this.#budget.used(key, nowMs);
    const refreshS = Math.ceil(this.#budget.refreshMs(key, nowMs) / 1000);
    return {
      isAllowed,
      rl: { q: quota, r: left, t: refreshS },
      headers: {
        ratelimit: `"credits";r=${left};t=${refreshS}`,
        "ratelimit-policy": `"credits";q=${quota};w=${WINDOW_S}`,
      },
    };
  }
}
