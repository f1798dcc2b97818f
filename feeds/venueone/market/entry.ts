/** What the market stream keeps per coin, and the subscriptions of a coin with the liveness of each. */
import { BOOK_LIVE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { PersistentSocket } from "../../shared/net/socket.js";
import type { ProbeResult, Subscription, SubscriptionSpec } from "../../shared/net/subscriptions.js";
import { CONTEXT_LIVENESS_MS, DEEP_BOOK_LIVENESS_MS, FAST_BOOK_LIVENESS_MS } from "../rules/limits.js";
import { MarketApplier, TIER_FAST, type Tier } from "./apply.js";
import type { VenueoneWireTrade } from "./wire.js";

/** Trade ids remembered per coin; a reconnect replays about 20 s of trades. Overflow forgets the oldest. */
const MAX_REMEMBERED_TRADES = 512;
/** Silence after which the touch is compared with the book. */
const TOUCH_LIVENESS_MS = 30_000;
/** The touch may lag the book by this without being dead. */
const TOUCH_LAG_MS = 2_000;

export class CoinEntry {
  readonly market: Market;
  readonly coin: string;
  readonly applier: MarketApplier;
  /** Does the venue give a mid? Without one the last trade is the last price. */
  hasMid = false;
  /** Socket of all its streams but the deep book. */
  socket: PersistentSocket | null = null;
  readonly #tradeKeys = new Set<string>();
  fast: Subscription | null = null;
  touch: Subscription | null = null;
  trades: Subscription | null = null;
  context: Subscription | null = null;
  deep: Subscription | null = null;

  constructor(market: Market) {
    this.market = market;
    this.coin = market.instrument.nativeSymbol;
    this.applier = new MarketApplier(market);
  }

  /** False for a trade seen before; a reconnect replays them. */
  isNewTrade(wire: VenueoneWireTrade): boolean {
    const key = `${wire.time}:${wire.tid}`;
    if (this.#tradeKeys.has(key)) return false;
    if (this.#tradeKeys.size >= MAX_REMEMBERED_TRADES) {
      const oldest = this.#tradeKeys.values().next();
      if (oldest.done !== true) this.#tradeKeys.delete(oldest.value);
    }
    this.#tradeKeys.add(key);
    return true;
  }
}

/** A touch that differs from a clearly newer book has missed changes; one that equals it had none to send. */
function probeTouch(market: Market): Promise<ProbeResult> {
  const { touch, book } = market;
  if (book.state !== BOOK_LIVE) return Promise.resolve("unknown");
  if (!touch.present) return Promise.resolve("quiet");
  const isSame = touch.bidTicks === (book.bidTicks(0) || 0) && touch.askTicks === (book.askTicks(0) || 0);
  return Promise.resolve(isSame || book.tsVenueMs - touch.tsVenueMs < TOUCH_LAG_MS ? "quiet" : "dead");
}

interface SubscriptionName {
  readonly type: string;
  readonly coin: string;
  readonly fast?: true;
}

/** The name of a subscription is its JSON text, ready to be sent. */
function writeName(name: SubscriptionName): string {
  return JSON.stringify(name);
}

/** Only texts of writeName come here. */
export function readName(text: string): SubscriptionName {
  return JSON.parse(text) as SubscriptionName;
}

export function depthSpec(coin: string, tier: Tier): SubscriptionSpec {
  // Books are resent unchanged, so silence alone is proof; no probe is needed.
  return tier === TIER_FAST
    ? { name: writeName({ type: "l2Book", coin, fast: true }), livenessMs: FAST_BOOK_LIVENESS_MS, probe: null }
    : { name: writeName({ type: "l2Book", coin }), livenessMs: DEEP_BOOK_LIVENESS_MS, probe: null };
}

/** A quiet touch is normal: it is compared with the book before anything is done. */
export function touchSpec(coin: string, market: Market): SubscriptionSpec {
  return { name: writeName({ type: "bbo", coin }), livenessMs: TOUCH_LIVENESS_MS, probe: () => probeTouch(market) };
}

/** No trades for hours says nothing. */
export function tradesSpec(coin: string): SubscriptionSpec {
  return { name: writeName({ type: "trades", coin }), livenessMs: 0, probe: null };
}

export function contextSpec(coin: string): SubscriptionSpec {
  return { name: writeName({ type: "activeAssetCtx", coin }), livenessMs: CONTEXT_LIVENESS_MS, probe: null };
}
