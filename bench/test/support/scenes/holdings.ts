/** Scenes about holdings: opened by the account's owner elsewhere, on several venues at once, and none. */
import { FOUR_VENUES, type FourVenue } from "../four-venues.js";
import { CLOCK_MS } from "../holdings.js";
import { pause } from "../system.js";
import { type Scene, type SceneMarket, LONG_BTC, type Stage } from "./stage.js";

const OUTSIDE_SIZE = "1.5";

/** Trades often enough for a room to follow the account over its stream. */
async function warm(stage: Stage, venue: FourVenue): Promise<void> {
  const fields = { ...LONG_BTC, size: "0.02", preferred: venue } as const;
  for (let round = 0; round < 3; round++) {
    await stage.tradeToEnd({ kind: "OPEN", ...fields });
    await stage.tradeToEnd({ kind: "CLOSE", ...fields });
  }
}

/** A position that was opened elsewhere can be closed at once. */
export const outsideScene: Scene = {
  positions: {},
  async play(stage) {
    const venue = stage.venue();
    await warm(stage, venue);
    stage.four.outside(venue, stage.trader, "BTC", "BUY", OUTSIDE_SIZE);
    // A read is judged by holdings older than the clocks may differ: a quicker read could show either.
    await pause(4 * CLOCK_MS);
    await readPositions(stage);
    await stage.tradeToEnd({ kind: "CLOSE", ...LONG_BTC, size: "1", preferred: venue });
    await stage.tradeToEnd({ kind: "CLOSE", ...LONG_BTC, size: "ALL", preferred: venue });
    stage.four.outside(venue, stage.trader, "BTC", "BUY", OUTSIDE_SIZE);
    await closeAll(stage);
  },
};

export function readPositions(stage: Stage): Promise<unknown> {
  const address = String(stage.trader.accountIds.venueone);
  return stage.ask("POSITIONS", `/api/trading/positions/all/${address}`, {}, { method: "GET" });
}

export function closeAll(stage: Stage, symbols: readonly string[] | null = null): Promise<unknown> {
  const { credentials } = stage.trader;
  const body = symbols === null ? { credentials } : { credentials, symbols };
  return stage.ask("CLOSE_ALL", "/api/trade/close-all", { symbols }, { body });
}

/** The service opens and closes at once: its own fill is never too new to be seen. */
export const ownScene: Scene = {
  positions: {},
  async play(stage) {
    const venue = stage.venue();
    const market: SceneMarket = LONG_BTC;
    await warm(stage, venue);
    await stage.tradeToEnd({ kind: "OPEN", ...market, size: "0.5", preferred: venue });
    await stage.tradeToEnd({ kind: "CLOSE", ...market, size: "0.4", preferred: venue });
    await stage.tradeToEnd({ kind: "CLOSE", ...market, size: "ALL", preferred: venue });
  },
};

/** Closes all of it on every venue; one venue may be down. */
export const allScene: Scene = {
  positions: { BTC: "0.4", ETH: "-5" },
  async play(stage) {
    const market = stage.market();
    await stage.trade({ kind: "CLOSE", ...market, size: "ALL", routingOptions: { allowSplit: true, maxLegs: 3 } });
    // A read fails on one venue alone.
    const failing = stage.venue();
    const [only] = FOUR_VENUES.filter((venue) => venue !== failing && venue !== stage.down);
    if (only === undefined) return;
    const credentials = { [only]: stage.trader.credentials[only], [failing]: stage.trader.credentials[failing] };
    await stage.trade({ kind: "CLOSE", ...market, size: "ALL", credentials, routingOptions: { allowSplit: true } });
  },
};
