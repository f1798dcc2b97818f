/**
 * One step after the other along the chain: reads the next range at one endpoint and keeps its events with the cursor.
 * Those that are believed at the head are asked in turn. What is kept is taken back only where more of all endpoints show
 * another block at the cursor than the one that is kept; while they differ evenly, nothing moves.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { CallOptions } from "../../../engine/ports.js";
import {
  type ChainAnswer,
  type ChainHeader,
  type FailedAnswer,
  failedAnswer,
  type HistoryChain,
  type HistoryEndpoint,
  NOBODY,
} from "./chain-port.js";
import { type Checkpoint, hashAt, type IndexCursor } from "./cursor.js";
import { type HistoryAddresses, LogDecoder } from "./decode-logs.js";
import type { EventBook } from "./event-book.js";
import { firstBlock } from "./first-block.js";
import { headerOf, readBlocks, readRange } from "./read-range.js";

export interface ChainFollowerOptions {
  readonly chain: HistoryChain;
  readonly addresses: HistoryAddresses;
  readonly book: EventBook;
  /** The first block of the index; null: the safe head at the first start, as two endpoints have it. */
  readonly fromBlock: number | null;
  /** Blocks of one range at most. */
  readonly rangeMax?: number;
  /** Blocks below the safe head that are read one by one. */
  readonly nearBlocks?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** `idle`: all up to the safe head is there. */
export type Step = { readonly kind: "progress" } | { readonly kind: "idle" } | FailedAnswer;

const RANGE_MAX = 2_000;
/** No server in use lags so far behind a block that is safe already. */
const NEAR_BLOCKS = 64;
const CALL: CallOptions = { timeoutMs: 10_000, lane: "background" };
/** The storage names another contract once in years; what it named before is followed on. */
const CALLBACKS_AGE_MS_MAX = 600_000;
/** So long two endpoints may take to agree where the index begins; then one that has its own block will do. */
const AGREE_MS = 60_000;
/** A range that was too large comes back by an eighth with each that is not. */
const GROWTH = 8;

export class ChainFollower {
  readonly #options: ChainFollowerOptions;
  readonly #callbacks = new Set<string>();
  #callbacksAtMs: number | null = null;
  /** For a first block. */
  #lookedSinceMs: number | null = null;
  #rangeSize: number;
  /** The safe head that each named last: one that names another takes back what it said. */
  readonly #tips = new Map<HistoryEndpoint, number>();
  #seenAtMs: number;
  #isLoaded = false;

  constructor(options: ChainFollowerOptions) {
    this.#options = options;
    this.#rangeSize = options.rangeMax ?? RANGE_MAX;
    this.#seenAtMs = options.clock.wallMs();
  }

  /** When the cursor's block was kept, wall ms. */
  get seenAtMs(): number {
    return this.#seenAtMs;
  }

  /** The highest that one of those names that were believed last; null before the first. */
  get safeHead(): number | null {
    return this.#tips.size === 0 ? null : Math.max(...this.#tips.values());
  }

