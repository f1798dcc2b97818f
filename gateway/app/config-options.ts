/**
 * Every option of the service in one table: name, kind, bounds, default, meaning. The environment, the file and
 * docs/configuration.md all use these names; a test compares the document with this table.
 */
import { AUTH_OPTIONS, NETWORK_OPTIONS } from "./config-access-options.js";
import { CHAIN_OPTIONS } from "./config-chain-options.js";
import { CUSTODY_OPTIONS } from "./config-custody-options.js";
import { type Option, option } from "./config-option.js";
import { STREAM_OPTIONS } from "./config-stream-options.js";
import { VENUE_OPTIONS } from "./config-venue-options.js";

/** Listed before the venues' options in the document. */
const FIRST_OPTIONS = {
  HOST: option({
    kind: "text",
    default: "127.0.0.1",
    doc: "Address to listen on. In public mode only a loopback address is accepted; any other needs TLS, here or in a proxy before the service.",
  }),
  PORT: option({ kind: "integer", min: 0, max: 65_535, default: 8080, doc: "Port to listen on; 0 takes a free one." }),
  DATA_DIR: option({
    kind: "text",
    default: "./data",
    doc: "Folder of the state store, its secret, the spool and the embedded record store. It names its format; one of a newer program is refused.",
  }),
  SERVER_SECRET: option({
    kind: "secret",
    default: "",
    doc: "64 hex digits: key of the keyed hashes of accounts and idempotency keys. Empty: one is minted at the first start and kept in the state store.",
  }),
  ...AUTH_OPTIONS,
  ...CUSTODY_OPTIONS,
  ...CHAIN_OPTIONS,
  LOG_LEVEL: option({
    kind: "word",
    words: ["debug", "info", "warn", "error", "silent"],
    default: "info",
    doc: "Lowest level written to stderr.",
  }),
  ALLOWED_HOSTS: option({
    kind: "list",
    default: [],
    doc: "Host names, with or without a port, that requests may name beside the addresses that the service listens on and the names of the loopback; needed behind a proxy that passes its own name on. Anything else is 421 FOREIGN_HOST, but for `/health` and `/ready`.",
  }),
  ...NETWORK_OPTIONS,
  SYMBOLS: option({
    kind: "list",
    default: [],
    doc: "Canonical symbols to follow; empty follows all that a venue lists, most traded first where its subscriptions are limited. Positions in other listed contracts are read and shown all the same; without a live book nothing bounds their close, so close-all reports them as POSITION_UNLISTED.",
  }),
};

