// hot path
/** Market numbers of the venue → dense slots with the decimals that scale the market's figures. */

/** Perpetuals are 0…254, spot 2048…4094 (sheet): nothing the venue names lies beyond. */
export const MAX_MARKET_ID = 4_095;

export class MarketTable {
  /** By market number; -1 where not registered. */
  readonly #slots = new Int16Array(MAX_MARKET_ID + 1).fill(-1);
  readonly priceDecimals = new Uint8Array(MAX_MARKET_ID + 1);
  readonly qtyDecimals = new Uint8Array(MAX_MARKET_ID + 1);
  #count = 0;

  /** Returns the market's slot, the same for the same number; new decimals replace the old. */
  register(marketId: number, priceDecimals: number, qtyDecimals: number): number {
    if (!Number.isInteger(marketId) || marketId < 0 || marketId > MAX_MARKET_ID)
      throw new RangeError("no market number");
    const known = this.#slots[marketId] as number;
    const slot = known >= 0 ? known : this.#count++;
    this.#slots[marketId] = slot;
    this.priceDecimals[slot] = priceDecimals;
    this.qtyDecimals[slot] = qtyDecimals;
    return slot;
  }

  /** -1 when not registered. */
  slotOf(marketId: number): number {
    return marketId >= 0 && marketId <= MAX_MARKET_ID ? (this.#slots[marketId] as number) : -1;
  }
}
