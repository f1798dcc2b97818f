/** `Retry-After` (RFC 9110 section 10.2.3): seconds or an HTTP date. Null when absent or unreadable. */
export function parseRetryAfterMs(value: string | undefined, nowWallMs: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Math.ceil(Number(text) * 1_000);
  // An HTTP date begins with the day's name; Date.parse alone would take "-5" for a year.
  const dateMs = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowWallMs);
}
