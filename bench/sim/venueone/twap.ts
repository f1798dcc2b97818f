/**
 * Orders worked over time: equal slices every 30 seconds, each an IOC within 3 % of the mark. Invariant: the slices
 * never add up to more than was asked, and a reduce-only one never adds to a position.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import type { L1Action } from "./actions.js";
import type { Journal } from "./journal.js";
import type { OrderContext } from "./place.js";
import { instrumentOf } from "./rows.js";
import { BARE, TWAP } from "./texts.js";
import { E12_PER_USD, fillNotionalE12, type OrderTag, type Venue, type VenueAccount } from "./venue.js";

const SLICE_MS = 30_000;
const SLICES_PER_MINUTE = 2;
const MINUTES_MIN = 5;
const MINUTES_MAX = 1_440;
const VALUE_PER_MINUTE_E12 = 10n * E12_PER_USD;
const SLIPPAGE_PERCENT = 3;
/** Running at once, per venue; more are refused like a bad duration. */
const RUNNING_MAX = 1_000;

type TwapAction = Extract<L1Action, { type: "twapOrder" }>;
type TwapStatus = { readonly running: { readonly twapId: number } } | { readonly error: string };

export interface Twaps {
  start(context: OrderContext, action: TwapAction): TwapStatus;
  cancel(account: VenueAccount, twapId: number): "success" | { readonly error: string };
  stop(): void;
}

interface Running {
  readonly account: VenueAccount;
  timer: TimerHandle;
}

export function createTwaps(venue: Venue, journal: Journal): Twaps {
  const running = new Map<number, Running>();
  let nextId = 1;

  function end(twapId: number): void {
    const twap = running.get(twapId);
    if (twap !== undefined) venue.exchange.clock.clearTimer(twap.timer);
    running.delete(twapId);
  }

  return {
    start({ account }, action) {
      const { exchange } = venue;
      const perp = venue.universe.perps[action.asset];
      if (perp === undefined || perp.isDelisted) return { error: TWAP.minutes };
      const symbol = perp.name;
      const instrument = instrumentOf(exchange, symbol);
      if (action.minutes < MINUTES_MIN || action.minutes > MINUTES_MAX || running.size >= RUNNING_MAX)
        return { error: TWAP.minutes };
      const unit = 10n ** BigInt(8 - instrument.qtyDecimals);
      if (action.szE8 % unit !== 0n || action.szE8 === 0n) return { error: BARE.invalidSize };
      const totalLots = Number(action.szE8 / unit);
      const heldLots = exchange.position(account.address, symbol, "BOTH")?.qtyLots ?? 0;
      const reducible = action.isBuy ? -heldLots : heldLots;
      if (action.reduceOnly && reducible <= 0) return { error: TWAP.reduceOnly };
      const markTicks = markTicksOf(venue, symbol);
      if (fillNotionalE12(exchange, symbol, markTicks, totalLots) < VALUE_PER_MINUTE_E12 * BigInt(action.minutes)) {
        return { error: TWAP.tooSmall };
      }
      const twapId = nextId++;
      const sliceCount = action.minutes * SLICES_PER_MINUTE;
      let sliceIndex = 0;
      let sentLots = 0;
      const slice = (): void => {
        sliceIndex++;
        const dueLots = Math.floor((totalLots * sliceIndex) / sliceCount) - sentLots;
        if (dueLots > 0) placeSlice(venue, account, symbol, action, dueLots);
        sentLots += dueLots;
        journal.commit();
        const twap = running.get(twapId);
        if (twap === undefined) return;
        if (sliceIndex >= sliceCount) end(twapId);
        else twap.timer = exchange.clock.setTimer(slice, SLICE_MS);
      };
      running.set(twapId, { account, timer: exchange.clock.setTimer(slice, 0) });
      return { running: { twapId } };
    },
    cancel(account, twapId) {
      if (running.get(twapId)?.account !== account) return { error: TWAP.notRunning };
      end(twapId);
      return "success";
    },
    stop() {
      for (const twapId of [...running.keys()]) end(twapId);
    },
  };
}

function markTicksOf(venue: Venue, symbol: string): number {
  const instrument = instrumentOf(venue.exchange, symbol);
  return Math.round(venue.exchange.mark(symbol).markE8 / 10 ** (8 - instrument.priceDecimals));
}

function placeSlice(venue: Venue, account: VenueAccount, symbol: string, action: TwapAction, qtyLots: number): void {
  const instrument = instrumentOf(venue.exchange, symbol);
  const markTicks = markTicksOf(venue, symbol);
  const limit = (markTicks * (100 + (action.isBuy ? SLIPPAGE_PERCENT : -SLIPPAGE_PERCENT))) / 100;
  const step = Math.max(1, 10 ** Math.max(0, String(Math.trunc(limit)).length - 5));
  const onGrid = Math.min(step, 10 ** instrument.priceDecimals);
  const tag: OrderTag = {
    tif: "Ioc",
    isTriggerMarket: false,
    tpsl: null,
    grouping: "na",
    builder: null,
    askedLots: qtyLots,
    indexedMs: 0,
  };
  // A slice that finds nothing to trade is skipped, not carried over.
  venue.exchange.place(account.address, {
    symbol,
    side: action.isBuy ? "BUY" : "SELL",
    type: "LIMIT",
    timeInForce: "IOC",
    priceTicks: Math.floor(limit / onGrid) * onGrid,
    qtyLots,
    reduceOnly: action.reduceOnly,
    positionSide: "BOTH",
    clientId: null,
    trigger: null,
    closePosition: false,
    tag,
  });
}
