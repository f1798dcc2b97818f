/** Public pages of the web gateway about money, fact sheet 9.3 and 9.4: what can be moved on which chain, and for what fee. */
import { WORLD, WORLD_CHAIN_IDS, worldToken } from "../../chain/world-plan.js";
import type { SimHttpReply, SimHttpRequest } from "../../core/server/server-types.js";
import type { VenuetwoContext } from "../records/context.js";
import { ASSET } from "../records/money-desk.js";
import { printFee } from "./withdraw-fees.js";

const PREFIX = "/bapi/futures/v1/public/future/aster/";

type Page = (query: URLSearchParams, context: VenuetwoContext) => string | null;

const PAGES: Readonly<Record<string, Page>> = {
  "estimate-withdraw-fee": (query) =>
    query.get("currency") === ASSET ? printFee(Number(query.get("chainId") ?? 0)) : null,
  "deposit/assets": (query, context) => JSON.stringify(assets(query, context, "depositType")),
  "withdraw/assets": (query, context) => JSON.stringify(assets(query, context, "withdrawType")),
};

/** @testonly What README.md lists. */
export const MONEY_PAGES: readonly string[] = Object.keys(PAGES).map((name) => `/bapi GET ${name}`);

/** Null where the request is for none of them. */
export function moneyPage({ method, path, query }: SimHttpRequest, context: VenuetwoContext): SimHttpReply | null {
  if (method !== "GET" || !path.startsWith(PREFIX)) return null;
  const name = path.slice(PREFIX.length);
  const page = Object.hasOwn(PAGES, name) ? PAGES[name] : undefined;
  if (page === undefined) return null;
  const data = page(new URLSearchParams(query), context);
  const head = data === null ? `"code":"000002","message":"Illegal parameter."` : `"code":"000000","message":null`;
  return { status: 200, body: `{${head},"messageDetail":null,"data":${data},"success":${data !== null}}` };
}

/** `chainIds` is a list with commas; without it all are meant. */
function assets(query: URLSearchParams, { money }: VenuetwoContext, kind: "depositType" | "withdrawType") {
  const asked = query.get("chainIds")?.split(",").map(Number);
  return WORLD_CHAIN_IDS.filter(
    (chainId) => money.decimals(chainId) !== null && (asked === undefined || asked.includes(chainId)),
  ).map((chainId, index) => {
    const { symbol, address, decimals } = worldToken(WORLD[chainId].chainId, ASSET);
    return {
      ...{ name: symbol, displayName: symbol, contractAddress: address, decimals, network: "EVM", chainId },
      ...{ [kind]: "normal", rank: index + 1, isNative: false, isProfit: true, tokenMint: null, tokenVault: null },
    };
  });
}
