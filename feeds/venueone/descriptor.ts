/** What an operator may set of venueone, and its room made of it. */
import { BUDGET_MAX, defineVenue, FEE_OPTIONS, HTTP_CONNECTIONS } from "../shared/room/venue-descriptor.js";
import { createVenueoneRoom } from "./room.js";

export const venueone = defineVenue({
  venue: "venueone",
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
  },
  createRoom: ({ fees, ...parts }, values) =>
    createVenueoneRoom({
      ...parts,
      ...(fees === null ? {} : { fees }),
      restUrl: values.REST_URL,
      wsUrl: values.WS_URL,
      isMainnet: values.MAINNET,
      limits: { restWeightPerMinute: values.REST_WEIGHT_PER_MINUTE, httpConnections: values.HTTP_CONNECTIONS },
    }),
});
