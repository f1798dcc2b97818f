/** What the rest of the program knows of venuefour: what an operator may set, and its room made of it. */
import { BUDGET_MAX, defineVenue, FEE_OPTIONS, HTTP_CONNECTIONS } from "../shared/room/venue-descriptor.js";
import { createVenuefourRoom } from "./room.js";
import { tickerFields } from "./ticker.js";
import { vectors } from "./vectors.js";

export const venuefour = defineVenue({
  venue: "venuefour",
  ticker: tickerFields,
  paces: {
    positions: { looksPerMinute: 40, intervalMsMin: 5_000 },
    orders: { looksPerMinute: 4, intervalMsMin: 15_000 },
  },
  vectors,
  options: {
    REST_URL: {
      kind: "url",
      default: "https://api.pacifica.fi/api/v1",
      doc: "Base URL of its REST API.",
    },
    WS_URL: { kind: "url", default: "wss://ws.pacifica.fi/ws", doc: "URL of its WebSocket." },
    ...FEE_OPTIONS,
    REST_WEIGHT_PER_MINUTE: {
      kind: "integer",
      min: 1,
      max: BUDGET_MAX,
      default: 100,
      doc: "Request credits per minute that the venue grants this address; 100 without a config key.",
    },
    HTTP_CONNECTIONS,
  },
  createRoom: ({ fees, ...parts }, values) =>
    createVenuefourRoom({
      ...parts,
      ...(fees === null ? {} : { fees }),
      restUrl: values.REST_URL,
      wsUrl: values.WS_URL,
      limits: { creditsPerMinute: values.REST_WEIGHT_PER_MINUTE, httpConnections: values.HTTP_CONNECTIONS },
    }),
});
