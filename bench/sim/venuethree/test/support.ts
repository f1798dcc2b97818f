/** A running local venue on a virtual clock, and plain calls to it. Shared by this room's tests. */
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { type Frame, type Listener, listenTo } from "../../core/test/listener.js";
import type { VenuethreeSimOptions } from "../records/options.js";
import { startVenuethreeSim, type VenuethreeSim } from "../sim.js";

export interface TestVenue {
  readonly venue: VenuethreeSim;
  readonly clock: VirtualClock;
}

/** ASTER is market 83: its order ids are beyond 2^53. */
export const SYMBOLS = ["BTC", "ETH", "ASTER"];

export async function startTestVenue(options: Partial<VenuethreeSimOptions> = {}): Promise<TestVenue> {
  const clock = new VirtualClock();
  const venue = await startVenuethreeSim({
    seed: 5,
    clock,
    symbols: SYMBOLS,
    flow: { levelCount: 40, tradesPerSecond: 20 },
    limits: { readsPerMinute: 100_000, messagesPerMinute: 100_000 },
    apiServerCount: 1,
    ...options,
  });
  return { venue, clock };
}

/** Connected and greeted. */
export async function connect(venue: VenuethreeSim): Promise<Listener> {
  const listener = await listenTo(venue.wsUrl);
  await listener.waitFor((frame) => frame.type === "connected");
  return listener;
}

export async function subscribe(listener: Listener, channel: string): Promise<void> {
  listener.send({ type: "subscribe", channel });
  await listener.drained();
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

export async function get(venue: VenuethreeSim, path: string): Promise<Answer> {
  const response = await fetch(`${venue.restUrl}${path}`);
  const text = await response.text();
  return { status: response.status, text, json: readObject(text) };
}

export async function control(venue: VenuethreeSim, name: string, body: object): Promise<Answer> {
  const response = await fetch(`${venue.restUrl}/_sim/${name}`, { method: "POST", body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, text, json: readObject(text) };
}

function readObject(text: string): Answer["json"] {
  try {
    return JSON.parse(text) as Answer["json"];
  } catch {
    // Some answers are not JSON; the test looks at the text.
    return {};
  }
}

export interface WireBook {
  readonly asks: readonly { readonly price: string; readonly size: string }[];
  readonly bids: readonly { readonly price: string; readonly size: string }[];
  readonly offset: number;
  readonly nonce: number;
  readonly begin_nonce?: number;
}

export function bookOf(frame: Frame): WireBook {
  return frame.order_book as WireBook;
}

/** Absolute sizes by price; a size of zero, in whatever format, removes the level. */
export class NaiveBook {
  readonly bids = new Map<string, string>();
  readonly asks = new Map<string, string>();

  apply(book: WireBook): void {
    for (const [side, levels] of [
      [this.bids, book.bids],
      [this.asks, book.asks],
    ] as const) {
      for (const { price, size } of levels) {
        if (Number(size) === 0) side.delete(price);
        else side.set(price, size);
      }
    }
  }

  sorted(side: "bids" | "asks"): [number, number][] {
    const direction = side === "bids" ? -1 : 1;
    return [...this[side]]
      .map(([price, size]): [number, number] => [Number(price), Number(size)])
      .sort((left, right) => direction * (left[0] - right[0]));
  }
}
