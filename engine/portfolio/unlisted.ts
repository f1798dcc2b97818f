/** Holdings in contracts that are not listed. They are shown by name, since their sizes cannot be counted. */
import type { VenuePosition } from "../domain/position.js";
import type { CoverageError } from "./portfolio-types.js";

/** Most names in one message; all of them are counted. */
const NAMES_MAX = 10;

export function unlistedNames(positions: readonly VenuePosition[]): readonly string[] {
  return positions.filter(({ uncounted }) => uncounted !== undefined).map(({ nativeSymbol }) => nativeSymbol);
}

export function positionsUnlisted(names: readonly string[]): CoverageError {
  const rest = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : "";
  const message = `held in contracts that are not listed, and not counted: ${names.slice(0, NAMES_MAX).join(", ")}${rest}`;
  return { code: "POSITION_UNLISTED", message };
}
