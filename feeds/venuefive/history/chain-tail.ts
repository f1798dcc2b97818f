/**
 * Events above the cursor, up to the newest block of one endpoint: for an order that was sent a moment ago. They are not
 * kept, and a reorganisation may undo them. Callers of the same moment share one read, but not its failure: that may be of
 * the time or the share of calls of who asked.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { CallOptions } from "../../../engine/ports.js";
import { Deadline } from "../../shared/net/deadline.js";
import { type ChainAnswer, failedAnswer, type HistoryChain } from "./chain-port.js";
import type { LogDecoder } from "./decode-logs.js";
import type { VenuefiveEvent } from "./event.js";
import { readRange } from "./read-range.js";

interface ChainTailParts {
  readonly chain: HistoryChain;
  readonly decoder: () => LogDecoder;
  readonly clock: Clock;
}

export interface Tail {
  readonly events: readonly VenuefiveEvent[];
  readonly toBlock: number;
}

interface SharedRead {
  readonly from: number;
  readonly startedAtMs: number;
  readonly answer: Promise<ChainAnswer<Tail>>;
}

/** An index that is further behind cannot say what became of an order of just now. */
const BLOCKS_MAX = 1_000;
const SHARED_MS = 1_000;
const NO_TIME = failedAnswer("TIMEOUT", "no time left");

export class ChainTail {
  readonly #parts: ChainTailParts;
  #shared: SharedRead | null = null;

  constructor(parts: ChainTailParts) {
    this.#parts = parts;
  }

  async read(from: number, options: CallOptions): Promise<ChainAnswer<Tail>> {
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
      if (waited.value.kind === "value") return waited.value;
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

  async #read(from: number, options: CallOptions): Promise<ChainAnswer<Tail>> {
    const { chain, decoder } = this.#parts;
    let failure = failedAnswer("VENUE_ERROR", "no endpoint of this chain");
    for (const endpoint of await chain.endpoints()) {
      const tip = await endpoint.tip("latest", options);
      if (tip.kind === "value" && tip.value.number < from)
        return { kind: "value", value: { events: [], toBlock: from - 1 } };
      if (tip.kind === "value" && tip.value.number - from >= BLOCKS_MAX)
        return failedAnswer("LAGGING", "the index is far behind the head of the chain");
      const range = { from, to: tip.kind === "value" ? tip.value.number : from, parentHash: null };
      const answer = tip.kind === "value" ? await readRange(endpoint, decoder(), range, options) : tip;
      if (answer.kind === "value")
        return { kind: "value", value: { events: answer.value.events, toBlock: answer.value.last.number } };
      failure = answer.kind === "tooLarge" ? failedAnswer("BAD_RESPONSE", "too many events") : answer;
    }
    return failure;
  }
}
