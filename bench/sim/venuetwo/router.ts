/** From a request to its route: weight, authentication, answer, headers. Paths are `/fapi/<version>/<name>`. */
import { moneyText } from "../core/model/fixed.js";
import type { SimHttpReply, SimHttpRequest } from "../core/server/server-types.js";
import { accountRoutes } from "./account/account-routes.js";
import { AGENT_ROUTES } from "./account/agent-routes.js";
import { FEE_ROUTE } from "./account/money-routes.js";
import { moneyPage } from "./account/money-pages.js";
import type { WebDesk } from "./account/web-routes.js";
import { withdrawRoute } from "./account/withdraw-route.js";
import type { Caller } from "./records/auth.js";
import { type Call, RawJson, type Route, type SignedCall, type VenuetwoContext } from "./records/context.js";
import { refusalReply, refuse, VenuetwoRefusal } from "./wire/errors.js";
import { MARKET_ROUTES } from "./market/market-routes.js";
import { orderRoutes } from "./orders/order-routes.js";
import { Params } from "./wire/params.js";

/** Calls that exist in other versions than v1 and v3. */
const OTHER_VERSIONS: ReadonlySet<string> = new Set(["v2/balance", "v2/positionRisk", "v4/account", "v2/account"]);
/** Calls that exist in v3 only. */
const V3_ONLY: ReadonlySet<string> = new Set([
  "openInterest",
  "agent",
  "builder",
  "approveBuilder",
  "approveAgent",
  "updateAgent",
  "registerAndApproveAgent",
  "accountWithJoinMargin",
  "aster/user-withdraw",
  "aster/user-withdraw-info",
  "aster/deposit-withdraw-history",
]);
const NOT_IN_V1: ReadonlySet<string> = new Set(["balance", "account", "positionRisk"]);
/** Of a call that other versions have too, the methods that v3 alone has (fact sheet 5.3). */
const V3_ONLY_METHODS: ReadonlySet<string> = new Set(["PUT order"]);

const SPOT_VERSIONS = ["v1", "v3"] as const;
const TRANSFER = "POST asset/wallet/transfer";

/** The few spot calls that a futures client makes (fact sheet 9.2 and 9.5). There is no spot market here. */
const SPOT_ROUTES: Readonly<Record<string, Route>> = {
  "GET ping": { weight: 1, security: "none", answer: () => ({}) },
  "GET time": { weight: 1, security: "none", answer: ({ context }) => ({ serverTime: context.exchange.nowMs() }) },
  "GET exchangeInfo": {
    weight: 1,
    security: "none",
    answer: ({ context }) => ({
      timezone: "UTC",
      serverTime: context.exchange.nowMs(),
      rateLimits: [],
      exchangeFilters: [],
      assets: [{ asset: "USDT" }],
      symbols: [],
    }),
  },
  "GET account": {
    weight: 5,
    security: "signed",
    answer: ({ account, context }) => ({
      feeTier: 0,
      canTrade: true,
      canDeposit: true,
      canWithdraw: true,
      updateTime: context.exchange.nowMs(),
      balances: [{ asset: "USDT", free: moneyText(account.spotE12, 8), locked: "0" }],
    }),
  },
};

/** Versions in which a call of the futures API exists. */
function versionsOf(route: string): readonly string[] {
  const name = route.slice(route.indexOf(" ") + 1);
  const isInV1 = !V3_ONLY.has(name) && !NOT_IN_V1.has(name) && !V3_ONLY_METHODS.has(route);
  return ["v1", "v2", "v3", "v4"].filter(
    (version) => version === "v3" || (version === "v1" ? isInV1 : OTHER_VERSIONS.has(`${version}/${name}`)),
  );
}

/** What V1 keys call without a version in the path (fact sheet 9.3). */
const WITHOUT_VERSION = /^POST aster\//;

