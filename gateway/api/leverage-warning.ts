/** What a reply says of a leverage at which a small movement ends the position (interface spec, section 8). Pure. */

/** From here on upward. */
const WARNED_ABOVE = 50;

/** The field of a reply; none at leverages that are not warned of, or not known. */
export function leverageWarning(leverage: number | null): { readonly warning?: string } {
  if (leverage === null || leverage <= WARNED_ABOVE) return {};
  // Rounded up: what is said must hold.
  const percent = Math.ceil(10_000 / leverage) / 100;
  return {
    warning: `At ${leverage}x a position can be liquidated by an adverse movement of less than ${percent} percent`,
  };
}
