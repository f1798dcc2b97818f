/** POST /api/trade/position/close: spec 4.7. */
import { closeReplySchema, closeRequestSchema } from "../../../schemas/close.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileValidator } from "../../../schemas/validate.js";
import { buildCloseRequest, withSize } from "../close-request.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";
import { tradeRoute } from "./position-trade.js";

export function positionCloseRoute(context: RouteContext): Route {
  const validate = compileValidator(closeRequestSchema);
  return tradeRoute(context, {
    operation: OPERATIONS.positionClose,
    replySchema: closeReplySchema,
    complete: (problems, body) => withSize(problems, body, "sizePercent"),
    build: (parsed) => buildCloseRequest(parsed, validate, context.view, context.closeDefaults),
  });
}
