/**
 * The opaque `nextCursor`: the query as it was resolved on its first page, and the sort key of the last row given.
 * The next page begins after that key, so rows that arrive meanwhile move nothing.
 *
 * Invariants: a cursor of ours is signed with the server's key and refused when anything of it was changed, when it
 * was made for another kind of record, or when a parameter beside it says something else than it does. It holds
 * nothing that the caller did not send or receive. It outlives restarts as long as the server's key does.
 */
import { timingSafeEqual } from "node:crypto";
import type { KeyedHash } from "../../engine/storage/keyed-hash.js";
import { invalidParameters } from "../http/query.js";

/** Longest cursor looked at; ours are below 1 000 characters. */
export const MAX_CURSOR_CHARS = 2048;
const SIGNATURE_CHARS = 32;
const PURPOSE = "history-cursor";

/** What the first page resolved; strings and numbers only, so that equality is plain. */
export type CursorQuery = Readonly<Record<string, string | number>>;

export interface Cursor {
  readonly query: CursorQuery;
  /** Values of the sort columns of the last row, as text. */
  readonly key: readonly string[];
}

export function encodeCursor(hash: KeyedHash, kind: string, cursor: Cursor): string {
  const payload = Buffer.from(JSON.stringify([cursor.query, cursor.key]), "utf8").toString("base64url");
  return `${payload}.${signature(hash, kind, payload)}`;
}

/** Throws INVALID_PARAMETERS naming `cursor`. */
export function decodeCursor(hash: KeyedHash, kind: string, text: string): Cursor {
  const dot = text.lastIndexOf(".");
  const payload = text.slice(0, dot);
  const given = text.slice(dot + 1);
  if (dot <= 0 || text.length > MAX_CURSOR_CHARS || given.length !== SIGNATURE_CHARS) throw refused();
  const expected = signature(hash, kind, payload);
  const givenBytes = Buffer.from(given, "utf8");
  // Equal length is checked in bytes: a character outside ASCII has more than one.
  if (givenBytes.length !== SIGNATURE_CHARS || !timingSafeEqual(givenBytes, Buffer.from(expected, "utf8")))
    throw refused();
  // Signed by us: what is inside has the shape that encodeCursor gave it.
  const [query, key] = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as [CursorQuery, string[]];
  return { query, key };
}

function signature(hash: KeyedHash, kind: string, payload: string): string {
  return hash.hmacHex(PURPOSE, [kind, payload]).slice(0, SIGNATURE_CHARS);
}

function refused() {
  return invalidParameters({ path: "cursor", problem: "must be the nextCursor of an earlier reply of this route" });
}
