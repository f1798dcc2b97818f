/** From a request to its route: credits, answer, envelope with all four keys. Paths are `/api/v1/<name>`. */
import type { SimHttpReply, SimHttpRequest } from "../core/types.js";
import { Credits } from "./credits.js";
import type { VenuefourContext } from "./context.js";
import { refusalReply, VenuefourRefusal } from "./errors.js";
import { MARKET_ROUTES, type Route } from "./market-routes.js";

const PREFIX = "/api/v1/";

export class Router {
  readonly #context: VenuefourContext;
  readonly #credits = new Credits();

  constructor(context: VenuefourContext) {
    this.#context = context;
  }

  handle(request: SimHttpRequest): SimHttpReply {
    const name = request.path.startsWith(PREFIX) ? request.path.slice(PREFIX.length) : "";
    const { isAllowed, headers } = this.#credits.spend(request, name, this.#context.limits);
    try {
      if (!isAllowed) throw new VenuefourRefusal(429, "Rate limit exceeded", 429);
      const route = find(request, name);
      // The web framework's own answer: no body.
      if (route === null) return { status: 404, body: "", contentType: "text/plain; charset=utf-8", headers };
      const { data, more } = route({ context: this.#context, params: new URLSearchParams(request.query) });
      return { status: 200, body: JSON.stringify({ success: true, data, error: null, code: null, ...more }), headers };
    } catch (error) {
      if (!(error instanceof VenuefourRefusal)) throw error;
      return { ...refusalReply(error), headers };
    }
  }
}

function find(request: SimHttpRequest, name: string): Route | null {
  if (request.method !== "GET" || !Object.hasOwn(MARKET_ROUTES, name)) return null;
  return MARKET_ROUTES[name] ?? null;
}
