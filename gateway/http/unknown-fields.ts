/**
 * What becomes of body fields that an operation does not know: refused by name where something is sent, changed or
 * armed (a misspelt `dryRun` must never trade), named in `X-Ignored-Fields` elsewhere. One place for all routes.
 */
import { type TSchema, Type } from "@sinclair/typebox";
import { ServiceError } from "../../engine/domain/errors.js";
import { type Operation, refusesUnknownFields } from "../../schemas/operation.js";
import { callerNames } from "../../schemas/spec-names.js";
import { compileValidator, unknownFields, type Validator } from "../../schemas/validate.js";
import { headerSafe } from "./edge.js";
import { scrub } from "./scrub.js";

/** Of an operation without a body: whatever else is in one is unknown. */
const NO_FIELDS = Type.Object(callerNames);

/**
 * Gives the header that names ignored fields, "" without any; `body` undefined: none was sent. Throws
 * INVALID_PARAMETERS, or MISSING_PARAMETERS where fields are missing too, with every problem of the body.
 */
export type FieldCheck = (body: unknown) => string;

/** `isStrict`: STRICT_FIELDS. */
export function fieldCheck(operation: Operation, isStrict: boolean): FieldCheck {
  const schema: TSchema = operation.body ?? NO_FIELDS;
  const refuses = isStrict && refusesUnknownFields(operation);
  // Compiled with the first refusal: requests without unknown fields never need it.
  let validate: Validator<unknown> | null = null;
  return (body) => {
    if (body === undefined) return "";
    const unknown = unknownFields(schema, body);
    if (unknown.length === 0) return "";
    // Scrubbed whole: of a key that was cut, a part would pass.
    if (!refuses) return `\r\nX-Ignored-Fields: ${headerSafe(unknown.map(scrub))}`;
    validate ??= compileValidator(schema);
    const checked = validate(body);
    const problems = checked.ok ? null : checked.problems;
    const named = unknown.map((path) => ({
      path: headerSafe([scrub(path)]),
      problem: "is not a field of this request",
    }));
    const fields = [...(problems?.fields ?? []), ...named];
    throw new ServiceError(problems?.missing === true ? "MISSING_PARAMETERS" : "INVALID_PARAMETERS", { fields });
  };
}
