/**
 * The caller's own key, as interface spec 4.6 passes it: query parameters, or the same as headers, or the credentials
 * block of a body or of `X-Venue-Credentials`. One of them, never two.
 *
 * Invariant: a refusal names fields, never values. The query is never logged (no line has a field for it).
 */
import { ServiceError } from "../../engine/domain/errors.js";
import type { FieldProblem } from "../../schemas/errors.js";
import { compileValidator } from "../../schemas/validate.js";
import { KEY_VENUE, OWN_KEY } from "../../schemas/venues.js";
import { type Ask, checkedQuery } from "../http/json-route.js";
import { invalidParameters } from "../http/query.js";
import { carriedBlocks } from "./account-access.js";

const PARTS = OWN_KEY.headers.map(({ field, name }) => ({ field, header: name.toLowerCase() }));
const FIELDS = PARTS.map(({ field }) => field);
const INTEGERS = FIELDS.filter((field) => OWN_KEY.query.properties[field].type === "integer");
export const OWN_KEY_HEADERS: readonly string[] = PARTS.map(({ header }) => header);

const validate = compileValidator(OWN_KEY.query);

/** The raw block. Throws MISSING_PARAMETERS naming what is missing, INVALID_PARAMETERS for an index that is no number. */
export function ownKeyBlock(ask: Ask): unknown {
  const texts: Record<string, string> = {};
  for (const { field, header } of PARTS) {
    const inQuery = ask.query[field] ?? null;
    const inHeader = ask.headers[header] ?? null;
    if (inQuery !== null && inHeader !== null)
      throw invalidParameters({ path: field, problem: "must not be given both in the query and as a header" });
    const text = inQuery ?? inHeader;
    if (text !== null) texts[field] = text;
  }
  const carried = carriedBlocks(ask)[KEY_VENUE] ?? null;
  if (Object.keys(texts).length === 0) {
    if (carried !== null) return carried;
    throw new ServiceError("MISSING_PARAMETERS", { fields: FIELDS.map(required) });
  }
  if (carried !== null)
    throw invalidParameters({
      path: `credentials.${KEY_VENUE}`,
      problem: "must not be given together with the query or headers",
    });
  const missing = FIELDS.filter((field) => (texts[field] ?? "") === "");
  if (missing.length > 0) throw new ServiceError("MISSING_PARAMETERS", { fields: missing.map(required) });
  return checkedQuery(validate, texts, INTEGERS);
}

function required(path: string): FieldProblem {
  return { path, problem: "is required" };
}
