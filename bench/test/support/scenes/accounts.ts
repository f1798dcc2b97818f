/** Scenes about a whole account: close-all, cancels, switches, agents, keys. */
import { FOUR_VENUES, type FourVenue } from "../four-venues.js";
import { LONG_BTC, type Scene, SHORT_ETH, type Stage } from "./stage.js";

const HELD = { BTC: "0.4", ETH: "-5" };

/** Places a resting entry far from the market. Returns the venue's id of its order; null where none rests. */
async function rest(stage: Stage, venue: FourVenue, share = 0.01): Promise<string | null> {
  const market = stage.market();
  const limitPrice = stage.price(venue, market.symbol, market.direction === "LONG" ? -share : share);
  const size = market.symbol === "BTC" ? "0.02" : "0.5";
  const terms = { orderType: "LIMIT", limitPrice } as const;
  const trial = await stage.trade({ kind: "OPEN", ...market, size, preferred: venue, terms });
  const leg = trial.answers.at(-1)?.data?.execution.legs[0];
  return leg?.outcome === "CONFIRMED" ? ((leg as { orderId?: string | null }).orderId ?? null) : null;
}

/** First the calls that must close nothing or little, then one that closes everything. */
export const closeAllScene: Scene = {
  positions: HELD,
  async play(stage) {
    const { credentials } = stage.trader;
    const venue = stage.venue();
    await rest(stage, venue);
    const variants = [
      { terms: { dryRun: true }, body: { dryRun: true } },
      { terms: { unknownField: "sizePercnt" }, body: { sizePercnt: "50" } },
      { terms: { symbols: ["BTC"], venues: [venue] }, body: { symbols: ["BTC"], exchanges: [venue] } },
    ];
    const { terms, body } = stage.pick(variants);
    const path = "/api/trade/close-all";
    await stage.ask("CLOSE_ALL", path, terms, { body: { credentials, ...body } });
    await stage.ask("CLOSE_ALL", path, {}, { body: { credentials } });
  },
};

/**
 * A caller whose key has slipped into the name of a field, behind enough text that an error cuts the name within it.
 */
function misplacedSecret({ trader, random }: Stage) {
  const secret = trader.secrets[Math.floor(random.next() * trader.secrets.length)] ?? "";
  const unknownField = `${"x".repeat(Math.floor(random.next() * 60))}${secret}`;
  return { terms: { unknownField }, body: { [unknownField]: "1" } };
}

/** Every close-all of it names a field that holds a secret. */
export const misplacedScene: Scene = {
  positions: {},
  async play(stage) {
    for (let round = 0; round < 3; round++) {
      const { terms, body } = misplacedSecret(stage);
      const { credentials } = stage.trader;
      await stage.ask("CLOSE_ALL", "/api/trade/close-all", terms, { body: { credentials, ...body } });
    }
  },
};

/** Orders of a close-all that find no counterparty: their positions remain. */
export const thinScene: Scene = {
  positions: HELD,
  async play(stage) {
    const { credentials } = stage.trader;
    const ask = () => stage.ask("CLOSE_ALL", "/api/trade/close-all", {}, { body: { credentials } });
    await stage.vetoed(FOUR_VENUES, (_, { reduceOnly }) => (reduceOnly ? "NO_LIQUIDITY" : null), ask);
    await ask();
  },
};

/** Cancels one by its id, then all of them. */
export const cancelScene: Scene = {
  positions: {},
  async play(stage) {
    const venue = stage.venue();
    const orderId = await rest(stage, venue);
    await rest(stage, venue, 0.012);
    const terms = { venues: [venue] };
    const path = `/api/trading/${venue}/orders`;
    if (orderId !== null) await stage.ask("CANCEL", `${path}/${orderId}`, { ...terms, orderId }, { method: "DELETE" });
    await stage.ask("CANCEL_ALL", path, terms, { method: "DELETE" });
  },
};

/** Timeout of the armed switch. */
export const SWITCH_MS = 5_000;

/** Armed before or after its order; no heartbeat follows. */
export const switchScene: Scene = {
  positions: {},
  async play(stage) {
    const venue = stage.venue();
    const arm = (): Promise<unknown> =>
      stage.ask(
        "ARM",
        `/api/trading/${venue}/dead-man`,
        { venues: [venue] },
        { body: { timeoutMs: SWITCH_MS, credentials: stage.trader.credentials } },
      );
    if (stage.random.next() < 0.5) await rest(stage, venue);
    await arm();
    await rest(stage, venue, 0.012);
  },
};

/** Three agents of one account, each within its own limit. */
export const agentScene: Scene = {
  positions: {},
  async play(stage) {
    if (stage.down === "venueone") return;
    const blocks = [stage.trader.credentials.venueone, ...stage.trader.moreAgents];
    // Each opens most of what an account may open in a day.
    const size = (AGENT_SHARE * CALLER_DAILY_MAX) / stage.four.mid("venueone", "BTC");
    const limitPrice = stage.price("venueone", "BTC", -0.01);
    for (const venueone of blocks)
      await stage.trade({
        kind: "OPEN",
        ...LONG_BTC,
        size: size.toFixed(3),
        preferred: "venueone",
        terms: { orderType: "LIMIT", limitPrice },
        credentials: { venueone },
      });
  },
};

/** Configured daily limit of one account: more than any other trade of a run needs. */
export const CALLER_DAILY_MAX = 20_000_000;
const AGENT_SHARE = 0.6;

/** One key, repeated for another venue: it executes once. */
export const keyScene: Scene = {
  positions: { BTC: "1", ETH: "-20" },
  async play(stage) {
    const [first, second] = stage.random.next() < 0.5 ? FOUR_VENUES : [...FOUR_VENUES].reverse();
    if (first === undefined || second === undefined) return;
    const fields = { kind: "CLOSE", ...SHORT_ETH, size: "1" } as const;
    const trial = await stage.trade({ ...fields, preferred: first });
    await stage.trade({ ...fields, preferred: second, key: trial.key });
    await stage.toEnd(trial);
  },
};
