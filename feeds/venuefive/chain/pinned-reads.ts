/**
 * Several calls of the contracts in one request, all of them at the head, of an endpoint that has that very block. Every
 * answer comes with the block: one of another branch, or of an endpoint that has not arrived there, is not believed.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { ChainRead } from "../../../engine/client-signed-room.js";
import type { CallOptions } from "../../../engine/ports.js";
import { cleanText } from "../../shared/chain/revert-reason.js";
import { BATCH_MS_MAX, type RpcCall, type RpcResult } from "../../shared/chain/rpc-endpoint.js";
import { toQuantity } from "../../shared/chain/rpc-wire.js";
import { Deadline } from "../../shared/net/deadline.js";
import { blockCall, readHeadBlock } from "./head-wire.js";
import type { ExtraLooks } from "./extra-looks.js";
import type { ChainHead, ChainHeads } from "./heads.js";
import type { WatchedEndpoint } from "./watched-endpoint.js";

export type FailedChainRead = Extract<ChainRead<never>, { ok: false }>;

export interface PinnedAsk<T> {
  /** `tag`: the block's, as the last parameter of each call of the state. */
  calls(tag: string): readonly RpcCall[];
  /** Throws WireFault for a result of another shape. */
  read(results: readonly unknown[]): T;
}

type Answer<T> =
  | { readonly kind: "value"; readonly value: T }
  /** The endpoint has another block there, or none yet. */
  | { readonly kind: "moved" }
  | { readonly kind: "failed"; readonly failure: FailedChainRead };

/** What nodes say where an address asks too much. */
const LIMIT_CODES: ReadonlySet<number> = new Set([-32005, -32029, 429]);
/** What nodes say of a block that they do not have yet. */
const UNKNOWN_BLOCK = /header not found|block not found|unknown block|BlockOutOfRange|missing trie node/i;

interface ReadHeads extends Pick<ChainHeads, "head" | "problem"> {
  sources(): readonly Pick<WatchedEndpoint, "endpoint">[];
}

export class PinnedReads {
  readonly #heads: ReadHeads;
  readonly #looks: Pick<ExtraLooks, "look">;
  readonly #clock: Clock;

  constructor(heads: ReadHeads, looks: Pick<ExtraLooks, "look">, clock: Clock) {
    this.#heads = heads;
    this.#looks = looks;
    this.#clock = clock;
  }

  async read<T>(ask: PinnedAsk<T>, options: CallOptions): Promise<ChainRead<T>> {
    const deadline = new Deadline(this.#clock, options);
    const first = await this.#atHead(ask, deadline);
    // The chain may have gone on from another block meanwhile: one look, and the same at what is the head then.
    if (first.ok || !first.isMoved) return first.ok ? first : first.failure;
    // What each endpoint answers counts at once: one that holds the look up leaves time to read by it.
    await within(this.#clock, this.#looks.look(), Math.max(0, Math.floor(deadline.leftMs() / 2)));
    const second = await this.#atHead(ask, deadline);
    return second.ok ? second : second.failure;
  }

  async #atHead<T>(ask: PinnedAsk<T>, deadline: Deadline): Promise<AtHead<T>> {
    const { head, problem } = this.#heads;
    if (problem !== null || head === null)
      return missed(
        failedChainRead(
          problem?.code === "WRONG_CHAIN" ? "WRONG_CHAIN" : "VENUE_ERROR",
          problem?.message ?? NO_ENDPOINT,
        ),
        problem?.code !== "WRONG_CHAIN",
      );
    const sources = this.#heads.sources();
    let failure: FailedChainRead | null = null;
    let hasMoved = false;
    for (const [index, source] of sources.entries()) {
      const left = deadline.left();
      if (left === null) return missed(failure ?? failedChainRead("TIMEOUT", "no time left"), false);
      // A hanging one leaves time for those after it.
      const timeoutMs = Math.ceil(Math.min(BATCH_MS_MAX, left.timeoutMs / (sources.length - index)));
      const answer = await this.#of(source, head, ask, { ...left, timeoutMs });
      if (answer.kind === "value") return { ok: true, value: answer.value, asOfMs: head.seenAtMs, block: head.number };
      if (answer.kind === "moved") hasMoved = true;
      else failure = milder(failure, answer.failure);
    }
    const behind = failedChainRead("VENUE_ERROR", `no endpoint has block ${head.number} as it was seen first`);
    return missed(failure ?? behind, hasMoved || sources.length === 0);
  }

  async #of<T>(
    { endpoint }: Pick<WatchedEndpoint, "endpoint">,
    head: ChainHead,
    ask: PinnedAsk<T>,
    options: CallOptions,
  ): Promise<Answer<T>> {
    const calls = ask.calls(toQuantity(head.number));
    // The block is asked for first and last: a node that changes its branch between has two.
    const block = blockCall(head.number);
    const read = (results: readonly unknown[]): { readonly value: T } | null => {
      const blocks = [results[0], results[results.length - 1]].map((one) => readHeadBlock(one, head.number));
      return blocks.every((one) => one?.hash === head.hash) ? { value: ask.read(results.slice(1, -1)) } : null;
    };
    const result = await endpoint.batch([block, ...calls, block], read, options);
    if (result.kind === "value") return result.value === null ? { kind: "moved" } : { kind: "value", ...result.value };
    return result.kind === "error" && UNKNOWN_BLOCK.test(result.error.message)
      ? { kind: "moved" }
      : { kind: "failed", failure: failureOf(result) };
  }
}

type AtHead<T> =
  | (ChainRead<T> & { readonly ok: true })
  /** `isMoved`: a look at the endpoints may find another head. */
  | { readonly ok: false; readonly failure: FailedChainRead; readonly isMoved: boolean };

const NO_ENDPOINT = "no endpoint has named a block yet";

export function failedChainRead(
  code: FailedChainRead["code"],
  message: string,
  retryAfterMs: number | null = null,
): FailedChainRead {
  return { ok: false, code, message, retryAfterMs };
}

function missed<T>(failure: FailedChainRead, isMoved: boolean): AtHead<T> {
  return { ok: false, failure, isMoved };
}

function failureOf(result: Exclude<RpcResult<unknown>, { kind: "value" }>): FailedChainRead {
  if (result.kind === "failed") {
    const { code, message, retryAfterMs } = result.failure;
    return failedChainRead(code, message, retryAfterMs);
  }
  const { code, message } = result.error;
  return failedChainRead(LIMIT_CODES.has(code) ? "RATE_LIMITED" : "VENUE_ERROR", cleanText(message));
}

/** Of several failures, one that names the time when it may be asked again, and the shortest such time. */
function milder(before: FailedChainRead | null, next: FailedChainRead): FailedChainRead {
  if (before?.retryAfterMs === undefined || before.retryAfterMs === null) return next;
  return next.retryAfterMs !== null && next.retryAfterMs < before.retryAfterMs ? next : before;
}
