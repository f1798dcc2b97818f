/**
 * Positions that the venue itself reduced, as seen in the account's fills. They are remembered for a moment, because
 * the fill and the new position arrive as two events.
 *
 * Bound: the newest LIQUIDATIONS_MAX.
 */
import type { Clock } from "../domain/clock.js";
import type { VenuePosition } from "../domain/position.js";
import type { AccountEvent } from "../ports.js";

const REMEMBERED_MS = 10_000;
const LIQUIDATIONS_MAX = 256;

export class Liquidations {
  readonly #clock: Clock;
  /** Wall ms of the newest, by contract and direction. */
  readonly #seen = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(fill: Extract<AccountEvent, { readonly kind: "fill" }>): void {
    if (fill.isLiquidation !== true) return;
    const { nativeSymbol, side } = fill.order;
    const key = `${nativeSymbol}|${side === "SELL" ? "LONG" : "SHORT"}`;
    this.#seen.delete(key);
    this.#seen.set(key, this.#clock.wallMs());
    if (this.#seen.size <= LIQUIDATIONS_MAX) return;
    const oldest = this.#seen.keys().next();
    if (oldest.done !== true) this.#seen.delete(oldest.value);
  }

  has(position: VenuePosition): boolean {
    const atMs = this.#seen.get(`${position.nativeSymbol}|${position.direction}`);
    return atMs !== undefined && this.#clock.wallMs() - atMs <= REMEMBERED_MS;
  }
}
