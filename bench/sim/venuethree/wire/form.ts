/** Fields of a POST: `application/x-www-form-urlencoded`, or multipart as some client libraries send (fact sheet 3). */
import type { SimHttpRequest } from "../../core/server/server-types.js";

const BOUNDARY = /boundary=(?:"([^"]{1,70})"|([^;\s]{1,70}))/i;
/** Parts of a body; a transaction has three fields. */
const PARTS_MAX = 32;

/** Returns null when it is neither of the two, or not well-formed. */
export function readForm(request: SimHttpRequest): URLSearchParams | null {
  const type = request.headers["content-type"] ?? "";
  const body = request.body.toString("utf8");
  if (/^multipart\/form-data/i.test(type)) {
    const match = BOUNDARY.exec(type);
    return match === null ? null : readParts(body, match[1] ?? match[2] ?? "");
  }
  if (type === "" || /^application\/x-www-form-urlencoded/i.test(type)) return new URLSearchParams(body);
  return null;
}

function readParts(body: string, boundary: string): URLSearchParams | null {
  const parts = body.split(`--${boundary}`);
  if (parts.length > PARTS_MAX || !(parts[parts.length - 1] ?? "").startsWith("--")) return null;
  const fields = new URLSearchParams();
  for (const part of parts.slice(1, -1)) {
    const blank = part.indexOf("\r\n\r\n");
    const name = /content-disposition:\s*form-data;[^\r\n]*\bname="([^"\r\n]*)"/i.exec(
      part.slice(0, Math.max(0, blank)),
    );
    if (blank < 0 || name === null || !part.endsWith("\r\n")) return null;
    fields.append(name[1] ?? "", part.slice(blank + 4, -2));
  }
  return fields;
}