  /** Of the contracts that are followed. */
  decoder(): LogDecoder {
    return new LogDecoder(this.#options.addresses, [...this.#callbacks]);
  }

  /** What is in memory may not be what is durable: the next step begins from that. */
  reload(): void {
    this.#isLoaded = false;
  }

  async step(): Promise<Step> {
    const { book, chain } = this.#options;
    if (!this.#isLoaded) {
      await book.load();
      this.#isLoaded = true;
    }
    const endpoints = await chain.endpoints();
    const callbacks = await this.#readCallbacks(endpoints);
    if (callbacks !== null) return callbacks;
    const begun = await this.#begin(endpoints);
    if (begun !== null) return begun;
    const believed = await chain.believed(CALL);
    if (believed.length === 0) return NOBODY;
    // Nobody waits for what others have named.
    for (const endpoint of this.#tips.keys()) if (!believed.includes(endpoint)) this.#tips.delete(endpoint);
    return this.#followOne(believed, endpoints);
  }

  /** At the first of those believed that has something to follow. Before anything is taken back, all are asked. */
  async #followOne(believed: readonly HistoryEndpoint[], all: readonly HistoryEndpoint[]): Promise<Step> {
    const forked: HistoryEndpoint[] = [];
    let failure = failedAnswer("VENUE_ERROR", "no endpoint of this chain");
    let isIdle = false;
    for (const endpoint of believed) {
      const step = await this.#stepAt(endpoint);
      if (step.kind === "progress") return step;
      if (step.kind === "idle") isIdle = true;
      else failure = step;
      if (step.kind === "failed" && step.code === "FORKED") forked.push(endpoint);
    }
    if (forked.length > 0) return this.#fork(all, forked);
    // One that lags has nothing to follow while another that fails has.
    return isIdle && this.#cursor().block >= (this.safeHead ?? 0) ? { kind: "idle" } : failure;
  }

  /** Null: they are known. */
  async #readCallbacks(endpoints: readonly HistoryEndpoint[]): Promise<FailedAnswer | null> {
    const nowMs = this.#options.clock.monoNs() / 1e6;
    if (this.#callbacksAtMs !== null && nowMs - this.#callbacksAtMs < CALLBACKS_AGE_MS_MAX) return null;
    let failure = failedAnswer("VENUE_ERROR", "no endpoint of this chain");
    for (const endpoint of endpoints) {
      const answer = await endpoint.callbacks(this.#options.addresses.TradingStorage, CALL);
      if (answer.kind === "value") {
        this.#callbacks.add(answer.value.toLowerCase());
        this.#callbacksAtMs = nowMs;
        return null;
      }
      failure = answer;
    }
    return this.#callbacks.size > 0 ? null : failure;
  }

  /** Null: the index has its first block. */
  async #begin(endpoints: readonly HistoryEndpoint[]): Promise<FailedAnswer | null> {
    const { book, fromBlock, clock } = this.#options;
    const since = book.cursor?.since.block ?? null;
    if (since !== null && (fromBlock === null || fromBlock >= since)) return null;
    const nowMs = clock.monoNs() / 1e6;
    this.#lookedSinceMs ??= nowMs;
    const answer =
      fromBlock === null
        ? await firstBlock(endpoints, nowMs - this.#lookedSinceMs >= AGREE_MS, CALL)
        : await this.#headerAt(fromBlock, endpoints);
    if (answer.kind !== "value") return answer;
    const { number, timeMs, parentHash } = answer.value;
    await book.begin({ block: number, timeMs }, parentHash);
    return null;
  }

  async #headerAt(block: number, endpoints: readonly HistoryEndpoint[]): Promise<ChainAnswer<ChainHeader>> {
    let answer: ChainAnswer<ChainHeader> = failedAnswer("VENUE_ERROR", "no endpoint of this chain");
    for (const endpoint of endpoints) {
      answer = await headerOf(endpoint, block, CALL);
      if (answer.kind === "value") return answer;
    }
    return answer;
  }

  async #stepAt(endpoint: HistoryEndpoint): Promise<Step> {
    const { book } = this.#options;
    const tip = await endpoint.tip("safe", CALL);
    if (tip.kind !== "value") return tip;
    this.#tips.set(endpoint, tip.value.number);
    const cursor = this.#cursor();
    const from = cursor.block + 1;
    if (tip.value.number < from) return followsTip(cursor, tip.value);
    const far = tip.value.number - (this.#options.nearBlocks ?? NEAR_BLOCKS);
    const to = Math.min(from <= far ? far : tip.value.number, from + this.#rangeSize - 1);
    const read = from <= far ? readRange : readBlocks;
    const range = await read(endpoint, this.decoder(), { from, to, parentHash: hashAt(cursor) }, CALL);
    // A long range may be what takes an endpoint too long.
    if (range.kind === "tooLarge" || (range.kind === "failed" && range.code === "TIMEOUT"))
      this.#rangeSize = Math.max(1, Math.floor((to - from + 1) / 2));
    if (range.kind === "tooLarge") return { kind: "progress" };
    if (range.kind === "failed") return range;
    const { events, first, last } = range.value;
    const parent = first.number === 0 ? null : { block: first.number - 1, hash: first.parentHash };
    await book.append(events, { block: last.number, hash: last.hash }, parent);
    this.#seenAtMs = this.#options.clock.wallMs();
    const { rangeMax = RANGE_MAX } = this.#options;
    this.#rangeSize = Math.min(rangeMax, this.#rangeSize + Math.ceil(this.#rangeSize / GROWTH));
    return { kind: "progress" };
  }

  /**
   * Who is right of those that show another block at the cursor than we have, and those that do not. Also one that is not
   * believed now counts for what it shows: one of another chain shows neither block.
   */
  async #fork(endpoints: readonly HistoryEndpoint[], forked: readonly HistoryEndpoint[]): Promise<Step> {
    const cursor = this.#cursor();
    const ours = hashAt(cursor);
    const shown = await shownAt(endpoints, cursor.block);
    const theirs = new Set(forked.flatMap((one) => shown.get(one) ?? []).filter((hash) => hash !== ours));
    const others = endpoints.filter((one) => !forked.includes(one));
    const sameCount = endpoints.filter((one) => shown.get(one) === ours).length;
    const otherCount = forked.length + others.filter((one) => theirs.has(shown.get(one) ?? "")).length;
    if (sameCount >= otherCount || theirs.size === 0)
      return failedAnswer("FORKED", `endpoints differ on block ${cursor.block}`);
    const party = endpoints.filter((one) => theirs.has(shown.get(one) ?? ""));
    const point = await forkPoint(party, cursor);
    if (point.kind === "failed") return point;
    const removedCount = await this.#options.book.takeBack(point.value);
    this.#options.logger.warn("venuefive.index.retracted", {
      ...{ venue: "venuefive", from: cursor.block, to: this.#cursor().block, count: removedCount },
    });
    // Not at once: endpoints that take turns to differ would keep it turning.
    return { kind: "idle" };
  }

