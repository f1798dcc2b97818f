/**
 * The last line of defence against a leaked key: any run of 64 or more letters and digits (a 32-byte key in hex, a
 * signature, an API secret) is replaced. Logs and replies are already safe by construction; this catches what a venue's
 * error text might echo, and what a person writes into a free text.
 */
const KEY_LIKE = /[0-9A-Za-z]{64,}/g;
/**
 * A 32-byte key in base58. An address of such a chain looks the same, so this applies only to text written by a person.
 */
const SEED_LIKE = /(?<![0-9A-Za-z])[1-9A-HJ-NP-Za-km-z]{42,44}(?![0-9A-Za-z])/g;
/** A secret of an API key of ours: shorter than a key, but with its name before it. */
const OWN_SECRET = /sk_[0-9A-Za-z]{43}/g;
/** A URL keeps its path: queries may hold credentials (interface spec 5.4). */
const URL_QUERY = /((?:https?|wss?):\/\/[^\s?#]*)[?#]\S*/g;

export const SCRUBBED = "[redacted]";

export function scrub(text: string): string {
  // Most texts are too short to hold a key: no regular expression runs for them.
  if (text.length < 46) return text;
  const clean = text.includes("sk_") ? text.replace(OWN_SECRET, SCRUBBED) : text;
  return clean.length < 64 ? clean : clean.replace(KEY_LIKE, SCRUBBED);
}

/**
 * Returns the text as a log line shows it: without keys and URL queries, then cut. Cutting first could shorten a key
 * until it no longer looks like one.
 */
export function scrubLine(text: string, maxChars: number): string {
  const clean = scrub(text.includes("://") ? text.replace(URL_QUERY, "$1") : text);
  return clean.length > maxChars ? `${clean.slice(0, maxChars)}…` : clean;
}

/** Like `scrubLine`, for text written by a person, who may have put any key into it. */
export function scrubReason(text: string, maxChars: number): string {
  return scrubLine(text.replace(SEED_LIKE, SCRUBBED), maxChars);
}
