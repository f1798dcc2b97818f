/**
 * GET /api/trade/executions/{routeId}: the current state of one close, as its reply would read now. An outcome still
 * unknown is looked up again when the close is repeated with its Idempotency-Key and credentials; this route takes none.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import { executionReplySchema } from "../../schemas/executions.js";
import { OPERATIONS } from "../../schemas/operations.js";
import { compileSerialiser } from "../../schemas/serialise.js";
import { asServiceError } from "../http/error-reply.js";
import { decodeComponent, invalidParameters } from "../http/query.js";
import { scrub } from "../http/scrub.js";
import type { Route, RouteContext } from "./context.js";

const ROUTE_ID = /^[A-Za-z0-9_-]{1,64}$/;

export function executionRoute({ edge, clock, desk }: RouteContext): Route {
  const serialise = compileSerialiser(executionReplySchema);
  return {
    operation: OPERATIONS.execution,
    handle(response, request) {
      edge.checkTarget(request);
      const routeId = decodeComponent(request.getParameter(0), "routeId");
      if (!ROUTE_ID.test(routeId)) {
        throw invalidParameters({ path: "routeId", problem: "must be a routeId as a close reply gave it" });
      }
      const reply = edge.detach(response);
      desk
        .execution(routeId)
        .then((data) => {
          if (data === null) reply.fail(new ServiceError("EXECUTION_NOT_FOUND", { routeId }));
          else reply.json(scrub(serialise({ success: true, data, timestamp: clock.wallMs() })));
        })
        .catch((error: unknown) => reply.fail(asServiceError(error)));
    },
  };
}
