/**
 * The ingest of the three other wire formats: ours (scan, look up the contract, apply to its book) against `JSON.parse`
 * of the same frames alone, and against ccxt pro's handler of that venue. Both books end equal, or the run fails.
 */
import type { Instrument } from "../../engine/domain/instrument.js";
import type { Book } from "../../engine/market/book.js";
import { createMarket } from "../../engine/market/market.js";
import { NameTable } from "../../feeds/shared/book/name-table.js";
import { DepthScanner as VenuefourScanner, SCAN_BOOK as VENUEFOUR_BOOK } from "../../feeds/venuefour/market/scan.js";
import { MarketApplier as VenuefourApplier, REST_LINK } from "../../feeds/venuefour/market/apply.js";
import { DepthScanner as VenueoneScanner, SCAN_BOOK as VENUEONE_BOOK } from "../../feeds/venueone/market/scan.js";
import { MarketApplier as VenueoneApplier, TIER_FAST } from "../../feeds/venueone/market/apply.js";
import { BookChain } from "../../feeds/venuethree/market/sync.js";
import { VenuethreeDecoder } from "../../feeds/venuethree/market/decode.js";
import { FRAME_SNAPSHOT, FRAME_UPDATE } from "../../feeds/venuethree/market/frame.js";
import { compareRates } from "../lib/compare.js";
import {
  generatedVenuefour,
  generatedVenueone,
  generatedVenuethree,
  recordedVenueone,
  recordedVenuethree,
  type Tape,
} from "../lib/format-tapes.js";
import { LISTED_BTC } from "../../engine/domain/test/instruments.js";
import { profileTop } from "../lib/profile.js";
import type { RecordedFrame } from "../lib/recording.js";
import type { BenchRow, ScenarioContext } from "../lib/types.js";
import { CcxtDepth } from "../peers/ccxt-depth.js";

type Venue = "venueone" | "venuethree" | "venuefour";

interface Ingest {
  take(frame: RecordedFrame): void;
  /** A short tape begins again, as after a reconnect. */
  restart(): void;
  readonly book: Book;
}

/** One venue's format: who reads it, and what it is called on both sides. */
interface Format {
  readonly venue: Venue;
  readonly tape: Tape;
  readonly ccxtMarketId: string;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  open(priceDecimals: number, qtyDecimals: number): Ingest;
}

/** Frames of one run; short recordings are played as often as it takes. */
const RUN_FRAMES = 20_000;
const CCXT_FRAMES = 2_000;
const COMPARED_LEVELS = 100;
const BOOK_LIMITS = { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 };

export function measureFormats(context: ScenarioContext): BenchRow[] {
  return formatsOf(context).flatMap((format) => measure(format, context));
}

/** What a missed format costs, venue by venue. */
export async function profileFormats(context: ScenarioContext, missed: readonly BenchRow[]): Promise<string[]> {
  const lines: string[] = [];
  for (const format of formatsOf(context)) {
    if (!missed.some((row) => row.what === nameOf(format))) continue;
    const top = await profileTop(() => void playOurs(format, 10 * RUN_FRAMES), 5);
    lines.push(...top.map((line) => `${nameOf(format)}: ${line}`));
  }
  return lines;
}

function nameOf(format: Format): string {
  return `${format.venue}: ${format.tape.what}`;
}

function measure(format: Format, context: ScenarioContext): BenchRow[] {
  const { frames } = format.tape;
  const frameCount = context.smoke ? 1_000 : RUN_FRAMES;
  const ccxtCount = context.smoke ? 200 : CCXT_FRAMES;
  assertSameEnd(format, Math.min(ccxtCount, frames.length));
  const byteCount = frames.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return compareRates(
    nameOf(format),
    context.smoke ? 1 : 7,
    { frameCount, run: () => playOurs(format, frameCount) },
    [
      { name: "JSON.parse alone", goal: 2, frameCount, run: () => playParse(frames, frameCount) },
      { name: "ccxt pro", goal: 40, frameCount: ccxtCount, run: () => playCcxt(format, ccxtCount) },
    ],
    `${Math.round(byteCount / frames.length)} bytes a frame`,
  );
}

/** As in ingest.ts: objects of the last runs stay reachable, or each run would measure the compiler. */
let alive: readonly Ingest[] = [];

function playOurs(format: Format, frameCount: number): Ingest {
  const { frames } = format.tape;
  const ingest = format.open(format.priceDecimals, format.qtyDecimals);
  alive = [ingest, ...alive.slice(0, 4)];
  for (let index = 0; index < frameCount; index++) {
    const at = index % frames.length;
    if (at === 0) ingest.restart();
    ingest.take(frames[at] as RecordedFrame);
  }
  return ingest;
}

/** How many were parsed: with a result that is used, the compiler can not drop the calls. */
function playParse(frames: readonly RecordedFrame[], frameCount: number): number {
  let parsedCount = 0;
  for (let index = 0; index < frameCount; index++) {
    const frame = frames[index % frames.length] as RecordedFrame;
    if ((JSON.parse(frame.text) as object | null) !== null) parsedCount++;
  }
  return parsedCount;
}

