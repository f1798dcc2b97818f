/**
 * Prometheus metrics. Labels are routes, statuses and venues: closed sets, so that caller data never becomes a series.
 * Hot paths only count integers, which are read at each scrape.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { collectDefaultMetrics, Registry } from "prom-client";
import type { MarketRoom } from "../../engine/ports.js";
import type { KeyCounts } from "../../engine/custody/registration/key-keeper.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { WalletProviderStatus } from "../../engine/custody/provider/wallet-provider.js";
import type { ServedStoreStatus } from "../api/ports.js";
import type { RecordingStatus } from "../../schemas/service.js";
import type { RouteCounts } from "../http/reply-state.js";
import type { StreamCounts } from "../stream/stream-counts.js";
import { addClientSignedMetrics, type ClientSignedFigures } from "./client-signed-metrics.js";
import {
  addRecordMetrics,
  addRequestMetrics,
  addServiceMetrics,
  addSigningMetrics,
  addStoreMetrics,
  addStreamMetrics,
  addVenueKeyMetrics,
  addVenueMetrics,
  type ServiceCounts,
} from "./metric-groups.js";
import { addTransferMetrics, type MoneyFigures } from "./money-metrics.js";

/** Resolution of the event-loop delay sampler. */
const LOOP_RESOLUTION_MS = 10;
/** In seconds; a close takes a venue round trip, and at most its deadline of 30 s. */
const CLOSE_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const NS_PER_MS = 1e6;

/** Counts that other parts keep. */
export interface MetricSources extends ServiceCounts {
  readonly routes: readonly RouteCounts[];
  readonly rooms: readonly MarketRoom[];
  readonly stream: StreamCounts;
  recording(): RecordingStatus;
  store(): ServedStoreStatus;
  /** Null without a wallet provider: there are no figures of it then. */
  readonly signing: (() => WalletProviderStatus) | null;
  readonly venueKeys: (() => ReadonlyMap<RoutableVenue, KeyCounts>) | null;
  readonly money: MoneyFigures | null;
  /** Null: there is no client-signed venue. */
  readonly clientSigned: ClientSignedFigures | null;
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
    const registry = this.#registry;
    addRequestMetrics(registry, sources.routes);
    addServiceMetrics(registry, sources, () => this.eventLoopDelayMs().p99);
    addStreamMetrics(registry, sources.stream);
    addRecordMetrics(registry, () => sources.recording());
    addStoreMetrics(registry, () => sources.store());
    addVenueMetrics(registry, sources.rooms);
    if (sources.signing !== null) addSigningMetrics(registry, sources.signing);
    if (sources.venueKeys !== null) addVenueKeyMetrics(registry, sources.venueKeys);
    if (sources.money !== null) addTransferMetrics(registry, sources.money);
    if (sources.clientSigned !== null) addClientSignedMetrics(registry, sources.clientSigned);
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
