/** Scenes about what comes after the reply: the market reaches orders, and a venue refuses stops at first. */
import type { SimOrder } from "../../../sim/core/model/types.js";
import { FOUR_VENUES, type FourVenue } from "../four-venues.js";
import { ARRIVAL_BOUND_MS, STOP_BOUND_MS, stopLotsOf } from "../judge/later.js";
import { pause } from "../system.js";
import type { TradeTrial } from "../trade-trial.js";
import { protectionOf, SIZES } from "./entries.js";
import { type Scene, SceneOver, type Stage } from "./stage.js";

/** Near enough that few other orders are in between, far enough to rest. */
const NEAR = 0.0006;
const LOOK_MS = 100;
/** Pause between the two halves, so that each is a growth of its own. */
const BETWEEN_MS = 400;
/** Tries to move the market to one order. */
const TRIES = 5;

/** Returns the order of the trade at its venue. */
function orderOf(stage: Stage, trial: TradeTrial): { readonly venue: FourVenue; readonly order: SimOrder } {
  const [leg] = trial.answers.at(-1)?.data?.execution.legs ?? [];
  if (leg === undefined) throw new SceneOver();
  const { exchange, log } = stage.four.venues[leg.exchange];
  const record = log
    .records({ action: "place" })
    .findLast(
      ({ accountId, clientId }) =>
        clientId === leg.venueClientOrderId && accountId === stage.trader.accountIds[leg.exchange],
    );
  const order = record?.orderId == null ? null : exchange.orders.find(record.orderId);
  if (order === null) throw new SceneOver();
  return { venue: leg.exchange, order };
}

/** Moves the market to the order, until so many of its lots are filled in all. */
function reach(stage: Stage, venue: FourVenue, { orderId, priceTicks, side, symbol }: SimOrder, lots: number): void {
  const { exchange } = stage.four.venues[venue];
  if (priceTicks === null) throw new SceneOver();
  for (let tries = 0; tries < TRIES; tries++) {
    const left = lots - (exchange.orders.find(orderId)?.filledLots ?? lots);
    if (left <= 0) return;
    // Crossing users come first in the book, and consume the added depth.
    exchange.controls.setHouseLevel(symbol, side === "BUY" ? "SELL" : "BUY", priceTicks, left);
  }
}

/** Fills the order in two parts, and notes the filled size with the trade. */
async function reachInHalves(stage: Stage, trial: TradeTrial): Promise<void> {
  const { venue, order } = orderOf(stage, trial);
  reach(stage, venue, order, Math.floor(order.qtyLots / 2));
  await pause(BETWEEN_MS);
  reach(stage, venue, order, order.qtyLots);
  trial.reached = { venue, orderId: order.orderId, atMs: stage.four.nowMs(), isCalm: stage.isCalm };
}

/** Waits until the venue has stops for every filled lot, or the time for it is over. */
async function untilStopped(stage: Stage, trial: TradeTrial): Promise<void> {
  const { reached } = trial;
  if (reached === undefined) return;
  const filledLots = (): number =>
    stage.four.venues[reached.venue].exchange.orders.find(reached.orderId)?.filledLots ?? 0;
  while (
    stage.four.nowMs() < reached.atMs + STOP_BOUND_MS &&
    stopLotsOf(stage.four, trial, reached.venue, stage.four.nowMs()) < filledLots()
  )
    await pause(LOOK_MS);
}

/** A LIMIT that reaches into the book: it fills on arrival and gets its protection. */
export const limitScene: Scene = {
  positions: {},
  async play(stage) {
    const market = stage.market();
    const { venue, stopLoss } = protectionOf(stage, market.direction, market.symbol);
    const limitPrice = stage.price(venue, market.symbol, market.direction === "LONG" ? 0.005 : -0.005);
    const terms = { orderType: "LIMIT", limitPrice, stopLoss } as const;
    const size = SIZES[market.symbol] ?? "1";
    const trial = await stage.tradeToEnd({ kind: "OPEN", ...market, size, preferred: venue, terms });
    await stage.refresh(trial);
    const { venue: at, order } = orderOf(stage, trial);
    trial.arrived = {
      venue: at,
      orderId: order.orderId,
      filledLots: order.filledLots,
      isReadable: stage.isReadable,
    };
    const dueMs = order.createdMs + ARRIVAL_BOUND_MS;
    const hasStop = (): boolean => stopLotsOf(stage.four, trial, at, stage.four.nowMs()) >= order.filledLots;
    while (stage.isReadable && !hasStop() && stage.four.nowMs() < dueMs) await pause(LOOK_MS);
  },
};

/** An entry with a stop, which fills after its reply. */
export const reachedEntryScene: Scene = {
  positions: {},
  async play(stage) {
    const market = stage.market();
    const { venue, stopLoss } = protectionOf(stage, market.direction, market.symbol);
    const limitPrice = stage.price(venue, market.symbol, market.direction === "LONG" ? -NEAR : NEAR);
    const terms = { orderType: "LIMIT", limitPrice, stopLoss } as const;
    const size = SIZES[market.symbol] ?? "1";
    const trial = await stage.tradeToEnd({ kind: "OPEN", ...market, size, preferred: venue, terms });
    await reachInHalves(stage, trial);
    await untilStopped(stage, trial);
    await stage.refresh(trial);
  },
};

/** A close that rests, and fills after its reply. */
export const reachedCloseScene: Scene = {
  positions: { BTC: "0.4", ETH: "-8" },
  async play(stage) {
    const market = stage.market();
    const venue = stage.venue();
    const limitPrice = stage.price(venue, market.symbol, market.direction === "LONG" ? NEAR : -NEAR);
    const terms = { orderType: "LIMIT", limitPrice } as const;
    const size = SIZES[market.symbol] ?? "1";
    const trial = await stage.tradeToEnd({ kind: "CLOSE", ...market, size, preferred: venue, terms });
    await reachInHalves(stage, trial);
  },
};

/** More tries than the service makes before a reply. */
const REFUSALS = 2;

/** Three of them refuse an order in their answer to it. */
const REFUSING = FOUR_VENUES;
/** One accepts an order first, and ends it afterwards. */
const ENDING = ["venuethree"] as const;

/** The venue has no room for the first stops of an entry. */
export const refusedStopScene: Scene = { positions: {}, play: (stage) => playRefusals(stage, REFUSING) };

/** The venue takes the first stops of an entry, and ends them at once. */
export const endedStopScene: Scene = { positions: {}, play: (stage) => playRefusals(stage, ENDING) };

async function playRefusals(stage: Stage, venues: readonly FourVenue[]): Promise<void> {
  const market = stage.market();
  const { stopLoss } = protectionOf(stage, market.direction, market.symbol);
  const serving = venues.filter((one) => one !== stage.down);
  if (serving.length === 0) throw new SceneOver();
  const venue = stage.pick(serving);
  const size = SIZES[market.symbol] ?? "1";
  let refusals = 0;
  await stage.vetoed(
    venues,
    (_, { trigger }) => (trigger !== null && refusals++ < REFUSALS ? "TOO_MANY_ORDERS" : null),
    async () => {
      const terms = { stopLoss };
      const trial = await stage.tradeToEnd({ kind: "OPEN", ...market, size, preferred: venue, terms });
      const { venue: at, order } = orderOf(stage, trial);
      trial.reached = { venue: at, orderId: order.orderId, atMs: stage.four.nowMs(), isCalm: stage.isCalm };
      await untilStopped(stage, trial);
      await stage.refresh(trial);
      // With its key, of which the first reply was final.
      await stage.again(trial);
    },
  );
}
