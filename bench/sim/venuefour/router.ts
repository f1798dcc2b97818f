/** From a request to its route: credits, answer, envelope with all four keys. Paths are `/api/v1/<name>`. */
import type { SimHttpReply, SimHttpRequest } from "../core/server/server-types.js";
import { accountRoutes } from "./account/account-routes.js";
import type { AccountSettings } from "./orders/account-settings.js";
import type { Actions } from "./orders/actions.js";
import type { Credits } from "./records/credits.js";
import type { VenuefourContext } from "./orders/context.js";
import { refusalReply, VenuefourRefusal } from "./wire/errors.js";
import { type Answer, MARKET_ROUTES, type Route } from "./market/market-routes.js";
import { OPERATION_OF_PATH } from "./wire/operations.js";

const PREFIX = "/api/v1/";
const BATCH = "orders/batch";

function readRoutes(settings: Pick<AccountSettings, "print">): Readonly<Record<string, Route<VenuefourContext>>> {
  return { ...MARKET_ROUTES, ...accountRoutes(settings) };
}

/** @testonly What README.md lists. */
export function servedRoutes(settings: Pick<AccountSettings, "print">): readonly string[] {
  return [
    ...Object.keys(readRoutes(settings)).map((name) => `GET ${name}`),
    ...[...OPERATION_OF_PATH.keys(), BATCH].map((name) => `POST ${name}`),
  ];
}

export interface RouterDeps {
  readonly context: VenuefourContext;
  readonly actions: Actions;
  readonly credits: Credits;
}

export class Router {
  readonly #deps: RouterDeps;
  readonly #reads: ReadonlyMap<string, Route<VenuefourContext>>;

  constructor(deps: RouterDeps) {
    this.#deps = deps;
    this.#reads = new Map(Object.entries(readRoutes(deps.actions.settings)));
  }

  async handle(request: SimHttpRequest): Promise<SimHttpReply> {
    const { context, credits } = this.#deps;
    const name = request.path.startsWith(PREFIX) ? request.path.slice(PREFIX.length) : "";
    const { remoteAddress, receivedMs: nowMs } = request;
    const spender = { configKey: request.headers["pf-api-key"], remoteAddress, nowMs };
    const { isAllowed, headers } = credits.spend(spender, name, context.limits);
    try {
      if (!isAllowed) throw new VenuefourRefusal(429, "Rate limit exceeded", 429);
      const answer = await this.#answer(request, name);
      // The web framework's own answer: no body.
      if (answer === null) return { status: 404, body: "", contentType: "text/plain; charset=utf-8", headers };
      const { data, more } = answer;
      return { status: 200, body: JSON.stringify({ success: true, data, error: null, code: null, ...more }), headers };
    } catch (error) {
      if (!(error instanceof VenuefourRefusal)) throw error;
      return { ...refusalReply(error, context.quirks), headers };
    }
  }

  async #answer(request: SimHttpRequest, name: string): Promise<Answer | null> {
    const { context, actions } = this.#deps;
    const read = request.method === "GET" ? this.#reads.get(name) : undefined;
    if (read !== undefined) return read({ context, params: new URLSearchParams(request.query) });
    if (request.method !== "POST") return null;
    if (name === BATCH) return { data: { results: await actions.runBatch(bodyOf(request)) } };
    const operation = OPERATION_OF_PATH.get(name);
    if (operation === undefined) return null;
    return { data: (await actions.run(operation, bodyOf(request))).data };
  }
}

function bodyOf(request: SimHttpRequest): unknown {
  try {
    return JSON.parse(request.body.toString("utf8")) as unknown;
  } catch {
    throw new VenuefourRefusal(400, "Failed to parse the request body as JSON", null);
  }
}
