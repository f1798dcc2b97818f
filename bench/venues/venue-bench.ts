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
  /** Signers of one order, by each kind of key. */
  signings(): Promise<readonly Signing[]>;
  /** Wire formats of its depth frames; empty where ingest.ts plays them. `count`: frames of a generated tape. */
  formats(context: Pick<ScenarioContext, "dataFolder">, count: number): readonly Format[];
}

/**
 * Offered rate by number of callers, over all of them: well below what two cores carry for the load, the gateway and
 * the venues together.
 */
export type Offered = Readonly<Record<1 | 50 | 500, number>>;

export interface CloseBench {
  readonly offered: Offered;
  /** Name of the direct order. */
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
  /** Called before each measured run of ours: makes what is made ahead of time. */
  readonly prepare?: (count: number) => void;
  /** Highest median, µs; null: the row has no goal. */
  readonly goalUs: number | null;
  readonly detail: string;
  /** Share of the count that a slow peer signs: fewer give the same median. */
  readonly peerShare?: number;
}

/** The key of every signing. It opens nothing anywhere. */
export const SIGNING_KEY = new Uint8Array(32).fill(7);
export const SIGNING_KEY_HEX = `0x${Buffer.from(SIGNING_KEY).toString("hex")}` as const;
export const SIGNED_AT_MS = 1_790_000_000_000;

export interface Ingest {
  take(frame: RecordedFrame): void;
  /** Restarts a short tape, as after a reconnect. */
  restart(): void;
  readonly book: Book;
}

/** The final state of a book. */
export interface EndTouch {
  readonly bid: number;
  readonly ask: number;
}

/** One form of depth frames: its reader, and its names on both sides. */
export interface Format {
  readonly venue: RoutableVenue;
  readonly tape: Tape;
  /** Name of the ccxt pro class. */
  readonly ccxtClass: string;
  /** The class's own id for the contract. */
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
