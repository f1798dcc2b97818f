/** Scenes in which a position disappears while the order that closes it is in flight. */
import { FOUR_VENUES, type FourVenue } from "../four-venues.js";
import { pause } from "../system.js";
import { LONG_BTC, type Scene, type SceneMarket, SHORT_ETH, type Stage } from "./stage.js";

const POSITIONS = { BTC: "1", ETH: "-20" };
const WHOLE = { BTC: { size: "1", side: "SELL" }, ETH: { size: "20", side: "BUY" } } as const;
const PART = { BTC: "0.2", ETH: "2" } as const;

function flatten({ four, trader }: Stage, venue: FourVenue, { symbol }: SceneMarket): void {
  four.outside(venue, trader, symbol, WHOLE[symbol].side, WHOLE[symbol].size);
}

/** Runs `play`; its first reduce-only order finds nothing at its venue. */
async function goneBeforeTheFirst(stage: Stage, market: SceneMarket, play: () => Promise<unknown>): Promise<void> {
  let isFlattened = false;
  await stage.vetoed(
    FOUR_VENUES,
    (venue, { reduceOnly }) => {
      if (!reduceOnly || isFlattened) return null;
      isFlattened = true;
      flatten(stage, venue, market);
      return null;
    },
    play,
  );
}

/**
 * There is nothing to reduce, which is no reason to close another position: reported at once, then after the
 * acknowledgement.
 */
export const reduceOnlyScene: Scene = {
  positions: POSITIONS,
  async play(stage) {
    const [first, second] = stage.random.next() < 0.5 ? [LONG_BTC, SHORT_ETH] : [SHORT_ETH, LONG_BTC];
    await goneBeforeTheFirst(stage, first, () =>
      stage.tradeToEnd({ kind: "CLOSE", ...first, size: PART[first.symbol] }),
    );
    await goneAfterTheAcknowledgement(stage, second);
  },
};

const SPLIT = { BTC: "1.5", ETH: "30" } as const;

/** One leg of a split of two finds nothing to reduce: no other venue closes its share. */
export const splitGoneScene: Scene = {
  positions: POSITIONS,
  async play(stage) {
    const market = stage.market();
    const routingOptions = { allowSplit: true, maxLegs: 2 };
    await goneBeforeTheFirst(stage, market, () =>
      stage.tradeToEnd({ kind: "CLOSE", ...market, size: SPLIT[market.symbol], routingOptions }),
    );
  },
};

const SEEN_WITHIN_MS = 8_000;
const LOOK_MS = 2;

/**
 * venuethree decides later than it acknowledges: between the two its account is flat. Another venue could take the
 * order.
 */
async function goneAfterTheAcknowledgement(stage: Stage, market: SceneMarket): Promise<void> {
  const fields = { kind: "CLOSE", ...market, size: PART[market.symbol] } as const;
  const credentials = await blocksThatChoose(stage, fields);
  if (credentials === null) return;
  const isOver = new AbortController();
  const flattening = flattenOnceReceived(stage, market, isOver.signal);
  try {
    await stage.tradeToEnd({ ...fields, credentials });
  } finally {
    isOver.abort();
    await flattening;
  }
}

/** A pair of venuethree and another venue for which a close goes to venuethree; null without one. */
async function blocksThatChoose(
  stage: Stage,
  fields: SceneMarket & { readonly kind: "CLOSE"; readonly size: string },
): Promise<Readonly<Record<string, unknown>> | null> {
  if (stage.down === "venuethree") return null;
  const { credentials } = stage.trader;
  for (const other of ["venueone", "venuetwo", "venuefour"] as const) {
    if (other === stage.down) continue;
    const both = { venuethree: credentials.venuethree, [other]: credentials[other] };
    const dry = stage.trial({ ...fields, credentials: both, body: { dryRun: true } });
    const { data } = await stage.again(dry);
    if (data?.routing.candidates.find(({ selected }) => selected)?.exchange === "venuethree") return both;
  }
  return null;
}

async function flattenOnceReceived(stage: Stage, market: SceneMarket, isOver: AbortSignal): Promise<void> {
  const { log } = stage.four.venues.venuethree;
  const accountId = stage.trader.accountIds.venuethree;
  const untilMs = performance.now() + SEEN_WITHIN_MS;
  for (let looked = log.length; !isOver.aborted && performance.now() < untilMs; await pause(LOOK_MS)) {
    if (log.length === looked) continue;
    const from = looked;
    looked = log.length;
    if (!log.records({ accountId, action: "place" }).some(({ index }) => index >= from)) continue;
    flatten(stage, "venuethree", market);
    return;
  }
}