function playCcxt(format: Format, frameCount: number): CcxtDepth {
  const { frames } = format.tape;
  const peer = new CcxtDepth(format.venue, format.ccxtMarketId);
  for (let index = 0; index < frameCount; index++)
    peer.applyFrame((frames[index % frames.length] as RecordedFrame).text);
  return peer;
}

/** Levels, not only the touch: a peer that ended elsewhere would have been measured doing something else. */
function assertSameEnd(format: Format, frameCount: number): void {
  const { book } = playOurs(format, frameCount);
  const peer = playCcxt(format, frameCount).book;
  const priceUnit = 10 ** format.priceDecimals;
  const qtyUnit = 10 ** format.qtyDecimals;
  for (const side of ["bids", "asks"] as const) {
    const count = Math.min(side === "bids" ? book.bidCount : book.askCount, COMPARED_LEVELS);
    const ours = Array.from({ length: count }, (_, index) =>
      side === "bids"
        ? [book.bidTicks(index) / priceUnit, book.bidLots(index) / qtyUnit]
        : [book.askTicks(index) / priceUnit, book.askLots(index) / qtyUnit],
    );
    const theirs = peer[side].slice(0, COMPARED_LEVELS).map(([price, qty]) => [price, qty]);
    if (count === 0 || JSON.stringify(ours) !== JSON.stringify(theirs))
      throw new Error(`${nameOf(format)}: ${side} end at ${String(ours[0])}, ccxt's at ${String(theirs[0])}`);
  }
}

// ---------------------------------------------------------------- formats

function formatsOf({ dataFolder, smoke }: ScenarioContext): Format[] {
  const count = smoke ? 1_000 : RUN_FRAMES;
  const one = {
    venue: "venueone",
    ccxtMarketId: "BTC/USDC:USDC",
    priceDecimals: 1,
    qtyDecimals: 5,
    open: openVenueone,
  } as const;
  const three = { venue: "venuethree", open: openVenuethree } as const;
  return [
    { ...one, tape: dataFolder === null ? generatedVenueone(count, 20) : recordedVenueone(dataFolder) },
    { ...one, tape: generatedVenueone(count, 5) },
    ...(dataFolder === null
      ? []
      : [
          {
            ...three,
            tape: recordedVenuethree(dataFolder),
            ccxtMarketId: "36",
            priceDecimals: 5,
            qtyDecimals: 1,
            open: (priceDecimals: number, qtyDecimals: number) => openVenuethree(priceDecimals, qtyDecimals, 36),
          },
        ]),
    { ...three, tape: generatedVenuethree(count), ccxtMarketId: "1", priceDecimals: 1, qtyDecimals: 5 },
    {
      venue: "venuefour",
      tape: generatedVenuefour(count),
      ccxtMarketId: "BTC",
      priceDecimals: 0,
      qtyDecimals: 5,
      open: openVenuefour,
    },
  ];
}

function marketOf(venue: Venue, nativeSymbol: string, priceDecimals: number, qtyDecimals: number) {
  const instrument: Instrument = { ...LISTED_BTC.venueone, venue, nativeSymbol, priceDecimals, qtyDecimals };
  return createMarket(instrument, BOOK_LIMITS);
}

function openVenueone(priceDecimals: number, qtyDecimals: number): Ingest {
  const scanner = new VenueoneScanner();
  const market = marketOf("venueone", "BTC", priceDecimals, qtyDecimals);
  const coins = new NameTable<VenueoneApplier>();
  const applier = new VenueoneApplier(market);
  coins.set("BTC", applier);
  return {
    book: market.book,
    restart: () => applier.reset(TIER_FAST),
    take({ bytes }) {
      if (scanner.scan(bytes) !== VENUEONE_BOOK) throw new Error("the scanner declined a frame");
      coins.find(bytes, scanner.coinStart, scanner.coinEnd)?.applyBook(scanner, TIER_FAST, 0, 0);
    },
  };
}

function openVenuethree(priceDecimals: number, qtyDecimals: number, marketId = 1): Ingest {
  const decoder = new VenuethreeDecoder();
  decoder.register(marketId, priceDecimals, qtyDecimals);
  const market = marketOf("venuethree", "BTC", priceDecimals, qtyDecimals);
  const chain = new BookChain(market.book);
  const { frame } = decoder;
  return {
    book: market.book,
    restart: () => chain.beginSync(),
    take({ bytes }) {
      const kind = decoder.decodeFrame(bytes, 0, bytes.length);
      if (kind === FRAME_UPDATE) chain.onUpdate(frame, 0);
      else if (kind === FRAME_SNAPSHOT) chain.onSnapshot(frame, 0);
      else throw new Error("the decoder declined a frame");
    },
  };
}

function openVenuefour(priceDecimals: number, qtyDecimals: number): Ingest {
  const scanner = new VenuefourScanner();
  const market = marketOf("venuefour", "BTC", priceDecimals, qtyDecimals);
  const symbols = new NameTable<VenuefourApplier>();
  const applier = new VenuefourApplier(market);
  symbols.set("BTC", applier);
  return {
    book: market.book,
    restart: () => applier.reset(),
    take({ bytes }) {
      if (scanner.scan(bytes) !== VENUEFOUR_BOOK) throw new Error("the scanner declined a frame");
      symbols.find(bytes, scanner.symbolStart, scanner.symbolEnd)?.applyBook(scanner, 0, 0, REST_LINK);
    },
  };
}
