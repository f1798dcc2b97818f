/**
 * Handles body fields and query parameters that an operation does not know: refused by name where something is sent,
 * changed or armed (a misspelt `dryRun` must never trade), named in `X-Ignored-Fields` elsewhere. One place for all
 * routes.
 */
import { type TSchema, Type } from "@sinclair/typebox";
import { ServiceError } from "../../engine/domain/errors.js";
import { type Operation, refusesUnknownFields } from "../../schemas/operation.js";
import type { Problems } from "../../schemas/problems.js";
import { callerNames } from "../../schemas/spec-names.js";
import { compileValidator, unknownFields, type Validator } from "../../schemas/validate.js";
import { headerSafe } from "./edge.js";
import { queryNames } from "./query.js";
import { scrub } from "../../engine/domain/scrub.js";

/** For an operation without a body: every field in one is unknown. */
const NO_FIELDS = Type.Object(callerNames);

/**
 * Returns the header that names ignored fields, "" without any; `body` undefined: none was sent. Throws
 * INVALID_PARAMETERS, or MISSING_PARAMETERS where fields are missing too, with every problem of the body.
 * `ignoredNames`: ignored names of the query, included in the header.
 */
export type FieldCheck = (body: unknown, ignoredNames?: readonly string[]) => string;

const NO_NAMES: readonly string[] = [];
const NO_PROBLEMS: Problems = { missing: false, fields: [] };
/** At most this many names of query parameters are refused or reported. */
const MAX_QUERY_NAMES = 8;

/**
 * Like a check of fields, for the query of an operation that sends, changes or arms something; reads ignore unknown
 * parameters. Returns the names to report, as `query.<name>`.
 */
export function queryCheck(operation: Operation, isStrict: boolean): (raw: string | undefined) => readonly string[] {
  const { properties } = (operation.query ?? {}) as { readonly properties?: object };
  const known = new Set([...Object.keys(properties ?? {}), ...Object.keys(callerNames)]);
  if (!refusesUnknownFields(operation)) return () => NO_NAMES;
  return (raw) => {
    if (raw === undefined || raw === "") return NO_NAMES;
    const unknown = new Set<string>();
    for (const name of queryNames(raw)) if (!known.has(name) && unknown.size < MAX_QUERY_NAMES) unknown.add(name);
    const paths = [...unknown].map((name) => headerSafe([scrub(`query.${name}`)]));
    if (paths.length === 0 || !isStrict) return paths;
    const fields = paths.map((path) => ({ path, problem: "is not a parameter of this request" }));
    throw new ServiceError("INVALID_PARAMETERS", { fields });
  };
}

/** Adds problems of a body that its schema cannot express to those that it can. */
export type Completing = (problems: Problems, body: object) => Problems;

/** `isStrict`: STRICT_FIELDS. `complete`: for the bodies of this operation. */
export function fieldCheck(operation: Operation, isStrict: boolean, complete: Completing | null = null): FieldCheck {
  const schema: TSchema = operation.body ?? NO_FIELDS;
  const refuses = isStrict && refusesUnknownFields(operation);
  // Compiled at the first refusal: requests without unknown fields never need it.
  let validate: Validator<unknown> | null = null;
  return (body, ignoredNames = NO_NAMES) => {
    const unknown = body === undefined ? NO_NAMES : unknownFields(schema, body);
    if (unknown.length === 0 && ignoredNames.length === 0) return "";
    // Scrubbed before cutting: a part of a cut key would pass the scrub.
    if (!refuses) return `\r\nX-Ignored-Fields: ${headerSafe([...unknown.map(scrub), ...ignoredNames])}`;
    validate ??= compileValidator(schema);
    const checked = validate(body);
    const found = checked.ok ? null : checked.problems;
    const isObject = body !== null && typeof body === "object";
    const problems = complete === null || !isObject ? found : complete(found ?? NO_PROBLEMS, body);
    const named = unknown.map((path) => ({
      path: headerSafe([scrub(path)]),
      problem: "is not a field of this request",
    }));
    const fields = [...(problems?.fields ?? []), ...named];
    throw new ServiceError(problems?.missing === true ? "MISSING_PARAMETERS" : "INVALID_PARAMETERS", { fields });
  };
}
