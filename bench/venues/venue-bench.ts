/** What the benchmarks know of one venue. Each venue has a file of its own; table.ts lists them. */
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Book } from "../../engine/market/book.js";
import { createMarket, type Market } from "../../engine/market/market.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import { STANDING_BTC } from "../lib/instruments.js";
import type { Tape } from "../lib/format-tapes.js";
import type { RecordedFrame } from "../lib/recording.js";
import type { Trader } from "../lib/trader.js";
import type { ScenarioContext } from "../lib/types.js";

export interface VenueBench {
  readonly close: CloseBench;
  /** One order signed, by each kind of key. */
  signings(): Promise<readonly Signing[]>;
  /** Wire formats of its depth frames; none where ingest.ts plays them. `count`: frames of a generated tape. */
  formats(context: Pick<ScenarioContext, "dataFolder">, count: number): readonly Format[];
}

/** By callers, over all of them; well below what two cores carry for the load, the gateway and the venues together. */
export type Offered = Readonly<Record<1 | 50 | 500, number>>;

export interface CloseBench {
  readonly offered: Offered;
  /** What the direct order is. */
  readonly peerName: string;
  startDirect(target: DirectTarget): Promise<Trader>;
}

export const SENT_DIRECTLY = "same signed order sent directly";

export interface DirectTarget {
  readonly restUrl: string;
  readonly wsUrl: string;
  readonly callerCount: number;
}

export type Signer = (index: number) => unknown;

export interface Signing {
  readonly what: string;
  readonly ours: Signer;
  readonly peerName: string;
  readonly peer: Signer;
  /** Called before each measured run of ours: what is made ahead of time. */
  readonly prepare?: (count: number) => void;
  /** Highest median, µs; null: reported only. */
  readonly goalUs: number | null;
  readonly detail: string;
  /** The peer is slow: fewer of them give the same median. */
  readonly peerShare?: number;
}

/** What every signing signs with. It opens nothing anywhere. */
export const SIGNING_KEY = new Uint8Array(32).fill(7);
export const SIGNING_KEY_HEX = `0x${Buffer.from(SIGNING_KEY).toString("hex")}` as const;
export const SIGNED_AT_MS = 1_790_000_000_000;

export interface Ingest {
  take(frame: RecordedFrame): void;
  /** A short tape begins again, as after a reconnect. */
  restart(): void;
  readonly book: Book;
}

/** Where a book ended. */
export interface EndTouch {
  readonly bid: number;
  readonly ask: number;
}

/** One form of depth frames: who reads it, and what it is called on both sides. */
export interface Format {
  readonly venue: RoutableVenue;
  readonly tape: Tape;
  /** Class of ccxt pro. */
  readonly ccxtClass: string;
  /** What the class itself makes of the venue's name of the contract. */
  readonly ccxtMarketId: string;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  open(priceDecimals: number, qtyDecimals: number): Ingest;
}

const BOOK_LIMITS = { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 };

export function marketOf(venue: RoutableVenue, priceDecimals: number, qtyDecimals: number): Market {
  const instrument: Instrument = { ...STANDING_BTC, venue, nativeSymbol: "BTC", priceDecimals, qtyDecimals };
  return createMarket(instrument, BOOK_LIMITS);
}
