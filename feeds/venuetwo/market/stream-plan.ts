/** Which streams a market needs, how long each may be silent, and which of them share a URL. */
import type { Subscription, SubscriptionSpec } from "../../shared/net/subscriptions.js";
import type { MarketSlot } from "./entry.js";
import type { QuietProbe } from "./quiet-probe.js";

/** `single`: one host path for all streams. `split`: book data and the rest under paths of their own (sister dialect). */
export type StreamHostLayout = "single" | "split";

/** Streams that share a URL. */
export interface StreamGroup {
  readonly name: string;
  readonly url: string;
  /** Carries the diff streams of its markets. */
  readonly hasDepth: boolean;
  readonly specsOf: (slot: MarketSlot) => readonly BoundSpec[];
}

/** What to subscribe, and where its liveness is kept. */
export interface BoundSpec {
  readonly spec: SubscriptionSpec;
  readonly bind: (subscription: Subscription | null) => void;
}

/** Silence of a diff stream after which the market is probed: quiet books stay within the routing age of 2 s. */
const DEPTH_SILENCE_MS = 900;
/** bookTicker speaks on each change of the touch; checked against the book, without a call. */
const TOUCH_SILENCE_MS = 10_000;
/** markPrice comes every second, whatever the market does. */
const MARK_SILENCE_MS = 10_000;

export function streamGroups(wsUrl: string, layout: StreamHostLayout, probe: QuietProbe): readonly StreamGroup[] {
  const books = (slot: MarketSlot): readonly BoundSpec[] => bookSpecs(slot, probe);
  if (layout === "single") {
    const all = (slot: MarketSlot): readonly BoundSpec[] => [...books(slot), ...otherSpecs(slot)];
    return [{ name: "market", url: `${wsUrl}/stream`, hasDepth: true, specsOf: all }];
  }
  return [
    { name: "public", url: `${wsUrl}/public/stream`, hasDepth: true, specsOf: books },
    { name: "market", url: `${wsUrl}/market/stream`, hasDepth: false, specsOf: otherSpecs },
  ];
}

export function depthStreamName(slot: MarketSlot): string {
  return `${streamName(slot)}@depth@100ms`;
}

function bookSpecs(slot: MarketSlot, probe: QuietProbe): readonly BoundSpec[] {
  return [
    {
      spec: { name: depthStreamName(slot), livenessMs: DEPTH_SILENCE_MS, probe: () => probe.probe(slot.market) },
      bind: (subscription) => {
        slot.depth = subscription;
      },
    },
    {
      spec: {
        name: `${streamName(slot)}@bookTicker`,
        livenessMs: TOUCH_SILENCE_MS,
        probe: () => Promise.resolve(slot.isTouchConsistent() ? "quiet" : "dead"),
      },
      bind: (subscription) => {
        slot.touch = subscription;
      },
    },
  ];
}

function otherSpecs(slot: MarketSlot): readonly BoundSpec[] {
  const stream = streamName(slot);
  return [
    // Nobody trades, nothing changes: silence of these two says nothing.
    {
      spec: { name: `${stream}@aggTrade`, livenessMs: 0, probe: null },
      bind: (subscription) => {
        slot.trade = subscription;
      },
    },
    {
      spec: { name: `${stream}@ticker`, livenessMs: 0, probe: null },
      bind: (subscription) => {
        slot.ticker = subscription;
      },
    },
    {
      spec: { name: `${stream}@markPrice@1s`, livenessMs: MARK_SILENCE_MS, probe: null },
      bind: (subscription) => {
        slot.mark = subscription;
      },
    },
  ];
}

export function streamName(slot: MarketSlot): string {
  return slot.market.instrument.nativeSymbol.toLowerCase();
}
