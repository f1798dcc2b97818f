/**
 * GET /api/trade/executions/{routeId}: the current state of one close, in the form of its reply. With credentials
 * of the account (header X-Venue-Credentials) an order of unknown outcome is looked up at its venue first; without
 * them the state is only read.
 */
import type { Asker } from "../../../engine/orders/durable/execution-registry.js";
import { askerOf } from "../../http/caller.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import type { TradeData, TradeRequest } from "../../../engine/orders/types.js";
import { executionReplySchema } from "../../../schemas/executions.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { asServiceError } from "../../http/error-reply.js";
import { decodeComponent, invalidParameters, parseQuery } from "../../http/query.js";
import { scrub } from "../../../engine/domain/scrub.js";
import { CREDENTIALS_HEADER, CREDENTIALS_QUERY, readVenueCredentials } from "../venue-credentials.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";

/** Prefix of the references of single orders, which have no routed execution. */
const SINGLE_ORDER = "or_";
const ROUTE_ID = /^[A-Za-z0-9_-]{1,64}$/;

export function executionRoute({ edge, clock, desk }: RouteContext): Route {
  const serialise = compileSerialiser(executionReplySchema);

  async function answer(
    routeId: string,
    credentials: TradeRequest["credentials"] | null,
    asker: Asker,
  ): Promise<TradeData> {
    const asked =
      credentials === null
        ? ({ ok: true, data: await desk.execution(routeId, asker) } as const)
        : await desk.askExecution(routeId, credentials, asker);
    if (!asked.ok) throw invalidParameters({ path: `credentials.${asked.venue}`, problem: asked.problem });
    if (asked.data === null) {
      const single = routeId.startsWith(SINGLE_ORDER)
        ? { reason: "SINGLE_ORDER", see: OPERATIONS.orderStatus.path }
        : {};
      throw new ServiceError("EXECUTION_NOT_FOUND", { routeId, ...single });
    }
    return asked.data;
  }

  return {
    operation: OPERATIONS.execution,
    handle(response, request) {
      edge.checkTarget(request);
      const routeId = decodeComponent(request.getParameter(0), "routeId");
      if (!ROUTE_ID.test(routeId)) {
        throw invalidParameters({ path: "routeId", problem: "must be a routeId as a close reply gave it" });
      }
      const query = parseQuery(request.getQuery(), [CREDENTIALS_QUERY]);
      const credentials = readVenueCredentials(request.getHeader(CREDENTIALS_HEADER), query[CREDENTIALS_QUERY] ?? "");
      const reply = edge.detach(response);
      answer(routeId, credentials, askerOf(edge.caller))
        .then((data) => reply.json(scrub(serialise({ success: true, data, timestamp: clock.wallMs() }))))
        .catch((error: unknown) => reply.fail(asServiceError(error)));
    },
  };
}
