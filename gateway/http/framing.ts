// hot path
/**
 * Refuses requests whose end can be read in two ways, before anything else is done with them. The server's parser takes
 * the first of several lengths, any coding as `chunked` and an empty header as none, where a proxy before it may read
 * something else. What the parser itself refuses, and what remains, is in docs/http-framing.md.
 *
 * Every header of every request is read, also for GET: read by name, an empty header looks like a missing one. One pass
 * costs about a microsecond; its memory is reused between requests, since a handler runs alone. The values are dropped
 * before that handler runs.
 */
import type { HttpRequest } from "uWebSockets.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { OWN_KEY } from "../../schemas/venues.js";
import type { KeyHeaders } from "./caller.js";

/** Headers for which a second one with another value is a contradiction. */
const SINGLE: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "host", "origin", "content-type"]);

/**
 * Headers of a key and their longest value. A proxy may check one of two and pass on the other, so a second one is
 * refused even where it is the same.
 */
const KEY_CHARS_MAX: ReadonlyMap<string, number> = new Map([
  ["x-api-key", 128],
  ["x-api-timestamp", 20],
  ["x-api-recv-window", 20],
  ["x-api-signature", 128],
  ["x-api-secret", 256],
]);

/**
 * Headers that decide whose account acts and whether a request is a repetition: of two the server would show the first,
 * where a proxy may show the last. Only that they are there is noted here, because some hold credentials.
 */
const ONCE: ReadonlySet<string> = new Set([
  "idempotency-key",
  "x-wallet-id",
  "x-venue-credentials",
  ...OWN_KEY.headers.map(({ name }) => name.toLowerCase()),
]);

/** Headers that others need (origin-guard.ts), so that no header is read by name a second time. */
const TOLD: ReadonlySet<string> = new Set([
  ...SINGLE,
  ...KEY_CHARS_MAX.keys(),
  ...ONCE,
  "sec-fetch-site",
  "sec-fetch-mode",
  "sec-fetch-dest",
  "x-forwarded-for",
]);

/** Headers of the present request, "" where absent; valid until `forget`. */
export interface RequestHead {
  get(name: "host" | "origin" | "sec-fetch-site" | "sec-fetch-mode" | "sec-fetch-dest" | "x-forwarded-for"): string;
  /** Null when no header of a key is there. Throws INVALID_PARAMETERS for one that is too long. */
  keyHeaders(): KeyHeaders | null;
  /** The secret itself was sent. */
  hasSecret(): boolean;
  announcesBody(): boolean;
  /** Drops the values: an X-API-SECRET is not kept until the next request comes. */
  forget(): void;
}

/** Headers of the present request. */
const seen = new Map<string, string>();
let problem = "";
let hasKeyHeader = false;
const head: RequestHead = {
  get: (name) => seen.get(name) ?? "",
  keyHeaders: () => (hasKeyHeader ? keyHeaders() : null),
  hasSecret: () => hasKeyHeader && seen.has("x-api-secret"),
  announcesBody() {
    const length = seen.get("content-length") ?? "";
    return (length !== "" && length !== "0") || seen.has("transfer-encoding");
  },
  forget,
};

/**
 * The caller ends it with `forget`. Throws AMBIGUOUS_REQUEST; the connection must then end, because the start of the
 * next request is unknown.
 */
export function checkFraming(request: HttpRequest): RequestHead {
  forget();
  problem = "";
  request.forEach(look);
  if (problem === "") return head;
  forget();
  throw new ServiceError("AMBIGUOUS_REQUEST", { problem });
}

function forget(): void {
  seen.clear();
  hasKeyHeader = false;
}

function look(name: string, value: string): void {
  if (!TOLD.has(name)) return;
  const before = seen.get(name);
  if (KEY_CHARS_MAX.has(name)) {
    hasKeyHeader = true;
    if (before !== undefined) problem = `${name} is there twice`;
  }
  if (ONCE.has(name)) {
    if (before !== undefined) problem = `${name} is there twice`;
    seen.set(name, "");
    return;
  }
  if (before === undefined) seen.set(name, value);
  else if (name === "x-forwarded-for") seen.set(name, `${before}, ${value}`);
  else if (!SINGLE.has(name)) return;
  else if (before !== value || name === "transfer-encoding") problem = `${name} is there twice`;
  if (name === "transfer-encoding" && value !== "chunked") problem = "Transfer-Encoding is not chunked";
  else if (name === "content-length" && value === "") problem = "content-length is empty";
}

function keyHeaders(): KeyHeaders {
  for (const [name, charsMax] of KEY_CHARS_MAX) {
    if ((seen.get(name)?.length ?? 0) <= charsMax) continue;
    const fields = [{ path: name, problem: `must have at most ${charsMax} characters` }];
    throw new ServiceError("INVALID_PARAMETERS", { fields });
  }
  return {
    apiKey: seen.get("x-api-key") ?? null,
    timestamp: seen.get("x-api-timestamp") ?? null,
    recvWindow: seen.get("x-api-recv-window") ?? null,
    signature: seen.get("x-api-signature") ?? null,
    secret: seen.get("x-api-secret") ?? null,
  };
}
