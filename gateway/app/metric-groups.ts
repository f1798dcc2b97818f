/**
 * The metrics of each subject: requests, the service itself, the stream, the stores, the venues. Each group is
 * registered once; its values are read at each scrape.
 */
import type { Registry } from "prom-client";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import { BOOK_LIVE } from "../../engine/market/book.js";
import type { RoomStatus, MarketRoom } from "../../engine/ports.js";
import type { KeyCounts } from "../../engine/custody/registration/key-keeper.js";
import type { WalletProviderStatus } from "../../engine/custody/provider/wallet-provider.js";
import type { ServedStoreStatus } from "../api/ports.js";
import type { RecordingStatus } from "../../schemas/service.js";
import type { RouteCounts } from "../http/reply-state.js";
import type { StreamCounts } from "../stream/stream-counts.js";
import { addCounter, addCounters, addGauge, addGauges, type Labelled } from "./metric-forms.js";

/** A metric with the one label `venue`. */
type VenueFigure = readonly [name: string, help: string, read: (status: RoomStatus, room: MarketRoom) => number];

/** Counts of the service that have no subject of their own. */
export interface ServiceCounts {
  readonly inFlight: { readonly count: number };
  callerCount(): number;
  openBodyCount(): number;
  unknownOrderCount(): number;
  redactedLogFieldCount(): number;
}

export function addRequestMetrics(registry: Registry, routes: readonly RouteCounts[]): void {
  addCounter(registry, {
    name: "unwind_http_requests_total",
    help: "Requests by route and status; aborted: the client went away before the reply.",
    labelNames: ["route", "status"],
    *read() {
      for (const { route, okCount, otherCounts, abortedCount } of routes) {
        if (okCount > 0) yield [{ route, status: "200" }, okCount];
        for (const [status, count] of otherCounts) yield [{ route, status: String(status) }, count];
        if (abortedCount > 0) yield [{ route, status: "aborted" }, abortedCount];
      }
    },
  });
}

export function addServiceMetrics(registry: Registry, counts: ServiceCounts, loopDelayP99Ms: () => number): void {
  addCounters(registry, [
    [
      "unwind_log_fields_redacted",
      "Log fields dropped or scrubbed because they are not allowed.",
      () => counts.redactedLogFieldCount(),
    ],
  ]);
  addGauges(registry, [
    ["unwind_closes_in_flight", "Closes without a result yet.", () => counts.inFlight.count],
    ["unwind_open_bodies", "Request bodies still arriving.", () => counts.openBodyCount()],
    ["unwind_rate_limit_callers", "Callers remembered by the rate limiter.", () => counts.callerCount()],
    ["unwind_unknown_orders", "Orders of unknown outcome.", () => counts.unknownOrderCount()],
    ["unwind_event_loop_delay_p99_ms", "Event-loop delay since start, 99th percentile.", loopDelayP99Ms],
  ]);
}

export function addStreamMetrics(registry: Registry, stream: StreamCounts): void {
  addCounters(registry, [
    ["unwind_stream_frames_sent", "Frames sent since start, once per receiver.", () => stream.framesOut],
    ["unwind_stream_bytes_sent", "Characters of those frames.", () => stream.bytesOut],
  ]);
  addGauges(registry, [
    ["unwind_stream_connections", "Open stream connections.", () => stream.connections],
    ["unwind_stream_subscriptions", "Subscriptions of all connections.", () => stream.subscriptions],
    ["unwind_stream_keys", "Different subscription keys.", () => stream.keys],
    ["unwind_stream_lagging", "Connections that lag now.", () => stream.lagging],
  ]);
  addCounter(registry, {
    name: "unwind_stream_closed",
    help: "Stream connections ended since start, by close code; 0: by the client.",
    labelNames: ["code"],
    *read() {
      for (const [code, count] of stream.closedByCode) yield [{ code: String(code) }, count];
    },
  });
}

/** The state store: intents, idempotency records, the server's secret. */
export function addStoreMetrics(registry: Registry, store: () => ServedStoreStatus): void {
  addGauges(registry, [
    ["unwind_store_writable", "1 while the state store takes writes.", () => (store().writable ? 1 : 0)],
    [
      "unwind_store_free_bytes",
      "Free on the state store's volume; -1: it could not be asked.",
      () => store().freeBytes ?? -1,
    ],
    [
      "unwind_store_restored",
      "1 while the store is a restored backup that the operator has not released.",
      () => ((store().restored ?? null) === null ? 0 : 1),
    ],
    ["unwind_store_reserve_bytes", "What exits can still write where the volume is full.", () => store().reserveBytes],
    [
      "unwind_store_space",
      "0: ample, 1: ticks are not recorded, 2: nothing is opened, 3: nothing can be written.",
      () => ["AMPLE", "TIGHT", "LOW", "FULL"].indexOf(store().space),
    ],
  ]);
}

/** The record of ticks, trades and decisions. */
export function addRecordMetrics(registry: Registry, recording: () => RecordingStatus): void {
  addGauges(registry, [
    ["unwind_recording_on", "1 while the record's store answers.", () => (recording().state === "on" ? 1 : 0)],
    ["unwind_record_spool_bytes", "Batches on disk.", () => recording().spool.bytes],
    [
      "unwind_record_store_bytes",
      "Of the embedded store on disk; 0: not known, or a server of the operator's.",
      () => recording().storeBytes ?? 0,
    ],
    [
      "unwind_record_shed",
      "What is not recorded for want of room. 0: nothing, 1: ticks, 2: market data.",
      () => ["NOTHING", "TICKS", "MARKET"].indexOf(recording().shed),
    ],
    ["unwind_record_outbox_rows", "Durable rows not stored yet.", () => recording().outbox.rows],
  ]);
  addTableMetrics(registry, recording);
}

