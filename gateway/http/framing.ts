// hot path
/**
 * Requests whose end can be read in two ways, refused before anything is done with them: the server's parser takes the
 * first of several lengths, any coding for `chunked` and an empty header for none, where a proxy before it may take
 * another. What the parser refuses by itself, and what remains, is in docs/http-framing.md.
 *
 * Every header of every request is looked at, also of reads: asked by name, an empty header looks like none. One pass
 * costs about a microsecond; what it remembers is kept between requests, since a handler runs alone.
 */
import type { HttpRequest } from "uWebSockets.js";
import { ServiceError } from "../../engine/domain/errors.js";

/** Headers of which a second one with another value contradicts the first. */
const SINGLE: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "host", "origin", "content-type"]);

/** Looked at by others (origin-guard.ts), so that no header is asked for by name a second time. */
const TOLD: ReadonlySet<string> = new Set([...SINGLE, "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest"]);

/** Headers of the request in hand, "" where absent; good until the next request. */
export interface RequestHead {
  get(name: "host" | "origin" | "sec-fetch-site" | "sec-fetch-mode" | "sec-fetch-dest"): string;
}

/** Of the request in hand. */
const seen = new Map<string, string>();
let problem = "";
const head: RequestHead = { get: (name) => seen.get(name) ?? "" };

/** Throws AMBIGUOUS_REQUEST; the connection must then end, since nobody knows where the next request begins. */
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