  #cursor(): IndexCursor {
    const { cursor } = this.#options.book;
    if (cursor === null) throw new Error("the index has no first block");
    return cursor;
  }
}

/** An endpoint whose safe head is below the cursor says nothing: the cursor does not move back for it. */
function followsTip(cursor: IndexCursor, tip: ChainHeader): Step {
  const ours = hashAt(cursor);
  if (tip.number === cursor.block && ours !== null && tip.hash !== ours)
    return failedAnswer("FORKED", `block ${tip.number} is another one`);
  return { kind: "idle" };
}

/** By endpoint that answers: the hash of its block there; null: it has none. */
async function shownAt(
  endpoints: readonly HistoryEndpoint[],
  block: number,
): Promise<ReadonlyMap<HistoryEndpoint, string | null>> {
  const shown = new Map<HistoryEndpoint, string | null>();
  const ask = async (endpoint: HistoryEndpoint): Promise<void> => {
    const header = await endpoint.header(block, CALL);
    if (header.kind === "value") shown.set(endpoint, header.value?.hash ?? null);
  };
  await Promise.all(endpoints.map(ask));
  return shown;
}

/**
 * The newest block below the cursor that no more of the party show otherwise than as it was kept; null: none. So one of
 * them alone does not have more taken back than the chain did.
 */
async function forkPoint(
  party: readonly HistoryEndpoint[],
  cursor: IndexCursor,
): Promise<{ readonly kind: "value"; readonly value: Checkpoint | null } | FailedAnswer> {
  for (const checkpoint of cursor.checkpoints.toReversed()) {
    if (checkpoint.block >= cursor.block) continue;
    const shown = await shownAt(party, checkpoint.block);
    if (shown.size * 2 <= party.length)
      return failedAnswer("VENUE_ERROR", `too few endpoints show block ${checkpoint.block}`);
    const sameCount = [...shown.values()].filter((hash) => hash === checkpoint.hash).length;
    if (sameCount * 2 >= shown.size) return { kind: "value", value: checkpoint };
  }
  return { kind: "value", value: null };
}