function addTableMetrics(registry: Registry, recording: () => RecordingStatus): void {
  addCounter(registry, {
    name: "unwind_record_rows",
    help: "Rows since start by table and fate: accepted + recovered = stored + dropped + unwind_record_rows_pending.",
    labelNames: ["table", "fate"],
    *read() {
      for (const { table, accepted, recovered, stored, dropped } of recording().tables)
        for (const [fate, count] of Object.entries({ accepted, recovered, stored, dropped }))
          yield [{ table, fate }, count];
    },
  });
  addGauge(registry, {
    name: "unwind_record_rows_pending",
    help: "Rows by table that are neither stored nor dropped yet.",
    labelNames: ["table"],
    *read() {
      for (const { table, pending } of recording().tables) yield [{ table }, pending];
    },
  });
  addCounter(registry, {
    name: "unwind_record_figures_cut",
    help: "Figures kept without some of their digits: finer than their column.",
    labelNames: ["table"],
    *read() {
      for (const { table, cut } of recording().tables) yield [{ table }, cut];
    },
  });
}

/** Server wallets and the two parties that sign for them. */
export function addSigningMetrics(registry: Registry, status: () => WalletProviderStatus): void {
  addGauges(registry, [
    ["unwind_signer_ready", "1 while signatures can be made.", () => (status().problem === null ? 1 : 0)],
    ["unwind_wallets", "Server wallets.", () => status().wallets],
    ["unwind_wallets_frozen", "Of these, frozen after a failed cryptographic check.", () => status().frozen],
    ["unwind_wallets_lost", "Wallets that the co-signer or the backups have and this store lost.", () => status().lost],
    ["unwind_signatures_queued", "Signatures that wait for their turn.", () => status().sessions.queued],
  ]);
  addCounter(registry, {
    name: "unwind_signatures_total",
    help: "Signatures made, and sessions of any kind that failed, since start; dropped: messages that came too late.",
    labelNames: ["outcome"],
    *read() {
      const { signed, failed, dropped } = status().sessions;
      for (const [outcome, count] of Object.entries({ signed, ...failed, dropped })) yield [{ outcome }, count];
    },
  });
}

/** Keys of server wallets at venues. */
export function addVenueKeyMetrics(registry: Registry, counts: () => ReadonlyMap<RoutableVenue, KeyCounts>): void {
  addGauge(registry, {
    name: "unwind_venue_keys",
    help: "Keys of server wallets by state; expiring: active ones whose end is within two weeks; unsettled: the venue has not said yet whether it has them.",
    labelNames: ["venue", "state"],
    *read() {
      for (const [venue, states] of counts())
        for (const [state, count] of Object.entries(states)) yield [{ venue, state }, count];
    },
  });
}

export function addVenueMetrics(registry: Registry, rooms: readonly MarketRoom[]): void {
  for (const figure of VENUE_LEVELS) addGauge(registry, byVenue(rooms, figure));
  for (const figure of VENUE_TOTALS) addCounter(registry, byVenue(rooms, figure));
  addGauge(registry, {
    name: "unwind_venue_lane_tokens",
    help: "Outbound budget left per lane.",
    labelNames: ["venue", "lane"],
    *read() {
      for (const room of rooms)
        for (const [lane, tokens] of Object.entries(room.status().laneTokens))
          yield [{ venue: room.venue, lane }, tokens];
    },
  });
}

const VENUE_LEVELS: readonly VenueFigure[] = [
  ["unwind_venue_up", "1 while the venue's feed is LIVE.", ({ state }) => (state === "LIVE" ? 1 : 0)],
  ["unwind_venue_breaker_open", "1 while the venue's breaker is open.", ({ breaker }) => (breaker === "open" ? 1 : 0)],
  ["unwind_venue_live_books", "Books in state LIVE.", (_, room) => countLive(room)],
  ["unwind_venue_clock_offset_ms", "Venue clock minus ours.", (status) => status.clockOffsetMs],
  [
    "unwind_venue_ack_p99_ms",
    "Send to acknowledgement, 99th percentile; 0 without samples.",
    (_, { ackLatency }) => (ackLatency.count > 0 ? ackLatency.p99() : 0),
  ],
];

const VENUE_TOTALS: readonly VenueFigure[] = [
  [
    "unwind_venue_gaps",
    "Sequence gaps seen, and fills of a lost account stream that could not be read.",
    (status) => status.gapCount,
  ],
  ["unwind_venue_resyncs", "Resyncs done.", (status) => status.resyncCount],
  ["unwind_venue_reconnects", "Reconnects done.", (status) => status.reconnectCount],
  ["unwind_venue_decode_errors", "Frames that did not decode.", (status) => status.decodeErrorCount],
  [
    "unwind_venue_protocol_drift",
    "Frames that decoded but were not as documented.",
    (status) => status.protocolDriftCount,
  ],
];

function byVenue(rooms: readonly MarketRoom[], [name, help, readOne]: VenueFigure): Labelled {
  return {
    name,
    help,
    labelNames: ["venue"],
    *read() {
      for (const room of rooms) yield [{ venue: room.venue }, readOne(room.status(), room)];
    },
  };
}

function countLive(room: MarketRoom): number {
  let count = 0;
  for (const market of room.markets.values()) if (market.book.state === BOOK_LIVE) count++;
  return count;
}
