/**
 * Events above the cursor, up to the newest block that an endpoint names: for an order that was sent a moment ago. They are not
 * kept, and a reorganisation may undo them. Callers of the same moment share one read, but not its failure: that may be of
 * the time or the share of calls of who asked.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { CallOptions } from "../../../engine/ports.js";
import { Deadline } from "../../shared/net/deadline.js";
import {
  type ChainAnswer,
  type ChainHeader,
  type FailedAnswer,
  failedAnswer,
  type HistoryChain,
  type HistoryEndpoint,
  NOBODY,
} from "./chain-port.js";
import type { LogDecoder } from "./decode-logs.js";
import type { VenuefiveEvent } from "./event.js";
import { headerOf, readRange } from "./read-range.js";
import { NO_TIME, partOf, timedEndpoint } from "./timed-endpoint.js";

interface ChainTailParts {
  readonly chain: Pick<HistoryChain, "believed">;
  readonly decoder: () => LogDecoder;
  readonly clock: Clock;
}

export interface Tail {
  readonly events: readonly VenuefiveEvent[];
  readonly toBlock: number;
}

interface Top {
  readonly endpoint: HistoryEndpoint;
  readonly to: number;
}

interface SharedRead {
  readonly from: number;
  readonly startedAtMs: number;
  readonly answer: Promise<ChainAnswer<Tail>>;
}

/** An index that is further behind cannot say what became of an order of just now. */
const BLOCKS_MAX = 1_000;
const SHARED_MS = 1_000;
/** Endpoints that do not lag are so far apart. */
const NEAR_BLOCKS = 5;
const FAR = failedAnswer("LAGGING", "the index is far behind the head of the chain");
const BEHIND = failedAnswer("VENUE_ERROR", "the endpoints are behind what is kept");

export class ChainTail {
  readonly #parts: ChainTailParts;
  #shared: SharedRead | null = null;

  constructor(parts: ChainTailParts) {
    this.#parts = parts;
  }

  /** `least`: a block that who asks has seen; what was read before that came is not shared with it. */
  async read(from: number, options: CallOptions, least = 0): Promise<ChainAnswer<Tail>> {
    const { clock } = this.#parts;
    const deadline = new Deadline(clock, options);
    for (;;) {
      const left = deadline.left();
      if (left === null) return NO_TIME;
      const shared = this.#shared;
      const isFresh = shared?.from === from && clock.monoNs() / 1e6 - shared.startedAtMs <= SHARED_MS;
      if (shared === null || !isFresh) return this.#ask(from, left);
      const waited = await within(clock, shared.answer, left.timeoutMs);
      if (!waited.done) return NO_TIME;
      if (waited.value.kind === "value" && waited.value.value.toBlock >= least) return waited.value;
      if (this.#shared === shared) this.#shared = null;
    }
  }

  async #ask(from: number, options: CallOptions): Promise<ChainAnswer<Tail>> {
    const shared = { from, startedAtMs: this.#parts.clock.monoNs() / 1e6, answer: this.#read(from, options) };
    this.#shared = shared;
    const answer = await shared.answer;
    if (answer.kind !== "value" && this.#shared === shared) this.#shared = null;
    return answer;
  }

  /** At the endpoint of the newest block, or at one near it: what one that lags does not show may have happened. */
  async #read(from: number, options: CallOptions): Promise<ChainAnswer<Tail>> {
    const { chain, clock } = this.#parts;
    const deadline = new Deadline(clock, options);
    const third = partOf(deadline, 0, 3);
    if (third === null) return NO_TIME;
    const endpoints = await chain.believed(third);
    const half = partOf(deadline, 0, 2);
    if (half === null) return NO_TIME;
    const tips = await Promise.all(endpoints.map((endpoint) => endpoint.tip("latest", half)));
    let failure: FailedAnswer = tips.find((tip) => tip.kind === "failed") ?? (tips.length === 0 ? NOBODY : BEHIND);
    const tops = newestFirst(endpoints, tips);
    let least = from - 1;
    for (const [index, { endpoint, to }] of tops.entries()) {
      const part = partOf(deadline, index, tops.length);
      if (part === null) return NO_TIME;
      if (to < least) break;
      const answer = await this.#readAt(timedEndpoint(endpoint, clock, part), from, to, part);
      if (answer.kind === "value") return answer;
      if (answer.kind === "far") return FAR;
      // One that does not have the block that it names is no sign that the others lag.
      if (answer.code !== "LAGGING") least = Math.max(least, to - NEAR_BLOCKS);
      failure = answer;
    }
    return failure;
  }

  async #readAt(
    endpoint: HistoryEndpoint,
    from: number,
    to: number,
    options: CallOptions,
  ): Promise<ChainAnswer<Tail> | { readonly kind: "far" }> {
    if (to < from) return { kind: "value", value: { events: [], toBlock: to } };
    if (to - from >= BLOCKS_MAX) {
      const own = await headerOf(endpoint, to, options);
      return own.kind === "value" ? { kind: "far" } : own;
    }
    const range = await readRange(endpoint, this.#parts.decoder(), { from, to, parentHash: null }, options);
    if (range.kind === "tooLarge") return failedAnswer("BAD_RESPONSE", "too many events");
    if (range.kind === "failed") return range;
    return { kind: "value", value: { events: range.value.events, toBlock: range.value.last.number } };
  }
}

/** Those that have named a block. */
function newestFirst(endpoints: readonly HistoryEndpoint[], tips: readonly ChainAnswer<ChainHeader>[]): readonly Top[] {
  const tops = endpoints.flatMap((endpoint, index) => {
    const tip = tips[index];
    return tip?.kind === "value" ? [{ endpoint, to: tip.value.number }] : [];
  });
  return tops.sort((left, right) => right.to - left.to);
}
