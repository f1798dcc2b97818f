/** Scenes about entries with protection: taken at once, resting, refused by the venue, and undone. */
import { FOUR_VENUES } from "../four-venues.js";
import type { Scene, Stage } from "./stage.js";

export const SIZES: Readonly<Record<string, string>> = { BTC: "0.05", ETH: "1" };

export function protectionOf(stage: Stage, direction: "LONG" | "SHORT", symbol: string) {
  const sign = direction === "LONG" ? 1 : -1;
  const venue = stage.venue();
  // Each stop has a price of its own, so that a stop at a venue shows whose it is.
  const share = 0.06 + 0.02 * stage.random.next();
  return {
    venue,
    takeProfit: stage.price(venue, symbol, sign * share),
    stopLoss: stage.price(venue, symbol, -sign * share),
  };
}

/** A MARKET entry with take-profit and stop-loss. */
export const protectScene: Scene = {
  positions: {},
  async play(stage) {
    const market = stage.market();
    const { venue, takeProfit, stopLoss } = protectionOf(stage, market.direction, market.symbol);
    const size = SIZES[market.symbol] ?? "1";
    const terms = { takeProfit, stopLoss };
    await stage.tradeToEnd({ kind: "OPEN", ...market, size, preferred: venue, terms });
  },
};

/** The venue refuses the protection: the entry is undone, or reported as unprotected. */
export const bareScene: Scene = {
  positions: {},
  async play(stage) {
    const market = stage.market();
    const { venue, stopLoss } = protectionOf(stage, market.direction, market.symbol);
    const size = SIZES[market.symbol] ?? "1";
    const body = { closeOnProtectionFailure: stage.random.next() < 0.5 };
    const terms = { stopLoss, maxSlippageBps: 50 };
    await stage.vetoed(
      FOUR_VENUES,
      (_, { trigger }) => (trigger === null ? null : "TOO_MANY_ORDERS"),
      () => stage.tradeToEnd({ kind: "OPEN", ...market, size, preferred: venue, terms, body }),
    );
  },
};
