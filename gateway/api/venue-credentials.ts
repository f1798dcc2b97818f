/**
 * Per-request credentials of routes whose schema does not include them: header `X-Venue-Credentials`, query parameter
 * `credentials`, or a JSON body (also of a GET).
 *
 * Invariant: a refusal names the field and what is wrong with it, never a byte of its value; nothing is kept.
 */
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import type { TradeRequest } from "../../engine/orders/types.js";
import { type CloseRequestBody, credentialsSchema } from "../../schemas/close.js";
import { MAX_VENUE_CREDENTIALS_CHARS } from "../../schemas/executions.js";
import { compileValidator } from "../../schemas/validate.js";
import { presentCredentials } from "./close-request.js";
import { parseJsonBody } from "../http/json-body.js";
import { invalidParameters } from "../http/query.js";

export const CREDENTIALS_HEADER = "x-venue-credentials";
export const CREDENTIALS_QUERY = "credentials";

const BASE64URL = /^[A-Za-z0-9_-]+={0,2}$/;

const validate = compileValidator(credentialsSchema);

/** A text that is absent is "". Returns null without either. Throws INVALID_PARAMETERS. */
export function readVenueCredentials(header: string, query: string): TradeRequest["credentials"] | null {
  if (header === "" && query === "") return null;
  if (header !== "" && query !== "") {
    throw invalidParameters({
      path: CREDENTIALS_QUERY,
      problem: "must not be given together with X-Venue-Credentials",
    });
  }
  const path = header === "" ? CREDENTIALS_QUERY : "X-Venue-Credentials";
  const text = header === "" ? query : header;
  if (text.length > MAX_VENUE_CREDENTIALS_CHARS) {
    throw invalidParameters({ path, problem: `must have at most ${MAX_VENUE_CREDENTIALS_CHARS} characters` });
  }
  return checkBlocks(decodeText(text, path), path);
}

/**
 * Returns the credentials in a JSON body: its field `credentials`, or the body itself where it has blocks of venues;
 * null without either. Throws INVALID_PARAMETERS.
 */
export function readBodyCredentials(body: unknown): TradeRequest["credentials"] | null {
  if (body === undefined) return null;
  if (!isObject(body)) throw invalidParameters({ path: "body", problem: "must be a JSON object" });
  const isWhole =
    !Object.hasOwn(body, CREDENTIALS_QUERY) && ROUTABLE_VENUES.some((venue) => Object.hasOwn(body, venue));
  const blocks = isWhole ? body : body[CREDENTIALS_QUERY];
  return blocks === null || blocks === undefined ? null : checkBlocks(blocks, CREDENTIALS_QUERY);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** The query also takes the JSON itself, as some clients send it. */
function decodeText(text: string, path: string): unknown {
  const isPlain = path === CREDENTIALS_QUERY && text.startsWith("{");
  if (!isPlain && !BASE64URL.test(text)) throw invalidParameters({ path, problem: "must be base64url" });
  const parsed = parseJsonBody(isPlain ? Buffer.from(text, "utf8") : Buffer.from(text, "base64url"));
  if (!parsed.ok) throw invalidParameters({ path, problem: "must be the base64url form of one JSON object" });
  return parsed.value;
}

function checkBlocks(value: unknown, path: string): TradeRequest["credentials"] {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw invalidParameters({ path, problem: "must be a JSON object with one block per venue" });
  const checked = validate(value);
  if (!checked.ok) {
    throw invalidParameters(
      ...checked.problems.fields.map((field) => ({ path: `${path}.${field.path}`, problem: field.problem })),
    );
  }
  return presentCredentials(checked.value as CloseRequestBody["credentials"]);
}
