/** From a request to its route: read budget, answer, refusals. Paths are `/`, `/info` and `/api/v1/<name>`. */
import type { SimHttpReply, SimHttpRequest } from "../core/types.js";
import type { VenuethreeContext } from "./context.js";
import { CODE, refusalReply, VenuethreeRefusal } from "./errors.js";
import { printJson } from "./json.js";
import { MARKET_ROUTES, ROOT_ROUTES, type Route } from "./market-routes.js";
import { ReadBudget } from "./read-budget.js";

const PREFIX = "/api/v1/";

export class Router {
  readonly #context: VenuethreeContext;
  readonly #budget = new ReadBudget();

  constructor(context: VenuethreeContext) {
    this.#context = context;
  }

  handle(request: SimHttpRequest): SimHttpReply {
    try {
      const name = request.path.startsWith(PREFIX) ? request.path.slice(PREFIX.length) : "";
      this.#budget.spend(request.remoteAddress, name, this.#context.limits, request.receivedMs);
      const route = find(request, name);
      if (route === null) throw new VenuethreeRefusal(CODE.notFound, "not found", 404);
      const value = route({ context: this.#context, params: new URLSearchParams(request.query) });
      return { status: 200, body: printJson(value) };
    } catch (error) {
      if (!(error instanceof VenuethreeRefusal)) throw error;
      return refusalReply(error);
    }
  }
}

function find(request: SimHttpRequest, name: string): Route | null {
  if (request.method !== "GET") return null;
  const [routes, key] = name === "" ? [ROOT_ROUTES, request.path] : [MARKET_ROUTES, name];
  return Object.hasOwn(routes, key) ? (routes[key] ?? null) : null;
}
