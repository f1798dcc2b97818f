/**
 * The warning of a reply about a leverage at which a small movement ends the position (interface spec, section 8).
 * Pure.
 */

/** A leverage above this one has a warning. */
const WARNED_ABOVE = 50;

/** Returns the field of a reply; it is empty at lower leverages and when the leverage is unknown. */
export function leverageWarning(leverage: number | null): { readonly warning?: string } {
  if (leverage === null || leverage <= WARNED_ABOVE) return {};
  // Rounded up, so that the text stays true.
  const percent = Math.ceil(10_000 / leverage) / 100;
  return {
    warning: `At ${leverage}x a position can be liquidated by an adverse movement of less than ${percent} percent`,
  };
}
