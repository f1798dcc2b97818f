/** The `{symbol}` of a path: shape only; whether a venue lists it is the market view's to say. */
import { symbolText } from "../../../schemas/common.js";
import { compileValidator } from "../../../schemas/validate.js";
import { invalidParameters } from "../../http/query.js";

const validate = compileValidator(symbolText());

/** The text itself; throws INVALID_PARAMETERS. */
export function checkSymbolText(text: string): string {
  const checked = validate(text);
  if (checked.ok) return text;
  throw invalidParameters({ path: "symbol", problem: checked.problems.fields[0]?.problem ?? "is not valid" });
}
