/** GET /api/trade/routing/{symbol}: the best exit over live books; public, no positions, nothing sent. */
import { ServiceError } from "../../../engine/domain/errors.js";
import { QUOTE_TTL_MS } from "../../../engine/orders/request/quote-book.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { routingQuerySchema, routingReplySchema } from "../../../schemas/routing.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import { checkExact, problemsError } from "../close-request.js";
import { decodeComponent, parseQuery } from "../../http/query.js";
import { checkSymbolText } from "./symbol-parameter.js";
import type { RouteContext } from "./context.js";
import type { Route } from "../../http/route.js";

const QUERY_NAMES = Object.keys(routingQuerySchema.properties);
const INTEGER_NAMES = ["maxSlippageBps", "maxQuoteAgeMs", "quoteTtlMs"];

export function routingDryRunRoute({ edge, clock, view, desk, closeDefaults }: RouteContext): Route {
  const validate = compileValidator(routingQuerySchema);
  const serialise = compileSerialiser(routingReplySchema, ["data.routing", "data.quote"]);
  return {
    operation: OPERATIONS.routingDryRun,
    handle(response, request) {
      edge.checkTarget(request);
      const text = checkSymbolText(decodeComponent(request.getParameter(0), "symbol"));
      const query = validate(withIntegers(parseQuery(request.getQuery(), QUERY_NAMES)));
      if (!query.ok) throw problemsError(query.problems);
      const { side, size, preferredExchange } = query.value;
      checkExact(size, "size");
      const answer = desk.quote(
        {
          symbol: view.resolve(text),
          side,
          size,
          maxSlippageBps: query.value.maxSlippageBps ?? closeDefaults.maxSlippageBps,
          maxQuoteAgeMs: query.value.maxQuoteAgeMs ?? closeDefaults.maxQuoteAgeMs,
          quoteTtlMs: query.value.quoteTtlMs ?? QUOTE_TTL_MS,
          preferredExchange: preferredExchange ?? null,
          excludeExchanges: [],
        },
        edge.caller.ownerId,
      );
      if (!answer.ok) {
        const refusal = new ServiceError(answer.code, answer.details);
        if (query.value.refusals !== "body") throw refusal;
        edge.refusal(response, refusal);
        return;
      }
      const data = { routing: answer.routing, quote: answer.quote };
      edge.ok(response, serialise({ success: true, data, timestamp: clock.wallMs() }));
    },
  };
}

/**
 * A query has texts only; where the schema requires an integer, digits become one. Any other text is kept and refused.
 */
function withIntegers(query: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  let values: Record<string, unknown> | null = null;
  for (const name of INTEGER_NAMES) {
    const text = query[name];
    if (text === undefined || !/^[0-9]{1,9}$/.test(text)) continue;
    values ??= { ...query };
    values[name] = Number(text);
  }
  return values ?? query;
}
