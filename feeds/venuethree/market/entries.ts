// hot path
/** What the market stream keeps per market, found by decoder slot, by market number, and by book channel. */
import type { BookSubscription } from "./book-subscription.js";
import { VenuethreeDecoder } from "./decode.js";
import type { MarketSlot } from "./entry.js";
import type { Shard } from "./shard.js";
import { bookChannel } from "./stream-plan.js";

export interface Entry {
  readonly slot: MarketSlot;
  readonly subscription: BookSubscription;
  readonly shard: Shard;
}

export class Entries {
  readonly decoder = new VenuethreeDecoder();
  /** By decoder slot; a hole where a market was removed. */
  readonly #bySlot: (Entry | undefined)[] = [];
  readonly #byBookChannel = new Map<string, Entry>();

  /** Replaces what had the same market number. */
  set(entry: Entry): void {
    const { nativeId, priceDecimals, qtyDecimals } = entry.slot.market.instrument;
    this.#bySlot[this.decoder.register(nativeId, priceDecimals, qtyDecimals)] = entry;
    this.#byBookChannel.set(bookChannel(nativeId), entry);
  }

  delete(marketId: number): void {
    this.#bySlot[this.decoder.markets.slotOf(marketId)] = undefined;
    this.#byBookChannel.delete(bookChannel(marketId));
  }

  bySlot(slot: number): Entry | undefined {
    return this.#bySlot[slot];
  }

  byMarketId(marketId: number): Entry | undefined {
    return this.#bySlot[this.decoder.markets.slotOf(marketId)];
  }

  /** `channel` as the client writes it. */
  byBookChannel(channel: string): Entry | undefined {
    return this.#byBookChannel.get(channel);
  }

  all(): IterableIterator<Entry> {
    return this.#byBookChannel.values();
  }
}
