/** What the rest of the program knows of venuetwo: what an operator may set, and its room made of it. */
import { BUDGET_MAX, defineVenue, FEE_OPTIONS, HTTP_CONNECTIONS } from "../shared/room/venue-descriptor.js";
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
      streamHostLayout: values.STREAM_LAYOUT === "split" ? "split" : "single",
      limits: {
        weightPerMinute: values.REST_WEIGHT_PER_MINUTE,
        ordersPerMinute: values.ORDERS_PER_MINUTE,
        ordersPer10Seconds: values.ORDERS_PER_10_SECONDS,
        httpConnections: values.HTTP_CONNECTIONS,
      },
    }),
  problems: (values, name) =>
    (values.API_KEY === "") === (values.API_SECRET === "")
      ? []
      : [`${name("API_KEY")} and ${name("API_SECRET")} must be set together`],
  refusesTicker: (values) => values.TICKER_AUTH === "required" && values.API_KEY === "",
});
