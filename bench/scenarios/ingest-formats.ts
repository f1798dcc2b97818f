/**
 * The ingest of the three other wire formats: ours (scan, look up the contract, apply to its book) against `JSON.parse`
 * of the same frames alone, and against ccxt pro's handler of that venue. The run fails unless both books end equal.
 */
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { compareRates } from "../lib/compare.js";
import { profileTop } from "../lib/profile.js";
import type { RecordedFrame } from "../lib/recording.js";
import type { BenchRow, ScenarioContext } from "../lib/types.js";
import { CcxtDepth } from "../peers/ccxt-depth.js";
import { VENUE_BENCHES } from "../venues/table.js";
import type { Format, Ingest } from "../venues/venue-bench.js";

/** Frames of one run; short recordings repeat until they reach it. */
const RUN_FRAMES = 20_000;
const CCXT_FRAMES = 2_000;
const COMPARED_LEVELS = 100;

export function measureFormats(context: ScenarioContext): BenchRow[] {
  return formatsOf(context).flatMap((format) => measure(format, context));
}

/** Profiles each format that misses its goal, venue by venue. */
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

/** As in ingest.ts, objects of the last runs stay reachable, or each run would measure the compiler. */
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

/** Count of parsed frames. The result is used, so that the compiler cannot drop the calls. */
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
  const peer = new CcxtDepth(format.ccxtClass, format.ccxtMarketId);
  for (let index = 0; index < frameCount; index++)
    peer.applyFrame((frames[index % frames.length] as RecordedFrame).text);
  return peer;
}

/** Compares levels, not only the touch: a peer with another book has measured other work. */
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

function formatsOf(context: ScenarioContext): Format[] {
  const count = context.smoke ? 1_000 : RUN_FRAMES;
  return ROUTABLE_VENUES.flatMap((venue) => VENUE_BENCHES[venue].formats(context, count));
}
