/** POST /api/trade/position/open: routing design, section 4. */
import { openReplySchema, openRequestSchema } from "../../../schemas/open.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileValidator } from "../../../schemas/validate.js";
import { withSize } from "../close-request.js";
import { buildOpenRequest } from "../open-request.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";
import { tradeRoute } from "./position-trade.js";

export function positionOpenRoute(context: RouteContext): Route {
  const validate = compileValidator(openRequestSchema);
  return tradeRoute(context, {
    operation: OPERATIONS.positionOpen,
    replySchema: openReplySchema,
    complete: (problems, body) => withSize(problems, body, "notionalUsd"),
    build: (parsed) => buildOpenRequest(parsed, validate, context.view, context.closeDefaults),
  });
}
