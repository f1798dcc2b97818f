/** Leverage and margin mode of one symbol, as far as every venue has them alike. */
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { Refused } from "../../../engine/domain/order.js";
import type { SymbolSettings } from "../../../engine/ports.js";
import { localReject, refusedOf } from "../net/call-results.js";

/** Null for a leverage that the contract may have. */
export function leverageProblem(leverage: number, { maxLeverage }: Instrument): Refused | null {
  if (Number.isInteger(leverage) && leverage >= 1 && leverage <= maxLeverage) return null;
  return refusedOf(localReject("VENUE_STATE", "LEVERAGE", `leverage is a whole number from 1 to ${maxLeverage}`));
}

/** What was set; null is what is not known by that. */
export function settingsOf(
  leverage: number | null,
  marginMode: SymbolSettings["marginMode"],
  maxNotionalValue: string | null = null,
): SymbolSettings {
  return { leverage, marginMode, maxNotionalValue };
}
