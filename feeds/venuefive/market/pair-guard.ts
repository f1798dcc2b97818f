/**
 * Which pairs the chain lists, and whether each index means there what it means here. Compared at the start, at every
 * change of their number, and at an interval.
 *
 * Invariant: while an index is known to mean something else, or is not compared yet, nothing is shown under its symbol.
 */
import type { ChainRead } from "../../../engine/client-signed-room.js";
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { CallOptions } from "../../../engine/ports.js";
import { venueText } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { type ContractCalls, type PairName, readBounded, readPairName } from "../chain/contract-calls.js";
import type { ChainHeads } from "../chain/heads.js";
import { type FailedChainRead, failedChainRead, type PinnedReads } from "../chain/pinned-reads.js";
import type { PairMap } from "./pair-map.js";

export interface PairCounts {
  readonly pairs: number;
  readonly tradesPerPair: number;
}

export interface DifferingPair {
  readonly index: number;
  readonly here: string;
  readonly chain: string;
}

export interface PairsKnown extends PairCounts {
  /** Indexes whose size is the notional itself: their base is the dollar. */
  readonly dollarBased: ReadonlySet<number>;
  readonly differing: readonly DifferingPair[];
  readonly block: number;
}

export interface PairGuardOptions {
  readonly map: PairMap;
  readonly calls: ContractCalls;
  readonly reads: PinnedReads;
  readonly heads: ChainHeads;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between two comparisons. */
  readonly everyBlocks: number;
}

/** Twice and more of what there is; beyond, the answer is not believed, for all of it is read of each wallet. */
const PAIRS_MAX = 512;
const TRADES_PER_PAIR_MAX = 200;
/** Names in one request. */
const NAMES_AT_ONCE = 64;
/** Of a whole comparison. */
const CHECK_MS_MAX = 10_000;
/** A comparison that failed is made again no sooner. */
const RETRY_MS = 2_000;

export class PairGuard {
  readonly #options: PairGuardOptions;
  #known: PairsKnown | null = null;
  #failure: FailedChainRead | null = null;
  #failedAtMs: number | null = null;
  #check: Promise<FailedChainRead | null> | null = null;

  constructor(options: PairGuardOptions) {
    this.#options = options;
  }

  /** Of the last comparison; null before the first that had all its answers. */
  get known(): PairsKnown | null {
    return this.#known;
  }

  /** Of the last comparison, where it had no answer. */
  get failure(): FailedChainRead | null {
    return this.#failure;
  }

  /** Whether it is time for the next comparison. */
  isDue(): boolean {
    const { heads, clock, everyBlocks } = this.#options;
    if (this.#failedAtMs !== null) return monoMs(clock) - this.#failedAtMs >= RETRY_MS;
    if (this.#known === null) return true;
    const sinceBlocks = (heads.head?.number ?? 0) - this.#known.block;
    // Below it: that block is of no chain any more.
    return sinceBlocks >= everyBlocks || sinceBlocks < 0;
  }

  /**
   * Whether the pair has the name that it had at that comparison, so far as anything follows from it. Who reads brings the
   * one that its numbers are made with: another may have been made meanwhile.
   */
  isAsCompared(index: number, { from }: PairName, { dollarBased }: PairsKnown): boolean {
    const here = this.#options.map.symbols.get(index);
    return (here === undefined || here === from.toUpperCase()) && dollarBased.has(index) === isDollarName(from);
  }

  /** What reads need: the pairs, where they mean what they should. Compares first where that has not been done. */
  async proven(options: CallOptions): Promise<PairsKnown | FailedChainRead> {
    if (this.#known === null) {
      const waited = await within(this.#options.clock, this.check(), options.timeoutMs);
      if (!waited.done) return failedChainRead("TIMEOUT", "no time left to compare the pairs");
      if (waited.value !== null) return waited.value;
    }
    const known = this.#known;
    if (known === null) return failedChainRead("VENUE_ERROR", "the pairs are not compared yet");
    return known.differing.length === 0 ? known : failedChainRead("PAIRS_DIFFER", differText(known.differing));
  }

  /** One at a time: who comes during one shares it. Returns its failure; null: it had all its answers. */
  check(): Promise<FailedChainRead | null> {
    this.#check ??= this.#compare().finally(() => {
      this.#check = null;
    });
    return this.#check;
  }

  async #compare(): Promise<FailedChainRead | null> {
    const found = await this.#read();
    if (!found.ok) {
      this.#failure = found;
      this.#failedAtMs = monoMs(this.#options.clock);
      return found;
    }
    this.#failure = null;
    this.#failedAtMs = null;
    const before = this.#known;
    this.#known = found.value;
    this.#say(before, found.value);
    return null;
  }

