/** What the rest of the program knows of venueone: what an operator may set, and its room made of it. */
import { AGENT_DAYS, BUDGET_MAX, defineVenue, FEE_OPTIONS, HTTP_CONNECTIONS } from "../shared/room/venue-descriptor.js";
import { recordings } from "./replay.js";
import { createVenueoneRoom } from "./room.js";
import { custodyActs } from "./sign/custody-acts.js";
import { tickerFields } from "./ticker.js";
import { vectors } from "./vectors.js";

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
  },
  createRoom: ({ fees, ...parts }, values) =>
    createVenueoneRoom({
      ...parts,
      ...(fees === null ? {} : { fees }),
      restUrl: values.REST_URL,
      wsUrl: values.WS_URL,
      isMainnet: values.MAINNET,
      agentDays: values.AGENT_DAYS,
      limits: { restWeightPerMinute: values.REST_WEIGHT_PER_MINUTE, httpConnections: values.HTTP_CONNECTIONS },
    }),
});
