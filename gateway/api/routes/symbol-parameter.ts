/** The `{symbol}` of a path: shape only; the market view knows whether a venue lists it. */
import { symbolText } from "../../../schemas/common.js";
import { compileValidator } from "../../../schemas/validate.js";
import { invalidParameters } from "../../http/query.js";

const validate = compileValidator(symbolText());

/** Returns the text unchanged; throws INVALID_PARAMETERS. */
export function checkSymbolText(text: string): string {
  const checked = validate(text);
  if (checked.ok) return text;
  throw invalidParameters({ path: "symbol", problem: checked.problems.fields[0]?.problem ?? "is not valid" });
}
