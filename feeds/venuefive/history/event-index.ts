/**
 * Follows the chain: reads range after range up to the safe head, each at one endpoint, and keeps its events with the cursor
 * (event-book.ts). Endpoints are asked in turn. What is kept is taken back only where more of them show another block at the
 * cursor than the one that is kept; while they differ evenly the index waits, and its status says so.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import type { ClientSignedStatus } from "../../../engine/client-signed-room.js";
import type { CallOptions } from "../../../engine/ports.js";
import { atLeastWithJitterMs, fullJitterMs } from "../../shared/net/backoff.js";
import {
  type ChainHeader,
  type FailedAnswer,
  failedAnswer,
  type HistoryChain,
  type HistoryEndpoint,
  type HistoryFailure,
} from "./chain-port.js";
import { type Checkpoint, hashAt, type IndexCursor } from "./cursor.js";
import { type HistoryAddresses, LogDecoder } from "./decode-logs.js";
import type { EventBook } from "./event-book.js";
import { headerOf, readBlocks, readRange } from "./read-range.js";

export interface EventIndexOptions {
  readonly chain: HistoryChain;
  readonly addresses: HistoryAddresses;
  readonly book: EventBook;
  /** The first block of the index; null: the safe head at the first start. */
  readonly fromBlock: number | null;
  readonly pollMs?: number;
  /** Blocks of one range at most. */
  readonly rangeMax?: number;
  /** Blocks below the safe head that are read one by one. */
  readonly nearBlocks?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const POLL_MS = 2_000;
const RANGE_MAX = 2_000;
/** No server in use lags so far behind a block that is safe already. */
const NEAR_BLOCKS = 64;
const CALL: CallOptions = { timeoutMs: 10_000, lane: "background" };
const BACKOFF = { baseMs: 1_000, capMs: 60_000 };
/** The storage names another contract once in years; what it named before is followed on. */
const CALLBACKS_AGE_MS_MAX = 600_000;
/** A range that was too large comes back by an eighth with each that is not. */
const GROWTH = 8;
const RETRY_SPREAD = 0.1;

/** `idle`: all up to the safe head is there. */
type Step = { readonly kind: "progress" } | { readonly kind: "idle" } | FailedAnswer;

export class EventIndex {
  readonly #options: EventIndexOptions;
  readonly #callbacks = new Set<string>();
  #callbacksAtMs: number | null = null;
  #rangeSize: number;
  #safeHead: number | null = null;
  #seenAtMs: number;
  #problem: string | null = null;
  #failures = 0;
  #timer: TimerHandle | null = null;
  #running: Promise<void> | null = null;
  #isStopped = false;
  #isLoaded = false;

  constructor(options: EventIndexOptions) {
    this.#options = options;
    this.#rangeSize = options.rangeMax ?? RANGE_MAX;
    this.#seenAtMs = options.clock.wallMs();
  }

  /** When the cursor's block was kept, wall ms. */
  get seenAtMs(): number {
    return this.#seenAtMs;
  }

  /** Resolves when the first look has ended, whatever it found. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      void this.#run(resolve);
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    await this.#running;
  }

  status(): ClientSignedStatus["index"] {
    const { cursor } = this.#options.book;
    const sinceBlock = cursor?.since.block ?? null;
    const cursorBlock = cursor === null || cursor.block < cursor.since.block ? null : cursor.block;
    const behind = cursor === null || this.#safeHead === null ? null : Math.max(0, this.#safeHead - cursor.block);
    const unsure =
      cursor === null || cursor.unsureBelow === null
        ? null
        : `a reorganisation went deeper than what is kept to compare: below block ${cursor.unsureBelow} rows may be of another branch`;
    return {
      ...{ cursorBlock, sinceBlock, behindBlocks: behind },
      ...{ eventCount: cursor?.eventCount ?? 0, retractedCount: cursor?.retractedCount ?? 0 },
      problem: this.#problem ?? unsure,
    };
  }

  /** Those that are followed. */
  decoder(): LogDecoder {
    return new LogDecoder(this.#options.addresses, [...this.#callbacks]);
  }

  #run(onStep: () => void = () => {}): Promise<void> {
    this.#timer = null;
    this.#running = this.#pass(onStep).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #pass(onStep: () => void): Promise<void> {
    let step: Step = { kind: "progress" };
    while (step.kind === "progress" && !this.#isStopped) {
      step = await this.#guardedStep();
      onStep();
    }
    if (this.#isStopped) return;
    this.#note(step);
    this.#timer = this.#options.clock.setTimer(() => void this.#run(), this.#waitMs(step));
  }

  async #guardedStep(): Promise<Step> {
    try {
      return await this.#step();
    } catch (error) {
      // The store refuses, or a bug: nothing is lost, and the index does not take the program with it.
      this.#isLoaded = false;
      const errorName = error instanceof Error ? error.name : "unknown";
      this.#options.logger.error("venuefive.index.failed", { venue: "venuefive", errorName });
      return failedAnswer("VENUE_ERROR", "what was read could not be kept");
    }
  }

