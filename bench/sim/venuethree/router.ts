/**
 * From a request to its route: budget, answer, refusals. Paths are `/`, `/info` and `/api/v1/<name>`; reads are GET,
 * transactions are POST with form fields. A token comes bare in `Authorization`, or the older way as `auth`.
 */
import type { SimHttpReply, SimHttpRequest } from "../core/server/server-types.js";
import { ACCOUNT_ROUTES } from "./account/account-routes.js";
import type { VenuethreeContext } from "./orders/context.js";
import { CODE, refusalReply, refuseParameter, VenuethreeRefusal } from "./wire/errors.js";
import { readForm } from "./wire/form.js";
import { printJson, type Row } from "./wire/json.js";
import { MARKET_ROUTES, ROOT_ROUTES, type Route } from "./market/market-routes.js";
import { ReadBudget } from "./records/read-budget.js";
import { sendTx, sendTxBatch } from "./orders/transaction-routes.js";

const PREFIX = "/api/v1/";
const SENDING = { sendTx, sendTxBatch } as const;

/** @testonly What README.md lists. */
export const SERVED_ROUTES: readonly string[] = [
  ...Object.keys(ROOT_ROUTES).map((path) => `GET ${path}`),
  ...Object.keys({ ...MARKET_ROUTES, ...ACCOUNT_ROUTES }).map((name) => `GET /api/v1 ${name}`),
  ...Object.keys(SENDING).map((name) => `POST /api/v1 ${name}`),
];

export class Router {
  readonly #context: VenuethreeContext;
  readonly #budget = new ReadBudget();

  constructor(context: VenuethreeContext) {
    this.#context = context;
  }

  handle(request: SimHttpRequest): SimHttpReply {
    try {
      return { status: 200, body: printJson(this.#answer(request)) };
    } catch (error) {
      if (!(error instanceof VenuethreeRefusal)) throw error;
      return refusalReply(error);
    }
  }

  #answer(request: SimHttpRequest): Row {
    const name = request.path.startsWith(PREFIX) ? request.path.slice(PREFIX.length) : "";
    if (request.method === "POST") return this.#post(request, name);
    const params = new URLSearchParams(request.query);
    const token = textOrNull(request.headers.authorization) ?? textOrNull(params.get("auth"));
    this.#budget.spend(this.#payer(request, token), name, this.#context.limits, request.receivedMs);
    const route = find(request, name);
    if (route === null) throw notFound();
    return route({ context: this.#context, params, token });
  }

  /** Transactions have a budget of their own, which their account pays from. */
  #post(request: SimHttpRequest, name: string): Row {
    const send = name === "sendTx" || name === "sendTxBatch" ? SENDING[name] : null;
    if (send === null) {
      this.#budget.spend(request.remoteAddress, name, this.#context.limits, request.receivedMs);
      throw notFound();
    }
    const form = readForm(request);
    if (form === null) throw refuseParameter("the body is no form");
    return send(this.#context, form, request.receivedMs);
  }

  /** A request with a good token counts for the owner of the account, any other for its address. */
  #payer(request: SimHttpRequest, token: string | null): string {
    if (token === null) return request.remoteAddress;
    try {
      return this.#context.tokens.accountOf(token).l1Address;
    } catch (error) {
      if (error instanceof VenuethreeRefusal) return request.remoteAddress;
      throw error;
    }
  }
}

function find(request: SimHttpRequest, name: string): Route | null {
  if (request.method !== "GET") return null;
  if (name === "") return own(ROOT_ROUTES, request.path);
  return own(MARKET_ROUTES, name) ?? own(ACCOUNT_ROUTES, name);
}

function own(routes: Readonly<Record<string, Route>>, name: string): Route | null {
  return Object.hasOwn(routes, name) ? (routes[name] ?? null) : null;
}

function textOrNull(text: string | null | undefined): string | null {
  return text === undefined || text === "" ? null : text;
}

function notFound(): VenuethreeRefusal {
  return new VenuethreeRefusal(CODE.notFound, "not found", 404);
}
