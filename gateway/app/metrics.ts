/**
 * Prometheus metrics. Labels are routes, statuses and venues: closed sets, so that caller data never becomes a series.
 * Hot paths only count integers, which are read at each scrape.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import { BOOK_LIVE } from "../../engine/market/book.js";
import type { RoomStatus, MarketRoom } from "../../engine/ports.js";
import type { StoreStatus } from "../../engine/storage/state-store.js";
import type { RecordingStatus } from "../../schemas/service.js";
import type { RouteCounts } from "../http/reply-state.js";
import type { StreamCounts } from "../stream/stream-counts.js";

/** Resolution of the event-loop delay sampler. */
const LOOP_RESOLUTION_MS = 10;
/** In seconds; a close takes a venue round trip, and at most its deadline of 30 s. */
const CLOSE_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const NS_PER_MS = 1e6;

/** Counts that other parts keep. */
export interface MetricSources {
  readonly routes: readonly RouteCounts[];
  readonly rooms: readonly MarketRoom[];
  readonly inFlight: { readonly closes: number };
  callerCount(): number;
  openBodyCount(): number;
  unknownOrderCount(): number;
  redactedLogFieldCount(): number;
  readonly stream: StreamCounts;
  recording(): RecordingStatus;
  store(): StoreStatus;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #loopDelay: IntervalHistogram;
  readonly #closeSeconds = new CountingHistogram(
    "unwind_close_seconds",
    "From a complete close request to its result.",
    CLOSE_SECONDS,
  );

  constructor() {
    this.#loopDelay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
    this.#loopDelay.enable();
    collectDefaultMetrics({ register: this.#registry, prefix: "unwind_" });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  observeClose(elapsedNs: number): void {
    this.#closeSeconds.observe(elapsedNs / 1e9);
  }

  eventLoopDelayMs(): { p50: number; p99: number; max: number } {
    const delay = this.#loopDelay;
    // The sampler counts its own interval; before the first sample the histogram has no numbers.
    const ms = (ns: number) =>
      Number.isFinite(ns) ? Math.max(0, Math.round((ns / NS_PER_MS - LOOP_RESOLUTION_MS) * 1000) / 1000) : 0;
    return delay.count === 0
      ? { p50: 0, p99: 0, max: 0 }
      : { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) };
  }

  /** Binds the counts of other parts; the server calls it once. */
  attach(sources: MetricSources): void {
    const registers = [this.#registry];
    const requests = (counter: Counter<"route" | "status">) => {
      counter.reset();
      for (const counts of sources.routes) {
        if (counts.okCount > 0) counter.inc({ route: counts.route, status: "200" }, counts.okCount);
        for (const [status, count] of counts.otherCounts)
          counter.inc({ route: counts.route, status: String(status) }, count);
        if (counts.abortedCount > 0) counter.inc({ route: counts.route, status: "aborted" }, counts.abortedCount);
      }
    };
    new Counter({
      name: "unwind_http_requests_total",
      help: "Requests by route and status; aborted: the client went away before the reply.",
      labelNames: ["route", "status"],
      registers,
      collect() {
        requests(this);
      },
    });
    const counters: readonly (readonly [string, string, () => number])[] = [
      [
        "unwind_log_fields_redacted",
        "Log fields dropped or scrubbed because they are not allowed.",
        () => sources.redactedLogFieldCount(),
      ],
      ["unwind_stream_frames_sent", "Frames sent since start, once per receiver.", () => sources.stream.framesOut],
      ["unwind_stream_bytes_sent", "Characters of those frames.", () => sources.stream.bytesOut],
    ];
    for (const [name, help, read] of counters) {
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    }
    const gauges: readonly (readonly [string, string, () => number])[] = [
      ["unwind_closes_in_flight", "Closes without a result yet.", () => sources.inFlight.closes],
      ["unwind_open_bodies", "Request bodies still arriving.", () => sources.openBodyCount()],
      ["unwind_rate_limit_callers", "Callers remembered by the rate limiter.", () => sources.callerCount()],
      ["unwind_unknown_orders", "Orders of unknown outcome.", () => sources.unknownOrderCount()],
      ["unwind_stream_connections", "Open stream connections.", () => sources.stream.connections],
      ["unwind_stream_subscriptions", "Subscriptions of all connections.", () => sources.stream.subscriptions],
      ["unwind_stream_keys", "Different subscription keys.", () => sources.stream.keys],
      ["unwind_stream_lagging", "Connections that lag now.", () => sources.stream.lagging],
      [
        "unwind_recording_on",
        "1 while the record's store answers.",
        () => (sources.recording().state === "on" ? 1 : 0),
      ],
      ["unwind_store_writable", "1 while the state store takes writes.", () => (sources.store().writable ? 1 : 0)],
      [
        "unwind_store_free_bytes",
        "Free on the state store's volume; -1: it could not be asked.",
        () => sources.store().freeBytes ?? -1,
      ],
      [
        "unwind_store_reserve_bytes",
        "What exits can still write where the volume is full.",
        () => sources.store().reserveBytes,
      ],
      [
        "unwind_store_space",
        "0: ample, 1: ticks are not recorded, 2: nothing is opened, 3: nothing can be written.",
        () => ["AMPLE", "TIGHT", "LOW", "FULL"].indexOf(sources.store().space),
      ],
      ["unwind_record_spool_bytes", "Batches on disk.", () => sources.recording().spool.bytes],
      [
        "unwind_record_store_bytes",
        "Of the embedded store on disk; 0: not known, or a server of the operator's.",
        () => sources.recording().storeBytes ?? 0,
      ],
      [
        "unwind_record_shed",
        "What is not recorded for want of room. 0: nothing, 1: ticks, 2: market data.",
        () => ["NOTHING", "TICKS", "MARKET"].indexOf(sources.recording().shed),
      ],
      ["unwind_record_outbox_rows", "Durable rows not stored yet.", () => sources.recording().outbox.rows],
      [
        "unwind_event_loop_delay_p99_ms",
        "Event-loop delay since start, 99th percentile.",
        () => this.eventLoopDelayMs().p99,
      ],
    ];
    for (const [name, help, read] of gauges) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    }
    const venueGauges: readonly (readonly [string, string, (status: RoomStatus, room: MarketRoom) => number])[] = [
      ["unwind_venue_up", "1 while the venue's feed is LIVE.", (status) => (status.state === "LIVE" ? 1 : 0)],
      [
        "unwind_venue_breaker_open",
        "1 while the venue's breaker is open.",
        (status) => (status.breaker === "open" ? 1 : 0),
      ],
      ["unwind_venue_live_books", "Books in state LIVE.", (_, room) => countLive(room)],
      ["unwind_venue_clock_offset_ms", "Venue clock minus ours.", (status) => status.clockOffsetMs],
      [
        "unwind_venue_ack_p99_ms",
        "Send to acknowledgement, 99th percentile; 0 without samples.",
        (_, room) => (room.ackLatency.count > 0 ? room.ackLatency.p99() : 0),
      ],
    ];
    for (const [name, help, read] of venueGauges) {
      new Gauge({
        name,
        help,
        labelNames: ["venue"],
        registers,
        collect() {
          for (const room of sources.rooms) this.set({ venue: room.venue }, read(room.status(), room));
        },
      });
    }
    const venueCounters: readonly (readonly [string, string, (status: RoomStatus) => number])[] = [
      ["unwind_venue_gaps", "Sequence gaps seen.", (status) => status.gapCount],
      ["unwind_venue_resyncs", "Resyncs done.", (status) => status.resyncCount],
      ["unwind_venue_reconnects", "Reconnects done.", (status) => status.reconnectCount],
      ["unwind_venue_decode_errors", "Frames that did not decode.", (status) => status.decodeErrorCount],
      [
        "unwind_venue_protocol_drift",
        "Frames that decoded but were not as documented.",
        (status) => status.protocolDriftCount,
      ],
    ];
    for (const [name, help, read] of venueCounters) {
      new Counter({
        name,
        help,
        labelNames: ["venue"],
        registers,
        collect() {
          this.reset();
          for (const room of sources.rooms) this.inc({ venue: room.venue }, read(room.status()));
        },
      });
    }
    new Counter({
      name: "unwind_stream_closed",
      help: "Stream connections ended since start, by close code; 0: by the client.",
      labelNames: ["code"],
      registers,
      collect() {
        this.reset();
        for (const [code, count] of sources.stream.closedByCode) this.inc({ code: String(code) }, count);
      },
    });
    new Counter({
      name: "unwind_record_rows",
      help: "Rows since start by table and fate: accepted + recovered = stored + dropped + unwind_record_rows_pending.",
      labelNames: ["table", "fate"],
      registers,
      collect() {
        this.reset();
        for (const { table, accepted, recovered, stored, dropped } of sources.recording().tables)
          for (const [fate, count] of Object.entries({ accepted, recovered, stored, dropped }))
            this.inc({ table, fate }, count);
      },
    });
    new Gauge({
      name: "unwind_record_rows_pending",
      help: "Rows by table that are neither stored nor dropped yet.",
      labelNames: ["table"],
      registers,
      collect() {
        for (const { table, pending } of sources.recording().tables) this.set({ table }, pending);
      },
    });
    new Counter({
      name: "unwind_record_figures_cut",
      help: "Figures kept without some of their digits: finer than their column.",
      labelNames: ["table"],
      registers,
      collect() {
        this.reset();
        for (const { table, cut } of sources.recording().tables) this.inc({ table }, cut);
      },
    });
    new Gauge({
      name: "unwind_venue_lane_tokens",
      help: "Outbound budget left per lane.",
      labelNames: ["venue", "lane"],
      registers,
      collect() {
        for (const room of sources.rooms) {
          for (const [lane, tokens] of Object.entries(room.status().laneTokens))
            this.set({ venue: room.venue, lane }, tokens);
        }
      },
    });
  }

  async text(): Promise<string> {
    return `${await this.#registry.metrics()}${this.#closeSeconds.text()}`;
  }

  stop(): void {
    this.#loopDelay.disable();
    this.#registry.clear();
  }
}

/** A histogram without labels whose observation is a few additions; prom-client's costs as much as a route decision. */
class CountingHistogram {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  /** Counted at the first bound that holds the value; the last bucket is above all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.#bounds.length && value > (this.#bounds[index] as number)) index++;
    this.#counts[index] = (this.#counts[index] as number) + 1;
    this.#sum += value;
  }

  /** Prometheus text format; buckets are cumulative. */
  text(): string {
    const name = this.#name;
    let text = `\n# HELP ${name} ${this.#help}\n# TYPE ${name} histogram\n`;
    let count = 0;
    for (const [index, inBucket] of this.#counts.entries()) {
      count += inBucket;
      text += `${name}_bucket{le="${this.#bounds[index] ?? "+Inf"}"} ${count}\n`;
    }
    return `${text}${name}_sum ${this.#sum}\n${name}_count ${count}\n`;
  }
}

function countLive(room: MarketRoom): number {
  let count = 0;
  for (const market of room.markets.values()) if (market.book.state === BOOK_LIVE) count++;
  return count;
}
