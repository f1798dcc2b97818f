/**
 * The opaque `nextCursor`: the query as resolved on its first page, and the sort key of the last row returned. The next
 * page begins after that key, so rows that arrive meanwhile do not move it.
 *
 * Invariants: a cursor is signed with the server's key. It is refused when any of it was changed, when it was made for
 * another kind of record or another owner, or when a parameter beside it contradicts it. It contains nothing that the caller did not
 * send or receive. It is valid across restarts as long as the server's key is.
 */
import { timingSafeEqual } from "node:crypto";
import type { KeyedHash } from "../../engine/storage/keyed-hash.js";
import { invalidParameters } from "../http/query.js";

/** Longer cursors are not read; ours are below 1 000 characters. */
export const MAX_CURSOR_CHARS = 2048;
const SIGNATURE_CHARS = 32;
const PURPOSE = "history-cursor";

/** What the first page resolved; strings and numbers only, so that comparison is simple. */
export type CursorQuery = Readonly<Record<string, string | number>>;

export interface Cursor {
  readonly query: CursorQuery;
  /** Values of the sort columns of the last row, as text. */
  readonly key: readonly string[];
}

/** `ownerId`: who may continue with it; null: callers without a key. */
export function encodeCursor(hash: KeyedHash, kind: string, ownerId: string | null, cursor: Cursor): string {
  const payload = Buffer.from(JSON.stringify([cursor.query, cursor.key]), "utf8").toString("base64url");
  return `${payload}.${signature(hash, kind, ownerId, payload)}`;
}

/** Throws INVALID_PARAMETERS naming `cursor`. */
export function decodeCursor(hash: KeyedHash, kind: string, ownerId: string | null, text: string): Cursor {
  const dot = text.lastIndexOf(".");
  const payload = text.slice(0, dot);
  const given = text.slice(dot + 1);
  if (dot <= 0 || text.length > MAX_CURSOR_CHARS || given.length !== SIGNATURE_CHARS) throw refused();
  const expected = signature(hash, kind, ownerId, payload);
  const givenBytes = Buffer.from(given, "utf8");
  // Lengths are compared in bytes: a character outside ASCII has more than one.
  if (givenBytes.length !== SIGNATURE_CHARS || !timingSafeEqual(givenBytes, Buffer.from(expected, "utf8")))
    throw refused();
  // Signed by this server, so its content has the shape that encodeCursor gave it.
  const [query, key] = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as [CursorQuery, string[]];
  return { query, key };
}

function signature(hash: KeyedHash, kind: string, ownerId: string | null, payload: string): string {
  const owner = ownerId === null ? [] : [ownerId];
  return hash.hmacHex(PURPOSE, [kind, payload, ...owner]).slice(0, SIGNATURE_CHARS);
}

function refused() {
  return invalidParameters({ path: "cursor", problem: "must be the nextCursor of an earlier reply of this route" });
}