const LATER_OPTIONS = {
  RECORDING: option({
    kind: "boolean",
    default: true,
    doc: "Record ticks, trades, books, fills, decisions and latency. Without a server of your own (CLICKHOUSE_URL) this needs the optional package chdb; where that is absent the service says that recording is off.",
  }),
  CLICKHOUSE_URL: option({
    kind: "optional-url",
    default: "",
    doc: "A ClickHouse server (24 or newer) to record into; empty: the embedded store, a process of its own with its files under DATA_DIR.",
  }),
  CLICKHOUSE_USER: option({ kind: "text", default: "default", doc: "User on that server." }),
  CLICKHOUSE_PASSWORD: option({ kind: "secret", default: "", doc: "Its password." }),
  CLICKHOUSE_DATABASE: option({
    kind: "text",
    default: "unwind",
    doc: "Database of the tables; made when it does not exist. A letter or underscore, then at most 62 letters, digits or underscores.",
  }),
  CLICKHOUSE_CLUSTER: option({
    kind: "text",
    default: "",
    doc: "Name of the server's cluster: tables become replicated and distributed. Empty: one server.",
  }),
  CLICKHOUSE_KEEPER_PATH: option({
    kind: "text",
    default: "/clickhouse/tables",
    doc: "Path of the replicas' metadata in the cluster's keeper.",
  }),
  RECORD_SPOOL_BYTES_MAX: option({
    kind: "integer",
    min: 1_048_576,
    max: 1_099_511_627_776,
    default: 1_073_741_824,
    doc: "Disk that batches may take while the store is away; beyond it the oldest market data is dropped and counted. Fills and decisions are never dropped.",
  }),
  RECORD_STORE_BYTES_MAX: option({
    kind: "integer",
    min: 67_108_864,
    max: 1_099_511_627_776,
    default: 53_687_091_200,
    doc: "Disk that the embedded store may take. From nine tenths of it on ticks are not recorded, from the whole on no market data; what is older than its table keeps makes room again. Where the volume gets short they give way earlier. Fills and decisions are always recorded.",
  }),
  RECORD_MEMORY_BYTES_MAX: option({
    kind: "integer",
    min: 268_435_456,
    max: 1_099_511_627_776,
    default: 1_073_741_824,
    doc: "Memory cap of the embedded store's own process.",
  }),

  MAX_SLIPPAGE_BPS: option({
    kind: "integer",
    min: 1,
    max: 1000,
    default: 100,
    doc: "Default of routingOptions.maxSlippageBps.",
  }),
  MAX_QUOTE_AGE_MS: option({
    kind: "integer",
    min: 50,
    max: 60_000,
    default: 2000,
    doc: "Default of routingOptions.maxQuoteAgeMs.",
  }),
  CLOSE_DEADLINE_MS: option({
    kind: "integer",
    min: 250,
    max: 30_000,
    default: 5000,
    doc: "Default of routingOptions.deadlineMs.",
  }),
  LATENCY_PENALTY_FACTOR: option({
    kind: "number",
    min: 0,
    max: 10,
    default: 0.5,
    doc: "k of the latency penalty k × σ × √(p90 acknowledgement seconds).",
  }),
  QUOTE_RATES: option({
    kind: "list",
    default: [],
    doc: "Rates of quote assets to the common quote, such as `USDT=0.9998,USDC=1`; an asset not named counts 1, tagged `assumed`.",
  }),

  ORDER_NOTIONAL_MAX: option({
    kind: "amount",
    default: "",
    doc: "Largest order that may open or grow a position, in quote units, whoever sends it. Orders that only reduce are never limited.",
  }),
  DAILY_NOTIONAL_MAX: option({
    kind: "amount",
    default: "",
    doc: "Sum of such orders over one UTC day, all callers together.",
  }),
  CALLER_ORDER_NOTIONAL_MAX: option({
    kind: "amount",
    default: "",
    doc: "Largest such order of one caller (the owner of its API key; without a key its account).",
  }),
  CALLER_DAILY_NOTIONAL_MAX: option({
    kind: "amount",
    default: "",
    doc: "Sum of one caller's such orders over one UTC day.",
  }),
  TRADE_SYMBOLS: option({
    kind: "list",
    default: [],
    doc: "Canonical symbols in which positions may be opened; empty: all.",
  }),
  TRADE_VENUES: option({ kind: "list", default: [], doc: "Venues on which positions may be opened; empty: all." }),

  STRICT_FIELDS: option({
    kind: "boolean",
    default: true,
    doc: "Body fields that a route does not know are 400 where something is sent, changed or armed. `false`: they are ignored and named in X-Ignored-Fields, as on reads.",
  }),
  BODY_BYTES_MAX: option({
    kind: "integer",
    min: 1024,
    max: 1_048_576,
    default: 65_536,
    doc: "Largest request body; beyond it 413.",
  }),
  BODY_DEADLINE_MS: option({
    kind: "integer",
    min: 100,
    max: 9_000,
    default: 5000,
    doc: "How long a body may take to arrive; beyond it 408.",
  }),
  TARGET_BYTES_MAX: option({
    kind: "integer",
    min: 256,
    max: 16_384,
    default: 4096,
    doc: "Longest request target (path and query); beyond it 414.",
  }),
  OPEN_BODIES_MAX: option({
    kind: "integer",
    min: 1,
    max: 100_000,
    default: 2048,
    doc: "Bodies arriving at the same time; one more gets 503. Where keys are needed, half of them are for keys that were proven from their address before, a quarter for one such key, and one address has an eighth for all others; a body that comes whole with its head needs none of these.",
  }),
  CLOSES_IN_FLIGHT_MAX: option({
    kind: "integer",
    min: 1,
    max: 100_000,
    default: 2000,
    doc: "Closes and other orders running at the same time, half of them for one API key, seven eighths while no other key has sent one for a minute; what is no exit leaves a quarter of these to exits. One more gets 503, nothing sent.",
  }),
  EXECUTIONS_IN_MEMORY_MAX: option({
    kind: "integer",
    min: 1,
    max: 1_000_000,
    default: 10_000,
    doc: "Executions kept in memory for `GET /api/trade/executions/{routeId}`, some 10 KiB each; the oldest go. Those under an Idempotency-Key or of unknown outcome are in the store for 24 hours too.",
  }),
  SHUTDOWN_GRACE_MS: option({
    kind: "integer",
    min: 0,
    max: 120_000,
    default: 35_000,
    doc: "How long shutdown waits for closes under way.",
  }),

  RATE_READ_PER_SECOND: option({
    kind: "number",
    min: 0.1,
    max: 1e9,
    default: 2_000,
    doc: "Bucket `read`, by the API key; without one market data by the caller's address, reads of accounts by the account.",
  }),
  RATE_READ_BURST: option({ kind: "integer", min: 1, max: 1e9, default: 4_000, doc: "Its burst." }),
  RATE_TRADE_PER_SECOND: option({
    kind: "number",
    min: 0.1,
    max: 1e9,
    default: 200,
    doc: "Bucket `trade`, by the API key, without one by the account: opens and orders; pays for a close when `exit` is empty.",
  }),
  RATE_TRADE_BURST: option({ kind: "integer", min: 1, max: 1e9, default: 400, doc: "Its burst." }),
  RATE_EXIT_PER_SECOND: option({
    kind: "number",
    min: 0.1,
    max: 1e9,
    default: 200,
    doc: "Bucket `exit`, by the API key, without one by the account: reserved for closes.",
  }),
  RATE_EXIT_BURST: option({ kind: "integer", min: 1, max: 1e9, default: 400, doc: "Its burst." }),
  RATE_TRANSFER_PER_SECOND: option({
    kind: "number",
    min: 0.1,
    max: 1e9,
    default: 5,
    doc: "Bucket `transfer`, by the API key: deposits, withdrawals, transfers.",
  }),
  RATE_TRANSFER_BURST: option({ kind: "integer", min: 1, max: 1e9, default: 10, doc: "Its burst." }),
  RATE_ANON_PER_SECOND: option({
    kind: "number",
    min: 0.1,
    max: 1e9,
    default: 100,
    doc: "Bucket `anon`, by the caller's address: service endpoints, unknown paths, keys that are not proven, and where keys are needed everything without one.",
  }),
  RATE_ANON_BURST: option({ kind: "integer", min: 1, max: 1e9, default: 200, doc: "Its burst." }),
  RATE_CALLERS_MAX: option({
    kind: "integer",
    min: 16,
    max: 1_000_000,
    default: 50_000,
    doc: "Callers remembered; the one not seen longest is forgotten.",
  }),

  ...STREAM_OPTIONS,
} as const;

/** The options that the shell reads by name; the venues' belong to their descriptors. */
export const OPTIONS = { ...FIRST_OPTIONS, ...LATER_OPTIONS };
/** All options, in the order of docs/configuration.md. */
export const ALL_OPTIONS: Readonly<Record<string, Option>> = { ...FIRST_OPTIONS, ...VENUE_OPTIONS, ...LATER_OPTIONS };

export type OptionName = keyof typeof OPTIONS;

type ValueOf<T> = T extends { kind: "integer" | "number" }
  ? number
  : T extends { kind: "boolean" }
    ? boolean
    : T extends { kind: "list" }
      ? readonly string[]
      : string;

export type OptionValues = { readonly [Name in OptionName]: ValueOf<(typeof OPTIONS)[Name]> };
