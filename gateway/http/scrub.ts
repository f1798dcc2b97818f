/**
 * The last line of defence against a leaked key: any run of 64 or more letters and digits (a 32-byte key in
 * hex, a signature, an API secret) is replaced. Logs and replies are safe by construction before it; this catches what a venue's
 * error text might echo.
 */
const KEY_LIKE = /[0-9A-Za-z]{64,}/g;

export const SCRUBBED = "[redacted]";

export function scrub(text: string): string {
  // Most texts are too short to hold a key: no regular expression runs for them.
  return text.length < 64 ? text : text.replace(KEY_LIKE, SCRUBBED);
}
