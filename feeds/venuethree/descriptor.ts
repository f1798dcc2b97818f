/** What the rest of the program knows of venuethree: what an operator may set, and its room made of it. */
import { BUDGET_MAX, defineVenue, FEE_OPTIONS, HTTP_CONNECTIONS } from "../shared/room/venue-descriptor.js";
import { recordings } from "./replay.js";
import { createVenuethreeRoom } from "./room.js";
import { custodyActs } from "./sign/custody-acts.js";
import type { TierName } from "./rules/limits.js";
import { tickerFields } from "./ticker.js";
import { vectors } from "./vectors.js";

export const venuethree = defineVenue({
  venue: "venuethree",
  ticker: tickerFields,
  // Each look is one of the 60 requests a minute of the standard tier.
  paces: {
    positions: { looksPerMinute: 5, intervalMsMin: 15_000 },
    orders: { looksPerMinute: 2, intervalMsMin: 30_000 },
  },
  readsNameAccount: true,
  vectors,
  recordings,
  custodyActs,
  options: {
    REST_URL: {
      kind: "url",
      default: "https://mainnet.zklighter.elliot.ai",
      doc: "Base URL of its REST API.",
    },
    WS_URL: {
      kind: "url",
      default: "wss://mainnet.zklighter.elliot.ai/stream",
      doc: "URL of its WebSocket.",
    },
    TIER: {
      kind: "word",
      words: [
        "standard",
        "plus",
        "premium",
        "premium1k",
        "premium3k",
        "premium10k",
        "premium30k",
        "premium100k",
        "premium300k",
        "premium500k",
      ],
      default: "standard",
      doc: "Account tier of this address: default fees, taker delay, and how reads are counted.",
    },
    ...FEE_OPTIONS,
    REST_WEIGHT_PER_MINUTE: {
      kind: "integer",
      min: 0,
      max: BUDGET_MAX,
      default: 0,
      doc: "Requests (standard tier) or request weight per minute that the venue grants this address; 0: as the tier has it.",
    },
    HTTP_CONNECTIONS,
  },
  createRoom: ({ fees, ...parts }, values) =>
    createVenuethreeRoom({
      ...parts,
      ...(fees === null ? {} : { fees }),
      restUrl: values.REST_URL,
      wsUrl: values.WS_URL,
      tier: values.TIER as TierName,
      limits: {
        httpConnections: values.HTTP_CONNECTIONS,
        ...(values.REST_WEIGHT_PER_MINUTE === 0 ? {} : { restPerMinute: values.REST_WEIGHT_PER_MINUTE }),
      },
    }),
});
