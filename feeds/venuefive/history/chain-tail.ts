/**
 * Events above the cursor, up to the newest block of one endpoint: for an order that was sent a moment ago. They are not
 * kept, and a reorganisation may undo them. Callers of the same moment share one read.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions } from "../../../engine/ports.js";
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

export class ChainTail {
  readonly #parts: ChainTailParts;
  #shared: SharedRead | null = null;

  constructor(parts: ChainTailParts) {
    this.#parts = parts;
  }

  read(from: number, options: CallOptions): Promise<ChainAnswer<Tail>> {
    const nowMs = this.#parts.clock.monoNs() / 1e6;
    const shared = this.#shared;
    if (shared !== null && shared.from === from && nowMs - shared.startedAtMs <= SHARED_MS) return shared.answer;
    const answer = this.#read(from, options);
    this.#shared = { from, startedAtMs: nowMs, answer };
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
