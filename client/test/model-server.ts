/**
 * What the server holds for one ticker and one book key, written independently of the client's fold: plain maps that
 * changes write to, and frames made from the writes since the last one. Skipped frames are merged, as for a slow
 * reader.
 */
import { crc32 } from "node:zlib";

type Change = readonly [venue: string, name: string, value: string];

export const TICKER_KEY = "ticker:BTC:venueone,venuetwo:100";
export const BOOK_KEY = "book:BTC:venueone,venuetwo:50:0";

abstract class ModelTopic {
  readonly key: string;
  epoch = "k3v9";
  seq = 0;
  lastSent = 0;
  /** What the server held at each frame, by epoch and seq. */
  readonly history = new Map<string, Record<string, unknown>>();

  constructor(key: string) {
    this.key = key;
  }

  abstract snapshotData(): Record<string, unknown>;
  /** Returns what changed since the last frame; null if nothing did. */
  abstract takeChanges(): Record<string, unknown> | null;

  snapshot(): Record<string, unknown> {
    this.takeChanges();
    this.seq++;
    this.lastSent = this.seq;
    return this.#frame("snapshot", this.snapshotData(), {});
  }

  /** Assigns a sequence number for which this reader gets no frame: the next one carries its changes too. */
  skip(): void {
    this.seq++;
  }

  update(): Record<string, unknown> | null {
    const data = this.takeChanges();
    if (data === null) return null;
    const prevSeq = this.lastSent;
    this.seq++;
    this.lastSent = this.seq;
    return this.#frame("update", data, { prevSeq });
  }

  restart(): void {
    this.epoch = `${this.epoch}x`;
    this.seq = 0;
  }

  #frame(type: string, data: Record<string, unknown>, more: Record<string, unknown>): Record<string, unknown> {
    this.history.set(`${this.epoch}:${this.seq}`, this.snapshotData());
    return { type, sub: this.key, epoch: this.epoch, seq: this.seq, ...more, ts: 1_790_000_000_000 + this.seq, data };
  }
}

export class ModelTicker extends ModelTopic {
  readonly venues = new Map<string, Map<string, string>>();
  readonly #dirty = new Map<string, Map<string, string>>();

  constructor() {
    super(TICKER_KEY);
  }

  change([venue, name, value]: Change): void {
    for (const held of [this.venues, this.#dirty]) {
      const fields = held.get(venue) ?? new Map([["state", "LIVE"]]);
      fields.set(name, value);
      held.set(venue, fields);
    }
  }

  override snapshotData(): Record<string, unknown> {
    return { symbol: "BTC", ...objectOf(this.venues) };
  }

  override takeChanges(): Record<string, unknown> | null {
    if (this.#dirty.size === 0) return null;
    const data = objectOf(this.#dirty);
    this.#dirty.clear();
    return data;
  }
}

interface ModelBookSides {
  /** Size by price in ticks of 0.5. */
  readonly bids: Map<number, number>;
  readonly asks: Map<number, number>;
}

export class ModelBook extends ModelTopic {
  readonly venues = new Map<string, ModelBookSides>();
  readonly #dirty = new Map<string, { bids: Set<number>; asks: Set<number> }>();
  /** Every update carries a checksum. */
  withCrc = true;

  constructor() {
    super(BOOK_KEY);
  }

  /** Size 0 removes. */
  set(venue: string, side: "bids" | "asks", ticks: number, size: number): void {
    const sides = this.venues.get(venue) ?? { bids: new Map(), asks: new Map() };
    this.venues.set(venue, sides);
    if (size === 0) sides[side].delete(ticks);
    else sides[side].set(ticks, size);
    const dirty = this.#dirty.get(venue) ?? { bids: new Set(), asks: new Set() };
    this.#dirty.set(venue, dirty);
    dirty[side].add(ticks);
  }

  side(venue: string, side: "bids" | "asks"): [string, string][] {
    const levels = [...(this.venues.get(venue)?.[side] ?? [])];
    levels.sort((a, b) => (side === "bids" ? b[0] - a[0] : a[0] - b[0]));
    return levels.map(([ticks, size]) => [priceText(ticks), String(size)]);
  }

  crc(venue: string): number {
    const levels = [...this.side(venue, "bids").slice(0, 10), ...this.side(venue, "asks").slice(0, 10)];
    return crc32(levels.map((level) => level.join(":")).join("|"));
  }

  override snapshotData(): Record<string, unknown> {
    const data: Record<string, unknown> = { symbol: "BTC" };
    for (const venue of this.venues.keys()) {
      data[venue] = {
        bids: this.side(venue, "bids"),
        asks: this.side(venue, "asks"),
        venueSeq: "1",
        state: "LIVE",
        crc: this.crc(venue),
      };
    }
    return data;
  }

  override takeChanges(): Record<string, unknown> | null {
    if (this.#dirty.size === 0) return null;
    const data: Record<string, unknown> = {};
    for (const [venue, dirty] of this.#dirty) {
      const sides = this.venues.get(venue) as ModelBookSides;
      const levels = (side: "bids" | "asks") =>
        [...dirty[side]].map((ticks) => [priceText(ticks), String(sides[side].get(ticks) ?? 0)]);
      data[venue] = {
        bids: levels("bids"),
        asks: levels("asks"),
        venueSeq: "2",
        state: "LIVE",
        ...(this.withCrc ? { crc: this.crc(venue) } : {}),
      };
    }
    this.#dirty.clear();
    return data;
  }
}

/** Ticks of 0.5, printed as venues print: whole numbers without a point, prices of several lengths. */
function priceText(ticks: number): string {
  return ticks % 2 === 0 ? String(ticks / 2) : `${(ticks - 1) / 2}.5`;
}

function objectOf(venues: ReadonlyMap<string, ReadonlyMap<string, string>>): Record<string, unknown> {
  return Object.fromEntries([...venues].map(([venue, fields]) => [venue, Object.fromEntries(fields)]));
}
