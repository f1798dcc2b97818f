/** The service's own endpoints: status, time, limits, health and readiness. */
import { type Static, Type } from "@sinclair/typebox";
import { breakerState, feedState, nullable, reply, routableVenue, timeMs, words } from "./common.js";

const latencySchema = reply({
  count: Type.Integer({ minimum: 0 }),
  p50Ms: nullable(Type.Number()),
  p90Ms: nullable(Type.Number()),
  p99Ms: nullable(Type.Number()),
});

const venueStatusSchema = reply({
  exchange: routableVenue,
  state: feedState,
  markets: Type.Integer({ minimum: 0 }),
  liveBooks: Type.Integer({ minimum: 0 }),
  oldestLiveBookAgeMs: nullable(Type.Integer({ minimum: 0 })),
  breaker: breakerState,
  breakerOpenUntil: nullable(timeMs, { description: "Null while it is not open." }),
  clockOffsetMs: Type.Number(),
  sockets: Type.Integer({ minimum: 0 }),
  reconnects: Type.Integer({ minimum: 0 }),
  resyncs: Type.Integer({ minimum: 0 }),
  gaps: Type.Integer({ minimum: 0 }),
  decodeErrors: Type.Integer({ minimum: 0 }),
  protocolDrift: Type.Integer({ minimum: 0 }),
  laneTokens: reply({
    exit: Type.Number(),
    trade: Type.Number(),
    reconcile: Type.Number(),
    read: Type.Number(),
    background: Type.Number(),
  }),
  ackLatency: latencySchema,
});
export type VenueStatus = Static<typeof venueStatusSchema>;

const block = nullable(Type.Integer({ minimum: 0 }), { description: "Null: none is known." });

/** The venue whose orders its callers sign: what is known of its chain. */
const clientSignedStatusSchema = reply({
  exchange: words(["venuefive"]),
  state: words(["STARTING", "LIVE", "STALE", "DOWN"], {
    description: "LIVE: its newest block is known, and its pairs are those of the pair map.",
  }),
  problem: nullable(Type.String(), { description: "Null while it is LIVE." }),
  block,
  blockAgeMs: nullable(Type.Integer({ minimum: 0 })),
  differingPairs: Type.Array(
    reply({ index: Type.Integer({ minimum: 0 }), here: Type.String(), chain: Type.String() }),
    {
      description: "Pairs whose symbol on the chain is another than here: nothing is shown until the map is mended.",
    },
  ),
  index: reply({
    cursorBlock: block,
    sinceBlock: block,
    behindBlocks: nullable(Type.Integer({ minimum: 0 }), {
      description: "Between the last stored block and the last that counts as safe.",
    }),
    problem: nullable(Type.String(), { description: "Why it does not go on, or what it cannot vouch for." }),
    events: Type.Integer({ minimum: 0 }),
    retracted: Type.Integer({ minimum: 0, description: "Events that a reorganisation of the chain took back." }),
  }),
  endpoints: Type.Array(
    reply({
      host: Type.String({ description: "Never its path, which may hold a key." }),
      state: words(["up", "down", "lagging", "wrong-chain", "disagrees"], {
        description: "disagrees: most of the others have another block at the same height. None but `up` is read.",
      }),
      block,
      calls: Type.Integer({ minimum: 0 }),
      failures: Type.Integer({ minimum: 0 }),
    }),
  ),
});
export type ClientSignedStatusRow = Static<typeof clientSignedStatusSchema>;

const unknownOrderSchema = reply({
  routeId: Type.String(),
  exchange: routableVenue,
  symbol: Type.String(),
  venueClientOrderId: Type.String(),
  sentAt: timeMs,
  fromEarlierStart: Type.Boolean({
    description: "Only its caller's credentials can resolve it: repeat the close with its Idempotency-Key.",
  }),
});

const count = Type.Integer({ minimum: 0 });

