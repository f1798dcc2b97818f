import type { Validator } from "../../schemas/validate.js";
import { problemsError } from "../api/close-request.js";

/** Returns the frame as its schema types it; throws MISSING_PARAMETERS or INVALID_PARAMETERS. */
export function checked<T>(validate: Validator<T>, frame: unknown): T {
  const result = validate(frame);
  if (!result.ok) throw problemsError(result.problems);
  return result.value;
}
