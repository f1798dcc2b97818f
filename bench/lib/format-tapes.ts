/**
 * Depth frames in the wire forms of venueone, venuethree and venuefour: recordings where this machine has them and
 * the venue was recorded, else seeded tapes of the same form, key order included.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { createSeededRandom, type Random } from "../../engine/domain/random.js";
import { loadRecording, type RecordedFrame } from "./recording.js";

const VENUEONE_RECORDING = "hyperliquid_btc_20250126.raw.gz";
const VENUETHREE_RECORDING = "lighter_crv_frames_20260729.jsonl.gz";

export interface Tape {
  /** What kind of frames, for the report. */
  readonly what: string;
  readonly frames: readonly RecordedFrame[];
}

/** 46 whole books of 20 levels a side. */
export function recordedVenueone(dataFolder: string): Tape {
  const frames = loadRecording(dataFolder, VENUEONE_RECORDING).filter(({ text }) => text.includes('"l2Book"'));
  return { what: "recorded books of 20 levels", frames };
}

/** A book and the six updates that follow it. */
export function recordedVenuethree(dataFolder: string): Tape {
  const text = gunzipSync(readFileSync(join(dataFolder, VENUETHREE_RECORDING))).toString("utf8");
  const frames = text
    .split("\n")
    .filter((line) => line.includes('"order_book":{'))
    .map((line) => frameOf(line.includes('"subscribed/order_book"') ? "snapshot" : "depth", line));
  return { what: "recorded book and its updates", frames };
}

/** Whole books around a walking price; each differs from the one before. */
export function generatedVenueone(count: number, levelCount: number): Tape {
  const level = (price: number, size: string, orders: number) => ({ px: price.toFixed(1), sz: size, n: orders });
  const frames = walkingBooks(count, levelCount, level).map(({ bids, asks, timeMs }) =>
    frameOf("depth", JSON.stringify({ channel: "l2Book", data: { coin: "BTC", time: timeMs, levels: [bids, asks] } })),
  );
  return { what: `generated books of ${levelCount} levels`, frames };
}

/** The venue sends ten levels a side, prices on its grid without trailing zeros. */
export function generatedVenuefour(count: number): Tape {
  const level = (price: number, size: string, orders: number) => ({ a: size, n: orders, p: String(price) });
  const frames = walkingBooks(count, 10, level).map(({ bids, asks, timeMs }, index) =>
    frameOf(
      "depth",
      JSON.stringify({ channel: "book", data: { l: [bids, asks], li: 1_559_885_104 + index, s: "BTC", t: timeMs } }),
    ),
  );
  return { what: "generated books of 10 levels", frames };
}

interface WalkedBook<L> {
  readonly bids: readonly L[];
  readonly asks: readonly L[];
  readonly timeMs: number;
}

function walkingBooks<L>(
  count: number,
  levelCount: number,
  level: (price: number, size: string, orders: number) => L,
): WalkedBook<L>[] {
  const random = createSeededRandom(11);
  let mid = 63_520;
  return Array.from({ length: count }, (_, index) => {
    mid += Math.floor(random.next() * 3) - 1;
    const side = (sign: 1 | -1) => {
      let price = mid;
      return Array.from({ length: levelCount }, () => {
        price += sign * (1 + Math.floor(random.next() * 6));
        return level(price, (0.00001 + random.next() * 4).toFixed(5), 1 + Math.floor(random.next() * 9));
      });
    };
    return { bids: side(-1), asks: side(1), timeMs: 1_790_000_000_000 + 50 * index };
  });
}

const CHAIN_LEVELS = 750;
/** Ticks of the generated market 1: one decimal of price, five of size. */
const CHAIN_MID_TICKS = 637_770;

/** A book of a busy market and the updates that follow it, one batch each 50 ms. */
export function generatedVenuethree(count: number): Tape {
  const random = createSeededRandom(13);
  let nonce = 18_032_383_898;
  const whole = (sign: 1 | -1) =>
    Array.from({ length: CHAIN_LEVELS }, (_, index) => chainLevel(random, sign, index + 1));
  const frames = [chainFrame("subscribed", whole(1), whole(-1), nonce, nonce, 0)];
  for (let index = 1; index < count; index++) {
    const beginNonce = nonce;
    nonce += 1 + Math.floor(random.next() * 100);
    const changes = (sign: 1 | -1) =>
      Array.from({ length: Math.floor(random.next() * 8) }, () =>
        chainLevel(random, sign, 1 + Math.floor(random.next() ** 3 * CHAIN_LEVELS), 0.3),
      );
    frames.push(chainFrame("update", changes(1), changes(-1), nonce, beginNonce, index));
  }
  return { what: `generated updates of a book of ${CHAIN_LEVELS} levels a side`, frames };
}

function chainLevel(random: Random, sign: 1 | -1, distance: number, removedShare = 0) {
  const size = random.next() < removedShare ? 0 : 0.00001 + random.next() * 5;
  return { price: ((CHAIN_MID_TICKS + sign * distance) / 10).toFixed(1), size: size.toFixed(5) };
}

function chainFrame(
  type: "subscribed" | "update",
  asks: readonly object[],
  bids: readonly object[],
  nonce: number,
  beginNonce: number,
  index: number,
): RecordedFrame {
  const offset = 415_803 + index;
  const updatedUs = 1_785_358_811_946_459 + 50_000 * index;
  return frameOf(
    type === "subscribed" ? "snapshot" : "depth",
    JSON.stringify({
      channel: "order_book:1",
      last_updated_at: updatedUs,
      offset,
      order_book: { code: 0, asks, bids, offset, nonce, last_updated_at: updatedUs, begin_nonce: beginNonce },
      timestamp: 1_785_358_811_950 + 50 * index,
      type: `${type}/order_book`,
    }),
  );
}

function frameOf(kind: RecordedFrame["kind"], text: string): RecordedFrame {
  return { kind, text, bytes: Buffer.from(text) };
}