  #note(step: Step): void {
    const problem = step.kind === "failed" ? PROBLEMS[step.code](step.message) : null;
    if (problem !== null && this.#problem === null)
      this.#options.logger.warn("venuefive.index.waits", { venue: "venuefive", problem });
    this.#problem = problem;
    this.#failures = problem === null ? 0 : this.#failures + 1;
  }

  #waitMs(step: Step): number {
    const { pollMs = POLL_MS, random } = this.#options;
    if (step.kind !== "failed") return pollMs;
    const backoffMs = pollMs + fullJitterMs(BACKOFF, this.#failures, random);
    return step.retryAfterMs === null
      ? backoffMs
      : Math.max(backoffMs, atLeastWithJitterMs(step.retryAfterMs, RETRY_SPREAD, random));
  }

  async #step(): Promise<Step> {
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
    return this.#followOne(endpoints);
  }

  /** At the first that has something to follow. */
  async #followOne(endpoints: readonly HistoryEndpoint[]): Promise<Step> {
    const forked: HistoryEndpoint[] = [];
    let failure = failedAnswer("VENUE_ERROR", "no endpoint of this chain");
    let isIdle = false;
    for (const endpoint of endpoints) {
      const step = await this.#stepAt(endpoint);
      if (step.kind === "progress" || this.#isStopped) return step;
      if (step.kind === "idle") isIdle = true;
      else failure = step;
      if (step.kind === "failed" && step.code === "FORKED") forked.push(endpoint);
    }
    if (forked.length > 0) return this.#fork(endpoints, forked);
    // One that lags has nothing to follow while another that fails has.
    return isIdle && this.#cursor().block >= (this.#safeHead ?? 0) ? { kind: "idle" } : failure;
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
    const { book, fromBlock } = this.#options;
    const since = book.cursor?.since.block ?? null;
    if (since !== null && (fromBlock === null || fromBlock >= since)) return null;
    let failure = failedAnswer("VENUE_ERROR", "no endpoint of this chain");
    for (const endpoint of endpoints) {
      const answer = fromBlock === null ? await endpoint.tip("safe", CALL) : await headerOf(endpoint, fromBlock, CALL);
      if (answer.kind === "value") {
        const { number, timeMs, parentHash } = answer.value;
        await book.begin({ block: number, timeMs }, parentHash);
        return null;
      }
      failure = answer;
    }
    return failure;
  }

  async #stepAt(endpoint: HistoryEndpoint): Promise<Step> {
    const { book } = this.#options;
    const tip = await endpoint.tip("safe", CALL);
    if (tip.kind !== "value") return tip;
    this.#safeHead = Math.max(this.#safeHead ?? 0, tip.value.number);
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

  /** Who is right of those that show another block at the cursor than we have, and those that do not. */
  async #fork(endpoints: readonly HistoryEndpoint[], forked: readonly HistoryEndpoint[]): Promise<Step> {
    const cursor = this.#cursor();
    const ours = hashAt(cursor);
    let sameCount = 0;
    for (const endpoint of endpoints) {
      const header = await endpoint.header(cursor.block, CALL);
      if (header.kind === "value" && header.value?.hash === ours) sameCount++;
    }
    const [witness] = forked;
    if (witness === undefined || sameCount >= forked.length)
      return failedAnswer("FORKED", `endpoints differ on block ${cursor.block}`);
    const point = await forkPoint(witness, cursor.checkpoints);
    if (point.kind === "failed") return point;
    const removedCount = await this.#options.book.takeBack(point.value);
    this.#options.logger.warn("venuefive.index.retracted", {
      ...{ venue: "venuefive", from: cursor.block, to: this.#cursor().block, count: removedCount },
    });
    return { kind: "progress" };
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

/** The newest of them that the endpoint has too; null: none. */
async function forkPoint(
  endpoint: HistoryEndpoint,
  checkpoints: readonly Checkpoint[],
): Promise<{ readonly kind: "value"; readonly value: Checkpoint | null } | FailedAnswer> {
  for (const checkpoint of checkpoints.toReversed()) {
    const header = await endpoint.header(checkpoint.block, CALL);
    if (header.kind !== "value") return header;
    if (header.value?.hash === checkpoint.hash) return { kind: "value", value: checkpoint };
  }
  return { kind: "value", value: null };
}

type ProblemText = (message: string) => string;
const PROBLEMS: Readonly<Record<HistoryFailure, ProblemText>> = {
  TIMEOUT: () => "the endpoints do not answer in time",
  RATE_LIMITED: () => "the endpoints limit the rate of calls",
  AUTH: () => "the endpoints refuse the credentials of their URLs",
  BREAKER_OPEN: () => "the endpoints are not asked for a while, after failures",
  VENUE_ERROR: (message) => message,
  BAD_RESPONSE: (message) => `an endpoint's answer cannot be read: ${message}`,
  BAD_CURSOR: (message) => message,
  NEEDS_CREDENTIALS: (message) => message,
  PRUNED: () => "the endpoints keep no events of the next blocks any more",
  LAGGING: (message) => `an endpoint lags: ${message}`,
  INCONSISTENT: (message) => `an endpoint contradicts itself: ${message}`,
  FORKED: (message) => message,
};