  async #read(): Promise<ChainRead<PairsKnown>> {
    const { reads, calls } = this.#options;
    const deadline = new Deadline(this.#options.clock, { timeoutMs: CHECK_MS_MAX, lane: "reconcile" });
    const left = (): CallOptions => ({ timeoutMs: Math.max(0, deadline.leftMs()), lane: "reconcile" });
    const counts = await reads.read(
      { calls: (tag) => [calls.pairsCount(tag), calls.tradesMax(tag)], read: readCounts },
      left(),
    );
    if (!counts.ok) return counts;
    const names: PairName[] = [];
    for (let from = 0; from < counts.value.pairs; from += NAMES_AT_ONCE) {
      const indexes = Array.from({ length: Math.min(NAMES_AT_ONCE, counts.value.pairs - from) }, (_, at) => from + at);
      const part = await reads.read(
        {
          calls: (tag) => indexes.map((index) => calls.pairName(index, tag)),
          read: (results) => results.map(readPairName),
        },
        left(),
      );
      if (!part.ok) return part;
      names.push(...part.value);
    }
    return { ...counts, value: { ...counts.value, ...this.#judged(names), block: counts.block } };
  }

  #judged(names: readonly PairName[]): Pick<PairsKnown, "dollarBased" | "differing"> {
    const { symbols } = this.#options.map;
    const differing = names.flatMap(({ from }, index) => {
      const here = symbols.get(index);
      return here === undefined || here === from.toUpperCase() ? [] : [{ index, here, chain: nameOf(from) }];
    });
    const dollarBased = names.flatMap(({ from }, index) => (isDollarName(from) ? [index] : []));
    return { dollarBased: new Set(dollarBased), differing };
  }

  #say(before: PairsKnown | null, { differing }: PairsKnown): void {
    const { logger } = this.#options;
    const count = before?.differing.length ?? 0;
    if (differing.length > 0 && differing.length !== count)
      logger.error("venuefive.pairs_differ", { problem: differText(differing) });
    if (differing.length === 0 && count > 0) logger.info("venuefive.pairs_agree");
  }
}

export function readCounts([pairs, trades]: readonly unknown[]): PairCounts {
  return {
    pairs: readBounded(pairs, PAIRS_MAX, "pairsCount"),
    tradesPerPair: readBounded(trades, TRADES_PER_PAIR_MAX, "maxTradesPerPair"),
  };
}

/** All of them are in the status; a message names the first. */
const NAMED_MAX = 5;

export function differText(differing: readonly DifferingPair[]): string {
  const named = differing
    .slice(0, NAMED_MAX)
    .map(({ index, here, chain }) => `${index} is ${here} here and ${chain} there`);
  const more = differing.length > NAMED_MAX ? `, and ${differing.length - NAMED_MAX} more` : "";
  return `pairs of the chain are not those of the map: ${named.join(", ")}${more}`;
}

function isDollarName(from: string): boolean {
  return from === "USD";
}

const NAME_CHARS_MAX = 32;

function nameOf(text: string): string {
  return venueText(text).slice(0, NAME_CHARS_MAX);
}