const recordingSchema = reply({
  state: words(["on", "off", "away"], {
    description: "off: by choice, or for good until a restart; away: tried again.",
  }),
  reason: Type.String({ description: "Empty while on." }),
  storeVersion: nullable(Type.String()),
  tables: Type.Array(
    reply({
      table: Type.String(),
      accepted: Type.Integer({ minimum: 0, description: "accepted + recovered = stored + dropped + pending." }),
      recovered: Type.Integer({ minimum: 0, description: "Rows that an earlier start had left on disk." }),
      stored: count,
      dropped: count,
      pending: count,
      cut: Type.Integer({ minimum: 0, description: "Figures kept without some digits: finer than their column." }),
    }),
  ),
  spool: reply({ files: count, bytes: count }),
  outbox: reply({
    rows: count,
    bytes: count,
    backlogged: Type.Boolean({ description: "Fills and decisions wait for the store beyond the bound: not ready." }),
  }),
  shed: words(["NOTHING", "TICKS", "MARKET"], {
    description: "What is not recorded for want of room: ticks, or all market data. Fills and decisions always are.",
  }),
  storeBytes: nullable(count, {
    description: "Of the embedded store on disk; null: not known yet, or a server of the operator's.",
  }),
});
export type RecordingStatus = Static<typeof recordingSchema>;

const storeSchema = reply({
  writable: Type.Boolean(),
  problem: nullable(Type.String(), { description: "Why it takes no writes." }),
  space: words(["AMPLE", "TIGHT", "LOW", "FULL"], {
    description:
      "Of the volume under the state store. TIGHT: ticks are not recorded; LOW: no market data at all, and nothing is opened; FULL: nothing can be written. Exits go on until then.",
  }),
  freeBytes: nullable(count, { description: "Null: the volume could not be asked." }),
  reserveBytes: Type.Integer({ minimum: 0, description: "Can still be written where the volume is full, at least." }),
  pendingBatches: count,
  restored: nullable(
    reply(
      {
        reason: words(["FILE_AHEAD", "COSIGNER_AHEAD", "OTHER_INSTANCE", "FILE_MISSING", "FILE_UNREADABLE"]),
        since: timeMs,
      },
      { description: "The store is a restored backup: nothing is opened and no money moves until it is released." },
    ),
  ),
});
export type StoreStatusRow = Static<typeof storeSchema>;

/** Orders of the key's owner, of everybody with `admin`; without a key, in public mode, those made without one. */
const statusOfOrders = {
  unknownOrders: Type.Optional(
    reply({
      count: Type.Integer({ minimum: 0 }),
      orders: Type.Array(unknownOrderSchema, { maxItems: 100, description: "Oldest first, at most 100." }),
    }),
  ),
  openOrders: Type.Optional(
    reply(
      {
        count: Type.Integer({ minimum: 0 }),
        orders: Type.Array(unknownOrderSchema, { maxItems: 100, description: "Oldest first, at most 100." }),
      },
      { description: "Acknowledged by their venue, and their end was not seen yet." },
    ),
  ),
  followedCount: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "Trades and single orders with orders that rest at their venue and are followed to their end.",
    }),
  ),
  unattendedCount: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "Of their orders, those that nobody reads before a request with credentials of their account comes: credentials are not stored, so a restart leaves every such order waiting. Also those that wait until one of the orders ends that are followed at once.",
    }),
  ),
};

const signerProblem = words(
  [
    "CONNECTING",
    "UNREACHABLE",
    "PIN",
    "VERSION",
    "SUITE",
    "SAME_PARTY",
    "SAME_KEK",
    "SAME_BACKUP_KEY",
    "STORE",
    "TOKEN",
    "CONTRACT",
    "STOPPED",
  ],
  {
    description:
      "Why no signature can be made. PIN: one of the parties does not pin the other's certificate; VERSION: its program speaks another version, and both are upgraded together; SUITE: it computes by another suite; SAME_PARTY, SAME_KEK, SAME_BACKUP_KEY: the two are not apart as they must be; STORE: the store of a party takes no writes; TOKEN, CONTRACT: an outside signer does not take the token, or does not answer as its contract says.",
  },
);

