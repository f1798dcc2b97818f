// hot path
/**
 * Finds whose buckets a request with credentials uses: a tag of the account's key, equal for equal keys only and
 * useless outside this process. Callers with an API key are named by that key's id (`payerOfKey`), and their accounts
 * do not pay.
 *
 * The secret decides, not the names in the credentials: a wallet's address is public, and knowing it must not allow
 * anyone to use its owner's tokens. One short text is made per block; nothing else is kept.
 *
 * Invariant: no secret is kept; the tag cannot be reversed, nor compared with another process's.
 */
import { hash, randomBytes } from "node:crypto";
import { type RoutableVenue, ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import { perVenue } from "../../schemas/venues.js";

export type CredentialBlocks = Readonly<Partial<Record<RoutableVenue, unknown>>>;

/** The parts of a request that may carry credentials. Headers by lower-case name, null when absent. */
export interface Asked {
  readonly headers: Readonly<Record<string, string | null>>;
  readonly query: Readonly<Record<string, string>>;
  readonly params: Readonly<Record<string, string>>;
  /** Parsed; undefined when none was sent. */
  readonly body: unknown;
}

/** Never leaves the process, and ends with it. */
const SALT = randomBytes(32).toString("base64");

const KEY_FIELDS = perVenue(({ credentials }) => credentials.keyFields);

/** Who pays for a request: one caller, or each of several; null means its address. */
export type Payers = string | readonly string[] | null;

export function payerOfKey(keyId: string): string {
  return `key:${keyId}`;
}

/** Returns one tag for each venue that has a block: adding a made-up block to a real one does not make a new caller. */
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

/** The tag of a text that serves as credentials, such as a wallet's id. */
export function tagOf(text: string): string {
  return hash("sha256", `${SALT}\0${text}`, "base64");
}

/** Hex keys are the same in any case, with and without their prefix. */
function spelled(value: string): string {
  const text = value.trim().toLowerCase();
  return text.startsWith("0x") ? text.slice(2) : text;
}
