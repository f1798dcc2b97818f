/** What the rest of the program knows of venuetwo: what an operator may set, and its room made of it. */
import { isIP } from "node:net";
import { parseScaledBig } from "../../engine/domain/decimal.js";
import { readDepositPairs, withDefaults } from "../shared/room/deposit-pairs.js";
import {
  AGENT_DAYS,
  BUDGET_MAX,
  defineVenue,
  depositOptions,
  FEE_OPTIONS,
  HTTP_CONNECTIONS,
} from "../shared/room/venue-descriptor.js";
import { SPOT_WEIGHT_PER_MINUTE, WEB_CALLS_PER_MINUTE } from "./money/hosts.js";
import { DEFAULT_ROUTES, type VenuetwoRouteOptions } from "./money/routes.js";
import { recordings } from "./replay.js";
import { createVenuetwoRoom } from "./room.js";
import { custodyActs } from "./sign/custody-acts.js";
import { tickerFields } from "./ticker.js";
import { vectors } from "./vectors.js";

export const venuetwo = defineVenue({
  venue: "venuetwo",
  ticker: tickerFields,
  // Positions and open orders weigh 5 and 40 of 2400 a minute.
  paces: {
    positions: { looksPerMinute: 40, intervalMsMin: 5_000 },
    orders: { looksPerMinute: 4, intervalMsMin: 15_000 },
  },
  vectors,
  recordings,
  custodyActs,
  options: {
    REST_URL: { kind: "url", default: "https://fapi.asterdex.com", doc: "Base URL of its REST API." },
    WS_URL: { kind: "url", default: "wss://fstream.asterdex.com", doc: "Base URL of its WebSocket." },
    MAINNET: {
      kind: "boolean",
      default: true,
      doc: "Signs for its main network; false for its test network.",
    },
    ...FEE_OPTIONS,
    REST_WEIGHT_PER_MINUTE: {
      kind: "integer",
      min: 1,
      max: BUDGET_MAX,
      default: 1920,
      doc: "Request weight per minute; the venue grants 2400, the rest is margin for what else runs on this address.",
    },
    ORDERS_PER_MINUTE: {
      kind: "integer",
      min: 1,
      max: BUDGET_MAX,
      default: 960,
      doc: "Orders per minute and account; the venue grants 1200.",
    },
    ORDERS_PER_10_SECONDS: {
      kind: "integer",
      min: 1,
      max: BUDGET_MAX,
      default: 240,
      doc: "Orders per ten seconds and account; the venue grants 300.",
    },
    HTTP_CONNECTIONS,
    STREAM_LAYOUT: {
      kind: "word",
      words: ["single", "split"],
      default: "single",
      doc: "`single`: one host path for all streams. `split`: book data and the rest under paths of their own (sister dialect).",
    },
    AGENT_DAYS,
    AGENT_IP_WHITELIST: {
      kind: "list",
      default: [],
      doc: "Addresses or networks (`192.0.2.10,198.51.100.0/24`) from which agents of server wallets may withdraw. Empty: none may, and the co-signer's policy needs no act for it.",
    },
    KEY_FLOW: {
      kind: "word",
      words: ["v3", "v1"],
      default: "v3",
      doc: "Keys of server wallets. `v3`: agents that the wallet approves. `v1`: keys with a secret that the venue makes; it makes no new ones since March 2026 but for accounts that it still grants them.",
    },
    WEB_URL: {
      kind: "url",
      default: "https://www.asterdex.com",
      doc: "Base URL of its web gateway, which estimates fees of withdrawals, and where keys of the flow `v1` are made.",
    },
    SPOT_URL: {
      kind: "url",
      default: "https://sapi.asterdex.com",
      doc: "Base URL of its spot market, for the balances of its spot account and withdrawals from it.",
    },
    SPOT_WEIGHT_PER_MINUTE: {
      kind: "integer",
      min: 1,
      max: BUDGET_MAX,
      default: SPOT_WEIGHT_PER_MINUTE,
      doc: "Request weight per minute of its spot market; an account read weighs 5. What the host grants is not stated.",
    },
    WEB_CALLS_PER_MINUTE: {
      kind: "integer",
      min: 1,
      max: BUDGET_MAX,
      default: WEB_CALLS_PER_MINUTE,
      doc: "Requests per minute of its web gateway: estimates of fees, withdrawals, keys of the flow `v1`. What it grants is not stated.",
    },
    ...depositOptions(
      "vault",
      "1",
      "What the venue itself takes is not stated.",
      "A pair takes the place of the default one of its chain and symbol (USDT on chain 56), or comes beside it.",
    ),
    API_KEY: {
      kind: "secret",
      default: "",
      doc: "Key for the venuetwo ticker (interface spec 5.5). Never sent: see Tickers and time.",
    },
    API_SECRET: { kind: "secret", default: "", doc: "Secret for the venuetwo ticker." },
    TICKER_AUTH: {
      kind: "word",
      words: ["optional", "required"],
      default: "optional",
      doc: "`required`: without the two above the venuetwo ticker answers 401, and its place in the aggregate holds that error. The ticker is public at the venue, so `optional` needs nothing.",
    },
  },
  createRoom: ({ fees, ...parts }, values) =>
    createVenuetwoRoom({
      ...parts,
      ...(fees === null ? {} : { fees }),
      restUrl: values.REST_URL,
      wsUrl: values.WS_URL,
      isMainnet: values.MAINNET,
      keys: {
        agentDays: values.AGENT_DAYS,
        ipWhitelist: values.AGENT_IP_WHITELIST,
        areIssued: values.KEY_FLOW === "v1",
      },
      moneyRoutes: routesOf(values.DEPOSIT_PAIRS, values.MINIMUM_DEPOSIT_AMOUNT),
      hosts: {
        spotUrl: values.SPOT_URL,
        spotWeightPerMinute: values.SPOT_WEIGHT_PER_MINUTE,
        webUrl: values.WEB_URL,
        webCallsPerMinute: values.WEB_CALLS_PER_MINUTE,
      },
      streamHostLayout: values.STREAM_LAYOUT === "split" ? "split" : "single",
      limits: {
        weightPerMinute: values.REST_WEIGHT_PER_MINUTE,
        ordersPerMinute: values.ORDERS_PER_MINUTE,
        ordersPer10Seconds: values.ORDERS_PER_10_SECONDS,
        httpConnections: values.HTTP_CONNECTIONS,
      },
    }),
  problems: (values, name) => [
    ...pairProblems(values.DEPOSIT_PAIRS, values.MINIMUM_DEPOSIT_AMOUNT, name("DEPOSIT_PAIRS")),
    ...((values.API_KEY === "") === (values.API_SECRET === "")
      ? []
      : [`${name("API_KEY")} and ${name("API_SECRET")} must be set together`]),
    ...(values.AGENT_IP_WHITELIST.every(isNetwork)
      ? []
      : [`${name("AGENT_IP_WHITELIST")} must be IP addresses, or networks with a prefix length, separated by commas`]),
  ],
  refusesTicker: (values) => values.TICKER_AUTH === "required" && values.API_KEY === "",
});

function routesOf(pairs: string, minimum: string): readonly VenuetwoRouteOptions[] {
  const read = readDepositPairs(pairs, "vault", minimum);
  const own = read.ok ? read.pairs.map(({ contract, ...pair }) => ({ ...pair, vault: contract })) : [];
  const defaults = DEFAULT_ROUTES.map((route) => ({
    ...route,
    minimum: parseScaledBig(minimum, route.decimals) ?? route.minimum,
  }));
  return withDefaults<VenuetwoRouteOptions>(own, defaults);
}

function pairProblems(pairs: string, minimum: string, name: string): readonly string[] {
  const read = readDepositPairs(pairs, "vault", minimum);
  return read.ok ? [] : [`${name} ${read.problem}`];
}

/** `192.0.2.10`, `198.51.100.0/24`, and the same of IPv6. */
function isNetwork(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1;
  if (rest.length > 0 || bits < 0 || address.includes("%")) return false;
  return prefix === undefined || (/^(?:0|[1-9][0-9]{0,2})$/.test(prefix) && Number(prefix) <= bits);
}
