/**
 * One venue's book as a key shows it: the best levels of both sides and the state, immutable. The difference
 * between two of them is the set of `[price, size]` changes that makes one into the other; levels that left the
 * depth are removals, so a client's state is the top of the book exactly.
 */
import { crc32 } from "node:zlib";
import { LRUCache } from "lru-cache";
import { formatScaled } from "../../engine/domain/decimal.js";
import type { FeedState } from "../../engine/market/market.js";
import { CRC_EVERY_UPDATES, CRC_LEVELS } from "../../schemas/stream-data.js";

/** `[ticks, lots, …]`, best first. */
export type FlatLevels = readonly number[];

/** Most characters of recent snapshots kept for the next reader: a few times the size of all images of a busy book. */
export const SNAPSHOT_TEXTS_CHARS_MAX = 8 << 20;
const recentTexts = new LRUCache<VenueBookImage, string>({
  maxSize: SNAPSHOT_TEXTS_CHARS_MAX,
  sizeCalculation: (text) => text.length,
});

/** @testonly Characters kept over all images, to check the bound. */
export function keptSnapshotChars(): number {
  return recentTexts.calculatedSize;
}

export class VenueBookImage {
  readonly state: FeedState;
  readonly bids: FlatLevels;
  readonly asks: FlatLevels;
  /** 0 where the venue has none. */
  readonly venueSeq: number;
  readonly usesDeep: boolean;
  /** Number of changes of this book within the key before this image. */
  readonly changeCount: number;
  readonly #priceDecimals: number;
  readonly #qtyDecimals: number;

  constructor(
    state: FeedState,
    bids: FlatLevels,
    asks: FlatLevels,
    venueSeq: number,
    usesDeep: boolean,
    changeCount: number,
    priceDecimals: number,
    qtyDecimals: number,
  ) {
    this.state = state;
    this.bids = bids;
    this.asks = asks;
    this.venueSeq = venueSeq;
    this.usesDeep = usesDeep;
    this.changeCount = changeCount;
    this.#priceDecimals = priceDecimals;
    this.#qtyDecimals = qtyDecimals;
  }

  /** Made once, however many subscribers arrive while it is new. */
  snapshotText(): string {
    const known = recentTexts.get(this);
    if (known !== undefined) return known;
    const bids = this.#sideText(this.bids);
    const asks = this.#sideText(this.asks);
    const text = `{"bids":[${bids}],"asks":[${asks}],"venueSeq":${this.#seqText()},"state":"${this.state}","crc":${this.crc()}}`;
    recentTexts.set(this, text);
    return text;
  }

  updateText(from: VenueBookImage): string {
    const bids = this.#changesText(from, from.bids, this.bids, true);
    const asks = this.#changesText(from, from.asks, this.asks, false);
    const state = from.state === this.state ? "" : `,"state":"${this.state}"`;
    // A merged update may pass the point at which a checksum was due.
    const isDue = Math.floor(this.changeCount / CRC_EVERY_UPDATES) > Math.floor(from.changeCount / CRC_EVERY_UPDATES);
    const crc = isDue ? `,"crc":${this.crc()}` : "";
    return `{"bids":[${bids}],"asks":[${asks}],"venueSeq":${this.#seqText()}${state}${crc}}`;
  }

  /** As defined in schemas/stream-data.ts. */
  crc(): number {
    return crc32([...this.#crcParts(this.bids), ...this.#crcParts(this.asks)].join("|"));
  }

  #crcParts(levels: FlatLevels): string[] {
    const parts: string[] = [];
    for (let index = 0; index < levels.length && parts.length < CRC_LEVELS; index += 2)
      parts.push(`${this.#price(levels, index)}:${this.#size(levels, index)}`);
    return parts;
  }

  #sideText(levels: FlatLevels): string {
    let text = "";
    for (let index = 0; index < levels.length; index += 2)
      text += `${index === 0 ? "" : ","}["${this.#price(levels, index)}","${this.#size(levels, index)}"]`;
    return text;
  }

  #changesText(before: VenueBookImage, from: FlatLevels, to: FlatLevels, isBid: boolean): string {
    // A different contract replaced it: its integers cannot be compared, but its texts can.
    if (before.#priceDecimals !== this.#priceDecimals || before.#qtyDecimals !== this.#qtyDecimals) {
      const removed = before.#removalsText(from);
      const added = this.#sideText(to);
      return removed === "" || added === "" ? removed + added : `${removed},${added}`;
    }
    let text = "";
    let old = 0;
    let now = 0;
    // Both inputs are best first, so one merge compares them.
    while (old < from.length || now < to.length) {
      const order = compareRank(from, old, to, now, isBid);
      if (order < 0) {
        text += `${text === "" ? "" : ","}["${this.#price(from, old)}","0"]`;
        old += 2;
        continue;
      }
      if (order > 0 || from[old + 1] !== to[now + 1])
        text += `${text === "" ? "" : ","}["${this.#price(to, now)}","${this.#size(to, now)}"]`;
      if (order === 0) old += 2;
      now += 2;
    }
    return text;
  }

  #removalsText(levels: FlatLevels): string {
    let text = "";
    for (let index = 0; index < levels.length; index += 2)
      text += `${index === 0 ? "" : ","}["${this.#price(levels, index)}","0"]`;
    return text;
  }

  #price(levels: FlatLevels, index: number): string {
    return formatScaled(levels[index] as number, this.#priceDecimals);
  }

  #size(levels: FlatLevels, index: number): string {
    return formatScaled(levels[index + 1] as number, this.#qtyDecimals);
  }

  #seqText(): string {
    return this.venueSeq > 0 ? `"${this.venueSeq}"` : "null";
  }
}

/** Negative: the old level comes before the new one; 0: the same price. */
function compareRank(from: FlatLevels, old: number, to: FlatLevels, now: number, isBid: boolean): number {
  if (old >= from.length) return 1;
  if (now >= to.length) return -1;
  const difference = (from[old] as number) - (to[now] as number);
  return isBid ? -difference : difference;
}

export function sameLevels(left: FlatLevels, right: FlatLevels): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false;
  return true;
}
