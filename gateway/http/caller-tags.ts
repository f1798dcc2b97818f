// hot path
/**
 * Whose buckets a request with credentials spends: a name of the account's key, equal for equal keys only and useless
 * outside this process. A caller of an API key will be named by that key's id, here and nowhere else (`payersOf`).
 *
 * The secret decides, not what the credentials name: a wallet's address is known to everybody, and nobody is to spend
 * its owner's tokens by naming it. One short text is made per block, nothing else that stays.
 *
 * Invariant: no secret is kept; what is derived cannot be turned back, nor compared with another process's.
 */
import { hash, randomBytes } from "node:crypto";
import { type RoutableVenue, ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { perVenue } from "../../schemas/venues.js";

export type CredentialBlocks = Readonly<Partial<Record<RoutableVenue, unknown>>>;

/** What of a request may carry credentials. Headers by lower-case name, null when absent. */
export interface Asked {
  readonly headers: Readonly<Record<string, string | null>>;
  readonly query: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  /** Parsed; undefined when none was sent. */
  readonly body: unknown;
}

/** Never leaves the process, and dies with it. */
const SALT = randomBytes(32).toString("base64");

const KEY_FIELDS = perVenue(({ credentials }) => credentials.keyFields);

/** Who pays for a request: one caller, or each of several; null: its address. */
export type Payers = string | readonly string[] | null;

/** One tag for each venue that has a block: a made-up one beside one's own makes nobody another caller. */
export function payersOf(blocks: CredentialBlocks): Payers {
  let first: string | null = null;
  let all: string[] | null = null;
  for (const venue of ROUTABLE_VENUES) {
    const block = blocks[venue] ?? null;
    if (block === null || typeof block !== "object") continue;
    let text = venue as string;
    for (const field of KEY_FIELDS[venue]) {
      const value = (block as Readonly<Record<string, unknown>>)[field];
      if (typeof value === "string") text += `\0${spelled(value)}`;
      else if (typeof value === "number") text += `\0${value}`;
    }
    const tag = tagOf(text);
    if (first === null) first = tag;
    else if (all === null) all = [first, tag];
    else all.push(tag);
  }
  return all ?? first;
}

/** Of a text that stands for credentials, such as a wallet's id. */
export function tagOf(text: string): string {
  return hash("sha256", `${SALT}\0${text}`, "base64");
}

/** Keys of hex are the same in any case, with and without their prefix. */
function spelled(value: string): string {
  const text = value.trim().toLowerCase();
  return text.startsWith("0x") ? text.slice(2) : text;
}
