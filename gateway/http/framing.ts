// hot path
/**
 * Requests whose end can be read in two ways, refused before anything is done with them: the server's parser takes the
 * first of several lengths and any coding for `chunked`, where a proxy before it may take another. What the parser
 * refuses by itself, and what remains, is in docs/http-framing.md.
 */
import type { HttpRequest } from "uWebSockets.js";
import { ServiceError } from "../../engine/domain/errors.js";

/** Headers of which a second one with another value contradicts the first. */
const SINGLE: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "host", "origin", "content-type"]);

/**
 * Throws AMBIGUOUS_REQUEST; the connection must then end, since nobody knows where the next request begins. `reads`:
 * a request that has no body by its method is looked at more closely only where it announces one.
 */
export function checkFraming(request: HttpRequest, reads: boolean): void {
  const length = request.getHeader("content-length");
  const coding = request.getHeader("transfer-encoding");
  if (coding !== "" && coding !== "chunked") throw ambiguous("Transfer-Encoding is not chunked");
  if (reads && length === "" && coding === "") return;
  const seen = new Map<string, string>();
  let problem = "";
  request.forEach((name, value) => {
    if (!SINGLE.has(name)) return;
    const before = seen.get(name);
    if (before === undefined) seen.set(name, value);
    else if (before !== value || name === "transfer-encoding") problem = `${name} is there twice`;
    if (value === "" && (name === "content-length" || name === "transfer-encoding")) problem = `${name} is empty`;
  });
  if (problem !== "") throw ambiguous(problem);
}

function ambiguous(problem: string): ServiceError {
  return new ServiceError("AMBIGUOUS_REQUEST", { problem });
}
