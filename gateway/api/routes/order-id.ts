/** The `{orderId}` and `{switchId}` of a path: shape only. */
import { orderIdText } from "../../../schemas/account-common.js";
import { compileValidator } from "../../../schemas/validate.js";
import { invalidParameters } from "../../http/query.js";

const validate = compileValidator(orderIdText);

/** Returns the text unchanged; throws INVALID_PARAMETERS. */
export function checkOrderId(text: string, path = "orderId"): string {
  const checked = validate(text);
  if (checked.ok) return text;
  throw invalidParameters({ path, problem: checked.problems.fields[0]?.problem ?? "is not valid" });
}
