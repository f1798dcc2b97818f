// hot path
/** The outcome of a depth frame, and the scale at which a market takes decoded levels. */
import { parseScaled } from "../../../engine/domain/decimal.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { ScannedSide } from "../../shared/book/json-bytes.js";
import { scaleSide } from "../../shared/book/scanned-levels.js";
import type { VenuefourWireLevel } from "./wire.js";

export const APPLIED = 0;
/** The same state again: proven current, nothing changed. */
export const PROVEN = 1;
/** Older than what is there. */
export const OUTDATED = 2;
/** Digits finer than the instrument's, or beyond the safe range: protocol drift; the tier is invalid. */
export const DRIFT = 3;
/** The book's own checks refused it (crossed, zero or disordered levels); the tier is invalid. */
export const REFUSED = 4;
export type Applied = typeof APPLIED | typeof PROVEN | typeof OUTDATED | typeof DRIFT | typeof REFUSED;

/** Of one market, for its life (ADR 0020). A number finer than the instrument allows does not fit: nothing is rounded. */
export class LevelScale {
  readonly #priceDecimals: number;
  readonly #qtyDecimals: number;

  constructor({ priceDecimals, qtyDecimals }: Instrument) {
    this.#priceDecimals = priceDecimals;
    this.#qtyDecimals = qtyDecimals;
  }

  /** In place: digits become ticks and lots. False when one does not fit. */
  scale(side: ScannedSide): boolean {
    return scaleSide(side, this.#priceDecimals, this.#qtyDecimals);
  }

  /** Null is an empty side. */
  fits(level: VenuefourWireLevel | null): boolean {
    return level === null || !(Number.isNaN(this.priceTicks(level)) || Number.isNaN(this.qtyLots(level)));
  }

  /** NaN where it does not fit, as `qtyLots`; 0 on an empty side. */
  priceTicks(level: VenuefourWireLevel | null): number {
    return level === null ? 0 : parseScaled(level.p, this.#priceDecimals);
  }

  qtyLots(level: VenuefourWireLevel | null): number {
    return level === null ? 0 : parseScaled(level.a, this.#qtyDecimals);
  }
}
