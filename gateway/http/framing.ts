// hot path
/**
 * Refuses requests whose end can be read in two ways, before anything else is done with them. The server's parser takes
 * the first of several lengths, any coding as `chunked` and an empty header as none, where a proxy before it may read
 * something else. What the parser itself refuses, and what remains, is in docs/http-framing.md.
 *
 * Every header of every request is read, also for GET: read by name, an empty header looks like a missing one. One pass
 * costs about a microsecond; its memory is reused between requests, since a handler runs alone.
 */
import type { HttpRequest } from "uWebSockets.js";
import { ServiceError } from "../../engine/domain/errors.js";

/** Headers for which a second one with another value is a contradiction. */
const SINGLE: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "host", "origin", "content-type"]);

/** Headers that others need (origin-guard.ts), so that no header is read by name a second time. */
const TOLD: ReadonlySet<string> = new Set([...SINGLE, "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"]);

/** Headers of the present request, "" where absent; valid until the next request. */
export interface RequestHead {
  get(name: "host" | "origin" | "sec-fetch-site" | "sec-fetch-mode" | "sec-fetch-dest"): string;
}

/** Headers of the present request. */
const seen = new Map<string, string>();
let problem = "";
const head: RequestHead = { get: (name) => seen.get(name) ?? "" };

/** Throws AMBIGUOUS_REQUEST; the connection must then end, because the start of the next request is unknown. */
export function checkFraming(request: HttpRequest): RequestHead {
  seen.clear();
  problem = "";
  request.forEach(look);
  if (problem !== "") throw new ServiceError("AMBIGUOUS_REQUEST", { problem });
  return head;
}

function look(name: string, value: string): void {
  if (!TOLD.has(name)) return;
  const before = seen.get(name);
  if (before === undefined) seen.set(name, value);
  else if (!SINGLE.has(name)) return;
  else if (before !== value || name === "transfer-encoding") problem = `${name} is there twice`;
  if (name === "transfer-encoding" && value !== "chunked") problem = "Transfer-Encoding is not chunked";
  else if (name === "content-length" && value === "") problem = "content-length is empty";
}
