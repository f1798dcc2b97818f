/**
 * Keeps a venue's own words fit for replies and records: cut to a bound, and every text of the caller's
 * credentials in them blanked, should a venue ever echo one.
 */

export const MAX_VENUE_TEXT_CHARS = 300;
/** Shorter texts (a key index, a flag) are no secrets and would blank ordinary words. */
const MIN_SECRET_CHARS = 6;
const MAX_SECRETS = 64;
const MAX_DEPTH = 4;
const PATTERN_CHARS = /[\\^$.*+?()[\]{}|]/g;

/** All texts in the credential blocks of a request. */
export function collectSecrets(credentials: unknown): string[] {
  const secrets: string[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (secrets.length >= MAX_SECRETS || depth > MAX_DEPTH) return;
    if (typeof value === "string") {
      const bare = value.startsWith("0x") ? value.slice(2) : value;
      if (bare.length >= MIN_SECRET_CHARS) secrets.push(bare);
      return;
    }
    if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) visit(inner, depth + 1);
  };
  visit(credentials, 0);
  // Longest first, so that no secret survives as the rest of one it contains.
  return secrets.sort((left, right) => right.length - left.length);
}

export function redactVenueText(text: string, secrets: readonly string[]): string {
  let clean = text;
  // By pattern: a text in lower case may be longer than it was, and places in it are none of the text's own.
  for (const secret of secrets)
    clean = clean.replace(new RegExp(secret.replace(PATTERN_CHARS, "\\$&"), "gi"), () => "[redacted]");
  return clean.slice(0, MAX_VENUE_TEXT_CHARS);
}
