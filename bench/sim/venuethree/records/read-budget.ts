/** What a REST read costs an address, fact sheet 10: one of sixty for a standard account, a weight for a premium one. */
import { RollingBudget } from "../../core/server/rolling-budget.js";
import { CODE, VenuethreeRefusal } from "../wire/errors.js";
import type { VenuethreeLimits } from "./options.js";

const WEIGHTS: ReadonlyMap<string, number> = new Map([
  ["nextNonce", 6],
  ["publicPools", 50],
  ["txFromL1TxHash", 50],
  ["accountInactiveOrders", 100],
  ["deposit/latest", 100],
  ["apikeys", 150],
  ["transferFeeInfo", 500],
  ["trades", 600],
  ["recentTrades", 600],
]);
const OTHER_WEIGHT = 300;
const MINUTE_MS = 60_000;

export class ReadBudget {
  readonly #budget = new RollingBudget(MINUTE_MS);

  /** Throws 429 with the venue's own code when the minute is spent. */
  spend(address: string, name: string, limits: VenuethreeLimits, nowMs: number): void {
    const isStandard = limits.tier === "standard";
    const weight = isStandard ? 1 : (WEIGHTS.get(name) ?? OTHER_WEIGHT);
    const max = isStandard ? limits.readsPerMinute : limits.weightPerMinute;
    if (!this.#budget.trySpend(address, weight, max, nowMs))
      throw new VenuethreeRefusal(CODE.tooManyRequests, "Too Many Requests!", 429);
  }
}
