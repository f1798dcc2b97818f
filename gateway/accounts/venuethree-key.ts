/**
 * The caller's own venuethree key, as interface spec 4.6 passes it: query parameters, or the same as headers, or the
 * credentials block of a body or of `X-Venue-Credentials`. Exactly one of these ways.
 *
 * Invariant: a refusal names fields, never values. The query is never logged (no line has a field for it).
 */
import { ServiceError } from "../../engine/domain/errors.js";
import type { FieldProblem } from "../../schemas/errors.js";
import { compileValidator } from "../../schemas/validate.js";
import { venuethreeOrderQuerySchema } from "../../schemas/venue-orders.js";
import { type Ask, checkedQuery } from "../http/json-route.js";
import { invalidParameters } from "../http/query.js";
import { carriedBlocks } from "./account-access.js";

const FIELDS = ["apiKeyPrivateKey", "apiKeyIndex", "accountIndex"] as const;
type Field = (typeof FIELDS)[number];

const HEADER_OF: Readonly<Record<Field, string>> = {
  apiKeyPrivateKey: "x-venuethree-api-key-private-key",
  apiKeyIndex: "x-venuethree-api-key-index",
  accountIndex: "x-venuethree-account-index",
};
export const VENUETHREE_KEY_HEADERS: readonly string[] = Object.values(HEADER_OF);

const validate = compileValidator(venuethreeOrderQuerySchema);

/**
 * Returns the raw block. Throws MISSING_PARAMETERS naming what is missing, INVALID_PARAMETERS for an index that is no
 * number.
 */
export function venuethreeBlock(ask: Ask): unknown {
  const texts: Record<string, string> = {};
  for (const field of FIELDS) {
    const inQuery = ask.query[field] ?? null;
    const inHeader = ask.headers[HEADER_OF[field]] ?? null;
    if (inQuery !== null && inHeader !== null)
      throw invalidParameters({ path: field, problem: "must not be given both in the query and as a header" });
    const text = inQuery ?? inHeader;
    if (text !== null) texts[field] = text;
  }
  const carried = carriedBlocks(ask).venuethree ?? null;
  if (Object.keys(texts).length === 0) {
    if (carried !== null) return carried;
    throw new ServiceError("MISSING_PARAMETERS", { fields: FIELDS.map(required) });
  }
  if (carried !== null)
    throw invalidParameters({
      path: "credentials.venuethree",
      problem: "must not be given together with the query or headers",
    });
  const missing = FIELDS.filter((field) => (texts[field] ?? "") === "");
  if (missing.length > 0) throw new ServiceError("MISSING_PARAMETERS", { fields: missing.map(required) });
  return checkedQuery(validate, texts, ["apiKeyIndex", "accountIndex"]);
}

function required(path: string): FieldProblem {
  return { path, problem: "is required" };
}