/** Server wallets; absent without a provider of them. */
const custodySchema = reply({
  problem: nullable(signerProblem),
  wallets: count,
  frozen: count,
  lost: Type.Integer({
    minimum: 0,
    description:
      "Wallets that the co-signer or the backups have and this store lost: none is made until they are restored.",
  }),
  sessions: reply({
    signed: count,
    failed: reply({ transport: count, refused: count, violation: count, cheat: count, fault: count }),
    dropped: count,
    queued: count,
  }),
});
export type CustodyStatus = Static<typeof custodySchema>;

/** The service itself: with `admin`, and in public mode. */
const statusOfService = {
  closesInFlight: Type.Optional(Type.Integer({ minimum: 0 })),
  store: Type.Optional(storeSchema),
  recording: Type.Optional(recordingSchema),
  custody: Type.Optional(custodySchema),
  stream: Type.Optional(reply({ connections: count, subscriptions: count, keys: count, lagging: count })),
  eventLoopDelayMs: Type.Optional(reply({ p50: Type.Number(), p99: Type.Number(), max: Type.Number() })),
};

export const statusReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      version: Type.String(),
      interfaceVersion: Type.String(),
      startedAt: timeMs,
      uptimeMs: Type.Integer({ minimum: 0 }),
      venues: Type.Array(venueStatusSchema),
      unconfigured: Type.Array(routableVenue),
      clientSigned: Type.Optional(clientSignedStatusSchema),
      ...statusOfOrders,
      ...statusOfService,
    }),
    timestamp: timeMs,
  },
  { $id: "StatusReply" },
);
export type UnknownOrderRow = Static<typeof unknownOrderSchema>;

export const timeReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({ serverTime: timeMs, iso: Type.String() }),
    timestamp: timeMs,
  },
  { $id: "TimeReply" },
);

/** Buckets that requests pay from. */
export const BUCKET_WORDS = ["read", "trade", "exit", "transfer", "anon"] as const;
export type BucketName = (typeof BUCKET_WORDS)[number];
/** `ws`: the frames of one connection of the stream. */
export const POLICY_WORDS = [...BUCKET_WORDS, "ws"] as const;
export type PolicyName = (typeof POLICY_WORDS)[number];

export const limitsReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      buckets: Type.Array(
        reply({
          policy: words(POLICY_WORDS),
          scope: words(["ip", "key", "connection"], {
            description:
              "Whose it is: the API key's, or without one that of the accounts of `X-Venue-Credentials`; the address's; or that of each connection of the stream.",
          }),
          perSecond: Type.Number({ exclusiveMinimum: 0 }),
          burst: Type.Integer({ minimum: 1 }),
          windowSeconds: Type.Integer({ minimum: 1 }),
          remaining: Type.Integer({ minimum: 0, description: "For this caller, now; a new connection has all." }),
        }),
      ),
      weights: Type.Array(
        reply({
          method: words(["GET", "POST", "PATCH", "DELETE"]),
          path: Type.String(),
          policy: words(BUCKET_WORDS),
          weight: Type.Integer({ minimum: 0 }),
        }),
      ),
      bodyBytesMax: Type.Integer(),
      bodyDeadlineMs: Type.Integer(),
      targetBytesMax: Type.Integer(),
      closesInFlightMax: Type.Integer(),
    }),
    timestamp: timeMs,
  },
  { $id: "LimitsReply" },
);

export const healthReplySchema = reply(
  {
    success: Type.Literal(true),
    status: words(["ok", "stopping"]),
    version: Type.String(),
    uptimeMs: Type.Integer({ minimum: 0 }),
    timestamp: timeMs,
  },
  { $id: "HealthReply" },
);

export const readyPartSchema = reply({ name: Type.String(), ready: Type.Boolean(), detail: Type.String() });
export type ReadyPart = Static<typeof readyPartSchema>;

/** 200 when every part is ready; otherwise the error envelope with code NOT_READY and the same parts in details. */
export const readyReplySchema = reply(
  { success: Type.Literal(true), ready: Type.Literal(true), parts: Type.Array(readyPartSchema), timestamp: timeMs },
  { $id: "ReadyReply" },
);
