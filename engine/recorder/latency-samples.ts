/**
 * One histogram per stage and venue, a row of each per interval.
 *
 * Bound: MAX_PAIRS pairs of stage and venue; samples of further ones are counted in `ignored`.
 */
import { recordTable } from "../storage/records/schema.js";
import type { Batcher } from "./batcher.js";
import type { TableCounts } from "./counters.js";
import { LatencyHistogram } from "./latency-histogram.js";
import { createRowCodec } from "./row-codec.js";
import { monthOf } from "./durable-rows.js";

const MAX_PAIRS = 128;

export class LatencySamples {
  readonly #batcher: Batcher;
  readonly #counts: TableCounts;
  readonly #codec = createRowCodec(recordTable("latency_samples"));
  readonly #byStage = new Map<string, Map<string, LatencyHistogram>>();
  #pairCount = 0;
  ignored = 0;

  constructor(batcher: Batcher, counts: TableCounts) {
    this.#batcher = batcher;
    this.#counts = counts;
  }

  record(stage: string, venue: string, us: number): void {
    const known = this.#byStage.get(stage)?.get(venue);
    if (known !== undefined) {
      known.record(us);
      return;
    }
    if (this.#pairCount >= MAX_PAIRS) {
      this.ignored += 1;
      return;
    }
    this.#pairCount += 1;
    const histogram = new LatencyHistogram();
    histogram.record(us);
    const venues = this.#byStage.get(stage) ?? new Map<string, LatencyHistogram>();
    this.#byStage.set(stage, venues.set(venue, histogram));
  }

  /**
   * Emits the rows of the interval that ends now; stages without a sample have none. `isOff`: rows are counted and
   * dropped.
   */
  emit(atMs: number, isOff: boolean): void {
    for (const [stage, venues] of this.#byStage) {
      for (const [venue, histogram] of venues) {
        if (histogram.count === 0) continue;
        this.#counts.accepted += 1;
        if (isOff) {
          this.#counts.dropped.off += 1;
          histogram.clear();
          continue;
        }
        const writer = this.#batcher.writerFor(monthOf(atMs));
        const fits = this.#codec.write(writer, {
          at: atMs,
          stage,
          venue,
          n: histogram.count,
          p50_us: histogram.percentile(50),
          p90_us: histogram.percentile(90),
          p99_us: histogram.percentile(99),
          p999_us: histogram.percentile(99.9),
          max_us: histogram.maxUs,
          hdr: histogram.encode(),
        });
        if (fits) this.#batcher.added();
        else this.#counts.dropped.range += 1;
        histogram.clear();
      }
    }
  }
}