/** Every route under `<family>/<version> <method> <name>`, or without the version. */
function routeTable(): ReadonlyMap<string, Route> {
  const account = accountRoutes();
  const futures = { ...MARKET_ROUTES, ...orderRoutes(), ...account, ...AGENT_ROUTES };
  const transfer = account[TRANSFER];
  const spot = {
    ...SPOT_ROUTES,
    ...(transfer === undefined ? {} : { [TRANSFER]: transfer }),
    "POST aster/user-withdraw": withdrawRoute("spot"),
  };
  const table = new Map<string, Route>();
  for (const [name, route] of Object.entries(futures)) {
    for (const version of versionsOf(name)) table.set(`fapi/${version} ${name}`, route);
    if (WITHOUT_VERSION.test(name)) table.set(`fapi ${name}`, route);
  }
  table.set("api/v1 GET aster/withdraw/estimateFee", FEE_ROUTE);
  for (const [name, route] of Object.entries(spot))
    for (const version of SPOT_VERSIONS) table.set(`api/${version} ${name}`, route);
  return table;
}

/** @testonly What README.md lists. */
export const servedRoutes = (): readonly string[] => [...routeTable().keys()];

export class Router {
  readonly #context: VenuetwoContext;
  readonly #routes = routeTable();
  readonly #web: WebDesk;

  constructor(context: VenuetwoContext, web: WebDesk) {
    this.#context = context;
    this.#web = web;
  }

  async handle(request: SimHttpRequest): Promise<SimHttpReply> {
    if (this.#web.serves(request)) return this.#web.handle(request);
    const page = moneyPage(request, this.#context);
    if (page !== null) return page;
    const headers: Record<string, string> = {};
    try {
      const match = /^\/((?:fapi|api)(?:\/(v[1-4]))?)\/(.+)$/.exec(request.path);
      const [, place = "", version = "v1", name = ""] = match ?? [];
      const route = this.#routes.get(`${place} ${request.method} ${name}`);
      if (route === undefined) return notFound(request);
      const params = Params.of(request);
      this.#count(request, typeof route.weight === "number" ? route.weight : route.weight(params), headers);
      const value = await this.#answer(route, {
        context: this.#context,
        request,
        params,
        version,
        caller: null,
        headers,
      });
      return { status: 200, body: value instanceof RawJson ? value.text : JSON.stringify(value), headers };
    } catch (error) {
      if (!(error instanceof VenuetwoRefusal)) throw error;
      const reply = refusalReply(error);
      return { ...reply, headers: { ...headers, ...reply.headers } };
    }
  }

  #count(request: SimHttpRequest, weight: number, headers: Record<string, string>): void {
    headers["x-mbx-used-weight-1m"] = String(this.#context.limits.countRequest(request.remoteAddress, weight));
  }

  async #answer(route: Route, call: Call): Promise<unknown> {
    const { auth } = this.#context;
    if (route.security === "none" || route.security === "own") return route.answer(call);
    // Key-only calls are signed like everything else on V3.
    const keyOnly = route.security === "key" && !call.params.has("signature");
    const caller = keyOnly ? auth.byKey(call.request) : await auth.signed(call.request, call.params);
    if (!hasRight(caller, route.security)) throw refuse("keyRejected");
    return route.answer(this.#signedCall(call, caller));
  }

  #signedCall(call: Call, caller: Caller): SignedCall {
    const account = this.#context.exchange.accounts.find(caller.accountId);
    if (account === null) throw refuse("keyRejected");
    return { ...call, caller, account };
  }
}

function hasRight(caller: Caller, security: Route["security"]): boolean {
  if (security === "trade") return caller.canTrade;
  if (security === "transfer") return caller.canTransfer;
  return security !== "withdraw" || caller.canWithdraw;
}

/** As the parent dialect answers; the venue itself can answer HTML here. */
function notFound(request: SimHttpRequest): SimHttpReply {
  return {
    status: 404,
    body: JSON.stringify({ code: -5000, msg: `Path ${request.path}, Method ${request.method} is invalid` }),
  };
}
