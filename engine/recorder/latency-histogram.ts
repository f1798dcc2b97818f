// hot path
/**
 * Latencies of one stage over an interval, in µs: 32 buckets for each power of two, so a percentile is off by at most
 * 3 %. Histograms of several intervals add up bucket by bucket: the encoded form keeps the buckets.
 */
const SUB_BITS = 5;
const SUB = 1 << SUB_BITS;
/** 2^36 µs is 19 h; longer latencies count as that. */
const MAX_EXPONENT = 36;
const BUCKETS = (MAX_EXPONENT - SUB_BITS + 2) * SUB;

export class LatencyHistogram {
  readonly #counts = new Uint32Array(BUCKETS);
  count = 0;
  maxUs = 0;

  /** Negative or non-finite times are ignored: a clock step is not a latency. */
  record(us: number): void {
    if (!(us >= 0 && us < Number.POSITIVE_INFINITY)) return;
    const at = bucketOf(us);
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.count += 1;
    if (us > this.maxUs) this.maxUs = us;
  }

  /** By nearest rank, as the upper end of its bucket, never above the largest sample. 0 < percent ≤ 100. */
  percentile(percent: number): number {
    const rank = Math.max(1, Math.ceil((percent / 100) * this.count));
    let seen = 0;
    for (let at = 0; at < BUCKETS; at++) {
      seen += this.#counts[at] as number;
      if (seen >= rank) return Math.min(upperOf(at), this.maxUs);
    }
    return 0;
  }

  /** `log2x32 <bucket>:<count> …` in base 36, empty buckets left out. */
  encode(): string {
    let text = "log2x32";
    for (let at = 0; at < BUCKETS; at++) {
      const count = this.#counts[at] as number;
      if (count > 0) text += ` ${at.toString(36)}:${count.toString(36)}`;
    }
    return text;
  }

  clear(): void {
    this.#counts.fill(0);
    this.count = 0;
    this.maxUs = 0;
  }
}

/**
 * Below 32 the bucket is the value itself. Above, the exponent selects a row of 32 and the next five bits the place in
 * it.
 */
function bucketOf(us: number): number {
  const whole = Math.floor(us);
  if (whole < SUB) return whole;
  // Exact: a whole number below 2^53.
  const exponent = whole < 0x8000_0000 ? 31 - Math.clz32(whole) : Math.floor(Math.log2(whole));
  if (exponent > MAX_EXPONENT) return BUCKETS - 1;
  const place = Math.floor(whole / 2 ** (exponent - SUB_BITS)) - SUB;
  return Math.min(BUCKETS - 1, (exponent - SUB_BITS + 1) * SUB + place);
}

function upperOf(bucket: number): number {
  if (bucket < SUB) return bucket;
  const row = Math.floor(bucket / SUB);
  return (SUB + (bucket % SUB) + 1) * 2 ** (row - 1) - 1;
}
