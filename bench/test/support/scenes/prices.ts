/** Scenes about the price that an order may carry: stops, bands, retries, quotes, splits. */
import { FOUR_VENUES, type FourVenue } from "../four-venues.js";
import { LONG_BTC, type Scene, SHORT_ETH, type Stage } from "./stage.js";

const HELD = { BTC: "3", ETH: "-60" };

/** A stop far from the market, its limit beyond its trigger; one in three has its trigger near. */
export const stopScene: Scene = {
  positions: HELD,
  async play(stage) {
    const market = stage.market();
    const away = (stage.random.next() < 0.33 ? 0.02 : 0.1) * (market.direction === "LONG" ? -1 : 1);
    const size = market.symbol === "BTC" ? "0.05" : "1";
    for (const venue of FOUR_VENUES.filter((one) => one !== stage.down)) {
      const triggerPrice = stage.price(venue, market.symbol, away);
      const limitPrice = stage.price(venue, market.symbol, away * 1.1);
      for (const terms of [
        { orderType: "STOP_LIMIT", triggerPrice, limitPrice },
        { orderType: "STOP_MARKET", triggerPrice, maxSlippageBps: 300 },
      ] as const)
        await stage.tradeToEnd({ kind: "CLOSE", ...market, size, preferred: venue, terms });
    }
  },
};

/** MARKET closes whose bound lies beyond the band that venuetwo judges. */
export const bandScene: Scene = {
  positions: HELD,
  async play(stage) {
    if (stage.down === "venuetwo") return;
    for (const maxSlippageBps of [300, 800])
      await stage.tradeToEnd({
        kind: "CLOSE",
        ...stage.market(),
        size: "0.1",
        preferred: "venuetwo",
        terms: { maxSlippageBps },
      });
  },
};

/** The first venue refuses for good: the bound of the first decision holds for what follows. */
export const retryScene: Scene = {
  positions: HELD,
  async play(stage) {
    const market = stage.market();
    const refusing = FOUR_VENUES.filter((venue) => venue !== stage.down);
    let refused = 0;
    await stage.vetoed(
      refusing,
      () => (refused++ === 0 ? "MARGIN" : null),
      () => stage.tradeToEnd({ kind: "CLOSE", ...market, size: "0.2", terms: { maxSlippageBps: 20 } }),
    );
  },
};

/** A quote with a wide bound: used with a narrow one, then by another key; and a quote id that nobody gave. */
export const quoteScene: Scene = {
  positions: HELD,
  async play(stage) {
    const fields = { kind: "CLOSE", ...stage.market(), size: "0.1" } as const;
    const quote = await stage.quote({ ...fields, terms: { maxSlippageBps: 1_000 } });
    if (quote === null) return;
    const terms = { quote, maxSlippageBps: 10 };
    const first = await stage.trade({ ...fields, terms });
    await stage.trade({ ...fields, terms });
    await stage.trade({ ...fields, terms: { quote: { ...quote, quoteId: "qt_nobody_gave_this" } } });
    await stage.toEnd(first);
  },
};

/** Splits over some of the venues, for more than one of them holds, and for more than all of them do. */
export const splitScene: Scene = {
  positions: HELD,
  async play(stage) {
    const market = stage.market();
    const [size, tooMuch] = market.symbol === "BTC" ? ["5", "9.5"] : ["100", "190"];
    const left = without(stage, stage.venue());
    const excluded = FOUR_VENUES.filter((venue) => !left.includes(venue));
    const routingOptions = { allowSplit: true, excludeExchanges: excluded };
    await stage.tradeToEnd({ kind: "CLOSE", ...market, size: tooMuch, routingOptions });
    await stage.tradeToEnd({ kind: "CLOSE", ...market, size, routingOptions });
    // Leaves credentials out instead of excluding the venue.
    const credentials = Object.fromEntries(left.map((venue) => [venue, stage.trader.credentials[venue]]));
    const opposite = market === LONG_BTC ? SHORT_ETH : LONG_BTC;
    const other = opposite.symbol === "BTC" ? "5" : "100";
    await stage.tradeToEnd({
      kind: "CLOSE",
      ...opposite,
      size: other,
      routingOptions: { allowSplit: true },
      credentials,
    });
  },
};

function without(stage: Stage, one: FourVenue): readonly FourVenue[] {
  return FOUR_VENUES.filter((venue) => venue !== one && venue !== stage.down);
}
