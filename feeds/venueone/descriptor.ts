/** What the rest of the program knows of venueone: what an operator may set, and its room made of it. */
import { compareDecimals, parseScaledBig } from "../../engine/domain/decimal.js";
import { readDepositPairs } from "../shared/room/deposit-pairs.js";
import {
  AGENT_DAYS,
  BUDGET_MAX,
  defineVenue,
  depositOptions,
  FEE_OPTIONS,
  HTTP_CONNECTIONS,
} from "../shared/room/venue-descriptor.js";
import { DEFAULT_ROUTES, type VenueoneRouteOptions } from "./money/routes.js";
import { recordings } from "./replay.js";
import { createVenueoneRoom } from "./room.js";
import { custodyActs } from "./sign/custody-acts.js";
import { tickerFields } from "./ticker.js";
import { vectors } from "./vectors.js";

/** USDC. */
const LEAST_DEPOSIT = "5";

export const venueone = defineVenue({
  venue: "venueone",
  ticker: tickerFields,
  // Positions and open orders weigh 2 and 20 of 1200 a minute.
  paces: {
    positions: { looksPerMinute: 60, intervalMsMin: 5_000 },
    orders: { looksPerMinute: 3, intervalMsMin: 20_000 },
  },
  readsNameAccount: true,
  vectors,
  recordings,
  custodyActs,
  options: {
    REST_URL: { kind: "url", default: "https://api.hyperliquid.xyz", doc: "Base URL of its REST API." },
    WS_URL: { kind: "url", default: "wss://api.hyperliquid.xyz/ws", doc: "URL of its WebSocket." },
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
      default: 1200,
      doc: "Request weight per minute that the venue grants this address; the lanes share it.",
    },
    HTTP_CONNECTIONS,
    AGENT_DAYS,
    ...depositOptions(
      "bridge",
      LEAST_DEPOSIT,
      `Not below ${LEAST_DEPOSIT}: the bridge keeps a smaller one, and the venue credits nobody.`,
      "One pair at most, in the place of the default one (USDC on chain 42161, or that of the test network).",
    ),
  },
  createRoom: ({ fees, ...parts }, values) =>
    createVenueoneRoom({
      ...parts,
      ...(fees === null ? {} : { fees }),
      restUrl: values.REST_URL,
      wsUrl: values.WS_URL,
      isMainnet: values.MAINNET,
      agentDays: values.AGENT_DAYS,
      moneyRoute: routeOf(values),
      limits: { restWeightPerMinute: values.REST_WEIGHT_PER_MINUTE, httpConnections: values.HTTP_CONNECTIONS },
    }),
  problems(values, name) {
    const read = readDepositPairs(values.DEPOSIT_PAIRS, "bridge", values.MINIMUM_DEPOSIT_AMOUNT);
    return [
      ...(read.ok ? [] : [`${name("DEPOSIT_PAIRS")} ${read.problem}`]),
      ...(read.ok && read.pairs.length > 1 ? [`${name("DEPOSIT_PAIRS")} must have one pair at most`] : []),
      ...(compareDecimals(values.MINIMUM_DEPOSIT_AMOUNT, LEAST_DEPOSIT) < 0
        ? [`${name("MINIMUM_DEPOSIT_AMOUNT")} must be ${LEAST_DEPOSIT} at least: less would be lost`]
        : []),
    ];
  },
});

function routeOf(values: {
  readonly DEPOSIT_PAIRS: string;
  readonly MINIMUM_DEPOSIT_AMOUNT: string;
  readonly MAINNET: boolean;
}): VenueoneRouteOptions {
  const { MAINNET, DEPOSIT_PAIRS, MINIMUM_DEPOSIT_AMOUNT } = values;
  const read = readDepositPairs(DEPOSIT_PAIRS, "bridge", MINIMUM_DEPOSIT_AMOUNT);
  const [pair] = read.ok ? read.pairs : [];
  if (pair !== undefined) {
    const { contract, ...rest } = pair;
    return { ...rest, bridge: contract };
  }
  const route = DEFAULT_ROUTES[MAINNET ? "main" : "test"];
  return { ...route, minimum: parseScaledBig(MINIMUM_DEPOSIT_AMOUNT, route.decimals) ?? route.minimum };
}
